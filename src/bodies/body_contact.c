#include "bodies/body_contact.h"

#include "base/fmath.h"
#include "base/memory.h"
#include "base/vec.h"
#include "bodies/free_body.h"
#include "levelset/shape_moments.h"

#include <math.h>
#include <string.h>

enum { RIM = 16, MOST_SWEEPS = 200 };
static const double on_surface = 0.05; /* cells from the surface within which a point counts as on it */

/* --- balls --- */

static void add_ball(struct balls *balls, const struct body *body, const double from_center[3], double radius)
{
  balls->ball = mem_reserve(balls->ball, &balls->capacity, balls->count + 1, sizeof *balls->ball);
  struct ball *ball = &balls->ball[balls->count++];
  vec_sub(from_center, body->pivot, ball->place);
  ball->radius = radius;
}

static void add_corners(struct balls *balls, const struct body *body)
{
  const struct shape *s = &body->shape;
  for (int corner = 0; corner < 8; corner++) {
    double own[3], place[3];
    for (int d = 0; d < 3; d++) own[d] = corner >> (2 - d) & 1 ? s->half[d] : -s->half[d];
    if (s->kind == SHAPE_WEDGE && (corner >> 1 & 1)) {
      if (corner >> 2 & 1) continue; /* both ends of the edge once */
      own[0] = 0.0;
    }
    shape_to_world(s, own, place);
    add_ball(balls, body, place, 0.0);
  }
}

static void add_rims(struct balls *balls, const struct body *body)
{
  const struct shape *s = &body->shape;
  double axes[9];
  shape_own_axes(s, axes);
  for (int end = -1; end <= 1; end += 2) {
    const double radius = s->kind == SHAPE_CONE && end > 0 ? s->amount : s->radius;
    for (int k = 0; k < (radius > 0.0 ? RIM : 1); k++) {
      double sine, cosine, place[3];
      fmath_sincos_degrees(k * 360.0 / RIM, &sine, &cosine);
      for (int d = 0; d < 3; d++)
        place[d] =
            end * s->half[0] * s->axis[d] + radius * (cosine * axes[3 * d + 1] + sine * axes[3 * d + 2]);
      add_ball(balls, body, place, 0.0);
    }
  }
}

/* Points of a lattice of twice the grid's spacing that are near the surface, moved onto it. `first` and
 * `count` are of lattice points on each axis; boxes without surface are skipped whole. */
static void add_lattice(struct balls *balls, const struct body *body, double spacing, const int64_t first[3],
                        const int64_t count[3])
{
  const struct shape *s = &body->shape;
  double low[3], middle[3], half[3], x[3], n[3], least, most;
  int widest = 0;
  for (int d = 0; d < 3; d++) {
    low[d] = 2.0 * spacing * (double)first[d];
    half[d] = spacing * (double)(count[d] - 1);
    middle[d] = low[d] + half[d];
    if (count[d] > count[widest]) widest = d;
  }
  shape_to_world(s, middle, x);
  vec_axpy(x, 1.0, s->center, x);
  shape_range(s, x, vec_norm(half), &least, &most);
  if (least >= spacing || most <= -spacing) return;
  if (count[widest] > 1) {
    int64_t from[3], part[3];
    memcpy(from, first, sizeof from);
    memcpy(part, count, sizeof part);
    part[widest] = count[widest] / 2;
    add_lattice(balls, body, spacing, from, part);
    from[widest] += part[widest];
    part[widest] = count[widest] - part[widest];
    add_lattice(balls, body, spacing, from, part);
    return;
  }
  const double distance = shape_distance(s, x, n);
  if (!(fabs(distance) < spacing)) return;
  vec_axpy(x, -distance, n, x);
  /* Where the distance is only a bound, the point is not on the surface. */
  if (fabs(shape_distance(s, x, NULL)) > on_surface * spacing) return;
  vec_sub(x, s->center, x);
  add_ball(balls, body, x, 0.0);
}

static void add_surface(struct balls *balls, const struct body *body, double spacing)
{
  const struct shape *s = &body->shape;
  int64_t first[3], count[3];
  if (!isfinite(shape_reach(s))) return;
  for (int d = 0; d < 3; d++) {
    first[d] = (int64_t)floor(0.5 * s->low[d] / spacing);
    count[d] = (int64_t)ceil(0.5 * s->high[d] / spacing) - first[d] + 1;
  }
  add_lattice(balls, body, spacing, first, count);
}

void balls_create(struct balls *balls, const struct body *body, double spacing)
{
  static const double middle[3] = {0.0, 0.0, 0.0};
  const struct shape *s = &body->shape;
  double end[3];
  switch (s->kind) {
  case SHAPE_NONE:
  case SHAPE_PLANE:
  case SHAPE_KEYS:
  case SHAPE_HEIGHTFIELD: return;
  case SHAPE_SPHERE: add_ball(balls, body, middle, s->radius); return;
  case SHAPE_CAPSULE:
    vec_axpy(middle, -s->half[0], s->axis, end);
    add_ball(balls, body, end, s->radius);
    vec_axpy(middle, s->half[0], s->axis, end);
    add_ball(balls, body, end, s->radius);
    return;
  case SHAPE_BOX:
  case SHAPE_WEDGE: add_corners(balls, body); return;
  case SHAPE_CYLINDER:
  case SHAPE_CONE: add_rims(balls, body); return;
  default: add_surface(balls, body, spacing);
  }
}

