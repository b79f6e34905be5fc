/* Frames written by several ranks, some of them without particles, are byte for byte the file that one
 * process writes; they read back what was put in, and the series over them is sound. */
#include "base/error.h"
#include "base/log.h"
#include "base/rng.h"
#include "decomposition/comm.h"
#include "io/file.h"
#include "io/particles/any_file.h"
#include "io/particles/frame.h"
#include "io/particles/frame_fields.h"
#include "io/particles/hdf5.h"
#include "io/run/seal.h"
#include "support/check.h"
#include "support/skip.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct comm world;

static double pick(uint64_t index, uint64_t stream)
{
  return rng_uniform(11, index, stream);
}

static double stiffness_of(uint64_t row)
{
  return 0.5 + pick(row, 20);
}

/* Particle `row` of the whole, the same wherever it is made. */
static void make_particle(struct particles *p, int32_t i, uint64_t row)
{
  p->id[i] = row * 7 + 3;
  p->material[i] = (uint32_t)(row % 2);
  p->mass[i] = 0.1 + pick(row, 0);
  p->volume[i] = row % 5 == 4 ? 0.0 : 0.001 * (0.5 + pick(row, 1));
  p->jp[i] = 0.8 + 0.4 * pick(row, 2);
  p->stiffness[i] = stiffness_of(row);
  for (int d = 0; d < 3; d++) p->x[d][i] = pick(row, 3 + (uint64_t)d);
  for (int d = 0; d < 3; d++) p->v[d][i] = pick(row, 6 + (uint64_t)d) - 0.5;
  for (int k = 0; k < 9; k++) p->fe[k][i] += 0.1 * (pick(row, 9 + (uint64_t)k) - 0.5);
  p->enthalpy[i] = 6e5 * (pick(row, 21) - 0.25);
  p->liquid[i] = row % 4 == 1;
  p->conductivity[i] = 0.4;
  if (row % 4 != 1) return;
  p->jp[i] = 1.0;
  for (int k = 0; k < 9; k++) p->fe[k][i] = k % 4 == 0 ? 0.99 + 0.02 * pick(row, 22) : 0.0;
}

static struct particles *make_rows(int64_t first, int64_t count)
{
  struct particles *p = particles_create(NEEDS_HEAT | NEEDS_STIFFNESS | NEEDS_MATERIAL);
  particles_append(p, count);
  for (int64_t i = 0; i < count; i++) make_particle(p, (int32_t)i, (uint64_t)(first + i));
  return p;
}

/* How many rows each rank has: uneven, and every third rank has none (where there are others). */
static int64_t share_of(int rank, int size, int64_t total, int64_t *first)
{
  int64_t weight_sum = 0, before = 0;
  for (int r = 0; r < size; r++) weight_sum += size > 1 && r % 3 == 1 ? 0 : r + 1;
  for (int r = 0; r < rank; r++) before += size > 1 && r % 3 == 1 ? 0 : r + 1;
  const int64_t mine = size > 1 && rank % 3 == 1 ? 0 : rank + 1;
  *first = total * before / weight_sum;
  return total * (before + mine) / weight_sum - *first;
}

static struct material materials[2] = {
    {"a", MODEL_SNOW, 400, .snow = {1.4e5, 0.2, 10, 1e3, 0.025, 0.0075, true}},
    {"b", MODEL_SNOW, 300, .snow = {4.8e4, 0.3, 5, 1e3, 0.019, 0.005, true}},
};

static const struct heat_law water = {
    .melting_point = 270, .latent = 3e5, .c_solid = 2000, .c_liquid = 4000, .lambda_liquid = 1e6};

static struct scene make_scene(char *output, char *text)
{
  return (struct scene){.path = "test.yml",
                        .text = text,
                        .resolved = "name: <test> & \"more\"\n",
                        .hash = 0x0123456789abcdef,
                        .name = "drop <&> \"x\"",
                        .materials = materials,
                        .material_count = 2,
                        .has_heat = true,
                        .heat = water,
                        .output = output,
                        .fields = (1u << FRAME_WORDS) - 1,
                        .frame_bits = 64};
}

