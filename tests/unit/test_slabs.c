/* Cuts against all cuts there are, for domains small enough to try them all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/rng.h"
#include "decomposition/slabs.h"

#include <stdbool.h>
#include <string.h>

enum { MOST_LAYERS = 14, SHARED = 1 };

struct domain {
  int32_t layers;
  int64_t weight[MOST_LAYERS], beyond[MOST_LAYERS + 1];
};

static int64_t cost(const struct domain *d, int32_t a, int32_t b)
{
  int64_t sum = d->beyond[b];
  for (int32_t k = a; k < b; k++) sum += d->weight[k];
  return sum;
}

/* The least that the most costly of `count` slabs from layer `first` on can cost. */
static int64_t try_all(const struct domain *d, int32_t first, int count)
{
  if (count == 1) return cost(d, first, d->layers);
  int64_t best = INT64_MAX;
  for (int32_t b = first + 1; b + count - 1 <= d->layers; b++) {
    const int64_t here = cost(d, first, b), rest = try_all(d, b, count - 1);
    const int64_t most = here > rest ? here : rest;
    if (most < best) best = most;
  }
  return best;
}

static uint64_t draw(uint64_t trial, uint64_t what, uint64_t below)
{
  return rng_bits(17, trial, what) % below;
}

/* Particles and nodes at random: even, in heaps, with gaps, or all in few layers. */
static struct domain make_domain(uint64_t trial)
{
  struct domain d = {.layers = 1 + (int32_t)draw(trial, 0, MOST_LAYERS)};
  const uint64_t gaps = draw(trial, 1, 4), most = trial % 3 ? 12 : 1000000;
  int64_t nodes[MOST_LAYERS + SHARED] = {0};
  const bool with_nodes = draw(trial, 2, 2);
  for (uint64_t k = 0; k < (uint64_t)d.layers; k++) {
    if (draw(trial, 10 + k, 4) < gaps) continue;
    d.weight[k] = (int64_t)draw(trial, 100 + k, most);
    for (uint64_t s = 0; s <= SHARED && with_nodes; s++)
      nodes[k + s] += (int64_t)draw(trial, 200 + 8 * k + s, most);
  }
  for (int32_t k = 0; k < d.layers; k++) d.weight[k] += nodes[k];
  for (int32_t k = 0; k <= d.layers; k++)
    for (int s = 0; s < SHARED; s++) d.beyond[k] += nodes[k + s];
  return d;
}

static void test_least(void **state)
{
  (void)state;
  for (uint64_t trial = 0; trial < 3000; trial++) {
    const struct domain d = make_domain(trial);
    const int ranks = 1 + (int)draw(trial, 3, 9);
    const struct slab_work work = {d.weight, d.beyond};
    struct slabs *slabs = slabs_create(ranks, d.layers, work);
    assert_int_equal(slabs->cut[0], 0);
    assert_int_equal(slabs->cut[slabs->count], d.layers);
    for (int r = 0; r < slabs->count && slabs->count > 1; r++) assert_true(slabs->cut[r + 1] > slabs->cut[r]);
    assert_int_equal(slabs_most(slabs, work), try_all(&d, 0, slabs->count));
    slabs_destroy(&slabs);
  }
}

/* As many slabs as there are layers, although fewer would keep the same limit. */
static void test_all_layers(void **state)
{
  (void)state;
  const int64_t weight[5] = {9, 1, 1, 1, 0};
  for (int ranks = 3; ranks < 9; ranks++) {
    struct slabs *slabs = slabs_create(ranks, 5, (struct slab_work){.weight = weight});
    assert_int_equal(slabs->count, ranks < 5 ? ranks : 5);
    assert_int_equal(slabs_most(slabs, (struct slab_work){.weight = weight}), 9);
    assert_true(slabs_is_valid(slabs));
    slabs_destroy(&slabs);
  }
}

/* Of many ways with the same greatest cost, equal shares. */
static void test_even(void **state)
{
  (void)state;
  int64_t weight[70];
  for (int k = 0; k < 70; k++) weight[k] = k >= 60 ? 40 : 10; /* one heavy end sets the limit */
  struct slabs *slabs = slabs_create(5, 70, (struct slab_work){.weight = weight});
  for (int r = 0; r < 5; r++) {
    int64_t sum = 0;
    for (int32_t k = slabs->cut[r]; k < slabs->cut[r + 1]; k++) sum += weight[k];
    assert_int_equal(sum, 200);
  }
  slabs_destroy(&slabs);
  memset(weight, 0, sizeof weight);
  slabs = slabs_create(7, 70, (struct slab_work){.weight = weight});
  assert_int_equal(slabs->count, 7);
  slabs_destroy(&slabs);
}

/* A box of many layers and ranks is cut in no time: a look at the cuts must not cost a step. */
static void test_many(void **state)
{
  (void)state;
  enum { LAYERS = 100000, RANKS = 2000 };
  int64_t *weight = mem_alloc(LAYERS, sizeof *weight), total = 0;
  for (uint64_t k = 0; k < LAYERS; k++) total += weight[k] = (int64_t)draw(5, k, 1000);
  struct slabs *slabs = slabs_create(RANKS, LAYERS, (struct slab_work){.weight = weight});
  const int64_t most = slabs_most(slabs, (struct slab_work){.weight = weight});
  assert_int_equal(slabs->count, RANKS);
  assert_true(most >= total / RANKS && most <= total / RANKS + 1000);
  slabs_destroy(&slabs);
  mem_free(weight);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_least), cmocka_unit_test(test_all_layers),
                                     cmocka_unit_test(test_even), cmocka_unit_test(test_many)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
