/* Shapes as a scene writes them (a capsule by its two ends, a box by its corners, a tree of set operations)
 * to shapes as the distance functions want them (centre, axis, halves, children). Files are only named here:
 * scene_load() reads them. */
#include "io/scene/scene_read.h"

#include "base/fmath.h"
#include "base/memory.h"
#include "base/vec.h"
#include "levelset/heights.h"

#include <math.h>
#include <string.h>

/* In the order of enum shape_kind, whose first kind, nothing, has no word. */
static const char *const kinds[] = {SCENE_SHAPE_KEYS, NULL};

static const char *word_of(enum shape_kind kind)
{
  return kinds[kind - SHAPE_PLANE];
}

enum { MOST_CHILDREN = 1000 };

char *scene_path_beside(const char *scene, const char *file)
{
  const char *slash = strrchr(scene, '/');
  if (file[0] == '/' || !slash) return mem_strdup(file);
  const size_t folder = (size_t)(slash - scene) + 1;
  char *path = mem_alloc(folder + strlen(file) + 1, 1);
  memcpy(path, scene, folder);
  strcpy(path + folder, file);
  return path;
}

void scene_read_direction(struct reader *r, const struct yaml_item *map, const char *key, double out[3])
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
  scene_read_direction(r, plane, "normal", shape->axis);
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

void scene_read_rotate(struct reader *r, const struct yaml_item *map, double axis[3], double *degrees)
{
  static const char *const keys[] = {"axis", "degrees", NULL};
  axis[0] = axis[2] = *degrees = 0.0;
  axis[1] = 1.0;
  if (!yaml_find(map, "rotate")) return;
  const struct yaml_item *rotate = reader_open(r, map, "rotate", keys);
  scene_read_direction(r, rotate, "axis", axis);
  *degrees = reader_number(r, rotate, "degrees", READER_REQUIRED, RANGE_ANY);
  reader_close(r);
}

void scene_read_frame(struct reader *r, const struct yaml_item *map, struct shape *shape)
{
  double axis[3], degrees, sine, cosine;
  if (!yaml_find(map, "rotate")) return;
  scene_read_rotate(r, map, axis, &degrees);
  fmath_sincos_degrees(degrees, &sine, &cosine);
  for (int column = 0; column < 3; column++) {
    double e[3] = {0.0, 0.0, 0.0}, turned[3];
    e[column] = 1.0;
    fmath_rotate(axis, sine, cosine, e, turned);
    for (int row = 0; row < 3; row++) shape->axes[3 * row + column] = turned[row];
  }
}

/* Boxes and what stands in one: two corners, or centre and size. */
static void read_box(struct reader *r, const struct yaml_item *map, const char *kind, struct shape *shape)
{
  static const char *const keys[] = {"lower", "upper", "center", "size", "rotate", NULL};
  const struct yaml_item *box = reader_open(r, map, kind, keys);
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
  scene_read_frame(r, box, shape);
  reader_close(r);
}

/* Capsules, cylinders and cones: an axis from point to point. */
static void read_rod(struct reader *r, const struct yaml_item *map, const char *kind, struct shape *shape)
{
  static const char *const keys[] = {"from", "to", "radius", NULL};
  static const char *const cone_keys[] = {"from", "to", "radius", "end_radius", NULL};
  const bool cone = shape->kind == SHAPE_CONE;
  const struct yaml_item *rod = reader_open(r, map, kind, cone ? cone_keys : keys);
  double from[3], to[3];
  reader_vector(r, rod, "from", NULL, from);
  reader_vector(r, rod, "to", NULL, to);
  shape->radius = reader_number(r, rod, "radius", READER_REQUIRED, RANGE_POSITIVE);
  if (cone) shape->amount = reader_number(r, rod, "end_radius", 0.0, RANGE_NOT_NEGATIVE);
  reader_close(r);
  if (r->code) return;
  vec_sub(to, from, shape->axis);
  for (int d = 0; d < 3; d++) shape->center[d] = 0.5 * from[d] + 0.5 * to[d];
  shape->half[0] = 0.5 * vec_normalize(shape->axis);
  if (!(fabs(vec_norm(shape->axis) - 1.0) < 1e-9))
    reader_fail_key(r, rod, "to", "expected two different points, found no length between from and to");
}

