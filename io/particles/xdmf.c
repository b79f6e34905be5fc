/* The series: one small XML file that lists the frames for ParaView, with paths relative to itself.
 *
 * It is made again from the files that are there, so it is right after a restart, after frames were deleted,
 * and however the fields changed in between. That opens every frame once (about 0.2 ms each on a local disk).
 * A frame that cannot be read is left out with a warning; so is one without particles, silently, since there
 * is nothing to show. */
#include "io/particles/frame.h"

#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/particles/any_file.h"
#include "io/particles/frame_contacts.h"
#include "io/particles/hdf5.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_escaped(FILE *out, const char *text)
{
  for (; *text; text++) {
    const unsigned char c = (unsigned char)*text;
    if (c == '&')
      fputs("&amp;", out);
    else if (c == '<')
      fputs("&lt;", out);
    else if (c == '>')
      fputs("&gt;", out);
    else if (c == '"')
      fputs("&quot;", out);
    else if (c >= 0x20) /* XML knows no other control characters */
      fputc(c, out);
  }
}

static void put_data_item(FILE *out, const char *name, const struct any_file_field *field, int64_t count)
{
  fprintf(out, "<DataItem Format=\"HDF\" NumberType=\"%s\" Precision=\"%d\" Dimensions=\"%" PRId64 "%s\">",
          field->real        ? "Float"
          : field->is_signed ? "Int"
                             : "UInt",
          field->bytes, count,
          field->components == 9   ? " 3 3"
          : field->components == 3 ? " 3"
                                   : "");
  fprintf(out, "frames/%s:/particles/%s</DataItem>", name, field->name);
}

static void put_attribute(FILE *out, const char *name, const struct any_file_field *field, int64_t count)
{
  const char *type = field->components == 9 ? "Tensor" : field->components == 3 ? "Vector" : "Scalar";
  fprintf(out, "        <Attribute Name=\"%s\" AttributeType=\"%s\" Center=\"Node\">", field->name, type);
  put_data_item(out, name, field, count);
  fputs("</Attribute>\n", out);
}

static void put_grid(FILE *out, const char *name, const struct any_file *state)
{
  double time = 0.0;
  hdf5_get_f64(state->file, "time", &time);
  fprintf(out, "      <Grid Name=\"%s\" GridType=\"Uniform\">\n", name);
  fprintf(out, "        <Time Value=\"%.17g\"/>\n", time);
  fprintf(out, "        <Topology TopologyType=\"Polyvertex\" NumberOfElements=\"%" PRId64 "\"/>\n",
          state->count);
  fputs("        <Geometry GeometryType=\"XYZ\">", out);
  put_data_item(out, name, any_file_find(state, "position"), state->count);
  fputs("</Geometry>\n", out);
  for (int f = 0; f < state->field_count; f++) {
    const struct any_file_field *field = &state->fields[f];
    const bool known = field->components == 1 || field->components == 3 || field->components == 9;
    if (known && strcmp(field->name, "position") != 0) put_attribute(out, name, field, state->count);
  }
  fputs("      </Grid>\n", out);
}

static void put_contacts(FILE *out, const char *name, const struct any_file *state)
{
  char path[80];
  double time = 0.0;
  hdf5_get_f64(state->file, "time", &time);
  snprintf(path, sizeof path, "frames/%s", name);
  frame_put_contact_grid(out, path, time, frame_count_contacts(state->file));
}

/* The frame's particles to `out`, and its contacts, where it has some, to `contacts`. */
static void put_frame(FILE *out, FILE *contacts, const char *folder, const char *name)
{
  struct error err = {.code = FIRN_OK};
  struct any_file *state = NULL;
  char *path = file_join(folder, name);
  if (any_file_open(&state, path, false, &err) != FIRN_OK)
    log_warn("left out of the XDMF series: %s", err.text);
  else if (state->count > 0)
    put_grid(out, name, state);
  if (state && frame_count_contacts(state->file) > 0) put_contacts(contacts, name, state);
  any_file_close(&state);
  mem_free(path);
}

static const char head[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Xdmf Version=\"3.0\">\n  <Domain>\n    <Grid Name=\"";

bool frame_is_series(const char *path)
{
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const size_t length = strlen(name);
  if (length <= 5 || strcmp(name + length - 5, ".xdmf") != 0) return false;
  char *scene = mem_strdup(name), *text = NULL;
  size_t size = 0;
  scene[length - 5] = '\0';
  FILE *out = open_memstream(&text, &size);
  if (!out) firn_fatal("out of memory for the name of a series");
  fputs(head, out);
  put_escaped(out, scene);
  fputc('"', out);
  fclose(out);
  const bool same = file_begins_with(path, text, size);
  free(text);
  mem_free(scene);
  return same;
}

static void put_series(FILE *out, const struct scene *scene, const char *folder,
                       const struct file_list *frames)
{
  fputs(head, out);
  put_escaped(out, scene->name);
  fputs("\" GridType=\"Collection\" CollectionType=\"Temporal\">\n", out);
  char *text = NULL;
  size_t size = 0;
  FILE *contacts = open_memstream(&text, &size);
  if (!contacts) firn_fatal("out of memory for the list of %d frames", frames->count);
  for (int k = 0; k < frames->count; k++)
    if (frame_number(frames->names[k]) >= 0) put_frame(out, contacts, folder, frames->names[k]);
  fclose(contacts);
  if (size > 0)
    fprintf(out,
            "    </Grid>\n    <Grid Name=\"contacts\" GridType=\"Collection\" "
            "CollectionType=\"Temporal\">\n%s",
            text);
  free(text);
  fputs("    </Grid>\n  </Domain>\n</Xdmf>\n", out);
}

/* <output>/<name>.xdmf */
static char *series_path(const struct scene *scene)
{
  char name[sizeof scene->name + 8];
  snprintf(name, sizeof name, "%s.xdmf", scene->name);
  return file_join(scene->output, name);
}

int frame_write_series(const struct scene *scene, int64_t generation, struct error *err)
{
  struct file_list *frames = NULL;
  char *folder = file_join(scene->output, "frames"), *target = series_path(scene), *text = NULL;
  size_t size = 0;
  int code = file_check_replaceable(target, frame_is_series(target), "a series of Firn", err);
  if (code == FIRN_OK) code = file_list_create(&frames, folder, "frame_", ".h5", err);
  if (code == FIRN_OK) {
    FILE *out = open_memstream(&text, &size);
    if (!out) firn_fatal("out of memory for the list of %d frames", frames->count);
    put_series(out, scene, folder, frames);
    fclose(out);
    code = file_write(target, generation, text, size, err);
    free(text);
  }
  file_list_destroy(&frames);
  mem_free(target);
  mem_free(folder);
  return code;
}
