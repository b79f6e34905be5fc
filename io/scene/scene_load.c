/* The second half of reading a scene: the files that its shapes name. Apart from the first because it is
 * collective, while every rank parses for itself; what depends on the shapes is checked again here, with the
 * line that the scene gave. */
#include "base/memory.h"
#include "bodies/free_body.h"
#include "io/assets/assets.h"
#include "io/particles/particle_file.h"
#include "io/scene/scene.h"
#include "io/scene/scene_files.h"
#include "io/scene/scene_read.h"

#include <math.h>
#include <stdio.h>

/* "path:line: key.name: text" */
static int complain(const struct scene *s, int line, const char *what, const char *name, const char *key,
                    const char *text, struct error *err)
{
  return error_set(err, FIRN_EINPUT, "%s:%d: %s.%s%s%s: %s", s->path, line, what, name, key ? "." : "",
                   key ? key : "", text);
}

static bool is_mesh_in_metres(const struct shape *shape)
{
  if (shape->kind == SHAPE_MESH) return shape->source && shape->source->scale == 1.0;
  for (int c = 0; c < shape->child_count; c++)
    if (is_mesh_in_metres(&shape->child[c])) return true;
  return false;
}

const char *scene_guess_scale(const struct scene *s, const struct shape *shape)
{
  double lower[3], upper[3], size = 0.0, domain = 0.0;
  if (!is_mesh_in_metres(shape) || !shape_bounds(shape, lower, upper)) return "";
  for (int d = 0; d < 3; d++) {
    size = fmax(size, upper[d] - lower[d]);
    domain = fmax(domain, s->spacing * (double)s->cells[d]);
  }
  /* Terrain may well be larger than the domain, but hardly so much. */
  if (size > 500.0 * domain) return "; is the mesh in millimetres? then give it 'scale: 0.001'";
  return size > 10.0 * domain ? "; is the mesh in centimetres? then give it 'scale: 0.01'" : "";
}

/* Its terrain was loaded before. */
static bool has_release(const struct shape *shape)
{
  if (shape->kind == SHAPE_RELEASE) return true;
  for (int c = 0; c < shape->child_count; c++)
    if (has_release(&shape->child[c])) return true;
  return false;
}

static int load_snow(struct scene *s, const struct comm *comm, struct snow_source *snow, struct error *err)
{
  const char *key;
  char text[256];
  if (snow->file || (shape_is_ready(&snow->shape) && !has_release(&snow->shape))) return FIRN_OK;
  const int code = assets_load(&s->assets, comm, &snow->shape, err);
  if (code) return error_prefix(err, "%s:%d: snow.%s", s->path, snow->line, snow->name);
  shape_finish(&snow->shape);
  if (scene_snow_fits(s, snow, &key, text)) return FIRN_OK;
  char guess[384];
  snprintf(guess, sizeof guess, "%s%s", text, scene_guess_scale(s, &snow->shape));
  return complain(s, snow->line, "snow", snow->name, key, guess, err);
}

static int load_body(struct scene *s, const struct comm *comm, struct body *body, struct error *err)
{
  const char *key;
  char text[256];
  if (shape_is_ready(&body->shape)) return FIRN_OK;
  const int code = assets_load(&s->assets, comm, &body->shape, err);
  if (code) return error_prefix(err, "%s:%d: bodies.%s", s->path, body->line, body->name);
  body_finish(body);
  if (body->free && body->free->why[0])
    return complain(s, body->line, "bodies", body->name, NULL, body->free->why, err);
  if (scene_body_fits(body, &key, text)) return FIRN_OK;
  return complain(s, body->line, "bodies", body->name, key, text, err);
}

int scene_load(struct scene *s, const struct comm *comm, struct error *err)
{
  int code = FIRN_OK;
  if (s->loaded) return FIRN_OK;
  code = scene_load_terrain(s, comm, err);
  for (int k = 0; k < s->snow_count && !code; k++) code = load_snow(s, comm, &s->snow[k], err);
  for (int k = 0; k < s->body_count && !code; k++) code = load_body(s, comm, &s->bodies[k], err);
  if (!code) code = scene_list_files(s, comm, err);
  if (!code) code = scene_make_copies(s, err);
  s->loaded = !code;
  return code;
}

int scene_check_columns(const struct snow_source *snow, unsigned columns, struct error *err)
{
  const struct {
    bool given;
    const char *key;
    int field;
  } pairs[] = {{snow->temperature_given, "temperature", PARTICLE_ENTHALPY},
               {snow->phase_given, "phase", PARTICLE_LIQUID},
               {snow->conductivity > 0.0, "conductivity", PARTICLE_CONDUCTIVITY}};
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
    if (pairs[k].given && columns & 1u << pairs[k].field)
      return error_set(err, FIRN_EINPUT, "'%s' has no effect, since %s holds '%s'; remove it", pairs[k].key,
                       snow->file, particle_fields[pairs[k].field].name);
  return FIRN_OK;
}

/* Rank 0's part for one file. A run refuses particles outside the domain, and so does a check of it. */
static int look_into(const struct scene *s, const struct snow_source *snow, int64_t *rows, struct error *err)
{
  enum { SAMPLE = 4096 };
  int count = 0, outside = 0;
  double *x = mem_alloc(3 * SAMPLE, sizeof *x);
  struct particle_file_info info;
  const unsigned needs = s->has_heat ? ~0u : ~(unsigned)NEEDS_HEAT;
  int code = particle_file_look(snow->file, needs, &info, SAMPLE, x, &count, err);
  *rows = info.rows;
  if (!code) code = scene_check_columns(snow, info.columns, err);
  if (code) code = error_prefix(err, "%s:%d: snow.%s", s->path, snow->line, snow->name);
  for (int k = 0; k < count && !code; k++) {
    bool inside = true;
    for (int d = 0; d < 3; d++)
      inside = inside && x[3 * k + d] >= s->lower[d] &&
               x[3 * k + d] <= s->lower[d] + s->spacing * (double)s->cells[d];
    outside += !inside;
  }
  if (outside)
    code = error_set(
        err, FIRN_EINPUT,
        "%s:%d: snow.%s: %d of %d particles of %s that were looked at lie outside the domain; enlarge it, "
        "or move them",
        s->path, snow->line, snow->name, outside, count, snow->file);
  mem_free(x);
  return code;
}

int scene_check_files(const struct scene *s, const struct comm *comm, int64_t *rows, struct error *err)
{
  int code = FIRN_OK;
  *rows = 0;
  for (int k = 0; k < s->snow_count && !code; k++) {
    if (!s->snow[k].file) continue;
    int64_t own = 0;
    if (!comm || comm->rank == 0) code = look_into(s, &s->snow[k], &own, err);
    if (comm) code = comm_agree(comm, code, err);
    if (comm && !code) comm_broadcast(comm, &own, sizeof own);
    *rows += own;
  }
  return code;
}
