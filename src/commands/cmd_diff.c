/* firn diff A B: are two frames, states or folders of frames the same, particle by particle?
 *
 * Particles are matched by id, so the order in the files does not matter, and compared bit by bit: that is
 * the promise a run makes (architecture.md), and a tolerance has to be asked for. Fields are loaded one at a
 * time. Starts no MPI. Exit codes as those of diff(1): 0 the same, 1 different, 2 trouble. */
#include "commands/commands.h"

#include "base/memory.h"
#include "commands/options.h"
#include "io/file.h"
#include "io/particles/any_file.h"
#include "io/particles/frame_contacts.h"
#include "io/particles/hdf5.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAME = 0, DIFFERENT = 1, TROUBLE = 2 };

static const char head[] =
    "usage: firn diff [--tolerance R] A B\n"
    "\n"
    "Compares two frames or states by particle id, or two folders frame by frame. For each field that is\n"
    "not bitwise equal it prints how many values differ and the largest difference, both absolute and\n"
    "relative to the largest value of the field. The exit code is 0 if all is equal, 1 if not, and 2 if\n"
    "a file cannot be read.\n"
    "\n";

struct options {
  double tolerance; /* negative: bitwise */
};

static const struct option_row option_rows[] = {
    {"tolerance", "R", "accept differences up to R times the largest value of a field",
     OPTION_NOT_NEGATIVE(struct options, tolerance)},
};

static const struct option_table known = {"diff", head, option_rows, sizeof option_rows / sizeof *option_rows,
                                          NULL};

struct pair {
  const struct any_file *a, *b;
  int64_t *rows_a, *rows_b; /* rows of the same particle; NULL when row k is row k */
  uint64_t *ids;            /* of the matched particles; NULL when neither file has ids */
  int64_t count;
  double tolerance; /* negative: bitwise */
};

struct numbered {
  uint64_t id;
  int64_t row;
};

static int compare_ids(const void *a, const void *b)
{
  const uint64_t left = ((const struct numbered *)a)->id, right = ((const struct numbered *)b)->id;
  return left < right ? -1 : left > right;
}

/* (id, row) by id. */
static int sorted_ids(const struct any_file *state, const uint64_t *ids, struct numbered **out,
                      struct error *err)
{
  struct numbered *list = mem_alloc((size_t)state->count, sizeof *list);
  for (int64_t i = 0; i < state->count; i++) list[i] = (struct numbered){ids[i], i};
  qsort(list, (size_t)state->count, sizeof *list, compare_ids);
  for (int64_t i = 1; i < state->count; i++)
    if (list[i].id == list[i - 1].id) {
      const uint64_t id = list[i].id;
      mem_free(list);
      return error_set(err, FIRN_EINPUT, "%s: the id %" PRIu64 " occurs more than once", state->path, id);
    }
  *out = list;
  return FIRN_OK;
}

/* Walks both sorted lists; returns how many ids only one of them has. */
static int64_t match(struct pair *pair, const struct numbered *a, const struct numbered *b)
{
  const int64_t n = pair->a->count, m = pair->b->count, most = n < m ? n : m;
  pair->rows_a = mem_alloc((size_t)most, sizeof *pair->rows_a);
  pair->rows_b = mem_alloc((size_t)most, sizeof *pair->rows_b);
  pair->ids = mem_alloc((size_t)most, sizeof *pair->ids);
  int64_t i = 0, k = 0, only_a = 0, only_b = 0;
  while (i < n || k < m) {
    if (k == m || (i < n && a[i].id < b[k].id)) {
      if (only_a++ == 0) printf("  id %" PRIu64 " is only in %s\n", a[i].id, pair->a->path);
      i++;
    } else if (i == n || b[k].id < a[i].id) {
      if (only_b++ == 0) printf("  id %" PRIu64 " is only in %s\n", b[k].id, pair->b->path);
      k++;
    } else {
      pair->ids[pair->count] = a[i].id;
      pair->rows_a[pair->count] = a[i++].row;
      pair->rows_b[pair->count++] = b[k++].row;
    }
  }
  if (only_a + only_b > 0)
    printf("  particles: %" PRId64 " in both, %" PRId64 " only in %s, %" PRId64 " only in %s\n", pair->count,
           only_a, pair->a->path, only_b, pair->b->path);
  return only_a + only_b;
}

