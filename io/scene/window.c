#include "io/scene/window.h"

#include <math.h>

enum { TICKS_A_FRAME = 4 };

static int64_t clip(double plane, int64_t cells)
{
  return plane < 0.0 ? 0 : plane > (double)cells ? cells : (int64_t)plane;
}

void window_advance(struct window *w, const struct scene *scene, double time)
{
  const struct scene_window *window = &scene->window;
  if (!window->given) {
    w->to = scene->cells[0];
    return;
  }
  const double rate = TICKS_A_FRAME * scene->frame_rate;
  /* Half a tick off the frames, whose times two ways of adding steps may round differently. */
  for (const int64_t last = (int64_t)floor(time * rate + 0.5); w->ticks <= last; w->ticks++) {
    struct body_pose pose;
    body_pose_at(&scene->bodies[window->body], fmax(0.0, ((double)w->ticks - 0.5) / rate), &pose);
    const double at = window->direction * pose.origin[window->axis];
    if (w->ticks == 0 || at > w->farthest) w->farthest = at;
  }
  const double lower = scene->lower[window->axis], body = window->direction * w->farthest;
  const double front = body + window->direction * window->ahead,
               back = body - window->direction * window->behind;
  const int64_t cells = scene->cells[window->axis];
  const struct window old = *w;
  w->from = clip(floor((fmin(front, back) - lower) / scene->spacing), cells);
  w->to = clip(floor((fmax(front, back) - lower) / scene->spacing) + 1.0, cells);
  if (old.placed && (old.from - w->from) * (int64_t)window->direction > 0) w->from = old.from;
  if (old.placed && (old.to - w->to) * (int64_t)window->direction > 0) w->to = old.to;
  w->placed = true;
}
