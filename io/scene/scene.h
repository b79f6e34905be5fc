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
#include "io/scene/scene_checkpoint.h"
#include "io/scene/scene_writing.h"
#include "levelset/shape.h"
#include "material/heat_law.h"
#include "material/material.h"

#include <stdbool.h>
#include <stdint.h>

struct assets;
struct comm;

enum scene_axis { AXIS_X, AXIS_Y, AXIS_Z, AXIS_AUTO };
enum scene_scheme { SCHEME_FLIP, SCHEME_APIC }; /* pic is flip with fraction 0 */
enum scene_kernel { KERNEL_CUBIC, KERNEL_QUADRATIC };
enum scene_force { FORCE_MPM, FORCE_MLS };
enum scene_leave { LEAVE_REMOVE, LEAVE_STOP };

enum snow_sampling { SAMPLING_SEQUENCE, SAMPLING_RANDOM, SAMPLING_JITTERED, SAMPLING_POISSON };

/* A part of a snow item that is made of something else: its shell, or a layer under its top. */
struct snow_zone {
  double depth;       /* m, to which it reaches; 0 where there is none */
  int material;       /* index into scene.materials */
  double stiffness;   /* factor on the material's */
  double density;     /* factor on the material's */
  double temperature; /* K; 0: that of the item */
};

/* Zone 0 is the inside, 1 the shell, the others are layers from the top down. Layers win over the shell. */
enum { ZONE_INSIDE, ZONE_SHELL, ZONE_LAYERS, SNOW_LAYERS = 8, SNOW_ZONES = ZONE_LAYERS + SNOW_LAYERS };

struct snow_noise {
  double stiffness, density; /* the factors go from 1/this to this; 1: none */
  double temperature;        /* K, by which it is warmer or colder at most */
  double scale;              /* m, of its largest features */
  int octaves;
  int64_t period; /* features after which it repeats along each axis; 0 never */
  uint64_t seed;
};

struct snow_source {
  char name[BODY_NAME];
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
  /* In a scene with `heat`; of a file only where the scene says so, and the file does not. */
  bool liquid, phase_given;
  bool temperature_given;
  double temperature;   /* K */
  struct ramp by_depth; /* keys of the temperature over depth (m); owned, empty for none */
  double conductivity;  /* W/(m K), while solid; 0: by density */
};

/* Where pictures are taken from. With keys it moves: scene_camera_at() says where it is. */
struct scene_camera {
  bool given;
  double eye[3], target[3], up[3];
  double field_of_view; /* degrees, vertical */
  double aperture;      /* m, diameter of the lens; 0: all is sharp */
  double focus;         /* m from the eye to what is sharp; 0: the target */
  /* Keys; owned by the scene, NULL for none. `move` is eye, target, and (field_of_view, aperture, focus). */
  struct motion *eye_keys, *target_keys, *lens_keys;
};

enum scene_sky { SKY_CLEAR, SKY_OVERCAST, SKY_GRADIENT };

struct scene_sun {
  bool given;          /* direction is */
  double direction[3]; /* unit, towards the sun */
  double turbidity;    /* haze of a clear sky: 2 little .. 10 much */
  double size;         /* degrees across; 0: the real 0.53 */
  double strength;     /* of its light, relative to the real one; 0: 1 */
  enum scene_sky sky;
};

/* The part of the domain that is simulated follows a body. */
struct scene_window {
  bool given;
  int axis;             /* 0 .. 2 */
  double direction;     /* 1 or -1: the way it moves along its axis */
  int body;             /* index into scene.bodies */
  double ahead, behind; /* m, from the body's origin */
};

/* Snow that comes in while a run goes on, and places where it is taken out. */
struct scene_source {
  char name[NAME_SIZE];
  int line; /* in the scene file, for messages */
  struct shape shape;
  double rate; /* kg/s */
  double velocity[3];
  double from, until; /* s; until may be infinite */
  int material;
  double per_cell, mass; /* mass: kg, of a particle */
  uint64_t seed;
  bool liquid;         /* with heat, as the next two */
  double temperature;  /* K */
  double conductivity; /* W/(m K), of the solid */
};

struct scene_sink {
  struct shape shape;
  double from, until; /* s */
};
enum { SCENE_SOURCES = 1000 }; /* at most, of each */

/* Ground from a file. World x is to the east, y up, z to the south; `origin` is where they are 0. */
struct scene_terrain {
  bool given;
  int line;   /* in the scene file, for messages */
  char *file; /* owned, as the next */
  char **zone_files;
  int zone_count;
  bool cut, origin_given, fill;
  double within[4];        /* m on the map: west, east, south, north */
  double origin[3];        /* m on the map: east, north, height */
  double smoothing;        /* m */
  bool maps;               /* the run makes maps of the flow (sim/maps.h) */
  double least;            /* m: thinner flow, normal to the ground, counts as none there */
  struct raster *raster;   /* heights (m), once it is loaded; owned */
  struct heights *heights; /* the same for shapes, from the lowest point; owned */
};

