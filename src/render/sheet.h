/* From frame files to a PNG: one picture, or a contact sheet of several under one camera. What `firn preview`
 * does. */
#ifndef FIRN_RENDER_SHEET_H
#define FIRN_RENDER_SHEET_H

#include "base/error.h"
#include "io/scene.h"

struct sheet_request {
  char *const *frames; /* paths, in the order of the panels */
  int frame_count;
  const char *output; /* PNG */
  const char *scene;  /* scene file for bodies, gravity and camera; NULL: the one in the first frame */
  int width, height;  /* of a panel, pixels; 0: 1280 x 720 for one frame, 640 x 360 for several */
  int columns;        /* 0: about as many as rows */
  struct scene_camera camera; /* wins over the scene's where given */
};

struct sheet_layout {
  int columns, rows;
  int panel_width, panel_height; /* pixels */
  int gap;                       /* pixels between panels */
  int width, height;             /* of the whole, pixels */
};

/* Sizes of a request with at least one frame; an error for sizes that make no sense or no PNG. */
int sheet_layout(const struct sheet_request *request, struct sheet_layout *layout, struct error *err);

/* Reads the frames one at a time (twice where there are several: bounds first, then pictures) and writes the
 * output, all or nothing. */
int sheet_draw(const struct sheet_request *request, struct sheet_layout *layout, struct error *err);

#endif
