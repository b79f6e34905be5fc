/* What a scene will cost, before anything runs. */
#ifndef FIRN_SCENE_REPORT_H
#define FIRN_SCENE_REPORT_H

#include "decomposition/comm.h"
#include "io/scene/scene.h"

#include <stdio.h>

enum sound_from {
  SOUND_KNOWN,  /* the densities of the scene */
  SOUND_SEEDED, /* the volumes that the run will estimate (sim/first_sound.h) */
  SOUND_BOUND,  /* volumes will be estimated: the limit will not be shorter than this */
  SOUND_GUESSED /* particle files, taken as undeformed matter of their material's density */
};

/* Resident bytes of a rank without snow: program, libraries, MPI's buffers and one for writing. */
enum { SCENE_PROCESS_BYTES = 65000000 };

struct scene_estimate {
  double particles; /* exact where the scene gives the number */
  bool exact;       /* no per_cell anywhere */
  double nodes;     /* active at the start, by sampling; without those of particle files */
  double bytes;     /* per rank, with an even split and the process itself */
  /* s; infinite if nothing limits. Speeds are those at the start. */
  double advection, gravity, sound;
  bool sound_binds; /* scene_sound_binds() */
  enum sound_from sound_from;
  double melting;    /* s, beyond which a step gets melting wrong; infinite without `heat` */
  double spread;     /* m^2/s, of heat where it spreads fastest; 0 without `heat` */
  double iterations; /* of the solve for the liquid's pressure, a step; 0 without `heat` */
  double step;       /* s, the step that the run begins with */
  double steps;      /* at least, to the end of the run */
  double hardened;   /* steps where sound binds and snow is pressed to half its volume; else as `steps` */
  double frames;     /* that are written */
  double disk;       /* bytes of these, uncompressed, with the particles of the start */
};

/* rows: in the scene's particle files (scene_check_files()). */
void scene_estimate(const struct scene *scene, int64_t rows, int ranks, struct scene_estimate *out);

/* The limits, step and steps of the estimate alone. */
void scene_step_limits(const struct scene *scene, struct scene_estimate *out);

/* Replaces the limit of sound, and the steps that follow from it, by that of the fastest sound (m/s) that
 * was found in the particles themselves. */
void scene_set_sound(const struct scene *scene, double speed, struct scene_estimate *out);

/* Prints the estimate, and a warning where it is more than this machine has. */
void scene_report(const struct scene *scene, const struct scene_estimate *estimate, int64_t rows, int ranks,
                  FILE *file);

/* Collective, at once: an error if the scene's snow, or so many particles, cannot fit on these ranks and
 * their nodes, or if its particle files cannot be read. */
int scene_fits(const struct comm *comm, const struct scene *scene, struct error *err);
int scene_particles_fit(const struct comm *comm, double particles, struct error *err);

#endif
