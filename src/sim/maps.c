#include "sim/maps.h"

#include "base/fmath.h"
#include "base/memory.h"
#include "base/simd.h"
#include "decomposition/migrate.h"
#include "material/models.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 16, CELLS = SIDE * SIDE, WIDEST = 4 }; /* grid cells that a particle reaches over its slab */

/* Whole numbers of quanta. */
struct sums {
  int64_t volume, mass, momentum;
};

struct block {
  struct sums sum[CELLS];
  float kept[CELLS][MAP_KEPT];
  bool counted; /* it is in the list of this step */
};

struct maps {
  const struct scene_terrain *terrain;
  int64_t columns, rows, across; /* cells; blocks along a row of them */
  double first[2], cell;         /* m, middle of the first cell along x and z */
  double least;                  /* m^3, of a particle, for its side */
  double volume, mass, momentum; /* quanta: m^3, kg, kg m/s */
  struct block **block;
  int64_t block_count;
  int64_t *touched; /* blocks with sums */
  int64_t count, capacity;
  struct mailbox out, in;
};

/* A sum on its way to the rank that the cell belongs to. */
struct part {
  int64_t at;
  struct sums sum;
};

/* A cell as it is kept. */
struct kept_row {
  int64_t at;
  float value[MAP_KEPT];
};

/* A power of two near x times 2^-32: what one particle brings is rounded by some 1e-10, and 10^5 of them over
 * a cell leave room in 64 bits. */
static double quantum(double x)
{
  int exponent;
  frexp(x, &exponent);
  return ldexp(1.0, exponent - 32);
}

struct maps *maps_create(const struct scene *scene)
{
  const struct scene_terrain *t = &scene->terrain;
  if (!t->given || !t->maps || !t->raster) return NULL;
  const double cell = scene->spacing * scene->spacing * scene->spacing;
  double density = 0.0;
  for (int k = 0; k < scene->material_count; k++) density = fmax(density, scene->materials[k].density);
  struct maps *m = mem_alloc(1, sizeof *m);
  m->terrain = t;
  m->columns = t->raster->columns;
  m->rows = t->raster->rows;
  m->across = (m->columns + SIDE - 1) / SIDE;
  m->cell = t->raster->cell;
  m->first[0] = t->raster->west - t->origin[0];
  m->first[1] = t->origin[1] - t->raster->north;
  m->least = 1e-9 * cell;
  m->volume = quantum(cell);
  m->mass = quantum(cell * density);
  m->momentum = quantum(cell * density * 64.0);
  m->block_count = m->across * ((m->rows + SIDE - 1) / SIDE);
  m->block = mem_alloc((size_t)m->block_count, sizeof *m->block);
  m->out.record_size = m->in.record_size = sizeof(struct part);
  return m;
}

void maps_destroy(struct maps **maps)
{
  struct maps *m = *maps;
  if (!m) return;
  for (int64_t k = 0; k < m->block_count; k++) mem_free(m->block[k]);
  mem_free(m->block);
  mem_free(m->touched);
  mailbox_free(&m->out);
  mailbox_free(&m->in);
  mem_free(m);
  *maps = NULL;
}

static struct block *block_at(struct maps *m, int64_t column, int64_t row, int *inside)
{
  const int64_t k = row / SIDE * m->across + column / SIDE;
  *inside = (int)(row % SIDE * SIDE + column % SIDE);
  if (!m->block[k]) {
    m->block[k] = mem_alloc(1, sizeof *m->block[k]);
    for (int c = 0; c < CELLS; c++) m->block[k]->kept[c][MAP_ARRIVAL] = NAN;
  }
  return m->block[k];
}

/* The sums of a cell; its block enters the list. */
static struct sums *sums_at(struct maps *m, int64_t column, int64_t row)
{
  int inside;
  struct block *b = block_at(m, column, row, &inside);
  if (!b->counted) {
    m->touched = mem_reserve(m->touched, &m->capacity, m->count + 1, sizeof *m->touched);
    m->touched[m->count++] = row / SIDE * m->across + column / SIDE;
    memset(b->sum, 0, sizeof b->sum);
    b->counted = true;
  }
  return &b->sum[inside];
}

