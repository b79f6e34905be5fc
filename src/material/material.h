/* A material as a scene describes it: a model, a density and the model's parameters.
 *
 * Every parameter is a double: flags are 0 or 1, choices count from 0. So one row a parameter (its word in a
 * scene, default, unit, what is allowed and what is sensible) is all that reading, checking and writing need,
 * and the same rows serve `firn check`. Rows and constants of a model are in its file (sand.c); its lane
 * functions, which the kernels call, are in its header (sand.h); models.h has the table of those.
 * docs/method.md has the formulas and what the parameters mean. */
#ifndef FIRN_MATERIAL_MATERIAL_H
#define FIRN_MATERIAL_MATERIAL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* All models: a name as enumerator and as word. */
#define MATERIAL_MODELS(X)                                                                                   \
  X(SNOW, snow)                                                                                              \
  X(COROTATED, corotated)                                                                                    \
  X(NEO_HOOKEAN, neo_hookean)                                                                                \
  X(SAND, sand)                                                                                              \
  X(CAM_CLAY, cam_clay)                                                                                      \
  X(VON_MISES, von_mises)                                                                                    \
  X(WATER, water)

#define MATERIAL_ENUMERATOR(NAME, name) MODEL_##NAME,
enum material_model { MATERIAL_MODELS(MATERIAL_ENUMERATOR) MODEL_COUNT };
#undef MATERIAL_ENUMERATOR

struct snow_parameters {
  double young, poisson;       /* Pa, 1 */
  double hardening;            /* xi */
  double hardening_limit;      /* factor exp(xi (1 - J_P)) is kept within [1/limit, limit] */
  double critical_compression; /* theta_c */
  double critical_stretch;     /* theta_s */
  double plastic;              /* 0: stretches are not limited */
};

/* corotated and neo_hookean */
struct elastic_parameters {
  double young, poisson;
};

enum sand_cone { CONE_COMPRESSION, CONE_SLOPE };

struct sand_parameters {
  double young, poisson;
  double friction_angle; /* degrees */
  double cone;           /* enum sand_cone: where the angle was measured */
  double cohesion;       /* Pa */
  double hardening;      /* 1: the angle is h0 + (h1 kappa - h3) exp(-h2 kappa), in degrees */
  double h0, h1, h2, h3;
  double grain_size;      /* m; 0: friction does not follow the rate */
  double fast_angle;      /* degrees, at high rates */
  double inertial_number; /* half way between the two angles */
  double grain_density;   /* kg/m^3, of a grain */
};

struct cam_clay_parameters {
  double young, poisson;
  double critical_slope;       /* M: q over p of the critical state, without cohesion */
  double cohesion_ratio;       /* beta: isotropic tensile strength over compressive */
  double compressive_strength; /* p00 (Pa): isotropic, at the start */
  double hardening;            /* xi */
  double softening;            /* xi of opening */
  double packing_limit;        /* log strain at which pores are closed; 0: none */
  double collapse_strain;      /* log strain before hardening begins */
  double bond_strength;        /* Pa, that bonds add to compressive_strength */
  double bond_tension;         /* Pa, and to the strength in tension */
  double bond_strain;          /* plastic path after which 1/e of the bonds is left */
  double relaxation_time;      /* s; 0: the return takes no time */
};

struct von_mises_parameters {
  double young, poisson;
  double yield_stress;    /* Pa */
  double hardening;       /* H (Pa) */
  double relaxation_time; /* s; 0: the return takes no time */
  double rate_exponent;
};

struct water_parameters {
  double bulk_modulus; /* Pa */
  double exponent;     /* gamma */
  double viscosity;    /* Pa s */
  double tension;      /* 1: carries negative pressure */
};

enum { MATERIAL_VALUES = 16 };

struct material {
  char name[64];
  enum material_model model;
  double density;   /* kg/m^3 */
  bool flow;        /* the operator of a semi-implicit step: stiffness is lost along the flow */
  int look;         /* index into looks (look.h) */
  bool color_given; /* else the look's own */
  double color[3];  /* linear reflectance of a deep layer of it */
  union {
    double value[MATERIAL_VALUES];
    struct snow_parameters snow;
    struct elastic_parameters elastic;
    struct sand_parameters sand;
    struct cam_clay_parameters cam_clay;
    struct von_mises_parameters von_mises;
    struct water_parameters water;
  };
};

/* --- words -----------------------------------------------------------------------------------------------
 */

enum material_type { MATERIAL_NUMBER, MATERIAL_FLAG, MATERIAL_CHOICE };

/* Allowed or sensible values, from low to high; INFINITY is no limit. */
struct material_range {
  double low, high;
  bool above, below; /* low, high itself is not allowed */
};

