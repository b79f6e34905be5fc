/* The history of one run, or of several for comparison, as plots. */
#ifndef FIRN_RENDER_RUN_PLOTS_H
#define FIRN_RENDER_RUN_PLOTS_H

#include "base/error.h"
#include "io/run/csv_table.h"
#include "render/plot/plot.h"

#include <stdbool.h>

struct run_history {
  const char *name;
  const struct table *table;
};

/* Names of the panels, ended by NULL: energy, momentum, ... */
extern const char *const run_plot_names[];

/* A plot with the panels whose bits are set in `wanted` (in the order of the names). Of one run every
 * quantity is a line of its own; of several each panel compares one quantity. `by_step`: over steps instead
 * of time. All of them (~0u) leaves out those that a scene has to ask for and did not. An error names a
 * column that a history lacks. */
int run_plots(struct plot **out, const struct run_history *runs, int count, unsigned wanted, bool by_step,
              const char *title, struct error *err);

#endif
