/* `run.json` beside the frames: what the run took and where it ran, with all that a plot of scaling needs.
 *
 * It is of one start: from the step where this start began to the one where it ended. Seconds are means over
 * the ranks with the least and the most of any, since a phase's mean over its most is what balance means. */
#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/timer.h"
#include "base/version.h"
#include "io/file.h"
#include "io/run/run_folder.h"
#include "run/launch.h"
#include "run/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { HOST = 64, SHOWN_HOSTS = 4096 };

struct rank_record {
  double seconds[PHASES];
  double frames, checkpoints;
  double threads_imbalance; /* mean over the steps */
  double memory;            /* memory: the most resident bytes */
  int64_t messages[WAITS], bytes[WAITS], plane_messages, plane_bytes;
  int64_t threads, cells;
  char host[HOST];
};

static struct rank_record record_of(const struct run *run)
{
  const struct traffic *now = run->comm.traffic, *before = &run->traffic_before;
  struct rank_record r = {.frames = run->framing,
                          .checkpoints = run->keeping,
                          .plane_messages = run->sim->mesh.halo->messages - run->planes_before[0],
                          .plane_bytes = run->sim->mesh.halo->bytes - run->planes_before[1],
                          .threads = run->comm.threads,
                          .cells = run->sim->mesh.grid->cell_count};
  struct rusage usage;
  r.threads_imbalance = run->threads.count ? run->threads.sum / (double)run->threads.count : 1.0;
  if (getrusage(RUSAGE_SELF, &usage) == 0) r.memory = 1024.0 * (double)usage.ru_maxrss;
  memcpy(r.seconds, run->seconds, sizeof r.seconds);
  for (int w = 0; w < WAITS; w++) {
    r.messages[w] = now->messages[w] - before->messages[w];
    r.bytes[w] = now->bytes[w] - before->bytes[w];
  }
  gethostname(r.host, HOST - 1);
  return r;
}

/* Mean, least and most over ranks of a double at an offset in the records. */
static void put_spread(struct json *json, const char *key, const struct rank_record *all, int ranks,
                       size_t offset)
{
  double sum = 0.0, least = INFINITY, most = -INFINITY;
  for (int r = 0; r < ranks; r++) {
    double value;
    memcpy(&value, (const char *)&all[r] + offset, sizeof value);
    sum += value;
    least = fmin(least, value);
    most = fmax(most, value);
  }
  json_open(json, key, '{');
  json_number(json, "mean", sum / ranks);
  json_number(json, "least", least);
  json_number(json, "most", most);
  json_close(json, '}');
}

/* The first "model name" that the system knows; "" where it says none. */
static void processor_name(char *out, size_t size)
{
  char line[256];
  FILE *file = fopen("/proc/cpuinfo", "re");
  *out = '\0';
  while (file && !*out && fgets(line, sizeof line, file)) {
    const char *colon = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
    if (colon) snprintf(out, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
  }
  if (file) fclose(file);
}

/* Hosts in the order of ranks, each once; ranks of a host follow each other. */
static int put_hosts(struct json *json, const struct rank_record *all, int ranks)
{
  int nodes = 0;
  json_open(json, "hosts", '[');
  for (int r = 0; r < ranks; r++) {
    if (r > 0 && strcmp(all[r].host, all[r - 1].host) == 0) continue;
    if (nodes++ < SHOWN_HOSTS) json_text(json, NULL, all[r].host);
  }
  json_close(json, ']');
  return nodes;
}

static void put_machine(struct json *json, const struct run *run, const struct rank_record *all)
{
  char text[256];
  json_open(json, "machine", '{');
  const int nodes = put_hosts(json, all, run->comm.size);
  json_integer(json, "nodes", nodes);
  processor_name(text, sizeof text);
  json_text(json, "processor", text);
  json_integer(json, "cores", sysconf(_SC_NPROCESSORS_ONLN));
  comm_library(text, sizeof text);
  json_text(json, "mpi", text);
  json_text(json, "binding", run->options.machine);
  json_text(json, "job", launch_job());
  json_close(json, '}');
}

static void put_time(struct json *json, const char *key, time_t when)
{
  char text[32];
  struct tm utc;
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&when, &utc));
  json_text(json, key, text);
}

