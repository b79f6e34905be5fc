/* A number along one coordinate (time, depth): linear between keys, constant before the first and after the
 * last. */
#ifndef FIRN_BASE_RAMP_H
#define FIRN_BASE_RAMP_H

struct ramp_key {
  double at, value;
};

struct ramp {
  struct ramp_key *key; /* `at` rises; owned, NULL for none */
  int count;
};

/* Copies the keys. */
void ramp_create(struct ramp *ramp, const struct ramp_key *keys, int count);
void ramp_destroy(struct ramp *ramp);

/* There is a key. */
double ramp_at(const struct ramp *ramp, double at);

#endif
