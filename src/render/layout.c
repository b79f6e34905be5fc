#include "render/layout.h"

#include "base/memory.h"
#include "decomposition/comm.h"
#include "io/scene/scene_files.h"
#include "seeding/seeding.h"
#include "sim/sim.h"

#include <string.h>
#include <strings.h>

bool layout_is_scene(const char *path)
{
  const char *dot = strrchr(path, '.');
  return dot && (strcasecmp(dot, ".yml") == 0 || strcasecmp(dot, ".yaml") == 0);
}

static struct frame *frame_of(const struct scene *scene, const struct particles *p)
{
  struct frame *frame = mem_alloc(1, sizeof *frame);
  const size_t count = (size_t)p->count;
  frame->count = p->count;
  frame->resolved = mem_strdup(scene->resolved);
  frame->id = mem_alloc(count, sizeof *frame->id);
  frame->position = mem_alloc(count, 3 * sizeof *frame->position);
  frame->velocity = mem_alloc(count, 3 * sizeof *frame->velocity);
  frame->mass = mem_alloc(count, sizeof *frame->mass);
  if (p->material) frame->material = mem_alloc(count, sizeof *frame->material);
  if (p->liquid) frame->phase = mem_alloc(count, sizeof *frame->phase);
  for (size_t i = 0; i < count; i++) {
    for (int d = 0; d < 3; d++) {
      frame->position[3 * i + (size_t)d] = (float)p->x[d][i];
      frame->velocity[3 * i + (size_t)d] = (float)p->v[d][i];
    }
    frame->id[i] = p->id[i];
    frame->mass[i] = (float)p->mass[i];
    if (p->material) frame->material[i] = p->material[i];
    if (p->liquid) frame->phase[i] = (float)p->liquid[i];
  }
  return frame;
}

int layout_read(struct frame **out, const char *path, struct error *err)
{
  char *text = NULL;
  struct scene *scene = NULL;
  *out = NULL;
  int code = scene_file_text(&text, path, err);
  if (!code) code = scene_parse(&scene, path, text, NULL, 0, err);
  if (!code) code = scene_load(scene, NULL, err);
  mem_free(text);
  if (!code) {
    struct comm alone;
    struct particles *p = particles_create(sim_particle_needs(scene));
    comm_alone(&alone);
    code = seed_snow(&alone, scene, p, err);
    if (!code && p->count == 0)
      code = error_set(err, FIRN_EINPUT, "%s: there is no snow at the start to be shown", path);
    if (!code) *out = frame_of(scene, p);
    comm_destroy(&alone);
    particles_destroy(&p);
  }
  scene_destroy(&scene);
  return code;
}
