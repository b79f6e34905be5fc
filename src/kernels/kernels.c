#include "kernels/kernels.h"

#include "base/log.h"
#include "base/memory.h"
#include "kernels/stencil_sizes.h"

#include <string.h>

extern const struct kernels KERNEL_NAME(kernels, FIRN_BASE_ISA);
#ifdef FIRN_HAVE_X86_KERNELS
extern const struct kernels kernels_avx2, kernels_avx512;
#endif

#ifdef FIRN_HAVE_X86_KERNELS
/* What -march=x86-64-v3 and -v4 may use; clang 14 does not know these names at run time. */
static bool has_avx2(void)
{
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
}

static bool has_avx512(void)
{
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

enum isa isa_detect(void)
{
#ifdef FIRN_HAVE_X86_KERNELS
  __builtin_cpu_init();
  if (has_avx512()) return ISA_AVX512;
  if (has_avx2()) return ISA_AVX2;
#endif
  return ISA_BASE;
}

const struct kernels *kernels_get(enum isa isa)
{
  switch (isa) {
#ifdef FIRN_HAVE_X86_KERNELS
  case ISA_AVX512: return &kernels_avx512;
  case ISA_AVX2: return &kernels_avx2;
#endif
  case ISA_BASE: return &KERNEL_NAME(kernels, FIRN_BASE_ISA);
  default: return NULL;
  }
}

static const char *const isa_names[ISA_COUNT] = {ISA_WORD(FIRN_BASE_ISA), "avx2", "avx512"};

int isa_by_name(const char *name, enum isa *isa, struct error *err)
{
  for (int k = 0; k < ISA_COUNT; k++) {
    if (strcmp(isa_names[k], name) != 0 && (k != ISA_BASE || strcmp(name, "portable") != 0)) continue;
    *isa = (enum isa)k;
    return FIRN_OK;
  }
  return error_set(err, FIRN_EINPUT, "--isa: \"%s\" is none of portable, %s, avx2, avx512", name,
                   isa_names[ISA_BASE]);
}

int isa_check(enum isa wanted, enum isa have, struct error *err)
{
  if (wanted == ISA_COUNT || wanted <= have) return FIRN_OK;
  return error_set(err, FIRN_EINPUT,
                   "--isa %s: this machine runs %s at most; ask for that, or leave --isa out for the best",
                   isa_names[wanted], isa_names[have]);
}

void workspace_fit(struct workspace *w, const struct grid *grid)
{
  const int64_t records = PASS_GATHER + (int64_t)grid->largest_cell + 32;
  for (int k = 0; k < 2; k++)
    if (!w->nodes[k]) w->nodes[k] = mem_alloc(PART_DOUBLES, sizeof(double));
  if (records <= w->record_capacity) return;
  w->record_capacity = records + records / 2;
  for (int k = 0; k < 2; k++) {
    mem_free(w->records[k]);
    mem_free(w->out[k]);
    w->records[k] = mem_alloc((size_t)w->record_capacity, RECORD_BYTES);
    w->out[k] = mem_alloc((size_t)w->record_capacity * GATHERED_DOUBLES, sizeof(double));
  }
}

void workspace_free(struct workspace *w)
{
  for (int k = 0; k < 2; k++) {
    mem_free(w->records[k]);
    mem_free(w->out[k]);
    mem_free(w->nodes[k]);
  }
  *w = (struct workspace){0};
}

static void add_array(struct arrays *arrays, const struct particle_walk *w)
{
  FIRN_ASSERT(arrays->count < (int)(sizeof arrays->at / sizeof *arrays->at));
  arrays->at[arrays->count++] = w->array;
}

/* The n-th array of what is kept. */
static double *kept_array(struct kept *kept, const struct next *next, int n)
{
  if (n < STATE_SPARES) return next_spare(next, n);
  double **more = &kept->more[n - STATE_SPARES];
  if (kept->more_capacity < next->p->capacity) {
    mem_free(*more);
    *more = mem_alloc((size_t)next->p->capacity, sizeof(double));
  }
  return *more;
}

/* Two arrays of floats in each of doubles. The second begins where whole lanes from the last particle on end
 * within the array. */
static void point_single(struct transfer *t)
{
  for (int k = 0; k < transfer_singles(t); k++)
    t->kept.single[k] = (float *)next_spare(t->next, k / 2) + (k % 2 ? t->next->p->capacity - 8 : 0);
}

static void point_kept(struct transfer *t)
{
  struct kept *kept = &t->kept;
  if (t->snow_alone) {
    for (int k = 0; k < 6; k++) kept->stretch[k] = kept_array(kept, t->next, k);
    kept->mu = kept_array(kept, t->next, 6);
    kept->bulk = kept_array(kept, t->next, 7);
    kept->pressure = kept_array(kept, t->next, 8);
  } else {
    for (int k = 0; k < 9; k++) kept->u[k] = kept_array(kept, t->next, k);
    for (int k = 0; k < 6; k++) kept->d[k] = kept_array(kept, t->next, 9 + k);
    for (int k = 0; k < 9; k++) kept->pair[k] = kept_array(kept, t->next, 15 + k);
    kept->more_capacity = t->next->p->capacity;
  }
}

void transfer_point(struct transfer *t)
{
  t->by_slot.count = t->by_home.count = t->gathered.count = 0;
  for (struct particle_walk w = particle_walk(t->p); particle_next(&w);) {
    if (w.field->type != FIELD_F64) continue;
    add_array(w.field->role == ROLE_STATE ? &t->by_slot : &t->by_home, &w);
    if (w.field->role == ROLE_STATE && w.field != &particle_fields[PARTICLE_B]) add_array(&t->gathered, &w);
  }
  if (t->implicit && t->mixed)
    point_single(t);
  else if (t->implicit)
    point_kept(t);
}

void transfer_free(struct transfer *t)
{
  for (int k = 0; k < KEPT_GENERAL - STATE_SPARES; k++) mem_free(t->kept.more[k]);
  memset(&t->kept, 0, sizeof t->kept);
}
