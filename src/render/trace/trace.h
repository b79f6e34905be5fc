/* The volumetric path tracer: one path through snow, ground and sky at a time.
 *
 * A path carries one weight a colour and chooses its scatterings for all three together; roulette goes by the
 * largest. The sun is reached by drawing towards it at every scattering; the sky by rays that leave and,
 * where the light is drawn from the sky too, by both, weighted by their densities (balance heuristic, Veach
 * 1995). After `similar_after` scatterings in a row the phase function may be replaced by an even one and the
 * extinction lowered so that (1 - g) sigma_s stays (similarity): half as many steps for g = 0.5. */
#ifndef FIRN_RENDER_TRACE_H
#define FIRN_RENDER_TRACE_H

#include "render/trace/flight.h"
#include "render/trace/light.h"

struct trace_look {
  float albedo[3], cosine;
  float similar_albedo[3]; /* (1 - g) a / (1 - g a) */
};

struct trace_stage {
  const struct volume *const *volume; /* [slices]: parts of the time that the shutter is open */
  const struct volume *const
      *surface; /* [slices], of clear matter (render/trace/surface.h); NULL: there is none */
  int slices;
  const struct solids *solids; /* moments: a multiple of slices */
  const struct light *light;
  struct trace_look look[VOLUME_LOOKS];
  int similar_after;   /* scatterings; negative: never */
  float similar_scale; /* of the extinction: 1 - g a, a the largest albedo */
  float draw_chance;   /* that light is drawn at a scattering behind the first few */
  bool layers;         /* samples have a normal and an id */
  bool hide_sky;       /* the camera does not see it */
  /* Ground seen from far away melts into the sky behind it, about `haze` metres from `center`; infinite: it
   * does not. */
  double center[3], haze;
  double texture; /* m, size of the broadest features of the ground; 0: it is even */
};

/* Sets a look (albedo by colour, mean cosine), and with the last one the similarity of all. */
void trace_set_look(struct trace_stage *stage, int index, const double albedo[3], double cosine);

struct trace_sample {
  float radiance[3];
  float solid; /* 0: the camera's ray met nothing */
  float snow;  /* 1: it met snow or other matter first */
  float depth; /* m to what it met first */
  /* With layers: */
  float normal[3]; /* of what it met first, unit; 0 where there is none */
  int id;          /* 0 sky, 1 snow or other matter, 2 and more: the scene's bodies in turn */
};

/* One path, from `origin` (m) along `direction` (unit). `when` in [0, 1) is the time in the shutter. */
void trace_path(const struct trace_stage *stage, const double origin[3], const double direction[3],
                float when, struct sampler *sampler, struct trace_sample *sample);

#endif
