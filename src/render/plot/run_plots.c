#include "render/plot/run_plots.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_LINES = 10, FORCE_NAME = 72 /* of a body, with its end */ };

/* What a line is made of. */
enum recipe { AS_IS, SUM, LENGTH, SUMMED_UP };

struct line {
  const char *name;
  const char *column[MOST_LINES]; /* more than one: added, or the length of the vector; ended by NULL */
  enum recipe recipe;
  bool optional; /* left out of runs that do not have its column */
};

/* A panel: its lines for one run, and the one that several runs are compared by. */
struct panel {
  const char *title, *y_label;
  struct line line[MOST_LINES]; /* ended by a NULL name */
  struct line compared;
  bool log, from_zero;
};

const char *const run_plot_names[] = {"energy", "momentum",  "speed",  "step",   "iterations", "particles",
                                      "phases", "imbalance", "budget", "forces", NULL};

/* The last two are of runs whose scenes ask for them. */
enum { PANEL_BUDGET = 8, PANEL_FORCES };

#define SECONDS                                                                                              \
  "seconds_build", "seconds_p2g", "seconds_exchange", "seconds_nodes", "seconds_solve", "seconds_g2p",       \
      "seconds_reduce", "seconds_migrate", "seconds_order"

static const struct panel panels[] = {
    {.title = "energy",
     .y_label = "energy (J)",
     .line = {{"kinetic", {"kinetic"}, AS_IS},
              {"elastic", {"elastic"}, AS_IS},
              {"potential", {"potential"}, AS_IS},
              {"total", {"kinetic", "elastic", "potential"}, SUM}},
     .compared = {"total", {"kinetic", "elastic", "potential"}, SUM},
     .from_zero = true},
    {.title = "momentum",
     .y_label = "momentum (kg m/s)",
     .line = {{"x", {"momentum_x"}, AS_IS}, {"y", {"momentum_y"}, AS_IS}, {"z", {"momentum_z"}, AS_IS}},
     .compared = {"size", {"momentum_x", "momentum_y", "momentum_z"}, LENGTH}},
    {.title = "fastest particle",
     .y_label = "speed (m/s)",
     .line = {{"", {"max_speed"}, AS_IS}},
     .compared = {"", {"max_speed"}, AS_IS},
     .from_zero = true},
    {.title = "length of a step",
     .y_label = "step (s)",
     .line = {{"", {"dt"}, AS_IS}},
     .compared = {"", {"dt"}, AS_IS},
     .log = true},
    {.title = "iterations of the solver",
     .y_label = "iterations per step",
     .line = {{"", {"iterations"}, AS_IS}},
     .compared = {"", {"iterations"}, AS_IS},
     .from_zero = true},
    {.title = "particles",
     .y_label = "particles",
     .line = {{"in the domain", {"particles"}, AS_IS}, {"that left, so far", {"removed"}, AS_IS}},
     .compared = {"", {"particles"}, AS_IS},
     .from_zero = true},
    {.title = "time by phase, summed up",
     .y_label = "wall time (s)",
     .line = {{"build", {"seconds_build"}, SUMMED_UP},
              {"p2g", {"seconds_p2g"}, SUMMED_UP},
              {"exchange", {"seconds_exchange"}, SUMMED_UP},
              {"nodes", {"seconds_nodes"}, SUMMED_UP},
              {"solve", {"seconds_solve"}, SUMMED_UP},
              {"g2p", {"seconds_g2p"}, SUMMED_UP},
              {"reduce", {"seconds_reduce"}, SUMMED_UP},
              {"migrate", {"seconds_migrate"}, SUMMED_UP},
              {"order", {"seconds_order"}, SUMMED_UP}},
     .compared = {"all phases", {SECONDS}, SUMMED_UP},
     .from_zero = true},
    {.title = "imbalance",
     .y_label = "busiest rank / mean",
     .line = {{"", {"imbalance"}, AS_IS}},
     .compared = {"", {"imbalance"}, AS_IS}},
    {.title = "budget of energy",
     .y_label = "since the start (J)",
     .line = {{"plastic work", {"lost_plastic"}, AS_IS},
              {"friction", {"lost_friction"}, AS_IS},
              {"lost by the scheme", {"lost_scheme"}, AS_IS},
              {"changes of phase", {"lost_phase"}, AS_IS, .optional = true},
              {"work of bodies", {"work_bodies"}, AS_IS},
              {"came in", {"energy_in"}, AS_IS},
              {"went out", {"energy_out"}, AS_IS}},
     .compared = {"lost by the scheme", {"lost_scheme"}, AS_IS},
     .from_zero = true},
};

/* The values of a line, for mem_free(). */
static int cook(const struct run_history *run, const struct line *line, double **out, struct error *err)
{
  const int64_t rows = run->table->rows;
  double *values = mem_alloc((size_t)rows, sizeof *values), total = 0.0;
  for (int k = 0; k < MOST_LINES && line->column[k]; k++) {
    const double *column = table_column(run->table, line->column[k]);
    if (!column) {
      mem_free(values);
      return error_set(err, FIRN_EINPUT, "%s: the history has no column '%s'", run->name, line->column[k]);
    }
    for (int64_t i = 0; i < rows; i++)
      values[i] += line->recipe == LENGTH ? column[i] * column[i] : column[i];
  }
  for (int64_t i = 0; i < rows; i++) {
    if (line->recipe == LENGTH) values[i] = sqrt(values[i]);
    if (line->recipe == SUMMED_UP) values[i] = total += values[i];
  }
  *out = values;
  return FIRN_OK;
}

