/* See material.h. Nothing here knows a model. */
#include "material/material.h"

#include "material/look.h"
#include "material/models.h"

#include <stdio.h>
#include <string.h>

const struct material_words *material_words(enum material_model model)
{
#define MATERIAL_ROW(NAME, name) &name##_words,
  static const struct material_words *const all[MODEL_COUNT] = {MATERIAL_MODELS(MATERIAL_ROW)};
#undef MATERIAL_ROW
  return all[model];
}

void material_set_defaults(struct material *m, enum material_model model, const struct material_kind *kind)
{
  const struct material_words *words = material_words(model);
  if (!kind) kind = words->kinds;
  m->model = model;
  m->flow = words->flows;
  m->look = look_of_model(model);
  m->color_given = false;
  m->density = kind ? kind->density : words->density;
  for (int k = 0; k < MATERIAL_VALUES; k++) m->value[k] = 0.0;
  for (int k = 0; k < words->key_count; k++) m->value[words->keys[k].at] = words->keys[k].standard;
  for (int k = 0; kind && k < kind->changes; k++) m->value[kind->change[k].at] = kind->change[k].value;
  material_derive_kind(m, kind, NULL);
  for (int k = 0; k < words->key_count; k++)
    if (words->keys[k].derive && !material_kind_sets(kind, &words->keys[k]))
      m->value[words->keys[k].at] = words->keys[k].derive(m);
}

void material_derive_kind(struct material *m, const struct material_kind *kind, const double *words)
{
  double standard[KIND_WORDS] = {0.0};
  if (!kind || !kind->derive) return;
  for (int k = 0; k < kind->word_count; k++) standard[kind->words[k].at] = kind->words[k].standard;
  kind->derive(m, words ? words : standard);
}

bool material_kind_sets(const struct material_kind *kind, const struct material_key *key)
{
  for (int k = 0; kind && k < kind->changes; k++)
    if (kind->change[k].at == key->at) return true;
  return false;
}

static const struct material_key *find_key(const struct material_words *words, const char *word)
{
  for (int k = 0; k < words->key_count; k++)
    if (!strcmp(words->keys[k].word, word)) return &words->keys[k];
  return NULL;
}

bool material_has_effect(const struct material *m, const struct material_key *key, bool from_files,
                         const struct material_key **other)
{
  if (!key->needs && !key->needs_not) return true;
  if (key->remembered && from_files) return true;
  const struct material_key *flag =
      find_key(material_words(m->model), key->needs ? key->needs : key->needs_not);
  const struct material_key *further = NULL;
  if (key->needs && !material_has_effect(m, flag, from_files, &further)) {
    *other = further;
    return false;
  }
  *other = flag;
  return (m->value[flag->at] != 0.0) == (key->needs != NULL);
}

bool material_allows(const struct material_range *range, double value)
{
  return (range->above ? value > range->low : value >= range->low) &&
         (range->below ? value < range->high : value <= range->high);
}

const char *material_range_text(const struct material_range *range, char text[64])
{
  int used = 0;
  text[0] = '\0';
  if (isfinite(range->low))
    used = snprintf(text, 64, "%s %g", range->above ? "above" : "at least", range->low);
  if (isfinite(range->high))
    snprintf(text + used, 64 - (size_t)used, "%s%s %g", used ? " and " : "",
             range->below ? "below" : "at most", range->high);
  return text;
}

struct lame material_lame(double young, double poisson)
{
  const double mu = young / (2.0 * (1.0 + poisson)),
               lambda = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
  return (struct lame){mu, lambda, lambda + 2.0 / 3.0 * mu};
}

void material_constants(const struct material *m, struct material_constants *out)
{
  *out = (struct material_constants){.model = m->model};
  material_words(m->model)->constants(m, out->value);
}

void material_set_step(const struct material *m, double dt, struct material_constants *out)
{
  const struct material_words *words = material_words(m->model);
  if (words->rates) words->rates(m, dt, out->value);
}

double material_viscosity(const struct material *m)
{
  const struct material_words *words = material_words(m->model);
  return words->viscosity ? words->viscosity(m) : 0.0;
}

double material_stiffness(const struct material *m)
{
  struct material_constants constants;
  struct material_lanes lanes;
  const uint32_t first[LANES] = {0};
  const vd one = vd_set(1.0), zero = vd_set(0.0);
  material_constants(m, &constants);
  material_gather(&constants, first, &lanes);
  const struct history start = {models[m->model]->log_volume ? zero : one, zero};
  return material_wave(&lanes, &(struct stretch_bounds){one, one, one}, &start)[0];
}

bool material_is_explicit(const struct material *m)
{
  return !models[m->model]->slope;
}
