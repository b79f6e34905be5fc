/* `--give-up`: whether a run still gets anywhere.
 *
 * Every start adds a line to `starts.csv` in the output folder: its number, and the step that it began with.
 * A run whose newest checkpoint is no further than where it began some starts ago gets nowhere, whatever
 * ended these starts and however often they wrote the same steps again. So a job script that starts a run
 * until it is done needs no count of its own, and users see what became of their jobs. */
#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/particles/checkpoint.h"
#include "io/run/run_folder.h"
#include "io/run/run_json.h"
#include "run/launch.h"
#include "run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char header[] = "run,start,first_step,began,ranks,threads,host,job\n";

void run_note_start(const struct run *run)
{
  if (run->comm.rank != 0) return;
  char *path = file_join(run->scene->output, "starts.csv"), host[64] = "", when[32];
  const time_t now = time(NULL);
  struct tm utc;
  gethostname(host, sizeof host - 1);
  strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  const char *job = launch_job();
  struct error err = {0};
  bool good = run_folder_make_way(run->scene->output, run->generation, run->restart.run_id, "starts.csv",
                                  &err) == FIRN_OK;
  FILE *file = good ? fopen(path, "ae") : NULL;
  good = file != NULL;
  if (good && ftell(file) == 0) good = fputs(header, file) >= 0;
  if (good)
    good = fprintf(file, "%s,%" PRId64 ",%" PRId64 ",%s,%d,%d,%s,%s\n", run->restart.run_id, run->generation,
                   run->sim->clock.step, when, run->comm.size, run->comm.threads, host, job ? job : "") > 0;
  if (file && fclose(file) != 0) good = false;
  if (!good) log_warn("cannot write %s: %s", path, strerror(errno));
  mem_free(path);
}

/* The step with which the run began so many starts ago, and how many starts there were. */
static int64_t step_before(const char *folder, const char *run_id, int64_t ago, int64_t *starts)
{
  char *path = file_join(folder, "starts.csv"), line[512], id[RUN_ID_SIZE];
  FILE *file = fopen(path, "re");
  int64_t *steps = mem_alloc((size_t)ago, sizeof *steps), count = 0, step;
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "%16[^,],%*[^,],%" SCNd64, id, &step) == 2 && strcmp(id, run_id) == 0)
      steps[count++ % ago] = step;
  if (file) fclose(file);
  step = count >= ago ? steps[count % ago] : -1;
  *starts = count;
  mem_free(steps);
  mem_free(path);
  return step;
}

/* Of the newest intact checkpoint; 0 if there is none. */
static int64_t newest_step(const char *folder, const char *run_id)
{
  struct checkpoint_list *list = NULL;
  struct checkpoint *newest = NULL;
  int64_t step = 0;
  if (checkpoint_list_create(&list, folder, run_id, false, NULL) == FIRN_OK)
    for (int k = 0; k < list->count && !newest; k++)
      if (checkpoint_open(&newest, list->paths[k], NULL) == FIRN_OK) step = newest->step;
  checkpoint_destroy(&newest);
  checkpoint_list_destroy(&list);
  return step;
}

static int check_on_root(const char *folder, int64_t most, struct error *err)
{
  char run_id[RUN_ID_SIZE];
  int64_t generation, starts;
  fence_look(folder, run_id, &generation);
  const int64_t before = step_before(folder, run_id, most, &starts), now = newest_step(folder, run_id);
  struct yaml *record = record_read(folder);
  const bool ended = record_number(record, "start") >= (double)generation; /* the last start, by itself */
  yaml_destroy(&record);
  if (starts < most || before < now || ended) return FIRN_OK;
  return error_set(
      err, FIRN_EINPUT,
      "giving up: the last %lld starts of the run in %s brought it no further than step %lld; look at "
      "what ended them, then start it without --give-up",
      (long long)most, folder, (long long)now);
}

int run_check_progress(const struct run *run, int64_t most, struct error *err)
{
  if (most == 0) return FIRN_OK;
  return comm_agree(&run->comm, run->comm.rank == 0 ? check_on_root(run->scene->output, most, err) : FIRN_OK,
                    err);
}
