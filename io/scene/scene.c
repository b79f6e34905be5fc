/* A scene from text: parse, override, read, and keep the canonical form and its hash.
 *
 * Which keys there are is in scene_read.c and scene_objects.c. What is checked here is only that nothing in
 * the file went unread, so that no key can be accepted and ignored. */
#include "io/scene/scene.h"

#include "base/memory.h"
#include "base/vec.h"
#include "bodies/air.h"
#include "io/assets/assets.h"
#include "io/scene/scene_read.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { MAX_TEXT = 16 << 20 };

int64_t scene_last_frame(const struct scene *scene)
{
  return (int64_t)ceil(scene->end * scene->frame_rate - 1e-9);
}

double scene_frame_time(const struct scene *scene, int64_t frame)
{
  const double beat = (double)frame / scene->frame_rate;
  const bool cut = frame == scene_last_frame(scene) && (double)frame - scene->end * scene->frame_rate > 1e-9;
  return cut ? scene->end : beat;
}

bool scene_sound_binds(const struct scene *scene)
{
  bool binds = scene->beta == 0.0;
  for (int k = 0; k < scene->material_count; k++) binds |= material_is_explicit(&scene->materials[k]);
  return binds;
}

bool scene_stiffness_varies(const struct scene *scene)
{
  for (int k = 0; k < scene->snow_count; k++) {
    const struct snow_source *snow = &scene->snow[k];
    if (snow->noise.scale > 0.0 && snow->noise.stiffness != 1.0) return true;
    for (int z = ZONE_SHELL; z < snow->zone_count; z++)
      if (snow->zone[z].depth > 0.0 && snow->zone[z].stiffness != 1.0) return true;
  }
  return false;
}

double scene_gravity_step(const struct scene *scene)
{
  static const double most_with_liquid = 0.02; /* cells that a particle falls in its first step, times two */
  const double part = scene->has_heat ? fmin(scene->cfl, most_with_liquid) : scene->cfl;
  return sqrt(part * scene->spacing / vec_norm(scene->gravity)); /* infinite without gravity */
}

double scene_viscous_step(const struct scene *scene)
{
  double dt = INFINITY;
  for (int k = 0; k < scene->material_count && scene->beta > 0.0; k++) {
    const struct material *m = &scene->materials[k];
    const double viscosity = material_viscosity(m);
    if (viscosity > 0.0) dt = fmin(dt, m->density * scene->spacing * scene->spacing / viscosity);
  }
  return dt;
}

bool scene_has_layers(const struct scene *scene)
{
  for (int k = 0; k < scene->body_count; k++)
    if (scene->bodies[k].ground.layered) return true;
  return false;
}

double scene_end_time(const struct scene *scene)
{
  return scene_frame_time(scene, scene_last_frame(scene));
}

void scene_destroy(struct scene **scene)
{
  struct scene *s = *scene;
  if (!s) return;
  for (int k = 0; k < scene_own_snow(s); k++) {
    mem_free(s->snow[k].file);
    ramp_destroy(&s->snow[k].by_depth);
    shape_destroy(&s->snow[k].shape);
  }
  for (int k = 0; k < (s->body_own ? s->body_own : s->body_count); k++) body_destroy(&s->bodies[k]);
  if (s->air) ramp_destroy(&s->air->gusts);
  mem_free(s->air);
  for (int k = 0; k < s->probe_count; k++) shape_destroy(&s->probes[k].shape);
  scene_forget_terrain(&s->terrain);
  mem_free(s->probes);
  for (int k = 0; k < s->source_count; k++) shape_destroy(&s->sources[k].shape);
  for (int k = 0; k < s->sink_count; k++) shape_destroy(&s->sinks[k].shape);
  mem_free(s->sources);
  mem_free(s->sinks);
  motion_destroy(&s->camera.eye_keys);
  motion_destroy(&s->camera.target_keys);
  motion_destroy(&s->camera.lens_keys);
  assets_destroy(&s->assets);
  mem_free(s->snow);
  mem_free(s->materials);
  mem_free(s->bodies);
  mem_free(s->output);
  mem_free(s->resolved);
  mem_free(s->files);
  mem_free(s->text);
  mem_free(s->path);
  mem_free(s);
  *scene = NULL;
}

/* The file's name without folder and suffix, with what may not stand in a name replaced. */
static void default_name(const char *path, char *name, size_t size)
{
  const char *slash = strrchr(path, '/');
  snprintf(name, size, "%s", slash ? slash + 1 : path);
  char *dot = strrchr(name, '.');
  if (dot && dot != name) *dot = '\0';
  for (char *c = name; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr("_-.", *c)) *c = '_';
  if (!isalnum((unsigned char)name[0])) name[0] = '_';
}

