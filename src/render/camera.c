/* Framing works on the points in camera axes: the eye stands back until the worst of them is inside, then
 * moves sideways so that what is seen is centred, and again, since the one disturbs the other. */
#include "render/camera.h"

#include "base/vec.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const double FIELD_OF_VIEW = 32.0; /* degrees, vertical: a mild telephoto, little distortion */
static const double WIDE = 1.6,
                    HIGH = 1.25; /* picture over action: it fills 60 % of the width, or 80 % of the height */

void camera_tangents(const double n[3], double first[3], double second[3])
{
  /* Start from the world axis that is least along n, so that grids on walls and floors follow the world's
   * axes. */
  int least = 0;
  for (int d = 1; d < 3; d++)
    if (fabs(n[d]) < fabs(n[least]) - 1e-9) least = d;
  double start[3] = {0.0, 0.0, 0.0};
  start[least] = 1.0;
  vec_axpy(start, -vec_dot(start, n), n, first);
  vec_normalize(first);
  vec_cross(n, first, second);
}

void camera_look(struct camera *camera, const double eye[3], const double target[3], const double up[3],
                 double field_of_view)
{
  const double pi = acos(-1.0);
  memcpy(camera->eye, eye, sizeof camera->eye);
  vec_sub(target, eye, camera->forward);
  if (!(vec_normalize(camera->forward) > 0.0)) camera->forward[2] = -1.0;
  vec_cross(camera->forward, up, camera->right);
  if (!(vec_normalize(camera->right) > 1e-6)) {
    double second[3];
    camera_tangents(camera->forward, camera->right, second);
  }
  vec_cross(camera->right, camera->forward, camera->up);
  camera->tangent = tan(0.5 * field_of_view * pi / 180.0);
  camera->aperture = camera->focus = 0.0;
}

void camera_ray(const struct camera *camera, double x, double y, const double lens[2], double origin[3],
                double direction[3])
{
  const double focus = camera->aperture > 0.0 ? camera->focus : 1.0, radius = 0.5 * camera->aperture;
  for (int d = 0; d < 3; d++) {
    const double offset = radius * (lens[0] * camera->right[d] + lens[1] * camera->up[d]);
    const double sharp =
        focus * (camera->forward[d] + camera->tangent * (x * camera->right[d] + y * camera->up[d]));
    origin[d] = camera->eye[d] + offset;
    direction[d] = sharp - offset;
  }
  vec_normalize(direction);
}

/* Extremes of the projections, as tangents: left, right, bottom, top. */
static void project_points(const struct camera *camera, const double (*points)[3], int count,
                           double extreme[4])
{
  extreme[0] = extreme[2] = INFINITY;
  extreme[1] = extreme[3] = -INFINITY;
  for (int i = 0; i < count; i++) {
    double p[3];
    vec_sub(points[i], camera->eye, p);
    const double depth = vec_dot(p, camera->forward);
    if (!(depth > 0.0)) continue;
    const double x = vec_dot(p, camera->right) / depth, y = vec_dot(p, camera->up) / depth;
    extreme[0] = fmin(extreme[0], x);
    extreme[1] = fmax(extreme[1], x);
    extreme[2] = fmin(extreme[2], y);
    extreme[3] = fmax(extreme[3], y);
  }
}

/* Least distance from `center` at which all points are inside the picture less its margin. */
static double stand_back(const struct camera *camera, const double (*points)[3], int count,
                         const double center[3], const double shift[2], double aspect)
{
  double distance = 0.0;
  for (int i = 0; i < count; i++) {
    double p[3];
    vec_sub(points[i], center, p);
    const double x = fabs(vec_dot(p, camera->right) - shift[0]), y = fabs(vec_dot(p, camera->up) - shift[1]);
    const double needed = fmax(WIDE * x / (camera->tangent * aspect), HIGH * y / camera->tangent);
    distance = fmax(distance, needed - vec_dot(p, camera->forward));
  }
  return distance;
}

static void middle_of(const double (*points)[3], int count, double center[3])
{
  for (int d = 0; d < 3; d++) {
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < count; i++) {
      low = fmin(low, points[i][d]);
      high = fmax(high, points[i][d]);
    }
    center[d] = 0.5 * (low + high);
  }
}

void camera_frame(struct camera *camera, const double (*points)[3], int count, const double up[3],
                  double azimuth, double elevation, double aspect)
{
  double first[3], second[3], center[3], eye[3], shift[2] = {0.0, 0.0};
  camera_tangents(up, first, second);
  middle_of(points, count, center);
  for (int d = 0; d < 3; d++)
    eye[d] = center[d] + cos(elevation) * (sin(azimuth) * first[d] - cos(azimuth) * second[d]) +
             sin(elevation) * up[d];
  camera_look(camera, eye, center, up, FIELD_OF_VIEW);
  for (int pass = 0; pass < 4; pass++) {
    const double distance = stand_back(camera, points, count, center, shift, aspect);
    double extreme[4];
    for (int d = 0; d < 3; d++)
      camera->eye[d] =
          center[d] - distance * camera->forward[d] + shift[0] * camera->right[d] + shift[1] * camera->up[d];
    project_points(camera, points, count, extreme);
    if (!(extreme[0] <= extreme[1])) return;
    shift[0] += 0.5 * (extreme[0] + extreme[1]) * distance;
    shift[1] += 0.5 * (extreme[2] + extreme[3]) * distance;
  }
}
