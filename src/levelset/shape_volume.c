/* The volume is summed over boxes. One that shape_range() finds wholly inside or outside counts as such,
 * others are cut in eight, and in the smallest the surface is taken as the plane that distance and normal
 * say. The error falls with the square of the smallest box; at 1/256 of the bounds it is some 1e-5 of the
 * volume.
 *
 * That is wrong where another surface is in the same box: then the distances at its two ends along the normal
 * are not those to the plane. If the volume in such boxes matters, the sum is taken again, with care. If the
 * normals all over a box agree, its surfaces are parallel: they are found one by one along the normal, and
 * each piece of the shape is what lies between two planes, as thin as it may be. A thin sheet needs no small
 * boxes then. If the normals do not agree, an edge is in the box, and it is cut further: edges are lines, so
 * they have few boxes. */
#include "levelset/shape_volume.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/vec.h"
#include "levelset/prune.h"
#include "levelset/ray.h"

#include <math.h>
#include <stddef.h>

enum {
  PLAIN = 8,       /* cuts of the bounds for the plain sum */
  PLAIN_THIN = 9,  /* and where a part is said to be thin */
  ASKED = 8,       /* one box in so many is looked at for other surfaces */
  CAREFUL = 7,     /* cuts for the careful sum */
  COARSER = 2,     /* fewer cuts suffice for a sheet that is thinner than the usual boxes */
  DEEPER = 3,      /* more cuts at the edges of sheets */
  FINEST = 6,      /* more cuts all over, of a shape that fills little of its bounds */
  FEW = 12500,     /* boxes at the surface */
  SPARE = 1 << 15, /* boxes that are cut beyond the usual, at most: a sheet may be crumpled all over */
  SAMPLED = 5,     /* cuts of the inside where its points are asked whether they count */
  POINTS = 4,      /* of a piece that are asked */
  MOST_SURFACES = 16
};
static const double parallel = 0.98; /* cosine between normals that agree */
static const double doubtful = 5e-3; /* part of the volume in boxes with more than a plane that matters */
static const double same = 2e-3;     /* part of the volume by which the two sums may differ */

struct measure {
  const struct shape *shape;
  bool plain;
  int nodes; /* of the shape's tree, if it can be pruned; else 0 */
  int cuts;  /* of the bounds for an ordinary surface */
  bool (*counts)(const void *context, const double x[3]);
  const void *context;
  int64_t spare, boxes;
  uint64_t asked;
  double doubt; /* m^3 in boxes with more than a plane */
};

struct box {
  double own[3], half[3]; /* middle and half edges, in the shape's own axes */
  double x[3];            /* the middle in the world */
  int depth;              /* cuts so far */
};

static double box_volume(const struct box *box)
{
  return 8.0 * box->half[0] * box->half[1] * box->half[2];
}

/* The surface that is nearest to the middle of a box, across n at -d along it. */
struct surface {
  double n[3], d;
  double own_n[3]; /* in the shape's axes */
  double reach;    /* of the box to both sides along n */
  double edge[3];  /* of the box */
};

static void find_nearest(const struct shape *s, const struct box *box, struct surface *f)
{
  f->d = shape_distance(s, box->x, f->n);
  f->reach = 0.0;
  for (int k = 0; k < 3; k++) {
    f->edge[k] = 2.0 * box->half[k];
    f->own_n[k] = s->axes[k] * f->n[0] + s->axes[3 + k] * f->n[1] + s->axes[6 + k] * f->n[2];
    f->reach += fabs(f->own_n[k]) * box->half[k];
  }
}

/* The line through a box along the normal; it begins at -reach. */
static struct shape_ray ray_through(const struct shape *s, const struct box *box, const struct surface *f)
{
  struct shape_ray ray = {.shape = s, .length = 2.0 * f->reach};
  for (int k = 0; k < 3; k++) ray.along[k] = f->n[k];
  vec_axpy(box->x, -f->reach, f->n, ray.from);
  return ray;
}

/* Whether nothing else is within `depth` of the surface, as far as the distances there show it. */
static bool is_plane(const struct shape_ray *ray, const struct surface *f, double depth, double tolerance)
{
  const double at = f->reach - f->d;
  return fabs(ray_distance(ray, at - depth) + depth) < tolerance * depth &&
         fabs(ray_distance(ray, at + depth) - depth) < tolerance * depth;
}

