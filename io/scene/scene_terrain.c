/* Terrain: the section `terrain`, the shape `release`, and the files of both.
 *
 * Rank 0 alone touches the disk. What it read is checked there, so that a fault is one sentence about the
 * file, and goes to all ranks as it is. */
#include "io/scene/scene_read.h"

#include "base/memory.h"
#include "base/vec.h"
#include "bodies/zones.h"
#include "decomposition/comm.h"
#include "io/geo/grid_file.h"
#include "levelset/heights.h"
#include "terrain/raster.h"
#include "terrain/release.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MOST_ZONES = 200, MOST_SIDE = 4096 };
static const double depth_below = 50.0; /* m of rock below the lowest point */

/* --- reading the scene --- */

void scene_read_release(struct reader *r, const struct yaml_item *map, const struct scene *s,
                        struct shape *shape)
{
  static const char *const keys[] = {"file", "thickness", "measured", NULL};
  static const char *const ways[] = {"normal", "vertical", NULL};
  const struct yaml_item *release = reader_open(r, map, "release", keys);
  if (!release) reader_fail(r, map, "expected a map with at least 'file'");
  if (!yaml_find(r->yaml->root, "terrain"))
    reader_fail_key(r, map, "release", "lies on a terrain: add the section 'terrain: {file: ...}'");
  const char *file = reader_string(r, release, "file", NULL);
  double thickness = 0.0;
  if (yaml_find(release, "thickness"))
    thickness = reader_number(r, release, "thickness", READER_REQUIRED, RANGE_POSITIVE);
  const bool vertical = reader_choice(r, release, "measured", 0, ways) == 1;
  if (!r->code) {
    shape->source = mem_alloc(1, sizeof *shape->source);
    *shape->source = (struct shape_source){.path = scene_path_beside(s->path, file),
                                           .line = release->line,
                                           .scale = thickness,
                                           .spacing = s->spacing,
                                           .vertical = vertical};
  }
  reader_close(r);
}

#define ZONE_KEYS "file", "friction", SCENE_GROUND_KEYS, NULL

/* A list of files, each with its law; later ones lie on earlier ones. */
static void read_zones(struct reader *r, const struct yaml_item *map, struct scene *s, struct body *body)
{
  static const char *const keys[] = {ZONE_KEYS};
  struct yaml_item *list = reader_get(r, map, "zones");
  struct scene_terrain *t = &s->terrain;
  if (!list) return;
  if (list->kind != YAML_LIST || !list->count || list->count > MOST_ZONES)
    reader_fail(r, list, "expected a list of 1 to %d zones, each with a file and its friction", MOST_ZONES);
  if (s->has_heat) reader_fail(r, list, "does not go together with 'heat'; remove one of the two");
  if (body->sticky) reader_fail(r, list, "has no effect with 'sticky'; remove one of the two");
  if (r->code) return;
  struct zones *zones = body->ground.zones = mem_alloc(1, sizeof *zones);
  zones->law = mem_alloc((size_t)list->count, sizeof *zones->law);
  t->zone_files = mem_alloc((size_t)list->count, sizeof *t->zone_files);
  reader_write(r, "zones:");
  r->depth++;
  for (int k = 0; k < list->count && !r->code; k++) {
    struct yaml_item *item = list->child[k];
    item->used = true;
    reader_check_keys(r, item, keys);
    if (r->code) break;
    reader_open_item(r);
    const char *file = reader_string(r, item, "file", NULL);
    struct ground_law *law = &zones->law[zones->count++];
    scene_read_zone_law(r, item, s, body->friction, law);
    if (!r->code) t->zone_files[t->zone_count++] = scene_path_beside(s->path, file);
    body->ground.varies = true;
    body->ground.layered |= law->turbulence > 0.0 || law->cohesion > 0.0;
    reader_close(r);
  }
  reader_close(r);
  if (body->ground.layered && s->whole_friction)
    reader_fail(r, list, "turbulence and cohesion do not go together with 'integrator: {friction: whole}'");
}

