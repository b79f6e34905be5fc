/* libfirn: Firn's snow solver inside another MPI program.
 *
 *   struct firn_error err;
 *   struct firn_scene *scene = NULL;
 *   struct firn_sim *sim = NULL;
 *   struct firn_options options = FIRN_OPTIONS_INIT;
 *   options.writes = 1;
 *   int code = firn_scene_load(&scene, comm, "snowball.yml", NULL, 0, &err);
 *   if (!code) code = firn_sim_create(&sim, comm, scene, &options, &err);
 *   if (!code) code = firn_sim_advance_to_end(sim, &err);
 *   if (!code) code = firn_sim_end(sim, &err);
 *   if (code) fprintf(stderr, "%s\n", err.text);
 *   firn_sim_destroy(&sim);
 *   firn_scene_destroy(&scene);
 *
 * Rules that hold for all calls. Units are SI. A function that can fail returns 0 or a negative enum
 * firn_status and fills *err (which may be NULL: the message is dropped). "Collective" means every rank of
 * the communicator calls it, in the same order, and all ranks return the same code with the same message;
 * after a failure nothing half-written is left behind, and unless the call says otherwise the object may only
 * be destroyed. What cannot be survived (out of memory, a bug) prints one line and ends the job with
 * MPI_Abort. Firn uses a duplicate of the communicator it is given, neither starts nor ends MPI, and installs
 * no signal handlers. MPI must be initialised before the first collective call and finalised after the last
 * destroy. Calls are not thread-safe; MPI_THREAD_FUNNELED is enough. A process may have several simulations
 * at once, on the same or on different communicators.
 *
 * The same scene gives bitwise the same particles on any number of ranks and threads, also when it is driven
 * from here, and the same as `firn run` if the caller changes nothing. docs/library.md has examples and says
 * what stays stable between versions. */
#ifndef FIRN_FIRN_H
#define FIRN_FIRN_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define FIRN_VERSION_MAJOR 0
#define FIRN_VERSION_MINOR 2
#define FIRN_VERSION_PATCH 0

#ifdef __GNUC__
#define FIRN_API __attribute__((visibility("default")))
#else
#define FIRN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum firn_status {
  FIRN_STATUS_OK = 0,
  FIRN_STATUS_INPUT = -1, /* the caller's input: scene, override, file contents, a call at the wrong time */
  FIRN_STATUS_IO = -2,    /* the machine: disk, permissions */
  FIRN_STATUS_LIMIT = -3, /* a count or size beyond what this build can hold */
  FIRN_STATUS_DIVERGED = -4, /* the simulation cannot continue: a step failed at every halving */
  FIRN_STATUS_STALE = -5,    /* another start of the same run has taken over its folder */
  FIRN_STATUS_DAMAGED = -6,  /* a file is not what was written */
  FIRN_STATUS_FORMAT = -7,   /* a sound file of a format version that this Firn does not read */
  FIRN_STATUS_STOPPED = -8   /* a hook, firn_sim_stop() or the time limit ended the run */
};

struct firn_error {
  int code;        /* enum firn_status */
  char text[1024]; /* one line without a newline: what, where, what to do */
};

/* "0.2.0 (commit 0123456789ab)", of the library. Static storage. No call of this section is collective. */
FIRN_API const char *firn_version(void);

/* 1 if the library is of this version or a later one, else 0. FIRN_VERSION_* are those of the header. */
FIRN_API int firn_version_at_least(int major, int minor, int patch);

/* --- messages ----------------------------------------------------------------------------------------- */

enum firn_log_level { FIRN_LOG_QUIET, FIRN_LOG_WARNINGS, FIRN_LOG_INFO };

/* For the whole process; the level is FIRN_LOG_WARNINGS at first. Only rank 0 of the simulation that a call
 * belongs to prints: to stderr, or to the handler, which gets one line without a newline. NULL: stderr again.
 */
typedef void firn_log_handler(void *context, int level, const char *line);
FIRN_API void firn_log_level(int level);
FIRN_API void firn_log_to(firn_log_handler *handler, void *context);

/* Called on the rank that ends the job, after the line was printed and before MPI_Abort. It may do its own
 * reporting; it cannot prevent the end. NULL: none. */
typedef void firn_fatal_handler(void *context, const char *line);
FIRN_API void firn_on_fatal(firn_fatal_handler *handler, void *context);

/* --- MPI for languages without mpi.h ------------------------------------------------------------------ */

/* Starts MPI (funneled) unless it is running. Returns 1 if this call started it; firn_mpi_stop() then ends
 * it. */
FIRN_API int firn_mpi_start(void);
FIRN_API void firn_mpi_stop(void);

