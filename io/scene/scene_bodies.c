/* The bodies of a scene: their shapes, how they move, when they are there, and how snow meets them. */
#include "io/scene/scene_read.h"

#include "base/fmath.h"
#include "base/memory.h"
#include "base/vec.h"
#include "bodies/free_body.h"
#include "bodies/quaternion.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_KEYS = 10000 };

/* `rotate` or `quaternion`; no turn without either. */
static void read_turn(struct reader *r, const struct yaml_item *map, double turn[4])
{
  double axis[3], degrees, sine, cosine;
  if (yaml_find(map, "quaternion")) {
    if (yaml_find(map, "rotate"))
      reader_fail_key(r, map, "rotate", "there is 'quaternion' already; expected one of the two");
    reader_numbers(r, map, "quaternion", 4, turn);
    if (!r->code && !(fabs(quaternion_normalize(turn) - 1.0) < 1e-3))
      reader_fail_key(r, map, "quaternion", "expected [w, x, y, z] of length 1");
    return;
  }
  scene_read_rotate(r, map, axis, &degrees);
  fmath_sincos_degrees(0.5 * degrees, &sine, &cosine);
  turn[0] = cosine;
  for (int k = 0; k < 3; k++) turn[1 + k] = sine * axis[k];
}

static void read_key(struct reader *r, struct yaml_item *map, struct motion_key *key)
{
  static const char *const keys[] = {"time", "move", "rotate", "quaternion", NULL};
  static const double stay[3] = {0.0, 0.0, 0.0};
  map->used = true;
  reader_check_keys(r, map, keys);
  if (r->code) return;
  reader_open_item(r);
  key->time = reader_number(r, map, "time", READER_REQUIRED, RANGE_ANY);
  reader_vector(r, map, "move", stay, key->move);
  read_turn(r, map, key->turn);
  reader_close(r);
}

static bool same_place(const struct motion_key *a, const struct motion_key *b)
{
  double gap = 0.0, size = 0.0, along = 0.0;
  for (int d = 0; d < 3; d++) {
    gap += fabs(a->move[d] - b->move[d]);
    size += fabs(a->move[d]) + fabs(b->move[d]);
  }
  for (int k = 0; k < 4; k++) along += a->turn[k] * b->turn[k];
  return gap <= 1e-9 * size && fabs(along) > 1.0 - 1e-12;
}

static void read_keys(struct reader *r, const struct yaml_item *list, struct motion_key *keys)
{
  for (int k = 0; k < list->count && !r->code; k++) {
    read_key(r, list->child[k], &keys[k]);
    if (!r->code && k > 0 && !(keys[k].time > keys[k - 1].time))
      reader_fail_key(r, list->child[k], "time", "keys are out of order: %g s does not come after %g s",
                      keys[k].time, keys[k - 1].time);
  }
}

struct motion *scene_read_motion(struct reader *r, const struct yaml_item *map)
{
  static const char *const keys[] = {"interpolation", "cyclic", "keys", NULL};
  static const char *const words[] = {"linear", "smooth", NULL};
  if (!yaml_find(map, "motion")) return NULL;
  const struct yaml_item *motion = reader_open(r, map, "motion", keys);
  const struct yaml_item *list = reader_get(r, motion, "keys");
  bool smooth = true;
  if (list && list->count == 1)
    reader_refuse(r, motion, "interpolation", "on a single key");
  else
    smooth = reader_choice(r, motion, "interpolation", 1, words) == 1;
  const bool cyclic = reader_flag(r, motion, "cyclic", false);
  struct motion *made = NULL;
  if (!list || list->kind != YAML_LIST || list->count < (cyclic ? 2 : 1) || list->count > MOST_KEYS)
    reader_fail_key(r, motion ? motion : map, "keys",
                    "expected a list of at least %d keys, like [{time: 0, move: [0, 1, 0]}]", cyclic ? 2 : 1);
  if (!r->code) {
    struct motion_key *read = mem_alloc((size_t)list->count, sizeof *read);
    reader_write(r, "keys:");
    r->depth++;
    read_keys(r, list, read);
    reader_close(r);
    if (!r->code && cyclic && !same_place(&read[0], &read[list->count - 1]))
      reader_fail(r, list, "a cyclic motion ends where it began: expected the last key equal to the first");
    if (!r->code) made = motion_create(read, list->count, smooth, cyclic);
    mem_free(read);
  }
  reader_close(r);
  return made;
}

bool scene_turns(const struct yaml_item *map)
{
  const struct yaml_item *keys = yaml_find(yaml_find(map, "motion"), "keys");
  for (int k = 0; keys && k < keys->count; k++)
    if (yaml_find(keys->child[k], "rotate") || yaml_find(keys->child[k], "quaternion")) return true;
  return yaml_find(map, "spin") != NULL;
}

