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
#include "io/file.h"
#include "io/particles/checkpoint.h"
#include "io/particles/frame.h"
#include "io/particles/hdf5.h"
#include "io/run/run_folder.h"
#include "io/run/run_yml.h"
#include "io/run/seal.h"
#include "run/run.h"
#include "sim/flow_solve.h"
#include "sim/probes.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Whether a frame on the disk belongs to this run: up to the checkpoint every sound one does, later ones must
 * be of the same scene and the same Firn, which is what the run would write again. */
static bool is_own_frame(const char *path, const struct run *run, struct frame_info *info)
{
  struct frame_origin origin;
  if (frame_read_origin(&origin, path, NULL) != FIRN_OK) return false;
  const bool own = origin.info.index <= run->restart.frame ||
                   (origin.scene_hash == run->scene->hash && strcmp(origin.commit, FIRN_COMMIT) == 0);
  *info = origin.info;
  frame_origin_free(&origin);
  return own;
}

/* --- taking the folder --- */

/* Of a run that goes on by force: whether the file is from after the checkpoint, on a course that is left. */
static bool is_left_behind(const struct run *run, const char *name)
{
  const char *slash = strrchr(name, '/');
  const int64_t frame = slash ? frame_number(slash + 1) : -1,
                step = slash ? checkpoint_number(slash + 1) : -1;
  struct frame_info info;
  if (frame <= run->restart.frame || step > run->restart.step) return step > run->restart.step;
  char *path = file_join(run->scene->output, name);
  const bool own = is_own_frame(path, run, &info);
  mem_free(path);
  return !own;
}

/* Rank 0: what a forced start replaces. */
static int list_replaced(const struct run *run, struct file_list **list, struct error *err)
{
  const int code = run_folder_list(list, run->scene->output, err);
  int kept = 0;
  if (code || !run->restart.continues) return code;
  for (int k = 0; k < (*list)->count; k++)
    if (is_left_behind(run, (*list)->names[k]))
      (*list)->names[kept++] = (*list)->names[k];
    else
      mem_free((*list)->names[k]);
  (*list)->count = kept;
  return FIRN_OK;
}

/* Rank 0: of a run that goes on by force, the rows of the course that is left. */
static int keep_tables(const struct run *run, struct error *err)
{
  static const char *const names[] = {"history.csv", "probes.csv"};
  int code = FIRN_OK;
  for (int k = 0; k < 2 && !code && run->restart.restored && run->restart.continues; k++) {
    char *path = file_join(run->scene->output, names[k]);
    if (access(path, F_OK) == 0)
      code = run_folder_keep_copy(run->scene->output, run->generation, names[k], err);
    mem_free(path);
  }
  return code;
}

/* Rank 0: it goes out of the way, and is gone only when this run is complete. */
static int set_replaced_aside(const struct run *run, struct error *err)
{
  const char *output = run->scene->output;
  struct file_list *list = NULL;
  int code = list_replaced(run, &list, err);
  if (!code) code = run_folder_set_all_aside(output, run->generation, list, err);
  if (!code && list->count > 0) {
    code = keep_tables(run, err);
    log_info("%d files of an earlier run are in %s/replaced_%06lld until this one is complete", list->count,
             output, (long long)run->generation);
  }
  file_list_destroy(&list);
  return code;
}

/* Whether a frame is there only because an earlier start ended with it: a run that goes on does not pass
 * through its state, or leaves its number out. */
static bool is_stale(const struct run *run, const char *path, int64_t number)
{
  struct frame_origin origin;
  struct scene *old = NULL;
  if (number < run->restart.frame || number >= scene_last_frame(run->scene) ||
      number % run->scene->frame_every == 0 || frame_read_origin(&origin, path, NULL) != FIRN_OK)
    return false;
  const bool known = scene_parse_stored(&old, path, origin.resolved, NULL) == FIRN_OK;
  const bool stale = known && number == scene_last_frame(old) &&
                     (number % old->frame_every != 0 || origin.info.time != (double)number / old->frame_rate);
  if (known) scene_destroy(&old);
  frame_origin_free(&origin);
  return stale;
}

/* Rank 0: sets such frames aside. */
static int set_stale_aside(const struct run *run, struct error *err)
{
  const char *output = run->scene->output;
  struct file_list *list = NULL;
  char *folder = file_join(output, "frames");
  int code = FIRN_OK;
  if (file_is_folder(folder)) code = file_list_create(&list, folder, "frame_", ".h5", err);
  for (int k = 0; list && k < list->count && !code; k++) {
    char *path = file_join(folder, list->names[k]), *name = file_join("frames", list->names[k]);
    if (is_stale(run, path, frame_number(list->names[k]))) {
      code = run_folder_set_aside(output, run->generation, name, err);
      if (!code)
        log_info("%s was the end of a shorter run: it is in %s/replaced_%06lld until this one is complete",
                 path, output, (long long)run->generation);
    }
    mem_free(name);
    mem_free(path);
  }
  file_list_destroy(&list);
  mem_free(folder);
  return code;
}

