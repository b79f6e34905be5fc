/* Threads and moving cuts change no bit: the same scenes on 1 to 5 threads a rank come to the state of one
 * process with one thread, on every rank count; on 2 threads also with the least instruction set. */
#include "io/scene/scene.h"
#include "sim/sim.h"
#include "support/check.h"

#include <string.h>
#include <xxhash.h>

#define DOMAIN "domain: {lower: [0, 0, 0], cells: [60, 24, 24], spacing: 0.02}\n"
#define FLOOR  "bodies:\n  floor: {plane: {point: [0, 0.045, 0], normal: [0, 1, 0]}, friction: 0.5}\n"
#define BLOCK                                                                                                \
  "snow:\n  - {box: {lower: [0.1, 0.05, 0.1], upper: [0.9, 0.15, 0.3]}, particles: 3000,\n"                  \
  "     velocity: [3, -4, 0], volume: estimated}\n" FLOOR
/* Sand, cam clay and snow one on the other; cells hold two of them. */
#define LAYERS                                                                                               \
  "materials: {dune: {model: sand, young: 5e5}, slab: {model: cam_clay, young: 5e5, compressive_strength: "  \
  "2e3},\n"                                                                                                  \
  "  snow: {}}\n"                                                                                            \
  "snow:\n  - {box: {lower: [0.1, 0.05, 0.1], upper: [0.9, 0.09, 0.3]}, particles: 1200, material: dune, "   \
  "volume: estimated}\n"                                                                                     \
  "  - {box: {lower: [0.1, 0.09, 0.1], upper: [0.9, 0.13, 0.3]}, particles: 1200, material: slab, volume: "  \
  "estimated}\n"                                                                                             \
  "  - {box: {lower: [0.1, 0.13, 0.1], upper: [0.9, 0.15, 0.3]}, particles: 800, material: snow,\n"          \
  "     velocity: [3, -4, 0], volume: estimated}\n" FLOOR

static const struct {
  const char *text;
  unsigned needs; /* fields that only some scenes have, so that their bits are compared too */
} scenes[] = {
    {DOMAIN "time: {end: 1, step: 1e-4}\nintegrator: {scheme: explicit}\n" BLOCK, NEEDS_NOTHING},
    {DOMAIN "time: {end: 1, step: 4e-4}\ntransfer: {scheme: apic, kernel: quadratic, force: mls}\n"
            "integrator: {scheme: semi-implicit, tolerance: 1e-6}\n" BLOCK,
     NEEDS_AFFINE},
    {DOMAIN "time: {end: 1, step: 4e-4}\n"
            "integrator: {scheme: semi-implicit, tolerance: 1e-6, solver: pipelined}\n" BLOCK,
     NEEDS_NOTHING},
    {DOMAIN "time: {end: 1, step: 1e-4}\ntransfer: {scheme: apic}\nintegrator: {scheme: explicit}\n" LAYERS,
     NEEDS_AFFINE | NEEDS_SHEAR | NEEDS_MATERIAL},
    {DOMAIN "time: {end: 1, step: 4e-4}\ntransfer: {scheme: apic}\nintegrator: {tolerance: 1e-6, beta: "
            "0.5}\n" LAYERS,
     NEEDS_AFFINE | NEEDS_SHEAR | NEEDS_FLOW | NEEDS_MATERIAL},
};

/* Sum over all particles of a hash of each one's bits, all fields of it: the same whoever holds it. */
static int64_t fingerprint(const struct sim *sim)
{
  const struct particles *p = sim->p;
  unsigned char *record = mem_alloc(1, particles_record_size(p));
  uint64_t sum = 0;
  for (int32_t i = 0; i < p->count; i++) {
    particles_pack(p, i, record);
    sum += XXH3_64bits(record, particles_record_size(p));
  }
  mem_free(record);
  int64_t total;
  memcpy(&total, &sum, sizeof total);
  comm_sum_i64(&sim->comm, &total, 1);
  return total;
}

/* A bit of any field that changes must show: a fingerprint that leaves one out would prove nothing of it. */
static void check_sensitive(const struct sim *sim, int64_t print)
{
  for (int f = 0; f < PARTICLE_FIELDS; f++)
    for (int c = 0; c < particle_fields[f].components; c++) {
      unsigned char *array = particle_array(sim->p, &particle_fields[f], c);
      if (!array) continue;
      if (sim->p->count) array[0] ^= 1;
      CHECK_TEXT(fingerprint(sim) != print, particle_fields[f].name);
      if (sim->p->count) array[0] ^= 1;
    }
  CHECK(fingerprint(sim) == print);
}

