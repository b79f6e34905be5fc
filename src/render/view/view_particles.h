/* The particles of a run as streams of bytes for a page: chosen, quantised and packed. See docs/view.md for
 * the layout that the page reads. */
#ifndef FIRN_RENDER_VIEW_PARTICLES_H
#define FIRN_RENDER_VIEW_PARTICLES_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

enum { VIEW_FIELDS = 16, VIEW_LAYERS = 24 };

struct view_field {
  char name[64], unit[32];
  bool whole;      /* integers 0 to 254, such as the material */
  float low, high; /* of the codes 0 and 254 */
};

/* One frame's chosen particles, by id. */
struct view_frame {
  int64_t index, count; /* number of the frame; particles in the file */
  double time;          /* s */
  int64_t chosen;
  uint64_t *id;
  float (*position)[3];
  float *value[VIEW_FIELDS];
};

struct view_particles {
  int frame_count, field_count;
  struct view_frame *frame;
  struct view_field field[VIEW_FIELDS];
  double lower[3], upper[3]; /* m, of all chosen particles */
  int64_t most;              /* particles in the fullest frame */
  double spacing;            /* m, between the particles of the first frame that tells it; 0: none does */
  int layer_count;           /* that are in the streams */
  struct text layer[VIEW_LAYERS];
  int64_t slots[VIEW_LAYERS], raw[VIEW_LAYERS]; /* particles, bytes before they were packed */
};

/* Reads the frames at these paths; those that are no whole frame are left out with a warning. The packed
 * streams take at most `size` bytes, but one layer is there in any case. */
int view_particles_read(struct view_particles **out, char *const *paths, int count, int64_t size,
                        struct error *err);
void view_particles_destroy(struct view_particles **particles);

#endif
