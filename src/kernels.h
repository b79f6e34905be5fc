/* The inner loops, built once for each instruction set and picked at run time.
 *
 * The sources in src/kernels/ see only these plain structures: sorted particles, the grid, one plane of cells
 * at a time. They neither allocate nor communicate. A plane's work depends on that plane's particles alone,
 * so ranks (and threads) may share planes out in any way without changing a bit. */
#ifndef FIRN_KERNELS_H
#define FIRN_KERNELS_H

#include "base/error.h"
#include "base/exactsum.h"
#include "bodies/body.h"
#include "grid.h"
#include "material/snow.h"
#include "particles.h"

#include <stdbool.h>
#include <stdint.h>

/* What is written, in the step's order of particles, while their old state must still be readable: G2P's
 * results (a step that fails is repeated from the old state, and the reordering copies from here), and during
 * the solve the principal frames of F_E. */
struct scratch {
  int32_t capacity;
  double *x[3], *v[3], *fe[9], *jp, *b[9];
  uint64_t *key; /* cell key of the new position; UINT64_MAX once outside the domain */
};

/* Views of the scratch as the solve uses it. */
#define SCRATCH_U(s)      ((s)->fe)   /* rotation U of F_E = U sigma V^T */
#define SCRATCH_SIGMA(s)  ((s)->v)    /* singular values */
#define SCRATCH_MU(s)     ((s)->x[0]) /* V0 mu, hardened */
#define SCRATCH_LAMBDA(s) ((s)->x[1]) /* V0 lambda, hardened */

enum measured {
  MEASURED_MASS,
  MEASURED_MOMENTUM,
  MEASURED_ANGULAR = MEASURED_MOMENTUM + 3,
  MEASURED_KINETIC = MEASURED_ANGULAR + 3,
  MEASURED_ELASTIC,
  MEASURED_POTENTIAL,
  MEASURED_COUNT
};

/* Why a step cannot be accepted, and the particle that shows it. */
enum trouble { TROUBLE_NONE, TROUBLE_GRADIENT, TROUBLE_INVERTED, TROUBLE_CROSSING, TROUBLE_NOT_FINITE };

struct step_result { /* of G2P over some planes */
  double max_speed;  /* m/s, particles at n+1 */
  double max_sound;  /* m/s */
  int64_t plastic;   /* particles clamped */
  int64_t hardened_to_limit;
  int64_t outside;
  int64_t contacts; /* particles that a body acted on */
  enum trouble trouble;
  int32_t trouble_particle; /* in sorted order */
};

struct transfer {
  struct grid *grid;
  struct particles *p;
  struct scratch *next;
  /* Where the k-th particle in the order (cell, id) stands in p: its state (x, v, F_E, J_P, B), and what
   * never changes (id, mass, V0, stiffness, material). */
  const int32_t *slot, *home;
  const struct snow_constants *materials;
  int material_count;
  const struct body_pose *poses;
  int pose_count;
  double dt;
  double gravity[3];
  double flip;                /* fraction; 0 is PIC */
  bool affine;                /* APIC */
  bool mls;                   /* force and velocity gradient from the affine matrix */
  bool implicit;              /* keep principal frames for the solve */
  bool want_sound;            /* fill step_result.max_sound */
  bool measuring;             /* fill `measured` */
  struct exact_sum *measured; /* [MEASURED_COUNT] */
  int64_t
      *hardened_to_limit; /* P2G counts here the particles whose hardening factor is clamped, unless NULL */
};

/* Forces ride along with the momentum in one scatter where v(n) is not wanted apart. */
static inline bool transfer_is_fused(const struct transfer *t)
{
  return t->affine ? t->mls : t->flip == 0.0;
}

struct records; /* of kernels/stencil.h */

/* Particles keep a part of their own velocity. */
static inline bool transfer_is_flip(const struct transfer *t)
{
  return !t->affine && t->flip != 0.0;
}

/* Buffers of one worker; workspace_fit() grows them to the grid. */
struct workspace {
  struct records *records[2];
  double *out[2];
  double *q;
  int64_t record_capacity /* particles */, q_capacity;
};

void workspace_fit(struct workspace *w, const struct grid *grid);
void workspace_free(struct workspace *w);

/* Grows the scratch to p's capacity; contents stay. */
void scratch_fit(struct scratch *s, const struct particles *p);
void scratch_free(struct scratch *s);

/* The bare transfer pair on a dense grid of cells^3 cells, 8 particles each, sorted: the floor that `firn
 * bench` measures against. */
enum { BARE_PER_CELL = 8 };
struct bare {
  int32_t cells;
  struct transfer *transfer; /* particles and frame; the frame's lower corner is 0 and its spacing 1 */
  double *value;             /* [16 particles] four channels, then their x, y, z coefficients */
  double *grid;              /* [4 (cells + 4)^3] */
  double *out;               /* [16 particles] */
};

struct kernels {
  const char *name;
  /* P2G of one cell plane: mass, momentum and force into GROUP_MOMENTUM and GROUP_VELOCITY. */
  void (*p2g)(struct transfer *t, struct workspace *w, int32_t plane);
  /* Mass alone into GROUP_MOMENTUM, and V0 from it (method.md, step 2). */
  void (*p2g_mass)(struct transfer *t, struct workspace *w, int32_t plane);
  void (*estimate_volume)(struct transfer *t, struct workspace *w, int32_t plane);
  /* G2P of one plane: new state of its particles into t->next; adds to *result. */
  void (*g2p)(struct transfer *t, struct workspace *w, int32_t plane, struct step_result *result);
  /* out += H in, over one plane. */
  void (*hessian)(struct transfer *t, struct workspace *w, int32_t plane, enum grid_group in,
                  enum grid_group out);
  /* Node updates over tiles [begin, end). */
  void (*velocity)(struct transfer *t, int32_t begin, int32_t end);
  void (*mix)(struct transfer *t, int32_t begin, int32_t end); /* what FLIP gathers, before its g2p */
  /* AR := free (R + factor M^-1 AR); adds <R,R>, <R,AR>, <AR,AR>, <AR,AP> of the tiles to dots unless NULL.
   */
  void (*cr_product)(struct grid *grid, double factor, int32_t begin, int32_t end, struct exact_sum dots[4]);
  /* R := free (-factor M^-1 AR); adds <v*,v*> over the free nodes to norm unless NULL. */
  void (*cr_residual)(struct grid *grid, double factor, int32_t begin, int32_t end, struct exact_sum *norm);
  /* P := R + b P, AP := AR + b AP, v += a P, R -= a AP. */
  void (*cr_update)(struct grid *grid, double a, double b, int32_t begin, int32_t end);
  void (*bare_p2g)(struct bare *bare);
  void (*bare_g2p)(struct bare *bare);
};

enum isa { ISA_PORTABLE, ISA_AVX2, ISA_AVX512, ISA_COUNT };

/* The best that this machine runs; `firn` takes the least over all ranks. */
enum isa isa_detect(void);

/* The instruction set of this name; an unknown one is an error that lists them. */
int isa_by_name(const char *name, enum isa *isa, struct error *err);

/* NULL if the build has no such kernels. */
const struct kernels *kernels_get(enum isa isa);

#endif
