/* One table says which options there are, which commands have them, and what the help says. */
#include "commands/cmd_pictures.h"

#include "base/memory.h"
#include "base/vec.h"
#include "commands/options.h"
#include "kernels/crew.h"
#include "render/trace/sampler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANY = PICTURE_PREVIEW | PICTURE_RENDER | PICTURE_MOVIE, STILL = PICTURE_PREVIEW | PICTURE_RENDER };
enum { TRACED = PICTURE_RENDER | PICTURE_MOVIE, DRAWN = PICTURE_PREVIEW | PICTURE_MOVIE };

enum option_id {
  OUTPUT,
  SIZE,
  COLUMNS,
  EACH,
  RENDER,
  RATE,
  KEEP,
  EYE,
  TARGET,
  FOV,
  SUN,
  SKY,
  TURBIDITY,
  SUN_SIZE,
  SUN_STRENGTH,
  GROUND,
  SCENE,
  COLOR,
  NO_LABELS,
  LABELS,
  TRANSPARENT,
  LOOK,
  ALBEDO,
  COSINE,
  EXTINCTION,
  REFINE,
  VOXEL,
  KERNEL,
  EDGE,
  ROUGH,
  GRAIN,
  SAMPLES,
  LEAST,
  ERROR,
  APERTURE,
  FOCUS,
  SHUTTER,
  SLICES,
  EXPOSURE,
  CURVE,
  NO_DENOISE,
  QUALITY,
  SIMILAR,
  SEED,
  THREADS,
  QUIET,
  OPTIONS
};

struct entry {
  const char *name, *value, *about;
  int commands;
};

