/* What a particle takes (docs/performance.md, Memory): by count, of arrays and of what they hold in reserve,
 * on every number of ranks. The grid's part is six fields a node, four doubles each. */
#include "base/memory.h"
#include "io/scene/scene.h"
#include "io/scene/scene_report.h"
#include "sim/sim.h"
#include "support/check.h"

static struct comm world;

#define BLOCK                                                                                                \
  "domain: {lower: [0, 0, 0], cells: [60, 24, 24], spacing: 0.02}\n"                                         \
  "time: {end: 1, step: 2e-4}\n"                                                                             \
  "bodies:\n  floor: {plane: {point: [0, 0.045, 0], normal: [0, 1, 0]}, friction: 0.5}\n"                    \
  "snow:\n  - {box: {lower: [0.1, 0.05, 0.1], upper: [0.94, 0.25, 0.3]}, per_cell: 8, velocity: [9, -3, 0]"
#define EVEN BLOCK "}\n"

enum {
  STATE = 8 * (3 + 3 + 9 + 1), /* position, velocity, F_E, J_P */
  CONSTANTS = 8 * 3,           /* id, mass, V0 */
  ORDER = 4 + 4 + 1,           /* slot, home, fate */
  AFFINE = 8 * 9
};

static const struct {
  const char *text;
  int particle, fields;
} scenes[] = {
    {"integrator: {scheme: semi-implicit}\n" EVEN, 2 * STATE + CONSTANTS + ORDER, 6},
    {"integrator: {scheme: explicit}\n" EVEN, 2 * STATE + CONSTANTS + ORDER, 2},
    {"transfer: {scheme: apic}\nintegrator: {scheme: semi-implicit}\n" EVEN,
     2 * STATE + CONSTANTS + ORDER + AFFINE, 6},
    {"transfer: {scheme: apic, force: mls}\nintegrator: {scheme: semi-implicit}\n" EVEN,
     2 * STATE + CONSTANTS + ORDER + AFFINE, 6},
    {"transfer: {scheme: apic}\nintegrator: {scheme: explicit}\n" EVEN,
     2 * STATE + CONSTANTS + ORDER + AFFINE, 2},
    {"transfer: {scheme: apic, force: mls}\nintegrator: {scheme: explicit}\n" EVEN,
     2 * STATE + CONSTANTS + ORDER + 2 * AFFINE, 2},
    {"transfer: {scheme: apic}\noutput: {budget: true}\nintegrator: {scheme: semi-implicit}\n" EVEN,
     2 * STATE + CONSTANTS + ORDER + 2 * AFFINE, 7},
    {"integrator: {scheme: semi-implicit}\n" BLOCK ", vary: {noise: {stiffness: 2, scale: 0.1}}}\n",
     2 * STATE + CONSTANTS + ORDER + 8, 6},
    {"integrator: {scheme: semi-implicit}\n" BLOCK
     ", vary: {shell: {thickness: 0.04, stiffness_factor: 3}}}\n",
     2 * STATE + CONSTANTS + ORDER + 8, 6},
    {"integrator: {scheme: semi-implicit}\n" BLOCK ", vary: {shell: {thickness: 0.04, density_factor: 2}}}\n",
     2 * STATE + CONSTANTS + ORDER, 6},
    {"materials: {snow: {}, other: {young: 2e5}}\nintegrator: {scheme: semi-implicit}\n" BLOCK
     ", material: snow}\n",
     2 * STATE + CONSTANTS + ORDER + 4, 6},
};

static int bytes_of(const struct particles *p)
{
  int bytes = 0;
  for (struct particle_walk w = particle_walk(p); particle_next(&w);) bytes += (int)field_size(w.field->type);
  return bytes;
}

