/* The checkpoints of a run's folder. The newest is the one of the highest generation, and within it of the
 * highest step: an orphan may have got further than the start that replaced it, but what the newer start
 * wrote is what counts. */
#include "base/log.h"
#include "base/memory.h"
#include "io/checkpoint.h"
#include "io/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char prefix[] = "checkpoint_";

char *checkpoint_folder(const char *output)
{
  return file_join(output, "checkpoints");
}

char *checkpoint_path(const char *output, int64_t step)
{
  char name[64];
  snprintf(name, sizeof name, "checkpoints/%s%010lld.h5", prefix, (long long)step);
  return file_join(output, name);
}

struct found {
  char *path;
  int64_t generation, step;
};

static int compare_found(const void *a, const void *b)
{
  const struct found *x = a, *y = b;
  if (x->generation != y->generation) return x->generation > y->generation ? -1 : 1;
  return x->step > y->step ? -1 : x->step < y->step;
}

/* Whether the file is a checkpoint of the run; says why not. */
static bool look(struct found *found, const char *run_id, bool aloud, struct error *err)
{
  struct checkpoint *info = NULL;
  err->code = FIRN_OK;
  if (checkpoint_open(&info, found->path, err) != FIRN_OK) {
    if (aloud) log_warn("skipping a checkpoint: %s", err->text);
    return false;
  }
  const bool ours = !*run_id || strcmp(run_id, info->run_id) == 0;
  if (!ours && aloud) log_warn("skipping a checkpoint: %s belongs to another run", found->path);
  found->generation = info->generation;
  found->step = info->step;
  checkpoint_destroy(&info);
  return ours;
}

/* Names of a folder to checkpoints, sorted. FIRN_EIO where none is left and one could not be read. */
static int sort_files(struct checkpoint_list *list, const char *folder, const struct file_list *files,
                      const char *run_id, bool aloud, struct error *err)
{
  struct found *found = mem_alloc((size_t)files->count, sizeof *found);
  int count = 0, code = FIRN_OK;
  for (int k = files->count - 1; k >= 0; k--) {
    struct error local;
    found[count].path = file_join(folder, files->names[k]);
    if (look(&found[count], run_id, aloud, &local)) {
      count++;
      continue;
    }
    mem_free(found[count].path);
    if (local.code == FIRN_EIO) {
      code = FIRN_EIO;
      if (err) *err = local;
    }
  }
  qsort(found, (size_t)count, sizeof *found, compare_found);
  list->paths = mem_alloc((size_t)count, sizeof *list->paths);
  list->count = count;
  for (int k = 0; k < count; k++) list->paths[k] = found[k].path;
  mem_free(found);
  return count > 0 ? FIRN_OK : code;
}

static int list_create(struct checkpoint_list **out, const char *output, const char *run_id, bool aloud,
                       struct error *err)
{
  struct checkpoint_list *list = mem_alloc(1, sizeof *list);
  struct file_list *files = NULL;
  char *folder = checkpoint_folder(output);
  int code = FIRN_OK;
  *out = list;
  if (file_is_folder(folder)) code = file_list_create(&files, folder, prefix, ".h5", err);
  if (files) code = sort_files(list, folder, files, run_id, aloud, err);
  file_list_destroy(&files);
  mem_free(folder);
  return code;
}

int checkpoint_list_create(struct checkpoint_list **out, const char *output, const char *run_id,
                           struct error *err)
{
  return list_create(out, output, run_id, true, err);
}

void checkpoint_list_destroy(struct checkpoint_list **list)
{
  if (!list || !*list) return;
  for (int k = 0; k < (*list)->count; k++) mem_free((*list)->paths[k]);
  mem_free((*list)->paths);
  mem_free(*list);
  *list = NULL;
}

void checkpoint_prune(const char *output, const char *run_id, int keep, const char *written)
{
  struct checkpoint_list *list;
  list_create(&list, output, run_id, false, NULL); /* what is damaged was told at the start */
  for (int k = keep; k < list->count; k++)
    if (strcmp(list->paths[k], written) != 0) unlink(list->paths[k]);
  checkpoint_list_destroy(&list);
}
