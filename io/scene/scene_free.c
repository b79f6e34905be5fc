/* The keys that make a body free: what it weighs, how it starts, and what acts on it besides snow. */
#include "io/scene/scene_read.h"

#include "base/memory.h"
#include "bodies/free_body.h"

#include <string.h>

static const double nowhere[3] = {0.0, 0.0, 0.0};

static bool is_free(const struct yaml_item *map)
{
  return yaml_find(map, "density") || yaml_find(map, "mass");
}

bool scene_has_free(const struct yaml_item *root)
{
  const struct yaml_item *all = yaml_find(root, "bodies");
  for (int k = 0; all && k < all->count; k++)
    if (is_free(all->child[k])) return true;
  return false;
}

/* What bodies that can meet have, whether they are free or not. */
static void read_meeting(struct reader *r, const struct yaml_item *map, struct body *body)
{
  static const char *const why = "in a scene without a free body, one with 'density' or 'mass'";
  if (scene_has_free(r->yaml->root)) {
    body->rub = reader_number(r, map, "rub", 0.3, RANGE_NOT_NEGATIVE);
    body->bounce = reader_number(r, map, "bounce", 0.0, RANGE_NOT_NEGATIVE);
    if (!(body->bounce <= 1.0))
      reader_fail_key(r, map, "bounce", "expected 0 to 1, the part of the speed that is left, found %g",
                      body->bounce);
    return;
  }
  reader_refuse(r, map, "rub", why);
  reader_refuse(r, map, "bounce", why);
}

static void read_mass(struct reader *r, const struct yaml_item *map, struct free_body *free)
{
  if (yaml_find(map, "density") && yaml_find(map, "mass"))
    reader_fail_key(r, map, "mass", "there is 'density' already; expected one of the two");
  if (yaml_find(map, "density"))
    free->density = reader_number(r, map, "density", READER_REQUIRED, RANGE_POSITIVE);
  else
    free->mass = reader_number(r, map, "mass", READER_REQUIRED, RANGE_POSITIVE);
  free->center_given = yaml_find(map, "mass_center") != NULL;
  if (free->center_given) reader_vector(r, map, "mass_center", NULL, free->center);
  const struct yaml_item *inertia = yaml_find(map, "inertia");
  if (!inertia) return;
  free->inertia_given = inertia->kind == YAML_LIST && inertia->count == 6 ? 6 : 3;
  reader_numbers(r, map, "inertia", free->inertia_given, free->inertia);
}

static void read_lock(struct reader *r, const struct yaml_item *map, struct free_body *free)
{
  enum { ALL_TURNS = 6 };
  static const char *const words[] = {"x", "y", "z", "turn_x", "turn_y", "turn_z", "turn", NULL};
  if (!yaml_find(map, "lock")) return;
  const unsigned locked = reader_choices(r, map, "lock", 0, words);
  for (int k = 0; k < 6; k++) free->lock[k] = locked >> k & 1 || (k >= 3 && locked >> ALL_TURNS & 1);
}

static void read_push(struct reader *r, const struct yaml_item *map, struct free_push *push)
{
  reader_vector(r, map, "force", nowhere, push->force);
  reader_vector(r, map, "torque", nowhere, push->torque);
  push->at_given = yaml_find(map, "at") != NULL;
  if (push->at_given) reader_vector(r, map, "at", NULL, push->at);
  push->start = reader_number(r, map, "start", 0.0, RANGE_NOT_NEGATIVE);
  if (yaml_find(map, "end")) push->end = reader_number(r, map, "end", 0.0, RANGE_POSITIVE);
  if (!r->code && push->end > 0.0 && !(push->end > push->start))
    reader_fail_key(r, map, "end", "expected a time after the start at %g s, found %g", push->start,
                    push->end);
}

static void read_spring(struct reader *r, const struct yaml_item *map, struct free_spring *spring)
{
  reader_vector(r, map, "anchor", NULL, spring->anchor);
  reader_vector(r, map, "velocity", nowhere, spring->velocity);
  spring->at_given = yaml_find(map, "at") != NULL;
  if (spring->at_given) reader_vector(r, map, "at", NULL, spring->at);
  spring->stiffness = reader_number(r, map, "stiffness", READER_REQUIRED, RANGE_POSITIVE);
  spring->damping = reader_number(r, map, "damping", 0.0, RANGE_NOT_NEGATIVE);
  spring->length = reader_number(r, map, "length", 0.0, RANGE_NOT_NEGATIVE);
  spring->rope = reader_flag(r, map, "rope", false);
}