/* `most` is the largest number of particles that this rank has had. */
static void check_bytes(const struct sim *s, int particle, int fields, int32_t most)
{
  const int order = (int)(sizeof *s->order.slot + sizeof *s->order.home + sizeof *s->next.fate);
  int nodes = 0;
  for (int f = 0; f < NODE_FIELDS; f++) nodes += s->mesh.grid->node[f] != NULL;
  for (int k = 0; k < KEPT_GENERAL - STATE_SPARES; k++) CHECK(!s->transfer.kept.more[k]);
  CHECK(bytes_of(s->p) + bytes_of(s->next.p) + order == particle);
  char text[64];
  snprintf(text, sizeof text, "%d fields, not %d", nodes, fields);
  CHECK_TEXT(nodes == fields, text);
  CHECK(s->p->capacity <= most + most / 32 + 64 && s->next.p->capacity <= s->p->capacity);
  CHECK(s->order.capacity <= s->p->capacity);
}

/* What `firn check` says of a particle, besides the grid's part: what it takes, and what is kept in reserve.
 */
static void check_estimate(const struct scene *scene, int particle)
{
  struct scene_estimate few, e;
  scene_estimate(scene, 0, world.size, &few);
  scene_estimate(scene, 1000000, world.size, &e); /* as many more from files, which have no nodes here */
  const double told = (e.bytes - few.bytes) * world.size / 1e6;
  CHECK(told >= particle && told <= particle + 20);
}

static void check_scene(const char *text, int particle, int fields)
{
  struct error err = {0};
  struct scene *scene = NULL;
  struct sim *sim = NULL;
  CHECK_TEXT(scene_parse(&scene, "memory.yml", text, NULL, 0, &err) == FIRN_OK, err.text);
  CHECK_TEXT(sim_create(&sim, &world, scene, ISA_COUNT, &err) == FIRN_OK, err.text);
  int32_t most = sim->p->count;
  for (int step = 0; step < 6; step++) {
    CHECK_TEXT(sim_step(sim, &err) == FIRN_OK, err.text);
    /* Who leaves keeps a home, and who arrives may have come first. */
    const int32_t homes = sim->order.homes_used + (int32_t)sim->incoming.count;
    most = homes > most ? homes : most;
  }
  CHECK(world.size == 1 || sim->totals.migrated > 0);
  check_estimate(scene, particle);
  check_bytes(sim, particle, fields, most);
  sim_destroy(&sim);
  scene_destroy(&scene);
}

/* Large blocks grow where they are or by moving pages: what they held stays, and what is new is zero. */
static void check_growth(void)
{
  enum { FIRST = 300001, TRIMMED = 200003 };
  uint64_t *a = mem_alloc(FIRST, sizeof *a), *b[5];
  for (int32_t k = 0; k < FIRST; k++) a[k] = (uint64_t)k + 1;
  mem_trim(a, TRIMMED, sizeof *a);
  int32_t count = TRIMMED;
  for (int n = 0; n < 5; n++) {
    const int32_t more = count + (n == 1 ? 1 : 77777 * n);
    a = mem_resize(a, (size_t)count, (size_t)more, sizeof *a);
    CHECK((uintptr_t)a % 64 == 0);
    for (int32_t k = 0; k < more; k++) CHECK(a[k] == (k < count ? (uint64_t)k + 1 : 0));
    for (int32_t k = count; k < more; k++) a[k] = (uint64_t)k + 1;
    count = more;
    b[n] = mem_alloc(400000, sizeof **b); /* in the way of the next growth */
    b[n][399999] = 7;
  }
  for (int n = 0; n < 5; n++) CHECK(b[n][0] == 0 && b[n][399999] == 7);
  for (int n = 0; n < 5; n++) mem_free(b[n]);
  a = mem_resize(a, (size_t)count, 1000, sizeof *a); /* and back to a small one */
  for (int32_t k = 0; k < 1000; k++) CHECK(a[k] == (uint64_t)k + 1);
  a = mem_resize(a, 1000, 500000, sizeof *a);
  for (int32_t k = 0; k < 500000; k++) CHECK(a[k] == (k < 1000 ? (uint64_t)k + 1 : 0));
  mem_free(a);
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  comm_create(&world, MPI_COMM_WORLD);
  check_growth();
  for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++)
    check_scene(scenes[k].text, scenes[k].particle, scenes[k].fields);
  comm_destroy(&world);
  return check_end();
}
