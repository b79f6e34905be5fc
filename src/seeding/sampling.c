/* The ways to spread points.
 *
 * sequence: multiples of the powers of the root of x^4 = x + 1, in 64-bit integers: a low-discrepancy
 * sequence without end, from which any exact number can be taken.
 * random: independent and uniform, a fixed number in each grid cell.
 * jittered: one point, uniform, in each cube of a lattice of one cube a particle.
 * poisson: no two points nearer than 0.83 of the mean spacing. Dart throwing depends on what was thrown
 * before, so it is done once, in one cube with periodic ends, by every rank alike (some ten milliseconds),
 * and space is tiled with it: a point is again a matter of its index alone, across any cut. The tile holds
 * enough points that its repetition (after 16 mean spacings) is not seen.
 *
 * Throwing n balls of diameter r into the unit cube at random jams near n r^3 = 0.73; r is chosen for 0.58,
 * which takes some thirty darts a ball. */
#include "seeding/sampling.h"

#include "base/memory.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { TILE = 4096, BINS = 18 }; /* points of a tile; bins along its edge, each wider than the distance */
static const double tile_packing = 0.58;

double sampling_cube_root(double x)
{
  int exponent;
  double m = frexp(x, &exponent); /* [0.5, 1) */
  while (exponent % 3) {
    m *= 2.0;
    exponent--;
  }
  double y = 0.7 + 0.3 * m;
  for (int k = 0; k < 8; k++) y -= (y * y * y - m) / (3.0 * y * y);
  return ldexp(y, exponent / 3);
}

void sampling_in_cube(enum snow_sampling kind, uint64_t seed, int64_t k, double x[3])
{
  static const uint64_t step[3] = {0xd1b54a32d192ed03u, 0xabc98388fb8fac03u, 0x8cb92ba72f3d8dd7u};
  for (int d = 0; d < 3; d++) {
    if (kind == SAMPLING_SEQUENCE)
      x[d] = (double)((rng_bits(seed, (uint64_t)d, 7) + (uint64_t)(k + 1) * step[d]) >> 11) * 0x1p-53;
    else
      x[d] = rng_uniform(seed, (uint64_t)k, (uint64_t)d);
  }
}

/* Points sorted into bins by chains of indices; -1 ends a chain. */
struct bins {
  int32_t head[BINS * BINS * BINS];
  int32_t next[TILE];
};

static int bin_of(const double x[3])
{
  int at[3];
  for (int d = 0; d < 3; d++) at[d] = (int)(x[d] * BINS);
  return (at[0] * BINS + at[1]) * BINS + at[2];
}

static bool is_free(const struct bins *bins, const double *tile, const double x[3], double square)
{
  const int at = bin_of(x), i = at / (BINS * BINS), j = at / BINS % BINS, k = at % BINS;
  for (int n = 0; n < 27; n++) {
    const int a = (i + n / 9 + BINS - 1) % BINS, b = (j + n / 3 % 3 + BINS - 1) % BINS,
              c = (k + n % 3 + BINS - 1) % BINS;
    for (int32_t p = bins->head[(a * BINS + b) * BINS + c]; p >= 0; p = bins->next[p]) {
      double distance = 0.0;
      for (int d = 0; d < 3; d++) {
        double gap = fabs(x[d] - tile[3 * p + d]);
        if (gap > 0.5) gap = 1.0 - gap;
        distance += gap * gap;
      }
      if (distance < square) return false;
    }
  }
  return true;
}

static double *make_tile(uint64_t seed)
{
  double *tile = mem_alloc(3 * TILE, sizeof *tile);
  struct bins *bins = mem_alloc(1, sizeof *bins);
  memset(bins->head, -1, sizeof bins->head);
  const double r = sampling_cube_root(tile_packing / TILE);
  double square = r * r;
  int32_t count = 0;
  for (uint64_t dart = 0; count < TILE; dart++) {
    double *x = tile + 3 * count;
    for (int d = 0; d < 3; d++) x[d] = rng_uniform(seed, dart, 16 + (uint64_t)d);
    if (dart % (64 * TILE) == 64 * TILE - 1) square *= 0.98; /* an unlucky seed jams a little early */
    if (!is_free(bins, tile, x, square)) continue;
    const int bin = bin_of(x);
    bins->next[count] = bins->head[bin];
    bins->head[bin] = count++;
  }
  mem_free(bins);
  return tile;
}

