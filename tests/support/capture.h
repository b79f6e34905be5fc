/* Runs a subcommand in this process and keeps what it printed. */
#ifndef FIRN_TESTS_CAPTURE_H
#define FIRN_TESTS_CAPTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct captured {
  int code;
  char out[16384];
  char err[4096];
};

static inline FILE *capture_begin(int fd, int *saved)
{
  FILE *file = tmpfile();
  if (!file) abort();
  *saved = dup(fd);
  dup2(fileno(file), fd);
  return file;
}

static inline void capture_end(FILE *file, int fd, int saved, char *text, size_t size)
{
  dup2(saved, fd);
  close(saved);
  rewind(file);
  text[fread(text, 1, size - 1, file)] = '\0';
  fclose(file);
}

static inline void capture(struct captured *result, int (*command)(int, char **), int argc, char **argv)
{
  int saved_out, saved_err;
  fflush(NULL);
  FILE *out = capture_begin(STDOUT_FILENO, &saved_out), *err = capture_begin(STDERR_FILENO, &saved_err);
  result->code = command(argc, argv);
  fflush(NULL);
  capture_end(out, STDOUT_FILENO, saved_out, result->out, sizeof result->out);
  capture_end(err, STDERR_FILENO, saved_err, result->err, sizeof result->err);
}

#endif
