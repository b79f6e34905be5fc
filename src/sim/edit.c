#include "sim/edit.h"

#include "base/memory.h"
#include "io/particles/unique_ids.h"
#include "material/models.h"
#include "sim/settle.h"
#include "sim/sources.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double largest = 1e15; /* as in scenes: products of such numbers are finite */

const struct particle_field *edit_find(const struct sim *sim, const char *name, struct error *err)
{
  char known[512] = "";
  size_t length = 0;
  for (int f = 0; f < PARTICLE_FIELDS; f++) {
    const struct particle_field *field = &particle_fields[f];
    if (!particle_array(sim->p, field, 0)) continue;
    if (strcmp(field->name, name) == 0) return field;
    length +=
        (size_t)snprintf(known + length, sizeof known - length, "%s%s", length ? ", " : "", field->name);
  }
  error_set(err, FIRN_EINPUT, "particles of this scene have no field '%s'; they have %s", name, known);
  return NULL;
}

static bool keeps_log(const struct sim *sim, int32_t i)
{
  return models[sim->scene->materials[particle_material(sim->p, i)].model]->log_volume;
}

double edit_plastic(const struct sim *sim, int32_t i)
{
  const double kept = sim->p->jp[i];
  return keeps_log(sim, i) ? vd_exp(vd_set(kept))[0] : kept;
}

static double determinant(const double f[9])
{
  return f[0] * (f[4] * f[8] - f[5] * f[7]) + f[1] * (f[5] * f[6] - f[3] * f[8]) +
         f[2] * (f[3] * f[7] - f[4] * f[6]);
}

static const char *wrong_with(const struct particle_field *field, const double *row)
{
  for (int c = 0; c < field->components; c++)
    if (!(fabs(row[c]) <= largest)) return "not a number of at most 1e15";
  switch (field->rule) {
  case RULE_POSITIVE: return row[0] > 0.0 ? NULL : "not positive";
  case RULE_NOT_NEGATIVE: return row[0] >= 0.0 ? NULL : "negative";
  case RULE_FLAG: return row[0] == 0.0 || row[0] == 1.0 ? NULL : "neither 0 nor 1";
  case RULE_INVERTIBLE: return determinant(row) > 0.0 ? NULL : "a matrix without a positive determinant";
  default: return NULL;
  }
}

static int check_rows(const struct sim *sim, const struct particle_field *field, const void *rows,
                      int64_t count, struct error *err)
{
  for (int64_t i = 0; i < count; i++) {
    const char *wrong = NULL;
    if (field->type == FIELD_F64)
      wrong = wrong_with(field, (const double *)rows + i * field->components);
    else if (field->type == FIELD_U32 && ((const uint32_t *)rows)[i] >= (uint32_t)sim->scene->material_count)
      wrong = "not a material of the scene";
    if (wrong)
      return error_set(err, FIRN_EINPUT, "%s of row %lld on rank %d is %s", field->name, (long long)i,
                       sim->comm.rank, wrong);
  }
  return FIRN_OK;
}

/* Rows to the component arrays, from particle `first` on. */
static void store(struct sim *sim, const struct particle_field *field, const void *rows, int32_t first,
                  int64_t count)
{
  const size_t size = field_size(field->type);
  for (int c = 0; c < field->components; c++) {
    char *array = particle_array(sim->p, field, c);
    for (int64_t i = 0; i < count; i++)
      memcpy(array + (size_t)(first + i) * size,
             (const char *)rows + (size_t)(i * field->components + c) * size, size);
  }
}

/* J_P as the material keeps it. */
static void keep_plastic(struct sim *sim, int32_t first, int64_t count)
{
  for (int32_t i = first; i < first + count; i++)
    if (keeps_log(sim, i)) sim->p->jp[i] = vd_log(vd_set(sim->p->jp[i]))[0];
}

