/* firn preview FRAME... -o OUT.png: frames as a shaded picture or a contact sheet. One process, no MPI. */
#include "commands.h"

#include "base/error.h"
#include "base/log.h"
#include "render/sheet.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: firn preview FRAME... -o OUT.png [--size WxH] [--columns N] [--eye X,Y,Z --target X,Y,Z] "
    "[--scene FILE]\n\n"
    "Draws the snow and the bodies of a frame in sunlight; of several frames a contact sheet, all under one "
    "camera\n"
    "and each with its time. The camera is --eye and --target, or the scene's, or one that sees all the "
    "snow.\n\n"
    "  -o, --output OUT.png  the picture to write\n"
    "  --size WxH            pixels of each panel (1280x720 for one frame, 640x360 for several)\n"
    "  --columns N           panels side by side\n"
    "  --eye X,Y,Z           where the camera stands (m); with --target\n"
    "  --target X,Y,Z        what it looks at (m)\n"
    "  --scene FILE          take bodies, gravity and camera from this scene, not from the one in the first "
    "frame\n";

static int parse_count(const char *text, int *out, const char **end)
{
  char *stop;
  const long value = strtol(text, &stop, 10);
  if (stop == text || value < 1 || value > 1000000) return -1;
  *out = (int)value;
  *end = stop;
  return 0;
}

static int parse_size(const char *text, struct sheet_request *request, struct error *err)
{
  const char *end = text;
  if (parse_count(text, &request->width, &end) == 0 && *end == 'x' &&
      parse_count(end + 1, &request->height, &end) == 0 && *end == '\0')
    return FIRN_OK;
  return error_set(err, FIRN_EINPUT, "--size '%s' is not a size such as 1280x720", text);
}

static int parse_columns(const char *text, struct sheet_request *request, struct error *err)
{
  const char *end = text;
  if (parse_count(text, &request->columns, &end) == 0 && *end == '\0') return FIRN_OK;
  return error_set(err, FIRN_EINPUT, "--columns '%s' is not a positive number", text);
}

static int parse_point(const char *option, const char *text, double out[3], struct error *err)
{
  const char *at = text;
  for (int d = 0; d < 3; d++) {
    char *end;
    out[d] = strtod(at, &end);
    if (end == at || !isfinite(out[d]) || *end != (d < 2 ? ',' : '\0'))
      return error_set(err, FIRN_EINPUT, "%s '%s' is not a point such as 1,0.5,2 (m)", option, text);
    at = end + 1;
  }
  return FIRN_OK;
}

enum { OPTION_SIZE = 256, OPTION_COLUMNS, OPTION_EYE, OPTION_TARGET, OPTION_SCENE, OPTION_HELP };

static const struct option options[] = {
    {"output", required_argument, NULL, 'o'},
    {"size", required_argument, NULL, OPTION_SIZE},
    {"columns", required_argument, NULL, OPTION_COLUMNS},
    {"eye", required_argument, NULL, OPTION_EYE},
    {"target", required_argument, NULL, OPTION_TARGET},
    {"scene", required_argument, NULL, OPTION_SCENE},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

/* What getopt did not accept, as the user wrote it. */
static int refuse(int letter, char **argv, struct error *err)
{
  const char *given = argv[optind - 1];
  if (letter == ':')
    return error_set(err, FIRN_EINPUT, "%s needs a value; 'firn help preview' lists the options", given);
  return error_set(err, FIRN_EINPUT, "unknown option '%s'; 'firn help preview' lists the options", given);
}

static int check_request(const struct sheet_request *request, bool eye, bool target, struct error *err)
{
  if (request->frame_count == 0)
    return error_set(err, FIRN_EINPUT, "no frame given; try 'firn help preview'");
  if (request->output == NULL || *request->output == '\0')
    return error_set(err, FIRN_EINPUT, "no picture to write to; add -o OUT.png");
  if (eye != target)
    return error_set(err, FIRN_EINPUT, "--eye and --target need each other; give both or none");
  if (eye && memcmp(request->camera.eye, request->camera.target, sizeof request->camera.eye) == 0)
    return error_set(err, FIRN_EINPUT,
                     "--eye and --target are the same point; there is no direction to look");
  return FIRN_OK;
}

static int parse(int argc, char **argv, struct sheet_request *request, bool *help, struct error *err)
{
  bool eye = false, target = false;
  int code = FIRN_OK, letter;
  optind = 0; /* main may have parsed before us */
  opterr = 0;
  while (code == FIRN_OK && (letter = getopt_long(argc, argv, ":o:", options, NULL)) != -1) {
    switch (letter) {
    case 'o': request->output = optarg; break;
    case OPTION_SIZE: code = parse_size(optarg, request, err); break;
    case OPTION_COLUMNS: code = parse_columns(optarg, request, err); break;
    case OPTION_EYE:
      code = parse_point("--eye", optarg, request->camera.eye, err);
      eye = true;
      break;
    case OPTION_TARGET:
      code = parse_point("--target", optarg, request->camera.target, err);
      target = true;
      break;
    case OPTION_SCENE: request->scene = optarg; break;
    case OPTION_HELP: *help = true; return FIRN_OK;
    default: code = refuse(letter, argv, err);
    }
  }
  if (code != FIRN_OK) return code;
  request->frames = argv + optind;
  request->frame_count = argc - optind;
  request->camera.given = eye && target;
  return check_request(request, eye, target, err);
}

int cmd_preview(int argc, char **argv)
{
  struct sheet_request request = {.frames = NULL};
  struct sheet_layout layout;
  struct error err = {.code = FIRN_OK};
  bool help = false;
  int code = parse(argc, argv, &request, &help, &err);
  if (help) {
    fputs(usage, stdout);
    return EXIT_SUCCESS;
  }
  if (code == FIRN_OK) code = sheet_draw(&request, &layout, &err);
  if (code != FIRN_OK) {
    fprintf(stderr, "firn: %s\n", err.text);
    return EXIT_FAILURE;
  }
  log_info("%s: %d frame%s, %dx%d pixels", request.output, request.frame_count,
           request.frame_count == 1 ? "" : "s", layout.width, layout.height);
  return EXIT_SUCCESS;
}
