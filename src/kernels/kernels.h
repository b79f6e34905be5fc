/* The inner loops, built once for each instruction set and picked at run time.
 *
 * A kernel sees only the plain structures below: sorted particles, the grid, one block of cells or some tiles
 * of nodes at a time. It neither allocates nor communicates. A block's work depends on that block's particles
 * alone, so ranks and threads may share blocks out in any way without changing a bit.
 *
 * A new kernel is a file and one row of the lists below. */
#ifndef FIRN_KERNELS_KERNELS_H
#define FIRN_KERNELS_KERNELS_H

#include "base/error.h"
#include "base/exactsum.h"
#include "bodies/air.h"
#include "bodies/body.h"
#include "bodies/tally.h"
#include "grid/grid.h"
#include "grid/particles.h"
#include "kernels/liquid.h"
#include "material/heat_law.h"
#include "material/material.h"

#include <stdbool.h>
#include <stdint.h>

enum measured {
  MEASURED_MASS,
  MEASURED_MOMENTUM,
  MEASURED_ANGULAR = MEASURED_MOMENTUM + 3,
  MEASURED_KINETIC = MEASURED_ANGULAR + 3,
  MEASURED_ELASTIC,
  MEASURED_POTENTIAL,
  MEASURED_HEAT,   /* enthalpy, where the scene has heat; J */
  MEASURED_LIQUID, /* volume of liquid, likewise; m^3 */
  MEASURED_COUNT
};

/* Of a step, for the budget of energy. */
enum energy {
  ENERGY_AFTER,   /* J, kinetic + elastic + potential of the new state, and what yielding took */
  ENERGY_PLASTIC, /* J, what yielding took */
  ENERGY_AIR,     /* J, work of the air, and its impulse (N s) */
  ENERGY_BLOWN,
  ENERGY_LAST = ENERGY_BLOWN + 2,
  ENERGY_COUNT
};

/* Why a step cannot be accepted, and the particle that shows it. */
enum trouble { TROUBLE_NONE, TROUBLE_GRADIENT, TROUBLE_INVERTED, TROUBLE_CROSSING, TROUBLE_NOT_FINITE };

struct step_result {      /* of P2G and G2P over some blocks */
  double max_speed;       /* m/s, particles at n+1 */
  double max_sound;       /* m/s */
  int64_t plastic;        /* particles clamped */
  int64_t shared_plastic; /* those of them in blocks that reach bricks of another rank too */
  int64_t limited; /* particles in which a limit of ours acted: on hardening, or on the volume of water or
                      liquid */
  int64_t outside;
  int64_t contacts;       /* particles that a body acted on */
  int64_t melted, frozen; /* particles that change their phase at the end of the step */
  int64_t liquid;         /* particles that are liquid then */
  int64_t stiffened;      /* particles that a checked solve gave a larger part in the next one */
  int64_t flying;         /* that have not landed then */
  int64_t shared_changed; /* changes of phase in such blocks */
  enum trouble trouble;
  int32_t trouble_particle; /* in sorted order: the first that has it */
};

/* A particle in trouble: the worst counts, and of those the first. */
static inline void step_note_trouble(struct step_result *result, enum trouble kind, int32_t particle)
{
  if (kind < result->trouble || (kind == result->trouble && particle >= result->trouble_particle)) return;
  result->trouble = kind;
  result->trouble_particle = particle;
}

enum { KEPT_GENERAL = 24 }; /* doubles a particle */
enum {                      /* floats */
       SINGLE_PLACE,
       SINGLE_SNOW_STRETCH = 3,
       SINGLE_SNOW_MU = 9,
       SINGLE_SNOW_BULK,
       SINGLE_SNOW_PRESSURE,
       SINGLE_SNOW,
       SINGLE_AXES = 3,
       SINGLE_TANGENT = 12,
       SINGLE_GENERAL = 27
};

/* What the solve needs of each particle, in the order of the step, times V0: for snow what struct
 * snow_tangent has, for other models the principal axes U of F_E and the tangent's coefficients (tangent.h).
 * The arrays are those of the next state, which waits for G2P, and some more where these are not enough. */
struct kept {
  union {
    struct {
      double *stretch[6], *mu, *bulk, *pressure;
    };
    struct {
      double *u[9], *d[6], *pair[9];
    };
  };
  double *more[KEPT_GENERAL - STATE_SPARES];
  int32_t more_capacity;
  /* The same in single precision, two to an array of doubles, for a mixed solve, and the place in the cell
   * along each grid axis (hessian_mixed.c). */
  float *single[SINGLE_GENERAL];
};

/* Arrays that particles are loaded from, for prefetching. */
struct arrays {
  int count;
  const double *at[64];
};

