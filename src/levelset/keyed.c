/* See keyed.h. */
#include "levelset/keyed.h"

#include <math.h>
#include <stddef.h>

/* The time that a cycle repeats. */
static double folded(const struct keyed *keys, double time)
{
  const double first = keys->time[0], period = keys->time[keys->count - 1] - first;
  if (!keys->cyclic || keys->count < 2) return time;
  const double rest = fmod(time - first, period); /* exact */
  return first + (rest < 0.0 ? rest + period : rest);
}

struct keyed_moment keyed_at(const struct keyed *keys, double time)
{
  struct keyed_moment m = {.keys = keys};
  const int last = keys->count - 1;
  const double t = folded(keys, time);
  if (last == 0 || !(t >= keys->time[0])) {
    m.frozen = true;
    return m;
  }
  if (t > keys->time[last]) {
    m.frozen = true;
    m.key = last;
    return m;
  }
  int low = 0, high = last;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (keys->time[middle] <= t)
      low = middle;
    else
      high = middle;
  }
  m.key = low;
  m.gamma = (t - keys->time[low]) / (keys->time[high] - keys->time[low]);
  return m;
}

static double span_of(const struct keyed_moment *m)
{
  return m->keys->time[m->key + 1] - m->keys->time[m->key];
}

void keyed_velocity(const struct keyed_moment *m, const double x[3], double v[3])
{
  double b[3];
  v[0] = v[1] = v[2] = 0.0;
  if (m->frozen) return;
  sdf_velocity(&m->keys->key[m->key], x, v);
  sdf_velocity(&m->keys->key[m->key + 1], x, b);
  for (int d = 0; d < 3; d++) v[d] = (1.0 - m->gamma) * v[d] + m->gamma * b[d];
}

double keyed_distance(const struct keyed_moment *m, const double x[3], double g[3])
{
  const struct sdf *key = &m->keys->key[m->key];
  const double gamma = m->gamma;
  if (m->frozen) return sdf_distance(key, x, g);
  double v[3], from[3], to[3], ga[3], gb[3];
  const double span = span_of(m);
  keyed_velocity(m, x, v);
  for (int d = 0; d < 3; d++) {
    from[d] = x[d] - gamma * span * v[d];
    to[d] = x[d] + (1.0 - gamma) * span * v[d];
  }
  const double a = sdf_distance(key, from, g ? ga : NULL), b = sdf_distance(key + 1, to, g ? gb : NULL);
  for (int d = 0; d < 3 && g; d++) g[d] = (1.0 - gamma) * ga[d] + gamma * gb[d];
  return (1.0 - gamma) * a + gamma * b;
}

void keyed_range(const struct keyed_moment *m, const double x[3], double radius, double *least, double *most)
{
  const struct sdf *key = &m->keys->key[m->key];
  if (m->frozen) {
    sdf_range(key, x, radius, least, most);
    return;
  }
  /* Looking up elsewhere, by at most this much, is looking up in a larger ball. */
  const double gamma = m->gamma, travel = span_of(m) * fmax(key[0].max_speed, key[1].max_speed);
  double low[2], high[2];
  sdf_range(key, x, radius + gamma * travel, &low[0], &high[0]);
  sdf_range(key + 1, x, radius + (1.0 - gamma) * travel, &low[1], &high[1]);
  *least = (1.0 - gamma) * low[0] + gamma * low[1];
  *most = (1.0 - gamma) * high[0] + gamma * high[1];
}

/* Bound of the speed at one moment. */
static double speed_at(const struct keyed *keys, double time)
{
  const struct keyed_moment m = keyed_at(keys, time);
  const struct sdf *key = &keys->key[m.key];
  return m.frozen ? 0.0 : (1.0 - m.gamma) * key[0].max_speed + m.gamma * key[1].max_speed;
}

/* Linear from key to key, so largest at an end or at a key between. */
double keyed_max_speed(const struct keyed *keys, double from, double to)
{
  const double first = folded(keys, from), last = first + (to - from);
  const double period = keys->time[keys->count - 1] - keys->time[0];
  double most = fmax(speed_at(keys, from), speed_at(keys, to));
  for (int k = 0; k < keys->count && period > 0.0; k++) {
    const double time = keys->time[k];
    if ((time >= first && time <= last) || (keys->cyclic && time + period <= last))
      most = fmax(most, keys->key[k].max_speed);
  }
  return most;
}

void keyed_bounds(const struct keyed *keys, double lower[3], double upper[3])
{
  for (int k = 0; k < keys->count; k++) {
    double low[3], high[3];
    sdf_bounds(&keys->key[k], low, high);
    for (int d = 0; d < 3; d++) {
      lower[d] = k ? fmin(lower[d], low[d]) : low[d];
      upper[d] = k ? fmax(upper[d], high[d]) : high[d];
    }
  }
}
