/* A fatal error inside libfirn: the caller's handler hears of it, then all ranks end by MPI_Abort. The error
 * is raised from inside, so this program links the static library. */
#include "base/log.h"
#include "firn/firn.h"

#include <stdio.h>

static void hear(void *context, const char *line)
{
  fprintf(stderr, "%s: %s\n", (const char *)context, line);
}

/* Stands before the library's call, since mpirun's own notice of an abort can be lost. */
int MPI_Abort(MPI_Comm comm, int code)
{
  fprintf(stderr, "MPI_Abort with code %d\n", code);
  fflush(stderr);
  return PMPI_Abort(comm, code);
}

int main(int argc, char **argv)
{
  static const char text[] = "domain: {lower: [0, 0, 0], cells: [12, 12, 12], spacing: 0.01}\n"
                             "time: {end: 0.01, frame_rate: 100}\n"
                             "snow: [{box: {lower: [0.03, 0.03, 0.03], upper: [0.07, 0.07, 0.07]}}]\n";
  struct firn_scene *scene = NULL;
  struct firn_sim *sim = NULL;
  struct firn_error err;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  static char heard[] = "heard";
  firn_on_fatal(hear, heard);
  int code = firn_scene_parse(&scene, "fatal.yml", text, NULL, 0, &err);
  if (!code) code = firn_sim_create(&sim, MPI_COMM_WORLD, scene, NULL, &err);
  if (!code && rank == 1) firn_fatal("as if memory had run out");
  MPI_Barrier(MPI_COMM_WORLD);
  return 0;
}
