/* Cores that get no work, in one line: a user who pays for them must not have to look for it in a profile. */
#include "base/log.h"
#include "run/run.h"
#include "sim/settle.h"

#include <stdio.h>

/* Threads of all ranks, by what they lack. */
enum { THREADS, LACK_PARTICLES, LACK_BLOCKS, LACK_SNOW, COUNTS };

static void count_threads(const struct sim *sim, int64_t counts[COUNTS])
{
  const int threads = sim->crew.size, worth = sim_worthwhile(sim);
  const int busy = sim->mesh.grid->blocks.count < worth ? sim->mesh.grid->blocks.count : worth;
  counts[THREADS] = threads;
  if (sim->p->count == 0) {
    counts[LACK_SNOW] = threads;
    return;
  }
  counts[LACK_PARTICLES] = threads - worth;
  counts[LACK_BLOCKS] = worth - busy;
}

void run_log_idle(const struct run *run)
{
  int64_t n[COUNTS] = {0};
  char text[512];
  int used = 0;
  count_threads(run->sim, n);
  comm_sum_i64(&run->comm, n, COUNTS);
  const int64_t idle = n[LACK_PARTICLES] + n[LACK_BLOCKS] + n[LACK_SNOW];
  if (idle == 0 || run->sim->totals.particles == 0) return;
  if (n[LACK_PARTICLES] > 0)
    used += snprintf(text + used, sizeof text - (size_t)used,
                     "; %lld have too few particles (a thread needs %d: use fewer cores, or give --threads)",
                     (long long)n[LACK_PARTICLES], (int)run->comm.thread_least);
  if (n[LACK_BLOCKS] > 0)
    used += snprintf(
        text + used, sizeof text - (size_t)used,
        "; %lld have no blocks (a thread needs at least one of %d x %d x %d cells: use fewer threads, "
        "or smaller cells)",
        (long long)n[LACK_BLOCKS], BLOCK_X, BLOCK_Y, BLOCK_Z);
  if (n[LACK_SNOW] > 0)
    snprintf(text + used, sizeof text - (size_t)used, "; %lld are on ranks without snow (use fewer ranks)",
             (long long)n[LACK_SNOW]);
  log_info("%lld of %lld threads have no work%s", (long long)idle, (long long)n[THREADS], text);
}