static int load_ids(const struct any_file *state, uint64_t **ids, struct error *err)
{
  const struct any_file_field *field = any_file_find(state, "id");
  if (!field) return FIRN_OK;
  if (field->components != 1 || field->real)
    return error_set(err, FIRN_EINPUT, "%s: id must be one integer per particle", state->path);
  void *rows = NULL;
  const int code = any_file_load(state, field, H5T_NATIVE_UINT64, &rows, err);
  *ids = rows;
  return code;
}

/* Finds the particles that both files have; SAME, DIFFERENT or TROUBLE. */
static int match_particles(struct pair *pair, struct error *err)
{
  uint64_t *a = NULL, *b = NULL;
  struct numbered *sorted_a = NULL, *sorted_b = NULL;
  int code = load_ids(pair->a, &a, err), result = SAME;
  if (code == FIRN_OK) code = load_ids(pair->b, &b, err);
  const int64_t n = pair->a->count, m = pair->b->count;
  if (code == FIRN_OK && !a != !b)
    code = error_set(err, FIRN_EINPUT, "only one of %s and %s has ids", pair->a->path, pair->b->path);
  if (code == FIRN_OK && !a && n != m)
    code = error_set(err, FIRN_EINPUT, "%s and %s have no ids and not the same number of particles",
                     pair->a->path, pair->b->path);
  if (code == FIRN_OK && (!a || (n == m && memcmp(a, b, (size_t)n * sizeof *a) == 0))) {
    pair->count = n;
    pair->ids = a; /* row k is row k */
    a = NULL;
  } else if (code == FIRN_OK) {
    code = sorted_ids(pair->a, a, &sorted_a, err);
    if (code == FIRN_OK) code = sorted_ids(pair->b, b, &sorted_b, err);
    if (code == FIRN_OK) result = match(pair, sorted_a, sorted_b) > 0 ? DIFFERENT : SAME;
  }
  mem_free(sorted_a);
  mem_free(sorted_b);
  mem_free(a);
  mem_free(b);
  return code == FIRN_OK ? result : TROUBLE;
}

/* What one field came to. */
struct found {
  int64_t bits;   /* values of other bits */
  double largest; /* difference */
  double scale;   /* largest finite value of both */
  int64_t where;  /* index of the matched particle with the largest difference */
};

static int64_t row_of(const int64_t *rows, int64_t k)
{
  return rows ? rows[k] : k;
}

/* Reals as doubles (exact for both widths); infinite where only one of the two is finite or a number. */
static void compare_reals(const struct pair *pair, int components, const double *a, const double *b,
                          struct found *found)
{
  for (int64_t k = 0; k < pair->count; k++)
    for (int c = 0; c < components; c++) {
      const double *left = &a[row_of(pair->rows_a, k) * components + c];
      const double *right = &b[row_of(pair->rows_b, k) * components + c];
      if (isfinite(*left)) found->scale = fmax(found->scale, fabs(*left));
      if (isfinite(*right)) found->scale = fmax(found->scale, fabs(*right));
      if (memcmp(left, right, sizeof *left) == 0) continue;
      const double difference = isfinite(*left) && isfinite(*right) ? fabs(*left - *right) : INFINITY;
      if (found->bits++ == 0 || difference > found->largest) found->where = k;
      found->largest = fmax(found->largest, difference);
    }
}

static void compare_integers(const struct pair *pair, int components, const uint64_t *a, const uint64_t *b,
                             struct found *found)
{
  for (int64_t k = 0; k < pair->count; k++)
    for (int c = 0; c < components; c++) {
      const uint64_t left = a[row_of(pair->rows_a, k) * components + c];
      const uint64_t right = b[row_of(pair->rows_b, k) * components + c];
      found->scale = fmax(found->scale, fabs((double)(int64_t)left));
      if (left == right) continue;
      const double difference = fabs((double)(int64_t)(left - right));
      if (found->bits++ == 0 || difference > found->largest) found->where = k;
      found->largest = fmax(found->largest, difference);
    }
}

