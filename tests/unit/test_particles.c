/* Particles: growth, defaults, the table, and the way through a record and back. */
#include "base/memory.h"
#include "grid/particles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A value for every array element that tells particle, field and component. */
static void fill(struct particles *p, int32_t i, uint64_t tag)
{
  for (int f = 0; f < PARTICLE_FIELDS; f++)
    for (int c = 0; c < particle_fields[f].components; c++) {
      void *array = particle_array(p, &particle_fields[f], c);
      if (!array) continue;
      const uint64_t value = tag * 1000 + (uint64_t)(10 * f + c);
      if (particle_fields[f].type == FIELD_U64) ((uint64_t *)array)[i] = value << 20;
      if (particle_fields[f].type == FIELD_U32) ((uint32_t *)array)[i] = (uint32_t)value;
      if (particle_fields[f].type == FIELD_F64) ((double *)array)[i] = (double)value + 0.25;
    }
}

static void assert_same(const struct particles *a, int32_t i, const struct particles *b, int32_t k)
{
  for (int f = 0; f < PARTICLE_FIELDS; f++)
    for (int c = 0; c < particle_fields[f].components; c++) {
      const char *left = particle_array(a, &particle_fields[f], c),
                 *right = particle_array(b, &particle_fields[f], c);
      const size_t size = field_size(particle_fields[f].type);
      assert_int_equal(left == NULL, right == NULL);
      if (left) assert_memory_equal(left + (size_t)i * size, right + (size_t)k * size, size);
    }
}

static void test_defaults(void **state)
{
  (void)state;
  struct particles *p = particles_create(NEEDS_AFFINE | NEEDS_MATERIAL);
  assert_int_equal(p->count, 0);
  assert_int_equal(particles_append(p, 3), 0);
  fill(p, 1, 7);
  p->count = 1; /* what stood behind must not show through */
  assert_int_equal(particles_append(p, 20), 1);
  assert_int_equal(p->count, 21);
  for (int32_t i = 1; i < 21; i++) {
    assert_true(p->id[i] == 0 && p->material[i] == 0 && p->mass[i] == 0.0 && p->volume[i] == 0.0 &&
                p->jp[i] == 1.0);
    for (int k = 0; k < 9; k++) assert_true(p->fe[k][i] == (k % 4 == 0 ? 1.0 : 0.0) && p->b[k][i] == 0.0);
    for (int d = 0; d < 3; d++) assert_true(p->x[d][i] == 0.0 && p->v[d][i] == 0.0);
  }
  particles_destroy(&p);
  assert_null(p);
  particles_destroy(&p);
  assert_int_equal(mem_balance(), 0);
}

static void test_growth(void **state)
{
  (void)state;
  struct particles *p = particles_create(NEEDS_MATERIAL), *one = particles_create(NEEDS_MATERIAL);
  particles_append(one, 1);
  for (int k = 0; k < 9; k++) assert_null(p->b[k]);
  int growths = 0;
  for (int32_t i = 0; i < 5000; i++) {
    const int32_t before = p->capacity;
    assert_int_equal(particles_append(p, 1), i);
    fill(p, i, (uint64_t)i);
    assert_true(p->capacity % 8 == 0 && p->capacity >= p->count + 8);
    if (p->capacity != before) assert_true(p->capacity >= before + before / 2);
    growths += p->capacity != before;
  }
  assert_true(growths < 20);
  for (int32_t i = 0; i < 5000; i++) {
    fill(one, 0, (uint64_t)i);
    assert_same(p, i, one, 0);
  }
  /* Whole lanes can be read to the end of the capacity. */
  double sum = 0.0;
  for (int32_t i = 0; i < p->capacity; i++) sum += p->fe[8][i] + (double)p->id[i] + (double)p->material[i];
  assert_true(sum == sum);
  particles_reserve(p, 10);
  assert_int_equal(p->count, 5000);
  for (int threads = 1; threads < 8; threads += 3) {
    const int32_t capacity = p->capacity;
    particles_spread(p, threads);
    assert_true(p->count == 5000 && p->capacity == capacity);
    for (int32_t i = 0; i < 5000; i++) {
      fill(one, 0, (uint64_t)i);
      assert_same(p, i, one, 0);
    }
  }
  particles_destroy(&p);
  particles_destroy(&one);
  assert_int_equal(mem_balance(), 0);
}

