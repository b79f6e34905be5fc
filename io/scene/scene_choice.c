/* One scene, several sizes and variants.
 *
 * `sizes` holds overrides by the name of a size, each a path like those of --set and a value; `size` names
 * the one that is meant, the first one by default. `variants` and `variant` do the same for what is shown.
 * They are applied to the tree before anything is read, and these keys are gone afterwards: the schema, the
 * canonical form and the hash know only the scene that results, and a --set still has the last word.
 *
 * A choice that is not the first one becomes part of the scene's default name, so that its frames go to a
 * folder of their own. */
#include "io/scene/scene_read.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct group {
  const char *one, *many;
} groups[] = {{"variant", "variants"}, {"size", "sizes"}};
enum { GROUPS = sizeof groups / sizeof *groups };

static bool chooses(const char *override, const struct group *group)
{
  const size_t length = strlen(group->one);
  return !strncmp(override, group->one, length) && override[length] == '=';
}

bool scene_is_choice(const char *override)
{
  for (int g = 0; g < GROUPS; g++)
    if (chooses(override, &groups[g])) return true;
  return false;
}

/* Whether the path begins with one of the keys that choices are made of. */
static bool is_reserved(const char *path)
{
  const size_t length = strcspn(path, ".");
  for (int g = 0; g < GROUPS; g++)
    if ((length == strlen(groups[g].one) && !strncmp(path, groups[g].one, length)) ||
        (length == strlen(groups[g].many) && !strncmp(path, groups[g].many, length)))
      return true;
  return false;
}

static int check_choices(const struct yaml *yaml, const struct yaml_item *many, struct error *err)
{
  if (many->kind != YAML_MAP || !many->count)
    return yaml_error(yaml, many, err,
                      "expected maps of paths and values by name, like {paper: {domain.spacing: 0.01}}");
  for (int k = 0; k < many->count; k++) {
    const struct yaml_item *one = many->child[k];
    if (one->kind != YAML_MAP && !yaml_is_null(one))
      return yaml_error(yaml, one, err, "expected a map of paths and values, like {domain.spacing: 0.01}");
    for (const char *c = one->key; *c; c++)
      if (!isalnum((unsigned char)*c) && !strchr("_-", *c))
        return yaml_error(yaml, one, err, "this is not a name; use letters, digits, _ and -");
    for (int i = 0; one->kind == YAML_MAP && i < one->count; i++)
      if (is_reserved(one->child[i]->key))
        return yaml_error(yaml, one->child[i], err, "a choice cannot change what there is to choose");
  }
  return FIRN_OK;
}

/* The chosen entry, or NULL and an error. */
static const struct yaml_item *find_choice(const struct yaml *yaml, const struct group *group,
                                           const struct yaml_item *many, const char *wanted,
                                           const struct yaml_item *where, struct error *err)
{
  const struct yaml_item *one = yaml_find(many, wanted);
  if (one) return one;
  char names[320] = "", word[64];
  size_t used = 0;
  for (int k = 0; k < many->count && used < sizeof names; k++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", k ? ", " : "", many->child[k]->key);
  yaml_clean(wanted, word, sizeof word);
  if (where)
    yaml_error(yaml, where, err, "there is no %s '%s'; there are %s", group->one, word, names);
  else
    error_set(err, FIRN_EINPUT, "%s: --set %s=%s: there is no such %s; there are %s", yaml->path, group->one,
              word, group->one, names);
  return NULL;
}

static int apply(struct yaml *yaml, const struct group *group, const char *wanted, char *name, size_t size,
                 struct error *err)
{
  const struct yaml_item *many = yaml_find(yaml->root, group->many),
                         *given = yaml_find(yaml->root, group->one);
  char word[64];
  if (!many && wanted)
    return error_set(err, FIRN_EINPUT, "%s: --set %s=%s: the scene has no '%s' to choose from", yaml->path,
                     group->one, yaml_clean(wanted, word, sizeof word), group->many);
  if (!many && given) return yaml_error(yaml, given, err, "there is no '%s' to choose from", group->many);
  if (!many) return FIRN_OK;
  int code = check_choices(yaml, many, err);
  if (code) return code;
  if (given && given->kind != YAML_SCALAR)
    return yaml_error(yaml, given, err, "expected the name of a %s", group->one);
  const char *first = many->child[0]->key;
  const struct yaml_item *one = find_choice(yaml, group, many,
                                            wanted  ? wanted
                                            : given ? given->text
                                                    : first,
                                            wanted ? NULL : given, err);
  if (!one) return FIRN_EINPUT;
  for (int k = 0; one->kind == YAML_MAP && k < one->count && !code; k++)
    code = yaml_assign(yaml, one->child[k], err);
  const size_t length = strlen(name);
  if (one != many->child[0]) snprintf(name + length, size - length, "_%s", one->key);
  yaml_remove(yaml, group->one);
  yaml_remove(yaml, group->many);
  return code;
}

int scene_apply_choices(struct yaml *yaml, const char *const *overrides, int count, char *name, size_t size,
                        struct error *err)
{
  int code = FIRN_OK;
  for (int g = 0; g < GROUPS && !code; g++) {
    const char *wanted = NULL;
    for (int k = 0; k < count; k++)
      if (chooses(overrides[k], &groups[g])) wanted = overrides[k] + strlen(groups[g].one) + 1;
    code = apply(yaml, &groups[g], wanted, name, size, err);
  }
  return code;
}
