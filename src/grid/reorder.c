#include "grid/reorder.h"

#include "base/log.h"
#include "base/memory.h"
#include "grid/reorder_movers.h"

#include <string.h>

void reorder_fit(struct reorder *r, const struct particles *p)
{
  if (r->capacity >= p->capacity) return;
  const size_t old = (size_t)r->capacity, capacity = (size_t)p->capacity;
  r->slot = mem_resize(r->slot, old, capacity, sizeof *r->slot);
  r->home = mem_resize(r->home, old, capacity, sizeof *r->home);
  r->capacity = p->capacity;
}

void reorder_free(struct reorder *r)
{
  mem_free(r->slot);
  mem_free(r->home);
  mem_free(r->vacant);
  *r = (struct reorder){0};
}

static void stand_in_place(struct reorder *r, int32_t count)
{
  for (int32_t k = 0; k < count; k++) r->slot[k] = r->home[k] = k;
  r->homes_used = count;
  r->vacant_count = 0;
  r->moved = 0;
  r->tidy = true;
}

void reorder_reset(struct reorder *r, const struct particles *p)
{
  reorder_fit(r, p);
  stand_in_place(r, p->count);
  r->cells_known = false;
}

void reorder_vacate(struct reorder *r, int32_t home)
{
  if (r->vacant_count == r->vacant_capacity) {
    r->vacant_capacity += r->vacant_capacity / 2 + 256;
    r->vacant = mem_resize(r->vacant, (size_t)r->vacant_count, (size_t)r->vacant_capacity, sizeof *r->vacant);
  }
  r->vacant[r->vacant_count++] = home;
}

int64_t reorder_room(const struct reorder *r, const struct particles *p, int64_t arrived)
{
  const int64_t slots = p->count + arrived, homes = r->homes_used + arrived - r->vacant_count;
  return slots > homes ? slots : homes;
}

int32_t reorder_house(struct reorder *r, int32_t k)
{
  return r->home[k] = r->vacant_count ? r->vacant[--r->vacant_count] : r->homes_used++;
}

/* Where the order is found: the arrays of the state before the step, which nobody reads any more. */
struct desk {
  struct movers movers;
  int32_t leavers;     /* movers, and those who are gone */
  int32_t *marked;     /* old homes and those of who arrived; the complement where a particle left its cell */
  unsigned char *left; /* whether somebody left an old cell */
  uint64_t *cell_key;  /* the new cells */
  int32_t *cell_start;
};

static struct desk clear_desk(const struct next *old)
{
  void *spare[10];
  for (int k = 0; k < 10; k++) spare[k] = next_spare(old, k);
  return (struct desk){.movers = {.key = spare[0],
                                  .id = spare[1],
                                  .slot = spare[2],
                                  .spare_key = spare[3],
                                  .spare_id = spare[4],
                                  .spare_slot = spare[5]},
                       .marked = spare[6],
                       .cell_key = spare[7],
                       .cell_start = spare[8],
                       .left = spare[9]};
}

/* Marks who left the cell with this key out of [begin, end), and adds those who are not gone to the movers,
 * but for their ids. Nobody knows beforehand who moves, so there is no branch to predict: the next mover is
 * written over until it is one. Returns how many left. */
static int32_t find_leavers(struct desk *desk, const int32_t *home, const uint64_t *next_key, uint64_t key,
                            int32_t begin, int32_t end)
{
  int32_t *restrict marked = desk->marked, *restrict slot = desk->movers.slot, n = desk->movers.count;
  uint64_t *restrict mover_key = desk->movers.key;
  int32_t left = 0;
  for (int32_t i = begin; i < end; i++) {
    const uint64_t now = next_key[i];
    const int32_t leaves = now != key;
    marked[i] = home[i] ^ -leaves;
    mover_key[n] = now;
    slot[n] = i;
    n += leaves & (now != REORDER_GONE);
    left += leaves;
  }
  desk->movers.count = n;
  desk->leavers += left;
  return left;
}

static int32_t unmarked(int32_t home)
{
  return home < 0 ? ~home : home;
}

