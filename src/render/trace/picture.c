#include "render/trace/picture.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/timer.h"
#include "base/vec.h"
#include "render/cloud.h"
#include "render/tone.h"
#include "render/trace/denoise.h"
#include "render/trace/film.h"
#include "render/trace/surface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double most_bytes = 1.5e9; /* of the grids near surfaces, on a node */

static const double wide =
    1.3; /* the kernel, in gaps: particles seeded at random leave fewer lumps than at 1 */

enum { MOMENTS = 8 }; /* of the bodies, in each slice of an open shutter */

struct picture_options picture_defaults(void)
{
  return (struct picture_options){.refine = 8,
                                  .edge = 0.35,
                                  .rough = -1.0,
                                  .least = 16,
                                  .most = 64,
                                  .target = 0.05,
                                  .slices = 4,
                                  .similar_after = 10,
                                  .curve = CURVE_FILMIC,
                                  .denoise = true,
                                  .seed = 1};
}

/* The set-up of one picture. */
struct set {
  const struct comm *comm;
  const struct frame *frame;
  const struct picture_view *view;
  const struct picture_options *options;
  double open, close; /* s, of the shutter, from the frame's time */
  int slices;
  struct volume **volume;
  struct volume **surface; /* of clear matter; NULL where there is none */
  struct solids solids;
  struct light *light;
  struct look found[VOLUME_LOOKS];
  double rest[VOLUME_LOOKS]; /* kg/m^3, packed */
  int found_count;
  uint8_t *look; /* of each particle, where there are several */
  struct trace_stage stage;
};

double picture_mass(const struct scene *scene, const struct frame *frame)
{
  double mass = 0.0, count = 0.0;
  for (int k = 0; scene && k < scene->snow_count; k++) {
    const struct snow_source *snow = &scene->snow[k];
    if (snow->file) continue;
    const double volume = shape_volume(&snow->shape), cell = pow(scene->spacing, 3.0);
    mass += scene_density(scene, snow) * volume;
    count += snow->count > 0 ? (double)snow->count : snow->per_cell * volume / cell;
  }
  if (mass > 0.0 && count > 0.0) return mass / count;
  const double spacing = cloud_spacing(frame->position, frame->count);
  return 400.0 * pow(spacing > 0.0 ? spacing : 0.01, 3.0);
}

/* Gap between packed particles (m): half a cell where eight of them share it. */
static double gap_of(const struct set *s)
{
  const struct scene *scene = s->view->scene;
  double volume = 0.0, count = 0.0;
  for (int k = 0; scene && k < scene->snow_count; k++) {
    const struct snow_source *snow = &scene->snow[k];
    if (snow->file) continue;
    const double own = shape_volume(&snow->shape), cell = pow(scene->spacing, 3.0);
    volume += own;
    count += snow->count > 0 ? (double)snow->count : snow->per_cell * own / cell;
  }
  if (volume > 0.0 && count > 0.0) return cbrt(volume / count);
  if (scene) return 0.5 * scene->spacing;
  const double spacing = cloud_spacing(s->frame->position, s->frame->count);
  return spacing > 0.0 ? spacing : 0.01;
}

static double kernel_of(const struct set *s)
{
  return s->options->kernel > 0.0 ? s->options->kernel : wide * gap_of(s);
}

/* The grid's voxel (m). Without a surface there is but one grid, which is the kernel's too. */
static double voxel_of(const struct set *s)
{
  const struct picture_options *o = s->options;
  return o->voxel > 0.0 ? o->voxel : 2.0 * gap_of(s) / o->refine;
}

/* A material's look with its own colour. */
static struct look look_of(const struct material *material)
{
  struct look look = looks[material->look];
  for (int c = 0; material->color_given && c < 3; c++)
    look.albedo[c] = look_albedo(fmin(material->color[c], 0.98), look.cosine);
  return look;
}

