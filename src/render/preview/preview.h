/* Shaded pictures of frames, quick enough to look at every run: screen-space snow, sun, sky, bodies.
 *
 * A stage is what several pictures share: the bounds of all that they show, the particle spacing, and the
 * camera. Fill it from all frames of a contact sheet, aim it once, then render each frame. Serial; no MPI. */
#ifndef FIRN_RENDER_PREVIEW_H
#define FIRN_RENDER_PREVIEW_H

#include "bodies/body.h"
#include "io/particles/frame.h"
#include "material/material.h"
#include "render/camera.h"
#include "render/image.h"

#include <stdbool.h>

/* What the snow's colour shows. */
enum preview_color { COLOR_SNOW, COLOR_DENSITY, COLOR_VELOCITY, COLOR_JP, COLOR_MATERIAL, COLOR_TEMPERATURE };

struct preview_stage {
  bool any;                  /* has bounds */
  double lower[3], upper[3]; /* m */
  double up[3];              /* unit */
  double sun[3];             /* unit, towards the sun; fixed in the world */
  double spacing;            /* m, between particles; 0 until known */
  double (*points)[3];       /* m, a sample of what the picture should show */
  int point_count, point_capacity;
  enum preview_color color;
  double range[2];  /* of what the colour shows, over all frames; range[0] > range[1]: nothing seen yet */
  bool transparent; /* no sky */
  double grid;      /* m, mesh of the lines on planes; set by preview_stage_aim() */
  const struct material *materials; /* of the scene of the frame that is drawn; the caller's. NULL: snow */
  int material_count;
  struct camera camera;
};

/* An empty stage; up is against gravity, or +y without it. The sun is where it is by default: at some forty
 * degrees, left of one who looks along -z (up is y), a little behind. */
void preview_stage_init(struct preview_stage *stage, const double gravity[3]);

void preview_stage_destroy(struct preview_stage *stage); /* frees what it holds; the struct is the caller's */

/* Grows the bounds by the frame's bulk and takes the particle spacing from the first frame that has it. */
void preview_stage_add(struct preview_stage *stage, const struct frame *frame);

/* Grows the bounds by those bodies that are not much larger than the snow, where they are at `time`. */
void preview_stage_add_bodies(struct preview_stage *stage, const struct body *bodies, int count, double time);

/* Widens the range of what the colour shows; an error if the frame (of this path) does not hold it. */
int preview_stage_add_colors(struct preview_stage *stage, const struct frame *frame, const char *path,
                             struct error *err);

/* What the colour shows of particle i. Of COLOR_SNOW its material, the first where the frame does not say;
 * or, of water and ice, minus which matter it is (enum frame_matter). */
float preview_value(enum preview_color color, const struct frame *frame, int64_t i);

/* Finishes the stage for pictures of the given width/height ratio: takes the camera from `wanted` if that
 * gives one, else finds a three-quarter view from slightly above in which no body hides the snow. */
void preview_stage_aim(struct preview_stage *stage, const struct body *bodies, int count,
                       const struct scene_camera *wanted, double aspect);

/* Turns the camera of an aimed stage to where a camera without keys is. */
void preview_stage_look(struct preview_stage *stage, const struct scene_camera *camera);

/* Fills `image`, whatever its size, from an aimed stage. */
void preview_render(const struct preview_stage *stage, const struct frame *frame, const struct body *bodies,
                    int count, struct image *image);

#endif
