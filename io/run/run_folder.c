/* See run_folder.h. */
#include "io/run/run_folder.h"

#include "base/log.h"
#include "base/memory.h"
#include "io/particles/checkpoint.h"
#include "io/particles/frame.h"
#include "io/particles/hdf5.h"
#include "io/run/history.h"
#include "io/run/run_yml.h"
#include "io/run/seal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char replaced[] = "replaced_", history_name[] = "history.csv", record_name[] = "run.yml";

/* --- whose a file is --- */

static bool is_frame_name(const char *name)
{
  return frame_number(name) >= 0;
}

static bool is_checkpoint_name(const char *name)
{
  return checkpoint_number(name) >= 0 || checkpoint_last_good_number(name) >= 0;
}

static bool is_series_name(const char *name)
{
  const size_t length = strlen(name);
  return length > 5 && strcmp(name + length - 5, ".xdmf") == 0;
}

/* Texts beside the history, and what each begins with. */
static const struct note {
  const char *name, *begins;
} notes[] = {{"run.json", "{\n  \"firn\": \""},
             {"starts.csv", "run,start,first_step,"},
             {"probes.csv", "step,time,particles"}};
enum { NOTES = sizeof notes / sizeof *notes };

static const struct note *note_of(const char *name)
{
  for (int k = 0; k < NOTES; k++)
    if (strcmp(name, notes[k].name) == 0) return &notes[k];
  return NULL;
}

static bool is_top_name(const char *name)
{
  return strcmp(name, history_name) == 0 || strcmp(name, record_name) == 0 || note_of(name) ||
         is_series_name(name);
}

/* The places of a folder, and the names that Firn gives to files there. */
static const struct place {
  const char *folder;
  bool (*knows)(const char *name);
} places[] = {{"checkpoints", is_checkpoint_name}, {"frames", is_frame_name}, {"", is_top_name}};
enum { PLACES = sizeof places / sizeof *places };

