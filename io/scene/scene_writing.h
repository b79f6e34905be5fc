/* How frames and checkpoints get to the disk: keys of `output` that change no result. */
#ifndef FIRN_IO_SCENE_WRITING_H
#define FIRN_IO_SCENE_WRITING_H

#include <stdint.h>

struct reader;
struct yaml_item;

/* Auto: parallel HDF5 on several ranks, direct on one. */
enum scene_writer { WRITER_AUTO, WRITER_PARALLEL_HDF5, WRITER_DIRECT };

enum { WRITER_HINTS = 32 };

struct scene_hint {        /* for MPI-IO */
  char key[36], value[64]; /* MPI libraries promise keys of 35 characters */
};

struct scene_writing {
  enum scene_writer writer;
  int64_t alignment; /* bytes; large columns begin at multiples of it; 0 or 1: anywhere */
  double patience;   /* s that a rank which failed in MPI-IO waits for the others; 0: the default */
  int hint_count;
  struct scene_hint hints[WRITER_HINTS];
};

/* Keys of the open section `output`. They stay out of the canonical form: the same frames come of them. */
void scene_read_writing(struct reader *r, const struct yaml_item *map, int compression,
                        struct scene_writing *out);

#endif
