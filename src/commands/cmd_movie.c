/* firn movie RUN -o OUT.mp4: the frames of a run as a film.
 *
 * Pictures are kept in a folder beside the film, one per frame, and made only where they are missing, older
 * than their frame, or were made with other options: a film that was interrupted continues where it stopped,
 * and one of a run in progress can be made again later at the price of the new frames. Previews are shared
 * out among the ranks; traced pictures are made by all ranks together. ffmpeg makes the film, where it is
 * installed. */
#include "commands/commands.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "commands/cmd_pictures.h"
#include "decomposition/topology.h"
#include "io/file.h"
#include "io/particles/frame.h"
#include "run/launch.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help_head[] =
    "usage: firn movie RUN -o OUT.mp4 [OPTIONS]\n"
    "       mpirun -n RANKS firn movie ...\n"
    "\n"
    "Makes a film of the frames of a run. RUN is its output folder, or a list of frames. Pictures are\n"
    "drawn quickly, or traced with --render. Pictures that exist are kept, so an interrupted film can be\n"
    "continued. Without ffmpeg the pictures stay.\n"
    "\n";

/* Where the pictures of a film are, and of what. */
struct film_set {
  char *folder;
  char **frame; /* paths */
  int count;
  const char *options; /* what the pictures depend on, as text */
};

/* Frames of a run's folder, or the frames themselves. */
static int list_frames(const struct shot_options *shot, struct film_set *set, struct error *err)
{
  if (shot->frame_count == 1 && file_is_folder(shot->frames[0])) {
    char *folder = file_join(shot->frames[0], "frames");
    struct file_list *list = NULL;
    int code = file_list_create(&list, folder, "frame_", ".h5", err);
    if (!code && list->count == 0) code = error_set(err, FIRN_EINPUT, "%s: there are no frames yet", folder);
    for (int k = 0; !code && k < list->count; k++) {
      if (k == 0) set->frame = mem_alloc((size_t)list->count, sizeof *set->frame);
      set->frame[set->count++] = file_join(folder, list->names[k]);
    }
    file_list_destroy(&list);
    mem_free(folder);
    return code;
  }
  set->frame = mem_alloc((size_t)shot->frame_count, sizeof *set->frame);
  for (; set->count < shot->frame_count; set->count++)
    set->frame[set->count] = mem_strdup(shot->frames[set->count]);
  return FIRN_OK;
}

static void destroy_set(struct film_set *set)
{
  for (int k = 0; k < set->count; k++) mem_free(set->frame[k]);
  mem_free(set->frame);
  mem_free(set->folder);
}

static char *picture_path(const struct film_set *set, int index)
{
  char name[32];
  snprintf(name, sizeof name, "%06d.png", index);
  return file_join(set->folder, name);
}

static bool is_picture_name(const char *name)
{
  return file_number(name, "", 6, ".png") >= 0;
}

/* Pictures of other options are removed, but none that a film did not leave there. */
static int clear_pictures(const struct film_set *set, bool known, struct error *err)
{
  struct file_list *list = NULL;
  int removed = 0, code = file_list_create(&list, set->folder, "", ".png", err);
  for (int k = 0; !code && k < list->count; k++) {
    char *picture = file_join(set->folder, list->names[k]);
    if (!known)
      code = error_set(err, FIRN_EINPUT,
                       "%s has pictures that are not of a film; give --pictures another folder", set->folder);
    else if (is_picture_name(list->names[k]) && unlink(picture) == 0)
      removed++;
    mem_free(picture);
  }
  if (!code && removed > 0) log_info("making %d pictures again: the options have changed", removed);
  file_list_destroy(&list);
  return code;
}

/* Whether a text is the options of a film, one per line. */
static bool is_options(const char *text)
{
  while (*text) {
    if (strncmp(text, "--", 2) != 0) return false;
    text += strcspn(text, "\n");
    text += *text == '\n';
  }
  return true;
}

/* Rank 0: makes the folder, with the options that its pictures are made with. */
static int prepare_folder(const struct film_set *set, struct error *err)
{
  char *path = file_join(set->folder, "options.txt"), *old = NULL;
  size_t size;
  int code = file_make_folder(set->folder, err);
  const bool there = !code && file_read(path, 1 << 20, &old, &size, NULL) == FIRN_OK,
             known = there && is_options(old);
  if (!code) code = file_check_replaceable(path, known, "the options of a film", err);
  if (!code && (!known || strcmp(old, set->options) != 0)) {
    code = clear_pictures(set, known, err);
    if (!code) code = file_write(path, 0, set->options, strlen(set->options), err);
  }
  mem_free(old);
  mem_free(path);
  return code;
}

static bool is_missing(const struct film_set *set, int index)
{
  struct stat picture, frame;
  char *path = picture_path(set, index);
  const bool missing = stat(path, &picture) != 0 || stat(set->frame[index], &frame) != 0 ||
                       picture.st_mtim.tv_sec < frame.st_mtim.tv_sec;
  mem_free(path);
  return missing;
}

