/* firn info FILE: what is in a frame, a state or a particle file. Reads one field at a time; starts no MPI.
 */
#include "commands/commands.h"

#include "base/json.h"
#include "base/memory.h"
#include "commands/options.h"
#include "io/particles/any_file.h"
#include "io/particles/frame_contacts.h"
#include "io/particles/hdf5.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_TEXT = 80, LONG_LIST = 16 };

static const char head[] =
    "usage: firn info [--scene | --resolved | --json] FILE...\n"
    "\n"
    "Prints the attributes of a frame, state or particle file, the number, extent and mass of its\n"
    "particles, and each field with its type, unit, minimum and maximum.\n"
    "\n";

struct options {
  bool scene, resolved, json;
};

static const struct option_row option_rows[] = {
    {"scene", NULL, "print only the text of the scene that the file comes from",
     OPTION_FLAG(struct options, scene)},
    {"resolved", NULL, "print only that scene with all its defaults", OPTION_FLAG(struct options, resolved)},
    {"json", NULL,
     "print the same numbers as JSON: a list with one object per file, without texts of several lines",
     OPTION_FLAG(struct options, json)},
};

static const struct option_table known = {"info", head, option_rows, sizeof option_rows / sizeof *option_rows,
                                          NULL};

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

static void print_type(const struct any_file_field *field)
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

static int print_field(const struct any_file *state, const struct any_file_field *field, struct error *err)
{
  void *rows = NULL;
  const hid_t type = field->real        ? H5T_NATIVE_DOUBLE
                     : field->is_signed ? H5T_NATIVE_INT64
                                        : H5T_NATIVE_UINT64;
  const int code = any_file_load(state, field, type, &rows, err);
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

static int print_bounds(const struct any_file *state, struct error *err)
{
  void *rows = NULL;
  const int code = any_file_load(state, any_file_find(state, "position"), H5T_NATIVE_DOUBLE, &rows, err);
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

static int print_mass(const struct any_file *state, struct error *err)
{
  const struct any_file_field *field = any_file_find(state, "mass");
  if (!field || field->components != 1) return FIRN_OK;
  void *rows = NULL;
  const int code = any_file_load(state, field, H5T_NATIVE_DOUBLE, &rows, err);
  if (code != FIRN_OK) return code;
  double sum = 0.0;
  for (int64_t i = 0; i < state->count; i++) sum += ((const double *)rows)[i];
  printf("  %-20s %.9g kg\n", "total mass", sum);
  mem_free(rows);
  return FIRN_OK;
}

static int print_state(const struct any_file *state, struct error *err)
{
  printf("%s\n", state->path);
  H5Aiterate2(state->file, H5_INDEX_NAME, H5_ITER_INC, NULL, print_attribute, NULL);
  printf("  %-20s %" PRId64 "\n", "particles", state->count);
  if (hdf5_has(state->file, "contacts"))
    printf("  %-20s %" PRId64 "\n", "contacts", frame_count_contacts(state->file));
  int code = print_bounds(state, err);
  if (code == FIRN_OK) code = print_mass(state, err);
  if (code == FIRN_OK) printf("\n  %-10s %-9s %-8s %16s %16s\n", "field", "type", "unit", "least", "largest");
  for (int f = 0; f < state->field_count && code == FIRN_OK; f++)
    code = print_field(state, &state->fields[f], err);
  return code;
}

/* --- as JSON --- */

static herr_t add_attribute(hid_t object, const char *name, const H5A_info_t *info, void *data)
{
  (void)info;
  struct json *json = data;
  double value;
  int64_t whole;
  char *text = hdf5_get_text(object, name);
  if (text && !strchr(text, '\n'))
    json_text(json, name, text);
  else if (!text && hdf5_get_f64(object, name, &value) && value == floor(value) && fabs(value) < 0x1p53 &&
           hdf5_get_i64(object, name, &whole))
    json_integer(json, name, whole);
  else if (!text && hdf5_get_f64(object, name, &value))
    json_number(json, name, value);
  mem_free(text);
  return 0;
}

static int add_field(struct json *json, const struct any_file *state, const struct any_file_field *field,
                     struct error *err)
{
  void *rows = NULL;
  const int code = any_file_load(state, field, H5T_NATIVE_DOUBLE, &rows, err);
  if (code) return code;
  const double *values = rows;
  json_open(json, field->name, '{');
  json_text(json, "unit", field->unit);
  json_integer(json, "bytes", field->bytes);
  json_bool(json, "real", field->real);
  json_open(json, "least", '[');
  for (int pass = 0; pass < 2; pass++) {
    for (int c = 0; c < field->components; c++) {
      double most = -INFINITY;
      for (int64_t i = 0; i < state->count; i++) {
        const double value = values[i * field->components + c];
        most = fmax(most, pass ? value : -value);
      }
      json_number(json, NULL, pass ? most : -most);
    }
    json_close(json, ']');
    if (!pass) json_open(json, "largest", '[');
  }
  json_close(json, '}');
  mem_free(rows);
  return FIRN_OK;
}

static int add_state(struct json *json, const struct any_file *state, struct error *err)
{
  int code = FIRN_OK;
  json_open(json, NULL, '{');
  json_text(json, "path", state->path);
  json_open(json, "attributes", '{');
  H5Aiterate2(state->file, H5_INDEX_NAME, H5_ITER_INC, NULL, add_attribute, json);
  json_close(json, '}');
  json_integer(json, "particles", state->count);
  json_open(json, "fields", '{');
  for (int f = 0; f < state->field_count && !code; f++) code = add_field(json, state, &state->fields[f], err);
  json_close(json, '}');
  json_close(json, '}');
  return code;
}

static int print_text(const struct any_file *state, const char *attribute, struct error *err)
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
  struct options o = {.scene = false};
  struct option_words words;
  struct error err = {.code = FIRN_OK};
  struct json json = {0};
  if (options_read(&known, argc, argv, &o, &words, &err)) return complain(err.text);
  if (words.help) {
    options_help(&known);
    return 0;
  }
  if (o.scene + o.resolved + o.json > 1) return complain("info takes one of --scene, --resolved and --json");
  if (words.count == 0) return complain("info needs a file; see firn help info");
  const char *attribute = o.scene ? "scene" : o.resolved ? "scene_resolved" : NULL;
  int code = FIRN_OK;
  struct hdf5_silence silence;
  hdf5_silence_begin(&silence);
  if (o.json) json_open(&json, NULL, '[');
  for (int k = 0; k < words.count && code == FIRN_OK; k++) {
    struct any_file *state = NULL;
    code = any_file_open(&state, words.word[k], true, &err);
    if (code == FIRN_OK && o.json)
      code = add_state(&json, state, &err);
    else if (code == FIRN_OK)
      code = attribute ? print_text(state, attribute, &err) : print_state(state, &err);
    any_file_close(&state);
  }
  hdf5_silence_end(&silence);
  if (o.json) json_close(&json, ']');
  if (o.json && !code) puts(json.text);
  mem_free(json.text);
  return code == FIRN_OK ? 0 : complain(err.text);
}
