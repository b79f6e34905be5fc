/* See frame_fields.h. Stress comes from the material's own code, eight particles at a time; this file is
 * built for the least instruction set, so the bits are those of the binary and not of the machine. */
#include "io/particles/frame_fields.h"

#include "base/log.h"
#include "base/memory.h"
#include "io/scene/scene.h"
#include "material/models.h"

#include <string.h>

typedef void derive(const struct frame_state *state, const int32_t index[LANES], double rows[LANES][9]);
static derive derive_density, derive_plastic_volume, derive_stress, derive_temperature, derive_melted;

/* Mass is there with heat, since water and snow of one size weigh differently and pictures must know. */
const struct frame_column frame_columns[FRAME_COLUMNS] = {
    {NULL, DEFAULT_ALWAYS, false, "id", "1", FIELD_U64, 1, PARTICLE_ID, NULL},
    {NULL, DEFAULT_ALWAYS, false, "position", "m", FIELD_F64, 3, PARTICLE_POSITION, NULL},
    {NULL, DEFAULT_ALWAYS, false, "velocity", "m/s", FIELD_F64, 3, PARTICLE_VELOCITY, NULL},
    {"mass", DEFAULT_WITH_HEAT, false, "mass", "kg", FIELD_F64, 1, PARTICLE_MASS, NULL},
    {"density", DEFAULT_ALWAYS, false, "density", "kg/m^3", FIELD_F64, 1, -1, derive_density},
    {"jp", DEFAULT_ALWAYS, false, "JP", "1", FIELD_F64, 1, -1, derive_plastic_volume},
    {"fe", DEFAULT_NEVER, false, "FE", "1", FIELD_F64, 9, PARTICLE_FE, NULL},
    {"stress", DEFAULT_NEVER, false, "stress", "Pa", FIELD_F64, 9, -1, derive_stress},
    {"material", DEFAULT_NEVER, false, "material", "1", FIELD_U32, 1, PARTICLE_MATERIAL, NULL},
    {"temperature", DEFAULT_WITH_HEAT, true, "temperature", "K", FIELD_F64, 1, -1, derive_temperature},
    {"phase", DEFAULT_WITH_HEAT, true, "phase", "1", FIELD_F64, 1, PARTICLE_LIQUID, NULL},
    {"enthalpy", DEFAULT_NEVER, true, "enthalpy", "J/kg", FIELD_F64, 1, PARTICLE_ENTHALPY, NULL},
    {"liquid_fraction", DEFAULT_NEVER, true, "liquid_fraction", "1", FIELD_F64, 1, -1, derive_melted},
};

void frame_words(const char *words[FRAME_WORDS + 1])
{
  for (int k = 0; k < FRAME_WORDS; k++) words[k] = frame_columns[FRAME_ALWAYS + k].word;
  words[FRAME_WORDS] = NULL;
}

unsigned frame_heat_fields(void)
{
  unsigned bits = 0;
  for (int k = 0; k < FRAME_WORDS; k++) bits |= (unsigned)frame_columns[FRAME_ALWAYS + k].heat << k;
  return bits;
}

unsigned frame_default_fields(bool heat)
{
  unsigned bits = 0;
  for (int k = 0; k < FRAME_WORDS; k++) {
    const enum frame_default by_default = frame_columns[FRAME_ALWAYS + k].by_default;
    const bool there = by_default == DEFAULT_ALWAYS || (heat && by_default == DEFAULT_WITH_HEAT);
    bits |= (unsigned)there << k;
  }
  return bits;
}

unsigned frame_field(const char *word)
{
  for (int k = 0; k < FRAME_WORDS; k++)
    if (strcmp(frame_columns[FRAME_ALWAYS + k].word, word) == 0) return 1u << k;
  firn_fatal("no frame field is called %s", word);
}

bool frame_has(const struct scene *scene, const struct frame_column *column)
{
  return !column->word || scene->fields & frame_field(column->word);
}

size_t frame_row_size(const struct frame_column *column, int frame_bits)
{
  const size_t element =
      column->type == FIELD_F64 && frame_bits == 32 ? sizeof(float) : field_size(column->type);
  return element * (size_t)column->components;
}

/* One component of a copied field, every `stride`-th element of the rows. An array that is not there is that
 * of the materials, where there is one. */
static void copy_component(const void *array, enum field_type type, int narrow, int32_t first, int32_t n,
                           int stride, void *rows)
{
  for (int32_t i = 0; i < n; i++) {
    const int64_t at = (int64_t)i * stride;
    if (type == FIELD_U64)
      ((uint64_t *)rows)[at] = ((const uint64_t *)array)[first + i];
    else if (type == FIELD_U32)
      ((uint32_t *)rows)[at] = array ? ((const uint32_t *)array)[first + i] : 0;
    else if (narrow)
      ((float *)rows)[at] = (float)((const double *)array)[first + i];
    else
      ((double *)rows)[at] = ((const double *)array)[first + i];
  }
}

static struct material_constants *constants_of(const struct scene *scene)
{
  struct material_constants *table = mem_alloc((size_t)scene->material_count, sizeof *table);
  for (int k = 0; k < scene->material_count; k++) material_constants(&scene->materials[k], &table[k]);
  return table;
}

