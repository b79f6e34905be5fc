#include "launch.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

int launch_add_override(struct launch_options *options, const char *assignment, struct error *err)
{
  if (options->override_count == LAUNCH_MAX_OVERRIDES)
    return error_set(err, FIRN_EINPUT, "more than %d --set options; write them into the scene",
                     LAUNCH_MAX_OVERRIDES);
  options->overrides[options->override_count++] = assignment;
  return FIRN_OK;
}

int launch_scene(const struct comm *comm, const struct launch_options *options, struct scene **scene,
                 struct error *err)
{
  char *text = NULL;
  int code = comm->rank == 0 ? scene_read_text(&text, options->scene_path, err) : FIRN_OK;
  code = comm_agree(comm, code, err);
  if (code) return code;
  comm_broadcast_text(comm, &text);
  code = scene_parse(scene, options->scene_path, text, options->overrides, options->override_count, err);
  mem_free(text);
  code = comm_agree(comm, code, err);
  if (!code) code = scene_load(*scene, comm, err);
  if (code) scene_destroy(scene);
  return code;
}

int launch_fail(const struct comm *comm, const struct error *err)
{
  if (comm->rank == 0) fprintf(stderr, "firn: %s\n", err->text);
  return EXIT_FAILURE;
}
