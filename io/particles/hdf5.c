/* See hdf5.h. */
#include "io/particles/hdf5.h"

#include "base/memory.h"
#include "base/version.h"
#include "io/file.h"
#include "io/run/seal.h"
#include "io/scene/scene.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void hdf5_silence_begin(struct hdf5_silence *saved)
{
  H5Eget_auto2(H5E_DEFAULT, &saved->print, &saved->data);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void hdf5_silence_end(const struct hdf5_silence *saved)
{
  H5Eset_auto2(H5E_DEFAULT, saved->print, saved->data);
}

struct reason {
  char text[256];
  bool from_system;
};

/* Copies the text in single quotes behind `key`. */
static bool quoted_after(const char *text, const char *key, char *out, size_t size)
{
  const char *start = strstr(text, key);
  if (!start) return false;
  start += strlen(key);
  const size_t length = strcspn(start, "'");
  snprintf(out, size, "%.*s", (int)length, start);
  return true;
}

/* The innermost entry of the stack says most, unless one carries the words of the system or of MPI. */
static herr_t look_for_reason(unsigned depth, const H5E_error2_t *entry, void *data)
{
  struct reason *reason = data;
  if (!entry->desc || reason->from_system) return 0;
  reason->from_system = quoted_after(entry->desc, "error message = '", reason->text, sizeof reason->text) ||
                        quoted_after(entry->desc, "MPI error string is '", reason->text, sizeof reason->text);
  if (!reason->from_system && depth == 0) snprintf(reason->text, sizeof reason->text, "%s", entry->desc);
  return 0;
}

int hdf5_error(struct error *err, int code, const char *format, ...)
{
  char message[700];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  struct reason reason = {.text = ""};
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look_for_reason, &reason);
  H5Eclear2(H5E_DEFAULT);
  for (char *c = reason.text; *c; c++)
    if (*c == '\n') *c = ' '; /* messages are one line */
  return error_set(err, code, "%s%s%s", message, *reason.text ? ": " : "", reason.text);
}

hid_t hdf5_open(const char *path, struct error *err)
{
  if (file_check_readable(path, err) != FIRN_OK) return -1;
  if (H5Fis_hdf5(path) <= 0) {
    error_set(err, FIRN_EINPUT, "%s is not an HDF5 file", path);
    return -1;
  }
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
  /* A finished file never changes, and some parallel file systems refuse locks. */
  H5Pset_file_locking(access, false, true);
#endif
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
  H5Pclose(access);
  if (file < 0) hdf5_error(err, FIRN_EINPUT, "%s is damaged or cut short", path);
  return file;
}

/* HDF5's own mark that it was started. */
extern hbool_t H5_libinit_g __attribute__((weak));

static int forget_hdf5(MPI_Comm comm, int key, void *value, void *state)
{
  (void)comm, (void)key, (void)value, (void)state;
  if (&H5_libinit_g) H5_libinit_g = false;
  return MPI_SUCCESS;
}

/* HDF5 ends itself within MPI_Finalize(). Attributes of MPI_COMM_SELF are deleted there, the last one first,
 * so that ours comes before HDF5's and says that there is nothing to end. */
void hdf5_abandon(void)
{
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_hdf5, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  MPI_Comm_free_keyval(&key);
}

/* HDF5 keeps the identifier of a file that it could not close, although the file's memory is freed, and
 * follows it when it ends: the run would end with SIGSEGV in place of its exit code. */
bool hdf5_close_written(hid_t file)
{
  if (H5Fclose(file) >= 0) return true;
  hdf5_abandon();
  return false;
}

bool hdf5_has_format(const char *path, const char *format)
{
  struct hdf5_silence silence;
  hdf5_silence_begin(&silence);
  const bool sound = seal_is_there(path) || hdf5_trial(path, NULL) == FIRN_OK;
  const hid_t file = sound ? hdf5_open(path, NULL) : -1;
  char *found = file >= 0 ? hdf5_get_text(file, "format") : NULL;
  const bool same = found && strcmp(found, format) == 0;
  mem_free(found);
  if (file >= 0) H5Fclose(file);
  hdf5_silence_end(&silence);
  return same;
}

static bool put_scalar(hid_t object, const char *name, hid_t type, const void *value)
{
  const hid_t space = H5Screate(H5S_SCALAR);
  const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  const bool written = attribute >= 0 && H5Awrite(attribute, type, value) >= 0;
  if (attribute >= 0) H5Aclose(attribute);
  H5Sclose(space);
  return written;
}

bool hdf5_put_text(hid_t object, const char *name, const char *text)
{
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, strlen(text) + 1);
  H5Tset_strpad(type, H5T_STR_NULLTERM);
  H5Tset_cset(type, H5T_CSET_UTF8);
  const bool written = put_scalar(object, name, type, text);
  H5Tclose(type);
  return written;
}