static void gather_derived(const struct frame_column *column, const struct scene *scene,
                           const struct particles *p, int32_t first, int32_t n, void *rows)
{
  const int components = column->components, narrow = scene->frame_bits == 32;
  struct material_constants *materials = constants_of(scene);
  const struct frame_state state = {p, materials, scene->has_heat ? &scene->heat : NULL};
  for (int32_t i = 0; i < n; i += LANES) {
    int32_t index[LANES];
    double batch[LANES][9];
    for (int l = 0; l < LANES; l++)
      index[l] = first + (i + l < n ? i + l : n - 1); /* the last one fills up */
    column->derive(&state, index, batch);
    for (int l = 0; l < LANES && i + l < n; l++)
      for (int c = 0; c < components; c++) {
        const int64_t at = (int64_t)(i + l) * components + c;
        if (narrow)
          ((float *)rows)[at] = (float)batch[l][c];
        else
          ((double *)rows)[at] = batch[l][c];
      }
  }
  mem_free(materials);
}

void frame_gather(const struct frame_column *column, const struct scene *scene, const struct particles *p,
                  int32_t first, int32_t n, void *rows)
{
  if (column->derive) {
    gather_derived(column, scene, p, first, n, rows);
    return;
  }
  const int components = column->components;
  const size_t element = frame_row_size(column, scene->frame_bits) / (size_t)components;
  for (int c = 0; c < components; c++)
    copy_component(particle_array(p, &particle_fields[column->field], c), column->type,
                   scene->frame_bits == 32, first, n, components, (char *)rows + (size_t)c * element);
}

static vd gather_lanes(const double *array, const int32_t index[LANES])
{
  vd lanes;
  for (int l = 0; l < LANES; l++) lanes[l] = array[index[l]];
  return lanes;
}

static void lanes_of(const struct frame_state *state, const int32_t index[LANES], struct material_lanes *out)
{
  uint32_t material[LANES];
  for (int l = 0; l < LANES; l++) material[l] = particle_material(state->p, index[l]);
  material_gather(state->materials, material, out);
}

static struct history history_of(const struct particles *p, const int32_t index[LANES])
{
  return (struct history){gather_lanes(p->jp, index), p->shear ? gather_lanes(p->shear, index) : vd_set(0.0)};
}

/* Mass over the current volume V0 J_E J_P; 0 where V0 is not known yet, since it comes with the first step.
 */
static void derive_density(const struct frame_state *state, const int32_t index[LANES], double rows[LANES][9])
{
  const struct particles *p = state->p;
  struct material_lanes m;
  lanes_of(state, index, &m);
  vd fe[9];
  for (int k = 0; k < 9; k++) fe[k] = gather_lanes(p->fe[k], index);
  const vd volume = gather_lanes(p->volume, index) * stretch_determinant(fe) *
                    material_plastic_volume(&m, gather_lanes(p->jp, index));
  const vd density = gather_lanes(p->mass, index) / volume;
  for (int l = 0; l < LANES; l++) rows[l][0] = volume[l] > 0.0 ? density[l] : 0.0;
}

static void derive_plastic_volume(const struct frame_state *state, const int32_t index[LANES],
                                  double rows[LANES][9])
{
  const struct particles *p = state->p;
  struct material_lanes m;
  lanes_of(state, index, &m);
  const vd jp = material_plastic_volume(&m, gather_lanes(p->jp, index));
  for (int l = 0; l < LANES; l++) rows[l][0] = jp[l];
}

/* A liquid has its pressure alone, and none if it has gaps. */
static void put_pressure(const struct heat_law *heat, double j, double row[9])
{
  const double pressure = j < 1.0 ? heat->lambda_liquid * (1.0 - j) : 0.0;
  for (int c = 0; c < 9; c++) row[c] = c % 4 == 0 ? -pressure : 0.0;
}

/* Cauchy stress: P F_E^T / (J_E J_P). */
static void derive_stress(const struct frame_state *state, const int32_t index[LANES], double rows[LANES][9])
{
  const struct particles *p = state->p;
  static const int from_triangle[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
  struct material_lanes m;
  lanes_of(state, index, &m);
  const struct history h = history_of(p, index);
  vd fe[9], tau[3] = {vd_set(0.0)}, stress[6];
  for (int k = 0; k < 9; k++) fe[k] = gather_lanes(p->fe[k], index);
  struct principal frame;
  principal3(fe, &frame);
  const struct stretches e = stretches_of(&frame);
  material_stress(&m, &e, &h, tau);
  stretch_from_principal(frame.u, tau, stress);
  const vd j = stretch_determinant(fe),
           stiffness = p->stiffness ? gather_lanes(p->stiffness, index) : vd_set(1.0),
           factor = stiffness / (j * material_plastic_volume(&m, h.volume));
  for (int l = 0; l < LANES; l++) {
    for (int c = 0; c < 9; c++) rows[l][c] = stress[from_triangle[c]][l] * factor[l];
    if (state->heat && p->liquid[index[l]] != 0.0) put_pressure(state->heat, j[l], rows[l]);
  }
}

static void derive_temperature(const struct frame_state *state, const int32_t index[LANES],
                               double rows[LANES][9])
{
  const struct heat_law *heat = state->heat;
  for (int l = 0; l < LANES; l++)
    rows[l][0] = heat->melting_point + heat_temperature(heat, state->p->enthalpy[index[l]]);
}

static void derive_melted(const struct frame_state *state, const int32_t index[LANES], double rows[LANES][9])
{
  for (int l = 0; l < LANES; l++) rows[l][0] = heat_melted(state->heat, state->p->enthalpy[index[l]]);
}