static struct history_columns run_history_columns(const struct run *run)
{
  const struct instruments *in = run->sim->instruments;
  return (struct history_columns){.more = in ? (const char *const *)in->names : NULL,
                                  .more_count = in ? in->columns : 0,
                                  .repeats = flow_is_checked(run->sim),
                                  .phases = phase_names,
                                  .phase_count = PHASES};
}

/* Rank 0: whether the run goes on with its table of that name. If not, one that is there is set aside; `ours`
 * says whether Firn wrote it, and `empty` whether it has no row yet. */
static int look_at_table(const struct run *run, const char *name, bool ours, bool empty, bool *goes_on,
                         struct error *err)
{
  const char *output = run->scene->output;
  char *path = file_join(output, name);
  struct stat status;
  const bool there = lstat(path, &status) == 0;
  int code = FIRN_OK;
  *goes_on = run->restart.continues && run->restart.restored && (ours || !there);
  if (there && !empty && !*goes_on) {
    if (!ours)
      log_warn("%s is not a table of Firn: it is in %s/replaced_%06lld now", path, output,
               (long long)run->generation);
    code = run_folder_set_aside(output, run->generation, name, err);
  }
  mem_free(path);
  return code;
}

/* Rank 0: goes on with the history, or begins one. */
static int open_history(struct run *run, struct error *err)
{
  const char *output = run->scene->output;
  if (run->scene->history_every == 0) return FIRN_OK;
  char *path = history_path(output);
  const struct history_columns columns = run_history_columns(run);
  bool goes_on;
  int code = look_at_table(run, "history.csv", history_is_one(path), history_is_empty(path), &goes_on, err);
  mem_free(path);
  if (!code)
    code = history_open(&run->history, output, run->fence, &columns, goes_on ? run->restart.step : -1,
                        goes_on ? run->restart.history_rows : 0, err);
  return code;
}

static bool is_new_probe(const void *sim, const char *column)
{
  return probes_is_new(sim, column);
}

/* Rank 0: likewise the probes. */
static int open_probes(struct run *run, struct error *err)
{
  const char *output = run->scene->output;
  if (!run->scene->probe_count) return FIRN_OK;
  char *path = file_join(output, "probes.csv"), *header = probes_header(run->scene);
  bool goes_on;
  int code = file_make_folder(output, err);
  if (!code)
    code =
        look_at_table(run, "probes.csv", file_begins_with(path, probes_beginning, strlen(probes_beginning)),
                      csv_log_is_empty(path, probes_beginning), &goes_on, err);
  if (!code) {
    const struct restart *restart = &run->restart;
    const struct csv_start start = {.header = header,
                                    .step = goes_on ? restart->step + !restart->finished : -1,
                                    .expected = goes_on ? restart->probe_rows : 0,
                                    .before = restart->step + 1,
                                    .is_other = is_new_probe,
                                    .context = run->sim};
    code = csv_log_open(&run->probes, path, run->fence, &start, err);
  }
  mem_free(header);
  mem_free(path);
  return code;
}

static void write_probes(struct run *run)
{
  struct sim *sim = run->sim;
  const struct scene *scene = run->scene;
  const int columns = probes_columns(scene);
  double *row = mem_alloc((size_t)columns, sizeof *row);
  probes_measure(sim, row);
  FILE *stream = run->probes ? csv_log_line(run->probes) : NULL;
  if (stream) {
    fprintf(stream, "%lld,%.17g,%lld", (long long)sim->clock.step, sim->clock.time,
            (long long)sim->totals.particles);
    for (int k = 0; k < columns; k++) fprintf(stream, ",%.17g", row[k]);
    csv_log_end_line(run->probes);
  }
  mem_free(row);
}

/* A halved step may pass the number at which a line is due. */
void run_write_probes(struct run *run, int64_t before)
{
  const int64_t every = run->scene->probes_every;
  const bool due = before / every != run->sim->clock.step / every || sim_is_over(run->sim);
  if (run->scene->probe_count && due) write_probes(run);
}

/* The last line of a run that is made longer goes, unless it was due anyway. */
void run_begin_probes(struct run *run)
{
  const struct restart *restart = &run->restart;
  const bool due =
      !restart->restored || (restart->finished && run->sim->clock.step % run->scene->probes_every == 0);
  if (run->scene->probe_count && due) write_probes(run);
}

