/* firn map RUN: the maps of a flow as pictures. One process, no MPI. */
#include "commands/commands.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/geo/grid_file.h"
#include "render/plot/map_plot.h"
#include "run/launch.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: firn map RUN [--only LIST] [--max X] [--contours METRES] [--size PIXELS] [-o OUT.png]\n"
    "\n"
    "Draws the maps that a run on a terrain has made (the grids in RUN/maps): shaded ground with contours,\n"
    "the quantity in colours with its scale, and the outline of the release. Each becomes a PNG picture\n"
    "beside its grid.\n"
    "\n"
    "  --only LIST           only these, separated by commas: peak_thickness, peak_thickness_vertical,\n"
    "                        peak_speed, peak_pressure, arrival_time, final_thickness, deposit\n"
    "  --max X               end of the colour scale; default: what one cell in a thousand exceeds\n"
    "  --contours METRES     between two contours\n"
    "  --size PIXELS         of the longer side, 100 to 8000, default 1200\n"
    "  -o, --output OUT      the picture to write, if --only names one map\n";

static const struct {
  const char *name, *title, *legend;
} maps[] = {{"peak_thickness", "Peak flow thickness, normal to the ground", "m"},
            {"peak_thickness_vertical", "Peak flow thickness, vertical", "m"},
            {"peak_speed", "Peak speed", "m/s"},
            {"peak_pressure", "Peak pressure, density times speed squared", "Pa"},
            {"arrival_time", "Arrival time", "s"},
            {"final_thickness", "Final thickness, normal to the ground", "m"},
            {"deposit", "Deposit at rest, normal to the ground", "m"}};
enum { MAPS = sizeof maps / sizeof *maps };

struct options {
  const char *run, *output;
  unsigned wanted;
  double most, contour;
  int pixels;
  bool help;
};

static int read_list(const char *text, unsigned *wanted, struct error *err)
{
  char *copy = mem_strdup(text);
  int code = FIRN_OK;
  *wanted = 0;
  for (char *save = NULL, *word = strtok_r(copy, ",", &save); word && !code;
       word = strtok_r(NULL, ",", &save)) {
    int k = 0;
    while (k < MAPS && strcmp(maps[k].name, word) != 0) k++;
    if (k == MAPS)
      code = error_set(err, FIRN_EINPUT, "--only '%s' is no map; 'firn help map' lists them", word);
    else
      *wanted |= 1u << k;
  }
  if (!code && !*wanted) code = error_set(err, FIRN_EINPUT, "--only names no map");
  mem_free(copy);
  return code;
}

static int read_number(const char *option, const char *text, double low, double high, double *value,
                       struct error *err)
{
  char *end;
  *value = strtod(text, &end);
  if (end == text || *end || !(*value >= low && *value <= high))
    return error_set(err, FIRN_EINPUT, "%s '%s': expected a number from %g to %g", option, text, low, high);
  return FIRN_OK;
}

static int read_options(int argc, char **argv, struct options *o, struct error *err)
{
  enum { OUTPUT = 'o', ONLY = 256, MOST, CONTOURS, SIZE, HELP };
  static const struct option known[] = {{"output", required_argument, NULL, OUTPUT},
                                        {"only", required_argument, NULL, ONLY},
                                        {"max", required_argument, NULL, MOST},
                                        {"contours", required_argument, NULL, CONTOURS},
                                        {"size", required_argument, NULL, SIZE},
                                        {"help", no_argument, NULL, HELP},
                                        {NULL, 0, NULL, 0}};
  *o = (struct options){.wanted = (1u << MAPS) - 1, .pixels = 1200};
  int code = FIRN_OK, letter;
  double pixels;
  optind = 0;
  opterr = 0;
  while (!code && (letter = getopt_long(argc, argv, ":o:", known, NULL)) != -1) {
    switch (letter) {
    case OUTPUT: o->output = optarg; break;
    case ONLY: code = read_list(optarg, &o->wanted, err); break;
    case MOST: code = read_number("--max", optarg, 1e-9, 1e12, &o->most, err); break;
    case CONTOURS: code = read_number("--contours", optarg, 1e-3, 1e5, &o->contour, err); break;
    case SIZE:
      code = read_number("--size", optarg, 100, 8000, &pixels, err);
      if (!code) o->pixels = (int)pixels;
      break;
    case HELP: o->help = true; return FIRN_OK;
    default:
      return error_set(err, FIRN_EINPUT, "option '%s' is unknown or lacks its value; see 'firn help map'",
                       argv[optind - 1]);
    }
  }
  if (!code && optind + 1 != argc)
    code = error_set(err, FIRN_EINPUT, "expected one run; try 'firn help map'");
  if (!code) o->run = argv[optind];
  if (!code && o->output && (o->wanted & (o->wanted - 1)))
    code = error_set(err, FIRN_EINPUT, "-o names one picture: choose its map by --only");
  return code;
}

static char *map_path(const struct options *o, const char *name, const char *suffix)
{
  char file[80];
  snprintf(file, sizeof file, "maps/%s.%s", name, suffix);
  return file_join(o->run, file);
}

static int read_map(const struct options *o, const char *name, struct raster **out, struct error *err)
{
  char *path = map_path(o, name, "asc");
  int code = file_check_readable(path, err);
  if (code)
    error_prefix(err, "%s has no maps; they are made at the end of a run with the section 'terrain'", o->run);
  else
    code = grid_file_read(out, path, err);
  mem_free(path);
  return code;
}

static int draw_one(const struct options *o, int k, const struct raster *terrain,
                    const struct raster *release, struct error *err)
{
  struct raster *value = NULL;
  int code = read_map(o, maps[k].name, &value, err);
  if (!code && (value->columns != terrain->columns || value->rows != terrain->rows))
    code = error_set(err, FIRN_EINPUT, "%s/maps/%s.asc is not of the terrain's grid", o->run, maps[k].name);
  const struct map_plot plot = {.terrain = terrain,
                                .value = value,
                                .release = release,
                                .title = maps[k].title,
                                .legend = maps[k].legend,
                                .most = o->most,
                                .contour = o->contour};
  char *path = o->output ? mem_strdup(o->output) : map_path(o, maps[k].name, "png");
  if (!code) code = map_plot_write(&plot, o->pixels, path, err);
  if (!code) log_info("%s", path);
  mem_free(path);
  raster_destroy(&value);
  return code;
}

static int draw(const struct options *o, struct error *err)
{
  struct raster *terrain = NULL, *release = NULL;
  int code = read_map(o, "terrain", &terrain, err);
  if (!code) code = read_map(o, "release", &release, err);
  for (int k = 0; k < MAPS && !code; k++)
    if (o->wanted >> k & 1) code = draw_one(o, k, terrain, release, err);
  raster_destroy(&terrain);
  raster_destroy(&release);
  return code;
}

int cmd_map(int argc, char **argv)
{
  struct options options;
  struct error err = {.code = FIRN_OK};
  int code = read_options(argc, argv, &options, &err);
  if (!code && options.help) {
    fputs(usage, stdout);
    return EXIT_SUCCESS;
  }
  if (!code) code = draw(&options, &err);
  return code ? launch_fail(NULL, &err) : EXIT_SUCCESS;
}