struct transfer {
  struct grid *grid;
  struct particles *p;
  struct next *next;
  struct kept kept;
  /* Where the k-th particle in the order (cell, id) is in p: its state, and its constants. */
  const int32_t *slot, *home;
  struct arrays by_slot, by_home, gathered; /* state, constants; the state that G2P reads: all but B */
  const struct material_constants *materials;
  int material_count;
  bool snow_alone; /* all materials are snow: the kernels take snow's own ways */
  const struct body_pose *poses;
  int pose_count;
  double dt;
  double gravity[3];
  double flip;                 /* fraction; 0 is PIC */
  bool affine;                 /* APIC */
  bool mls;                    /* force and velocity gradient from the affine matrix */
  bool implicit;               /* keep what the solve needs, */
  bool mixed;                  /* in single precision */
  bool want_sound;             /* fill step_result.max_sound */
  bool measuring;              /* fill the worker's `measured` */
  bool budget;                 /* fill the worker's `energy` */
  const struct heat_law *heat; /* NULL: no particle is liquid */
  const struct air *air;       /* NULL: there is none */
  double time;                 /* s, for the wind */
  const double *air_density;   /* [materials] kg/m^3 at rest; 0: no grains, no drag */
  double *loose;               /* [particles] in order: how much wind reaches them */
  double *crowd; /* [particles] of flying ones, in order: share of the space around that is filled */
};

/* What flies lands where this much of the space around it is filled, as the grid sees it (method.md). */
#define TRANSFER_CROWD 0.4

/* Points `kept` and the lists of arrays at the arrays as they are now. */
void transfer_point(struct transfer *t);
void transfer_free(struct transfer *t);

/* Forces ride along with the momentum in one scatter where v(n) is not wanted apart. */
static inline bool transfer_is_fused(const struct transfer *t)
{
  return t->affine ? t->mls : t->flip == 0.0;
}

/* Particles keep a part of their own velocity. */
static inline bool transfer_is_flip(const struct transfer *t)
{
  return !t->affine && t->flip != 0.0;
}

/* Arrays of floats that a mixed solve keeps. */
static inline int transfer_singles(const struct transfer *t)
{
  return t->snow_alone ? SINGLE_SNOW : SINGLE_GENERAL;
}

/* G2P finds B too; else g2p_affine does. */
static inline bool transfer_has_affine(const struct transfer *t)
{
  return t->next->p->b[0] != NULL;
}

struct records; /* of kernels/stencil.h */

/* What a block adds to its 7 x 7 x 11 nodes, as its kernel finds it best: all begin at +0.0. */
enum part_layout {
  PART_SHEETS, /* [x 7][channel 4][z 11][y 8]: a cell's nodes are rows of four along y. y 7 stays +0.0 */
  PART_NODES,  /* [x 7][y 7][z 12][channel 4]. z 11 stays +0.0 */
};
enum {
  PART_X = BLOCK_X + MAX_SUPPORT - 1,
  PART_Y = BLOCK_Y + MAX_SUPPORT - 1,
  PART_Z = BLOCK_Z + MAX_SUPPORT - 1,
  SHEET_ROW = 8,
  SHEET_CHANNEL = PART_Z * SHEET_ROW, /* doubles from channel to channel */
  SHEET_X = 4 * SHEET_CHANNEL,        /* and from node plane to node plane */
  NODES_Y = 12 * 4,
  NODES_X = PART_Y * NODES_Y,
  PART_DOUBLES = PART_X * SHEET_X, /* of either layout, the larger */
};

/* The parts of one field of the blocks that reach a brick, by 4 dx + 2 dy + dz; NULL: there is none. */
struct brick_parts {
  const double *part[8];
};

/* Buffers of one worker; workspace_fit() grows them to the grid. */
struct workspace {
  struct records *records[2];
  double *out[2];
  double *nodes[2]; /* [PART_DOUBLES] a block's nodes, to gather from */
  int64_t record_capacity /* particles */;
};

void workspace_fit(struct workspace *w, const struct grid *grid);
void workspace_free(struct workspace *w);

enum { WORKER_PARTS = 2 };

enum { WORKER_SUMS = 8 };

/* One thread's buffers, and what it found. */
struct worker {
  struct workspace work;
  double *part[WORKER_PARTS]; /* where a kernel adds to the fields of a sum; it clears them first */
  struct step_result result;
  struct exact_sum measured[MEASURED_COUNT];
  struct exact_sum melted, frozen;   /* kg, of this step */
  struct exact_sum sum[WORKER_SUMS]; /* of a tile kernel */
  struct body_tally *bodies;         /* one a body; NULL where nothing is tallied */
  struct exact_sum energy[ENERGY_COUNT];
  bool counts; /* the tiles are this rank's own: they enter the sums */
};

