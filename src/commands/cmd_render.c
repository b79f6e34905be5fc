/* firn render FRAME... -o OUT.png: frames by path tracing, on any number of ranks. */
#include "commands/commands.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "commands/cmd_pictures.h"
#include "decomposition/topology.h"
#include "run/launch.h"

#include <stdio.h>
#include <stdlib.h>

static const char head[] =
    "usage: firn render FRAME... -o OUT.png [OPTIONS]\n"
    "       firn render SCENE.yml -o OUT.png [OPTIONS]\n"
    "       mpirun -n RANKS firn render ...\n"
    "\n"
    "Traces light through the snow as a scattering volume, with sun, sky, ground and bodies (section 9\n"
    "of the 2013 paper). Several frames give a sheet, or one file each with --each. The picture has the\n"
    "same bits on any number of ranks and threads. A name that ends in .exr gets\n"
    "linear floats with layers of depth, normal and id, one in .pfm linear floats.\n"
    "\n";

static void tell(const struct picture_args *args, const struct sheet_layout *layout,
                 const struct picture_report *report)
{
  const int count = args->sheet.shot.frame_count;
  const double pixels = (double)layout->panel_width * layout->panel_height * count;
  log_info("%s: %d frame%s, %dx%d pixels, %.1f paths per pixel, mean error %.3f, grid %.1f MB, %.1f s",
           args->sheet.each ? args->sheet.each : args->sheet.output, count, count == 1 ? "" : "s",
           args->sheet.each ? layout->panel_width : layout->width,
           args->sheet.each ? layout->panel_height : layout->height, (double)report->samples / pixels,
           report->error, 1e-6 * report->bytes, report->seconds);
}

int cmd_render(int argc, char **argv)
{
  struct picture_args args;
  struct sheet_layout layout;
  struct picture_report report;
  struct error err = {.code = FIRN_OK};
  struct comm comm;
  int code = picture_args_read(argc, argv, PICTURE_RENDER, &args, &err);
  if (!code && args.help) {
    picture_args_help(PICTURE_RENDER, head);
    return EXIT_SUCCESS;
  }
  comm_start(&comm, &argc, &argv);
  log_configure(args.quiet ? LOG_WARN : LOG_INFO, comm.rank, comm_abort);
  log_show_progress(LOG_BAR_AUTO);
  mem_free(topology_plan(&comm, args.threads, BIND_AUTO));
  if (!code) code = sheet_draw(&comm, &args.sheet, &layout, &report, &err);
  if (!code) tell(&args, &layout, &report);
  const int exit_code = code ? launch_fail(&comm, &err) : EXIT_SUCCESS;
  comm_stop(&comm);
  return exit_code;
}
