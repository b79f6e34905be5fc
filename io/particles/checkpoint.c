/* Writing checkpoints and reading what is in them besides rows; one table names each number once. */
#include "io/particles/checkpoint.h"

#include "base/memory.h"
#include "base/version.h"
#include "io/particles/hdf5.h"
#include "io/particles/writer.h"
#include "io/run/seal.h"
#include "material/models.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Version 2: `JP` is J_P also of materials that keep its logarithm, and `ln_JP` is what they keep. In version
 * 1, and of other materials, `JP` is what is kept. Version 3: the run's sums over the grid are in blocks. */
enum { OLDEST_VERSION = 1, VERSION = CHECKPOINT_VERSION };

enum since { FIRST, LATER }; /* every checkpoint has it; those of earlier versions lack it: it is 0 then */

static const struct number {
  const char *name;
  size_t offset;
  bool real;
  enum since since;
} numbers[] = {
#define REAL(member, since)    {#member, offsetof(struct checkpoint, member), true, since},
#define INTEGER(member, since) {#member, offsetof(struct checkpoint, member), false, since},
#define TOTAL(member, type, since)                                                                           \
  {#member, offsetof(struct checkpoint, totals.member),                                                      \
   _Generic((type)0, double                                                                                  \
            : true, default                                                                                  \
            : false),                                                                                        \
   since},
    /* clang-format off */
    REAL(time, FIRST)
    REAL(max_speed, FIRST)
    REAL(max_sound, FIRST)
    REAL(trusted, LATER)
    INTEGER(step, FIRST)
    INTEGER(frame, FIRST)
    INTEGER(on_frame, FIRST)
    INTEGER(finished, FIRST)
    INTEGER(particles, FIRST)
    INTEGER(history_rows, LATER)
    INTEGER(probe_rows, LATER)
    INTEGER(slab_axis, FIRST)
    INTEGER(generation, FIRST)
    FIRN_TOTALS(TOTAL)
    /* clang-format on */
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

/* Like the names of the frames' attributes; "particles" is the group of the rows. */
static const char *attribute_name(const struct number *number)
{
  return strcmp(number->name, "particles") == 0 ? "particle_count" : number->name;
}

static bool put_numbers(hid_t file, const struct checkpoint *info)
{
  for (int k = 0; k < NUMBERS; k++) {
    const char *name = attribute_name(&numbers[k]), *at = (const char *)info + numbers[k].offset;
    const bool written = numbers[k].real ? hdf5_put_f64(file, name, *(const double *)at)
                                         : hdf5_put_i64(file, name, *(const int64_t *)at);
    if (!written) return false;
  }
  return true;
}

static hid_t type_of(enum field_type type)
{
  return type == FIELD_F64 ? H5T_NATIVE_DOUBLE : type == FIELD_U64 ? H5T_NATIVE_UINT64 : H5T_NATIVE_UINT32;
}

const struct particle_field checkpoint_log = {.name = "ln_JP",
                                              .unit = "1",
                                              .type = FIELD_F64,
                                              .components = 1,
                                              .offset = offsetof(struct particles, jp)};

static bool keeps_log(const struct scene *scene, uint32_t material)
{
  return models[scene->materials[material].model]->log_volume;
}

static bool some_keep_log(const struct scene *scene)
{
  bool some = false;
  for (int k = 0; k < scene->material_count; k++) some |= keeps_log(scene, (uint32_t)k);
  return some;
}

struct description {
  const struct scene *scene;
  const struct checkpoint *info;
};

static bool describe(hid_t file, const void *context)
{
  const struct description *d = context;
  return hdf5_put_text(file, "format", "firn checkpoint") && hdf5_put_i64(file, "format_version", VERSION) &&
         put_numbers(file, d->info) && hdf5_put_text(file, "units", "SI: m, kg, s") &&
         hdf5_put_text(file, "run_id", d->info->run_id) && hdf5_put_text(file, "isa", d->info->isa) &&
         (!d->info->instruments || hdf5_put_text(file, "instruments", d->info->instruments)) &&
         (!d->info->maps || hdf5_put_text(file, "maps", d->info->maps)) &&
         (!d->info->sources || hdf5_put_text(file, "sources", d->info->sources)) &&
         (!d->info->drives || hdf5_put_text(file, "drives", d->info->drives)) &&
         (!d->info->seeding || hdf5_put_text(file, "seeding", d->info->seeding)) &&
         hdf5_put_scene(file, d->scene);
}

struct rows {
  const struct particle_field *field;
  const struct particles *particles;
  const struct scene *scene;
};

/* Component arrays to interleaved rows. */
static void gather(const void *context, int32_t first, int32_t n, void *out)
{
  const struct rows *rows = context;
  const int stride = rows->field->components;
  for (int c = 0; c < stride; c++) {
    const void *array = particle_array(rows->particles, rows->field, c);
    if (field_size(rows->field->type) == sizeof(uint64_t)) {
      const uint64_t *from = (const uint64_t *)array + first;
      uint64_t *to = (uint64_t *)out + c;
      for (int64_t i = 0; i < n; i++) to[i * stride] = from[i];
    } else {
      const uint32_t *from = (const uint32_t *)array + first;
      uint32_t *to = (uint32_t *)out + c;
      for (int64_t i = 0; i < n; i++) to[i * stride] = from[i];
    }
  }
}

/* J_P of all, and the logarithm of those that keep it: NaN of the others. */
static void gather_plastic(const void *context, int32_t first, int32_t n, void *out)
{
  const struct rows *rows = context;
  const struct particles *p = rows->particles;
  for (int32_t i = first; i < first + n; i++)
    ((double *)out)[i - first] =
        keeps_log(rows->scene, particle_material(p, i)) ? vd_exp(vd_set(p->jp[i]))[0] : p->jp[i];
}

static void gather_log(const void *context, int32_t first, int32_t n, void *out)
{
  const struct rows *rows = context;
  const struct particles *p = rows->particles;
  for (int32_t i = first; i < first + n; i++)
    ((double *)out)[i - first] = keeps_log(rows->scene, particle_material(p, i)) ? p->jp[i] : (double)NAN;
}

static void add_plastic(struct writer_plan *plan, struct rows *rows)
{
  if (!some_keep_log(rows->scene)) return;
  for (int k = 0; k < plan->column_count; k++)
    if (strcmp(plan->columns[k].name, rows->field->name) == 0) plan->columns[k].gather = gather_plastic;
  plan->columns[plan->column_count++] = (struct writer_column){.name = checkpoint_log.name,
                                                               .unit = checkpoint_log.unit,
                                                               .type = H5T_NATIVE_DOUBLE,
                                                               .components = 1,
                                                               .gather = gather_log,
                                                               .context = rows};
}

static void add_columns(struct writer_plan *plan, const struct scene *scene, const struct particles *p,
                        struct rows rows[PARTICLE_FIELDS])
{
  for (int f = 0; f < PARTICLE_FIELDS; f++) {
    const struct particle_field *field = &particle_fields[f];
    if (!particle_array(p, field, 0)) continue;
    rows[f] = (struct rows){field, p, scene};
    plan->columns[plan->column_count++] = (struct writer_column){.name = field->name,
                                                                 .unit = field->unit,
                                                                 .type = type_of(field->type),
                                                                 .components = field->components,
                                                                 .gather = gather,
                                                                 .context = &rows[f]};
  }
}

int checkpoint_write(const struct comm *comm, const char *path, const struct scene *scene,
                     const struct particles *p, const struct checkpoint *info, const struct fence *fence,
                     int64_t *bytes, struct error *err)
{
  const struct description description = {scene, info};
  struct rows rows[PARTICLE_FIELDS];
  struct writer_plan plan = {.target = path,
                             .what = "writing a checkpoint",
                             .rows = p->count,
                             .sealed = true,
                             .way = &scene->writing,
                             .describe = describe,
                             .context = &description,
                             .fence = fence};
  add_columns(&plan, scene, p, rows);
  add_plastic(&plan, &rows[PARTICLE_JP]);
  return writer_write(comm, &plan, bytes, err);
}

static bool get_numbers(hid_t file, struct checkpoint *info)
{
  for (int k = 0; k < NUMBERS; k++) {
    const char *name = attribute_name(&numbers[k]);
    char *at = (char *)info + numbers[k].offset;
    if (numbers[k].since == LATER && H5Aexists(file, name) == 0) continue; /* 0 */
    if (!(numbers[k].real ? hdf5_get_f64(file, name, (double *)at) : hdf5_get_i64(file, name, (int64_t *)at)))
      return false;
  }
  return true;
}

static bool get_word(hid_t file, const char *name, char *word, size_t size)
{
  char *text = hdf5_get_text(file, name);
  const bool fits = text && strlen(text) < size;
  if (fits) memcpy(word, text, strlen(text) + 1);
  mem_free(text);
  return fits;
}

static int read_attributes(hid_t file, struct checkpoint *info, const char *path, struct error *err)
{
  char format[32] = "";
  int64_t version = 0;
  if (!get_word(file, "format", format, sizeof format) || strcmp(format, "firn checkpoint") != 0 ||
      !hdf5_get_i64(file, "format_version", &version))
    return error_set(err, FIRN_EDAMAGED, "%s is not a checkpoint", path);
  if (version < OLDEST_VERSION || version > VERSION)
    return error_set(err, FIRN_EFORMAT,
                     "%s is a checkpoint of format version %lld and this Firn (%s) reads versions %d to %d",
                     path, (long long)version, FIRN_VERSION, OLDEST_VERSION, VERSION);
  info->format = version;
  info->scene = hdf5_get_text(file, "scene");
  info->resolved = hdf5_get_text(file, "scene_resolved");
  info->files = hdf5_get_text(file, "scene_files");       /* none: the scene names no files */
  info->instruments = hdf5_get_text(file, "instruments"); /* none: the scene asks for none */
  info->maps = hdf5_get_text(file, "maps");               /* none: the scene asks for none */
  info->sources = hdf5_get_text(file, "sources");         /* none: of an earlier version */
  info->drives = hdf5_get_text(file, "drives");           /* none: no program moves a body */
  info->seeding = hdf5_get_text(file, "seeding");         /* likewise */
  info->version = hdf5_get_text(file, "firn_version");
  info->commit = hdf5_get_text(file, "firn_commit");
  if (!get_numbers(file, info) || !get_word(file, "run_id", info->run_id, sizeof info->run_id) ||
      !get_word(file, "isa", info->isa, sizeof info->isa) || !info->scene || !info->resolved ||
      !info->version || !info->commit || info->slab_axis < 0 || info->slab_axis > 2 || info->step < 0 ||
      info->frame < 0)
    return error_set(err, FIRN_EDAMAGED, "%s is not a whole checkpoint", path);
  return FIRN_OK;
}

int checkpoint_open(struct checkpoint **out, const char *path, struct error *err)
{
  struct seal seal;
  int code = seal_check(&seal, path, err);
  if (code != FIRN_OK) return code;
  struct hdf5_silence silence;
  hdf5_silence_begin(&silence);
  struct checkpoint *info = mem_alloc(1, sizeof *info);
  const hid_t file = hdf5_open(path, err);
  code = file < 0 ? FIRN_EDAMAGED : read_attributes(file, info, path, err);
  if (file >= 0) H5Fclose(file);
  hdf5_silence_end(&silence);
  if (code == FIRN_OK)
    *out = info;
  else
    checkpoint_destroy(&info);
  return code;
}

void checkpoint_forget(struct checkpoint *c)
{
  char **const texts[] = {&c->scene,   &c->resolved, &c->files,   &c->instruments, &c->maps,
                          &c->sources, &c->drives,   &c->seeding, &c->version,     &c->commit};
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    mem_free(*texts[k]);
    *texts[k] = NULL;
  }
}

void checkpoint_destroy(struct checkpoint **checkpoint)
{
  if (!checkpoint || !*checkpoint) return;
  checkpoint_forget(*checkpoint);
  mem_free(*checkpoint);
  *checkpoint = NULL;
}
