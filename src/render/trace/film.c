#include "render/trace/film.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/timer.h"
#include "decomposition/node_block.h"
#include "render/trace/quick.h"

#include <math.h>
#include <string.h>

enum { SIDE = 16, PIXELS = SIDE * SIDE };

static const float darkest = 0.05f; /* luminance below which errors count as if it were this */

struct job {
  const struct trace_stage *stage;
  const struct camera *camera;
  const struct film_options *options;
  int columns, rows; /* of tiles */
};

/* Sums of one pixel. */
struct tally {
  double half[2][3], square; /* of the luminance */
  double solid, snow, depth, normal[3];
  int id;
  int samples;
  bool done;
};

/* Samples fall around the pixel's middle with the weight of a tent two pixels wide. */
static float tent(float u)
{
  return u < 0.5f ? sqrtf(2.0f * u) - 1.0f : 1.0f - sqrtf(2.0f - 2.0f * u);
}

static void take_sample(const struct job *job, int x, int y, int index, struct tally *tally)
{
  const struct film_options *o = job->options;
  struct sampler sampler;
  struct trace_sample sample;
  float pixel[2], lens[2], time[2], c, s;
  double origin[3], direction[3];
  sampler_begin(&sampler, o->seed, x, y, (uint32_t)index);
  sampler_low(&sampler, PAIR_PIXEL, pixel);
  sampler_low(&sampler, PAIR_LENS, lens);
  sampler_low(&sampler, PAIR_TIME, time);
  const double half = 0.5 * o->height, radius = sqrt((double)lens[0]);
  const double px = (x + 0.5 + (double)tent(pixel[0]) - 0.5 * o->width) / half;
  const double py = (0.5 * o->height - (y + 0.5 + (double)tent(pixel[1]))) / half;
  quick_circle(lens[1], &c, &s);
  const double on_lens[2] = {radius * (double)c, radius * (double)s};
  camera_ray(job->camera, px, py, on_lens, origin, direction);
  trace_path(job->stage, origin, direction, time[0], &sampler, &sample);
  const double luminance = (double)film_luminance(sample.radiance);
  for (int k = 0; k < 3; k++) tally->half[index & 1][k] += (double)sample.radiance[k];
  tally->square += luminance * luminance;
  tally->solid += (double)sample.solid;
  tally->snow += (double)sample.snow;
  for (int k = 0; k < 3; k++) tally->normal[k] += (double)sample.normal[k];
  if (index == 0) tally->id = sample.id;
  if (sample.solid > 0.0f) tally->depth += (double)sample.depth;
  tally->samples++;
}

static double mean_of(const struct tally *t, int c)
{
  return (t->half[0][c] + t->half[1][c]) / t->samples;
}

/* Variance of one sample's luminance. */
static double variance_of(const struct tally *t)
{
  const float rgb[3] = {(float)mean_of(t, 0), (float)mean_of(t, 1), (float)mean_of(t, 2)};
  const double mean = (double)film_luminance(rgb);
  return fmax(t->square / t->samples - mean * mean, 0.0);
}

/* Relative error of a pixel, with the variance of the pixels around it: its own may be small by chance. */
static double error_at(const struct tally *tile, int x, int y, int width, int height)
{
  double variance = 0.0, mean = 0.0;
  int count = 0;
  for (int v = y > 0 ? y - 1 : 0; v <= y + 1 && v < height; v++)
    for (int u = x > 0 ? x - 1 : 0; u <= x + 1 && u < width; u++) {
      const struct tally *t = &tile[v * SIDE + u];
      const float rgb[3] = {(float)mean_of(t, 0), (float)mean_of(t, 1), (float)mean_of(t, 2)};
      variance += variance_of(t);
      mean += (double)film_luminance(rgb);
      count++;
    }
  const double own = variance_of(&tile[y * SIDE + x]);
  return sqrt(fmax(variance / count, own) / tile[y * SIDE + x].samples) / (mean / count + (double)darkest);
}

/* Marks pixels that are good enough. Returns how many are not. */
static int judge(struct tally *tile, int width, int height, double target)
{
  bool done[PIXELS] = {false};
  int open = 0;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) done[y * SIDE + x] = error_at(tile, x, y, width, height) <= target;
  for (int k = 0; k < PIXELS; k++) {
    tile[k].done = tile[k].done || done[k];
    open += k % SIDE < width && k / SIDE < height && !tile[k].done;
  }
  return open;
}

