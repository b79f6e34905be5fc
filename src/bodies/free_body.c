#include "bodies/free_body.h"

#include "base/memory.h"
#include "base/vec.h"
#include "bodies/quaternion.h"
#include "levelset/shape_moments.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- six numbers --- */

bool six_invert(const double a[36], const bool lock[6], double out[36])
{
  double m[6][12];
  int axis[6], n = 0;
  for (int k = 0; k < 6; k++)
    if (!lock[k]) axis[n++] = k;
  for (int r = 0; r < n; r++)
    for (int c = 0; c < n; c++) {
      m[r][c] = a[6 * axis[r] + axis[c]];
      m[r][n + c] = r == c;
    }
  memset(out, 0, 36 * sizeof *out);
  for (int p = 0; p < n; p++) {
    int best = p;
    for (int r = p + 1; r < n; r++)
      if (fabs(m[r][p]) > fabs(m[best][p])) best = r;
    if (!(fabs(m[best][p]) > 0.0)) return false;
    for (int c = 0; c < 2 * n && best != p; c++) {
      const double kept = m[p][c];
      m[p][c] = m[best][c];
      m[best][c] = kept;
    }
    const double pivot = m[p][p];
    for (int c = 0; c < 2 * n; c++) m[p][c] /= pivot;
    for (int r = 0; r < n; r++) {
      const double factor = m[r][p];
      if (r == p || factor == 0.0) continue;
      for (int c = 0; c < 2 * n; c++) m[r][c] -= factor * m[p][c];
    }
  }
  for (int r = 0; r < n; r++)
    for (int c = 0; c < n; c++) out[6 * axis[r] + axis[c]] = m[r][n + c];
  return true;
}

void six_multiply(const double a[36], const double x[6], double out[6])
{
  for (int r = 0; r < 6; r++) {
    double sum = 0.0;
    for (int c = 0; c < 6; c++) sum += a[6 * r + c] * x[c];
    out[r] = sum;
  }
}

double six_dot(const double a[6], const double b[6])
{
  double sum = 0.0;
  for (int k = 0; k < 6; k++) sum += a[k] * b[k];
  return sum;
}

void six_velocity(const double u[6], const double arm[3], double out[3])
{
  double swing[3];
  vec_cross(u + 3, arm, swing);
  vec_axpy(u, 1.0, swing, out);
}

void six_impulse(const double impulse[3], const double arm[3], double out[6])
{
  memcpy(out, impulse, 3 * sizeof *out);
  vec_cross(arm, impulse, out + 3);
}

void six_add(double a[36], const double arm[3], const double s[9])
{
  const double e[3][6] = {{1.0, 0.0, 0.0, 0.0, arm[2], -arm[1]},
                          {0.0, 1.0, 0.0, -arm[2], 0.0, arm[0]},
                          {0.0, 0.0, 1.0, arm[1], -arm[0], 0.0}};
  double se[3][6];
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 6; c++)
      se[r][c] = s[3 * r] * e[0][c] + s[3 * r + 1] * e[1][c] + s[3 * r + 2] * e[2][c];
  for (int r = 0; r < 6; r++)
    for (int c = 0; c < 6; c++) a[6 * r + c] += e[0][r] * se[0][c] + e[1][r] * se[1][c] + e[2][r] * se[2][c];
}

/* --- mass --- */

void free_body_destroy(struct free_body **free)
{
  if (!*free) return;
  mem_free((*free)->push);
  mem_free((*free)->spring);
  mem_free(*free);
  *free = NULL;
}

