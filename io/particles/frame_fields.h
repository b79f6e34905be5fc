/* The columns of a frame: which there are, and how a particle's row comes about.
 *
 * Fields of the particles are copied, others are derived from them. Every value depends on its one particle
 * alone, so a frame has the same bits on any number of ranks. The table is the only list of what a frame may
 * hold: a new output field is one row. */
#ifndef FIRN_IO_FRAME_FIELDS_H
#define FIRN_IO_FRAME_FIELDS_H

#include "base/simd.h"
#include "grid/particles.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heat_law;
struct scene;
struct material_constants;

/* What a row is derived from. */
struct frame_state {
  const struct particles *p;
  const struct material_constants *materials;
  const struct heat_law *heat; /* NULL without */
};

enum frame_default { DEFAULT_NEVER, DEFAULT_ALWAYS, DEFAULT_WITH_HEAT };

struct frame_column {
  const char *word; /* in output.fields of a scene; NULL: every frame has it */
  enum frame_default by_default;
  bool heat;        /* only in scenes with `heat` */
  const char *name; /* of the dataset */
  const char *unit;
  enum field_type type;
  int components;
  int field; /* of particle_fields, copied as it is, where nothing is derived */
  /* Rows of a register of particles. */
  void (*derive)(const struct frame_state *state, const int32_t index[LANES], double rows[LANES][9]);
};

/* Those without a word come first. */
enum { FRAME_COLUMNS = 13, FRAME_ALWAYS = 3, FRAME_WORDS = FRAME_COLUMNS - FRAME_ALWAYS };
extern const struct frame_column frame_columns[FRAME_COLUMNS];

/* Bit k of a scene's `fields` is the k-th word. */
void frame_words(const char *words[FRAME_WORDS + 1]); /* ended by NULL */
unsigned frame_default_fields(bool heat);
unsigned frame_field(const char *word); /* its bit; the word must be one */
unsigned frame_heat_fields(void);       /* those that only scenes with `heat` have */
bool frame_has(const struct scene *scene, const struct frame_column *column);

/* Bytes of one row in a file whose reals have frame_bits (32 or 64). */
size_t frame_row_size(const struct frame_column *column, int frame_bits);

/* Rows first .. first + n - 1, interleaved, into `rows`. */
void frame_gather(const struct frame_column *column, const struct scene *scene, const struct particles *p,
                  int32_t first, int32_t n, void *rows);

#endif
