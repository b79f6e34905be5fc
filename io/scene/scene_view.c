/* What a scene says about its pictures: the camera, the sun, colours. None of it changes what is computed. */
#include "io/scene/scene_read.h"

#include "base/memory.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>

enum { MOST_KEYS = 10000 };

bool scene_read_color(struct reader *r, const struct yaml_item *map, double out[3])
{
  if (!yaml_find(map, "color")) return false;
  reader_vector(r, map, "color", NULL, out);
  for (int c = 0; c < 3; c++) {
    if (!(out[c] >= 0.0 && out[c] <= 1.0))
      reader_fail_key(r, map, "color", "expected red, green and blue from 0 to 1, like [0.8, 0.3, 0.2]");
    out[c] = out[c] <= 0.04045 ? out[c] / 12.92 : pow((out[c] + 0.055) / 1.055, 2.4);
  }
  return true;
}

/* The lens; what map lacks is as in `base`. */
static void read_lens(struct reader *r, const struct yaml_item *map, const struct scene_camera *base,
                      struct scene_camera *c)
{
  c->field_of_view = reader_number(r, map, "field_of_view", base->field_of_view, RANGE_POSITIVE);
  if (yaml_find(map, "aperture") || base->aperture > 0.0)
    c->aperture = reader_number(r, map, "aperture", base->aperture, RANGE_NOT_NEGATIVE);
  if (yaml_find(map, "focus") || base->focus > 0.0)
    c->focus = reader_number(r, map, "focus", base->focus, RANGE_NOT_NEGATIVE);
}

static void check_view(struct reader *r, const struct yaml_item *map, const struct scene_camera *c)
{
  double look[3], side[3];
  vec_sub(c->target, c->eye, look);
  vec_cross(look, c->up, side);
  if (!(vec_norm(look) > 0.0)) reader_fail_key(r, map, "target", "expected a point away from the eye");
  if (!(vec_norm(side) > 1e-9 * vec_norm(look) * vec_norm(c->up)))
    reader_fail_key(r, map, "up", "expected 'up' to point across the line of sight");
  if (c->field_of_view >= 180.0)
    reader_fail_key(r, map, "field_of_view", "expected degrees above 0 and below 180, found %g",
                    c->field_of_view);
}

/* One motion for each of three vectors. */
static void make_motions(struct scene_camera *c, const struct scene_camera *keys, const double *times,
                         int count, bool smooth)
{
  struct motion_key *move = mem_alloc((size_t)count, sizeof *move);
  struct motion **const paths[3] = {&c->eye_keys, &c->target_keys, &c->lens_keys};
  for (int path = 0; path < 3; path++) {
    for (int k = 0; k < count; k++) {
      const double lens[3] = {keys[k].field_of_view, keys[k].aperture, keys[k].focus};
      move[k] = (struct motion_key){.time = times[k], .turn = {1.0, 0.0, 0.0, 0.0}};
      memcpy(move[k].move, path == 0 ? keys[k].eye : path == 1 ? keys[k].target : lens, sizeof lens);
    }
    *paths[path] = motion_create(move, count, smooth, false);
  }
  mem_free(move);
}

static void read_key(struct reader *r, struct yaml_item *map, bool first, double *time,
                     struct scene_camera *key)
{
  static const char *const keys[] = {"time", "eye", "target", "field_of_view", "aperture", "focus", NULL};
  map->used = true;
  reader_check_keys(r, map, keys);
  if (r->code) return;
  reader_open_item(r);
  *time = reader_number(r, map, "time", READER_REQUIRED, RANGE_ANY);
  const struct scene_camera before = *key;
  reader_vector(r, map, "eye", first ? NULL : before.eye, key->eye);
  reader_vector(r, map, "target", first ? NULL : before.target, key->target);
  read_lens(r, map, &before, key);
  reader_close(r);
  if (!r->code) check_view(r, map, key);
}