static void check_frame(struct reader *r, const struct yaml_item *map, const struct scene *s)
{
  if (s->gravity[0] != 0.0 || s->gravity[2] != 0.0 || s->gravity[1] > 0.0)
    reader_fail(r, map, "heights of a terrain are along y; expected gravity: [0, -g, 0], found [%g, %g, %g]",
                s->gravity[0], s->gravity[1], s->gravity[2]);
  if (s->copies > 1) reader_fail(r, map, "cannot be copied; remove domain.copies");
  if (yaml_find(r->yaml->root, "window"))
    reader_fail(r, map, "does not go together with 'window'; remove one of the two");
}

static void read_place(struct reader *r, const struct yaml_item *map, struct scene_terrain *t)
{
  static const char *const ways[] = {"refuse", "fill", NULL};
  t->cut = yaml_find(map, "within") != NULL;
  if (t->cut) {
    reader_numbers(r, map, "within", 4, t->within);
    if (!r->code && !(t->within[0] < t->within[1] && t->within[2] < t->within[3]))
      reader_fail_key(r, map, "within", "expected [west, east, south, north] in metres of the map");
  }
  t->origin_given = yaml_find(map, "origin") != NULL;
  if (t->origin_given) reader_vector(r, map, "origin", NULL, t->origin);
  t->smoothing = reader_number(r, map, "smoothing", 0.0, RANGE_NOT_NEGATIVE);
  t->fill = reader_choice(r, map, "holes", 0, ways) == 1;
}