static bool same_look(const struct look *a, const struct look *b)
{
  return memcmp(a->albedo, b->albedo, sizeof a->albedo) == 0 && a->cosine == b->cosine &&
         a->extinction * b->density == b->extinction * a->density && a->mirrors == b->mirrors;
}

/* The different looks of the scene's materials; `of` says which each material has. Returns their number. */
static int collect_looks(const struct set *s, struct look *found, uint8_t *of)
{
  const struct scene *scene = s->view->scene;
  int count = 0;
  if (s->options->look || !scene) {
    found[count++] = s->options->look ? *s->options->look : looks[LOOK_SNOW];
    return count;
  }
  for (int m = 0; m < scene->material_count; m++) {
    const struct look look = look_of(&scene->materials[m]);
    int k = 0;
    while (k < count && !same_look(&look, &found[k])) k++;
    if (k == VOLUME_LOOKS) {
      log_warn("material '%s' is drawn like another: a picture has at most %d looks",
               scene->materials[m].name, VOLUME_LOOKS);
      k = 0;
    }
    if (k == count) found[count++] = look;
    of[m] = (uint8_t)k;
  }
  return count;
}

/* The place of a look among those found, where it is added if it is new; the first one's if there is no room.
 */
static uint8_t add_look(const struct look *look, struct look found[VOLUME_LOOKS], int *count)
{
  int k = 0;
  while (k < *count && !same_look(look, &found[k])) k++;
  if (k == VOLUME_LOOKS) {
    log_warn("%s is drawn like other matter: a picture has at most %d looks", look->name, VOLUME_LOOKS);
    return 0;
  }
  if (k == *count) found[(*count)++] = *look;
  return (uint8_t)k;
}

/* Density (kg/m^3) that matter of a look has where it is packed: that of the scene's snow, at the start. */
static double rest_density(const struct set *s, int look, const uint8_t *of)
{
  const struct scene *scene = s->view->scene;
  double mass = 0.0, volume = 0.0;
  for (int k = 0; scene && k < scene->snow_count; k++) {
    const struct snow_source *snow = &scene->snow[k];
    if (snow->file || (s->found_count > 1 && of[snow->material] != look)) continue;
    const double own = shape_volume(&snow->shape);
    mass += scene_density(scene, snow) * own;
    volume += own;
  }
  return volume > 0.0 ? mass / volume : s->found[look].density;
}

/* Looks of the particles, and what the tracer and the grid must know of them. */
static void set_looks(struct set *s, struct volume_options *o)
{
  const struct scene *scene = s->view->scene;
  const int materials = scene ? scene->material_count : 1;
  uint8_t *of = mem_alloc((size_t)materials, 1);
  const int count = collect_looks(s, s->found, of);
  if (count > 1 && !s->frame->material)
    log_warn("all materials are drawn like the first, since the frame does not say which is where; add "
             "'material' to output.fields");
  int used = s->frame->material ? count : 1;
  const bool phases = s->frame->phase && !s->options->look;
  uint8_t matter[] = {[MATTER_SNOW] = 0, [MATTER_ICE] = 0, [MATTER_WATER] = 0};
  bool there[] = {[MATTER_SNOW] = true, [MATTER_ICE] = false, [MATTER_WATER] = false};
  for (int64_t i = 0; phases && i < s->frame->count; i++) there[frame_matter(s->frame, i)] = true;
  for (int k = MATTER_ICE; k <= MATTER_WATER; k++)
    if (there[k]) matter[k] = add_look(&looks[k == MATTER_ICE ? LOOK_ICE : LOOK_WATER], s->found, &used);
  for (int k = 0, most = used; k < most; k++)
    if (s->found[k].drops) add_look(&looks[s->found[k].drops], s->found, &used);
  s->found_count = used;
  for (int k = 0; k < used; k++) {
    trace_set_look(&s->stage, k, s->found[k].albedo, s->found[k].cosine);
    o->strength[k] = s->found[k].extinction / s->found[k].density;
    o->edge[k] = 0.0;
  }
  if (used > 1) {
    s->look = mem_alloc((size_t)s->frame->count, 1);
    for (int64_t i = 0; i < s->frame->count; i++) {
      const uint32_t material = s->frame->material ? s->frame->material[i] : 0;
      const enum frame_matter kind = phases ? frame_matter(s->frame, i) : MATTER_SNOW;
      s->look[i] = kind != MATTER_SNOW ? matter[kind] : material < (uint32_t)materials ? of[material] : 0;
    }
  }
  for (int k = 0; k < used; k++) s->rest[k] = k < count ? rest_density(s, k, of) : s->found[k].density;
  mem_free(of);
}

