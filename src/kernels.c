#include "kernels.h"

#include "base/memory.h"
#include "kernels/stencil_sizes.h"

#include <string.h>

extern const struct kernels kernels_portable;
#ifdef FIRN_HAVE_X86_KERNELS
extern const struct kernels kernels_avx2, kernels_avx512;
#endif

enum isa isa_detect(void)
{
#ifdef FIRN_HAVE_X86_KERNELS
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) return ISA_AVX512;
  if (__builtin_cpu_supports("x86-64-v3")) return ISA_AVX2;
#endif
  return ISA_PORTABLE;
}

const struct kernels *kernels_get(enum isa isa)
{
  switch (isa) {
#ifdef FIRN_HAVE_X86_KERNELS
  case ISA_AVX512: return &kernels_avx512;
  case ISA_AVX2: return &kernels_avx2;
#endif
  case ISA_PORTABLE: return &kernels_portable;
  default: return NULL;
  }
}

int isa_by_name(const char *name, enum isa *isa, struct error *err)
{
  for (int k = 0; k < ISA_COUNT; k++) {
    const struct kernels *kernels = kernels_get((enum isa)k);
    if (!kernels || strcmp(kernels->name, name) != 0) continue;
    *isa = (enum isa)k;
    return FIRN_OK;
  }
  return error_set(err, FIRN_EINPUT, "--isa: \"%s\" is none of portable, avx2, avx512", name);
}

void workspace_fit(struct workspace *w, const struct grid *grid)
{
  const int64_t records = WINDOW_GATHER + TILE_Z * (int64_t)grid->largest_cell + 32;
  if (records > w->record_capacity) {
    w->record_capacity = records + records / 2;
    for (int k = 0; k < 2; k++) {
      mem_free(w->records[k]);
      mem_free(w->out[k]);
      w->records[k] = mem_alloc((size_t)w->record_capacity, RECORD_BYTES);
      w->out[k] = mem_alloc((size_t)w->record_capacity * GATHERED_DOUBLES, sizeof(double));
    }
  }
  const int64_t q = 2 * (int64_t)MAX_SUPPORT * grid->largest_footprint * TILE_DOUBLES;
  if (q > w->q_capacity) {
    mem_free(w->q);
    w->q_capacity = q + q / 2;
    w->q = mem_alloc((size_t)w->q_capacity, sizeof(double));
  }
}

void workspace_free(struct workspace *w)
{
  for (int k = 0; k < 2; k++) {
    mem_free(w->records[k]);
    mem_free(w->out[k]);
  }
  mem_free(w->q);
  *w = (struct workspace){0};
}

void scratch_fit(struct scratch *s, const struct particles *p)
{
  if (s->capacity >= p->capacity) return;
  const size_t old = (size_t)s->capacity, n = (size_t)p->capacity;
  for (int k = 0; k < 3; k++) s->x[k] = mem_resize(s->x[k], old, n, sizeof(double));
  for (int k = 0; k < 3; k++) s->v[k] = mem_resize(s->v[k], old, n, sizeof(double));
  for (int k = 0; k < 9; k++) s->fe[k] = mem_resize(s->fe[k], old, n, sizeof(double));
  s->jp = mem_resize(s->jp, old, n, sizeof(double));
  for (int k = 0; k < 9 && p->b[0]; k++) s->b[k] = mem_resize(s->b[k], old, n, sizeof(double));
  s->key = mem_resize(s->key, old, n, sizeof *s->key);
  s->capacity = p->capacity;
}

void scratch_free(struct scratch *s)
{
  for (int k = 0; k < 3; k++) {
    mem_free(s->x[k]);
    mem_free(s->v[k]);
  }
  for (int k = 0; k < 9; k++) {
    mem_free(s->fe[k]);
    mem_free(s->b[k]);
  }
  mem_free(s->jp);
  mem_free(s->key);
  *s = (struct scratch){0};
}
