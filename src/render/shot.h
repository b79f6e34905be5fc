/* Pictures of frames: what a set of them shares (scenes, bounds, camera, sun), and painting each.
 *
 * All calls are collective over the communicator, which may be NULL: one process, no MPI. */
#ifndef FIRN_RENDER_SHOT_H
#define FIRN_RENDER_SHOT_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "io/scene/scene.h"
#include "render/image.h"
#include "render/preview/preview.h"
#include "render/trace/picture.h"

#include <stdbool.h>

struct shot_options {
  const struct picture_options *trace; /* NULL: a preview */
  char *const *frames;                 /* paths */
  int frame_count;
  const char *scene;          /* file for bodies, gravity, camera and sun; NULL: the one in each frame */
  const struct scene *ready;  /* a loaded scene for all frames, instead; the caller's */
  double aspect;              /* width over height */
  struct scene_camera camera; /* wins over the scene's where given */
  double field_of_view;       /* degrees; 0: the camera's */
  double aperture, focus;     /* m; negative: the camera's */
  struct scene_sun sun;       /* direction where given; turbidity, size and strength where above 0 */
  bool sky_given;             /* sun.sky is */
  enum preview_color color;
  bool labels;
  char *const *captions; /* one a frame, in place of its time; NULL: the times */
  bool transparent;
};

struct shot;

/* Finds the scene, and unless a camera is given looks through the frames for what to show. */
int shot_open(struct shot **out, const struct comm *comm, const struct shot_options *options,
              struct error *err);
void shot_close(struct shot **shot);

/* The camera that was found or given, at the first frame, as one that could be given. */
struct scene_camera shot_camera(const struct shot *shot);

/* The scene with this text in the frame at this path, ready to be drawn; NULL with a warning if it cannot be
 * read. Bodies whose files are nowhere have no shape. */
void shot_stored_scene(const char *stored, const char *frame, struct scene **out);

/* Paints frame `index` of the options. A traced picture is made by all ranks and comes to rank 0; a preview
 * is made by the rank that calls, which then may be any one alone. */
int shot_paint(struct shot *shot, int index, struct image *image, float **linear,
               struct picture_report *report, struct error *err);

#endif
