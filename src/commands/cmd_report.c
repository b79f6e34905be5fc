/* firn report RUN -o report.html: one self-contained page about a run. */
#include "commands/commands.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "commands/options.h"
#include "decomposition/topology.h"
#include "kernels/crew.h"
#include "render/report.h"
#include "run/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
    "usage: firn report RUN -o report.html [OPTIONS]\n"
    "       mpirun -n RANKS firn report ...\n"
    "\n"
    "Writes one page about a run, finished or not: pictures, numbers, plots of its history, the scene,\n"
    "and how to repeat the run. The file is self-contained and opens offline in any browser.\n"
    "\n";

struct options {
  struct report_options report;
  int threads;
  bool traced, help;
};

static int take_size(void *into, const struct option_row *row, const char *text, struct error *err)
{
  struct options *o = into;
  (void)row;
  return option_size("report: --size", text, 16, &o->report.width, &o->report.height, err);
}

static int take_view(void *into, const struct option_row *row, const char *text, struct error *err)
{
  double megabytes = 0.0;
  (void)row;
  const int code = option_between("report: --view", text, 0.0, 200.0, &megabytes, err);
  ((struct options *)into)->report.view = (int64_t)(1e6 * megabytes);
  return code;
}

static const struct option_row option_rows[] = {
    {"output", "FILE", "the page to write", 'o', OPTION_TEXT(struct options, report.output)},
    {"pictures", "N", "number of frames to show, the last one first (7)",
     OPTION_INT(struct options, report.pictures, 0, 1000)},
    {"size", "WxH", "pixels of a picture (960x540)", OPTION_CALL(take_size)},
    {"render", NULL, "trace the pictures instead of drawing them; takes minutes",
     OPTION_FLAG(struct options, traced)},
    {"view", "MB", "size of the view in the page, in which one turns and plays the snow (6); 0: none",
     OPTION_CALL(take_view)},
    {"threads", "N", "threads per rank, with --render", OPTION_INT(struct options, threads, 1, MAX_THREADS)},
};

static const struct option_table known = {"report", head, option_rows,
                                          sizeof option_rows / sizeof *option_rows, NULL};

static int read_options(int argc, char **argv, struct options *o, struct error *err)
{
  struct option_words words;
  *o = (struct options){.report = {.pictures = 7, .width = 960, .height = 540, .view = 6000000}};
  const int code = options_read(&known, argc, argv, o, &words, err);
  o->help = words.help;
  if (code || o->help) return code;
  if (words.count != 1)
    return error_set(err, FIRN_EINPUT, "give one run (its output folder); try 'firn help report'");
  if (!o->report.output) return error_set(err, FIRN_EINPUT, "no file to write to; add -o report.html");
  o->report.run = words.word[0];
  return option_check_suffix("-o", o->report.output, ".html", err);
}

int cmd_report(int argc, char **argv)
{
  struct options options;
  struct error err = {.code = FIRN_OK};
  struct comm comm;
  const struct picture_options trace = picture_defaults();
  int code = read_options(argc, argv, &options, &err);
  if (!code && options.help) {
    options_help(&known);
    return EXIT_SUCCESS;
  }
  if (options.traced) options.report.trace = &trace;
  comm_start(&comm, &argc, &argv);
  log_configure(LOG_INFO, comm.rank, comm_abort);
  mem_free(topology_plan(&comm, options.threads, BIND_AUTO));
  if (!code) code = report_write(&comm, &options.report, &err);
  if (!code) log_info("%s: a report on %s", options.report.output, options.report.run);
  const int exit_code = code ? launch_fail(&comm, &err) : EXIT_SUCCESS;
  comm_stop(&comm);
  return exit_code;
}
