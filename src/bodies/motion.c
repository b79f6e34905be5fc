/* See motion.h.
 *
 * Angles between neighbouring keys are taken the short way round. The spin of a smooth motion at a key is the
 * mean of the spins of the two segments beside it, each weighted by the length of the other, as for the
 * velocity (Catmull and Rom, with unequal times); at the ends it is zero. A product of turns
 * Q = Q0 E1 E2 E3, E_k = exp(b_k(s) w_k), turns with Q0 (w1 b1' + E1 (w2 b2' + E2 w3 b3')). */
#include "bodies/motion.h"

#include "base/memory.h"
#include "bodies/quaternion.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Rotation vector from key a to key b in a's axes. */
static void turn_between(const struct motion_key *a, const struct motion_key *b, double w[3])
{
  double back[4], relative[4];
  quaternion_inverse(a->turn, back);
  quaternion_multiply(back, b->turn, relative);
  quaternion_log(relative, w);
}

/* Velocity and spin at key k of a smooth motion. */
static void tangent_at(const struct motion *m, int k, double velocity[3], double spin[3])
{
  const int last = m->count - 1;
  int before = k - 1, after = k + 1;
  if (m->cyclic && (k == 0 || k == last)) {
    before = last - 1;
    after = 1;
  }
  memset(velocity, 0, 3 * sizeof *velocity);
  memset(spin, 0, 3 * sizeof *spin);
  if (before < 0 || after > last) return;
  const struct motion_key *key = m->key, *here[2] = {&key[k == 0 ? last : k], &key[k == last ? 0 : k]};
  const double left = here[0]->time - key[before].time, right = key[after].time - here[1]->time;
  double w[2][3];
  turn_between(&key[before], here[0], w[0]);
  turn_between(here[1], &key[after], w[1]);
  for (int d = 0; d < 3; d++) {
    const double slope[2] = {(here[0]->move[d] - key[before].move[d]) / left,
                             (key[after].move[d] - here[1]->move[d]) / right};
    velocity[d] = (right * slope[0] + left * slope[1]) / (left + right);
    spin[d] = (right * (w[0][d] / left) + left * (w[1][d] / right)) / (left + right);
  }
}

static void make_linear(const struct motion_key *a, const struct motion_key *b, struct motion_segment *s)
{
  memcpy(s->move[0], a->move, sizeof a->move);
  memcpy(s->move[3], b->move, sizeof b->move);
  turn_between(a, b, s->spin[0]);
}

static void make_smooth(const struct motion *m, int k, struct motion_segment *s)
{
  const struct motion_key *a = &m->key[k], *b = a + 1;
  double velocity[2][3], spin[2][3], first[4], third[4], middle[4];
  tangent_at(m, k, velocity[0], spin[0]);
  tangent_at(m, k + 1, velocity[1], spin[1]);
  for (int d = 0; d < 3; d++) {
    s->move[0][d] = a->move[d];
    s->move[1][d] = a->move[d] + s->span / 3.0 * velocity[0][d];
    s->move[2][d] = b->move[d] - s->span / 3.0 * velocity[1][d];
    s->move[3][d] = b->move[d];
    s->spin[0][d] = s->span / 3.0 * spin[0][d];
    s->spin[2][d] = s->span / 3.0 * spin[1][d];
  }
  /* What the first and the third turn leave: exp(w2) = exp(-w1) qa^-1 qb exp(-w3). */
  quaternion_exp(s->spin[0], first);
  quaternion_exp(s->spin[2], third);
  quaternion_inverse(a->turn, middle);
  quaternion_multiply(middle, b->turn, middle);
  quaternion_inverse(first, first);
  quaternion_inverse(third, third);
  quaternion_multiply(first, middle, middle);
  quaternion_multiply(middle, third, middle);
  quaternion_log(middle, s->spin[1]);
}

struct motion *motion_create(const struct motion_key *keys, int count, bool smooth, bool cyclic)
{
  struct motion *m = mem_alloc(1, sizeof *m);
  *m = (struct motion){.count = count, .smooth = smooth, .cyclic = cyclic && count > 1};
  m->key = mem_alloc((size_t)count, sizeof *m->key);
  memcpy(m->key, keys, (size_t)count * sizeof *keys);
  m->segment_count = count - 1;
  m->segment = mem_alloc((size_t)m->segment_count, sizeof *m->segment);
  for (int k = 0; k < m->segment_count; k++) {
    struct motion_segment *s = &m->segment[k];
    s->start = keys[k].time;
    s->span = keys[k + 1].time - keys[k].time;
    memcpy(s->turn, keys[k].turn, sizeof s->turn);
    if (smooth)
      make_smooth(m, k, s);
    else
      make_linear(&keys[k], &keys[k + 1], s);
  }
  return m;
}