/* Small arrays and such as come straight from the system. */
static void trim_to(int32_t kept)
{
  const unsigned needs = NEEDS_AFFINE | NEEDS_MATERIAL;
  struct particles *p = particles_create(needs), *one = particles_create(needs);
  particles_append(one, 1);
  particles_append(p, 400000);
  for (int32_t i = 0; i < kept; i++) fill(p, i, (uint64_t)i);
  p->count = kept;
  particles_trim(p);
  assert_true(p->capacity % 8 == 0 && p->capacity >= kept + 8 && p->capacity < kept + 24);
  double sum = 0.0;
  for (int32_t i = 0; i < p->capacity; i++) sum += p->fe[8][i] + (double)p->id[i] + (double)p->material[i];
  assert_true(sum == sum);
  particles_trim(p);
  assert_int_equal(particles_append(p, 1000), kept);
  for (int32_t i = 0; i < p->count; i++) {
    if (i >= kept) fill(p, i, (uint64_t)i);
    fill(one, 0, (uint64_t)i);
    assert_same(p, i, one, 0);
  }
  particles_destroy(&p);
  particles_destroy(&one);
  assert_int_equal(mem_balance(), 0);
}

static void test_trim(void **state)
{
  (void)state;
  trim_to(0);
  trim_to(1001);
  trim_to(300000);
  trim_to(399999);
}

static void pack_and_back(unsigned needs)
{
  struct particles *a = particles_create(needs), *b = particles_create(needs);
  const size_t size = particles_record_size(a);
  assert_int_equal(size, 8 * (1 + 3 + 3 + 1 + 1 + 9 + 1 + (needs & NEEDS_AFFINE ? 9 : 0)) +
                             (needs & NEEDS_MATERIAL ? 8 : 0)); /* whole words */
  particles_append(a, 50);
  particles_append(b, 50);
  unsigned char *record = mem_alloc(size, 1), *again = mem_alloc(size, 1);
  for (int32_t i = 0; i < 50; i++) {
    fill(a, i, (uint64_t)i);
    memset(record, 0xaa, size);
    memset(again, 0x55, size);
    particles_pack(a, i, record);
    particles_unpack(b, 49 - i, record);
    particles_pack(b, 49 - i, again);
    assert_same(a, i, b, 49 - i);
    assert_memory_equal(record, again, size); /* no stray bytes in the padding */
  }
  mem_free(record);
  mem_free(again);
  particles_destroy(&a);
  particles_destroy(&b);
  assert_int_equal(mem_balance(), 0);
}

static void test_records(void **state)
{
  (void)state;
  pack_and_back(0);
  pack_and_back(NEEDS_AFFINE);
  pack_and_back(NEEDS_MATERIAL);
}

static void test_table(void **state)
{
  (void)state;
  struct particles *p = particles_create(~0u);
  for (int f = 0; f < PARTICLE_FIELDS; f++) {
    const struct particle_field *field = &particle_fields[f];
    assert_true(field->initial == 0.0 || field->type == FIELD_F64);
    assert_true(field->components == 1 || field->components == 3 || field->components == 9);
    for (int other = 0; other < f; other++) assert_string_not_equal(field->name, particle_fields[other].name);
    for (int c = 0; c < field->components; c++) assert_non_null(particle_array(p, field, c));
  }
  assert_ptr_equal(particle_array(p, &particle_fields[PARTICLE_FE], 5), p->fe[5]);
  assert_ptr_equal(particle_array(p, &particle_fields[PARTICLE_B], 8), p->b[8]);
  assert_ptr_equal(particle_array(p, &particle_fields[PARTICLE_MATERIAL], 0), p->material);
  particles_destroy(&p);
}