void sampling_create(struct sampling *s, enum snow_sampling kind, uint64_t seed, double cell, double per_cell,
                     const double anchor[3], const double lower[3], const double upper[3], int slow)
{
  *s = (struct sampling){.kind = kind, .seed = seed, .pitch = cell, .per_cube = 1, .last = 1.0};
  if (kind == SAMPLING_RANDOM) {
    s->per_cube = (int64_t)ceil(per_cell);
    s->last = per_cell - (double)(s->per_cube - 1);
  } else {
    s->pitch = cell / sampling_cube_root(per_cell);
  }
  if (kind == SAMPLING_POISSON) {
    s->per_cube = TILE;
    s->pitch *= 16.0; /* the cube root of TILE */
    s->tile = make_tile(seed);
  }
  for (int a = 0; a < 3; a++) {
    const int d = (slow + a) % 3;
    const double first = floor((lower[d] - anchor[d]) / s->pitch);
    const double last = ceil((upper[d] - anchor[d]) / s->pitch);
    s->axis[a] = d;
    s->lower[d] = anchor[d] + first * s->pitch;
    s->cubes[a] = (int64_t)(last - first);
  }
}

void sampling_destroy(struct sampling *s)
{
  mem_free(s->tile);
  s->tile = NULL;
}

int64_t sampling_count(const struct sampling *s)
{
  return s->cubes[0] * s->cubes[1] * s->cubes[2] * s->per_cube;
}

uint64_t sampling_mark(const struct sampling *s, uint64_t before)
{
  const double reals[] = {s->lower[0], s->lower[1], s->lower[2], s->pitch, s->last};
  const uint64_t wholes[] = {
      (uint64_t)s->kind,     s->seed,
      (uint64_t)s->axis[0],  (uint64_t)s->axis[1],
      (uint64_t)s->axis[2],  (uint64_t)s->cubes[0],
      (uint64_t)s->cubes[1], (uint64_t)s->cubes[2],
      (uint64_t)s->per_cube,
  };
  uint64_t mark = before, bits;
  for (size_t k = 0; k < sizeof wholes / sizeof *wholes; k++) mark = rng_bits(mark, wholes[k], k);
  for (size_t k = 0; k < sizeof reals / sizeof *reals; k++) {
    memcpy(&bits, &reals[k], sizeof bits);
    mark = rng_bits(mark, bits, k);
  }
  return mark;
}

bool sampling_point(const struct sampling *s, int64_t index, double x[3])
{
  const int64_t cube = index / s->per_cube, k = index % s->per_cube;
  const int64_t at[3] = {cube / (s->cubes[1] * s->cubes[2]), cube / s->cubes[2] % s->cubes[1],
                         cube % s->cubes[2]};
  for (int a = 0; a < 3; a++) {
    const int d = s->axis[a];
    const double inside = s->tile ? s->tile[3 * k + d] : rng_uniform(s->seed, (uint64_t)index, (uint64_t)d);
    x[d] = s->lower[d] + s->pitch * ((double)at[a] + inside);
  }
  return s->last == 1.0 || k < s->per_cube - 1 || rng_uniform(s->seed, (uint64_t)index, 3) < s->last;
}

void sampling_range(const struct sampling *s, double low, double high, int64_t *begin, int64_t *end)
{
  const double origin = s->lower[s->axis[0]], last = (double)s->cubes[0];
  const int64_t layer = s->cubes[1] * s->cubes[2] * s->per_cube;
  /* A layer more on both sides, for positions that were rounded. */
  const double from = fmax(0.0, floor((low - origin) / s->pitch) - 1.0);
  const double to = fmin(last, floor((high - origin) / s->pitch) + 2.0);
  *begin = (int64_t)fmin(from, last) * layer;
  *end = to > from ? (int64_t)to * layer : *begin;
}
