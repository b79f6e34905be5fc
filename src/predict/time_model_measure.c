/* The speed of the work, measured on steps of the simulation itself, and kept in a file for other days. */
#include "base/json.h"
#include "base/memory.h"
#include "base/timer.h"
#include "base/version.h"
#include "io/file.h"
#include "io/run/run_json.h"
#include "predict/time_model.h"
#include "sim/cost.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Units of a thread's work in a step and in a product, and of all. */
static void count_units(const struct sim *sim, double *step, double *product, double *whole)
{
  const struct grid *g = sim->mesh.grid;
  const struct cost_count count = {sim->p->count, g->cell_count, g->blocks.count, g->brick_count};
  *whole = (double)cost_units(&step_cost, &count);
  *step = *whole / g->threads;
  *product = (double)cost_units(&product_cost, &count) / g->threads;
}

struct sums {
  double seconds[3], units[3]; /* parallel, serial, product */
  int64_t steps, iterations;
};

static void add_step(struct sums *sums, const struct sim *sim, const double units[3])
{
  const double *s = sim->report.seconds;
  const double products =
      sim->scene->beta > 0.0 ? sim->report.iterations + (2 + sim->scene->pipelined) * sim->report.passes : 0;
  sums->seconds[0] += s[PHASE_P2G] + s[PHASE_G2P] + s[PHASE_ORDER];
  sums->seconds[1] += s[PHASE_NODES] + s[PHASE_BUILD] + s[PHASE_MIGRATE];
  sums->seconds[2] += s[PHASE_SOLVE];
  sums->units[0] += units[0];
  sums->units[1] += units[2];
  sums->units[2] += products * units[1];
  sums->steps++;
  sums->iterations += sim->report.iterations;
}

int model_measure(struct sim *sim, int steps, double seconds, struct model_speed *out, struct error *err)
{
  struct sums sums = {0};
  const double start = timer_now();
  int code = FIRN_OK;
  const double end = scene_end_time(sim->scene);
  for (double passed = 0.0; !code && (sums.steps < steps || (passed < seconds && sim->clock.time < end));) {
    double units[3] = {0};
    if (sim->p->count) count_units(sim, &units[0], &units[1], &units[2]);
    code = sim_step(sim, err);
    if (!code) add_step(&sums, sim, units);
    if (sums.steps == 1 && steps > 1) sums = (struct sums){.steps = 1}; /* buffers grow in the first */
    passed = timer_now() - start;
    comm_max(&sim->comm, &passed, 1);
  }
  if (code) return code;
  const double mine[6] = {sums.seconds[0], sums.seconds[1], sums.seconds[2],
                          sums.units[0],   sums.units[1],   sums.units[2]};
  double(*all)[6] = sim->comm.rank == 0 ? mem_alloc((size_t)sim->comm.size, sizeof *all) : NULL,
  total[6] = {0.0};
  comm_gather(&sim->comm, mine, sizeof mine, all);
  for (int r = 0; r < sim->comm.size && all; r++)
    for (int k = 0; k < 6; k++) total[k] += all[r][k];
  comm_broadcast(&sim->comm, total, sizeof total);
  mem_free(all);
  for (int k = 0; k < 3; k++) total[k] = total[3 + k] > 0.0 ? total[k] / total[3 + k] : 0.0;
  *out = (struct model_speed){
      .parallel = total[0],
      .serial = total[1],
      .product = total[2],
      .iterations = sums.steps > 1 ? (double)sums.iterations / (double)(sums.steps - (steps > 1)) : 0.0,
      .ranks = sim->comm.size,
      .threads = sim->comm.threads};
  return FIRN_OK;
}

/* --- the file
 * ---------------------------------------------------------------------------------------------------- */

static void put_curve(struct json *json, const char *name, const struct curve *c)
{
  json_open(json, name, '{');
  for (int k = 0; k < c->count; k++) {
    char key[32];
    snprintf(key, sizeof key, "bytes_%.0f", c->bytes[k]);
    json_number(json, key, c->seconds[k]);
  }
  json_close(json, '}');
}

static struct curve take_curve(const struct yaml *yaml, const char *name)
{
  const struct yaml_item *network = yaml_find(yaml->root, "network"),
                         *map = network ? yaml_find(network, name) : NULL;
  struct curve c = {0};
  for (int k = 0; map && k < map->count && c.count < NETWORK_SIZES; k++) {
    const struct yaml_item *item = map->child[k];
    char path[128];
    snprintf(path, sizeof path, "network.%s.%s", name, item->key);
    if (sscanf(item->key, "bytes_%lf", &c.bytes[c.count]) == 1)
      c.seconds[c.count++] = record_number(yaml, path);
  }
  return c;
}

int model_save(const char *path, const struct model_speed *speed, const struct network *network,
               struct error *err)
{
  struct json json = {0};
  json_open(&json, NULL, '{');
  json_text(&json, "firn", FIRN_VERSION);
  json_text(&json, "commit", FIRN_COMMIT);
  json_text(&json, "machine", speed->machine);
  json_open(&json, "speed", '{');
  json_number(&json, "parallel", speed->parallel);
  json_number(&json, "serial", speed->serial);
  json_number(&json, "product", speed->product);
  json_number(&json, "iterations", speed->iterations);
  json_integer(&json, "ranks", speed->ranks);
  json_integer(&json, "threads", speed->threads);
  json_close(&json, '}');
  json_open(&json, "network", '{');
  json_integer(&json, "ranks", network->ranks);
  json_number(&json, "latency", network->latency);
  put_curve(&json, "exchange", &network->exchange);
  put_curve(&json, "sum", &network->sum);
  json_close(&json, '}');
  json_close(&json, '}');
  struct model_speed old_speed;
  struct network old_network;
  int code = file_check_replaceable(path, model_load(path, &old_speed, &old_network, NULL) == FIRN_OK,
                                    "a machine that was saved", err);
  if (!code) code = file_write(path, 0, json.text, json.length, err);
  mem_free(json.text);
  return code;
}

static int whole_number(const struct yaml *yaml, const char *path)
{
  const double value = record_number(yaml, path);
  return value >= 0.0 && value < 1e9 ? (int)value : 0;
}

int model_load(const char *path, struct model_speed *speed, struct network *network, struct error *err)
{
  char *text = NULL;
  size_t size;
  struct yaml *yaml = NULL;
  int code = file_read(path, 1 << 20, &text, &size, err);
  if (!code) code = yaml_parse(&yaml, path, text, err);
  if (!code) {
    *speed = (struct model_speed){.parallel = record_number(yaml, "speed.parallel"),
                                  .serial = record_number(yaml, "speed.serial"),
                                  .product = record_number(yaml, "speed.product"),
                                  .iterations = record_number(yaml, "speed.iterations"),
                                  .ranks = whole_number(yaml, "speed.ranks"),
                                  .threads = whole_number(yaml, "speed.threads")};
    *network = (struct network){.ranks = whole_number(yaml, "network.ranks"),
                                .latency = record_number(yaml, "network.latency"),
                                .exchange = take_curve(yaml, "exchange"),
                                .sum = take_curve(yaml, "sum")};
    snprintf(speed->machine, sizeof speed->machine, "%s", record_text(yaml, "machine"));
    snprintf(network->name, sizeof network->name, "measured");
    if (!(speed->parallel > 0.0) || !(speed->product >= 0.0) ||
        (network->ranks > 1 && !(curve_at(&network->sum, 0.0) > 0.0)))
      code = error_set(err, FIRN_EINPUT, "%s: not what firn model --save writes", path);
  }
  yaml_destroy(&yaml);
  mem_free(text);
  return code;
}
