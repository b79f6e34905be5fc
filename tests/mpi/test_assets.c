/* Files that shapes are made of, on any number of ranks: the distance grid of a mesh has the bits that one
 * process makes, from the cache too; all ranks see keys and heights alike; what is broken is the same error
 * everywhere. */
#include "base/log.h"
#include "decomposition/node_block.h"
#include "io/assets/font.h"
#include "io/assets/levelset_file.h"
#include "io/file.h"
#include "io/scene/scene.h"
#include "io/scene/scene_files.h"
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
  if (world.rank == 0) CHECK(file_write(path, 0, text, strlen(text), NULL) == FIRN_OK);
  mem_free(path);
  check_barrier(MPI_COMM_WORLD);
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
    mesh = solid_mesh(SOLID_TORUS, 24);
    solid_damage(mesh, 0.3, true, 5);
    write_obj("turned.obj", mesh);
    mesh_destroy(&mesh);
    mesh = solid_mesh(SOLID_TORUS, 24);
    solid_damage(mesh, 0.25, false, 6);
    write_obj("holed.obj", mesh);
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
  check_barrier(MPI_COMM_WORLD);
  if (world.rank == 0) { /* a damaged cache is made again */
    struct file_list *list = NULL;
    CHECK(file_list_create(&list, cache, "mesh-", ".sdf", NULL) == FIRN_OK && list->count == 2);
    for (int k = 0; k < list->count; k++) {
      char *path = file_join(cache, list->names[k]);
      FILE *file = fopen(path, "r+b");
      /* a sample of one, the corner in the header of the other */
      CHECK(file && fseek(file, k ? 100 : 400, SEEK_SET) == 0 && fputc('x', file) == 'x');
      fclose(file);
      mem_free(path);
    }
    file_list_destroy(&list);
  }
  check_barrier(MPI_COMM_WORLD);
  struct scene *scene = NULL;
  struct error err = {0};
  CHECK_TEXT(load(good, &world, &scene, &err) == FIRN_OK, err.text);
  sample(scene, together);
  CHECK(memcmp(alone, together, sizeof alone) == 0);
  scene_destroy(&scene);
  mem_free(cache);
}

/* A torus with triangles missing, one with triangles turned over, one of twice the size: against the exact
 * distance, and no jump from inside to outside where a hole was. */
static void grids_are_right(void)
{
  static const char bodies[] = "  holed: {mesh: {file: holed.obj, spacing: 0.02}}\n"
                               "  turned: {mesh: {file: turned.obj, spacing: 0.02}}\n"
                               "  large: {mesh: {file: torus.obj, spacing: 0.04, scale: 2}}\n";
  struct scene *scene = NULL;
  struct error err = {0};
  double worst[3][3] = {{0.0}};
  CHECK_TEXT(load(bodies, &world, &scene, &err) == FIRN_OK, err.text);
  for (int b = 0; b < 3; b++)
    for (uint64_t i = 0; i < 4000; i++) {
      const struct shape *shape = &scene->bodies[b].shape;
      const double scale = b == 2 ? 2.0 : 1.0;
      double x[3], y[3], small[3];
      for (uint64_t d = 0; d < 3; d++) {
        small[d] = 1.3 * rng_uniform(8, i, d) - 0.65;
        x[d] = scale * small[d];
        y[d] = x[d] + 0.02 * scale * (rng_uniform(8, i, 3 + d) - 0.5);
      }
      const double exact = scale * solid_distance(SOLID_TORUS, small), found = shape_distance(shape, x, NULL);
      if (fabs(exact) < 0.05 * scale) worst[b][0] = fmax(worst[b][0], fabs(found - exact) / scale);
      if ((found < 0.0) != (exact < 0.0)) worst[b][1] = fmax(worst[b][1], fabs(exact) / scale);
      worst[b][2] = fmax(worst[b][2], fabs(found - shape_distance(shape, y, NULL)) / scale);
    }
  for (int b = 0; b < 3; b++) { /* a quarter of the first one's triangles is missing */
    if (world.rank == 0)
      printf("%s: off by %.3f m, wrong side %.3f m from the surface, steps of %.3f m\n",
             scene->bodies[b].name, worst[b][0], worst[b][1], worst[b][2]);
    CHECK(worst[b][0] < (b == 0 ? 0.033 : 0.01) && worst[b][1] < (b == 0 ? 0.03 : 0.01) &&
          worst[b][2] < 0.02);
  }
  scene_destroy(&scene);
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
    struct node_block *s = node_block_create(&world, (size_t)units * 24);
    int64_t from, to;
    node_block_part(s, units, &from, &to);
    int64_t *values = s->bytes;
    for (int64_t k = 3 * from; k < 3 * to; k++) values[k] = k * k;
    node_block_gather(s, units, 24);
    for (int64_t k = 0; k < 3 * units; k++) CHECK(values[k] == k * k);
    node_block_settle(s);
    if (world.rank == 0) memset(s->bytes, 7, s->size);
    node_block_broadcast(s);
    for (size_t k = 0; k < s->size; k++) CHECK(((char *)s->bytes)[k] == 7);
    node_block_destroy(&s);
  }
}

