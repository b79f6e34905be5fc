#include "base/memory.h"

#include "base/log.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Large arrays start at different distances from a page boundary. Kernels walk dozens of them at the same
 * index; were they all aligned alike, every one would fall into the same set of the L1 cache, and loads would
 * wait for stores that only look like theirs.
 *
 * The largest come straight from the system, with huge pages where it has them: dozens of streams at once
 * need more small pages than a TLB holds. Their pages are zero without being touched, so what an array keeps
 * in reserve costs no memory but for the rest of its last huge page, and a page lies near the thread that
 * first writes to it. */
enum { LARGE = 1 << 15, STAGGER = 5 * 64, PAGE = 4096, MAPPED = 1 << 20, HUGE_PAGE = 1 << 21 };

struct header {     /* in front of every block */
  char *raw;        /* what was allocated */
  size_t map_bytes; /* of the mapping; 0 if it came from the heap */
};
enum { HEADER = 64 };

static atomic_long blocks;
static atomic_uint large_blocks;

static char *map_pages(size_t bytes)
{
  void *raw = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
  madvise(raw, bytes, MADV_HUGEPAGE); /* where it is refused, small pages do */
#endif
  return raw;
}

void *mem_alloc(size_t count, size_t size)
{
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - 2 * PAGE)
    firn_fatal("%zu elements of %zu bytes do not fit in memory", count, size);
  bytes = (bytes + 63) / 64 * 64;
  const size_t before = HEADER + (bytes < LARGE ? 0 : atomic_fetch_add(&large_blocks, 1) * STAGGER % PAGE),
               whole = before + (bytes ? bytes : 64);
  const bool mapped = bytes >= MAPPED;
  char *raw = mapped ? map_pages(whole) : aligned_alloc(64, whole);
  if (!raw)
    firn_fatal("out of memory: %.1f MiB more are needed; use more nodes or fewer particles",
               (double)bytes / 1048576.0);
  char *block = raw + before;
  const struct header header = {raw, mapped ? whole : 0};
  memcpy(block - HEADER, &header, sizeof header);
  if (!mapped) memset(block, 0, bytes);
  atomic_fetch_add(&blocks, 1);
  return block;
}

/* An address for so many bytes at the same distance from a huge page's boundary as `like`: pages that move
 * there stay whole. NULL if there is none. */
static char *find_place(const char *like, size_t bytes)
{
  char *room = mmap(NULL, bytes + HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == (char *)MAP_FAILED) return NULL;
  const size_t before = ((uintptr_t)like - (uintptr_t)room) % HUGE_PAGE,
               used = (bytes + PAGE - 1) / PAGE * PAGE;
  if (before) munmap(room, before);
  munmap(room + before + used, HUGE_PAGE - before);
  return room + before;
}

/* Lets a mapped block grow by moving its pages, not what they hold: no time and no second copy. NULL where
 * that cannot be done; the block is as it was then. */
static void *grow_mapped(char *block, size_t old_bytes, size_t new_bytes)
{
  struct header header;
  memcpy(&header, block - HEADER, sizeof header);
  const size_t before = (size_t)(block - header.raw), whole = before + (new_bytes + 63) / 64 * 64;
  if (!header.map_bytes) return NULL;
  char *raw = header.raw;
  if (whole > header.map_bytes) raw = mremap(header.raw, header.map_bytes, whole, 0);
  if (raw == (char *)MAP_FAILED) {
    char *place = find_place(header.raw, whole);
    if (!place) return NULL;
    raw = mremap(header.raw, header.map_bytes, whole, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    if (raw == (char *)MAP_FAILED) {
      munmap(place, whole);
      return NULL;
    }
  }
  memset(raw + before + old_bytes, 0, header.map_bytes - before - old_bytes);
  header.raw = raw;
  if (whole > header.map_bytes) header.map_bytes = whole;
  memcpy(raw + before - HEADER, &header, sizeof header);
  return raw + before;
}

void *mem_resize(void *block, size_t old_count, size_t new_count, size_t size)
{
  size_t bytes;
  if (block && new_count > old_count && !__builtin_mul_overflow(new_count, size, &bytes) &&
      bytes <= SIZE_MAX - 2 * PAGE) {
    void *same = grow_mapped(block, old_count * size, bytes);
    if (same) return same;
  }
  void *grown = mem_alloc(new_count, size);
  const size_t kept = old_count < new_count ? old_count : new_count;
  if (block && kept) memcpy(grown, block, kept * size);
  mem_free(block);
  return grown;
}

void *mem_reserve(void *block, int64_t *capacity, int64_t wanted, size_t size)
{
  if (wanted <= *capacity) return block;
  const int64_t room = wanted + wanted / 2 + 64;
  block = mem_resize(block, (size_t)*capacity, (size_t)room, size);
  *capacity = room;
  return block;
}

void mem_trim(void *block, size_t count, size_t size)
{
  struct header header;
  memcpy(&header, (char *)block - HEADER, sizeof header);
  const size_t used = (size_t)((char *)block - header.raw) + count * size,
               kept = (used + PAGE - 1) / PAGE * PAGE;
  if (kept >= header.map_bytes || munmap(header.raw + kept, header.map_bytes - kept) != 0) return;
  header.map_bytes = kept;
  memcpy((char *)block - HEADER, &header, sizeof header);
}

char *mem_strdup(const char *text)
{
  const size_t length = strlen(text) + 1;
  return memcpy(mem_alloc(length, 1), text, length);
}

void mem_free(void *block)
{
  if (!block) return;
  struct header header;
  memcpy(&header, (char *)block - HEADER, sizeof header);
  atomic_fetch_sub(&blocks, 1);
  if (header.map_bytes)
    munmap(header.raw, header.map_bytes);
  else
    free(header.raw);
}

long mem_balance(void)
{
  return atomic_load(&blocks);
}
