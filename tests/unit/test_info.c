/* firn info on a file made here. The commands are not part of libfirn, so the source is included. */
#include "commands/cmd_info.c"

#include "support/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char path[] = "test_info_XXXXXX.h5";

static void put(hid_t group, const char *name, const char *unit, hid_t type, int columns, const void *data)
{
  const hsize_t dims[2] = {2, (hsize_t)columns};
  const hid_t space = H5Screate_simple(columns > 1 ? 2 : 1, dims, NULL);
  const hid_t set = H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  assert_true(hdf5_put_text(set, "unit", unit));
  H5Dclose(set);
  H5Sclose(space);
}

static int make_file(void **state)
{
  (void)state;
  const int fd = mkstemps(path, 3);
  if (fd < 0) return -1;
  close(fd);
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t group = H5Gcreate2(file, "particles", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  put(group, "id", "1", H5T_NATIVE_UINT64, 1, (uint64_t[]){3, UINT64_MAX});
  put(group, "position", "m", H5T_NATIVE_DOUBLE, 3, (double[]){-1, 2, 3, 4, 0.5, 6});
  put(group, "mass", "kg", H5T_NATIVE_FLOAT, 1, (float[]){0.5f, 1.0f});
  put(group, "JP", "1", H5T_NATIVE_DOUBLE, 1, (double[]){1.0, NAN});
  assert_true(hdf5_put_f64(file, "time", 0.25) && hdf5_put_text(file, "scene_name", "ball"));
  assert_true(hdf5_put_text(file, "scene", "a: 1\nb: 2\n"));
  H5Gclose(group);
  H5Fclose(file);
  return 0;
}

static int remove_file(void **state)
{
  (void)state;
  return unlink(path);
}

static bool has_line(const char *text, const char *start, const char *rest)
{
  const char *at = strstr(text, start);
  const char *end = at ? strchr(at + 1, '\n') : NULL;
  const char *found = at ? strstr(at, rest) : NULL;
  return found && found < end;
}

static void test_page(void **state)
{
  (void)state;
  struct captured r;
  char *argv[] = {(char *)"info", path, NULL};
  capture(&r, cmd_info, 2, argv);
  assert_int_equal(r.code, 0);
  assert_string_equal(r.err, "");
  assert_true(has_line(r.out, "\n  time ", "0.25") && has_line(r.out, "\n  scene_name ", "ball"));
  assert_true(has_line(r.out, "\n  scene  ", "(10 bytes)"));
  assert_true(has_line(r.out, "\n  particles ", "2") && has_line(r.out, "\n  total mass ", "1.5 kg"));
  assert_true(has_line(r.out, "\n  x ", "-1 to 4 m") && has_line(r.out, "\n  y ", "0.5 to 2 m"));
  assert_true(has_line(r.out, "\n  id ", "u64") && has_line(r.out, "\n  id ", "18446744073709551615"));
  assert_true(has_line(r.out, "\n  position ", "f64 x 3") && has_line(r.out, "\n  mass ", "f32"));
  assert_true(has_line(r.out, "\n  JP ", "1 values are not finite"));
  assert_int_equal(mem_balance(), 0);
}

static void test_scene(void **state)
{
  (void)state;
  struct captured r;
  char *argv[] = {(char *)"info", (char *)"--scene", path, NULL};
  capture(&r, cmd_info, 3, argv);
  assert_int_equal(r.code, 0);
  assert_string_equal(r.out, "a: 1\nb: 2\n");
  argv[1] = (char *)"--resolved";
  capture(&r, cmd_info, 3, argv);
  assert_int_equal(r.code, 1);
  assert_non_null(strstr(r.err, "does not hold its scene"));
  assert_int_equal(mem_balance(), 0);
}

static void test_mistakes(void **state)
{
  (void)state;
  struct captured r;
  char *nothing[] = {(char *)"info", NULL}, *folder[] = {(char *)"info", (char *)".", NULL};
  char *option[] = {(char *)"info", (char *)"--strange", path, NULL},
       *help[] = {(char *)"info", (char *)"--help", NULL};
  capture(&r, cmd_info, 1, nothing);
  assert_true(r.code == 1 && strncmp(r.err, "firn: ", 6) == 0 && !*r.out);
  capture(&r, cmd_info, 2, folder);
  assert_true(r.code == 1 && strstr(r.err, "is a folder"));
  capture(&r, cmd_info, 3, option);
  assert_int_equal(r.code, 1);
  capture(&r, cmd_info, 2, help);
  assert_true(r.code == 0 && strncmp(r.out, "usage: firn info", 16) == 0);
  assert_int_equal(mem_balance(), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_page),
      cmocka_unit_test(test_scene),
      cmocka_unit_test(test_mistakes),
  };
  return cmocka_run_group_tests(tests, make_file, remove_file);
}
