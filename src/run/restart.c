/* See restart.h. A damaged checkpoint is named and the one before it is tried; a sound one that cannot be
 * used (another scene, another instruction set) is an error, since going further back would not help. */
#include "run/restart.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/version.h"
#include "io/file.h"
#include "io/particles/checkpoint.h"
#include "io/particles/frame.h"
#include "io/particles/hdf5.h"
#include "io/run/run_folder.h"
#include "io/run/seal.h"
#include "io/scene/scene_changes.h"
#include "io/scene/scene_files.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_automatic(const struct restart_options *options)
{
  return options->from && strcmp(options->from, "auto") == 0;
}

static const char *or_nothing(const char *value)
{
  return value ? value : "(not there)";
}

/* What a scene was when a file was written. */
struct origin {
  const char *path, *resolved, *files;
};

static void tell_file(const char *name, void *context)
{
  char *first = context;
  log_info("changed meanwhile: what the file %s holds  (the snow depends on it)", name);
  if (!*first) snprintf(first, 256, "%s", name);
}

/* Files are compared by what they hold; a changed one needs force. */
static int compare_files(const struct scene *scene, const struct origin *from, bool force, struct error *err)
{
  char first[256] = "";
  if (scene->files && !from->files)
    log_warn("%s does not say what the scene's files held: a change in them is not noticed", from->path);
  const int count = scene_compare_files(from->files, scene->files, tell_file, first);
  if (count == 0 || force) return FIRN_OK;
  return error_set(
      err, FIRN_EINPUT,
      "%s: %d file%s changed since %s was written, the first is %s; bring back what it held, or go on with "
      "--force",
      scene->path, count, count > 1 ? "s" : "", from->path, first);
}

/* How V0 of an item of snow is found: a checkpoint has it already, while frames depend on it. */
static bool is_volume(const char *path)
{
  const size_t length = strlen(path), end = sizeof ".volume" - 1;
  return strncmp(path, "snow.", 5) == 0 && length > end && strcmp(path + length - end, ".volume") == 0;
}

/* Tells the changes key by key; those that matter need force. */
static int compare_scenes(const struct scene *scene, const struct origin *from, bool is_checkpoint,
                          bool force, struct error *err)
{
  struct scene_changes *changes = NULL;
  int code = scene_changes_create(&changes, from->resolved, scene->resolved, err), unsafe = 0;
  if (code) return code;
  const struct scene_change *worst = NULL;
  for (int k = 0; k < changes->count; k++) {
    const struct scene_change *c = &changes->items[k];
    const bool safe = c->safe || (is_checkpoint && is_volume(c->path));
    log_info("changed meanwhile: %s: %s -> %s%s", c->path, or_nothing(c->before), or_nothing(c->after),
             safe ? "" : "  (the snow depends on it)");
    if (!safe && !worst) worst = c;
    unsafe += !safe;
  }
  if (worst && !force)
    code = error_set(
        err, FIRN_EINPUT,
        "%s: %d key%s changed since %s was written that the snow depends on, the first is %s (%s -> "
        "%s); change back, or continue with --force",
        scene->path, unsafe, unsafe > 1 ? "s" : "", from->path, worst->path, or_nothing(worst->before),
        or_nothing(worst->after));
  scene_changes_destroy(&changes);
  return code ? code : compare_files(scene, from, force, err);
}

/* Rank 0: to go back to an earlier state of the folder's run loses what came after, so it takes force. */
static int forbid_going_back(const struct scene *scene, const struct checkpoint *from, const char *path,
                             struct error *err)
{
  struct checkpoint_list *list;
  struct checkpoint *newest = NULL;
  char owner[RUN_ID_SIZE];
  int64_t generation;
  fence_look(scene->output, owner, &generation);
  if (strcmp(owner, from->run_id) != 0) return FIRN_OK;
  int code = checkpoint_list_create(&list, scene->output, owner, false, err);
  if (!code && list->count > 0) checkpoint_open(&newest, list->paths[0], NULL);
  if (newest && newest->step > from->step)
    code = error_set(err, FIRN_EINPUT,
                     "%s is not the newest checkpoint of the run in %s (%s is, at step %lld): continue it "
                     "with --restart auto, choose another folder with --output, or go back with --force",
                     path, scene->output, list->paths[0], (long long)newest->step);
  checkpoint_destroy(&newest);
  checkpoint_list_destroy(&list);
  return code;
}

