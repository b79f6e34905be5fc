/* A plow that a controller drives: it pushes through snow and slows down where the snow resists.
 *
 *   mpicc plow.c $(pkg-config --cflags --libs firn) -o plow
 *   mpirun -n 2 ./plow plow.yml 30 out/plow [restart]
 *
 * The controller keeps the force on the blade near 30 N. It reads the force of the last step and sets the
 * blade's speed for the next one. Its state is the speed, which it reads back from the body, so a run that
 * was stopped goes on with the same bits. A word behind the folder goes on from the newest checkpoint. */
#include <firn/firn.h>
#include <stdio.h>
#include <stdlib.h>

struct controller {
  int blade;
  double wanted; /* N */
  double most;   /* N, that the blade has felt */
};

/* Before each step, on every rank with the same numbers. */
static int control(void *context, struct firn_sim *sim)
{
  struct controller *c = context;
  struct firn_body blade;
  struct firn_error err;
  if (firn_sim_get_body(sim, c->blade, &blade, &err)) return 1;
  const double force = -blade.force[0]; /* the snow pushes the blade back */
  double speed = blade.velocity[0] + 0.002 * (c->wanted - force);
  if (speed < 0.0) speed = 0.0;
  if (speed > 2.0) speed = 2.0;
  if (force > c->most) c->most = force;
  const double velocity[3] = {speed, 0.0, 0.0};
  return firn_sim_move_body(sim, c->blade, velocity, NULL, &err) != 0;
}

static int drive(const char *path, double wanted, const char *folder, int restart, struct firn_error *err)
{
  struct firn_scene *scene = NULL;
  struct firn_sim *sim = NULL;
  struct firn_options options = FIRN_OPTIONS_INIT;
  struct controller c = {-1, wanted, 0.0};
  struct firn_sim_info info;
  struct firn_body blade;
  char output[1024];
  const char *const overrides[] = {output};
  snprintf(output, sizeof output, "output.folder=%s", folder);
  options.writes = 1;
  options.restart = restart ? "auto" : NULL;
  int code = firn_scene_load(&scene, MPI_COMM_WORLD, path, overrides, 1, err);
  if (!code) code = firn_sim_create(&sim, MPI_COMM_WORLD, scene, &options, err);
  if (!code) {
    c.blade = firn_sim_find_body(sim, "blade");
    firn_sim_set_hooks(sim, control, NULL, &c);
    code = firn_sim_advance_to_end(sim, err);
  }
  if (!code) {
    int rank;
    firn_sim_get_info(sim, &info);
    firn_sim_get_body(sim, c.blade, &blade, err);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
      printf("%lld steps, blade at %.17g m, %.17g m/s, at most %.17g N\n", (long long)info.step,
             blade.origin[0], blade.velocity[0], c.most);
    code = firn_sim_end(sim, err);
  }
  firn_sim_destroy(&sim);
  firn_scene_destroy(&scene);
  return code;
}

int main(int argc, char **argv)
{
  struct firn_error err = {0, ""};
  MPI_Init(&argc, &argv);
  if (argc < 4) {
    fprintf(stderr, "usage: plow SCENE FORCE FOLDER [restart]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int code = drive(argv[1], atof(argv[2]), argv[3], argc > 4, &err);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (code && rank == 0) fprintf(stderr, "plow: %s\n", err.text);
  MPI_Finalize();
  return code ? 1 : 0;
}