/* A window is measured from the pivot of its body. */
static bool leads_window(const struct reader *r, const char *name)
{
  const struct yaml_item *follow = yaml_find(yaml_find(r->yaml->root, "window"), "follow");
  return follow && follow->kind == YAML_SCALAR && strcmp(follow->text, name) == 0;
}

/* Velocity and spin, or keys beside which a velocity is added. */
static void read_movement(struct reader *r, const struct yaml_item *map, struct body *body)
{
  static const double rest[3] = {0.0, 0.0, 0.0};
  reader_vector(r, map, "velocity", rest, body->velocity);
  body->motion = scene_read_motion(r, map);
  if (!yaml_find(map, "motion"))
    reader_vector(r, map, "spin", rest, body->spin);
  else
    reader_refuse(r, map, "spin", "beside 'motion', which says how the body turns");
  if (body->free) {
    reader_refuse(r, map, "pivot", "on a free body, which turns about its centre of mass");
  } else if (!scene_turns(map) && !leads_window(r, body->name) && !body->measured) {
    reader_refuse(r, map, "pivot", "on a body that neither turns nor is measured");
  } else if (yaml_find(map, "pivot")) {
    reader_vector(r, map, "pivot", rest, body->pivot);
    body->pivot_given = true;
  }
}

static void read_times(struct reader *r, const struct yaml_item *map, struct body *body)
{
  if (yaml_find(map, "start")) body->start = reader_number(r, map, "start", 0.0, RANGE_NOT_NEGATIVE);
  if (yaml_find(map, "end")) body->end = reader_number(r, map, "end", 0.0, RANGE_POSITIVE);
  if (!r->code && body->end > 0.0 && !(body->end > body->start))
    reader_fail_key(r, map, "end", "expected a time after the start at %g s, found %g", body->start,
                    body->end);
}

static void read_touch(struct reader *r, const struct yaml_item *map, const struct scene *s,
                       struct body *body)
{
  double sine;
  body->sticky = reader_flag(r, map, "sticky", false);
  body->friction = reader_number_if(r, !body->sticky || yaml_find(map, "sticky_above"),
                                    "with 'sticky', which holds snow wherever it touches", map, "friction",
                                    0.3, RANGE_NOT_NEGATIVE);
  for (int d = 0; d < 3; d++) body->up[d] = -s->gravity[d];
  const double gravity = vec_normalize(body->up);
  if (!yaml_find(map, "sticky_above")) return;
  const double degrees = reader_number(r, map, "sticky_above", READER_REQUIRED, RANGE_NOT_NEGATIVE);
  if (!body->sticky) reader_refuse(r, map, "sticky_above", "without 'sticky: true'");
  if (!(degrees < 180.0))
    reader_fail_key(r, map, "sticky_above", "expected degrees from 0 to below 180 (90 is a wall), found %g",
                    degrees);
  if (!(gravity > 0.0))
    reader_fail_key(r, map, "sticky_above", "there is no gravity, and so nothing is steep");
  body->sticky_steep = true;
  fmath_sincos_degrees(degrees, &sine, &body->sticky_cosine);
}

/* What passes between the body and matter that melts. */
static void read_heat(struct reader *r, const struct yaml_item *map, const struct scene *s, struct body *body)
{
  static const char *const keys[] = {"temperature", "liquid_friction", NULL};
  if (!scene_needs_heat(r, map, s, keys)) return;
  body->liquid_friction =
      reader_number_if(r, !body->sticky || body->sticky_steep, "with 'sticky', which holds liquid too", map,
                       "liquid_friction", 0.0, RANGE_NOT_NEGATIVE);
  body->has_temperature = yaml_find(map, "temperature") != NULL;
  if (body->has_temperature)
    body->temperature = scene_read_temperature(r, map, "time", READER_REQUIRED, &body->heating);
}

bool scene_body_fits(const struct body *body, const char **key, char text[256])
{
  const bool turns = vec_norm(body->spin) != 0.0;
  *key = turns ? "spin" : "motion";
  if (isfinite(shape_reach(&body->shape)) || !(turns || (body->motion && motion_turns(body->motion))))
    return true;
  if (body->shape.kind == SHAPE_PLANE)
    snprintf(text, 256, "a plane cannot spin: it has no end; use a box");
  else
    snprintf(text, 256, "what has no end cannot turn; intersect it with a box");
  return false;
}

/* Ground that looks like old snow: its colour in previews, and its unevenness where light is traced. */
static void read_cover(struct reader *r, const struct yaml_item *map, struct body *body)
{
  static const char *const covers[] = {"none", "snow", NULL};
  static const double snow[3] = {0.86, 0.89, 0.93};
  if (!yaml_find(map, "cover")) return;
  body->snow_covered = reader_choice(r, map, "cover", 0, covers) == 1;
  if (!body->snow_covered || body->color_given) return;
  memcpy(body->color, snow, sizeof body->color);
  body->color_given = true;
}

