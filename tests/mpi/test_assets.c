/* Files that shapes are made of, on any number of ranks: the distance grid of a mesh has the bits that one
 * process makes, from the cache too; all ranks see keys and heights alike; what is broken is the same error
 * everywhere. */
#include "base/log.h"
#include "decomposition/shared.h"
#include "io/file.h"
#include "io/scene.h"
#include "levelset/heights.h"
#include "levelset/sdf.h"
#include "support/check.h"
#include "support/solids.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct comm world;
static char folder[256];

static char *in_folder(const char *name)
{
  return file_join(folder, name);
}

static void write_text(const char *name, const char *text)
{
  char *path = in_folder(name);
  if (world.rank == 0) CHECK(file_write(path, text, strlen(text), NULL) == FIRN_OK);
  mem_free(path);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void write_obj(const char *name, const struct mesh *mesh)
{
  char *path = in_folder(name);
  FILE *file = fopen(path, "w");
  CHECK(file);
  for (int64_t v = 0; v < mesh->vertex_count; v++)
    fprintf(file, "v %.17g %.17g %.17g\n", mesh->vertex[v][0], mesh->vertex[v][1], mesh->vertex[v][2]);
  for (int64_t t = 0; t < mesh->triangle_count; t++)
    fprintf(file, "f %d %d %d\n", mesh->triangle[t][0] + 1, mesh->triangle[t][1] + 1,
            mesh->triangle[t][2] + 1);
  fclose(file);
  mem_free(path);
}

static void write_png(const char *name, uint32_t format)
{
  char *path = in_folder(name);
  uint8_t pixels[9 * 7 * 3];
  for (int k = 0; k < 9 * 7 * 3; k++) pixels[k] = (uint8_t)(k * 4 % 256);
  png_image image = {.version = PNG_IMAGE_VERSION, .width = 9, .height = 7, .format = format};
  CHECK(png_image_write_to_file(&image, path, 0, pixels, 0, NULL));
  mem_free(path);
}

static void make_files(void)
{
  if (world.rank == 0) {
    struct mesh *mesh = solid_mesh(SOLID_TORUS, 24);
    solid_damage(mesh, 0.05, false, 3);
    write_obj("torus.obj", mesh);
    mesh_destroy(&mesh);
    write_png("heights.png", PNG_FORMAT_GRAY);
    write_png("colour.png", PNG_FORMAT_RGB);
  }
  write_text("empty.obj", "");
  write_text("flat.obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n");
  write_text("sheet.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
  write_text("nan.obj", "v 0 0 0\nv 1 nan 0\nv 2 0 0\nf 1 2 3\n");
  write_text("noise.h5", "this is no HDF5 file");
}

#define SCENE                                                                                                \
  "domain: {lower: [-2, -2, -2], cells: [40, 40, 40], spacing: 0.1}\ntime: {end: 1}\n"                       \
  "snow: [{sphere: {center: [0, 1.5, 0], radius: 0.3}}]\nbodies:\n"

static int load(const char *bodies, const struct comm *comm, struct scene **scene, struct error *err)
{
  char text[4096], *path = in_folder("scene.yml");
  snprintf(text, sizeof text, SCENE "%s", bodies);
  int code = scene_parse(scene, path, text, NULL, 0, err);
  mem_free(path);
  CHECK_TEXT(code == FIRN_OK, err->text);
  code = scene_load(*scene, comm, err);
  if (code) scene_destroy(scene);
  return code;
}

static const char good[] =
    "  ring: {mesh: {file: torus.obj, spacing: 0.02, position: [0.1, 0.2, 0.3]}, spin: [0, 1, 0]}\n"
    "  same: {mesh: {file: torus.obj, spacing: 0.02}}\n"
    "  part: {difference: [{mesh: {file: torus.obj, scale: 2, spacing: 0.1}}, {sphere: {center: [1, 0, 0], "
    "radius: 0.2}}]}\n"
    "  land: {heightfield: {center: [0, -1, 0], size: [2, 0.5, 2], file: heights.png, height: 0.4}}\n";

/* Distances at some points, of all bodies. */
static void sample(const struct scene *scene, double out[4][50])
{
  for (int b = 0; b < 4; b++)
    for (uint64_t i = 0; i < 50; i++) {
      double x[3];
      for (uint64_t d = 0; d < 3; d++) x[d] = 2.0 * rng_uniform(4, i, d) - 1.0;
      out[b][i] = shape_distance(&scene->bodies[b].shape, x, NULL);
    }
}

/* This process alone, without a cache. */
static void sample_alone(double out[4][50])
{
  struct scene *scene = NULL;
  struct error err = {0};
  setenv("FIRN_CACHE", "", 1);
  CHECK_TEXT(load(good, NULL, &scene, &err) == FIRN_OK, err.text);
  sample(scene, out);
  scene_destroy(&scene);
}

static void grids_have_the_same_bits(void)
{
  double alone[4][50], together[4][50];
  char *cache = in_folder("cache");
  sample_alone(alone);
  setenv("FIRN_CACHE", cache, 1);
  for (int round = 0; round < 2; round++) { /* made, then from the cache */
    struct scene *scene = NULL;
    struct error err = {0};
    CHECK_TEXT(load(good, &world, &scene, &err) == FIRN_OK, err.text);
    sample(scene, together);
    CHECK(memcmp(alone, together, sizeof alone) == 0);
    CHECK(scene->bodies[0].shape.sdf == scene->bodies[1].shape.sdf); /* read once */
    CHECK(fabs(scene->bodies[0].shape.center[1] - 0.2) < 0.03);
    scene_destroy(&scene);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) { /* a damaged cache is made again */
    struct file_list *list = NULL;
    CHECK(file_list_create(&list, cache, "mesh-", ".sdf", NULL) == FIRN_OK && list->count == 2);
    for (int k = 0; k < list->count; k++) {
      char *path = file_join(cache, list->names[k]);
      FILE *file = fopen(path, "r+b");
      CHECK(file && fseek(file, 400, SEEK_SET) == 0 && fputc('x', file) == 'x');
      fclose(file);
      mem_free(path);
    }
    file_list_destroy(&list);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  struct scene *scene = NULL;
  struct error err = {0};
  CHECK_TEXT(load(good, &world, &scene, &err) == FIRN_OK, err.text);
  sample(scene, together);
  CHECK(memcmp(alone, together, sizeof alone) == 0);
  scene_destroy(&scene);
  mem_free(cache);
}

static void broken_files_are_the_same_error(void)
{
  static const struct {
    const char *body, *why;
  } cases[] = {
      {"  a: {mesh: {file: missing.obj}}\n", "missing.obj: No such file"},
      {"  a: {mesh: {file: empty.obj}}\n", "no triangles"},
      {"  a: {mesh: {file: flat.obj}}\n", "no area"},
      {"  a: {mesh: {file: sheet.obj}}\n", "nothing is inside"},
      {"  a: {mesh: {file: nan.obj}}\n", "nan.obj:2: a coordinate is not finite"},
      {"  a: {mesh: {file: torus.obj, spacing: 1e-9}}\n", "too large"},
      {"  a: {mesh: {file: .}}\n", "is a folder"},
      {"  a: {mesh: {file: heights.png}}\n", "of no known kind"},
      {"  a: {heightfield: {center: [0,0,0], size: [1,1,1], height: 1, file: colour.png}}\n", "in colour"},
      {"  a: {heightfield: {center: [0,0,0], size: [1,1,1], height: 1, file: torus.obj}}\n", "not a PNG"},
      {"  a: {levelset: {file: noise.h5}}\n", "not an HDF5 file"},
      {"  a: {levelset: {file: missing.h5}}\n", "No such file"},
      {"  a: {union: [{sphere: {center: [0,0,0], radius: 1}}, {mesh: {file: empty.obj}}]}\n",
       "scene.yml:5: bodies.a"},
      {"  a: {difference: [{plane: {point: [0,0,0], normal: [0,1,0]}}, {mesh: {file: torus.obj}}], spin: "
       "[0,1,0]}\n",
       "has no end"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    struct scene *scene = NULL;
    struct error err = {0};
    CHECK_TEXT(load(cases[k].body, &world, &scene, &err) != FIRN_OK, cases[k].body);
    CHECK(scene == NULL);
    CHECK_TEXT(strstr(err.text, cases[k].why) != NULL, err.text);
    CHECK(strpbrk(err.text, "\n\r") == NULL);
  }
}

/* Parts that all ranks fill come together, whatever the number of units. */
static void blocks_are_shared(void)
{
  for (int64_t units = 1; units < 40; units += 7) {
    struct shared *s = shared_create(&world, (size_t)units * 24);
    int64_t from, to;
    shared_part(s, units, &from, &to);
    int64_t *values = s->bytes;
    for (int64_t k = 3 * from; k < 3 * to; k++) values[k] = k * k;
    shared_gather(s, units, 24);
    for (int64_t k = 0; k < 3 * units; k++) CHECK(values[k] == k * k);
    shared_settle(s);
    if (world.rank == 0) memset(s->bytes, 7, s->size);
    shared_broadcast(s);
    for (size_t k = 0; k < s->size; k++) CHECK(((char *)s->bytes)[k] == 7);
    shared_destroy(&s);
  }
}

static void remove_files(void)
{
  static const char *const names[] = {"torus.obj", "heights.png", "colour.png", "empty.obj",
                                      "flat.obj",  "sheet.obj",   "nan.obj",    "noise.h5"};
  struct file_list *list = NULL;
  char *cache = in_folder("cache");
  if (file_list_create(&list, cache, "", "", NULL) == FIRN_OK)
    for (int k = 0; k < list->count; k++) {
      char *path = file_join(cache, list->names[k]);
      unlink(path);
      mem_free(path);
    }
  file_list_destroy(&list);
  rmdir(cache);
  mem_free(cache);
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    char *path = in_folder(names[k]);
    unlink(path);
    mem_free(path);
  }
  rmdir(folder);
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  comm_create(&world, MPI_COMM_WORLD);
  log_configure(LOG_WARN, world.rank, comm_abort);
  if (world.rank == 0) {
    snprintf(folder, sizeof folder, "/tmp/firn_assets_XXXXXX");
    CHECK(mkdtemp(folder));
  }
  MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
  make_files();
  blocks_are_shared();
  grids_have_the_same_bits();
  broken_files_are_the_same_error();
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) remove_files();
  comm_destroy(&world);
  return check_end();
}