/* Moments and axes of a symmetric matrix, by Jacobi's rotations. */
static void find_axes(const double matrix[9], double moment[3], double axes[3][3])
{
  double a[3][3], v[3][3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
  memcpy(a, matrix, sizeof a);
  for (int sweep = 0; sweep < 30; sweep++)
    for (int p = 0; p < 2; p++)
      for (int q = p + 1; q < 3; q++) {
        if (a[p][q] == 0.0) continue;
        const double theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
        const double t = (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
        const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
        for (int k = 0; k < 3; k++) {
          const double x = a[k][p], y = a[k][q];
          a[k][p] = c * x - s * y;
          a[k][q] = s * x + c * y;
        }
        for (int k = 0; k < 3; k++) {
          const double x = a[p][k], y = a[q][k];
          a[p][k] = c * x - s * y;
          a[q][k] = s * x + c * y;
        }
        a[p][q] = a[q][p] = 0.0;
        for (int k = 0; k < 3; k++) {
          const double x = v[k][p], y = v[k][q];
          v[k][p] = c * x - s * y;
          v[k][q] = s * x + c * y;
        }
      }
  int order[3] = {0, 1, 2};
  for (int p = 0; p < 2; p++)
    for (int q = 0; q < 2 - p; q++)
      if (a[order[q]][order[q]] > a[order[q + 1]][order[q + 1]]) {
        const int kept = order[q];
        order[q] = order[q + 1];
        order[q + 1] = kept;
      }
  for (int k = 0; k < 3; k++) {
    moment[k] = a[order[k]][order[k]];
    for (int d = 0; d < 3; d++) axes[k][d] = v[d][order[k]];
  }
}

/* The inertia that the scene gives, in the world's axes. */
static void given_inertia(const struct free_body *free, const struct shape *shape, double out[9])
{
  const double *in = free->inertia;
  if (free->inertia_given == 6) {
    const double all[9] = {in[0], in[3], in[5], in[3], in[1], in[4], in[5], in[4], in[2]};
    memcpy(out, all, sizeof all);
    return;
  }
  double axes[9];
  shape_own_axes(shape, axes);
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) {
      out[3 * r + c] = 0.0;
      for (int k = 0; k < 3; k++) out[3 * r + c] += axes[3 * r + k] * in[k] * axes[3 * c + k];
    }
}

void free_body_finish(struct free_body *free, const struct shape *shape)
{
  struct shape_moments m = {0};
  free->mass_found = true;
  const bool needs = free->density > 0.0 || !free->center_given || !free->inertia_given;
  if (needs) shape_find_moments(shape, &m);
  if (needs && !(m.volume > 0.0 && isfinite(m.volume))) {
    snprintf(free->why, sizeof free->why,
             "a free body needs a shape with a volume, from which its mass, centre and inertia follow");
    return;
  }
  if (free->density > 0.0) free->mass = free->density * m.volume;
  double offset[3] = {0.0, 0.0, 0.0};
  if (!free->center_given)
    memcpy(free->center, m.center, sizeof m.center);
  else
    vec_sub(free->center, m.center, offset);
  if (free->inertia_given) {
    given_inertia(free, shape, free->spread);
  } else {
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 3; c++)
        free->spread[3 * r + c] = free->mass * (m.inertia[3 * r + c] +
                                                ((r == c) * vec_dot(offset, offset) - offset[r] * offset[c]));
  }
  find_axes(free->spread, free->moment, free->axes);
  const double *i = free->moment;
  if (i[0] > 0.0 && i[0] + i[1] >= i[2] * (1.0 - 1e-9)) return;
  snprintf(free->why, sizeof free->why,
           "the moments of inertia %g, %g and %g kg m^2 are those of no body: expected numbers above 0, none "
           "above the sum of the others",
           i[0], i[1], i[2]);
}

/* --- frames --- */

enum { LINE_NUMBERS = 13 };

static void numbers_of(struct body_drive *place, double *out[LINE_NUMBERS])
{
  for (int d = 0; d < 3; d++) {
    out[d] = &place->origin[d];
    out[7 + d] = &place->velocity[d];
    out[10 + d] = &place->spin[d];
  }
  for (int d = 0; d < 4; d++) out[3 + d] = &place->turn[d];
}

int free_body_line(char *text, const char *name, const struct body_drive *place)
{
  struct body_drive copy = *place;
  double *number[LINE_NUMBERS];
  int used = sprintf(text, "%s", name);
  numbers_of(&copy, number);
  for (int n = 0; n < LINE_NUMBERS; n++) used += sprintf(text + used, " %.17g", *number[n]);
  return used + sprintf(text + used, "\n");
}