static void read_body(struct reader *r, struct yaml_item *map, const char *name, const struct scene *s,
                      struct body *body)
{
  map->used = true;
  reader_check_name(r, map, name, NAME_SIZE, false);
  if (r->code) return;
  snprintf(body->name, sizeof body->name, "%s", name);
  body->line = map->key_line ? map->key_line : map->line;
  reader_write(r, "%s:", name);
  r->depth++;
  scene_read_shape(r, map, s, &body->shape);
  read_touch(r, map, s, body);
  scene_read_ground(r, map, s, body);
  if (yaml_find(map, "measure")) body->measured = reader_flag(r, map, "measure", false);
  scene_read_free(r, map, s, body);
  read_movement(r, map, body);
  if (body->free) {
    memcpy(body->free->velocity, body->velocity, sizeof body->velocity);
    memcpy(body->free->spin, body->spin, sizeof body->spin);
    if (leads_window(r, name)) reader_fail(r, map, "a window cannot follow a free body");
  }
  read_times(r, map, body);
  read_heat(r, map, s, body);
  if (body->free)
    reader_refuse(r, map, "pressure_map", "on a free body");
  else if (!body->measured)
    reader_refuse(r, map, "pressure_map", "on a body without 'measure: true'");
  else if (yaml_find(map, "pressure_map"))
    body->mapped = reader_flag(r, map, "pressure_map", false);
  body->skin = BODY_SKIN * s->spacing;
  body->color_given = scene_read_color(r, map, body->color);
  read_cover(r, map, body);
  reader_close(r);
  if (r->code || !shape_is_ready(&body->shape)) return;
  const char *key;
  char text[256];
  body_finish(body);
  if (!scene_body_fits(body, &key, text)) reader_fail_key(r, map, key, "%s", text);
  if (body->free && body->free->why[0]) reader_fail(r, map, "%s", body->free->why);
}

void scene_read_ground_body(struct reader *r, const struct yaml_item *map, const struct scene *s,
                            struct body *body)
{
  read_touch(r, map, s, body);
  scene_read_ground(r, map, s, body);
  if (yaml_find(map, "measure")) body->measured = reader_flag(r, map, "measure", false);
  if (yaml_find(map, "pressure_map") && !body->measured)
    reader_refuse(r, map, "pressure_map", "on a body without 'measure: true'");
  else if (yaml_find(map, "pressure_map"))
    body->mapped = reader_flag(r, map, "pressure_map", false);
  body->skin = BODY_SKIN * s->spacing;
  body->color_given = scene_read_color(r, map, body->color);
}

/* Bodies come as a map by name, or as a list whose items have a name. The canonical form is the map. */
void scene_read_bodies(struct reader *r, const struct yaml_item *root, struct scene *s)
{
#define BODY_KEYS                                                                                            \
  SCENE_SHAPE_KEYS, SCENE_GROUND_KEYS, "friction", "sticky", "sticky_above", "velocity", "spin", "motion",   \
      "pivot", "start", "end", "temperature", "liquid_friction", "measure", "pressure_map", "color",         \
      "cover", "density", "mass", "mass_center", "inertia", "lock", "push", "spring", "rub", "bounce", NULL
  static const char *const map_keys[] = {BODY_KEYS}, *const list_keys[] = {"name", BODY_KEYS};
  const struct yaml_item *all = reader_get(r, root, "bodies");
  if (all && all->kind == YAML_SCALAR)
    reader_fail(r, all,
                "expected a map of bodies by name, like {floor: {plane: {...}}}; leave it out for none");
  if (r->code || !all || !all->count) return;
  s->bodies = mem_alloc((size_t)all->count + 1, sizeof *s->bodies); /* and one for a terrain */
  s->body_count = all->count;
  reader_write(r, "bodies:");
  r->depth++;
  for (int k = 0; k < all->count && !r->code; k++) {
    struct yaml_item *map = all->child[k];
    reader_check_keys(r, map, all->kind == YAML_MAP ? map_keys : list_keys);
    const char *name = map->key;
    if (all->kind == YAML_LIST && !r->code) {
      const struct yaml_item *given = reader_get(r, map, "name");
      if (!given || given->kind != YAML_SCALAR)
        reader_fail(r, map, "the key 'name' is missing; expected a name of the body");
      if (!r->code) name = given->text;
    }
    for (int other = 0; other < k && !r->code; other++)
      if (!strcmp(s->bodies[other].name, name))
        reader_fail(r, map, "there is another body called '%s'", name);
    if (!r->code) read_body(r, map, name, s, &s->bodies[k]);
  }
  reader_close(r);
}
