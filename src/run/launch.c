#include "run/launch.h"

#include "base/log.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int launch_add_override(struct launch_options *options, const char *assignment, struct error *err)
{
  if (options->override_count == LAUNCH_MAX_OVERRIDES)
    return error_set(err, FIRN_EINPUT, "more than %d --set options; write them into the scene",
                     LAUNCH_MAX_OVERRIDES);
  options->overrides[options->override_count++] = assignment;
  return FIRN_OK;
}

/* As text in double quotes, where only two characters need a backslash. */
int launch_set_output(struct launch_options *options, const char *folder, struct error *err)
{
  enum { LONGEST = 3000 }; /* of a text in a scene */
  if (!*folder || strlen(folder) > LONGEST)
    return error_set(err, FIRN_EINPUT, "--output needs a folder's path of 1 to %d bytes", LONGEST);
  char *at = options->output + sprintf(options->output, "output.folder=\"");
  for (const char *c = folder; *c; c++) {
    if ((unsigned char)*c < 32 || *c == 127)
      return error_set(err, FIRN_EINPUT,
                       "--output: the folder's path holds a line break or another control character");
    if (*c == '"' || *c == '\\') *at++ = '\\';
    *at++ = *c;
  }
  memcpy(at, "\"", 2);
  return launch_add_override(options, options->output, err);
}

int launch_check_isa(const struct comm *comm, enum isa wanted, struct error *err)
{
  return comm_agree(comm, isa_check(wanted, isa_detect(), err), err);
}

int launch_scene(const struct comm *comm, const struct launch_options *options, struct scene **scene,
                 struct error *err)
{
  char *text = NULL;
  int code = comm->rank == 0 ? scene_file_text(&text, options->scene_path, err) : FIRN_OK;
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

int launch_threads(int asked)
{
  const char *variable = getenv("OMP_NUM_THREADS");
  if (asked > 0 || !variable || !*variable) return asked;
  char *end;
  const long first = strtol(variable, &end, 10);
  const int count = (*end && *end != ',') || first < 1 || first > MAX_THREADS ? 0 : (int)first;
  if (!count)
    log_warn("OMP_NUM_THREADS is \"%s\", not a number from 1 to %d: ignored", variable, MAX_THREADS);
  else
    log_info("OMP_NUM_THREADS asks for %d thread%s per rank", count, count == 1 ? "" : "s");
  return count;
}

static const char *first_set(const char *const *names)
{
  const char *value = NULL;
  for (; *names && !(value && *value); names++) value = getenv(*names);
  return value && *value ? value : NULL;
}

const char *launch_job(void)
{
  static const char *const names[] = {"SLURM_JOB_ID", "PBS_JOBID", "FLUX_ENCLOSING_ID", "FLUX_JOB_ID", NULL};
  return first_set(names);
}

const char *launch_job_end(void)
{
  static const char *const names[] = {"FIRN_JOB_END", "SLURM_JOB_END_TIME", NULL};
  return first_set(names);
}

bool launch_note(const struct comm *comm, const char *line)
{
  const char *path = comm->rank == 0 ? getenv("FIRN_NOTE") : NULL;
  char written = 0;
  if (path && *path) {
    FILE *file = fopen(path, "we");
    written = file && fprintf(file, "%s\n", line) > 0;
    if (file && fclose(file) != 0) written = 0;
    if (!written) log_warn("cannot write %s, the file that FIRN_NOTE names: %s", path, strerror(errno));
  }
  comm_broadcast(comm, &written, 1);
  return written;
}

int launch_fail(const struct comm *comm, const struct error *err)
{
  if (!comm || comm->rank == 0) fprintf(stderr, "firn: %s\n", err->text);
  return EXIT_FAILURE;
}