void free_bodies_place(const struct body *bodies, int count, const char *lines, double time)
{
  for (int k = 0; k < count; k++)
    if (bodies[k].free) bodies[k].free->placed.on = false;
  for (const char *line = lines; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    struct body_drive place = {.on = true, .since = time};
    char name[BODY_NAME];
    double *number[LINE_NUMBERS];
    int length = 0;
    _Static_assert(BODY_NAME == 72, "the width below is one less");
    if (sscanf(line, "%71s%n", name, &length) != 1) return;
    numbers_of(&place, number);
    for (int n = 0; n < LINE_NUMBERS; n++) {
      int more = 0;
      if (sscanf(line + length, " %lf%n", number[n], &more) != 1) return;
      length += more;
    }
    for (int k = 0; k < count; k++)
      if (bodies[k].free && strcmp(bodies[k].name, name) == 0) bodies[k].free->placed = place;
  }
}

/* --- state --- */

void free_inertia(const struct free_body *free, const double turn[4], double inertia[9])
{
  double r[9], t[9];
  quaternion_matrix(turn, r);
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++)
      t[3 * a + b] = r[3 * a] * free->spread[b] + r[3 * a + 1] * free->spread[3 + b] +
                     r[3 * a + 2] * free->spread[6 + b];
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++)
      inertia[3 * a + b] = t[3 * a] * r[3 * b] + t[3 * a + 1] * r[3 * b + 1] + t[3 * a + 2] * r[3 * b + 2];
}

static bool turns_freely(const struct free_body *free)
{
  return !free->lock[3] && !free->lock[4] && !free->lock[5];
}

static void matrix_times(const double a[9], const double x[3], double out[3])
{
  double product[3];
  for (int d = 0; d < 3; d++) product[d] = vec_dot(a + 3 * d, x);
  memcpy(out, product, sizeof product);
}

void free_state_begin(const struct free_body *free, struct free_state *state)
{
  *state = (struct free_state){.turn = {1.0}};
  memcpy(state->center, free->center, sizeof state->center);
  memcpy(state->velocity, free->velocity, sizeof state->velocity);
  matrix_times(free->spread, free->spin, state->angular);
}

void free_spin(const struct free_body *free, const struct free_state *state, double spin[3])
{
  double inertia[9], a[36] = {0.0}, inverse[36], right[6] = {0.0}, out[6];
  const bool lock[6] = {true, true, true, free->lock[3], free->lock[4], free->lock[5]};
  free_inertia(free, state->turn, inertia);
  for (int r = 0; r < 3; r++) {
    right[3 + r] = state->angular[r];
    for (int c = 0; c < 3; c++) {
      a[6 * (3 + r) + 3 + c] = inertia[3 * r + c];
      if (free->lock[3 + c]) right[3 + r] -= inertia[3 * r + c] * free->spin[c];
    }
  }
  six_invert(a, lock, inverse);
  six_multiply(inverse, right, out);
  for (int d = 0; d < 3; d++) spin[d] = free->lock[3 + d] ? free->spin[d] : out[3 + d];
}

double free_kinetic(const struct free_body *free, const struct free_state *state)
{
  double inertia[9], spin[3], angular[3];
  free_inertia(free, state->turn, inertia);
  free_spin(free, state, spin);
  matrix_times(inertia, spin, angular);
  return 0.5 * (free->mass * vec_dot(state->velocity, state->velocity) + vec_dot(spin, angular));
}

/* A point of the body at time 0, from the centre of mass now. */
static void arm_of(const struct free_body *free, const struct free_state *state, bool given,
                   const double at[3], double arm[3])
{
  double first[3] = {0.0, 0.0, 0.0};
  if (given) vec_sub(at, free->center, first);
  quaternion_rotate(state->turn, first, arm);
}

/* From the anchor of a spring to the body. */
static double stretch_of(const struct free_body *free, const struct free_state *state,
                         const struct free_spring *s, double time, double arm[3], double y[3])
{
  arm_of(free, state, s->at_given, s->at, arm);
  for (int d = 0; d < 3; d++) y[d] = state->center[d] + arm[d] - s->anchor[d] - time * s->velocity[d];
  return vec_norm(y);
}

