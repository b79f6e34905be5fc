/* Frames: one HDF5 file each, written collectively, plus one XDMF file for the series.
 *
 * A file appears under its name only when it is complete and on the disk: temp + fsync + rename + fsync of
 * the folder. Particles stand in the order (cell, id), which does not depend on the ranks: `h5diff` of two
 * runs prints nothing. */
#ifndef FIRN_IO_FRAME_H
#define FIRN_IO_FRAME_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "io/scene.h"
#include "particles.h"

#include <stdint.h>

struct fence;

struct frame_info {
  int64_t index; /* frame number: time = index / frame_rate */
  int64_t step;
  double time;               /* s */
  const struct fence *fence; /* rank 0: asked before writing; NULL where no other start could write */
};

/* Collective. Writes <scene->output>/frames/frame_000123.h5 with the scene's fields and precision. */
int frame_write(const struct comm *comm, const struct scene *scene, const struct particles *p,
                const struct frame_info *info, struct error *err);

/* <output>/frames/frame_000123.h5, to be freed with mem_free(). */
char *frame_path(const char *output, int64_t index);

/* Rank 0 only: rewrites <scene->output>/<name>.xdmf over the frames that are in the folder. */
int frame_write_series(const struct scene *scene, struct error *err);

/* A frame (or any state file with /particles) read whole by one process, in file order. Serial, no MPI. */
struct frame {
  struct frame_info info;
  int64_t count;
  uint64_t *id;
  float *position; /* 3 a particle, m */
  float *velocity;
  float *density; /* NULL when the file has none */
  float *jp;      /* NULL when the file has none */
  char *scene;    /* scene text; NULL when the file has none */
  char *resolved; /* scene with all defaults; NULL when the file has none */
};

int frame_read(struct frame **out, const char *path, struct error *err);
void frame_destroy(struct frame **frame);

#endif
