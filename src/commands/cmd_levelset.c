/* `firn levelset`: keys of a body that deforms, for a scene's `levelset` shape. */
#include "base/log.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "io/assets/levelset_keys.h"
#include "io/particles/hdf5.h"
#include "run/launch.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
    "usage: firn levelset -o KEYS.h5 SKELETON.yml\n"
    "       firn levelset -o KEYS.h5 --spacing H --rate R [--scale S] MESH...\n"
    "\n"
    "Makes level-set keys for a deforming body of a scene: grids of distance and velocity at key times.\n"
    "The input is an animated skeleton of capsules, or a sequence of meshes (.obj, .stl, .ply) with the\n"
    "same vertices and faces. mpirun shares the work.\n"
    "\n";

struct options {
  const char *output, *skeleton;
  struct mesh_sequence meshes;
  bool help;
};

static const struct option_row option_rows[] = {
    {"output", "KEYS.h5", "the file to write", 'o', OPTION_TEXT(struct options, output)},
    {"spacing", "H", "spacing of the grids in m (a skeleton file has its own)",
     OPTION_POSITIVE(struct options, meshes.spacing)},
    {"rate", "R", "meshes per second; the first is at time 0", OPTION_POSITIVE(struct options, meshes.rate)},
    {"scale", "S", "m per unit of the meshes (1); not for a skeleton, which is in metres",
     OPTION_POSITIVE(struct options, meshes.scale)},
};

static const struct option_table known = {"levelset", head, option_rows,
                                          sizeof option_rows / sizeof *option_rows, NULL};

static bool has_suffix(const char *path, const char *suffix)
{
  const size_t n = strlen(path), m = strlen(suffix);
  return n > m && strcmp(path + n - m, suffix) == 0;
}

static int check_options(struct options *o, struct error *err)
{
  if (!o->output) return error_set(err, FIRN_EINPUT, "levelset: no file to write to; add -o KEYS.h5");
  const int code = option_check_suffix("levelset: -o", o->output, ".h5", err);
  if (code) return code;
  if (o->meshes.count == 0)
    return error_set(err, FIRN_EINPUT, "levelset: no skeleton and no meshes given; see firn help levelset");
  const char *first = o->meshes.path[0];
  if (has_suffix(first, ".yml") || has_suffix(first, ".yaml")) {
    if (o->meshes.count > 1 || o->meshes.spacing > 0.0 || o->meshes.rate > 0.0 || o->meshes.scale > 0.0)
      return error_set(err, FIRN_EINPUT,
                       "levelset: give a skeleton without meshes and without --spacing, --rate and --scale: "
                       "it has its own");
    o->skeleton = first;
    return FIRN_OK;
  }
  if (!(o->meshes.spacing > 0.0) || !(o->meshes.rate > 0.0))
    return error_set(err, FIRN_EINPUT, "levelset: meshes need --spacing and --rate; see firn help levelset");
  if (o->meshes.scale == 0.0) o->meshes.scale = 1.0;
  return FIRN_OK;
}

static int read_options(int argc, char **argv, struct options *o, struct error *err)
{
  struct option_words words;
  *o = (struct options){0};
  const int code = options_read(&known, argc, argv, o, &words, err);
  o->help = words.help;
  if (code || o->help) return code;
  o->meshes.path = words.word;
  o->meshes.count = words.count;
  return check_options(o, err);
}

int cmd_levelset(int argc, char **argv)
{
  struct options options;
  struct error err = {0};
  struct comm comm;
  int code = read_options(argc, argv, &options, &err);
  if (!code && options.help) {
    options_help(&known);
    return EXIT_SUCCESS;
  }
  comm_start(&comm, &argc, &argv);
  log_configure(LOG_INFO, comm.rank, comm_abort);
  struct hdf5_silence silence;
  hdf5_silence_begin(&silence);
  if (!code)
    code = options.skeleton ? levelset_from_skeleton(&comm, options.skeleton, options.output, &err)
                            : levelset_from_meshes(&comm, &options.meshes, options.output, &err);
  hdf5_silence_end(&silence);
  const int status = code ? launch_fail(&comm, &err) : EXIT_SUCCESS;
  comm_stop(&comm);
  return status;
}
