/* Threads and moving cuts change no bit: the same scenes on 1, 2, 3 and 5 threads a rank come to the same
 * state, on every rank count. */
#include "io/scene.h"
#include "sim.h"
#include "support/check.h"

#include <string.h>
#include <xxhash.h>

static const char *const scenes[] = {
    "domain: {lower: [0, 0, 0], cells: [60, 24, 24], spacing: 0.02}\n"
    "time: {end: 1, step: 1e-4}\n"
    "integrator: {scheme: explicit}\n"
    "snow:\n"
    "  - box: {lower: [0.1, 0.05, 0.1], upper: [0.9, 0.15, 0.3]}\n"
    "    particles: 3000\n"
    "    velocity: [3, -4, 0]\n"
    "bodies:\n"
    "  floor: {plane: {point: [0, 0.045, 0], normal: [0, 1, 0]}, friction: 0.5}\n",
    "domain: {lower: [0, 0, 0], cells: [60, 24, 24], spacing: 0.02}\n"
    "time: {end: 1, step: 4e-4}\n"
    "transfer: {scheme: apic, kernel: quadratic, force: mls}\n"
    "integrator: {scheme: semi-implicit, tolerance: 1e-6}\n"
    "snow:\n"
    "  - box: {lower: [0.1, 0.05, 0.1], upper: [0.9, 0.15, 0.3]}\n"
    "    particles: 3000\n"
    "    velocity: [3, -4, 0]\n"
    "bodies:\n"
    "  floor: {plane: {point: [0, 0.045, 0], normal: [0, 1, 0]}, friction: 0.5}\n",
};

/* Sum over all particles of a hash of each one's bits: the same whoever holds it. */
static int64_t fingerprint(const struct sim *sim)
{
  const struct particles *p = sim->p;
  uint64_t sum = 0;
  for (int32_t i = 0; i < p->count; i++) {
    double state[16];
    for (int d = 0; d < 3; d++) {
      state[d] = p->x[d][i];
      state[3 + d] = p->v[d][i];
    }
    for (int k = 0; k < 9; k++) state[6 + k] = p->fe[k][i];
    state[15] = p->jp[i];
    sum += XXH3_64bits_withSeed(state, sizeof state, p->id[i]);
  }
  int64_t total;
  memcpy(&total, &sum, sizeof total);
  comm_sum_i64(&sim->comm, &total, 1);
  return total;
}

static int64_t run(struct comm comm, const char *text, int threads, int steps, int64_t *rebalanced)
{
  struct error err = {0};
  struct scene *scene = NULL;
  struct sim *sim = NULL;
  comm.threads = threads;
  CHECK_TEXT(scene_parse(&scene, "threads.yml", text, NULL, 0, &err) == FIRN_OK, err.text);
  CHECK_TEXT(sim_create(&sim, &comm, scene, ISA_COUNT, &err) == FIRN_OK, err.text);
  if (threads > 1 && comm.size <= 2) CHECK(sim->grid->chunk_count > 1); /* slabs wide enough to share out */
  for (int k = 0; k < steps; k++) CHECK_TEXT(sim_advance(sim, scene->step, &err) == FIRN_OK, err.text);
  CHECK(sim->report.plastic > 0 && sim->report.contact_nodes > 0);
  const int64_t print = fingerprint(sim);
  *rebalanced = sim->totals.rebalanced;
  sim_destroy(&sim);
  scene_destroy(&scene);
  return print;
}

/* Two balls fly apart: the cuts must follow, and the state is that of one process. */
static void check_moving_cuts(const struct comm *comm)
{
  static const char text[] =
      "domain: {lower: [0, 0, 0], cells: [200, 24, 24], spacing: 0.02}\n"
      "time: {end: 1, step: 5e-4}\n"
      "integrator: {scheme: explicit}\n"
      "materials: {soft: {young: 2e3}}\n"
      "snow:\n"
      "  - {sphere: {center: [1.9, 0.24, 0.24], radius: 0.1}, particles: 1500, velocity: [-20, 0, 0]}\n"
      "  - {sphere: {center: [2.1, 0.24, 0.24], radius: 0.1}, particles: 1500, velocity: [20, -5, 0]}\n"
      "bodies:\n"
      "  floor: {plane: {point: [0, 0.145, 0], normal: [0, 1, 0]}, friction: 0.5}\n";
  struct comm self;
  comm_create(&self, MPI_COMM_SELF);
  int64_t rebalanced;
  const int64_t alone = run(self, text, 1, 120, &rebalanced);
  CHECK(rebalanced == 0);
  CHECK(run(*comm, text, 2, 120, &rebalanced) == alone);
  CHECK(comm->size < 3 || rebalanced > 0); /* two ranks keep one ball each */
  comm_destroy(&self);
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  struct comm comm;
  comm_create(&comm, MPI_COMM_WORLD);
  int64_t rebalanced;
  for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++) {
    const int64_t alone = run(comm, scenes[k], 1, 12, &rebalanced);
    const int counts[3] = {2, 3, 5};
    for (int c = 0; c < 3; c++) CHECK(run(comm, scenes[k], counts[c], 12, &rebalanced) == alone);
  }
  check_moving_cuts(&comm);
  comm_destroy(&comm);
  return check_end();
}
