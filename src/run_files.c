/* What a run keeps on the disk.
 *
 * Everything is written as a whole or not at all, and only while this start of the run is the newest one
 * (fence.h). A checkpoint that cannot be written costs nothing yet: the run says so and tries again at the
 * next interval. A frame is part of the result, so the run waits at it until it is written. After as many
 * failures in a row as the scene allows it stops; what was written before stays. */
#include "base/log.h"
#include "base/memory.h"
#include "base/timer.h"
#include "base/version.h"
#include "io/checkpoint.h"
#include "io/file.h"
#include "io/frame.h"
#include "io/hdf5.h"
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Whether a frame on the disk belongs to this run: up to the checkpoint every sound one does, later ones
 * must be of the same scene and the same Firn. */
static bool is_own_frame(const char *path, const struct run *run, struct frame_info *info)
{
  struct hdf5_silence silence;
  hdf5_silence_begin(&silence);
  const hid_t file = hdf5_open(path, NULL);
  bool own = false;
  if (file >= 0) {
    char hash[32], *stored = hdf5_get_text(file, "scene_hash"), *commit = hdf5_get_text(file, "firn_commit");
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)run->scene->hash);
    own = hdf5_get_i64(file, "frame", &info->index) && hdf5_get_i64(file, "step", &info->step) &&
          hdf5_get_f64(file, "time", &info->time) &&
          (info->index <= run->restart.frame ||
           (stored && commit && strcmp(stored, hash) == 0 && strcmp(commit, FIRN_COMMIT) == 0));
    mem_free(stored);
    mem_free(commit);
    H5Fclose(file);
  }
  hdf5_silence_end(&silence);
  return own;
}

/* The number in frame_000123.h5. */
static int64_t frame_number(const char *name)
{
  return strtoll(name + strlen("frame_"), NULL, 10);
}

/* Rank 0: frames up to the checkpoint stay, later ones if they are what we would write again; those of
 * another run would mix with ours. */
static int sort_frames(const struct run *run, struct error *err)
{
  char *folder = file_join(run->scene->output, "frames");
  struct file_list *old = NULL;
  int code = file_make_folder(folder, err), removed = 0;
  if (!code) code = file_list_create(&old, folder, "frame_", ".h5", err);
  for (int k = 0; !code && k < old->count; k++) {
    struct frame_info info;
    char *path = file_join(folder, old->names[k]);
    const bool stays = run->restart.continues &&
                       (frame_number(old->names[k]) <= run->restart.frame || is_own_frame(path, run, &info));
    if (!stays) removed += unlink(path) == 0;
    mem_free(path);
  }
  if (removed) log_info("replacing %d frames of an earlier run in %s", removed, folder);
  if (!code) file_remove_stale(folder);
  file_list_destroy(&old);
  mem_free(folder);
  return code;
}

/* Rank 0: checkpoints of a run that is over. */
static void drop_checkpoints(const char *folder)
{
  struct file_list *old = NULL;
  if (file_list_create(&old, folder, "", ".h5", NULL) != FIRN_OK) return;
  for (int k = 0; k < old->count; k++) {
    char *path = file_join(folder, old->names[k]);
    unlink(path);
    mem_free(path);
  }
  file_list_destroy(&old);
}

static int open_on_root(struct run *run, struct error *err)
{
  const struct scene *scene = run->scene;
  int code = fence_take(&run->fence, scene->output, run->restart.run_id, run->restart.generation, err);
  if (code) return code;
  run->generation = run->fence->generation;
  char *checkpoints = checkpoint_folder(scene->output);
  file_remove_stale(scene->output);
  file_remove_stale(checkpoints);
  code = fence_check(run->fence, err); /* of two starts at once only the newer may clear away */
  if (!code && !run->restart.continues) drop_checkpoints(checkpoints);
  mem_free(checkpoints);
  if (!code) code = sort_frames(run, err);
  if (!code && scene->history_every > 0)
    code = history_continue(&run->history, scene->output, phase_names, PHASES,
                            run->restart.continues ? run->restart.step : -1, err);
  return code;
}

int run_open_folder(struct run *run, struct error *err)
{
  const int code = comm_agree(&run->comm, run->comm.rank == 0 ? open_on_root(run, err) : FIRN_OK, err);
  comm_sum_i64(&run->comm, &run->generation, 1);
  return code;
}

/* Rank 0. A frame that was written after the checkpoint which we started from is not written twice. */
static int64_t is_written(const struct run *run)
{
  const struct sim *sim = run->sim;
  struct frame_info info;
  char *path = frame_path(run->scene->output, sim->frame);
  const bool written = run->restart.continues && run->restart.restored && access(path, F_OK) == 0 &&
                       is_own_frame(path, run, &info) && info.index == sim->frame && info.step == sim->step &&
                       memcmp(&info.time, &sim->time, sizeof info.time) == 0;
  mem_free(path);
  return written;
}

