/* The `firn` command: one table of subcommands, and what is common to all of them.
 *
 * main starts neither MPI nor HDF5. Each command starts what it needs itself, so that `firn info` on a login
 * node does not wake up Open MPI. What main adds is the way in (help, version, the nearest name for a typing
 * error) and the way out: output that could not be written is a failure even when the command did not notice,
 * and with FIRN_CHECK_BALANCE in the environment a block that was never freed is one too. The tests set it;
 * LeakSanitizer cannot do this job, since it reports Open MPI's own leaks. */
#include "commands/commands.h"

#include "base/memory.h"
#include "base/places.h"
#include "base/version.h"
#include "io/scene/reader.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_LEAK = 70 }; /* EX_SOFTWARE of sysexits.h: our mistake, not the user's */

struct command {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *summary;
  bool waits; /* it starts threads that wait for each other */
};

static int command_help(int argc, char **argv);
static int command_version(int argc, char **argv);

static const struct command commands[] = {
    {"run", cmd_run, "simulate a scene and write its frames (start with mpirun)", true},
    {"check", cmd_check, "validate a scene; print its size, memory and time steps", false},
    {"info", cmd_info, "print what a frame or particle file holds", false},
    {"diff", cmd_diff, "compare two frames or states, particle by particle", false},
    {"levelset", cmd_levelset, "make the keys of a body that deforms", false},
    {"study", cmd_study, "sweeps and scaling studies: many runs, one table, plots", false},
    {"model", cmd_model, "predict the time per step on more ranks, threads and other networks", false},
    {"preview", cmd_preview, "draw frames as a quick picture or a contact sheet (PNG)", false},
    {"render", cmd_render, "trace light through the snow of frames (PNG; start with mpirun)", false},
    {"movie", cmd_movie, "make a film of the frames of a run (MP4)", false},
    {"plot", cmd_plot, "plot the history of runs: energy, steps, time by phase (SVG, PNG)", false},
    {"map", cmd_map, "draw maps of a flow on its terrain: thickness, speed, pressure (PNG)", false},
    {"report", cmd_report, "one page about a run: pictures, plots, numbers (HTML)", false},
    {"view", cmd_view, "a page in which one turns and plays a run, in any browser (HTML)", false},
    {"surface", cmd_surface, "the surface of the snow as a mesh or a signed distance (PLY, OBJ, VTP, VDB)",
     true},
    {"export", cmd_export, "write frames as PLY, VTP, CSV, NPZ or OpenVDB", false},
    {"bench", cmd_bench, "measure the speed of the inner loops on this machine", false},
    {"version", command_version, "print version and commit", false},
    {"help", command_help, "print this page, or the help of one command", false},
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static const struct command *find_command(const char *name)
{
  for (int i = 0; i < COMMANDS; i++)
    if (strcmp(commands[i].name, name) == 0) return &commands[i];
  return NULL;
}

static int unknown_command(const char *name)
{
  const char *names[COMMANDS + 1] = {NULL};
  for (int i = 0; i < COMMANDS; i++) names[i] = commands[i].name;
  const char *nearest = reader_nearest(name, names);
  if (nearest)
    fprintf(stderr, "firn: unknown command '%s'; did you mean '%s'?\n", name, nearest);
  else
    fprintf(stderr, "firn: unknown command '%s'; 'firn help' lists them\n", name);
  return EXIT_FAILURE;
}

static void print_usage(FILE *out)
{
  fputs("usage: firn COMMAND [ARGUMENTS]\n\n"
        "Firn simulates snow with the material point method on MPI clusters.\n\n",
        out);
  for (int i = 0; i < COMMANDS; i++) fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
  fputs("\n'firn help COMMAND' prints its options. A first run: mpirun -n 2 firn run "
        "scenes/snowball_drop.yml\n",
        out);
}

static int command_help(int argc, char **argv)
{
  if (argc > 2) {
    fprintf(stderr, "firn: help takes one command at most, not '%s' as well\n", argv[2]);
    return EXIT_FAILURE;
  }
  const char *name = argc < 2 || strcmp(argv[1], "--help") == 0 ? "help" : argv[1];
  const struct command *command = find_command(name);
  if (!command) return unknown_command(name);
  if (command->run == command_help) {
    print_usage(stdout);
    return EXIT_SUCCESS;
  }
  char option[] = "--help";
  char *asked[] = {argv[1], option, NULL};
  return command->run(2, asked);
}

static int command_version(int argc, char **argv)
{
  if (argc > 1 && strcmp(argv[1], "--help") == 0) {
    puts("usage: firn version\n\nPrints the version and the commit that this program was built from.");
    return EXIT_SUCCESS;
  }
  if (argc > 1) {
    fprintf(stderr, "firn: version takes no arguments, not '%s'\n", argv[1]);
    return EXIT_FAILURE;
  }
  printf("firn %s (commit %s)\n", FIRN_VERSION, FIRN_COMMIT);
  return EXIT_SUCCESS;
}

/* The mask of the process as it was before OpenMP bound its first thread. A second start would inherit that
 * thread's one place and take it for all there is. */
static void restore_mask(void)
{
  uint64_t units[PLACES_WORDS];
  if (places_union(units) == 0) return;
  cpu_set_t *set = CPU_ALLOC(PLACES_UNITS);
  const size_t size = CPU_ALLOC_SIZE(PLACES_UNITS);
  if (!set) return;
  CPU_ZERO_S(size, set);
  for (int k = 0; k < PLACES_UNITS; k++)
    if (units[k / 64] >> k % 64 & 1) CPU_SET_S((size_t)k, size, set);
  sched_setaffinity(0, size, set); /* if it fails, the mask stays as it is */
  CPU_FREE(set);
}

/* The program's own path, so that a second start keeps its name in ps; /proc/self/exe if the file was
 * replaced or the path is too long. */
static const char *own_path(char *buffer, size_t size)
{
  const char *self = "/proc/self/exe";
  const ssize_t length = readlink(self, buffer, size - 1);
  if (length <= 0 || (size_t)length == size - 1) return self;
  buffer[length] = '\0';
  return access(buffer, X_OK) == 0 ? buffer : self;
}

/* OpenMP's threads spin for some milliseconds before they sleep. Beside other programs each of these is lost
 * twice: to the thread that is waited for and to everyone else. So they shall spin only for about as long as
 * it takes to wake them. GNU's library reads the setting as it is loaded, before main: hence a second start.
 * A setting of the user is kept. */
static void bound_spinning(char **argv)
{
  char path[4096];
  if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
  if (setenv("GOMP_SPINCOUNT", "2000", 0)) return;
  restore_mask();
  execv(own_path(path, sizeof path), argv);
  /* Without it all works as well, if slower beside others. */
}

static int run_command(int argc, char **argv)
{
  if (argc < 2) {
    print_usage(stderr);
    return EXIT_FAILURE;
  }
  const char *name = argv[1];
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
  if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) name = "version";
  const struct command *command = find_command(name);
  if (!command) return unknown_command(name);
  if (command->waits) bound_spinning(argv);
  return command->run(argc - 1, argv + 1);
}

/* A full disk shows when the buffer is flushed, which is usually now. */
static int check_output(void)
{
  if (fflush(stdout) == 0 && !ferror(stdout)) return EXIT_SUCCESS;
  fprintf(stderr, "firn: cannot write to standard output: %s\n", strerror(errno));
  return EXIT_FAILURE;
}

static int check_balance(void)
{
  const long blocks = mem_balance();
  if (blocks == 0 || !getenv("FIRN_CHECK_BALANCE")) return EXIT_SUCCESS;
  fprintf(stderr, "firn: bug in Firn: %ld memory blocks were not freed\n", blocks);
  return EXIT_LEAK;
}

int main(int argc, char **argv)
{
  int code = run_command(argc, argv);
  if (code == EXIT_SUCCESS) code = check_output();
  const int leak = check_balance();
  return leak ? leak : code;
}