/* Ids from 2^52 on are for sources, and a window numbers the snow that it will bring before it comes. */
static int check_ids(const struct sim *sim, const uint64_t *ids, int64_t count, struct error *err)
{
  const struct sim_seeding *snow = &sim->seeding;
  for (int64_t i = 0; i < count; i++)
    if (ids[i] >= SOURCE_FIRST_ID || (snow->windowed && ids[i] < snow->end_id))
      return error_set(err, FIRN_EINPUT,
                       "id %" PRIu64 " of row %lld on rank %d is not free: expected %" PRIu64 " to 2^52 - 1",
                       ids[i], (long long)i, sim->comm.rank, snow->windowed ? snow->end_id : 0);
  return FIRN_OK;
}

/* The arrays are in order, and the flags of an edit are there. */
static void begin(struct sim *sim)
{
  if (sim->edited) return;
  sim_tidy(sim);
  sim->dropped = mem_reserve(sim->dropped, &sim->dropped_capacity, sim->p->count + 1, 1);
  memset(sim->dropped, 0, (size_t)sim->p->count);
  sim->first_added = sim->p->count;
  sim->edited = true;
}

int edit_write(struct sim *sim, const struct particle_field *field, const void *rows, int code,
               struct error *err)
{
  const int32_t count = sim->p->count;
  if (!code && field == &particle_fields[PARTICLE_ID])
    code = error_set(err, FIRN_EINPUT, "ids stay what they are: remove particles and add others");
  else if (!code)
    code = check_rows(sim, field, rows, count, err);
  code = comm_agree(&sim->comm, code, err);
  if (code) return code;
  begin(sim);
  double *plastic = NULL; /* a new material may keep it in another way */
  if (field == &particle_fields[PARTICLE_MATERIAL]) {
    plastic = mem_alloc((size_t)count, sizeof *plastic);
    for (int32_t i = 0; i < count; i++) plastic[i] = edit_plastic(sim, i);
  }
  store(sim, field, rows, 0, count);
  if (plastic) memcpy(sim->p->jp, plastic, (size_t)count * sizeof *plastic);
  if (plastic || field == &particle_fields[PARTICLE_JP]) keep_plastic(sim, 0, count);
  mem_free(plastic);
  return FIRN_OK;
}

static const void *rows_of(const struct edit_column *columns, int count, int row)
{
  for (int k = 0; k < count; k++)
    if (columns[k].field == &particle_fields[row]) return columns[k].rows;
  return NULL;
}

static int check_columns(const struct sim *sim, int64_t count, const struct edit_column *columns,
                         int column_count, struct error *err)
{
  int code = FIRN_OK;
  if (!rows_of(columns, column_count, PARTICLE_POSITION) || !rows_of(columns, column_count, PARTICLE_MASS))
    return error_set(err, FIRN_EINPUT, "new particles need position and mass");
  if (count > INT32_MAX - sim->p->count)
    return error_set(err, FIRN_ELIMIT, "rank %d cannot hold %lld particles more: use more ranks",
                     sim->comm.rank, (long long)count);
  for (int k = 0; k < column_count && !code; k++)
    code = check_rows(sim, columns[k].field, columns[k].rows, count, err);
  const uint64_t *ids = rows_of(columns, column_count, PARTICLE_ID);
  if (!code && ids) code = check_ids(sim, ids, count, err);
  return code;
}

/* Ids that no particle has had: removed ones must not come back as others. Given ones are taken from now on.
 */
static void number(struct sim *sim, int32_t first, int64_t count, bool given)
{
  double next = (double)sim->seeding.end_id;
  for (int32_t i = 0; i < first + (given ? count : 0); i++)
    if (sim->p->id[i] < SOURCE_FIRST_ID) next = fmax(next, (double)sim->p->id[i] + 1.0);
  comm_max(&sim->comm, &next, 1);
  sim->seeding.end_id = (uint64_t)next;
  if (given) return;
  const uint64_t mine = sim->seeding.end_id + (uint64_t)comm_exscan_i64(&sim->comm, count);
  for (int64_t i = 0; i < count; i++) sim->p->id[first + i] = mine + (uint64_t)i;
  comm_sum_i64(&sim->comm, &count, 1);
  sim->seeding.end_id += (uint64_t)count;
}

