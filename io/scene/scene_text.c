/* Text as a shape: what it says, in which font, how high and how deep. */
#include "io/assets/font.h"
#include "io/scene/scene_read.h"

#include "base/memory.h"

#include <string.h>

void scene_read_letters(struct reader *r, const struct yaml_item *map, const struct scene *s,
                        struct shape *shape)
{
  static const char *const keys[] = {"says", "font", "center", "height", "depth", "rotate", NULL};
  const struct yaml_item *text = reader_open(r, map, "text", keys);
  if (!text) reader_fail(r, map, "expected a map with says, center, height and depth");
  const char *says = reader_string(r, text, "says", NULL);
  const char *font = reader_string(r, text, "font", "DejaVuSans-Bold");
  reader_vector(r, text, "center", NULL, shape->center);
  const double height = reader_number(r, text, "height", READER_REQUIRED, RANGE_POSITIVE);
  shape->half[2] = 0.5 * reader_number(r, text, "depth", READER_REQUIRED, RANGE_POSITIVE);
  scene_read_frame(r, text, shape);
  reader_close(r);
  if (r->code) return;
  if (strlen(says) > 256) reader_fail_key(r, text, "says", "expected at most 256 bytes of text");
  shape->source = mem_alloc(1, sizeof *shape->source);
  shape->source->path = font_is_path(font) ? scene_path_beside(s->path, font) : mem_strdup(font);
  shape->source->text = mem_strdup(says);
  shape->source->line = text->line;
  shape->source->scale = height;
}