void balls_free(struct balls *balls)
{
  mem_free(balls->ball);
  *balls = (struct balls){0};
}

/* --- contacts --- */

static void velocity_of(const struct solid *solid, const double x[3], double out[3])
{
  double arm[3];
  if (!solid->free) {
    body_velocity(solid->pose, x, out);
    return;
  }
  vec_sub(x, solid->pose->origin, arm);
  six_velocity(solid->u, arm, out);
}

static void relative(const struct solid *solids, const struct body_touching *c, double out[3])
{
  double other[3];
  velocity_of(&solids[c->body[0]], c->at, out);
  velocity_of(&solids[c->body[1]], c->at, other);
  vec_sub(out, other, out);
}

static void aim(const struct solid *solids, struct body_touching *c, double spacing, double dt,
                const double gravity[3])
{
  const struct body *i = solids[c->body[0]].pose->body, *j = solids[c->body[1]].pose->body;
  double v[3];
  c->friction = sqrt(i->rub * j->rub);
  c->target = c->gap >= 0.0 ? -c->gap / dt : fmin(0.2 * fmax(-c->gap - 0.01 * spacing, 0.0) / dt, 0.5);
  relative(solids, c, v);
  const double approach = vec_dot(v, c->normal);
  if (approach < -fmax(0.05, 4.0 * vec_norm(gravity) * dt) && c->gap + dt * approach < 0.0)
    c->target = fmax(c->target, -fmax(i->bounce, j->bounce) * approach);
}

bool touching_distance(const struct shape *shape, const double x[3], double spacing, double *distance,
                       double n[3])
{
  enum { MOST = 32 };
  const double near = on_surface * spacing;
  double p[3] = {x[0], x[1], x[2]}, left, away[3], toward[3];
  *distance = left = shape_distance(shape, x, n);
  if (*distance <= 0.0) return true;
  memcpy(toward, n, sizeof toward);
  for (int k = 0; k < MOST; k++) {
    vec_axpy(p, -left, toward, p);
    left = shape_distance(shape, p, toward);
    if (fabs(left) > near) continue;
    if (k == 0) return true; /* the distance was right */
    vec_sub(x, p, away);
    *distance = vec_normalize(away);
    memcpy(n, away, sizeof away);
    return true;
  }
  return false;
}

static void find_balls(struct touchings *t, const struct solid *solids, const struct balls *balls, int i,
                       int j, double spacing, double dt, const double gravity[3])
{
  const struct body_pose *of = &solids[i].pose[0], *against = solids[j].pose;
  double least, most;
  const double reach = shape_reach(&of->shape);
  if (!isfinite(reach)) return;
  shape_range(&against->shape, of->shape.center, reach, &least, &most);
  if (least >= spacing) return;
  for (int64_t b = 0; b < balls[i].count; b++) {
    const struct ball *ball = &balls[i].ball[b];
    struct body_touching c = {.body = {i, j}};
    double x[3];
    for (int d = 0; d < 3; d++) x[d] = of->origin[d] + vec_dot(of->turn + 3 * d, ball->place);
    shape_range(&against->shape, x, ball->radius, &least, &most);
    if (least >= spacing) continue;
    double distance;
    if (!touching_distance(&against->shape, x, spacing, &distance, c.normal)) continue;
    c.gap = distance - ball->radius;
    if (!(c.gap < spacing)) continue;
    vec_axpy(x, -ball->radius, c.normal, c.at);
    aim(solids, &c, spacing, dt, gravity);
    t->touching = mem_reserve(t->touching, &t->capacity, t->count + 1, sizeof *t->touching);
    t->touching[t->count++] = c;
  }
}

void touchings_find(struct touchings *t, const struct solid *solids, const struct balls *balls,
                    int body_count, double spacing, double dt, const double gravity[3])
{
  t->count = 0;
  for (int i = 0; i < body_count; i++)
    for (int j = i + 1; j < body_count; j++) {
      const bool there = solids[i].pose->shape.kind != SHAPE_NONE && solids[j].pose->shape.kind != SHAPE_NONE;
      if (!there || !(solids[i].free || solids[j].free)) continue;
      find_balls(t, solids, balls, i, j, spacing, dt, gravity);
      find_balls(t, solids, balls, j, i, spacing, dt, gravity);
    }
}

/* --- sweeps --- */

/* What a contact needs of its bodies, once for all sweeps. */
struct contact_matrix {
  bool skipped;
  double tangent[2][3];
  double normal, across; /* 1/kg: k_n, k_t */
};

