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

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: firn report RUN -o report.html [--pictures N] [--size WxH] [--render] [--view MB]\n"
    "       mpirun -n RANKS firn report ...\n"
    "\n"
    "Writes one page about a run, finished or not: pictures, numbers, plots of its history, the scene,\n"
    "and how to repeat the run. The file is self-contained and opens offline in any browser.\n"
    "\n"
    "  -o, --output FILE     the page to write\n"
    "  --pictures N          number of frames to show, the last one first (7)\n"
    "  --size WxH            pixels of a picture (960x540)\n"
    "  --render              trace the pictures instead of drawing them; takes minutes\n"
    "  --view MB             size of the view in the page, in which one turns and plays the snow (6); 0: "
    "none\n"
    "  --threads N           threads per rank, with --render\n";

struct options {
  struct report_options report;
  int threads;
  bool traced, help;
};

static int read_options(int argc, char **argv, struct options *o, struct error *err)
{
  enum { OUTPUT = 'o', PICTURES = 256, SIZE, RENDER, VIEW, THREADS, HELP };
  static const struct option known[] = {
      {"output", required_argument, NULL, OUTPUT}, {"pictures", required_argument, NULL, PICTURES},
      {"size", required_argument, NULL, SIZE},     {"render", no_argument, NULL, RENDER},
      {"view", required_argument, NULL, VIEW},     {"threads", required_argument, NULL, THREADS},
      {"help", no_argument, NULL, HELP},           {NULL, 0, NULL, 0}};
  int code = FIRN_OK, letter;
  int64_t count = 0;
  double megabytes = 6.0;
  *o = (struct options){.report = {.pictures = 7, .width = 960, .height = 540}};
  optind = 0;
  opterr = 0;
  while (!code && (letter = getopt_long(argc, argv, ":o:", known, NULL)) != -1) {
    switch (letter) {
    case OUTPUT: o->report.output = optarg; break;
    case PICTURES:
      code = option_count("--pictures", optarg, 0, 1000, &count, err);
      o->report.pictures = (int)count;
      break;
    case SIZE: code = option_size("--size", optarg, 16, &o->report.width, &o->report.height, err); break;
    case RENDER: o->traced = true; break;
    case VIEW: code = option_between("--view", optarg, 0.0, 200.0, &megabytes, err); break;
    case THREADS:
      code = option_count("--threads", optarg, 1, MAX_CHUNKS, &count, err);
      o->threads = (int)count;
      break;
    case HELP: o->help = true; return FIRN_OK;
    default:
      return error_set(err, FIRN_EINPUT, "option '%s' is unknown or lacks its value; see 'firn help report'",
                       argv[optind - 1]);
    }
  }
  if (!code && optind + 1 != argc)
    code = error_set(err, FIRN_EINPUT, "give one run (its output folder); try 'firn help report'");
  if (!code && !o->report.output)
    code = error_set(err, FIRN_EINPUT, "no file to write to; add -o report.html");
  if (!code) code = option_check_suffix("-o", o->report.output, ".html", err);
  if (!code) o->report.run = argv[optind];
  o->report.view = (int64_t)(1e6 * megabytes);
  return code;
}

int cmd_report(int argc, char **argv)
{
  struct options options;
  struct error err = {.code = FIRN_OK};
  struct comm comm;
  const struct picture_options trace = picture_defaults();
  int code = read_options(argc, argv, &options, &err);
  if (!code && options.help) {
    fputs(usage, stdout);
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