/* V0 J_E J_P of the k-th particle (m^3). */
static double volume_of_particle(const struct sim *sim, int32_t slot, int32_t home)
{
  const struct particles *p = sim->p;
  if (sim->scene->has_heat && p->liquid[slot] != 0.0) return p->volume[home] * p->fe[0][slot];
  double f[9];
  for (int k = 0; k < 9; k++) f[k] = p->fe[k][slot];
  const double j = f[0] * (f[4] * f[8] - f[5] * f[7]) - f[1] * (f[3] * f[8] - f[5] * f[6]) +
                   f[2] * (f[3] * f[7] - f[4] * f[6]);
  const double kept = p->jp[slot];
  const bool logarithm = models[sim->scene->materials[particle_material(p, home)].model]->log_volume;
  const double plastic = !logarithm ? kept : kept == 0.0 ? 1.0 : vd_exp(vd_set(kept))[0];
  return p->volume[home] * j * plastic;
}

/* The part of a square of this side (m) around x that lies over each of the cells along an axis. */
struct cover {
  int64_t from, to;
  double low, high, first, cell; /* m */
};

static struct cover cover_of(double x, double side, double first, double cell, int64_t count)
{
  struct cover c = {.low = x - 0.5 * side, .high = x + 0.5 * side, .first = first, .cell = cell};
  c.from = (int64_t)fmax(floor((c.low - first) / cell + 0.5), 0.0);
  c.to = (int64_t)fmin(floor((c.high - first) / cell + 0.5), (double)(count - 1));
  return c;
}

static double share_of(const struct cover *c, int64_t k)
{
  const double begin = c->first + ((double)k - 0.5) * c->cell;
  return fmax(0.0, fmin(c->high, begin + c->cell) - fmax(c->low, begin)) / (c->high - c->low);
}

/* A particle covers a square of the side of its cube: without it, single particles would stand as towers
 * where the terrain's cells are not much larger than those of the grid. */
static void add_particle(struct sim *sim, struct maps *m, int32_t k)
{
  const struct particles *p = sim->p;
  const int32_t slot = sim->order.slot[k], home = sim->order.home[k];
  const double v[3] = {p->v[0][slot], p->v[1][slot], p->v[2][slot]};
  const double speed = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]), mass = p->mass[home];
  const double volume = volume_of_particle(sim, slot, home), side = fmath_cbrt(fmax(volume, m->least));
  const struct cover x = cover_of(p->x[0][slot], side, m->first[0], m->cell, m->columns),
                     z = cover_of(p->x[2][slot], side, m->first[1], m->cell, m->rows);
  for (int64_t j = z.from; j <= z.to; j++)
    for (int64_t i = x.from; i <= x.to; i++) {
      const double share = share_of(&x, i) * share_of(&z, j);
      if (!(share > 0.0)) continue;
      struct sums *sum = sums_at(m, i, j);
      sum->volume += (int64_t)(share * volume / m->volume);
      sum->mass += (int64_t)(share * mass / m->mass);
      sum->momentum += (int64_t)(share * mass * speed / m->momentum);
    }
}

static void find_sums(struct sim *sim, struct maps *m)
{
  for (int64_t k = 0; k < m->count; k++) m->block[m->touched[k]]->counted = false;
  m->count = 0;
  for (int32_t k = 0; k < sim->p->count; k++) add_particle(sim, m, k);
}

/* --- cells of several ranks --- */

/* Where slab `rank` begins along the slab axis (m). */
static double cut_at(const struct sim *sim, int rank)
{
  const struct grid_geometry *g = &sim->mesh.grid->geometry;
  const struct slabs *s = sim->mesh.slabs;
  if (rank <= 0) return -INFINITY;
  if (rank >= s->count) return INFINITY;
  return g->lower[0] + g->spacing * ((double)(BLOCK_X * s->cut[rank]) - (g->support == 4 ? 0.0 : 0.5));
}