static const struct entry entries[OPTIONS] = {
    [OUTPUT] = {"output", "FILE", "the file to write", ANY},
    [SIZE] = {"size", "WxH", "pixels of each picture (1280x720; 640x360 on a sheet of several)", ANY},
    [COLUMNS] = {"columns", "N", "pictures side by side on a sheet", STILL},
    [EACH] = {"each", "PATTERN", "write one file per frame, numbered like it, such as pictures/%04d.png",
              STILL},
    [RENDER] = {"render", NULL, "trace the pictures (firn render) instead of drawing them (firn preview)",
                PICTURE_MOVIE},
    [RATE] = {"rate", "N", "pictures per second (the scene's frame rate)", PICTURE_MOVIE},
    [KEEP] = {"pictures", "FOLDER", "folder for its pictures (beside the film)", PICTURE_MOVIE},
    [EYE] = {"eye", "X,Y,Z", "position of the camera (m); with --target", ANY},
    [TARGET] = {"target", "X,Y,Z", "point that the camera looks at (m)", ANY},
    [FOV] = {"fov", "DEGREES", "vertical field of view", ANY},
    [SUN] = {"sun", "X,Y,Z", "direction towards the sun", ANY},
    [SKY] = {"sky", "clear|overcast|gradient", "the sky", TRACED},
    [TURBIDITY] = {"turbidity", "T", "haze of a clear sky, 1.7 to 10 (2)", TRACED},
    [SUN_SIZE] = {"sun-size", "DEGREES", "width of the sun, 0.1 to 30 (0.53); more makes soft shadows",
                  TRACED},
    [SUN_STRENGTH] = {"sun-strength", "FACTOR", "light of the sun, relative to the real one (1)", TRACED},
    [GROUND] = {"ground", "scene|snow", "scene (default) or snow: planes look covered by snow", TRACED},
    [SCENE] = {"scene", "FILE", "take bodies, gravity, camera and sun from this scene", ANY},
    [COLOR] = {"color", "WORD",
               "what the colour of the snow shows: density, velocity, jp, material or temperature", DRAWN},
    [NO_LABELS] = {"no-labels", NULL, "write no text into the picture", DRAWN},
    [LABELS] = {"labels", NULL, "write the time into the picture", PICTURE_RENDER},
    [TRANSPARENT] = {"transparent", NULL, "leave out the background (PNG with opacity)", STILL},
    [LOOK] = {"look", "NAME", "look of all materials: snow, paper, sand, clay, rubber, ice, water or spray",
              TRACED},
    [ALBEDO] = {"albedo", "R,G,B", "albedo of one scattering, each 0 to 1", TRACED},
    [COSINE] = {"cosine", "G", "mean cosine of a scattering (0.5)", TRACED},
    [EXTINCTION] = {"extinction", "S", "extinction of snow of 400 kg/m3, in 1/m (2617)", TRACED},
    [REFINE] = {"refine", "N", "voxels per cell of eight particles along each axis, 1 to 16 (8)", TRACED},
    [VOXEL] = {"voxel", "M", "edge of a voxel in m, instead of --refine", TRACED},
    [KERNEL] = {"kernel", "M", "width of the kernel in m (1.3 times the gap between particles)", TRACED},
    [EDGE] = {"edge", "PART", "part of the packed density where snow begins (0.35); 0: no surface", TRACED},
    [ROUGH] = {"rough", "PART", "roughness of the surface, 0 to 1 (0.2)", TRACED},
    [GRAIN] = {"grain-radius", "M", "radius of snow grains in m, which sets the extinction (0.00025)",
               TRACED},
    [SAMPLES] = {"samples", "N", "maximum of paths per pixel (64)", TRACED},
    [LEAST] = {"least-samples", "N", "minimum of paths per pixel (16)", TRACED},
    [ERROR] = {"error", "E", "relative error at which a pixel is done (0.05); 0: all pixels get --samples",
               TRACED},
    [APERTURE] = {"aperture", "M", "diameter of the lens in m (0: everything is in focus)", TRACED},
    [FOCUS] = {"focus", "M", "distance in focus in m (that of the target)", TRACED},
    [SHUTTER] = {"shutter", "PART",
                 "part of the time between frames that the shutter is open, for motion blur (0)", TRACED},
    [SLICES] = {"slices", "N", "moments of the snow while the shutter is open, 1 to 16 (4)", TRACED},
    [EXPOSURE] = {"exposure", "STOPS", "exposure correction in stops (0)", TRACED},
    [CURVE] = {"curve", "filmic|standard", "tone curve of the picture (filmic)", TRACED},
    [NO_DENOISE] = {"no-denoise", NULL, "do not remove noise", TRACED},
    [QUALITY] = {"quality", "draft|final",
                 "draft (640x360, 16 paths per pixel) or final (1280x720, up to 64)", TRACED},
    [SIMILAR] = {"similarity", "N",
                 "scatterings until the phase function is taken as isotropic (10); -1: never", TRACED},
    [SEED] = {"seed", "N", "seed of the random numbers (1)", TRACED},
    [THREADS] = {"threads", "N", "threads per rank (as the machine suggests)", TRACED},
    [QUIET] = {"quiet", NULL, "print only warnings", TRACED},
};

static int parse_triple(enum option_id id, const char *text, double out[3], struct error *err)
{
  char name[32];
  snprintf(name, sizeof name, "--%s", entries[id].name);
  return option_numbers(name, text, 3, out, err);
}

static int parse_number(enum option_id id, const char *text, double low, double high, double *out,
                        struct error *err)
{
  char name[32];
  snprintf(name, sizeof name, "--%s", entries[id].name);
  return option_between(name, text, low, high, out, err);
}

static int parse_count(enum option_id id, const char *text, int low, int high, int *out, struct error *err)
{
  char name[32];
  int64_t value = 0;
  snprintf(name, sizeof name, "--%s", entries[id].name);
  const int code = option_count(name, text, low, high, &value, err);
  *out = (int)value;
  return code;
}

/* Index in a list of words that ends with NULL. */
static int parse_word(enum option_id id, const char *text, const char *const *words, int *out,
                      struct error *err)
{
  char known[128] = "";
  for (int k = 0; words[k]; k++) {
    if (strcmp(words[k], text) == 0) {
      *out = k;
      return FIRN_OK;
    }
    snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", k ? ", " : "", words[k]);
  }
  return error_set(err, FIRN_EINPUT, "--%s '%s' is not one of %s", entries[id].name, text, known);
}

/* A multiple of a batch. */
static int parse_samples(enum option_id id, const char *text, int *out, struct error *err)
{
  const int code = parse_count(id, text, 1, 1 << 20, out, err);
  *out = (*out + SAMPLER_BATCH - 1) / SAMPLER_BATCH * SAMPLER_BATCH;
  return code;
}

