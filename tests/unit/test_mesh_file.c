/* OBJ, STL and PLY: the same tetrahedron in all their variants, and what must be refused. */
#include "base/memory.h"
#include "base/rng.h"
#include "io/assets/mesh_file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const float corner[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
static const int face[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};

static const char obj[] =
    "# a comment\r\nmtllib none.mtl\nv 0 0 0\nv 1 0 0 0.5 0.5 0.5\nv 0 1e0 0\nvn 0 0 1\n"
    "v 0 0 1\no name\nf 1 3 2\nf 1/1 2/2 4/4\nf 1//1 4//1 3//1\nf -3/1/1 -2/1/1 -1/1/1\n";
static const char ply[] =
    "ply\nformat ascii 1.0\ncomment made by hand\nelement vertex 4\nproperty float x\n"
    "property float y\nproperty uchar red\nproperty float z\nelement face 4\n"
    "property list uchar int vertex_indices\nproperty list uchar float other\nend_header\n"
    "0 0 7 0\n1 0 7 0\n0 1 7 0\n0 0 7 1\n3 0 2 1 0\n3 0 1 3 2 1.5 2\n3 0 3 2 0\n3 1 2 3 0\n";

struct buffer {
  char bytes[8192];
  size_t size;
};

static void put(struct buffer *b, const void *bytes, size_t size, bool swap)
{
  for (size_t k = 0; k < size; k++) b->bytes[b->size + k] = ((const char *)bytes)[swap ? size - 1 - k : k];
  b->size += size;
  b->bytes[b->size] = '\0';
}

static void make_binary_stl(struct buffer *b)
{
  const uint32_t count = 4;
  *b = (struct buffer){.size = 80};
  memcpy(b->bytes, "solid but binary", 16);
  put(b, &count, 4, false);
  for (int f = 0; f < 4; f++) {
    const float normal[3] = {0, 0, 0};
    put(b, normal, 12, false);
    for (int k = 0; k < 3; k++) put(b, corner[face[f][k]], 12, false);
    put(b, "\0\0", 2, false);
  }
}

static void make_text_stl(struct buffer *b)
{
  *b = (struct buffer){.size = 0};
  b->size += (size_t)sprintf(b->bytes, "solid thing\n");
  for (int f = 0; f < 4; f++) {
    b->size += (size_t)sprintf(b->bytes + b->size, " facet normal 0 0 0\n  outer loop\n");
    for (int k = 0; k < 3; k++) {
      const float *x = corner[face[f][k]];
      b->size += (size_t)sprintf(b->bytes + b->size, "   vertex %g %g %g\n", (double)x[0], (double)x[1],
                                 (double)x[2]);
    }
    b->size += (size_t)sprintf(b->bytes + b->size, "  endloop\n endfacet\n");
  }
  b->size += (size_t)sprintf(b->bytes + b->size, "endsolid thing\n");
}

static void make_binary_ply(struct buffer *b, bool big)
{
  *b = (struct buffer){.size = 0};
  b->size = (size_t)sprintf(
      b->bytes,
      "ply\nformat %s 1.0\nelement vertex 4\nproperty double x\nproperty double y\n"
      "property double z\nelement face 4\nproperty list uchar uint vertex_index\nend_header\n",
      big ? "binary_big_endian" : "binary_little_endian");
  for (int v = 0; v < 4; v++)
    for (int d = 0; d < 3; d++) {
      const double x = (double)corner[v][d];
      put(b, &x, 8, big);
    }
  for (int f = 0; f < 4; f++) {
    put(b, "\3", 1, false);
    for (int k = 0; k < 3; k++) put(b, &face[f][k], 4, big);
  }
}

static void check(const char *path, const char *bytes, size_t size)
{
  struct mesh *mesh = NULL;
  struct error err = {0};
  if (mesh_file_parse(&mesh, path, bytes, size, 2.0, &err)) fail_msg("%s: %s", path, err.text);
  assert_int_equal(mesh->triangle_count, 4);
  for (int f = 0; f < 4; f++)
    for (int k = 0; k < 3; k++)
      for (int d = 0; d < 3; d++)
        assert_true(mesh->vertex[mesh->triangle[f][k]][d] == 2.0 * (double)corner[face[f][k]][d]);
  assert_int_equal(mesh_weld(mesh), 4);
  assert_int_equal(mesh_orient(mesh), 0);
  mesh_destroy(&mesh);
}

static void all_kinds(void **state)
{
  (void)state;
  struct buffer b;
  check("a.obj", obj, strlen(obj));
  check("a.PLY", ply, strlen(ply));
  make_binary_stl(&b);
  check("a.stl", b.bytes, b.size);
  make_text_stl(&b);
  check("a.stl", b.bytes, b.size);
  make_binary_ply(&b, false);
  check("a.ply", b.bytes, b.size);
  make_binary_ply(&b, true);
  check("a.ply", b.bytes, b.size);
  assert_int_equal(mem_balance(), 0);
}

static void polygons_become_fans(void **state)
{
  (void)state;
  static const char text[] = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0.5 2 0\nv 0 1 0\nf 1 2 3 4 5\n";
  struct mesh *mesh = NULL;
  assert_int_equal(mesh_file_parse(&mesh, "p.obj", text, strlen(text), 1.0, NULL), 0);
  assert_int_equal(mesh->triangle_count, 3);
  mesh_destroy(&mesh);
}