/* All ranks give ids, or none does. */
static int agree_on_ids(const struct sim *sim, bool given, struct error *err)
{
  double least = given, most = given;
  comm_min(&sim->comm, &least, 1);
  comm_max(&sim->comm, &most, 1);
  return least == most
             ? FIRN_OK
             : error_set(err, FIRN_EINPUT, "new particles have ids on some ranks only: on all, or none");
}

int edit_add(struct sim *sim, int64_t count, const struct edit_column *columns, int column_count, int code,
             struct error *err)
{
  const bool given = !code && rows_of(columns, column_count, PARTICLE_ID);
  if (!code) code = check_columns(sim, count, columns, column_count, err);
  code = comm_agree(&sim->comm, code, err);
  if (!code) code = agree_on_ids(sim, given, err);
  if (code) return code;
  begin(sim);
  const int32_t first = particles_append(sim->p, count);
  for (int k = 0; k < column_count; k++) store(sim, columns[k].field, columns[k].rows, first, count);
  number(sim, first, count, given);
  for (int32_t i = first; i < first + count; i++) {
    const struct material *material = &sim->scene->materials[particle_material(sim->p, i)];
    if (!rows_of(columns, column_count, PARTICLE_VOLUME))
      sim->p->volume[i] = sim->p->mass[i] / material->density;
    if (sim->p->conductivity && !rows_of(columns, column_count, PARTICLE_CONDUCTIVITY))
      sim->p->conductivity[i] = heat_snow_conductivity(sim->p->mass[i] / sim->p->volume[i]);
  }
  keep_plastic(sim, first, count);
  return FIRN_OK;
}

int edit_remove(struct sim *sim, const unsigned char *flags, struct error *err)
{
  (void)err;
  begin(sim);
  for (int64_t i = 0; i < sim->first_added; i++) sim->dropped[i] |= flags[i] != 0;
  return FIRN_OK;
}

/* Ids of what stays. */
static int check_state(const struct sim *sim, int64_t outside, struct error *err)
{
  uint64_t *ids = mem_alloc((size_t)sim->p->count, sizeof *ids);
  int64_t count = 0;
  for (int32_t i = 0; i < sim->p->count; i++)
    if (sim->next.fate[i] != FATE_GONE) ids[count++] = sim->p->id[i];
  int code = unique_ids_check(&sim->comm, ids, count, err);
  mem_free(ids);
  if (!code && outside)
    code = error_set(err, FIRN_EINPUT,
                     "%lld particles would be outside the domain; remove them, or keep them inside",
                     (long long)outside);
  return code;
}

int edit_commit(struct sim *sim, struct error *err)
{
  if (!sim->edited) return FIRN_OK;
  int64_t counts[3] = {0, 0, sim->p->count - sim->first_added}; /* outside, removed, added */
  sim_stage(sim);
  for (int32_t i = 0; i < sim->p->count; i++) {
    const bool dropped = i < sim->first_added && sim->dropped[i];
    counts[0] += !dropped && sim->next.fate[i] == FATE_GONE;
    counts[1] += dropped;
    if (dropped) sim->next.fate[i] = FATE_GONE;
  }
  comm_sum_i64(&sim->comm, counts, 3);
  const int code = check_state(sim, counts[0], err);
  if (code) return code;
  sim_find_leavers(sim);
  sim_settle(sim, true);
  sim_tidy(sim);
  heat_begin(sim);
  sources_count_flying(sim);
  sim_find_speeds(sim);
  sim->totals.removed += counts[1];
  sim->totals.entered += counts[2];
  sim->totals.particles += counts[2] - counts[1];
  sim->edited = false;
  return FIRN_OK;
}
