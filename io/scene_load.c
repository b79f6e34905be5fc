/* The second half of reading a scene: the files that its shapes name. Apart from the first because it is
 * collective, while every rank parses for itself; what depends on the shapes is checked again here, with the
 * line that the scene gave. */
#include "io/assets.h"
#include "io/scene.h"
#include "io/scene_read.h"

/* "path:line: key.name: text" */
static int complain(const struct scene *s, int line, const char *what, const char *name, const char *key,
                    const char *text, struct error *err)
{
  return error_set(err, FIRN_EINPUT, "%s:%d: %s.%s%s%s: %s", s->path, line, what, name, key ? "." : "",
                   key ? key : "", text);
}

static int load_snow(struct scene *s, const struct comm *comm, struct snow_source *snow, struct error *err)
{
  const char *key;
  char text[256];
  if (snow->file || shape_is_ready(&snow->shape)) return FIRN_OK;
  const int code = assets_load(&s->assets, comm, &snow->shape, err);
  if (code) return error_prefix(err, "%s:%d: snow.%s", s->path, snow->line, snow->name);
  shape_finish(&snow->shape);
  if (scene_snow_fits(s, snow, &key, text)) return FIRN_OK;
  return complain(s, snow->line, "snow", snow->name, key, text, err);
}

static int load_body(struct scene *s, const struct comm *comm, struct body *body, struct error *err)
{
  const char *key;
  char text[256];
  if (shape_is_ready(&body->shape)) return FIRN_OK;
  const int code = assets_load(&s->assets, comm, &body->shape, err);
  if (code) return error_prefix(err, "%s:%d: bodies.%s", s->path, body->line, body->name);
  body_finish(body);
  if (scene_body_fits(body, &key, text)) return FIRN_OK;
  return complain(s, body->line, "bodies", body->name, key, text, err);
}

int scene_load(struct scene *s, const struct comm *comm, struct error *err)
{
  int code = FIRN_OK;
  for (int k = 0; k < s->snow_count && !code; k++) code = load_snow(s, comm, &s->snow[k], err);
  for (int k = 0; k < s->body_count && !code; k++) code = load_body(s, comm, &s->bodies[k], err);
  return code;
}
