/* Particle files: good ones read the same whatever the ranks, and each kind of broken one is the same error
 * on all ranks, at once, with nothing added to the particles. */
#include "base/error.h"
#include "base/log.h"
#include "decomposition/comm.h"
#include "io/file.h"
#include "io/particles/hdf5.h"
#include "io/particles/particle_file.h"
#include "io/particles/unique_ids.h"
#include "support/check.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS = 101 };

static struct comm world;

/* Both ways of reading: the tests below are made with each. */
static const struct scene_writing ways[] = {{.writer = WRITER_PARALLEL_HDF5}, {.writer = WRITER_DIRECT}};
static const struct scene_writing *way;

/* A particle file in memory; the tests spoil one thing each before it is written. */
struct draft {
  const char *group; /* NULL: root */
  hsize_t rows[8];   /* of each dataset below; 0: left out */
  bool narrow;       /* reals in single precision, ids as big-endian 32 bits, compressed */
  bool signed_ids, real_ids, text_mass, flat_position;
  double position[ROWS][3], velocity[ROWS][3], mass[ROWS], volume[ROWS], fe[ROWS][9], fp[ROWS][9], jp[ROWS];
  int64_t id[ROWS];
};

enum { POSITION, VELOCITY, MASS, VOLUME, FE, FP, JP, ID };

static void draft_good(struct draft *d)
{
  *d = (struct draft){.group = NULL};
  for (int k = 0; k < 8; k++) d->rows[k] = k == FP ? 0 : ROWS;
  for (int i = 0; i < ROWS; i++) {
    for (int c = 0; c < 3; c++) {
      d->position[i][c] = 0.125 * i + c;
      d->velocity[i][c] = c - 0.25 * i;
      d->fe[i][4 * c] = 1.0 + 0.0625 * c;
      d->fp[i][4 * c] = 1.5;
    }
    d->fe[i][1] = 0.03125;
    d->mass[i] = 1.0 + i;
    d->volume[i] = 0.5 + i;
    d->jp[i] = 0.75;
    d->id[i] = 1000000000 - 7 * i;
  }
}

static hid_t file_type(const struct draft *d, int k)
{
  if (k == ID)
    return d->real_ids     ? H5T_IEEE_F64LE
           : d->narrow     ? H5T_STD_U32BE
           : d->signed_ids ? H5T_STD_I64LE
                           : H5T_STD_U64LE;
  return d->narrow ? H5T_IEEE_F32LE : H5T_IEEE_F64LE;
}