/* The look that the options change. */
static struct look *own_look(struct picture_options *o)
{
  if (!o->look) o->own = looks[LOOK_SNOW];
  if (o->look && o->look != &o->own) o->own = *o->look;
  o->look = &o->own;
  return &o->own;
}

static int parse_look(const char *text, struct picture_options *o, struct error *err)
{
  const char *names[LOOKS + 1] = {NULL};
  int index = 0;
  for (int k = 0; k < LOOKS; k++) names[k] = looks[k].name;
  const int code = parse_word(LOOK, text, names, &index, err);
  *own_look(o) = looks[index];
  if (index == LOOK_PAPER) { /* the grid of the simulation, and its density as it is */
    o->edge = 0.0;
    o->refine = 1;
  }
  return code;
}

static int parse_albedo(const char *text, struct picture_options *o, struct error *err)
{
  struct look *look = own_look(o);
  const int code = parse_triple(ALBEDO, text, look->albedo, err);
  for (int c = 0; !code && c < 3; c++)
    if (!(look->albedo[c] >= 0.0 && look->albedo[c] <= 1.0))
      return error_set(err, FIRN_EINPUT, "--albedo '%s' is not three numbers from 0 to 1", text);
  return code;
}

static int parse_sun(const char *text, struct scene_sun *sun, struct error *err)
{
  const int code = parse_triple(SUN, text, sun->direction, err);
  if (!code && !(vec_normalize(sun->direction) > 0.0))
    return error_set(err, FIRN_EINPUT, "--sun '%s' has no length; give a direction such as -1,1,0.5", text);
  sun->given = true;
  return code;
}

/* Options of the tracer. */
static int take_trace(enum option_id id, const char *text, struct picture_args *a, struct error *err)
{
  static const char *const curves[] = {"standard", "filmic", NULL}; /* enum picture_curve */
  static const char *const qualities[] = {"draft", "final", NULL};
  struct picture_options *o = &a->trace;
  int word = 0, code = FIRN_OK;
  double number = 0.0;
  switch (id) {
  case LOOK: return parse_look(text, o, err);
  case ALBEDO: return parse_albedo(text, o, err);
  case COSINE: return parse_number(id, text, -0.99, 0.99, &own_look(o)->cosine, err);
  case EXTINCTION:
    code = parse_number(id, text, 1e-3, 1e9, &own_look(o)->extinction, err);
    own_look(o)->density = 400.0;
    return code;
  case GRAIN:
    code = parse_number(id, text, 1e-6, 1.0, &number, err);
    if (!code) own_look(o)->extinction = look_extinction(400.0, number);
    own_look(o)->density = 400.0;
    return code;
  case REFINE: return parse_count(id, text, 1, 16, &o->refine, err);
  case KERNEL: return parse_number(id, text, 1e-9, 1e9, &o->kernel, err);
  case ROUGH: return parse_number(id, text, 0.0, 1.0, &o->rough, err);
  case VOXEL: return parse_number(id, text, 1e-9, 1e9, &o->voxel, err);
  case EDGE: return parse_number(id, text, 0.0, 0.9, &o->edge, err);
  case SAMPLES: return parse_samples(id, text, &o->most, err);
  case LEAST: return parse_samples(id, text, &o->least, err);
  case ERROR: return parse_number(id, text, 0.0, 10.0, &o->target, err);
  case SHUTTER: return parse_number(id, text, 0.0, 1.0, &o->shutter, err);
  case SLICES: return parse_count(id, text, 1, 16, &o->slices, err);
  case EXPOSURE: return parse_number(id, text, -20.0, 20.0, &o->exposure, err);
  case CURVE:
    code = parse_word(id, text, curves, &word, err);
    o->curve = (enum picture_curve)word;
    return code;
  case QUALITY:
    code = parse_word(id, text, qualities, &word, err);
    a->draft = word == 0;
    return code;
  case NO_DENOISE: o->denoise = false; return FIRN_OK;
  case SIMILAR: return parse_count(id, text, -1, 1 << 20, &o->similar_after, err);
  case SEED:
    code = parse_number(id, text, 0.0, 9e15, &number, err);
    o->seed = (uint64_t)number;
    return code;
  case THREADS: return parse_count(id, text, 1, MAX_THREADS, &a->threads, err);
  default: return FIRN_OK;
  }
}

