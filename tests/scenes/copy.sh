#!/usr/bin/env bash
# Sourced by the scenes' tests. A copy of scenes/, so that nothing is written there; keys of skeletons go to a cache of
# the copy's own.

copy_scenes() { # folder: prints where the copy is
  local from to=$1/scenes
  from=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scenes" && pwd) || return 1
  mkdir "$to" && cp "$from"/*.yml "$to" && mkdir "$to/assets" && cp "$from"/assets/* "$to/assets" || return 1
  echo "$to"
}