/* The rank that sums a cell. */
static int owner_of(const struct sim *sim, const struct maps *m, int64_t column, int64_t row)
{
  const int axis = sim->mesh.grid->geometry.axis[0], slabs = sim->mesh.slabs->count;
  if (axis == 1) return (int)((row * m->columns + column) % slabs);
  const double begin = m->first[axis / 2] + m->cell * ((double)(axis == 0 ? column : row) - 0.5);
  int low = 0, high = slabs - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (cut_at(sim, middle) <= begin)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* Whether a cell may get snow of more than two slabs; the same on all ranks. */
static bool may_go_far(const struct sim *sim, const struct maps *m)
{
  const struct slabs *s = sim->mesh.slabs;
  if (sim->mesh.grid->geometry.axis[0] == 1) return true;
  for (int r = 1; r + 1 < s->count; r++)
    if (sim->scene->spacing * (double)(BLOCK_X * (s->cut[r + 1] - s->cut[r]) - WIDEST) < m->cell) return true;
  return false;
}

static void exchange_sums(struct sim *sim, struct maps *m)
{
  if (sim->comm.size == 1) return;
  m->out.count = 0;
  for (int64_t k = 0; k < m->count; k++) {
    struct block *b = m->block[m->touched[k]];
    for (int c = 0; c < CELLS; c++) {
      if (!b->sum[c].mass && !b->sum[c].volume) continue;
      const int64_t column = m->touched[k] % m->across * SIDE + c % SIDE,
                    row = m->touched[k] / m->across * SIDE + c / SIDE;
      const int owner = owner_of(sim, m, column, row);
      if (owner == sim->comm.rank) continue;
      struct part *part = mailbox_add(&m->out, owner);
      *part = (struct part){row * m->columns + column, b->sum[c]};
      b->sum[c] = (struct sums){0};
    }
  }
  migrate(&sim->comm, &m->out, &m->in, may_go_far(sim, m));
  for (int64_t k = 0; k < m->in.count; k++) {
    const struct part *part = (const struct part *)(const void *)m->in.records + k;
    struct sums *sum = sums_at(m, part->at % m->columns, part->at / m->columns);
    sum->volume += part->sum.volume;
    sum->mass += part->sum.mass;
    sum->momentum += part->sum.momentum;
  }
}

/* --- cells --- */

static double height(const struct maps *m, int64_t column, int64_t row)
{
  return (double)m->terrain->raster->value[row * m->columns + column];
}

/* Cosine of the slope, by differences of the neighbours. */
static double cosine_at(const struct maps *m, int64_t column, int64_t row)
{
  const int64_t west = column > 0 ? column - 1 : 0, east = column + 1 < m->columns ? column + 1 : column,
                top = row > 0 ? row - 1 : 0, bottom = row + 1 < m->rows ? row + 1 : row;
  const double a = (height(m, east, row) - height(m, west, row)) / ((double)(east - west) * m->cell),
               b = (height(m, column, bottom) - height(m, column, top)) / ((double)(bottom - top) * m->cell);
  return 1.0 / sqrt(1.0 + a * a + b * b);
}

/* m, normal to the ground. */
static double thickness_of(const struct maps *m, const struct sums *sum, double cosine)
{
  return (double)sum->volume * m->volume / (m->cell * m->cell) * cosine;
}

static double speed_of(const struct maps *m, const struct sums *sum)
{
  return sum->mass > 0 ? (double)sum->momentum * m->momentum / ((double)sum->mass * m->mass) : 0.0;
}

static void judge_cell(const struct maps *m, const struct sums *sum, double cosine, double time, bool first,
                       float kept[MAP_KEPT])
{
  const double thickness = thickness_of(m, sum, cosine), speed = speed_of(m, sum);
  if (first) kept[MAP_FIRST] = (float)thickness;
  if (!(thickness > m->terrain->least)) return;
  const double density = (double)sum->mass * m->mass / ((double)sum->volume * m->volume);
  kept[MAP_THICKNESS] = fmaxf(kept[MAP_THICKNESS], (float)thickness);
  kept[MAP_SPEED] = fmaxf(kept[MAP_SPEED], (float)speed);
  kept[MAP_PRESSURE] = fmaxf(kept[MAP_PRESSURE], (float)(density * speed * speed));
  if (isnan(kept[MAP_ARRIVAL])) kept[MAP_ARRIVAL] = (float)time;
}

void maps_add(struct sim *sim, double time, bool first)
{
  struct maps *m = sim->maps;
  if (!m) return;
  find_sums(sim, m);
  exchange_sums(sim, m);
  for (int64_t k = 0; k < m->count; k++) {
    struct block *b = m->block[m->touched[k]];
    for (int c = 0; c < CELLS; c++) {
      if (b->sum[c].volume <= 0) continue;
      const int64_t column = m->touched[k] % m->across * SIDE + c % SIDE,
                    row = m->touched[k] / m->across * SIDE + c / SIDE;
      judge_cell(m, &b->sum[c], cosine_at(m, column, row), time, first, b->kept[c]);
    }
  }
}

/* --- all ranks' --- */

/* Whether a kept value is one that the cell has from its beginning. */
static bool is_blank(const float value[MAP_KEPT])
{
  for (int k = 0; k < MAP_KEPT; k++)
    if (k == MAP_ARRIVAL ? !isnan(value[k]) : value[k] != 0.0f) return false;
  return true;
}

static void merge(const float from[MAP_KEPT], float to[MAP_KEPT])
{
  for (int k = 0; k < MAP_KEPT; k++)
    to[k] =
        k == MAP_ARRIVAL ? fminf(from[k], to[k]) : fmaxf(from[k], to[k]); /* of a number and NaN the number */
}

static int by_cell(const void *a, const void *b)
{
  const int64_t x = ((const struct kept_row *)a)->at, y = ((const struct kept_row *)b)->at;
  return (x > y) - (x < y);
}

/* Rank 0: the cells of all ranks that have something, each once, in order. Collective. */
static struct kept_row *gather_kept(const struct sim *sim, int64_t *count)
{
  const struct maps *m = sim->maps;
  struct kept_row *own = NULL;
  int64_t found = 0, capacity = 0, all = 0;
  for (int64_t k = 0; k < m->block_count; k++)
    for (int c = 0; m->block[k] && c < CELLS; c++) {
      if (is_blank(m->block[k]->kept[c])) continue;
      own = mem_reserve(own, &capacity, found + 1, sizeof *own);
      const int64_t column = k % m->across * SIDE + c % SIDE, row = k / m->across * SIDE + c / SIDE;
      memset(&own[found], 0, sizeof *own);
      own[found].at = row * m->columns + column;
      memcpy(own[found++].value, m->block[k]->kept[c], sizeof own->value);
    }
  struct kept_row *rows = comm_gather_rows(&sim->comm, own, found, sizeof *own, &all);
  mem_free(own);
  *count = 0;
  if (!rows) return NULL;
  qsort(rows, (size_t)all, sizeof *rows, by_cell);
  for (int64_t k = 0; k < all; k++)
    if (*count > 0 && rows[*count - 1].at == rows[k].at)
      merge(rows[k].value, rows[*count - 1].value);
    else
      rows[(*count)++] = rows[k];
  return rows;
}

static float shown(const struct maps *m, const struct kept_row *row, enum map_kind kind)
{
  if (kind != MAP_VERTICAL) return row->value[kind];
  const double cosine = cosine_at(m, row->at % m->columns, row->at / m->columns);
  return (float)((double)row->value[MAP_THICKNESS] / cosine);
}

static struct raster *kept_raster(struct sim *sim, enum map_kind kind)
{
  const struct maps *m = sim->maps;
  int64_t count;
  struct kept_row *rows = gather_kept(sim, &count);
  struct raster *r = NULL;
  if (sim->comm.rank == 0) {
    const struct raster *t = m->terrain->raster;
    r = raster_create(t->columns, t->rows, t->west, t->north, t->cell);
    for (int64_t k = 0; k < t->columns * t->rows && kind == MAP_ARRIVAL; k++) r->value[k] = NAN;
    for (int64_t k = 0; k < count; k++) r->value[rows[k].at] = shown(m, &rows[k], kind);
  }
  mem_free(rows);
  return r;
}

/* Of the present state. */
static struct raster *present_raster(struct sim *sim, enum map_kind kind)
{
  static const double at_rest = 1.0; /* m/s */
  struct maps *m = sim->maps;
  struct part *own = NULL;
  int64_t found = 0, capacity = 0, all = 0;
  find_sums(sim, m);
  exchange_sums(sim, m);
  for (int64_t k = 0; k < m->count; k++)
    for (int c = 0; c < CELLS; c++) {
      const struct sums *sum = &m->block[m->touched[k]]->sum[c];
      if (sum->volume <= 0 || (kind == MAP_DEPOSIT && !(speed_of(m, sum) < at_rest))) continue;
      const int64_t column = m->touched[k] % m->across * SIDE + c % SIDE,
                    row = m->touched[k] / m->across * SIDE + c / SIDE;
      own = mem_reserve(own, &capacity, found + 1, sizeof *own);
      own[found++] = (struct part){row * m->columns + column, *sum};
    }
  struct part *rows = comm_gather_rows(&sim->comm, own, found, sizeof *own, &all);
  struct raster *r = NULL;
  if (sim->comm.rank == 0) {
    const struct raster *t = m->terrain->raster;
    r = raster_create(t->columns, t->rows, t->west, t->north, t->cell);
    for (int64_t k = 0; k < all; k++)
      r->value[rows[k].at] = (float)thickness_of(
          m, &rows[k].sum, cosine_at(m, rows[k].at % m->columns, rows[k].at / m->columns));
  }
  mem_free(rows);
  mem_free(own);
  return r;
}

struct raster *maps_raster(struct sim *sim, enum map_kind kind)
{
  return kind == MAP_FINAL || kind == MAP_DEPOSIT ? present_raster(sim, kind) : kept_raster(sim, kind);
}

char *maps_save(const struct sim *sim)
{
  enum { LINE = 160 };
  int64_t count;
  if (!sim->maps) return NULL;
  struct kept_row *rows = gather_kept(sim, &count);
  char *text = NULL;
  if (sim->comm.rank == 0) {
    text = mem_alloc((size_t)(count + 1) * LINE, 1);
    size_t used = 0;
    text[0] = '\0';
    for (int64_t k = 0; k < count; k++) {
      used += (size_t)snprintf(text + used, LINE, "%lld", (long long)rows[k].at);
      for (int v = 0; v < MAP_KEPT; v++)
        used += (size_t)snprintf(text + used, LINE / 8, " %a", (double)rows[k].value[v]);
      text[used++] = '\n';
      text[used] = '\0';
    }
  }
  mem_free(rows);
  return text;
}

void maps_restore(struct sim *sim, const char *text)
{
  struct maps *m = sim->maps;
  if (!m || !text || sim->comm.rank != 0) return; /* the greatest of all ranks' counts: one rank has it */
  while (*text) {
    char *end;
    const long long at = strtoll(text, &end, 10);
    if (end == text || at < 0 || at >= m->rows * m->columns) return;
    float value[MAP_KEPT];
    for (int v = 0; v < MAP_KEPT; v++) {
      const char *from = end;
      value[v] = (float)strtod(from, &end);
      if (end == from) return;
    }
    int inside;
    struct block *b = block_at(m, at % m->columns, at / m->columns, &inside);
    merge(value, b->kept[inside]);
    text = *end == '\n' ? end + 1 : end;
  }
}
