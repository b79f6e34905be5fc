/* Exports are read back here byte by byte: header, order and every value. Of an archive also its sums. */
#include "base/memory.h"
#include "io/particles/export.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

enum { COUNT = 5, FIELDS = 4 };

static float position[3 * COUNT];
static double deformation[9 * COUNT];
static uint32_t material[COUNT];
static uint64_t id[COUNT];

static struct export_field fields[FIELDS] = {{"position", 3, EXPORT_F32, position},
                                             {"id", 1, EXPORT_U64, id},
                                             {"material", 1, EXPORT_U32, material},
                                             {"fe", 9, EXPORT_F64, deformation}};
static const struct export_data data = {COUNT, 0.25, FIELDS, fields};

static int fill(void **unused)
{
  (void)unused;
  for (int i = 0; i < COUNT; i++) {
    for (int d = 0; d < 3; d++) position[3 * i + d] = (float)(i + 0.1 * d);
    for (int k = 0; k < 9; k++) deformation[9 * i + k] = i / 3.0 + k;
    material[i] = (uint32_t)i % 2;
    id[i] = (1ull << 40) + (unsigned long long)i;
  }
  return 0;
}

/* What a writer writes, with a zero behind it; for mem_free(). */
static char *written(void (*writer)(FILE *, const struct export_data *), size_t *size)
{
  FILE *file = tmpfile();
  assert_non_null(file);
  writer(file, &data);
  *size = (size_t)ftell(file);
  char *bytes = mem_alloc(*size + 1, 1);
  rewind(file);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  fclose(file);
  return bytes;
}

static void test_ply(void **unused)
{
  (void)unused;
  size_t size;
  char *bytes = written(export_ply, &size);
  const char *const head =
      "ply\nformat binary_little_endian 1.0\ncomment firn, time 0.25 s\nelement vertex 5\n"
      "property float x\nproperty float y\nproperty float z\nproperty double id\n"
      "property uint material\nproperty double fe_0\n";
  assert_memory_equal(bytes, head, strlen(head));
  const char *at = strstr(bytes, "end_header\n") + strlen("end_header\n");
  for (int i = 0; i < COUNT; i++) {
    double number;
    assert_memory_equal(at, &position[3 * i], 12);
    memcpy(&number, at + 12, 8);
    assert_true(number == (double)id[i]);
    assert_memory_equal(at + 20, &material[i], 4);
    assert_memory_equal(at + 24, &deformation[9 * i], 72);
    at += 96;
  }
  assert_int_equal(at - bytes, size);
  mem_free(bytes);
}

static void test_csv(void **unused)
{
  (void)unused;
  size_t size;
  char *bytes = written(export_csv, &size), *save = NULL;
  char *line = strtok_r(bytes, "\n", &save);
  assert_string_equal(line, "x,y,z,id,material,fe_0,fe_1,fe_2,fe_3,fe_4,fe_5,fe_6,fe_7,fe_8");
  for (int i = 0; i < COUNT; i++) {
    char *at = strtok_r(NULL, "\n", &save);
    for (int d = 0; d < 3; d++, at++) assert_true((float)strtod(at, &at) == position[3 * i + d]);
    assert_true(strtoull(at, &at, 10) == id[i]);
    assert_true(strtoul(at + 1, &at, 10) == material[i]);
    for (int k = 0; k < 9; k++) assert_true(strtod(at + 1, &at) == deformation[9 * i + k]);
    assert_int_equal(*at, '\0');
  }
  assert_null(strtok_r(NULL, "\n", &save));
  mem_free(bytes);
}

/* An array of VTK's appended part, by the offset that its element names. */
static void check_vtk_array(const char *bytes, const char *name, const void *rows, uint64_t expected)
{
  char tag[96];
  uint64_t size;
  snprintf(tag, sizeof tag, "Name=\"%s\"", name);
  const char *element = strstr(bytes, tag);
  assert_non_null(element);
  const char *at = strstr(bytes, "<AppendedData encoding=\"raw\">\n_") +
                   strlen("<AppendedData encoding=\"raw\">\n_") +
                   strtoull(strstr(element, "offset=\"") + 8, NULL, 10);
  memcpy(&size, at, sizeof size);
  assert_true(size == expected);
  assert_memory_equal(at + sizeof size, rows, expected);
}

static void test_vtp(void **unused)
{
  (void)unused;
  size_t size;
  const int64_t cells[COUNT] = {0, 1, 2, 3, 4}, ends[COUNT] = {1, 2, 3, 4, 5};
  char *bytes = written(export_vtp, &size);
  assert_non_null(strstr(bytes, "NumberOfPoints=\"5\" NumberOfVerts=\"5\""));
  check_vtk_array(bytes, "position", position, sizeof position);
  check_vtk_array(bytes, "connectivity", cells, sizeof cells);
  check_vtk_array(bytes, "offsets", ends, sizeof ends);
  check_vtk_array(bytes, "id", id, sizeof id);
  check_vtk_array(bytes, "material", material, sizeof material);
  check_vtk_array(bytes, "fe", deformation, sizeof deformation);
  assert_string_equal(bytes + size - strlen("\n</AppendedData>\n</VTKFile>\n"),
                      "\n</AppendedData>\n</VTKFile>\n");
  mem_free(bytes);
}

static uint64_t number(const char *at, int bytes)
{
  uint64_t value = 0;
  memcpy(&value, at, (size_t)bytes);
  return value;
}

/* One file of the archive: its name, its sum, NumPy's header and the rows. Returns where the next begins. */
static const char *check_npy(const char *at, const char *name, const char *shape, const void *rows,
                             size_t size)
{
  const size_t letters = (size_t)number(at + 26, 2), extra = (size_t)number(at + 28, 2);
  assert_memory_equal(at, "PK\3\4", 4);
  assert_int_equal(letters, strlen(name));
  assert_memory_equal(at + 30, name, letters);
  const uint32_t sum = (uint32_t)number(at + 14, 4);
  const char *data_start = at + 30 + letters + extra;
  const size_t stored = (size_t)number(at + 30 + letters + 4, 8);
  assert_int_equal(sum, crc32(0, (const Bytef *)data_start, (uInt)stored));
  assert_memory_equal(data_start, "\x93NUMPY\x01\x00", 8);
  const size_t head = 10 + (size_t)number(data_start + 8, 2);
  assert_int_equal(head % 64, 0);
  assert_int_equal(stored, head + size);
  char text[256] = "";
  memcpy(text, data_start + 10, head - 10);
  assert_non_null(strstr(text, shape));
  assert_memory_equal(data_start + head, rows, size);
  return data_start + stored;
}

static void test_npz(void **unused)
{
  (void)unused;
  size_t size;
  char *bytes = written(export_npz, &size);
  const char *at = bytes;
  at = check_npy(at, "position.npy", "'<f4', 'fortran_order': False, 'shape': (5, 3)", position,
                 sizeof position);
  at = check_npy(at, "id.npy", "'<u8', 'fortran_order': False, 'shape': (5,)", id, sizeof id);
  at = check_npy(at, "material.npy", "'<u4', 'fortran_order': False, 'shape': (5,)", material,
                 sizeof material);
  at = check_npy(at, "fe.npy", "'<f8', 'fortran_order': False, 'shape': (5, 3, 3)", deformation,
                 sizeof deformation);
  mem_free(bytes);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ply), cmocka_unit_test(test_csv),
                                     cmocka_unit_test(test_vtp), cmocka_unit_test(test_npz)};
  return cmocka_run_group_tests(tests, fill, NULL);
}
