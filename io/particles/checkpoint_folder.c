/* The checkpoints of a run's folder. The newest is the one of the highest generation, and within it of the
 * highest step: an orphan may have got further than the start that replaced it, but what the newer start
 * wrote is what counts. */
#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/particles/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char prefix[] = "checkpoint_", last_good[] = "last_good_", suffix[] = ".h5";
enum { DIGITS = 10 };

char *checkpoint_folder(const char *output)
{
  return file_join(output, "checkpoints");
}

static char *path_of(const char *output, const char *kind, int64_t step)
{
  char name[64];
  snprintf(name, sizeof name, "checkpoints/%s%0*lld%s", kind, DIGITS, (long long)step, suffix);
  return file_join(output, name);
}

char *checkpoint_path(const char *output, int64_t step)
{
  return path_of(output, prefix, step);
}

char *checkpoint_last_good_path(const char *output, int64_t step)
{
  return path_of(output, last_good, step);
}

int64_t checkpoint_number(const char *name)
{
  return file_number(name, prefix, DIGITS, suffix);
}

int64_t checkpoint_last_good_number(const char *name)
{
  return file_number(name, last_good, DIGITS, suffix);
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
  *err = (struct error){.code = FIRN_OK};
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

static int gravity_of(int code)
{
  return code == FIRN_EFORMAT ? 3 : code == FIRN_EIO ? 2 : code != FIRN_OK;
}

/* Names of a folder to checkpoints, sorted. */
static void sort_files(struct checkpoint_list *list, const char *folder, const struct file_list *files,
                       const char *run_id, bool aloud)
{
  struct found *found = mem_alloc((size_t)files->count, sizeof *found);
  for (int k = files->count - 1; k >= 0; k--) {
    struct error reason;
    if (checkpoint_number(files->names[k]) < 0) continue;
    struct found *next = &found[list->count];
    next->path = file_join(folder, files->names[k]);
    if (look(next, run_id, aloud, &reason)) {
      list->count++;
      continue;
    }
    mem_free(next->path);
    list->left_out++;
    list->strangers += reason.code == FIRN_OK;
    if (gravity_of(reason.code) > gravity_of(list->trouble.code)) list->trouble = reason;
  }
  qsort(found, (size_t)list->count, sizeof *found, compare_found);
  list->paths = mem_alloc((size_t)list->count, sizeof *list->paths);
  for (int k = 0; k < list->count; k++) list->paths[k] = found[k].path;
  mem_free(found);
}

int checkpoint_list_create(struct checkpoint_list **out, const char *output, const char *run_id, bool aloud,
                           struct error *err)
{
  struct checkpoint_list *list = mem_alloc(1, sizeof *list);
  struct file_list *files = NULL;
  char *folder = checkpoint_folder(output);
  int code = FIRN_OK;
  *out = list;
  if (file_is_folder(folder)) code = file_list_create(&files, folder, prefix, suffix, err);
  if (files) sort_files(list, folder, files, run_id, aloud);
  file_list_destroy(&files);
  mem_free(folder);
  return code;
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
  checkpoint_list_create(&list, output, run_id, false, NULL); /* what is damaged was told at the start */
  for (int k = keep; k < list->count; k++)
    if (strcmp(list->paths[k], written) != 0 && file_is_writable(list->paths[k])) unlink(list->paths[k]);
  checkpoint_list_destroy(&list);
}