/* All who changed cell, cell by cell of the old order, and those who arrived. */
static void find_movers(struct desk *desk, const struct reorder *r, const struct particles *p,
                        const uint64_t *next_key, const struct grid *grid, int32_t arrived)
{
  const uint64_t nowhere = REORDER_GONE - 1; /* key of no cell: who comes from there moves */
  if (!r->cells_known) find_leavers(desk, r->home, next_key, nowhere, 0, p->count);
  for (int32_t plane = 0; r->cells_known && plane < grid->planes; plane++)
    for (int32_t c = grid->plane_cell[plane]; c < grid->plane_cell[plane + 1]; c++)
      desk->left[c] = find_leavers(desk, r->home, next_key, grid_cell_key(grid, plane, c),
                                   grid->cell_start[c], grid->cell_start[c + 1]) > 0;
  find_leavers(desk, r->home, next_key, nowhere, p->count, p->count + arrived);
  const struct movers *m = &desk->movers;
  m->key[m->count] = REORDER_GONE; /* an end that every search finds */
  for (int32_t k = 0; k < m->count; k++) m->id[k] = p->id[unmarked(desk->marked[m->slot[k]])];
}

/* Writes the new order. Particles [begin, end) of the old one come next as they are, since nobody left or
 * enters their cells: they wait until somebody comes in between, to be written at once. */
struct pen {
  int32_t *slot, *home;
  int32_t count, cells;
  int32_t begin, end;
  int32_t m; /* the next mover */
};

static void put_waiting(struct pen *pen, const struct desk *desk)
{
  const int32_t begin = pen->begin, n = pen->end - begin;
  int32_t *slot = pen->slot + pen->count;
  for (int32_t k = 0; k < n; k++) slot[k] = begin + k;
  memcpy(pen->home + pen->count, desk->marked + begin, (size_t)n * sizeof *pen->home);
  pen->count += n;
  pen->begin = pen->end;
}

static void begin_cell(struct pen *pen, const struct desk *desk, uint64_t key)
{
  desk->cell_key[pen->cells] = key;
  desk->cell_start[pen->cells++] = pen->count + pen->end - pen->begin;
}

/* Who stayed of [begin, end), without a branch as in find_leavers(). */
static void put_stayed(struct pen *pen, const int32_t *marked, int32_t begin, int32_t end)
{
  int32_t *restrict slot = pen->slot + pen->count, *restrict home = pen->home + pen->count, n = 0;
  for (int32_t i = begin; i < end; i++) {
    slot[n] = i;
    home[n] = marked[i];
    n += marked[i] >= 0;
  }
  pen->count += n;
}

/* Those who enter the cell of the next mover, among those from `begin` on who stayed in it: by id, from the
 * last on, each in his place once those behind him have made room. */
static void put_movers(struct pen *pen, const struct desk *desk, const uint64_t *id, int32_t begin)
{
  const struct movers *movers = &desk->movers;
  const int32_t first = pen->m;
  while (movers->key[pen->m] == movers->key[first]) pen->m++;
  int32_t *slot = pen->slot, *home = pen->home, k = pen->count;
  for (int32_t m = pen->m - 1; m >= first; m--) {
    const int32_t before = m - first; /* who enter and come before */
    for (; k > begin && id[home[k - 1]] > movers->id[m]; k--) {
      slot[k + before] = slot[k - 1];
      home[k + before] = home[k - 1];
    }
    slot[k + before] = movers->slot[m];
    home[k + before] = unmarked(desk->marked[movers->slot[m]]);
  }
  pen->count += pen->m - first;
}

/* Movers into cells before this key, where nobody was. */
static void put_movers_before(struct pen *pen, const struct desk *desk, const uint64_t *id, uint64_t key)
{
  while (desk->movers.key[pen->m] < key) {
    put_waiting(pen, desk);
    begin_cell(pen, desk, desk->movers.key[pen->m]);
    put_movers(pen, desk, id, pen->count);
  }
}

/* The cell with this key, once that of [begin, end), which somebody left or enters. */
static void put_changed_cell(struct pen *pen, const struct desk *desk, const uint64_t *id, uint64_t key,
                             int32_t begin, int32_t end)
{
  put_waiting(pen, desk);
  begin_cell(pen, desk, key);
  const int32_t before = pen->count;
  put_stayed(pen, desk->marked, begin, end);
  if (desk->movers.key[pen->m] == key) put_movers(pen, desk, id, before);
  pen->cells -= pen->count == before; /* all left */
  pen->begin = pen->end = end;
}

