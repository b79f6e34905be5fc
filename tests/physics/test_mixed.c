/* A solve whose products are in single precision, beside the same in double: the products themselves, and an
 * impact with all transfers and all models that have a part in the solve, on every instruction set here. */
#include "base/rng.h"
#include "support/lanes.h"
#include "support/physics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char impact[] =
    "domain: {lower: [-0.1, -0.04, -0.08], cells: [24, 18, 16], spacing: 0.01, slab_axis: %s}\n"
    "time: {end: 1, frame_rate: 1000, step: 4e-4}\n"
    "transfer: %s\n"
    "integrator: {tolerance: %g, precision: %s}\n"
    "materials: {packed: {young: 1.4e5}%s}\n"
    "snow:\n"
    "  - {sphere: {center: [0, 0.045, 0], radius: 0.04}, per_cell: 7, material: packed, velocity: [3, -6, "
    "0.5], spin: [0, 9, "
    "4]}\n"
    "%s"
    "bodies:\n"
    "  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, friction: 0.4}\n";

static const char model_lines[] =
    ", dune: {model: sand, young: 4e5}, slab: {model: cam_clay, young: 4e5},\n"
    "  gel: {model: neo_hookean, young: 1e5}, foam: {model: corotated, young: 1e5},\n"
    "  ice: {model: von_mises, young: 4e5, yield_stress: 2e3}";
static const char blocks[] =
    "  - {box: {lower: [0.04, 0, -0.04], upper: [0.07, 0.03, -0.01]}, per_cell: 6, material: dune}\n"
    "  - {box: {lower: [0.04, 0, -0.01], upper: [0.07, 0.03, 0.01]}, per_cell: 6, material: slab}\n"
    "  - {box: {lower: [0.04, 0, 0.01], upper: [0.07, 0.03, 0.04]}, per_cell: 6, material: gel}\n"
    "  - {box: {lower: [0.04, 0.03, -0.04], upper: [0.07, 0.05, 0]}, per_cell: 6, material: foam}\n"
    "  - {box: {lower: [0.04, 0.03, 0], upper: [0.07, 0.05, 0.04]}, per_cell: 6, material: ice}\n";

static const struct {
  const char *transfer, *axis;
  bool all_models;
} cases[] = {{"{scheme: flip}", "x", false},
             {"{scheme: flip, kernel: quadratic}", "y", false},
             {"{scheme: apic, force: mls}", "z", false},
             {"{scheme: apic, force: mls, kernel: quadratic}", "x", true},
             {"{scheme: pic}", "z", true}};
enum { CASES = sizeof cases / sizeof *cases };

static void start(struct run *run, enum isa isa, int c, double tolerance, const char *precision)
{
  run_start_on(run, isa, impact, cases[c].axis, cases[c].transfer, tolerance, precision,
               cases[c].all_models ? model_lines : "", cases[c].all_models ? blocks : "");
  assert_int_equal(run->sim->transfer.mixed, precision[0] == 'm');
}

/* out = H in for a rough field of size 1, on top of a flight that no gradient sees. */
static void product(struct sim *sim, double flight, bool diagonal)
{
  static const enum node_field fields[2] = {NODE_MOMENTUM, NODE_VELOCITY};
  struct grid *g = sim->mesh.grid;
  struct hessian_arguments arguments = {&sim->transfer, NODE_RESIDUAL, NODE_A_RESIDUAL, NULL, diagonal};
  crew_begin(&sim->crew);
  sim_scatter(sim, sim->kernels->p2g, &sim->transfer, sim->kernels->layout, fields,
              transfer_is_fused(&sim->transfer) ? 1 : 2);
  grid_clear(g, NODE_RESIDUAL);
  for (int64_t k = 0; k < (int64_t)g->tile_count * TILE_DOUBLES; k++)
    if (k % 4) g->node[NODE_RESIDUAL][k] = flight + rng_uniform(7, (uint64_t)k, 0) - 0.5;
  const struct block_sum sum = {.set = &g->blocks,
                                .kernel =
                                    sim->transfer.mixed ? sim->kernels->hessian_mixed : sim->kernels->hessian,
                                .arguments = &arguments,
                                .layout = sim->transfer.mixed ? PART_SHEETS : sim->kernels->layout,
                                .fields = 1,
                                .field = {NODE_A_RESIDUAL},
                                .vector = !diagonal};
  sim_sum(sim, &sum, 1);
}