static const char *name_of(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* HDF5 sees a sealed file only if the seal is whole. A compressed one has no rows apart from the rest, and to
 * know what it is its bytes need not all be read. */
static bool has_format(const char *path, const char *format)
{
  struct seal seal = {0};
  if (!seal_is_there(path)) return hdf5_has_format(path, format);
  const bool whole = seal_read(&seal, path, NULL) == FIRN_OK &&
                     (seal.count == 0 || seal_has_blocks(&seal) || seal_check(&seal, path, NULL) == FIRN_OK);
  return whole && hdf5_has_format(path, format);
}

/* By what is inside; path ends in a name that Firn gives. */
static bool is_ours(const char *path)
{
  const char *name = name_of(path);
  if (is_frame_name(name)) return has_format(path, "firn frame");
  if (is_checkpoint_name(name)) return has_format(path, "firn checkpoint");
  if (strcmp(name, record_name) == 0) return run_record_is_one(path);
  const struct note *note = note_of(name);
  if (note) return file_begins_with(path, note->begins, strlen(note->begins));
  return is_series_name(name) ? frame_is_series(path) : history_is_one(path);
}

/* Also one that was damaged since, as long as it begins as Firn's do. */
static bool was_ours(const char *path)
{
  return (!is_top_name(name_of(path)) && seal_is_there(path)) || is_ours(path);
}

static char *place_path(const char *output, const struct place *place)
{
  return *place->folder ? file_join(output, place->folder) : mem_strdup(output);
}

/* Names that Firn gives in one place; NULL if the place cannot be read. */
static struct file_list *names_in(const char *folder, const struct place *place)
{
  struct file_list *list = NULL;
  if (file_list_create(&list, folder, "", "", NULL) != FIRN_OK) return NULL;
  int kept = 0;
  for (int k = 0; k < list->count; k++)
    if (place->knows(list->names[k]))
      list->names[kept++] = list->names[k];
    else
      mem_free(list->names[k]);
  list->count = kept;
  return list;
}

/* --- looking --- */

static void count_name(struct run_folder *found, const char *name)
{
  found->frames += is_frame_name(name);
  found->checkpoints += checkpoint_number(name) >= 0;
  found->last_good += checkpoint_last_good_number(name) >= 0;
}

static void look_into(struct run_folder *found, const char *path)
{
  if (!found->foreign && !was_ours(path)) found->foreign = mem_strdup(path);
}

/* The last folder of things set aside; empty if there is none. */
static void find_replaced(const char *output, char found[32])
{
  struct file_list *list = NULL;
  *found = '\0';
  if (file_list_create(&list, output, replaced, "", NULL) == FIRN_OK)
    for (int k = 0; k < list->count; k++)
      if (file_number(list->names[k], replaced, 6, "") >= 0) snprintf(found, 32, "%s", list->names[k]);
  file_list_destroy(&list);
}

bool run_folder_has_replaced(const char *output)
{
  char found[32];
  find_replaced(output, found);
  return *found;
}

static void look_at_top(struct run_folder *found, const char *output, const char *series)
{
  char *history = file_join(output, history_name), *target = file_join(output, series);
  struct stat status;
  found->history = lstat(history, &status) == 0 && !history_is_empty(history);
  if (found->history) look_into(found, history);
  if (lstat(target, &status) == 0) look_into(found, target);
  find_replaced(output, found->replaced);
  mem_free(history);
  mem_free(target);
}

void run_folder_look(struct run_folder *found, const char *output, const char *series)
{
  *found = (struct run_folder){0};
  for (int p = 0; p < PLACES; p++) {
    if (!*places[p].folder) continue;
    char *folder = place_path(output, &places[p]);
    struct file_list *list = names_in(folder, &places[p]);
    for (int k = 0; list && k < list->count; k++) count_name(found, list->names[k]);
    char *first = list && list->count > 0 ? file_join(folder, list->names[0]) : NULL;
    if (first) look_into(found, first);
    mem_free(first);
    file_list_destroy(&list);
    mem_free(folder);
  }
  look_at_top(found, output, series);
}

void run_folder_free(struct run_folder *found)
{
  mem_free(found->foreign);
  found->foreign = NULL;
}

static void add_name(struct file_list *list, const struct place *place, const char *name)
{
  list->names = mem_resize(list->names, (size_t)list->count, (size_t)list->count + 1, sizeof *list->names);
  list->names[list->count++] = *place->folder ? file_join(place->folder, name) : mem_strdup(name);
}

int run_folder_list(struct file_list **out, const char *output, struct error *err)
{
  struct file_list *all = mem_alloc(1, sizeof *all);
  int code = FIRN_OK;
  for (int p = 0; p < PLACES && code == FIRN_OK; p++) {
    char *folder = place_path(output, &places[p]);
    struct file_list *list = file_is_folder(folder) ? names_in(folder, &places[p]) : NULL;
    if (!list && file_is_folder(folder)) code = error_set(err, FIRN_EIO, "cannot read the folder %s", folder);
    for (int k = 0; list && k < list->count; k++) {
      char *path = file_join(folder, list->names[k]);
      if (was_ours(path)) add_name(all, &places[p], list->names[k]);
      mem_free(path);
    }
    file_list_destroy(&list);
    mem_free(folder);
  }
  if (code == FIRN_OK)
    *out = all;
  else
    file_list_destroy(&all);
  return code;
}

/* --- setting aside --- */

/* Where a file goes that is set aside; its folder is made. NULL with err set where that fails or something is
 * there. */
static char *aside_path(const char *output, int64_t generation, const char *name, struct error *err)
{
  char folder[48];
  struct stat status;
  snprintf(folder, sizeof folder, "%s%06lld", replaced, (long long)generation);
  char *top = file_join(output, folder), *path = file_join(top, name), *slash = strrchr(path, '/');
  *slash = '\0';
  const int code = file_make_folder(path, err);
  *slash = '/';
  mem_free(top);
  if (code == FIRN_OK && lstat(path, &status) != 0) return path;
  if (code == FIRN_OK)
    error_set(err, FIRN_EIO, "cannot set %s/%s aside: %s is there already", output, name, path);
  mem_free(path);
  return NULL;
}

/* The places of a folder of things set aside, and itself, as far as nothing is in them. */
static void remove_empty(const char *aside)
{
  for (int p = 0; p < PLACES; p++) {
    char *folder = place_path(aside, &places[p]);
    rmdir(folder);
    mem_free(folder);
  }
}

/* One that is gone was set aside by another start at this moment. */
static int put_aside(const char *output, int64_t generation, const char *name, bool copy, struct error *err)
{
  char *target = aside_path(output, generation, name, err);
  if (!target) return err ? err->code : FIRN_EIO;
  char *path = file_join(output, name);
  int code = FIRN_OK;
  if ((copy ? link(path, target) : rename(path, target)) != 0 && errno != ENOENT)
    code = error_set(err, FIRN_EIO, "cannot set %s aside as %s: %s; choose another folder with --output",
                     path, target, strerror(errno));
  mem_free(path);
  mem_free(target);
  return code;
}

int run_folder_set_aside(const char *output, int64_t generation, const char *name, struct error *err)
{
  return put_aside(output, generation, name, false, err);
}

/* Moves a file back to where it was, and removes what was made for it. */
static void take_back(const char *output, int64_t generation, const char *name)
{
  char folder[48];
  snprintf(folder, sizeof folder, "%s%06lld", replaced, (long long)generation);
  char *top = file_join(output, folder), *from = file_join(top, name), *to = file_join(output, name);
  if (rename(from, to) != 0) log_warn("cannot move %s back to %s: %s", from, to, strerror(errno));
  remove_empty(top);
  mem_free(top);
  mem_free(from);
  mem_free(to);
}

int run_folder_set_all_aside(const char *output, int64_t generation, const struct file_list *list,
                             struct error *err)
{
  int code = FIRN_OK, moved = 0;
  while (moved < list->count && code == FIRN_OK) {
    code = put_aside(output, generation, list->names[moved], false, err);
    moved += code == FIRN_OK;
  }
  while (code != FIRN_OK && moved > 0) take_back(output, generation, list->names[--moved]);
  return code;
}

int run_folder_keep_copy(const char *output, int64_t generation, const char *name, struct error *err)
{
  return put_aside(output, generation, name, true, err);
}

/* Whether a new file may take the place of this one. */
static bool may_replace(const char *path, const char *run_id)
{
  struct checkpoint *info = NULL;
  if (!was_ours(path) || !file_is_writable(path)) return false;
  if (checkpoint_number(name_of(path)) < 0 || checkpoint_open(&info, path, NULL) != FIRN_OK) return true;
  const bool same = strcmp(info->run_id, run_id) == 0;
  checkpoint_destroy(&info);
  return same;
}

int run_folder_make_way(const char *output, int64_t generation, const char *run_id, const char *name,
                        struct error *err)
{
  struct stat status;
  char *path = file_join(output, name);
  int code = FIRN_OK;
  if (lstat(path, &status) == 0 && !may_replace(path, run_id)) {
    code = run_folder_set_aside(output, generation, name, err);
    if (code == FIRN_OK)
      log_warn("%s was in the way and is not this run's to replace: it is in %s/%s%06lld now", path, output,
               replaced, (long long)generation);
  }
  mem_free(path);
  return code;
}

/* --- removing --- */

void run_folder_clean(const char *output, int64_t generation)
{
  for (int p = 0; p < PLACES; p++) {
    char *folder = place_path(output, &places[p]);
    file_remove_stale(folder, generation, places[p].knows);
    mem_free(folder);
  }
}

/* The number of the first frame in a folder of frames; INT64_MAX where there is none. */
static int64_t first_frame(const char *output)
{
  int64_t first = INT64_MAX;
  char *folder = file_join(output, "frames");
  struct file_list *list = NULL;
  if (file_list_create(&list, folder, "frame_", ".h5", NULL) == FIRN_OK)
    for (int k = list->count - 1; k >= 0; k--) {
      const int64_t number = frame_number(list->names[k]);
      if (number >= 0 && number < first) first = number;
    }
  file_list_destroy(&list);
  mem_free(folder);
  return first;
}

/* What is Firn's in one place of a replaced run, and the place if nothing is left in it. Frames from before
 * the new run's first one have no successor, and stay: it may have begun from a checkpoint. */
static void empty_place(const char *aside, const struct place *place, int64_t first)
{
  char *folder = place_path(aside, place);
  struct file_list *list = names_in(folder, place);
  for (int k = 0; list && k < list->count; k++) {
    char *path = file_join(folder, list->names[k]);
    const bool early = is_frame_name(list->names[k]) && frame_number(list->names[k]) < first;
    if (!early && is_ours(path) && file_is_writable(path)) unlink(path);
    mem_free(path);
  }
  rmdir(folder);
  file_list_destroy(&list);
  mem_free(folder);
}

/* A folder in which someone has started a run since is that run's. */
static void drop_aside(const char *aside, int64_t first)
{
  char run_id[RUN_ID_SIZE];
  int64_t generation;
  fence_look(aside, run_id, &generation);
  for (int p = 0; p < PLACES && generation == 0; p++) empty_place(aside, &places[p], first);
  if (file_is_folder(aside)) log_info("%s stays: not all that is in it may be removed", aside);
}

void run_folder_drop_replaced(const char *output, int64_t generation)
{
  struct file_list *list = NULL;
  const int64_t first = first_frame(output);
  if (file_list_create(&list, output, replaced, "", NULL) != FIRN_OK) return;
  for (int k = 0; k < list->count; k++) {
    const int64_t number = file_number(list->names[k], replaced, 6, "");
    if (number < 0 || number > generation) continue;
    char *aside = file_join(output, list->names[k]);
    drop_aside(aside, first);
    mem_free(aside);
  }
  file_list_destroy(&list);
}
