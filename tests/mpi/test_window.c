/* A window that moves either way along any axis: what is behind it leaves, what is ahead enters, both are
 * counted, no particle is lost or made twice, and the state is that of one process. */
#include "io/scene/scene.h"
#include "support/state.h"

#include <stdio.h>

static struct comm all, alone;

static struct scene *parse(int axis, int way)
{
  char text[1024], along[3][32];
  const double speed = 4.0 * way, center = way > 0 ? 0.4 : 1.6;
  for (int d = 0; d < 3; d++) snprintf(along[d], sizeof along[d], "%g", d == axis ? center : 0.1);
  snprintf(text, sizeof text,
           "domain: {lower: [0, 0, 0], cells: [%d, %d, %d], spacing: 0.05}\n"
           "gravity: [0, 0, 0]\n"
           "time: {end: 1, step: 5e-4, frame_rate: 50}\n"
           "integrator: {scheme: explicit}\n"
           "snow:\n"
           "  - {box: {lower: [0, 0, 0], upper: [%g, %g, %g]}, per_cell: 3}\n"
           "bodies:\n"
           "  plow: {sphere: {center: [%s, %s, %s], radius: 0.02}, velocity: [%g, %g, %g]}\n"
           "window: {follow: plow, axis: %s%c, ahead: 0.3, behind: 0.2}\n",
           axis == 0 ? 40 : 4, axis == 1 ? 40 : 4, axis == 2 ? 40 : 4, axis == 0 ? 2.0 : 0.2,
           axis == 1 ? 2.0 : 0.2, axis == 2 ? 2.0 : 0.2, along[0], along[1], along[2],
           axis == 0 ? speed : 0.0, axis == 1 ? speed : 0.0, axis == 2 ? speed : 0.0, way > 0 ? "" : "-",
           "xyz"[axis]);
  struct scene *scene = NULL;
  struct error err = {0};
  CHECK_TEXT(scene_parse(&scene, "window.yml", text, NULL, 0, &err) == FIRN_OK, err.text);
  return scene;
}

/* Where the window begins and ends now (m), from the body's path alone; it moves by whole planes, four times
 * a frame. */
static void check_place(const struct sim *sim, int axis, int way)
{
  const double body = (way > 0 ? 0.4 : 1.6) + 4.0 * way * sim->clock.time,
               slack = 0.05 + 4.0 / 50.0 / 4.0 + 1e-9;
  const double back = body - 0.2 * way;
  for (int32_t i = 0; i < sim->p->count; i++)
    CHECK(way > 0 ? sim->p->x[axis][i] > back - slack : sim->p->x[axis][i] < back + slack);
}

static struct any_file run(const struct comm *comm, const struct scene *scene, int axis, int way,
                           int64_t counts[4])
{
  enum { STEPS = 80 };
  struct sim *sim = NULL;
  struct error err = {0};
  CHECK_TEXT(sim_create(&sim, comm, scene, ISA_COUNT, &err) == FIRN_OK, err.text);
  counts[0] = sim->totals.particles;
  for (int k = 0; k < STEPS; k++) {
    CHECK_TEXT(sim_step(sim, &err) == FIRN_OK, err.text);
    sim_tidy(sim);
    check_place(sim, axis, way);
  }
  counts[1] = sim->totals.entered;
  counts[2] = sim->totals.removed;
  counts[3] = sim->totals.particles;
  struct any_file state;
  state_gather(sim, &state);
  sim_destroy(&sim);
  return state;
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  comm_create(&all, MPI_COMM_WORLD);
  comm_create(&alone, MPI_COMM_SELF);
  for (int k = 0; k < 6; k++) {
    const int axis = k / 2, way = k % 2 ? -1 : 1;
    struct scene *scene = parse(axis, way);
    int64_t counts[4];
    struct any_file together = run(&all, scene, axis, way, counts);
    CHECK(counts[1] > 40 && counts[2] > 40); /* 0.16 m of 4 x 4 cells with three particles each: some 150 */
    CHECK(counts[0] + counts[1] - counts[2] == counts[3]);
    if (all.rank == 0) {
      int64_t single[4];
      struct any_file one = run(&alone, scene, axis, way, single);
      CHECK(memcmp(counts, single, sizeof counts) == 0);
      state_check_equal(&together, &one, "window");
      for (int64_t i = 1; i < one.count; i++) /* sorted by id */
        CHECK(state_compare_ids(one.records + (size_t)(i - 1) * one.record_size,
                                one.records + (size_t)i * one.record_size) < 0);
      state_free(&one);
    }
    check_barrier(MPI_COMM_WORLD);
    state_free(&together);
    scene_destroy(&scene);
  }
  comm_destroy(&alone);
  comm_destroy(&all);
  return check_end();
}
