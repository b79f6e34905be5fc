/* Frames: one HDF5 file each, written by all ranks (writer.h), plus one XDMF file for the series.
 *
 * A file appears under its name only when it is complete and on the disk: temp + fsync + rename + fsync of
 * the folder. Particles are in the order (cell, id), which does not depend on the ranks: `h5diff` of two
 * runs prints nothing. */
#ifndef FIRN_IO_FRAME_H
#define FIRN_IO_FRAME_H

#include "base/error.h"
#include "bodies/contact_map.h"
#include "decomposition/comm.h"
#include "grid/particles.h"
#include "io/scene/scene.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

struct fence;

enum { FRAME_VERSION = 2, FRAME_VERSION_SEALED = 2 }; /* what is written; since when frames have a seal */

struct frame_info {
  int64_t index; /* frame number, scene_frame_time() */
  int64_t step;
  double time;               /* s */
  const struct fence *fence; /* rank 0: asked before writing; NULL where no other start could write */
  const struct contact_table *contacts; /* rank 0: where bodies are pushed; NULL: none is mapped */
  const char *free_bodies;              /* where they are (bodies/free_body.h); NULL: there are none */
};

/* Collective. Writes <scene->output>/frames/frame_000123.h5 with the scene's fields and precision. */
int frame_write(const struct comm *comm, const struct scene *scene, const struct particles *p,
                const struct frame_info *info, struct error *err);

/* <output>/frames/frame_000123.h5, to be freed with mem_free(). */
char *frame_path(const char *output, int64_t index);

/* The number in the name of a frame's file (no folder), -1 where it is no such name. */
int64_t frame_number(const char *name);

/* Rank 0 only: rewrites <scene->output>/<name>.xdmf over the frames that are in the folder. generation as in
 * file_temp_name(). A file of that name that is no such series stays and is an error. */
int frame_write_series(const struct scene *scene, int64_t generation, struct error *err);

/* Whether a file is a series of the scene that it is named after. */
bool frame_is_series(const char *path);

/* A frame (or any state file with /particles), whole and in file order. */
struct frame {
  struct frame_info info;
  int64_t count;
  uint64_t *id;
  float *position; /* 3 a particle, m */
  float *velocity;
  float *density;            /* NULL when the file has none */
  float *jp;                 /* NULL when the file has none */
  float *mass;               /* kg; NULL when the file has none */
  float *phase;              /* 0 solid, 1 liquid; NULL when the file has none */
  float *temperature;        /* K; NULL when the file has none */
  uint32_t *material;        /* NULL when the file has none */
  char *scene;               /* scene text; NULL when the file has none */
  char *resolved;            /* scene with all defaults; NULL when the file has none */
  char *files;               /* what its files held (scene_files.h); NULL when the file does not say */
  char *free_bodies;         /* where they were; NULL when the file has none */
  struct node_block *memory; /* that the arrays lie in; NULL: each is a block of its own */
};

/* What a particle is to the eye. Solid matter above 830 kg/m^3, where pores close off, is ice. */
enum frame_matter { MATTER_SNOW, MATTER_ICE, MATTER_WATER };
static inline enum frame_matter frame_matter(const struct frame *frame, int64_t i)
{
  if (!frame->phase) return MATTER_SNOW;
  if (frame->phase[i] > 0.5f) return MATTER_WATER;
  return frame->density && frame->density[i] > 830.0f ? MATTER_ICE : MATTER_SNOW;
}

/* Whether a frame or checkpoint that has no seal was written with one: then nothing vouches for it. */
bool frame_lost_seal(hid_t file);

/* What a frame says of where it comes from. */
struct frame_origin {
  struct frame_info info;
  char *resolved, *files, *commit; /* files: NULL where the scene names none */
  uint64_t scene_hash;
};

/* Checks everything but the rows. */
int frame_read_origin(struct frame_origin *out, const char *path, struct error *err);
void frame_origin_free(struct frame_origin *origin);

int frame_read(struct frame **out, const char *path, struct error *err);

/* Only what it is of, and how many particles it holds. */
int frame_read_info(const char *path, struct frame_info *info, int64_t *count, struct error *err);

/* Collective: rank 0 reads, and all ranks of a node see one copy, which nobody may change. */
int frame_read_shared(struct frame **out, const struct comm *comm, const char *path, struct error *err);
void frame_destroy(struct frame **frame);

#endif