/* Waits before the next try; all ranks come out together. */
static void wait_to_retry(struct run *run, double seconds)
{
  const double until = timer_now() + seconds;
  const struct timespec moment = {.tv_nsec = 50000000};
  while (timer_now() < until && signals_seen() == REQUEST_NONE) {
    nanosleep(&moment, NULL);
    log_set_phase("waiting for the disk");
  }
  double request = signals_seen();
  if (run->comm.rank == 0 && request < REQUEST_LIMIT && pace_is_late(&run->pace, timer_now()))
    request = REQUEST_LIMIT;
  comm_max(&run->comm, &request, 1);
  run->leaving = (enum request)(int)request;
}

static int try_frame(struct run *run, struct error *err)
{
  const struct sim *sim = run->sim;
  const struct frame_info info = {
      .index = sim->frame, .step = sim->step, .time = sim->time, .fence = run->fence};
  const double began = timer_now();
  const int code = frame_write(&run->comm, run->scene, sim->p, &info, err);
  run->framing += timer_now() - began;
  struct error series = {.code = FIRN_OK};
  if (!code && run->comm.rank == 0 && frame_write_series(run->scene, &series))
    log_warn("%s; the next frame will bring the series up to date", series.text);
  return code;
}

int run_write_frame(struct run *run, struct error *err)
{
  const struct scene_checkpoint *rules = &run->scene->checkpoint;
  if (run->sim->frame % run->scene->frame_every != 0) return FIRN_OK;
  int64_t written = run->comm.rank == 0 ? is_written(run) : 0;
  comm_sum_i64(&run->comm, &written, 1);
  if (written) return FIRN_OK;
  int code = FIRN_EIO;
  for (int tries = 1; code == FIRN_EIO && !run->leaving; tries++) {
    code = try_frame(run, err);
    if (code != FIRN_EIO) break;
    if (tries >= rules->failures)
      return error_prefix(err, "giving up at frame %lld after %d failed tries to write it",
                          (long long)run->sim->frame, tries);
    log_warn("%s; trying again in %g s (%d of %d)", err->text, rules->retry, tries, rules->failures);
    wait_to_retry(run, rules->retry);
  }
  return run->leaving ? FIRN_OK : code; /* a restart begins with the frame it stands on */
}

static int write_state(struct run *run, const char *path, bool finished, struct error *err)
{
  struct checkpoint info;
  sim_tidy(run->sim);
  sim_describe(run->sim, &info);
  info.generation = run->generation;
  info.finished = finished;
  snprintf(info.run_id, sizeof info.run_id, "%s", run->restart.run_id);
  int64_t bytes = 0;
  double seconds = timer_now();
  if (run->comm.rank == 0) history_sync(run->history);
  const int code =
      checkpoint_write(&run->comm, path, run->scene, run->sim->p, &info, run->fence, &bytes, err);
  const double now = timer_now();
  seconds = now - seconds;
  run->keeping += seconds;
  pace_wrote(&run->pace, now, seconds, code == FIRN_OK);
  if (!code)
    log_info("checkpoint %s: step %lld, %.6g s (%.1f MiB in %.2f s)", path, (long long)info.step, info.time,
             (double)bytes / 1048576.0, seconds);
  return code;
}

int run_write_checkpoint(struct run *run, bool finished, struct error *err)
{
  const struct scene_checkpoint *rules = &run->scene->checkpoint;
  char *path = checkpoint_path(run->scene->output, run->sim->step);
  int code = write_state(run, path, finished, err);
  run->keeps = true;
  if (!code && run->comm.rank == 0)
    checkpoint_prune(run->scene->output, run->restart.run_id, rules->keep > 0 ? rules->keep : 1, path);
  mem_free(path);
  if (code != FIRN_EIO) return code;
  if (run->leaving || finished)
    return error_prefix(err, "no checkpoint of the last state, step %lld", (long long)run->sim->step);
  if (run->pace.failures >= rules->failures)
    return error_prefix(err, "giving up after %d checkpoints in a row that could not be written",
                        run->pace.failures);
  log_warn("%s; the run goes on and tries again at the next interval (%d of %d)", err->text,
           run->pace.failures, rules->failures);
  return FIRN_OK;
}

void run_keep_last_good(struct run *run)
{
  struct error err = {.code = FIRN_OK};
  char name[64];
  snprintf(name, sizeof name, "checkpoints/last_good_%010lld.h5", (long long)run->sim->step);
  char *path = file_join(run->scene->output, name);
  if (write_state(run, path, false, &err))
    log_warn("the state before the failed step is not kept: %s", err.text);
  else
    log_info("the state before the failed step is in %s", path);
  mem_free(path);
}
