/* firn export FRAME... -o OUT: frames for other programs. One process, no MPI. */
#include "commands/commands.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "commands/options.h"
#include "io/file.h"
#include "io/particles/export.h"
#include "io/particles/frame.h"
#include "render/sheet.h"
#include "render/trace/vdb.h"
#include "run/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
    "usage: firn export FRAME -o OUT.ply|.vtp|.csv|.npz|.vdb\n"
    "       firn export FRAME... --each PATTERN\n"
    "\n"
    "Writes particles for other programs. The suffix selects the format: PLY (Houdini, Blender), VTP\n"
    "(ParaView), CSV and NPZ (NumPy) have all fields of the frame. VDB has density and velocity on a\n"
    "grid (Houdini, Blender's Cycles). ParaView needs no export: it reads the .xdmf beside the frames.\n"
    "\n";

struct options {
  const char *output, *each;
  double voxel; /* m; 0: by the scene */
  bool help;
  char **frames;
  int count;
};

/* What files begin with that an export may replace. */
static const struct {
  const char *suffix, *start;
  void (*writer)(FILE *, const struct export_data *); /* NULL: on a grid */
} formats[] = {{".ply", "ply\nformat binary_little_endian 1.0\ncomment firn", export_ply},
               {".vtp", "<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\"", export_vtp},
               {".csv", "x,y,z,", export_csv},
               {".npz", "PK\3\4", export_npz},
               {".vdb", " BDV", NULL}};
enum { FORMATS = sizeof formats / sizeof *formats };

static const struct option_row option_rows[] = {
    {"output", "FILE", "the file to write", 'o', OPTION_TEXT(struct options, output)},
    {"each", "PATTERN", "write one file per frame, such as houdini/snow_%04d.ply",
     OPTION_TEXT(struct options, each)},
    {"voxel", "M", "edge of a voxel in m, for .vdb (half a cell of the simulation)",
     OPTION_POSITIVE(struct options, voxel)},
};

static const struct option_table known = {"export", head, option_rows,
                                          sizeof option_rows / sizeof *option_rows, NULL};

static int read_options(int argc, char **argv, struct options *o, struct error *err)
{
  struct option_words words;
  *o = (struct options){.voxel = 0.0};
  const int code = options_read(&known, argc, argv, o, &words, err);
  o->help = words.help;
  if (code || o->help) return code;
  o->frames = words.word;
  o->count = words.count;
  if (o->count == 0) return error_set(err, FIRN_EINPUT, "no frame given; try 'firn help export'");
  if (!o->output == !o->each)
    return error_set(err, FIRN_EINPUT, "give a file to write to, -o OUT.ply, or a pattern with --each");
  if (o->output && o->count > 1)
    return error_set(err, FIRN_EINPUT, "there are %d frames; give a file for each, --each PATTERN", o->count);
  return FIRN_OK;
}

static int write_vdb(const struct options *o, const char *frame_file, const char *path, struct error *err)
{
  struct frame *frame = NULL;
  struct scene *scene = NULL;
  int code = frame_read(&frame, frame_file, err);
  const char *text = code ? NULL : frame->resolved ? frame->resolved : frame->scene;
  if (text && scene_parse_stored(&scene, frame_file, text, NULL)) scene = NULL;
  double voxel = o->voxel;
  if (!(voxel > 0.0) && scene) voxel = 0.5 * scene->spacing;
  if (!code && !(voxel > 0.0))
    code = error_set(err, FIRN_EINPUT, "%s: the frame does not describe its grid; give --voxel", frame_file);
  if (!code) code = vdb_write(path, frame, scene, voxel, err);
  scene_destroy(&scene);
  frame_destroy(&frame);
  return code;
}

static int write_particles(int format, const char *frame, const char *path, struct error *err)
{
  struct export_data *data = NULL;
  int code = export_load(&data, frame, err);
  if (!code) code = export_write(path, formats[format].writer, data, err);
  export_destroy(&data);
  return code;
}

static int write_one(const struct options *o, const char *frame, const char *path, struct error *err)
{
  const char *dot = strrchr(path, '.');
  int k = 0;
  while (dot && k < FORMATS && strcmp(dot, formats[k].suffix) != 0) k++;
  if (!dot || k == FORMATS)
    return error_set(err, FIRN_EINPUT, "%s: the suffix must be .ply, .vtp, .csv, .npz or .vdb", path);
  const bool ours = file_begins_with(path, formats[k].start, strlen(formats[k].start));
  const int code = file_check_replaceable(path, ours, "an export", err);
  if (code) return code;
  return formats[k].writer ? write_particles(k, frame, path, err) : write_vdb(o, frame, path, err);
}

static int write_all(const struct options *o, struct error *err)
{
  int code = FIRN_OK;
  for (int k = 0; k < o->count && !code; k++) {
    char *path = o->each ? sheet_numbered(o->each, k) : mem_strdup(o->output);
    if (!path)
      return error_set(err, FIRN_EINPUT, "--each '%s' is no pattern with one number, such as snow_%%04d.ply",
                       o->each);
    char *slash = strrchr(path, '/');
    if (o->each && k == 0 && slash && slash != path) {
      *slash = '\0';
      code = file_make_folder(path, err);
      *slash = '/';
    }
    if (!code) code = write_one(o, o->frames[k], path, err);
    mem_free(path);
  }
  if (!code) log_info("%s: %d frame%s", o->each ? o->each : o->output, o->count, o->count == 1 ? "" : "s");
  return code;
}

int cmd_export(int argc, char **argv)
{
  struct options options;
  struct error err = {.code = FIRN_OK};
  int code = read_options(argc, argv, &options, &err);
  if (!code && options.help) {
    options_help(&known);
    return EXIT_SUCCESS;
  }
  if (!code) code = write_all(&options, &err);
  return code ? launch_fail(NULL, &err) : EXIT_SUCCESS;
}
