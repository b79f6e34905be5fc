/* Bodies and particles of the public interface. */
#include "api/api.h"
#include "base/memory.h"
#include "material/models.h"
#include "sim/drive.h"
#include "sim/edit.h"
#include "sim/sample.h"

#include <string.h>

/* --- bodies --- */

int firn_sim_body_count(const struct firn_sim *sim)
{
  return sim->run->scene->body_count;
}

const char *firn_sim_body_name(const struct firn_sim *sim, int body)
{
  const struct scene *scene = sim->run->scene;
  return body >= 0 && body < scene->body_count ? scene->bodies[body].name : NULL;
}

int firn_sim_find_body(const struct firn_sim *sim, const char *name)
{
  const struct scene *scene = sim->run->scene;
  for (int k = 0; k < scene->body_count; k++)
    if (strcmp(scene->bodies[k].name, name) == 0) return k;
  return -1;
}

static int check_body(const struct firn_sim *sim, int body, struct error *err)
{
  if (body >= 0 && body < sim->run->scene->body_count) return FIRN_OK;
  return error_set(err, FIRN_EINPUT, "there is no body %d: the scene has %d", body,
                   sim->run->scene->body_count);
}

int firn_sim_get_body(const struct firn_sim *sim, int body, struct firn_body *out, struct firn_error *err)
{
  struct error error = {0};
  const struct sim *s = sim->run->sim;
  memset(out, 0, sizeof *out);
  const int code = check_body(sim, body, &error);
  if (code) return api_return(code, &error, err);
  struct body_pose pose;
  body_driven_pose(&s->scene->bodies[body], &s->drives[body], s->clock.time, &pose);
  out->present = pose.shape.kind != SHAPE_NONE;
  out->measured = s->scene->bodies[body].measured;
  if (out->present) {
    memcpy(out->origin, pose.origin, sizeof out->origin);
    memcpy(out->turn, pose.turn, sizeof out->turn);
    memcpy(out->velocity, pose.velocity, sizeof out->velocity);
    memcpy(out->spin, pose.spin, sizeof out->spin);
  }
  const struct body_load *load = out->measured ? &s->instruments->load[body] : NULL;
  if (load && load->span > 0.0) {
    for (int d = 0; d < 3; d++) {
      out->force[d] = load->impulse[d] / load->span;
      out->torque[d] = load->torque[d] / load->span;
    }
    out->area = load->area / load->span;
  }
  return api_return(FIRN_OK, &error, err);
}

int firn_sim_move_body(struct firn_sim *sim, int body, const double velocity[3], const double spin[3],
                       struct firn_error *err)
{
  static const double none[3] = {0.0, 0.0, 0.0};
  struct error error = {0};
  int code = api_check(sim, false, false, &error);
  if (!code) code = check_body(sim, body, &error);
  if (!code) code = drive_set(sim->run->sim, body, velocity, spin ? spin : none, &error);
  return api_return(code, &error, err);
}

/* --- particles --- */

/* J_P of all particles: the array itself unless a material keeps the logarithm. */
static const double *plastic_of(const struct firn_sim *sim)
{
  const struct sim *s = sim->run->sim;
  struct api_copy *copy = sim->plastic;
  bool logs = false;
  for (int k = 0; k < s->scene->material_count; k++) logs |= models[s->scene->materials[k].model]->log_volume;
  if (!logs) return s->p->jp;
  copy->at = mem_reserve(copy->at, &copy->capacity, s->p->count + 1, sizeof(double));
  for (int32_t i = 0; i < s->p->count; i++) ((double *)copy->at)[i] = edit_plastic(s, i);
  return copy->at;
}

static const uint32_t *material_of(const struct firn_sim *sim)
{
  const struct particles *p = sim->run->sim->p;
  struct api_copy *copy = sim->materials;
  if (p->material) return p->material;
  copy->at = mem_reserve(copy->at, &copy->capacity, p->count + 1, sizeof(uint32_t));
  return copy->at;
}

void firn_sim_get_particles(const struct firn_sim *sim, struct firn_particles *particles)
{
  const struct particles *p = sim->run->sim->p;
  *particles = (struct firn_particles){.count = p->count,
                                       .id = p->id,
                                       .mass = p->mass,
                                       .volume = p->volume,
                                       .plastic = plastic_of(sim),
                                       .material = material_of(sim)};
  for (int d = 0; d < 3; d++) {
    particles->position[d] = p->x[d];
    particles->velocity[d] = p->v[d];
  }
  for (int k = 0; k < 9; k++) particles->elastic[k] = p->fe[k];
}

