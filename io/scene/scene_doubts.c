/* See scene_doubts.h. A doubt must be rare: one that comes with a good scene teaches the user not to read
 * them. Limits are such that none of scenes/ raises any (tests/scenes/sizes.sh).
 *
 * Ranges of materials are those of chapter 4.2 of the 2017 thesis, and for the critical stretches, which it
 * leaves open, a factor of a few around the paper's table 2. */
#include "io/scene/scene_doubts.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/vec.h"
#include "bodies/body_contact.h"
#include "io/particles/particle_file.h"
#include "io/scene/scene_report.h"
#include "terrain/release.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 100000, MOST_POINTS = 3000, LEAST_POINTS = 60, MOMENTS = 32, MOST_SAID = 20 };
static const double most_pairs = 1e7;

struct box {
  double low[3], high[3]; /* m */
};

/* Points spread over an item of snow, and its bounds. */
struct cloud {
  struct box box;
  double *x; /* xyz; owned */
  int count;
};

struct doubts {
  const struct scene *scene;
  scene_say *say;
  void *context;
  int count;
  struct box domain;
  struct cloud *clouds; /* one an item of snow */
};

static void doubt(struct doubts *d, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void doubt(struct doubts *d, int line, const char *format, ...)
{
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (d->count++ < MOST_SAID) d->say(d->context, line, text);
}

static bool meet(const struct box *a, const struct box *b)
{
  for (int d = 0; d < 3; d++)
    if (!(a->low[d] <= b->high[d] && b->low[d] <= a->high[d])) return false;
  return true;
}

static bool is_in_box(const struct box *box, const double x[3])
{
  for (int d = 0; d < 3; d++)
    if (!(x[d] >= box->low[d] && x[d] <= box->high[d])) return false;
  return true;
}

static void draw(const struct box *box, uint64_t index, double x[3])
{
  for (uint64_t d = 0; d < 3; d++)
    x[d] = box->low[d] + (box->high[d] - box->low[d]) * rng_uniform(0, index, d);
}

/* --- materials, amounts, steps --- */

static void check_range(struct doubts *d, const struct material *m, const char *key, double value,
                        const struct material_range *sensible, const char *why)
{
  if (sensible->low == sensible->high || material_allows(sensible, value)) return;
  doubt(d, 0, "materials.%s.%s is %g, outside the sensible %g to %g: %s", m->name, key, value, sensible->low,
        sensible->high, why);
}

static void check_material(struct doubts *d, const struct material *m)
{
  const struct material_words *words = material_words(m->model);
  check_range(d, m, "density", m->density, &words->sensible_density, words->why_density);
  for (int k = 0; k < words->key_count; k++) {
    const struct material_key *key = &words->keys[k];
    const struct material_key *other;
    if (material_has_effect(m, key, false, &other))
      check_range(d, m, key->word, m->value[key->at], &key->sensible, key->why);
  }
}

static void check_materials(struct doubts *d)
{
  const struct scene *s = d->scene;
  bool *used = mem_alloc((size_t)s->material_count, sizeof *used);
  for (int k = 0; k < s->snow_count; k++) {
    used[s->snow[k].material] = true;
    for (int z = 0; z < s->snow[k].zone_count; z++) used[s->snow[k].zone[z].material] = true;
  }
  for (int k = 0; k < s->source_count; k++) used[s->sources[k].material] = true;
  for (int k = 0; k < s->material_count; k++)
    if (used[k])
      check_material(d, &s->materials[k]);
    else
      doubt(d, 0, "materials.%s: no snow is made of it; give it to some, or remove it", s->materials[k].name);
  mem_free(used);
}

static void check_amount(struct doubts *d, const struct snow_source *snow)
{
  const double h = d->scene->spacing;
  if (snow->file) return;
  const double cells = shape_volume(&snow->shape) / (h * h * h);
  const double density = snow->count ? (double)snow->count / cells : snow->per_cell;
  if (density >= 4.0 && density <= 64.0) return;
  doubt(d, snow->line, "snow.%s: %.3g particles per cell; %s", snow->name, density,
        density < 4.0 ? "below 4 it falls apart numerically: use more, or a larger spacing"
                      : "4 to 10 are enough, more only cost time");
}

/* A source puts its particles in, whether there is room or not. */
static void check_source(struct doubts *d, const struct scene_source *source)
{
  const double fill = scene_source_fill(d->scene, source);
  if (fill <= 1.05) return;
  if (isinf(fill))
    doubt(d, source->line,
          "sources.%s: its snow does not move away and becomes denser and denser; give it a velocity",
          source->name);
  else
    doubt(d, source->line,
          "sources.%s: it brings %.3g times what fits through it at this speed, so the stream is too dense; "
          "lower the rate to %.3g kg/s, or raise the velocity",
          source->name, fill, source->rate / fill);
}

static void check_steps(struct doubts *d)
{
  const struct scene *s = d->scene;
  struct scene_estimate e;
  if (s->step == 0.0) return;
  scene_step_limits(s, &e);
  if (s->step > e.advection)
    doubt(d, 0, "time.step: %g s is beyond the advection limit of %g s; use a shorter one, or auto", s->step,
          e.advection);
  if (s->step > e.melting)
    doubt(
        d, 0,
        "time.step: in %g s heat crosses more than a cell (melting limit %g s), and the front of melting is "
        "off; use a shorter one, or a smaller conductivity",
        s->step, e.melting);
}

/* --- where snow is --- */

static void fill_from_shape(struct cloud *cloud, const struct shape *shape, int most)
{
  shape_bounds(shape, cloud->box.low, cloud->box.high);
  cloud->x = mem_alloc((size_t)most, 3 * sizeof *cloud->x);
  for (uint64_t k = 0; k < 50 * (uint64_t)most && cloud->count < most; k++) {
    double *x = cloud->x + 3 * cloud->count;
    draw(&cloud->box, k, x);
    cloud->count += shape_distance(shape, x, NULL) < 0.0;
  }
}

static void fill_from_file(struct cloud *cloud, const char *path, int most)
{
  struct particle_file_info info;
  cloud->x = mem_alloc((size_t)most, 3 * sizeof *cloud->x);
  if (particle_file_look(path, NEEDS_NOTHING, &info, most, cloud->x, &cloud->count, NULL)) cloud->count = 0;
  cloud->box = (struct box){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
  for (int k = 0; k < cloud->count; k++)
    for (int d = 0; d < 3; d++) {
      cloud->box.low[d] = fmin(cloud->box.low[d], cloud->x[3 * k + d]);
      cloud->box.high[d] = fmax(cloud->box.high[d], cloud->x[3 * k + d]);
    }
}

/* How many points each of so many things gets. */
static int points_for(int things)
{
  const int share = POINTS / things;
  return share < LEAST_POINTS ? LEAST_POINTS : share > MOST_POINTS ? MOST_POINTS : share;
}

static void make_clouds(struct doubts *d)
{
  const struct scene *s = d->scene;
  const int most = points_for(s->snow_count);
  d->clouds = mem_alloc((size_t)s->snow_count, sizeof *d->clouds);
  for (int k = 0; k < s->snow_count; k++)
    if (s->snow[k].file)
      fill_from_file(&d->clouds[k], s->snow[k].file, most);
    else
      fill_from_shape(&d->clouds[k], &s->snow[k].shape, most);
}

/* Of so many pairs of things only every n-th thing is looked at. */
static int stride_of(double pairs)
{
  return 1 + (int)fmin(pairs / most_pairs, 1e6);
}

/* The part of a cloud that lies deeper than this inside a shape. */
static double part_inside(const struct cloud *cloud, const struct shape *shape, double depth)
{
  int inside = 0;
  for (int k = 0; k < cloud->count; k++) inside += shape_distance(shape, cloud->x + 3 * k, NULL) < -depth;
  return cloud->count ? (double)inside / cloud->count : 0.0;
}

static struct box bounds_of(const struct doubts *d, const struct shape *shape)
{
  struct box box;
  return shape_bounds(shape, box.low, box.high) ? box : d->domain;
}

/* Whether bodies stand before a face of the domain: the part of the snow's points that, moved to the face,
 * are within a cell of one. */
static bool is_closed(const struct doubts *d, int axis, double face)
{
  const struct scene *s = d->scene;
  int points = 0, held = 0;
  for (int k = 0; k < s->snow_count; k++)
    for (int i = 0; i < d->clouds[k].count; i += 1 + d->clouds[k].count / LEAST_POINTS) {
      double x[3];
      memcpy(x, d->clouds[k].x + 3 * i, sizeof x);
      x[axis] = face;
      bool near = false;
      for (int b = 0; b < s->body_count && !near; b++) {
        struct body_pose pose;
        body_pose_at(&s->bodies[b], 0.0, &pose);
        near = pose.shape.kind != SHAPE_NONE && shape_distance(&pose.shape, x, NULL) < s->spacing;
      }
      held += near;
      points++;
    }
  return 2 * held > points;
}

/* Snow from face to face leaves through both, as a slice between no walls does. */
static void check_faces(struct doubts *d, int axis)
{
  const struct scene *s = d->scene;
  double low = INFINITY, high = -INFINITY;
  for (int k = 0; k < s->snow_count; k++) {
    low = fmin(low, d->clouds[k].box.low[axis]);
    high = fmax(high, d->clouds[k].box.high[axis]);
  }
  const double first = d->domain.low[axis], last = d->domain.high[axis];
  if (!(low < first + s->spacing && high > last - s->spacing)) return;
  if (is_closed(d, axis, first) || is_closed(d, axis, last)) return;
  doubt(d, 0,
        "domain: the snow reaches from face to face along %c, and the faces of the domain are open, so it is "
        "lost on both sides; hold it with planes of friction 0 that lie inside the domain, or enlarge that",
        'x' + axis);
}

/* A sticky body holds an end of something elastic: a net in its frame. */
static bool is_clamp(const struct body *body, const struct material *material)
{
  return body->sticky && (material->model == MODEL_NEO_HOOKEAN || material->model == MODEL_COROTATED);
}

/* Nodes of a body hold what touches it, so that a little of the snow inside is as it should be. */
static void check_snow_in_body(struct doubts *d, const struct body *body)
{
  const struct scene *s = d->scene;
  const double h = s->spacing;
  struct body_pose pose;
  body_pose_at(body, 0.0, &pose);
  if (pose.shape.kind == SHAPE_NONE) return;
  const struct box box = bounds_of(d, &pose.shape);
  const int stride = stride_of((double)s->snow_count * s->body_count);
  for (int k = 0; k < s->snow_count; k += stride) {
    if (!meet(&d->clouds[k].box, &box)) continue;
    const double inside = part_inside(&d->clouds[k], &pose.shape, 0.0);
    if (inside < 0.01 || (inside < 0.5 && part_inside(&d->clouds[k], &pose.shape, 0.5 * h) < 0.01)) continue;
    if (inside < 0.5 && is_clamp(body, &s->materials[s->snow[k].material])) continue;
    doubt(d, s->snow[k].line,
          "snow.%s: about %.0f %% of it lies inside the body '%s' and stays there; move one of them, or cut "
          "the body out with 'difference'",
          s->snow[k].name, 100.0 * inside, body->name);
  }
}

static void check_overlap(struct doubts *d)
{
  const struct scene *s = d->scene;
  const int stride = stride_of(0.5 * s->snow_count * s->snow_count);
  for (int a = 0; a < s->snow_count; a += stride)
    for (int b = a + 1; b < s->snow_count; b++) {
      if (!meet(&d->clouds[a].box, &d->clouds[b].box)) continue;
      const double in_a = s->snow[a].file ? 0.0 : part_inside(&d->clouds[b], &s->snow[a].shape, 0.0);
      const double in_b = s->snow[b].file ? 0.0 : part_inside(&d->clouds[a], &s->snow[b].shape, 0.0);
      if (fmax(in_a, in_b) < 0.01) continue;
      const bool first = in_b > in_a;
      doubt(d, s->snow[b].line,
            "snow.%s and snow.%s overlap: about %.0f %% of '%s' lies in the other, where mass counts twice; "
            "move "
            "one, or "
            "cut it out with 'difference'",
            s->snow[a].name, s->snow[b].name, 100.0 * fmax(in_a, in_b), s->snow[first ? a : b].name);
    }
}

/* --- heat --- */

/* Whether heat has somewhere to come from or go to: air, a body, or another phase. */
static bool exchanges_heat(const struct scene *s)
{
  bool solid = false, liquid = false, given = s->heat.ambient_exchange > 0.0;
  for (int k = 0; k < s->body_count; k++) given |= s->bodies[k].has_temperature;
  for (int k = 0; k < s->snow_count; k++) {
    solid |= !s->snow[k].liquid;
    liquid |= s->snow[k].liquid;
  }
  return given || (solid && liquid);
}

/* Melting happens in the layer that heat reaches: one thinner than a cell is smeared over the cell. */
static void check_melting(struct doubts *d)
{
  const struct scene *s = d->scene;
  struct scene_estimate e;
  scene_step_limits(s, &e);
  const double reach = sqrt(e.spread * s->end);
  if (!exchanges_heat(s) || reach >= s->spacing) return;
  doubt(d, 0,
        "heat: until %g s it gets about %.2g m into the snow, less than a cell of %g m, so melting and "
        "freezing are not resolved; use a longer time.end, finer cells, or hurry it: snow.conductivity and "
        "heat.liquid.conductivity %.2g times as large",
        s->end, reach, s->spacing, 4.0 * s->spacing * s->spacing / (reach * reach));
}

static double along(const double up[3], const struct box *box, bool top)
{
  double height = 0.0;
  for (int a = 0; a < 3; a++)
    height += top ? fmax(up[a] * box->low[a], up[a] * box->high[a])
                  : fmin(up[a] * box->low[a], up[a] * box->high[a]);
  return height;
}

/* m, of the column that presses on the lowest liquid: all that lies or falls on it, and what its speed would
 * climb. Liquid is what `heat` calls so, or snow of this material. 0 without liquid. */
static double liquid_head(const struct doubts *d, double g, const struct material *material)
{
  const struct scene *s = d->scene;
  double up[3], low = INFINITY, high = -INFINITY, speed = 0.0;
  for (int a = 0; a < 3; a++) up[a] = -s->gravity[a] / g;
  for (int k = 0; k < s->snow_count; k++) {
    const bool liquid = material ? &s->materials[s->snow[k].material] == material : s->snow[k].liquid;
    if (liquid) low = fmin(low, along(up, &d->clouds[k].box, false));
    high = fmax(high, along(up, &d->clouds[k].box, true));
    speed = fmax(speed, vec_norm(s->snow[k].velocity));
  }
  return isfinite(low) ? high - low + 0.5 * speed * speed / g : 0.0;
}

/* A hundred times the greatest pressure is a compression of one per cent. */
static void check_stiffness(struct doubts *d)
{
  const struct scene *s = d->scene;
  const struct heat_law *law = &s->heat;
  const double g = vec_norm(s->gravity), head = g > 0.0 ? liquid_head(d, g, NULL) : 0.0,
               pressure = law->rho_liquid * g * head, wanted = 100.0 * pressure;
  struct scene_estimate e;
  scene_step_limits(s, &e);
  if (head == 0.0) return;
  if (law->lambda_liquid < 0.1 * wanted)
    doubt(d, 0,
          "heat.liquid.stiffness: under a head of %.2g m the liquid shrinks by %.0f %%; use about %.1g Pa "
          "(1 %%)",
          head, 100.0 * pressure / law->lambda_liquid, wanted);
  if (law->lambda_liquid > 30.0 * wanted)
    doubt(d, 0,
          "heat.liquid.stiffness: %.2g Pa is far more than a head of %.2g m needs, and costs about %.0f "
          "iterations per step instead of %.0f; use about %.1g Pa",
          law->lambda_liquid, head, e.iterations, fmax(2.0, e.iterations * sqrt(wanted / law->lambda_liquid)),
          wanted);
}

/* Weight compresses `model: water` too: p = K/n (J^-n - 1). */
static void check_depth(struct doubts *d, const struct material *m)
{
  const double g = vec_norm(d->scene->gravity), head = g > 0.0 ? liquid_head(d, g, m) : 0.0,
               pressure = m->density * g * head, n = m->water.exponent,
               shrinks = 1.0 - pow(1.0 + n * pressure / m->water.bulk_modulus, -1.0 / n);
  if (shrinks > 0.05)
    doubt(d, 0,
          "materials.%s.bulk_modulus: under a head of %.2g m the lowest water shrinks by %.0f %%; use about "
          "%.1g Pa (1 %%)",
          m->name, head, 100.0 * shrinks, 100.0 * pressure);
}

static void check_kelvin(struct doubts *d, int line, const char *key, const char *name, double kelvin)
{
  static const double coldest = 150.0; /* K: colder than snow gets anywhere on earth */
  if (kelvin < coldest)
    doubt(d, line, "%s%stemperature: %g K is colder than any snow; were degrees Celsius meant? Add 273.15",
          key, name, kelvin);
}

static void check_temperatures(struct doubts *d)
{
  const struct scene *s = d->scene;
  char name[80];
  check_kelvin(d, 0, "heat.ambient.", "", s->heat.ambient_temperature);
  for (int k = 0; k < s->snow_count; k++) {
    snprintf(name, sizeof name, "%s.", s->snow[k].name);
    check_kelvin(d, s->snow[k].line, "snow.", name, s->snow[k].temperature);
  }
  for (int k = 0; k < s->body_count; k++) {
    snprintf(name, sizeof name, "%s.", s->bodies[k].name);
    if (s->bodies[k].has_temperature)
      check_kelvin(d, s->bodies[k].line, "bodies.", name, s->bodies[k].temperature);
  }
}

static void check_heat(struct doubts *d)
{
  if (!d->scene->has_heat) return;
  check_melting(d);
  check_stiffness(d);
  check_temperatures(d);
}

/* --- bodies --- */

/* A point on the surface near x, and the normal there; false where none was found. */
static bool to_surface(const struct shape *shape, double h, double x[3], double n[3])
{
  double distance = INFINITY;
  for (int k = 0; k < 8; k++) {
    distance = shape_distance(shape, x, n);
    if (fabs(distance) < 1e-3 * h) return true;
    vec_axpy(x, -distance, n, x);
  }
  return false;
}

/* m, from a point of the surface straight through the body, at most `most`. */
static double thickness_at(const struct shape *shape, const double x[3], const double n[3], double most)
{
  for (int k = 1; k <= 40; k++) {
    double inside[3];
    vec_axpy(x, -most * k / 40.0, n, inside);
    if (shape_distance(shape, inside, NULL) > 0.0) return most * (k - 0.5) / 40.0;
  }
  return most;
}

static int compare_doubles(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* Whether a thin place goes on like this to nearly all sides, as that of a plate does and that of a rod does
 * not. */
static bool is_plate(const struct shape *shape, const double x[3], const double n[3], double thickness,
                     double reach)
{
  enum { SIDES = 8 };
  double middle[3], u[3] = {0.0, 0.0, 0.0}, v[3];
  int inside = 0;
  vec_axpy(x, -0.5 * thickness, n, middle);
  u[fabs(n[0]) < 0.6 ? 0 : 1] = 1.0;
  vec_cross(n, u, v);
  vec_normalize(v);
  vec_cross(v, n, u);
  for (int k = 0; k < SIDES; k++) {
    const double angle = 6.283185307179586 * k / SIDES;
    double at[3];
    vec_axpy(middle, reach * cos(angle), u, at);
    vec_axpy(at, reach * sin(angle), v, at);
    inside += shape_distance(shape, at, NULL) <= 0.0;
  }
  return inside >= SIDES - 2;
}

static double median(double *values, size_t count)
{
  qsort(values, count, sizeof *values, compare_doubles);
  return values[count / 2];
}

/* m: of a plate thinner than two cells, or of any body thinner than one; infinite for others. Points and
 * edges are thin on every body, so that it takes a part of the surface. */
static double find_thickness(const struct doubts *d, const struct shape *shape)
{
  const double h = d->scene->spacing;
  struct box box = bounds_of(d, shape);
  for (int a = 0; a < 3; a++) {
    box.low[a] = fmax(box.low[a], d->domain.low[a]) - 0.5 * h;
    box.high[a] = fmin(box.high[a], d->domain.high[a]) + 0.5 * h;
    if (!(box.low[a] < box.high[a])) return INFINITY;
  }
  const int points = points_for(d->scene->body_count);
  double *all = mem_alloc(2 * (size_t)points, sizeof *all), *plates = all + points, x[3], n[3],
         thin = INFINITY;
  size_t count = 0, plate_count = 0;
  for (uint64_t k = 0; k < (uint64_t)points; k++) {
    draw(&box, k, x);
    if (!to_surface(shape, h, x, n) || !is_in_box(&d->domain, x)) continue;
    const double t = thickness_at(shape, x, n, 2.0 * h);
    all[count++] = t;
    if (t < 2.0 * h && is_plate(shape, x, n, t, 2.0 * h)) plates[plate_count++] = t;
  }
  if (count > 20 && plate_count > count / 3)
    thin = median(plates, plate_count);
  else if (count > 20 && median(all, count) < h)
    thin = median(all, count);
  mem_free(all);
  return thin;
}

/* Bodies that start inside each other are pushed out slowly. */
static void check_meeting(struct doubts *d, int which)
{
  const struct scene *s = d->scene;
  struct body_pose pose, other;
  struct balls balls = {0};
  if (!s->bodies[which].free) return;
  balls_create(&balls, &s->bodies[which], s->spacing);
  body_pose_at(&s->bodies[which], s->bodies[which].start, &pose);
  for (int b = 0; b < s->body_count; b++) {
    double deepest = 0.0;
    body_pose_at(&s->bodies[b], s->bodies[which].start, &other);
    if (b == which || other.shape.kind == SHAPE_NONE) continue;
    for (int64_t k = 0; k < balls.count; k++) {
      double x[3], n[3], distance;
      vec_axpy(pose.origin, 1.0, balls.ball[k].place, x);
      if (touching_distance(&other.shape, x, s->spacing, &distance, n))
        deepest = fmax(deepest, balls.ball[k].radius - distance);
    }
    if (deepest > 0.1 * s->spacing)
      doubt(d, s->bodies[which].line,
            "bodies.%s: it starts %.2g m inside '%s', which pushes it out at up to 0.5 m/s; move one of them",
            s->bodies[which].name, deepest, s->bodies[b].name);
  }
  balls_free(&balls);
}

static void check_thickness(struct doubts *d, const struct body *body)
{
  const double h = d->scene->spacing;
  struct body_pose pose;
  body_pose_at(body, body->start, &pose);
  if (pose.shape.kind == SHAPE_NONE || pose.shape.kind == SHAPE_PLANE) return;
  const double thickness = find_thickness(d, &pose.shape);
  if (isfinite(thickness))
    doubt(d, body->line,
          "bodies.%s: it is about %.2g m thick, %.1f cells: snow may get through what is thinner than two; "
          "make "
          "it "
          "thicker, or domain.spacing %.2g m",
          body->name, thickness, thickness / h, 0.5 * thickness);
}

/* Whether any of the body can be in the domain at this moment. */
static bool is_in_domain(const struct doubts *d, const struct shape *shape)
{
  struct box box;
  if (shape_bounds(shape, box.low, box.high)) return meet(&box, &d->domain);
  double center[3], half[3], least = INFINITY, most;
  for (int a = 0; a < 3; a++) {
    center[a] = 0.5 * (d->domain.low[a] + d->domain.high[a]);
    half[a] = 0.5 * (d->domain.high[a] - d->domain.low[a]);
  }
  if (shape->kind != SHAPE_PLANE) {
    shape_range(shape, center, vec_norm(half), &least, &most);
    return !(least > 0.0);
  }
  for (int corner = 0; corner < 8; corner++) {
    double x[3];
    for (int a = 0; a < 3; a++) x[a] = corner >> a & 1 ? d->domain.high[a] : d->domain.low[a];
    least = fmin(least, shape_distance(shape, x, NULL));
  }
  return !(least > 0.0);
}

static void check_place(struct doubts *d, const struct body *body)
{
  const double end = d->scene->end, last = body->end > 0.0 ? fmin(end, body->end) : end;
  if (body->start >= end) {
    doubt(d, body->line, "bodies.%s: it comes at %g s, and the run ends at %g s", body->name, body->start,
          end);
    return;
  }
  for (int k = 0; k <= MOMENTS; k++) {
    struct body_pose pose;
    body_pose_at(body, body->start + (last - body->start) * k / MOMENTS, &pose);
    if (pose.shape.kind != SHAPE_NONE && is_in_domain(d, &pose.shape)) return;
  }
  doubt(d, body->line,
        "bodies.%s: it never is in the domain (%g %g %g to %g %g %g m), so that no snow can touch it; move "
        "it, or "
        "enlarge the domain",
        body->name, d->domain.low[0], d->domain.low[1], d->domain.low[2], d->domain.high[0],
        d->domain.high[1], d->domain.high[2]);
}

static double largest_side(const struct box *box)
{
  double most = 0.0;
  for (int a = 0; a < 3; a++) most = fmax(most, box->high[a] - box->low[a]);
  return most;
}

static void check_scale(struct doubts *d, const struct body *body)
{
  struct box box;
  const char *guess = scene_guess_scale(d->scene, &body->shape);
  if (*guess && shape_bounds(&body->shape, box.low, box.high))
    doubt(d, body->line, "bodies.%s: it is %.3g m large in a domain of %.3g m%s", body->name,
          largest_side(&box), largest_side(&d->domain), guess);
}

/* --- units --- */

static double speed_of(const struct snow_source *snow)
{
  return snow->file ? 0.0 : vec_norm(snow->velocity) + vec_norm(snow->spin) * shape_reach(&snow->shape);
}

/* Lengths are metres. In centimetres things are a hundred times as large, and hardly move while a run lasts.
 */
static void check_units(struct doubts *d)
{
  const struct scene *s = d->scene;
  const double gravity = vec_norm(s->gravity);
  double speed = 0.0, size = 0.0;
  bool known = true; /* how fast all snow is */
  if (gravity > 100.0) {
    doubt(d, 0, "gravity: %g m/s^2; lengths are in metres, where it is 9.81 on earth", gravity);
    return;
  }
  for (int k = 0; k < s->snow_count; k++) {
    const double own = speed_of(&s->snow[k]);
    if (own > 100.0) {
      doubt(d, s->snow[k].line, "snow.%s: it moves at %g m/s; is the scene in centimetres? Write metres",
            s->snow[k].name, own);
      return;
    }
    speed = fmax(speed, own);
    known = known && !s->snow[k].file;
    if (d->clouds[k].count) size = fmax(size, largest_side(&d->clouds[k].box));
  }
  for (int k = 0; k < s->body_count; k++)
    speed = fmax(speed, body_max_speed_between(&s->bodies[k], 0.0, s->end));
  const double way = speed * s->end + 0.5 * gravity * s->end * s->end;
  if (known && s->spacing >= 0.1 && way > 0.0 && way < 0.3 * size)
    doubt(d, 0,
          "snow of %.3g m moves by %.2g m at most in the %g s of the run; is the scene in centimetres? Write "
          "metres",
          size, way, s->end);
}

/* The thinnest side of a probe's regions (m). */
static double thinnest(const struct scene_probe *probe)
{
  double lower[3], upper[3];
  if (probe->kind == PROBE_POINT || probe->kind == PROBE_LINE) return 2.0 * probe->radius;
  if (probe->kind == PROBE_INSIDE) {
    if (!shape_bounds(&probe->shape, lower, upper)) return INFINITY;
    return fmin(upper[0] - lower[0], fmin(upper[1] - lower[1], upper[2] - lower[2]));
  }
  if (probe->kind != PROBE_PROFILE) return INFINITY;
  double least = INFINITY;
  for (int d = 0; d < 3; d++)
    least = fmin(least, (probe->high[d] - probe->low[d]) / (d == probe->axis ? probe->regions : 1));
  return least;
}

/* Whether a probe looks at some of the domain: for a plane, whether it cuts it. */
static bool sees_domain(const struct doubts *d, const struct scene_probe *probe)
{
  const struct box *domain = &d->domain;
  struct box box;
  if (probe->kind == PROBE_DEPOSIT) return true;
  if (probe->kind == PROBE_INSIDE)
    return !shape_bounds(&probe->shape, box.low, box.high) || meet(&box, domain);
  if (probe->kind == PROBE_FLUX) {
    double middle = 0.0, reach = 0.0;
    for (int a = 0; a < 3; a++) {
      middle += probe->high[a] * (0.5 * (domain->low[a] + domain->high[a]) - probe->low[a]);
      reach += fabs(probe->high[a]) * 0.5 * (domain->high[a] - domain->low[a]);
    }
    return fabs(middle) < reach;
  }
  for (int a = 0; a < 3; a++) {
    box.low[a] = fmin(probe->low[a], probe->high[a]) - probe->radius;
    box.high[a] = fmax(probe->low[a], probe->high[a]) + probe->radius;
  }
  return meet(&box, domain);
}

/* The grid smooths over a cell and more: what is asked of less is noise. */
static void check_probe(struct doubts *d, const struct scene_probe *probe)
{
  if (!sees_domain(d, probe)) {
    doubt(d, probe->line, "probes.%s: it is outside the domain, so it will find nothing; move it",
          probe->name);
    return;
  }
  const double thin = thinnest(probe), h = d->scene->spacing;
  if (thin < 0.999 * h)
    doubt(d, probe->line,
          "probes.%s: a region %.3g m thin is less than a cell of %.3g m, which the grid does not resolve; "
          "make "
          "it %.3g m and more",
          probe->name, thin, h, 2.0 * h);
}

/* Lines come every so many steps, and one at the start and at the end. */
static void check_probe_lines(struct doubts *d)
{
  const struct scene *s = d->scene;
  struct scene_estimate e;
  if (!s->probe_count) return;
  scene_step_limits(s, &e);
  if (s->probes_every > e.hardened)
    doubt(d, s->probes[0].line,
          "output.probes_every: a line every %d steps, and the run has about %.0f: probes.csv will have its "
          "first and last line alone; set it to %.0f or less",
          s->probes_every, e.hardened, fmax(1.0, floor(e.hardened / 20.0)));
}

static bool body_rubs(const struct body *body)
{
  return body->friction > 0.0 && (!body->sticky || body->sticky_steep);
}

/* Semi-implicit steps damp what is faster than they are, and so the peaks of an impact. */
static void check_measured(struct doubts *d, const struct body *body)
{
  const struct scene *s = d->scene;
  struct scene_estimate e;
  if (!body->measured || s->beta == 0.0) return;
  scene_step_limits(s, &e);
  const double crossed = e.step * s->cfl_sound / e.sound;
  if (crossed > 0.5)
    doubt(d, body->line,
          "bodies.%s: in a step of %.2g s sound crosses %.2g cells, so the peak of an impact is too low%s. "
          "Set time.max_step to %.1g or less, or the explicit scheme (docs/accuracy.md)",
          body->name, e.step, crossed,
          body_rubs(body) && !s->whole_friction ? ", and if it is slanting, its friction by up to 30 %"
                                                : "; impulses are right",
          e.step / (4.0 * crossed));
}

/* Friction before the solve is in proportion to elastic forces that the solve then takes back. */
static void check_friction(struct doubts *d)
{
  static const double most = 10.0; /* cells of sound per step; at 16 a block slides at 0.9 of its speed */
  const struct scene *s = d->scene;
  struct scene_estimate e;
  bool rubs = false;
  for (int k = 0; k < s->body_count; k++) rubs |= body_rubs(&s->bodies[k]);
  if (!rubs || s->beta == 0.0 || !s->slide || s->whole_friction) return;
  scene_step_limits(s, &e);
  const double crossed = e.step * s->cfl_sound / e.sound;
  if (crossed > most)
    doubt(d, 0,
          "time: in a step of %.2g s sound crosses %.3g cells, so friction on bodies is too strong, and slow "
          "slopes may hold; set %stime.max_step to %.2g or less (docs/accuracy.md)",
          e.step, crossed, s->gap || s->has_heat ? "" : "integrator.friction to whole, or ",
          e.step * most / crossed);
}

static bool is_sand(const struct scene *s, int material)
{
  return s->materials[material].model == MODEL_SAND;
}

/* FLIP takes its part of the motion in each step. */
static void check_sand(struct doubts *d)
{
  const struct scene *s = d->scene;
  bool sand = false;
  for (int k = 0; k < s->snow_count; k++) sand |= is_sand(s, s->snow[k].material);
  for (int k = 0; k < s->source_count; k++) sand |= is_sand(s, s->sources[k].material);
  if (sand && s->scheme == SCHEME_FLIP && s->flip_fraction > 0.0)
    doubt(d, 0,
          "transfer.scheme: flip stops sand too soon: a column runs out 0.75 to 0.8 times as far as it "
          "should, and less in short steps; "
          "leave the key out, or set it to apic (docs/accuracy.md)");
}

/* Sand within a body that turns and rubs. */
static void check_drum(struct doubts *d, const struct body *body)
{
  const struct scene *s = d->scene;
  const struct box around = bounds_of(d, &body->shape);
  bool within = false;
  const bool turns = vec_norm(body->spin) > 0.0 || (body->motion && motion_turns(body->motion));
  if (!turns || !body_rubs(body)) return;
  for (int k = 0; k < s->snow_count; k++) {
    bool inside = is_sand(s, s->snow[k].material) && d->clouds[k].count > 0;
    for (int a = 0; a < 3; a++)
      inside = inside && d->clouds[k].box.low[a] > around.low[a] && d->clouds[k].box.high[a] < around.high[a];
    within |= inside;
  }
  if (within)
    doubt(
        d, body->line,
        "bodies.%s: sand in a body that turns stands too steep, at 46 degrees instead of 30 if the radius is "
        "8 cells; do not trust its slope (docs/accuracy.md)",
        body->name);
}

/* Snow ahead that ends too early slides away as a block, and a body that pushes it feels less. A push of a
 * body with speed v is about rho c v; friction takes it up over c v / (mu g). A shorter run ends before the
 * wave is back from the end. */
static void check_window(struct doubts *d)
{
  const struct scene *s = d->scene;
  const double gravity = vec_norm(s->gravity);
  struct scene_estimate e;
  double friction = 0.0;
  if (!s->window.given || gravity == 0.0) return;
  const struct body *body = &s->bodies[s->window.body];
  if (!body->measured) return;
  for (int k = 0; k < s->body_count; k++)
    if (k != s->window.body) friction = fmax(friction, s->bodies[k].sticky ? 1.0 : s->bodies[k].friction);
  scene_step_limits(s, &e);
  const double sound = s->cfl_sound * s->spacing / e.sound;
  const double taken = friction > 0.0 ? sound * body_max_speed(body) / (friction * gravity) : INFINITY;
  const double enough = fmin(taken, 0.5 * sound * s->end);
  if (s->window.ahead < 0.99 * enough)
    doubt(d, body->line,
          "window.ahead: snow that ends %.3g m ahead slides away as a block, so the force on '%s' comes out "
          "low; take %.2g m (docs/accuracy.md)",
          s->window.ahead, body->name, enough);
}

static bool is_round(const struct shape *shape)
{
  return shape->kind == SHAPE_SPHERE || shape->kind == SHAPE_CAPSULE || shape->kind == SHAPE_CYLINDER;
}

static bool keeps_form(const struct material *m)
{
  return m->model == MODEL_NEO_HOOKEAN || m->model == MODEL_COROTATED || m->model == MODEL_VON_MISES;
}

/* Nodes hold matter that has not reached the body yet, so a ball stands on a plate nearly as wide as itself
 * (docs/accuracy.md, "Rolling"). */
static void check_rolling(struct doubts *d, const struct snow_source *snow)
{
  static const double enough = 10.0; /* cells: balls of this radius roll within 10 % by gaps */
  const struct scene *s = d->scene;
  bool rough = false;
  for (int k = 0; k < s->body_count; k++) rough |= !s->bodies[k].sticky && s->bodies[k].friction > 0.0;
  if (snow->file || !is_round(&snow->shape) || !keeps_form(&s->materials[snow->material])) return;
  if (!rough || vec_norm(s->gravity) == 0.0) return;
  const double cells = snow->shape.radius / s->spacing;
  if (!s->gap)
    doubt(d, snow->line,
          "snow.%s: contact by nodes keeps what is round from rolling, here with a radius of %.3g cells; set "
          "integrator.contact to gap (docs/accuracy.md)",
          snow->name, cells);
  else if (cells < enough)
    doubt(d, snow->line,
          "snow.%s: with a radius of %.3g cells it rolls too slowly, by 15 %% at 5 cells and 35 %% at 3 on a "
          "slope of 20 degrees; take cells of %.3g m or less (docs/accuracy.md)",
          snow->name, cells, snow->shape.radius / enough);
}

static bool is_liquid(const struct scene *s, const struct snow_source *snow)
{
  return snow->liquid || s->materials[snow->material].model == MODEL_WATER;
}

/* How fast a solid is when it meets a liquid (m/s, squared); infinite if it does not within the run. */
static double meeting_speed2(const struct scene *s, const struct snow_source *solid, const struct box *box,
                             const struct box *liquid)
{
  const double g = vec_norm(s->gravity), h = s->spacing, speed = speed_of(solid);
  double up[3];
  bool covers = true;
  int vertical = 0;
  for (int a = 0; a < 3; a++) {
    up[a] = -s->gravity[a] / g;
    if (fabs(up[a]) > fabs(up[vertical])) vertical = a;
  }
  const double fall = fmax(0.0, along(up, box, false) - along(up, liquid, true));
  if (along(up, box, true) < along(up, liquid, false)) return INFINITY; /* it lies below */
  if (fall > s->end * (speed + 0.5 * g * s->end)) return INFINITY;
  for (int a = 0; a < 3; a++) {
    if (a == vertical) continue;
    if (box->low[a] > liquid->high[a] + h || box->high[a] < liquid->low[a] - h) return INFINITY;
    covers = covers && box->low[a] < liquid->low[a] + h && box->high[a] > liquid->high[a] - h;
  }
  return covers ? INFINITY : speed * speed + 2.0 * g * fall; /* a lid has nowhere to go */
}

/* Liquid and solid share velocities at nodes, so a solid takes the liquid around it along. What plunges in is
 * moved by its own inertia at first. */
static void check_floating(struct doubts *d)
{
  static const double enough = 64.0, slow = 10.0; /* cells across; squared speed over g times the size */
  const struct scene *s = d->scene;
  const double g = vec_norm(s->gravity);
  for (int k = 0; k < s->snow_count && g > 0.0; k++) {
    const struct box *box = &d->clouds[k].box;
    double size = INFINITY, least = INFINITY;
    for (int a = 0; a < 3; a++) size = fmin(size, box->high[a] - box->low[a]);
    if (is_liquid(s, &s->snow[k]) || !d->clouds[k].count || size > enough * s->spacing) continue;
    for (int l = 0; l < s->snow_count; l++)
      if (is_liquid(s, &s->snow[l]) && d->clouds[l].count)
        least = fmin(least, meeting_speed2(s, &s->snow[k], box, &d->clouds[l].box));
    if (least > slow * g * size) continue;
    doubt(
        d, s->snow[k].line,
        "snow.%s: what floats rises and sinks too slowly, since it takes the liquid around it along: with 4 "
        "cells across a fiftieth of its way, with 8 an eighth, with 16 a quarter. Here it has %.3g; do not "
        "trust how fast it "
        "moves (docs/accuracy.md)",
        s->snow[k].name, size / s->spacing);
  }
}

/* The drag of a ground acts on flow of some cells. */
static void check_ground(struct doubts *d, const struct body *body)
{
  static const double least = 100.0; /* m/s^2 */
  const double turbulence = body->ground.law.turbulence;
  if (turbulence > 0.0 && turbulence < least)
    doubt(d, body->line, "bodies.%s: a turbulence of %g m/s^2 is below all that is in use (%g to 5000)",
          body->name, turbulence, least);
}

/* Thinner than two cells, a flow is as thick as its cells. */
static void check_release(struct doubts *d, const struct snow_source *snow)
{
  const double h = d->scene->spacing;
  if (snow->shape.kind != SHAPE_RELEASE || snow->shape.release->most >= 2.0 * h) return;
  doubt(
      d, snow->line,
      "snow.%s: the release is %.3g m thick, which is %.2g cells; speeds and run-outs will do, but thickness "
      "and drag need two: lower domain.spacing to %.2g m",
      snow->name, snow->shape.release->most, snow->shape.release->most / h, 0.5 * snow->shape.release->most);
}

/* FLIP has a viscosity of its own, which must not hide the material's. */
static void check_viscosity(struct doubts *d, const struct material *m)
{
  const struct scene *s = d->scene;
  const double viscosity = material_viscosity(m), dt = s->step > 0.0 ? s->step : s->max_step;
  const double own = (1.0 - s->flip_fraction) * m->density * s->spacing * s->spacing / (3.0 * dt);
  if (!(viscosity > 0.0) || s->scheme == SCHEME_APIC || own <= viscosity / 5.0) return;
  doubt(d, 0,
        "materials.%s: its viscosity is %.3g Pa s, and the transfer adds at least %.3g; use 'transfer: "
        "{scheme: "
        "apic}'",
        m->name, viscosity, own);
}

int scene_doubts(const struct scene *s, scene_say *say, void *context)
{
  struct doubts d = {.scene = s, .say = say, .context = context};
  for (int a = 0; a < 3; a++) {
    d.domain.low[a] = s->lower[a];
    d.domain.high[a] = s->lower[a] + s->spacing * (double)s->cells[a];
  }
  make_clouds(&d);
  check_steps(&d);
  check_units(&d);
  check_materials(&d);
  for (int k = 0; k < s->material_count; k++)
    if (s->materials[k].model == MODEL_WATER) check_depth(&d, &s->materials[k]);
  for (int k = 0; k < s->material_count; k++) check_viscosity(&d, &s->materials[k]);
  for (int k = 0; k < s->snow_count; k++) check_amount(&d, &s->snow[k]);
  for (int k = 0; k < s->snow_count; k++) check_release(&d, &s->snow[k]);
  for (int k = 0; k < s->snow_count; k++) check_rolling(&d, &s->snow[k]);
  for (int k = 0; k < s->source_count; k++) check_source(&d, &s->sources[k]);
  check_overlap(&d);
  for (int a = 0; a < 3; a++) check_faces(&d, a);
  check_heat(&d);
  for (int k = 0; k < s->body_count; k++) {
    check_place(&d, &s->bodies[k]);
    check_scale(&d, &s->bodies[k]);
    check_thickness(&d, &s->bodies[k]);
    check_snow_in_body(&d, &s->bodies[k]);
    check_meeting(&d, k);
    check_measured(&d, &s->bodies[k]);
    check_drum(&d, &s->bodies[k]);
    check_ground(&d, &s->bodies[k]);
  }
  for (int k = 0; k < s->probe_count; k++) check_probe(&d, &s->probes[k]);
  check_probe_lines(&d);
  check_window(&d);
  check_friction(&d);
  check_sand(&d);
  check_floating(&d);
  if (d.count > MOST_SAID) {
    char text[64];
    snprintf(text, sizeof text, "and %d more like these", d.count - MOST_SAID);
    say(context, 0, text);
  }
  for (int k = 0; k < s->snow_count; k++) mem_free(d.clouds[k].x);
  mem_free(d.clouds);
  return d.count;
}

bool scene_doubt_sound(const struct scene *s, const struct scene_estimate *e, scene_say *say, void *context)
{
  if (!e->sound_binds || s->step <= e->sound) return false;
  struct doubts d = {.scene = s, .say = say, .context = context};
  doubt(
      &d, 0,
      "time.step: %g s is beyond the sound limit of %.3g s, above which explicit steps can blow up; the run "
      "will take shorter ones. Set it to auto, or below the limit%s",
      s->step, e->sound, e->sound_from == SOUND_KNOWN ? "" : "; volume: exact allows longer steps");
  return true;
}
