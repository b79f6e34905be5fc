/* How long a step takes on so many ranks and threads of a machine, before anybody waits for it in a queue.
 *
 * The work is counted (sim/cost.h) from the layers of the scene (profile.h), cut as the program cuts them;
 * its speed is measured on a few steps. Messages and bytes are counted too, and what they take is measured or
 * known for the network. A step takes as long as the busiest rank's work, its exchanges as far as no work
 * hides them, and the sums over all ranks. docs/model.md has the formulas and how well they hold. */
#ifndef FIRN_PREDICT_TIME_MODEL_H
#define FIRN_PREDICT_TIME_MODEL_H

#include "base/error.h"
#include "decomposition/network.h"
#include "predict/profile.h"

#include <stdbool.h>

/* Seconds for a unit of counted work, on one thread while the node is as busy as it was when measured. */
struct model_speed {
  double parallel;    /* P2G, G2P and order: threads share it */
  double serial;      /* tiles, contact, migration: one thread does most of it */
  double product;     /* a product of the solve, with its vectors: threads share it */
  double iterations;  /* of the solver a step, when measured */
  int ranks, threads; /* of the node, when measured */
  char machine[128];  /* in words */
};

/* Iterations per step of an ordinary scene, for a first guess where none were counted. */
enum { MODEL_ITERATIONS = 10 };

/* A kind of network by its name: the line rate less a tenth, and a usual latency. Assumed, not measured:
 * `firn model` on two nodes of the real one measures it. */
struct model_link {
  const char *name, *words;
  double latency;   /* s, a small message between two nodes, MPI to MPI */
  double bandwidth; /* bytes/s that one rank gets */
};
extern const struct model_link model_links[];
extern const int model_link_count;

/* NULL for a name that is not in the list. */
const struct model_link *model_find_link(const char *name);

/* The value of a command's --network; the error names the command and lists the networks. */
int model_read_link(const char *command, const char *name, const struct model_link **out, struct error *err);

struct model_case {
  int ranks, threads, per_node; /* per_node: ranks */
  double iterations;            /* of the solver a step; explicit: not used */
  bool pipelined;               /* the solve hides its sums behind its products */
  bool jacobi;                  /* it has a diagonal, two sums more a step */
  bool gap;                     /* P2G has a field for contact by the gap */
  bool fused;                   /* one field to exchange in P2G, not two (kernels.h) */
  bool implicit;
};

/* What the scene and the measured speed say about a case; ranks are the caller's. */
struct model_case model_case_of(const struct scene *scene, const struct model_speed *speed);

struct model_time {
  int slabs;        /* ranks that have one */
  int busy_threads; /* of the busiest rank: those that have blocks */
  double step;      /* s */
  double work;      /* s of the busiest rank's work, of which `serial` on one thread */
  double serial;
  double exchange;  /* s that exchanges take which no work hides */
  double sums;      /* s of sums that no work hides */
  double ideal;     /* s of all work shared out evenly over all threads, without waiting */
  double bytes;     /* to neighbours a step, of the rank that sends the most */
  double messages;  /* likewise */
  double sum_count; /* of sums over all ranks */
  double memory;    /* bytes of the rank that needs the most */
};

/* The cuts that the program takes for so many ranks and products a step (sim/balance.c). */
struct slabs *model_cuts(const struct profile *profile, int ranks, double products);

/* Bytes that rank r sends to its neighbours for one field. */
double model_sent(const struct profile *profile, const struct slabs *slabs, int r);

/* link is NULL where the network was measured on as many ranks as the case has, or on some ranks of it. */
void model_predict(const struct profile *profile, const struct model_speed *speed,
                   const struct network *network, const struct model_link *link, const struct model_case *c,
                   struct model_time *out);

/* Collective: the speed of this simulation's work, from some steps, which it takes: at least `steps`, and for
 * `seconds` unless the scene ends before. Returns the iterations a step as well. */
int model_measure(struct sim *sim, int steps, double seconds, struct model_speed *out, struct error *err);

/* What was measured, as JSON; reading back takes only what this program wrote. */
int model_save(const char *path, const struct model_speed *speed, const struct network *network,
               struct error *err);
int model_load(const char *path, struct model_speed *speed, struct network *network, struct error *err);

#endif