/* Merges those who stayed with the sorted movers. */
static struct grid_cells merge(const struct reorder *r, const struct desk *desk, const uint64_t *id,
                               const struct grid *grid)
{
  struct pen pen = {.slot = r->slot, .home = r->home};
  for (int32_t plane = 0; r->cells_known && plane < grid->planes; plane++)
    for (int32_t c = grid->plane_cell[plane]; c < grid->plane_cell[plane + 1]; c++) {
      const uint64_t key = grid_cell_key(grid, plane, c);
      put_movers_before(&pen, desk, id, key);
      if (desk->left[c] || desk->movers.key[pen.m] == key) {
        put_changed_cell(&pen, desk, id, key, grid->cell_start[c], grid->cell_start[c + 1]);
      } else {
        begin_cell(&pen, desk, key);
        pen.end = grid->cell_start[c + 1];
      }
    }
  put_waiting(&pen, desk);
  put_movers_before(&pen, desk, id, REORDER_GONE);
  desk->cell_start[pen.cells] = pen.count;
  return (struct grid_cells){pen.cells, desk->cell_key, desk->cell_start};
}

static int threads_of(const struct reorder *r)
{
  return r->threads > 1 ? r->threads : 1;
}

struct grid_cells reorder_particles(struct reorder *r, struct particles *p, struct next *next,
                                    const struct grid *grid, int32_t arrived)
{
  next_exchange(next, p);
  struct desk desk = clear_desk(next);
  find_movers(&desk, r, p, next->key, grid, arrived);
  movers_sort(&desk.movers, threads_of(r));
  const struct grid_cells cells = merge(r, &desk, p->id, grid);
  const int32_t stayed = p->count + arrived - desk.leavers;
  p->count = cells.start[cells.count];
  FIRN_ASSERT(p->count == stayed + desk.movers.count);
  r->moved += desk.leavers;
  r->tidy = false;
  r->cells_known = true;
  return cells;
}

bool reorder_is_untidy(const struct reorder *r, const struct particles *p)
{
  return r->moved > p->count || r->homes_used > p->count + p->count / 16 + 1024;
}

static void gather_words(uint64_t *to, const uint64_t *from, const int32_t *index, int32_t count, int threads)
{
#pragma omp parallel for num_threads(threads) if (threads > 1)
  for (int32_t k = 0; k < count; k++) to[k] = from[index[k]];
}

/* A constant goes through the keys' array, which is free by now. */
static void gather_constant(const struct particle_walk *w, const int32_t *home, int32_t count, void *spare,
                            int threads)
{
  if (field_size(w->field->type) == sizeof(uint64_t)) {
    gather_words(spare, w->array, home, count, threads);
  } else {
    uint32_t *to = spare;
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int32_t k = 0; k < count; k++) to[k] = ((const uint32_t *)w->array)[home[k]];
  }
  memcpy(w->array, spare, (size_t)count * field_size(w->field->type));
}

void reorder_tidy(struct reorder *r, struct particles *p, struct next *next)
{
  if (r->tidy) return;
  const int32_t count = p->count;
  for (struct particle_walk w = particle_walk(p); particle_next(&w);) {
    if (w.field->role == ROLE_STATE) /* into the next state's arrays, which then change places */
      gather_words(particle_array(next->p, w.field, w.component), w.array, r->slot, count, threads_of(r));
    else
      gather_constant(&w, r->home, count, next->key, threads_of(r));
  }
  next_exchange(next, p);
  stand_in_place(r, count);
}

/* Every index in [0, limit) at most once. */
static bool each_once(const int32_t *index, int32_t count, int32_t limit)
{
  unsigned char *seen = mem_alloc((size_t)limit, 1);
  bool once = true;
  for (int32_t k = 0; k < count && once; k++) {
    once = index[k] >= 0 && index[k] < limit && !seen[index[k]];
    if (once) seen[index[k]] = 1;
  }
  mem_free(seen);
  return once;
}

bool order_is_valid(const struct reorder *r, const struct particles *p, const struct grid *g)
{
  if (!each_once(r->slot, p->count, p->capacity) || !each_once(r->home, p->count, p->capacity)) return false;
  if (g->cell_start[g->cell_count] != p->count) return false;
  for (int32_t plane = 0; plane < g->planes; plane++)
    for (int32_t c = g->plane_cell[plane]; c < g->plane_cell[plane + 1]; c++)
      for (int32_t k = g->cell_start[c]; k < g->cell_start[c + 1]; k++) {
        const int32_t s = r->slot[k];
        const double x[3] = {p->x[0][s], p->x[1][s], p->x[2][s]};
        if (grid_key_of(&g->geometry, x) != grid_cell_key(g, plane, c)) return false;
        if (k > g->cell_start[c] && p->id[r->home[k - 1]] >= p->id[r->home[k]]) return false;
      }
  return true;
}
