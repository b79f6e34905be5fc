/* Seeding: the same particles on any number of ranks, spread as the scene says, of exactly the mass that
 * density and volume give. What the ranks make together is compared with what one rank makes alone. */
#include "base/exactsum.h"
#include "base/log.h"
#include "base/vec.h"
#include "decomposition/comm.h"
#include "decomposition/reduce.h"
#include "io/particles/unique_ids.h"
#include "io/scene/scene.h"
#include "io/scene/window.h"
#include "seeding/seeding.h"
#include "support/check.h"

#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct comm world, self;

static struct scene *read_scene(const char *text)
{
  struct error err = {0};
  struct scene *scene = NULL;
  CHECK_TEXT(!scene_parse(&scene, "test.yml", text, NULL, 0, &err), err.text);
  return scene;
}

static struct particles *seed(const struct comm *comm, const struct scene *scene)
{
  struct error err = {0};
  struct particles *p =
      particles_create(NEEDS_STIFFNESS | NEEDS_MATERIAL | (scene->has_heat ? NEEDS_HEAT : NEEDS_NOTHING));
  CHECK_TEXT(!seed_snow(comm, scene, p, &err), err.text);
  return p;
}

static double total_mass(const struct comm *comm, const struct particles *p)
{
  struct exact_sum sum = {{0}};
  for (int32_t i = 0; i < p->count; i++) exact_add(&sum, p->mass[i]);
  reduce_exact(comm, &sum, 1);
  return exact_value(&sum);
}

/* Every particle of `some` is in `all`, with the same bits, and together they are as many. */
static void check_same(const struct particles *some, const struct particles *all)
{
  int64_t count = some->count;
  comm_sum_i64(&world, &count, 1);
  CHECK(count == all->count);
  unsigned char a[512], b[512];
  CHECK(particles_record_size(all) <= sizeof a);
  for (int32_t i = 0, k = 0; i < some->count; i++) {
    while (k < all->count && all->id[k] < some->id[i]) k++; /* both are sorted by id */
    CHECK(k < all->count);
    particles_pack(some, i, a);
    particles_pack(all, k, b);
    CHECK(memcmp(a, b, particles_record_size(all)) == 0);
  }
}

/* More threads make the same particles in the same order. */
static void check_with_threads(const struct scene *scene, const struct particles *all)
{
  struct comm many = self;
  for (many.threads = 2; many.threads < 4; many.threads++) {
    struct particles *p = seed(&many, scene);
    CHECK(p->count == all->count);
    for (struct particle_walk w = particle_walk(p); particle_next(&w);)
      CHECK(memcmp(w.array, particle_array(all, w.field, w.component),
                   (size_t)p->count * field_size(w.field->type)) == 0);
    particles_destroy(&p);
  }
}

/* By density, the particles of the first item are all points of its lattice that the shape itself contains:
 * cells that were not asked point by point have hidden none. */
static void check_one_by_one(const struct scene *scene, const struct particles *all)
{
  const struct snow_source *source = &scene->snow[0];
  if (source->count || source->sampling == SAMPLING_SEQUENCE) return;
  double lower[3], upper[3], x[3];
  struct sampling s;
  shape_bounds(&source->shape, lower, upper);
  sampling_create(&s, source->sampling, source->seed, scene->spacing, source->per_cell, scene->lower, lower,
                  upper, 0);
  int32_t i = 0;
  for (int64_t k = 0; k < sampling_count(&s); k++) {
    if (!sampling_point(&s, k, x) || !shape_contains(&source->shape, x)) continue;
    CHECK(i < all->count && all->x[0][i] == x[0] && all->x[1][i] == x[1] && all->x[2][i] == x[2]);
    i++;
  }
  CHECK(i == all->count);
  sampling_destroy(&s);
}

#define HEAD                                                                                                 \
  "domain: {lower: [-1, -1, -1], cells: [50, 50, 50], spacing: 0.04}\n"                                      \
  "time: {end: 1}\n"