/* Prints what was found; whether it counts as the same. */
static int judge(const struct pair *pair, const struct any_file_field *a, const struct any_file_field *b,
                 const struct found *found)
{
  const bool same_type = a->real == b->real && a->bytes == b->bytes;
  if (found->bits == 0 && same_type) return SAME;
  if (!same_type)
    printf("  %s: %s%d against %s%d\n", a->name, a->real ? "f" : "i", 8 * a->bytes, b->real ? "f" : "i",
           8 * b->bytes);
  const double relative = found->scale > 0.0 ? found->largest / found->scale : 0.0;
  if (found->bits > 0) {
    printf("  %s: %" PRId64 " of %" PRId64 " values differ, by at most %.9g (relative %.3g)", a->name,
           found->bits, pair->count * a->components, found->largest, relative);
    if (pair->ids)
      printf(" at id %" PRIu64 "\n", pair->ids[found->where]);
    else
      printf(" at row %" PRId64 "\n", found->where);
  }
  const bool tolerable = pair->tolerance >= 0.0 && (a->real || b->real || found->bits == 0);
  return tolerable && relative <= pair->tolerance ? SAME : DIFFERENT;
}

static int compare_field(const struct pair *pair, const struct any_file_field *a,
                         const struct any_file_field *b, struct error *err)
{
  if (a->components != b->components) {
    printf("  %s: %d components against %d\n", a->name, a->components, b->components);
    return DIFFERENT;
  }
  const bool real = a->real || b->real;
  const hid_t type = real ? H5T_NATIVE_DOUBLE : a->is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
  void *left = NULL, *right = NULL;
  struct found found = {0};
  int result = TROUBLE;
  if (any_file_load(pair->a, a, type, &left, err) == FIRN_OK &&
      any_file_load(pair->b, b, type, &right, err) == FIRN_OK) {
    if (real)
      compare_reals(pair, a->components, left, right, &found);
    else
      compare_integers(pair, a->components, left, right, &found);
    result = judge(pair, a, b, &found);
  }
  mem_free(left);
  mem_free(right);
  return result;
}

static int worse(int a, int b)
{
  return a > b ? a : b;
}

static int compare_fields(const struct pair *pair, struct error *err)
{
  int result = SAME;
  for (int f = 0; f < pair->a->field_count && result != TROUBLE; f++) {
    const struct any_file_field *field = &pair->a->fields[f], *other = any_file_find(pair->b, field->name);
    if (strcmp(field->name, "id") == 0) continue;
    if (!other) printf("  %s is only in %s\n", field->name, pair->a->path);
    result = worse(result, other ? compare_field(pair, field, other, err) : DIFFERENT);
  }
  for (int f = 0; f < pair->b->field_count && result != TROUBLE; f++) {
    if (any_file_find(pair->a, pair->b->fields[f].name)) continue;
    printf("  %s is only in %s\n", pair->b->fields[f].name, pair->b->path);
    result = DIFFERENT;
  }
  return result;
}

/* One column of the contacts that both frames have. */
static int compare_contact_column(const struct pair *pair, int k, struct error *err)
{
  const char *name;
  double *a = NULL, *b = NULL;
  int64_t values = 0, others = 0;
  if (frame_read_contacts(pair->a->file, pair->a->path, k, &name, &values, &a, err) ||
      frame_read_contacts(pair->b->file, pair->b->path, k, &name, &others, &b, err)) {
    mem_free(a);
    return TROUBLE;
  }
  struct found found = {0};
  const struct pair rows = {.count = values < others ? values : others};
  compare_reals(&rows, 1, a, b, &found);
  mem_free(a);
  mem_free(b);
  const double relative = found.scale > 0.0 ? found.largest / found.scale : 0.0;
  if (values != others)
    printf("  contacts/%s: %" PRId64 " against %" PRId64 " values\n", name, values, others);
  else if (found.bits > 0)
    printf("  contacts/%s: %" PRId64 " of %" PRId64 " values differ, by at most %.9g (relative %.3g)\n", name,
           found.bits, values, found.largest, relative);
  return values == others && (found.bits == 0 || relative <= pair->tolerance) ? SAME : DIFFERENT;
}

/* Contacts are compared if both files have them. */
static int compare_contacts(const struct pair *pair, struct error *err)
{
  int result = SAME;
  if (!hdf5_has(pair->a->file, "contacts") || !hdf5_has(pair->b->file, "contacts")) return SAME;
  for (int k = 0; k < CONTACT_COLUMNS && result != TROUBLE; k++)
    result = worse(result, compare_contact_column(pair, k, err));
  return result;
}

/* Two moments of one run are not the same state, even where nothing moves. */
static int compare_times(const struct pair *pair)
{
  double a = 0.0, b = 0.0;
  const bool has_a = hdf5_get_f64(pair->a->file, "time", &a), has_b = hdf5_get_f64(pair->b->file, "time", &b);
  if (!has_a || !has_b || a == b) return SAME;
  printf("  time: %.17g against %.17g s\n", a, b);
  return fabs(a - b) <= pair->tolerance * fmax(fabs(a), fabs(b)) ? SAME : DIFFERENT;
}

