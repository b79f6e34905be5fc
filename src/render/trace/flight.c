#include "render/trace/flight.h"

#include "render/trace/quick.h"

#include <string.h>

enum { OUTSIDE = -3 };

/* Looks for the nearest body along the rest of the ray, once. */
static void find_wall(struct ray *r, const struct medium *m)
{
  if (r->wall >= 0.0f) return;
  const double voxel = m->volume->voxel;
  double origin[3], direction[3], distance;
  for (int d = 0; d < 3; d++) {
    direction[d] = (double)r->d[d];
    origin[d] = m->volume->origin[d] + voxel * (double)(r->p[d] - r->way * r->d[d]);
  }
  const bool found = solids_cast(m->solids, m->moment, origin, direction, &distance, &r->body);
  r->wall = found ? (float)(distance / voxel) : INFINITY;
}

void ray_wall(const struct ray *r, const struct medium *m, double out[3])
{
  const struct volume *v = m->volume;
  const double rest = (double)r->wall - (double)r->way;
  for (int d = 0; d < 3; d++) out[d] = v->origin[d] + v->voxel * ((double)r->p[d] + rest * (double)r->d[d]);
}

/* a where the mask is set, else b. */
static inline index4 choose(index4 mask, index4 a, index4 b)
{
  return (mask & a) | (~mask & b);
}

/* The cell of 2^bits voxels a side that the ray is in, and how far it is to the face where it leaves it. */
struct cell {
  index4 low;
  axes4 face;
  float distance;
  int axis;
};

static inline struct cell cell_of(const struct ray *r, int bits)
{
  struct cell cell = {.low = r->voxel >> bits << bits};
  const index4 forward = r->d > 0.0f; /* -1 where it is true */
  cell.face = __builtin_convertvector(cell.low - (forward << bits), axes4);
  const axes4 t = (cell.face - r->p) * r->inverse;
  cell.axis = t[1] < t[0] ? 1 : 0;
  if (t[2] < t[cell.axis]) cell.axis = 2;
  cell.distance = t[cell.axis] > 0.0f ? t[cell.axis] : 0.0f;
  return cell;
}

/* Moves through the face into the next cell. Rounding may put p a little outside of the cell along the other
 * axes: the voxel stays inside. */
static inline void cross(struct ray *r, const struct cell *cell, int bits)
{
  const int32_t last = (1 << bits) - 1;
  const index4 high = cell->low + (index4){last, last, last, last};
  const int a = cell->axis;
  r->p += cell->distance * r->d;
  index4 at = __builtin_convertvector(r->p, index4);
  at = choose(at < cell->low, cell->low, at);
  at = choose(at > high, high, at);
  at[a] = r->d[a] > 0.0f ? high[a] + 1 : cell->low[a] - 1;
  r->p[a] = cell->face[a];
  r->voxel = at;
  r->way += cell->distance;
}

static inline void locate(struct ray *r, const struct volume *v)
{
  const int32_t at[3] = {r->voxel[0], r->voxel[1], r->voxel[2]};
  for (int d = 0; d < 3; d++)
    if (at[d] < v->low[d] || at[d] >= v->high[d]) {
      r->tile = OUTSIDE;
      return;
    }
  r->tile = volume_find(v, at);
}

void ray_turn(struct ray *r, const float direction[3])
{
  const axes4 d = {direction[0], direction[1], direction[2], 1.0f}, tiny = {1e-12f, 1e-12f, 1e-12f, 1.0f};
  r->d = (axes4)choose(d == 0.0f, (index4)tiny, (index4)d); /* so that the inverse is finite */
  r->inverse = 1.0f / r->d;
  r->way = 0.0f;
  r->wall = -1.0f;
}

/* From outside the box of bricks to its face; false if the ray passes by. */
static bool enter(struct ray *r, const struct volume *v)
{
  float from = 0.0f, to = INFINITY;
  int axis = -1;
  for (int d = 0; d < 3; d++) {
    const float a = ((float)v->low[d] - r->p[d]) * r->inverse[d];
    const float b = ((float)v->high[d] - r->p[d]) * r->inverse[d];
    const float first = a < b ? a : b, last = a < b ? b : a;
    if (first > from) {
      from = first;
      axis = d;
    }
    to = last < to ? last : to;
  }
  if (!(from < to)) return false;
  for (int d = 0; d < 3; d++) {
    r->p[d] += from * r->d[d];
    if (d == axis) r->p[d] = (float)(r->d[d] > 0.0f ? v->low[d] : v->high[d]);
    const int32_t at = (int32_t)floorf(r->p[d]), last = v->high[d] - 1;
    r->voxel[d] = at < v->low[d] ? v->low[d] : at > last ? last : at;
  }
  r->way = from;
  return true;
}

