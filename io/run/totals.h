/* What a run has counted since its start. One table: the simulation counts in a struct of these members, and
 * checkpoints keep them under these names. */
#ifndef FIRN_IO_TOTALS_H
#define FIRN_IO_TOTALS_H

#include <stdint.h>

/* ROW(name, type, since): type is int64_t or double; since is FIRST for what every checkpoint has, LATER for
 * what files of earlier versions lack (it is 0 then). */
#define FIRN_TOTALS(ROW)                                                                                     \
  ROW(removed, int64_t, FIRST)         /* particles that left the domain, or were taken out */               \
  ROW(entered, int64_t, FIRST)         /* through the window, from sources, or from a program */             \
  ROW(halvings, int64_t, FIRST)        /* steps that were cut in two */                                      \
  ROW(iterations, int64_t, FIRST)      /* of the solver */                                                   \
  ROW(solves, int64_t, FIRST)          /* all of them, */                                                    \
  ROW(repeats, int64_t, LATER)         /* and those that repeated one */                                     \
  ROW(migrated, int64_t, FIRST)        /* particles that stepped into another rank's slab; not those that a  \
                                          cut passed over */                                                 \
  ROW(shared_contacts, int64_t, FIRST) /* nodes in contact in shared bricks, summed over steps */            \
  ROW(shared_plastic, int64_t, FIRST)  /* particles clamped in blocks that reach shared bricks, likewise */  \
  ROW(shared_changed, int64_t, LATER)  /* changes of phase of such particles */                              \
  ROW(shortened, int64_t, LATER)       /* steps that sound made shorter than time.step */                    \
  ROW(melted, int64_t, LATER)          /* particles, each time they did */                                   \
  ROW(frozen, int64_t, LATER)          /* likewise */                                                        \
  ROW(pass_limits, int64_t, LATER)     /* steps whose last allowed solve was not checked any more */         \
  ROW(melted_mass, double, LATER)      /* kg */                                                              \
  ROW(frozen_mass, double, LATER)      /* kg */                                                              \
  ROW(heat_in, double, LATER)          /* J, from bodies and air */                                          \
  ROW(body_friction, int64_t, LATER)   /* steps of free bodies whose friction had no solution */             \
  ROW(body_rounds, int64_t, LATER)     /* steps whose contact between bodies was left after the last round */

#define TOTALS_MEMBER(name, type, since) type name;
struct sim_totals {
  int64_t particles;  /* now */
  int64_t rebalanced; /* how often the cuts moved, in this start of the run */
  FIRN_TOTALS(TOTALS_MEMBER)
};
#undef TOTALS_MEMBER

#endif
