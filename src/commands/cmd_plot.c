/* firn plot RUN... -o OUT.svg: the history of runs as plots. One process, no MPI. */
#include "commands/commands.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "commands/options.h"
#include "io/file.h"
#include "render/plot/run_plots.h"
#include "run/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
    "usage: firn plot RUN... -o OUT.svg [OPTIONS]\n"
    "\n"
    "Plots the history of a run (its output folder, or a history.csv): energy, momentum, speed, step\n"
    "length, iterations, particles, wall time by phase and imbalance. The energy budget and forces on\n"
    "bodies are added if the scene records them. Several runs are compared, one line each. The suffix\n"
    "of the output selects SVG or PNG.\n"
    "\n";

struct options {
  const char *output;
  unsigned wanted;
  int by_step; /* the word of --over */
  bool help;
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

static int take_only(void *into, const struct option_row *row, const char *text, struct error *err)
{
  (void)row;
  return read_list(text, &((struct options *)into)->wanted, err);
}

static const struct option_row option_rows[] = {
    {"output", "OUT", "the file to write, .svg or .png", 'o', OPTION_TEXT(struct options, output)},
    {"only", "LIST",
     "only these plots, separated by commas: energy, momentum, speed, step, iterations, particles, phases, "
     "imbalance, budget, forces",
     OPTION_CALL(take_only)},
    {"over", "time|step", "horizontal axis: simulated time (default) or step",
     OPTION_WORD(struct options, by_step)},
};

static const struct option_table known = {"plot", head, option_rows, sizeof option_rows / sizeof *option_rows,
                                          NULL};

static int read_options(int argc, char **argv, struct options *o, struct error *err)
{
  struct option_words words;
  *o = (struct options){.wanted = ~0u};
  const int code = options_read(&known, argc, argv, o, &words, err);
  o->help = words.help;
  if (code || o->help) return code;
  o->runs = words.word;
  o->count = words.count;
  if (o->count == 0) return error_set(err, FIRN_EINPUT, "no run given; try 'firn help plot'");
  if (!o->output) return error_set(err, FIRN_EINPUT, "no file to write to; add -o OUT.svg");
  return FIRN_OK;
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
    options_help(&known);
    return EXIT_SUCCESS;
  }
  if (!code) code = draw(&options, &err);
  return code ? launch_fail(NULL, &err) : EXIT_SUCCESS;
}
