/* Several frames are read twice rather than held: the camera must know all of them before the first is drawn,
 * and a hundred frames of ten million particles do not fit into memory. A single frame is read once. */
#include "render/sheet.h"

#include "base/memory.h"
#include "io/file.h"
#include "render/exr.h"
#include "render/image.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { GAP = 4, SMALLEST_SIDE = 16, LARGEST_SIDE = 8192, LARGEST_SHEET = 65500 };

int sheet_layout(const struct sheet_request *request, struct sheet_layout *layout, struct error *err)
{
  const int count = request->shot.frame_count;
  int columns = request->columns > 0 ? request->columns : (int)ceil(sqrt((double)count));
  columns = columns < count ? columns : count;
  const int rows = (count + columns - 1) / columns;
  const bool given = request->width != 0 || request->height != 0, sheet = count > 1 && !request->each;
  const int width = given ? request->width : sheet ? 640 : 1280;
  const int height = given ? request->height : width * 9 / 16;
  if (width < SMALLEST_SIDE || height < SMALLEST_SIDE || width > LARGEST_SIDE || height > LARGEST_SIDE)
    return error_set(err, FIRN_EINPUT,
                     "a picture of %dx%d pixels cannot be drawn: each side must be %d to %d", width, height,
                     SMALLEST_SIDE, LARGEST_SIDE);
  const int64_t all_width = (int64_t)columns * (width + GAP) - GAP,
                all_height = (int64_t)rows * (height + GAP) - GAP;
  if (request->output && (all_width > LARGEST_SHEET || all_height > LARGEST_SHEET))
    return error_set(
        err, FIRN_ELIMIT,
        "a sheet of %d frames would be %lldx%lld pixels, more than %d: give fewer frames or a smaller --size",
        count, (long long)all_width, (long long)all_height, LARGEST_SHEET);
  *layout = (struct sheet_layout){columns, rows, width, height, GAP, (int)all_width, (int)all_height};
  return FIRN_OK;
}

char *sheet_numbered(const char *pattern, int number)
{
  const char *percent = strchr(pattern, '%'), *at = percent;
  if (!percent || strchr(percent + 1, '%')) return NULL;
  int digits = 0;
  for (at++; isdigit((unsigned char)*at) && digits < 100; at++) digits = 10 * digits + (*at - '0');
  if (*at != 'd' || digits > 20) return NULL;
  const size_t size = strlen(pattern) + 32;
  char *name = mem_alloc(size, 1);
  snprintf(name, size, "%.*s%0*d%s", (int)(percent - pattern), pattern, digits, number, at + 1);
  return name;
}

static bool ends_with(const char *text, const char *end)
{
  const size_t length = strlen(text), tail = strlen(end);
  return length >= tail && strcasecmp(text + length - tail, end) == 0;
}

/* A portable float map: rows from the bottom, little-endian. */
static int write_floats(const float *linear, int width, int height, const char *path, struct error *err)
{
  char head[64];
  const size_t row = 3 * (size_t)width,
               start = (size_t)snprintf(head, sizeof head, "PF\n%d %d\n-1.0\n", width, height);
  char *bytes = mem_alloc(start + row * (size_t)height * sizeof *linear, 1);
  memcpy(bytes, head, start);
  for (int y = 0; y < height; y++)
    memcpy(bytes + start + (size_t)(height - 1 - y) * row * sizeof *linear, linear + (size_t)y * row,
           row * sizeof *linear);
  const int code = file_write(path, 0, bytes, start + row * (size_t)height * sizeof *linear, err);
  mem_free(bytes);
  return code;
}

struct sheet {
  const struct comm *comm;
  const struct sheet_request *request;
  struct sheet_layout layout;
  struct shot *shot;
  struct image *image; /* the whole; NULL where only single files are written */
  float *linear;       /* of the one picture that is written as floats */
  struct picture_report *report;
};

static bool is_root(const struct sheet *sheet)
{
  return !sheet->comm || sheet->comm->rank == 0;
}

/* Frame number in the name of a frame's file; -1 if there is none. */
static int named_number(const char *path)
{
  const char *slash = strrchr(path, '/');
  const int64_t number = frame_number(slash ? slash + 1 : path);
  return number >= 0 && number <= INT32_MAX ? (int)number : -1;
}

/* Files are numbered like their frames, so that those of a later or thinner choice fit in; by their order if
 * names do not say it, or two say the same. */
static int number_of(const struct sheet_request *request, int index)
{
  const struct shot_options *o = &request->shot;
  int before = -1;
  for (int k = 0; k < o->frame_count; k++) {
    const int number = named_number(o->frames[k]);
    if (number <= before) return index; /* also where there is none */
    before = number;
  }
  return named_number(o->frames[index]);
}

