/* Takes noise out of a film: non-local means (Rousselle, Knaus and Zwicker 2012).
 *
 * A pixel becomes a mean of pixels around it whose neighbourhoods look the same within what their errors
 * allow. The weights for the even samples come from the odd ones and the other way round, so that noise does
 * not choose itself. Edges, grains and shadows stay where the samples show them. */
#ifndef FIRN_RENDER_DENOISE_H
#define FIRN_RENDER_DENOISE_H

#include "render/trace/film.h"

/* Replaces the means. The result does not depend on the number of threads. */
void denoise(struct film *film, int threads);

#endif
