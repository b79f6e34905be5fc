#define _DEFAULT_SOURCE
#include "base/memory.h"

#include "base/log.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Large arrays start at different distances from a page boundary. Kernels walk dozens of them at the same
 * index; were they all aligned alike, every one would fall into the same set of the L1 cache, and loads would
 * wait for stores that only look like theirs. */
enum { LARGE = 1 << 15, STAGGER = 5 * 64, PAGE = 4096, HEADER = 64 };

/* Arrays of this size ask for huge pages: dozens of streams at once need more small pages than a TLB holds.
 */
enum { HUGE_FROM = 1 << 22 };

static atomic_long blocks;
static atomic_uint large_blocks;

static void advise_huge(char *raw, size_t bytes)
{
#ifdef MADV_HUGEPAGE
  char *page = raw + (PAGE - (uintptr_t)raw % PAGE) % PAGE;
  madvise(page, bytes - (size_t)(page - raw), MADV_HUGEPAGE); /* where it is refused, small pages do */
#else
  (void)raw, (void)bytes;
#endif
}

void *mem_alloc(size_t count, size_t size)
{
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - 2 * PAGE)
    firn_fatal("%zu elements of %zu bytes do not fit in memory", count, size);
  bytes = (bytes + 63) / 64 * 64;
  const size_t before = HEADER + (bytes < LARGE ? 0 : atomic_fetch_add(&large_blocks, 1) * STAGGER % PAGE);
  char *raw = aligned_alloc(64, before + (bytes ? bytes : 64));
  if (!raw)
    firn_fatal("out of memory: %.1f MiB more are needed; use more nodes or fewer particles",
               (double)bytes / 1048576.0);
  char *block = raw + before;
  if (bytes >= HUGE_FROM) advise_huge(raw, before + bytes);
  memcpy(block - sizeof raw, &raw, sizeof raw);
  memset(block, 0, bytes);
  atomic_fetch_add(&blocks, 1);
  return block;
}

void *mem_resize(void *block, size_t old_count, size_t new_count, size_t size)
{
  void *grown = mem_alloc(new_count, size);
  const size_t kept = old_count < new_count ? old_count : new_count;
  if (block && kept) memcpy(grown, block, kept * size);
  mem_free(block);
  return grown;
}

char *mem_strdup(const char *text)
{
  const size_t length = strlen(text) + 1;
  return memcpy(mem_alloc(length, 1), text, length);
}

void mem_free(void *block)
{
  if (!block) return;
  void *raw;
  memcpy(&raw, (char *)block - sizeof raw, sizeof raw);
  atomic_fetch_sub(&blocks, 1);
  free(raw);
}

long mem_balance(void)
{
  return atomic_load(&blocks);
}