void ray_begin(struct ray *r, const struct medium *m, const double origin[3], const double direction[3])
{
  const struct volume *v = m->volume;
  const float d[3] = {(float)direction[0], (float)direction[1], (float)direction[2]};
  bool inside = true;
  memset(r, 0, sizeof *r);
  ray_turn(r, d);
  for (int k = 0; k < 3; k++) {
    r->p[k] = (float)((origin[k] - v->origin[k]) / v->voxel);
    inside = inside && r->p[k] >= (float)v->low[k] && r->p[k] < (float)v->high[k];
  }
  r->tile = OUTSIDE;
  if (inside) r->voxel = __builtin_convertvector(r->p, index4);
  if (inside || enter(r, v)) locate(r, v);
}

/* Crosses cells without snow, up to the next tile. False if the ray ends. */
static bool cross_empty(struct ray *r, const struct medium *m)
{
  find_wall(r, m);
  while (r->tile < 0 && r->tile != OUTSIDE) {
    const int bits = r->tile == -1 ? 3 : 6;
    const struct cell cell = cell_of(r, bits);
    if (r->way + cell.distance >= r->wall) return false;
    cross(r, &cell, bits);
    locate(r, m->volume);
  }
  return r->tile >= 0;
}

/* Whether two voxels lie in one block. */
static inline bool same_block(index4 a, index4 b)
{
  typedef uint64_t pair __attribute__((vector_size(16)));
  const index4 bits = (a ^ b) >> VOLUME_BLOCK_BITS;
  const pair both = (pair)bits;
  return (both[0] | (both[1] & 0xffffffffu)) == 0;
}

/* Goes through blocks until the optical distance tau is used up: to the next tentative collision, with *ratio
 * the part of the majorant that is really there. */
static inline enum flight_end tentative(struct ray *r, const struct medium *m, float scale, float tau,
                                        float *ratio)
{
  const struct volume *v = m->volume;
  for (;;) {
    if (r->tile < 0 && !cross_empty(r, m)) return r->wall < INFINITY ? FLIGHT_HITS : FLIGHT_ESCAPES;
    const struct volume_tile *tile = &v->tile[r->tile];
    const int block = volume_block(r->voxel[0], r->voxel[1], r->voxel[2]);
    const float most = tile->block[block], wanted = tau / (most * scale);
    const float step = wanted < 1e6f ? wanted : 1e6f; /* also where there is nothing */
    if (tile->near[block]) find_wall(r, m);
    const axes4 q = r->p + step * r->d;
    const index4 to = __builtin_convertvector(q, index4);
    if (same_block(to, r->voxel)) {
      if (r->wall >= 0.0f && r->way + step >= r->wall) return FLIGHT_HITS;
      r->p = q;
      r->voxel = to;
      r->way += step;
      const axes4 f = q - __builtin_convertvector(to, axes4);
      *ratio = volume_at(tile, to[0], to[1], to[2], f[0], f[1], f[2]) / most;
      return FLIGHT_COLLIDES;
    }
    const struct cell cell = cell_of(r, VOLUME_BLOCK_BITS);
    if (r->wall >= 0.0f && r->way + cell.distance >= r->wall) return FLIGHT_HITS;
    const int32_t before = r->voxel[cell.axis];
    cross(r, &cell, VOLUME_BLOCK_BITS);
    tau -= cell.distance * most * scale;
    tau = tau > 0.0f ? tau : 0.0f;
    if ((before ^ r->voxel[cell.axis]) >> 3) locate(r, v);
  }
}

enum flight_end flight(struct ray *r, const struct medium *m, float scale, struct sampler *sampler)
{
  float u[2], ratio;
  sampler_next(sampler, u);
  for (;;) {
    const enum flight_end end = tentative(r, m, scale, quick_exponential(u[0]), &ratio);
    if (end != FLIGHT_COLLIDES || u[1] < ratio) return end;
    sampler_next(sampler, u);
  }
}

float flight_transmittance(struct ray *r, const struct medium *m, float scale, struct sampler *sampler)
{
  float through = 1.0f, u[2], ratio;
  for (;;) {
    sampler_next(sampler, u);
    const enum flight_end end = tentative(r, m, scale, quick_exponential(u[0]), &ratio);
    if (end == FLIGHT_HITS) return 0.0f;
    if (end == FLIGHT_ESCAPES) return through;
    through *= 1.0f - ratio;
    if (through < 0.3f) { /* roulette: deep in the snow nothing much will come of it */
      if (u[1] >= 2.0f * through) return 0.0f;
      through = 0.5f;
    }
  }
}
