/* Particles: structure of arrays, kept in the order (cell, id).
 *
 * One table names every field once. Whatever walks over fields walks over its rows: migration, order,
 * the second copy of the state, checkpoints, frames, particle files, prefetching. A new field is one row here
 * and one member of the struct. A vector or tensor field is several arrays, one a component (row-major), so
 * that a register of particles loads as lanes. */
#ifndef FIRN_GRID_PARTICLES_H
#define FIRN_GRID_PARTICLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct particles {
  int32_t count;
  int32_t
      capacity; /* multiple of 8, at least count + 8: kernels may touch whole lanes from any particle on */
  uint64_t *id;
  double *x[3];         /* m */
  double *v[3];         /* m/s */
  double *mass;         /* kg */
  double *volume;       /* m^3, V0; 0 until the first step has estimated it */
  double *fe[9];        /* elastic deformation gradient, row-major */
  double *jp;           /* plastic volume: J_P or ln J_P, as the material's model has it */
  double *shear;        /* accumulated plastic shear, kappa */
  double *flow;         /* 1 where the last return mapping flowed, else 0 */
  double *flying;       /* 1 from a source until it lands: until then the grid has no part of it */
  double *b[9];         /* m^2/s, APIC affine state */
  double *stiffness;    /* factor on the material's stresses; NULL where it is 1 for all */
  double *enthalpy;     /* J/kg; 0 is solid at the melting point */
  double *liquid;       /* 1 where it is liquid, else 0 */
  double *conductivity; /* W/(m K), while it is solid */
  uint32_t *material;   /* index into the scene's materials; NULL where there is one */
};

enum field_type { FIELD_F64, FIELD_U64, FIELD_U32 };

enum field_role {
  ROLE_STATE,   /* changes in every step: has a second copy, which G2P writes, and follows the order */
  ROLE_CONSTANT /* set once: stays where it is until all arrays are brought into order */
};

/* What only some scenes need. */
enum particle_need {
  NEEDS_NOTHING = 0,
  NEEDS_AFFINE = 1 << 0,    /* B: transfer apic */
  NEEDS_SHEAR = 1 << 1,     /* kappa: a material that counts it */
  NEEDS_FLOW = 1 << 2,      /* flow: a solve whose operator follows plastic flow */
  NEEDS_HEAT = 1 << 3,      /* enthalpy, liquid, conductivity: a scene with `heat` */
  NEEDS_STIFFNESS = 1 << 4, /* stiffness: snow whose stiffness varies in space */
  NEEDS_MATERIAL = 1 << 5,  /* material: more than one */
  NEEDS_FLYING = 1 << 6     /* flying: a source whose stream is thin */
};

/* What a particle file must hold for a field. */
enum field_rule {
  RULE_ABSENT, /* files do not give it */
  RULE_ID,     /* unique, not negative */
  RULE_FINITE,
  RULE_NOT_NEGATIVE,
  RULE_POSITIVE,
  RULE_FLAG,      /* 0 or 1 */
  RULE_INVERTIBLE /* a matrix of positive determinant */
};

struct particle_field {
  const char *name; /* in files */
  const char *unit;
  enum field_type type;
  int components; /* 1, 3 or 9 */
  size_t offset;  /* of the first component's array pointer in struct particles */
  enum field_role role;
  double initial;       /* of each component; of a matrix, its diagonal */
  unsigned needs;       /* enum particle_need; NEEDS_NOTHING: always there */
  enum field_rule rule; /* in particle files */
  bool required;        /* there */
};

/* Places in the table. */
enum {
  PARTICLE_ID,
  PARTICLE_POSITION,
  PARTICLE_VELOCITY,
  PARTICLE_MASS,
  PARTICLE_VOLUME,
  PARTICLE_FE,
  PARTICLE_JP,
  PARTICLE_SHEAR,
  PARTICLE_FLOW,
  PARTICLE_FLYING,
  PARTICLE_B,
  PARTICLE_STIFFNESS,
  PARTICLE_ENTHALPY,
  PARTICLE_LIQUID,
  PARTICLE_CONDUCTIVITY,
  PARTICLE_MATERIAL,
  PARTICLE_FIELDS
};
extern const struct particle_field particle_fields[PARTICLE_FIELDS];

