/* See restart.h. A damaged checkpoint is named and the one before it is tried; a sound one that cannot be
 * used (another scene, another instruction set) is an error, since going further back would not help. */
#include "restart.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/version.h"
#include "io/checkpoint.h"
#include "io/file.h"
#include "io/scene_changes.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *or_nothing(const char *value)
{
  return value ? value : "(not there)";
}

/* Tells the changes key by key; those that matter need force. */
static int compare_scenes(const struct scene *scene, const struct checkpoint *from, const char *path,
                          bool force, struct error *err)
{
  struct scene_changes *changes = NULL;
  int code = scene_changes_create(&changes, from->resolved, scene->resolved, err);
  if (code) return code;
  const struct scene_change *worst = NULL;
  for (int k = 0; k < changes->count; k++) {
    const struct scene_change *c = &changes->items[k];
    log_info("changed since the checkpoint: %s: %s -> %s%s", c->path, or_nothing(c->before),
             or_nothing(c->after), c->safe ? "" : "  (the snow depends on it)");
    if (!c->safe && !worst) worst = c;
  }
  if (worst && !force)
    code = error_set(
        err, FIRN_EINPUT,
        "%s: %d key%s changed since %s was written that the snow depends on, the first is %s (%s -> "
        "%s); change back, or go on with --force",
        scene->path, changes->unsafe, changes->unsafe > 1 ? "s" : "", path, worst->path,
        or_nothing(worst->before), or_nothing(worst->after));
  scene_changes_destroy(&changes);
  return code;
}

/* One checkpoint, on all ranks. FIRN_EDAMAGED where the one before may do. */
static int try_checkpoint(struct sim **out, struct restart *restart, const struct comm *comm,
                          const struct scene *scene, const struct restart_options *options, const char *path,
                          struct error *err)
{
  struct checkpoint *from = NULL;
  int code = comm_agree(comm, checkpoint_open(&from, path, err), err);
  if (!code) code = comm_agree(comm, compare_scenes(scene, from, path, options->force, err), err);
  if (!code && strcmp(from->commit, FIRN_COMMIT) != 0)
    log_warn("%s was written by firn %s (%s) and this is %s (%s): the last bits may differ", path,
             from->version, from->commit, FIRN_VERSION, FIRN_COMMIT);
  if (!code) code = sim_create_from(out, comm, scene, options->isa, path, from, options->force, err);
  if (!code) {
    *restart = (struct restart){.restored = true,
                                .finished = from->finished != 0,
                                .step = from->step,
                                .frame = from->frame,
                                .generation = from->generation};
    snprintf(restart->run_id, sizeof restart->run_id, "%s", from->run_id);
    log_info("going on from %s: step %lld, %.9g s, frame %lld", path, (long long)from->step, from->time,
             (long long)from->frame);
  }
  checkpoint_destroy(&from);
  return code;
}

/* Rank 0's k-th path to all; NULL when there is none. */
static char *share_path(const struct comm *comm, const struct checkpoint_list *list, int k)
{
  char *path = comm->rank == 0 && k < list->count ? mem_strdup(list->paths[k]) : NULL;
  comm_broadcast_text(comm, &path);
  return path;
}

/* The newest intact checkpoint of the output folder; *out stays NULL where there is none. */
static int try_folder(struct sim **out, struct restart *restart, const struct comm *comm,
                      const struct scene *scene, const struct restart_options *options, struct error *err)
{
  struct checkpoint_list *list = NULL;
  char run_id[RUN_ID_SIZE];
  int64_t generation;
  int code = FIRN_OK;
  if (comm->rank == 0) {
    fence_look(scene->output, run_id, &generation);
    code = checkpoint_list_create(&list, scene->output, run_id, err);
    if (code) error_prefix(err, "cannot tell where the run in %s stands", scene->output);
  }
  code = comm_agree(comm, code, err);
  if (code) {
    checkpoint_list_destroy(&list);
    return code;
  }
  code = FIRN_EDAMAGED;
  char *path = share_path(comm, list, 0);
  for (int k = 0; path && code == FIRN_EDAMAGED;) {
    code = try_checkpoint(out, restart, comm, scene, options, path, err);
    if (code == FIRN_EDAMAGED) log_warn("skipping a checkpoint: %s", err->text);
    mem_free(path);
    path = share_path(comm, list, ++k);
  }
  mem_free(path);
  checkpoint_list_destroy(&list);
  return code == FIRN_EDAMAGED ? FIRN_OK : code;
}

/* Rank 0: days of work must not be lost because an option was forgotten. */
static int protect(const struct scene *scene, bool force, struct error *err)
{
  struct checkpoint_list *list;
  struct checkpoint *newest = NULL;
  int code = checkpoint_list_create(&list, scene->output, "", err);
  if (force) code = FIRN_OK;
  if (!code && !force && list->count > 0 && checkpoint_open(&newest, list->paths[0], NULL) == FIRN_OK &&
      !newest->finished)
    code = error_set(
        err, FIRN_EINPUT,
        "%s holds a run that is not finished (%s: step %lld, %.6g s): go on with --restart auto, or "
        "start over with --force",
        scene->output, list->paths[0], (long long)newest->step, newest->time);
  checkpoint_destroy(&newest);
  checkpoint_list_destroy(&list);
  return code;
}

/* Whether the output folder is the one of this run. */
static bool is_own_folder(const struct comm *comm, const struct scene *scene, const char *run_id)
{
  char owner[RUN_ID_SIZE];
  int64_t generation, own = 0;
  if (comm->rank == 0) {
    fence_look(scene->output, owner, &generation);
    own = strcmp(owner, run_id) == 0;
  }
  comm_sum_i64(comm, &own, 1);
  return own != 0;
}

/* The run that the output folder belongs to, or a new one. */
static void share_id(const struct comm *comm, const struct scene *scene, bool look, struct restart *restart)
{
  char found[RUN_ID_SIZE] = "", *text = found;
  if (comm->rank == 0) {
    if (look) fence_look(scene->output, found, &restart->generation);
    restart->continues = *found != '\0';
    if (!*found) fence_new_run(found);
  }
  comm_broadcast(comm, &restart->continues, sizeof restart->continues);
  comm_broadcast(comm, &restart->generation, sizeof restart->generation);
  comm_broadcast_text(comm, &text);
  memcpy(restart->run_id, text, RUN_ID_SIZE);
  if (comm->rank != 0) mem_free(text);
}

int restart_create(struct sim **out, struct restart *restart, const struct comm *comm,
                   const struct scene *scene, const struct restart_options *options, struct error *err)
{
  const bool automatic = options->from && strcmp(options->from, "auto") == 0;
  int code = FIRN_OK;
  *out = NULL;
  *restart = (struct restart){.frame = -1};
  if (automatic)
    code = try_folder(out, restart, comm, scene, options, err);
  else if (options->from)
    code = try_checkpoint(out, restart, comm, scene, options, options->from, err);
  if (code) return code;
  if (automatic && !*out) log_info("no checkpoint in %s: starting from the scene", scene->output);
  restart->continues = restart->restored && (automatic || is_own_folder(comm, scene, restart->run_id));
  if (restart->continues) return FIRN_OK;
  /* Where all checkpoints are damaged it is still the same run: its frames stay until they are written again.
   */
  share_id(comm, scene, automatic, restart);
  if (!automatic) code = comm_agree(comm, comm->rank == 0 ? protect(scene, options->force, err) : 0, err);
  if (!code && !*out) code = sim_create(out, comm, scene, options->isa, err);
  if (code) sim_destroy(out);
  return code;
}
