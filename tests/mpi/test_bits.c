/* The promise: same scene, same bits, on any number of ranks.
 *
 * Each case runs on all ranks and then again on rank 0 alone, and the two states must be the same memory,
 * particle by particle. A test of equality proves nothing if nothing happened at the cuts, so the scenes are
 * made to throw a ball through them onto a floor, and the counters of the simulation must say that there was
 * contact and plastic flow on shared bricks, that particles changed rank, and that a rank ran dry. */
#include "support/state.h"

#include "base/log.h"
#include "base/rng.h"
#include "io/scene/scene.h"

#include <stdarg.h>
#include <stdio.h>

static struct comm all, alone;

struct happened {
  bool dry;     /* a rank that has a slab had no particles after some step */
  bool drained; /* and one of those had some before */
  int idle;     /* ranks without a slab */
};

struct run {
  struct any_file state;
  struct sim_totals totals;
  struct happened happened;
  int64_t particles, removed, plastic, contacts;
  int64_t steps;
  double time;
  char kernels[16];
  uint64_t rows; /* a hash of all that instruments measured */
};

static struct scene *parse(const char *text, const char *const *overrides, int count)
{
  struct error err = {0};
  struct scene *scene = NULL;
  const int code = scene_parse(&scene, "bits.yml", text, overrides, count, &err);
  CHECK_TEXT(code == FIRN_OK, err.text);
  return scene;
}

/* Cuts stay where they are, so that a slab can run dry, unless they are to be looked at every so many steps.
 */
static int balance_every;

static uint64_t hash_row(uint64_t hash, const double *row, size_t count)
{
  for (size_t k = 0; k < count; k++) {
    uint64_t bits;
    memcpy(&bits, &row[k], sizeof bits);
    hash = rng_mix(hash ^ bits) + k;
  }
  return hash;
}

static struct run run_on(const struct comm *comm, const struct scene *scene, enum isa isa, int steps)
{
  struct run run = {0};
  struct error err = {0};
  struct sim *sim = NULL;
  int code = sim_create(&sim, comm, scene, isa, &err);
  CHECK_TEXT(code == FIRN_OK, err.text);
  sim->hooks.measure_every = 1;
  sim->balance.every = balance_every;
  const bool has_slab = comm->rank < sim->mesh.slabs->count;
  double flags[2] = {0.0, 0.0}; /* dry, drained */
  bool had = sim->p->count > 0;
  for (int k = 0; k < steps; k++) {
    code = sim_step(sim, &err);
    CHECK_TEXT(code == FIRN_OK, err.text);
    run.plastic += sim->report.plastic;
    if (sim->instruments)
      run.rows = hash_row(run.rows, sim->instruments->row, (size_t)sim->instruments->columns);
    run.contacts += sim->report.contact_nodes;
    if (has_slab && sim->p->count == 0) {
      flags[0] = 1.0;
      if (had) flags[1] = 1.0;
    }
    had = had || sim->p->count > 0;
  }
  comm_max(comm, flags, 2);
  run.happened = (struct happened){flags[0] > 0.0, flags[1] > 0.0, comm->size - sim->mesh.slabs->count};
  run.totals = sim->totals;
  run.particles = sim->totals.particles;
  run.removed = sim->totals.removed;
  run.steps = sim->clock.step;
  run.time = sim->clock.time;
  snprintf(run.kernels, sizeof run.kernels, "%s", sim->kernels->name);
  state_gather(sim, &run.state);
  sim_destroy(&sim);
  return run;
}

/* Runs on all ranks and, on rank 0, alone; the states must be equal. Returns the run on all. */
static struct run check_same(const struct scene *scene, enum isa isa, int steps, const char *what)
{
  struct run together = run_on(&all, scene, isa, steps);
  if (all.rank == 0) {
    struct run single = run_on(&alone, scene, isa, steps);
    CHECK_TEXT(together.particles == single.particles && together.removed == single.removed, what);
    CHECK_TEXT(together.plastic == single.plastic && together.contacts == single.contacts, what);
    CHECK_TEXT(together.steps == single.steps && together.time == single.time, what);
    CHECK_TEXT(together.totals.iterations == single.totals.iterations, what);
    CHECK_TEXT(together.totals.halvings == single.totals.halvings, what);
    CHECK_TEXT(together.totals.repeats == single.totals.repeats, what);
    CHECK_TEXT(together.totals.heat_in == single.totals.heat_in &&
                   together.totals.melted_mass == single.totals.melted_mass &&
                   together.totals.frozen_mass == single.totals.frozen_mass,
               what);
    CHECK_TEXT(together.rows == single.rows, what);
    state_check_equal(&together.state, &single.state, what);
    state_free(&single.state);
  }
  check_barrier(MPI_COMM_WORLD);
  return together;
}

