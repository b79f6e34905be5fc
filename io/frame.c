/* Writing frames: which columns there are and what the file says of itself; writer.c does the rest.
 *
 * Nothing in a frame tells the ranks, the machine or the clock, so the frames of two runs of a scene are the
 * same bytes. */
#include "io/frame.h"

#include "base/memory.h"
#include "base/version.h"
#include "io/file.h"
#include "io/frame_fields.h"
#include "io/hdf5.h"
#include "io/writer.h"

#include <stdio.h>

char *frame_path(const char *output, int64_t index)
{
  char name[64];
  snprintf(name, sizeof name, "frames/frame_%06lld.h5", (long long)index);
  return file_join(output, name);
}

struct description {
  const struct scene *scene;
  const struct frame_info *info;
};

static bool describe(hid_t file, const void *context)
{
  const struct description *d = context;
  const struct scene *scene = d->scene;
  char hash[32];
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)scene->hash);
  return hdf5_put_text(file, "format", "firn frame") && hdf5_put_i64(file, "format_version", 1) &&
         hdf5_put_i64(file, "frame", d->info->index) && hdf5_put_i64(file, "step", d->info->step) &&
         hdf5_put_f64(file, "time", d->info->time) && hdf5_put_text(file, "units", "SI: m, kg, s") &&
         hdf5_put_text(file, "scene_name", scene->name) && hdf5_put_text(file, "scene_hash", hash) &&
         hdf5_put_text(file, "scene", scene->text) &&
         hdf5_put_text(file, "scene_resolved", scene->resolved) &&
         hdf5_put_text(file, "firn_version", FIRN_VERSION) && hdf5_put_text(file, "firn_commit", FIRN_COMMIT);
}

/* What frame_gather() needs besides the rows. */
struct rows {
  const struct frame_column *column;
  const struct scene *scene;
  const struct particles *particles;
};

static void gather(const void *context, int32_t first, int32_t n, void *out)
{
  const struct rows *rows = context;
  frame_gather(rows->column, rows->scene, rows->particles, first, n, out);
}

static hid_t type_of(enum field_type type, int frame_bits)
{
  if (type == FIELD_U64) return H5T_NATIVE_UINT64;
  if (type == FIELD_U32) return H5T_NATIVE_UINT32;
  return frame_bits == 32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
}

static bool wanted(const struct scene *scene, const struct frame_column *column)
{
  return column->bit == 0 || (scene->fields & column->bit);
}

static void add_columns(struct writer_plan *plan, const struct scene *scene, const struct particles *p,
                        struct rows rows[FRAME_COLUMNS])
{
  for (int c = 0; c < FRAME_COLUMNS; c++) {
    const struct particle_field *field = frame_columns[c].field;
    if (!wanted(scene, &frame_columns[c])) continue;
    rows[c] = (struct rows){&frame_columns[c], scene, p};
    plan->columns[plan->column_count++] =
        (struct writer_column){.name = field->name,
                               .unit = field->unit,
                               .type = type_of(field->type, scene->frame_bits),
                               .components = field->components,
                               .gather = gather,
                               .context = &rows[c]};
  }
}

int frame_write(const struct comm *comm, const struct scene *scene, const struct particles *p,
                const struct frame_info *info, struct error *err)
{
  char *target = frame_path(scene->output, info->index);
  const struct description description = {scene, info};
  struct rows rows[FRAME_COLUMNS];
  struct writer_plan plan = {.target = target,
                             .what = "writing a frame",
                             .rows = p->count,
                             .compression = scene->compression,
                             .describe = describe,
                             .context = &description,
                             .fence = info->fence};
  add_columns(&plan, scene, p, rows);
  const int code = writer_write(comm, &plan, NULL, err);
  mem_free(target);
  return code;
}