static void finish(const struct tally *t, struct film_pixel *out)
{
  const int even = (t->samples + 1) / 2, odd = t->samples / 2;
  for (int c = 0; c < 3; c++) {
    out->mean[c] = (float)mean_of(t, c);
    out->half[0][c] = (float)(t->half[0][c] / even);
    out->half[1][c] = (float)(t->half[1][c] / (odd > 0 ? odd : 1));
  }
  out->error = (float)sqrt(variance_of(t) / t->samples);
  out->solid = (float)(t->solid / t->samples);
  out->snow = (float)(t->snow / t->samples);
  out->depth = (float)(t->solid > 0.0 ? t->depth / t->solid : 0.0);
  for (int c = 0; c < 3; c++) out->normal[c] = (float)(t->normal[c] / t->samples);
  out->id = t->id;
  out->samples = t->samples;
}

static void render_tile(const struct job *job, int number, struct film_pixel *out)
{
  const struct film_options *o = job->options;
  const int x0 = number % job->columns * SIDE, y0 = number / job->columns * SIDE;
  const int width = o->width - x0 < SIDE ? o->width - x0 : SIDE;
  const int height = o->height - y0 < SIDE ? o->height - y0 : SIDE;
  struct tally tile[PIXELS];
  memset(tile, 0, sizeof tile);
  for (int taken = 0; taken < o->most;) {
    for (int y = 0; y < height; y++)
      for (int x = 0; x < width; x++) {
        struct tally *t = &tile[y * SIDE + x];
        for (int k = 0; k < SAMPLER_BATCH && !t->done; k++) take_sample(job, x0 + x, y0 + y, taken + k, t);
      }
    taken += SAMPLER_BATCH;
    if (o->target > 0.0 && taken >= o->least && judge(tile, width, height, o->target) == 0) break;
  }
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) finish(&tile[y * SIDE + x], &out[y * SIDE + x]);
}

static int greatest_divisor(int a, int b)
{
  while (b) {
    const int rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Steps through the tiles so that neighbours in the list are far apart in the picture: every rank gets a fair
 * share of what is hard. */
static int scatter_step(int tiles)
{
  int step = (int)(0.618 * tiles) + 1;
  while (greatest_divisor(step, tiles) != 1) step++;
  return step;
}

/* From slots of tiles to rows. */
static void collect(const struct job *job, const struct film_pixel *slots, int step, struct film *film)
{
  const int tiles = job->columns * job->rows;
  for (int slot = 0; slot < tiles; slot++) {
    const int number = (int)((int64_t)slot * step % tiles);
    const int x0 = number % job->columns * SIDE, y0 = number / job->columns * SIDE;
    for (int y = 0; y < SIDE && y0 + y < film->height; y++)
      for (int x = 0; x < SIDE && x0 + x < film->width; x++) {
        struct film_pixel *to = &film->pixel[(int64_t)(y0 + y) * film->width + x0 + x];
        *to = slots[(int64_t)slot * PIXELS + y * SIDE + x];
        film->samples += to->samples;
      }
  }
}

static void show_progress(int64_t done, int64_t all, double start)
{
  const double part = (double)done / (double)all, left = (timer_now() - start) * (1.0 - part) / part;
  log_progress("%3.0f %% of the picture, %.0f s left", 100.0 * part, left);
}

struct film *film_render(const struct comm *comm, const struct trace_stage *stage,
                         const struct camera *camera, const struct film_options *o)
{
  struct job job = {stage, camera, o, (o->width + SIDE - 1) / SIDE, (o->height + SIDE - 1) / SIDE};
  const int tiles = job.columns * job.rows, step = scatter_step(tiles);
  struct node_block *memory = node_block_create(comm, (size_t)tiles * PIXELS * sizeof(struct film_pixel));
  struct film_pixel *slots = memory->bytes;
  int64_t from, to, done = 0;
  const double start = timer_now();
  node_block_part(memory, tiles, &from, &to);
#pragma omp parallel for num_threads(comm ? comm->threads : 1) schedule(dynamic)
  for (int64_t slot = from; slot < to; slot++) {
    render_tile(&job, (int)(slot * step % tiles), slots + slot * PIXELS);
#pragma omp critical
    show_progress(++done, to - from, start);
  }
  node_block_gather(memory, tiles, PIXELS * sizeof(struct film_pixel));
  struct film *film = mem_alloc(1, sizeof *film);
  film->width = o->width;
  film->height = o->height;
  if (!comm || comm->rank == 0) {
    film->pixel = mem_alloc((size_t)o->width * (size_t)o->height, sizeof *film->pixel);
    collect(&job, slots, step, film);
  }
  node_block_destroy(&memory);
  return film;
}

void film_destroy(struct film **film)
{
  if (!*film) return;
  mem_free((*film)->pixel);
  mem_free(*film);
  *film = NULL;
}
