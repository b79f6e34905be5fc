/* firn view: one HTML page with the particles of one or two runs, which a browser draws with WebGL2.
 *
 * The particles are a subset by a hash of their ids, the same in all frames, whose size follows from the size
 * that the page may have. What is written depends on the frames alone, not on the ranks that made them. */
#ifndef FIRN_RENDER_VIEW_H
#define FIRN_RENDER_VIEW_H

#include "base/error.h"
#include "base/text.h"

#include <stdint.h>

enum { VIEW_RUNS = 2 };

struct view_options {
  const char *run[VIEW_RUNS]; /* output folders */
  int run_count;
  int64_t size; /* bytes that the page may have */
  int frames;   /* at most so many, evenly spread */
};

/* What was put into the page, of the first run and the second. */
struct view_report {
  int frames[VIEW_RUNS];
  int64_t particles[VIEW_RUNS], shown[VIEW_RUNS]; /* in the fullest frame; of those, in the page */
};

/* The page as text. Frames that cannot be read are left out with a warning. One process, no MPI. */
int view_make(struct text *page, const struct view_options *options, struct view_report *report,
              struct error *err);

int view_write(const char *path, const struct view_options *options, struct view_report *report,
               struct error *err);

#endif