/* A ball thrown along x at a slant onto the floor, against a turning drum that comes to meet it and through a
 * sticky fence, far enough to leave the first slab empty. A crumb flies out of the domain. */
static const char thrown[] =
    "domain: {lower: [-0.3, -0.06, -0.2], cells: [52, 24, 40], spacing: 0.01, slab_axis: x}\n"
    "time: {end: 1, frame_rate: 400, max_step: 4e-4}\n"
    "materials: {snow: {young: 5e4, critical_compression: 1e-2, critical_stretch: 4e-3}}\n"
    "snow:\n"
    "  - sphere: {center: [-0.22, 0.056, 0], radius: 0.05}\n"
    "    per_cell: 5\n"
    "    volume: estimated\n"
    "    velocity: [9, -3, 0.4]\n"
    "    spin: [3, 0, -20]\n"
    "  - box: {lower: [-0.1, 0.005, -0.06], upper: [-0.06, 0.045, -0.02]}\n"
    "    per_cell: 5\n"
    "    velocity: [-2, 0, 3]\n"
    "  - box: {lower: [-0.08, 0.04, -0.195], upper: [-0.04, 0.08, -0.165]}\n"
    "    velocity: [0, 1, -4]\n"
    "bodies:\n"
    "  floor: {plane: {point: [0, 0, 0], normal: [0.02, 1, 0]}, friction: 0.4}\n"
    "  drum: {cylinder: {from: [0.02, 0, -0.1], to: [0.02, 0, 0.1], radius: 0.03}, "
    "velocity: [-1, 0, 0], spin: [0, 0, 15]}\n"
    "  fence: {box: {center: [0.12, 0.02, 0], size: [0.02, 0.04, 0.03]}, sticky: true}\n";

static void check_happened(const struct run *run, const char *what)
{
  CHECK_TEXT(run->plastic > 0 && run->contacts > 0, what);
  if (all.rank == 0)
    printf("%-28s %lld steps, %lld particles, %lld left; migrated %lld, shared contacts %lld, shared plastic "
           "%lld, CR %lld, dry %d, drained %d, idle %d\n",
           what, (long long)run->steps, (long long)run->particles, (long long)run->removed,
           (long long)run->totals.migrated, (long long)run->totals.shared_contacts,
           (long long)run->totals.shared_plastic, (long long)run->totals.iterations, run->happened.dry,
           run->happened.drained, run->happened.idle);
  if (all.size == 1) return;
  CHECK_TEXT(run->totals.migrated > 0, what);
  CHECK_TEXT(run->totals.shared_contacts > 0, what);
  CHECK_TEXT(run->totals.shared_plastic > 0, what);
}

static void test_thrown(void)
{
  const struct {
    const char *name;
    const char *integrator;
    int steps;
  } cases[] = {
      {"thrown, explicit", "integrator={scheme: explicit}", 160},
      {"thrown, backward Euler", "integrator={tolerance: 1e-6}", 100},
      {"thrown, preconditioned", "integrator={stop: strain}", 100},
      {"thrown, trapezoidal", "integrator={beta: 0.5, tolerance: 1e-5}", 60},
      {"thrown, friction of the whole step", "integrator={stop: strain, friction: whole}", 100},
      {"thrown, by the gap", "integrator={stop: strain, contact: gap}", 100},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    struct scene *scene = parse(thrown, &cases[k].integrator, 1);
    struct run run = check_same(scene, ISA_COUNT, cases[k].steps, cases[k].name);
    check_happened(&run, cases[k].name);
    CHECK_TEXT(run.removed > 0, cases[k].name);
    /* Explicit steps are too short for the ball to leave the larger half. */
    if (all.size > (k == 0 ? 2 : 1)) CHECK_TEXT(run.happened.dry && run.happened.drained, cases[k].name);
    state_free(&run.state);
    scene_destroy(&scene);
  }
}

