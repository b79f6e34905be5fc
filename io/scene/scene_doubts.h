/* What is doubtful in a valid scene: it can run, and what comes out is hardly what was meant. */
#ifndef FIRN_SCENE_DOUBTS_H
#define FIRN_SCENE_DOUBTS_H

#include "io/scene/scene_report.h"

/* One doubt as a line of text that says what to change, and the line of the scene that it is about; 0 for all
 * of the scene. */
typedef void scene_say(void *context, int line, const char *text);

/* Tells each doubt and returns their number. The files of the scene are loaded (scene_load()). Not
 * collective; takes a part of a second whatever the size, since it looks at a sample of points that is always
 * the same. */
int scene_doubts(const struct scene *scene, scene_say *say, void *context);

/* Tells that sound will cut the scene's fixed step, if it will; a run says so itself. */
bool scene_doubt_sound(const struct scene *scene, const struct scene_estimate *estimate, scene_say *say,
                       void *context);

#endif