/* `arguments` is what the kernel's row says. */
typedef void block_kernel(void *arguments, struct worker *worker, int32_t block);
typedef void tile_kernel(void *arguments, struct worker *worker, int32_t begin, int32_t end);

/* Over one block of cells; those that say "to" a field add to the worker's parts. */
#define FIRN_BLOCK_KERNELS(ROW)                                                                              \
  ROW(p2g)             /* struct transfer: mass, momentum, force to NODE_MOMENTUM, NODE_VELOCITY */          \
  ROW(p2g_mass)        /* struct transfer: mass alone to NODE_MOMENTUM, */                                   \
  ROW(estimate_volume) /* struct transfer: and V0 from it (method.md, step 2) */                             \
  ROW(p2g_filled)      /* struct transfer: V0 of what does not fly to NODE_FILLED, */                        \
  ROW(p2g_room)        /* struct transfer: present volume to NODE_ROOM */                                    \
  ROW(p2g_place)       /* struct transfer: mass, and mass times place to NODE_PLACE */                       \
  ROW(find_crowds)     /* struct transfer: and how much of it is around what flies to t->crowd */            \
  ROW(find_loose)    /* struct transfer: how much wind reaches particles to t->loose, from NODE_MOMENTUM */  \
  ROW(g2p)           /* struct transfer: new state of its particles into t->next */                          \
  ROW(g2p_affine)    /* struct transfer: their B, where t->next has none, once the step is accepted */       \
  ROW(hessian)       /* struct hessian_arguments: out += H in, */                                            \
  ROW(hessian_mixed) /* and in single precision but for the sums */                                          \
  ROW(flow_check)    /* struct flow_arguments: tangents of particles in which the solve created energy */    \
  ROW(p2g_heat)      /* struct heat_arguments: heat and liquid mass to NODE_HEAT, space to NODE_SPACE */     \
  ROW(heat_product)  /* struct heat_arguments: out += conduction of in */                                    \
  ROW(g2p_heat)      /* struct heat_arguments: enthalpies, and all of liquid particles, into t->next */      \
  ROW(liquid_tables) /* struct liquid_arguments: what each cell pushes its nodes with, */                    \
  ROW(liquid_sums)   /* struct liquid_arguments: its sums over cells to NODE_LIQUID and NODE_PRESSURE, */    \
  ROW(liquid_begin)  /* struct liquid_arguments: and each cell's own numbers */                              \
  ROW(liquid_divergence) /* struct liquid_arguments: j_next of each cell from the velocities `in` */         \
  ROW(liquid_force)      /* struct liquid_arguments: out += D^T pressure */                                  \
  ROW(liquid_product)    /* struct liquid_arguments: out += D^T [K D in] */                                  \
  ROW(liquid_bear)       /* struct liquid_arguments: what bodies bear of the pressures */

/* Over nodes, tiles [begin, end). */
#define FIRN_TILE_KERNELS(ROW)                                                                               \
  ROW(velocity)     /* struct transfer: v(n) and v* */                                                       \
  ROW(mix)          /* struct transfer: what FLIP gathers, before its g2p */                                 \
  ROW(cr_product)   /* struct cr_vectors: A r, and its dot products */                                       \
  ROW(cr_norm)      /* struct cr_vectors: <r,r> alone */                                                     \
  ROW(cr_stiffness) /* struct cr_vectors: sums of the scalars of ar and of M */                              \
  ROW(cr_residual)  /* struct cr_vectors: D, the first residual, <x,x>, M and M x */                         \
  ROW(cr_update)    /* struct cr_vectors: the next x, r, p and A p */                                        \
  ROW(cr_lack)      /* struct cr_vectors: sums of M and of the momentum that the preconditioner took, */     \
  ROW(cr_balance)   /* struct cr_vectors: which x gets back */                                               \
  ROW(cr_step)      /* struct cr_vectors: all of a pipelined iteration, and its dot products */              \
  ROW(cr_begin)   /* struct cr_vectors: the first residual with a right side of its own, <m,m> and <b,b> */  \
  ROW(heat_begin) /* struct heat_arguments: unknown and right side of the heat solve */                      \
  ROW(heat_loss)  /* struct heat_arguments: out += G in */                                                   \
  ROW(heat_end)   /* struct heat_arguments: what particles gather, and the heat that came in */              \
  ROW(keep_star)  /* struct liquid_arguments: v* is kept, */                                                 \
  ROW(take_star)  /* struct liquid_arguments: and put back; contact stays */                                 \
  ROW(liquid_right) /* struct liquid_arguments: and the right side made of it and the pressures */           \
  ROW(liquid_join)  /* struct liquid_arguments: out += NODE_PRESSURE */