static void put_work(struct json *json, const struct run *run, const struct rank_record *all)
{
  const struct sim *sim = run->sim;
  int64_t cells = 0;
  for (int r = 0; r < run->comm.size; r++) cells += all[r].cells;
  json_integer(json, "first_step", run->first_step);
  json_integer(json, "steps", run->all_steps.count);
  json_bool(json, "finished", !run->leaving);
  json_text(json, "stopped_by", run->leaving ? request_name(run->leaving) : NULL);
  json_number(json, "simulated", sim->clock.time - run->time_before);
  json_integer(json, "particles", sim->totals.particles);
  json_integer(json, "cells", cells);
  json_number(json, "particle_steps", run->all_particle_steps);
  json_integer(json, "iterations", run->all_iterations);
  json_integer(json, "products", sim->scene->beta > 0.0 ? run->all_iterations + 2 * run->all_steps.count : 0);
  json_number(json, "imbalance",
              run->all_steps.count ? run->all_steps.sum / (double)run->all_steps.count : 1.0);
  json_number(json, "worst_imbalance", run->all_steps.most);
  json_integer(json, "rebalanced", sim->totals.rebalanced);
  json_integer(json, "migrated", sim->totals.migrated);
}

static void put_seconds(struct json *json, const struct run *run, const struct rank_record *all)
{
  const int ranks = run->comm.size;
  const double now = timer_now();
  json_open(json, "seconds", '{');
  json_number(json, "all", now - run->options.born);
  json_number(json, "set_up", run->started - run->options.born);
  json_number(json, "stepping", now - run->started - run->framing - run->keeping);
  put_spread(json, "frames", all, ranks, offsetof(struct rank_record, frames));
  put_spread(json, "checkpoints", all, ranks, offsetof(struct rank_record, checkpoints));
  json_close(json, '}');
  json_open(json, "phases", '{');
  for (size_t k = 0; k < PHASES; k++)
    put_spread(json, phase_names[k], all, ranks, offsetof(struct rank_record, seconds) + k * sizeof(double));
  json_close(json, '}');
}

static void put_traffic(struct json *json, const struct rank_record *all, int ranks)
{
  int64_t messages = 0, bytes = 0, plane_messages = 0, plane_bytes = 0, most = 0;
  for (int r = 0; r < ranks; r++) {
    messages += all[r].messages[WAIT_NEIGHBOURS];
    bytes += all[r].bytes[WAIT_NEIGHBOURS];
    plane_messages += all[r].plane_messages;
    plane_bytes += all[r].plane_bytes;
    if (all[r].bytes[WAIT_NEIGHBOURS] > most) most = all[r].bytes[WAIT_NEIGHBOURS];
  }
  json_open(json, "traffic", '{');
  json_integer(json, "plane_messages", plane_messages);
  json_integer(json, "plane_bytes", plane_bytes);
  json_integer(json, "particle_messages", messages - plane_messages);
  json_integer(json, "particle_bytes", bytes - plane_bytes);
  json_integer(json, "most_bytes_of_a_rank", most);
  json_integer(json, "sums", all[0].messages[WAIT_ALL]);
  json_integer(json, "sum_bytes", all[0].bytes[WAIT_ALL]);
  json_close(json, '}');
}

static struct json compose(const struct run *run, const struct rank_record *all)
{
  struct json json = {0};
  char hash[32];
  const time_t now = time(NULL);
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)run->scene->hash);
  json_open(&json, NULL, '{');
  json_text(&json, "firn", FIRN_VERSION);
  json_text(&json, "commit", FIRN_COMMIT);
  json_text(&json, "kernels", run->sim->kernels->name);
  json_text(&json, "scene", run->scene->path);
  json_text(&json, "scene_hash", hash);
  put_time(&json, "started", now - (time_t)(timer_now() - run->options.born));
  put_time(&json, "ended", now);
  json_integer(&json, "start", run->generation);
  json_integer(&json, "ranks", run->comm.size);
  json_integer(&json, "slabs", run->sim->mesh.slabs->count);
  json_integer(&json, "threads", all[0].threads);
  put_machine(&json, run, all);
  put_work(&json, run, all);
  put_seconds(&json, run, all);
  put_traffic(&json, all, run->comm.size);
  put_spread(&json, "thread_imbalance", all, run->comm.size, offsetof(struct rank_record, threads_imbalance));
  put_spread(&json, "memory", all, run->comm.size, offsetof(struct rank_record, memory));
  json_close(&json, '}');
  return json;
}

void run_write_record(const struct run *run)
{
  const struct rank_record own = record_of(run);
  struct rank_record *all = run->comm.rank == 0 ? mem_alloc((size_t)run->comm.size, sizeof *all) : NULL;
  comm_gather(&run->comm, &own, sizeof own, all);
  if (!all) return;
  struct error err = {0};
  struct json json = compose(run, all);
  char *path = file_join(run->scene->output, "run.json");
  if (fence_check(run->fence, &err) ||
      run_folder_make_way(run->scene->output, run->generation, run->restart.run_id, "run.json", &err) ||
      file_write(path, run->generation, json.text, json.length, &err))
    log_warn("no record of the run: %s", err.text);
  mem_free(path);
  mem_free(json.text);
  mem_free(all);
}
