/* The window of a scene: a body, an axis, and how far it reaches before and behind. */
#include "io/scene/scene_read.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

/* Snow that enters is numbered by its candidates, so these must be there without counting what went before.
 */
static void check_snow(struct reader *r, const struct yaml_item *map, const struct scene *s)
{
  for (int k = 0; k < s->snow_count && !r->code; k++) {
    const struct snow_source *snow = &s->snow[k];
    if (snow->file || snow->count || snow->sampling == SAMPLING_SEQUENCE)
      reader_fail(r, map,
                  "snow '%s' cannot enter a window; expected a shape with per_cell and a random, jittered or "
                  "poisson sampling",
                  snow->name);
  }
}

static int find_body(struct reader *r, const struct yaml_item *map, const struct scene *s, const char *name)
{
  const char **names = mem_alloc((size_t)s->body_count + 1, sizeof *names);
  int found = -1;
  for (int k = 0; k < s->body_count; k++) {
    names[k] = s->bodies[k].name;
    if (!strcmp(names[k], name)) found = k;
  }
  if (found < 0 && !r->code) {
    const char *nearest = reader_nearest(name, names);
    char word[64];
    yaml_clean(name, word, sizeof word);
    if (nearest)
      reader_fail_key(r, map, "follow", "no body is called '%s'; did you mean '%s'?", word, nearest);
    else
      reader_fail_key(r, map, "follow", "no body is called '%s'", word);
  }
  mem_free(names);
  return found;
}

void scene_read_window(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  static const char *const keys[] = {"follow", "axis", "ahead", "behind", NULL};
  static const char *const axes[] = {"x", "y", "z", "-x", "-y", "-z", NULL};
  struct scene_window *w = &s->window;
  if (r->code || !yaml_find(root, "window")) return;
  const struct yaml_item *map = reader_open(r, root, "window", keys);
  if (s->copies > 1) reader_fail(r, map, "a window moves through one scene; remove domain.copies");
  const char *name = reader_string(r, map, "follow", NULL);
  w->body = r->code ? 0 : find_body(r, map, s, name);
  if (map && !yaml_find(map, "axis"))
    reader_fail(r, map, "the key 'axis' is missing; expected the way the body goes: x, y, z, -x, -y or -z");
  const int axis = reader_choice(r, map, "axis", 0, axes);
  w->axis = axis % 3;
  w->direction = axis < 3 ? 1.0 : -1.0;
  w->ahead = reader_number(r, map, "ahead", READER_REQUIRED, RANGE_POSITIVE);
  w->behind = reader_number(r, map, "behind", READER_REQUIRED, RANGE_POSITIVE);
  reader_close(r);
  if (!r->code) check_snow(r, map, s);
  w->given = !r->code;
}