/* The polynomial of the cut corner, with the other corners taken away again. */
double volume_cut_fraction(double d, const double n[3], const double edge[3])
{
  double c[3], sum = 0.0, largest = 0.0;
  for (int k = 0; k < 3; k++) largest = fmax(largest, fabs(n[k]) * edge[k]);
  for (int k = 0; k < 3; k++) {
    c[k] = fmax(fabs(n[k]) * edge[k], 1e-4 * largest); /* a face along the plane has no corner to cut */
    sum += c[k];
  }
  double t = 0.5 * sum - d;
  if (t <= 0.0) return 0.0;
  if (t >= sum) return 1.0;
  const bool flip = t > 0.5 * sum; /* the smaller part is the more exact one */
  if (flip) t = sum - t;
  double volume = t * t * t;
  for (int k = 0; k < 3; k++) {
    const double one = t - c[k], two = t - c[k] - c[(k + 1) % 3];
    if (one > 0.0) volume -= one * one * one;
    if (two > 0.0) volume += two * two * two;
  }
  volume /= 6.0 * c[0] * c[1] * c[2];
  return flip ? 1.0 - volume : volume;
}

/* The parts of a box, cut in two along each axis. With care a short one is not cut: flat bounds become cubes
 * first. Returns how many there are. */
static int cut(const struct measure *m, const struct box *box, struct box part[8])
{
  const double longest = fmax(box->half[0], fmax(box->half[1], box->half[2]));
  int count = 1;
  part[0] = *box;
  part[0].depth++;
  for (int k = 0; k < 3; k++) {
    if (!m->plain && box->half[k] < 0.125 * longest) continue;
    const double half = 0.5 * box->half[k];
    for (int c = 0; c < count; c++) {
      part[c].half[k] = half;
      part[count + c] = part[c];
      part[c].own[k] -= half;
      part[count + c].own[k] += half;
    }
    count *= 2;
  }
  for (int c = 0; c < count; c++) {
    shape_to_world(m->shape, part[c].own, part[c].x);
    vec_axpy(part[c].x, 1.0, m->shape->center, part[c].x);
  }
  return count;
}

/* Whether the normal is the same all over a box. */
static bool is_parallel(const struct shape *s, const struct box *box, const double n[3])
{
  for (int corner = 0; corner < 8; corner++) {
    double own[3], x[3], other[3];
    for (int k = 0; k < 3; k++) own[k] = corner >> k & 1 ? box->half[k] : -box->half[k];
    shape_to_world(s, own, x);
    vec_axpy(x, 1.0, box->x, x);
    shape_distance(s, x, other);
    if (!(fabs(vec_dot(n, other)) > parallel)) return false;
  }
  return true;
}

/* The usual case: a single sheet, whose thickness the distance at `depth` behind its nearer surface says.
 * Some more distances show whether that is all. Places are along the ray. Returns -1 if it is not so. */
static int find_sheet(const struct shape_ray *ray, const struct surface *f, double depth, double place[2])
{
  const double outer = f->reach - f->d, thickness = depth - ray_distance(ray, outer - depth);
  const double inner = outer - thickness, little = 1e-2 * thickness;
  if (!(fabs(ray_distance(ray, inner)) < 0.1 * little)) return -1;
  if (!(fabs(ray_distance(ray, 0.5 * (inner + outer)) + 0.5 * thickness) < 0.1 * little)) return -1;
  if (outer < ray->length && !(ray_distance(ray, ray->length) > ray->length - outer - little)) return -1;
  if (inner > 0.0 && !(ray_distance(ray, 0.0) > inner - little)) return -1;
  place[0] = fmax(inner, 0.0);
  place[1] = fmin(outer, ray->length);
  return place[0] < place[1] ? 2 : 0;
}

/* Places on the ray where it enters and leaves the shape in turn. */
static int find_surfaces(const struct shape_ray *ray, double place[MOST_SURFACES])
{
  struct ray_place here = shape_ray_begin(ray);
  int count = 0;
  if (here.distance <= 0.0) place[count++] = 0.0;
  while (here.at < ray->length && count < MOST_SURFACES - 1) {
    const double next = shape_ray_next(ray, &here);
    if (next < ray->length) place[count++] = next;
  }
  if (count % 2) place[count++] = ray->length;
  return count;
}

