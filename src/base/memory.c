#include "base/memory.h"

#include "base/log.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static atomic_long blocks;

void *mem_alloc(size_t count, size_t size)
{
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - 64)
    firn_fatal("%zu elements of %zu bytes do not fit in memory", count, size);
  bytes = (bytes + 63) / 64 * 64;
  void *block = aligned_alloc(64, bytes ? bytes : 64);
  if (!block)
    firn_fatal("out of memory: %.1f MiB more are needed; use more nodes or fewer particles",
               (double)bytes / 1048576.0);
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
  atomic_fetch_sub(&blocks, 1);
  free(block);
}

long mem_balance(void)
{
  return atomic_load(&blocks);
}