/* All ranks, this process alone, and the communicator of a Fortran handle (MPI_Comm_f2c). */
FIRN_API MPI_Comm firn_mpi_world(void);
FIRN_API MPI_Comm firn_mpi_self(void);
FIRN_API MPI_Comm firn_mpi_from_fortran(int handle);

/* The number of ranks of a communicator. firn_mpi_abort() ends all ranks at once: for a program that fails on
 * one rank while others wait for it. */
FIRN_API int firn_mpi_size(MPI_Comm comm);
FIRN_API void firn_mpi_abort(int code);

/* --- scenes ------------------------------------------------------------------------------------------- */

/* A scene: what to simulate, read-only once made. */
struct firn_scene;

/* Collective. Rank 0 reads the file and all ranks parse it. overrides are `count` strings "path=value" as
 * `firn run --set` takes them, the same on all ranks; NULL with 0 for none. On success *out is the caller's,
 * to be destroyed with firn_scene_destroy(); on failure *out is NULL. */
FIRN_API int firn_scene_load(struct firn_scene **out, MPI_Comm comm, const char *path,
                             const char *const *overrides, int count, struct firn_error *err);

/* The same from text in memory. Not collective, no MPI: every rank must give the same text. `name` is used in
 * place of the file's path in messages and for the scene's name; particle files are looked for relative to
 * its folder. */
FIRN_API int firn_scene_parse(struct firn_scene **out, const char *name, const char *text,
                              const char *const *overrides, int count, struct firn_error *err);

/* Accepts NULL; sets *scene to NULL. No simulation made from it may be alive. Collective over the
 * communicator that loaded it if the scene's shapes are made from files (meshes, images, level-set keys),
 * since the ranks of a node share what was read; such files are read by firn_scene_load() or, after
 * firn_scene_parse(), by the first firn_sim_create(). Not collective otherwise. */
FIRN_API void firn_scene_destroy(struct firn_scene **scene);

/* Not collective, cannot fail. Strings belong to the scene. `output` is the folder that frames go to,
 * `resolved` the YAML with all defaults and overrides filled in. */
FIRN_API const char *firn_scene_name(const struct firn_scene *scene);
FIRN_API const char *firn_scene_output(const struct firn_scene *scene);
FIRN_API const char *firn_scene_resolved(const struct firn_scene *scene);
FIRN_API double firn_scene_end(const struct firn_scene *scene); /* s */
/* 1/s; frame k is at time k / rate, except for the last one: it is at the end */
FIRN_API double firn_scene_frame_rate(const struct firn_scene *scene);
FIRN_API int64_t firn_scene_last_frame(const struct firn_scene *scene); /* frames are 0 ... this */

/* --- simulations -------------------------------------------------------------------------------------- */

/* A simulation: the state at one time, spread over the ranks of its communicator. */
struct firn_sim;

/* Begin with FIRN_OPTIONS_INIT, then set what differs: later versions may add members at the end. */
struct firn_options {
  int version; /* FIRN_OPTIONS_VERSION */
  /* 1: the simulation is a run as `firn run` makes it, in the scene's folder: frames, checkpoints, history,
   * probes, run.json, and a checkpoint at the time limit of a job. 0: it writes nothing by itself. */
  int writes;
  const char *restart; /* NULL: from the scene; "auto": from the folder's newest checkpoint; or a file */
  int force;           /* 1: as `firn run --force` */
  int threads;         /* per rank; 0: OMP_NUM_THREADS, else the cores that the rank may use */
  int bind;            /* 1: each thread to a core of its own; 0: binding is left as it is */
  const char *isa;     /* kernels by name; NULL: the best that all ranks have */
};
#define FIRN_OPTIONS_VERSION 1
#define FIRN_OPTIONS_INIT                                                                                    \
  {                                                                                                          \
    FIRN_OPTIONS_VERSION, 0, NULL, 0, 0, 0, NULL                                                             \
  }

/* Collective. Seeds or reads the snow, or restores it, and cuts the slabs. Writes nothing unless the options
 * (NULL: FIRN_OPTIONS_INIT) say so. The scene stays the caller's and must live longer than the simulation.
 * *out is the caller's, NULL on failure. */
FIRN_API int firn_sim_create(struct firn_sim **out, MPI_Comm comm, const struct firn_scene *scene,
                             const struct firn_options *options, struct firn_error *err);

/* Collective. Ends a run that writes: a checkpoint if it is not at the scene's end, the record run.json, and
 * the last lines of the log. Afterwards the simulation can only be destroyed. */
FIRN_API int firn_sim_end(struct firn_sim *sim, struct firn_error *err);

/* Collective. Accepts NULL on all ranks; sets *sim to NULL. A run that was not ended can be restarted from
 * its last checkpoint. */
FIRN_API void firn_sim_destroy(struct firn_sim **sim);