/* The text, then every override as a comment, so that a file that holds it tells the whole story. */
static char *annotated_text(const char *text, const char *const *overrides, int count)
{
  const size_t length = strlen(text);
  size_t size = length + 2;
  for (int k = 0; k < count; k++) size += strlen(overrides[k]) + 10;
  char *all = mem_alloc(size, 1), *at = all + length;
  memcpy(all, text, length);
  if (count && length && text[length - 1] != '\n') *at++ = '\n';
  for (int k = 0; k < count; k++) {
    if (strncmp(overrides[k], "output.folder=", 14) == 0 || strncmp(overrides[k], "checkpoint.", 11) == 0)
      continue; /* not part of what is simulated */
    char *line = at;
    at += sprintf(at, "# --set %s\n", overrides[k]);
    for (char *c = line; c < at - 1; c++)
      if (*c == '\n' || *c == '\r') *c = ' ';
  }
  return all;
}

/* Whatever the schema did not ask for: it knows the key in general, but not in this place. */
static void check_used(struct reader *r, const struct yaml_item *map)
{
  for (int k = 0; map->kind == YAML_MAP && k < map->count && !r->code; k++) {
    if (!map->child[k]->used) reader_fail(r, map->child[k], "this key has no effect here; remove it");
    check_used(r, map->child[k]);
  }
  for (int k = 0; map->kind == YAML_LIST && k < map->count && !r->code; k++) check_used(r, map->child[k]);
}

static int read_tree(struct scene *s, const struct yaml *yaml, bool stored, struct error *err)
{
  struct reader r = {.yaml = yaml, .err = err, .stored = stored};
  scene_read(&r, s);
  if (!r.code) check_used(&r, yaml->root);
  s->resolved = r.text;
  if (!r.code) s->hash = XXH3_64bits(r.text, r.length);
  return r.code;
}

static int parse(struct scene *s, const char *text, const char *const *overrides, int count, bool stored,
                 struct error *err)
{
  struct yaml *yaml = NULL;
  int code = yaml_parse(&yaml, s->path, text, err);
  if (!code) code = scene_apply_choices(yaml, overrides, count, s->name, sizeof s->name, err);
  for (int k = 0; k < count && !code; k++)
    if (!scene_is_choice(overrides[k])) code = yaml_override(yaml, overrides[k], err);
  if (!code) code = read_tree(s, yaml, stored, err);
  yaml_destroy(&yaml);
  return code;
}

static int parse_any(struct scene **out, const char *path, const char *text, const char *const *overrides,
                     int override_count, bool stored, struct error *err)
{
  /* A program that embeds libfirn may have set a locale with a decimal comma. */
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  const locale_t before = uselocale(plain);
  struct scene *scene = mem_alloc(1, sizeof *scene);
  scene->path = mem_strdup(path);
  default_name(path, scene->name, sizeof scene->name);
  const int code = parse(scene, text, overrides, override_count, stored, err);
  if (code)
    scene_destroy(&scene);
  else
    scene->text = annotated_text(text, overrides, override_count);
  uselocale(before);
  if (plain) freelocale(plain);
  *out = scene;
  return code;
}

int scene_parse(struct scene **out, const char *path, const char *text, const char *const *overrides,
                int override_count, struct error *err)
{
  return parse_any(out, path, text, overrides, override_count, false, err);
}

int scene_parse_stored(struct scene **out, const char *path, const char *text, struct error *err)
{
  return parse_any(out, path, text, NULL, 0, true, err);
}

static int check_text(const char *path, const char *text, size_t length, struct error *err)
{
  if (length > MAX_TEXT)
    return error_set(err, FIRN_EINPUT, "%s: more than 16 MiB; this is not a scene", path);
  const char *nul = memchr(text, '\0', length);
  if (!nul) return 0;
  if (length >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0))
    return error_set(err, FIRN_EINPUT, "%s:1: the text is UTF-16; save it as UTF-8", path);
  int line = 1;
  for (const char *c = text; c < nul; c++) line += *c == '\n';
  return error_set(err, FIRN_EINPUT, "%s:%d: not a text file: it holds a NUL byte", path, line);
}

int scene_file_text(char **out, const char *path, struct error *err)
{
  *out = NULL;
  struct stat info;
  if (stat(path, &info)) return error_set(err, FIRN_EIO, "%s: cannot be read: %s", path, strerror(errno));
  if (!S_ISREG(info.st_mode))
    return error_set(err, FIRN_EINPUT, "%s: not a file; expected a scene in YAML", path);
  FILE *file = fopen(path, "rb");
  if (!file) return error_set(err, FIRN_EIO, "%s: cannot be read: %s", path, strerror(errno));
  const size_t size = info.st_size > MAX_TEXT ? (size_t)MAX_TEXT + 1 : (size_t)info.st_size;
  char *text = mem_alloc(size + 1, 1);
  const size_t length = fread(text, 1, size, file);
  const int failed = ferror(file), reason = errno;
  fclose(file);
  const int code = failed ? error_set(err, FIRN_EIO, "%s: cannot be read: %s", path, strerror(reason))
                          : check_text(path, text, length, err);
  if (code)
    mem_free(text);
  else
    *out = text;
  return code;
}