static void refuse(const char *path, const char *bytes, size_t size, const char *why)
{
  struct mesh *mesh = NULL;
  struct error err = {0};
  const int code = mesh_file_parse(&mesh, path, bytes, size, 1.0, &err);
  assert_int_not_equal(code, 0);
  assert_int_equal(code, err.code);
  assert_null(mesh);
  if (!strstr(err.text, why) || !strstr(err.text, path)) fail_msg("expected '%s', got: %s", why, err.text);
  assert_null(strpbrk(err.text, "\n\r"));
}

static void broken_files(void **state)
{
  (void)state;
  static const struct {
    const char *path, *text, *why;
  } cases[] = {
      {"a.obj", "", "no triangles"},
      {"a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\n", "no triangles"},
      {"a.obj", "v 0 0 0\nv nan 0 0\nv 0 1 0\nf 1 2 3\n", "a.obj:2: a coordinate is not finite"},
      {"a.obj", "v 0 0 0\nv 1e999 0 0\nv 0 1 0\nf 1 2 3\n", "not finite"},
      {"a.obj", "v 0 0 0\nv 1e30 0 0\nv 0 1 0\nf 1 2 3\n", "not a finite place"},
      {"a.obj", "v 0 0\nv 1 0 0\n", "a.obj:1: the file ends"},
      {"a.obj", "v 0 zero 0\n", "found 'zero'"},
      {"a.obj", "v 0 0 0\nf 1 2 3\n", "names vertex 1 of 1"},
      {"a.obj", "v 0 0 0\nf 0 1 1\n", "found '0'"},
      {"a.obj", "v 0 0 0\nf -2 1 1\n", "does not exist"},
      {"a.obj", "v 0 0 0\nf 1 1\n", "a face of 2 corners"},
      {"a.obj", "v 0 0 0\nf one two three\n", "found 'one'"},
      {"a.stl", "", "too short"},
      {"a.stl", "solid\nendsolid\n", "no triangles"},
      {"a.stl", "solid\nfacet\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendfacet\n", "cut short"},
      {"a.stl", "solid\nfacet\nvertex 0 0 0\nendfacet\nendsolid", "a facet of 1 vertices"},
      {"a.stl", "solid\nfacet\nvertex 0 0 inf\nendfacet\nendsolid", "not finite"},
      {"a.ply", "plyx\n", "does not begin"},
      {"a.ply", "ply\nformat ascii 1.0\n", "no end"},
      {"a.ply", "ply\nformat pdf 1.0\nend_header\n", "unknown format"},
      {"a.ply", "ply\nformat ascii 1.0\nelement vertex 99999999\nend_header\n", "more than the file"},
      {"a.ply", "ply\nformat ascii 1.0\nelement vertex -1\nend_header\n", "claims -1"},
      {"a.ply", "ply\nformat ascii 1.0\nproperty float x\nend_header\n", "out of place"},
      {"a.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n0\n", "x, y and z"},
      {"a.ply", "ply\nelement vertex 1\nend_header\n", "no format"},
      {"a.off", "OFF\n", "of no known kind"},
      {"mesh", "v 0 0 0\n", "of no known kind"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
    refuse(cases[k].path, cases[k].text, strlen(cases[k].text), cases[k].why);
  struct buffer b;
  make_binary_stl(&b);
  refuse("a.stl", b.bytes, b.size - 20, "cut short");
  b.bytes[0] = 'x';
  refuse("a.stl", b.bytes, b.size - 20, "4 triangles take 284 bytes");
  const float bad = NAN;
  memcpy(b.bytes + 96, &bad, 4);
  refuse("a.stl", b.bytes, b.size, "vertex 0 is not a finite place");
  make_binary_ply(&b, false);
  refuse("a.ply", b.bytes, b.size - 3, "cut short");
  assert_int_equal(mem_balance(), 0);
}

/* Cut anywhere, or with any byte changed: a mesh or an error, nothing else. */
static void truncated_and_flipped(void **state)
{
  (void)state;
  for (int kind = 0; kind < 5; kind++) {
    struct buffer b, c;
    const char *path = kind == 0 ? "a.obj" : kind < 3 ? "a.stl" : "a.ply";
    if (kind == 0) b = (struct buffer){.size = 0}, put(&b, obj, strlen(obj), false);
    if (kind == 1) make_binary_stl(&b);
    if (kind == 2) make_text_stl(&b);
    if (kind == 3) b = (struct buffer){.size = 0}, put(&b, ply, strlen(ply), false);
    if (kind == 4) make_binary_ply(&b, true);
    for (uint64_t k = 0; k < 3000; k++) {
      struct mesh *mesh = NULL;
      c = b;
      if (k % 2) c.size = (size_t)(rng_bits(1, k, 0) % (b.size + 1));
      c.bytes[rng_bits(1, k, 1) % b.size] = (char)rng_bits(1, k, 2);
      c.bytes[c.size] = '\0';
      mesh_file_parse(&mesh, path, c.bytes, c.size, 1.0, NULL);
      mesh_destroy(&mesh);
    }
  }
  assert_int_equal(mem_balance(), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_kinds),
      cmocka_unit_test(polygons_become_fans),
      cmocka_unit_test(broken_files),
      cmocka_unit_test(truncated_and_flipped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
