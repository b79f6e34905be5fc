/* What commands that start MPI have in common: options, the scene, the way out. */
#ifndef FIRN_LAUNCH_H
#define FIRN_LAUNCH_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "io/scene/scene.h"
#include "kernels/kernels.h"

#include <stdbool.h>

enum { LAUNCH_MAX_OVERRIDES = 256 };

struct launch_options {
  const char *scene_path;
  const char *overrides[LAUNCH_MAX_OVERRIDES];
  int override_count;
  char output[8192]; /* the override that launch_set_output() made */
};

/* Adds one --set; the limit is an error. */
int launch_add_override(struct launch_options *options, const char *assignment, struct error *err);

/* --output FOLDER: the override of output.folder, whatever the path holds but a line break. */
int launch_set_output(struct launch_options *options, const char *folder, struct error *err);

/* Collective. An instruction set that was requested (ISA_COUNT: none was) and that some rank cannot run is an
 * error. */
int launch_check_isa(const struct comm *comm, enum isa wanted, struct error *err);

/* Threads of a rank: what was requested, or what OMP_NUM_THREADS says (of a list, the first: there is one
 * level), or 0 for neither. */
int launch_threads(int asked);

/* Collective: rank 0 reads the scene, all ranks parse it and agree. */
int launch_scene(const struct comm *comm, const struct launch_options *options, struct scene **scene,
                 struct error *err);

/* The number that the scheduler gave this job, NULL outside of one: Slurm, PBS or Flux. */
const char *launch_job(void);

/* When the job ends, in seconds since 1970 as text: what a job script says in FIRN_JOB_END, or Slurm. NULL if
 * nobody says it. */
const char *launch_job_end(void);

/* Collective. Writes a line to the file that FIRN_NOTE names, so that a job script learns what happened
 * without an exit code that srun and mpirun would report as a failure. True on all ranks if it was written;
 * false if no file was named. */
bool launch_note(const struct comm *comm, const char *line);

/* Prints the error on rank 0 as "firn: ..." and returns the exit code 1; `comm` is NULL in one process
 * without MPI. */
int launch_fail(const struct comm *comm, const struct error *err);

#endif
