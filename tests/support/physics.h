/* Runs of the solver inside a test: one process, a scene as text, particles from memory.
 *
 * A test program ends in PHYSICS_MAIN(tests): MPI is started once, and the allocations must balance at the
 * end. Functions fail the running test on any error, so that a test reads as the experiment. */
#ifndef FIRN_TESTS_PHYSICS_H
#define FIRN_TESTS_PHYSICS_H

#include "sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

extern struct comm physics_comm;

struct run {
  struct scene *scene;
  struct sim *sim;
  struct error err; /* of the last call that may fail */
};

/* printf-like scene text. */
void run_start(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
void run_start_on(struct run *run, enum isa isa, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void run_end(struct run *run);

/* One step of length dt, or of the scene's rule; the code must be FIRN_OK. */
void run_advance(struct run *run, double dt);
void run_step(struct run *run);
void run_to(struct run *run, double time); /* by the scene's rule, to the first step that reaches it */

/* Particles by rows, written to a file that a scene's snow reads: `- file: %s` with cloud->path. */
struct cloud {
  int count;
  double *x, *v, *mass, *volume, *fe, *jp;
  char path[64];
};
struct cloud *cloud_create(int count); /* F_E = I, J_P = 1, everything else zero */
void cloud_write(struct cloud *cloud);
void cloud_destroy(struct cloud **cloud); /* removes the file too */

/* A box of particles on a lattice, `per_axis` a cell and axis, with exact volumes. */
struct cloud *cloud_box(const double lower[3], const int cells[3], double spacing, int per_axis,
                        double density);

/* Sums over particles in extended precision. */
struct sums {
  double mass, momentum[3], angular[3], kinetic, center[3];
  double size;         /* sum of m |v|: what momentum is to be compared with */
  double angular_size; /* likewise */
};
struct sums run_sums(const struct run *run);

/* Elastic energy of the present particles (J). */
double run_elastic(const struct run *run);

int physics_main(int argc, char **argv, int (*all_tests)(void));

#define PHYSICS_MAIN(tests)                                                                                  \
  static int all_tests(void)                                                                                 \
  {                                                                                                          \
    return cmocka_run_group_tests(tests, NULL, NULL);                                                        \
  }                                                                                                          \
  int main(int argc, char **argv)                                                                            \
  {                                                                                                          \
    return physics_main(argc, argv, all_tests);                                                              \
  }                                                                                                          \
  _Static_assert(sizeof(tests) > 0, "a test program has tests")

#endif
