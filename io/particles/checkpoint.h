/* Checkpoints: the whole state of a run in one file, from which it goes on bit for bit, on any number of
 * ranks.
 *
 * Every field of the particle table in full precision, the few numbers that a step depends on, the scene, and
 * who wrote it. The file is HDF5 with a seal in front (seal.h): whatever happens to its bytes, a reader gets
 * what was written or an error. It stands under its name only when it is complete and on the disk. */
#ifndef FIRN_IO_CHECKPOINT_H
#define FIRN_IO_CHECKPOINT_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "grid/particles.h"
#include "io/run/fence.h"
#include "io/run/totals.h"
#include "io/scene/scene.h"

#include <stdbool.h>
#include <stdint.h>

/* Checkpoints of earlier format versions are of runs whose sums over the grid had another order: their runs
 * continue with other last bits. */
enum { CHECKPOINT_VERSION = 3 };

/* Everything but the particles. */
struct checkpoint {
  int64_t format;              /* version of the file that it was read from */
  double time;                 /* s */
  double max_speed, max_sound; /* m/s: the next step's length depends on their bits */
  double trusted;              /* s: and on this (struct sim_clock) */
  int64_t step;                /* steps taken */
  int64_t frame, on_frame;     /* last frame reached, and whether the state is the one of that frame */
  int64_t finished;            /* the scene's end is reached */
  int64_t particles;
  struct sim_totals totals;         /* since the start */
  int64_t history_rows, probe_rows; /* that the run had written; 0: none, or not known */
  int64_t slab_axis;                /* 0, 1, 2 */
  int64_t generation;               /* fence.h */
  char run_id[RUN_ID_SIZE];
  char isa[16];           /* name of the kernels */
  char *maps;             /* of the flow so far (sim/maps.h); rank 0's, NULL: none */
  char *instruments;      /* what they carry from step to step (sim/instruments.h); NULL: nothing */
  char *sources;          /* what they have brought (sim/sources.h); NULL: of an earlier version */
  char *drives;           /* bodies that a program moves (sim/drive.h); NULL: none */
  char *seeding;          /* which of the scene's snow is there (sim/window_move.h); NULL likewise */
  char *scene;            /* text; from a file only, as the rest */
  char *resolved;         /* with all defaults */
  char *files;            /* scene_files.h; NULL where it names none */
  char *version, *commit; /* of the Firn that wrote it */
};

/* The logarithm of J_P, which some materials keep instead of it (material/model.h). */
extern const struct particle_field checkpoint_log;

/* Collective. `info` without its texts; fence as in writer.h. *bytes (may be NULL) becomes the file's size on
 * rank 0. */
int checkpoint_write(const struct comm *comm, const char *path, const struct scene *scene,
                     const struct particles *p, const struct checkpoint *info, const struct fence *fence,
                     int64_t *bytes, struct error *err);

/* Reads and checks everything but the rows. Not collective, no MPI. FIRN_EDAMAGED where the file is damaged
 * or is no checkpoint, FIRN_EFORMAT where it is a sound one of another format version, FIRN_EIO where the
 * system does not let us read it. *out is the caller's. */
int checkpoint_open(struct checkpoint **out, const char *path, struct error *err);
void checkpoint_destroy(struct checkpoint **checkpoint);

/* Frees the texts of one that is no checkpoint_open()'s. */
void checkpoint_forget(struct checkpoint *checkpoint);

/* Collective. Appends each rank's share of the rows to p, which must be empty, and checks them all. Fields
 * that p carries and the file does not keep their defaults only if `lenient`, but for stiffness and material,
 * which a file has where they differ; p comes to carry them then. On failure p is empty. `way` is the scene's
 * (NULL: the default): files are read as they are written. */
int checkpoint_read(const struct comm *comm, const char *path, const struct scene_writing *way, bool lenient,
                    struct particles *p, struct error *err);

/* The folder <output>/checkpoints, and the name of a checkpoint in it; to be freed with mem_free(). */
char *checkpoint_folder(const char *output);
char *checkpoint_path(const char *output, int64_t step);

/* The state before a step that failed: <output>/checkpoints/last_good_0000001200.h5. */
char *checkpoint_last_good_path(const char *output, int64_t step);

/* The step in the name of a checkpoint's file (no folder), -1 where it is no such name; and the same for a
 * last good state. */
int64_t checkpoint_number(const char *name);
int64_t checkpoint_last_good_number(const char *name);

/* Rank 0: the checkpoints of a folder, newest first: by generation, then by step. Those that cannot be used
 * are left out, and so are those of another run, unless run_id is empty; each is named in a warning where
 * `aloud`. `trouble` is the gravest reason among those: FIRN_EFORMAT before FIRN_EIO before FIRN_EDAMAGED. */
struct checkpoint_list {
  int count;
  char **paths;
  int left_out, strangers; /* strangers: sound ones of another run among those left out */
  struct error trouble;
};

/* An error where the folder cannot be read; one that is not there has none. *out is to be destroyed in any
 * case. */
int checkpoint_list_create(struct checkpoint_list **out, const char *output, const char *run_id, bool aloud,
                           struct error *err);
void checkpoint_list_destroy(struct checkpoint_list **list);

/* Rank 0: removes all of the run's but the newest `keep`, and never `written` or one that nobody may write
 * to. */
void checkpoint_prune(const char *output, const char *run_id, int keep, const char *written);

#endif
