/* The maps of a run's flow, in <output>/maps: on the terrain's own grid, as ESRI ASCII grids and GeoTIFF. */
#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/geo/grid_file.h"
#include "run/run.h"
#include "sim/maps.h"
#include "terrain/release.h"

#include <math.h>
#include <stdio.h>

static const struct {
  enum map_kind kind;
  const char *name;
} files[] = {{MAP_THICKNESS, "peak_thickness"}, {MAP_VERTICAL, "peak_thickness_vertical"},
             {MAP_SPEED, "peak_speed"},         {MAP_PRESSURE, "peak_pressure"},
             {MAP_ARRIVAL, "arrival_time"},     {MAP_FINAL, "final_thickness"},
             {MAP_DEPOSIT, "deposit"},          {MAP_FIRST, "release"}};

static int write_both(const char *folder, const char *name, const struct raster *raster, struct error *err)
{
  char file[64];
  int code = FIRN_OK;
  for (int k = 0; k < 2 && !code; k++) {
    snprintf(file, sizeof file, "%s.%s", name, k == 0 ? "asc" : "tif");
    char *path = file_join(folder, file);
    code = k == 0 ? grid_file_write_ascii(path, raster, err) : grid_file_write_tiff(path, raster, err);
    mem_free(path);
  }
  return code;
}

/* The releases of the scene as they were given, which are clearer than particles. NULL: it has none. */
static struct raster *given_release(const struct scene *scene)
{
  const struct scene_terrain *t = &scene->terrain;
  struct raster *r = NULL;
  for (int s = 0; s < scene->snow_count; s++) {
    const struct release *release = scene->snow[s].shape.release;
    if (!release) continue;
    if (!r)
      r = raster_create(t->raster->columns, t->raster->rows, t->raster->west, t->raster->north,
                        t->raster->cell);
    for (int64_t k = 0; k < r->columns * r->rows; k++) {
      const double x = r->west + (double)(k % r->columns) * r->cell - t->origin[0],
                   z = t->origin[1] - r->north + (double)(k / r->columns) * r->cell;
      r->value[k] = fmaxf(r->value[k], (float)release_thickness(release, x, z));
    }
  }
  return r;
}

void run_write_maps(struct run *run)
{
  struct error err = {.code = FIRN_OK};
  if (!run->sim->maps) return;
  const bool root = run->comm.rank == 0;
  char *folder = file_join(run->scene->output, "maps");
  int code = root ? file_make_folder(folder, &err) : FIRN_OK;
  if (root && !code) code = write_both(folder, "terrain", run->scene->terrain.raster, &err);
  for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
    struct raster *raster = files[k].kind == MAP_FIRST ? given_release(run->scene) : NULL;
    if (!raster) raster = maps_raster(run->sim, files[k].kind);
    if (root && !code) code = write_both(folder, files[k].name, raster, &err);
    raster_destroy(&raster);
  }
  if (root && code)
    log_warn("no maps: %s", err.text);
  else if (root)
    log_info("maps of the flow are in %s", folder);
  mem_free(folder);
}
