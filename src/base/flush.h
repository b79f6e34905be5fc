/* Subnormal numbers count as zero between flush_begin() and flush_end(), on the calling thread.
 *
 * A processor takes some hundred cycles for an operation with a subnormal number. Single precision has many
 * of them: velocities that a still body spreads fall below 1e-38 within a few products of a solve. The mode
 * is part of the result. It therefore belongs to the code and not to the thread: all that crew.h runs has it,
 * on every thread, and nothing else has. */
#ifndef FIRN_BASE_FLUSH_H
#define FIRN_BASE_FLUSH_H

#include <stdint.h>

#if defined __x86_64__
#include <xmmintrin.h>
#endif

typedef uint64_t flush_mode;

/* Returns the mode before it, for flush_end(). */
static inline flush_mode flush_begin(void)
{
#if defined __x86_64__
  enum { DENORMALS_ARE_ZERO = 1 << 6, FLUSH_TO_ZERO = 1 << 15 };
  const flush_mode before = _mm_getcsr();
  _mm_setcsr((unsigned)before | DENORMALS_ARE_ZERO | FLUSH_TO_ZERO);
  return before;
#elif defined __aarch64__
  flush_mode before;
  __asm__ volatile("mrs %0, fpcr" : "=r"(before)::"memory");
  __asm__ volatile("msr fpcr, %0" ::"r"(before | (flush_mode)1 << 24) : "memory");
  return before;
#else
  return 0;
#endif
}

static inline void flush_end(flush_mode before)
{
#if defined __x86_64__
  _mm_setcsr((unsigned)before);
#elif defined __aarch64__
  __asm__ volatile("msr fpcr, %0" ::"r"(before) : "memory");
#else
  (void)before;
#endif
}

#endif