static void read_source(struct reader *r, const struct yaml_item *map, const struct scene *s,
                        struct shape *shape)
{
  const char *file = reader_string(r, map, "file", NULL);
  if (r->code) return;
  const struct yaml_item *item = yaml_find(map, "file");
  shape->source = mem_alloc(1, sizeof *shape->source);
  *shape->source = (struct shape_source){
      .path = scene_path_beside(s->path, file), .line = item->line, .scale = 1.0, .spacing = s->spacing};
}

static void read_form(struct reader *r, const struct yaml_item *map, const struct scene *s,
                      struct shape *shape)
{
  static const char *const forms[] = {"slope", "ramp", "hill", "bumps", "noise", NULL}; /* heights_form */
  const double half[2] = {shape->half[0], shape->half[2]};
  struct heights_parameters p = {.octaves = 1, .wavelength = 2.0 * half[0]};
  if (!yaml_find(map, "form"))
    reader_fail(r, map, "expected 'form' (slope, ramp, hill, bumps or noise), or 'file' with an image");
  p.form = (enum heights_form)reader_choice(r, map, "form", 0, forms);
  p.height = reader_number(r, map, "height", READER_REQUIRED, RANGE_ANY);
  if (p.form != HEIGHTS_SLOPE)
    p.wavelength = reader_number(r, map, "wavelength", READER_REQUIRED, RANGE_POSITIVE);
  if (p.form == HEIGHTS_NOISE) {
    p.octaves = (int)reader_integer(r, map, "octaves", 4, 1, 12);
    p.seed = reader_seed(r, map, "seed", 0);
  }
  const double spacing = reader_number(r, map, "spacing", s->spacing, RANGE_POSITIVE);
  if (!(2.0 * half[0] / p.wavelength < 1e9 && 2.0 * half[1] / p.wavelength < 1e9))
    reader_fail_key(r, map, "wavelength", "%g m is nothing beside the footprint", p.wavelength);
  if (!r->code) shape->heights = heights_create(&p, half, spacing);
}

static void read_heightfield(struct reader *r, const struct yaml_item *map, const struct scene *s,
                             struct shape *shape)
{
  static const char *const keys[] = {"center",     "size",    "rotate", "form",    "file", "height",
                                     "wavelength", "octaves", "seed",   "spacing", NULL};
  const struct yaml_item *field = reader_open(r, map, "heightfield", keys);
  double size[3];
  reader_vector(r, field, "center", NULL, shape->center);
  reader_vector(r, field, "size", NULL, size);
  for (int d = 0; d < 3; d++) {
    shape->half[d] = d == 1 ? size[d] : 0.5 * size[d];
    if (!(size[d] > 0.0))
      reader_fail_key(r, field, "size",
                      "expected three lengths above 0 (along x, the depth below 0, along z)");
  }
  scene_read_frame(r, field, shape);
  if (yaml_find(field, "file")) {
    if (yaml_find(field, "form"))
      reader_fail_key(r, field, "form", "there is 'file' already; expected one of the two");
    read_source(r, field, s, shape);
    const double height = reader_number(r, field, "height", READER_REQUIRED, RANGE_ANY);
    if (!r->code) shape->source->scale = height;
  } else {
    read_form(r, field, s, shape);
  }
  reader_close(r);
}

