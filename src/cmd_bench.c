/* `firn bench`: the speed of the inner loops, in memory, without files. */
#include "base/log.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/timer.h"
#include "commands.h"
#include "launch.h"
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cmd_bench(int argc, char **argv)
{
  (void)argc;
  (void)argv;
  return EXIT_SUCCESS;
}