static void check_same_bytes(const char *a, const char *b)
{
  struct error err = {.code = FIRN_OK};
  char *left, *right;
  size_t n, m;
  CHECK_TEXT(file_read(a, 1 << 30, &left, &n, &err) == FIRN_OK, err.text);
  CHECK_TEXT(file_read(b, 1 << 30, &right, &m, &err) == FIRN_OK, err.text);
  CHECK_TEXT(n == m && memcmp(left, right, n) == 0, a);
  mem_free(left);
  mem_free(right);
}

/* Polar rotation by averaging with the inverse transpose: an oracle that shares nothing with the solver's
 * code. */
static void oracle_polar(const double f[9], double r[9])
{
  memcpy(r, f, 9 * sizeof *r);
  for (int n = 0; n < 12; n++) {
    double t[9];
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        const int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
        t[3 * i + j] = r[3 * a + c] * r[3 * b + d] - r[3 * a + d] * r[3 * b + c];
      }
    const double det = r[0] * t[0] + r[1] * t[1] + r[2] * t[2];
    for (int k = 0; k < 9; k++) r[k] = 0.5 * (r[k] + t[k] / det);
  }
}

static double oracle_determinant(const double f[9])
{
  return f[0] * (f[4] * f[8] - f[5] * f[7]) - f[1] * (f[3] * f[8] - f[5] * f[6]) +
         f[2] * (f[3] * f[7] - f[4] * f[6]);
}

static void check_stress(const double fe[9], double jp, double stiffness, const struct material *m,
                         const double *stress)
{
  double r[9];
  oracle_polar(fe, r);
  const double factor = stiffness * exp(m->snow.hardening * (1.0 - jp)), je = oracle_determinant(fe);
  const double mu = factor * m->snow.young / 2 / (1 + m->snow.poisson);
  const double lambda =
      factor * m->snow.young * m->snow.poisson / (1 + m->snow.poisson) / (1 - 2 * m->snow.poisson);
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) {
      double value = a == b ? lambda * (je - 1) * je : 0.0;
      for (int k = 0; k < 3; k++) value += 2 * mu * (fe[3 * a + k] - r[3 * a + k]) * fe[3 * b + k];
      CHECK(fabs(stress[3 * a + b] - value / (je * jp)) <= 1e-12 * m->snow.young * factor);
    }
}

static void *load(const struct any_file *state, const char *name, hid_t type)
{
  struct error err = {.code = FIRN_OK};
  void *rows = NULL;
  const struct any_file_field *field = any_file_find(state, name);
  CHECK_TEXT(field, name);
  CHECK_TEXT(any_file_load(state, field, type, &rows, &err) == FIRN_OK, err.text);
  return rows;
}

/* In kelvin, from the three branches of the law. */
static void check_heat(const struct particles *p, int32_t i, double temperature, double melted)
{
  const double u = p->enthalpy[i];
  CHECK(fabs(temperature - (u < 0.0   ? 270.0 + u / 2000.0
                            : u > 3e5 ? 270.0 + (u - 3e5) / 4000.0
                                      : 270.0)) < 1e-10);
  CHECK(fabs(melted - (u < 0.0 ? 0.0 : u > 3e5 ? 1.0 : u / 3e5)) < 1e-14);
}

/* Liquid pushes, never pulls, and has no shear. */
static void check_pressure(double j, const double stress[9])
{
  const double pressure = j < 1.0 ? 1e6 * (1.0 - j) : 0.0;
  for (int k = 0; k < 9; k++) CHECK(fabs(stress[k] + (k % 4 == 0 ? pressure : 0.0)) < 1e-6);
}