static void write_keys(const char *name)
{
  enum { N = 4 };
  float phi[N * N * N], velocity[3 * N * N * N] = {0.0f};
  for (int k = 0; k < N * N * N; k++) phi[k] = k % N == 1 ? -0.1f : 0.1f;
  const struct sdf key = {
      .n = {N, N, N}, .lower = {-0.5, -0.5, -0.5}, .spacing = 0.25, .phi = phi, .velocity = velocity};
  struct levelset_writer writer;
  struct error err = {0};
  char *path = in_folder(name);
  CHECK_TEXT(levelset_writer_open(&writer, path, 0.25, &err) == FIRN_OK, err.text);
  CHECK_TEXT(levelset_writer_add(&writer, 0.0, &key, &err) == FIRN_OK, err.text);
  CHECK_TEXT(levelset_writer_close(&writer, true, &err) == FIRN_OK, err.text);
  mem_free(path);
}

static void write_font(const char *name)
{
  struct error err = {0};
  char *from = NULL, *bytes = NULL, *to = in_folder(name);
  size_t size = 0;
  CHECK_TEXT(font_find(&from, "DejaVuSans-Bold", &err) == FIRN_OK, err.text);
  CHECK_TEXT(file_read(from, 1 << 26, &bytes, &size, &err) == FIRN_OK, err.text);
  CHECK_TEXT(file_write(to, 0, bytes, size, &err) == FIRN_OK, err.text);
  mem_free(bytes);
  mem_free(from);
  mem_free(to);
}

static void count_change(const char *name, void *context)
{
  char *names = context;
  CHECK(strlen(names) + strlen(name) < 200);
  strcat(names, name);
}

/* Every kind of file is part of what a scene is: a byte more, that no reader minds, is another scene. */
static void contents_are_part_of_the_scene(void)
{
  static const char all[] =
      "  ring: {mesh: {file: torus.obj, spacing: 0.1}}\n"
      "  part: {union: [{sphere: {center: [1, 0, 0], radius: 0.2}}, {mesh: {file: torus.obj, spacing: "
      "0.2}}]}\n"
      "  land: {heightfield: {center: [0, -1, 0], size: [2, 0.5, 2], file: heights.png, height: 0.4}}\n"
      "  cat: {levelset: {file: keys.h5}}\n"
      "  word: {text: {says: Firn, font: font.ttf, center: [0, 0, 0], height: 0.5, depth: 0.1}}\n";
  static const char *const names[] = {"torus.obj", "heights.png", "keys.h5", "font.ttf"};
  struct error err = {0};
  struct scene *before = NULL, *after = NULL;
  if (world.rank == 0) {
    write_keys("keys.h5");
    write_font("font.ttf");
  }
  check_barrier(MPI_COMM_WORLD);
  CHECK_TEXT(load(all, &world, &before, &err) == FIRN_OK, err.text);
  CHECK_TEXT(load(all, NULL, &after, &err) == FIRN_OK, err.text); /* any number of processes says the same */
  CHECK(before->hash == after->hash && before->files && strcmp(before->files, after->files) == 0);
  scene_destroy(&after);
  int lines = 0;
  for (const char *c = before->files; *c; c++) lines += *c == '\n';
  CHECK_TEXT(lines == 4, before->files);
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    char *path = in_folder(names[k]), changed[200] = "";
    check_barrier(MPI_COMM_WORLD);
    FILE *file = world.rank == 0 ? fopen(path, "ab") : NULL;
    if (world.rank == 0) CHECK(file && fputc('\n', file) == '\n' && fclose(file) == 0);
    check_barrier(MPI_COMM_WORLD);
    CHECK_TEXT(load(all, &world, &after, &err) == FIRN_OK, err.text);
    CHECK(scene_compare_files(before->files, after->files, count_change, changed) == 1);
    CHECK_TEXT(strcmp(changed, names[k]) == 0, changed);
    CHECK(before->hash != after->hash && strcmp(before->resolved, after->resolved) == 0);
    scene_destroy(&before);
    before = after;
    mem_free(path);
  }
  scene_destroy(&before);
}

static void remove_files(void)
{
  static const char *const names[] = {"torus.obj",  "turned.obj", "holed.obj", "heights.png",
                                      "colour.png", "empty.obj",  "flat.obj",  "sheet.obj",
                                      "nan.obj",    "noise.h5",   "keys.h5",   "font.ttf"};
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
  grids_are_right();
  broken_files_are_the_same_error();
  contents_are_part_of_the_scene();
  check_barrier(MPI_COMM_WORLD);
  if (world.rank == 0) remove_files();
  comm_destroy(&world);
  return check_end();
}
