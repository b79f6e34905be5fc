#include "sim/friction.h"

#include "bodies/contact.h"
#include "sim/sim.h"

static struct contact_solve solve_of(struct sim *sim)
{
  const double dt = sim->transfer.dt;
  return (struct contact_solve){.grid = sim->mesh.grid,
                                .poses = sim->poses,
                                .pose_count = sim->scene->body_count,
                                .factor = sim->scene->beta * dt * dt,
                                .dt = dt,
                                .contacts = &sim->contacts,
                                .tallies = instruments_bodies(sim)};
}

void friction_clear(struct sim *sim)
{
  if (sim->scene->whole_friction) contacts_hold_again(&sim->contacts, sim->mesh.grid);
}

void friction_begin(struct sim *sim)
{
  const struct contact_solve first = solve_of(sim);
  grid_clear(sim->mesh.grid, NODE_PRESSURE);
  contacts_rub(&first, sim->mesh.grid->node[NODE_PRESSURE]);
}

void friction_end(struct sim *sim)
{
  const struct grid *g = sim->mesh.grid;
  struct liquid_arguments join = {.transfer = &sim->transfer, .out = NODE_VELOCITY};
  sim_project(sim, NODE_PRESSURE);
  crew_tiles(&sim->crew, g, sim->kernels->liquid_join, &join, g->tile_count, NULL, 0);
}

void friction_bear(struct sim *sim)
{
  if (!sim->scene->whole_friction || !instruments_bodies(sim)) return;
  const struct contact_solve last = solve_of(sim);
  contacts_bear(&last);
}
