#include "decomposition/halo.h"

#include "base/flush.h"
#include "base/memory.h"

#include <string.h>

/* A field's messages have a tag of their own. */
enum { TAG_BRICKS = 11, TAG_WORDS = 12, TAG_FIELDS = 16 };
static int field_tag(enum node_field field)
{
  return TAG_FIELDS + (int)field;
}
enum { TO_LEFT, TO_RIGHT, FROM_LEFT, FROM_RIGHT };

struct halo *halo_create(const struct comm *comm)
{
  struct halo *halo = mem_alloc(1, sizeof *halo);
  halo->comm = comm;
  halo->left = halo->right = -1;
  return halo;
}

void halo_destroy(struct halo **halo)
{
  if (!*halo) return;
  for (int side = 0; side < 2; side++)
    for (int f = 0; f < NODE_FIELDS; f++) {
      mem_free((*halo)->inbox[side][f]);
      mem_free((*halo)->outbox[side][f]);
    }
  for (int k = 0; k < 4; k++) mem_free((*halo)->keys[k]);
  mem_free(*halo);
  *halo = NULL;
}

static void count_message(struct halo *h, int64_t bytes)
{
  h->messages++;
  h->bytes += bytes;
  comm_sent(h->comm, bytes);
}

static uint64_t *key_buffer(struct halo *h, int which, int64_t wanted)
{
  if (wanted > h->key_capacity[which]) {
    mem_free(h->keys[which]);
    h->key_capacity[which] = wanted + wanted / 2 + 64;
    h->keys[which] = mem_alloc((size_t)h->key_capacity[which], sizeof(uint64_t));
  }
  return h->keys[which];
}

/* The bricks of one layer, as this rank alone would have them. */
static int64_t list_bricks(struct halo *h, int which, const struct grid *g, int32_t layer)
{
  const int64_t count = grid_layer_bricks(g, layer, NULL, 0, NULL);
  grid_layer_bricks(g, layer, NULL, 0, key_buffer(h, which, count));
  return count;
}

static void receive_list(struct halo *h, int which, int from, struct grid_extra *extra)
{
  MPI_Status status;
  MPI_Message message;
  MPI_Mprobe(from, TAG_BRICKS, h->comm->mpi, &message, &status);
  int count;
  MPI_Get_count(&status, MPI_UINT64_T, &count);
  uint64_t *list = key_buffer(h, which, count);
  MPI_Mrecv(list, count, MPI_UINT64_T, &message, &status);
  *extra = (struct grid_extra){list, count};
}

void halo_agree(struct halo *h, const struct slabs *slabs, struct grid *g)
{
  const int rank = h->comm->rank;
  h->left = rank > 0 && rank < slabs->count ? rank - 1 : -1;
  h->right = rank + 1 < slabs->count ? rank + 1 : -1;
  struct grid_extra extra[2] = {{NULL, 0}, {NULL, 0}};
  MPI_Request request[2];
  int requests = 0;
  int64_t bytes = 0;
  const int neighbour[2] = {h->left, h->right};
  const int32_t layer[2] = {0, g->layers};
  for (int side = 0; side < 2; side++) {
    if (neighbour[side] < 0) continue;
    const int64_t count = list_bricks(h, TO_LEFT + side, g, layer[side]);
    MPI_Isend(h->keys[TO_LEFT + side], comm_count(count), MPI_UINT64_T, neighbour[side], TAG_BRICKS,
              h->comm->mpi, &request[requests++]);
    count_message(h, count * (int64_t)sizeof(uint64_t));
    bytes += count * (int64_t)sizeof(uint64_t);
  }
  const double begin = comm_wait_begin();
  for (int side = 0; side < 2; side++)
    if (neighbour[side] >= 0) receive_list(h, FROM_LEFT + side, neighbour[side], &extra[side]);
  MPI_Waitall(requests, request, MPI_STATUSES_IGNORE);
  if (requests) comm_wait_end(h->comm, WAIT_NEIGHBOURS, bytes, begin);
  grid_number(g, h->left >= 0, h->right >= 0, extra);
}

/* The bricks that a neighbour has too: `count` of them from `first` on. */
struct shared_bricks {
  int32_t first, count;
};

static struct shared_bricks shared_bricks(const struct grid *g, int side)
{
  const int32_t layer = side == 0 ? 0 : g->layers;
  return (struct shared_bricks){g->layer_brick[layer], g->layer_brick[layer + 1] - g->layer_brick[layer]};
}

enum { SHARED_NODES = SHARED_PLANES * TILE_NODES }; /* of a brick */

/* Doubles that a field sends for some bricks. */
static int64_t message_doubles(const struct shared_bricks *shared, bool vector)
{
  return (int64_t)shared->count * SHARED_NODES * (vector ? 3 : 4);
}

/* Room for the parts of a field, to a side and from it. */
static void fit_boxes(struct halo *h, int side, enum node_field field, int64_t doubles)
{
  if (doubles > h->box_capacity[side]) {
    h->box_capacity[side] = doubles + doubles / 2;
    for (int f = 0; f < NODE_FIELDS; f++) {
      mem_free(h->inbox[side][f]);
      mem_free(h->outbox[side][f]);
      h->inbox[side][f] = h->outbox[side][f] = NULL;
    }
  }
  if (h->inbox[side][field]) return;
  h->inbox[side][field] = mem_alloc((size_t)h->box_capacity[side], sizeof(double));
  h->outbox[side][field] = mem_alloc((size_t)h->box_capacity[side], sizeof(double));
}

