#include "base/ramp.h"

#include "base/memory.h"

#include <stddef.h>
#include <string.h>

void ramp_create(struct ramp *ramp, const struct ramp_key *keys, int count)
{
  ramp->key = mem_alloc((size_t)count, sizeof *ramp->key);
  memcpy(ramp->key, keys, (size_t)count * sizeof *keys);
  ramp->count = count;
}

void ramp_destroy(struct ramp *ramp)
{
  mem_free(ramp->key);
  ramp->key = NULL;
  ramp->count = 0;
}

double ramp_at(const struct ramp *ramp, double at)
{
  const struct ramp_key *key = ramp->key, *last = key + ramp->count - 1;
  if (!(at > key->at)) return key->value;
  if (at >= last->at) return last->value;
  while (at >= key[1].at) key++;
  const double f = (at - key->at) / (key[1].at - key->at);
  return key->value + f * (key[1].value - key->value);
}
