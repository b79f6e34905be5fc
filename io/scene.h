/* A scene: everything a run needs, typed, validated, with defaults filled in.
 *
 * scene_parse() reads strict YAML: an unknown or missing key, a wrong type or an impossible value is an error
 * that names file, line, key, what was expected and the nearest valid key. Nothing here calls MPI: every rank
 * parses the same text (rank 0 reads and broadcasts it), so every rank comes to the same scene or to the same
 * error. */
#ifndef FIRN_IO_SCENE_H
#define FIRN_IO_SCENE_H

#include "base/error.h"
#include "bodies/body.h"
#include "io/scene_checkpoint.h"
#include "levelset/shape.h"

#include <stdbool.h>
#include <stdint.h>

struct assets;
struct comm;

enum scene_axis { AXIS_X, AXIS_Y, AXIS_Z, AXIS_AUTO };
enum scene_scheme { SCHEME_FLIP, SCHEME_APIC }; /* pic is flip with fraction 0 */
enum scene_kernel { KERNEL_CUBIC, KERNEL_QUADRATIC };
enum scene_force { FORCE_MPM, FORCE_MLS };
enum scene_leave { LEAVE_REMOVE, LEAVE_STOP };

struct material {
  char name[64];
  double density; /* kg/m^3 */
  double young;   /* Pa */
  double poisson;
  double hardening;            /* xi */
  double critical_compression; /* theta_c */
  double critical_stretch;     /* theta_s */
  double hardening_limit;      /* factor exp(xi (1 - J_P)) is kept within [1/limit, limit] */
  bool plastic;                /* false: singular values are not clamped */
};

enum snow_sampling { SAMPLING_SEQUENCE, SAMPLING_RANDOM, SAMPLING_JITTERED, SAMPLING_POISSON };

/* A part of a snow item that is made of something else: its shell, or a layer under its top. */
struct snow_zone {
  double depth;     /* m, to which it reaches; 0 where there is none */
  int material;     /* index into scene.materials */
  double stiffness; /* factor on the material's */
  double density;   /* factor on the material's */
};

/* Zone 0 is the inside, 1 the shell, the others are layers from the top down. Layers win over the shell. */
enum { ZONE_INSIDE, ZONE_SHELL, ZONE_LAYERS, SNOW_LAYERS = 8, SNOW_ZONES = ZONE_LAYERS + SNOW_LAYERS };

struct snow_noise {
  double stiffness, density; /* the factors go from 1/this to this; 1: none */
  double scale;              /* m, of its largest features */
  int octaves;
  int64_t period; /* features after which it repeats along each axis; 0 never */
  uint64_t seed;
};

struct snow_source {
  char name[64];
  int line;   /* in the scene file, for messages */
  char *file; /* particle file, found from the scene's folder; NULL for a shape */
  struct shape shape;
  int material;    /* index into scene.materials */
  int64_t count;   /* exact number of particles, or 0 */
  double per_cell; /* particles per full cell, or 0 */
  enum snow_sampling sampling;
  struct snow_zone zone[SNOW_ZONES];
  int zone_count; /* ZONE_LAYERS + layers */
  struct snow_noise noise;
  bool exact_volume;  /* V0 = shape volume / count instead of the first step's estimate */
  double velocity[3]; /* m/s */
  double spin[3];     /* rad/s, about the shape's centre */
  uint64_t seed;
};

struct scene_camera {
  bool given;
  double eye[3], target[3], up[3];
  double field_of_view; /* degrees, vertical */
};

/* The part of the domain that is simulated follows a body. */
struct scene_window {
  bool given;
  int axis;             /* 0 .. 2 */
  double direction;     /* 1 or -1: the way it moves along its axis */
  int body;             /* index into scene.bodies */
  double ahead, behind; /* m, from the body's origin */
};

enum frame_field {
  FRAME_MASS = 1 << 0,
  FRAME_DENSITY = 1 << 1,
  FRAME_JP = 1 << 2,
  FRAME_FE = 1 << 3,
  FRAME_STRESS = 1 << 4,
  FRAME_MATERIAL = 1 << 5,
};

struct scene {
  char *path;     /* as given on the command line */
  char *text;     /* the file's text with every --set override appended as a comment line */
  char *resolved; /* the scene with all defaults written out, as YAML; what the hash is taken of */
  uint64_t hash;  /* XXH3 of resolved */
  char name[128]; /* file name without folder and suffix, or the key `name` */

  double lower[3]; /* m */
  int64_t cells[3];
  double spacing; /* m */
  enum scene_axis slab_axis;
  enum scene_leave leave;

  double gravity[3]; /* m/s^2 */

  double end;        /* s */
  double step;       /* s, or 0 for auto */
  double max_step;   /* s, auto only */
  double cfl;        /* cells a particle or body may move in a step, auto only */
  double cfl_sound;  /* explicit limit: fraction of a cell that sound may cross, auto only */
  double frame_rate; /* 1/s */

  double beta; /* 0 explicit, 1/2 trapezoidal, 1 backward Euler */
  double tolerance;
  int max_iterations;

  enum scene_scheme scheme;
  enum scene_kernel kernel;
  enum scene_force force;
  double flip_fraction;

  struct material *materials;
  int material_count;
  struct snow_source *snow;
  int snow_count;
  struct body *bodies;
  int body_count;
  struct assets *assets; /* what their shapes were read from, once scene_load() was called */

  char *output;      /* folder; default "out/<name>" */
  unsigned fields;   /* enum frame_field bits */
  int frame_bits;    /* 32 or 64 */
  int frame_every;   /* write each n-th frame of frame_rate */
  int compression;   /* deflate level, 0 none */
  int history_every; /* steps between lines of the history; 0 for none */
  struct scene_camera camera;
  struct scene_window window;
  struct scene_checkpoint checkpoint;
};

/* Parses text (the contents of path). On success *out belongs to the caller. */
int scene_parse(struct scene **out, const char *path, const char *text, const char *const *overrides,
                int override_count, struct error *err);

/* Reads a whole scene file into a string that the caller frees with mem_free(). Size limit 16 MiB. */
int scene_read_text(char **out, const char *path, struct error *err);

/* Reads the files that shapes are made from (meshes, images, level-set keys; none: nothing happens), and
 * checks what only then can be checked. Collective over comm; a NULL comm means this process alone. */
int scene_load(struct scene *scene, const struct comm *comm, struct error *err);

/* Collective where scene_load() was. */
void scene_destroy(struct scene **scene);

/* The first frame at or after the scene's end, which is the last one; frames are 0 .. this. */
int64_t scene_last_frame(const struct scene *scene);

#endif
