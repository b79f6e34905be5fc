/* libfirn from the outside: several simulations of one scene, and a state out of bounds. They hold pointers
 * into the scene, so making the second must not move or add to what the first reads. Counts and the balance
 * of allocations show a scene that is copied twice without a sanitizer; with one, each stale pointer is an
 * error. */
#include "base/memory.h"
#include "firn/firn.h"
#include "support/check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char text[] =
    "domain: {lower: [0, 0, 0], cells: [16, 12, 12], spacing: 0.01, copies: 2, slab_axis: x}\n"
    "time: {end: 0.01, frame_rate: 100, max_step: 4e-4}\n"
    "snow: [{box: {lower: [0.02, 0.03, 0.03], upper: [0.06, 0.07, 0.07]}, velocity: [-3, -2, 0]}]\n"
    "bodies: {plate: {box: {lower: [0.02, 0, 0.02], upper: [0.07, 0.03, 0.1]}, measure: true}}\n";

static struct firn_sim *create(const struct firn_scene *scene)
{
  struct firn_sim *sim = NULL;
  struct firn_error err = {0};
  CHECK_TEXT(firn_sim_create(&sim, MPI_COMM_WORLD, scene, NULL, &err) == FIRN_STATUS_OK, err.text);
  return sim;
}

static int64_t count(const struct firn_sim *sim)
{
  struct firn_sim_info info;
  firn_sim_get_info(sim, &info);
  return info.particles;
}

static void step(struct firn_sim *sim)
{
  struct firn_error err = {0};
  CHECK_TEXT(firn_sim_step(sim, &err) == FIRN_STATUS_OK, err.text);
}

static int64_t count_alone(void)
{
  static const char *const single[] = {"domain.copies=1"};
  struct firn_scene *scene = NULL;
  struct firn_error err = {0};
  CHECK_TEXT(firn_scene_parse(&scene, "library.yml", text, single, 1, &err) == FIRN_STATUS_OK, err.text);
  struct firn_sim *sim = create(scene);
  const int64_t particles = count(sim);
  firn_sim_destroy(&sim);
  firn_scene_destroy(&scene);
  return particles;
}

static void check_two(struct firn_scene *scene, int64_t particles)
{
  struct firn_sim *first = create(scene), *second = create(scene);
  CHECK(count(first) == particles && count(second) == particles);
  step(first); /* after the second was made */
  firn_sim_destroy(&second);
  step(first);
  CHECK(count(first) == particles);
  firn_sim_destroy(&first);
}

/* A state whose energy overflows never ends as if all were well, with or without a history. */
static void test_overflow(void)
{
  static const char *const ways[][2] = {{"bodies.plate.measure=false", "output.history_every=1"},
                                        {"bodies.plate.measure=false", "output.history_every=0"}};
  for (int k = 0; k < 2; k++) {
    struct firn_scene *scene = NULL;
    struct firn_error err = {0};
    struct firn_particles particles;
    CHECK_TEXT(firn_scene_parse(&scene, "library.yml", text, ways[k], 2, &err) == FIRN_STATUS_OK, err.text);
    struct firn_sim *sim = create(scene);
    firn_sim_get_particles(sim, &particles);
    for (int64_t i = 0; i < particles.count; i++) ((double *)(uintptr_t)particles.mass)[i] = 1e308;
    CHECK(firn_sim_advance_to_frame(sim, 1, &err) == FIRN_STATUS_DIVERGED);
    firn_sim_destroy(&sim);
    firn_scene_destroy(&scene);
  }
}

static void test_parsed(int64_t particles)
{
  struct firn_scene *scene = NULL;
  struct firn_error err = {0};
  CHECK_TEXT(firn_scene_parse(&scene, "library.yml", text, NULL, 0, &err) == FIRN_STATUS_OK, err.text);
  check_two(scene, particles);
  firn_scene_destroy(&scene);
}

static void test_loaded(int64_t particles)
{
  char path[64] = "/tmp/firn_library_XXXXXX";
  struct firn_scene *scene = NULL;
  struct firn_error err = {0};
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    const int file = mkstemp(path);
    CHECK(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text) && close(file) == 0);
  }
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  CHECK_TEXT(firn_scene_load(&scene, MPI_COMM_WORLD, path, NULL, 0, &err) == FIRN_STATUS_OK, err.text);
  check_two(scene, particles);
  firn_scene_destroy(&scene);
  if (rank == 0) unlink(path);
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  const long before = mem_balance();
  const int64_t particles = 2 * count_alone();
  CHECK(particles > 0);
  test_parsed(particles);
  test_loaded(particles);
  test_overflow();
  CHECK(mem_balance() == before);
  return check_end();
}