static const struct look *look_at(const struct set *s, int64_t i)
{
  return &s->found[s->look ? s->look[i] : 0];
}

/* The particles with a smooth surface, as volumes (m^3). Returns their number; arrays for mem_free(). */
static int64_t collect_clear(const struct set *s, double same_mass, float **position, float **velocity,
                             float **volume)
{
  const struct frame *f = s->frame;
  int64_t count = 0;
  for (int64_t i = 0; i < f->count; i++) count += look_at(s, i)->mirrors;
  *position = mem_alloc((size_t)count, 3 * sizeof **position);
  *velocity = mem_alloc((size_t)count, 3 * sizeof **velocity);
  *volume = mem_alloc((size_t)count, sizeof **volume);
  int64_t to = 0;
  for (int64_t i = 0; i < f->count; i++) {
    const struct look *look = look_at(s, i);
    if (!look->mirrors) continue;
    memcpy(*position + 3 * to, f->position + 3 * i, 3 * sizeof **position);
    if (f->velocity) memcpy(*velocity + 3 * to, f->velocity + 3 * i, 3 * sizeof **velocity);
    (*volume)[to++] = (float)((f->mass ? (double)f->mass[i] : same_mass) / look->density);
  }
  return count;
}

/* Drops that are too loose to have a surface get the look of drops. */
static void find_drops(struct set *s, const struct volume *surface)
{
  uint8_t drops[VOLUME_LOOKS];
  for (int k = 0; k < s->found_count; k++) {
    drops[k] = (uint8_t)k;
    for (int j = 0; s->found[k].drops && j < s->found_count; j++)
      if (same_look(&s->found[j], &looks[s->found[k].drops])) drops[k] = (uint8_t)j;
  }
  for (int64_t i = 0; s->look && i < s->frame->count; i++) {
    float p[3];
    if (drops[s->look[i]] == s->look[i]) continue;
    for (int d = 0; d < 3; d++)
      p[d] = (float)(((double)s->frame->position[3 * i + d] - surface->origin[d]) / surface->voxel);
    if (volume_extinction(surface, p) < surface_level) s->look[i] = drops[s->look[i]];
  }
}

/* The surface of water and ice at the slices of time. */
static int set_surface(struct set *s, double same_mass, const double lattice[3], struct error *err)
{
  float *position, *velocity, *volume;
  const int64_t count = collect_clear(s, same_mass, &position, &velocity, &volume);
  /* With fewer than three particles a voxel the surface of water at rest is rough. */
  struct volume_options o = {.voxel = 1.5 * kernel_of(s)};
  const struct volume_points points = {
      .count = count, .position = position, .velocity = s->close > s->open ? velocity : NULL, .mass = volume};
  const double part = (s->close - s->open) / s->slices;
  int code = FIRN_OK;
  memcpy(o.lattice, lattice, sizeof o.lattice);
  o.strength[0] = 1.0 / o.voxel;
  if (count > 0) s->surface = mem_alloc((size_t)s->slices, sizeof *s->surface);
  for (int k = 0; count > 0 && k < s->slices && !code; k++) {
    o.from = s->open + part * k;
    o.to = o.from + part;
    code = volume_create(&s->surface[k], s->comm, &points, &o, err);
  }
  if (count > 0 && !code) find_drops(s, s->surface[s->slices / 2]);
  mem_free(position);
  mem_free(velocity);
  mem_free(volume);
  return code;
}