static int take(enum option_id id, const char *text, struct picture_args *a, struct error *err)
{
  static const char *const skies[] = {"clear", "overcast", "gradient", NULL}; /* enum scene_sky */
  static const char *const grounds[] = {"scene", "snow", NULL};
  static const char *const colors[] = {"snow",     "density",     "velocity", "jp",
                                       "material", "temperature", NULL}; /* preview_color */
  struct shot_options *shot = &a->sheet.shot;
  int word = 0, code;
  switch (id) {
  case OUTPUT: a->sheet.output = text; return FIRN_OK;
  case SIZE: return option_size("--size", text, 1, &a->sheet.width, &a->sheet.height, err);
  case COLUMNS: return parse_count(id, text, 1, 1000000, &a->sheet.columns, err);
  case EACH: a->sheet.each = text; return FIRN_OK;
  case RENDER: a->traced = true; return FIRN_OK;
  case RATE: return parse_number(id, text, 0.01, 1000.0, &a->rate, err);
  case KEEP: a->keep = text; return FIRN_OK;
  case EYE: return parse_triple(id, text, shot->camera.eye, err);
  case TARGET: return parse_triple(id, text, shot->camera.target, err);
  case FOV: return parse_number(id, text, 0.1, 170.0, &shot->field_of_view, err);
  case SUN: return parse_sun(text, &shot->sun, err);
  case SKY:
    code = parse_word(id, text, skies, &word, err);
    shot->sun.sky = (enum scene_sky)word;
    shot->sky_given = true;
    return code;
  case TURBIDITY: return parse_number(id, text, 1.7, 10.0, &shot->sun.turbidity, err);
  case SUN_SIZE: return parse_number(id, text, 0.1, 30.0, &shot->sun.size, err);
  case SUN_STRENGTH: return parse_number(id, text, 1e-3, 1e3, &shot->sun.strength, err);
  case GROUND:
    code = parse_word(id, text, grounds, &word, err);
    a->trace.snow_ground = word == 1;
    return code;
  case SCENE: shot->scene = text; return FIRN_OK;
  case COLOR:
    code = parse_word(id, text, colors, &word, err);
    shot->color = (enum preview_color)word;
    return code;
  case NO_LABELS: shot->labels = false; return FIRN_OK;
  case LABELS: shot->labels = true; return FIRN_OK;
  case TRANSPARENT: shot->transparent = true; return FIRN_OK;
  case APERTURE: return parse_number(id, text, 0.0, 1e6, &shot->aperture, err);
  case FOCUS: return parse_number(id, text, 1e-6, 1e9, &shot->focus, err);
  case QUIET: a->quiet = true; return FIRN_OK;
  default: return take_trace(id, text, a, err);
  }
}

/* Writes an option down, unless pictures do not depend on it. */
static int sign(struct picture_args *a, enum option_id id, const char *text, struct error *err)
{
  const size_t used = strlen(a->signature), room = sizeof a->signature - used;
  if (id == OUTPUT || id == RATE || id == KEEP || id == THREADS || id == QUIET) return FIRN_OK;
  const int wrote = snprintf(a->signature + used, room, "--%s %s\n", entries[id].name, text ? text : "");
  if (wrote > 0 && (size_t)wrote < room) return FIRN_OK;
  return error_set(err, FIRN_EINPUT, "the options are too long; give shorter ones");
}

static const char *const command_names[] = {NULL, "preview", "render", NULL, "movie"};

/* A picture is a PNG, or linear floats where it is traced. */
static int check_suffix(struct picture_args *a, enum picture_command command, struct error *err)
{
  struct error no = {.code = FIRN_OK};
  if (a->sheet.each) return option_check_suffix("--each", a->sheet.each, ".png", err);
  if (command == PICTURE_RENDER && option_check_suffix("-o", a->sheet.output, ".pfm", &no) == FIRN_OK)
    return FIRN_OK;
  a->trace.layers =
      command == PICTURE_RENDER && option_check_suffix("-o", a->sheet.output, ".exr", &no) == FIRN_OK;
  if (a->trace.layers) return FIRN_OK;
  const int code = option_check_suffix("-o", a->sheet.output, ".png", err);
  if (code && command == PICTURE_RENDER)
    return error_set(
        err, FIRN_EINPUT,
        "-o \"%s\": the name must end in .png (a picture), .exr (linear, with layers) or .pfm (linear)",
        a->sheet.output);
  return code;
}

