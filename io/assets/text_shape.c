/* The outline is drawn by rank 0 alone and sent to the others as text: nodes may hold other versions of a
 * font, or none. */
#include "io/assets/text_shape.h"

#include "base/memory.h"
#include "io/assets/font.h"

static int draw(const struct shape_source *source, char **text, struct error *err)
{
  char *path = NULL;
  struct outline *outline = NULL;
  int code = font_find(&path, source->path, err);
  if (!code) code = font_outline(&outline, path, source->text, err);
  if (!code) *text = outline_print(outline);
  outline_destroy(&outline);
  mem_free(path);
  return code;
}

int text_load(const struct comm *comm, struct shape *shape, struct error *err)
{
  char *text = NULL;
  int code = !comm || comm->rank == 0 ? draw(shape->source, &text, err) : FIRN_OK;
  if (comm) code = comm_agree(comm, code, err);
  if (code) return code;
  if (comm) comm_broadcast_text(comm, &text);
  shape->outline = outline_parse(text);
  mem_free(text);
  outline_fit(shape->outline, shape->source->scale);
  return FIRN_OK;
}