/* Every value of a file in double precision against the particles that it was made from. */
static void check_values(const char *path, int64_t total)
{
  struct error err = {.code = FIRN_OK};
  struct any_file *state = NULL;
  CHECK_TEXT(any_file_open(&state, path, true, &err) == FIRN_OK, err.text);
  CHECK(state->count == total && state->field_count == FRAME_COLUMNS);
  struct particles *p = make_rows(0, total);
  uint64_t *id = load(state, "id", H5T_NATIVE_UINT64);
  uint32_t *material = load(state, "material", H5T_NATIVE_UINT32);
  double *x = load(state, "position", H5T_NATIVE_DOUBLE), *v = load(state, "velocity", H5T_NATIVE_DOUBLE);
  double *mass = load(state, "mass", H5T_NATIVE_DOUBLE), *jp = load(state, "JP", H5T_NATIVE_DOUBLE);
  double *fe = load(state, "FE", H5T_NATIVE_DOUBLE), *stress = load(state, "stress", H5T_NATIVE_DOUBLE);
  double *density = load(state, "density", H5T_NATIVE_DOUBLE);
  double *temperature = load(state, "temperature", H5T_NATIVE_DOUBLE);
  double *melted = load(state, "liquid_fraction", H5T_NATIVE_DOUBLE);
  double *phase = load(state, "phase", H5T_NATIVE_DOUBLE),
         *enthalpy = load(state, "enthalpy", H5T_NATIVE_DOUBLE);
  for (int64_t i = 0; i < total; i++) {
    CHECK(id[i] == p->id[i] && material[i] == p->material[i] && mass[i] == p->mass[i] && jp[i] == p->jp[i]);
    for (int d = 0; d < 3; d++) CHECK(x[3 * i + d] == p->x[d][i] && v[3 * i + d] == p->v[d][i]);
    for (int k = 0; k < 9; k++) CHECK(fe[9 * i + k] == p->fe[k][i]);
    const double volume = p->volume[i] * oracle_determinant(fe + 9 * i) * jp[i];
    CHECK(volume > 0 ? fabs(density[i] * volume / mass[i] - 1) < 1e-14 : density[i] == 0.0);
    check_heat(p, (int32_t)i, temperature[i], melted[i]);
    CHECK(phase[i] == p->liquid[i] && enthalpy[i] == p->enthalpy[i]);
    if (p->liquid[i] != 0.0)
      check_pressure(oracle_determinant(fe + 9 * i), stress + 9 * i);
    else
      check_stress(fe + 9 * i, jp[i], stiffness_of((uint64_t)i), &materials[material[i]], stress + 9 * i);
  }
  void *blocks[] = {id, material, x, v, mass, jp, fe, stress, density, temperature, melted, phase, enthalpy};
  for (int k = 0; k < FRAME_COLUMNS; k++) mem_free(blocks[k]);
  particles_destroy(&p);
  any_file_close(&state);
}

/* Calls of MPI-IO, seen between HDF5 and the library. One of them fails if asked to. */
static int collective_writes, collective_reads, fails_at;

int MPI_File_write_at_all(MPI_File file, MPI_Offset at, const void *bytes, int count, MPI_Datatype type,
                          MPI_Status *status)
{
  const int code = PMPI_File_write_at_all(file, at, bytes, count, type, status);
  collective_writes++;
  return fails_at > 0 && --fails_at == 0 ? MPI_ERR_NO_SPACE : code;
}

int MPI_File_read_at_all(MPI_File file, MPI_Offset at, void *bytes, int count, MPI_Datatype type,
                         MPI_Status *status)
{
  collective_reads++;
  return PMPI_File_read_at_all(file, at, bytes, count, type, status);
}

/* Which way the last frame went: by default through MPI-IO if there are several ranks. */
static void check_way(const struct scene *scene, int64_t total)
{
  const bool several = scene->writing.writer == WRITER_AUTO && world.size > 1;
  const bool together = several || scene->writing.writer == WRITER_PARALLEL_HDF5 || scene->compression > 0;
  CHECK((collective_writes > 0) == (total > 0 && together));
  collective_writes = 0;
}

