/* A file of more than 2^31 rows, written by two ranks and read back where 32 bits end: about 2.2 GB on the
 * disk, so it runs at night. Rows are one byte, made when they are asked for.
 *   mpirun -n 2 test_large_rows FOLDER */
#include "base/memory.h"
#include "io/file.h"
#include "io/particles/hdf5.h"
#include "io/particles/writer.h"
#include "io/run/seal.h"
#include "support/check.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct comm world;
static const int64_t rows_each = 1100000000;

static unsigned char byte_of(int64_t row)
{
  return (unsigned char)((uint64_t)row * 0x9e3779b97f4a7c15u >> 56);
}

static void gather(const void *context, int32_t first, int32_t n, void *rows)
{
  const int64_t before = *(const int64_t *)context;
  for (int32_t i = 0; i < n; i++) ((unsigned char *)rows)[i] = byte_of(before + first + i);
}

static bool describe(hid_t file, const void *context)
{
  (void)context;
  return hdf5_put_text(file, "format", "large");
}

static void check_rows(hid_t group, int64_t first, int64_t count, const char *path)
{
  struct hdf5_table table;
  struct error err = {0};
  unsigned char *rows = mem_alloc((size_t)count, 1);
  CHECK_TEXT(hdf5_table_open(&table, group, "byte", path, &err) == FIRN_OK, err.text);
  CHECK(table.rows == 2 * rows_each && table.rows > INT32_MAX);
  CHECK(hdf5_table_read(&table, H5T_NATIVE_UCHAR, first, count, rows));
  for (int64_t i = 0; i < count; i++) CHECK(rows[i] == byte_of(first + i));
  hdf5_table_close(&table);
  mem_free(rows);
}

static void check_file(const char *path)
{
  struct error err = {0};
  struct seal seal;
  CHECK_TEXT(seal_check(&seal, path, &err) == FIRN_OK, err.text);
  const hid_t file = hdf5_open(path, &err);
  CHECK_TEXT(file >= 0, err.text);
  const hid_t group = H5Gopen2(file, "particles", H5P_DEFAULT);
  const int64_t edge = (int64_t)1 << 31, last = 2 * rows_each;
  check_rows(group, 0, 1000, path);
  check_rows(group, rows_each - 500, 1000, path);
  check_rows(group, edge - 500, 1000, path);
  check_rows(group, last - 1000, 1000, path);
  H5Gclose(group);
  H5Fclose(file);
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  comm_create(&world, MPI_COMM_WORLD);
  CHECK_TEXT(world.size == 2 && argc == 2, "runs on two ranks, with a folder");
  char *path = file_join(argv[1], "large_rows.h5");
  const int64_t before = world.rank * rows_each;
  const struct writer_plan plan = {.target = path,
                                   .what = "writing",
                                   .rows = rows_each,
                                   .column_count = 1,
                                   .columns = {{.name = "byte",
                                                .unit = "1",
                                                .type = H5T_NATIVE_UCHAR,
                                                .components = 1,
                                                .gather = gather,
                                                .context = &before}},
                                   .sealed = true,
                                   .describe = describe};
  struct error err = {0};
  int64_t bytes = 0;
  CHECK_TEXT(writer_write(&world, &plan, &bytes, &err) == FIRN_OK, err.text);
  if (world.rank == 0) {
    check_file(path);
    unlink(path);
  }
  mem_free(path);
  comm_destroy(&world);
  return check_end();
}