/* Part of a piece of a box that counts, by some points: between two planes across n, at from .. to from the
 * middle. */
static double part_that_counts(struct measure *m, const struct box *box, const double n[3], double from,
                               double to)
{
  int count = 0;
  if (!m->counts) return 1.0;
  for (int point = 0; point < POINTS; point++) {
    double own[3], x[3];
    const uint64_t k = m->asked++;
    for (uint64_t d = 0; d < 3; d++) own[d] = box->half[d] * (2.0 * rng_uniform(5, k, d) - 1.0);
    shape_to_world(m->shape, own, x);
    const double wanted = from + (to - from) * (point + rng_uniform(5, k, 3)) / POINTS;
    vec_axpy(x, wanted - vec_dot(x, n), n, x);
    vec_axpy(x, 1.0, box->x, x);
    count += m->counts(m->context, x);
  }
  return (double)count / POINTS;
}

static double volume_in(struct measure *m, const struct box *box);

static double sum_parts(struct measure *m, const struct box *box)
{
  struct box part[8];
  const int count = cut(m, box, part);
  double sum = 0.0;
  for (int c = 0; c < count; c++) sum += volume_in(m, &part[c]);
  return sum;
}

/* A box with surfaces across the same normal at these places of the ray through it. */
static double sum_sheets(struct measure *m, const struct box *box, const struct surface *f,
                         const double *place, int count)
{
  double sum = 0.0;
  for (int k = 0; k + 1 < count; k += 2) {
    const double from = place[k] - f->reach, to = place[k + 1] - f->reach;
    const double below = from > -f->reach ? volume_cut_fraction(-from, f->own_n, f->edge) : 0.0;
    const double above = to < f->reach ? volume_cut_fraction(-to, f->own_n, f->edge) : 1.0;
    sum += (above - below) * part_that_counts(m, box, f->n, fmax(from, -f->reach), fmin(to, f->reach));
  }
  return sum * box_volume(box);
}

/* Part of a box's volume that is in doubt when it is taken as cut by one plane. An edge is an error of higher
 * order, unless most boxes have one. */
static double doubt_in(const struct shape *s, const struct box *box, const struct surface *f)
{
  const struct shape_ray ray = ray_through(s, box, f);
  if (is_plane(&ray, f, 2.0 * f->reach, 0.25)) return 0.0;
  return is_parallel(s, box, f->n) ? 1.0 : 0.1;
}

/* The plain sum: one plane a box. */
static double volume_at_plane(struct measure *m, const struct box *box)
{
  struct surface f;
  find_nearest(m->shape, box, &f);
  if (m->boxes++ % ASKED == 0) m->doubt += ASKED * box_volume(box) * doubt_in(m->shape, box, &f);
  return box_volume(box) * volume_cut_fraction(f.d, f.own_n, f.edge);
}

/* The careful sum, of a box that surfaces may cut. */
static double volume_at_sheets(struct measure *m, const struct box *box)
{
  const int more = m->cuts > box->depth ? m->cuts - box->depth : 0;
  if (more > COARSER) return sum_parts(m, box);
  struct surface f;
  find_nearest(m->shape, box, &f);
  const struct shape_ray ray = ray_through(m->shape, box, &f);
  const double depth = ldexp(2.0 * f.reach, -more);
  const bool plane = is_plane(&ray, &f, depth, 0.02), edge = !plane && !is_parallel(m->shape, box, f.n);
  if (more && (edge || plane)) return sum_parts(m, box);
  if (edge && box->depth < m->cuts + DEEPER && m->spare > 0) {
    m->spare--;
    return sum_parts(m, box);
  }
  double place[MOST_SURFACES] = {-INFINITY, f.reach - f.d};
  int count = plane ? 2 : find_sheet(&ray, &f, depth, place);
  if (count < 0) count = find_surfaces(&ray, place);
  m->boxes++;
  return sum_sheets(m, box, &f, place, count);
}