/* Old snow on a plane that is not steep. */
static void cover(struct solids *solids, int index, const double up[3])
{
  static const float snow[3] = {0.86f, 0.89f, 0.93f};
  const struct shape *shape = &solids->pose[index].shape;
  if (shape->kind != SHAPE_PLANE || vec_dot(shape->axis, up) < 0.5) return;
  solids->covered[index] = true;
  memcpy(solids->color[index], snow, sizeof snow);
}

static void set_solids(struct set *s)
{
  const struct scene *scene = s->view->scene;
  const int count = scene ? scene->body_count : 0;
  float(*colors)[3] = mem_alloc((size_t)count, sizeof *colors);
  for (int b = 0; b < count; b++) {
    const struct body *body = &scene->bodies[b];
    look_body_color(b, body->shape.kind == SHAPE_PLANE, colors[b]);
    for (int c = 0; body->color_given && c < 3; c++) colors[b][c] = (float)body->color[c];
  }
  const double time = s->frame->info.time;
  solids_create(&s->solids, scene ? scene->bodies : NULL, count, (const float(*)[3])colors, time + s->open,
                time + s->close, s->slices > 1 ? MOMENTS * s->slices : 1, s->view->camera.eye);
  for (int k = 0; s->options->snow_ground && k < s->solids.count; k++) cover(&s->solids, k, s->view->up);
  mem_free(colors);
}

/* The snow's surface; `slices` grids share the memory. */
static struct volume_grain grain_of(const struct set *s)
{
  const struct picture_options *o = s->options;
  struct volume_grain grain = {.voxel = voxel_of(s),
                               .kernel = 0.25 * gap_of(s),
                               .level = o->edge,
                               .width = 0.1,
                               .budget = most_bytes / s->slices};
  for (int k = 0; k < s->found_count; k++) {
    const struct look *look = &s->found[k];
    grain.rest[k] = s->rest[k];
    grain.full[k] = look->extinction / look->density * s->rest[k];
    grain.rough[k] = o->rough >= 0.0 && look->rough > 0.0 ? o->rough : look->rough;
  }
  return grain;
}

static int set_volumes(struct set *s, struct error *err)
{
  const struct scene *scene = s->view->scene;
  const bool surface = s->options->edge > 0.0;
  struct volume_options o = {.voxel = surface ? kernel_of(s) : voxel_of(s), .kernel = s->options->kernel};
  if (scene) memcpy(o.lattice, scene->lower, sizeof o.lattice);
  set_looks(s, &o);
  const double same_mass = picture_mass(scene, s->frame);
  const int failed = set_surface(s, same_mass, o.lattice, err);
  if (failed) return failed;
  const struct volume_points points = {.count = s->frame->count,
                                       .position = s->frame->position,
                                       .velocity = s->close > s->open ? s->frame->velocity : NULL,
                                       .mass = s->frame->mass,
                                       .same_mass = same_mass,
                                       .look = s->look,
                                       .id = s->frame->id};
  const struct volume_grain grain = grain_of(s);
  s->volume = mem_alloc((size_t)s->slices, sizeof *s->volume);
  const double part = (s->close - s->open) / s->slices;
  const int poses = s->solids.count * s->solids.moments / s->slices;
  for (int k = 0; k < s->slices; k++) {
    o.from = s->open + part * k;
    o.to = o.from + part;
    const int code = surface ? volume_create_grained(&s->volume[k], s->comm, &points, &o, &grain, err)
                             : volume_create(&s->volume[k], s->comm, &points, &o, err);
    if (code) return code;
    volume_mark_bodies(s->volume[k], s->solids.pose + k * poses, poses);
  }
  return FIRN_OK;
}

