/* Particles: structure of arrays, kept in the order (cell, id).
 *
 * One table names every field once; packing for migration, reordering, frames, checkpoints and particle files
 * are all driven by it. A vector or tensor field is several arrays, one a component (row-major), so that
 * eight particles load as eight lanes. */
#ifndef FIRN_PARTICLES_H
#define FIRN_PARTICLES_H

#include <stddef.h>
#include <stdint.h>

struct particles {
  int32_t count;
  int32_t
      capacity; /* multiple of 8, at least count + 8: kernels may touch whole lanes from any particle on */
  uint64_t *id;
  double *x[3];      /* m */
  double *v[3];      /* m/s */
  double *mass;      /* kg */
  double *volume;    /* m^3, V0; 0 until the first step has estimated it */
  double *fe[9];     /* elastic deformation gradient, row-major */
  double *jp;        /* det F_P */
  double *b[9];      /* m^2/s, APIC affine state; all NULL unless affine */
  double *stiffness; /* factor on the material's mu and lambda, for snow that varies in space; 1 by default */
  uint32_t *material; /* index into the scene's materials */
};

enum field_type { FIELD_F64, FIELD_U64, FIELD_U32 };

struct particle_field {
  const char *name; /* in files */
  const char *unit;
  enum field_type type;
  int components; /* 1, 3 or 9 */
  size_t offset;  /* of the first component's array pointer in struct particles */
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
  PARTICLE_B,
  PARTICLE_STIFFNESS,
  PARTICLE_MATERIAL,
  PARTICLE_FIELDS
};
extern const struct particle_field particle_fields[PARTICLE_FIELDS];

size_t field_size(enum field_type type); /* bytes of one element */

/* Array of one component of a field; NULL where the field is not carried (B without APIC). */
void *particle_array(const struct particles *p, const struct particle_field *field, int component);

struct particles *particles_create(int affine);
void particles_destroy(struct particles **p);

/* Makes room for count particles; contents stay. Fatal beyond 2^31 - 64. */
void particles_reserve(struct particles *p, int64_t count);

/* Gives back what is reserved beyond the particles there are. */
void particles_trim(struct particles *p);

/* Moves every array to new memory, whose pages the threads that will share the particles touch first, each
 * its part: on a machine with several memories they lie near whom they belong to. Contents stay. */
void particles_spread(struct particles *p, int threads);

/* Appends n particles with F_E = I, J_P = 1, stiffness 1, everything else zero; returns the index of the
 * first. */
int32_t particles_append(struct particles *p, int64_t n);

/* Bytes of one packed particle, and the copies between a particle and its packed form (migration). */
size_t particles_record_size(const struct particles *p);
void particles_pack(const struct particles *p, int32_t index, void *record);
void particles_unpack(struct particles *p, int32_t index, const void *record);

#endif
