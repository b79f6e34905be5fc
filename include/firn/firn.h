/* libfirn: Firn's snow solver inside another MPI program.
 *
 *   struct firn_error err;
 *   struct firn_scene *scene = NULL;
 *   struct firn_sim *sim = NULL;
 *   int code = firn_scene_load(&scene, comm, "snowball.yml", NULL, 0, &err);
 *   if (!code) code = firn_sim_create(&sim, comm, scene, &err);
 *   for (int64_t k = 0; !code && k <= firn_scene_last_frame(scene); k++) {
 *     code = firn_sim_advance_to_frame(sim, k, &err);
 *     if (!code) code = firn_sim_write_frame(sim, &err);
 *   }
 *   if (code) fprintf(stderr, "%s\n", err.text);
 *   firn_sim_destroy(&sim);
 *   firn_scene_destroy(&scene);
 *
 * Rules that hold for all calls. Units are SI. A function that can fail returns 0 or a negative enum
 * firn_status and fills *err (which may be NULL: the message is dropped). "Collective" means every rank of
 * the communicator calls it, in the same order, and all ranks return the same code with the same message;
 * after a failure nothing half-written is left behind, and the object may only be destroyed. What cannot be
 * survived (out of memory, NaN in the state) prints one line and ends the job with MPI_Abort. Firn talks on a
 * duplicate of the communicator it is given, starts and ends no MPI, and installs no signal handlers. MPI
 * must be initialised before the first collective call and finalised after the last destroy. Calls are not
 * thread-safe; MPI_THREAD_FUNNELED is enough.
 *
 * The same scene gives bitwise the same particles on any number of ranks, also when it is driven from here.
 */
#ifndef FIRN_FIRN_H
#define FIRN_FIRN_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum firn_status {
  FIRN_STATUS_OK = 0,
  FIRN_STATUS_INPUT = -1, /* the caller's input: scene, override, file contents, a call at the wrong time */
  FIRN_STATUS_IO = -2,    /* the machine: disk, permissions */
  FIRN_STATUS_LIMIT = -3, /* a count or size beyond what this build can hold */
  FIRN_STATUS_DIVERGED =
      -4, /* the simulation cannot go on: a step that no halving saves, a particle that left */
};

struct firn_error {
  int code;        /* enum firn_status */
  char text[1024]; /* one line without a newline: what, where, what to do */
};

/* "0.1.0 (commit 0123456789ab)". Static storage. Not collective. */
const char *firn_version(void);

/* A scene: what to simulate, read-only once made. */
struct firn_scene;

/* Collective. Rank 0 reads the file and all ranks parse it. overrides are `count` strings "path=value" as
 * `firn run --set` takes them, the same on all ranks; NULL with 0 for none. On success *out is the caller's,
 * to be destroyed with firn_scene_destroy(); on failure *out is NULL. */
int firn_scene_load(struct firn_scene **out, MPI_Comm comm, const char *path, const char *const *overrides,
                    int count, struct firn_error *err);

/* The same from text in memory. Not collective, no MPI: every rank must give the same text. `name` stands in
 * for the file's path in messages and in the scene's name; particle files are looked for relative to its
 * folder. */
int firn_scene_parse(struct firn_scene **out, const char *name, const char *text,
                     const char *const *overrides, int count, struct firn_error *err);

/* Accepts NULL; sets *scene to NULL. No simulation made from it may be alive. Collective over the
 * communicator that loaded it if the scene's shapes are made from files (meshes, images, level-set keys),
 * since the ranks of a node share what was read; such files are read by firn_scene_load() or, after
 * firn_scene_parse(), by the first firn_sim_create(). Not collective otherwise. */
void firn_scene_destroy(struct firn_scene **scene);

/* Not collective, cannot fail. Strings belong to the scene. `output` is the folder that frames go to,
 * `resolved` the YAML with all defaults and overrides filled in. */
const char *firn_scene_name(const struct firn_scene *scene);
const char *firn_scene_output(const struct firn_scene *scene);
const char *firn_scene_resolved(const struct firn_scene *scene);
double firn_scene_end(const struct firn_scene *scene);         /* s */
double firn_scene_frame_rate(const struct firn_scene *scene);  /* 1/s; frame k is at time k / rate, but for
                                                                  the last one: it is at the end */
int64_t firn_scene_last_frame(const struct firn_scene *scene); /* frames are 0 ... this, both included */

/* A running simulation: the state at one time, spread over the ranks of its communicator. */
struct firn_sim;

/* Collective. Seeds or reads the snow, cuts the slabs, and stands at time 0, which is frame 0. Reads the
 * scene's particle files, writes nothing. The scene stays the caller's and must live longer than the
 * simulation. *out is the caller's, NULL on failure. */
int firn_sim_create(struct firn_sim **out, MPI_Comm comm, const struct firn_scene *scene,
                    struct firn_error *err);

/* Collective. Accepts NULL on all ranks; sets *sim to NULL. */
void firn_sim_destroy(struct firn_sim **sim);

/* Collective. One time step, of the length that the scene's rule gives, cut so that it does not go past the
 * next frame or the scene's end. It may be several half steps inside; the state is then the one after the
 * last of them. */
int firn_sim_step(struct firn_sim *sim, struct firn_error *err);

/* Collective. Steps until the time is exactly that of the frame: frame / frame_rate, or the scene's end for
 * its last frame. The frame it stands on is no work; one that lies in the past is FIRN_STATUS_INPUT. May go
 * beyond the scene's end. */
int firn_sim_advance_to_frame(struct firn_sim *sim, int64_t frame, struct firn_error *err);

/* Collective. Writes the state as <output>/frames/frame_<frame>.h5, complete or not at all, and renews the
 * XDMF series. FIRN_STATUS_INPUT between two frames. Replaces a file of that name. */
int firn_sim_write_frame(struct firn_sim *sim, struct firn_error *err);

/* The same on all ranks. */
struct firn_sim_info {
  double time;       /* s */
  double last_step;  /* s, length of the last step; 0 before the first */
  int64_t step;      /* steps taken, halves counted one by one */
  int64_t frame;     /* the last frame that was reached */
  int on_frame;      /* 1 if the time is exactly that frame's */
  int64_t particles; /* in the whole simulation */
  int64_t removed;   /* particles that left the domain since time 0 */
};

/* Not collective, cannot fail. */
void firn_sim_get_info(const struct firn_sim *sim, struct firn_sim_info *info);

/* This rank's particles, one array a component (tensors row-major). The arrays are the simulation's own:
 * read-only, and gone with the next step, advance or destroy. Their order is (cell, id); which rank holds a
 * particle may change with every step, its id never does. */
struct firn_particles {
  int64_t count; /* on this rank; may be 0 */
  const uint64_t *id;
  const double *position[3]; /* m */
  const double *velocity[3]; /* m/s */
  const double *mass;        /* kg */
  const double *volume;      /* m^3, at rest; 0 before the first step unless the scene gave it */
  const double *elastic[9];  /* F_E */
  const double *plastic;     /* J_P = det F_P */
  const uint32_t *material;  /* index in the order of the scene's materials */
};

/* Not collective, cannot fail. */
void firn_sim_get_particles(const struct firn_sim *sim, struct firn_particles *particles);

#ifdef __cplusplus
}
#endif

#endif
