/* firn plot RUN... -o OUT.svg: the history of runs as plots. One process, no MPI. */
#include "commands/commands.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"
#include "render/plot/run_plots.h"
#include "run/launch.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: firn plot RUN... -o OUT.svg [--only LIST] [--over time|step]\n"
    "\n"
    "Plots the history of a run (its output folder, or a history.csv): energy, momentum, speed, step\n"
    "length, iterations, particles, wall time by phase and imbalance. The energy budget and forces on\n"
    "bodies are added if the scene records them. Several runs are compared, one line each. The suffix\n"
    "of the output selects SVG or PNG.\n"
    "\n"
    "  -o, --output OUT      the file to write, .svg or .png\n"
    "  --only LIST           only these plots, separated by commas: energy, momentum, speed, step,\n"
    "                        iterations, particles, phases, imbalance, budget, forces\n"
    "  --over WORD           horizontal axis: time (simulated, the default) or step\n";

struct options {
  const char *output;
  unsigned wanted;
  bool by_step, help;
  char **runs;
  int count;
};

static int read_list(const char *text, unsigned *wanted, struct error *err)
{
  char *copy = mem_strdup(text);
  int code = FIRN_OK;
  *wanted = 0;
  for (char *save = NULL, *word = strtok_r(copy, ",", &save); word && !code;
       word = strtok_r(NULL, ",", &save)) {
    int k = 0;
    while (run_plot_names[k] && strcmp(run_plot_names[k], word) != 0) k++;
    if (!run_plot_names[k])
      code = error_set(err, FIRN_EINPUT, "--only '%s' is no plot; 'firn help plot' lists them", word);
    else
      *wanted |= 1u << k;
  }
  if (!code && !*wanted) code = error_set(err, FIRN_EINPUT, "--only names no plot");
  mem_free(copy);
  return code;
}

static int read_options(int argc, char **argv, struct options *o, struct error *err)
{
  enum { OUTPUT = 'o', ONLY = 256, OVER, HELP };
  static const struct option known[] = {{"output", required_argument, NULL, OUTPUT},
                                        {"only", required_argument, NULL, ONLY},
                                        {"over", required_argument, NULL, OVER},
                                        {"help", no_argument, NULL, HELP},
                                        {NULL, 0, NULL, 0}};
  *o = (struct options){.wanted = ~0u};
  int code = FIRN_OK, letter;
  optind = 0;
  opterr = 0;
  while (!code && (letter = getopt_long(argc, argv, ":o:", known, NULL)) != -1) {
    switch (letter) {
    case OUTPUT: o->output = optarg; break;
    case ONLY: code = read_list(optarg, &o->wanted, err); break;
    case OVER:
      o->by_step = strcmp(optarg, "step") == 0;
      if (!o->by_step && strcmp(optarg, "time") != 0)
        code = error_set(err, FIRN_EINPUT, "--over '%s' is neither time nor step", optarg);
      break;
    case HELP: o->help = true; return FIRN_OK;
    default:
      return error_set(err, FIRN_EINPUT, "option '%s' is unknown or lacks its value; see 'firn help plot'",
                       argv[optind - 1]);
    }
  }
  o->runs = argv + optind;
  o->count = argc - optind;
  if (!code && o->count == 0) code = error_set(err, FIRN_EINPUT, "no run given; try 'firn help plot'");
  if (!code && !o->output) code = error_set(err, FIRN_EINPUT, "no file to write to; add -o OUT.svg");
  return code;
}

/* Last part of a path, for the legend; for mem_free(). */
static char *short_name(const char *path)
{
  char *copy = mem_strdup(path);
  size_t length = strlen(copy);
  while (length > 1 && copy[length - 1] == '/') copy[--length] = '\0';
  char *file = strrchr(copy, '/');
  if (file && strcmp(file, "/history.csv") == 0) {
    *file = '\0';
    file = strrchr(copy, '/');
  }
  char *name = mem_strdup(file ? file + 1 : copy);
  mem_free(copy);
  return name;
}

static int read_run(const char *path, struct table **table, struct error *err)
{
  char *file = file_is_folder(path) ? file_join(path, "history.csv") : mem_strdup(path);
  const int code = table_read(table, file, err);
  mem_free(file);
  return code;
}

static int draw(const struct options *o, struct error *err)
{
  struct table **tables = mem_alloc((size_t)o->count, sizeof *tables);
  struct run_history *runs = mem_alloc((size_t)o->count, sizeof *runs);
  char **names = mem_alloc((size_t)o->count, sizeof *names);
  struct plot *plot = NULL;
  int code = FIRN_OK;
  for (int k = 0; k < o->count && !code; k++) {
    names[k] = short_name(o->runs[k]);
    code = read_run(o->runs[k], &tables[k], err);
    runs[k] = (struct run_history){names[k], tables[k]};
  }
  if (!code)
    code = run_plots(&plot, runs, o->count, o->wanted, o->by_step, o->count == 1 ? names[0] : "", err);
  if (!code) code = plot_write(plot, o->output, err);
  if (!code)
    log_info("%s: %d plot%s of %d run%s", o->output, plot->count, plot->count == 1 ? "" : "s", o->count,
             o->count == 1 ? "" : "s");
  plot_destroy(&plot);
  for (int k = 0; k < o->count; k++) {
    table_destroy(&tables[k]);
    mem_free(names[k]);
  }
  mem_free(tables);
  mem_free(runs);
  mem_free(names);
  return code;
}

int cmd_plot(int argc, char **argv)
{
  struct options options;
  struct error err = {.code = FIRN_OK};
  int code = read_options(argc, argv, &options, &err);
  if (!code && options.help) {
    fputs(usage, stdout);
    return EXIT_SUCCESS;
  }
  if (!code) code = draw(&options, &err);
  return code ? launch_fail(NULL, &err) : EXIT_SUCCESS;
}
