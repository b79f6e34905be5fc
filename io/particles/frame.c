/* Writing frames: which columns there are and what the file says of itself; writer.c does the rest.
 *
 * Nothing in a frame tells the ranks, the machine or the clock, so the frames of two runs of a scene are the
 * same bytes. */
#include "io/particles/frame.h"

#include "base/memory.h"
#include "io/file.h"
#include "io/particles/frame_contacts.h"
#include "io/particles/frame_fields.h"
#include "io/particles/frame_vtk.h"
#include "io/particles/hdf5.h"
#include "io/particles/writer.h"

#include <stdio.h>

char *frame_path(const char *output, int64_t index)
{
  char name[64];
  snprintf(name, sizeof name, "frames/frame_%06lld.h5", (long long)index);
  return file_join(output, name);
}

int64_t frame_number(const char *name)
{
  return file_number(name, "frame_", 6, ".h5");
}

struct description {
  const struct scene *scene;
  const struct frame_info *info;
};

static bool describe(hid_t file, const void *context)
{
  const struct description *d = context;
  return hdf5_put_text(file, "format", "firn frame") && hdf5_put_i64(file, "format_version", FRAME_VERSION) &&
         hdf5_put_i64(file, "frame", d->info->index) && hdf5_put_i64(file, "step", d->info->step) &&
         hdf5_put_f64(file, "time", d->info->time) && hdf5_put_text(file, "units", "SI: m, kg, s") &&
         hdf5_put_scene(file, d->scene) &&
         (!d->info->free_bodies || hdf5_put_text(file, "free_bodies", d->info->free_bodies)) &&
         (!d->info->contacts || frame_put_contacts(file, d->scene, d->info->contacts));
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

static void add_columns(struct writer_plan *plan, const struct scene *scene, const struct particles *p,
                        struct rows rows[FRAME_COLUMNS])
{
  for (int c = 0; c < FRAME_COLUMNS; c++) {
    const struct frame_column *column = &frame_columns[c];
    if (!frame_has(scene, column)) continue;
    rows[c] = (struct rows){column, scene, p};
    plan->columns[plan->column_count++] =
        (struct writer_column){.name = column->name,
                               .unit = column->unit,
                               .type = type_of(column->type, scene->frame_bits),
                               .components = column->components,
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
                             .way = &scene->writing,
                             .sealed = true,
                             .describe = describe,
                             .context = &description,
                             .fence = info->fence};
  const int64_t first = comm_exscan_i64(comm, p->count);
  add_columns(&plan, scene, p, rows);
  if (scene->vtkhdf) {
    frame_vtk_add_columns(&plan, &first);
    plan.link = frame_vtk_link;
  }
  const int code = writer_write(comm, &plan, NULL, err);
  mem_free(target);
  return code;
}