/* The largest difference of the diagonals that ride along with both products, of the largest. */
static double diagonals_differ(struct sim *exact, struct sim *mixed)
{
  product(exact, 0.0, true);
  product(mixed, 1000.0, true);
  const double *a = exact->mesh.grid->node[NODE_A_RESIDUAL], *b = mixed->mesh.grid->node[NODE_A_RESIDUAL];
  double size = 0.0, off = 0.0;
  for (int64_t k = 0; k < (int64_t)exact->mesh.grid->tile_count * TILE_DOUBLES; k += 4) {
    assert_true(a[k] >= 0.0 && b[k] >= 0.0);
    size = fmax(size, a[k]);
    off = fmax(off, fabs(a[k] - b[k]));
  }
  assert_true(size > 0.0);
  return off / size;
}

static void products_agree(void **state)
{
  (void)state;
  for (int isa = 0; isa <= (int)isa_detect(); isa++) {
    if (!kernels_get((enum isa)isa)) continue;
    double worst = 0.0, worst_diagonal = 0.0;
    for (int c = 0; c < CASES; c++) {
      struct run exact, mixed;
      start(&exact, (enum isa)isa, c, 1e-4, "double");
      start(&mixed, (enum isa)isa, c, 1e-4, "mixed");
      for (int n = 0; n < 8; n++) { /* until the ball is deformed and flows; the states differ by then */
        run_step(&exact);
        run_step(&mixed);
      }
      for (struct particle_walk w = particle_walk(exact.sim->p); particle_next(&w);)
        memcpy(particle_array(mixed.sim->p, w.field, w.component), w.array,
               (size_t)exact.sim->p->count * field_size(w.field->type));
      product(exact.sim, 0.0, false);
      product(mixed.sim, 1000.0, false);
      const double *a = exact.sim->mesh.grid->node[NODE_A_RESIDUAL],
                   *b = mixed.sim->mesh.grid->node[NODE_A_RESIDUAL];
      assert_int_equal(exact.sim->mesh.grid->tile_count, mixed.sim->mesh.grid->tile_count);
      double size = 0.0, off = 0.0;
      for (int64_t k = 0; k < (int64_t)exact.sim->mesh.grid->tile_count * TILE_DOUBLES; k++) {
        size = fmax(size, fabs(a[k]));
        off = fmax(off, fabs(a[k] - b[k]));
        if (k % 4 == 0) assert_true(b[k] == 0.0);
      }
      assert_true(size > 0.0);
      worst = fmax(worst, off / size);
      worst_diagonal = fmax(worst_diagonal, diagonals_differ(exact.sim, mixed.sim));
      run_end(&exact);
      run_end(&mixed);
    }
    print_message("%s: products differ by %.1e of the largest, diagonals by %.1e\n",
                  kernels_get((enum isa)isa)->name, worst, worst_diagonal);
    assert_true(worst < 1e-6 && worst > 1e-12);
    assert_true(worst_diagonal < 1e-6);
  }
}

/* Largest difference over particles by id, in cells and in units of the impact's speed. */
static void compare(const struct particles *a, const struct particles *b, double *x, double *v)
{
  assert_int_equal(a->count, b->count);
  for (int32_t i = 0, j = 0; i < a->count; i++) {
    while (b->id[j] != a->id[i]) j = (j + 1) % b->count;
    for (int d = 0; d < 3; d++) {
      *x = fmax(*x, fabs(a->x[d][i] - b->x[d][j]) / 0.01);
      *v = fmax(*v, fabs(a->v[d][i] - b->v[d][j]) / 6.7);
    }
  }
}

/* Contact and plastic flow make much of little, so the yardstick is a solve in double precision that goes ten
 * times further: what the tolerance leaves open is more than what single precision adds. */
