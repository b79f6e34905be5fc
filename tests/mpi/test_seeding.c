/* Seeding: the same particles on any number of ranks, spread as the scene says, of exactly the mass that
 * density and volume give. What the ranks make together is compared with what one rank makes alone. */
#include "base/exactsum.h"
#include "base/log.h"
#include "base/vec.h"
#include "decomposition/comm.h"
#include "decomposition/reduce.h"
#include "io/scene.h"
#include "seeding.h"
#include "support/check.h"
#include "window.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
  struct particles *p = particles_create(0);
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
    if (w.to > old.to) seed_planes(scene, samplings, old.to, w.to, all);
    struct window fresh = {0}; /* as after a restart */
    window_advance(&fresh, scene, t);
    CHECK(fresh.from == w.from && fresh.to == w.to);
  }
  CHECK(w.to > 200);
  struct particles *whole = particles_create(0);
  seed_planes(scene, samplings, first, w.to, whole);
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
                                        "    vary: {shell: {thickness: 0.002}}\n");
  struct error err = {0};
  struct particles *p = particles_create(0);
  CHECK(seed_snow(&world, scene, p, &err) != 0);
  CHECK_TEXT(strstr(err.text, "shell holds no particle") != NULL, err.text);
  particles_destroy(&p);
  scene_destroy(&scene);
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
  comm_destroy(&world);
  comm_destroy(&self);
  return check_end();
}