static void pack(const struct grid *g, const struct shared_bricks *shared, const struct halo_field *field,
                 double *box)
{
  const int first = field->vector ? 1 : 0, channels = 4 - first;
#pragma omp parallel for num_threads(g->threads) schedule(static)
  for (int32_t k = 0; k < shared->count; k++) {
    const double *node = g->node[field->field] + (int64_t)(shared->first + k) * BRICK_DOUBLES + first;
    double *to = box + (int64_t)k * SHARED_NODES * channels;
    for (int n = 0; n < SHARED_NODES; n++, node += 4)
      for (int c = 0; c < channels; c++) *to++ = node[c];
  }
}

void halo_begin(struct halo *h, struct grid *g, const struct halo_field *fields, int count)
{
  const int neighbour[2] = {h->left, h->right};
  h->pending_count = 0;
  h->pending_bytes = 0;
  for (int side = 0; side < 2; side++) {
    if (neighbour[side] < 0) continue;
    const struct shared_bricks shared = shared_bricks(g, side);
    for (int k = 0; k < count; k++) {
      const enum node_field field = fields[k].field;
      fit_boxes(h, side, field, message_doubles(&shared, false));
      MPI_Irecv(h->inbox[side][field], comm_count(message_doubles(&shared, fields[k].vector)), MPI_DOUBLE,
                neighbour[side], field_tag(field), h->comm->mpi, &h->pending[h->pending_count++]);
    }
    for (int k = 0; k < count; k++) {
      const enum node_field field = fields[k].field;
      const int64_t doubles = message_doubles(&shared, fields[k].vector);
      pack(g, &shared, &fields[k], h->outbox[side][field]);
      MPI_Isend(h->outbox[side][field], comm_count(doubles), MPI_DOUBLE, neighbour[side], field_tag(field),
                h->comm->mpi, &h->pending[h->pending_count++]);
      count_message(h, doubles * (int64_t)sizeof(double));
      h->pending_bytes += doubles * (int64_t)sizeof(double);
    }
  }
}

void halo_progress(struct halo *h)
{
  int done;
  if (h->pending_count) MPI_Testall(h->pending_count, h->pending, &done, MPI_STATUSES_IGNORE);
}

/* As kernels/merge.c does it: subnormal numbers count as zero, and a sum of -0.0 becomes +0.0. */
static void add(struct grid *g, const struct shared_bricks *shared, const struct halo_field *field,
                const double *box)
{
  const int first = field->vector ? 1 : 0, channels = 4 - first;
#pragma omp parallel for num_threads(g->threads) schedule(static)
  for (int32_t k = 0; k < shared->count; k++) {
    const flush_mode mode = flush_begin();
    double *node = g->node[field->field] + (int64_t)(shared->first + k) * BRICK_DOUBLES + first;
    const double *from = box + (int64_t)k * SHARED_NODES * channels;
    for (int n = 0; n < SHARED_NODES; n++, node += 4)
      for (int c = 0; c < channels; c++) node[c] = node[c] + *from++ + 0.0;
    flush_end(mode);
  }
}

void halo_end(struct halo *h, struct grid *g, const struct halo_field *fields, int count)
{
  const int neighbour[2] = {h->left, h->right};
  const double begin = comm_wait_begin();
  MPI_Waitall(h->pending_count, h->pending, MPI_STATUSES_IGNORE);
  if (h->pending_count) comm_wait_end(h->comm, WAIT_NEIGHBOURS, h->pending_bytes, begin);
  h->pending_count = 0;
  for (int side = 0; side < 2; side++) {
    if (neighbour[side] < 0) continue;
    const struct shared_bricks shared = shared_bricks(g, side);
    for (int k = 0; k < count; k++) add(g, &shared, &fields[k], h->inbox[side][fields[k].field]);
  }
}

void halo_exchange(struct halo *h, struct grid *g, const struct halo_field *fields, int count)
{
  halo_begin(h, g, fields, count);
  halo_end(h, g, fields, count);
}

static void receive_words(struct halo *h, int from, struct halo_words *words)
{
  MPI_Status status;
  MPI_Message message;
  int count;
  MPI_Mprobe(from, TAG_WORDS, h->comm->mpi, &message, &status);
  MPI_Get_count(&status, MPI_UINT64_T, &count);
  words->word = mem_reserve(words->word, &words->capacity, count, sizeof *words->word);
  MPI_Mrecv(words->word, count, MPI_UINT64_T, &message, &status);
  words->count = count;
}

void halo_swap(struct halo *h, const struct halo_words to[2], struct halo_words from[2])
{
  const int neighbour[2] = {h->left, h->right};
  MPI_Request request[2];
  int requests = 0;
  int64_t bytes = 0;
  for (int side = 0; side < 2; side++) {
    from[side].count = 0;
    if (neighbour[side] < 0) continue;
    MPI_Isend(to[side].word, comm_count(to[side].count), MPI_UINT64_T, neighbour[side], TAG_WORDS,
              h->comm->mpi, &request[requests++]);
    count_message(h, to[side].count * (int64_t)sizeof(uint64_t));
    bytes += to[side].count * (int64_t)sizeof(uint64_t);
  }
  const double begin = comm_wait_begin();
  for (int side = 0; side < 2; side++)
    if (neighbour[side] >= 0) receive_words(h, neighbour[side], &from[side]);
  MPI_Waitall(requests, request, MPI_STATUSES_IGNORE);
  if (requests) comm_wait_end(h->comm, WAIT_NEIGHBOURS, bytes, begin);
}