static int paint(struct shot *shot, const struct film_set *set, int index, const struct sheet_layout *layout,
                 bool writes, struct error *err)
{
  struct image *image = image_create(layout->panel_width, layout->panel_height);
  struct picture_report report;
  char *path = picture_path(set, index);
  int code = shot_paint(shot, index, image, NULL, &report, err);
  if (!code && writes) code = image_write_png(image, path, err);
  mem_free(path);
  image_destroy(&image);
  return code;
}

/* Rank 0's list of what is missing, on all ranks; for mem_free(). */
static int *find_missing(const struct comm *comm, const struct film_set *set, int *count)
{
  int *missing = mem_alloc((size_t)set->count, sizeof *missing);
  *count = 0;
  for (int k = 0; comm->rank == 0 && k < set->count; k++)
    if (is_missing(set, k)) missing[(*count)++] = k;
  comm_broadcast(comm, count, sizeof *count);
  comm_broadcast(comm, missing, (size_t)*count * sizeof *missing);
  return missing;
}

static int paint_missing(const struct comm *comm, struct shot *shot, const struct film_set *set,
                         const int *missing, int count, bool traced, const struct sheet_layout *layout,
                         struct error *err)
{
  int code = FIRN_OK;
  for (int k = 0; k < count && !code; k++) {
    const bool mine = k % comm->size == comm->rank;
    if (traced || mine) code = paint(shot, set, missing[k], layout, traced ? comm->rank == 0 : true, err);
    if (traced) code = comm_agree(comm, code, err);
    log_progress("picture %d of %d", k + 1, count);
  }
  return comm_agree(comm, code, err);
}

static int make_pictures(const struct comm *comm, struct picture_args *args, struct film_set *set,
                         struct sheet_layout *layout, struct error *err)
{
  struct shot_options options = args->sheet.shot;
  struct shot *shot = NULL;
  int code = comm_agree(comm, comm->rank == 0 ? prepare_folder(set, err) : FIRN_OK, err), count;
  if (code) return code;
  options.frames = set->frame;
  options.frame_count = set->count;
  options.aspect = (double)layout->panel_width / layout->panel_height;
  int *missing = find_missing(comm, set, &count);
  if (count > 0) {
    log_info("%d of %d pictures to make, in %s", count, set->count, set->folder);
    code = shot_open(&shot, comm, &options, err);
    if (!code) code = paint_missing(comm, shot, set, missing, count, options.trace != NULL, layout, err);
    shot_close(&shot);
  }
  mem_free(missing);
  return code;
}

/* Pictures a second: what is asked for, or so many that the film runs at the pace of the world. */
static double rate_of(const struct film_set *set, double wanted)
{
  struct frame_info first, second;
  int64_t count;
  double rate = 24.0;
  if (wanted > 0.0) return wanted;
  if (set->count > 1 && !frame_read_info(set->frame[0], &first, &count, NULL) &&
      !frame_read_info(set->frame[1], &second, &count, NULL) && second.time > first.time)
    rate = 1.0 / (second.time - first.time);
  return rate < 1.0 ? 1.0 : rate > 240.0 ? 240.0 : rate;
}

/* What files begin with that ffmpeg writes films to: MP4 and MOV, Matroska and WebM, AVI, Ogg, GIF, WebP,
 * MPEG, FLV. */
static bool is_film(const char *path)
{
  static const struct {
    size_t at, size;
    const char *bytes;
  } beginnings[] = {{4, 4, "ftyp"}, {0, 4, "\x1a\x45\xdf\xa3"}, {0, 4, "RIFF"}, {0, 4, "OggS"},
                    {0, 4, "GIF8"}, {0, 3, "\0\0\1"},           {0, 3, "FLV"}};
  char head[8] = "";
  FILE *file = fopen(path, "rbe");
  const size_t length = file ? fread(head, 1, sizeof head, file) : 0;
  if (file) fclose(file);
  for (size_t k = 0; k < sizeof beginnings / sizeof *beginnings; k++)
    if (length == sizeof head &&
        memcmp(head + beginnings[k].at, beginnings[k].bytes, beginnings[k].size) == 0)
      return true;
  return false;
}

static int check_film(const char *path, struct error *err)
{
  return file_check_replaceable(path, is_film(path), "a film", err);
}

/* A name that ffmpeg takes for nothing but a file's: neither an option, nor another protocol, nor, if it is
 * read, a pattern. To be freed with mem_free(). */
static char *plain_name(const char *name, bool is_pattern)
{
  char *plain = mem_alloc(2 * strlen(name) + 8, 1), *at = plain;
  at += sprintf(at, "file:");
  for (; *name; name++) {
    if (*name == '%' && is_pattern) *at++ = '%';
    *at++ = *name;
  }
  return plain;
}

