/* The columns of a frame: which there are, and how a particle's row comes about.
 *
 * Fields of the particles are copied, density and stress are derived. Every value depends on its one particle
 * alone, so a frame has the same bits on any number of ranks. */
#ifndef FIRN_IO_FRAME_FIELDS_H
#define FIRN_IO_FRAME_FIELDS_H

#include "base/simd.h"
#include "io/scene.h"
#include "particles.h"

#include <stddef.h>
#include <stdint.h>

struct snow_constants;

struct frame_column {
  unsigned bit;                       /* enum frame_field, or 0 for what every frame has */
  const struct particle_field *field; /* name, unit, type, components */
  /* Rows of eight particles; NULL where the field is copied as it is. */
  void (*derive)(const struct particles *p, const struct snow_constants *materials,
                 const int32_t index[LANES], double rows[LANES][9]);
};

enum { FRAME_COLUMNS = 9 };
extern const struct frame_column frame_columns[FRAME_COLUMNS];

/* Bytes of one row in a file whose reals have frame_bits (32 or 64). */
size_t frame_row_size(const struct frame_column *column, int frame_bits);

/* Rows first .. first + n - 1, interleaved, into `rows`. */
void frame_gather(const struct frame_column *column, const struct scene *scene, const struct particles *p,
                  int32_t first, int32_t n, void *rows);

#endif
