/* See levelset_file.h. The file belongs to one process at a time: made by `firn levelset`, read by rank 0. */
#include "io/assets/levelset_file.h"

#include "base/memory.h"
#include "io/file.h"
#include "io/particles/hdf5.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_KEYS = 100000, VERSION = 1 };

static const int64_t most_floats = (int64_t)1 << 36;
static const char format_name[] = "firn levelset";
static const char *const corner_names[3] = {"lower_x", "lower_y", "lower_z"};

/* --- writing --- */

int levelset_writer_open(struct levelset_writer *w, const char *path, double spacing, struct error *err)
{
  *w = (struct levelset_writer){.file = -1};
  int code =
      file_check_replaceable(path, hdf5_has_format(path, format_name), "a file of level-set keys", err);
  if (code) return code;
  *w = (struct levelset_writer){.target = mem_strdup(path), .temp = file_temp_name(path, 0)};
  w->file = H5Fcreate(w->temp, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
  const bool good = w->file >= 0 && hdf5_put_text(w->file, "format", format_name) &&
                    hdf5_put_i64(w->file, "format_version", VERSION) &&
                    hdf5_put_f64(w->file, "spacing", spacing) &&
                    hdf5_put_text(w->file, "units", "SI: m, kg, s");
  if (good) return FIRN_OK;
  code = hdf5_error(err, FIRN_EIO, "cannot write %s", path);
  levelset_writer_close(w, false, NULL);
  return code;
}

/* One grid, deflated plane by plane: most of a distance grid is smooth. */
static bool put_grid(hid_t group, const char *name, const struct sdf *key, int components,
                     const float *values)
{
  const hsize_t dims[4] = {(hsize_t)key->n[2], (hsize_t)key->n[1], (hsize_t)key->n[0], 3};
  const hsize_t chunk[4] = {1, dims[1], dims[2], 3};
  const int axes = components > 1 ? 4 : 3;
  const hid_t space = H5Screate_simple(axes, dims, NULL), plan = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(plan, false); /* the same keys are the same bytes, whenever they are made */
  H5Pset_chunk(plan, axes, chunk);
  H5Pset_shuffle(plan);
  H5Pset_deflate(plan, 1);
  const hid_t set = H5Dcreate2(group, name, H5T_IEEE_F32LE, space, H5P_DEFAULT, plan, H5P_DEFAULT);
  bool good = set >= 0 && H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
  if (set >= 0) good = H5Dclose(set) >= 0 && good;
  H5Pclose(plan);
  H5Sclose(space);
  return good;
}

int levelset_writer_add(struct levelset_writer *w, double time, const struct sdf *key, struct error *err)
{
  char name[32];
  snprintf(name, sizeof name, "key_%06lld", (long long)w->count);
  const hid_t group = H5Gcreate2(w->file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  bool good = group >= 0 && hdf5_put_f64(group, "time", time);
  for (int d = 0; d < 3; d++) good = good && hdf5_put_f64(group, corner_names[d], key->lower[d]);
  good =
      good && put_grid(group, "phi", key, 1, key->phi) && put_grid(group, "velocity", key, 3, key->velocity);
  if (group >= 0) H5Gclose(group);
  w->count++;
  return good ? FIRN_OK : hdf5_error(err, FIRN_EIO, "cannot write %s", w->target);
}

int levelset_writer_close(struct levelset_writer *w, bool commit, struct error *err)
{
  int code = FIRN_OK;
  if (w->file >= 0) {
    if (commit && !hdf5_put_i64(w->file, "keys", w->count))
      code = hdf5_error(err, FIRN_EIO, "cannot write %s", w->target);
    if (!hdf5_close_written(w->file) && !code) code = hdf5_error(err, FIRN_EIO, "cannot write %s", w->target);
  }
  if (commit && !code)
    code = file_commit(w->temp, w->target, err);
  else
    unlink(w->temp);
  mem_free(w->temp);
  mem_free(w->target);
  *w = (struct levelset_writer){.file = -1};
  return code;
}

/* --- reading --- */

static const double largest = 1e15; /* m, s, m/s, as for all numbers of a scene */

static hid_t open_key(hid_t file, int64_t k, const char *path, struct error *err)
{
  char name[32];
  snprintf(name, sizeof name, "key_%06lld", (long long)k);
  const hid_t group = hdf5_has(file, name) ? hdf5_object_open(file, name) : -1;
  if (group < 0) error_set(err, FIRN_EINPUT, "%s: the key %s is missing", path, name);
  return group;
}

/* A grid of floats with so many axes, for hdf5_table_close(). */
static int open_grid(struct hdf5_table *grid, hid_t group, const char *name, int axes, const char *path,
                     struct error *err)
{
  const int code = hdf5_array_open(grid, group, name, axes, path, err);
  if (code) return code;
  bool good = grid->class == H5T_FLOAT && grid->axes == axes;
  for (int a = 0; a < axes && good; a++) good = grid->dims[a] >= 2 && grid->dims[a] < (1 << 20);
  if (good) return FIRN_OK;
  hdf5_table_close(grid);
  return error_set(err, FIRN_EINPUT, "%s: the grid %s is not of %d dimensions of at least 2 floats", path,
                   name, axes);
}

static int plan_key(hid_t group, const char *path, struct levelset_key *key, struct error *err)
{
  struct hdf5_table phi, velocity;
  int code = open_grid(&phi, group, "phi", 3, path, err);
  if (code) return code;
  hdf5_table_close(&phi);
  code = open_grid(&velocity, group, "velocity", 4, path, err);
  if (code) return code;
  hdf5_table_close(&velocity);
  if (memcmp(phi.dims, velocity.dims, 3 * sizeof *phi.dims) != 0 || velocity.dims[3] != 3)
    return error_set(err, FIRN_EINPUT, "%s: the grids phi and velocity of a key do not match", path);
  bool good = hdf5_get_f64(group, "time", &key->time) && fabs(key->time) <= largest;
  for (int d = 0; d < 3; d++) {
    key->n[d] = (int64_t)phi.dims[2 - d];
    good = good && hdf5_get_f64(group, corner_names[d], &key->lower[d]) && fabs(key->lower[d]) <= largest;
  }
  return good ? FIRN_OK : error_set(err, FIRN_EINPUT, "%s: a key lacks its time or its place", path);
}

static int plan_all(struct levelset_plan *plan, hid_t file, const char *path, struct error *err)
{
  char *format = hdf5_get_text(file, "format");
  double spacing = 0.0;
  const bool known = format && !strcmp(format, format_name);
  mem_free(format);
  if (!known || !hdf5_get_i64(file, "keys", &plan->count) || !hdf5_get_f64(file, "spacing", &spacing))
    return error_set(err, FIRN_EINPUT, "%s: not a file of level-set keys; 'firn levelset' makes them", path);
  int64_t version = VERSION;
  hdf5_get_i64(file, "format_version", &version);
  if (version != VERSION)
    return error_set(err, FIRN_EFORMAT,
                     "%s: level-set keys of format version %lld, and this Firn reads version %d", path,
                     (long long)version, VERSION);
  if (plan->count < 1 || plan->count > MOST_KEYS || !(spacing > 0.0 && spacing < largest))
    return error_set(err, FIRN_EINPUT, "%s: invalid number of keys (%lld) or spacing (%g m)", path,
                     (long long)plan->count, spacing);
  plan->key = mem_alloc((size_t)plan->count, sizeof *plan->key);
  for (int64_t k = 0; k < plan->count; k++) {
    struct levelset_key *key = &plan->key[k];
    const hid_t group = open_key(file, k, path, err);
    if (group < 0) return err->code;
    const int code = plan_key(group, path, key, err);
    H5Oclose(group);
    if (code) return code;
    if (k > 0 && !(key->time > key[-1].time))
      return error_set(err, FIRN_EINPUT, "%s: keys are out of order: key %lld at %g s follows one at %g s",
                       path, (long long)k, key->time, key[-1].time);
    key->spacing = spacing;
    key->offset = plan->floats;
    plan->floats += 4 * key->n[0] * key->n[1] * key->n[2];
    if (plan->floats > most_floats) return error_set(err, FIRN_ELIMIT, "%s: more than 2^36 samples", path);
  }
  return FIRN_OK;
}

int levelset_plan_read(struct levelset_plan *plan, const char *path, struct error *err)
{
  struct hdf5_silence silence;
  *plan = (struct levelset_plan){0};
  hdf5_silence_begin(&silence);
  const hid_t file = hdf5_trial(path, err) == FIRN_OK ? hdf5_open(path, err) : -1;
  const int code = file < 0 ? err->code : plan_all(plan, file, path, err);
  if (file >= 0) H5Fclose(file);
  hdf5_silence_end(&silence);
  if (code) levelset_plan_free(plan);
  return code;
}

void levelset_plan_free(struct levelset_plan *plan)
{
  mem_free(plan->key);
  *plan = (struct levelset_plan){0};
}

/* The grid must still be the one that the plan made room for. */
static bool read_grid(hid_t group, const char *name, int axes, const struct levelset_key *key, float *out)
{
  struct hdf5_table grid;
  if (open_grid(&grid, group, name, axes, "", NULL)) return false;
  bool good = axes == 3 || grid.dims[3] == 3;
  for (int d = 0; d < 3; d++) good = good && grid.dims[2 - d] == (hsize_t)key->n[d];
  good = good && hdf5_table_read(&grid, H5T_NATIVE_FLOAT, 0, grid.rows, out);
  hdf5_table_close(&grid);
  return good;
}

static int read_key(hid_t group, const char *path, struct levelset_key *key, float *phi, struct error *err)
{
  const int64_t count = key->n[0] * key->n[1] * key->n[2];
  float *velocity = phi + count;
  if (!read_grid(group, "phi", 3, key, phi) || !read_grid(group, "velocity", 4, key, velocity))
    return hdf5_error(err, FIRN_EINPUT, "%s: the key at %g s is damaged or cut short", path, key->time);
  double most = 0.0;
  for (int64_t k = 0; k < count; k++) {
    double square = 0.0;
    for (int d = 0; d < 3; d++) square += (double)velocity[3 * k + d] * (double)velocity[3 * k + d];
    if (!(fabs((double)phi[k]) <= largest) || !(square <= largest * largest))
      return error_set(err, FIRN_EINPUT,
                       "%s: the key at %g s holds values that are not finite, or above 1e15 m or m/s", path,
                       key->time);
    most = fmax(most, square);
  }
  key->max_speed = sqrt(most);
  return FIRN_OK;
}

int levelset_samples_read(struct levelset_plan *plan, const char *path, float *samples, struct error *err)
{
  struct hdf5_silence silence;
  hdf5_silence_begin(&silence);
  const hid_t file = hdf5_open(path, err);
  int code = file < 0 ? err->code : FIRN_OK;
  for (int64_t k = 0; k < plan->count && !code; k++) {
    const hid_t group = open_key(file, k, path, err);
    code = group < 0 ? err->code : read_key(group, path, &plan->key[k], samples + plan->key[k].offset, err);
    if (group >= 0) H5Oclose(group);
  }
  if (file >= 0) H5Fclose(file);
  hdf5_silence_end(&silence);
  return code;
}

void levelset_keys(const struct levelset_plan *plan, const float *samples, bool cyclic, struct keyed *keys)
{
  *keys = (struct keyed){.count = (int)plan->count, .cyclic = cyclic};
  keys->time = mem_alloc((size_t)plan->count, sizeof *keys->time);
  keys->key = mem_alloc((size_t)plan->count, sizeof *keys->key);
  for (int64_t k = 0; k < plan->count; k++) {
    const struct levelset_key *from = &plan->key[k];
    struct sdf *to = &keys->key[k];
    *to = (struct sdf){.spacing = from->spacing, .max_speed = from->max_speed};
    memcpy(to->n, from->n, sizeof to->n);
    memcpy(to->lower, from->lower, sizeof to->lower);
    to->phi = samples + from->offset;
    to->velocity = to->phi + sdf_count(to);
    keys->time[k] = from->time;
  }
}

void levelset_keys_free(struct keyed *keys)
{
  mem_free(keys->time);
  mem_free(keys->key);
  *keys = (struct keyed){0};
}
