/* A picture in the making: how many paths each pixel gets, and what came of them.
 *
 * Pixels get batches of samples until the error that their own and their neighbours' samples show is below a
 * target. A tile of 16 x 16 pixels is the unit of work: all that a pixel's decision depends on lies in its
 * own tile, and a pixel's samples are summed in order by one thread. So the bits do not depend on how tiles
 * are given to ranks and threads. */
#ifndef FIRN_RENDER_FILM_H
#define FIRN_RENDER_FILM_H

#include "decomposition/comm.h"
#include "render/camera.h"
#include "render/trace/trace.h"

#include <stdint.h>

struct film_pixel {
  float mean[3];    /* linear radiance */
  float half[2][3]; /* of its even and of its odd samples */
  float error;      /* standard error of the luminance */
  float solid;      /* part of the pixel that shows no sky */
  float snow;       /* part that shows snow or other matter */
  float depth;      /* m, of what is seen, on the average; 0 where it is sky */
  float normal[3];  /* mean of what is seen, with layers */
  int32_t id;       /* of what the first path met, with layers */
  int32_t samples;
};

struct film {
  int width, height;
  struct film_pixel *pixel; /* rows from the top; rank 0 only */
  int64_t samples;          /* in all */
};

struct film_options {
  int width, height;
  int least, most; /* samples a pixel; multiples of a batch */
  double target;   /* relative error to stop at; 0: all pixels get `most` */
  uint64_t seed;
};

/* Collective over comm (NULL: alone). For film_destroy(). */
struct film *film_render(const struct comm *comm, const struct trace_stage *stage,
                         const struct camera *camera, const struct film_options *options);
void film_destroy(struct film **film);

static inline float film_luminance(const float rgb[3])
{
  return 0.2126f * rgb[0] + 0.7152f * rgb[1] + 0.0722f * rgb[2];
}

#endif