/* Rank 0: how this start came about. A file of that name that is someone else's stays. */
static int record_start(const struct run *run, struct error *err)
{
  const struct scene *scene = run->scene;
  char *path = file_join(scene->output, "run.yml");
  const bool foreign = access(path, F_OK) == 0 && !run_record_is_one(path);
  if (foreign) log_warn("%s exists but was not written by Firn; the start was not recorded", path);
  mem_free(path);
  return foreign ? FIRN_OK
                 : run_record_add(scene->output, scene->path, run->options.command, run->options.machine,
                                  !run->restart.continues, run->generation, err);
}

/* Takes the folder from its owner by force. Where that fails all is where it was, and the folder is its
 * again. */
static int replace_owner(struct run *run, const char *owner, struct error *err)
{
  struct fence *back = NULL;
  const int code = set_replaced_aside(run, err);
  if (code && *owner && fence_take(&back, run->scene->output, owner, run->generation, -1, NULL) == FIRN_OK)
    fence_destroy(&back);
  return code;
}

static int open_on_root(struct run *run, struct error *err)
{
  const char *output = run->scene->output;
  const struct restart *restart = &run->restart;
  char owner[RUN_ID_SIZE];
  int64_t generation;
  fence_look(output, owner, &generation);
  int code = fence_take(&run->fence, output, restart->run_id, restart->generation, restart->seen, err);
  if (code) return code;
  run->generation = run->fence->generation;
  code = fence_check(run->fence, err); /* of two starts at once only the newer may clear away */
  if (!code) run_folder_clean(output, run->generation);
  if (!code && restart->replaces) code = replace_owner(run, owner, err);
  if (!code && restart->continues && restart->restored) code = set_stale_aside(run, err);
  if (!code) code = open_history(run, err);
  if (!code) code = open_probes(run, err);
  return code ? code : record_start(run, err);
}

int run_open_folder(struct run *run, struct error *err)
{
  const int code = comm_agree(&run->comm, run->comm.rank == 0 ? open_on_root(run, err) : FIRN_OK, err);
  comm_sum_i64(&run->comm, &run->generation, 1);
  return code;
}

/* Of the state, or where no simulation was made of the last frame. */
static bool has_snow(const struct run *run)
{
  if (run->sim) return run->sim->totals.particles > 0;
  struct frame_info info;
  int64_t particles = 0;
  char *path = frame_path(run->scene->output, scene_last_frame(run->scene));
  if (frame_read_info(path, &info, &particles, NULL) != FIRN_OK) particles = 0;
  mem_free(path);
  return particles > 0;
}

void run_drop_replaced(const struct run *run)
{
  char run_id[RUN_ID_SIZE];
  int64_t generation, own = run->fence ? run->fence->generation : run->restart.generation;
  if (run->comm.rank != 0) return;
  if (!has_snow(run)) {
    if (run_folder_has_replaced(run->scene->output))
      log_warn(
          "no snow is left, so what this run replaced stays in %s/replaced_*: move it back, or remove it",
          run->scene->output);
    return;
  }
  fence_look(run->scene->output, run_id, &generation);
  if (generation == own && strcmp(run_id, run->restart.run_id) == 0)
    run_folder_drop_replaced(run->scene->output, own);
}

/* Collective. Nothing that is not this run's is written over; `path` is below the output folder. */
static int make_way(const struct run *run, const char *path, struct error *err)
{
  const char *output = run->scene->output, *name = path + strlen(output);
  while (*name == '/') name++;
  const int code = run->comm.rank == 0
                       ? run_folder_make_way(output, run->generation, run->restart.run_id, name, err)
                       : FIRN_OK;
  return comm_agree(&run->comm, code, err);
}

/* --- frames --- */

/* Rank 0. A frame that was written after the checkpoint which we started from is not written twice, unless it
 * was damaged since. */