/* One frame by all ranks into one folder, and by rank 0 alone into another. */
static void write_both(struct scene *scene, char *together, char *alone, int64_t index, int64_t total)
{
  struct error err = {.code = FIRN_OK};
  const struct frame_info info = {.index = index, .step = 10 * index, .time = (double)index / 3.0};
  int64_t first;
  const int64_t mine = share_of(world.rank, world.size, total, &first);
  struct particles *p = make_rows(first, mine);
  scene->output = together;
  CHECK_TEXT(frame_write(&world, scene, p, &info, &err) == FIRN_OK, err.text);
  check_way(scene, total);
  particles_destroy(&p);
  if (world.rank == 0) {
    struct comm self;
    const enum scene_writer writer = scene->writing.writer;
    comm_create(&self, MPI_COMM_SELF);
    p = make_rows(0, total);
    scene->output = alone;
    scene->writing.writer = WRITER_DIRECT;
    CHECK_TEXT(frame_write(&self, scene, p, &info, &err) == FIRN_OK, err.text);
    scene->writing.writer = writer;
    collective_writes = 0;
    particles_destroy(&p);
    comm_destroy(&self);
    char *a = frame_path(together, index), *b = frame_path(alone, index);
    check_same_bytes(a, b);
    if (scene->frame_bits == 64 && scene->fields & frame_field("stress")) check_values(a, total);
    mem_free(a);
    mem_free(b);
  }
  scene->output = together;
}

static void check_read(const char *folder, int64_t index, int64_t total, bool has_density, const char *text)
{
  struct error err = {.code = FIRN_OK};
  struct frame *frame = NULL;
  char *path = frame_path(folder, index);
  CHECK_TEXT(frame_read(&frame, path, &err) == FIRN_OK, err.text);
  CHECK(frame->count == total && frame->info.index == index && frame->info.step == 10 * index);
  CHECK(frame->info.time == (double)index / 3.0);
  CHECK(strcmp(frame->scene, text) == 0 && strncmp(frame->resolved, "name: <test>", 12) == 0);
  CHECK((frame->density != NULL) == has_density);
  struct particles *p = make_rows(0, total);
  for (int64_t i = 0; i < total; i++) {
    CHECK(frame->id[i] == p->id[i]);
    for (int d = 0; d < 3; d++) CHECK(frame->position[3 * i + d] == (float)p->x[d][i]);
    for (int d = 0; d < 3; d++) CHECK(frame->velocity[3 * i + d] == (float)p->v[d][i]);
  }
  particles_destroy(&p);
  frame_destroy(&frame);
  mem_free(path);
}

/* Cuts a good file short at many places, and writes nonsense into others: an error, never a crash or a hang.
 */
static void check_damage(const char *folder)
{
  char *path = frame_path(folder, 1), *bytes, *cut = file_join(folder, "cut.h5");
  size_t size;
  struct error err = {.code = FIRN_OK};
  CHECK(file_read(path, 1 << 30, &bytes, &size, &err) == FIRN_OK);
  for (size_t k = 0; k < 40; k++) {
    struct frame *frame = NULL;
    CHECK(file_write(cut, 0, bytes, size * k / 40, &err) == FIRN_OK);
    CHECK(frame_read(&frame, cut, &err) != FIRN_OK && *err.text && !frame);
  }
  memset(bytes + 16, 0xff, 64);
  CHECK(file_write(cut, 0, bytes, size, &err) == FIRN_OK);
  struct frame *frame = NULL;
  CHECK(frame_read(&frame, cut, &err) != FIRN_OK);
  CHECK(frame_read(&frame, folder, &err) != FIRN_OK && strstr(err.text, "folder"));
  CHECK(frame_read(&frame, "no such file.h5", &err) != FIRN_OK && strstr(err.text, "No such file"));
  unlink(cut);
  mem_free(bytes);
  mem_free(cut);
  mem_free(path);
}

static int occurrences(const char *text, const char *word)
{
  int count = 0;
  for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) count++;
  return count;
}