/* All ways to spread particles, by number and by density. */
static void test_same_on_any_ranks(void)
{
  static const char *const samplings[] = {"sequence", "random", "jittered", "poisson"};
  static const char *const shapes[] = {
      "sphere: {center: [0.1, 0, 0], radius: 0.3}",
      "box: {center: [0, 0.1, 0], size: [0.4, 0.2, 0.6], rotate: {axis: [1, 2, 3], "
      "degrees: 40}}",
      "difference: [{sphere: {center: [0, 0, 0], radius: 0.5}}, {box: {center: [0, 0, "
      "0.3], size: [2, 0.5, 0.5]}}]"};
  for (int s = 0; s < 4; s++)
    for (int k = 0; k < (s < 3 ? 5 : 6); k++) { /* finding the last one's volume takes its time */
      char text[1024];
      snprintf(text, sizeof text,
               HEAD "snow:\n  - %s\n    sampling: %s\n    %s\n    velocity: [1, 2, 3]\n    spin: [0, 1, 0]\n",
               shapes[k % 3], samplings[s], k < 3 ? "particles: 3001" : "per_cell: 7.4");
      struct scene *scene = read_scene(text);
      struct particles *mine = seed(&world, scene), *all = seed(&self, scene);
      check_same(mine, all);
      check_with_threads(scene, all);
      check_one_by_one(scene, all);
      const double volume = shape_volume(&scene->snow[0].shape), mass = 400.0 * volume;
      CHECK(fabs(total_mass(&world, mine) / mass - 1.0) < 1e-12);
      const double expected = k < 3 ? 3001.0 : 7.4 * volume / (0.04 * 0.04 * 0.04);
      CHECK(k < 3 ? all->count == 3001 : fabs(all->count / expected - 1.0) < 0.03);
      for (int32_t i = 0; i < all->count; i++) {
        const double x[3] = {all->x[0][i], all->x[1][i], all->x[2][i]};
        CHECK(shape_distance(&scene->snow[0].shape, x, NULL) <= 0.0);
        CHECK(i == 0 || all->id[i] == all->id[i - 1] + 1);
      }
      particles_destroy(&mine);
      particles_destroy(&all);
      scene_destroy(&scene);
    }
}

/* Mass of the particles of one material. */
static double mass_of(const struct particles *p, uint32_t material)
{
  double sum = 0.0;
  for (int32_t i = 0; i < p->count; i++)
    if (p->material[i] == material) sum += p->mass[i];
  return sum;
}

static void test_shell_and_noise(void)
{
  struct scene *scene =
      read_scene(HEAD "materials: {inside: {density: 300}, outside: {density: 500}}\n"
                      "snow:\n"
                      "  - sphere: {center: [0, 0, 0], radius: 0.4}\n"
                      "    material: inside\n"
                      "    particles: 20000\n"
                      "    vary:\n"
                      "      shell: {thickness: 0.1, material: outside, stiffness_factor: 3, "
                      "density_factor: 1.5}\n"
                      "      noise: {scale: 0.1, stiffness: 2, density: 1.2, seed: 4}\n");
  struct particles *mine = seed(&world, scene), *all = seed(&self, scene);
  check_same(mine, all);
  check_with_threads(scene, all);
  const double ball = 4.0 / 3.0 * 3.14159265358979323846;
  const double inner = ball * 0.027, outer = ball * (0.064 - 0.027);
  CHECK(fabs(mass_of(all, 0) / (300.0 * inner) - 1.0) < 2e-4);
  CHECK(fabs(mass_of(all, 1) / (750.0 * outer) - 1.0) < 2e-4);
  double least = INFINITY, most = 0.0;
  for (int32_t i = 0; i < all->count; i++) {
    const double x[3] = {all->x[0][i], all->x[1][i], all->x[2][i]};
    CHECK((all->material[i] == 1) == (vec_norm(x) > 0.3));
    const double base = all->material[i] == 1 ? 3.0 : 1.0;
    least = fmin(least, all->stiffness[i] / base);
    most = fmax(most, all->stiffness[i] / base);
  }
  CHECK(least < 0.6 && least >= 0.5 && most > 1.7 && most <= 2.0);
  particles_destroy(&mine);
  particles_destroy(&all);
  scene_destroy(&scene);
}

