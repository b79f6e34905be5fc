/* One frame as the path tracer sees it: from particles to a picture. */
#ifndef FIRN_RENDER_PICTURE_H
#define FIRN_RENDER_PICTURE_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "io/particles/frame.h"
#include "io/scene/scene.h"
#include "material/look.h"
#include "render/camera.h"
#include "render/image.h"

enum picture_curve {
  CURVE_STANDARD, /* linear to the end, then white */
  CURVE_FILMIC    /* bends before it is white, so that highlights keep their shape */
};

enum picture_meter {
  METER_SNOW, /* by the histogram of the snow in the picture */
  METER_LIGHT /* by what a white card that faces the sun would have: the same in all pictures of a film */
};

struct picture_options {
  const struct look *look; /* of all snow; NULL: as the scene's materials say */
  struct look own;         /* what `look` may point to: a look of the command line */
  int refine;              /* voxels per two particle spacings (a cell of eight particles) */
  double voxel;            /* m; 0: by refine */
  double kernel;           /* m, of the sum over particles; 0: 1.3 times the gap between them */
  double edge;       /* part of the packed density where matter begins; 0: density as it is, no surface */
  double rough;      /* part that grains have in the surface; negative: as the look says */
  int least, most;   /* samples a pixel */
  double target;     /* relative error to stop at; 0: all pixels get `most` */
  double shutter;    /* part of the time between two frames that it is open; 0: no motion blur */
  int slices;        /* moments of the snow in that time, each smeared over its own part */
  int similar_after; /* scatterings until similarity; negative: never */
  double exposure;   /* stops */
  enum picture_meter meter;
  bool snow_ground; /* all planes look covered by snow */
  enum picture_curve curve;
  bool denoise;
  bool layers;      /* *linear has PICTURE_LAYERS floats a pixel */
  bool transparent; /* no sky behind what is seen */
  uint64_t seed;
};

struct picture_options picture_defaults(void);

/* Channels of a picture with layers, in alphabetic order: opacity A, colour, normal in the world, depth (m),
 * and which body it is. */
enum { PICTURE_LAYERS = 9 };
extern const char *const picture_layers[PICTURE_LAYERS];

/* Mass of a particle (kg) where the frame does not say: that of the mean particle of the scene's shapes, or
 * of snow of 400 kg/m^3 packed as it is. */
double picture_mass(const struct scene *scene, const struct frame *frame);

/* What the picture is taken of and from where. */
struct picture_view {
  const struct scene *scene; /* NULL: no bodies, snow of 400 kg/m^3 */
  struct camera camera;
  double up[3];
  double center[3], radius; /* m: what the picture is about; ground far from it is hazy */
  struct scene_sun sun;     /* its direction is set */
};

struct picture_report {
  int64_t samples;                /* paths */
  double volume_seconds, seconds; /* making the grid; all */
  double bytes;                   /* of the grids, on a node */
  double error;                   /* mean relative error of the pixels before denoising */
};

/* Collective over comm (NULL: alone). On rank 0 fills the image, whatever its size; and unless it is NULL
 * *linear becomes the linear radiance, 3 floats a pixel, or all layers, for mem_free(). The frame's arrays
 * are the same on all ranks. */
int picture_render(const struct comm *comm, const struct frame *frame, const struct picture_view *view,
                   const struct picture_options *options, struct image *image, float **linear,
                   struct picture_report *report, struct error *err);

#endif
