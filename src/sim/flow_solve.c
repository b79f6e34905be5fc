#include "sim/flow_solve.h"

#include "decomposition/comm.h"
#include "sim/sim.h"

bool flow_is_checked(const struct sim *sim)
{
  return sim->p->flow && sim->scene->flow_repeats > 0;
}

/* Whether a particle of any rank changed its part in the operator. */
static bool some_stiffened(struct sim *sim, bool first)
{
  struct flow_arguments arguments = {&sim->transfer, sim->scene->beta, first};
  sim->crew.label = "check blocks";
  sim_blocks(sim, sim->kernels->flow_check, &arguments);
  double found = 0.0;
  for (int w = 0; w < sim->crew.size; w++) {
    struct step_result *result = &sim->crew.workers[w].result;
    if (result->stiffened > 0) found = 1.0;
    result->stiffened = 0;
  }
  comm_max(&sim->comm, &found, 1);
  return found > 0.0;
}

static void start_again(struct sim *sim)
{
  const struct grid *g = sim->mesh.grid;
  struct liquid_arguments arguments = {.transfer = &sim->transfer};
  crew_tiles(&sim->crew, g, sim->kernels->take_star, &arguments, g->tile_count, NULL, 0);
  sim->report.repeats++;
  sim->totals.repeats++;
}

bool flow_solve(struct sim *sim, bool (*solve)(struct sim *sim))
{
  const int most = flow_is_checked(sim) ? sim->scene->flow_repeats : 0;
  for (int done = 0; solve(sim); done++) {
    if (done == most || !some_stiffened(sim, done == 0)) return true;
    start_again(sim);
  }
  return false;
}