static void check_series(const struct scene *scene, int frames, int attributes)
{
  struct error err = {.code = FIRN_OK};
  CHECK_TEXT(frame_write_series(scene, 0, &err) == FIRN_OK, err.text);
  char *path = file_join(scene->output, "drop <&> \"x\".xdmf"), *text;
  CHECK_TEXT(file_read(path, 1 << 20, &text, NULL, &err) == FIRN_OK, err.text);
  CHECK(occurrences(text, "<Grid ") == frames + 1 && occurrences(text, "</Grid>") == frames + 1);
  CHECK(occurrences(text, "<Topology TopologyType=\"Polyvertex\"") == frames);
  CHECK(occurrences(text, "<Attribute ") == attributes && occurrences(text, "</Attribute>") == attributes);
  CHECK(occurrences(text, "<DataItem ") == attributes + frames);
  CHECK(occurrences(text, "frames/frame_000001.h5:/particles/position</DataItem>") == 1);
  CHECK(strstr(text, "drop &lt;&amp;&gt; &quot;x&quot;") && !strstr(text, "<&>") &&
        !strstr(text, scene->output));
  CHECK(strstr(text, "NumberType=\"UInt\" Precision=\"8\" Dimensions=\"1000\""));
  CHECK(strstr(text, "NumberType=\"Float\" Precision=\"8\" Dimensions=\"1000 3\""));
  CHECK(occurrences(text, "<Time Value=\"0.33333333333333331\"/>") == 1); /* of frame 1 */
  CHECK(occurrences(text, "<Attribute Name=\"velocity\" AttributeType=\"Vector\"") == frames);
  CHECK(occurrences(text, "<Attribute Name=\"stress\" AttributeType=\"Tensor\"") == frames - 1);
  CHECK(occurrences(text, "<Attribute Name=\"density\" AttributeType=\"Scalar\"") == frames - 1);
  mem_free(text);
  if (system("command -v xmllint >/dev/null 2>&1") == 0) {
    char *command = mem_alloc(strlen(path) + 64, 1);
    sprintf(command, "xmllint --noout '%s'", path);
    CHECK(system(command) == 0);
    mem_free(command);
  } else {
    skipped("test_frame", "the series as XML: there is no xmllint (Debian: libxml2-utils)");
  }
  mem_free(path);
}

/* A folder that cannot be made is the same error on all ranks, and nothing is left behind. */
static void check_failures(struct scene *scene, char *folder)
{
  struct error err = {.code = FIRN_OK};
  char *blocked = file_join(folder, "frames/frame_000001.h5/below");
  struct particles *p = make_rows(world.rank, 1);
  scene->output = blocked;
  CHECK(frame_write(&world, scene, p, &(struct frame_info){.index = 0}, &err) == FIRN_EIO);
  CHECK(err.code == FIRN_EIO && strstr(err.text, "cannot make the folder"));
  particles_destroy(&p);
  scene->output = folder;
  mem_free(blocked);
  /* Any one rank may fail, and all learn its words. */
  for (int failing = 0; failing < world.size; failing++) {
    int code = FIRN_OK;
    if (world.rank == failing) code = error_set(&err, FIRN_EINPUT, "rank %d", failing);
    if (world.rank > failing) code = error_set(&err, FIRN_EINPUT, "another");
    CHECK(comm_agree(&world, code, &err) == FIRN_EINPUT);
    char expected[32];
    sprintf(expected, "rank %d", failing);
    CHECK(strcmp(err.text, expected) == 0);
    code = world.rank == failing ? FIRN_EIO : FIRN_EINPUT; /* the worse code wins whoever has it */
    error_set(&err, code, "%s", world.rank == failing ? "worse" : "bad");
    CHECK(comm_agree(&world, code, &err) == FIRN_EIO && strcmp(err.text, "worse") == 0 &&
          err.code == FIRN_EIO);
  }
  CHECK(comm_agree(&world, FIRN_OK, NULL) == FIRN_OK);
}

static void remove_tree(const char *folder)
{
  char *command = mem_alloc(strlen(folder) + 16, 1);
  sprintf(command, "rm -rf '%s'", folder);
  CHECK(system(command) == 0);
  mem_free(command);
}

static void write_all(struct scene *scene, char *together, char *alone)
{
  write_both(scene, together, alone, 0, 0);
  write_both(scene, together, alone, 1, 1000);
  scene->writing.writer = WRITER_PARALLEL_HDF5;
  write_both(scene, together, alone, 2, 1);
  scene->writing.writer = WRITER_DIRECT;
  write_both(scene, together, alone, 3, 70001);
  scene->writing.writer = WRITER_AUTO;
  write_both(scene, together, alone, 3, 70001);
  scene->compression = 1;
  write_both(scene, together, alone, 4, 0);
  write_both(scene, together, alone, 5, 140001); /* three chunks */
  scene->frame_bits = 32;
  write_both(scene, together, alone, 6, 5);
  scene->compression = 0;
  scene->fields = 0;
  write_both(scene, together, alone, 1000007, 99);
}