/* Forces and energies are the same on any ranks, and the snow does not feel that it is measured. */
static void test_instruments(void)
{
  const char *asked[] = {"output.budget=true", "bodies.floor.measure=true", "bodies.drum.measure=true",
                         "bodies.fence.measure=true", NULL};
  const char *integrators[] = {"integrator={scheme: explicit}", "integrator={tolerance: 1e-4}"};
  for (int k = 0; k < 2; k++) {
    asked[4] = integrators[k];
    struct scene *measured = parse(thrown, asked, 5), *plain = parse(thrown, &asked[4], 1);
    struct run with = check_same(measured, ISA_COUNT, 50, "thrown, measured");
    struct run without = run_on(&all, plain, ISA_COUNT, 50);
    check_happened(&with, "thrown, measured");
    CHECK(with.rows != 0 && without.rows == 0);
    if (all.rank == 0) state_check_equal(&with.state, &without.state, "measuring changes the snow");
    state_free(&with.state);
    state_free(&without.state);
    scene_destroy(&measured);
    scene_destroy(&plain);
  }
}

/* The same while the cuts follow the snow. */
static void test_moving_cuts(void)
{
  const char *what = "thrown, cuts that move", *integrator = "integrator={tolerance: 1e-4}";
  struct scene *scene = parse(thrown, &integrator, 1);
  balance_every = 3;
  struct run run = check_same(scene, ISA_COUNT, 60, what);
  balance_every = 0;
  check_happened(&run, what);
  if (all.rank == 0) printf("%28s cuts moved %lld times\n", "", (long long)run.totals.rebalanced);
  /* Seven slabs of at least three planes have little room left in this domain. */
  if (all.size > 1) CHECK(run.totals.rebalanced > (all.size < 7 ? 2 : 0));
  state_free(&run.state);
  scene_destroy(&scene);
}

/* Free bodies: a ball and a box that meet each other, the snow and the floor, and a roller on a spring. */
static const char thrown_bodies[] =
    "domain: {lower: [-0.15, -0.04, -0.06], cells: [30, 16, 12], spacing: 0.01, slab_axis: x}\n"
    "time: {end: 1, frame_rate: 1000, max_step: 4e-4}\n"
    "materials: {snow: {young: 8e4, critical_compression: 5e-3, critical_stretch: 2e-3}}\n"
    "snow:\n"
    "  - box: {lower: [-0.06, 0, -0.03], upper: [0.06, 0.04, 0.03]}\n"
    "    per_cell: 4\n"
    "    velocity: [4, -4, 1]\n"
    "    spin: [0, 0, 10]\n"
    "bodies:\n"
    "  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, friction: 0.3}\n"
    "  ball: {sphere: {center: [0.01, 0.062, 0], radius: 0.022}, density: 200, velocity: [2, -5, 0.3],\n"
    "         spin: [5, 0, -40], bounce: 0.3, measure: true}\n"
    "  box: {box: {center: [-0.055, 0.03, 0], size: [0.03, 0.05, 0.05], rotate: {axis: [1, 2, 3], degrees: "
    "30}},\n"
    "        mass: 0.02, velocity: [6, 0, 0], lock: [turn_x], push: {force: [0.5, 0, 0], at: [-0.05, 0.04, "
    "0]}}\n"
    "  roller: {capsule: {from: [0.07, 0.022, -0.02], to: [0.07, 0.022, 0.02], radius: 0.02}, density: 80,\n"
    "           sticky: true, velocity: [-3, 0, 0], spring: {anchor: [0.1, 0.05, 0], stiffness: 40, damping: "
    "0.1}}\n";

static void test_free_bodies(void)
{
  const char *ways[] = {"integrator={scheme: explicit}", "integrator={stop: strain}",
                        "integrator={tolerance: 1e-6, beta: 0.5}",
                        "integrator={tolerance: 1e-6, slide: all}"};
  const char *apic = "transfer={scheme: apic, kernel: quadratic}", *flip = "transfer={scheme: flip}";
  const char *asked[3] = {NULL, NULL, "output.budget=true"};
  for (int k = 0; k < 4; k++) {
    asked[0] = ways[k];
    asked[1] = k == 2 ? apic : flip;
    balance_every = k == 1 ? 3 : 0;
    struct scene *scene = parse(thrown_bodies, asked, 3);
    struct run run = check_same(scene, ISA_COUNT, k ? 25 : 60, ways[k]);
    balance_every = 0;
    check_happened(&run, ways[k]);
    CHECK(run.rows != 0);
    state_free(&run.state);
    scene_destroy(&scene);
  }
}

