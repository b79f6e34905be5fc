/* firn diff on files made here. The commands are not part of libfirn, so the source is included. */
#include "commands/cmd_diff.c"

#include "support/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { COUNT = 100 };

static char folder[] = "test_diff_XXXXXX";

/* A state with ids 10, 11, ... in the order that `stride` (prime to COUNT) gives. */
struct sample {
  int64_t stride;
  int64_t count;
  double time;
  double shift; /* of one velocity component of id 40 */
  bool narrow, has_mass, has_ids, repeated_id;
  bool negative_zero; /* in the velocity of id 50 */
};

static const struct sample plain = {1, COUNT, 0.5, 0.0, false, true, true, false, false};

static void put(hid_t group, const char *name, hid_t file_type, hid_t type, int64_t rows, int columns,
                const void *data)
{
  const hsize_t dims[2] = {(hsize_t)rows, (hsize_t)columns};
  const hid_t space = H5Screate_simple(columns > 1 ? 2 : 1, dims, NULL);
  const hid_t set = H5Dcreate2(group, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Dclose(set);
  H5Sclose(space);
}

static void write_sample(const struct sample *s, const char *path)
{
  uint64_t id[COUNT];
  double x[COUNT][3], v[COUNT][3], mass[COUNT];
  for (int64_t row = 0; row < s->count; row++) {
    const int64_t k = row * s->stride % COUNT;
    id[row] = (uint64_t)(10 + k);
    mass[row] = 1.0 / (double)(k + 3);
    for (int d = 0; d < 3; d++) x[row][d] = 0.5 * (double)k + d;
    for (int d = 0; d < 3; d++) v[row][d] = k == 40 ? 0.0 : (double)(d - 1);
    if (k == 30) v[row][1] = s->shift;
    if (k == 40 && s->negative_zero) v[row][2] = -0.0;
  }
  if (s->repeated_id) id[1] = id[0];
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t group = H5Gcreate2(file, "particles", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t real = s->narrow ? H5T_IEEE_F32LE : H5T_IEEE_F64LE;
  assert_true(hdf5_put_f64(file, "time", s->time) && hdf5_put_text(file, "scene", "a: 1\nb: 2\n"));
  assert_true(hdf5_put_text(file, "scene_name", "ball"));
  if (s->has_ids) put(group, "id", H5T_STD_U64LE, H5T_NATIVE_UINT64, s->count, 1, id);
  put(group, "position", real, H5T_NATIVE_DOUBLE, s->count, 3, x);
  put(group, "velocity", real, H5T_NATIVE_DOUBLE, s->count, 3, v);
  if (s->has_mass) put(group, "mass", real, H5T_NATIVE_DOUBLE, s->count, 1, mass);
  H5Gclose(group);
  H5Fclose(file);
}

/* Compares the plain sample with another; says what diff printed. */
static struct captured compare(const struct sample *other, char *tolerance)
{
  static struct captured result;
  char *a = file_join(folder, "a.h5"), *b = file_join(folder, "b.h5");
  write_sample(&plain, a);
  write_sample(other, b);
  char *argv[] = {(char *)"diff", a, b, (char *)"--tolerance", tolerance, NULL};
  capture(&result, cmd_diff, tolerance ? 5 : 3, argv);
  mem_free(a);
  mem_free(b);
  assert_int_equal(mem_balance(), 0);
  return result;
}

static void test_same(void **state)
{
  (void)state;
  struct captured r = compare(&plain, NULL);
  assert_int_equal(r.code, 0);
  assert_non_null(strstr(r.out, "bit for bit: 100 particles"));
  struct sample shuffled = plain;
  shuffled.stride = 37;
  r = compare(&shuffled, NULL);
  assert_int_equal(r.code, 0);
}

static void test_different(void **state)
{
  (void)state;
  struct sample other = plain;
  other.stride = 37;
  other.shift = 1e-9;
  struct captured r = compare(&other, NULL);
  assert_int_equal(r.code, 1);
  assert_non_null(
      strstr(r.out, "velocity: 1 of 300 values differ, by at most 1e-09 (relative 1e-09) at id 40"));
  assert_null(strstr(r.out, "position"));
  assert_int_equal(compare(&other, (char *)"1e-8").code, 0);
  assert_int_equal(compare(&other, (char *)"1e-10").code, 1);
  other.shift = NAN;
  assert_int_equal(compare(&other, (char *)"1e-3").code, 1);
  other = plain;
  other.negative_zero = true;
  r = compare(&other, NULL);
  assert_int_equal(r.code, 1);
  assert_non_null(strstr(r.out, "velocity: 1 of 300 values differ, by at most 0"));
  assert_int_equal(compare(&other, (char *)"0").code, 0);
  other = plain;
  other.time = 0.75;
  assert_int_equal(compare(&other, NULL).code, 1);
  assert_int_equal(compare(&other, (char *)"0.1").code, 1);
}

static void test_other_contents(void **state)
{
  (void)state;
  struct sample other = plain;
  other.count = 90;
  struct captured r = compare(&other, (char *)"1");
  assert_int_equal(r.code, 1);
  assert_non_null(strstr(r.out, "90 in both, 10 only in"));
  other = plain;
  other.has_mass = false;
  r = compare(&other, (char *)"1");
  assert_int_equal(r.code, 1);
  assert_non_null(strstr(r.out, "mass is only in"));
  other = plain;
  other.narrow = true;
  r = compare(&other, NULL);
  assert_int_equal(r.code, 1);
  assert_non_null(strstr(r.out, "position: f64 against f32"));
  assert_int_equal(compare(&other, (char *)"1e-7").code, 0);
}

static void test_trouble(void **state)
{
  (void)state;
  struct sample other = plain;
  other.repeated_id = true;
  struct captured r = compare(&other, NULL);
  assert_int_equal(r.code, 2);
  assert_non_null(strstr(r.err, "firn: "));
  assert_non_null(strstr(r.err, "occurs more than once"));
  other = plain;
  other.has_ids = false;
  assert_int_equal(compare(&other, NULL).code, 2);
  assert_int_equal(compare(&plain, (char *)"-1").code, 2);
  assert_int_equal(compare(&plain, (char *)"much").code, 2);
  char *argv[] = {(char *)"diff", (char *)"no such file", (char *)"nor this", NULL};
  capture(&r, cmd_diff, 3, argv);
  assert_int_equal(r.code, 2);
  assert_string_equal(r.err, "firn: cannot open no such file: No such file or directory\n");
  capture(&r, cmd_diff, 2, argv);
  assert_int_equal(r.code, 2);
}

static void test_folders(void **state)
{
  (void)state;
  struct captured r;
  char *left = file_join(folder, "left"), *right = file_join(folder, "right/frames"),
       *above = file_join(folder, "right");
  assert_true(file_make_folder(left, NULL) == FIRN_OK && file_make_folder(right, NULL) == FIRN_OK);
  char *files[4] = {file_join(left, "frame_000009.h5"), file_join(right, "frame_000009.h5"),
                    file_join(left, "frame_1000000.h5"), file_join(right, "frame_1000000.h5")};
  for (int k = 0; k < 4; k++) write_sample(&plain, files[k]);
  char *argv[] = {(char *)"diff", left, above, NULL};
  capture(&r, cmd_diff, 3, argv);
  assert_int_equal(r.code, 0);
  unlink(files[1]);
  capture(&r, cmd_diff, 3, argv);
  assert_int_equal(r.code, 1);
  assert_non_null(strstr(r.out, "frame_000009.h5 is only in"));
  for (int k = 0; k < 4; k++) unlink(files[k]);
  capture(&r, cmd_diff, 3, argv);
  assert_int_equal(r.code, 2);
  assert_non_null(strstr(r.err, "has no frames"));
  rmdir(left);
  rmdir(right);
  rmdir(above);
  for (int k = 0; k < 4; k++) mem_free(files[k]);
  mem_free(left);
  mem_free(right);
  mem_free(above);
  assert_int_equal(mem_balance(), 0);
}

static int make_folder(void **state)
{
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
  (void)state;
  char *a = file_join(folder, "a.h5"), *b = file_join(folder, "b.h5");
  unlink(a);
  unlink(b);
  mem_free(a);
  mem_free(b);
  return rmdir(folder);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same),    cmocka_unit_test(test_different), cmocka_unit_test(test_other_contents),
      cmocka_unit_test(test_trouble), cmocka_unit_test(test_folders),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