/* A box that is all inside. */
static double volume_inside(struct measure *m, const struct box *box)
{
  static const double any[3] = {1.0, 0.0, 0.0};
  if (m->counts && box->depth < SAMPLED) return sum_parts(m, box);
  return box_volume(box) * part_that_counts(m, box, any, -box->half[0], box->half[0]);
}

static double volume_near(struct measure *m, const struct box *box)
{
  double least, most;
  shape_range(m->shape, box->x, vec_norm(box->half), &least, &most);
  if (least > 0.0) return 0.0;
  if (most <= 0.0) return volume_inside(m, box);
  if (!m->plain) return volume_at_sheets(m, box);
  return box->depth < m->cuts ? sum_parts(m, box) : volume_at_plane(m, box);
}

/* Half diagonals of the box around which nothing is asked in its sum, if the tree shall be pruned here; 0 if
 * not. The plain sum asks no farther than three of its smallest boxes', which are at least two cuts away. The
 * careful one looks for a sheet of at most four behind a surface within one, two away from it. */
static double asked_around(const struct measure *m, const struct box *box)
{
  if (m->nodes < 3) return 0.0;
  if (m->plain) return box->depth > 0 && box->depth % 2 == 0 && box->depth <= m->cuts - 2 ? 2.0 : 0.0;
  return box->depth == CAREFUL ? 8.0 : 0.0;
}

static double volume_in(struct measure *m, const struct box *box)
{
  const double around = asked_around(m, box);
  if (around == 0.0) return volume_near(m, box);
  const struct shape *whole = m->shape;
  struct shape *near = mem_alloc((size_t)m->nodes, sizeof *near);
  prune(whole, box->x, around * vec_norm(box->half), near);
  m->shape = near;
  const double sum = volume_near(m, box);
  m->shape = whole;
  mem_free(near);
  return sum;
}

/* False if the volume is plain to see: zero or infinite, in *volume. */
static bool find_bounds(const struct shape *s, struct box *all, double *volume)
{
  double least = INFINITY, most = 0.0;
  all->depth = 0;
  for (int d = 0; d < 3; d++) {
    all->own[d] = 0.5 * (s->low[d] + s->high[d]);
    all->half[d] = 0.5 * (s->high[d] - s->low[d]);
    least = fmin(least, all->half[d]);
    most = fmax(most, all->half[d]);
  }
  *volume = isfinite(most) ? 0.0 : INFINITY;
  shape_to_world(s, all->own, all->x);
  vec_axpy(all->x, 1.0, s->center, all->x);
  return isfinite(most) && least > 0.0;
}

/* The thinnest part that the shape itself names. */
static double thinnest(const struct shape *s)
{
  double thin = s->kind == SHAPE_SHELL || s->kind == SHAPE_LAYER ? s->amount : INFINITY;
  for (int c = 0; c < s->child_count; c++) thin = fmin(thin, thinnest(&s->child[c]));
  return thin;
}

double volume_where(const struct shape *s, bool (*counts)(const void *context, const double x[3]),
                    const void *context)
{
  struct box all;
  double volume;
  if (!find_bounds(s, &all, &volume)) return volume;
  for (int cuts = CAREFUL; cuts <= CAREFUL + FINEST; cuts++) {
    struct measure m = {.shape = s,
                        .nodes = prune_count(s),
                        .cuts = cuts,
                        .counts = counts,
                        .context = context,
                        .spare = SPARE};
    volume = volume_in(&m, &all);
    if (m.boxes > FEW) break;
  }
  return volume;
}

double volume_of(const struct shape *s)
{
  struct box all;
  double volume;
  if (!find_bounds(s, &all, &volume)) return volume;
  const double longest = fmax(all.half[0], fmax(all.half[1], all.half[2]));
  struct measure m = {.shape = s, .plain = true, .cuts = PLAIN, .nodes = prune_count(s)};
  if (ldexp(longest, 2 - PLAIN) > thinnest(s)) m.cuts = PLAIN_THIN;
  const double plain = volume_in(&m, &all);
  if (m.doubt <= doubtful * plain) return plain;
  const double careful = volume_where(s, NULL, NULL);
  return fabs(careful - plain) <= same * careful ? plain : careful; /* the plain one is smoother */
}