static int compare_states(const struct any_file *a, const struct any_file *b, double tolerance,
                          struct error *err)
{
  struct pair pair = {.a = a, .b = b, .tolerance = tolerance};
  int result = compare_times(&pair);
  result = worse(result, match_particles(&pair, err));
  if (result != TROUBLE) result = worse(result, compare_fields(&pair, err));
  if (result != TROUBLE) result = worse(result, compare_contacts(&pair, err));
  const char *same = tolerance < 0.0 ? "the same, bit for bit" : "the same within the tolerance";
  if (result != TROUBLE)
    printf("  %s: %" PRId64 " particles compared\n", result == SAME ? same : "different", pair.count);
  mem_free(pair.rows_a);
  mem_free(pair.rows_b);
  mem_free(pair.ids);
  return result;
}

static int compare_files(const char *a, const char *b, double tolerance, struct error *err)
{
  struct any_file *left = NULL, *right = NULL;
  int result = TROUBLE;
  if (any_file_open(&left, a, true, err) == FIRN_OK && any_file_open(&right, b, true, err) == FIRN_OK) {
    printf("%s %s\n", a, b);
    result = compare_states(left, right, tolerance, err);
  }
  any_file_close(&left);
  any_file_close(&right);
  return result;
}

/* The frames of a run's folder, or of its folder `frames`. */
static int list_frames(const char *folder, char **where, struct file_list **frames, struct error *err)
{
  char *below = file_join(folder, "frames");
  *where = file_is_folder(below) ? below : mem_strdup(folder);
  if (*where != below) mem_free(below);
  const int code = file_list_create(frames, *where, "frame_", ".h5", err);
  if (code == FIRN_OK && (*frames)->count == 0)
    return error_set(err, FIRN_EINPUT, "%s has no frames", *where);
  return code;
}

/* Both lists are in order; a frame that one folder lacks is a difference. */
static int compare_lists(const char *a, const struct file_list *in_a, const char *b,
                         const struct file_list *in_b, double tolerance, struct error *err)
{
  int result = SAME, i = 0, k = 0;
  while (result != TROUBLE && (i < in_a->count || k < in_b->count)) {
    const char *left = i < in_a->count ? in_a->names[i] : NULL,
               *right = k < in_b->count ? in_b->names[k] : NULL;
    const int order = !left ? 1 : !right ? -1 : file_name_order(left, right);
    if (order != 0) {
      printf("%s is only in %s\n", order < 0 ? left : right, order < 0 ? a : b);
      result = DIFFERENT;
    } else {
      char *path_a = file_join(a, left), *path_b = file_join(b, right);
      result = worse(result, compare_files(path_a, path_b, tolerance, err));
      mem_free(path_a);
      mem_free(path_b);
    }
    i += order <= 0;
    k += order >= 0;
  }
  return result;
}

static int compare_folders(const char *a, const char *b, double tolerance, struct error *err)
{
  char *where_a = NULL, *where_b = NULL;
  struct file_list *in_a = NULL, *in_b = NULL;
  int result = TROUBLE;
  if (list_frames(a, &where_a, &in_a, err) == FIRN_OK && list_frames(b, &where_b, &in_b, err) == FIRN_OK)
    result = compare_lists(where_a, in_a, where_b, in_b, tolerance, err);
  file_list_destroy(&in_a);
  file_list_destroy(&in_b);
  mem_free(where_a);
  mem_free(where_b);
  return result;
}

static int complain(const char *text)
{
  fprintf(stderr, "firn: %s\n", text);
  return TROUBLE;
}

int cmd_diff(int argc, char **argv)
{
  struct options o = {.tolerance = -1.0};
  struct option_words words;
  struct error err = {.code = FIRN_OK};
  if (options_read(&known, argc, argv, &o, &words, &err)) return complain(err.text);
  if (words.help) {
    options_help(&known);
    return SAME;
  }
  if (words.count != 2) return complain("diff needs two files or two folders; see firn help diff");
  const char *a = words.word[0], *b = words.word[1];
  int result;
  if (file_is_folder(a) && file_is_folder(b))
    result = compare_folders(a, b, o.tolerance, &err);
  else
    result = compare_files(a, b, o.tolerance, &err);
  return result == TROUBLE ? complain(err.text) : result;
}
