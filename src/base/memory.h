/* Memory: overflow-checked, 64-byte aligned (a cache line, an AVX-512 register), never NULL.
 * Running out ends the job with a message; every block is counted so that tests can demand a balance of zero.
 */
#ifndef FIRN_BASE_MEMORY_H
#define FIRN_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* count * size bytes, zeroed. A count of 0 gives a block that may be freed like any other. */
void *mem_alloc(size_t count, size_t size) __attribute__((malloc));

/* Grows or shrinks a block of mem_alloc() from old_count to new_count elements; new bytes are zero. */
void *mem_resize(void *block, size_t old_count, size_t new_count, size_t size);

/* Room for `wanted` elements and some more where *capacity is less; contents stay. Returns the block. */
void *mem_reserve(void *block, int64_t *capacity, int64_t wanted, size_t size);

/* Gives back what lies behind the first `count` elements, where it can be; the block stays where it is. */
void mem_trim(void *block, size_t count, size_t size);

char *mem_strdup(const char *text);

void mem_free(void *block); /* accepts NULL */

/* Blocks allocated and not yet freed. */
long mem_balance(void);

#endif