_Static_assert(FIRN_TYPE_F64 == (int)FIELD_F64 && FIRN_TYPE_U64 == (int)FIELD_U64 &&
                   FIRN_TYPE_U32 == (int)FIELD_U32,
               "public and internal types differ");

static void describe(const struct firn_sim *sim, const struct particle_field *field, struct firn_field *out)
{
  const struct particles *p = sim->run->sim->p;
  *out = (struct firn_field){.name = field->name,
                             .unit = field->unit,
                             .type = (int)field->type,
                             .components = field->components,
                             .count = p->count};
  for (int c = 0; c < field->components; c++) out->array[c] = particle_array(p, field, c);
  if (field == &particle_fields[PARTICLE_JP]) out->array[0] = plastic_of(sim);
}

int firn_sim_field_count(const struct firn_sim *sim)
{
  int count = 0;
  for (int f = 0; f < PARTICLE_FIELDS; f++)
    count += particle_array(sim->run->sim->p, &particle_fields[f], 0) != NULL;
  return count;
}

int firn_sim_get_field(const struct firn_sim *sim, int k, struct firn_field *out, struct firn_error *err)
{
  struct error error = {0};
  int left = k;
  for (int f = 0; f < PARTICLE_FIELDS && left >= 0; f++) {
    if (!particle_array(sim->run->sim->p, &particle_fields[f], 0) || left-- > 0) continue;
    describe(sim, &particle_fields[f], out);
    return api_return(FIRN_OK, &error, err);
  }
  return api_return(error_set(&error, FIRN_EINPUT, "there is no field %d", k), &error, err);
}

int firn_sim_find_field(const struct firn_sim *sim, const char *name, struct firn_field *out,
                        struct firn_error *err)
{
  struct error error = {0};
  const struct particle_field *field = edit_find(sim->run->sim, name, &error);
  if (field) describe(sim, field, out);
  return api_return(field ? FIRN_OK : FIRN_EINPUT, &error, err);
}

int firn_sim_write(struct firn_sim *sim, const char *name, const void *values, struct firn_error *err)
{
  struct error error = {0};
  api_enter(&sim->comm);
  int code = api_check(sim, false, false, &error);
  const struct particle_field *field = code ? NULL : edit_find(sim->run->sim, name, &error);
  if (!code && !field) code = FIRN_EINPUT;
  code = edit_write(sim->run->sim, field, values, code, &error);
  return api_return(code, &error, err);
}

int firn_sim_add(struct firn_sim *sim, int64_t count, int columns, const char *const *fields,
                 const void *const *values, struct firn_error *err)
{
  struct error error = {0};
  struct edit_column column[PARTICLE_FIELDS];
  api_enter(&sim->comm);
  int code = api_check(sim, false, false, &error);
  if (!code && (columns < 0 || columns > PARTICLE_FIELDS || count < 0))
    code = error_set(&error, FIRN_EINPUT, "%lld particles of %d fields cannot be added", (long long)count,
                     columns);
  for (int k = 0; k < columns && !code; k++) {
    column[k] = (struct edit_column){edit_find(sim->run->sim, fields[k], &error), values[k]};
    if (!column[k].field) code = FIRN_EINPUT;
  }
  code = edit_add(sim->run->sim, count, column, columns, code, &error);
  return api_return(code, &error, err);
}

int firn_sim_remove(struct firn_sim *sim, const unsigned char *flags, struct firn_error *err)
{
  struct error error = {0};
  int code = api_check(sim, false, false, &error);
  if (!code) code = edit_remove(sim->run->sim, flags, &error);
  return api_return(code, &error, err);
}

int firn_sim_commit(struct firn_sim *sim, struct firn_error *err)
{
  struct error error = {0};
  api_enter(&sim->comm);
  int code = api_check(sim, false, false, &error);
  if (!code) code = edit_commit(sim->run->sim, &error);
  return api_return(code, &error, err);
}

int firn_sim_sample(struct firn_sim *sim, int64_t count, const double *points, double *density,
                    double *velocity, struct firn_error *err)
{
  struct error error = {0};
  api_enter(&sim->comm);
  const int code = api_check(sim, false, true, &error);
  if (!code) sample_nodes(sim->run->sim, count, points, density, velocity);
  return api_return(code, &error, err);
}