/* A crust on a hill follows its surface, and thin layers weigh what they should. */
static void test_layers(void)
{
  struct scene *scene = read_scene(
      HEAD "materials: {loose: {density: 200}, crust: {kind: icy, density: 450}}\n"
           "snow:\n"
           "  - difference: [{box: {lower: [-0.5, -0.6, -0.5], upper: [0.5, 0.2, 0.5]}},\n"
           "                 {box: {center: [0, 1.1, 0], size: [4, 2, 4], rotate: {axis: [0, 0, 1], "
           "degrees: 20}}}]\n"
           "    material: loose\n"
           "    per_cell: 8\n"
           "    sampling: jittered\n"
           "    vary:\n"
           "      layers:\n"
           "        - {depth: 0.05, material: crust}\n"
           "        - {depth: 0.2, density_factor: 1.5}\n");
  struct particles *mine = seed(&world, scene), *all = seed(&self, scene);
  check_same(mine, all);
  check_with_threads(scene, all);
  const double crust =
      0.05 * 450.0; /* the cut through a column is as deep as the crust, whatever the slope */
  CHECK(fabs(mass_of(all, 1) / crust - 1.0) < 3e-3);
  for (int32_t i = 0; i < all->count; i++) {
    /* Of the plane through (0, 1.1) - 1 / cos 20 that falls to the left. */
    const double top = 1.1 - 1.0 / cos(20.0 * 3.14159265358979323846 / 180.0) +
                       all->x[0][i] * tan(20.0 * 3.14159265358979323846 / 180.0);
    const double depth = fmin(top, 0.2) - all->x[1][i];
    if (fabs(depth - 0.05) > 1e-4) CHECK((all->material[i] == 1) == (depth < 0.05));
  }
  particles_destroy(&mine);
  particles_destroy(&all);
  scene_destroy(&scene);
}

/* What enters while a window moves is what a whole pass over its way would have made, each particle once. */
static void test_window(void)
{
  struct scene *scene =
      read_scene("domain: {lower: [0, 0, 0], cells: [500, 20, 20], spacing: 0.05}\n"
                 "time: {end: 5}\n"
                 "snow:\n"
                 "  - box: {lower: [0, 0, 0], upper: [25, 0.31, 1]}\n"
                 "    per_cell: 2.5\n"
                 "  - box: {lower: [2, 0.4, 0], upper: [20, 0.6, 0.5]}\n"
                 "    per_cell: 3\n"
                 "    sampling: poisson\n"
                 "bodies:\n"
                 "  plow: {box: {center: [1, 0, 0.5], size: [0.1, 0.5, 1]}, velocity: [3, 0, 0]}\n"
                 "window: {follow: plow, axis: x, ahead: 2, behind: 0.5}\n");
  struct particles *mine = seed(&world, scene), *all = seed(&self, scene);
  int64_t start = mine->count;
  comm_sum_i64(&world, &start, 1);
  CHECK(start == all->count);
  struct window w = {0};
  window_advance(&w, scene, 0.0);
  CHECK(w.from == 10 && w.to == 61);
  const int64_t first = w.from;
  struct sampling *samplings = seed_samplings_create(scene);
  for (double t = 0.0; t < 3.0; t += 0.0371) {
    const struct window old = w;
    window_advance(&w, scene, t);
    CHECK(w.from >= old.from && w.to >= old.to);
    if (w.to > old.to) seed_planes(scene, samplings, 0, old.to, w.to, all);
    struct window fresh = {0}; /* as after a restart */
    window_advance(&fresh, scene, t);
    CHECK(fresh.from == w.from && fresh.to == w.to);
  }
  CHECK(w.to > 200);
  struct particles *whole = particles_create(NEEDS_MATERIAL);
  seed_planes(scene, samplings, 0, first, w.to, whole);
  CHECK(whole->count == all->count);
  uint64_t a = 0, b = 0;
  for (int32_t i = 0; i < all->count; i++) {
    a += all->id[i] * 0x9e3779b97f4a7c15u ^ all->id[i] >> 7;
    b += whole->id[i] * 0x9e3779b97f4a7c15u ^ whole->id[i] >> 7;
  }
  CHECK(a == b);
  particles_destroy(&mine);
  particles_destroy(&all);
  particles_destroy(&whole);
  seed_samplings_destroy(&samplings, scene);
  scene_destroy(&scene);
}