/* Where a run measures the snow. */
enum probe_kind {
  PROBE_POINT,
  PROBE_INSIDE,
  PROBE_LINE,
  PROBE_PROFILE,
  PROBE_FLUX,
  PROBE_DEPOSIT,
  PROBE_KINDS
};

struct scene_probe {
  char name[NAME_SIZE];
  int line; /* in the scene file, for messages */
  enum probe_kind kind;
  double low[3], high[3]; /* m; line: its ends; profile: corners; flux: a point and the normal; deposit: high
                             is the direction */
  double radius;          /* m, around points */
  int regions;            /* points of a line, slices of a profile */
  int axis;               /* of a profile */
  struct shape shape;     /* inside; deposit: what it lies on, SHAPE_NONE for nothing; owned */
};

struct scene {
  char *path;     /* as given on the command line */
  char *text;     /* the file's text with every --set override appended as a comment line */
  char *resolved; /* the scene with all defaults written out, as YAML; what the hash is taken of */
  char *files; /* what the files hold that it names (scene_files.h); NULL for none, or before scene_load() */
  uint64_t hash;  /* XXH3 of resolved; of files too, where there are any */
  char name[128]; /* file name without folder and suffix, or the key `name` */

  double lower[3]; /* m */
  int64_t cells[3];
  double spacing; /* m */
  enum scene_axis slab_axis;
  enum scene_leave leave;
  int copies;         /* of the scene, side by side along the slab axis; cells are those of all */
  int64_t copy_cells; /* from one copy to the next */

  double gravity[3]; /* m/s^2 */

  double end;        /* s */
  double step;       /* s, or 0 for auto */
  double max_step;   /* s, auto only */
  double cfl;        /* cells a particle or body may move in a step, auto only */
  double cfl_sound;  /* explicit limit: fraction of a cell that sound may cross, auto only */
  double frame_rate; /* 1/s */

  double beta;         /* 0 explicit, 1/2 trapezoidal, 1 backward Euler */
  bool stop_by_strain; /* `tolerance` is of a cell's strain in a step, not of the velocities before the solve
                        */
  double tolerance;
  int max_iterations;
  int flow_repeats; /* of a solve in which particles with the operator `flow` create energy (sim/flow_solve.h)
                     */
  bool slide;       /* nodes that slide on bodies are solved for along these; else bodies hold them */
  bool gap;         /* bodies act once snow has reached their surface, not their nodes (bodies/gap.h) */
  bool whole_friction; /* by the normal impulse of the whole step, with a second solve (sim/friction.h) */
  bool jacobi;         /* it is preconditioned with the diagonal */
  bool pipelined;      /* the solve hides its sums behind its products (solver/cr.h) */
  bool mixed; /* its products are in single precision, all else in double (kernels/hessian_mixed.c) */

  enum scene_scheme scheme;
  enum scene_kernel kernel;
  enum scene_force force;
  double flip_fraction;

  struct air *air; /* the section `air` (bodies/air.h); owned, NULL for none */
  bool has_heat;   /* the section `heat` is there */
  struct heat_law heat;

  struct scene_terrain terrain;

  struct material *materials;
  int material_count;
  struct snow_source *snow;
  int snow_count;
  struct body *bodies;
  int body_count;
  int snow_own, body_own; /* the first so many are the scene's; the others are copies that own nothing */
  struct assets *assets;  /* what their shapes were read from, once scene_load() was called */
  bool loaded;            /* by scene_load(), wholly */

  char *output;    /* folder; default "out/<name>" */
  unsigned fields; /* of frames: bits of frame_words() */
  int frame_bits;  /* 32 or 64 */
  int frame_every; /* write each n-th frame of frame_rate */
  int compression; /* deflate level, 0 none */
  bool vtkhdf;     /* frames are VTKHDF files too */
  struct scene_writing writing;
  int history_every; /* steps between lines of the history; 0 for none */
  bool budget;       /* where the energy goes, in the history */
  int probes_every;  /* steps between lines of probes.csv */
  struct scene_source *sources;
  int source_count;
  struct scene_sink *sinks;
  int sink_count;
  struct scene_probe *probes;
  int probe_count;
  struct scene_camera camera;
  struct scene_sun sun;
  struct scene_window window;
  struct scene_checkpoint checkpoint;
};

/* Parses text (the contents of path). On success *out belongs to the caller. */
int scene_parse(struct scene **out, const char *path, const char *text, const char *const *overrides,
                int override_count, struct error *err);

/* The same for the text that a frame holds: what earlier versions accepted must stay readable, so keys
 * without effect are passed over. */