static void write_table(const struct draft *d, hid_t group, int k, const char *name, int axes,
                        const void *values)
{
  if (d->rows[k] == 0) return;
  hsize_t dims[3] = {d->rows[k], 3, 3};
  if (k == POSITION && d->flat_position) dims[1] = 2;
  const hid_t space = H5Screate_simple(axes, dims, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
  if (d->narrow) {
    const hsize_t chunk[3] = {10, 3, 3};
    H5Pset_chunk(creation, axes, chunk);
    H5Pset_deflate(creation, 6);
  }
  const hid_t set = H5Dcreate2(group, name, file_type(d, k), space, H5P_DEFAULT, creation, H5P_DEFAULT);
  CHECK(set >= 0);
  CHECK(H5Dwrite(set, k == ID ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                 values) >= 0);
  H5Dclose(set);
  H5Pclose(creation);
  H5Sclose(space);
}

static void write_draft(const struct draft *d, const char *path)
{
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(file >= 0);
  const hid_t group = d->group ? H5Gcreate2(file, d->group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) : file;
  write_table(d, group, POSITION, "position", 2, d->position);
  write_table(d, group, VELOCITY, "velocity", 2, d->velocity);
  if (d->text_mass) {
    const hid_t space = H5Screate(H5S_SCALAR);
    H5Dclose(H5Dcreate2(group, "mass", H5T_C_S1, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
  } else {
    write_table(d, group, MASS, "mass", 1, d->mass);
  }
  write_table(d, group, VOLUME, "volume", 1, d->volume);
  write_table(d, group, FE, "FE", 3, d->fe);
  write_table(d, group, FP, "FP", 3, d->fp);
  write_table(d, group, JP, "JP", 1, d->jp);
  write_table(d, group, ID, "id", 1, d->id);
  if (d->group) H5Gclose(group);
  H5Fclose(file);
}

static void check_rows(const struct draft *d, const struct particles *p, int32_t before, int64_t first)
{
  for (int32_t k = before; k < p->count; k++) {
    const int64_t i = first + k - before;
    CHECK(p->id[k] == (d->rows[ID] ? (uint64_t)d->id[i] : 5000 + (uint64_t)i) && p->material[k] == 3);
    CHECK(p->mass[k] == d->mass[i] && p->volume[k] == (d->rows[VOLUME] ? d->volume[i] : 0.0));
    CHECK(p->jp[k] == (d->rows[JP] ? d->jp[i] : d->rows[FP] ? 3.375 : 1.0));
    for (int c = 0; c < 3; c++) CHECK(p->x[c][k] == d->position[i][c] && p->v[c][k] == d->velocity[i][c]);
    for (int c = 0; c < 9; c++) CHECK(p->fe[c][k] == (d->rows[FE] ? d->fe[i][c] : c % 4 == 0 ? 1.0 : 0.0));
  }
}

static void expect_good(const struct draft *d, const char *path)
{
  if (world.rank == 0) write_draft(d, path);
  check_barrier(world.mpi);
  struct error err = {.code = FIRN_OK};
  struct particles *p = particles_create(NEEDS_MATERIAL);
  particles_append(p, 2); /* what is there stays */
  p->mass[1] = 42.0;
  struct particle_file_info info = {0};
  CHECK_TEXT(particle_file_read(&world, path, way, 3, 5000, p, &info, &err) == FIRN_OK, err.text);
  const int64_t mine = p->count - 2, first = comm_exscan_i64(&world, mine);
  int64_t sum = mine;
  comm_sum_i64(&world, &sum, 1);
  CHECK(info.rows == ROWS && sum == ROWS && p->mass[1] == 42.0);
  check_rows(d, p, 2, first);
  particles_destroy(&p);
  double x[3 * 64];
  int seen;
  for (int most = 64; most >= 32;
       most /= 2) { /* fewer than there are: 16 pieces, from the first row to the last */
    CHECK(particle_file_look(path, NEEDS_HEAT, &info, most, x, &seen, &err) == FIRN_OK && info.rows == ROWS &&
          seen == most);
    for (int c = 0; c < 3; c++) {
      CHECK(x[c] == d->position[0][c] && x[3 * (seen - 1) + c] == d->position[ROWS - 1][c]);
      CHECK(x[3 * (seen / 2) + c] > d->position[ROWS / 4][c] &&
            x[3 * (seen / 2) + c] < d->position[ROWS * 3 / 4][c]);
    }
  }
  check_barrier(world.mpi);
}

/* The file at path, already there: an error with this word in it, the same text everywhere. */
static void expect_refused(const char *path, const char *word)
{
  check_barrier(world.mpi);
  struct error err = {.code = FIRN_OK};
  struct particles *p = particles_create(NEEDS_MATERIAL);
  struct particle_file_info info = {.rows = -1};
  const int code = particle_file_read(&world, path, way, 0, 0, p, &info, &err);
  CHECK_TEXT(code == FIRN_EINPUT && err.code == code, word);
  CHECK_TEXT(strstr(err.text, word), err.text);
  CHECK_TEXT(strstr(err.text, path) && !strchr(err.text, '\n'), err.text);
  CHECK(p->count == 0 && info.rows == -1);
  char first[sizeof err.text];
  memcpy(first, err.text, sizeof first);
  MPI_Bcast(first, (int)sizeof first, MPI_CHAR, 0, world.mpi);
  CHECK(strcmp(first, err.text) == 0);
  particles_destroy(&p);
  /* A look, which sees all rows of so small a file, says the same; but values of ids only a whole reading
   * knows. */
  struct error seen = {.code = FIRN_OK};
  int looked_at;
  const int look = particle_file_look(path, NEEDS_HEAT, &info, 4096, NULL, &looked_at, &seen);
  if (strncmp(word, "the id ", 7) == 0 || strncmp(word, "id of row", 9) == 0)
    CHECK_TEXT(look == FIRN_OK && info.rows == ROWS, seen.text);
  else
    CHECK_TEXT(look == FIRN_EINPUT && strcmp(seen.text, err.text) == 0, seen.text);
  check_barrier(world.mpi);
}

static void expect_bad(struct draft *d, const char *path, const char *word)
{
  if (world.rank == 0) write_draft(d, path);
  expect_refused(path, word);
  draft_good(d);
}

static void test_good(struct draft *d, const char *path)
{
  expect_good(d, path);
  d->group = "initial";
  expect_good(d, path);
  d->group = "particles";
  d->rows[ID] = d->rows[VOLUME] = d->rows[FE] = d->rows[JP] = 0;
  expect_good(d, path);
  d->rows[FP] = ROWS;
  expect_good(d, path);
  draft_good(d);
  d->narrow = true; /* all values are exact in single precision */
  expect_good(d, path);
  draft_good(d);
  d->signed_ids = true;
  expect_good(d, path);
  draft_good(d);
}

static void test_values(struct draft *d, const char *path)
{
  d->position[100][2] = NAN;
  expect_bad(d, path, "position of row 100 is not finite");
  d->velocity[3][0] = INFINITY;
  d->velocity[77][0] = NAN;
  expect_bad(d, path, "velocity of row 3 is not finite");
  d->mass[50] = -1.0;
  expect_bad(d, path, "mass of row 50 is -1");
  d->mass[99] = 0.0;
  expect_bad(d, path, "mass of row 99 is 0");
  d->mass[0] = NAN;
  expect_bad(d, path, "mass of row 0 is not finite");
  d->mass[7] = 1e308; /* finite, and its energy is not */
  expect_bad(d, path, "mass of row 7 is 1e+308, and nothing can be computed with it");
  d->mass[7] = 1e-300;
  expect_bad(d, path, "expected 1e-60 to 1e15 in size");
  d->velocity[8][2] = -1e200;
  expect_bad(d, path, "velocity of row 8 is -1e+200");
  d->volume[12] = 0.0;
  expect_bad(d, path, "volume of row 12");
  d->jp[12] = -0.5;
  expect_bad(d, path, "JP of row 12");
  for (int c = 0; c < 9; c++) d->fe[60][c] = 1.0;
  expect_bad(d, path, "determinant of FE of row 60");
  for (int c = 0; c < 3; c++) d->fe[60][4 * c] = 1e200;
  expect_bad(d, path, "determinant of FE of row 60");
  d->rows[JP] = 0;
  d->rows[FP] = ROWS;
  d->fp[9][0] = -1.0;
  expect_bad(d, path, "determinant of FP of row 9");
  d->rows[FP] = ROWS;
  expect_bad(d, path, "FP and JP");
  d->id[100] = d->id[0]; /* first and last rank */
  expect_bad(d, path, "the id 1000000000 occurs more than once");
  for (int i = 0; i < ROWS; i++) d->id[i] = 8;
  expect_bad(d, path, "the id 8 occurs more than once");
  d->signed_ids = true;
  d->id[33] = -4;
  expect_bad(d, path, "id of row 33 is -4");
}

static void test_shapes(struct draft *d, const char *path)
{
  static const char *const names[] = {"position", "velocity", "mass"};
  for (int k = 0; k < 3; k++) {
    d->rows[k] = 0;
    char word[64];
    sprintf(word, "dataset %s", names[k]);
    expect_bad(d, path, word);
  }
  d->rows[VELOCITY] = ROWS - 1;
  expect_bad(d, path, "velocity has 100 rows where position has 101");
  d->rows[ID] = 1;
  expect_bad(d, path, "id has 1 rows");
  d->rows[FE] = 7;
  expect_bad(d, path, "FE has 7 rows");
  d->flat_position = true;
  expect_bad(d, path, "position has the wrong shape");
  d->text_mass = true;
  expect_bad(d, path, "mass does not hold numbers");
  d->real_ids = true;
  expect_bad(d, path, "id must hold integers");
}

/* Zero rows: datasets that exist and hold nothing. */
static void test_no_rows(const char *path)
{
  if (world.rank == 0) {
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t dims[2] = {0, 3};
    const hid_t wide = H5Screate_simple(2, dims, NULL), thin = H5Screate_simple(1, dims, NULL);
    H5Dclose(H5Dcreate2(file, "position", H5T_IEEE_F64LE, wide, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Dclose(H5Dcreate2(file, "velocity", H5T_IEEE_F64LE, wide, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Dclose(H5Dcreate2(file, "mass", H5T_IEEE_F64LE, thin, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(wide);
    H5Sclose(thin);
    H5Fclose(file);
  }
  expect_refused(path, "no particles");
  if (world.rank == 0) { /* a header that promises far more than the file has */
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t dims[2] = {(hsize_t)1 << 50, 3};
    const hid_t wide = H5Screate_simple(2, dims, NULL);
    H5Dclose(H5Dcreate2(file, "position", H5T_IEEE_F64LE, wide, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(wide);
    H5Fclose(file);
  }
  expect_refused(path, "claims more rows");
  if (world.rank == 0) { /* a group where the dataset should be */
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(H5Gcreate2(file, "position", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);
  }
  expect_refused(path, "position is not a dataset");
}

/* Where the mass of a file can be, other than in it. */
enum storage { EXTERNAL, VIRTUAL, LINK, SOFT_LINK, FILTER, HALF, SHORT, SHORT_INFLATED, PACKED, RAW, ABSENT };

static void put_mass(hid_t file, enum storage how, const double *mass)
{
  const hsize_t n = 16, chunk = 6;
  const hid_t space = H5Screate_simple(1, &n, NULL), plan = H5Pcreate(H5P_DATASET_CREATE);
  hid_t type = H5Tcopy(H5T_IEEE_F64LE);
  unsigned char bytes[64] = {0x78, 0x9c, 3, 0, 0, 0, 0, 1}; /* zlib's stream of nothing */
  if (how == EXTERNAL) H5Pset_external(plan, "/etc/passwd", 0, H5F_UNLIMITED);
  if (how == VIRTUAL) H5Pset_virtual(plan, space, "other.h5", "/mass", space);
  if (how == LINK) H5Lcreate_external("other.h5", "/mass", file, "mass", H5P_DEFAULT, H5P_DEFAULT);
  if (how == SOFT_LINK) {
    H5Lcreate_external("other.h5", "/", file, "beside", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/beside/mass", file, "mass", H5P_DEFAULT, H5P_DEFAULT);
  }
  if (how == HALF) { /* five bits of exponent */
    H5Tset_fields(type, 15, 10, 5, 0, 10);
    H5Tset_ebias(type, 15);
    H5Tset_size(type, 2);
  }
  if (how >= FILTER && how != HALF) H5Pset_chunk(plan, 1, &chunk);
  if (how == FILTER) H5Pset_fletcher32(plan);
  if (how >= PACKED) H5Pset_shuffle(plan);
  if (how >= SHORT) H5Pset_deflate(plan, 6);
  if (how == LINK || how == SOFT_LINK) {
    H5Pclose(plan);
    H5Sclose(space);
    H5Tclose(type);
    return;
  }
  const hid_t set = H5Dcreate2(file, "mass", type, space, H5P_DEFAULT, plan, H5P_DEFAULT);
  CHECK(set >= 0);
  if (how >= FILTER && how != ABSENT)
    CHECK(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, mass) >= 0);
  const hsize_t second = 6;
  if (how == SHORT) CHECK(H5Dwrite_chunk(set, H5P_DEFAULT, 1, &second, 16, bytes) >= 0);
  if (how == SHORT_INFLATED) CHECK(H5Dwrite_chunk(set, H5P_DEFAULT, 0, &second, 8, bytes) >= 0);
  if (how == RAW) { /* shuffled, and deflate left out, as HDF5 does where it gains nothing */
    unsigned char raw[48];
    for (size_t k = 0; k < 6; k++)
      for (size_t b = 0; b < 8; b++) raw[6 * b + k] = ((const unsigned char *)&mass[6 + k])[b];
    CHECK(H5Dwrite_chunk(set, H5P_DEFAULT, 2, &second, sizeof raw, raw) >= 0);
  }
  H5Dclose(set);
  H5Pclose(plan);
  H5Sclose(space);
  H5Tclose(type);
}

static void write_stored(const char *path, enum storage how, const double *mass)
{
  const hsize_t dims[2] = {16, 3};
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
              wide = H5Screate_simple(2, dims, NULL);
  double rows[48];
  for (int k = 0; k < 48; k++) rows[k] = 0.01 * k;
  for (int k = 0; k < 2; k++) {
    const hid_t set = H5Dcreate2(file, k ? "velocity" : "position", H5T_IEEE_F64LE, wide, H5P_DEFAULT,
                                 H5P_DEFAULT, H5P_DEFAULT);
    CHECK(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    H5Dclose(set);
  }
  put_mass(file, how, mass);
  H5Sclose(wide);
  H5Fclose(file);
}

/* Nothing but plain chunks and pieces of this file is read, and these to the last bit. */
static void test_storage(const char *path)
{
  static const char *const refusal[] = {[EXTERNAL] = "mass lies in other files",
                                        [VIRTUAL] = "mass lies in other files",
                                        [LINK] = "mass is a link to another file",
                                        [SOFT_LINK] = "the dataset mass is missing",
                                        [FILTER] = "a filter that is not read",
                                        [HALF] = "a format that is not read",
                                        [SHORT] = "cannot read mass",
                                        [SHORT_INFLATED] = "cannot read mass",
                                        [ABSENT] = "mass of row 0 is 0",
                                        [PACKED] = NULL,
                                        [RAW] = NULL};
  double mass[16];
  for (int k = 0; k < 16; k++) mass[k] = 1.0 / (k + 3);
  for (enum storage how = EXTERNAL; how <= ABSENT; how++) {
    if (world.rank == 0) write_stored(path, how, mass);
    MPI_Barrier(world.mpi);
    if (refusal[how]) {
      expect_refused(path, refusal[how]);
      continue;
    }
    struct error err = {.code = FIRN_OK};
    struct particle_file_info info;
    struct particles *p = particles_create(0);
    CHECK_TEXT(particle_file_read(&world, path, way, 0, 0, p, &info, &err) == FIRN_OK, err.text);
    const int64_t first = comm_exscan_i64(&world, p->count);
    for (int32_t k = 0; k < p->count; k++) CHECK(p->mass[k] == mass[first + k]);
    particles_destroy(&p);
  }
}

static void test_bytes(struct draft *d, const char *path, const char *folder)
{
  char *bytes = NULL;
  size_t size = 0;
  if (world.rank == 0) {
    write_draft(d, path);
    CHECK(file_read(path, 1 << 30, &bytes, &size, NULL) == FIRN_OK);
  }
  for (size_t k = 1; k < 8; k++) {
    if (world.rank == 0) CHECK(file_write(path, 0, bytes, size * k / 8, NULL) == FIRN_OK);
    expect_refused(path, "damaged or cut short");
  }
  if (world.rank == 0) CHECK(file_write(path, 0, "", 0, NULL) == FIRN_OK);
  expect_refused(path, "not an HDF5 file");
  if (world.rank == 0) { /* noise */
    for (size_t k = 0; k < size; k++) bytes[k] = (char)(k * k * 31 + k / 7);
    CHECK(file_write(path, 0, bytes, size, NULL) == FIRN_OK);
  }
  expect_refused(path, "not an HDF5 file");
  mem_free(bytes);
  expect_refused(folder, "is a folder");
  expect_refused("there is no such file.h5", "No such file");
  if (world.rank == 0) CHECK(chmod(path, 0) == 0);
  check_barrier(world.mpi);
  const uid_t user = geteuid();
  CHECK(user != 0 || seteuid(65534) == 0); /* root reads everything, and so becomes nobody for it */
  expect_refused(path, "Permission denied");
  CHECK(seteuid(user) == 0);
  if (world.rank == 0) CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0);
  expect_refused(path, "not a regular file");
}

/* One rank alone cannot see the file: all of them learn so. */
static void test_one_blind_rank(struct draft *d, const char *path)
{
  if (world.rank == 0) CHECK(unlink(path) == 0);
  if (world.rank == 0) write_draft(d, path);
  for (int blind = 0; blind < world.size; blind++) {
    check_barrier(world.mpi);
    struct error err = {.code = FIRN_OK};
    struct particles *p = particles_create(NEEDS_MATERIAL);
    struct particle_file_info info;
    const char *seen = world.rank == blind ? "somewhere else.h5" : path;
    CHECK(particle_file_read(&world, seen, way, 0, 0, p, &info, &err) == FIRN_EINPUT);
    CHECK_TEXT(strstr(err.text, "somewhere else.h5"), err.text);
    particles_destroy(&p);
  }
}

static void test_unique(void)
{
  struct error err = {.code = FIRN_OK};
  uint64_t ids[5000];
  const uint64_t rank = (uint64_t)world.rank;
  for (uint64_t i = 0; i < 5000; i++) ids[i] = (rank * 5000 + i) * 0x9e3779b97f4a7c15u;
  CHECK(unique_ids_check(&world, ids, 5000, &err) == FIRN_OK);
  CHECK(unique_ids_check(&world, ids, world.rank == 0 ? 0 : 5000, &err) == FIRN_OK);
  CHECK(unique_ids_check(&world, ids, 0, &err) == FIRN_OK);
  ids[4999] = UINT64_MAX; /* on all ranks, or twice on one */
  ids[17] = world.size > 1 ? ids[17] : UINT64_MAX;
  CHECK(unique_ids_check(&world, ids, 5000, &err) == FIRN_EINPUT);
  CHECK_TEXT(strstr(err.text, "18446744073709551615"), err.text);
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  comm_create(&world, MPI_COMM_WORLD);
  log_configure(LOG_WARN, world.rank, comm_abort);
  char *folder = NULL;
  if (world.rank == 0) {
    char pattern[] = "test_particle_file_XXXXXX";
    CHECK(mkdtemp(pattern));
    folder = mem_strdup(pattern);
  }
  comm_broadcast_text(&world, &folder);
  char *path = file_join(folder, "particles.h5");
  struct draft *d = mem_alloc(1, sizeof *d);
  for (int k = 0; k < 2; k++) {
    way = &ways[k];
    draft_good(d);
    test_good(d, path);
    test_values(d, path);
    test_shapes(d, path);
    test_no_rows(path);
    test_storage(path);
    test_bytes(d, path, folder);
    test_one_blind_rank(d, path);
    check_barrier(world.mpi);
  }
  test_unique();
  check_barrier(world.mpi);
  if (world.rank == 0) CHECK(unlink(path) == 0 && rmdir(folder) == 0);
  mem_free(d);
  mem_free(path);
  mem_free(folder);
  comm_destroy(&world);
  return check_end();
}
