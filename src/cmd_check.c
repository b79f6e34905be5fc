/* `firn check`: is the scene sound, and what will it cost? Starts no MPI and writes nothing. */
#include "base/memory.h"
#include "commands.h"
#include "launch.h"
#include "scene_report.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
    "usage: firn check SCENE.yml [--set KEY=VALUE]... [--ranks N]\n"
    "\n"
    "Validates the scene and prints particles, active nodes, memory a rank, time step limits and\n"
    "the number of steps, with a warning for each material parameter outside the sensible range.\n"
    "\n"
    "  --set KEY=VALUE   change any key of the scene\n"
    "  --ranks N         ranks the memory is split over (1)\n";

struct options {
  struct launch_options launch;
  int ranks;
  int help;
};

static int read_options(int argc, char **argv, struct options *o, struct error *err)
{
  enum { SET = 1000, RANKS, HELP };
  static const struct option known[] = {{"set", required_argument, NULL, SET},
                                        {"ranks", required_argument, NULL, RANKS},
                                        {"help", no_argument, NULL, HELP},
                                        {NULL, 0, NULL, 0}};
  *o = (struct options){.ranks = 1};
  optind = 1;
  opterr = 0;
  int code = FIRN_OK;
  for (int c; !code && (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    switch (c) {
    case SET: code = launch_add_override(&o->launch, optarg, err); break;
    case RANKS:
      o->ranks = atoi(optarg);
      if (o->ranks < 1)
        return error_set(err, FIRN_EINPUT, "check: --ranks needs a number from 1 on, not \"%s\"", optarg);
      break;
    case HELP: o->help = 1; return FIRN_OK;
    default:
      return error_set(err, FIRN_EINPUT,
                       "check: option \"%s\" is unknown or lacks its value; see firn help check",
                       argv[optind - 1]);
    }
  }
  if (code) return code;
  if (optind + 1 != argc) return error_set(err, FIRN_EINPUT, "check: give exactly one scene file");
  o->launch.scene_path = argv[optind];
  return FIRN_OK;
}

int cmd_check(int argc, char **argv)
{
  struct options options;
  struct error err = {0};
  char *text = NULL;
  struct scene *scene = NULL;
  int code = read_options(argc, argv, &options, &err);
  if (!code && options.help) {
    fputs(usage, stdout);
    return EXIT_SUCCESS;
  }
  if (!code) code = scene_read_text(&text, options.launch.scene_path, &err);
  if (!code)
    code = scene_parse(&scene, options.launch.scene_path, text, options.launch.overrides,
                       options.launch.override_count, &err);
  if (!code) code = scene_load(scene, NULL, &err);
  if (!code)
    scene_report(scene, options.ranks, stdout);
  else
    fprintf(stderr, "firn: %s\n", err.text);
  scene_destroy(&scene);
  mem_free(text);
  return code ? EXIT_FAILURE : EXIT_SUCCESS;
}