static void test_thin_zone_is_an_error(void)
{
  struct scene *scene = read_scene(HEAD "snow:\n"
                                        "  - sphere: {center: [0, 0, 0], radius: 0.4}\n"
                                        "    particles: 10\n"
                                        "    vary: {shell: {thickness: 0.002, density_factor: 2}}\n");
  struct error err = {0};
  struct particles *p = particles_create(NEEDS_MATERIAL);
  CHECK(seed_snow(&world, scene, p, &err) != 0);
  CHECK_TEXT(strstr(err.text, "shell holds no particle") != NULL, err.text);
  particles_destroy(&p);
  scene_destroy(&scene);
}

/* --- ids of files ------------------------------------------------------------------------------------- */

enum { FILE_ROWS = 10 };

static void write_rows(hid_t file, const char *name, int axes, hid_t type, const void *rows)
{
  const hid_t space = H5Screate_simple(axes, (const hsize_t[]){FILE_ROWS, 3}, NULL);
  const hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
  H5Dclose(set);
  H5Sclose(space);
}

/* A row of particles at height y; ids from `first` on, or none where it is negative. */
static void write_file(const char *path, double y, int64_t first)
{
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  double x[FILE_ROWS][3], v[FILE_ROWS][3] = {{0.0}}, mass[FILE_ROWS];
  int64_t id[FILE_ROWS];
  for (int i = 0; i < FILE_ROWS; i++) {
    x[i][0] = -0.4 + 0.08 * i;
    x[i][1] = y;
    x[i][2] = 0.0;
    mass[i] = 1.0 + i;
    id[i] = first + i;
  }
  CHECK(file >= 0);
  write_rows(file, "position", 2, H5T_NATIVE_DOUBLE, x);
  write_rows(file, "velocity", 2, H5T_NATIVE_DOUBLE, v);
  write_rows(file, "mass", 1, H5T_NATIVE_DOUBLE, mass);
  if (first >= 0) write_rows(file, "id", 1, H5T_NATIVE_INT64, id);
  H5Fclose(file);
}

/* All ids of these files and a ball differ, and are the same on any number of ranks. `kept` of the particles
 * have the ids that their files say. */
static void check_files(const int64_t *first, int count, int kept)
{
  char text[2048], path[3][64];
  int at = snprintf(text, sizeof text, HEAD "snow:\n");
  for (int k = 0; k < count; k++) {
    snprintf(path[k], sizeof path[k], "/tmp/firn_seeding_%d_%d.h5", world.size, k);
    if (world.rank == 0) write_file(path[k], 0.1 * k, first[k]);
    at += snprintf(text + at, sizeof text - (size_t)at, "  - file: %s\n", path[k]);
  }
  snprintf(text + at, sizeof text - (size_t)at,
           "  - sphere: {center: [0, 0, 0], radius: 0.2}\n    particles: 20\n");
  int64_t barrier = 0;
  comm_sum_i64(&world, &barrier, 1);
  struct scene *scene = read_scene(text);
  struct particles *mine = seed(&world, scene), *all = seed(&self, scene);
  struct error err = {0};
  CHECK(all->count == FILE_ROWS * count + 20);
  CHECK_TEXT(unique_ids_check(&self, all->id, all->count, &err) == FIRN_OK, err.text);
  int same = 0;
  for (int32_t i = 0; i < FILE_ROWS * count; i++)
    same += all->id[i] == (uint64_t)(first[i / FILE_ROWS] + i % FILE_ROWS);
  CHECK(same == kept);
  for (int32_t i = 0; i < mine->count; i++) { /* as many particles as ids: found by id, the same row */
    int32_t k = 0;
    while (k < all->count && all->id[k] != mine->id[i]) k++;
    CHECK(k < all->count && mine->x[0][i] == all->x[0][k] && mine->x[1][i] == all->x[1][k] &&
          mine->mass[i] == all->mass[k]);
  }
  comm_sum_i64(&world, &barrier, 1);
  for (int k = 0; k < count && world.rank == 0; k++) unlink(path[k]);
  particles_destroy(&mine);
  particles_destroy(&all);
  scene_destroy(&scene);
}

