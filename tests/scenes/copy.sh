#!/usr/bin/env bash
# Sourced by the scenes' tests. A copy of scenes/ with what its assets are made of, so that nothing is written there.

copy_scenes() { # firn folder: prints where the copy is
  local from to=$2/scenes skeleton
  from=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scenes" && pwd) || return 1
  mkdir "$to" && cp "$from"/*.yml "$to" && mkdir "$to/assets" && cp "$from"/assets/*.yml "$to/assets" || return 1
  for skeleton in "$to"/assets/*.yml; do
    "$1" levelset -o "${skeleton%.yml}.h5" "$skeleton" >&2 || return 1
  done
  echo "$to"
}