/* A mesh or a file of level-set keys; `center` holds the place of the file's origin until it is read. */
static void read_sampled(struct reader *r, const struct yaml_item *map, const struct scene *s,
                         struct shape *shape)
{
  static const char *const mesh_keys[] = {"file", "position", "scale", "spacing", "rotate", NULL};
  static const char *const level_keys[] = {"file", "position", "rotate", "cyclic", NULL};
  static const double origin[3] = {0.0, 0.0, 0.0};
  const bool mesh = shape->kind == SHAPE_MESH;
  const struct yaml_item *sampled =
      reader_open(r, map, mesh ? "mesh" : "levelset", mesh ? mesh_keys : level_keys);
  if (!sampled) reader_fail(r, map, "expected a map with at least 'file'");
  read_source(r, sampled, s, shape);
  reader_vector(r, sampled, "position", origin, shape->center);
  scene_read_frame(r, sampled, shape);
  if (mesh) {
    const double scale = reader_number(r, sampled, "scale", 1.0, RANGE_POSITIVE);
    const double spacing = reader_number(r, sampled, "spacing", s->spacing, RANGE_POSITIVE);
    if (!r->code) {
      shape->source->scale = scale;
      shape->source->spacing = spacing;
    }
  } else {
    const bool cyclic = reader_flag(r, sampled, "cyclic", false);
    if (!r->code) shape->source->cyclic = cyclic;
  }
  reader_close(r);
}

static void read_shape(struct reader *r, const struct yaml_item *map, const struct scene *s,
                       struct shape *shape);

/* A shape inside another. */
static void read_part(struct reader *r, const struct yaml_item *map, const struct scene *s,
                      struct shape *shape)
{
  read_shape(r, map, s, shape);
  if (shape->kind == SHAPE_KEYS)
    reader_fail_key(r, map, "levelset", "deforms by itself: it can only be the whole shape of a body");
}

static void add_children(struct shape *shape, int count)
{
  shape->child = mem_alloc((size_t)count, sizeof *shape->child);
  shape->child_count = count;
}

/* A list of shapes under `key`, which is there. */
static void read_children(struct reader *r, const struct yaml_item *map, const char *key,
                          const struct scene *s, struct shape *shape)
{
  const struct yaml_item *list = reader_get(r, map, key);
  if (!list || list->kind != YAML_LIST || list->count < 1 || list->count > MOST_CHILDREN)
    reader_fail_key(r, map, key, "expected a list of shapes, like [{sphere: {...}}, {box: {...}}]");
  if (r->code) return;
  add_children(shape, list->count);
  reader_write(r, "%s:", key);
  r->depth++;
  for (int c = 0; c < list->count && !r->code; c++) {
    list->child[c]->used = true;
    reader_check_keys(r, list->child[c], kinds);
    if (r->code) break;
    reader_open_item(r);
    read_part(r, list->child[c], s, &shape->child[c]);
    reader_close(r);
  }
  reader_close(r);
}

/* One shape under `key`. */
static void read_child(struct reader *r, const struct yaml_item *map, const char *key, const struct scene *s,
                       struct shape *child)
{
  const struct yaml_item *item = reader_open(r, map, key, kinds);
  if (!item) reader_fail(r, map, "the key '%s' is missing; expected a shape, like {sphere: {...}}", key);
  if (!r->code) read_part(r, item, s, child);
  reader_close(r);
}

static void read_smooth_union(struct reader *r, const struct yaml_item *map, const struct scene *s,
                              struct shape *shape)
{
  static const char *const keys[] = {"of", "blend", NULL};
  const struct yaml_item *item = reader_open(r, map, "smooth_union", keys);
  read_children(r, item ? item : map, "of", s, shape);
  shape->amount = reader_number(r, item, "blend", READER_REQUIRED, RANGE_POSITIVE);
  if (shape->child_count == 1)
    reader_fail_key(r, item, "blend", "has no effect on a single shape; expected two and more");
  reader_close(r);
}

