/* See unique_ids.h. Equal ids are brought to one rank by a hash, and sorted there: each rank handles its
 * share of all ids, and no rank ever holds them all. Repetitions within a rank are dropped before, so that a
 * file full of one id does not send everything to one place. */
#include "io/particles/unique_ids.h"

#include "base/memory.h"
#include "base/rng.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

/* Radix sort by bytes; a byte that is the same everywhere is skipped. `spare` has room for count ids. */
static void sort_ids(uint64_t *ids, uint64_t *spare, int64_t count)
{
  uint64_t *from = ids, *to = spare;
  for (int shift = 0; shift < 64; shift += 8) {
    int64_t place[257] = {0};
    for (int64_t i = 0; i < count; i++) place[(from[i] >> shift & 255) + 1]++;
    if (count == 0 || place[(from[0] >> shift & 255) + 1] == count) continue;
    for (int b = 0; b < 256; b++) place[b + 1] += place[b];
    for (int64_t i = 0; i < count; i++) to[place[from[i] >> shift & 255]++] = from[i];
    uint64_t *swap = from;
    from = to;
    to = swap;
  }
  if (from != ids) memcpy(ids, from, (size_t)count * sizeof *ids);
}

/* Sorts and drops repetitions; *twice becomes the smallest id that had any, if that is smaller. */
static int64_t make_unique(uint64_t *ids, int64_t count, uint64_t *twice, bool *found)
{
  uint64_t *spare = mem_alloc((size_t)count, sizeof *spare);
  sort_ids(ids, spare, count);
  mem_free(spare);
  int64_t kept = 0;
  for (int64_t i = 0; i < count; i++) {
    if (kept > 0 && ids[i] == ids[kept - 1]) {
      if (!*found || ids[i] < *twice) *twice = ids[i];
      *found = true;
    } else {
      ids[kept++] = ids[i];
    }
  }
  return kept;
}

/* All ranks learn the smallest duplicate of any. */
static int agree_twice(const struct comm *comm, bool found, uint64_t twice, struct error *err)
{
  struct {
    uint64_t absent, id;
  } mine = {!found, found ? twice : UINT64_MAX}, least = mine;
  if (comm->mpi != MPI_COMM_NULL) MPI_Allreduce(&mine, &least, 2, MPI_UINT64_T, MPI_MIN, comm->mpi);
  if (least.absent) return FIRN_OK;
  return error_set(err, FIRN_EINPUT, "the id %llu occurs more than once", (unsigned long long)least.id);
}

static int home_of(const struct comm *comm, uint64_t id)
{
  return (int)(rng_mix(id) % (uint64_t)comm->size);
}

/* Sends every id to its home; *out belongs to the caller. */
static int send_home(const struct comm *comm, const uint64_t *ids, int64_t count, uint64_t **out,
                     int64_t *received, struct error *err)
{
  const size_t size = (size_t)comm->size;
  int *sends = mem_alloc(size, sizeof *sends), *send_at = mem_alloc(size + 1, sizeof *send_at);
  int *receives = mem_alloc(size, sizeof *receives), *receive_at = mem_alloc(size + 1, sizeof *receive_at);
  uint64_t *ordered = mem_alloc((size_t)count, sizeof *ordered);
  for (int64_t i = 0; i < count; i++) sends[home_of(comm, ids[i])]++;
  for (size_t r = 0; r < size; r++) send_at[r + 1] = send_at[r] + sends[r];
  for (int64_t i = 0; i < count; i++) ordered[send_at[home_of(comm, ids[i])]++] = ids[i];
  for (size_t r = 0; r < size; r++) send_at[r] -= sends[r];
  MPI_Alltoall(sends, 1, MPI_INT, receives, 1, MPI_INT, comm->mpi);
  int64_t sum = 0;
  for (size_t r = 0; r < size; r++) {
    receive_at[r] = (int)(sum < INT_MAX ? sum : INT_MAX);
    sum += receives[r];
  }
  int code = FIRN_OK;
  if (sum > INT_MAX)
    code = error_set(err, FIRN_ELIMIT, "too many ids for %d ranks: use more ranks", comm->size);
  code = comm_agree(comm, code, err);
  if (code == FIRN_OK) {
    *out = mem_alloc((size_t)sum, sizeof **out);
    *received = sum;
    MPI_Alltoallv(ordered, sends, send_at, MPI_UINT64_T, *out, receives, receive_at, MPI_UINT64_T, comm->mpi);
  }
  mem_free(ordered);
  mem_free(receive_at);
  mem_free(receives);
  mem_free(send_at);
  mem_free(sends);
  return code;
}

int unique_ids_check(const struct comm *comm, const uint64_t *ids, int64_t count, struct error *err)
{
  uint64_t twice = 0;
  bool found = false;
  uint64_t *own = mem_alloc((size_t)count, sizeof *own), *homed = NULL;
  if (count > 0) memcpy(own, ids, (size_t)count * sizeof *own);
  const int64_t kept = make_unique(own, count, &twice, &found);
  int64_t received = 0;
  int code = comm->size > 1 ? send_home(comm, own, kept, &homed, &received, err) : FIRN_OK;
  if (code == FIRN_OK) {
    make_unique(homed, received, &twice, &found);
    code = agree_twice(comm, found, twice, err);
  }
  mem_free(homed);
  mem_free(own);
  return code;
}
