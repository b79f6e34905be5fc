/* firn view RUN [RUN] -o view.html: the particles of a run in a page that any browser draws. */
#include "commands/commands.h"

#include "base/error.h"
#include "base/log.h"
#include "commands/options.h"
#include "render/view/view.h"
#include "run/launch.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
    "usage: firn view RUN -o view.html [--size MB] [--frames N]\n"
    "       firn view RUN OTHER -o view.html\n"
    "\n"
    "Writes a page in which one turns the snow of a run, plays it, colours it by any field and asks a\n"
    "particle for its numbers. The file is self-contained and opens offline in any browser with WebGL2.\n"
    "A run in progress is shown as far as it is. Two runs stand side by side, with one camera.\n"
    "\n"
    "  -o, --output FILE     the page to write\n"
    "  --size MB             the page takes at most so many megabytes; the particles that have room are\n"
    "                        spread evenly over the snow (20)\n"
    "  --frames N            at most so many frames, evenly spread (100)\n"
    "  --quiet               no progress, no summary\n";

struct options {
  struct view_options view;
  const char *output;
  bool quiet, help;
};

static int read_options(int argc, char **argv, struct options *o, struct error *err)
{
  enum { OUTPUT = 'o', SIZE = 256, FRAMES, QUIET, HELP };
  static const struct option known[] = {
      {"output", required_argument, NULL, OUTPUT}, {"size", required_argument, NULL, SIZE},
      {"frames", required_argument, NULL, FRAMES}, {"quiet", no_argument, NULL, QUIET},
      {"help", no_argument, NULL, HELP},           {NULL, 0, NULL, 0}};
  int code = FIRN_OK, letter;
  int64_t count = 0;
  double size = 20.0;
  *o = (struct options){.view = {.frames = 100}};
  optind = 0;
  opterr = 0;
  while (!code && (letter = getopt_long(argc, argv, ":o:", known, NULL)) != -1) {
    switch (letter) {
    case OUTPUT: o->output = optarg; break;
    case SIZE: code = option_between("--size", optarg, 0.5, 500.0, &size, err); break;
    case FRAMES:
      code = option_count("--frames", optarg, 1, 5000, &count, err);
      o->view.frames = (int)count;
      break;
    case QUIET: o->quiet = true; break;
    case HELP: o->help = true; return FIRN_OK;
    default:
      return error_set(err, FIRN_EINPUT, "option '%s' is unknown or lacks its value; see 'firn help view'",
                       argv[optind - 1]);
    }
  }
  if (code) return code;
  o->view.size = (int64_t)(1e6 * size);
  if (optind == argc || argc - optind > VIEW_RUNS)
    return error_set(err, FIRN_EINPUT, "give one run (its output folder), or two; try 'firn help view'");
  if (!o->output) return error_set(err, FIRN_EINPUT, "no file to write to; add -o view.html");
  o->view.run_count = argc - optind;
  for (int r = 0; r < o->view.run_count; r++) o->view.run[r] = argv[optind + r];
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
    fputs(usage, stdout);
    return EXIT_SUCCESS;
  }
  log_configure(options.quiet ? LOG_WARN : LOG_INFO, 0, NULL);
  if (!code) code = view_write(options.output, &options.view, &report, &err);
  if (!code) tell(&options, &report);
  return code ? launch_fail(NULL, &err) : EXIT_SUCCESS;
}