/* Every way to transfer, in short runs that begin in contact. */
static const char dropped[] =
    "domain: {lower: [-0.15, -0.04, -0.06], cells: [30, 16, 12], spacing: 0.01, slab_axis: x}\n"
    "time: {end: 1, frame_rate: 1000, max_step: 2e-4}\n"
    "materials: {snow: {young: 8e4, critical_compression: 5e-3, critical_stretch: 2e-3}}\n"
    "snow:\n"
    "  - box: {lower: [-0.06, 0, -0.03], upper: [0.06, 0.04, 0.03]}\n"
    "    per_cell: 4\n"
    "    velocity: [4, -4, 1]\n"
    "    spin: [0, 0, 10]\n"
    "bodies:\n"
    "  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, friction: 0.3}\n"
    "  wall: {plane: {point: [0.062, 0, 0], normal: [-1, 0, 0]}, friction: 0.1}\n";

/* The solves at this tolerance are mixed; those of test_pipelined(), test_axes() and test_isas() are in
 * double precision. */
static void test_transfers(void)
{
  const char *schemes[] = {"flip", "pic", "apic"}, *kernels[] = {"cubic", "quadratic"},
             *forces[] = {"mpm", "mls"};
  const char *integrators[] = {"integrator={scheme: explicit}", "integrator={stop: strain, tolerance: 1e-6}"};
  for (int k = 0; k < 24; k++) {
    char transfer[128];
    snprintf(transfer, sizeof transfer, "transfer={scheme: %s, kernel: %s, force: %s}", schemes[k % 3],
             kernels[k / 3 % 2], forces[k / 6 % 2]);
    struct scene *scene = parse(dropped, (const char *const[]){transfer, integrators[k / 12]}, 2);
    struct run run = check_same(scene, ISA_COUNT, 10, transfer);
    check_happened(&run, transfer);
    state_free(&run.state);
    scene_destroy(&scene);
  }
}

/* The pipelined solve: bits of its own, the same on any ranks, iterations and result those of the other but
 * for round-off and the tolerance. */
static void test_pipelined(void)
{
  const char *ways[2] = {"integrator={tolerance: 1e-9}", "integrator={tolerance: 1e-9, solver: pipelined}"};
  struct run runs[2];
  for (int w = 0; w < 2; w++) {
    struct scene *scene = parse(dropped, &ways[w], 1);
    runs[w] = check_same(scene, ISA_COUNT, 12, ways[w]);
    check_happened(&runs[w], ways[w]);
    scene_destroy(&scene);
  }
  const double plain = (double)runs[0].totals.iterations, pipelined = (double)runs[1].totals.iterations;
  CHECK(plain > 0.0 && pipelined > 0.98 * plain && pipelined < 1.02 * plain);
  if (all.rank == 0) {
    CHECK(state_difference(&runs[0].state, &runs[1].state, PARTICLE_POSITION) < 1e-9);
    CHECK(state_difference(&runs[0].state, &runs[1].state, PARTICLE_VELOCITY) < 1e-6);
  }
  for (int w = 0; w < 2; w++) state_free(&runs[w].state);
  const char *thrown_way = "integrator={stop: strain, tolerance: 1e-6, solver: pipelined}";
  struct scene *scene = parse(thrown, &thrown_way, 1);
  struct run run = check_same(scene, ISA_COUNT, 40, "thrown, pipelined");
  check_happened(&run, "thrown, pipelined");
  state_free(&run.state);
  scene_destroy(&scene);
}

/* Three materials and more in contact with each other, in one cell and across the cuts. */
static const char mixed[] =
    "domain: {lower: [-0.15, -0.04, -0.06], cells: [30, 16, 12], spacing: 0.01, slab_axis: x}\n"
    "time: {end: 1, frame_rate: 1000, max_step: 2e-4}\n"
    "materials:\n"
    "  snow: {young: 8e4, critical_compression: 5e-3, critical_stretch: 2e-3}\n"
    "  dune: {model: sand, young: 5e5}\n"
    "  slab: {model: cam_clay, young: 5e5, compressive_strength: 2e3}\n"
    "  gel: {model: neo_hookean, young: 1e5}\n"
    "  ice: {model: von_mises, young: 5e5, yield_stress: 2e3}\n"
    "  spring: {model: %s, %s: 1e5}\n"
    "snow:\n"
    "  - {box: {lower: [-0.06, 0, -0.03], upper: [0.06, 0.02, 0.03]}, per_cell: 4, material: dune}\n"
    "  - {box: {lower: [-0.06, 0.02, -0.03], upper: [0.06, 0.03, 0.03]}, per_cell: 4, material: slab}\n"
    "  - {box: {lower: [-0.06, 0.03, -0.03], upper: [0.02, 0.04, 0.03]}, per_cell: 4, material: snow,\n"
    "     velocity: [4, -4, 1]}\n"
    "  - {box: {lower: [0.02, 0.03, -0.03], upper: [0.06, 0.04, 0]}, per_cell: 4, material: gel}\n"
    "  - {box: {lower: [0.02, 0.03, 0], upper: [0.06, 0.04, 0.03]}, per_cell: 4, material: ice}\n"
    "  - {box: {lower: [-0.06, 0.04, -0.03], upper: [0.06, 0.05, 0.03]}, per_cell: 4, material: spring,\n"
    "     velocity: [3, -5, 0]}\n"
    "bodies:\n"
    "  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, friction: 0.3}\n"
    "  wall: {plane: {point: [0.062, 0, 0], normal: [-1, 0, 0]}, friction: 0.1}\n";

