#include "sim/plan.h"

#include "base/vec.h"
#include "bodies/air.h"

#include <math.h>

void sim_find_frame(struct sim *sim)
{
  const double rate = sim->scene->frame_rate;
  int64_t frame = (int64_t)fmin(floor(sim->clock.time * rate), 0x1p53);
  if ((double)(frame + 1) / rate <= sim->clock.time) frame++;
  if ((double)frame / rate > sim->clock.time) frame--;
  sim->clock.frame = frame;
  sim->clock.on_frame = sim->clock.time == (double)frame / rate;
}

/* The limit of explicit steps; infinite if sound does not bind. */
static double sound_step(const struct sim *sim)
{
  if (!sim->transfer.want_sound || sim->max_sound <= 0.0) return INFINITY;
  return sim->scene->cfl_sound * sim->scene->spacing / sim->max_sound;
}

static double stable_step(const struct sim *sim)
{
  const struct scene *scene = sim->scene;
  if (scene->step > 0.0) return fmin(scene->step, sound_step(sim));
  double speed = sim->max_speed;
  const double soon = sim->clock.time + scene->max_step;
  for (int k = 0; k < scene->body_count; k++)
    speed = fmax(speed, body_driven_speed(&scene->bodies[k], &sim->drives[k], sim->clock.time, soon) +
                            (scene->bodies[k].free ? rigid_speed(sim, scene->max_step) : 0.0));
  if (scene->air) speed = fmax(speed, air_fastest(scene->air));
  double dt = scene->max_step;
  if (speed > 0.0) dt = fmin(dt, scene->cfl * scene->spacing / speed);
  dt = fmin(dt, scene_gravity_step(scene));
  dt = fmin(dt, scene_viscous_step(scene));
  dt = fmin(dt, sound_step(sim));
  if (sim->clock.trusted > 0.0) dt = fmin(dt, sim->clock.trusted);
  return dt;
}

/* Steps to one frame beyond which no computer gets to its end. */
static const double most_steps = 1e12;

/* Steps of equal length to the next frame; a hair of rounding does not make one more. Where the scene ends
 * before that frame, only the step that would pass its end is shorter: all before it are those of a scene
 * that ends later. */
struct plan plan_step(const struct sim *sim, double limit)
{
  const double frame = (double)(sim->clock.frame + 1) / sim->scene->frame_rate,
               remaining = frame - sim->clock.time;
  const double steps = fmax(1.0, ceil(remaining / stable_step(sim) - 1e-6)), dt = remaining / steps;
  const double last = scene_end_time(sim->scene), left = last - sim->clock.time;
  const double wanted = limit - sim->clock.time;
  const bool cut = left > 0.0 && last < frame && left <= dt * (1.0 + 1e-6);
  if ((cut ? last : frame) - limit > 1e-6 * dt && wanted <= dt * (1.0 + 1e-6))
    return (struct plan){.dt = wanted, .end = limit, .steps = 1.0, .limited = true};
  if (cut) return (struct plan){.dt = left, .end = last, .steps = 1.0, .cut = true};
  return (struct plan){.dt = dt, .end = steps == 1.0 ? frame : sim->clock.time + dt, .steps = steps};
}

double sim_next_step(const struct sim *sim)
{
  return plan_step(sim, INFINITY).dt;
}

bool sim_is_over(const struct sim *sim)
{
  return sim->clock.time >= scene_end_time(sim->scene);
}

bool sim_is_on_beat(const struct sim *sim)
{
  return sim->clock.time == (double)sim->clock.frame / sim->scene->frame_rate;
}

bool sim_next_is_cut(const struct sim *sim)
{
  return plan_step(sim, INFINITY).cut;
}

int plan_check(const struct sim *sim, const struct plan *plan, struct error *err)
{
  if (plan->end > sim->clock.time && plan->steps <= most_steps) return FIRN_OK;
  return error_set(
      err, FIRN_EDIVERGE,
      "step %lld at %.9g s: the next step would be %.3g s long, and %.3g of them lead to the next "
      "frame: the snow moves at %.3g m/s; look at its velocities, stiffness and density, and at "
      "those of the bodies",
      (long long)sim->clock.step, sim->clock.time, plan->dt, plan->steps, sim->max_speed);
}

bool plan_is_shortened(const struct sim *sim)
{
  return sound_step(sim) < sim->scene->step;
}