/* The last state of a run that ended between two frames: a longer run does not pass through it. */
static int check_way_on(const struct scene *scene, const struct checkpoint *from, const char *path,
                        bool force, struct error *err)
{
  const bool beside = from->finished && from->on_frame &&
                      from->time != (double)from->frame / scene->frame_rate &&
                      from->time < scene_end_time(scene);
  if (!beside || force) return FIRN_OK;
  return error_set(
      err, FIRN_EDAMAGED,
      "%s is the end of a run to %.9g s, between two frames, where its last step was cut short: "
      "to extend the run, continue from the checkpoint before it (--restart auto), or from here with --force",
      path, from->time);
}

/* One checkpoint, on all ranks. FIRN_EDAMAGED if the one before may do. */
static int try_checkpoint(struct sim **out, struct restart *restart, const struct comm *comm,
                          const struct scene *scene, const struct restart_options *options, const char *path,
                          struct error *err)
{
  struct checkpoint *from = NULL;
  /* A seal vouches for what was written, not for who wrote it. */
  int code = comm_agree(comm, comm->rank == 0 && seal_is_there(path) ? hdf5_trial(path, err) : FIRN_OK, err);
  if (!code) code = comm_agree(comm, checkpoint_open(&from, path, err), err);
  if (!code) {
    const struct origin origin = {path, from->resolved, from->files};
    code = compare_scenes(scene, &origin, true, options->force, err);
    if (!code && !options->force && !options->detached && !is_automatic(options) && comm->rank == 0)
      code = forbid_going_back(scene, from, path, err);
    code = comm_agree(comm, code, err);
  }
  if (!code) code = check_way_on(scene, from, path, options->force, err);
  if (!code && strcmp(from->commit, FIRN_COMMIT) != 0)
    log_warn("%s was written by firn %s (%s) and this is %s (%s): the last bits may differ", path,
             from->version, from->commit, FIRN_VERSION, FIRN_COMMIT);
  if (!code) code = sim_create_from(out, comm, scene, options->isa, path, from, options->force, err);
  if (!code) {
    *restart = (struct restart){.restored = true,
                                .seen = -1,
                                .finished = from->finished != 0,
                                .step = from->step,
                                .frame = (*out)->clock.frame,
                                .generation = from->generation,
                                .history_rows = from->history_rows,
                                .probe_rows = from->probe_rows};
    snprintf(restart->run_id, sizeof restart->run_id, "%s", from->run_id);
    log_info("continuing from %s: step %lld, %.9g s, frame %lld", path, (long long)from->step, from->time,
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

/* Rank 0: the checkpoints that the run of this folder may continue from. That one is of another format
 * version, or that none is left and one could not be read, is an error: the work must not begin again because
 * of it.
 */
static int list_checkpoints(struct checkpoint_list **list, const struct scene *scene, bool force,
                            struct error *err)
{
  char run_id[RUN_ID_SIZE];
  int64_t generation;
  fence_look(scene->output, run_id, &generation);
  int code = checkpoint_list_create(list, scene->output, run_id, true, err);
  const struct error *trouble = &(*list)->trouble;
  if (!code &&
      ((trouble->code == FIRN_EFORMAT && !force) || (trouble->code == FIRN_EIO && (*list)->count == 0))) {
    code = trouble->code;
    *err = *trouble;
  }
  if (code) return error_prefix(err, "cannot read the state of the run in %s", scene->output);
  if ((*list)->count == 0 && (*list)->strangers > 0 && !force)
    code = error_set(err, FIRN_EINPUT,
                     "%s holds checkpoints of another run only: continue one of them with --restart FILE and "
                     "another --output, or start over with --force",
                     scene->output);
  return code;
}

/* The newest intact checkpoint of the output folder; *out stays NULL if there is none. */
static int try_folder(struct sim **out, struct restart *restart, const struct comm *comm,
                      const struct scene *scene, const struct restart_options *options, struct error *err)
{
  struct checkpoint_list *list = NULL;
  int code = comm->rank == 0 ? list_checkpoints(&list, scene, options->force, err) : FIRN_OK;
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

/* --- what is there already --- */

/* Rank 0: one sentence on a run that is in the folder and would be lost. */
static int refuse(const char *output, const struct checkpoint_list *list, const struct run_folder *found,
                  struct error *err)
{
  static const char ways[] = "replace it with --force, or choose another folder with --output";
  struct checkpoint *newest = NULL;
  if (list->count > 0) checkpoint_open(&newest, list->paths[0], NULL);
  const struct error *trouble = &list->trouble;
  if (newest && !newest->finished)
    error_set(err, FIRN_EINPUT,
              "%s holds a run that is not finished (%s: step %lld, %.6g s): continue it with --restart auto, "
              "start over with --force, or choose another folder with --output",
              output, list->paths[0], (long long)newest->step, newest->time);
  else if (newest)
    error_set(
        err, FIRN_EINPUT,
        "%s holds a finished run (%d frames; %s: step %lld, %.6g s): replace it with --force, choose another "
        "folder with --output, or make it longer with --restart auto",
        output, found->frames, list->paths[0], (long long)newest->step, newest->time);
  else if (trouble->code == FIRN_EFORMAT)
    error_set(err, FIRN_EINPUT, "%s holds a run of another Firn: %s; continue with that version, %s", output,
              trouble->text, ways);
  else if (list->left_out > 0)
    error_set(err, FIRN_EINPUT,
              "%s holds a run whose checkpoints cannot be used: %s; compute it again with --restart "
              "auto, %s",
              output, trouble->text, ways);
  else if (found->foreign)
    error_set(err, FIRN_EINPUT,
              "%s was not written by Firn: choose another folder with --output, or set it aside with --force",
              found->foreign);
  else if (found->frames || found->history || found->last_good)
    error_set(err, FIRN_EINPUT,
              "%s holds a run (%d frames, no checkpoint): continue it with --restart auto, %s", output,
              found->frames, ways);
  else
    error_set(err, FIRN_EINPUT, "%s/%s holds a run that was set aside: move it elsewhere, %s", output,
              found->replaced, ways);
  checkpoint_destroy(&newest);
  return FIRN_EINPUT;
}

/* Rank 0: days of work must not be lost because an option was forgotten. */
static int protect(const struct scene *scene, struct error *err)
{
  struct checkpoint_list *list;
  struct run_folder found;
  char series[sizeof scene->name + 8];
  snprintf(series, sizeof series, "%s.xdmf", scene->name);
  int code = checkpoint_list_create(&list, scene->output, "", false, err);
  run_folder_look(&found, scene->output, series);
  if (!code && (list->count > 0 || list->left_out > 0 || found.frames || found.last_good || found.history ||
                found.foreign || *found.replaced))
    code = refuse(scene->output, list, &found, err);
  run_folder_free(&found);
  checkpoint_list_destroy(&list);
  return code;
}

/* Rank 0: frames without a checkpoint to continue from. Whether they are of this scene, as far as they tell.
 */
static int compare_frames(const struct scene *scene, bool force, bool *other, struct error *err)
{
  struct file_list *names = NULL;
  char *folder = file_join(scene->output, "frames");
  int code = FIRN_OK;
  bool compared = false;
  *other = false;
  if (file_is_folder(folder)) code = file_list_create(&names, folder, "frame_", ".h5", err);
  for (int k = names ? names->count - 1 : -1; k >= 0 && !code && !compared; k--) {
    struct frame_origin origin;
    char *path = file_join(folder, names->names[k]);
    if (frame_number(names->names[k]) >= 0 && frame_read_origin(&origin, path, NULL) == FIRN_OK) {
      const struct origin from = {path, origin.resolved, origin.files};
      struct error local;
      compared = true;
      code = compare_scenes(scene, &from, false, false, &local);
      *other = code != FIRN_OK;
      if (force) code = FIRN_OK;
      if (code) *err = local;
      frame_origin_free(&origin);
    }
    mem_free(path);
  }
  file_list_destroy(&names);
  mem_free(folder);
  return code;
}

/* --- how it begins --- */

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

/* Rank 0's answers to all. */
static void share(const struct comm *comm, struct restart *restart)
{
  struct restart answer = *restart;
  comm_broadcast(comm, &answer, sizeof answer);
  *restart = answer;
}

/* Rank 0: whether the last frame is there, of exactly this scene and this Firn. */
static bool has_last_frame(const struct scene *scene)
{
  struct frame_origin origin;
  const int64_t last = scene_last_frame(scene);
  char *path = frame_path(scene->output, last);
  const bool found = frame_read_origin(&origin, path, NULL) == FIRN_OK;
  const bool same = found && origin.info.index == last && origin.info.time >= scene->end * (1.0 - 1e-9) &&
                    origin.scene_hash == scene->hash && strcmp(origin.commit, FIRN_COMMIT) == 0;
  if (found) frame_origin_free(&origin);
  mem_free(path);
  return same;
}

/* Rank 0: no checkpoint to continue from with --restart auto. It is still the run of the folder if its frames
 * are of this scene; they stay until they are written again. A run that was too short for a checkpoint may be
 * complete. */
static int begin_again(const struct scene *scene, bool force, struct restart *restart, struct error *err)
{
  bool other;
  const int code = compare_frames(scene, force, &other, err);
  if (code) return code;
  char *checkpoints = checkpoint_folder(scene->output);
  fence_look(scene->output, restart->run_id, &restart->generation);
  restart->replaces = force;
  restart->continues = !other;
  restart->complete = !other && *restart->run_id && !file_is_folder(checkpoints) && has_last_frame(scene);
  if (other || !*restart->run_id) fence_new_run(restart->run_id);
  mem_free(checkpoints);
  return FIRN_OK;
}

/* Rank 0: a run of its own, in a folder that must be free or is taken by force. */
static int begin_anew(const struct scene *scene, bool force, struct restart *restart, struct error *err)
{
  char owner[RUN_ID_SIZE];
  int64_t generation;
  fence_look(scene->output, owner, &generation);
  fence_new_run(restart->run_id);
  restart->replaces = force;
  restart->seen = force ? -1 : generation;
  if (generation > restart->generation) restart->generation = generation;
  return force ? FIRN_OK : protect(scene, err);
}

static int begin(const struct comm *comm, const struct scene *scene, const struct restart_options *options,
                 struct restart *restart, struct error *err)
{
  const bool automatic = is_automatic(options);
  restart->continues = restart->restored && (automatic || is_own_folder(comm, scene, restart->run_id));
  int code = FIRN_OK;
  if (comm->rank == 0) {
    restart->replaces = options->force;
    if (!restart->continues && automatic)
      code = begin_again(scene, options->force, restart, err);
    else if (!restart->continues)
      code = begin_anew(scene, options->force, restart, err);
  }
  share(comm, restart);
  return comm_agree(comm, code, err);
}

int run_begin(struct sim **out, struct restart *restart, const struct comm *comm, const struct scene *scene,
              const struct restart_options *options, struct error *err)
{
  const bool automatic = is_automatic(options);
  int code = FIRN_OK;
  *out = NULL;
  *restart = (struct restart){.frame = -1, .seen = -1};
  if (automatic)
    code = try_folder(out, restart, comm, scene, options, err);
  else if (options->from)
    code = try_checkpoint(out, restart, comm, scene, options, options->from, err);
  if (!code && !options->detached) code = begin(comm, scene, options, restart, err);
  if (!code && restart->complete) return FIRN_OK;
  if (!code && automatic && !*out) log_info("no checkpoint in %s: starting from the scene", scene->output);
  if (!code && !*out) code = sim_create(out, comm, scene, options->isa, err);
  if (code) sim_destroy(out);
  return code;
}