static int write_each(const struct sheet *sheet, int index, const struct image *panel, struct error *err)
{
  char *path = sheet_numbered(sheet->request->each, number_of(sheet->request, index));
  const int code = image_write_png(panel, path, err);
  mem_free(path);
  return code;
}

static void add_report(struct picture_report *sum, const struct picture_report *one, int count)
{
  sum->samples += one->samples;
  sum->volume_seconds += one->volume_seconds;
  sum->seconds += one->seconds;
  sum->bytes = fmax(sum->bytes, one->bytes);
  sum->error += one->error / count;
}

static int draw_panel(struct sheet *sheet, int index, bool floats, struct error *err)
{
  const struct sheet_layout *layout = &sheet->layout;
  struct image *panel = image_create(layout->panel_width, layout->panel_height);
  struct picture_report report = {.samples = 0};
  int code = shot_paint(sheet->shot, index, panel, floats ? &sheet->linear : NULL, &report, err);
  if (!code) add_report(sheet->report, &report, sheet->request->shot.frame_count);
  if (!code && is_root(sheet) && sheet->request->each) code = write_each(sheet, index, panel, err);
  if (!code && sheet->image)
    image_paste(sheet->image, panel, index % layout->columns * (layout->panel_width + layout->gap),
                index / layout->columns * (layout->panel_height + layout->gap));
  image_destroy(&panel);
  return sheet->comm ? comm_agree(sheet->comm, code, err) : code;
}

static int write_whole(const struct sheet *sheet, bool floats, struct error *err)
{
  const struct sheet_request *request = sheet->request;
  if (!request->output) return FIRN_OK;
  if (floats && request->shot.trace->layers)
    return exr_write(request->output, sheet->layout.width, sheet->layout.height, PICTURE_LAYERS,
                     picture_layers, sheet->linear, err);
  if (floats)
    return write_floats(sheet->linear, sheet->layout.width, sheet->layout.height, request->output, err);
  return image_write_png(sheet->image, request->output, err);
}

static int check_names(const struct sheet_request *request, bool floats, struct error *err)
{
  if (floats && (!request->shot.trace || request->shot.frame_count > 1))
    return error_set(err, FIRN_EINPUT,
                     "%s: linear floats are written of one rendered picture only; name a .png",
                     request->output);
  int code = FIRN_OK;
  if (floats && request->shot.trace->layers)
    code = file_check_replaceable(request->output, exr_is_one(request->output), "an OpenEXR picture", err);
  else if (floats)
    code = file_check_replaceable(request->output, file_begins_with(request->output, "PF\n", 3),
                                  "a float map", err);
  else if (request->output)
    code = image_check_path(request->output, err);
  if (code) return code;
  char *name = request->each ? sheet_numbered(request->each, 0) : NULL;
  if (request->each && !name)
    return error_set(err, FIRN_EINPUT,
                     "--each '%s' is no pattern with one number, such as pictures/%%04d.png", request->each);
  const char *slash = name ? strrchr(name, '/') : NULL;
  if (slash && slash != name) {
    name[slash - name] = '\0';
    code = file_make_folder(name, err);
  }
  mem_free(name);
  return code;
}

int sheet_draw(const struct comm *comm, const struct sheet_request *request, struct sheet_layout *layout,
               struct picture_report *report, struct error *err)
{
  static const uint8_t background[3] = {24, 27, 32};
  struct sheet sheet = {.comm = comm, .request = request, .report = report};
  const bool floats =
      request->output && (ends_with(request->output, ".pfm") || ends_with(request->output, ".exr"));
  int code = sheet_layout(request, &sheet.layout, err);
  if (!code && is_root(&sheet)) code = check_names(request, floats, err);
  if (comm) code = comm_agree(comm, code, err);
  if (code) return code;
  *layout = sheet.layout;
  memset(report, 0, sizeof *report);
  struct shot_options options = request->shot;
  options.aspect = (double)layout->panel_width / layout->panel_height;
  code = shot_open(&sheet.shot, comm, &options, err);
  if (!code && is_root(&sheet) && request->output) {
    sheet.image = image_create(layout->width, layout->height);
    if (options.transparent)
      image_add_alpha(sheet.image);
    else
      image_fill(sheet.image, background);
  }
  for (int i = 0; i < options.frame_count && !code; i++) code = draw_panel(&sheet, i, floats, err);
  if (!code && is_root(&sheet)) code = write_whole(&sheet, floats, err);
  if (comm) code = comm_agree(comm, code, err);
  image_destroy(&sheet.image);
  mem_free(sheet.linear);
  shot_close(&sheet.shot);
  return code;
}
