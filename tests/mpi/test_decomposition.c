/* The parts of decomposition/ by themselves: cuts, shared bricks, mail, exact sums, agreement.
 *
 * Shared bricks are compared with a sum that knows nothing of ranks: random cells, a random number for every
 * contribution that depends only on where it goes, and for every node the pairs over its blocks. */
#include "support/check.h"

#include "base/log.h"
#include "base/rng.h"
#include "decomposition/comm.h"
#include "decomposition/halo.h"
#include "decomposition/migrate.h"
#include "decomposition/reduce.h"
#include "decomposition/slabs.h"
#include "grid/grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct comm comm;

/* --- slabs ------------------------------------------------------------------------------------------------
 */

static void check_slabs(const struct slabs *slabs, int ranks, int32_t layers)
{
  CHECK(slabs->count == (ranks < layers ? ranks : layers));
  CHECK(slabs->layers == layers && slabs->cut[0] == 0 && slabs->cut[slabs->count] == layers);
  for (int r = 0; r < slabs->count; r++) {
    CHECK(slabs->cut[r + 1] > slabs->cut[r]);
    for (int32_t layer = slabs->cut[r]; layer < slabs->cut[r + 1]; layer++)
      CHECK(slabs_owner(slabs, layer) == r);
  }
}

static void test_slabs(void)
{
  enum { MOST = 200 };
  int64_t weight[MOST];
  for (uint64_t trial = 0; trial < 400; trial++) {
    const int32_t layers = 1 + (int32_t)(rng_bits(1, trial, 0) % MOST);
    const int ranks = 1 + (int)(rng_bits(1, trial, 1) % 60);
    for (int32_t k = 0; k < layers; k++) { /* half of the trials mostly empty, as snow in a large box */
      const bool empty = trial % 2 && rng_bits(2, trial, (uint64_t)k) % 8;
      weight[k] = empty ? 0 : (int64_t)(rng_bits(3, trial, (uint64_t)k) % 100000);
    }
    struct slabs *slabs = slabs_create(ranks, layers, (struct slab_work){.weight = weight});
    check_slabs(slabs, ranks, layers);
    slabs_destroy(&slabs);
    CHECK(slabs == NULL);
  }
  for (int32_t k = 0; k < 160; k++) weight[k] = 7;
  struct slabs *even = slabs_create(8, 160, (struct slab_work){.weight = weight});
  for (int r = 0; r < 8; r++) CHECK(even->cut[r + 1] - even->cut[r] == 20);
  slabs_destroy(&even);

  /* All the weight in one layer: it goes to one rank, the others take what must be. */
  memset(weight, 0, sizeof weight);
  weight[100] = 1000;
  struct slabs *spike = slabs_create(5, 160, (struct slab_work){.weight = weight});
  check_slabs(spike, 5, 160);
  slabs_destroy(&spike);
}

/* --- shared bricks ----------------------------------------------------------------------------------------
 */

enum { LAYERS = 6, PLANES = LAYERS * BLOCK_X, WIDTH = 28 }; /* of seven ranks one idles */

struct world { /* cells of all ranks, with a particle each */
  uint64_t *keys;
  int32_t *starts; /* 0, 1, 2, ... */
  int32_t count;
};

/* Random cells, a few of them in many planes, so that bricks on both sides of a cut differ; some planes
 * empty. */
