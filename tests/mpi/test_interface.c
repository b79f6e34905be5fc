/* What libfirn promises: hooks, accelerations, bodies, particles, errors, several simulations at once. Each
 * case asks for bits that do not depend on the ranks, since every rank count compares with the same numbers
 * of a simulation on one rank. */
#include "firn/firn.h"
#include "support/check.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* --- what goes wrong on one rank, and what a hook asks for --- */

/* No number, where only one rank has nodes. */
static void break_down(void *context, double time, int64_t count, const double *const x[3],
                       const uint64_t *id, double *const a[3])
{
  (void)context, (void)time, (void)id;
  for (int64_t i = 0; i < count; i++) a[1][i] = x[0][i] > 0.12 ? NAN : 1.0;
}

/* A rank's mistake is an error on all ranks, and none of them waits for it. */
static void test_one_rank_fails(void)
{
  static const char *const names[] = {"position", "mass", "id"};
  static const double where[3] = {0.2, 0.08, 0.05}, mass = 1e-4;
  const uint64_t id = 7;
  const void *const columns[] = {where, &mass, &id};
  struct firn_scene *scene = parse(NULL, 0);
  struct firn_sim *sim = create(MPI_COMM_WORLD, scene);
  struct firn_error err = {0};
  struct firn_particles p;
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const bool wrong = rank == ranks - 1;
  firn_sim_get_particles(sim, &p);
  double *values = calloc((size_t)p.count + 1, sizeof *values);
  for (int64_t i = 0; i < p.count; i++) values[i] = p.mass[i];
  CHECK(firn_sim_write(sim, wrong ? "charge" : "mass", values, &err) == FIRN_STATUS_INPUT);
  CHECK(firn_sim_add(sim, wrong ? -1 : 0, 2, names, columns, &err) == FIRN_STATUS_INPUT);
  CHECK(firn_sim_add(sim, wrong ? INT64_MAX : 0, 2, names, columns, &err) == FIRN_STATUS_LIMIT);
  CHECK(ranks == 1 ||
        firn_sim_add(sim, 0, wrong ? 3 : 2, names, columns, &err) == FIRN_STATUS_INPUT); /* ids on one */
  good(firn_sim_step(sim, &err), &err); /* as if nothing had been */
  good(firn_sim_accelerate_nodes(sim, break_down, NULL, &err), &err);
  CHECK(firn_sim_step(sim, &err) == FIRN_STATUS_INPUT);
  CHECK_TEXT(strstr(err.text, "acceleration") && strstr(err.text, "nan"), err.text);
  CHECK(firn_sim_step(sim, &err) == FIRN_STATUS_INPUT && strstr(err.text, "destroyed"));
  free(values);
  firn_sim_destroy(&sim);
  firn_scene_destroy(&scene);
}

