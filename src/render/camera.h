/* A camera with a pinhole or a lens, and one that finds its own place: in front of what the picture is to
 * show. */
#ifndef FIRN_RENDER_CAMERA_H
#define FIRN_RENDER_CAMERA_H

struct camera {
  double eye[3];                      /* m */
  double right[3], up[3], forward[3]; /* unit, orthogonal */
  double tangent;                     /* of half the vertical field of view */
  double aperture;                    /* m, diameter of the lens; 0 a pinhole, all is sharp */
  double focus;                       /* m along `forward` to what is sharp */
};

/* Looks from eye to target; `up` is a hint. Degenerate input (eye = target, up along the view) gives some
 * sane view. */
void camera_look(struct camera *camera, const double eye[3], const double target[3], const double up[3],
                 double field_of_view);

/* Stands back along the direction that azimuth (turn about `up`, rad; at 0 the x axis points right where up
 * is y or z) and elevation (rad) give until all points (m, at least one) fill a picture of the given
 * width/height ratio, with a margin. */
void camera_frame(struct camera *camera, const double (*points)[3], int count, const double up[3],
                  double azimuth, double elevation, double aspect);

/* The ray through a point of a picture: x and y from its middle in units of half its height, x to the right
 * and y up; `lens` is a point of the unit disc. The direction is of unit length. */
void camera_ray(const struct camera *camera, double x, double y, const double lens[2], double origin[3],
                double direction[3]);

/* Two unit vectors that make a right-handed frame with the unit vector n; they change smoothly with n near
 * the axes. */
void camera_tangents(const double n[3], double first[3], double second[3]);

#endif
