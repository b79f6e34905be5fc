/* Shapes as a scene writes them (a capsule by its two ends, a box by its corners) to shapes as the
 * distance functions want them (centre, axis, halves). */
#include "io/scene_read.h"

#include "base/fmath.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>

static const char *const kinds[] = {SCENE_SHAPE_KEYS, NULL}; /* in the order of enum shape_kind */

/* Scales to length one; fails where rounding, or a zero, leaves no direction. */
static void read_direction(struct reader *r, const struct yaml_item *map, const char *key, double out[3])
{
  reader_vector(r, map, key, NULL, out);
  vec_normalize(out);
  if (!(fabs(vec_norm(out) - 1.0) < 1e-9))
    reader_fail_key(r, map, key, "expected a direction, found a vector of no length");
}

static void read_plane(struct reader *r, const struct yaml_item *map, struct shape *shape)
{
  static const char *const keys[] = {"point", "normal", NULL};
  const struct yaml_item *plane = reader_open(r, map, "plane", keys);
  reader_vector(r, plane, "point", NULL, shape->center);
  read_direction(r, plane, "normal", shape->axis);
  reader_close(r);
}

static void read_sphere(struct reader *r, const struct yaml_item *map, struct shape *shape)
{
  static const char *const keys[] = {"center", "radius", NULL};
  const struct yaml_item *sphere = reader_open(r, map, "sphere", keys);
  reader_vector(r, sphere, "center", NULL, shape->center);
  shape->radius = reader_number(r, sphere, "radius", READER_REQUIRED, RANGE_POSITIVE);
  reader_close(r);
}

static void read_rotation(struct reader *r, const struct yaml_item *box, struct shape *shape)
{
  static const char *const keys[] = {"axis", "degrees", NULL};
  if (!yaml_find(box, "rotate")) return;
  const struct yaml_item *map = reader_open(r, box, "rotate", keys);
  double axis[3], sine, cosine;
  read_direction(r, map, "axis", axis);
  const double degrees = reader_number(r, map, "degrees", READER_REQUIRED, RANGE_ANY);
  reader_close(r);
  fmath_sincos_degrees(degrees, &sine, &cosine);
  for (int column = 0; column < 3; column++) {
    double e[3] = {0.0, 0.0, 0.0}, turned[3];
    e[column] = 1.0;
    fmath_rotate(axis, sine, cosine, e, turned);
    for (int row = 0; row < 3; row++) shape->frame[3 * row + column] = turned[row];
  }
}

static void read_box(struct reader *r, const struct yaml_item *map, struct shape *shape)
{
  static const char *const keys[] = {"lower", "upper", "center", "size", "rotate", NULL};
  const struct yaml_item *box = reader_open(r, map, "box", keys);
  const bool corners = yaml_find(box, "lower") || yaml_find(box, "upper");
  double lower[3], upper[3], size[3];
  if (corners && (yaml_find(box, "center") || yaml_find(box, "size")))
    reader_fail(r, box, "expected lower and upper, or center and size, not a mixture");
  if (corners) {
    reader_vector(r, box, "lower", NULL, lower);
    reader_vector(r, box, "upper", NULL, upper);
  } else {
    reader_vector(r, box, "center", NULL, shape->center);
    reader_vector(r, box, "size", NULL, size);
  }
  for (int d = 0; d < 3 && !r->code; d++) {
    if (corners) {
      shape->center[d] = 0.5 * lower[d] + 0.5 * upper[d];
      size[d] = upper[d] - lower[d];
    }
    shape->half[d] = 0.5 * size[d];
    if (size[d] > 0.0) continue;
    reader_fail_key(r, box, corners ? "upper" : "size",
                    corners ? "expected upper above lower along %c"
                            : "expected three lengths above 0, found none along %c",
                    "xyz"[d]);
  }
  read_rotation(r, box, shape);
  reader_close(r);
}

static void read_rod(struct reader *r, const struct yaml_item *map, const char *kind, struct shape *shape)
{
  static const char *const keys[] = {"from", "to", "radius", NULL};
  const struct yaml_item *rod = reader_open(r, map, kind, keys);
  double from[3], to[3];
  reader_vector(r, rod, "from", NULL, from);
  reader_vector(r, rod, "to", NULL, to);
  shape->radius = reader_number(r, rod, "radius", READER_REQUIRED, RANGE_POSITIVE);
  reader_close(r);
  if (r->code) return;
  vec_sub(to, from, shape->axis);
  for (int d = 0; d < 3; d++) shape->center[d] = 0.5 * from[d] + 0.5 * to[d];
  shape->half[0] = 0.5 * vec_normalize(shape->axis);
  if (!(fabs(vec_norm(shape->axis) - 1.0) < 1e-9))
    reader_fail_key(r, rod, "to", "expected two different points, found no length between from and to");
}

void scene_read_shape(struct reader *r, const struct yaml_item *map, struct shape *shape)
{
  int kind = -1;
  *shape = (struct shape){.axis = {0.0, 1.0, 0.0}, .frame = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
  for (int k = 0; kinds[k]; k++) {
    if (!yaml_find(map, kinds[k])) continue;
    if (kind >= 0)
      reader_fail_key(r, map, kinds[k], "there is a %s already; expected one shape", kinds[kind]);
    kind = k;
  }
  if (kind < 0)
    reader_fail(r, map, "a shape is missing; expected one of plane, sphere, box, capsule, cylinder");
  if (r->code) return;
  shape->kind = (enum shape_kind)kind;
  switch (shape->kind) {
  case SHAPE_PLANE: read_plane(r, map, shape); break;
  case SHAPE_SPHERE: read_sphere(r, map, shape); break;
  case SHAPE_BOX: read_box(r, map, shape); break;
  case SHAPE_CAPSULE:
  case SHAPE_CYLINDER: read_rod(r, map, kinds[kind], shape); break;
  }
}