static int add_line(struct plot_panel *panel, const struct run_history *run, const struct line *line,
                    const char *name, const char *x_column, struct error *err)
{
  double *values = NULL;
  const double *x = table_column(run->table, x_column);
  if (!x) return error_set(err, FIRN_EINPUT, "%s: the history has no column '%s'", run->name, x_column);
  const int code = cook(run, line, &values, err);
  if (!code) plot_line(panel, name, run->table->rows, x, values, PLOT_LINE);
  mem_free(values);
  return code;
}

static int add_panel(struct plot *plot, const struct panel *panel, const struct run_history *runs, int count,
                     bool by_step, struct error *err)
{
  const char *x = by_step ? "step" : "time";
  char title[96];
  int code = FIRN_OK;
  snprintf(title, sizeof title, count > 1 && *panel->compared.name ? "%s, %s" : "%s", panel->title,
           panel->compared.name);
  struct plot_panel *to = plot_panel(plot, title, by_step ? "step" : "simulated time (s)", panel->y_label);
  to->log_y = panel->log;
  to->y_from_zero = panel->from_zero;
  if (count == 1)
    for (int k = 0; k < MOST_LINES && panel->line[k].name && !code; k++) {
      const struct line *line = &panel->line[k];
      if (line->optional && !table_column(runs[0].table, line->column[0])) continue;
      code = add_line(to, &runs[0], line, line->name, x, err);
    }
  for (int r = 0; count > 1 && r < count && !code; r++)
    code = add_line(to, &runs[r], &panel->compared, runs[r].name, x, err);
  return code;
}

/* The body of a column force_<body>_x; false for other columns. */
static bool body_of(const char *column, char body[FORCE_NAME])
{
  const size_t length = strlen(column);
  if (strncmp(column, "force_", 6) != 0 || length < 9 || length >= FORCE_NAME + 8 ||
      strcmp(column + length - 2, "_x") != 0)
    return false;
  snprintf(body, FORCE_NAME, "%.*s", (int)(length - 8), column + 6);
  return true;
}

static int add_force(struct plot_panel *to, const struct run_history *run, const char *body, const char *name,
                     const char *x, struct error *err)
{
  char column[3][FORCE_NAME + 8];
  struct line line = {.recipe = LENGTH};
  for (int d = 0; d < 3; d++) {
    snprintf(column[d], sizeof column[d], "force_%s_%c", body, 'x' + d);
    line.column[d] = column[d];
  }
  return add_line(to, run, &line, name, x, err);
}

/* Of one run: a line per body; of several: a line per run and body. */
static int add_forces(struct plot *plot, const struct run_history *runs, int count, bool by_step,
                      struct error *err)
{
  struct plot_panel *to =
      plot_panel(plot, "force on bodies", by_step ? "step" : "simulated time (s)", "size of the force (N)");
  int code = FIRN_OK;
  to->y_from_zero = true;
  for (int r = 0; r < count; r++)
    for (int c = 0; c < runs[r].table->columns && !code; c++) {
      char body[FORCE_NAME], name[256];
      if (!body_of(runs[r].table->name[c], body)) continue;
      snprintf(name, sizeof name, count > 1 ? "%s, %s" : "%s", body, runs[r].name);
      code = add_force(to, &runs[r], body, name, by_step ? "step" : "time", err);
    }
  return code;
}

/* Whether all runs have what a panel of the last two shows. */
static bool has_panel(unsigned panel, const struct run_history *runs, int count)
{
  int with = 0;
  for (int r = 0; r < count; r++) {
    bool found = panel == PANEL_BUDGET && table_column(runs[r].table, "lost_scheme");
    for (int c = 0; c < runs[r].table->columns && panel == PANEL_FORCES; c++) {
      char body[FORCE_NAME];
      found |= body_of(runs[r].table->name[c], body);
    }
    with += found;
  }
  return with == count;
}

int run_plots(struct plot **out, const struct run_history *runs, int count, unsigned wanted, bool by_step,
              const char *title, struct error *err)
{
  struct plot *plot = plot_create(title, 2);
  int code = FIRN_OK;
  for (unsigned k = 0; run_plot_names[k] && !code; k++) {
    const bool there = k < PANEL_BUDGET || has_panel(k, runs, count);
    if (!(wanted >> k & 1) || (!there && wanted == ~0u)) continue;
    if (!there)
      code = error_set(err, FIRN_EINPUT,
                       "no column for the plot '%s': the scene did not ask for it (see "
                       "docs/instruments.md)",
                       run_plot_names[k]);
    else
      code = k == PANEL_FORCES ? add_forces(plot, runs, count, by_step, err)
                               : add_panel(plot, &panels[k], runs, count, by_step, err);
  }
  if (code) plot_destroy(&plot);
  *out = plot;
  return code;
}
