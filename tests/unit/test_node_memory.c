/* How much memory there is: of all that may limit it the least, in control groups of either version. */
#include "decomposition/node_memory.h"
#include "io/file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char folder[] = "test_node_memory_XXXXXX";

static int make_folder(void **state)
{
  (void)state;
  return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
  (void)state;
  char command[64];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

/* A file below the folder, with the folders that it lies in. */
static void put(const char *name, const char *text)
{
  char path[256], parent[256];
  struct error err = {0};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  snprintf(parent, sizeof parent, "%s", path);
  *strrchr(parent, '/') = '\0';
  if (file_make_folder(parent, &err) || file_write(path, 0, text, strlen(text), &err))
    fail_msg("%s", err.text);
}

static struct node_memory limited(const char *groups)
{
  char path[256];
  struct node_memory m = {1e12, INFINITY, "this node has"};
  put("groups", groups);
  snprintf(path, sizeof path, "%s/groups", folder);
  node_memory_limit(&m, path, folder);
  return m;
}

static void groups(void **state)
{
  (void)state;
  put("job/step/memory.max", "max\n");
  put("job/memory.max", "4096000\n");
  put("memory.max", "8192000\n");
  put("memory/slurm/job/memory.limit_in_bytes", "3000000\n");
  put("memory/slurm/memory.limit_in_bytes", "9223372036854771712\n"); /* no limit, as version 1 writes it */
  struct node_memory m = limited("0::/job/step\n");
  assert_true(m.node == 4096000.0);
  assert_string_equal(m.by, "its control group allows");
  assert_true(limited("0::/elsewhere\n").node == 8192000.0); /* in a container the path leads nowhere */
  assert_true(limited("7:pids:/job\n4:memory:/slurm/job\n").node == 3000000.0);
  assert_true(limited("4:memory:/slurm\n0::/\n").node == 8192000.0);
  m = limited("7:pids:/job\n\nnonsense\n");
  assert_true(m.node == 1e12);
  assert_string_equal(m.by, "this node has");
  node_memory_limit(&m, "no such file", folder);
  assert_true(m.node == 1e12);
}

static void slurm(void **state)
{
  (void)state;
  struct node_memory m;
  unsetenv("SLURM_MEM_PER_NODE");
  node_memory_find(&m);
  const double all = m.node;
  assert_true(all > 64e6 && all < 1e15);
  setenv("SLURM_MEM_PER_NODE", "16", 1);
  node_memory_find(&m);
  assert_true(m.node == 16.0 * 1048576.0);
  assert_string_equal(m.by, "Slurm gives");
  static const char *const others[] = {"0", "", "999999999999", "all"};
  for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
    setenv("SLURM_MEM_PER_NODE", others[k], 1);
    node_memory_find(&m);
    assert_true(m.node == all);
  }
  unsetenv("SLURM_MEM_PER_NODE");
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(groups), cmocka_unit_test(slurm)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
