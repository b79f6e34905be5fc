/* `firn study`: many runs of one scene, made, looked up by job scripts, and brought together. Starts no MPI:
 * the runs themselves are jobs (jobs/sweep.sh, jobs/scaling.sh). */
#include "base/log.h"
#include "base/memory.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "io/scene/scene.h"
#include "study/study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
    "usage: firn study sweep SCENE.yml -o FOLDER KEY=A,B,C... [-- ARGUMENTS OF firn run]\n"
    "       firn study sweep SCENE.yml -o FOLDER TABLE.csv [-- ARGUMENTS OF firn run]\n"
    "       firn study strong|weak SCENE.yml -o FOLDER --ranks 1,2,4,8 [--repeats N] [--apart]\n"
    "                  [-- ARGUMENTS OF firn run]\n"
    "       firn study list FOLDER\n"
    "       firn study arguments FOLDER RUN\n"
    "       firn study collect FOLDER [--columns NAMES]\n"
    "\n"
    "Prepares many runs of one scene in one folder and collects their results. jobs/sweep.sh and\n"
    "jobs/scaling.sh do all of this in one command, with or without Slurm.\n"
    "\n"
    "  sweep      one run for each combination of values, or for each row of a table whose first line\n"
    "             names the keys\n"
    "  strong     the same scene on each number of ranks\n"
    "  weak       one copy of the scene per rank, side by side (domain.copies), on each number of ranks;\n"
    "             the snow of the copies meets, so that ranks exchange it (domain.copy_cells); each size\n"
    "             runs once more on another number of ranks, to compare the bits\n"
    "  list       print number and ranks of each run (0: as many as the job has), and its threads per\n"
    "             rank if the study chose them\n"
    "  arguments  print the arguments of firn run for one of them, one word per line\n"
    "  collect    write FOLDER/results.csv and pictures of the finished runs; works at any time\n"
    "\n";

struct options {
  const char *folder, *ranks, *columns;
  char **words; /* what is neither option nor behind -- */
  int word_count;
  char **rest; /* behind -- */
  int rest_count;
  int64_t repeats;
  bool apart, help;
};

static const struct option_row option_rows[] = {
    {"output", "FOLDER", "the folder of the study and its runs", 'o', OPTION_TEXT(struct options, folder)},
    {"ranks", "LIST",
     "increasing numbers of ranks; or ranks and threads of each, such as 1x1,1x2,1x4 for threads alone, or "
     "1x8,2x4,4x2,8x1 for the best split of 8 cores",
     OPTION_TEXT(struct options, ranks)},
    {"repeats", "N", "run each N times; tables and plots have the median, the least and the most",
     OPTION_COUNT(struct options, repeats, 1, 1000)},
    {"apart", NULL, "weak: keep the air around the snow of each copy", OPTION_FLAG(struct options, apart)},
    {"columns", "NAMES",
     "columns of a sweep, separated by commas: columns of history.csv (their last value), run.KEY of "
     "run.json "
     "such as run.seconds.stepping, and frame.FIELD.HOW of the last frame, such as frame.position_y.max or "
     "frame.density.mean; HOW is min, max, mean or sum",
     OPTION_TEXT(struct options, columns)},
};

static const struct option_table known = {"study", head, option_rows,
                                          sizeof option_rows / sizeof *option_rows, NULL};

/* Words behind "--" are firn run's; getopt must not look at them. */
static int split_at_dashes(int argc, char **argv, struct options *o)
{
  for (int k = 1; k < argc; k++)
    if (strcmp(argv[k], "--") == 0) {
      o->rest = argv + k + 1;
      o->rest_count = argc - k - 1;
      return k;
    }
  return argc;
}

static int read_options(int argc, char **argv, struct options *o, struct error *err)
{
  struct option_words words;
  *o = (struct options){.repeats = 1};
  argc = split_at_dashes(argc, argv, o);
  const int code = options_read(&known, argc, argv, o, &words, err);
  o->help = words.help;
  if (code || o->help) return code;
  o->words = words.word;
  o->word_count = words.count;
  if (o->word_count == 0) return error_set(err, FIRN_EINPUT, "study: no action given; see firn help study");
  return FIRN_OK;
}

/* Every run's scene is read now, so that a mistake shows before any job waits in a queue. */
static int check_runs(const struct study *s, struct error *err)
{
  char *text = NULL;
  int code = scene_file_text(&text, s->scene, err);
  for (int k = 0; k < s->run_count && !code; k++) {
    char **assignments = study_assignments(s, k);
    const char **overrides = mem_alloc((size_t)(s->key_count + s->argument_count), sizeof *overrides);
    int count = 0;
    for (int a = 0; a + 1 < s->argument_count; a++)
      if (strcmp(s->arguments[a], "--set") == 0) overrides[count++] = s->arguments[a + 1];
    for (int key = 0; key < s->key_count; key++) overrides[count++] = assignments[key];
    struct scene *scene = NULL;
    code = scene_parse(&scene, s->scene, text, overrides, count, err);
    if (!code && s->kind == STUDY_WEAK) code = scene_load(scene, NULL, err);
    if (code) error_prefix(err, "run %d of the study", k);
    scene_destroy(&scene);
    mem_free(overrides);
    study_free_words(assignments, s->key_count);
  }
  mem_free(text);
  return code;
}

/* The scene with the words of --set that all runs have, loaded; one copy of it. */
static int load_one(struct scene **out, const struct options *o, const char *path, struct error *err)
{
  char *text = NULL;
  const char **overrides = mem_alloc((size_t)o->rest_count + 1, sizeof *overrides);
  int count = 0, code = scene_file_text(&text, path, err);
  for (int k = 0; k + 1 < o->rest_count; k++)
    if (strcmp(o->rest[k], "--set") == 0) overrides[count++] = o->rest[k + 1];
  overrides[count++] = "domain.copies=1";
  if (!code) code = scene_parse(out, path, text, overrides, count, err);
  if (!code) code = scene_load(*out, NULL, err);
  mem_free(overrides);
  mem_free(text);
  return code;
}