static int check(struct picture_args *a, const bool given[OPTIONS], enum picture_command command,
                 struct error *err)
{
  struct sheet_request *sheet = &a->sheet;
  struct scene_camera *camera = &sheet->shot.camera;
  const char *name = command_names[command];
  const bool eye = given[EYE], target = given[TARGET];
  if (sheet->shot.frame_count == 0)
    return error_set(err, FIRN_EINPUT, "no %s given; try 'firn help %s'",
                     command == PICTURE_MOVIE ? "run or frame" : "frame", name);
  if (!sheet->each && (!sheet->output || !*sheet->output))
    return error_set(err, FIRN_EINPUT, "no file to write to; add -o OUT.%s",
                     command == PICTURE_MOVIE ? "mp4" : "png");
  if (sheet->each && sheet->output)
    return error_set(err, FIRN_EINPUT, "-o and --each exclude each other; give one");
  if (command != PICTURE_MOVIE && check_suffix(a, command, err)) return err->code;
  if (eye != target)
    return error_set(err, FIRN_EINPUT, "--eye and --target need each other; give both or none");
  if (eye && memcmp(camera->eye, camera->target, sizeof camera->eye) == 0)
    return error_set(err, FIRN_EINPUT,
                     "--eye and --target are the same point; there is no direction to look");
  if (a->draft && sheet->width == 0) {
    sheet->width = 640;
    sheet->height = 360;
  }
  if (a->draft && !given[SAMPLES]) a->trace.most = a->trace.least;
  if (a->trace.most < a->trace.least) a->trace.least = a->trace.most;
  camera->given = eye;
  return FIRN_OK;
}

/* What reading fills in; a row's `at` is its enum option_id. */
struct reading {
  struct picture_args *args;
  bool given[OPTIONS];
};

static int take_row(void *into, const struct option_row *row, const char *text, struct error *err)
{
  struct reading *reading = into;
  const enum option_id id = (enum option_id)row->at;
  reading->given[id] = true;
  const int code = take(id, text, reading->args, err);
  return code ? code : sign(reading->args, id, text, err);
}

/* The entries of a command as rows; their number. */
static int rows_of(enum picture_command command, struct option_row rows[OPTIONS])
{
  int count = 0;
  for (int k = 0; k < OPTIONS; k++)
    if (entries[k].commands & (int)command)
      rows[count++] = (struct option_row){entries[k].name,          entries[k].value, entries[k].about,
                                          k == OUTPUT ? 'o' : '\0', .at = (size_t)k,  OPTION_CALL(take_row)};
  return count;
}

void picture_args_help(enum picture_command command, const char *head)
{
  struct option_row rows[OPTIONS];
  const int count = rows_of(command, rows);
  options_help(&(struct option_table){command_names[command], head, rows, count, NULL});
}

int picture_args_read(int argc, char **argv, enum picture_command command, struct picture_args *a,
                      struct error *err)
{
  struct option_row rows[OPTIONS];
  const struct option_table known = {command_names[command], NULL, rows, rows_of(command, rows), NULL};
  struct reading reading = {.args = a};
  struct option_words words;
  memset(a, 0, sizeof *a);
  a->trace = picture_defaults();
  a->sheet.shot.labels = command != PICTURE_RENDER;
  a->sheet.shot.aperture = a->sheet.shot.focus = -1.0;
  const int code = options_read(&known, argc, argv, &reading, &words, err);
  a->help = words.help;
  if (code || a->help) return code;
  a->sheet.shot.frames = words.word;
  a->sheet.shot.frame_count = words.count;
  if (command == PICTURE_RENDER || a->traced) a->sheet.shot.trace = &a->trace;
  return check(a, reading.given, command, err);
}
