/* Friction of a body beyond one Coulomb coefficient: turbulence, cohesion, dependence on speed. A key that is
 * not there is not written, so that scenes without them keep their hash. */
#include "io/scene/scene_read.h"

#include "base/vec.h"

#include <math.h>
#include <string.h>

static const char *const words[] = {"turbulence", "cohesion", "fast_friction", "friction_speed", NULL};

/* The keys of map into the law, whose friction is set. */
static void read_law(struct reader *r, const struct yaml_item *map, struct ground_law *law)
{
  if (yaml_find(map, "turbulence"))
    law->turbulence = reader_number(r, map, "turbulence", 0.0, RANGE_POSITIVE);
  if (yaml_find(map, "cohesion")) law->cohesion = reader_number(r, map, "cohesion", 0.0, RANGE_NOT_NEGATIVE);
  const bool fast = yaml_find(map, "fast_friction"), speed = yaml_find(map, "friction_speed");
  if (fast != speed)
    reader_fail_key(r, map, fast ? "fast_friction" : "friction_speed",
                    "needs '%s' beside it: the coefficient at high speed, and the speed half way to it",
                    fast ? "friction_speed" : "fast_friction");
  if (!fast || !speed) return;
  law->fast_friction = reader_number(r, map, "fast_friction", READER_REQUIRED, RANGE_NOT_NEGATIVE);
  law->friction_speed = reader_number(r, map, "friction_speed", READER_REQUIRED, RANGE_POSITIVE);
}

static void check_law(struct reader *r, const struct yaml_item *map, const struct scene *s,
                      const struct ground_law *law)
{
  if (law->cohesion > 0.0 && fmax(law->friction, law->fast_friction) >= 1.0)
    reader_fail_key(r, map, law->friction >= 1.0 ? "friction" : "fast_friction",
                    "with cohesion the coefficient must be below 1, found %g",
                    fmax(law->friction, law->fast_friction));
  if (law->turbulence > 0.0 && vec_norm(s->gravity) == 0.0)
    reader_refuse(r, map, "turbulence", "without gravity, which it is measured by");
}

/* What does not go together with any of the keys. */
static void check_scene(struct reader *r, const struct yaml_item *map, const struct scene *s,
                        const struct body *body)
{
  for (int k = 0; words[k]; k++) {
    if (!yaml_find(map, words[k])) continue;
    if (body->sticky && !body->sticky_steep)
      reader_refuse(r, map, words[k], "with 'sticky', which holds snow wherever it touches");
    if (s->has_heat)
      reader_fail_key(r, map, words[k],
                      "does not go together with 'heat', in which wet snow has friction of "
                      "its own; remove one of the two");
    if (s->whole_friction && body->ground.layered)
      reader_fail_key(r, map, words[k],
                      "does not go together with 'integrator: {friction: whole}'; leave "
                      "that at 'before'");
  }
}

void scene_read_ground(struct reader *r, const struct yaml_item *map, const struct scene *s,
                       struct body *body)
{
  struct ground *ground = &body->ground;
  ground->weight = vec_norm(s->gravity);
  ground->law.friction = body->friction;
  read_law(r, map, &ground->law);
  if (r->code) return;
  ground->varies = ground->law.friction_speed > 0.0;
  ground->layered = ground->law.turbulence > 0.0 || ground->law.cohesion > 0.0;
  check_law(r, map, s, &ground->law);
  check_scene(r, map, s, body);
}

void scene_read_zone_law(struct reader *r, const struct yaml_item *map, const struct scene *s,
                         double friction, struct ground_law *law)
{
  *law = (struct ground_law){.friction = reader_number(r, map, "friction", friction, RANGE_NOT_NEGATIVE)};
  read_law(r, map, law);
  if (!r->code) check_law(r, map, s, law);
}