/* Collective. One time step, of the length that the scene's rule gives, cut so that it does not go past the
 * next frame or the scene's end. If the step is halved, all its parts are taken. A run that writes then
 * writes what is due, and returns FIRN_STATUS_INPUT at the scene's end; others may continue beyond it. */
FIRN_API int firn_sim_step(struct firn_sim *sim, struct firn_error *err);

/* Collective. Steps until the time is exactly that of the frame: frame / frame_rate, or the scene's end for
 * its last frame. Does nothing if it is at that frame; a frame in the past is FIRN_STATUS_INPUT. */
FIRN_API int firn_sim_advance_to_frame(struct firn_sim *sim, int64_t frame, struct firn_error *err);

/* Collective. The same to a time (s). Between two frames the last step is cut, so later states have the bits
 * of a run that also stops there. */
FIRN_API int firn_sim_advance_to_time(struct firn_sim *sim, double time, struct firn_error *err);

/* Collective. Steps to the scene's end, or until a stop is requested (firn_sim_info.stopping). */
FIRN_API int firn_sim_advance_to_end(struct firn_sim *sim, struct firn_error *err);

/* Collective. Writes the state as <output>/frames/frame_<frame>.h5, complete or not at all, and updates the
 * XDMF series. FIRN_STATUS_INPUT between two frames; the simulation may then continue. Replaces a file of
 * that name. A run that writes does this by itself. */
FIRN_API int firn_sim_write_frame(struct firn_sim *sim, struct firn_error *err);

/* Collective. A checkpoint of the state, in a run that writes; FIRN_STATUS_INPUT in others. If a hook calls
 * this, the checkpoint is written at the end of the step, after the hook `after`. */
FIRN_API int firn_sim_write_checkpoint(struct firn_sim *sim, struct firn_error *err);

/* Not collective: any rank may call it, also from a signal handler. The simulation stops on all ranks after
 * the step that is running, or the next one. It writes a checkpoint if it writes, and sets
 * firn_sim_info.stopping. */
FIRN_API void firn_sim_stop(struct firn_sim *sim);

/* The same on all ranks. */
struct firn_sim_info {
  double time;        /* s */
  double last_step;   /* s, length of the last step; 0 before the first */
  int64_t step;       /* steps taken, halves counted one by one */
  int64_t frame;      /* the last frame that was reached */
  int on_frame;       /* 1 if the time is exactly that frame's */
  int64_t particles;  /* in the whole simulation */
  int64_t removed;    /* particles that left the domain or were removed since time 0 */
  int64_t halvings;   /* steps that were cut in two */
  int64_t iterations; /* of the solver, in all */
  double max_speed;   /* m/s, of any particle */
  int over;           /* 1 at the scene's end */
  int stopping;       /* 1 after a stop was requested */
  int threads;        /* of this rank */
};

/* Not collective, cannot fail. */
FIRN_API void firn_sim_get_info(const struct firn_sim *sim, struct firn_sim_info *info);

/* --- between steps ------------------------------------------------------------------------------------ */

/* Called on all ranks before and after each step (NULL: not called). Both may read everything, move bodies,
 * and change and commit particles, but not step. If a hook returns other than 0 on any rank, the step returns
 * FIRN_STATUS_STOPPED on all ranks, after it has written what is due; the simulation may then continue.
 * Changes by `before` are made again after a restart, so they must follow from the state. Changes by `after`
 * are part of the next checkpoint. */
typedef int firn_hook(void *context, struct firn_sim *sim);
FIRN_API void firn_sim_set_hooks(struct firn_sim *sim, firn_hook *before, firn_hook *after, void *context);

/* Accelerations (m/s^2) in addition to gravity, at `count` points with components x[0], x[1], x[2]. The
 * function fills in a[], which is zero. On nodes they act as gravity does, and id is NULL. On particles they
 * change velocities by a * step before each step. A rank gets its own points, in any number of calls, and
 * those that it shares with a neighbour. The bits do not depend on ranks if a follows from x, id and time
 * alone. Not allowed with output.budget, which does not count their work: FIRN_STATUS_INPUT. NULL: none. Same
 * calls on all ranks. If a rank gives a value that is not finite or above 1e15, the step is FIRN_STATUS_INPUT
 * on all ranks. */
typedef void firn_acceleration(void *context, double time, int64_t count, const double *const x[3],
                               const uint64_t *id, double *const a[3]);
FIRN_API int firn_sim_accelerate_nodes(struct firn_sim *sim, firn_acceleration *give, void *context,
                                       struct firn_error *err);
FIRN_API int firn_sim_accelerate_particles(struct firn_sim *sim, firn_acceleration *give, void *context,
                                           struct firn_error *err);

/* --- bodies ------------------------------------------------------------------------------------------- */