int scene_parse_stored(struct scene **out, const char *path, const char *text, struct error *err);

/* Reads a whole scene file into a string that the caller frees with mem_free(). Size limit 16 MiB. */
int scene_file_text(char **out, const char *path, struct error *err);

/* Reads the files that shapes are made from (meshes, images, level-set keys), makes the copies that the scene
 * asks for, and checks what only then can be checked. What the files hold becomes part of the scene's hash.
 * A second call of a loaded scene does nothing: simulations hold pointers to its snow and bodies. For scenes
 * without files and copies it may be left out. Collective over comm; a NULL comm means this process alone. */
int scene_load(struct scene *scene, const struct comm *comm, struct error *err);

/* A sentence's end about a shape of a mesh that is far too large for the domain, as one in centimetres is;
 * nothing about others. */
const char *scene_guess_scale(const struct scene *scene, const struct shape *shape);

/* Looks into the particle files that the scene names: whether they are there, hold what they must, and lie in
 * the domain, as far as a sample of their rows shows it. *rows is the number of particles in all of them.
 * Collective over comm, or this process alone for NULL. */
int scene_check_files(const struct scene *scene, const struct comm *comm, int64_t *rows, struct error *err);

/* An error where an item of snow gives what its particle file, which has these columns, holds already. */
int scene_check_columns(const struct snow_source *snow, unsigned columns, struct error *err);

/* Collective where scene_load() was. */
void scene_destroy(struct scene **scene);

/* s: the longest step that gravity allows. Liquid at rest gets currents of its own in longer steps than this
 * (docs/method.md, limits of heat and liquid). */
double scene_gravity_step(const struct scene *scene);

/* Semi-implicit steps leave out the viscosity of materials that take time: the limit (s) of automatic steps,
 * INFINITY without one. */
double scene_viscous_step(const struct scene *scene);

/* Frees what it owns. */
void scene_forget_terrain(struct scene_terrain *terrain);

/* Whether some body has the friction of a layered ground (bodies/ground.h). */
bool scene_has_layers(const struct scene *scene);

/* kg/m^3, of an item's inside. */
static inline double scene_density(const struct scene *scene, const struct snow_source *snow)
{
  return snow->liquid ? scene->heat.rho_liquid : scene->materials[snow->material].density;
}

/* Whether one copy of the affine state B is enough, which a pass of its own finds after each step: where that
 * costs little, beside a solve, or with classic forces, whose gradient is another gather in any case. The
 * budget of energy must have it before a step is accepted. */
static inline bool scene_affine_once(const struct scene *scene)
{
  return scene->scheme == SCHEME_APIC && (scene->beta > 0.0 || scene->force != FORCE_MLS) && !scene->budget;
}

/* Whether sound limits the step: in explicit steps of any material, in others if some material has no part in
 * the solve. */
bool scene_sound_binds(const struct scene *scene);

/* Whether the first step estimates V0 of an item that is a shape. */
static inline bool scene_estimates_volume(const struct scene *scene, const struct snow_source *snow)
{
  return !snow->file && !snow->exact_volume && !snow->liquid && !scene->window.given;
}

/* Whether particles of some snow have another stiffness than their material's. */
bool scene_stiffness_varies(const struct scene *scene);

/* Sources of snow that are no copies. */
static inline int scene_own_snow(const struct scene *scene)
{
  return scene->snow_own ? scene->snow_own : scene->snow_count;
}

/* Bodies that are no copies. */
static inline int scene_own_bodies(const struct scene *scene)
{
  return scene->snow_own ? scene->body_own : scene->body_count;
}

/* The least cells from one copy of the scene to the next at which neither snow nor bodies of one reach into
 * another; those of one copy where nothing tells. *snow_touches: whether it is the snow that meets. For a
 * loaded scene. */
int64_t scene_touching_cells(const struct scene *scene, bool *snow_touches);

/* The camera at a time (s), without keys. */
struct scene_camera scene_camera_at(const struct scene_camera *camera, double time);

/* Frames are 0 .. this. They are at k / frame_rate, but for the last one: it is at the scene's end, which may
 * come earlier. */
int64_t scene_last_frame(const struct scene *scene);
double scene_frame_time(const struct scene *scene, int64_t frame); /* s */

/* How dense a source's stream is where it leaves the source, as a share of the density at rest: infinite if
 * nothing carries it away. */
double scene_source_fill(const struct scene *scene, const struct scene_source *source);

/* What the source brings flies until it lands (docs/method.md). A stream that is nearly full is a solid jet.
 */
bool scene_source_is_thin(const struct scene *scene, const struct scene_source *source);

/* s, of the last frame: the scene's end, or the beat of the frames that it is meant to be, a hair off. */
double scene_end_time(const struct scene *scene);

#endif
