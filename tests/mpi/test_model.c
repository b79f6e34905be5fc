/* The model counts as the program does: planes, cuts, messages and bytes; and it knows a scene from its
 * shapes nearly as well as from its particles. */
#include "base/memory.h"
#include "decomposition/comm.h"
#include "predict/time_model.h"
#include "sim/cost.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct comm world;

static const char *const block = "domain: {lower: [-0.1, -0.1, -0.1], cells: [44, 24, 20], spacing: 0.02}\n"
                                 "time: {end: 1, step: 1e-4}\n"
                                 "snow:\n"
                                 "  - {box: {lower: [0, 0, 0], upper: [0.66, 0.26, 0.2]}, per_cell: 8}\n";

static const char *const shapes =
    "domain: {lower: [0, 0, 0], cells: [80, 60, 60], spacing: 0.02}\n"
    "time: {end: 1, step: 1e-4}\n"
    "snow:\n"
    "  - {sphere: {center: [0.3, 0.3, 0.3], radius: 0.2}, per_cell: 8}\n"
    "  - {box: {center: [0.8, 0.4, 0.5], size: [0.3, 0.5, 0.2], rotate: {axis: [1, 1, 0], degrees: 30}}, "
    "particles: 20000}\n"
    "  - {cylinder: {from: [0.3, 0.8, 0.8], to: [1.4, 0.9, 0.9], radius: 0.1}, per_cell: 6}\n";

static struct sim *make(const char *text, struct scene **scene)
{
  struct error err = {0};
  struct sim *sim = NULL;
  CHECK_TEXT(!scene_parse(scene, "test.yml", text, NULL, 0, &err), err.text);
  CHECK_TEXT(!scene_load(*scene, &world, &err), err.text);
  CHECK_TEXT(!sim_create(&sim, &world, *scene, ISA_COUNT, &err), err.text);
  return sim;
}

static bool near(double a, double b, double tolerance)
{
  return fabs(a - b) <= tolerance * fabs(b);
}

/* Work of the busiest slab in a step with two products (sim/cost.h). */
static int64_t work_of(const struct profile *p, const struct slabs *slabs)
{
  const struct cost cost = cost_of(2);
  int64_t most = 0;
  for (int r = 0; r < slabs->count; r++) {
    int64_t sum = 0;
    for (int32_t k = slabs->cut[r]; k < slabs->cut[r + 1]; k++)
      sum += cost.particle * p->particles[k] + cost.cell * p->cells[k] + cost.block * p->blocks[k];
    for (int32_t k = slabs->cut[r]; k <= slabs->cut[r + 1]; k++) sum += cost.brick * p->bricks[k];
    if (sum > most) most = sum;
  }
  return most;
}

/* Cuts that cost no more than the program's, and the bytes and messages of a step with them. */
static void test_counts(void)
{
  struct scene *scene = NULL;
  struct sim *sim = make(block, &scene);
  struct profile *p = profile_of_sim(sim);
  CHECK(p->all_particles == sim->totals.particles);
  CHECK(p->layers == sim->mesh.slabs->layers);
  struct slabs *cuts = model_cuts(p, world.size, 2.0);
  CHECK(cuts->count == sim->mesh.slabs->count);
  CHECK(work_of(p, cuts) == work_of(p, sim->mesh.slabs));
  slabs_destroy(&cuts);

  struct error err = {0};
  sim->balance.every = 0;
  const int64_t bytes = sim->mesh.halo->bytes, messages = sim->mesh.halo->messages;
  CHECK_TEXT(!sim_step(sim, &err), err.text);
  const double exchanges = 2.0 + sim->report.iterations + 2.0; /* two fields of P2G, and the products, */
  const double full = 2.0 + 0.75 * (exchanges - 2.0) + 0.25 * scene->jacobi; /* which send no scalars */
  const int sides =
      world.rank >= sim->mesh.slabs->count ? 0 : (world.rank > 0) + (world.rank + 1 < sim->mesh.slabs->count);
  CHECK((double)(sim->mesh.halo->messages - messages) ==
        sides * (exchanges + 1.0)); /* and the lists of bricks */
  if (sides)
    CHECK(near((double)(sim->mesh.halo->bytes - bytes), full * model_sent(p, sim->mesh.slabs, world.rank),
               0.02));
  profile_destroy(&p);
  sim_destroy(&sim);
  scene_destroy(&scene);
}

