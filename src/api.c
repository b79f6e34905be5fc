/* The public face of libfirn: include/firn/firn.h says what each call promises. */
#include "base/memory.h"
#include "base/version.h"
#include "firn/firn.h"
#include "io/particles/frame.h"
#include "run/launch.h"
#include "sim/sim.h"

#include <math.h>
#include <string.h>

_Static_assert(sizeof(struct firn_error) == sizeof(struct error), "public and internal errors differ");

struct firn_scene {
  struct scene *scene;
};

/* Materials of particles that have no array of them, since there is one; pages that nobody writes to take no
 * memory. */
struct zeros {
  uint32_t *at;
  int64_t capacity;
};

struct firn_sim {
  struct comm comm;
  struct sim *sim;
  struct zeros *zeros;
};

static int export_error(int code, const struct error *from, struct firn_error *to)
{
  if (to) memcpy(to, from, sizeof *to);
  return code;
}

const char *firn_version(void)
{
  return FIRN_VERSION " (commit " FIRN_COMMIT ")";
}

static int wrap_scene(struct firn_scene **out, int code, struct scene *scene, const struct error *err,
                      struct firn_error *public_err)
{
  if (!code) {
    *out = mem_alloc(1, sizeof **out);
    (*out)->scene = scene;
  }
  return export_error(code, err, public_err);
}

int firn_scene_load(struct firn_scene **out, MPI_Comm mpi, const char *path, const char *const *overrides,
                    int count, struct firn_error *err)
{
  struct error error = {0};
  struct launch_options options = {.scene_path = path};
  struct scene *scene = NULL;
  struct comm comm;
  *out = NULL;
  int code = FIRN_OK;
  for (int k = 0; k < count && !code; k++) code = launch_add_override(&options, overrides[k], &error);
  if (code) return export_error(code, &error, err);
  comm_create(&comm, mpi);
  code = launch_scene(&comm, &options, &scene, &error);
  comm_destroy(&comm);
  return wrap_scene(out, code, scene, &error, err);
}

int firn_scene_parse(struct firn_scene **out, const char *name, const char *text,
                     const char *const *overrides, int count, struct firn_error *err)
{
  struct error error = {0};
  struct scene *scene = NULL;
  *out = NULL;
  const int code = scene_parse(&scene, name, text, overrides, count, &error);
  return wrap_scene(out, code, scene, &error, err);
}

void firn_scene_destroy(struct firn_scene **scene)
{
  if (!*scene) return;
  scene_destroy(&(*scene)->scene);
  mem_free(*scene);
  *scene = NULL;
}

const char *firn_scene_name(const struct firn_scene *scene)
{
  return scene->scene->name;
}

const char *firn_scene_output(const struct firn_scene *scene)
{
  return scene->scene->output;
}

const char *firn_scene_resolved(const struct firn_scene *scene)
{
  return scene->scene->resolved;
}

double firn_scene_end(const struct firn_scene *scene)
{
  return scene->scene->end;
}

double firn_scene_frame_rate(const struct firn_scene *scene)
{
  return scene->scene->frame_rate;
}

int64_t firn_scene_last_frame(const struct firn_scene *scene)
{
  return scene_last_frame(scene->scene);
}

int firn_sim_create(struct firn_sim **out, MPI_Comm comm, const struct firn_scene *scene,
                    struct firn_error *err)
{
  struct error error = {0};
  *out = mem_alloc(1, sizeof **out);
  (*out)->zeros = mem_alloc(1, sizeof *(*out)->zeros);
  comm_create(&(*out)->comm, comm);
  int code = scene_load(scene->scene, &(*out)->comm, &error); /* a parsed scene may still name files */
  if (!code) code = sim_create(&(*out)->sim, &(*out)->comm, scene->scene, ISA_COUNT, &error);
  if (code) firn_sim_destroy(out);
  return export_error(code, &error, err);
}

void firn_sim_destroy(struct firn_sim **sim)
{
  if (!*sim) return;
  sim_destroy(&(*sim)->sim);
  if ((*sim)->zeros) mem_free((*sim)->zeros->at);
  mem_free((*sim)->zeros);
  comm_destroy(&(*sim)->comm);
  mem_free(*sim);
  *sim = NULL;
}

int firn_sim_step(struct firn_sim *sim, struct firn_error *err)
{
  struct error error = {0};
  const int code = sim_step(sim->sim, &error);
  sim_tidy(sim->sim); /* the caller may look at the arrays */
  return export_error(code, &error, err);
}

int firn_sim_advance_to_frame(struct firn_sim *sim, int64_t frame, struct firn_error *err)
{
  struct error error = {0};
  int code;
  if (frame < sim->sim->clock.frame || (frame == sim->sim->clock.frame && !sim->sim->clock.on_frame))
    code = error_set(&error, FIRN_EINPUT, "frame %lld lies in the past: the simulation is at %.9g s",
                     (long long)frame, sim->sim->clock.time);
  else
    code = sim_advance_to_frame(sim->sim, frame, &error);
  return export_error(code, &error, err);
}

int firn_sim_write_frame(struct firn_sim *sim, struct firn_error *err)
{
  struct error error = {0};
  struct sim *s = sim->sim;
  if (!s->clock.on_frame)
    return export_error(error_set(&error, FIRN_EINPUT,
                                  "the simulation is between frames %lld and %lld: advance to one first",
                                  (long long)s->clock.frame, (long long)s->clock.frame + 1),
                        &error, err);
  struct contact_table *contacts = instruments_contacts(s);
  const struct frame_info info = {
      .index = s->clock.frame, .step = s->clock.step, .time = s->clock.time, .contacts = contacts};
  int code = frame_write(&s->comm, s->scene, s->p, &info, &error);
  contact_table_destroy(&contacts);
  if (code) return export_error(code, &error, err);
  if (s->comm.rank == 0) code = frame_write_series(s->scene, 0, &error);
  return export_error(comm_agree(&s->comm, code, &error), &error, err);
}

void firn_sim_get_info(const struct firn_sim *sim, struct firn_sim_info *info)
{
  const struct sim *s = sim->sim;
  *info = (struct firn_sim_info){.time = s->clock.time,
                                 .last_step = s->report.dt,
                                 .step = s->clock.step,
                                 .frame = s->clock.frame,
                                 .on_frame = s->clock.on_frame,
                                 .particles = s->totals.particles,
                                 .removed = s->totals.removed};
}

void firn_sim_get_particles(const struct firn_sim *sim, struct firn_particles *particles)
{
  const struct particles *p = sim->sim->p;
  struct zeros *zeros = sim->zeros;
  if (!p->material) zeros->at = mem_reserve(zeros->at, &zeros->capacity, p->count + 1, sizeof *zeros->at);
  *particles = (struct firn_particles){.count = p->count,
                                       .id = p->id,
                                       .mass = p->mass,
                                       .volume = p->volume,
                                       .plastic = p->jp,
                                       .material = p->material ? p->material : zeros->at};
  for (int d = 0; d < 3; d++) {
    particles->position[d] = p->x[d];
    particles->velocity[d] = p->v[d];
  }
  for (int k = 0; k < 9; k++) particles->elastic[k] = p->fe[k];
}
