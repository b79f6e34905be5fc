/* firn view RUN [RUN] -o view.html: the particles of a run in a page that any browser draws. */
#include "commands/commands.h"

#include "base/error.h"
#include "base/log.h"
#include "commands/options.h"
#include "render/view/view.h"
#include "run/launch.h"

#include <stdio.h>
#include <stdlib.h>

static const char head[] =
    "usage: firn view RUN -o view.html [OPTIONS]\n"
    "       firn view RUN OTHER -o view.html [OPTIONS]\n"
    "\n"
    "Writes a page in which one turns the snow of a run, plays it, colours it by any field and asks a\n"
    "particle for its numbers. The file is self-contained and opens offline in any browser with WebGL2.\n"
    "A run in progress is shown as far as it is. Two runs stand side by side, with one camera.\n"
    "\n";

struct options {
  struct view_options view;
  const char *output;
  bool quiet, help;
};

static int take_size(void *into, const struct option_row *row, const char *text, struct error *err)
{
  double megabytes = 0.0;
  (void)row;
  const int code = option_between("view: --size", text, 0.5, 500.0, &megabytes, err);
  ((struct options *)into)->view.size = (int64_t)(1e6 * megabytes);
  return code;
}

static const struct option_row option_rows[] = {
    {"output", "FILE", "the page to write", 'o', OPTION_TEXT(struct options, output)},
    {"size", "MB",
     "the page takes at most so many megabytes; the particles that have room are spread evenly over the snow "
     "(20)",
     OPTION_CALL(take_size)},
    {"frames", "N", "at most so many frames, evenly spread (100)",
     OPTION_INT(struct options, view.frames, 1, 5000)},
    {"quiet", NULL, "no progress, no summary", OPTION_FLAG(struct options, quiet)},
};

static const struct option_table known = {"view", head, option_rows, sizeof option_rows / sizeof *option_rows,
                                          NULL};

static int read_options(int argc, char **argv, struct options *o, struct error *err)
{
  struct option_words words;
  *o = (struct options){.view = {.frames = 100, .size = 20000000}};
  const int code = options_read(&known, argc, argv, o, &words, err);
  o->help = words.help;
  if (code || o->help) return code;
  if (words.count == 0 || words.count > VIEW_RUNS)
    return error_set(err, FIRN_EINPUT, "give one run (its output folder), or two; try 'firn help view'");
  if (!o->output) return error_set(err, FIRN_EINPUT, "no file to write to; add -o view.html");
  o->view.run_count = words.count;
  for (int r = 0; r < o->view.run_count; r++) o->view.run[r] = words.word[r];
  return option_check_suffix("-o", o->output, ".html", err);
}

static void tell(const struct options *o, const struct view_report *report)
{
  for (int r = 0; r < o->view.run_count; r++)
    log_info("%s: %lld of %lld particles of %s in %d frame%s", o->output, (long long)report->shown[r],
             (long long)report->particles[r], o->view.run[r], report->frames[r],
             report->frames[r] == 1 ? "" : "s");
}

int cmd_view(int argc, char **argv)
{
  struct options options;
  struct view_report report;
  struct error err = {.code = FIRN_OK};
  int code = read_options(argc, argv, &options, &err);
  if (!code && options.help) {
    options_help(&known);
    return EXIT_SUCCESS;
  }
  log_configure(options.quiet ? LOG_WARN : LOG_INFO, 0, NULL);
  if (!code) code = view_write(options.output, &options.view, &report, &err);
  if (!code) tell(&options, &report);
  return code ? launch_fail(NULL, &err) : EXIT_SUCCESS;
}
