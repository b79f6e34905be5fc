/* The order (cell, id) over many steps, against a plain sort: particles that move, leave, arrive, in cells
 * with many particles and with one, with tidying in between, by one thread and by several. Every array must
 * follow its particle. */
#include "base/memory.h"
#include "base/rng.h"
#include "grid/reorder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PLANES = 30, FIRST = 7, WIDTH = 9, MOST = 6000 };

struct rig {
  struct particles *p;
  struct next next;
  struct reorder order;
  struct grid *grid;
  uint64_t seed, next_id;
  uint64_t key_of[1 << 16]; /* by id; REORDER_GONE where there is no such particle (any more) */
  int32_t moving;           /* of 256 */
};

static uint64_t draw(struct rig *rig, uint64_t below)
{
  return rng_bits(rig->seed++, 1, 0) % below;
}

/* Crowded: everything in few cells. */
static uint64_t draw_key(struct rig *rig, bool crowded)
{
  const uint64_t width = crowded ? 2 : WIDTH;
  return grid_key(FIRST + (int64_t)draw(rig, PLANES), (int64_t)draw(rig, width), (int64_t)draw(rig, width));
}

/* Values that show whose they are: made of the id, in every array. */
static void write_value(const struct particle_walk *w, int32_t at, uint64_t id)
{
  if (w->field->type == FIELD_F64) ((double *)w->array)[at] = (double)id;
  if (w->field->type == FIELD_U64) ((uint64_t *)w->array)[at] = id;
  if (w->field->type == FIELD_U32) ((uint32_t *)w->array)[at] = (uint32_t)id;
}

static bool has_value(const struct particle_walk *w, int32_t at, uint64_t id)
{
  if (w->field->type == FIELD_F64) return ((double *)w->array)[at] == (double)id;
  if (w->field->type == FIELD_U64) return ((uint64_t *)w->array)[at] == id;
  return ((uint32_t *)w->array)[at] == (uint32_t)id;
}

/* The middle of the particle's cell: where it is says which one it is in. */
static double place(uint64_t key, int axis)
{
  int32_t index[3];
  grid_key_index(key, index);
  return 0.5 + index[axis];
}

/* All of the new state but the position; that kept once lies in the old state's arrays. */
static void write_state(struct rig *rig, int32_t k, uint64_t id)
{
  for (struct particle_walk w = particle_walk(rig->p); particle_next(&w);) {
    struct particle_walk to = w;
    if (w.field->role != ROLE_STATE) continue;
    if (particle_array(rig->next.p, w.field, w.component))
      to.array = particle_array(rig->next.p, w.field, w.component);
    write_value(&to, k, id);
  }
  for (int d = 0; d < 3; d++) rig->next.p->x[d][k] = place(rig->key_of[id], d);
}

static void write_constants(struct particles *p, int32_t home, uint64_t id)
{
  for (struct particle_walk w = particle_walk(p); particle_next(&w);)
    if (w.field->role == ROLE_CONSTANT) write_value(&w, home, id);
}

/* What a step leaves: every particle's state in the order of the step, with its new key. */
static void move_all(struct rig *rig, bool crowded)
{
  for (int32_t k = 0; k < rig->p->count; k++) {
    const uint64_t id = rig->p->id[rig->order.home[k]], old = rig->key_of[id];
    if ((int32_t)draw(rig, 256) < rig->moving)
      rig->key_of[id] = draw(rig, 16) == 0 ? REORDER_GONE : draw_key(rig, crowded);
    rig->next.fate[k] = rig->key_of[id] == REORDER_GONE ? FATE_GONE
                        : rig->key_of[id] == old        ? FATE_STAYS
                                                        : FATE_MOVES;
    if (rig->key_of[id] == REORDER_GONE && draw(rig, 3)) reorder_vacate(&rig->order, rig->order.home[k]);
    write_state(rig, k, id);
  }
}

/* Ids of those who arrive come in no order. */
static void arrive(struct rig *rig, int32_t count, bool crowded)
{
  particles_reserve(rig->p, reorder_room(&rig->order, rig->p, count));
  next_fit(&rig->next, rig->p);
  reorder_fit(&rig->order, rig->p);
  for (int32_t n = 0; n < count; n++) {
    const uint64_t id = rig->next_id + (uint64_t)(count - 1 - n);
    rig->key_of[id] = draw_key(rig, crowded);
    rig->next.fate[rig->p->count + n] = FATE_MOVES;
    write_state(rig, rig->p->count + n, id);
    write_constants(rig->p, reorder_house(&rig->order, rig->p->count + n), id);
  }
  rig->next_id += (uint64_t)count;
}

