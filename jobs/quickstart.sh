#!/usr/bin/env bash
# From a fresh checkout to a picture of falling snow: installs what is missing (and says so first), builds build/release,
# drops a snowball on all cores, draws it, and says where everything is. Run it as often as you like: it replaces
# what its last run left in out/snowball_drop. FIRN_RANKS=N uses N ranks instead of all cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=jobs/setup.sh
. jobs/setup.sh

name=snowball_drop
out=out/$name
firn=build/release/firn
ranks=${FIRN_RANKS:-$(nproc)}

# About `count` frames, evenly spread, first and last among them.
spread() { # count frames...
  local count=$1 i
  shift
  local frames=("$@")
  [ "$count" -le "$#" ] || count=$#
  for ((i = 0; i < count; i++)); do
    echo "${frames[count > 1 ? i * ($# - 1) / (count - 1) : 0]}"
  done
}

firn_setup
echo "==> building build/release"
cmake --preset release >/dev/null # what goes wrong is on stderr
cmake --build --preset release --parallel "$(nproc)" --target firn_command

echo "==> dropping a snowball on $ranks ranks"
mpirun -n "$ranks" "$firn" run scenes/$name.yml --force # the run before this one goes once this one is complete

echo "==> drawing it"
frames=("$out"/frames/frame_*.h5)
middle=${frames[${#frames[@]} / 2]}
mapfile -t few < <(spread 8 "${frames[@]}")
"$firn" preview "$middle" -o "$out/$name.png"
"$firn" preview "${few[@]}" -o "$out/${name}_sheet.png"

root=""
[ "$(id -u)" -ne 0 ] || root=" --allow-run-as-root" # Open MPI asks root for this word

row() {
  printf '  %-26s %s\n' "$@"
}
printf '\nDone. It is all in %s:\n' "$out"
row "$name.png" "one frame"
row "${name}_sheet.png" "a contact sheet of ${#few[@]} frames"
row "$name.xdmf" "the series: open it in ParaView"
row "frames/" "${#frames[@]} frames in HDF5"
row "history.csv" "energy, momentum, iterations and times of every step"
cat <<END

Try next:
  $firn check scenes/$name.yml
  $firn info $middle
  mpirun$root -n 2 $firn run scenes/$name.yml \\
    --set materials.packed.critical_compression=1e-2 --set output.folder=out/powder
  $firn help
END
