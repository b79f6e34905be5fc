/* What libfirn promises: hooks, accelerations, bodies, particles, errors, several simulations at once. Each
 * case asks for bits that do not depend on the ranks, since every rank count compares with the same numbers
 * of a simulation on one rank. */
#include "firn/firn.h"
#include "support/check.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const char text[] =
    "domain: {lower: [0, 0, 0], cells: [24, 12, 12], spacing: 0.01, slab_axis: x}\n"
    "time: {end: 0.01, frame_rate: 200, max_step: 4e-4}\n"
    "snow: [{box: {lower: [0.02, 0.03, 0.03], upper: [0.12, 0.06, 0.06]}, velocity: [1, -1, 0]}]\n"
    "bodies:\n"
    "  floor: {plane: {point: [0, 0.025, 0], normal: [0, 1, 0]}, measure: true}\n"
    "  plate: {box: {lower: [0.14, 0.03, 0.02], upper: [0.15, 0.08, 0.1]}, measure: true, velocity: [-1, 0, "
    "0]}\n";

static void good(int code, const struct firn_error *err)
{
  CHECK_TEXT(code == FIRN_STATUS_OK, err->text);
}

static struct firn_scene *parse(const char *const *overrides, int count)
{
  struct firn_scene *scene = NULL;
  struct firn_error err = {0};
  good(firn_scene_parse(&scene, "interface.yml", text, overrides, count, &err), &err);
  return scene;
}

static struct firn_sim *create(MPI_Comm comm, const struct firn_scene *scene)
{
  struct firn_sim *sim = NULL;
  struct firn_error err = {0};
  struct firn_options options = FIRN_OPTIONS_INIT;
  options.threads = 1;
  good(firn_sim_create(&sim, comm, scene, &options, &err), &err);
  return sim;
}

/* A number of the whole state: sums of the bits of each particle's fields, as integers. */
static uint64_t state_of(const struct firn_sim *sim, MPI_Comm comm)
{
  uint64_t sum = 0, all = 0;
  for (int k = 0; k < firn_sim_field_count(sim); k++) {
    struct firn_field field, id;
    good(firn_sim_get_field(sim, k, &field, NULL), &(struct firn_error){0});
    good(firn_sim_find_field(sim, "id", &id, NULL), &(struct firn_error){0});
    for (int c = 0; c < field.components && field.type != FIRN_TYPE_U32; c++)
      for (int64_t i = 0; i < field.count; i++) {
        uint64_t bits;
        memcpy(&bits, (const char *)field.array[c] + 8 * i, 8);
        sum +=
            (bits ^ (bits >> 29)) * (2 * ((const uint64_t *)id.array[0])[i] + 1) * (uint64_t)(31 * k + c + 1);
      }
  }
  MPI_Allreduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, comm);
  return all;
}

/* --- what a driver may do; each case changes the course of the simulation --- */

static int calls;

static int count_call(void *context, struct firn_sim *sim)
{
  (void)sim;
  ++*(int *)context;
  return 0;
}

static int stop_at_second(void *context, struct firn_sim *sim)
{
  (void)sim;
  return ++*(int *)context == 2;
}

static void swirl(void *context, double time, int64_t count, const double *const x[3], const uint64_t *id,
                  double *const a[3])
{
  for (int64_t i = 0; i < count; i++) {
    a[0][i] = 300.0 * (x[1][i] - 0.05) + time;
    a[2][i] = id ? 0.1 * (double)(id[i] % 7) : 100.0 * x[0][i];
  }
  *(int *)context += id != NULL;
}

static int retreat(void *context, struct firn_sim *sim)
{
  struct firn_body plate;
  struct firn_error err = {0};
  const int k = firn_sim_find_body(sim, "plate");
  good(firn_sim_get_body(sim, k, &plate, &err), &err);
  CHECK(plate.present && plate.measured);
  const double velocity[3] = {plate.force[0] > 0.01 ? 2.0 : -4.0, 0.0, 0.0}, spin[3] = {0.0, 3.0, 0.0};
  good(firn_sim_move_body(sim, k, velocity, spin, &err), &err);
  *(double *)context = fmax(*(double *)context, plate.force[0]);
  return 0;
}

/* Particles above a height go, one is added, and the velocities of all are turned. */
static int edit(void *context, struct firn_sim *sim)
{
  struct firn_particles p;
  struct firn_error err = {0};
  (void)context;
  firn_sim_get_particles(sim, &p);
  double *v = calloc((size_t)p.count + 1, 3 * sizeof *v), *x = calloc((size_t)p.count + 1, 3 * sizeof *x);
  unsigned char *flags = calloc((size_t)p.count + 1, 1);
  for (int64_t i = 0; i < p.count; i++) {
    v[3 * i] = p.velocity[2][i];
    v[3 * i + 1] = p.velocity[1][i];
    v[3 * i + 2] = -p.velocity[0][i];
    for (int d = 0; d < 3; d++) x[3 * i + d] = p.position[d][i];
    x[3 * i] = 0.2 - x[3 * i]; /* to the other end of the domain: other ranks */
    flags[i] = p.id[i] % 50 == 0;
  }
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  static const char *const names[] = {"position", "mass", "velocity"};
  static const double where[3] = {0.2, 0.08, 0.05}, mass = 1e-4, fast[3] = {-2.0, 0.0, 0.0};
  const void *const columns[] = {where, &mass, fast};
  good(firn_sim_write(sim, "velocity", v, &err), &err);
  good(firn_sim_write(sim, "position", x, &err), &err);
  good(firn_sim_remove(sim, flags, &err), &err);
  good(firn_sim_add(sim, rank == 0, 3, names, columns, &err), &err);
  good(firn_sim_commit(sim, &err), &err);
  free(v);
  free(x);
  free(flags);
  return 0;
}

