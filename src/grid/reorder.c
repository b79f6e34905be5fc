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
  if (r->threads == 0) r->threads = 1;
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

/* The old order in parts, one a thread: cells [cell, of the next part), and what became of them. */
struct part {
  int32_t cell;         /* its first */
  int32_t begin, end;   /* particles of the old order; the last part has those who arrived too */
  int32_t leavers;      /* who left their cell, those who are gone included */
  int32_t first, count; /* its particles in the new order */
  int32_t cells;        /* and cells */
  uint64_t key;         /* of the cell it begins at: who enters a cell before belongs to an earlier part */
  struct mover_range movers; /* as they were found, from `begin` on */
};

/* Where the order is found: the arrays of the state before the step, which nobody reads any more. */
struct desk {
  struct movers movers;
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

/* First cell whose particles begin at `particle` or later. */
static int32_t cell_from(const struct grid *grid, int32_t particle)
{
  int32_t low = 0, high = grid->cell_count;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (grid->cell_start[middle] < particle)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Cuts the old order into parts of as many particles as cells allow. Where its cells are not known, all is
 * one part. */
static void cut_parts(const struct reorder *r, const struct particles *p, const struct grid *grid,
                      int32_t arrived, struct part *part)
{
  const int parts = r->threads;
  const int32_t cells = r->cells_known ? grid->cell_count : 0;
  for (int w = 0; w < parts; w++) {
    const int32_t share = (int32_t)((int64_t)p->count * w / parts);
    const int32_t cell = w == 0 ? 0 : cells ? cell_from(grid, share) : 0;
    part[w] = (struct part){.cell = cell,
                            .begin = w == 0  ? 0
                                     : cells ? grid->cell_start[cell]
                                             : p->count,
                            .key = w == 0         ? 0
                                   : cell < cells ? grid->cell_key[cell]
                                                  : REORDER_GONE};
  }
  for (int w = 0; w < parts; w++) part[w].end = w + 1 < parts ? part[w + 1].begin : p->count + arrived;
}

/* Marks who left out of [begin, end), and adds those who are not gone to the slots of the movers, of which
 * there are n. Nobody knows beforehand who moves, so there is no branch to predict: the next slot is written
 * over until it is a mover's. Returns how many left. */
static int32_t mark_leavers(const struct desk *desk, const int32_t *restrict home,
                            const unsigned char *restrict fate, int32_t begin, int32_t end, int32_t *n)
{
  int32_t *restrict marked = desk->marked, *restrict slot = desk->movers.slot, at = *n, left = 0;
  for (int32_t i = begin; i < end; i++) {
    const int32_t leaves = fate[i] != FATE_STAYS;
    marked[i] = home[i] ^ -leaves;
    slot[at] = i;
    at += fate[i] == FATE_MOVES;
    left += leaves;
  }
  *n = at;
  return left;
}

/* Who left their cells out of a part's particles, cell by cell. Slots of movers are written from the part's
 * first particle on. */
static void find_leavers(const struct desk *desk, const struct reorder *r, const unsigned char *fate,
                         const struct grid *grid, const struct part *last, struct part *part)
{
  const int32_t cells = r->cells_known ? (part == last ? grid->cell_count : part[1].cell) : 0;
  int32_t n = part->begin, rest = part->begin;
  for (int32_t c = part->cell; c < cells; c++) {
    const int32_t left = mark_leavers(desk, r->home, fate, rest, grid->cell_start[c + 1], &n);
    desk->left[c] = left > 0;
    part->leavers += left;
    rest = grid->cell_start[c + 1];
  }
  part->leavers += mark_leavers(desk, r->home, fate, rest, part->end, &n);
  part->movers = (struct mover_range){part->begin, n};
}

static int32_t unmarked(int32_t home)
{
  return home < 0 ? ~home : home;
}

/* All who changed cell, part by part of the old order, and those who arrived. */
static void find_movers(struct desk *desk, const struct reorder *r, const struct particles *p,
                        const unsigned char *fate, const struct grid *grid, struct part *part)
{
  const struct movers *m = &desk->movers;
  const int parts = r->threads;
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int w = 0; w < parts; w++) {
    find_leavers(desk, r, fate, grid, &part[parts - 1], &part[w]);
    for (int32_t k = part[w].movers.begin; k < part[w].movers.end; k++) {
      const int32_t i = m->slot[k];
      const double x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]};
      m->key[k] = grid_key_inside(&grid->geometry, x);
      m->id[k] = p->id[unmarked(desk->marked[i])];
    }
  }
}