size_t field_size(enum field_type type); /* bytes of one element */

/* Factor on the stresses of the particle whose constants are at `home`. */
static inline double particle_stiffness(const struct particles *p, int32_t home)
{
  return p->stiffness ? p->stiffness[home] : 1.0;
}

/* Moves through the air, from a source to where it lands; the particle's state is at `slot`. */
static inline bool particle_flies(const struct particles *p, int32_t slot)
{
  return p->flying && p->flying[slot] != 0.0;
}

/* Is part of the liquid that the grid has. Only with NEEDS_HEAT. */
static inline bool particle_is_liquid(const struct particles *p, int32_t slot)
{
  return p->liquid[slot] != 0.0 && !particle_flies(p, slot);
}

static inline uint32_t particle_material(const struct particles *p, int32_t home)
{
  return p->material ? p->material[home] : 0;
}

/* Array of one component of a field; NULL where the field is not carried. */
void *particle_array(const struct particles *p, const struct particle_field *field, int component);

/* Every array that is there, field by field:
 *   for (struct particle_walk w = particle_walk(p); particle_next(&w);) ... w.array */
struct particle_walk {
  const struct particles *p;
  int row;
  const struct particle_field *field; /* particle_fields[row] */
  int component;
  void *array;
};
struct particle_walk particle_walk(const struct particles *p);
bool particle_next(struct particle_walk *walk);

struct particles *particles_create(unsigned needs);
unsigned particles_needs(const struct particles *p); /* what it was created with */

/* The fields of these needs too, of particles that are none yet. */
void particles_add_needs(struct particles *p, unsigned needs);
void particles_destroy(struct particles **p);

/* Makes room for count particles; contents stay. Fatal beyond 2^31 - 64. */
void particles_reserve(struct particles *p, int64_t count);

/* Gives back what is reserved beyond the particles there are. */
void particles_trim(struct particles *p);

/* Moves every array to new memory, whose pages the threads that will share the particles touch first, each
 * its part: on a machine with several memories they lie near the thread that uses them. Contents stay. */
void particles_spread(struct particles *p, int threads);

/* Appends n particles with the initial values of the table; returns the index of the first. */
int32_t particles_append(struct particles *p, int64_t n);

/* The same by several threads, for many particles. */
int32_t particles_append_shared(struct particles *p, int64_t n, int threads);

/* Bytes of one packed particle, and the copies between a particle and its packed form (migration). */
size_t particles_record_size(const struct particles *p);
void particles_pack(const struct particles *p, int32_t index, void *record);
void particles_unpack(struct particles *p, int32_t index, const void *record);

/* The state that a step leads to, in the order of the step, while the old one must still be readable: a step
 * that fails is taken again from the old state. `p` has the state arrays alone. Which cell a particle is in
 * follows from its position; only that it changed is kept, a byte instead of a key's eight. Between steps and
 * during the solve its arrays are free for other uses (next_spare()). */
enum fate {
  FATE_STAYS, /* in the cell that it was in */
  FATE_MOVES, /* to another one, or comes from nowhere */
  FATE_GONE   /* outside the domain, or to another rank */
};

struct next {
  struct particles *p;
  unsigned char *fate; /* enum fate of each particle */
  unsigned once; /* fields of these needs have no second copy: they are found after the step is accepted, and
                    written over the old ones, in the order of the step too */
};

/* Follows p's fields and capacity; contents stay. Starts from a struct that is zeroed but for `once`. */
void next_fit(struct next *next, const struct particles *p);
void next_free(struct next *next); /* `once` stays */

/* Copies the state of all particles, by several threads. */
void next_stage(struct next *next, const struct particles *p, int threads);

/* The new state becomes the state: the arrays change places. */
void next_exchange(struct next *next, struct particles *p);

/* The n-th array of the state that is made of doubles, or NULL beyond the last. */
double *next_spare(const struct next *next, int n);
enum { STATE_SPARES = 16 }; /* there are always so many */

/* As particles_pack() and particles_unpack(): the state is the k-th of `next`, the constants those at `home`
 * of p. */
void next_pack(const struct next *next, int32_t k, const struct particles *p, int32_t home, void *record);
void next_unpack(struct next *next, int32_t k, struct particles *p, int32_t home, const void *record);

#endif