enum { MOST_ITEMS = 1000 };

/* Items of a key that is one map or a list of them: how many, or 0. */
static int items_of(struct reader *r, const struct yaml_item *map, const char *key)
{
  const struct yaml_item *item = yaml_find(map, key);
  if (!item) return 0;
  if (item->kind == YAML_MAP) return 1;
  if (item->kind == YAML_LIST && item->count > 0 && item->count <= MOST_ITEMS) return item->count;
  reader_fail(r, item, "expected a map, or a list of 1 to %d of them", MOST_ITEMS);
  return 0;
}

static void read_pushes(struct reader *r, const struct yaml_item *map, struct free_body *free)
{
  static const char *const keys[] = {"force", "torque", "at", "start", "end", NULL};
  free->push_count = items_of(r, map, "push");
  if (!free->push_count) return;
  free->push = mem_alloc((size_t)free->push_count, sizeof *free->push);
  struct yaml_item *all = reader_get(r, map, "push");
  reader_write(r, "push:");
  r->depth++;
  for (int k = 0; k < free->push_count && !r->code; k++) {
    struct yaml_item *item = all->kind == YAML_LIST ? all->child[k] : all;
    item->used = true;
    reader_check_keys(r, item, keys);
    reader_open_item(r);
    read_push(r, item, &free->push[k]);
    reader_close(r);
  }
  reader_close(r);
}

static void read_springs(struct reader *r, const struct yaml_item *map, struct free_body *free)
{
  static const char *const keys[] = {"anchor",  "velocity", "at",   "stiffness",
                                     "damping", "length",   "rope", NULL};
  free->spring_count = items_of(r, map, "spring");
  if (!free->spring_count) return;
  free->spring = mem_alloc((size_t)free->spring_count, sizeof *free->spring);
  struct yaml_item *all = reader_get(r, map, "spring");
  reader_write(r, "spring:");
  r->depth++;
  for (int k = 0; k < free->spring_count && !r->code; k++) {
    struct yaml_item *item = all->kind == YAML_LIST ? all->child[k] : all;
    item->used = true;
    reader_check_keys(r, item, keys);
    reader_open_item(r);
    read_spring(r, item, &free->spring[k]);
    reader_close(r);
  }
  reader_close(r);
}

/* What free bodies do not go with. */
static void check_company(struct reader *r, const struct yaml_item *map, const struct scene *s)
{
  const char *key = yaml_find(map, "density") ? "density" : "mass";
  if (s->has_heat) reader_fail_key(r, map, key, "a free body cannot be beside 'heat'; remove one of the two");
  if (s->gap)
    reader_fail_key(r, map, key, "a free body needs integrator.contact: nodes, which is the default");
  if (s->whole_friction)
    reader_fail_key(r, map, key, "a free body needs integrator.friction: before, which is the default");
  if (s->pipelined)
    reader_fail_key(r, map, key, "a free body needs integrator.solver: cr, which is the default");
}

void scene_read_free(struct reader *r, const struct yaml_item *map, const struct scene *s, struct body *body)
{
  static const char *const of_free[] = {"mass_center", "inertia", "lock", "push", "spring", NULL};
  static const char *const of_scripted[] = {"motion", "end", NULL};
  read_meeting(r, map, body);
  if (!is_free(map)) {
    for (int k = 0; of_free[k]; k++)
      reader_refuse(r, map, of_free[k], "on a body without 'density' or 'mass', which follows the scene");
    return;
  }
  check_company(r, map, s);
  for (int k = 0; of_scripted[k]; k++)
    reader_refuse(r, map, of_scripted[k], "on a free body, which moves by what acts on it");
  body->free = mem_alloc(1, sizeof *body->free);
  read_mass(r, map, body->free);
  read_lock(r, map, body->free);
  read_pushes(r, map, body->free);
  read_springs(r, map, body->free);
}