static void impacts_agree(void **state)
{
  (void)state;
  for (int isa = 0; isa <= (int)isa_detect(); isa++) {
    if (!kernels_get((enum isa)isa)) continue;
    for (int c = 0; c < CASES; c++) {
      const double tolerance = c % 2 ? 1e-6 : 1e-4;
      struct run exact, mixed, further;
      start(&exact, (enum isa)isa, c, tolerance, "double");
      start(&mixed, (enum isa)isa, c, tolerance, "mixed");
      start(&further, (enum isa)isa, c, 0.1 * tolerance, "double");
      for (int n = 0; n < 20; n++) {
        run_step(&exact);
        run_step(&mixed);
        run_step(&further);
      }
      const int64_t iterations = exact.sim->totals.iterations;
      double x = 0.0, v = 0.0, open_x = 0.0, open_v = 0.0;
      compare(exact.sim->p, mixed.sim->p, &x, &v);
      compare(exact.sim->p, further.sim->p, &open_x, &open_v);
      print_message("%s, %s, tolerance %g: %lld and %lld iterations; x %.1e of %.1e cells, v %.1e of %.1e\n",
                    kernels_get((enum isa)isa)->name, cases[c].transfer, tolerance, (long long)iterations,
                    (long long)mixed.sim->totals.iterations, x, open_x, v, open_v);
      assert_true(iterations > 60);
      assert_true(llabs(mixed.sim->totals.iterations - iterations) <= 2 + iterations / 40);
      assert_true(x < open_x && v < open_v);
      run_end(&exact);
      run_end(&mixed);
      run_end(&further);
    }
  }
}

/* Two bodies that fly past each other without touching, each of two halves that collide. Their cells lie in
 * the same blocks, and what a block gathers is relative to one node: of one of them, so the other has 40 m/s.
 */
static const char passing[] =
    "domain: {lower: [0, 0, 0], cells: [60, 12, 8], spacing: 0.01, slab_axis: x}\n"
    "time: {end: 1, frame_rate: 1000, step: 2e-4}\n"
    "gravity: [0, 0, 0]\n"
    "integrator: {tolerance: %g, precision: %s}\n"
    "materials: {packed: {young: 1.4e5}}\n"
    "snow:\n"
    "  - {box: {lower: [0.2, 0.02, 0.005], upper: [0.23, 0.06, 0.015]}, per_cell: 8, velocity: [20, 0, 0], "
    "material: packed}\n"
    "  - {box: {lower: [0.23, 0.02, 0.005], upper: [0.26, 0.06, 0.015]}, per_cell: 8, velocity: [19, 0, 0], "
    "material: packed}\n"
    "  - {box: {lower: [0.24, 0.02, 0.062], upper: [0.27, 0.06, 0.075]}, per_cell: 8, velocity: [-19, 0, 0], "
    "material: packed}\n"
    "  - {box: {lower: [0.27, 0.02, 0.062], upper: [0.3, 0.06, 0.075]}, per_cell: 8, velocity: [-20, 0, 0], "
    "material: packed}\n";

static void bodies_pass(void **state)
{
  (void)state;
  for (int isa = 0; isa <= (int)isa_detect(); isa++) {
    if (!kernels_get((enum isa)isa)) continue;
    struct run exact, mixed, further;
    run_start_on(&exact, (enum isa)isa, passing, 1e-4, "double");
    run_start_on(&mixed, (enum isa)isa, passing, 1e-4, "mixed");
    run_start_on(&further, (enum isa)isa, passing, 1e-5, "double");
    const struct grid *g = mixed.sim->mesh.grid;
    for (int32_t b = 0; b < g->blocks.count; b++) { /* all blocks have the same place along z */
      int32_t index[3];
      grid_block_index(g->blocks.key[b], index);
      assert_int_equal(index[2], 0);
    }
    for (int n = 0; n < 20; n++) {
      run_step(&exact);
      run_step(&mixed);
      run_step(&further);
      assert_int_equal(mixed.sim->report.halvings, 0);
    }
    double x = 0.0, v = 0.0, open_x = 0.0, open_v = 0.0;
    compare(exact.sim->p, mixed.sim->p, &x, &v);
    compare(exact.sim->p, further.sim->p, &open_x, &open_v);
    const int64_t iterations = exact.sim->totals.iterations;
    print_message("%s: bodies that pass: %lld and %lld iterations; x %.1e of %.1e cells, v %.1e of %.1e\n",
                  kernels_get((enum isa)isa)->name, (long long)iterations,
                  (long long)mixed.sim->totals.iterations, x, open_x, v, open_v);
    assert_true(iterations > 20);
    assert_true(llabs(mixed.sim->totals.iterations - iterations) <= 2 + iterations / 40);
    assert_true(x < open_x && v < open_v);
    run_end(&exact);
    run_end(&mixed);
    run_end(&further);
  }
}