enum way { NOTHING, HOOKS, NODES, PARTICLES, MOVE, EDIT, WAYS };

static uint64_t drive(MPI_Comm comm, enum way way)
{
  struct firn_scene *scene = parse(NULL, 0);
  struct firn_sim *sim = create(comm, scene);
  struct firn_error err = {0};
  struct firn_sim_info info;
  double force = 0.0;
  calls = 0;
  if (way == HOOKS) firn_sim_set_hooks(sim, count_call, count_call, &calls);
  if (way == NODES) good(firn_sim_accelerate_nodes(sim, swirl, &calls, &err), &err);
  if (way == PARTICLES) good(firn_sim_accelerate_particles(sim, swirl, &calls, &err), &err);
  if (way == MOVE) firn_sim_set_hooks(sim, retreat, NULL, &force);
  good(firn_sim_advance_to_frame(sim, 1, &err), &err);
  if (way == EDIT) edit(NULL, sim);
  good(firn_sim_advance_to_frame(sim, 2, &err), &err);
  firn_sim_get_info(sim, &info);
  CHECK(info.over && info.step >= 20);
  if (way == HOOKS) CHECK(calls >= 40);
  if (way == PARTICLES) CHECK(calls >= 20);
  if (way == MOVE) CHECK(force > 0.01);
  const uint64_t state = state_of(sim, comm);
  firn_sim_destroy(&sim);
  firn_scene_destroy(&scene);
  return state;
}

/* Each way gives on all ranks what it gives on one; hooks that do nothing change nothing. */
static void test_ways(void)
{
  uint64_t alone[WAYS], all[WAYS];
  for (enum way way = NOTHING; way < WAYS; way++) {
    alone[way] = way == EDIT ? 0 : drive(MPI_COMM_SELF, way);
    all[way] = drive(MPI_COMM_WORLD, way);
    CHECK(way == EDIT || alone[way] == all[way]);
    for (enum way other = NOTHING; other < way; other++)
      CHECK((all[way] == all[other]) == (other == NOTHING && way == HOOKS));
  }
}

/* An edit on one rank and on all: rank 0 adds in both. */
static void test_edit(void)
{
  uint64_t state[2] = {0, drive(MPI_COMM_WORLD, EDIT)};
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) state[0] = drive(MPI_COMM_SELF, EDIT);
  MPI_Bcast(state, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  CHECK(state[0] == state[1]);
}

/* --- two simulations, two communicators --- */

static char last_line[256];
static int lines;

static void hear(void *context, int level, const char *line)
{
  (void)context;
  CHECK(level == FIRN_LOG_WARNINGS || level == FIRN_LOG_INFO);
  snprintf(last_line, sizeof last_line, "%s", line);
  lines++;
}

/* Halves of the ranks simulate side by side, each with a simulation of its own beside. Rank 0 of each
 * communicator is heard, and nobody else. */
static void test_communicators(void)
{
  MPI_Comm half;
  int rank, place;
  struct firn_scene *scene = parse(NULL, 0);
  struct firn_error err = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  MPI_Comm_rank(half, &place);
  firn_log_to(hear, NULL);
  firn_log_level(FIRN_LOG_INFO);
  lines = 0;
  struct firn_sim *own = create(half, scene);
  CHECK((lines > 0) == (place == 0));
  lines = 0;
  struct firn_sim *alone = create(MPI_COMM_SELF, scene);
  CHECK(lines > 0);
  firn_log_level(FIRN_LOG_QUIET);
  firn_log_to(NULL, NULL);
  for (int k = 0; k < 5; k++) {
    good(firn_sim_step(own, &err), &err);
    good(firn_sim_step(alone, &err), &err);
  }
  CHECK(state_of(own, half) == state_of(alone, MPI_COMM_SELF));
  firn_sim_destroy(&own);
  firn_sim_destroy(&alone);
  firn_scene_destroy(&scene);
  MPI_Comm_free(&half);
}

/* --- single promises --- */

static void test_plastic(void)
{
  static const char *const sand[] = {"materials={sand: {model: sand}}", "snow.0.material=sand"};
  struct firn_scene *scene = parse(sand, 2);
  struct firn_sim *sim = create(MPI_COMM_WORLD, scene);
  struct firn_particles p;
  firn_sim_get_particles(sim, &p);
  for (int64_t i = 0; i < p.count; i++) CHECK(p.plastic[i] == 1.0); /* not ln J_P, which is 0 */
  firn_sim_destroy(&sim);
  firn_scene_destroy(&scene);
}

