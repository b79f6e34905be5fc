/* firn preview FRAME... -o OUT.png: frames as a shaded picture or a contact sheet. One process, no MPI. */
#include "commands/commands.h"

#include "base/error.h"
#include "base/log.h"
#include "commands/cmd_pictures.h"
#include "render/sheet.h"

#include <stdio.h>
#include <stdlib.h>

static const char head[] =
    "usage: firn preview FRAME... -o OUT.png [OPTIONS]\n"
    "       firn preview SCENE.yml -o OUT.png [OPTIONS]\n"
    "\n"
    "Draws the snow and the bodies of a frame in sunlight, in about a second. Several frames give a\n"
    "contact sheet under one camera, each with its time. A scene is drawn before its run: its seeded\n"
    "snow, its bodies, and what its camera sees. The camera is --eye and --target, or that of\n"
    "the scene, or one that sees all the snow.\n"
    "\n";

int cmd_preview(int argc, char **argv)
{
  struct picture_args args;
  struct sheet_layout layout;
  struct picture_report report;
  struct error err = {.code = FIRN_OK};
  int code = picture_args_read(argc, argv, PICTURE_PREVIEW, &args, &err);
  if (!code && args.help) {
    picture_args_help(PICTURE_PREVIEW, head);
    return EXIT_SUCCESS;
  }
  if (!code) code = sheet_draw(NULL, &args.sheet, &layout, &report, &err);
  if (code) {
    fprintf(stderr, "firn: %s\n", err.text);
    return EXIT_FAILURE;
  }
  const int count = args.sheet.shot.frame_count;
  if (args.sheet.each)
    log_info("%s: %d files of %dx%d pixels", args.sheet.each, count, layout.panel_width, layout.panel_height);
  else
    log_info("%s: %d frame%s, %dx%d pixels", args.sheet.output, count, count == 1 ? "" : "s", layout.width,
             layout.height);
  return EXIT_SUCCESS;
}
