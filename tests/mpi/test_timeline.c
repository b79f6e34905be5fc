/* The timelines of all ranks in one file: every span of every thread with its rank, on one clock; a track
 * that is full says what it lost; a file that cannot be written is an error on all ranks. */
#include "base/memory.h"
#include "decomposition/comm.h"
#include "io/file.h"
#include "io/scene/yaml.h"
#include "io/timeline_file.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct comm world;

enum { THREADS = 3, SPANS = 20 };

static double number(const struct yaml_item *event, const char *key)
{
  const struct yaml_item *item = yaml_find(event, key);
  CHECK(item != NULL);
  return atof(item->text);
}

/* Thread t of rank r has SPANS + r + t spans of a millisecond each; the last begins after the others' first.
 */
static void fill(struct timeline *t, double zero)
{
  for (int thread = 0; thread < THREADS; thread++)
    for (int k = 0; k < SPANS + world.rank + thread; k++)
      timeline_add(t, thread, k % 2 ? "odd" : "even", zero + 1e-3 * k, zero + 1e-3 * (k + 1), k);
}

static void check_file(const char *path)
{
  struct error err = {0};
  char *text = NULL;
  size_t size;
  CHECK_TEXT(!file_read(path, 1 << 24, &text, &size, &err), err.text);
  struct yaml *yaml = NULL;
  CHECK_TEXT(!yaml_parse(&yaml, path, text, &err), err.text);
  const struct yaml_item *events = yaml_find(yaml->root, "traceEvents");
  int *counts = mem_alloc((size_t)world.size * THREADS, sizeof *counts);
  for (int k = 0; k < events->count; k++) {
    const struct yaml_item *event = events->child[k];
    if (strcmp(yaml_find(event, "ph")->text, "X") != 0) continue;
    const int rank = (int)number(event, "pid"), thread = (int)number(event, "tid");
    int *seen = &counts[rank * THREADS + thread];
    CHECK(strcmp(yaml_find(event, "name")->text, *seen % 2 ? "odd" : "even") == 0);
    if (*seen) CHECK(number(yaml_find(event, "args"), "value") == *seen);
    CHECK(fabs(number(event, "dur") - 1000.0) < 1.0);
    /* Ranks of one machine have one clock; what is left is the error of finding that out. */
    CHECK(fabs(number(event, "ts") - 1000.0 * *seen) < 2e5);
    ++*seen;
  }
  for (int r = 0; r < world.size; r++)
    for (int t = 0; t < THREADS; t++) CHECK(counts[r * THREADS + t] == SPANS + r + t);
  mem_free(counts);
  yaml_destroy(&yaml);
  mem_free(text);
}

static void test_file(void)
{
  struct error err = {0};
  char path[64] = "";
  snprintf(path, sizeof path, "test_timeline_%d_%d.json", world.size, world.rank ? 0 : (int)getpid());
  comm_broadcast(&world, path, sizeof path);
  struct timeline *t = world.traffic->timeline = timeline_create(THREADS);
  timeline_add(t, 0, "before", 1.0, 2.0, 0); /* is not on yet */
  timeline_add(NULL, 0, "nowhere", 1.0, 2.0, 0);
  t->on = true;
  const struct timeline_clock clock = timeline_clock_take(&world);
  fill(t, clock.zero + clock.offset); /* one moment on all ranks */
  CHECK_TEXT(!timeline_write(&world, &clock, path, &err), err.text);
  if (world.rank == 0) {
    check_file(path);
    unlink(path);
  }
  CHECK(timeline_write(&world, &clock, "no/such/folder/trace.json", &err) == FIRN_EIO);
  CHECK_TEXT(strstr(err.text, "cannot write the trace no/such/folder/trace.json") != NULL, err.text);
  timeline_destroy(&world.traffic->timeline);
}

/* Waiting is measured where it happens, and sent bytes are counted. On a busy machine ranks may come later
 * than the one that they should wait for: true if all waited. */
static bool wait_for_first(useconds_t pause)
{
  const struct traffic before = *world.traffic;
  double value[3] = {1.0, 2.0, (double)world.rank};
  if (world.rank == 0) usleep(pause);
  comm_max(&world, value, 3);
  CHECK(value[2] == world.size - 1);
  CHECK(world.traffic->messages[WAIT_ALL] == before.messages[WAIT_ALL] + 1);
  CHECK(world.traffic->bytes[WAIT_ALL] == before.bytes[WAIT_ALL] + 24);
  const double waited = world.traffic->waited[WAIT_ALL] - before.waited[WAIT_ALL];
  CHECK(waited >= 0.0);
  CHECK(world.traffic->messages[WAIT_NEIGHBOURS] == before.messages[WAIT_NEIGHBOURS]);
  double late = world.rank > 0 && waited <= 0.01;
  comm_max(&world, &late, 1);
  return late == 0.0;
}

static void test_traffic(void)
{
  useconds_t pause = 50000;
  while (!wait_for_first(pause) && pause < 20000000) pause *= 2;
  CHECK(pause < 20000000);
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  comm_create(&world, MPI_COMM_WORLD);
  test_file();
  test_traffic();
  comm_destroy(&world);
  return check_end();
}
