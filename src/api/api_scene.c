/* Messages, versions and scenes of the public interface. */
#include "api/api.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/version.h"
#include "run/launch.h"

#include <string.h>

_Static_assert(sizeof(struct firn_error) == sizeof(struct error), "public and internal errors differ");
_Static_assert(FIRN_STATUS_INPUT == (int)FIRN_EINPUT && FIRN_STATUS_IO == (int)FIRN_EIO &&
                   FIRN_STATUS_LIMIT == (int)FIRN_ELIMIT && FIRN_STATUS_DIVERGED == (int)FIRN_EDIVERGE &&
                   FIRN_STATUS_STALE == (int)FIRN_ESTALE && FIRN_STATUS_DAMAGED == (int)FIRN_EDAMAGED &&
                   FIRN_STATUS_FORMAT == (int)FIRN_EFORMAT && FIRN_STATUS_STOPPED == (int)FIRN_ESTOPPED,
               "public and internal codes differ");
_Static_assert(FIRN_LOG_QUIET == (int)LOG_QUIET && FIRN_LOG_WARNINGS == (int)LOG_WARN &&
                   FIRN_LOG_INFO == (int)LOG_INFO,
               "public and internal levels differ");

/* What the caller asked for: of the process, as the log itself is. */
static struct {
  int level;
  firn_log_handler *line;
  firn_fatal_handler *fatal;
  void *line_context, *fatal_context;
} wanted = {.level = FIRN_LOG_WARNINGS};

static void pass_line(void *context, enum log_level level, const char *text)
{
  wanted.line(context, (int)level, text);
}

static void redirect(void)
{
  const struct log_sink to = {.line = wanted.line ? pass_line : NULL,
                              .line_context = wanted.line_context,
                              .fatal = wanted.fatal,
                              .fatal_context = wanted.fatal_context};
  log_redirect(&to);
}

void firn_log_level(int level)
{
  wanted.level = level;
}

void firn_log_to(firn_log_handler *handler, void *context)
{
  wanted.line = handler;
  wanted.line_context = context;
  redirect();
}

void firn_on_fatal(firn_fatal_handler *handler, void *context)
{
  wanted.fatal = handler;
  wanted.fatal_context = context;
  redirect();
}

void api_enter(const struct comm *comm)
{
  log_configure((enum log_level)wanted.level, comm->rank, comm_abort);
}

int api_return(int code, const struct error *from, struct firn_error *to)
{
  if (!to) return code;
  memcpy(to, from, sizeof *to);
  to->code = code;
  return code;
}

const char *firn_version(void)
{
  return FIRN_VERSION " (commit " FIRN_COMMIT ")";
}

int firn_version_at_least(int major, int minor, int patch)
{
  const int have[3] = {FIRN_VERSION_MAJOR, FIRN_VERSION_MINOR, FIRN_VERSION_PATCH},
            least[3] = {major, minor, patch};
  for (int k = 0; k < 3; k++)
    if (have[k] != least[k]) return have[k] > least[k];
  return 1;
}

int firn_mpi_start(void)
{
  return comm_begin_mpi();
}

void firn_mpi_stop(void)
{
  comm_end_mpi();
}

MPI_Comm firn_mpi_world(void)
{
  return comm_world();
}

MPI_Comm firn_mpi_self(void)
{
  return comm_self();
}

MPI_Comm firn_mpi_from_fortran(int handle)
{
  return comm_from_fortran(handle);
}

int firn_mpi_size(MPI_Comm comm)
{
  return comm_size_of(comm);
}

void firn_mpi_abort(int code)
{
  comm_abort(code);
}

static int wrap_scene(struct firn_scene **out, int code, struct scene *scene, const struct error *err,
                      struct firn_error *public_err)
{
  if (!code) {
    *out = mem_alloc(1, sizeof **out);
    (*out)->scene = scene;
  }
  return api_return(code, err, public_err);
}

int firn_scene_load(struct firn_scene **out, MPI_Comm mpi, const char *path, const char *const *overrides,
                    int count, struct firn_error *err)
{
  struct error error = {0};
  struct launch_options options = {.scene_path = path};
  struct scene *scene = NULL;
  struct comm comm;
  *out = NULL;
  int code = FIRN_OK;
  for (int k = 0; k < count && !code; k++) code = launch_add_override(&options, overrides[k], &error);
  if (code) return api_return(code, &error, err);
  comm_create(&comm, mpi);
  api_enter(&comm);
  code = launch_scene(&comm, &options, &scene, &error);
  comm_destroy(&comm);
  return wrap_scene(out, code, scene, &error, err);
}

int firn_scene_parse(struct firn_scene **out, const char *name, const char *text,
                     const char *const *overrides, int count, struct firn_error *err)
{
  struct error error = {0};
  struct scene *scene = NULL;
  *out = NULL;
  const int code = scene_parse(&scene, name, text, overrides, count, &error);
  return wrap_scene(out, code, scene, &error, err);
}

void firn_scene_destroy(struct firn_scene **scene)
{
  if (!*scene) return;
  scene_destroy(&(*scene)->scene);
  mem_free(*scene);
  *scene = NULL;
}

const char *firn_scene_name(const struct firn_scene *scene)
{
  return scene->scene->name;
}

const char *firn_scene_output(const struct firn_scene *scene)
{
  return scene->scene->output;
}

const char *firn_scene_resolved(const struct firn_scene *scene)
{
  return scene->scene->resolved;
}

double firn_scene_end(const struct firn_scene *scene)
{
  return scene->scene->end;
}

double firn_scene_frame_rate(const struct firn_scene *scene)
{
  return scene->scene->frame_rate;
}

int64_t firn_scene_last_frame(const struct firn_scene *scene)
{
  return scene_last_frame(scene->scene);
}
