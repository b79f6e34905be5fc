/* Shapes as signed distances: negative inside. Snow is seeded inside them and bodies are made of them.
 *
 * The first kinds have closed formulas and exact distances. The others are made of parts: children (a tree of
 * set operations), a grid of sampled distances (a mesh), heights over a plane, or keyed grids of a body that
 * deforms. What these parts hold lies in the shape's own coordinates, centre at the origin and axes along
 * `axes`, so that a copy of the struct with other centre and axes is the same thing elsewhere: a moving
 * body never copies a grid.
 *
 * The sign is right everywhere, and the values change no faster than the metric allows, but for heightfields
 * and deforming grids, where they may. shape_range() is what decides whether a region can be skipped: it
 * holds for every kind. */
#ifndef FIRN_LEVELSET_SHAPE_H
#define FIRN_LEVELSET_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

enum shape_kind {
  SHAPE_NONE, /* nothing at all: a shape that nobody gave, or a body outside its time. 0: all zeros mean it */
  SHAPE_PLANE,
  SHAPE_SPHERE,
  SHAPE_BOX,
  SHAPE_CAPSULE,
  SHAPE_CYLINDER,
  SHAPE_CONE,
  SHAPE_WEDGE,
  SHAPE_HEIGHTFIELD,
  SHAPE_MESH,
  SHAPE_KEYS, /* a body that deforms: keyed grids */
  SHAPE_UNION,
  SHAPE_INTERSECTION,
  SHAPE_DIFFERENCE, /* the first child without the others */
  SHAPE_SMOOTH_UNION,
  SHAPE_SHELL,   /* of one child: what is inside it and nearer to its surface than `amount` */
  SHAPE_OFFSET,  /* of one child: grown by `amount`, or shrunk */
  SHAPE_LAYER,   /* on one child's upward faces: outside it, nearer than `amount`, inside the second child */
  SHAPE_TEXT,    /* an outline, extruded along z by half[2] to both sides */
  SHAPE_RELEASE, /* snow on a terrain, as thick as a raster says */
};

struct sdf;
struct outline;
struct release;
struct heights;
struct keyed;

/* A file that a shape is made from; read by io/assets/assets.h, after which the shape is ready. */
struct shape_source {
  char *path;     /* text: of the font, or its name */
  char *text;     /* text: what it says; NULL else */
  int line;       /* in the scene, for messages */
  double scale;   /* mesh: metres per unit of the file; image: height of white, m; text: height, m */
  double spacing; /* m; mesh: of the distance grid */
  bool cyclic;    /* keys: the last is the first again */
  bool terrain;   /* heightfield: the scene's terrain */
  bool vertical;  /* release: its thickness (`scale`, m; 0: the raster's) is measured straight up */
};

struct shape {
  enum shape_kind kind;
  double center[3]; /* m; plane: a point on it; capsule, cylinder, cone: the middle of the axis */
  double axis[3];   /* unit; plane: outward normal; capsule, cylinder, cone: direction of the axis */
  double radius;    /* m; sphere, capsule, cylinder; cone: at the axis's beginning */
  double half[3];   /* m; box, wedge: half edge lengths; capsule, cylinder, cone: half[0] is half the axis;
                       heightfield: halves of the footprint along x and z, and how deep it goes below 0;
                       layer: the way up (unit), or zero where it lies on all faces */
  double axes[9];   /* rotation, row-major, own axes as columns; identity for what `axis` directs */

  double amount;       /* m; cone: radius at the axis's end; shell, layer: thickness; offset: distance;
                          smooth union: width of the blend */
  struct shape *child; /* owned; in own coordinates */
  int child_count;
  bool settled;
  double low[3], high[3];      /* bounds in own coordinates, of the kinds that are made of parts */
  double volume;               /* m^3, of those kinds */
  struct shape_source *source; /* owned; NULL where nothing is read */
  struct heights *heights;     /* owned, unless `shared` */
  bool shared;                 /* the heights are the scene's terrain */
  struct outline *outline;     /* owned */
  struct release *release;     /* owned */
  const struct sdf *sdf;       /* mesh; the scene's */
  const struct keyed *keys;    /* the scene's */
  int key;                     /* keys: the moment lies between this key and the next */
  double gamma;                /* keys: and this fraction of the way */
  bool frozen;                 /* keys: before the first or after the last, where nothing moves */
};

/* Distance at x (m); the outward normal goes to n unless it is NULL. */
double shape_distance(const struct shape *shape, const double x[3], double n[3]);

/* Whether the distance is not positive; letters far above or below their plane cost no distance. */
bool shape_contains(const struct shape *shape, const double x[3]);

/* Bounds of the distance over the ball around x: a ball with *least > 0 holds no point of the shape. */
void shape_range(const struct shape *shape, const double x[3], double radius, double *least, double *most);

/* Velocity (m/s) that a deforming shape has at x in its own coordinates, returned in the world's; zero for
 * all other kinds. */
void shape_deformation_velocity(const struct shape *shape, const double x[3], double v[3]);

/* m^3; infinite for what is unbounded. */
double shape_volume(const struct shape *shape);

/* Axis-aligned bounds (m); false for an unbounded shape. */
bool shape_bounds(const struct shape *shape, double lower[3], double upper[3]);

/* Radius of a ball around `center` that holds the shape; infinite for an unbounded one. */
double shape_reach(const struct shape *shape);

/* Balls of one radius (m) whose convex hull holds a bounded shape; their middles are from `center`. */
struct shape_hull {
  double point[8][3], radius;
  int count;
};
void shape_hull(const struct shape *shape, struct shape_hull *hull);

/* False while a part of it must still be read from a file: then only its tree may be looked at. */
bool shape_is_ready(const struct shape *shape);

/* To be called when all parts are there: puts the centre of a shape made of parts into the middle of its
 * bounds and notes them. shape_finish() also sums the volume, for shapes that hold snow. Calling again does
 * nothing new; kinds of closed formulas need neither. */
void shape_settle(struct shape *shape);
void shape_finish(struct shape *shape);

/* Frees what the shape owns, not the struct; a posed copy owns nothing and must not be destroyed. */
void shape_destroy(struct shape *shape);

/* x in the shape's own coordinates, and a direction back in the world's. */
void shape_to_own(const struct shape *shape, const double x[3], double own[3]);
void shape_to_world(const struct shape *shape, const double own[3], double direction[3]);

#endif