/* A key has what it changes; the rest is as in the key before. */
static void read_keys(struct reader *r, const struct yaml_item *map, struct scene_camera *c)
{
  static const char *const words[] = {"linear", "smooth", NULL};
  const bool smooth = reader_choice(r, map, "interpolation", 1, words) == 1;
  const struct yaml_item *list = reader_get(r, map, "keys");
  if (!r->code && (list->kind != YAML_LIST || list->count < 1 || list->count > MOST_KEYS))
    reader_fail(r, list, "expected a list of keys, like [{time: 0, eye: [0, 1, 3], target: [0, 0, 0]}]");
  if (r->code) return;
  struct scene_camera *keys = mem_alloc((size_t)list->count, sizeof *keys);
  double *times = mem_alloc((size_t)list->count, sizeof *times);
  reader_write(r, "keys:");
  r->depth++;
  for (int k = 0; k < list->count && !r->code; k++) {
    keys[k] = k > 0 ? keys[k - 1] : *c;
    read_key(r, list->child[k], k == 0, &times[k], &keys[k]);
    if (!r->code && k > 0 && !(times[k] > times[k - 1]))
      reader_fail_key(r, list->child[k], "time", "keys are out of order: %g s does not come after %g s",
                      times[k], times[k - 1]);
  }
  reader_close(r);
  if (!r->code) {
    make_motions(c, keys, times, list->count, smooth);
    memcpy(c->eye, keys[0].eye, sizeof c->eye);
    memcpy(c->target, keys[0].target, sizeof c->target);
  }
  mem_free(keys);
  mem_free(times);
}

void scene_read_camera(struct reader *r, const struct yaml_item *root, struct scene_camera *c)
{
  static const char *const keys[] = {"eye",  "target",        "up", "field_of_view", "aperture", "focus",
                                     "keys", "interpolation", NULL};
  static const double up[3] = {0.0, 1.0, 0.0};
  c->given = yaml_find(root, "camera") != NULL;
  if (!c->given) return;
  const struct yaml_item *map = reader_open(r, root, "camera", keys);
  const bool moves = yaml_find(map, "keys") != NULL;
  c->field_of_view = 40.0;
  if (!moves && yaml_find(map, "interpolation"))
    reader_fail_key(r, map, "interpolation", "has no effect without 'keys'");
  if (moves && (yaml_find(map, "eye") || yaml_find(map, "target")))
    reader_fail_key(r, map, yaml_find(map, "eye") ? "eye" : "target",
                    "there are 'keys' already; expected it in each of them");
  if (!moves) {
    reader_vector(r, map, "eye", NULL, c->eye);
    reader_vector(r, map, "target", NULL, c->target);
  }
  reader_vector(r, map, "up", up, c->up);
  read_lens(r, map, c, c);
  if (moves) read_keys(r, map, c);
  reader_close(r);
  if (!r->code && !moves) check_view(r, map, c);
}

struct scene_camera scene_camera_at(const struct scene_camera *camera, double time)
{
  struct scene_camera now = *camera;
  struct motion_state state;
  now.eye_keys = now.target_keys = now.lens_keys = NULL;
  if (!camera->eye_keys) return now;
  motion_at(camera->eye_keys, time, &state);
  memcpy(now.eye, state.move, sizeof now.eye);
  motion_at(camera->target_keys, time, &state);
  memcpy(now.target, state.move, sizeof now.target);
  motion_at(camera->lens_keys, time, &state);
  now.field_of_view = fmin(fmax(state.move[0], 1e-3), 179.0); /* a smooth curve may overshoot its keys */
  now.aperture = fmax(state.move[1], 0.0);
  now.focus = fmax(state.move[2], 0.0);
  return now;
}

void scene_read_sun(struct reader *r, const struct yaml_item *root, struct scene_sun *sun)
{
  static const char *const keys[] = {"direction", "turbidity", "sky", "size", "strength", NULL};
  static const char *const skies[] = {"clear", "overcast", "gradient", NULL}; /* enum scene_sky */
  sun->turbidity = 2.0;
  if (r->code || !yaml_find(root, "sun")) return;
  const struct yaml_item *map = reader_open(r, root, "sun", keys);
  sun->given = map && yaml_find(map, "direction");
  if (sun->given) scene_read_direction(r, map, "direction", sun->direction);
  sun->turbidity = reader_number(r, map, "turbidity", 2.0, RANGE_POSITIVE);
  sun->sky = (enum scene_sky)reader_choice(r, map, "sky", SKY_CLEAR, skies);
  if (yaml_find(map, "size")) sun->size = reader_number(r, map, "size", 0.53, RANGE_POSITIVE);
  if (yaml_find(map, "strength")) sun->strength = reader_number(r, map, "strength", 1.0, RANGE_POSITIVE);
  reader_close(r);
  if (sun->size > 30.0)
    reader_fail_key(r, map, "size", "expected up to 30 degrees (the real sun has 0.53), found %g", sun->size);
  if (!(sun->turbidity >= 1.7 && sun->turbidity <= 10.0))
    reader_fail_key(r, map, "turbidity", "expected 1.7 (very clear) to 10 (haze), found %g", sun->turbidity);
}