static void test_errors(void)
{
  struct firn_scene *scene = parse(NULL, 0);
  struct firn_sim *sim = create(MPI_COMM_WORLD, scene);
  struct firn_error err = {0};
  struct firn_particles p;
  struct firn_options old = FIRN_OPTIONS_INIT;
  struct firn_sim *none = NULL;
  old.version = 0;
  CHECK(firn_sim_create(&none, MPI_COMM_WORLD, scene, &old, &err) == FIRN_STATUS_INPUT && !none);
  calls = 0;
  firn_sim_set_hooks(sim, stop_at_second, NULL, &calls);
  good(firn_sim_step(sim, &err), &err);
  CHECK(firn_sim_step(sim, &err) == FIRN_STATUS_STOPPED && err.code == FIRN_STATUS_STOPPED);
  CHECK_TEXT(strstr(err.text, "hook"), err.text);
  firn_sim_set_hooks(sim, NULL, NULL, NULL);
  firn_sim_get_particles(sim, &p);
  struct firn_sim_info info;
  firn_sim_get_info(sim, &info);
  double *mass = calloc((size_t)info.particles, sizeof *mass); /* whatever a rank comes to hold */
  for (int64_t i = 0; i < p.count; i++) mass[i] = p.mass[i];
  good(firn_sim_write(sim, "mass", mass, &err), &err);
  CHECK(firn_sim_step(sim, &err) == FIRN_STATUS_INPUT && strstr(err.text, "commit"));
  good(firn_sim_commit(sim, &err), &err);
  good(firn_sim_step(sim, &err), &err);
  firn_sim_get_particles(sim, &p);
  for (int64_t i = 0; i < p.count; i++) mass[i] = -1.0;
  CHECK(firn_sim_write(sim, "mass", mass, &err) == FIRN_STATUS_INPUT);
  CHECK(firn_sim_write(sim, "charge", mass, &err) == FIRN_STATUS_INPUT && strstr(err.text, "velocity"));
  CHECK(firn_sim_write_checkpoint(sim, &err) == FIRN_STATUS_INPUT);
  CHECK(firn_sim_advance_to_time(sim, 0.0, &err) == FIRN_STATUS_INPUT);
  free(mass);
  firn_sim_destroy(&sim);
  firn_scene_destroy(&scene);
  CHECK(firn_version_at_least(0, 2, 0) && !firn_version_at_least(FIRN_VERSION_MAJOR + 1, 0, 0));
}

/* The grid's density inside the snow is near that of the snow, and 0 far from it; the same on any ranks. */
static void test_sample(void)
{
  struct firn_scene *scene = parse(NULL, 0);
  struct firn_error err = {0};
  const double points[] = {0.07, 0.045, 0.045, 0.22, 0.1, 0.1, -1.0, 0.0, 0.0};
  double density[2][3], velocity[2][9];
  MPI_Comm comms[2] = {MPI_COMM_SELF, MPI_COMM_WORLD};
  for (int k = 0; k < 2; k++) {
    struct firn_sim *sim = create(comms[k], scene);
    good(firn_sim_step(sim, &err), &err);
    const uint64_t before = state_of(sim, comms[k]);
    good(firn_sim_sample(sim, 3, points, density[k], velocity[k], &err), &err);
    CHECK(state_of(sim, comms[k]) == before);
    firn_sim_destroy(&sim);
  }
  CHECK(memcmp(density[0], density[1], sizeof density[0]) == 0);
  CHECK(memcmp(velocity[0], velocity[1], sizeof velocity[0]) == 0);
  CHECK(density[0][0] > 320.0 && density[0][0] < 480.0 && density[0][1] == 0.0 && density[0][2] == 0.0);
  CHECK(fabs(velocity[0][0] - 1.0) < 0.1);
  firn_scene_destroy(&scene);
}

/* A time between two frames is met exactly, and the next frame too. */
static void test_times(void)
{
  struct firn_scene *scene = parse(NULL, 0);
  struct firn_sim *sim = create(MPI_COMM_WORLD, scene);
  struct firn_error err = {0};
  struct firn_sim_info info;
  good(firn_sim_advance_to_time(sim, 0.0031, &err), &err);
  firn_sim_get_info(sim, &info);
  CHECK(info.time == 0.0031 && info.frame == 0 && !info.on_frame);
  good(firn_sim_advance_to_time(sim, 0.005, &err), &err);
  firn_sim_get_info(sim, &info);
  CHECK(info.time == 0.005 && info.frame == 1 && info.on_frame);
  firn_sim_destroy(&sim);
  firn_scene_destroy(&scene);
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  firn_log_level(FIRN_LOG_QUIET);
  test_ways();
  test_edit();
  test_communicators();
  test_plastic();
  test_errors();
  test_sample();
  test_times();
  return check_end();
}