static void respond(const double a[36], const double impulse[3], const double arm[3], double out[3])
{
  double six[6], u[6];
  six_impulse(impulse, arm, six);
  six_multiply(a, six, u);
  six_velocity(u, arm, out);
}

/* d W e for the directions d and e. */
static double stiffness(const struct solid *solids, const struct body_touching *c, bool alone,
                        const double d[3], const double e[3])
{
  double sum = 0.0;
  for (int side = 0; side < 2; side++) {
    const struct solid *s = &solids[c->body[side]];
    double arm[3], v[3];
    if (!s->free) continue;
    vec_sub(c->at, s->pose->origin, arm);
    respond(alone ? s->inverse : s->response, e, arm, v);
    sum += vec_dot(d, v);
  }
  return sum;
}

void touching_tangents(const double n[3], double t1[3], double t2[3])
{
  double e[3] = {0.0, 0.0, 0.0};
  int least = 0;
  for (int k = 1; k < 3; k++)
    if (fabs(n[k]) < fabs(n[least])) least = k;
  e[least] = 1.0;
  vec_cross(n, e, t1);
  vec_normalize(t1);
  vec_cross(n, t1, t2);
}

static struct contact_matrix matrix_of(const struct solid *solids, const struct body_touching *c)
{
  struct contact_matrix m = {.skipped = false};
  double a[2][2];
  touching_tangents(c->normal, m.tangent[0], m.tangent[1]);
  m.normal = stiffness(solids, c, false, c->normal, c->normal);
  m.skipped = m.normal <= 1e-9 * stiffness(solids, c, true, c->normal, c->normal);
  for (int r = 0; r < 2; r++)
    for (int k = 0; k < 2; k++) a[r][k] = stiffness(solids, c, false, m.tangent[r], m.tangent[k]);
  const double difference = a[0][0] - a[1][1], shear = a[0][1] + a[1][0];
  m.across = 0.5 * (a[0][0] + a[1][1] + sqrt(difference * difference + shear * shear));
  return m;
}

static void apply(struct solid *solids, struct body_touching *c, const double change[3])
{
  for (int side = 0; side < 2; side++) {
    struct solid *s = &solids[c->body[side]];
    double arm[3], impulse[3], six[6], u[6];
    if (!s->free) continue;
    vec_sub(c->at, s->pose->origin, arm);
    for (int d = 0; d < 3; d++) impulse[d] = side ? -change[d] : change[d];
    six_impulse(impulse, arm, six);
    six_multiply(s->response, six, u);
    for (int d = 0; d < 6; d++) {
      s->u[d] += u[d];
      s->given[d] += six[d];
    }
  }
  for (int d = 0; d < 3; d++) c->lambda[d] += change[d];
}

/* Returns by how much velocities change (m/s). */
static double sweep_one(struct solid *solids, struct body_touching *c, const struct contact_matrix *m)
{
  double v[3], change[3], most = 0.0;
  relative(solids, c, v);
  const double before = vec_dot(c->lambda, c->normal);
  const double now = fmax(0.0, before - (vec_dot(v, c->normal) - c->target) / m->normal);
  for (int d = 0; d < 3; d++) change[d] = (now - before) * c->normal[d];
  apply(solids, c, change);
  most = fabs(now - before) * m->normal;
  if (!(c->friction > 0.0) || !(m->across > 0.0)) return most;
  double tau[2], old[2];
  relative(solids, c, v);
  for (int k = 0; k < 2; k++) {
    old[k] = vec_dot(c->lambda, m->tangent[k]);
    tau[k] = old[k] - vec_dot(v, m->tangent[k]) / m->across;
  }
  const double size = sqrt(tau[0] * tau[0] + tau[1] * tau[1]), limit = c->friction * now;
  for (int k = 0; k < 2 && size > limit; k++) tau[k] *= limit / size;
  for (int d = 0; d < 3; d++)
    change[d] = (tau[0] - old[0]) * m->tangent[0][d] + (tau[1] - old[1]) * m->tangent[1][d];
  apply(solids, c, change);
  const double slip = sqrt((tau[0] - old[0]) * (tau[0] - old[0]) + (tau[1] - old[1]) * (tau[1] - old[1]));
  return fmax(most, slip * m->across);
}

int touchings_sweep(struct touchings *t, struct solid *solids, double z)
{
  struct contact_matrix *m = mem_alloc((size_t)t->count, sizeof *m);
  int sweeps = 0;
  for (int32_t k = 0; k < t->count; k++) m[k] = matrix_of(solids, &t->touching[k]);
  for (double most = INFINITY; !(most <= 1e-13 * z) && sweeps < MOST_SWEEPS; sweeps++) {
    most = 0.0;
    for (int32_t k = 0; k < t->count; k++)
      if (!m[k].skipped) most = fmax(most, sweep_one(solids, &t->touching[k], &m[k]));
  }
  mem_free(m);
  return sweeps;
}