/* A block at random motion, whose particles lie just below faces of cells and half way between them: the
 * first ones in a row of cells are at faces of the cubic kernel's cells, or, on a grid half a cell off, of
 * the quadratic one's. */
static struct cloud *light_cloud(void)
{
  static const double h = 0.01, short_of_face = 1e-9;
  struct cloud *cloud = cloud_box((double[3]){0.06, 0.06, 0.06}, (int[3]){6, 5, 7}, h, 2, 400.0);
  for (int k = 0; k < 3 * cloud->count; k++) {
    cloud->x[k] -= (0.25 + short_of_face) * h;
    cloud->v[k] = 4.0 * (rng_uniform(11, (uint64_t)k, 0) - 0.5);
  }
  cloud_write(cloud);
  return cloud;
}

/* The first node that a row of cells reaches has next to no mass there, so its residual is huge. That must
 * not cost the other nodes of the row their digits: a solve in single precision takes the iterations of one
 * in double, and is not repeated. */
static void light_nodes_take_no_digits(void **state)
{
  (void)state;
  static const char scene[] =
      "domain: {lower: [%g, %g, %g], cells: [20, 20, 20], spacing: 0.01, slab_axis: %s}\n"
      "time: {end: 1, frame_rate: 1000, step: 4e-4}\n"
      "transfer: %s\n"
      "integrator: {tolerance: 1e-5, precision: %s}\n"
      "materials: {packed: {young: 1e6}}\n"
      "snow:\n  - {file: %s, material: packed}\n";
  struct cloud *cloud = light_cloud();
  for (int isa = 0; isa <= (int)isa_detect(); isa++) {
    if (!kernels_get((enum isa)isa)) continue;
    for (int c = 0; c < CASES; c++) {
      const double lower = strstr(cases[c].transfer, "quadratic") ? -0.005 : 0.0;
      int iterations[2];
      for (int k = 0; k < 2; k++) {
        struct run run;
        run_start_on(&run, (enum isa)isa, scene, lower, lower, lower, cases[c].axis, cases[c].transfer,
                     k ? "mixed" : "double", cloud->path);
        run_step(&run);
        iterations[k] = run.sim->report.iterations;
        run_end(&run);
      }
      print_message("%s, %s: %d and %d iterations\n", kernels_get((enum isa)isa)->name, cases[c].transfer,
                    iterations[0], iterations[1]);
      assert_in_range(iterations[0], 10, 100);
      assert_in_range(iterations[1], iterations[0] - 1, iterations[0] + 1);
    }
  }
  cloud_destroy(&cloud);
}

/* Which one a scene gets that does not say. */
static void tolerance_decides(void **state)
{
  (void)state;
  const struct {
    const char *integrator;
    bool mixed;
  } ways[] = {{"{}", true},
              {"{tolerance: 1e-6}", true},
              {"{tolerance: 9e-7}", false},
              {"{tolerance: 1e-12, precision: mixed}", true},
              {"{precision: double}", false},
              {"{scheme: explicit}", false}};
  for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
    struct run run;
    run_start(&run,
              "domain: {cells: [12, 12, 12], spacing: 0.01}\ntime: {end: 1, step: 1e-4}\nintegrator: %s\n"
              "snow:\n  - {sphere: {center: [0.06, 0.06, 0.06], radius: 0.02}}\n",
              ways[k].integrator);
    assert_int_equal(run.sim->transfer.mixed, ways[k].mixed);
    run_end(&run);
  }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(tolerance_decides),
    cmocka_unit_test(products_agree),
    cmocka_unit_test(impacts_agree),
    cmocka_unit_test(bodies_pass),
    cmocka_unit_test(light_nodes_take_no_digits),
};
PHYSICS_MAIN(tests);