/* From the shapes alone, and at another resolution. */
static void test_profile(const char *text)
{
  struct scene *scene = NULL;
  struct sim *sim = make(text, &scene);
  struct profile *exact = profile_of_sim(sim), *guess = profile_of_scene(scene, 1.0),
                 *fine = profile_of_scene(scene, 2.0);
  CHECK(guess->axis == exact->axis);
  CHECK(near((double)guess->all_particles, (double)exact->all_particles, 0.02));
  CHECK(near((double)guess->all_cells, (double)exact->all_cells, 0.08));
  CHECK(near((double)guess->all_bricks, (double)exact->all_bricks, 0.10));
  CHECK(near((double)fine->all_particles, 8.0 * (double)exact->all_particles, 0.02));
  struct profile *twice = profile_repeat(guess, 2, 0);
  CHECK(twice->layers == 2 * guess->layers && twice->all_particles == 2 * guess->all_particles);
  profile_destroy(&twice);
  profile_destroy(&exact);
  profile_destroy(&guess);
  profile_destroy(&fine);
  sim_destroy(&sim);
  scene_destroy(&scene);
}

/* Copies that meet are what a bar twice as long is: the layer between them holds bricks, which are sent. */
static void test_copies(void)
{
  static const char *const single =
      "domain: {lower: [-0.1, -0.1, -0.1], cells: [44, 24, 20], spacing: 0.02}\n"
      "time: {end: 1, step: 1e-4}\n"
      "snow:\n"
      "  - {box: {lower: [0, 0, 0], upper: [0.64, 0.26, 0.2]}, per_cell: 8}\n";
  static const char *const two = "domain: {lower: [-0.1, -0.1, -0.1], cells: [44, 24, 20], spacing: 0.02, "
                                 "copies: 2, copy_cells: 32}\n"
                                 "time: {end: 1, step: 1e-4}\n"
                                 "snow:\n"
                                 "  - {box: {lower: [0, 0, 0], upper: [0.64, 0.26, 0.2]}, per_cell: 8}\n";
  struct scene *scene = NULL, *copies = NULL;
  struct sim *sim = make(single, &scene), *long_sim = make(two, &copies);
  struct profile *one = profile_of_sim(sim), *exact = profile_of_sim(long_sim),
                 *guess = profile_of_scene(copies, 1.0);
  CHECK(profile_meeting_layers(one) == 8);
  struct profile *meet = profile_repeat(one, 2, profile_meeting_layers(one)),
                 *apart = profile_repeat(one, 2, 0);
  CHECK(meet->layers == exact->layers && guess->layers == exact->layers);
  CHECK(meet->all_particles == exact->all_particles);
  for (int32_t k = 7; k < 12; k++)
    CHECK(meet->bricks[k] == exact->bricks[k] && meet->blocks[k] == exact->blocks[k] && meet->bricks[k] > 0);
  CHECK(near((double)guess->all_bricks, (double)exact->all_bricks, 0.10));
  CHECK(apart->layers == 2 * one->layers && apart->blocks[one->layers] == 0);
  profile_destroy(&one);
  profile_destroy(&exact);
  profile_destroy(&guess);
  profile_destroy(&meet);
  profile_destroy(&apart);
  sim_destroy(&sim);
  sim_destroy(&long_sim);
  scene_destroy(&scene);
  scene_destroy(&copies);
}