/* A collective write fails: no file appears, nothing stays behind, and the next try succeeds. With several
 * ranks HDF5 keeps the others waiting for the one that failed, and the job ends: tests/cli/test_disk.sh. */
static void check_lost_write(struct scene *scene, char *folder)
{
  struct error err = {.code = FIRN_OK};
  char *path = frame_path(folder, 77), *frames = file_join(folder, "frames");
  struct particles *p = make_rows(100 * world.rank, 100);
  scene->writing = (struct scene_writing){.writer = WRITER_PARALLEL_HDF5, .patience = 30.0};
  for (scene->compression = 0; scene->compression < 2 && world.size == 1; scene->compression++) {
    fails_at = 2;
    CHECK(frame_write(&world, scene, p, &(struct frame_info){.index = 77}, &err) == FIRN_EIO);
    CHECK_TEXT(strstr(err.text, "rank 0 cannot write") && strstr(err.text, "frame_000077.h5"), err.text);
    CHECK(fails_at == 0 && access(path, F_OK) != 0);
    struct file_list *left = NULL;
    CHECK(file_list_create(&left, frames, "", ".part", NULL) == FIRN_OK && left->count == 0);
    file_list_destroy(&left);
  }
  scene->compression = 0;
  CHECK_TEXT(frame_write(&world, scene, p, &(struct frame_info){.index = 77}, &err) == FIRN_OK, err.text);
  check_barrier(world.mpi);
  if (world.rank == 0) CHECK(unlink(path) == 0);
  scene->writing = (struct scene_writing){.writer = WRITER_AUTO};
  particles_destroy(&p);
  mem_free(frames);
  mem_free(path);
}

/* Large columns begin at multiples of the alignment, small ones do not; hints reach MPI and change no byte.
 */
static void check_alignment(struct scene *scene, char *together, char *alone)
{
  enum { ALIGNMENT = 8192 };
  scene->writing = (struct scene_writing){.writer = WRITER_PARALLEL_HDF5,
                                          .alignment = ALIGNMENT,
                                          .hint_count = 2,
                                          .hints = {{"cb_nodes", "1"}, {"cb_buffer_size", "65536"}}};
  write_both(scene, together, alone, 7, 14000);
  if (world.rank == 0) {
    char *path = frame_path(together, 7);
    struct seal seal;
    struct error err = {.code = FIRN_OK};
    int large = 0;
    CHECK_TEXT(seal_check(&seal, path, &err) == FIRN_OK, err.text);
    for (int k = 0; k < seal.count; k++)
      if (seal.entries[k].rows * seal.entries[k].row_size >= 16 * ALIGNMENT) {
        CHECK(seal.entries[k].offset % ALIGNMENT == 0);
        large++;
      }
    CHECK(large == 2 && seal.count == 3); /* id is small */
    CHECK(unlink(path) == 0);
    mem_free(path);
  }
  scene->writing = (struct scene_writing){.writer = WRITER_AUTO};
}

/* The seal of a compressed file is made of blocks that ranks share; any flipped byte breaks it. */
static void check_blocks(const char *folder)
{
  char *path = frame_path(folder, 5), *spoiled = file_join(folder, "spoiled.h5"), *bytes;
  size_t size;
  struct seal seal;
  struct error err = {.code = FIRN_OK};
  CHECK_TEXT(seal_check_all(path, &err) == FIRN_OK, err.text);
  CHECK(seal_read(&seal, path, &err) == FIRN_OK && seal_has_blocks(&seal) && seal.entries[0].rows > 100);
  CHECK(file_read(path, 1 << 30, &bytes, &size, &err) == FIRN_OK);
  for (int k = 0; k < 12; k++) {
    const size_t at =
        k == 0 ? size - 1 : SEAL_BYTES + (size_t)(pick((uint64_t)k, 30) * (double)(size - SEAL_BYTES));
    bytes[at] = (char)(bytes[at] ^ 4);
    CHECK(file_write(spoiled, 0, bytes, size, &err) == FIRN_OK);
    CHECK(seal_check(&seal, spoiled, &err) == FIRN_EDAMAGED &&
          seal_check_all(spoiled, &err) == FIRN_EDAMAGED);
    bytes[at] = (char)(bytes[at] ^ 4);
  }
  unlink(spoiled);
  mem_free(bytes);
  mem_free(spoiled);
  mem_free(path);
}

