/* The readers of particle files, level-set keys, frames, checkpoints and their seals against any bytes. */
#include "base/log.h"
#include "base/memory.h"
#include "io/assets/levelset_file.h"
#include "io/particles/any_file.h"
#include "io/particles/checkpoint.h"
#include "io/particles/hdf5.h"
#include "io/particles/particle_file.h"
#include "io/run/seal.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct comm *world(void)
{
  static struct comm comm;
  if (comm.size) return &comm;
  comm_start(&comm, NULL, NULL);
  log_configure(LOG_QUIET, 0, NULL);
  atexit((void (*)(void))MPI_Finalize);
  return &comm;
}

static void demand(int condition, const char *what, const char *more)
{
  if (condition) return;
  fprintf(stderr, "fuzz_files: %s: %s\n", what, more);
  abort();
}

static void check_code(int code, const struct error *err)
{
  if (code) demand(code < 0 && err->text[0] && !strchr(err->text, '\n'), "an error is one line", err->text);
}

static void read_keys(const char *file)
{
  struct levelset_plan plan;
  struct error err = {0};
  int code = levelset_plan_read(&plan, file, &err);
  check_code(code, &err);
  if (code || plan.floats > 1 << 26) { /* a good plan of too much for a test */
    levelset_plan_free(&plan);
    return;
  }
  float *samples = mem_alloc((size_t)plan.floats, sizeof *samples);
  code = levelset_samples_read(&plan, file, samples, &err);
  check_code(code, &err);
  mem_free(samples);
  levelset_plan_free(&plan);
}

static void read_particles(const char *file)
{
  struct particles *p = particles_create(NEEDS_AFFINE | NEEDS_HEAT);
  struct error err = {0};
  struct particle_file_info info = {0};
  const int code = particle_file_read(world(), file, NULL, 0, 0, p, &info, &err);
  check_code(code, &err);
  demand(code ? p->count == 0 : p->count == info.rows, "the count", "is wrong");
  particles_destroy(&p);
}

/* A file that is no checkpoint, or one whose rows are not what the seal says, is refused in one line. */
static void read_checkpoint(const char *file)
{
  struct particles *p = particles_create(0);
  struct checkpoint *info = NULL;
  struct error err = {0};
  int code = checkpoint_open(&info, file, &err);
  check_code(code, &err);
  if (!code) {
    code = checkpoint_read(world(), file, NULL, false, p, &err);
    check_code(code, &err);
  }
  checkpoint_destroy(&info);
  particles_destroy(&p);
}

/* What `firn info` and the others read: nothing that its seal does not vouch for. */
static void read_state(const char *file)
{
  struct any_file *state = NULL;
  struct error err = {0};
  int code = any_file_open(&state, file, true, &err);
  check_code(code, &err);
  for (int f = 0; !code && f < state->field_count; f++) {
    void *rows = NULL;
    code = any_file_load(state, &state->fields[f], H5T_NATIVE_DOUBLE, &rows, &err);
    check_code(code, &err);
    mem_free(rows);
  }
  any_file_close(&state);
}

/* A true seal around what the fuzzer made of a checkpoint, with the tables that its text names: what is
 * behind the seal meets bytes that nobody wrote. */
static void forge_seal(const char *file, const uint8_t *data)
{
  char block[SEAL_BYTES + 1] = "";
  struct seal seal = {0};
  struct seal_entry e = {0};
  memcpy(block, data, SEAL_BYTES);
  for (const char *line = strstr(block, "rows "); line; line = strstr(line + 1, "rows ")) {
    long long offset, rows, size;
    unsigned long long sum;
    if (sscanf(line, "rows %31s %lld %lld %lld %llx", e.name, &offset, &rows, &size, &sum) != 5) continue;
    e.offset = offset;
    e.rows = rows;
    e.row_size = size;
    e.sum = sum;
    seal_add_entry(&seal, &e);
  }
  struct error err = {0};
  check_code(seal_write(&seal, file, &err), &err);
}

static char path[64];

static void remove_file(void)
{
  unlink(path);
}

/* A file in memory with a name: HDF5 asks for the real path of what it opens. */
static void write_file(const uint8_t *data, size_t size)
{
  if (!*path) {
    snprintf(path, sizeof path, "%s/firn_fuzz_%ld.h5", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
             (long)getpid());
    atexit(remove_file);
  }
  FILE *file = fopen(path, "wb");
  demand(file && fwrite(data, 1, size, file) == size && fclose(file) == 0, "cannot write", path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  world();
  const long before = mem_balance(); /* the communicator's own */
  write_file(data, size);
  static const char signature[] = "\211HDF\r\n\032\n";
  if (size > 8 && memcmp(data, signature, 8) == 0) {
    read_particles(path);
    read_state(path);
    read_keys(path);
  } else {
    read_checkpoint(path);
    if (seal_is_there(path)) read_state(path);
    if (size > SEAL_BYTES + 8 && memcmp(data + SEAL_BYTES, signature, 8) == 0) {
      forge_seal(path, data);
      read_checkpoint(path);
      read_state(path);
    }
  }
  demand(mem_balance() == before, "memory", "is left");
  demand(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL) <= 0, "handles of HDF5", "are left");
  return 0;
}