static int64_t run(struct comm comm, enum isa isa, const char *text, int threads, int steps, unsigned needs,
                   int64_t *rebalanced)
{
  struct error err = {0};
  struct scene *scene = NULL;
  struct sim *sim = NULL;
  comm.threads = threads;
  CHECK_TEXT(scene_parse(&scene, "threads.yml", text, NULL, 0, &err) == FIRN_OK, err.text);
  CHECK_TEXT(sim_create(&sim, &comm, scene, isa, &err) == FIRN_OK, err.text);
  CHECK(particles_needs(sim->p) == needs);
  if (comm.thread_least == INT32_MAX)
    CHECK(sim->mesh.grid->threads == 1);
  else if (threads > 1 && comm.size <= 2)
    CHECK(sim->mesh.grid->threads > 1 && sim->mesh.grid->blocks.count >= threads); /* all have work */
  for (int k = 0; k < steps; k++) CHECK_TEXT(sim_advance(sim, scene->step, &err) == FIRN_OK, err.text);
  CHECK(sim->report.plastic > 0 && sim->report.contact_nodes > 0);
  CHECK((sim->totals.repeats > 0) == ((needs & NEEDS_FLOW) != 0)); /* checked solves take part */
  sim_tidy(sim);
  const int64_t print = fingerprint(sim);
  check_sensitive(sim, print);
  if (rebalanced) *rebalanced = sim->totals.rebalanced;
  sim_destroy(&sim);
  scene_destroy(&scene);
  return print;
}

/* Two balls fly apart: the cuts must follow, and the state is that of one process. */
static void check_moving_cuts(const struct comm *comm)
{
  static const char text[] = "domain: {lower: [0, 0, 0], cells: [200, 24, 24], spacing: 0.02}\n"
                             "time: {end: 1, step: 5e-4}\n"
                             "integrator: {scheme: explicit}\n"
                             "materials: {soft: {young: 2e3}}\n"
                             "snow:\n"
                             "  - {sphere: {center: [1.9, 0.24, 0.24], radius: 0.1}, particles: 1500, "
                             "velocity: [-20, 0, 0], volume: estimated}\n"
                             "  - {sphere: {center: [2.1, 0.24, 0.24], radius: 0.1}, particles: 1500, "
                             "velocity: [20, -5, 0], volume: estimated}\n"
                             "bodies:\n"
                             "  floor: {plane: {point: [0, 0.145, 0], normal: [0, 1, 0]}, friction: 0.5}\n";
  struct comm self;
  comm_create(&self, MPI_COMM_SELF);
  int64_t rebalanced;
  const int64_t alone = run(self, ISA_COUNT, text, 1, 120, NEEDS_NOTHING, &rebalanced);
  CHECK(rebalanced == 0);
  CHECK(run(*comm, ISA_COUNT, text, 2, 120, NEEDS_NOTHING, &rebalanced) == alone);
  struct comm idle = *comm; /* threads that rest while there is little to do: all but one, or now and then */
  idle.thread_least = INT32_MAX;
  CHECK(run(idle, ISA_COUNT, text, 3, 120, NEEDS_NOTHING, &rebalanced) == alone);
  idle.thread_least = comm->size > 2 ? 400 : 700;
  CHECK(run(idle, ISA_COUNT, text, 3, 120, NEEDS_NOTHING, &rebalanced) == alone);
  CHECK(comm->size < 3 || rebalanced > 0); /* two ranks keep one ball each */
  comm_destroy(&self);
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  struct comm comm, self;
  comm_create(&comm, MPI_COMM_WORLD);
  comm_create(&self, MPI_COMM_SELF);
  for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++) {
    const int64_t alone = run(self, ISA_COUNT, scenes[k].text, 1, 12, scenes[k].needs, NULL);
    for (int threads = 1; threads <= 5; threads++)
      CHECK(run(comm, ISA_COUNT, scenes[k].text, threads, 12, scenes[k].needs, NULL) == alone);
    if (isa_detect() == ISA_BASE) continue;
    const int64_t base = run(self, ISA_BASE, scenes[k].text, 1, 12, scenes[k].needs, NULL);
    CHECK(base != alone && run(comm, ISA_BASE, scenes[k].text, 2, 12, scenes[k].needs, NULL) == base);
  }
  comm_destroy(&self);
  check_moving_cuts(&comm);
  comm_destroy(&comm);
  return check_end();
}