/* Writes the new order. Particles [begin, end) of the old one come next as they are, since nobody left or
 * enters their cells: they wait until somebody comes in between, to be written at once. */
struct pen {
  int32_t *slot, *home;
  int32_t count, limit; /* particles written before those that wait; where the part ends */
  int32_t cells;        /* where the next cell is written */
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

static void put_cell(struct pen *pen, const struct desk *desk, uint64_t key, int32_t start)
{
  desk->cell_key[pen->cells] = key;
  desk->cell_start[pen->cells++] = start;
}

/* Who stayed of [begin, end). Nobody knows beforehand who did, so there is no branch to predict: the next
 * place is written over until it is taken. At the end of the part nobody is left who could take it. */
static void put_stayed(struct pen *pen, const int32_t *marked, int32_t begin, int32_t end)
{
  int32_t *restrict slot = pen->slot + pen->count, *restrict home = pen->home + pen->count, n = 0;
  const int32_t room = pen->limit - pen->count;
  for (int32_t i = begin; i < end && n < room; i++) {
    slot[n] = i;
    home[n] = marked[i];
    n += marked[i] >= 0;
  }
  pen->count += n;
}

/* Those who enter the cell of the next mover, among those from `begin` on who stayed in it: by id. Insertion
 * from the end, so that each moves once. */
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
    put_cell(pen, desk, desk->movers.key[pen->m], pen->count);
    put_movers(pen, desk, id, pen->count);
  }
}

/* The cell with this key, once that of [begin, end), which somebody left or enters. */
static void put_changed_cell(struct pen *pen, const struct desk *desk, const uint64_t *id, uint64_t key,
                             int32_t begin, int32_t end)
{
  put_waiting(pen, desk);
  const int32_t before = pen->count;
  put_stayed(pen, desk->marked, begin, end);
  if (desk->movers.key[pen->m] == key) put_movers(pen, desk, id, before);
  if (pen->count > before) put_cell(pen, desk, key, before); /* else all left */
  pen->begin = pen->end = end;
}

/* Merges those of a part's cells who stayed with the movers into cells before the key `until`. New cells are
 * written where the part's particles are, of which each cell has one at least. */
static void merge_part(const struct reorder *r, const struct desk *desk, const uint64_t *id,
                       const struct grid *grid, struct part *part, int32_t cell_end, uint64_t until)
{
  struct pen pen = {.slot = r->slot,
                    .home = r->home,
                    .count = part->first,
                    .limit = part->first + part->count,
                    .cells = part->first,
                    .begin = part->begin,
                    .end = part->begin,
                    .m = movers_from(&desk->movers, part->key)};
  for (int32_t c = part->cell; c < cell_end; c++) {
    const uint64_t key = grid->cell_key[c];
    put_movers_before(&pen, desk, id, key);
    if (desk->left[c] || desk->movers.key[pen.m] == key) {
      put_changed_cell(&pen, desk, id, key, grid->cell_start[c], grid->cell_start[c + 1]);
    } else {
      put_cell(&pen, desk, key, pen.count + pen.end - pen.begin);
      pen.end = grid->cell_start[c + 1];
    }
  }
  put_waiting(&pen, desk);
  put_movers_before(&pen, desk, id, until);
  FIRN_ASSERT(pen.count == pen.limit);
  part->cells = pen.cells - part->first;
}

/* Where the new order of each part begins: behind those who stayed in the parts before and who enter them. */
static void place_parts(const struct reorder *r, const struct desk *desk, struct part *part)
{
  int32_t stayed = 0;
  for (int w = 0; w < r->threads; w++) {
    const int32_t stay = part[w].end - part[w].begin - part[w].leavers,
                  entered = movers_from(&desk->movers, part[w].key),
                  enter =
                      w + 1 < r->threads ? movers_from(&desk->movers, part[w + 1].key) : desk->movers.count;
    part[w].first = stayed + entered;
    part[w].count = stay + enter - entered;
    stayed += stay;
  }
}