/* One parameter. */
struct material_key {
  const char *word;
  int at; /* index into material.value */
  enum material_type type;
  double standard; /* the default, where the kind has no other */
  /* The default from keys before this one in the list, where the kind sets no other; NULL: `standard`. */
  double (*derive)(const struct material *m);
  struct material_range allowed;
  const char *unit;         /* NULL: none */
  const char *const *words; /* of a choice, NULL-terminated */
  /* A key that must not be 0 (or must be) for this one to have an effect, by its word; NULL: none. */
  const char *needs, *needs_not;
  bool quiet;      /* not written where it has its default: scenes without it keep their hash */
  bool remembered; /* acts on what happened before: it has an effect where particles come from files */
  struct material_range sensible; /* low == high: nothing is said */
  const char *why;                /* what goes wrong outside */
};

/* The index of a parameter among a material's values. */
#define MATERIAL_AT(model, parameter) ((int)(offsetof(struct model##_parameters, parameter) / sizeof(double)))

/* The rows that all solids have. */
#define MATERIAL_YOUNG(model, value, least, most, reason)                                                    \
  {                                                                                                          \
    .word = "young", .at = MATERIAL_AT(model, young), .standard = value,                                     \
    .allowed = {0.0, INFINITY, .above = true}, .unit = "Pa", .sensible = {least, most}, .why = reason        \
  }
#define MATERIAL_POISSON(model, value, least, most, reason)                                                  \
  {                                                                                                          \
    .word = "poisson", .at = MATERIAL_AT(model, poisson), .standard = value,                                 \
    .allowed = {-1.0, 0.5, .above = true, .below = true}, .sensible = {least, most}, .why = reason           \
  }

enum { KIND_CHANGES = 12, KIND_WORDS = 4 };

/* What a kind changes of its model's defaults. */
struct material_kind {
  const char *name;
  double density;
  struct material_range densities; /* allowed with it; low == high: all */
  struct {
    int at;
    double value;
  } change[KIND_CHANGES];
  int changes;
  /* Keys that this kind has beside the model's: what its changes follow from. `at` counts them from 0. */
  const struct material_key *words;
  int word_count;
  /* Sets what `change` lists from m->density and the words' values. NULL: `change` has the values. */
  void (*derive)(struct material *m, const double words[KIND_WORDS]);
};

/* Everything of a model that is not lane code. */
struct material_words {
  const char *name;
  double density; /* kg/m^3, the default */
  struct material_range sensible_density;
  const char *why_density;
  const struct material_key *keys;
  int key_count;
  const struct material_kind *kinds; /* the first is the default; NULL: the model has none */
  int kind_count;
  bool flows; /* has the operator "flow", and by default */
  /* Whether values that are each allowed go together; if not, *key names one of them and text says why. NULL:
   * always. */
  bool (*fits)(const struct material *m, const char **key, char text[256]);
  /* What the lanes compute with, MATERIAL_CONSTANTS at most. */
  void (*constants)(const struct material *m, double *out);
  /* Those of them that follow from the length of the step (s). NULL: none. */
  void (*rates)(const struct material *m, double dt, double *out);
  /* Viscosity (Pa s) by which a semi-implicit step is limited, and FLIP is judged. NULL: 0. */
  double (*viscosity)(const struct material *m);
};

/* Of each model, in its own file. */
#define MATERIAL_DECLARE(NAME, name) extern const struct material_words name##_words;
MATERIAL_MODELS(MATERIAL_DECLARE)
#undef MATERIAL_DECLARE

const struct material_words *material_words(enum material_model model);

/* Whether the material's other values let this parameter have an effect; if not, *other is the key at fault.
 * from_files: particles of the material come from files, with a history. */
bool material_has_effect(const struct material *m, const struct material_key *key, bool from_files,
                         const struct material_key **other);

/* Whether a value lies within; "above 0 and below 0.5" and such, for messages. */
bool material_allows(const struct material_range *range, double value);
const char *material_range_text(const struct material_range *range, char text[64]);

/* m gets the defaults of the model and of one of its kinds (NULL: the default one); the name stays. */
void material_set_defaults(struct material *m, enum material_model model, const struct material_kind *kind);

/* What the kind (NULL: none) derives from the density and its own words (NULL: their defaults). */
void material_derive_kind(struct material *m, const struct material_kind *kind, const double *words);

/* Whether the kind (NULL: none) sets the parameter. */
bool material_kind_sets(const struct material_kind *kind, const struct material_key *key);

/* --- constants -------------------------------------------------------------------------------------------
 */

enum { MATERIAL_CONSTANTS = 28 };

/* A material as the kernels read it. */
struct material_constants {
  enum material_model model;
  double value[MATERIAL_CONSTANTS];
};

void material_constants(const struct material *m, struct material_constants *out);

/* Sets those that follow from the length of the step (s), dt > 0; until then returns take no time. */
void material_set_step(const struct material *m, double dt, struct material_constants *out);

/* The viscosity (Pa s) of a material whose returns take time; 0: they take none. */
double material_viscosity(const struct material *m);

/* rho0 c^2 (Pa) of the fastest wave in undeformed matter. */
double material_stiffness(const struct material *m);

/* Whether the model has no part in the operator of a semi-implicit step, so that sound limits the step. */
bool material_is_explicit(const struct material *m);

/* Lame's constants (Pa) from Young's modulus and Poisson's ratio. */
struct lame {
  double mu, lambda, bulk;
};
struct lame material_lame(double young, double poisson);

#endif
