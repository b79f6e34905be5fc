/* `firn levelset`: keys of a body that deforms, for a scene's `levelset` shape. */
#include "base/log.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "io/assets/levelset_keys.h"
#include "io/particles/hdf5.h"
#include "run/launch.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: firn levelset -o KEYS.h5 SKELETON.yml\n"
    "       firn levelset -o KEYS.h5 --spacing H --rate R [--scale S] MESH...\n"
    "\n"
    "Makes level-set keys for a deforming body of a scene: grids of distance and velocity at key times.\n"
    "The input is an animated skeleton of capsules, or a sequence of meshes (.obj, .stl, .ply) with the\n"
    "same vertices and faces. mpirun shares the work.\n"
    "\n"
    "  -o, --output KEYS.h5  the file to write\n"
    "  --spacing H           spacing of the grids in m (a skeleton file has its own)\n"
    "  --rate R              meshes per second; the first is at time 0\n"
    "  --scale S             m per unit of the meshes (1); not for a skeleton, which is in metres\n";

struct options {
  const char *output, *skeleton;
  struct mesh_sequence meshes;
  bool help;
};

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
                       "levelset: a skeleton comes alone, and has its own spacing and rate, in metres");
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
  enum { SPACING = 1000, RATE, SCALE, HELP };
  static const struct option known[] = {
      {"output", required_argument, NULL, 'o'}, {"spacing", required_argument, NULL, SPACING},
      {"rate", required_argument, NULL, RATE},  {"scale", required_argument, NULL, SCALE},
      {"help", no_argument, NULL, HELP},        {NULL, 0, NULL, 0}};
  *o = (struct options){0};
  optind = 0;
  opterr = 0;
  int code = FIRN_OK;
  for (int c; !code && (c = getopt_long(argc, argv, "o:", known, NULL)) != -1;) {
    switch (c) {
    case 'o': o->output = optarg; break;
    case SPACING: code = option_positive("levelset: --spacing", optarg, &o->meshes.spacing, err); break;
    case RATE: code = option_positive("levelset: --rate", optarg, &o->meshes.rate, err); break;
    case SCALE: code = option_positive("levelset: --scale", optarg, &o->meshes.scale, err); break;
    case HELP: o->help = true; return FIRN_OK;
    default:
      return error_set(err, FIRN_EINPUT,
                       "levelset: option \"%s\" is unknown or lacks its value; see firn help levelset",
                       argv[optind - 1]);
    }
  }
  o->meshes.path = argv + optind;
  o->meshes.count = argc - optind;
  return code ? code : check_options(o, err);
}

int cmd_levelset(int argc, char **argv)
{
  struct options options;
  struct error err = {0};
  struct comm comm;
  int code = read_options(argc, argv, &options, &err);
  if (!code && options.help) {
    fputs(usage, stdout);
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
