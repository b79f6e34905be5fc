/* A restart is the run that was never stopped, bit for bit, from any number of ranks to any other; and a
 * checkpoint whose bytes are not what was written is never taken for one.
 *
 * Writers and readers are groups of the ranks this test has: one, three where there are as many, and all of
 * them. The damage (100 cuts and 200 flipped bits, and one flip in every kind of place) is done on one rank;
 * with more, a few flips show that all of them agree on it. */
#include "base/log.h"
#include "base/rng.h"
#include "io/file.h"
#include "io/particles/checkpoint.h"
#include "io/run/seal.h"
#include "support/state.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct comm world;
static char *folder;

static const char falling[] = "domain: {lower: [-0.16, -0.04, -0.08], cells: [32, 20, 16], spacing: 0.01}\n"
                              "time: {end: 1, frame_rate: 200}\n"
                              "snow:\n"
                              "  - sphere: {center: [-0.08, 0.045, 0], radius: 0.04}\n"
                              "    velocity: [6, -4, 0.3]\n"
                              "    per_cell: 4\n"
                              "  - box: {lower: [0.1, 0.02, -0.03], upper: [0.155, 0.05, 0.03]}\n"
                              "    velocity: [6, 0, 0]\n"
                              "    per_cell: 4\n"
                              "bodies:\n"
                              "  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}\n";

/* The same with heat, and water that leaves the domain: the ball melts while it is in contact. */
static const char melting[] = "domain: {lower: [-0.16, -0.04, -0.08], cells: [32, 20, 16], spacing: 0.01}\n"
                              "time: {end: 1, frame_rate: 200}\n"
                              "heat: {latent_heat: 2e3, liquid: {conductivity: 2e4, stiffness: 1e6}}\n"
                              "snow:\n"
                              "  - sphere: {center: [-0.08, 0.038, 0], radius: 0.04}\n"
                              "    velocity: [6, -4, 0.3]\n"
                              "    per_cell: 4\n"
                              "    temperature: 273\n"
                              "    conductivity: 2e4\n"
                              "  - box: {lower: [0.1, 0.02, -0.03], upper: [0.155, 0.05, 0.03]}\n"
                              "    velocity: [6, 0, 0]\n"
                              "    per_cell: 4\n"
                              "    phase: liquid\n"
                              "    temperature: 274\n"
                              "bodies:\n"
                              "  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, temperature: 500}\n";

