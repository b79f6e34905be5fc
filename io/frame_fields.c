/* See frame_fields.h. Stress comes from the material's own code, eight particles at a time; this file is
 * built for the least instruction set, so the bits are those of the binary and not of the machine. */
#include "io/frame_fields.h"

#include "base/memory.h"
#include "material/snow.h"

static void derive_density(const struct particles *p, const struct snow_constants *materials,
                           const int32_t index[LANES], double rows[LANES][9]);
static void derive_stress(const struct particles *p, const struct snow_constants *materials,
                          const int32_t index[LANES], double rows[LANES][9]);

static const struct particle_field density_field = {"density", "kg/m^3", FIELD_F64, 1, 0};
static const struct particle_field stress_field = {"stress", "Pa", FIELD_F64, 9, 0};

const struct frame_column frame_columns[FRAME_COLUMNS] = {
    {0, &particle_fields[PARTICLE_ID], NULL},
    {0, &particle_fields[PARTICLE_POSITION], NULL},
    {0, &particle_fields[PARTICLE_VELOCITY], NULL},
    {FRAME_MASS, &particle_fields[PARTICLE_MASS], NULL},
    {FRAME_DENSITY, &density_field, derive_density},
    {FRAME_JP, &particle_fields[PARTICLE_JP], NULL},
    {FRAME_FE, &particle_fields[PARTICLE_FE], NULL},
    {FRAME_STRESS, &stress_field, derive_stress},
    {FRAME_MATERIAL, &particle_fields[PARTICLE_MATERIAL], NULL},
};

size_t frame_row_size(const struct frame_column *column, int frame_bits)
{
  const enum field_type type = column->field->type;
  const size_t element = type == FIELD_F64 && frame_bits == 32 ? sizeof(float) : field_size(type);
  return element * (size_t)column->field->components;
}

/* One component of a copied field, every `stride`-th element of the rows. */
static void copy_component(const void *array, enum field_type type, int narrow, int32_t first, int32_t n,
                           int stride, void *rows)
{
  for (int32_t i = 0; i < n; i++) {
    const int64_t at = (int64_t)i * stride;
    if (type == FIELD_U64)
      ((uint64_t *)rows)[at] = ((const uint64_t *)array)[first + i];
    else if (type == FIELD_U32)
      ((uint32_t *)rows)[at] = ((const uint32_t *)array)[first + i];
    else if (narrow)
      ((float *)rows)[at] = (float)((const double *)array)[first + i];
    else
      ((double *)rows)[at] = ((const double *)array)[first + i];
  }
}

static struct snow_constants *constants_of(const struct scene *scene)
{
  struct snow_constants *table = mem_alloc((size_t)scene->material_count, sizeof *table);
  for (int k = 0; k < scene->material_count; k++) {
    const struct material *m = &scene->materials[k];
    table[k] = snow_constants(&(struct material_parameters){.young = m->young,
                                                            .poisson = m->poisson,
                                                            .hardening = m->hardening,
                                                            .hardening_limit = m->hardening_limit,
                                                            .critical_compression = m->critical_compression,
                                                            .critical_stretch = m->critical_stretch,
                                                            .plastic = m->plastic});
  }
  return table;
}

static void gather_derived(const struct frame_column *column, const struct scene *scene,
                           const struct particles *p, int32_t first, int32_t n, void *rows)
{
  const int components = column->field->components, narrow = scene->frame_bits == 32;
  struct snow_constants *materials = constants_of(scene);
  for (int32_t i = 0; i < n; i += LANES) {
    int32_t index[LANES];
    double batch[LANES][9];
    for (int l = 0; l < LANES; l++)
      index[l] = first + (i + l < n ? i + l : n - 1); /* the last one fills up */
    column->derive(p, materials, index, batch);
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
  const int components = column->field->components;
  const size_t element = frame_row_size(column, scene->frame_bits) / (size_t)components;
  for (int c = 0; c < components; c++)
    copy_component(particle_array(p, column->field, c), column->field->type, scene->frame_bits == 32, first,
                   n, components, (char *)rows + (size_t)c * element);
}

static vd gather_lanes(const double *array, const int32_t index[LANES])
{
  vd lanes;
  for (int l = 0; l < LANES; l++) lanes[l] = array[index[l]];
  return lanes;
}

/* Mass over the current volume V0 J_E J_P; 0 where V0 is not known yet, since it comes with the first step.
 */
static void derive_density(const struct particles *p, const struct snow_constants *materials,
                           const int32_t index[LANES], double rows[LANES][9])
{
  (void)materials;
  vd fe[9];
  for (int k = 0; k < 9; k++) fe[k] = gather_lanes(p->fe[k], index);
  const vd volume = gather_lanes(p->volume, index) * stretch_determinant(fe) * gather_lanes(p->jp, index);
  const vd density = gather_lanes(p->mass, index) / volume;
  for (int l = 0; l < LANES; l++) rows[l][0] = volume[l] > 0.0 ? density[l] : 0.0;
}

/* Cauchy stress: P F_E^T / (J_E J_P). */
static void derive_stress(const struct particles *p, const struct snow_constants *materials,
                          const int32_t index[LANES], double rows[LANES][9])
{
  static const int from_triangle[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
  uint32_t material[LANES];
  for (int l = 0; l < LANES; l++) material[l] = p->material[index[l]];
  const struct snow_lanes constants = snow_gather(materials, material);
  vd fe[9], stress[6];
  for (int k = 0; k < 9; k++) fe[k] = gather_lanes(p->fe[k], index);
  const vd jp = gather_lanes(p->jp, index);
  struct svd svd;
  svd3(fe, &svd);
  vm clamped;
  const vd factor = snow_hardening(&constants, jp, &clamped) * gather_lanes(p->stiffness, index);
  snow_stress(svd.u, svd.sigma, factor * constants.mu, factor * constants.lambda, stress);
  const vd j = svd.sigma[0] * svd.sigma[1] * svd.sigma[2] * jp;
  for (int l = 0; l < LANES; l++)
    for (int c = 0; c < 9; c++) rows[l][c] = stress[from_triangle[c]][l] / j[l];
}
