/* Debug builds look for ids that occur twice, at each checkpoint and after each restart. This test is built
 * with the simulation of such a build (tests/CMakeLists.txt), so that it holds for release builds of all
 * else. */
#ifndef FIRN_DEBUG
#error "this test is about debug builds"
#endif
#include "base/log.h"
#include "io/file.h"
#include "io/particles/checkpoint.h"
#include "support/state.h"

#include <setjmp.h>
#include <stdio.h>
#include <unistd.h>

static struct comm world;
static jmp_buf back;

static const char scene_text[] = "domain: {cells: [32, 8, 8], spacing: 0.01}\n"
                                 "time: {end: 1, frame_rate: 200}\n"
                                 "snow: [{box: {lower: [0.02, 0.02, 0.02], upper: [0.3, 0.06, 0.06]}}]\n";

/* firn_fatal() calls it instead of ending the job. */
static void come_back(int code)
{
  (void)code;
  longjmp(back, 1);
}

static void make_checkpoint(const struct sim *sim, struct checkpoint *info)
{
  sim_describe(sim, info);
  snprintf(info->run_id, sizeof info->run_id, "0123456789abcdef");
}

/* Whether all ranks leave through come_back(). */
static bool describing_ends(const struct sim *sim)
{
  struct checkpoint info;
  if (setjmp(back)) return true;
  make_checkpoint(sim, &info);
  checkpoint_forget(&info);
  return false;
}

static bool restarting_ends(const struct scene *scene, const char *path)
{
  struct error err = {0};
  struct checkpoint *from = NULL;
  struct sim *sim = NULL;
  if (setjmp(back)) return true;
  CHECK_TEXT(checkpoint_open(&from, path, &err) == FIRN_OK, err.text);
  CHECK_TEXT(sim_create_from(&sim, &world, scene, ISA_COUNT, path, from, false, &err) == FIRN_OK, err.text);
  checkpoint_destroy(&from);
  sim_destroy(&sim);
  return false;
}

/* The last particle of the last rank gets the id of the first one of the first. */
static void double_an_id(struct sim *sim)
{
  uint64_t id = 0;
  if (world.rank == 0) id = sim->p->id[0];
  comm_broadcast(&world, &id, sizeof id);
  if (world.rank == world.size - 1) sim->p->id[sim->p->count - 1] = id;
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  comm_create(&world, MPI_COMM_WORLD);
  log_configure(LOG_QUIET, world.rank, come_back);
  struct error err = {0};
  struct scene *scene = NULL;
  struct sim *sim = NULL;
  struct checkpoint info;
  char path[64] = "";
  if (world.rank == 0) snprintf(path, sizeof path, "/tmp/firn_test_debug_%ld.h5", (long)getpid());
  comm_broadcast(&world, path, sizeof path);
  CHECK_TEXT(scene_parse(&scene, "debug.yml", scene_text, NULL, 0, &err) == FIRN_OK, err.text);
  CHECK_TEXT(sim_create(&sim, &world, scene, ISA_COUNT, &err) == FIRN_OK, err.text);
  CHECK(sim->p->count > 1 && sim_ids_are_unique(sim));
  CHECK(!describing_ends(sim));
  make_checkpoint(sim, &info);
  for (int twice = 0; twice < 2; twice++) {
    if (twice) double_an_id(sim);
    CHECK(sim_ids_are_unique(sim) == !twice);
    CHECK_TEXT(checkpoint_write(&world, path, scene, sim->p, &info, NULL, NULL, &err) == FIRN_OK, err.text);
    CHECK(restarting_ends(scene, path) == twice);
  }
  CHECK(describing_ends(sim));
  if (world.rank == 0) unlink(path);
  MPI_Finalize(); /* what was left in the middle is not freed */
  return 0;
}