static bool is_frame(const char *name)
{
  return frame_number(name) >= 0;
}

/* Only temporaries of frames that an older start left are removed; nothing else is, whatever its name ends
 * in. */
static void check_stale(const char *output)
{
  static const char *const stay[] = {"x.h5.1-1-1.part",
                                     "movie.mp4.part",
                                     "frame_000001.h5.part",
                                     "frame_000001.h5.1-1.part",
                                     "frame_1.h5.1-1-1.part",
                                     "frame_000001.h5.0-1-1.part",
                                     "frame_000001.h5.5-1-1.part",
                                     "frame_000001.h5.6-1-1.part",
                                     "frame_000001.h5.01-1-1.part"};
  char *frames = file_join(output, "frames"), *stale = file_join(frames, "frame_000001.h5.4-1a-2b.part");
  CHECK(file_remove_stale(frames, INT64_MAX, is_frame) == 0); /* nothing was left */
  for (size_t k = 0; k < sizeof stay / sizeof *stay; k++) {
    char *path = file_join(frames, stay[k]);
    CHECK(file_write(path, 0, "x", 1, NULL) == FIRN_OK);
    mem_free(path);
  }
  CHECK(file_write(stale, 0, "x", 1, NULL) == FIRN_OK);
  CHECK(file_remove_stale(frames, 5, is_frame) == 1 && access(stale, F_OK) != 0);
  for (size_t k = 0; k < sizeof stay / sizeof *stay; k++) {
    char *path = file_join(frames, stay[k]);
    CHECK_TEXT(unlink(path) == 0, stay[k]);
    mem_free(path);
  }
  mem_free(stale);
  mem_free(frames);
}

/* A file that stops to grow while HDF5 writes it: HDF5 could not end within MPI_Finalize() then, which ends
 * this test. */
static void check_unclosed(const char *folder)
{
  char *path = file_join(folder, "unclosed.h5"), text[20000] = {0};
  struct hdf5_silence silence;
  struct rlimit before, tight;
  CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
  tight = before;
  tight.rlim_cur = 4096;
  signal(SIGXFSZ, SIG_IGN);
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  memset(text, '#', sizeof text - 1);
  CHECK(file >= 0 && hdf5_put_text(file, "text", text));
  CHECK(setrlimit(RLIMIT_FSIZE, &tight) == 0);
  hdf5_silence_begin(&silence);
  CHECK(!hdf5_close_written(file));
  hdf5_silence_end(&silence);
  CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
  mem_free(path);
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  comm_create(&world, MPI_COMM_WORLD);
  log_configure(LOG_WARN, world.rank, comm_abort);
  char *folder = NULL;
  if (world.rank == 0) {
    char pattern[] = "test_frame_XXXXXX";
    CHECK(mkdtemp(pattern));
    folder = mem_strdup(pattern);
  }
  comm_broadcast_text(&world, &folder);
  char *together = file_join(folder, "all/ranks"), *alone = file_join(folder, "one");
  /* Longer than the 64 KiB that fit into an old attribute. */
  char *text = mem_alloc(200001, 1);
  memset(text, '#', 200000);
  struct scene scene = make_scene(together, text);
  write_all(&scene, together, alone);
  check_alignment(&scene, together, alone);
  check_lost_write(&scene, together);
  if (world.rank == 0) {
    check_blocks(together);
    check_read(together, 0, 0, true, text);
    check_read(together, 3, 70001, true, text);
    check_read(together, 5, 140001, true, text);
    check_read(together, 1000007, 99, false, text);
    check_damage(together);
    check_series(&scene, 6, 5 * (FRAME_COLUMNS - 1) + 2);
    check_stale(together);
    check_unclosed(folder);
  }
  check_failures(&scene, together);
  check_barrier(world.mpi);
  if (world.rank == 0) remove_tree(folder);
  mem_free(text);
  mem_free(together);
  mem_free(alone);
  mem_free(folder);
  comm_destroy(&world);
  return check_end();
}