static const struct variant {
  const char *name, *text;
  const char *set[3];
  bool cut; /* steps must be halved, and the next ones are shorter for it */
} variants[] = {
    {"semi-implicit flip", falling, {NULL}, false},
    {"steps that are cut", falling, {"integrator={max_iterations: 3, tolerance: 1e-6}", NULL}, true},
    {"melting", melting, {NULL}, false},
    {"solves that are repeated",
     falling,
     {"materials={dune: {model: sand, young: 1e6}}", "integrator={beta: 0.6}", NULL},
     false},
    {"free bodies",
     falling,
     {"bodies.rock={box: {center: [-0.03, 0.05, 0.01], size: [0.05, 0.04, 0.04]}, density: 300, "
      "velocity: [-2, -1, 0], spin: [1, 2, -9]}",
      "bodies.floor.rub=0.6", NULL},
     false},
    {"explicit apic", falling, {"integrator={scheme: explicit}", "transfer={scheme: apic}", NULL}, false},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static struct scene *parse(const struct variant *variant)
{
  struct error err = {0};
  struct scene *scene = NULL;
  int count = 0;
  while (variant->set[count]) count++;
  const int code = scene_parse(&scene, "falling.yml", variant->text, variant->set, count, &err);
  CHECK_TEXT(code == FIRN_OK, err.text);
  return scene;
}

static void take_steps(struct sim *sim, int count)
{
  struct error err = {0};
  for (int k = 0; k < count; k++) CHECK_TEXT(sim_step(sim, &err) == FIRN_OK, err.text);
  sim_tidy(sim);
}

/* The first `size` ranks; the others get a communicator that they must not use. */
static bool group_of(int size, struct comm *comm)
{
  MPI_Comm part;
  MPI_Comm_split(world.mpi, world.rank < size ? 0 : 1, world.rank, &part);
  comm_create(comm, part);
  MPI_Comm_free(&part);
  return world.rank < size;
}

static void write_checkpoint(const struct sim *sim, const char *path)
{
  struct error err = {0};
  struct checkpoint info;
  sim_describe(sim, &info);
  info.generation = 3;
  snprintf(info.run_id, sizeof info.run_id, "0123456789abcdef");
  const int code = checkpoint_write(&sim->comm, path, sim->scene, sim->p, &info, NULL, NULL, &err);
  checkpoint_forget(&info);
  CHECK_TEXT(code == FIRN_OK, err.text);
}

static struct sim *restore(const struct comm *comm, const struct scene *scene, const char *path)
{
  struct error err = {0};
  struct checkpoint *from = NULL;
  struct sim *sim = NULL;
  CHECK_TEXT(checkpoint_open(&from, path, &err) == FIRN_OK, err.text);
  CHECK(from->generation == 3 && strcmp(from->run_id, "0123456789abcdef") == 0);
  CHECK(strcmp(from->scene, scene->text) == 0 && strcmp(from->resolved, scene->resolved) == 0);
  CHECK_TEXT(sim_create_from(&sim, comm, scene, ISA_COUNT, path, from, false, &err) == FIRN_OK, err.text);
  checkpoint_destroy(&from);
  return sim;
}

/* A checkpoint of the 4-lane kernels that earlier versions had: refused by a sentence of its own, and read
 * where the last bits may differ. */
static void check_earlier_kernels(const struct comm *comm, const struct scene *scene, const char *path)
{
  struct error err = {0};
  struct checkpoint *from = NULL;
  struct sim *sim = NULL;
  if (strcmp(kernels_get(ISA_BASE)->name, "portable") == 0) return;
  CHECK_TEXT(checkpoint_open(&from, path, &err) == FIRN_OK, err.text);
  snprintf(from->isa, sizeof from->isa, "portable");
  CHECK(sim_create_from(&sim, comm, scene, ISA_COUNT, path, from, false, &err) == FIRN_EINPUT && !sim);
  CHECK_TEXT(strstr(err.text, "portable kernels of an earlier version") && strstr(err.text, "--force"),
             err.text);
  CHECK_TEXT(sim_create_from(&sim, comm, scene, ISA_COUNT, path, from, true, &err) == FIRN_OK, err.text);
  checkpoint_destroy(&from);
  sim_destroy(&sim);
}

/* Free bodies are where they were, bit for bit, and did not rest. */
static void check_bodies(const struct sim *a, const struct sim *b)
{
  CHECK((a->rigid != NULL) == (b->rigid != NULL));
  for (int k = 0; a->rigid && k < a->rigid->count; k++) {
    const struct free_state *one = &a->rigid->body[k].state, *other = &b->rigid->body[k].state;
    CHECK(memcmp(one, other, sizeof *one) == 0);
    CHECK(memcmp(&a->drives[a->rigid->body[k].body], &b->drives[a->rigid->body[k].body], sizeof *a->drives) ==
          0);
    CHECK(one->velocity[0] > -2.0 && one->angular[2] != 0.0);
  }
}

static void check_numbers(const struct sim *a, const struct sim *b)
{
  check_bodies(a, b);
  CHECK(a->clock.time == b->clock.time && a->clock.step == b->clock.step &&
        a->clock.frame == b->clock.frame && a->clock.on_frame == b->clock.on_frame);
  CHECK(a->max_speed == b->max_speed && a->max_sound == b->max_sound);
  CHECK(a->totals.particles == b->totals.particles && a->totals.removed == b->totals.removed);
  CHECK(a->totals.iterations == b->totals.iterations && a->totals.halvings == b->totals.halvings &&
        a->totals.repeats == b->totals.repeats);
  CHECK(sim_next_step(a) == sim_next_step(b) && a->clock.trusted == b->clock.trusted);
  CHECK(a->totals.heat_in == b->totals.heat_in && a->totals.melted == b->totals.melted &&
        a->totals.melted_mass == b->totals.melted_mass && a->heat.count == b->heat.count);
}

/* The run that is not stopped, and its checkpoint in the middle, written by the first `writers` ranks. */
struct undisturbed {
  struct sim *sim;
  struct any_file end;
  int64_t melted;  /* particles, when the checkpoint was written */
  int64_t repeats; /* of solves, likewise */
  double trusted;  /* s, likewise: of struct sim_clock */
};

static void run_through(struct undisturbed *u, const struct comm *comm, const struct scene *scene,
                        const char *path)
{
  struct error err = {0};
  CHECK_TEXT(sim_create(&u->sim, comm, scene, ISA_COUNT, &err) == FIRN_OK, err.text);
  take_steps(u->sim, 12);
  write_checkpoint(u->sim, path);
  u->melted = u->sim->totals.melted;
  u->repeats = u->sim->totals.repeats;
  u->trusted = u->sim->clock.trusted;
  take_steps(u->sim, 12);
  state_gather(u->sim, &u->end);
}

static void restart_on(int writers, int readers, const struct variant *variant)
{
  struct comm writing, reading;
  struct undisturbed u = {.sim = NULL};
  struct scene *scene = parse(variant);
  char *path = file_join(folder, "restart.h5");
  const bool writes = group_of(writers, &writing), reads = group_of(readers, &reading);
  if (writes) run_through(&u, &writing, scene, path);
  check_barrier(world.mpi);
  if (reads) {
    check_earlier_kernels(&reading, scene, path);
    struct sim *sim = restore(&reading, scene, path);
    take_steps(sim, 12);
    struct any_file end;
    state_gather(sim, &end);
    if (world.rank == 0) {
      state_check_equal(&end, &u.end, variant->name);
      check_numbers(sim, u.sim);
      CHECK((u.trusted > 0.0) == variant->cut);
      CHECK(u.sim->totals.removed > 0); /* something happened: snow left the domain */
      CHECK((u.repeats > 0 && u.sim->totals.repeats > u.repeats) == (u.sim->p->flow != NULL));
      CHECK((u.melted > 0 && u.sim->totals.melted > u.melted) == scene->has_heat); /* before and after it */
    }
    state_free(&end);
    sim_destroy(&sim);
  }
  if (writes) {
    state_free(&u.end);
    sim_destroy(&u.sim);
  }
  comm_destroy(&writing);
  comm_destroy(&reading);
  scene_destroy(&scene);
  mem_free(path);
}

/* Rank 0: the seal's sums are those of the bytes that stand in the file, which no rank count can change. */
static void check_sums(const char *path)
{
  struct seal seal;
  struct error err = {0};
  CHECK_TEXT(seal_check(&seal, path, &err) == FIRN_OK, err.text);
  for (int f = 0; f < PARTICLE_FIELDS; f++) /* what all scenes have */
    CHECK_TEXT(particle_fields[f].needs || seal_find(&seal, particle_fields[f].name),
               particle_fields[f].name);
  const int fd = open(path, O_RDONLY);
  for (int k = 0; k < seal.count; k++) {
    const struct seal_entry *e = &seal.entries[k];
    struct seal_entry again = {.row_size = e->row_size};
    const size_t bytes = (size_t)(e->rows * e->row_size);
    char *rows = mem_alloc(bytes, 1);
    CHECK(pread(fd, rows, bytes, e->offset) == (ssize_t)bytes);
    seal_add_rows(&again, 0, e->rows, rows);
    CHECK_TEXT(again.sum == e->sum, e->name);
    mem_free(rows);
  }
  close(fd);
}

/* Whether the file is refused, and with a message that names it. All ranks. */
static bool is_refused(const struct scene *scene, const char *path)
{
  struct error err = {0};
  struct checkpoint *from = NULL;
  struct particles *p = particles_create(scene->scheme == SCHEME_APIC);
  int code = comm_agree(&world, checkpoint_open(&from, path, &err), &err);
  if (code == FIRN_OK) code = checkpoint_read(&world, path, NULL, false, p, &err);
  if (code != FIRN_OK) CHECK_TEXT(code == FIRN_EDAMAGED && strstr(err.text, "damaged.h5"), err.text);
  CHECK(code == FIRN_OK || p->count == 0);
  checkpoint_destroy(&from);
  particles_destroy(&p);
  return code != FIRN_OK;
}

static void write_bytes(const char *path, const char *bytes, size_t size)
{
  if (world.rank == 0) {
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
  }
  check_barrier(world.mpi);
}

static void flip(char *bytes, size_t at, int bit)
{
  bytes[at] = (char)(bytes[at] ^ (1 << bit));
}

static void check_damage(const struct scene *scene, const char *path)
{
  char *bytes = NULL, *damaged = file_join(folder, "damaged.h5");
  size_t size = 0;
  CHECK(file_read(path, 1 << 28, &bytes, &size, NULL) == FIRN_OK);
  write_bytes(damaged, bytes, size);
  CHECK(!is_refused(scene, damaged)); /* the copy is good */
  const int cuts = world.size == 1 ? 100 : 3, flips = world.size == 1 ? 200 : 8;
  for (int k = 0; k < cuts; k++) {
    const size_t length = k < 4 ? (size_t[]){0, 1, SEAL_BYTES, size - 1}[k]
                                : (size_t)(rng_uniform(5, (uint64_t)k, 0) * (double)size);
    write_bytes(damaged, bytes, length);
    CHECK(is_refused(scene, damaged));
  }
  for (int k = 0; k < flips; k++) {
    /* Half of them where the rows are not: seal, superblock, object headers, texts, gaps. */
    const double reach = k % 2 ? (double)size : fmin((double)size, 16384.0);
    const size_t at = (size_t)(rng_uniform(6, (uint64_t)k, 0) * reach);
    const int bit = (int)(rng_uniform(6, (uint64_t)k, 1) * 8.0);
    flip(bytes, at, bit);
    write_bytes(damaged, bytes, size);
    CHECK(is_refused(scene, damaged));
    flip(bytes, at, bit);
  }
  bytes = mem_resize(bytes, size, size + 1, 1); /* a byte too many is damage too */
  write_bytes(damaged, bytes, size + 1);
  CHECK(is_refused(scene, damaged));
  mem_free(bytes);
  mem_free(damaged);
}

/* Files that are no checkpoints at all. */
static void check_foreign(const struct scene *scene)
{
  char *path = file_join(folder, "damaged.h5");
  static const char *const contents[] = {"", "firn sealed file 1\n",
                                         "firn sealed file 1\nbytes 99999999\nrest 0\n",
                                         "\211HDF\r\n\032\n and nothing more"};
  for (size_t k = 0; k < sizeof contents / sizeof *contents; k++) {
    write_bytes(path, contents[k], strlen(contents[k]));
    CHECK(is_refused(scene, path));
  }
  check_barrier(world.mpi);
  if (world.rank == 0) CHECK(unlink(path) == 0 && mkdir(path, 0777) == 0);
  check_barrier(world.mpi);
  CHECK(is_refused(scene, path));
  check_barrier(world.mpi);
  if (world.rank == 0) rmdir(path);
  check_barrier(world.mpi);
  CHECK(is_refused(scene, path));
  mem_free(path);
}

/* No particle is left, or none on some ranks: still a state to go on from. */
static void check_empty(const struct scene *scene)
{
  char *path = file_join(folder, "empty.h5");
  struct particles *p = particles_create(0), *again = particles_create(0);
  struct error err = {0};
  const struct checkpoint info = {.run_id = "0123456789abcdef", .isa = "portable"};
  CHECK_TEXT(checkpoint_write(&world, path, scene, p, &info, NULL, NULL, &err) == FIRN_OK, err.text);
  CHECK_TEXT(checkpoint_read(&world, path, NULL, false, again, &err) == FIRN_OK, err.text);
  CHECK(again->count == 0);
  particles_append(p, world.rank == 0 ? 2 : 0);
  CHECK_TEXT(checkpoint_write(&world, path, scene, p, &info, NULL, NULL, &err) == FIRN_OK, err.text);
  CHECK_TEXT(checkpoint_read(&world, path, NULL, false, again, &err) == FIRN_OK, err.text);
  int64_t count = again->count;
  comm_sum_i64(&world, &count, 1);
  CHECK(count == 2);
  particles_destroy(&p);
  particles_destroy(&again);
  mem_free(path);
}

/* Snow that varied keeps stiffness and material, although the scene that reads it would have particles
 * without; and a file without them is as good, where all are the same. */
static void check_varied(const struct scene *scene)
{
  char *path = file_join(folder, "varied.h5");
  struct particles *p = particles_create(NEEDS_STIFFNESS | NEEDS_MATERIAL),
                   *again = particles_create(NEEDS_NOTHING), *even = particles_create(NEEDS_NOTHING),
                   *more = particles_create(NEEDS_STIFFNESS | NEEDS_MATERIAL);
  struct error err = {0};
  const struct checkpoint info = {.run_id = "0123456789abcdef", .isa = "portable"};
  particles_append(p, world.rank == 0 ? 5 : 0);
  for (int32_t i = 0; i < p->count; i++) {
    p->id[i] = (uint64_t)i;
    p->stiffness[i] = 1.5 + i;
    p->material[i] = (uint32_t)i + 3;
  }
  CHECK_TEXT(checkpoint_write(&world, path, scene, p, &info, NULL, NULL, &err) == FIRN_OK, err.text);
  CHECK_TEXT(checkpoint_read(&world, path, NULL, false, again, &err) == FIRN_OK, err.text);
  for (int32_t i = 0; i < again->count; i++)
    CHECK(again->stiffness[i] == 1.5 + (double)again->id[i] && again->material[i] == again->id[i] + 3);
  int64_t count = again->count;
  comm_sum_i64(&world, &count, 1);
  CHECK(count == 5);
  particles_append(even, 4);
  CHECK_TEXT(checkpoint_write(&world, path, scene, even, &info, NULL, NULL, &err) == FIRN_OK, err.text);
  CHECK_TEXT(checkpoint_read(&world, path, NULL, false, more, &err) == FIRN_OK && more->count == 4, err.text);
  for (int32_t i = 0; i < 4; i++) CHECK(more->stiffness[i] == 1.0 && more->material[i] == 0);
  particles_destroy(&even);
  particles_destroy(&more);
  particles_destroy(&p);
  particles_destroy(&again);
  mem_free(path);
}

/* Both writers write the same bytes, of columns that need several rounds, and both readers read them. */
static void check_ways(struct scene *scene)
{
  static const enum scene_writer writers[2] = {WRITER_PARALLEL_HDF5, WRITER_DIRECT};
  char *paths[2] = {file_join(folder, "parallel.h5"), file_join(folder, "direct.h5")}, *bytes[2];
  size_t sizes[2];
  struct error err = {0};
  const struct checkpoint info = {.run_id = "0123456789abcdef", .isa = "portable"};
  struct particles *p = particles_create(NEEDS_NOTHING);
  particles_append(p, world.rank == 1 ? 0 : 250000 / world.size);
  for (int32_t i = 0; i < p->count; i++) {
    p->id[i] = (uint64_t)(world.rank * 1000000 + i);
    for (int k = 0; k < 9; k++) p->fe[k][i] = rng_uniform(9, p->id[i], (uint64_t)k);
  }
  for (int k = 0; k < 2; k++) {
    scene->writing.writer = writers[k];
    CHECK_TEXT(checkpoint_write(&world, paths[k], scene, p, &info, NULL, NULL, &err) == FIRN_OK, err.text);
    CHECK(file_read(paths[k], 1 << 28, &bytes[k], &sizes[k], &err) == FIRN_OK);
  }
  CHECK(sizes[0] == sizes[1] && memcmp(bytes[0], bytes[1], sizes[0]) == 0);
  for (int k = 0; k < 2; k++) { /* each reads what the other wrote */
    struct particles *again = particles_create(NEEDS_NOTHING);
    scene->writing.writer = writers[k];
    const int code = checkpoint_read(&world, paths[1 - k], &scene->writing, false, again, &err);
    CHECK_TEXT(code == FIRN_OK, err.text);
    for (int32_t i = 0; i < again->count; i += 97) CHECK(again->fe[5][i] == rng_uniform(9, again->id[i], 5));
    int64_t counts[2] = {p->count, again->count};
    comm_sum_i64(&world, counts, 2);
    CHECK(counts[0] == counts[1]);
    particles_destroy(&again);
    mem_free(bytes[k]);
  }
  mem_free(paths[0]);
  mem_free(paths[1]);
  scene->writing.writer = WRITER_AUTO;
  particles_destroy(&p);
}

static void make_folder(void)
{
  char name[] = "/tmp/firn_checkpoint_XXXXXX";
  if (world.rank == 0) {
    CHECK(mkdtemp(name));
    folder = mem_strdup(name);
  }
  comm_broadcast_text(&world, &folder);
}

static void remove_folder(void)
{
  check_barrier(world.mpi);
  if (world.rank == 0) {
    struct file_list *left = NULL;
    CHECK(file_list_create(&left, folder, "", "", NULL) == FIRN_OK);
    for (int k = 0; k < left->count; k++) {
      CHECK_TEXT(!strstr(left->names[k], ".part"), left->names[k]); /* nothing half-written stays */
      char *path = file_join(folder, left->names[k]);
      unlink(path);
      mem_free(path);
    }
    file_list_destroy(&left);
    rmdir(folder);
  }
  mem_free(folder);
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  comm_create(&world, MPI_COMM_WORLD);
  log_configure(LOG_QUIET, world.rank, comm_abort);
  make_folder();
  const int sizes[] = {1, 3, world.size};
  for (int v = 0; v < VARIANTS; v++)
    for (int w = 0; w < 3; w++)
      for (int r = 0; r < 3; r++) {
        const bool twice = sizes[w] > world.size || sizes[r] > world.size ||
                           (w < 2 && sizes[w] == world.size) || (r < 2 && sizes[r] == world.size);
        if (!twice && (w == 2 || r == 2)) restart_on(sizes[w], sizes[r], &variants[v]);
      }
  struct scene *scene = parse(&variants[VARIANTS - 1]); /* whose checkpoint was written last */
  char *path = file_join(folder, "restart.h5");
  if (world.rank == 0) check_sums(path);
  check_barrier(world.mpi);
  check_damage(scene, path);
  check_foreign(scene);
  check_empty(scene);
  check_varied(scene);
  check_ways(scene);
  mem_free(path);
  scene_destroy(&scene);
  remove_folder();
  comm_destroy(&world);
  return check_end();
}
