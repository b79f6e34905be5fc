#include "base/exactsum.h"

#include <math.h>
#include <string.h>

/* Digit k holds multiples of 2^(32 k - 1088): below the least denormal (2^-1074) and beyond 2^1024 with 32
 * bits to spare. */
enum { LOWEST_EXPONENT = -1088 };

void exact_add(struct exact_sum *sum, double value)
{
  if (value == 0.0) return;
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  const int field = (int)(bits >> 52 & 0x7ff);
  if (field == 0x7ff) {
    sum->limb[EXACT_DIGITS]++;
    return;
  }
  uint64_t mantissa = bits & 0xfffffffffffffu;
  if (field) mantissa |= (uint64_t)1 << 52;
  const int shift = (field ? field : 1) - 1075 - LOWEST_EXPONENT;
  const int digit = shift / 32;
  const unsigned __int128 wide = (unsigned __int128)mantissa << (shift % 32);
  const int64_t sign = value < 0.0 ? -1 : 1;
  sum->limb[digit] += sign * (int64_t)(uint32_t)wide;
  sum->limb[digit + 1] += sign * (int64_t)(uint32_t)(wide >> 32);
  sum->limb[digit + 2] += sign * (int64_t)(uint32_t)(wide >> 64);
}

void exact_join(struct exact_sum *sum, const struct exact_sum *other)
{
  for (int l = 0; l < EXACT_LIMBS; l++) sum->limb[l] += other->limb[l];
}

/* Carries so that every digit but the top one lies in [0, 2^32); returns the top digit's sign. */
static int normalise(int64_t digit[EXACT_DIGITS])
{
  for (int k = 0; k + 1 < EXACT_DIGITS; k++) {
    const int64_t low = (int64_t)(uint32_t)digit[k];
    digit[k + 1] += (digit[k] - low) / 4294967296;
    digit[k] = low;
  }
  return digit[EXACT_DIGITS - 1] < 0 ? -1 : 1;
}

double exact_value(const struct exact_sum *sum)
{
  if (sum->limb[EXACT_DIGITS]) return NAN;
  int64_t digit[EXACT_DIGITS];
  memcpy(digit, sum->limb, sizeof digit);
  const int sign = normalise(digit);
  if (sign < 0) {
    for (int k = 0; k < EXACT_DIGITS; k++) digit[k] = -digit[k];
    normalise(digit);
  }
  int top = EXACT_DIGITS - 1;
  while (top > 0 && digit[top] == 0) top--;
  /* Three digits hold at least 65 significant bits; one more says whether anything lies below. */
  unsigned __int128 head = (unsigned __int128)(uint64_t)digit[top] << 64;
  if (top >= 1) head |= (unsigned __int128)(uint64_t)digit[top - 1] << 32;
  if (top >= 2) head |= (uint64_t)digit[top - 2];
  if (head == 0) return 0.0;
  int lead = 127;
  while (!(head >> lead & 1)) lead--;
  uint64_t sticky = 0;
  for (int k = top - 3; k >= 0; k--) sticky |= (uint64_t)digit[k];
  int drop = lead > 62 ? lead - 62 : 0;
  uint64_t mantissa = (uint64_t)(head >> drop) << 1;
  if (sticky || (drop && (head & (((unsigned __int128)1 << drop) - 1)))) mantissa |= 1;
  return sign * ldexp((double)mantissa, LOWEST_EXPONENT + 32 * (top - 2) + drop - 1);
}