void scene_read_terrain(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  static const char *const keys[] = {
      "file",   "within",       "origin", "smoothing", "holes",        "maps",  "least_thickness", "friction",
      "sticky", "sticky_above", "zones",  "measure",   "pressure_map", "color", SCENE_GROUND_KEYS, NULL};
  struct scene_terrain *t = &s->terrain;
  if (!yaml_find(root, "terrain") || r->code) return;
  const struct yaml_item *map = reader_open(r, root, "terrain", keys);
  if (r->code) return;
  for (int k = 0; k < s->body_count; k++)
    if (!strcmp(s->bodies[k].name, "terrain"))
      reader_fail(r, map, "there is a body called 'terrain', which is the name of this one; rename that");
  check_frame(r, map, s);
  const char *file = reader_string(r, map, "file", NULL);
  read_place(r, map, t);
  t->maps = reader_flag(r, map, "maps", true);
  if (t->maps)
    t->least = reader_number(r, map, "least_thickness", 0.02, RANGE_NOT_NEGATIVE);
  else
    reader_refuse(r, map, "least_thickness", "with 'maps: false'");
  if (r->code) return;
  t->given = true;
  t->line = map->line;
  t->file = scene_path_beside(s->path, file);
  if (!s->bodies) s->bodies = mem_alloc(1, sizeof *s->bodies);
  struct body *body = &s->bodies[s->body_count++];
  snprintf(body->name, sizeof body->name, "terrain");
  body->line = map->line;
  body->shape =
      (struct shape){.kind = SHAPE_HEIGHTFIELD, .axis = {0.0, 1.0, 0.0}, .axes = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
  body->shape.source = mem_alloc(1, sizeof *body->shape.source);
  *body->shape.source =
      (struct shape_source){.path = mem_strdup(t->file), .line = map->line, .terrain = true};
  scene_read_ground_body(r, map, s, body);
  if (!r->code) read_zones(r, map, s, body);
  reader_close(r);
}

void scene_forget_terrain(struct scene_terrain *t)
{
  for (int k = 0; k < t->zone_count; k++) mem_free(t->zone_files[k]);
  mem_free(t->zone_files);
  mem_free(t->file);
  raster_destroy(&t->raster);
  heights_destroy(&t->heights);
  *t = (struct scene_terrain){0};
}

/* --- its files --- */

static bool is_raster(const char *path)
{
  const char *dot = strrchr(path, '.');
  return dot && (!strcasecmp(dot, ".asc") || !strcasecmp(dot, ".tif") || !strcasecmp(dot, ".tiff"));
}

/* Rank 0. */
static int check_raster(const struct scene_terrain *t, struct raster *r, struct error *err)
{
  int64_t row = 0, column = 0;
  if (r->cell < 0.01 && fabs(r->west) <= 360.0 && fabs(r->north) <= 90.0)
    return error_set(err, FIRN_EINPUT,
                     "%s: its cells of %g look like degrees; project it to metres first (gdalwarp -t_srs "
                     "with the code of a projection, such as EPSG:32632)",
                     t->file, r->cell);
  if (t->cut && !raster_cut(r, t->within))
    return error_set(err, FIRN_EINPUT,
                     "%s: 'within' leaves nothing of it: it covers %.10g to %.10g east and %.10g to %.10g "
                     "north",
                     t->file, r->west, r->west + (double)(r->columns - 1) * r->cell,
                     r->north - (double)(r->rows - 1) * r->cell, r->north);
  const int64_t holes = raster_holes(r, &row, &column);
  if (holes == r->rows * r->columns)
    return error_set(err, FIRN_EINPUT, "%s has no data %s", t->file, t->cut ? "within 'within'" : "at all");
  if (holes > 0 && !t->fill)
    return error_set(err, FIRN_EINPUT,
                     "%s: %lld of %lld cells have no data, the first in row %lld, column %lld (%.10g east, "
                     "%.10g north); cut them off by 'within', or fill them by 'holes: fill'",
                     t->file, (long long)holes, (long long)(r->rows * r->columns), (long long)row + 1,
                     (long long)column + 1, r->west + (double)column * r->cell,
                     r->north - (double)row * r->cell);
  if (holes > 0) raster_fill(r);
  raster_smooth(r, t->smoothing);
  return FIRN_OK;
}

static int read_raster(const struct scene_terrain *t, struct raster **out, struct error *err)
{
  int code = grid_file_read(out, t->file, err);
  if (!code) code = check_raster(t, *out, err);
  if (code) raster_destroy(out);
  return code;
}

static bool is_root(const struct comm *comm)
{
  return !comm || comm->rank == 0;
}

/* Rank 0's raster to all; `code` is rank 0's. */
static int share_raster(const struct comm *comm, int code, struct raster **raster, struct error *err)
{
  if (!comm) return code;
  code = comm_agree(comm, code, err);
  if (code) return code;
  struct raster head = {0};
  if (is_root(comm)) head = **raster;
  comm_broadcast(comm, &head, sizeof head);
  if (!is_root(comm)) *raster = raster_create(head.columns, head.rows, head.west, head.north, head.cell);
  comm_broadcast(comm, (*raster)->value, (size_t)(head.columns * head.rows) * sizeof *head.value);
  return FIRN_OK;
}

/* The terrain as shapes see it: heights above its lowest point. */
static void make_heights(struct scene_terrain *t, struct shape *shape)
{
  const struct raster *r = t->raster;
  const int64_t count = r->columns * r->rows;
  const double half[2] = {0.5 * (double)(r->columns - 1) * r->cell, 0.5 * (double)(r->rows - 1) * r->cell};
  double lowest = INFINITY;
  for (int64_t k = 0; k < count; k++) lowest = fmin(lowest, (double)r->value[k]);
  float *above = mem_alloc((size_t)count, sizeof *above);
  for (int64_t k = 0; k < count; k++) above[k] = (float)((double)r->value[k] - lowest);
  t->heights = heights_from_samples(above, r->columns, r->rows, half);
  mem_free(above);
  if (!t->origin_given) {
    t->origin[0] = r->west;
    t->origin[1] = r->north;
    t->origin[2] = 0.0;
  }
  shape->heights = t->heights;
  shape->shared = true;
  shape->center[0] = r->west - t->origin[0] + half[0];
  shape->center[1] = lowest - t->origin[2];
  shape->center[2] = t->origin[1] - r->north + half[1];
  shape->half[0] = half[0];
  shape->half[1] = depth_below;
  shape->half[2] = half[1];
}

/* All ranks see the same. */
static int check_domain(const struct scene *s, const struct shape *ground, struct error *err)
{
  double low[3], high[3];
  shape_bounds(ground, low, high);
  low[1] += depth_below;
  bool apart = false;
  for (int d = 0; d < 3; d++)
    apart |= low[d] > s->lower[d] + s->spacing * (double)s->cells[d] || high[d] < s->lower[d];
  if (!apart) return FIRN_OK;
  return error_set(err, FIRN_EINPUT,
                   "%s:%d: terrain: the domain does not overlap it; in the scene's axes it covers x %.10g to "
                   "%.10g, y %.10g to %.10g, z %.10g to %.10g",
                   s->path, s->terrain.line, low[0], high[0], low[1], high[1], low[2], high[2]);
}

/* Rank 0: a raster file as it is, or polygons as a raster of this cell (m) with this value. */
static int read_mask(const char *path, double cell, double value, struct raster **out, struct error *err)
{
  if (is_raster(path)) return grid_file_read(out, path, err);
  struct polygons p;
  int code = polygons_read(&p, path, err);
  if (code) return code;
  double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
  for (int64_t k = 0; k < p.ring[p.rings]; k++)
    for (int d = 0; d < 2; d++) {
      low[d] = fmin(low[d], p.point[k][d]);
      high[d] = fmax(high[d], p.point[k][d]);
    }
  cell = fmax(cell, fmax(high[0] - low[0], high[1] - low[1]) / (MOST_SIDE - 2));
  const int64_t columns = (int64_t)ceil((high[0] - low[0]) / cell) + 1,
                rows = (int64_t)ceil((high[1] - low[1]) / cell) + 1;
  *out = raster_create(columns, rows, low[0] + 0.5 * cell, high[1] - 0.5 * cell, cell);
  if (raster_polygon(*out, (const double(*)[2])p.point, p.ring, p.rings, (float)value) == 0) {
    raster_destroy(out);
    code = error_set(err, FIRN_EINPUT, "%s: its polygons have no area", path);
  }
  polygons_free(&p);
  return code;
}

/* Rank 0: thickness (m) in each cell, 0 for none. */
static int check_release(const struct scene_terrain *t, const struct shape_source *source, struct raster *r,
                         struct error *err)
{
  const double half = 0.5 * t->raster->cell, west = t->raster->west - half, north = t->raster->north + half,
               east = west + (double)t->raster->columns * t->raster->cell,
               south = north - (double)t->raster->rows * t->raster->cell;
  int64_t outside = 0, cells = 0;
  for (int64_t k = 0; k < r->rows * r->columns; k++) {
    const double x = r->west + (double)(k % r->columns) * r->cell,
                 y = r->north - (double)(k / r->columns) * r->cell;
    float *value = &r->value[k];
    if (!(*value > 0.0f)) {
      *value = 0.0f; /* no data is no snow */
      continue;
    }
    if (source->scale > 0.0) *value = (float)source->scale;
    cells++;
    outside += x < west || x > east || y < south || y > north;
  }
  if (cells == 0)
    return error_set(err, FIRN_EINPUT, "%s: no cell is above 0: there is no snow", source->path);
  if (outside > 0)
    return error_set(
        err, FIRN_EINPUT, "%s %s the terrain, which covers %.10g to %.10g east and %.10g to %.10g north",
        source->path, outside == cells ? "does not overlap" : "reaches beyond", west, east, south, north);
  return FIRN_OK;
}

static int read_release(const struct scene_terrain *t, const struct shape_source *source, struct raster **out,
                        struct error *err)
{
  if (!is_raster(source->path) && source->scale == 0.0)
    return error_set(err, FIRN_EINPUT, "%s is a polygon: give its 'thickness' (m)", source->path);
  int code = read_mask(source->path, 0.25 * source->spacing, 1.0, out, err);
  if (!code) code = check_release(t, source, *out, err);
  if (code) raster_destroy(out);
  return code;
}

static void make_release(const struct scene_terrain *t, const struct shape *ground, struct raster *thick,
                         struct shape *shape)
{
  struct release *release = shape->release = mem_alloc(1, sizeof *release);
  *release = (struct release){.ground = t->heights,
                              .vertical = shape->source->vertical,
                              .n = {thick->columns, thick->rows},
                              .first = {thick->west - t->origin[0], t->origin[1] - thick->north},
                              .step = thick->cell,
                              .thick = thick->value};
  memcpy(release->middle, ground->center, sizeof release->middle);
  for (int64_t k = 0; k < thick->columns * thick->rows; k++)
    release->most = fmax(release->most, (double)thick->value[k]);
  thick->value = NULL; /* the release has it now */
}

static int load_releases(struct scene *s, const struct comm *comm, const struct shape *ground,
                         struct shape *shape, struct error *err)
{
  int code = FIRN_OK;
  for (int c = 0; c < shape->child_count && !code; c++)
    code = load_releases(s, comm, ground, &shape->child[c], err);
  if (code || shape->kind != SHAPE_RELEASE || shape->release) return code;
  struct raster *thick = NULL;
  code = is_root(comm) ? read_release(&s->terrain, shape->source, &thick, err) : FIRN_OK;
  code = share_raster(comm, code, &thick, err);
  if (!code) make_release(&s->terrain, ground, thick, shape);
  raster_destroy(&thick);
  return code;
}

/* Rank 0: the numbers of laws on cells of the terrain's grid, or finer ones where the scene's are finer. */
static int read_zones_files(const struct scene *s, struct raster **out, struct error *err)
{
  const struct scene_terrain *t = &s->terrain;
  const struct raster *r = t->raster;
  const double finer = fmin(8.0, fmax(1.0, ceil(r->cell / s->spacing)));
  const double cell = r->cell / finer, edge = 0.5 * r->cell;
  int code = FIRN_OK;
  *out = raster_create(r->columns * (int64_t)finer, r->rows * (int64_t)finer, r->west - edge + 0.5 * cell,
                       r->north + edge - 0.5 * cell, cell);
  for (int k = 0; k < t->zone_count && !code; k++) {
    struct raster *mask = NULL;
    code = read_mask(t->zone_files[k], cell, 1.0, &mask, err);
    int64_t found = 0;
    for (int64_t n = 0; n < (*out)->rows * (*out)->columns && !code; n++) {
      const double value = raster_at(mask, (*out)->west + (double)(n % (*out)->columns) * cell,
                                     (*out)->north - (double)(n / (*out)->columns) * cell);
      if (!(value > 0.0)) continue;
      (*out)->value[n] = (float)(k + 1);
      found++;
    }
    if (!code && found == 0)
      code = error_set(err, FIRN_EINPUT, "%s does not overlap the terrain", t->zone_files[k]);
    raster_destroy(&mask);
  }
  if (code) raster_destroy(out);
  return code;
}

static int load_zones(struct scene *s, const struct comm *comm, struct zones *zones, struct error *err)
{
  struct raster *r = NULL;
  int code = is_root(comm) ? read_zones_files(s, &r, err) : FIRN_OK;
  code = share_raster(comm, code, &r, err);
  if (code) return code;
  zones->axis[0] = 0;
  zones->axis[1] = 2;
  zones->corner[0] = r->west - 0.5 * r->cell - s->terrain.origin[0];
  zones->corner[1] = s->terrain.origin[1] - (r->north + 0.5 * r->cell);
  zones->step[0] = zones->step[1] = r->cell;
  zones->columns = (int32_t)r->columns;
  zones->rows = (int32_t)r->rows;
  zones->number = mem_alloc((size_t)(r->columns * r->rows), 1);
  for (int64_t k = 0; k < r->columns * r->rows; k++) zones->number[k] = (uint8_t)r->value[k];
  raster_destroy(&r);
  return FIRN_OK;
}

int scene_load_terrain(struct scene *s, const struct comm *comm, struct error *err)
{
  struct scene_terrain *t = &s->terrain;
  if (!t->given || t->raster) return FIRN_OK;
  struct body *body = &s->bodies[s->body_count - 1];
  int code = is_root(comm) ? read_raster(t, &t->raster, err) : FIRN_OK;
  code = share_raster(comm, code, &t->raster, err);
  if (code) return error_prefix(err, "%s:%d: terrain", s->path, t->line);
  make_heights(t, &body->shape);
  body_finish(body);
  code = check_domain(s, &body->shape, err);
  for (int k = 0; k < s->snow_count && !code; k++) {
    code = load_releases(s, comm, &body->shape, &s->snow[k].shape, err);
    if (code) error_prefix(err, "%s:%d: snow.%s", s->path, s->snow[k].line, s->snow[k].name);
  }
  if (!code && t->zone_count) {
    code = load_zones(s, comm, body->ground.zones, err);
    if (code) error_prefix(err, "%s:%d: terrain.zones", s->path, t->line);
  }
  return code;
}