double free_elastic(const struct free_body *free, const struct free_state *state, double time)
{
  double energy = 0.0;
  for (int k = 0; k < free->spring_count; k++) {
    const struct free_spring *s = &free->spring[k];
    double arm[3], y[3];
    const double beyond = stretch_of(free, state, s, time, arm, y) - s->length;
    if (!s->rope || beyond > 0.0) energy += 0.5 * s->stiffness * beyond * beyond;
  }
  return energy;
}

static bool push_acts(const struct free_push *push, double time)
{
  return time >= push->start && (push->end == 0.0 || time < push->end);
}

/* A spring in one step: the impulse on the body is -(rigid + matrix (E u - anchor's velocity)), with u what
 * the velocities become less what they were, and `rigid` all that is known before. */
struct spring_step {
  bool acts;
  double arm[3], matrix[9], known[3];
};

static struct spring_step spring_step(const struct free_body *free, const struct free_state *state,
                                      const struct free_spring *s, const double u[6], double time, double dt)
{
  struct spring_step out = {.acts = true};
  double y[3], e[3], v[3];
  const double l = stretch_of(free, state, s, time, out.arm, y);
  six_velocity(u, out.arm, v);
  vec_sub(v, s->velocity, v);
  if (s->length > 0.0 && l == 0.0) {
    out.acts = false;
    return out;
  }
  const double beyond = s->length > 0.0 ? 1.0 - s->length / l : 1.0;
  for (int d = 0; d < 3; d++) e[d] = beyond * y[d];
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) {
      const double one = r == c, b = s->length > 0.0 ? y[r] * y[c] / (l * l) : one;
      const double taut = s->length > 0.0 ? b + fmax(0.0, beyond) * (one - b) : one;
      out.matrix[3 * r + c] = dt * dt * s->stiffness * taut + dt * s->damping * b;
    }
  if (s->rope) {
    double ahead[3];
    vec_axpy(e, dt, v, ahead);
    if (vec_dot(y, ahead) <= 0.0) out.acts = false;
  }
  matrix_times(out.matrix, v, out.known);
  vec_axpy(out.known, dt * s->stiffness, e, out.known);
  return out;
}

void free_begin(const struct free_body *free, const struct free_state *state, const double gravity[3],
                double time, double dt, struct free_begin *begin)
{
  double inertia[9], change[6];
  memset(begin, 0, sizeof *begin);
  memcpy(begin->before, state->velocity, sizeof state->velocity);
  free_spin(free, state, begin->before + 3);
  free_inertia(free, state->turn, inertia);
  for (int r = 0; r < 3; r++) {
    begin->k[7 * r] = free->mass;
    begin->pushed[r] = dt * free->mass * gravity[r];
    for (int c = 0; c < 3; c++) begin->k[6 * (3 + r) + 3 + c] = inertia[3 * r + c];
  }
  for (int k = 0; k < free->push_count; k++) {
    const struct free_push *push = &free->push[k];
    double arm[3], six[6];
    if (!push_acts(push, time)) continue;
    arm_of(free, state, push->at_given, push->at, arm);
    six_impulse(push->force, arm, six);
    for (int d = 0; d < 3; d++) six[3 + d] += push->torque[d];
    for (int d = 0; d < 6; d++) begin->pushed[d] += dt * six[d];
  }
  for (int k = 0; k < free->spring_count; k++) {
    const struct spring_step s = spring_step(free, state, &free->spring[k], begin->before, time, dt);
    double six[6];
    if (!s.acts) continue;
    six_add(begin->k, s.arm, s.matrix);
    six_impulse(s.known, s.arm, six);
    for (int d = 0; d < 6; d++) begin->pushed[d] -= six[d];
  }
  six_invert(begin->k, free->lock, begin->inverse);
  six_multiply(begin->inverse, begin->pushed, change);
  for (int d = 0; d < 6; d++) begin->free[d] = begin->before[d] + change[d];
}