struct firn_body {
  int present;                 /* 1: it exists at this time; else the rest is 0 */
  double origin[3];            /* m, where its pivot is */
  double turn[9];              /* rotation since time 0, by rows */
  double velocity[3], spin[3]; /* m/s of the pivot, rad/s */
  int measured;                /* 1: the scene says `measure: true`; else the rest is 0 */
  double force[3], torque[3];  /* N, N m about the pivot: of the snow on the body, mean of the last step */
  double area;                 /* m^2 in contact, likewise */
};

/* Not collective. Bodies are 0 ... count - 1 in the scene's order. The index of a name is -1 if there is
 * none. */
FIRN_API int firn_sim_body_count(const struct firn_sim *sim);
FIRN_API const char *firn_sim_body_name(const struct firn_sim *sim, int body);
FIRN_API int firn_sim_find_body(const struct firn_sim *sim, const char *name);
FIRN_API int firn_sim_get_body(const struct firn_sim *sim, int body, struct firn_body *out,
                               struct firn_error *err);

/* Same call with the same numbers on all ranks. The body then moves from its present place with this velocity
 * (m/s, of its pivot) and spin (rad/s) until the next call; the scene's motion ends. Checkpoints keep this.
 * Not allowed for the body that a window follows. After a failure the simulation may continue. */
FIRN_API int firn_sim_move_body(struct firn_sim *sim, int body, const double velocity[3],
                                const double spin[3], struct firn_error *err);

/* --- particles ---------------------------------------------------------------------------------------- */

/* This rank's particles, one array per component (tensors row-major). The arrays belong to the simulation:
 * they are read-only, and invalid after the next step, advance, write, add, remove, commit or destroy. Their
 * order is (cell, id). The rank that holds a particle may change with every step; its id never does. */
struct firn_particles {
  int64_t count; /* on this rank; may be 0 */
  const uint64_t *id;
  const double *position[3]; /* m */
  const double *velocity[3]; /* m/s */
  const double *mass;        /* kg */
  const double *volume;      /* m^3, at rest */
  const double *elastic[9];  /* F_E */
  const double *plastic;     /* J_P = det F_P, for every material */
  const uint32_t *material;  /* index in the order of the scene's materials */
};

/* Not collective, cannot fail. */
FIRN_API void firn_sim_get_particles(const struct firn_sim *sim, struct firn_particles *particles);

enum firn_type { FIRN_TYPE_F64, FIRN_TYPE_U64, FIRN_TYPE_U32 };

/* One field of this rank's particles, under its name in files (docs/file-format.md): id, position, velocity,
 * mass, volume, FE, JP, and all others that the scene's particles have. */
struct firn_field {
  const char *name, *unit;
  int type;             /* enum firn_type */
  int components;       /* 1, 3 or 9 */
  int64_t count;        /* of this rank */
  const void *array[9]; /* one per component, as in struct firn_particles */
};

/* Not collective. Fields are 0 ... count - 1. */
FIRN_API int firn_sim_field_count(const struct firn_sim *sim);
FIRN_API int firn_sim_get_field(const struct firn_sim *sim, int k, struct firn_field *out,
                                struct firn_error *err);
FIRN_API int firn_sim_find_field(const struct firn_sim *sim, const char *name, struct firn_field *out,
                                 struct firn_error *err);

/* Collective. Changes are made in any number of calls and then committed. The commit checks the whole, and
 * brings particles to their ranks and into order. A step before the commit is FIRN_STATUS_INPUT.
 *
 * write: a field (not id) of all particles of this rank, in their order, count x components.
 * add: `count` new particles of this rank (which may be 0), with `columns` fields by name, in the same
 * layout. position and mass are required. Without `id` they get new ids, rank by rank. Given ids must be
 * unused and below 2^52; the snow of a window has all of its ids from the start. remove: the particles of
 * this rank whose flag is not 0. There is one flag for each particle that existed before add.
 *
 * Impossible values are FIRN_STATUS_INPUT. If write, add or remove fails, the simulation is unchanged and may
 * continue. */
FIRN_API int firn_sim_write(struct firn_sim *sim, const char *field, const void *values,
                            struct firn_error *err);
FIRN_API int firn_sim_add(struct firn_sim *sim, int64_t count, int columns, const char *const *fields,
                          const void *const *values, struct firn_error *err);
FIRN_API int firn_sim_remove(struct firn_sim *sim, const unsigned char *flags, struct firn_error *err);
FIRN_API int firn_sim_commit(struct firn_sim *sim, struct firn_error *err);

/* Collective. Density (kg/m^3) and velocity (m/s, three per point) on the grid, at `count` points with three
 * coordinates each, the same on all ranks. Points without snow give 0. Every rank gets all values. */
FIRN_API int firn_sim_sample(struct firn_sim *sim, int64_t count, const double *points, double *density,
                             double *velocity, struct firn_error *err);

#ifdef __cplusplus
}
#endif

#endif
