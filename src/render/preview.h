/* Shaded pictures of frames, quick enough to look at every run: screen-space snow, sun, sky, bodies.
 *
 * A stage is what several pictures share: the bounds of all that they show, the particle spacing, and the
 * camera. Fill it from all frames of a contact sheet, aim it once, then render each frame. Serial; no MPI. */
#ifndef FIRN_RENDER_PREVIEW_H
#define FIRN_RENDER_PREVIEW_H

#include "bodies/body.h"
#include "io/frame.h"
#include "render/camera.h"
#include "render/image.h"

#include <stdbool.h>

struct preview_stage {
  bool any;                  /* has bounds */
  double lower[3], upper[3]; /* m */
  double up[3];              /* unit */
  double spacing;            /* m, between particles; 0 until known */
  double (*points)[3];       /* m, a sample of what the picture should show */
  int point_count, point_capacity;
  double grid; /* m, mesh of the lines on planes; set by preview_stage_aim() */
  struct camera camera;
};

/* An empty stage; up is against gravity, or +y without it. */
void preview_stage_init(struct preview_stage *stage, const double gravity[3]);

void preview_stage_destroy(struct preview_stage *stage); /* frees what it holds; the struct is the caller's */

/* Grows the bounds by the frame's bulk and takes the particle spacing from the first frame that tells it. */
void preview_stage_add(struct preview_stage *stage, const struct frame *frame);

/* Grows the bounds by those bodies that are not much larger than the snow, where they are at `time`. */
void preview_stage_add_bodies(struct preview_stage *stage, const struct body *bodies, int count, double time);

/* Finishes the stage for pictures of the given width/height ratio: takes the camera from `wanted` if that
 * gives one, else finds a three-quarter view from slightly above in which no body hides the snow. */
void preview_stage_aim(struct preview_stage *stage, const struct body *bodies, int count,
                       const struct scene_camera *wanted, double aspect);

/* Fills `image`, whatever its size, from an aimed stage. */
void preview_render(const struct preview_stage *stage, const struct frame *frame, const struct body *bodies,
                    int count, struct image *image);

#endif