double free_work(const struct free_body *free, const struct free_state *state, const struct free_begin *begin,
                 const double gravity[3], const double after[6], const double borne[6], double time,
                 double dt)
{
  double work = 0.0, locked[6];
  for (int d = 0; d < 6; d++) locked[d] = -borne[d];
  for (int d = 0; d < 3; d++) locked[d] -= dt * free->mass * gravity[d];
  for (int k = 0; k < free->push_count; k++) {
    const struct free_push *push = &free->push[k];
    double arm[3], six[6];
    if (!push_acts(push, time)) continue;
    arm_of(free, state, push->at_given, push->at, arm);
    six_impulse(push->force, arm, six);
    for (int d = 0; d < 3; d++) six[3 + d] += push->torque[d];
    for (int d = 0; d < 6; d++) locked[d] -= dt * six[d];
    work += dt * six_dot(six, after);
  }
  for (int k = 0; k < free->spring_count; k++) {
    const struct spring_step s = spring_step(free, state, &free->spring[k], begin->before, time, dt);
    double change[6], moved[3], impulse[3], six[6];
    if (!s.acts) continue;
    for (int d = 0; d < 6; d++) change[d] = after[d] - begin->before[d];
    six_velocity(change, s.arm, moved);
    matrix_times(s.matrix, moved, impulse);
    for (int d = 0; d < 3; d++) impulse[d] = -(s.known[d] + impulse[d]);
    six_impulse(impulse, s.arm, six);
    for (int d = 0; d < 6; d++) locked[d] -= six[d];
    work -= -vec_dot(impulse, free->spring[k].velocity);
  }
  /* What a locked axis must give beyond all others, so that its component stays. */
  double inertia[9];
  free_inertia(free, state->turn, inertia);
  for (int d = 0; d < 6; d++) {
    if (!free->lock[d]) continue;
    double needed = 0.0;
    for (int c = 0; c < 3 && d >= 3; c++)
      needed += inertia[3 * (d - 3) + c] * (after[3 + c] - begin->before[3 + c]);
    work += (needed + locked[d]) * after[d];
  }
  return work;
}

/* --- turning --- */

static void turn_by(double turn[4], const double a[3])
{
  double by[4], out[4];
  quaternion_exp(a, by);
  quaternion_multiply(by, turn, out);
  memcpy(turn, out, sizeof out);
}

/* Turns about axis k by f dt times how much faster it spins than about the middle axis. */
static void turn_about(const struct free_body *free, double turn[4], const double angular[3], double f, int k,
                       double dt)
{
  double axis[3], by[3];
  quaternion_rotate(turn, free->axes[k], axis);
  const double angle = f * dt * (1.0 / free->moment[k] - 1.0 / free->moment[1]) * vec_dot(axis, angular);
  for (int d = 0; d < 3; d++) by[d] = angle * axis[d];
  turn_by(turn, by);
}

void free_advance(const struct free_body *free, const struct free_state *state, const double before[6],
                  const double after[6], double dt, struct free_state *next)
{
  double inertia[9], change[3], by[3];
  *next = *state;
  memcpy(next->velocity, after, sizeof next->velocity);
  free_inertia(free, state->turn, inertia);
  if (turns_freely(free)) {
    vec_sub(after + 3, before + 3, change);
    matrix_times(inertia, change, change);
    vec_axpy(state->angular, 1.0, change, next->angular);
  } else {
    matrix_times(inertia, after + 3, next->angular);
  }
  vec_axpy(state->center, dt, after, next->center);
  if (turns_freely(free)) {
    turn_about(free, next->turn, next->angular, 0.5, 0, dt);
    turn_about(free, next->turn, next->angular, 1.0, 2, dt);
    turn_about(free, next->turn, next->angular, 0.5, 0, dt);
    for (int d = 0; d < 3; d++) by[d] = dt * next->angular[d] / free->moment[1];
    turn_by(next->turn, by);
  } else if (!(free->lock[3] && free->lock[4] && free->lock[5]) || vec_norm(after + 3) != 0.0) {
    for (int d = 0; d < 3; d++) by[d] = dt * after[3 + d];
    turn_by(next->turn, by);
  }
  quaternion_normalize(next->turn);
}
