/* firn map RUN: the maps of a flow as pictures. One process, no MPI. */
#include "commands/commands.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "commands/options.h"
#include "io/file.h"
#include "io/geo/grid_file.h"
#include "render/plot/map_plot.h"
#include "run/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
    "usage: firn map RUN [-o OUT.png] [OPTIONS]\n"
    "\n"
    "Draws the maps that a run on a terrain has made (the grids in RUN/maps): shaded ground with contours,\n"
    "the quantity in colours with its scale, and the outline of the release. Each becomes a PNG picture\n"
    "beside its grid.\n"
    "\n";

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

static int take_only(void *into, const struct option_row *row, const char *text, struct error *err)
{
  (void)row;
  return read_list(text, &((struct options *)into)->wanted, err);
}

static int take_most(void *into, const struct option_row *row, const char *text, struct error *err)
{
  (void)row;
  return option_between("map: --max", text, 1e-9, 1e12, &((struct options *)into)->most, err);
}

static int take_contours(void *into, const struct option_row *row, const char *text, struct error *err)
{
  (void)row;
  return option_between("map: --contours", text, 1e-3, 1e5, &((struct options *)into)->contour, err);
}

static const struct option_row option_rows[] = {
    {"output", "FILE", "the picture to write, if --only names one map", 'o',
     OPTION_TEXT(struct options, output)},
    {"only", "LIST",
     "only these, separated by commas: peak_thickness, peak_thickness_vertical, peak_speed, peak_pressure, "
     "arrival_time, final_thickness, deposit",
     OPTION_CALL(take_only)},
    {"max", "X", "end of the colour scale (what one cell in a thousand exceeds)", OPTION_CALL(take_most)},
    {"contours", "METRES", "between two contours", OPTION_CALL(take_contours)},
    {"size", "PIXELS", "of the longer side, 100 to 8000 (1200)",
     OPTION_INT(struct options, pixels, 100, 8000)},
};

static const struct option_table known = {"map", head, option_rows, sizeof option_rows / sizeof *option_rows,
                                          NULL};

static int read_options(int argc, char **argv, struct options *o, struct error *err)
{
  struct option_words words;
  *o = (struct options){.wanted = (1u << MAPS) - 1, .pixels = 1200};
  const int code = options_read(&known, argc, argv, o, &words, err);
  o->help = words.help;
  if (code || o->help) return code;
  if (words.count != 1)
    return error_set(err, FIRN_EINPUT, "give one run (its output folder); try 'firn help map'");
  o->run = words.word[0];
  if (o->output && (o->wanted & (o->wanted - 1)))
    return error_set(err, FIRN_EINPUT, "-o names one picture: choose its map by --only");
  return FIRN_OK;
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
    options_help(&known);
    return EXIT_SUCCESS;
  }
  if (!code) code = draw(&options, &err);
  return code ? launch_fail(NULL, &err) : EXIT_SUCCESS;
}