static void test_materials(void)
{
  const char *integrators[2][2] = {
      {"integrator={scheme: explicit}", "integrator={stop: strain, tolerance: 1e-6, precision: mixed}"},
      {"integrator={scheme: explicit}", "integrator={stop: strain, tolerance: 1e-6, precision: double}"}};
  const char *transfers[] = {"transfer={scheme: flip}", "transfer={scheme: apic, force: mls}"};
  for (int k = 0; k < 4; k++) {
    const bool explicit = k % 2 == 0;
    char text[sizeof mixed + 64];
    snprintf(text, sizeof text, mixed, explicit ? "water" : "corotated", explicit ? "bulk_modulus" : "young");
    struct scene *scene = parse(text, (const char *const[]){transfers[k / 2], integrators[k / 2][k % 2]}, 2);
    char what[128];
    snprintf(what, sizeof what, "materials, %s, %s", explicit ? "explicit" : "solve", transfers[k / 2]);
    struct run run = check_same(scene, ISA_COUNT, 40, what);
    check_happened(&run, what);
    CHECK_TEXT((run.totals.repeats > 0) == !explicit, what);
    state_free(&run.state);
    scene_destroy(&scene);
  }
}

/* Water that flows against snow between walls off the grid lines, on a hot floor and past a cold ball: it
 * melts and freezes, pushes and touches on shared bricks. */
static const char thawing[] =
    "domain: {lower: [-0.15, -0.04, -0.06], cells: [30, 16, 12], spacing: 0.01, slab_axis: x}\n"
    "time: {end: 1, frame_rate: 1000, step: 5e-4}\n"
    "heat:\n"
    "  latent_heat: 2e4\n"
    "  liquid: {conductivity: 2e4, stiffness: 1e6}\n"
    "  ambient: {temperature: 250, exchange: 20}\n"
    "materials: {snow: {young: 8e4}}\n"
    "snow:\n"
    "  - {box: {lower: [-0.1, 0, -0.034], upper: [0, 0.03, 0.034]}, phase: liquid, temperature: 274,\n"
    "     per_cell: 6, velocity: [1.5, 0, 0]}\n"
    "  - {box: {lower: [0, 0, -0.034], upper: [0.1, 0.035, 0.034]}, temperature: 272.9, conductivity: 2e4,\n"
    "     per_cell: 6}\n"
    "bodies:\n"
    "  floor: {plane: {point: [0, -0.0003, 0], normal: [0, 1, 0]}, friction: 0.3, liquid_friction: 0.05,\n"
    "          temperature: 400}\n"
    "  left: {plane: {point: [-0.1012, 0, 0], normal: [1, 0, 0]}}\n"
    "  right: {plane: {point: [0.1013, 0, 0], normal: [-1, 0, 0]}, friction: 0.2}\n"
    "  front: {plane: {point: [0, 0, -0.0342], normal: [0, 0, 1]}}\n"
    "  back: {plane: {point: [0, 0, 0.0344], normal: [0, 0, -1]}}\n"
    "  ball: {sphere: {center: [-0.04, 0.035, 0], radius: 0.02}, velocity: [-0.5, 0, 0], temperature: 100,\n"
    "         liquid_friction: 0.1}\n";