/* An eye inside snow sees white: that is a mistake of the one who placed it. */
static int check_eye(const struct set *s, struct error *err)
{
  const double *eye = s->view->camera.eye;
  const struct volume *v = s->volume[0];
  float p[3];
  for (int d = 0; d < 3; d++) p[d] = (float)((eye[d] - v->origin[d]) / v->voxel);
  if (volume_extinction(v, p) < 0.1f) return FIRN_OK;
  return error_set(err, FIRN_EINPUT, "the camera at %g,%g,%g is inside the snow; give another --eye", eye[0],
                   eye[1], eye[2]);
}

static void set_light(struct set *s)
{
  const struct scene_sun *sun = &s->view->sun;
  struct light_options o = {.sky = (enum light_sky)sun->sky,
                            .turbidity = sun->turbidity,
                            .size = sun->size,
                            .strength = sun->strength};
  for (int b = 0; b < s->solids.count; b++)
    if (s->solids.covered[b] && s->solids.pose[b].shape.kind == SHAPE_PLANE) o.land = 0.8;
  memcpy(o.up, s->view->up, sizeof o.up);
  memcpy(o.direction, sun->direction, sizeof o.direction);
  s->light = light_create(s->comm, &o);
}

static int set_up(struct set *s, struct error *err)
{
  const struct scene *scene = s->view->scene;
  const struct picture_options *o = s->options;
  const double span = o->shutter / (scene ? scene->frame_rate : 24.0);
  s->open = -0.5 * span;
  s->close = 0.5 * span;
  s->slices = span > 0.0 ? o->slices : 1;
  s->stage.similar_after = o->similar_after;
  set_solids(s);
  int code = set_volumes(s, err);
  if (!code) code = check_eye(s, err);
  if (code) return code;
  set_light(s);
  s->stage.volume = (const struct volume *const *)s->volume;
  s->stage.surface = (const struct volume *const *)s->surface;
  s->stage.slices = s->slices;
  s->stage.solids = &s->solids;
  s->stage.light = s->light;
  s->stage.draw_chance = 1.0f;
  memcpy(s->stage.center, s->view->center, sizeof s->stage.center);
  s->stage.haze = 20.0 * s->view->radius;
  s->stage.texture = 0.12 * s->view->radius;
  return FIRN_OK;
}

static void take_down(struct set *s)
{
  for (int k = 0; s->volume && k < s->slices; k++) volume_destroy(&s->volume[k]);
  for (int k = 0; s->surface && k < s->slices; k++) volume_destroy(&s->surface[k]);
  mem_free(s->volume);
  mem_free(s->surface);
  mem_free(s->light);
  mem_free(s->look);
  solids_destroy(&s->solids);
}

static int ascending(const void *a, const void *b)
{
  const float x = *(const float *)a, y = *(const float *)b;
  return x < y ? -1 : x > y;
}

/* Luminance that the brightest snow of the picture has, a few glints left out; 0 where there is too little.
 */
static float meter_snow(const struct film *film)
{
  const size_t pixels = (size_t)film->width * (size_t)film->height;
  float *found = mem_alloc(pixels, sizeof *found), bright = 0.0f;
  size_t count = 0;
  for (size_t i = 0; i < pixels; i++)
    if (film->pixel[i].snow > 0.99f) found[count++] = film_luminance(film->pixel[i].mean);
  qsort(found, count, sizeof *found, ascending);
  if (count * 200 > pixels) bright = found[count - 1 - count / 20];
  mem_free(found);
  return bright;
}

/* Puts the brightest snow just below white. */
static float exposure_of(const struct film *film, const struct light *light, const struct picture_options *o)
{
  const float snow = o->meter == METER_SNOW ? meter_snow(film) : 0.0f;
  const float sunlit = 0.9f * light->facing; /* a picture of shade stays darker than one of sunlit snow */
  const float bright = snow > 0.0f ? fmaxf(snow, 0.6f * sunlit) : sunlit;
  return 0.8f / bright * (float)exp2(o->exposure);
}

