/* Maps of contact: sums that do not depend on order or grouping, places that move with their body, and what a
 * frame has of them. */
#include "base/memory.h"
#include "base/rng.h"
#include "base/vec.h"
#include "bodies/contact_map.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { TERMS = 4000 };

/* Values of either sign over many magnitudes. */
static double term(int k)
{
  return (rng_uniform(1, (uint64_t)k, 0) - 0.5) * exp(30.0 * (rng_uniform(1, (uint64_t)k, 1) - 0.9));
}

static void sums_have_no_order(void **state)
{
  (void)state;
  struct fixed forth = {0, 0}, back = {0, 0};
  long double expected = 0.0L;
  for (int k = 0; k < TERMS; k++) {
    fixed_add(&forth, term(k));
    fixed_add(&back, term(TERMS - 1 - k));
    expected += (long double)term(k);
  }
  assert_true(forth.high == back.high && forth.low == back.low);
  assert_true(forth.low >= 0 && forth.low < (int64_t)1 << 52);
  assert_true(fabs(fixed_value(&forth) - (double)expected) <
              1e-15 * fabs((double)expected) + TERMS * 0x1p-83);
  struct fixed none = {0, 0};
  fixed_add(&none, -0x1p-200);
  fixed_add(&none, 0.25);
  fixed_add(&none, -0.25);
  assert_true(fabs(fixed_value(&none)) <= 0x1p-83);
}

/* Nodes of several ranks, which share places: whoever had what, the merged table is the same. */
static void ranks_do_not_matter(void **state)
{
  (void)state;
  enum { RANKS = 3 };
  struct map_node *all[2] = {mem_alloc(TERMS, sizeof **all), mem_alloc(TERMS, sizeof **all)};
  int64_t counts[2];
  for (int run = 0; run < 2; run++) {
    struct contact_map map[RANKS] = {{0}};
    int64_t count = 0;
    for (int n = 0; n < TERMS; n++) {
      const int k = run ? TERMS - 1 - n : n, rank = run ? k % RANKS : 0;
      struct map_node node = {.body = k % 2, .at = {k % 7 - 3, k % 11, -(k % 5)}};
      for (int s = 0; s < MAP_SUMS; s++) fixed_add(&node.sum[s], term(k + s));
      contact_map_add_node(&map[rank], &node);
    }
    for (int r = 0; r < RANKS; r++) {
      for (int64_t k = 0; k < map[r].capacity; k++)
        if (map[r].node[k].body >= 0) all[run][count++] = map[r].node[k];
      contact_map_free(&map[r]);
    }
    counts[run] = contact_map_sort(all[run], count);
  }
  assert_true(counts[0] == 2 * 7 * 11 * 5 && counts[1] == counts[0]);
  assert_memory_equal(all[0], all[1], (size_t)counts[0] * sizeof **all);
  mem_free(all[0]);
  mem_free(all[1]);
}

/* A box that flies and turns is pushed at one point of its own: one place, which the table puts where it is
 * now.
 */
static void places_move_along(void **state)
{
  (void)state;
  static const double lower[3] = {-1.0, -1.0, -1.0}, spacing = 0.1, span = 0.5;
  struct body body = {.shape = {.kind = SHAPE_BOX,
                                .center = {0.2, 0.1, 0.0},
                                .half = {0.4, 0.2, 0.3},
                                .axes = {1, 0, 0, 0, 1, 0, 0, 0, 1}},
                      .velocity = {1.0, 2.0, -0.5},
                      .spin = {0.3, -2.0, 1.1},
                      .pivot = {0.05, 0.0, 0.1}};
  const double point[3] = {0.1, 0.1, 0.1}; /* from the centre, 0.1 m below the face y = 0.2 */
  struct push_log *log = push_log_create(spacing, lower);
  struct contact_map map = {0};
  struct body_pose pose;
  double total[3] = {0.0, 0.0, 0.0};
  for (int n = 0; n < 20; n++) {
    body_pose_at(&body, 0.13 * n, &pose);
    double arm[3], x[3], normal[3];
    vec_sub(point, body.pivot, arm);
    for (int d = 0; d < 3; d++) x[d] = pose.origin[d] + vec_dot(pose.turn + 3 * d, arm);
    assert_true(fabs(shape_distance(&pose.shape, x, normal) + 0.1) < 1e-12);
    const double impulse[3] = {-2.0 * normal[0], -2.0 * normal[1], -2.0 * normal[2]};
    for (int d = 0; d < 3; d++) total[d] += impulse[d];
    push_log_add(log, &pose, x, impulse, 0.0);
    push_log_add(log, &pose, x, NULL, 3.0);
  }
  contact_map_add(&map, 0, log, 0.25);
  assert_true(map.count == 1);
  struct map_node node;
  for (int64_t k = 0; k < map.capacity; k++)
    if (map.node[k].body >= 0) node = map.node[k];
  body_pose_at(&body, 7.0, &pose);
  struct contact_table *table = contact_table_create(&node, 1, span, &body, spacing, lower, 7.0);
  assert_true(fabs(shape_distance(&pose.shape, table->position, NULL)) < 1e-12);
  assert_true(fabs(table->area[0] - 20 * 3.0 * 0.25 / span) < 1e-12);
  for (int d = 0; d < 3; d++) assert_true(fabs(table->force[d] - total[d] / span) < 1e-12);
  const double disc = acos(-1.0) / 3.0 * 6.25 * spacing * spacing;
  assert_true(fabs(table->pressure[0] - 40.0 / (span * disc)) < 1e-9);
  contact_table_destroy(&table);
  contact_map_free(&map);
  push_log_destroy(&log);
  assert_true(mem_balance() == 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(sums_have_no_order),
                                     cmocka_unit_test(ranks_do_not_matter),
                                     cmocka_unit_test(places_move_along)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
