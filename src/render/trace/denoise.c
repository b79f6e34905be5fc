/* Planes have a rim that repeats the picture's edge, so that the loops know no borders and the compiler can
 * put them into vectors. Work goes by bands of rows; every pixel is computed the same way in whatever band it
 * lies. For each offset of the window the squared differences of the whole band are made first and summed
 * over patches in two sweeps. */
#include "render/trace/denoise.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { REACH = 6, PATCH = 1, RIM = REACH + PATCH, BAND = 24, HALVES = 2 };

static const float strength = 0.4f; /* differences of this many standard deviations still count as noise */
static const float least_error = 1e-4f;

/* The whole picture with its rim: colours of both halves, and the variance of a half, summed over colours. */
struct planes {
  int width, height; /* without rim */
  ptrdiff_t stride;
  float *color[HALVES][3], *variance; /* from the rim's first pixel */
};

static float *plane_create(const struct planes *p)
{
  return mem_alloc((size_t)p->stride * (size_t)(p->height + 2 * RIM), sizeof(float));
}

static int clamp(int x, int limit)
{
  return x < 0 ? 0 : x < limit ? x : limit - 1;
}

static void planes_create(struct planes *p, const struct film *film)
{
  p->width = film->width;
  p->height = film->height;
  p->stride = film->width + 2 * RIM;
  p->variance = plane_create(p);
  for (int h = 0; h < HALVES; h++)
    for (int c = 0; c < 3; c++) p->color[h][c] = plane_create(p);
  for (int y = -RIM; y < p->height + RIM; y++)
    for (int x = -RIM; x < p->width + RIM; x++) {
      const struct film_pixel *pixel =
          &film->pixel[(size_t)clamp(y, p->height) * (size_t)p->width + (size_t)clamp(x, p->width)];
      const ptrdiff_t i = (y + RIM) * p->stride + x + RIM;
      for (int c = 0; c < 3; c++) {
        /* The luminance's error, shared out by colour; a half has twice the variance of the whole. */
        const float part = pixel->mean[c] / (film_luminance(pixel->mean) + 1e-6f);
        const float error = pixel->error * part + least_error;
        p->variance[i] += 2.0f * error * error;
        for (int h = 0; h < HALVES; h++) p->color[h][c][i] = pixel->half[h][c];
      }
    }
}

static void planes_destroy(struct planes *p)
{
  mem_free(p->variance);
  for (int h = 0; h < HALVES; h++)
    for (int c = 0; c < 3; c++) mem_free(p->color[h][c]);
}

/* What one band needs; rows of the buffers are those of the band with PATCH more on both sides, and as wide
 * as the planes. */
struct band {
  int from, to;               /* rows to filter */
  float *difference, *summed; /* [to - from + 2 PATCH][stride] */
  float *weights;             /* [HALVES][to - from][width]: sums of weights */
  float *sums;                /* [HALVES][3][to - from][width] */
};

/* Squared difference of each pixel to the one at the offset, less what noise makes of it on the average, in
 * units of that noise. */
static void differences(const struct planes *p, const struct band *b, int half, int dx, int dy)
{
  const float scale = 1.0f / (strength * strength);
  const int count = p->width + 2 * PATCH;
  for (int r = 0; r < b->to - b->from + 2 * PATCH; r++) {
    const ptrdiff_t here = (b->from + r - PATCH + RIM) * p->stride + RIM - PATCH,
                    there = here + dy * p->stride + dx;
    const float *a0 = p->color[half][0] + here, *b0 = p->color[half][0] + there;
    const float *a1 = p->color[half][1] + here, *b1 = p->color[half][1] + there;
    const float *a2 = p->color[half][2] + here, *b2 = p->color[half][2] + there;
    const float *s = p->variance + here, *t = p->variance + there;
    float *restrict out = b->difference + r * p->stride;
    for (int x = 0; x < count; x++) {
      const float u = a0[x] - b0[x], v = a1[x] - b1[x], w = a2[x] - b2[x];
      const float least = s[x] < t[x] ? s[x] : t[x];
      out[x] = scale * (u * u + v * v + w * w - s[x] - least) / (s[x] + t[x]);
    }
  }
}

