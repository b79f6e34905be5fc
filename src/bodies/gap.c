#include "bodies/gap.h"

#include <math.h>
#include <stddef.h>

/* With W(d) the weight beyond d and M(d) its integral from d on, the mean is M / W. */
static double touching_cubic(double d)
{
  if (d >= 1.0) return (2.0 - d) / 5.0;
  const double weight = 0.5 - d * (2.0 / 3.0 - d * d * (1.0 / 3.0 - d / 8.0));
  const double moment = 7.0 / 30.0 - d * (0.5 - d * (1.0 / 3.0 - d * d * (1.0 / 12.0 - d / 40.0)));
  return moment / weight;
}

static double touching_quadratic(double d)
{
  if (d >= 0.5) return (1.5 - d) / 4.0;
  const double weight = 0.5 - d * (0.75 - d * d / 3.0);
  const double moment = 13.0 / 64.0 - d * (0.5 - d * (0.375 - d * d / 12.0));
  return moment / weight;
}

double gap_of_touching(double depth, int support)
{
  if (depth >= 0.5 * support) return 0.0;
  return support == 4 ? touching_cubic(depth) : touching_quadratic(depth);
}

double gap_closing(const struct grid *g, const struct body_pose *pose, int64_t at, double distance, double dt)
{
  const double *place = g->node[NODE_PLACE] + at, h = g->geometry.spacing;
  double mean[3];
  for (int a = 0; a < 3; a++) {
    const int axis = g->geometry.axis[a];
    mean[axis] = g->geometry.lower[a] + place[1 + axis] / place[0];
  }
  const double touching = h * gap_of_touching(-distance / h, g->geometry.support);
  return fmax(0.0, body_distance(pose, mean, NULL) - touching) / dt;
}