static uint64_t greatest_id(const struct firn_sim *sim)
{
  struct firn_particles p;
  uint64_t most = 0;
  firn_sim_get_particles(sim, &p);
  for (int64_t i = 0; i < p.count; i++) most = p.id[i] > most ? p.id[i] : most;
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

static void remove_one(struct firn_sim *sim, uint64_t id)
{
  struct firn_particles p;
  struct firn_error err = {0};
  firn_sim_get_particles(sim, &p);
  unsigned char *flags = calloc((size_t)p.count + 1, 1);
  for (int64_t i = 0; i < p.count; i++) flags[i] = p.id[i] == id;
  good(firn_sim_remove(sim, flags, &err), &err);
  free(flags);
}

/* The id of a particle that is gone is not given to another, unless the caller does so. Those of snow that a
 * window will bring are taken. */
static void test_ids(void)
{
  static const char *const window[] = {"window={follow: plate, axis: -x, ahead: 0.08, behind: 0.1}"};
  static const char *const names[] = {"position", "mass", "id"};
  static const double where[3] = {0.12, 0.08, 0.05}, mass = 1e-4;
  struct firn_error err = {0};
  for (int windowed = 0; windowed < 2; windowed++) {
    struct firn_scene *scene = parse(window, windowed);
    struct firn_sim *sim = create(MPI_COMM_WORLD, scene);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const uint64_t most = greatest_id(sim);
    uint64_t id = most;
    const void *const columns[] = {where, &mass, &id};
    remove_one(sim, most);
    good(firn_sim_commit(sim, &err), &err);
    good(firn_sim_add(sim, rank == 0, 2, names, columns, &err), &err);
    good(firn_sim_commit(sim, &err), &err);
    const uint64_t given = greatest_id(sim);
    CHECK(given > most);
    remove_one(sim, given);
    id = windowed ? most : given; /* in its place */
    const int code = firn_sim_add(sim, rank == 0, 3, names, columns, &err);
    CHECK_TEXT(code == (windowed ? FIRN_STATUS_INPUT : FIRN_STATUS_OK), err.text);
    good(firn_sim_commit(sim, &err), &err);
    id = (uint64_t)1 << 52; /* a source's */
    CHECK(firn_sim_add(sim, rank == 0, 3, names, columns, &err) == FIRN_STATUS_INPUT);
    good(firn_sim_step(sim, &err), &err);
    firn_sim_destroy(&sim);
    firn_scene_destroy(&scene);
  }
}

static int stop_politely(void *context, struct firn_sim *sim)
{
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (++*(int *)context == 3 && rank == 0) firn_sim_stop(sim);
  return 0;
}

static int stop_on_frame(void *context, struct firn_sim *sim)
{
  struct firn_sim_info info;
  struct firn_error err = {0};
  firn_sim_get_info(sim, &info);
  if (!info.on_frame) return 0;
  good(firn_sim_write_checkpoint(sim, &err), &err);
  ++*(int *)context;
  return 1;
}

static int say_no(void *context, struct firn_sim *sim)
{
  (void)context, (void)sim;
  return 1;
}

/* Without a folder: firn_sim_stop() in a hook counts, and a step that a hook prevents leaves all as it was.
 */
static void test_stops(void)
{
  struct firn_scene *scene = parse(NULL, 0);
  struct firn_sim *sim = create(MPI_COMM_WORLD, scene);
  struct firn_error err = {0};
  struct firn_sim_info info;
  struct firn_body before, after;
  calls = 0;
  firn_sim_set_hooks(sim, NULL, stop_politely, &calls);
  good(firn_sim_advance_to_end(sim, &err), &err);
  firn_sim_get_info(sim, &info);
  CHECK(info.stopping && !info.over && calls <= 4);
  firn_sim_destroy(&sim);
  sim = create(MPI_COMM_WORLD, scene);
  good(firn_sim_advance_to_frame(sim, 1, &err), &err);
  firn_sim_set_hooks(sim, say_no, NULL, NULL);
  good(firn_sim_get_body(sim, 0, &before, &err), &err);
  CHECK(firn_sim_step(sim, &err) == FIRN_STATUS_STOPPED);
  good(firn_sim_get_body(sim, 0, &after, &err), &err);
  CHECK(before.force[1] != 0.0 && memcmp(&before, &after, sizeof before) == 0);
  CHECK(firn_sim_body_name(sim, 2) == NULL && strcmp(firn_sim_body_name(sim, 1), "plate") == 0);
  firn_sim_destroy(&sim);
  firn_scene_destroy(&scene);
}

static bool is_there(const char *folder, const char *name)
{
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return access(path, F_OK) == 0;
}

/* A hook that stops its caller on a frame keeps no file from being written, and a checkpoint that it asks for
 * is there. A finished run gets no files any more. */
static void test_files(void)
{
  char folder[64] = "/tmp/firn_interface_XXXXXX", output[96];
  const char *const overrides[] = {output};
  struct firn_options options = FIRN_OPTIONS_INIT;
  struct firn_error err = {0};
  struct firn_sim *sim = NULL;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) CHECK(mkdtemp(folder) != NULL);
  MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
  snprintf(output, sizeof output, "output.folder=%s", folder);
  struct firn_scene *scene = parse(overrides, 1);
  options.writes = 1;
  options.threads = 1;
  good(firn_sim_create(&sim, MPI_COMM_WORLD, scene, &options, &err), &err);
  calls = 0;
  firn_sim_set_hooks(sim, NULL, stop_on_frame, &calls);
  CHECK(firn_sim_advance_to_end(sim, &err) == FIRN_STATUS_STOPPED && calls == 1);
  CHECK(is_there(folder, "frames/frame_000001.h5"));
  char newest[64];
  struct firn_sim_info info;
  firn_sim_get_info(sim, &info);
  snprintf(newest, sizeof newest, "checkpoints/checkpoint_%010lld.h5", (long long)info.step);
  CHECK(is_there(folder, newest));
  CHECK(firn_sim_advance_to_end(sim, &err) == FIRN_STATUS_STOPPED && calls == 2);
  CHECK(is_there(folder, "frames/frame_000002.h5"));
  good(firn_sim_end(sim, &err), &err);
  firn_sim_destroy(&sim);
  options.restart = "auto";
  good(firn_sim_create(&sim, MPI_COMM_WORLD, scene, &options, &err), &err);
  CHECK(firn_sim_write_checkpoint(sim, &err) == FIRN_STATUS_INPUT && strstr(err.text, "finished"));
  CHECK(firn_sim_write_frame(sim, &err) == FIRN_STATUS_INPUT);
  firn_sim_destroy(&sim);
  firn_scene_destroy(&scene);
  char command[96];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  if (rank == 0) CHECK(system(command) == 0);
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
  test_one_rank_fails();
  test_ids();
  test_stops();
  test_files();
  return check_end();
}