/* Pictures of a folder, as ffmpeg counts them. */
static char *picture_pattern(const char *folder)
{
  char *plain = plain_name(folder, true), *pattern = file_join(plain, "%06d.png");
  mem_free(plain);
  return pattern;
}

static int run_ffmpeg(const struct film_set *set, const char *output, double rate, struct error *err)
{
  char pace[32], pictures[32], *pattern = picture_pattern(set->folder), *temp = file_temp_name(output, 0),
                               *part = mem_alloc(strlen(temp) + strlen(output) + 8, 1);
  const char *dot = strrchr(output, '.'), *slash = strrchr(output, '/');
  const bool suffix = dot && (!slash || dot > slash);
  pid_t child;
  int status = 0, code = FIRN_OK;
  snprintf(pace, sizeof pace, "%.9g", rate);
  snprintf(pictures, sizeof pictures, "%d", set->count); /* a longer run may have left more */
  /* ffmpeg goes by the suffix, so that of the temporary is the same. */
  sprintf(part, "%s%s", temp, suffix ? dot : ".mp4");
  char *target = plain_name(part, false);
  char *const words[] = {"ffmpeg",
                         "-nostdin",
                         "-v",
                         "error",
                         "-y",
                         "-framerate",
                         pace,
                         "-i",
                         pattern,
                         "-frames:v",
                         pictures,
                         "-vf",
                         "pad=ceil(iw/2)*2:ceil(ih/2)*2",
                         "-pix_fmt",
                         "yuv420p",
                         "-movflags",
                         "+faststart",
                         target,
                         NULL};
  const char *named = getenv("FIRN_FFMPEG"), *program = named && *named ? named : "ffmpeg";
  const int failed = posix_spawnp(&child, program, NULL, NULL, words, environ);
  if (failed == ENOENT)
    log_info("%s is not installed, so there is no film; its pictures are in %s", program, set->folder);
  else if (failed)
    code = error_set(err, FIRN_EIO, "ffmpeg cannot be started: %s", strerror(failed));
  else if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    code = error_set(err, FIRN_EIO, "%s: ffmpeg failed; the pictures are in %s", output, set->folder);
  if (!code && !failed) code = check_film(output, err);
  if (!code && !failed) code = file_commit(part, output, err);
  if (code) unlink(part);
  if (!code && !failed) log_info("%s: %d pictures at %.4g per second", output, set->count, rate);
  mem_free(target);
  mem_free(part);
  mem_free(temp);
  mem_free(pattern);
  return code;
}

/* "OUT.mp4" -> "OUT_pictures". */
static char *default_folder(const char *output)
{
  const char *dot = strrchr(output, '.'), *slash = strrchr(output, '/');
  const int stem = dot && (!slash || dot > slash) ? (int)(dot - output) : (int)strlen(output);
  char *folder = mem_alloc((size_t)stem + 16, 1);
  sprintf(folder, "%.*s_pictures", stem, output);
  return folder;
}

static int make(const struct comm *comm, struct picture_args *args, struct film_set *set, struct error *err)
{
  struct sheet_layout layout;
  args->sheet.each = "%d"; /* single pictures: their default size */
  int code = sheet_layout(&args->sheet, &layout, err);
  if (!code && comm->rank == 0) code = check_film(args->sheet.output, err);
  if (!code) code = list_frames(&args->sheet.shot, set, err);
  code = comm_agree(comm, code, err);
  if (!code) code = make_pictures(comm, args, set, &layout, err);
  return code;
}

int cmd_movie(int argc, char **argv)
{
  struct picture_args args;
  struct error err = {.code = FIRN_OK};
  struct comm comm;
  struct film_set set = {.options = NULL};
  int code = picture_args_read(argc, argv, PICTURE_MOVIE, &args, &err);
  if (!code && args.help) {
    picture_args_help(PICTURE_MOVIE, help_head);
    return EXIT_SUCCESS;
  }
  set.options = args.signature;
  if (!code) set.folder = args.keep ? mem_strdup(args.keep) : default_folder(args.sheet.output);
  comm_start(&comm, &argc, &argv);
  log_configure(args.quiet ? LOG_WARN : LOG_INFO, comm.rank, comm_abort);
  log_show_progress(LOG_BAR_AUTO);
  mem_free(topology_plan(&comm, args.threads, BIND_AUTO));
  if (!code) code = make(&comm, &args, &set, &err);
  const int rank = comm.rank;
  int exit_code = code ? launch_fail(&comm, &err) : EXIT_SUCCESS;
  comm_stop(&comm); /* before another program is started */
  if (!code && rank == 0 && run_ffmpeg(&set, args.sheet.output, rate_of(&set, args.rate), &err)) {
    fprintf(stderr, "firn: %s\n", err.text);
    exit_code = EXIT_FAILURE;
  }
  destroy_set(&set);
  return exit_code;
}