/* Bytes of the picture, with its coverage where the background is left out. */
static void develop(const struct film *film, float scale, const struct picture_options *o,
                    struct image *image)
{
  if (o->transparent) image_add_alpha(image);
  for (int y = 0; y < image->height; y++)
    for (int x = 0; x < image->width; x++) {
      const int64_t i = (int64_t)y * image->width + x;
      const struct film_pixel *pixel = &film->pixel[i];
      const float cover = o->transparent ? fmaxf(pixel->solid, 1e-6f) : 1.0f;
      for (int c = 0; c < 3; c++) {
        const float light = scale * pixel->mean[c] / cover;
        const float bent = o->curve == CURVE_FILMIC ? tone_film(light, 0.6f) : fminf(light, 1.0f);
        image->rgb[3 * i + c] = (uint8_t)(255.0f * tone_srgb(fmaxf(bent, 0.0f)) + tone_dither(x, y));
      }
      if (o->transparent) image->alpha[i] = (uint8_t)(255.0f * pixel->solid + 0.5f);
    }
}

static double mean_error(const struct film *film)
{
  double sum = 0.0;
  const int64_t pixels = (int64_t)film->width * film->height;
  for (int64_t i = 0; i < pixels; i++)
    sum += (double)film->pixel[i].error / (0.05 + (double)film_luminance(film->pixel[i].mean));
  return sum / (double)pixels;
}

const char *const picture_layers[PICTURE_LAYERS] = {"A", "B", "G", "N.X", "N.Y", "N.Z", "R", "Z", "id"};

static float *copy_layers(const struct film *film)
{
  const size_t pixels = (size_t)film->width * (size_t)film->height;
  float *layers = mem_alloc(pixels, PICTURE_LAYERS * sizeof *layers);
  for (size_t i = 0; i < pixels; i++) {
    const struct film_pixel *p = &film->pixel[i];
    const float values[PICTURE_LAYERS] = {p->solid,     p->mean[2], p->mean[1], p->normal[0], p->normal[1],
                                          p->normal[2], p->mean[0], p->depth,   (float)p->id};
    memcpy(layers + PICTURE_LAYERS * i, values, sizeof values);
  }
  return layers;
}

static float *copy_linear(const struct film *film)
{
  const int64_t pixels = (int64_t)film->width * film->height;
  float *linear = mem_alloc((size_t)pixels, 3 * sizeof *linear);
  for (int64_t i = 0; i < pixels; i++) memcpy(linear + 3 * i, film->pixel[i].mean, 3 * sizeof *linear);
  return linear;
}

int picture_render(const struct comm *comm, const struct frame *frame, const struct picture_view *view,
                   const struct picture_options *options, struct image *image, float **linear,
                   struct picture_report *report, struct error *err)
{
  const double start = timer_now();
  struct set s = {.comm = comm, .frame = frame, .view = view, .options = options};
  s.stage.hide_sky = options->transparent;
  s.stage.layers = options->layers;
  int code = set_up(&s, err);
  if (!code) {
    report->volume_seconds = timer_now() - start;
    report->bytes = 0.0;
    for (int k = 0; k < s.slices; k++)
      report->bytes += volume_bytes(s.volume[k]) + (s.surface ? volume_bytes(s.surface[k]) : 0.0);
    const struct film_options o = {.width = image->width,
                                   .height = image->height,
                                   .least = options->least,
                                   .most = options->most,
                                   .target = options->target,
                                   .seed = options->seed};
    struct film *film = film_render(comm, &s.stage, &view->camera, &o);
    if (film->pixel) {
      report->samples = film->samples;
      report->error = mean_error(film);
      if (options->denoise) denoise(film, comm ? comm->threads : 1);
      develop(film, exposure_of(film, s.light, options), options, image);
      if (linear) *linear = options->layers ? copy_layers(film) : copy_linear(film);
    }
    film_destroy(&film);
    report->seconds = timer_now() - start;
  }
  take_down(&s);
  return code;
}