void motion_destroy(struct motion **motion)
{
  if (!*motion) return;
  mem_free((*motion)->key);
  mem_free((*motion)->segment);
  mem_free(*motion);
  *motion = NULL;
}

static void rest_at(const struct motion_key *key, struct motion_state *state)
{
  memset(state, 0, sizeof *state);
  memcpy(state->move, key->move, sizeof key->move);
  memcpy(state->turn, key->turn, sizeof key->turn);
}

static void linear_at(const struct motion_segment *s, double f, struct motion_state *state)
{
  double part[3], turned[4];
  for (int d = 0; d < 3; d++) {
    state->move[d] = s->move[0][d] + f * (s->move[3][d] - s->move[0][d]);
    state->velocity[d] = (s->move[3][d] - s->move[0][d]) / s->span;
    part[d] = f * s->spin[0][d];
  }
  quaternion_exp(part, turned);
  quaternion_multiply(s->turn, turned, state->turn);
  quaternion_rotate(s->turn, s->spin[0], state->spin);
  for (int d = 0; d < 3; d++) state->spin[d] /= s->span;
}

static void smooth_at(const struct motion_segment *s, double f, struct motion_state *state)
{
  const double g = 1.0 - f;
  const double b[4] = {g * g * g, 3.0 * f * g * g, 3.0 * f * f * g, f * f * f};
  const double slope[3] = {3.0 * g * g, 6.0 * f * g, 3.0 * f * f};
  const double angle[3] = {1.0 - b[0], b[2] + b[3], b[3]};
  for (int d = 0; d < 3; d++) {
    state->move[d] = 0.0;
    state->velocity[d] = 0.0;
    for (int k = 0; k < 4; k++) state->move[d] += b[k] * s->move[k][d];
    for (int k = 0; k < 3; k++)
      state->velocity[d] += slope[k] * (s->move[k + 1][d] - s->move[k][d]) / s->span;
  }
  double e[3][4], inner[3], turned[3];
  for (int k = 0; k < 3; k++) {
    const double w[3] = {angle[k] * s->spin[k][0], angle[k] * s->spin[k][1], angle[k] * s->spin[k][2]};
    quaternion_exp(w, e[k]);
  }
  for (int d = 0; d < 3; d++) inner[d] = slope[2] * s->spin[2][d] / s->span;
  for (int k = 1; k >= 0; k--) { /* from the innermost turn outwards */
    quaternion_rotate(e[k], inner, turned);
    for (int d = 0; d < 3; d++) inner[d] = slope[k] * s->spin[k][d] / s->span + turned[d];
  }
  quaternion_rotate(s->turn, inner, state->spin);
  quaternion_multiply(s->turn, e[0], state->turn);
  quaternion_multiply(state->turn, e[1], state->turn);
  quaternion_multiply(state->turn, e[2], state->turn);
}

/* Cyclic motions repeat the times of their keys. */
static double folded(const struct motion *m, double time)
{
  const double first = m->key[0].time, period = m->key[m->count - 1].time - first;
  if (!m->cyclic) return time;
  const double rest = fmod(time - first, period); /* exact */
  return first + (rest < 0.0 ? rest + period : rest);
}

static const struct motion_segment *segment_at(const struct motion *m, double time)
{
  int low = 0, high = m->segment_count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (time >= m->segment[middle].start)
      low = middle;
    else
      high = middle;
  }
  return &m->segment[low];
}

static void state_in(const struct motion *m, const struct motion_segment *s, double f,
                     struct motion_state *state)
{
  if (m->smooth)
    smooth_at(s, f, state);
  else
    linear_at(s, f, state);
}

void motion_at(const struct motion *m, double time, struct motion_state *state)
{
  const struct motion_key *first = m->key, *last = m->key + m->count - 1;
  time = folded(m, time);
  if (m->count == 1 || (!m->cyclic && !(time > first->time))) {
    rest_at(first, state);
  } else if (!m->cyclic && time >= last->time) {
    rest_at(last, state);
  } else {
    const struct motion_segment *s = segment_at(m, time);
    state_in(m, s, (time - s->start) / s->span, state);
  }
}