/* What must hold whatever the machine. */
static void test_prediction(void)
{
  struct scene *scene = NULL;
  struct error err = {0};
  CHECK(!scene_parse(&scene, "test.yml", block, NULL, 0, &err));
  struct profile *p = profile_of_scene(scene, 4.0);
  const struct model_speed speed = {
      .parallel = 8e-9, .serial = 1e-9, .product = 10e-9, .ranks = 1, .threads = 1};
  const struct network none = {.ranks = 1};
  struct model_case c = {.ranks = 1, .threads = 1, .per_node = 1, .iterations = 10.0, .implicit = true};
  struct model_time one, two, many, piped;
  model_predict(p, &speed, &none, NULL, &c, &one);
  CHECK(near(one.step, one.work, 1e-12) && one.exchange <= 1e-12 * one.step && one.sums == 0.0);
  c.ranks = 2;
  const struct model_link *hdr = model_find_link("hdr"), slow = {"slow", NULL, 5e-3, 1e9};
  model_predict(p, &speed, &none, hdr, &c, &two);
  CHECK(two.step > 0.5 * one.step && two.step < 0.6 * one.step);
  CHECK(two.sum_count == 3.0 + 11.0);
  /* No more slabs than the layers allow: more ranks change nothing but the sums. */
  c.ranks = 1000;
  model_predict(p, &speed, &none, hdr, &c, &many);
  CHECK(many.slabs == p->layers);
  CHECK(many.step > one.step / 1000.0);
  /* Where sums take longer than products it pays to hide them; else it costs a product. */
  struct profile *small = profile_of_scene(scene, 1.0);
  c.ranks = 2;
  model_predict(small, &speed, &none, &slow, &c, &two);
  c.pipelined = true;
  model_predict(small, &speed, &none, &slow, &c, &piped);
  CHECK(piped.step < two.step);
  c.ranks = 1;
  model_predict(p, &speed, &none, NULL, &c, &piped);
  CHECK(piped.step > one.step);
  profile_destroy(&small);
  profile_destroy(&p);
  scene_destroy(&scene);
}

static void test_file(void)
{
  struct error err = {0};
  char path[64];
  snprintf(path, sizeof path, "test_model_%d.json", (int)getpid());
  struct model_speed speed = {.parallel = 1.25e-9,
                              .serial = 2.5e-10,
                              .product = 3e-9,
                              .iterations = 7.5,
                              .ranks = 4,
                              .threads = 2,
                              .machine = "a \"b\""},
                     back;
  struct network network = {.ranks = 4,
                            .latency = 1e-6,
                            .exchange = {2, {256.0, 1e6}, {2e-6, 1e-4}},
                            .sum = {3, {48.0, 544.0, 2176.0}, {3e-6, 4e-6, 8e-6}}},
                 wire;
  CHECK_TEXT(!model_save(path, &speed, &network, &err), err.text);
  CHECK_TEXT(!model_load(path, &back, &wire, &err), err.text);
  CHECK(back.parallel == speed.parallel && back.product == speed.product && back.ranks == 4 &&
        back.threads == 2);
  CHECK(strcmp(back.machine, speed.machine) == 0);
  CHECK(wire.sum.count == 3 && wire.exchange.count == 2);
  for (int k = 0; k < 3; k++)
    CHECK(wire.sum.bytes[k] == network.sum.bytes[k] && wire.sum.seconds[k] == network.sum.seconds[k]);
  /* Below the first size, at one, between two, beyond the last. */
  CHECK(curve_at(&wire.sum, 8.0) == 3e-6 && curve_at(&wire.sum, 544.0) == 4e-6);
  CHECK(fabs(curve_at(&wire.sum, 1360.0) - 6e-6) < 1e-15 &&
        fabs(curve_at(&wire.sum, 3808.0) - 12e-6) < 1e-15);
  FILE *file = fopen(path, "w");
  fputs("{\"speed\": 5}\n", file);
  fclose(file);
  CHECK(model_load(path, &back, &wire, &err) == FIRN_EINPUT);
  unlink(path);
}

/* The network is what it is; its figures must be possible. */
static void test_network(void)
{
  struct network n;
  network_measure(&world, &n);
  CHECK(n.ranks == world.size);
  if (world.size == 1) return;
  CHECK(n.latency > 0.0 && n.latency < 1.0);
  CHECK(curve_at(&n.exchange, 1e6) > 0.0 && curve_at(&n.sum, 2176.0) > 0.0);
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  comm_create(&world, MPI_COMM_WORLD);
  test_counts();
  test_profile(block);
  test_profile(shapes);
  test_copies();
  test_prediction();
  if (world.rank == 0) test_file();
  test_network();
  comm_destroy(&world);
  return check_end();
}