bool hdf5_put_scene(hid_t object, const struct scene *scene)
{
  char hash[32];
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)scene->hash);
  return hdf5_put_text(object, "scene_name", scene->name) && hdf5_put_text(object, "scene_hash", hash) &&
         hdf5_put_text(object, "scene", scene->text) &&
         hdf5_put_text(object, "scene_resolved", scene->resolved) &&
         (!scene->files || hdf5_put_text(object, "scene_files", scene->files)) &&
         hdf5_put_text(object, "firn_version", FIRN_VERSION) &&
         hdf5_put_text(object, "firn_commit", FIRN_COMMIT);
}

bool hdf5_put_f64(hid_t object, const char *name, double value)
{
  return put_scalar(object, name, H5T_NATIVE_DOUBLE, &value);
}

bool hdf5_put_i64(hid_t object, const char *name, int64_t value)
{
  return put_scalar(object, name, H5T_NATIVE_INT64, &value);
}

bool hdf5_put_u64(hid_t object, const char *name, uint64_t value)
{
  return put_scalar(object, name, H5T_NATIVE_UINT64, &value);
}

enum { MOST_TEXT = 1 << 28 }; /* bytes of an attribute; a scene has at most 16 MiB */

/* A scalar attribute of a class, or a negative id. */
static hid_t open_scalar(hid_t object, const char *name, bool text)
{
  if (H5Aexists(object, name) <= 0) return -1;
  const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
  if (attribute < 0) return -1;
  const hid_t space = H5Aget_space(attribute), type = H5Aget_type(attribute);
  const H5T_class_t class = H5Tget_class(type);
  const bool fits = H5Sget_simple_extent_npoints(space) == 1 &&
                    (text ? class == H5T_STRING : class == H5T_INTEGER || class == H5T_FLOAT);
  H5Tclose(type);
  H5Sclose(space);
  if (fits) return attribute;
  H5Aclose(attribute);
  return -1;
}

static char *read_fixed_text(hid_t attribute, hid_t type)
{
  const size_t size = H5Tget_size(type);
  if (size > MOST_TEXT) return NULL;
  char *text = mem_alloc(size + 1, 1);
  if (H5Aread(attribute, type, text) >= 0) return text;
  mem_free(text);
  return NULL;
}

static char *read_variable_text(hid_t attribute, hid_t type)
{
  char *borrowed = NULL;
  if (H5Aread(attribute, type, &borrowed) < 0 || !borrowed) return NULL;
  char *text = mem_strdup(borrowed);
  H5free_memory(borrowed);
  return text;
}

char *hdf5_get_text(hid_t object, const char *name)
{
  const hid_t attribute = open_scalar(object, name, true);
  if (attribute < 0) return NULL;
  const hid_t type = H5Aget_type(attribute);
  char *text =
      H5Tis_variable_str(type) > 0 ? read_variable_text(attribute, type) : read_fixed_text(attribute, type);
  H5Tclose(type);
  H5Aclose(attribute);
  return text;
}

static bool get_scalar(hid_t object, const char *name, hid_t type, void *value)
{
  const hid_t attribute = open_scalar(object, name, false);
  if (attribute < 0) return false;
  const bool got = H5Aread(attribute, type, value) >= 0;
  H5Aclose(attribute);
  return got;
}

bool hdf5_get_f64(hid_t object, const char *name, double *value)
{
  return get_scalar(object, name, H5T_NATIVE_DOUBLE, value);
}

bool hdf5_get_i64(hid_t object, const char *name, int64_t *value)
{
  return get_scalar(object, name, H5T_NATIVE_INT64, value);
}

static herr_t refuse_to_follow(const char *from_file, const char *from, const char *to_file, const char *to,
                               unsigned *flags, hid_t access, void *data)
{
  (void)from_file, (void)from, (void)to_file, (void)to, (void)flags, (void)access, (void)data;
  return -1;
}

/* How links are followed: none to another file. For H5Pclose(). */
static hid_t link_access(void)
{
  const hid_t access = H5Pcreate(H5P_LINK_ACCESS);
  H5Pset_elink_cb(access, refuse_to_follow, NULL);
  return access;
}

bool hdf5_has(hid_t group, const char *name)
{
  const hid_t access = link_access();
  const bool there = H5Lexists(group, name, access) > 0 && H5Oexists_by_name(group, name, access) > 0;
  H5Pclose(access);
  return there;
}

hid_t hdf5_object_open(hid_t group, const char *name)
{
  const hid_t access = link_access(), object = H5Oopen(group, name, access);
  H5Pclose(access);
  return object;
}