static int compare_keys(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static struct world make_world(uint64_t seed)
{
  const size_t most = (size_t)PLANES * WIDTH * WIDTH;
  struct world w = {mem_alloc(most, sizeof *w.keys), mem_alloc(most + 1, sizeof *w.starts), 0};
  for (int64_t plane = 0; plane < PLANES; plane++) {
    if (rng_bits(seed, (uint64_t)plane, 1) % 5 == 0) continue;
    for (int64_t y = 0; y < WIDTH; y++)
      for (int64_t z = 0; z < WIDTH; z++)
        if (rng_bits(seed, grid_key(plane, y, z), 2) % 97 == 0) w.keys[w.count++] = grid_key(plane, y, z);
  }
  qsort(w.keys, (size_t)w.count, sizeof *w.keys, compare_keys);
  for (int32_t k = 0; k <= w.count; k++) w.starts[k] = k;
  return w;
}

/* What a block adds to double k of its n-th brick: of any size, so that order shows, and often -0.0. Blocks
 * do not reach the last node plane of the bricks behind them. */
static bool without_scalars;

static double contribution(uint64_t seed, uint64_t block, int n, int k)
{
  if (without_scalars && k % 4 == 0) return 0.0;
  const uint64_t bits = rng_bits(seed + (uint64_t)n, block, (uint64_t)k);
  if (n >= 4 && k >= SHARED_PLANES * TILE_DOUBLES) return 0.0;
  if (bits % 64 < 8) return -0.0;
  return ldexp(((double)(bits >> 11) * 0x1p-53) - 0.5, (int)(bits % 40));
}

/* The sum over a grid's blocks at double k of a brick, in pairs along z, then y, then x. */
static double tree(const struct grid *g, int32_t brick, uint64_t seed, int k)
{
  double part[8];
  for (int n = 0; n < 8; n++) {
    const int32_t block = g->blocks.of_brick[8 * brick + n];
    part[n] = block < 0 ? 0.0 : contribution(seed, g->blocks.key[block], n, k);
  }
  for (int half = 4; half > 0; half /= 2) /* each joins neighbours */
    for (int n = 0; n < half; n++) part[n] = part[2 * n] + part[2 * n + 1];
  return part[0] + 0.0;
}

/* Bricks of a layer and their values against the plain sum; `whole` is the grid of all cells. The last node
 * plane behind a cut is the right neighbour's. */
static void check_layer(const struct grid *g, const struct grid *whole, enum node_field field, uint64_t seed,
                        int32_t layer)
{
  const int32_t bricks = g->layer_brick[layer + 1] - g->layer_brick[layer], at = g->first + layer;
  const int held = layer == g->layers && g->has_right ? SHARED_PLANES * TILE_DOUBLES : BRICK_DOUBLES;
  CHECK(bricks == whole->layer_brick[at + 1] - whole->layer_brick[at]);
  for (int32_t b = 0; b < bricks; b++) {
    const int32_t here = g->layer_brick[layer] + b, there = whole->layer_brick[at] + b;
    CHECK(g->brick_key[here] == whole->brick_key[there]);
    for (int k = 0; k < BRICK_DOUBLES; k++) {
      const double sum = k < held ? tree(whole, there, seed, k) : 0.0,
                   got = g->node[field][(int64_t)here * BRICK_DOUBLES + k];
      CHECK(memcmp(&sum, &got, sizeof sum) == 0);
    }
  }
}

static void add_contributions(struct grid *g, enum node_field field, uint64_t seed)
{
  grid_make(g, field);
  for (int32_t brick = 0; brick < g->brick_count; brick++)
    for (int k = 0; k < BRICK_DOUBLES; k++)
      g->node[field][(int64_t)brick * BRICK_DOUBLES + k] = tree(g, brick, seed, k);
}

/* What the design sends at the cuts of this rank for one field: to each side three node planes of the shared
 * bricks. */
static int64_t designed_bytes(const struct halo *halo, const struct grid *g)
{
  int64_t bricks = 0;
  if (halo->left >= 0) bricks += g->layer_brick[1];
  if (halo->right >= 0) bricks += g->layer_brick[g->layers + 1] - g->layer_brick[g->layers];
  return bricks * 3 * TILE_DOUBLES * (int64_t)sizeof(double);
}

static void exchange_and_check(struct halo *halo, struct grid *g, const struct grid *whole, uint64_t seed)
{
  const int32_t held = g->layers ? g->layers + 1 : 0;
  struct halo_field all[NODE_FIELDS];
  const enum node_field single = NODE_A_RESIDUAL;
  for (int k = 0; k < NODE_FIELDS; k++) {
    all[k] = (struct halo_field){(enum node_field)(NODE_FIELDS - 1 - k), false};
    add_contributions(g, all[k].field, seed + (uint64_t)k * 100);
  }
  halo_exchange(halo, g, all, NODE_FIELDS); /* each field with messages of its own */
  for (int32_t n = 0; n < held; n++)
    for (int k = 0; k < NODE_FIELDS; k++) check_layer(g, whole, all[k].field, seed + (uint64_t)k * 100, n);
  for (int again = 0; again < 2; again++) { /* as in a solve: several in a row on the same bricks */
    const bool vector = again == 1;
    without_scalars = vector;
    add_contributions(g, single, seed + 3000 + (uint64_t)again);
    const int64_t messages = halo->messages, bytes = halo->bytes;
    halo_exchange(halo, g, &(struct halo_field){single, vector}, 1);
    CHECK(halo->messages - messages == (halo->left >= 0) + (halo->right >= 0));
    CHECK(4 * (halo->bytes - bytes) == (vector ? 3 : 4) * designed_bytes(halo, g));
    for (int32_t n = 0; n < held; n++) check_layer(g, whole, single, seed + 3000 + (uint64_t)again, n);
    without_scalars = false;
  }
}

static void test_halo(int support)
{
  const struct grid_geometry frame = {.support = support,
                                      .axis = {0, 1, 2},
                                      .spacing = 1.0,
                                      .inverse = 1.0,
                                      .cells = {PLANES - 1, WIDTH, WIDTH}};
  struct comm self;
  comm_create(&self, MPI_COMM_SELF);
  struct halo *halo = halo_create(&comm), *none = halo_create(&self);
  struct grid *g = grid_create(&frame), *whole = grid_create(&frame);
  int64_t weight[LAYERS];
  for (uint64_t trial = 0; trial < 6; trial++) { /* other cells and other cuts on the same grid */
    const struct world w = make_world(trial);
    for (uint64_t k = 0; k < LAYERS; k++) weight[k] = (int64_t)(rng_bits(trial + 50, k, 0) % 1000);
    struct slabs *slabs = slabs_create(comm.size, LAYERS, (struct slab_work){.weight = weight}),
                 *one = slabs_create(1, LAYERS, (struct slab_work){.weight = weight});
    grid_collect(whole, 0, LAYERS, &(struct grid_cells){w.count, w.keys, w.starts});
    halo_agree(none, one, whole);
    CHECK(!whole->has_left && !whole->has_right);
    const bool has_slab = comm.rank < slabs->count;
    const int32_t first = has_slab ? slabs->cut[comm.rank] : 0;
    const int32_t layers = has_slab ? slabs->cut[comm.rank + 1] - first : 0;
    int32_t begin = 0, end;
    while (begin < w.count && grid_key_layer(w.keys[begin]) < first) begin++;
    for (end = begin; end < w.count && grid_key_layer(w.keys[end]) < first + layers;) end++;
    grid_collect(g, first, layers, &(struct grid_cells){end - begin, w.keys + begin, w.starts});
    halo_agree(halo, slabs, g);
    exchange_and_check(halo, g, whole, 1000 * trial);
    slabs_destroy(&slabs);
    slabs_destroy(&one);
    mem_free(w.keys);
    mem_free(w.starts);
  }
  const int active = LAYERS < comm.size ? LAYERS : comm.size;
  CHECK((halo->messages > 0) == (active > 1 && comm.rank < active));
  grid_destroy(&g);
  grid_destroy(&whole);
  halo_destroy(&halo);
  halo_destroy(&none);
  comm_destroy(&self);
}

/* --- mail -------------------------------------------------------------------------------------------------
 */

struct letter {
  int64_t from, to, number;
};

/* Letters from every rank; each must come once, whole, to whom it was addressed. */
static void test_mail(bool anywhere, size_t record_size, uint64_t seed)
{
  struct mailbox out = {.record_size = record_size}, in = {0};
  for (int round = 0; round < 3; round++) {
    const int count = round == 1 && comm.rank % 2 ? 0 : (int)(rng_bits(seed, (uint64_t)comm.rank, 0) % 300);
    int64_t sent[2] = {0, 0}, got[2] = {0, 0}; /* letters, and a sum over their text */
    for (int k = 0; k < count; k++) {
      int to = (int)(rng_bits(seed, (uint64_t)comm.rank, 10 + (uint64_t)k) % (uint64_t)comm.size);
      if (!anywhere) to = k % 2 ? comm.rank + 1 : comm.rank - 1;
      if (to < 0 || to >= comm.size) continue;
      unsigned char *record = mailbox_add(&out, to);
      memset(record, (comm.rank + k) & 255, record_size);
      memcpy(record, &(struct letter){comm.rank, to, k}, sizeof(struct letter));
      sent[0]++;
      sent[1] += (comm.rank + 1) * (int64_t)(k + 1);
    }
    migrate(&comm, &out, &in, anywhere);
    CHECK(out.count == 0);
    for (int64_t k = 0; k < in.count; k++) {
      const unsigned char *record = in.records + (size_t)k * record_size;
      struct letter letter;
      memcpy(&letter, record, sizeof letter);
      CHECK(letter.to == comm.rank && letter.from >= 0 && letter.from < comm.size);
      CHECK(anywhere || llabs(letter.from - letter.to) == 1);
      for (size_t b = sizeof letter; b < record_size; b++)
        CHECK(record[b] == ((letter.from + letter.number) & 255));
      got[0]++;
      got[1] += (letter.from + 1) * (letter.number + 1);
    }
    comm_sum_i64(&comm, sent, 2);
    comm_sum_i64(&comm, got, 2);
    CHECK(sent[0] == got[0] && sent[1] == got[1]);
  }
  mailbox_free(&out);
  mailbox_free(&in);
}

/* --- sums and agreement -----------------------------------------------------------------------------------
 */

static void test_reduce(void)
{
  enum { TERMS = 5000, SUMS = 3 };
  struct exact_sum mine[SUMS] = {{{0}}}, all[SUMS] = {{{0}}};
  for (uint64_t k = 0; k < TERMS; k++)
    for (uint64_t s = 0; s < SUMS; s++) {
      const double sign = rng_bits(s, k, 1) % 2 ? 1.0 : -1.0;
      const double value = ldexp(sign * rng_uniform(s, k, 2), (int)(rng_bits(s, k, 3) % 400) - 200);
      exact_add(&all[s], value);
      if ((int)(rng_bits(s, k, 4) % (uint64_t)comm.size) == comm.rank) exact_add(&mine[s], value);
    }
  reduce_exact(&comm, mine, SUMS);
  for (int s = 0; s < SUMS; s++) {
    const double a = exact_value(&mine[s]), b = exact_value(&all[s]);
    CHECK(a != 0.0 && memcmp(&a, &b, sizeof a) == 0);
  }
  struct exact_sum bad[2] = {{{0}}};
  exact_add(&bad[0], comm.rank == comm.size - 1 ? NAN : 1.0);
  exact_add(&bad[1], 1.0);
  reduce_exact(&comm, bad, 2);
  CHECK(isnan(exact_value(&bad[0])) && exact_value(&bad[1]) == comm.size);
}

static void test_agree(void)
{
  struct error err = {0};
  CHECK(comm_agree(&comm, FIRN_OK, &err) == FIRN_OK && err.text[0] == '\0');
  for (int bad = 0; bad < comm.size; bad++) { /* one rank fails, all learn what it says */
    char text[64];
    snprintf(text, sizeof text, "rank %d cannot", bad);
    err = (struct error){0};
    int code = comm.rank == bad ? error_set(&err, FIRN_EIO, "rank %d cannot", comm.rank) : FIRN_OK;
    code = comm_agree(&comm, code, &err);
    CHECK(code == FIRN_EIO && err.code == FIRN_EIO && strcmp(err.text, text) == 0);
  }
  /* All fail: the worst code wins, and of those who have it the lowest rank speaks. */
  const int worst = FIRN_EINPUT < FIRN_EIO ? FIRN_EINPUT : FIRN_EIO;
  const int milder = FIRN_EINPUT < FIRN_EIO ? FIRN_EIO : FIRN_EINPUT;
  const int speaker = comm.size > 1 ? 1 : 0;
  char text[64];
  snprintf(text, sizeof text, "rank %d of %d", speaker, comm.size);
  err = (struct error){0};
  const int code =
      error_set(&err, comm.rank >= speaker ? worst : milder, "rank %d of %d", comm.rank, comm.size);
  CHECK(comm_agree(&comm, code, &err) == worst && strcmp(err.text, text) == 0);
  CHECK(comm_agree(&comm, comm.rank == 0 ? FIRN_EIO : FIRN_OK, NULL) == FIRN_EIO);
}

static void test_collectives(void)
{
  double most[2] = {comm.rank, -comm.rank}, least[2] = {comm.rank, -comm.rank};
  comm_max(&comm, most, 2);
  comm_min(&comm, least, 2);
  CHECK(most[0] == comm.size - 1 && most[1] == 0 && least[0] == 0 && least[1] == 1 - comm.size);
  CHECK(comm_exscan_i64(&comm, comm.rank + 1) == (int64_t)comm.rank * (comm.rank + 1) / 2);
  char *text = comm.rank == 0 ? mem_strdup("snow") : NULL;
  comm_broadcast_text(&comm, &text);
  CHECK(text && strcmp(text, "snow") == 0);
  mem_free(text);
  text = NULL;
  comm_broadcast_text(&comm, &text);
  CHECK(text == NULL);
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* as mpi4py does */
  comm_create(&comm, MPI_COMM_WORLD);
  MPI_Errhandler handler;
  MPI_Comm_get_errhandler(comm.mpi, &handler);
  CHECK(handler == MPI_ERRORS_ARE_FATAL); /* nobody looks at what MPI returns */
  MPI_Errhandler_free(&handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  test_slabs();
  test_halo(4);
  test_halo(3);
  for (uint64_t seed = 0; seed < 4; seed++) {
    test_mail(true, sizeof(struct letter), seed);
    test_mail(true, 264, seed);
    test_mail(false, 264, seed);
  }
  test_reduce();
  test_agree();
  test_collectives();
  comm_destroy(&comm);
  return check_end();
}