static void test_ids_of_files(void)
{
  log_configure(LOG_QUIET, world.rank, NULL);
  check_files((const int64_t[]){0, 0}, 2, 10);       /* two that begin at 0 */
  check_files((const int64_t[]){100, 0}, 2, 20);     /* apart: both stay, the ball comes behind the larger */
  check_files((const int64_t[]){100, 95}, 2, 10);    /* a part of them */
  check_files((const int64_t[]){50, 0, 55}, 3, 20);  /* with the first but one */
  check_files((const int64_t[]){7, -1, 7}, 3, 10);   /* numbered by row in between */
  check_files((const int64_t[]){0, 100, 10}, 3, 30); /* between others */
  log_configure(LOG_WARN, world.rank, NULL);
}

#define WARM                                                                                                 \
  "heat: {liquid: {density: 900}}\n"                                                                         \
  "materials: {light: {density: 200}, dense: {density: 500}}\n"

/* kelvin of particle i. */
static double kelvin(const struct scene *scene, const struct particles *p, int32_t i)
{
  return scene->heat.melting_point + heat_temperature(&scene->heat, p->enthalpy[i]);
}

/* Water has the mass and volume of water, snow is as warm as its depth and zone say and conducts by its
 * density: the same on any ranks. */
static void test_heat(void)
{
  struct scene *scene = read_scene(
      HEAD WARM
      "snow:\n"
      "  - {name: pool, box: {lower: [-0.8, -0.9, -0.8], upper: [0.8, -0.5, 0.8]}, material: dense, "
      "phase: liquid, temperature: 280, per_cell: 4}\n"
      "  - name: bank\n    box: {lower: [-0.8, 0, -0.8], upper: [0.8, 0.4, 0.8]}\n"
      "    material: light\n    per_cell: 4\n"
      "    volume: estimated\n"
      "    temperature: {keys: [{depth: 0.1, temperature: 250}, {depth: 0.3, temperature: 270}]}\n"
      "    vary: {layers: [{depth: 0.08, material: dense, temperature: 245}]}\n"
      "  - name: ball\n    sphere: {center: [0, 0.7, 0], radius: 0.2}\n    material: light\n"
      "    conductivity: 7\n    temperature: 272\n"
      "    vary: {noise: {scale: 0.1, temperature: 4}}\n");
  struct particles *mine = seed(&world, scene), *all = seed(&self, scene);
  check_same(mine, all);
  double water = 0.0, least = INFINITY, most = 0.0;
  for (int32_t i = 0; i < all->count; i++) {
    const double y = all->x[1][i], t = kelvin(scene, all, i);
    if (y < -0.4) {
      water += all->mass[i];
      CHECK(all->liquid[i] == 1.0 && all->volume[i] == all->mass[i] / 900.0 && fabs(t - 280.0) < 1e-9);
      CHECK(fabs(all->conductivity[i] - heat_snow_conductivity(900.0)) < 1e-9);
    } else if (y < 0.45) {
      const double depth = 0.4 - y, density = depth < 0.08 ? 500.0 : 200.0;
      const double expected = depth < 0.08 ? 245.0 : 250.0 + 100.0 * fmin(fmax(depth - 0.1, 0.0), 0.2);
      if (fabs(depth - 0.08) < 1e-6) continue;
      CHECK(all->liquid[i] == 0.0 && all->volume[i] == 0.0 && fabs(t - expected) < 1e-4);
      CHECK(fabs(all->conductivity[i] / heat_snow_conductivity(density) - 1.0) < 0.1); /* by what fell in */
    } else {
      CHECK(all->conductivity[i] == 7.0 && t <= 273.15 && t > 268.0);
      CHECK(fabs(all->mass[i] / all->volume[i] / 200.0 - 1.0) < 1e-9); /* exact, if nothing is said */
      least = fmin(least, t);
      most = fmax(most, t);
    }
  }
  CHECK(fabs(water / (900.0 * 1.6 * 1.6 * 0.4) - 1.0) < 1e-10); /* a plain sum */
  CHECK(least < 270.0 && most == 273.15);
  particles_destroy(&mine);
  particles_destroy(&all);
  scene_destroy(&scene);
}

