/* From frame files to picture files: one picture, a contact sheet of several under one camera, or a file for
 * each. What `firn preview` and `firn render` do. */
#ifndef FIRN_RENDER_SHEET_H
#define FIRN_RENDER_SHEET_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "render/shot.h"

struct sheet_request {
  struct shot_options shot; /* its aspect is set here */
  const char *output;       /* .png, or for one traced picture .pfm or .exr: linear floats; NULL: none */
  const char *each;         /* a pattern like "pictures/%04d.png", one file a frame, numbered as it is; NULL:
                             * none */
  int width, height;        /* of a panel, pixels; 0: 1280 x 720 for one frame, 640 x 360 for several */
  int columns;              /* 0: about as many as rows */
};

struct sheet_layout {
  int columns, rows;
  int panel_width, panel_height; /* pixels */
  int gap;                       /* pixels between panels */
  int width, height;             /* of the whole, pixels */
};

/* Sizes of a request with at least one frame; an error for sizes that make no sense or no PNG. */
int sheet_layout(const struct sheet_request *request, struct sheet_layout *layout, struct error *err);

/* "pictures/0012.png" for mem_free(), or NULL: the pattern must have one %d, with digits if wanted. */
char *sheet_numbered(const char *pattern, int number);

/* Collective over comm (NULL: one process). Draws the frames one at a time and writes the output, all or
 * nothing. *report is the sum over all pictures. */
int sheet_draw(const struct comm *comm, const struct sheet_request *request, struct sheet_layout *layout,
               struct picture_report *report, struct error *err);

#endif
