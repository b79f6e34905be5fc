#!/usr/bin/env bash
# A window that follows a body: the same bytes on one rank and three, and after a restart on another number
# of ranks; cut along the way it goes, the same to round-off; snow entered and left, and both were counted.
#   window.sh FIRN MPIEXEC FACTS
set -uo pipefail
firn=$1 mpiexec=$2 facts=$3
scene=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scenes" && pwd)/snowplow.yml || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bad=0

fail() {
  echo "FAIL: $*" >&2
  bad=$((bad + 1))
}

run() { # ranks folder arguments...
  local ranks=$1 folder=$2
  shift 2
  "$mpiexec" -n "$ranks" "$firn" run "$scene" --set domain.spacing=0.06 --set domain.cells='[233, 14, 30]' \
    --set snow.0.per_cell=3 --set snow.0.sampling=poisson --set output.precision=f64 --output "$work/$folder" "$@" \
    >"$work/$folder.log" 2>&1 </dev/null || fail "$folder: $(tail -n 3 "$work/$folder.log")"
}

same() { # folder folder [diff's arguments...]
  local a=$1 b=$2 frame
  shift 2
  for frame in "$work/$a/frames"/frame_*.h5; do
    "$firn" diff "$@" "$frame" "$work/$b/frames/${frame##*/}" >"$work/out" 2>&1 || fail "$a and $b: $(cat "$work/out")"
  done
}

run 1 alone --set time.end=0.3
run 3 three --set time.end=0.3
plain=(--set time.end=0.3 --set integrator.precision=double) # single precision is not the same along another axis
run 1 plain "${plain[@]}"
run 2 along "${plain[@]}" --set domain.slab_axis=x
run 2 again --set time.end=0.15
run 3 again --set time.end=0.3 --restart auto
same alone three
same plain along --tolerance 1e-10
same alone again

first=$work/alone/frames/frame_000000.h5 last=$work/alone/frames/frame_000008.h5
number() { # frame name
  "$facts" "$1" | awk -v name="$2" '$1 == name { print $2 }'
}
awk "BEGIN { exit !($(number "$last" most_x) > $(number "$first" most_x) + 0.7) }" || fail "no snow entered"
counted() { # folder: what entered and left, as the last line of the log has it
  grep -a -o -E 'the window: .*' "$work/$1.log"
}
for folder in three again; do # a restart goes on counting
  [ "$(counted alone)" = "$(counted $folder)" ] || fail "$folder counts otherwise: $(counted $folder) instead of $(counted alone)"
done
grep -a -q -E '[1-9][0-9]* entered' "$work/alone.log" || fail "what entered was not counted: $(tail -n 1 "$work/alone.log")"
[ $bad -eq 0 ] && echo "window: good"
exit $((bad > 0))
