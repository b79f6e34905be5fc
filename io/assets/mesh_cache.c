/* See mesh_cache.h. A header, the samples, nothing else. The header has a checksum of the samples and one of
 * itself, and the file's name: a file under another name is another mesh's. */
#include "io/assets/mesh_cache.h"

#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { VERSION = 2 };

struct header {
  char magic[16], name[48];
  int64_t n[3];
  double lower[3], spacing;
  uint64_t samples; /* XXH3 of the samples */
  uint64_t own;     /* XXH3 of the header before this */
};

static const char magic[16] = "firn distances\n";

static char *cache_folder(void)
{
  const char *own = getenv("FIRN_CACHE"), *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (own) return *own ? mem_strdup(own) : NULL;
  if (base && *base == '/') return file_join(base, "firn");
  return home && *home == '/' ? file_join(home, ".cache/firn") : NULL;
}

/* "<folder>/<kind>-<hash>.<suffix>", the hash of the bytes and of how they are used. */
static char *path_of(const char *kind, const char *suffix, const char *bytes, size_t size, uint64_t how)
{
  char *folder = cache_folder(), name[96];
  if (!folder) return NULL;
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes, size, how);
  snprintf(name, sizeof name, "%s-%016llx%016llx.%s", kind, (unsigned long long)hash.high64,
           (unsigned long long)hash.low64, suffix);
  char *path = file_join(folder, name);
  mem_free(folder);
  return path;
}

char *mesh_cache_path(const char *bytes, size_t size, double scale, double spacing)
{
  const struct {
    double scale, spacing;
    int64_t version;
  } how = {scale, spacing, VERSION};
  return path_of("mesh", "sdf", bytes, size, XXH3_64bits(&how, sizeof how));
}

char *mesh_cache_keys_path(const char *bytes, size_t size)
{
  return path_of("keys", "h5", bytes, size, VERSION);
}

static uint64_t hash_header(const struct header *h)
{
  return XXH3_64bits(h, offsetof(struct header, own));
}

/* The name that a path ends in, as a header keeps it: the rest is zeros. */
static void put_name(const char *path, char name[48])
{
  const char *slash = strrchr(path, '/');
  strncpy(name, slash ? slash + 1 : path, 47);
}

static bool is_sound(const struct header *h, const char *path, long size)
{
  int64_t count = 1;
  char name[48] = "";
  put_name(path, name);
  if (memcmp(h->magic, magic, sizeof magic) != 0 || h->own != hash_header(h) ||
      memcmp(h->name, name, sizeof name) != 0 || !(h->spacing > 0.0))
    return false;
  for (int d = 0; d < 3; d++) {
    if (h->n[d] < 2 || h->n[d] > (int64_t)1 << 31 || !isfinite(h->lower[d])) return false;
    if (__builtin_mul_overflow(count, h->n[d], &count)) return false;
  }
  return count < (int64_t)1 << 40 && (int64_t)sizeof *h + 4 * count == size;
}

/* Opens the file behind its header; NULL if it is not there or not one of ours. */
static FILE *open_cache(const char *path, struct header *h)
{
  FILE *file = path ? fopen(path, "rb") : NULL;
  if (!file) return NULL;
  const bool sized = fseek(file, 0, SEEK_END) == 0;
  const long size = sized ? ftell(file) : -1;
  rewind(file);
  if (fread(h, sizeof *h, 1, file) == 1 && is_sound(h, path, size)) return file;
  fclose(file);
  return NULL;
}

bool mesh_cache_find(const char *path, struct sdf *sdf)
{
  struct header h;
  FILE *file = open_cache(path, &h);
  if (!file) return false;
  fclose(file);
  *sdf = (struct sdf){.spacing = h.spacing};
  memcpy(sdf->n, h.n, sizeof h.n);
  memcpy(sdf->lower, h.lower, sizeof h.lower);
  return true;
}

bool mesh_cache_read(const char *path, const struct sdf *sdf, float *phi)
{
  struct header h;
  FILE *file = open_cache(path, &h);
  if (!file) return false;
  const size_t count = (size_t)sdf_count(sdf);
  const bool same = memcmp(h.n, sdf->n, sizeof h.n) == 0 && memcmp(h.lower, sdf->lower, sizeof h.lower) == 0;
  const bool read = same && fread(phi, sizeof *phi, count, file) == count;
  fclose(file);
  return read && XXH3_64bits(phi, count * sizeof *phi) == h.samples;
}

static bool write_all(const char *temp, const struct header *h, const struct sdf *sdf)
{
  FILE *file = fopen(temp, "wbx");
  if (!file) return false;
  const size_t count = (size_t)sdf_count(sdf);
  bool good = fwrite(h, sizeof *h, 1, file) == 1 && fwrite(sdf->phi, sizeof *sdf->phi, count, file) == count;
  good = fclose(file) == 0 && good;
  return good;
}

void mesh_cache_write(const char *path, const struct sdf *sdf)
{
  if (!path) return;
  struct header h = {.spacing = sdf->spacing};
  memcpy(h.magic, magic, sizeof magic);
  put_name(path, h.name);
  memcpy(h.n, sdf->n, sizeof h.n);
  memcpy(h.lower, sdf->lower, sizeof h.lower);
  h.samples = XXH3_64bits(sdf->phi, (size_t)sdf_count(sdf) * sizeof *sdf->phi);
  h.own = hash_header(&h);
  char *folder = mem_strdup(path), *temp = file_temp_name(path, 0);
  *strrchr(folder, '/') = '\0';
  struct error err = {0};
  bool good = file_make_folder(*folder ? folder : "/", &err) == FIRN_OK && write_all(temp, &h, sdf);
  if (good)
    good = file_commit(temp, path, &err) == FIRN_OK;
  else
    unlink(temp);
  if (!good) log_debug("the distance grid is not kept in %s; it will be made again the next time", folder);
  mem_free(temp);
  mem_free(folder);
}