struct hessian_arguments {
  struct transfer *transfer;
  enum node_field in, out;
  const unsigned char *solid; /* of each cell, whether it has solid particles; NULL: all have */
  bool diagonal;              /* scalars of out += the mean diagonal of H (stiffness.h) */
};

/* The check of a solve (docs/method.md, "Checked solves"). */
struct flow_arguments {
  struct transfer *transfer;
  double beta;
  bool first; /* of the step */
};

/* Heat of one step. */
struct heat_arguments {
  struct transfer *transfer;
  const struct heat_law *law;
  double *conduction;          /* [particles] kappa V of each, in order, less what heat_mix conducts */
  bool space;                  /* NODE_SPACE is wanted: heat passes through surfaces */
  const struct liquid *liquid; /* NULL: no particle is liquid */
  enum node_field in, out;
};

struct liquid_arguments {
  struct transfer *transfer;
  const struct heat_law *law;
  struct liquid *liquid;
  double spread; /* share of the excess that is spread in this step */
  double scale;  /* of the stiffness: 1 / beta, since the solve's factor has beta */
  enum node_field in, out;
};

/* The vectors of a conjugate residual solve, as they are in the grid's tiles. M is the scalar of `weight`, D
 * that of `ap`, and W = M + factor D the weight of the inner product; a node whose scalar of `fixed` is not 0
 * keeps x. Scalars of the others are 0. */
struct cr_vectors {
  double *x, *r, *p, *ar, *ap;
  double *aar, *aap; /* pipelined: aar is the product of A r as it came, without I and W */
  const double *weight, *fixed;
  const double *right, *measure; /* NULL: the right side is x at the start */
  double factor;
  double typical; /* nodes with M + factor B above M / typical are stiff; 1: none are */
  double a, b;
  double given[4]; /* 0, and a velocity for all free nodes */
};

/* The bare transfer pair on a dense grid of cells^3 cells, 8 particles each, sorted: the floor that `firn
 * bench` measures against. */
enum { BARE_PER_CELL = 8 };
struct bare {
  int32_t cells;
  struct transfer *transfer; /* particles and geometry; the lower corner is 0 and the spacing 1 */
  double *place;             /* [3 particles] x, y, z in cells, of the plain pair */
  double *value;             /* [16 particles] four channels, then their x, y, z coefficients */
  double *grid;              /* [4 (cells + 4)^3] */
  double *out;               /* [16 particles] */
};

#define BLOCK_MEMBER(kernel) block_kernel *kernel;
#define TILE_MEMBER(kernel)  tile_kernel *kernel;
struct kernels {
  const char *name;
  enum part_layout
      layout; /* of the transfers: of all kernels but hessian_mixed, heat_product and liquid ones */
  FIRN_BLOCK_KERNELS(BLOCK_MEMBER)
  FIRN_TILE_KERNELS(TILE_MEMBER)
  /* The nodes of a brick: the sum over its parts in pairs along z, then y, then x. `vector`: their scalars
   * are not looked at, and become 0. */
  void (*merge)(enum part_layout layout, bool vector, const struct brick_parts *parts, double *brick);
  void (*liquid_common)(struct liquid *liquid, const struct grid_geometry *geometry);
  void (*bare_p2g)(struct bare *bare);
  void (*bare_g2p)(struct bare *bare);
  void (*plain_p2g)(struct bare *bare);
  void (*plain_g2p)(struct bare *bare);
};

/* The name of ISA_BASE: what every machine of this architecture has. */
#if defined __x86_64__
#define FIRN_BASE_ISA sse2
#elif defined __aarch64__
#define FIRN_BASE_ISA neon
#else
#define FIRN_BASE_ISA portable
#endif

/* The kernels are built once for each instruction set, with its name behind theirs. */
#define KERNEL_JOIN(name, isa) name##_##isa
#define KERNEL_NAME(name, isa) KERNEL_JOIN(name, isa)
#define ISA_QUOTED(isa)        #isa
#define ISA_WORD(isa)          ISA_QUOTED(isa)

enum isa { ISA_BASE, ISA_AVX2, ISA_AVX512, ISA_COUNT };

/* The best that this machine runs; `firn` takes the least over all ranks. */
enum isa isa_detect(void);

/* The instruction set of this name; an unknown one is an error that lists them. "portable" is ISA_BASE on
 * every machine. */
int isa_by_name(const char *name, enum isa *isa, struct error *err);

/* An error if `wanted` is more than a machine has; ISA_COUNT wants nothing. */
int isa_check(enum isa wanted, enum isa have, struct error *err);

/* NULL if the build has no such kernels. */
const struct kernels *kernels_get(enum isa isa);

#endif
