/* A run driven from C by hooks that do nothing; tests/cli/test_install.sh compares its files with the
 * command's. */
#include <firn/firn.h>
#include <stdio.h>
#include <stdlib.h>

static int count(void *context, struct firn_sim *sim)
{
  (void)sim;
  ++*(long *)context;
  return 0;
}

int main(int argc, char **argv)
{
  struct firn_error err = {0, ""};
  struct firn_scene *scene = NULL;
  struct firn_sim *sim = NULL;
  struct firn_options options = FIRN_OPTIONS_INIT;
  struct firn_sim_info info = {0};
  long calls = 0;
  char output[1024];
  const char *const overrides[] = {output};
  MPI_Init(&argc, &argv);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  snprintf(output, sizeof output, "output.folder=%s", argv[2]);
  options.writes = 1;
  int code = firn_scene_load(&scene, MPI_COMM_WORLD, argv[1], overrides, 1, &err);
  if (!code) code = firn_sim_create(&sim, MPI_COMM_WORLD, scene, &options, &err);
  if (!code) {
    firn_sim_set_hooks(sim, count, count, &calls);
    code = firn_sim_advance_to_end(sim, &err);
    firn_sim_get_info(sim, &info);
  }
  if (!code) code = firn_sim_end(sim, &err);
  if (code) fprintf(stderr, "%s\n", err.text);
  if (!code && (calls < 2 || calls > 2 * info.step)) {
    fprintf(stderr, "%ld calls of the hooks in %lld steps\n", calls, (long long)info.step);
    code = 1;
  }
  firn_sim_destroy(&sim);
  firn_scene_destroy(&scene);
  MPI_Finalize();
  return code ? 1 : 0;
}