static void test_heat(void)
{
  const char *ways[][2] = {{"integrator={tolerance: 1e-5}", "transfer={scheme: apic}"},
                           {"integrator={tolerance: 1e-4, beta: 0.5}", "transfer={scheme: flip}"},
                           {"integrator={scheme: explicit}", "transfer={scheme: flip}"}};
  for (int w = 0; w < 3; w++) {
    const char *step = w == 2 ? "time.step=1e-4" : "time.step=5e-4";
    struct scene *scene = parse(thawing, (const char *const[]){ways[w][0], ways[w][1], step}, 3);
    struct run run = check_same(scene, ISA_COUNT, 30, ways[w][0]);
    check_happened(&run, ways[w][0]);
    if (all.rank == 0)
      printf("%28s melted %lld, frozen %lld, shared changes %lld\n", "", (long long)run.totals.melted,
             (long long)run.totals.frozen, (long long)run.totals.shared_changed);
    CHECK(run.totals.melted > 0 && run.totals.frozen > 0);
    if (all.size > 1) CHECK(run.totals.shared_changed > 0);
    state_free(&run.state);
    scene_destroy(&scene);
  }
}

/* Slabs along each axis; along z there are 13 planes, so the fifth rank and those after it idle. Bits may
 * differ between axes, since sums are nested the other way round, but not by more than round-off. */
static void test_axes(void)
{
  const char *axes[] = {"domain.slab_axis=x", "domain.slab_axis=y", "domain.slab_axis=z"};
  const char *ways[][2] = {{"integrator={scheme: explicit}", "transfer={scheme: flip}"},
                           {"integrator={tolerance: 1e-11}", "transfer={scheme: apic, kernel: quadratic}"}};
  for (int w = 0; w < 2; w++) {
    struct run first = {0};
    for (int a = 0; a < 3; a++) {
      struct scene *scene = parse(dropped, (const char *const[]){axes[a], ways[w][0], ways[w][1]}, 3);
      struct run run = check_same(scene, ISA_COUNT, 6, axes[a]);
      check_happened(&run, axes[a]);
      if (a == 2) CHECK(run.happened.idle == (all.size > 4 ? all.size - 4 : 0));
      if (a == 0) {
        first = run;
      } else {
        if (all.rank == 0) {
          CHECK(state_difference(&first.state, &run.state, PARTICLE_POSITION) < 1e-12);
          CHECK(state_difference(&first.state, &run.state, PARTICLE_VELOCITY) < 1e-8);
        }
        state_free(&run.state);
      }
      scene_destroy(&scene);
    }
    state_free(&first.state);
  }
}

/* Every instruction set that this machine runs, each with bits of its own; all agree to round-off. */
static void test_isas(void)
{
  const char *ways[] = {"integrator={scheme: explicit}", "integrator={tolerance: 1e-11}",
                        "integrator={precision: mixed}"};
  struct run first = {0};
  for (int isa = 0; isa <= (int)isa_detect(); isa++) {
    const struct kernels *kernels = kernels_get((enum isa)isa);
    if (!kernels) continue;
    for (int w = 0; w < 3; w++) {
      struct scene *scene = parse(dropped, &ways[w], 1);
      struct run run = check_same(scene, (enum isa)isa, 5, kernels->name);
      CHECK_TEXT(strcmp(run.kernels, kernels->name) == 0, "not the instruction set that was asked for");
      check_happened(&run, kernels->name);
      if (w == 0 && isa == 0) {
        first = run;
      } else {
        if (all.rank == 0 && w == 0) {
          const double x = state_difference(&first.state, &run.state, PARTICLE_POSITION);
          const double v = state_difference(&first.state, &run.state, PARTICLE_VELOCITY);
          const double fe = state_difference(&first.state, &run.state, PARTICLE_FE);
          printf("%s against the least set after 5 steps: x %.1e, v %.1e, FE %.1e\n", kernels->name, x, v,
                 fe);
          CHECK(x < 1e-13 && v < 1e-10 && fe < 1e-11);
        }
        state_free(&run.state);
      }
      scene_destroy(&scene);
    }
  }
  state_free(&first.state);
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  comm_create(&all, MPI_COMM_WORLD);
  comm_create(&alone, MPI_COMM_SELF);
  log_configure(LOG_WARN, all.rank, comm_abort); /* one warning of idle ranks, not one a rank */
  test_thrown();
  test_instruments();
  test_moving_cuts();
  test_free_bodies();
  test_transfers();
  test_pipelined();
  test_materials();
  test_heat();
  test_axes();
  test_isas();
  comm_destroy(&alone);
  comm_destroy(&all);
  return check_end();
}
