/* One page about a run: a single HTML file with the scene, pictures, plots, numbers, and how to make it
 * again. It needs nothing else: opens offline in any browser, can be mailed. A run in progress can be
 * reported too. */
#ifndef FIRN_RENDER_REPORT_H
#define FIRN_RENDER_REPORT_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "render/trace/picture.h"

struct report_options {
  const char *run;                     /* output folder */
  const char *output;                  /* .html */
  int pictures;                        /* of frames spread over the run; 0: none */
  int width, height;                   /* of a picture, pixels */
  int64_t view;                        /* bytes that the view in the page may have; 0: none */
  const struct picture_options *trace; /* NULL: previews */
};

/* Collective over comm (NULL: one process). */
int report_write(const struct comm *comm, const struct report_options *options, struct error *err);

#endif
