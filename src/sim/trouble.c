#include "sim/trouble.h"

#include <math.h>

static const char *describe(enum trouble trouble)
{
  switch (trouble) {
  case TROUBLE_GRADIENT: return "its velocity gradient times the step exceeds 0.5";
  case TROUBLE_INVERTED: return "its deformation turns inside out";
  case TROUBLE_CROSSING: return "it would cross more than a cell";
  case TROUBLE_NOT_FINITE: return "its state is not finite";
  default: return "the solver does not converge";
  }
}

int trouble_give_up(struct sim *sim, double dt, const struct step_result *result,
                    const struct verdict *verdict, const char *advice, struct error *err)
{
  int code = FIRN_OK;
  if (verdict->trouble == TROUBLE_NONE) {
    code = error_set(err, FIRN_EDIVERGE,
                     "step %lld at %.9g s: the solver does not converge with a step of %.3g s; %s",
                     (long long)sim->clock.step, sim->clock.time, dt, advice);
  } else if (verdict->trouble == TROUBLE_CROSSING && sim->rigid && sim->rigid->crosses) {
    code = error_set(err, FIRN_EDIVERGE,
                     "step %lld at %.9g s: a free body would move more than a cell with a step of %.3g s; %s",
                     (long long)sim->clock.step, sim->clock.time, dt, advice);
  } else if (result->trouble == verdict->trouble) {
    const int32_t i = sim->order.slot[result->trouble_particle];
    const double x[3] = {sim->p->x[0][i], sim->p->x[1][i], sim->p->x[2][i]};
    const double *lower = sim->scene->lower, h = sim->scene->spacing;
    code = error_set(err, FIRN_EDIVERGE,
                     "step %lld at %.9g s: particle %llu in cell (%.0f, %.0f, %.0f) on rank %d: %s with a "
                     "step of %.3g s; %s",
                     (long long)sim->clock.step, sim->clock.time,
                     (unsigned long long)sim->p->id[sim->order.home[result->trouble_particle]],
                     floor((x[0] - lower[0]) / h), floor((x[1] - lower[1]) / h), floor((x[2] - lower[2]) / h),
                     sim->comm.rank, describe(verdict->trouble), dt, advice);
  }
  return comm_agree(&sim->comm, code, err);
}

int trouble_leaving(struct sim *sim, struct error *err)
{
  int code = FIRN_OK;
  for (int32_t i = 0; i < sim->p->count && !code; i++)
    if (sim->next.fate[i] == FATE_GONE)
      code = error_set(err, FIRN_EDIVERGE,
                       "step %lld at %.9g s: particle %llu leaves the domain near (%.4g, %.4g, %.4g) m; "
                       "enlarge the domain or set "
                       "domain.leave to remove",
                       (long long)sim->clock.step, sim->clock.time,
                       (unsigned long long)sim->p->id[sim->order.home[i]], sim->next.p->x[0][i],
                       sim->next.p->x[1][i], sim->next.p->x[2][i]);
  return comm_agree(&sim->comm, code, err);
}

int trouble_not_finite(const struct sim *sim, struct error *err)
{
  return error_set(
      err, FIRN_EDIVERGE,
      "step %lld at %.9g s: the energy or momentum of the snow is not finite; look at the masses, "
      "velocities and moduli of the scene and its files, or shorten time.max_step",
      (long long)sim->clock.step, sim->clock.time);
}

int trouble_check_finite(const struct sim *sim, struct error *err)
{
  const struct particles *p = sim->p;
  double worst = 0.0;
  for (int32_t i = 0; i < p->count; i++) {
    double energy = p->jp[i];
    for (int d = 0; d < 3; d++) energy += p->mass[i] * (p->v[d][i] * p->v[d][i] + fabs(p->x[d][i]));
    for (int k = 0; k < 9; k++) energy += p->volume[i] * p->fe[k][i] * p->fe[k][i];
    if (!(fabs(energy) <= 1e300)) worst = 1.0;
  }
  comm_max(&sim->comm, &worst, 1);
  if (worst == 0.0) return FIRN_OK;
  return trouble_not_finite(sim, err);
}
