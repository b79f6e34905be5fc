/* firn info FILE: what is in a frame, a state or a particle file. Reads one field at a time; starts no MPI.
 */
#include "commands.h"

#include "base/memory.h"
#include "io/hdf5.h"
#include "io/state.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_TEXT = 80, LONG_LIST = 16 };

static const char usage[] =
    "usage: firn info [--scene | --resolved] FILE...\n\n"
    "Prints the attributes of a frame, state or particle file, the number of its particles, where they are,\n"
    "their mass, and each field with its type, unit, least and largest value.\n\n"
    "  --scene     print the text of the scene that the file comes from, and nothing else\n"
    "  --resolved  print that scene with all its defaults, and nothing else\n";

static void print_text_attribute(hid_t object, const char *name)
{
  char *text = hdf5_get_text(object, name);
  if (!text) return;
  if (strlen(text) > LONG_TEXT || strchr(text, '\n'))
    printf("  %-20s (%zu bytes)\n", name, strlen(text));
  else
    printf("  %-20s %s\n", name, text);
  mem_free(text);
}

static void print_numbers(hid_t attribute, const char *name, hssize_t count)
{
  double values[LONG_LIST];
  if (count < 1 || count > LONG_LIST || H5Aread(attribute, H5T_NATIVE_DOUBLE, values) < 0) return;
  printf("  %-20s", name);
  for (hssize_t k = 0; k < count; k++) {
    char shorter[32];
    snprintf(shorter, sizeof shorter, "%.15g", values[k]);
    printf(strtod(shorter, NULL) == values[k] ? " %.15g" : " %.17g", values[k]);
  }
  putchar('\n');
}

static herr_t print_attribute(hid_t object, const char *name, const H5A_info_t *info, void *data)
{
  (void)info;
  (void)data;
  const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
  if (attribute < 0) return 0;
  const hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
  const H5T_class_t class = H5Tget_class(type);
  if (class == H5T_STRING)
    print_text_attribute(object, name);
  else if (class == H5T_INTEGER || class == H5T_FLOAT)
    print_numbers(attribute, name, H5Sget_simple_extent_npoints(space));
  H5Sclose(space);
  H5Tclose(type);
  H5Aclose(attribute);
  return 0;
}

static void print_type(const struct state_field *field)
{
  char type[32];
  const char *kind = field->real ? "f" : field->is_signed ? "i" : "u";
  if (field->components > 1)
    snprintf(type, sizeof type, "%s%d x %d", kind, 8 * field->bytes, field->components);
  else
    snprintf(type, sizeof type, "%s%d", kind, 8 * field->bytes);
  printf("  %-10s %-9s %-8s", field->name, type, field->unit);
}

static void print_integer_range(const uint64_t *values, int64_t count, bool is_signed)
{
  uint64_t least = values[0], most = values[0];
  for (int64_t k = 1; k < count; k++) {
    const bool below = is_signed ? (int64_t)values[k] < (int64_t)least : values[k] < least;
    const bool above = is_signed ? (int64_t)values[k] > (int64_t)most : values[k] > most;
    if (below) least = values[k];
    if (above) most = values[k];
  }
  if (is_signed)
    printf(" %16" PRId64 " %16" PRId64 "\n", (int64_t)least, (int64_t)most);
  else
    printf(" %16" PRIu64 " %16" PRIu64 "\n", least, most);
}

static void print_real_range(const double *values, int64_t count)
{
  double least = INFINITY, most = -INFINITY;
  int64_t strange = 0;
  for (int64_t k = 0; k < count; k++) {
    strange += !isfinite(values[k]);
    least = fmin(least, values[k]);
    most = fmax(most, values[k]);
  }
  printf(" %16.9g %16.9g", least, most);
  if (strange > 0) printf("  (%" PRId64 " values are not finite)", strange);
  putchar('\n');
}