struct pair {
  uint64_t key, id;
};

static int compare(const void *a, const void *b)
{
  const struct pair *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return (x->id > y->id) - (x->id < y->id);
}

static void check_particle(const struct rig *rig, int32_t k, uint64_t id)
{
  const int32_t slot = rig->order.slot[k], home = rig->order.home[k];
  for (struct particle_walk w = particle_walk(rig->p); particle_next(&w);)
    if (w.row == PARTICLE_POSITION)
      assert_true(((double *)w.array)[slot] == place(rig->key_of[id], w.component));
    else
      assert_true(has_value(&w, w.field->role == ROLE_STATE ? slot : home, id));
}

static void check_order(const struct rig *rig)
{
  static struct pair sorted[1 << 16];
  int32_t count = 0;
  for (uint64_t id = 0; id < rig->next_id; id++)
    if (rig->key_of[id] != REORDER_GONE) sorted[count++] = (struct pair){rig->key_of[id], id};
  qsort(sorted, (size_t)count, sizeof *sorted, compare);
  assert_int_equal(rig->p->count, count);
  for (int32_t k = 0; k < count; k++) check_particle(rig, k, sorted[k].id);
  const struct grid *g = rig->grid;
  int32_t at = 0;
  for (int32_t c = 0; c < g->cell_count; c++) {
    assert_int_equal(g->cell_start[c], at);
    while (at < count && sorted[at].key == g->cell_key[c]) at++;
    assert_true(at > g->cell_start[c]);
  }
  assert_int_equal(at, count);
  assert_int_equal(g->cell_start[g->cell_count], count);
}

static void order_and_check(struct rig *rig, int32_t arrived)
{
  const struct grid_cells cells = reorder_particles(&rig->order, rig->p, &rig->next, rig->grid, arrived);
  grid_collect(rig->grid, FIRST / BLOCK_X, (FIRST + PLANES - 1) / BLOCK_X - FIRST / BLOCK_X + 1, &cells);
  check_order(rig);
}

static void check_steps_with(int threads, unsigned once, int32_t start, int32_t moving, bool crowded)
{
  const struct grid_geometry frame = {
      .support = 4, .axis = {0, 1, 2}, .spacing = 1.0, .inverse = 1.0, .cells = {100, WIDTH, WIDTH}};
  static struct rig rig;
  rig = (struct rig){.p = particles_create(NEEDS_AFFINE | NEEDS_STIFFNESS),
                     .next = {.once = once},
                     .order = {.threads = threads},
                     .grid = grid_create(&frame),
                     .moving = moving};
  reorder_reset(&rig.order, rig.p);
  arrive(&rig, start, crowded);
  order_and_check(&rig, start);
  for (int step = 0; step < 12; step++) {
    move_all(&rig, crowded);
    const int32_t arrived = (int32_t)draw(&rig, 100);
    arrive(&rig, arrived, crowded);
    order_and_check(&rig, arrived);
    if (step % 4 == 2) {
      reorder_tidy(&rig.order, rig.p, &rig.next);
      for (int32_t k = 0; k < rig.p->count; k++)
        assert_true(rig.order.slot[k] == k && rig.order.home[k] == k);
      check_order(&rig);
    }
  }
  grid_destroy(&rig.grid);
  particles_destroy(&rig.p);
  next_free(&rig.next);
  reorder_free(&rig.order);
  assert_int_equal(mem_balance(), 0);
}

static void check_steps(int32_t start, int32_t moving, bool crowded)
{
  for (int threads = 1; threads <= 5; threads += 1 + threads / 3)
    check_steps_with(threads, threads % 2 ? NEEDS_AFFINE : NEEDS_NOTHING, start, moving, crowded);
}

static void test_few_move(void **state)
{
  (void)state;
  check_steps(MOST, 5, false);
}

static void test_many_move(void **state)
{
  (void)state;
  check_steps(MOST, 128, false);
}

static void test_all_move(void **state)
{
  (void)state;
  check_steps(MOST, 256, false);
}

static void test_crowded(void **state)
{
  (void)state;
  check_steps(MOST, 60, true);
}

static void test_few_particles(void **state)
{
  (void)state;
  check_steps(0, 200, false);
  check_steps(1, 256, true);
  check_steps(40, 100, false);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_few_move), cmocka_unit_test(test_many_move),
                                     cmocka_unit_test(test_all_move), cmocka_unit_test(test_crowded),
                                     cmocka_unit_test(test_few_particles)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