/* Bernstein coefficients over f[0] .. f[1] of the quadratic that has coefficients c over 0 .. 1. */
static void restrict_to(const double f[2], const double c[3], double out[3])
{
  for (int k = 0; k < 3; k++) {
    const double a = f[k == 2], b = f[k > 0];
    out[k] = (1.0 - a) * ((1.0 - b) * c[0] + b * c[1]) + a * ((1.0 - b) * c[1] + b * c[2]);
  }
}

/* Velocity is a mean of its coefficients, and its derivative, linear in time, is largest at an end. */
static void bound_velocity(const struct motion_segment *s, const double f[2], struct motion_piece *piece)
{
  double part[3][3], push[2][3];
  for (int d = 0; d < 3; d++) {
    double c[3], over[3];
    for (int k = 0; k < 3; k++) c[k] = 3.0 * (s->move[k + 1][d] - s->move[k][d]) / s->span;
    restrict_to(f, c, over);
    for (int k = 0; k < 3; k++) part[k][d] = over[k];
    for (int e = 0; e < 2; e++)
      push[e][d] = 2.0 * ((1.0 - f[e]) * (c[1] - c[0]) + f[e] * (c[2] - c[1])) / s->span;
  }
  piece->speed = fmax(vec_norm(part[0]), fmax(vec_norm(part[1]), vec_norm(part[2])));
  piece->push = fmax(vec_norm(push[0]), vec_norm(push[1]));
}

/* The spin is a sum of three, |w_k| b_k' long, of which the outer turn the inner: they change by |w_k| b_k'',
 * and by the products of any two, which together are at most a third of the square of the sum. */
static void bound_spin(const struct motion_segment *s, const double f[2], struct motion_piece *piece)
{
  double angle[3], c[3], over[3], bend[2];
  for (int k = 0; k < 3; k++) {
    angle[k] = vec_norm(s->spin[k]);
    c[k] = 3.0 * angle[k] / s->span;
  }
  restrict_to(f, c, over);
  for (int e = 0; e < 2; e++)
    bend[e] = 6.0 * ((1.0 - f[e]) * angle[0] + fabs(1.0 - 2.0 * f[e]) * angle[1] + f[e] * angle[2]);
  piece->rate = fmax(over[0], fmax(over[1], over[2]));
  piece->twist = fmax(bend[0], bend[1]) / (s->span * s->span) + piece->rate * piece->rate / 3.0;
}

static void bound_piece(const struct motion *m, const struct motion_segment *s, double from, double length,
                        struct motion_piece *piece)
{
  const double f[2] = {(from - s->start) / s->span, (from - s->start + length) / s->span};
  state_in(m, s, 0.5 * (f[0] + f[1]), &piece->middle);
  piece->half = 0.5 * length;
  if (m->smooth) {
    bound_velocity(s, f, piece);
    bound_spin(s, f, piece);
    return;
  }
  piece->speed = vec_norm(piece->middle.velocity);
  piece->rate = vec_norm(piece->middle.spin);
}

double motion_piece_from(const struct motion *m, double from, double to, struct motion_piece *piece)
{
  enum { PIECES = 16 }; /* of a segment, at least */
  const struct motion_key *first = m->key, *last = m->key + m->count - 1;
  const double time = folded(m, from);
  *piece = (struct motion_piece){0};
  if (m->count == 1 || (!m->cyclic && (time < first->time || time >= last->time))) {
    rest_at(time < first->time ? first : last, &piece->middle);
    return time < first->time ? first->time : INFINITY;
  }
  const struct motion_segment *s = segment_at(m, time);
  const double left = m->key[s - m->segment + 1].time - time;
  const double length = fmax(0.0, fmin(to - from, fmin(left, s->span / PIECES)));
  bound_piece(m, s, time, length, piece);
  return fmax(from + length, nextafter(from, INFINITY)); /* the next float, where rounding would stop it */
}

bool motion_turns(const struct motion *m)
{
  bool turns = false;
  for (int k = 0; k < m->segment_count; k++)
    for (int j = 0; j < 3; j++) turns = turns || vec_norm(m->segment[k].spin[j]) > 0.0;
  return turns;
}

double motion_period(const struct motion *m)
{
  return m->cyclic ? m->key[m->count - 1].time - m->key[0].time : INFINITY;
}