static void sum_rows(const struct planes *p, const struct band *b)
{
  for (int r = 0; r < b->to - b->from + 2 * PATCH; r++) {
    const float *in = b->difference + r * p->stride;
    float *restrict out = b->summed + r * p->stride;
    for (int x = 0; x < p->width; x++) out[x] = in[x] + in[x + 1] + in[x + 2];
  }
}

/* Adds the pixels at the offset to the sums of the other half, with a weight of about exp(-difference). */
static void accumulate(const struct planes *p, const struct band *b, int half, int dx, int dy)
{
  const float scale = 1.0f / (16.0f * (2 * PATCH + 1) * (2 * PATCH + 1));
  const ptrdiff_t area = (ptrdiff_t)(b->to - b->from) * p->width, stride = p->stride;
  const int to = 1 - half;
  for (int y = 0; y < b->to - b->from; y++) {
    const float *in = b->summed + y * stride;
    const ptrdiff_t from = (b->from + y + dy + RIM) * stride + RIM + dx;
    const float *c0 = p->color[to][0] + from, *c1 = p->color[to][1] + from, *c2 = p->color[to][2] + from;
    float *restrict weights = b->weights + to * area + (ptrdiff_t)y * p->width;
    float *restrict s0 = b->sums + 3 * to * area + (ptrdiff_t)y * p->width;
    float *restrict s1 = s0 + area, *restrict s2 = s1 + area;
    for (int x = 0; x < p->width; x++) {
      float d = in[x];
      for (int k = 1; k <= 2 * PATCH; k++) d += in[x + k * stride];
      d = d > 0.0f ? d : 0.0f;
      float w = 1.0f - d * scale; /* (1 - d/16)^16 */
      w = w > 0.0f ? w : 0.0f;
      w = w * w;
      w = w * w;
      w = w * w;
      w = w * w;
      weights[x] += w;
      s0[x] += w * c0[x];
      s1[x] += w * c1[x];
      s2[x] += w * c2[x];
    }
  }
}

static void filter_band(const struct planes *p, struct band *b, struct film *film)
{
  const size_t rows = (size_t)(b->to - b->from), area = rows * (size_t)p->width;
  b->difference = mem_alloc((rows + 2 * PATCH) * (size_t)p->stride, sizeof(float));
  b->summed = mem_alloc((rows + 2 * PATCH) * (size_t)p->stride, sizeof(float));
  b->weights = mem_alloc(HALVES * area, sizeof(float));
  b->sums = mem_alloc(HALVES * 3 * area, sizeof(float));
  for (int dy = -REACH; dy <= REACH; dy++)
    for (int dx = -REACH; dx <= REACH; dx++)
      for (int half = 0; half < HALVES; half++) {
        differences(p, b, half, dx, dy);
        sum_rows(p, b);
        accumulate(p, b, half, dx, dy);
      }
  for (size_t i = 0; i < area; i++)
    for (size_t c = 0; c < 3; c++) {
      const float even = b->sums[c * area + i] / b->weights[i];
      const float odd = b->sums[(3 + c) * area + i] / b->weights[area + i];
      film->pixel[(size_t)b->from * (size_t)p->width + i].mean[c] = 0.5f * (even + odd);
    }
  mem_free(b->difference);
  mem_free(b->summed);
  mem_free(b->weights);
  mem_free(b->sums);
}

void denoise(struct film *film, int threads)
{
  struct planes planes = {.variance = NULL};
  planes_create(&planes, film);
  const int bands = (film->height + BAND - 1) / BAND;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int k = 0; k < bands; k++) {
    struct band band = {.from = k * BAND};
    band.to = band.from + BAND < film->height ? band.from + BAND : film->height;
    filter_band(&planes, &band, film);
  }
  planes_destroy(&planes);
}