/* Fields that nobody asked for take no memory; the others are found by walking. */
static void test_optional(void **state)
{
  (void)state;
  const unsigned needs[] = {NEEDS_NOTHING,   NEEDS_AFFINE,   NEEDS_SHEAR, NEEDS_FLOW | NEEDS_SHEAR,
                            NEEDS_STIFFNESS, NEEDS_MATERIAL, ~0u};
  for (size_t k = 0; k < sizeof needs / sizeof *needs; k++) {
    struct particles *p = particles_create(needs[k]);
    int arrays = 0, walked = 0;
    for (int f = 0; f < PARTICLE_FIELDS; f++) {
      const bool there = (particle_fields[f].needs & needs[k]) == particle_fields[f].needs;
      assert_true((particle_array(p, &particle_fields[f], 0) != NULL) == there);
      arrays += there ? particle_fields[f].components : 0;
    }
    for (struct particle_walk w = particle_walk(p); particle_next(&w); walked++)
      assert_ptr_equal(w.array, particle_array(p, w.field, w.component));
    assert_int_equal(arrays, walked);
    if (needs[k] != ~0u) assert_int_equal(particles_needs(p), needs[k]);
    particles_destroy(&p);
  }
}

/* A field that is added before there are particles is as good as one from the start; the others stay. */
static void test_add_needs(void **state)
{
  (void)state;
  struct particles *p = particles_create(NEEDS_SHEAR);
  const double *shear = p->shear;
  assert_true(particle_stiffness(p, 0) == 1.0);
  particles_add_needs(p, NEEDS_STIFFNESS);
  assert_true(p->shear == shear && particles_needs(p) == (NEEDS_SHEAR | NEEDS_STIFFNESS));
  particles_append(p, 1000);
  for (int32_t i = 0; i < 1000; i++) assert_true(p->stiffness[i] == 1.0);
  p->stiffness[7] = 2.0;
  assert_true(particle_stiffness(p, 7) == 2.0);
  particles_destroy(&p);
}

/* The next state has the state's fields alone, less those that are kept once; they change places, and a
 * record is made of both. */
static void check_next(unsigned once)
{
  struct particles *p = particles_create(~0u), *other = particles_create(~0u);
  struct next next = {.once = once};
  particles_append(p, 20);
  particles_append(other, 20);
  next_fit(&next, p);
  assert_true(next.p->capacity >= p->capacity);
  for (int f = 0; f < PARTICLE_FIELDS; f++)
    assert_true((particle_array(next.p, &particle_fields[f], 0) != NULL) ==
                (particle_fields[f].role == ROLE_STATE && !(particle_fields[f].needs & once)));
  for (int k = 0; k < STATE_SPARES; k++) assert_non_null(next_spare(&next, k));
  const size_t size = particles_record_size(p);
  unsigned char *record = mem_alloc(size, 1), *again = mem_alloc(size, 1);
  for (int32_t i = 0; i < 20; i++) {
    fill(other, i, (uint64_t)i);
    particles_pack(other, i, record);
    next_unpack(&next, i, p, 19 - i, record);
    memset(again, 0x55, size);
    next_pack(&next, i, p, 19 - i, again);
    assert_memory_equal(record, again, size);
  }
  next_exchange(&next, p);
  for (int32_t i = 0; i < 20; i++)
    for (struct particle_walk w = particle_walk(p); particle_next(&w);) {
      const size_t bytes = field_size(w.field->type);
      const int32_t at = w.field->role == ROLE_STATE ? i : 19 - i;
      assert_memory_equal((char *)w.array + (size_t)at * bytes,
                          (char *)particle_array(other, w.field, w.component) + (size_t)i * bytes, bytes);
    }
  mem_free(record);
  mem_free(again);
  next_free(&next);
  particles_destroy(&p);
  particles_destroy(&other);
  assert_int_equal(mem_balance(), 0);
}

static void test_next(void **state)
{
  (void)state;
  check_next(NEEDS_NOTHING);
  check_next(NEEDS_AFFINE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_defaults),  cmocka_unit_test(test_growth), cmocka_unit_test(test_trim),
      cmocka_unit_test(test_records),   cmocka_unit_test(test_table),  cmocka_unit_test(test_optional),
      cmocka_unit_test(test_add_needs), cmocka_unit_test(test_next),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