static int print_field(const struct state *state, const struct state_field *field, struct error *err)
{
  void *rows = NULL;
  const hid_t type = field->real        ? H5T_NATIVE_DOUBLE
                     : field->is_signed ? H5T_NATIVE_INT64
                                        : H5T_NATIVE_UINT64;
  const int code = state_load(state, field, type, &rows, err);
  if (code != FIRN_OK) return code;
  const int64_t count = state->count * field->components;
  print_type(field);
  if (count == 0)
    putchar('\n');
  else if (field->real)
    print_real_range(rows, count);
  else
    print_integer_range(rows, count, field->is_signed);
  mem_free(rows);
  return FIRN_OK;
}

static int print_bounds(const struct state *state, struct error *err)
{
  void *rows = NULL;
  const int code = state_load(state, state_find(state, "position"), H5T_NATIVE_DOUBLE, &rows, err);
  if (code != FIRN_OK) return code;
  const double *x = rows;
  for (int d = 0; d < 3 && state->count > 0; d++) {
    double least = INFINITY, most = -INFINITY;
    for (int64_t i = 0; i < state->count; i++) {
      least = fmin(least, x[3 * i + d]);
      most = fmax(most, x[3 * i + d]);
    }
    printf("  %-20s %.9g to %.9g m\n", d == 0 ? "x" : d == 1 ? "y" : "z", least, most);
  }
  mem_free(rows);
  return FIRN_OK;
}

static int print_mass(const struct state *state, struct error *err)
{
  const struct state_field *field = state_find(state, "mass");
  if (!field || field->components != 1) return FIRN_OK;
  void *rows = NULL;
  const int code = state_load(state, field, H5T_NATIVE_DOUBLE, &rows, err);
  if (code != FIRN_OK) return code;
  double sum = 0.0;
  for (int64_t i = 0; i < state->count; i++) sum += ((const double *)rows)[i];
  printf("  %-20s %.9g kg\n", "total mass", sum);
  mem_free(rows);
  return FIRN_OK;
}

static int print_state(const struct state *state, struct error *err)
{
  printf("%s\n", state->path);
  H5Aiterate2(state->file, H5_INDEX_NAME, H5_ITER_INC, NULL, print_attribute, NULL);
  printf("  %-20s %" PRId64 "\n", "particles", state->count);
  int code = print_bounds(state, err);
  if (code == FIRN_OK) code = print_mass(state, err);
  if (code == FIRN_OK) printf("\n  %-10s %-9s %-8s %16s %16s\n", "field", "type", "unit", "least", "largest");
  for (int f = 0; f < state->field_count && code == FIRN_OK; f++)
    code = print_field(state, &state->fields[f], err);
  return code;
}

static int print_text(const struct state *state, const char *attribute, struct error *err)
{
  char *text = hdf5_get_text(state->file, attribute);
  if (!text) return error_set(err, FIRN_EINPUT, "%s does not hold its scene", state->path);
  fputs(text, stdout);
  mem_free(text);
  return FIRN_OK;
}

static int complain(const char *text)
{
  fprintf(stderr, "firn: %s\n", text);
  return 1;
}

int cmd_info(int argc, char **argv)
{
  static const struct option options[] = {{"help", no_argument, NULL, 'h'},
                                          {"scene", no_argument, NULL, 's'},
                                          {"resolved", no_argument, NULL, 'r'},
                                          {0}};
  const char *attribute = NULL;
  opterr = 0;
  optind = 1;
  for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
    if (option == 'h') {
      fputs(usage, stdout);
      return 0;
    }
    if (option == '?') return complain("info knows no such option; 'firn help info' tells more");
    attribute = option == 's' ? "scene" : "scene_resolved";
  }
  if (optind == argc) return complain("info needs a file; 'firn help info' tells more");
  int code = FIRN_OK;
  struct error err = {.code = FIRN_OK};
  struct hdf5_silence silence;
  hdf5_silence_begin(&silence);
  for (int k = optind; k < argc && code == FIRN_OK; k++) {
    struct state *state = NULL;
    code = state_open(&state, argv[k], &err);
    if (code == FIRN_OK) code = attribute ? print_text(state, attribute, &err) : print_state(state, &err);
    state_close(&state);
  }
  hdf5_silence_end(&silence);
  return code == FIRN_OK ? 0 : complain(err.text);
}
