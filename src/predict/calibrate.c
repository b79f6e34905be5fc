#include "predict/calibrate.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/timer.h"

#include <math.h>
#include <stdio.h>

enum { CELLS = 16, REPEAT = 12 };

int64_t bare_count(const struct bare *bare)
{
  return (int64_t)bare->cells * bare->cells * bare->cells * BARE_PER_CELL;
}

struct bare *bare_create(int32_t cells)
{
  static const struct grid_geometry frame = {.support = 4, .axis = {0, 1, 2}, .spacing = 1.0, .inverse = 1.0};
  struct bare *bare = mem_alloc(1, sizeof *bare);
  bare->cells = cells;
  const int64_t count = bare_count(bare), side = cells + 4;
  struct particles *p = particles_create(0);
  particles_append(p, count);
  for (int64_t i = 0; i < count; i++) {
    const int64_t cell = i / BARE_PER_CELL;
    const int64_t at[3] = {cell / cells / cells, cell / cells % cells, cell % cells};
    for (int d = 0; d < 3; d++) p->x[d][i] = (double)at[d] + rng_uniform(1, (uint64_t)i, (uint64_t)d);
  }
  bare->transfer = mem_alloc(1, sizeof *bare->transfer);
  bare->transfer->grid = grid_create(&frame);
  bare->transfer->p = p;
  bare->place = mem_alloc((size_t)count * 3, sizeof(double));
  for (int64_t k = 0; k < 3 * count; k++) bare->place[k] = p->x[k % 3][k / 3];
  bare->value = mem_alloc((size_t)count * 16, sizeof(double));
  bare->out = mem_alloc((size_t)count * 16, sizeof(double));
  bare->grid = mem_alloc((size_t)(side * side * side) * 4, sizeof(double));
  for (int64_t k = 0; k < 16 * count; k++) bare->value[k] = rng_uniform(2, (uint64_t)k, 0);
  return bare;
}

void bare_destroy(struct bare **bare)
{
  struct bare *b = *bare;
  if (!b) return;
  mem_free(b->place);
  mem_free(b->value);
  mem_free(b->out);
  mem_free(b->grid);
  grid_destroy(&b->transfer->grid);
  particles_destroy(&b->transfer->p);
  mem_free(b->transfer);
  mem_free(b);
  *bare = NULL;
}

/* The least of several, since other programs can only add time. */
double calibrate_pair(const struct kernels *kernels)
{
  struct bare *bare = bare_create(CELLS);
  double best = INFINITY;
  for (int k = 0; k < REPEAT; k++) {
    const double start = timer_now();
    kernels->bare_p2g(bare);
    kernels->bare_g2p(bare);
    best = fmin(best, timer_now() - start);
  }
  best /= (double)bare_count(bare);
  bare_destroy(&bare);
  return best;
}

/* As measured with AVX-512 by `firn model --fit` (docs/dev/measuring.md). Steps with a solve keep more of
 * each particle. */
const struct model_ratios calibrate_ratios[2] = {{.parallel = 0.094, .serial = 0.009, .product = 0.062},
                                                 {.parallel = 0.112, .serial = 0.009, .product = 0.062}};

struct model_speed calibrate(bool implicit)
{
  const struct kernels *kernels = kernels_get(isa_detect());
  const double pair = calibrate_pair(kernels);
  const struct model_ratios *ratios = &calibrate_ratios[implicit];
  struct model_speed speed = {.parallel = ratios->parallel * pair,
                              .serial = ratios->serial * pair,
                              .product = ratios->product * pair,
                              .iterations = MODEL_ITERATIONS,
                              .ranks = 1,
                              .threads = 1};
  snprintf(speed.machine, sizeof speed.machine, "one core of this machine, %s", kernels->name);
  return speed;
}