/* How far apart the copies of a weak study are, so that they meet; 0 if the scene or --apart says it. note: a
 * line about it. */
static int copy_distance(const struct options *o, const char *path, int64_t *out, char note[160],
                         struct error *err)
{
  struct scene *scene = NULL;
  bool snow_touches;
  *out = 0;
  int code = load_one(&scene, o, path, err);
  if (code) error_prefix(err, "run 0 of the study");
  const int axis = code ? 0 : (int)scene->slab_axis;
  if (!code && !o->apart && scene->copy_cells == scene->cells[axis]) {
    *out = scene_touching_cells(scene, &snow_touches);
    snprintf(note, 160, "copies follow each other every %lld cells along %c%s", (long long)*out, 'x' + axis,
             snow_touches ? ", where their snow meets"
                          : "; bodies keep their snow apart (a smaller domain.copy_cells lets it meet)");
  }
  scene_destroy(&scene);
  return code;
}

static int make_scaling(struct study **out, const struct options *o, enum study_kind kind, char note[160],
                        struct error *err)
{
  struct study_plan plan = {.ranks = o->ranks, .repeats = (int)o->repeats};
  if (!o->ranks || o->word_count > 2)
    return error_set(err, FIRN_EINPUT, "study: %s needs one scene and --ranks 1,2,4,8", study_kinds[kind]);
  if (o->apart && kind != STUDY_WEAK)
    return error_set(err, FIRN_EINPUT, "study: --apart is for weak studies, whose scene has copies");
  const int code = kind == STUDY_WEAK ? copy_distance(o, o->words[1], &plan.copy_cells, note, err) : FIRN_OK;
  return code ? code : study_scaling(out, kind, o->words[1], &plan, err);
}

static int make(const struct options *o, enum study_kind kind, struct error *err)
{
  struct study *s = NULL;
  char note[160] = "";
  int code = FIRN_OK;
  if (o->word_count < 2 || !o->folder)
    return error_set(err, FIRN_EINPUT, "study: %s needs a scene and -o FOLDER; see firn help study",
                     study_kinds[kind]);
  const char *scene = o->words[1];
  if (kind == STUDY_SWEEP && o->word_count < 3)
    code = error_set(err, FIRN_EINPUT, "study: nothing to sweep; give KEY=A,B,C or a table in CSV");
  else if (kind == STUDY_SWEEP)
    code = study_sweep(&s, scene, o->words + 2, o->word_count - 2, err);
  else
    code = make_scaling(&s, o, kind, note, err);
  if (code) return code;
  s->folder = mem_strdup(o->folder);
  s->argument_count = o->rest_count;
  s->arguments = mem_alloc((size_t)o->rest_count, sizeof *s->arguments);
  for (int k = 0; k < o->rest_count; k++) s->arguments[k] = mem_strdup(o->rest[k]);
  code = study_check_words(s, err);
  if (!code) code = check_runs(s, err);
  if (!code) code = study_write(s, err);
  if (!code && *note) log_info("%s", note);
  if (!code) log_info("%s: %d runs to do", s->folder, s->run_count);
  study_destroy(&s);
  return code;
}

static int print_arguments(const struct options *o, const struct study *s, struct error *err)
{
  int64_t run;
  if (o->word_count != 3)
    return error_set(err, FIRN_EINPUT, "study: arguments needs the folder and the number of a run");
  const int code = option_count("study: the run", o->words[2], 0, s->run_count - 1, &run, err);
  if (!code) study_print_arguments(s, (int)run, stdout);
  return code;
}

static int look(const struct options *o, struct error *err)
{
  const char *verb = o->words[0];
  const bool list = strcmp(verb, "list") == 0, collect = strcmp(verb, "collect") == 0;
  struct study *s = NULL;
  if (!list && !collect && strcmp(verb, "arguments") != 0)
    return error_set(err, FIRN_EINPUT,
                     "study: \"%s\" is neither sweep, strong, weak, list, arguments nor collect", verb);
  if (o->word_count < 2 || (o->word_count > 2 && (list || collect)))
    return error_set(err, FIRN_EINPUT, "study: %s needs the folder of a study", verb);
  int code = study_read(&s, o->words[1], err);
  for (int k = 0; list && !code && k < s->run_count; k++) {
    printf("%d %d", k, s->runs[k].ranks);
    if (s->runs[k].threads) printf(" %d", s->runs[k].threads);
    putchar('\n');
  }
  if (!list && !collect && !code) code = print_arguments(o, s, err);
  if (collect && !code)
    code = s->kind == STUDY_SWEEP ? study_collect_sweep(s, o->columns, stdout, err)
                                  : study_collect_scaling(s, stdout, err);
  study_destroy(&s);
  return code;
}

int cmd_study(int argc, char **argv)
{
  struct options options;
  struct error err = {0};
  int code = read_options(argc, argv, &options, &err);
  if (!code && options.help) {
    options_help(&known);
    return EXIT_SUCCESS;
  }
  if (!code) {
    int kind = 0;
    while (kind < STUDY_KINDS && strcmp(options.words[0], study_kinds[kind]) != 0) kind++;
    code = kind < STUDY_KINDS ? make(&options, (enum study_kind)kind, &err) : look(&options, &err);
  }
  if (code) fprintf(stderr, "firn: %s\n", err.text);
  return code ? EXIT_FAILURE : EXIT_SUCCESS;
}