static struct grid_cells merge(const struct reorder *r, const struct desk *desk, const uint64_t *id,
                               const struct grid *grid, struct part *part)
{
  const int parts = r->threads;
  const int32_t known = r->cells_known ? grid->cell_count : 0;
  place_parts(r, desk, part);
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int w = 0; w < parts; w++) {
    const bool last = w + 1 == parts;
    merge_part(r, desk, id, grid, &part[w], last ? known : part[w + 1].cell,
               last ? REORDER_GONE : part[w + 1].key);
  }
  struct grid_cells cells = {0, desk->cell_key, desk->cell_start};
  for (int w = 0; w < parts; w++) {
    memmove(desk->cell_key + cells.count, desk->cell_key + part[w].first,
            (size_t)part[w].cells * sizeof *desk->cell_key);
    memmove(desk->cell_start + cells.count, desk->cell_start + part[w].first,
            (size_t)part[w].cells * sizeof *desk->cell_start);
    cells.count += part[w].cells;
  }
  desk->cell_start[cells.count] = part[parts - 1].first + part[parts - 1].count;
  return cells;
}

struct grid_cells reorder_particles(struct reorder *r, struct particles *p, struct next *next,
                                    const struct grid *grid, int32_t arrived)
{
  struct part part[MAX_THREADS];
  struct mover_range found[MAX_THREADS];
  FIRN_ASSERT(r->threads >= 1 && r->threads <= MAX_THREADS);
  next_exchange(next, p);
  struct desk desk = clear_desk(next);
  cut_parts(r, p, grid, arrived, part);
  find_movers(&desk, r, p, next->fate, grid, part);
  int32_t leavers = 0;
  for (int w = 0; w < r->threads; w++) {
    found[w] = part[w].movers;
    leavers += part[w].leavers;
  }
  movers_sort(&desk.movers, found, r->threads);
  desk.movers.key[desk.movers.count] = REORDER_GONE; /* an end that every search finds */
  const struct grid_cells cells = merge(r, &desk, p->id, grid, part);
  const int32_t stayed = p->count + arrived - leavers;
  p->count = cells.start[cells.count];
  FIRN_ASSERT(p->count == stayed + desk.movers.count);
  r->moved += leavers;
  r->tidy = false;
  r->cells_known = true;
  return cells;
}

bool reorder_is_untidy(const struct reorder *r, const struct particles *p)
{
  return r->moved > p->count || r->homes_used > p->count + p->count / 16 + 1024;
}

/* to[k] = from[index[k]], words of eight bytes. */
static void gather_words(const struct reorder *r, uint64_t *to, const uint64_t *from, const int32_t *index,
                         int32_t count)
{
#pragma omp parallel for num_threads(r->threads) schedule(static)
  for (int32_t k = 0; k < count; k++) to[k] = from[index[k]];
}

/* An array that has no second copy: through one of the other state's, which is free. */
static void gather_in_place(const struct reorder *r, const struct particle_walk *w, const int32_t *index,
                            int32_t count, void *spare)
{
  if (field_size(w->field->type) == sizeof(uint64_t)) {
    gather_words(r, spare, w->array, index, count);
  } else {
    uint32_t *to = spare;
    for (int32_t k = 0; k < count; k++) to[k] = ((const uint32_t *)w->array)[index[k]];
  }
  memcpy(w->array, spare, (size_t)count * field_size(w->field->type));
}

void reorder_tidy(struct reorder *r, struct particles *p, struct next *next)
{
  if (r->tidy) return;
  const int32_t count = p->count;
  for (struct particle_walk w = particle_walk(next->p); particle_next(&w);)
    gather_words(r, w.array, particle_array(p, w.field, w.component), r->slot, count);
  next_exchange(next, p);
  for (struct particle_walk w = particle_walk(p); particle_next(&w);)
    if (!particle_array(next->p, w.field, w.component))
      gather_in_place(r, &w, w.field->role == ROLE_STATE ? r->slot : r->home, count, next_spare(next, 0));
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
  for (int32_t c = 0; c < g->cell_count; c++)
    for (int32_t k = g->cell_start[c]; k < g->cell_start[c + 1]; k++) {
      const int32_t s = r->slot[k];
      const double x[3] = {p->x[0][s], p->x[1][s], p->x[2][s]};
      if (grid_key_of(&g->geometry, x) != g->cell_key[c]) return false;
      if (k > g->cell_start[c] && p->id[r->home[k - 1]] >= p->id[r->home[k]]) return false;
    }
  return true;
}