static int64_t is_written(const struct run *run)
{
  const struct sim *sim = run->sim;
  struct frame_info info;
  char *path = frame_path(run->scene->output, sim->clock.frame);
  const bool written =
      run->restart.continues && run->restart.restored && access(path, F_OK) == 0 &&
      is_own_frame(path, run, &info) && info.index == sim->clock.frame && info.step == sim->clock.step &&
      memcmp(&info.time, &sim->clock.time, sizeof info.time) == 0 && seal_check_all(path, NULL) == FIRN_OK;
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
    log_heartbeat("waiting for the disk");
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
  struct contact_table *contacts = instruments_contacts(sim);
  char *free_bodies = rigid_describe(sim);
  const struct frame_info info = {.index = sim->clock.frame,
                                  .free_bodies = free_bodies,
                                  .step = sim->clock.step,
                                  .time = sim->clock.time,
                                  .fence = run->fence,
                                  .contacts = contacts};
  const double began = timer_now();
  char *path = frame_path(run->scene->output, sim->clock.frame);
  int code = run->options.writes ? make_way(run, path, err) : FIRN_OK;
  mem_free(path);
  if (!code) code = frame_write(&run->comm, run->scene, sim->p, &info, err);
  contact_table_destroy(&contacts);
  mem_free(free_bodies);
  const double ended = timer_now();
  run->framing += ended - began;
  timeline_add(run->comm.traffic->timeline, 0, "frame", began, ended, sim->clock.frame);
  struct error series = {.code = FIRN_OK};
  if (!code && run->comm.rank == 0 && frame_write_series(run->scene, run->generation, &series))
    log_warn("%s; the next frame will bring the series up to date", series.text);
  return code;
}

int run_replace_frame(struct run *run, struct error *err)
{
  return try_frame(run, err);
}

int run_write_frame(struct run *run, struct error *err)
{
  const struct scene_checkpoint *rules = &run->scene->checkpoint;
  if (run->sim->clock.frame % run->scene->frame_every != 0 && !sim_is_over(run->sim)) return FIRN_OK;
  int64_t written = run->comm.rank == 0 ? is_written(run) : 0;
  comm_sum_i64(&run->comm, &written, 1);
  if (written) return FIRN_OK;
  int code = FIRN_EIO;
  for (int tries = 1; code == FIRN_EIO && !run->leaving; tries++) {
    code = try_frame(run, err);
    if (code != FIRN_EIO) break;
    if (tries >= rules->failures)
      return error_prefix(err, "giving up at frame %lld after %d failed tries to write it",
                          (long long)run->sim->clock.frame, tries);
    log_warn("%s; trying again in %g s (%d of %d)", err->text, rules->retry, tries, rules->failures);
    wait_to_retry(run, rules->retry);
  }
  return run->leaving ? FIRN_OK : code; /* a restart begins with the frame it stands on */
}

/* --- checkpoints --- */

static int write_state(struct run *run, const char *path, bool finished, struct error *err)
{
  struct checkpoint info;
  sim_tidy(run->sim);
  sim_describe(run->sim, &info);
  info.generation = run->generation;
  info.finished = finished;
  info.history_rows = history_rows(run->history);
  info.probe_rows = csv_log_rows(run->probes);
  snprintf(info.run_id, sizeof info.run_id, "%s", run->restart.run_id);
  int64_t bytes = 0;
  double seconds = timer_now();
  if (run->comm.rank == 0) history_sync(run->history);
  if (run->comm.rank == 0) csv_log_sync(run->probes);
  int code = make_way(run, path, err);
  if (!code)
    code = checkpoint_write(&run->comm, path, run->scene, run->sim->p, &info, run->fence, &bytes, err);
  const double now = timer_now();
  timeline_add(run->comm.traffic->timeline, 0, "checkpoint", seconds, now, info.step);
  checkpoint_forget(&info);
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
  char *path = checkpoint_path(run->scene->output, run->sim->clock.step);
  int code = write_state(run, path, finished, err);
  run->keeps = true;
  /* At an end between two frames the state before the last step stays too: a longer run begins there. */
  const int keep = (rules->keep > 0 ? rules->keep : 1) + (finished && !sim_is_on_beat(run->sim));
  if (!code && run->comm.rank == 0) checkpoint_prune(run->scene->output, run->restart.run_id, keep, path);
  mem_free(path);
  if (code != FIRN_EIO) return code;
  if (run->leaving || finished)
    return error_prefix(err, "no checkpoint of the last state, step %lld", (long long)run->sim->clock.step);
  if (run->pace.failures >= rules->failures)
    return error_prefix(err, "giving up after %d checkpoints in a row that could not be written",
                        run->pace.failures);
  log_warn("%s; the run continues and tries again at the next interval (%d of %d)", err->text,
           run->pace.failures, rules->failures);
  return FIRN_OK;
}

void run_keep_last_good(struct run *run)
{
  struct error err = {.code = FIRN_OK};
  char *path = checkpoint_last_good_path(run->scene->output, run->sim->clock.step);
  if (write_state(run, path, false, &err))
    log_warn("the state before the failed step is not kept: %s", err.text);
  else
    log_info("the state before the failed step is in %s", path);
  mem_free(path);
}
