/* The options that preview, render and movie share, from the command line. */
#ifndef FIRN_CMD_PICTURES_H
#define FIRN_CMD_PICTURES_H

#include "base/error.h"
#include "render/sheet.h"

enum picture_command { PICTURE_PREVIEW = 1, PICTURE_RENDER = 2, PICTURE_MOVIE = 4 };

struct picture_args {
  struct sheet_request sheet;
  struct picture_options trace; /* sheet.shot.trace points here for a traced picture */
  double rate;                  /* movie: pictures a second; 0: the scene's */
  const char *keep;             /* movie: folder of its pictures; NULL: beside it */
  bool draft;                   /* few paths, a small picture */
  bool traced;                  /* movie: by the path tracer */
  char signature[4096];         /* all options that change pictures, as text */
  int threads;                  /* 0: as the machine suggests */
  bool quiet, help;
};

/* The arguments that are left are sheet.shot.frames. */
int picture_args_read(int argc, char **argv, enum picture_command command, struct picture_args *args,
                      struct error *err);

/* Prints the help of a command: `head`, and its options. */
void picture_args_help(enum picture_command command, const char *head);

#endif
