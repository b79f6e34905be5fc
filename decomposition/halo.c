#include "decomposition/halo.h"

#include "base/memory.h"

#include <string.h>

/* A field's messages have tags of their own: the chain to the right, the parts to the left. */
enum { TAG_TILES = 11, TAG_WORDS = 12, TAG_FIELDS = 16 };
static int chain_tag(enum node_field field)
{
  return TAG_FIELDS + 2 * (int)field;
}
static int parts_tag(enum node_field field)
{
  return TAG_FIELDS + 2 * (int)field + 1;
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
  for (int f = 0; f < NODE_FIELDS; f++) mem_free((*halo)->inbox[f]);
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

/* A tile list message: the count of each shared plane, then all keys. */
static int64_t list_tiles(struct halo *h, int which, const struct grid *g, int32_t plane)
{
  const int shared = g->geometry.support - 1;
  int64_t total = shared;
  for (int k = 0; k < shared; k++) total += grid_plane_tiles(g, plane + k, NULL, 0, NULL);
  uint64_t *message = key_buffer(h, which, total);
  int64_t at = shared;
  for (int k = 0; k < shared; k++) {
    message[k] = (uint64_t)grid_plane_tiles(g, plane + k, NULL, 0, message + at);
    at += (int64_t)message[k];
  }
  return total;
}

static void receive_list(struct halo *h, int which, int from, int shared, struct grid_extra *extra)
{
  MPI_Status status;
  MPI_Message message;
  MPI_Mprobe(from, TAG_TILES, h->comm->mpi, &message, &status);
  int count;
  MPI_Get_count(&status, MPI_UINT64_T, &count);
  uint64_t *list = key_buffer(h, which, count);
  MPI_Mrecv(list, count, MPI_UINT64_T, &message, &status);
  const uint64_t *keys = list + shared;
  for (int k = 0; k < shared; k++) {
    extra[k] = (struct grid_extra){keys, (int32_t)list[k]};
    keys += list[k];
  }
}

void halo_agree(struct halo *h, const struct slabs *slabs, struct grid *g)
{
  const int rank = h->comm->rank, shared = g->geometry.support - 1;
  h->left = rank > 0 && rank < slabs->count ? rank - 1 : -1;
  h->right = rank + 1 < slabs->count ? rank + 1 : -1;
  struct grid_extra extra[2 * (MAX_SUPPORT - 1)] = {{NULL, 0}};
  MPI_Request request[2];
  int requests = 0;
  int64_t bytes = 0;
  const int neighbour[2] = {h->left, h->right};
  const int32_t plane[2] = {0, g->planes};
  for (int side = 0; side < 2; side++) {
    if (neighbour[side] < 0) continue;
    const int64_t count = list_tiles(h, TO_LEFT + side, g, plane[side]);
    MPI_Isend(h->keys[TO_LEFT + side], comm_count(count), MPI_UINT64_T, neighbour[side], TAG_TILES,
              h->comm->mpi, &request[requests++]);
    count_message(h, count * (int64_t)sizeof(uint64_t));
    bytes += count * (int64_t)sizeof(uint64_t);
  }
  const double begin = comm_wait_begin();
  for (int side = 0; side < 2; side++)
    if (neighbour[side] >= 0)
      receive_list(h, FROM_LEFT + side, neighbour[side], shared, extra + side * shared);
  MPI_Waitall(requests, request, MPI_STATUSES_IGNORE);
  if (requests) comm_wait_end(h->comm, WAIT_NEIGHBOURS, bytes, begin);
  grid_number(g, h->left >= 0, h->right >= 0, extra);
}

/* Doubles of the shared planes that start at node plane `plane`. */
static int64_t shared_doubles(const struct grid *g, int32_t plane)
{
  return (int64_t)(g->plane_tile[plane + g->geometry.support - 1] - g->plane_tile[plane]) * TILE_DOUBLES;
}

static void send_doubles(struct halo *h, const double *data, int64_t count, int to, int tag)
{
  MPI_Isend(data, comm_count(count), MPI_DOUBLE, to, tag, h->comm->mpi, &h->pending[h->pending_count++]);
  count_message(h, count * (int64_t)sizeof(double));
  h->pending_bytes += count * (int64_t)sizeof(double);
}

/* Room for the parts of a field that come from the right. */
static void fit_inbox(struct halo *h, enum node_field field, int64_t parts)
{
  if (parts > h->inbox_capacity) {
    h->inbox_capacity = parts + parts / 2;
    for (int f = 0; f < NODE_FIELDS; f++) {
      mem_free(h->inbox[f]);
      h->inbox[f] = NULL;
    }
  }
  if (!h->inbox[field]) h->inbox[field] = mem_alloc((size_t)h->inbox_capacity, sizeof(double));
}

static void receive_doubles(struct halo *h, double *data, int64_t count, int from, int tag)
{
  MPI_Irecv(data, comm_count(count), MPI_DOUBLE, from, tag, h->comm->mpi, &h->pending[h->pending_count++]);
}

void halo_begin(struct halo *h, struct grid *g, const enum node_field *fields, int count)
{
  const int last = g->geometry.support - 1;
  const int64_t parts = h->right >= 0 ? grid_apart_offset(g, g->planes, last, 0) : 0;
  h->pending_count = 0;
  h->pending_bytes = 0;
  for (int k = 0; k < count && h->right >= 0; k++) fit_inbox(h, fields[k], parts);
  for (int k = 0; k < count; k++) {
    if (h->left >= 0) /* our own parts are apart, so the left neighbour's chain may land in place */
      receive_doubles(h, g->node[fields[k]], shared_doubles(g, 0), h->left, chain_tag(fields[k]));
    if (h->right >= 0) receive_doubles(h, h->inbox[fields[k]], parts, h->right, parts_tag(fields[k]));
  }
  for (int k = 0; k < count; k++) {
    if (h->left >= 0)
      send_doubles(h, g->apart[0][fields[k]], grid_apart_offset(g, 0, last, 0), h->left,
                   parts_tag(fields[k]));
    if (h->right >= 0)
      send_doubles(h, g->node[fields[k]] + (int64_t)g->plane_tile[g->planes] * TILE_DOUBLES,
                   shared_doubles(g, g->planes), h->right, chain_tag(fields[k]));
  }
}

void halo_progress(struct halo *h)
{
  int done;
  if (h->pending_count) MPI_Testall(h->pending_count, h->pending, &done, MPI_STATUSES_IGNORE);
}

void halo_end(struct halo *h, struct grid *g, const enum node_field *fields, int count)
{
  /* Sends too: the chain is sent from where the sum goes on. */
  const double begin = comm_wait_begin();
  MPI_Waitall(h->pending_count, h->pending, MPI_STATUSES_IGNORE);
  if (h->pending_count) comm_wait_end(h->comm, WAIT_NEIGHBOURS, h->pending_bytes, begin);
  h->pending_count = 0;
  for (int k = 0; k < count; k++) {
    if (h->left >= 0) grid_add_apart(g, fields[k], 0, g->apart[0][fields[k]]);
    if (h->right >= 0) grid_add_apart(g, fields[k], g->planes, h->inbox[fields[k]]);
  }
}

void halo_exchange(struct halo *h, struct grid *g, const enum node_field *fields, int count)
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
