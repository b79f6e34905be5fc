/* The subcommands of `firn`, one file each (src/cmd_*.c).
 *
 * argv[0] is the command's own name ("run"), so getopt works as in a program of its own; argv[argc] is NULL.
 * Asked for --help, a command prints its usage on stdout. An error is one line "firn: ..." on stderr, on rank
 * 0 alone where the command started MPI. The exit code is 0, or 1 for anything that is the user's or the
 * machine's fault (diff: 1 where the files differ, 2 for trouble). A command frees what it allocated: main
 * checks the balance. */
#ifndef FIRN_COMMANDS_H
#define FIRN_COMMANDS_H

int cmd_run(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_levelset(int argc, char **argv);
int cmd_preview(int argc, char **argv);
int cmd_study(int argc, char **argv);
int cmd_model(int argc, char **argv);
int cmd_render(int argc, char **argv);
int cmd_movie(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_map(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_view(int argc, char **argv);
int cmd_surface(int argc, char **argv);
int cmd_bench(int argc, char **argv);

#endif