/* What a file does not say the scene does; what it says, the scene may not. */
static void test_heat_of_files(void)
{
  static const char *const more[] = {"phase: liquid, temperature: 280", "conductivity: 5", "temperature: 260",
                                     "phase: solid"};
  char path[64], text[512];
  snprintf(path, sizeof path, "test_seeding_heat_%d.h5", world.size);
  for (int with = 0; with < 3; with++) /* no phases, good ones, a bad one */
    for (int k = 0; k < 4; k++) {
      int64_t barrier = 0;
      if (world.rank == 0) {
        write_file(path, 0.1, -1);
        const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        const double wet[10] = {0, 1, 0, with == 1 ? 1 : 0.5, 0, 1, 0, 1, 0, 1};
        if (with) write_rows(file, "phase", 1, H5T_NATIVE_DOUBLE, wet);
        H5Fclose(file);
      }
      comm_sum_i64(&world, &barrier, 1);
      snprintf(text, sizeof text, HEAD "heat: {}\nsnow:\n  - {file: %s, %s}\n", path, more[k]);
      struct scene *scene = read_scene(text);
      struct particles *p = particles_create(NEEDS_HEAT | NEEDS_MATERIAL);
      struct error err = {0};
      const int code = seed_snow(&self, scene, p, &err);
      if (with == 2) {
        CHECK_TEXT(code == FIRN_EINPUT && strstr(err.text, "phase of row 3 is 0.5, it must be 0 or 1"),
                   err.text);
      } else if (with && scene->snow[0].phase_given) {
        CHECK_TEXT(code == FIRN_EINPUT && strstr(err.text, "'phase' has no effect, since"), err.text);
      } else {
        CHECK_TEXT(!code, err.text);
        for (int32_t i = 0; i < p->count; i++) {
          const bool liquid = with ? p->id[i] % 2 == 1 : k == 0;
          CHECK(p->liquid[i] == (double)liquid);
          CHECK(fabs(kelvin(scene, p, i) - (k == 0 ? 280.0 : k == 2 && !liquid ? 260.0 : 273.15)) < 1e-9);
          CHECK(!liquid || p->volume[i] == p->mass[i] / 1000.0);
          CHECK(k == 1 ? p->conductivity[i] == 5.0 : p->conductivity[i] > 0.0);
        }
      }
      comm_sum_i64(&world, &barrier, 1);
      particles_destroy(&p);
      scene_destroy(&scene);
      if (world.rank == 0) unlink(path);
    }
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  comm_create(&world, MPI_COMM_WORLD);
  comm_create(&self, MPI_COMM_SELF);
  test_same_on_any_ranks();
  test_shell_and_noise();
  test_layers();
  test_window();
  test_thin_zone_is_an_error();
  test_ids_of_files();
  test_heat();
  test_heat_of_files();
  comm_destroy(&world);
  comm_destroy(&self);
  return check_end();
}