/* Shell, offset and layer: one shape and a length; a layer also has a box that it ends in. */
static void read_made_of_one(struct reader *r, const struct yaml_item *map, const struct scene *s,
                             struct shape *shape)
{
  static const char *const shell[] = {"of", "thickness", NULL}, *const offset[] = {"of", "distance", NULL},
                           *const layer[] = {"on", "thickness", "all_around", "within", NULL};
  static const char *const box[] = {"box", NULL};
  const bool is_layer = shape->kind == SHAPE_LAYER, is_offset = shape->kind == SHAPE_OFFSET;
  const struct yaml_item *item = reader_open(r, map, word_of(shape->kind),
                                             is_layer    ? layer
                                             : is_offset ? offset
                                                         : shell);
  add_children(shape, is_layer ? 2 : 1);
  read_child(r, item ? item : map, is_layer ? "on" : "of", s, &shape->child[0]);
  shape->amount = reader_number(r, item, is_offset ? "distance" : "thickness", READER_REQUIRED,
                                is_offset ? RANGE_ANY : RANGE_POSITIVE);
  if (is_layer && !reader_flag(r, item, "all_around", false)) {
    for (int d = 0; d < 3; d++) shape->half[d] = -s->gravity[d];
    if (!(vec_normalize(shape->half) > 0.0)) shape->half[1] = 1.0;
  }
  if (is_layer) {
    const struct yaml_item *within = reader_open(r, item, "within", box);
    if (!within)
      reader_fail(r, map, "the key 'within' is missing; expected {box: {...}}, where the layer ends");
    if (!r->code) read_part(r, within, s, &shape->child[1]);
    reader_close(r);
  }
  reader_close(r);
}

static enum shape_kind find_kind(struct reader *r, const struct yaml_item *map)
{
  enum shape_kind kind = SHAPE_NONE;
  for (int k = 0; kinds[k]; k++) {
    if (!yaml_find(map, kinds[k])) continue;
    if (kind != SHAPE_NONE)
      reader_fail_key(r, map, kinds[k], "there is a %s already; expected one shape", word_of(kind));
    kind = (enum shape_kind)(SHAPE_PLANE + k);
  }
  if (kind == SHAPE_NONE)
    reader_fail(r, map,
                "a shape is missing; expected one of plane, sphere, box, capsule, cylinder, cone, wedge, "
                "heightfield, mesh, levelset, union, intersection, difference, smooth_union, shell, offset, "
                "layer, text, release");
  return kind;
}

static void read_shape(struct reader *r, const struct yaml_item *map, const struct scene *s,
                       struct shape *shape)
{
  *shape = (struct shape){.axis = {0.0, 1.0, 0.0}, .axes = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
  const enum shape_kind kind = r->code ? SHAPE_NONE : find_kind(r, map);
  if (r->code) return;
  shape->kind = kind;
  switch (shape->kind) {
  case SHAPE_PLANE: read_plane(r, map, shape); break;
  case SHAPE_SPHERE: read_sphere(r, map, shape); break;
  case SHAPE_BOX:
  case SHAPE_WEDGE: read_box(r, map, word_of(kind), shape); break;
  case SHAPE_CAPSULE:
  case SHAPE_CYLINDER:
  case SHAPE_CONE: read_rod(r, map, word_of(kind), shape); break;
  case SHAPE_HEIGHTFIELD: read_heightfield(r, map, s, shape); break;
  case SHAPE_MESH:
  case SHAPE_KEYS: read_sampled(r, map, s, shape); break;
  case SHAPE_UNION:
  case SHAPE_INTERSECTION:
  case SHAPE_DIFFERENCE: read_children(r, map, word_of(kind), s, shape); break;
  case SHAPE_SMOOTH_UNION: read_smooth_union(r, map, s, shape); break;
  case SHAPE_TEXT: scene_read_letters(r, map, s, shape); break;
  case SHAPE_RELEASE: scene_read_release(r, map, s, shape); break;
  default: read_made_of_one(r, map, s, shape); break;
  }
}

void scene_read_shape(struct reader *r, const struct yaml_item *map, const struct scene *s,
                      struct shape *shape)
{
  read_shape(r, map, s, shape);
  if (!r->code && shape_is_ready(shape)) shape_settle(shape);
}
