#!/usr/bin/env bash
# How fast frames and checkpoints are written by both writers, beside dd with fsync on the same disk and, if IOR is given, beside
# its collective HDF5 with one file for all ranks: prints all and their ratios to dd.
#   [IOR=path/to/ior] [HINTS='{cb_nodes: 1}'] jobs/writing.sh [FIRN=build/release/firn] [FOLDER=out/writing] [RANKS=2] [PARTICLES=2e6]
# All write the bytes of a checkpoint, five times in turn; the best of each counts. The state is that of a block of snow at rest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=jobs/setup.sh
. jobs/setup.sh
firn_mpi_environment
firn=${1:-build/release/firn} folder=${2:-out/writing} ranks=${3:-2} particles=${4:-2e6}
mkdir -p "$folder"
folder=$(mktemp -d "$folder/writing.XXXXXX") # what was there before is left alone
trap 'rm -rf "$folder"' EXIT
cat >"$folder/scene.yml" <<END
domain: {cells: [100, 60, 60], spacing: 0.01}
time: {end: 2e-4, frame_rate: 5000}
integrator: {scheme: explicit}
snow:
  - {box: {lower: [0.1, 0.1, 0.1], upper: [0.9, 0.5, 0.5]}, particles: $particles, volume: exact}
output: {fields: [mass, density, jp, fe, stress, material], precision: f64, history_every: 0}
checkpoint: {frames: 1, keep: 1}
END

now() { date +%s.%N; }
rate() { awk "BEGIN { printf \"%.0f\", $1 / 1e6 / ($2) }"; } # bytes seconds -> MB/s
best() { sort -n | tail -n 1; }
note() { # NAME BYTES SECONDS
  rate "$2" "$3" >>"$folder/rate.$1" && echo >>"$folder/rate.$1"
}
write_run() { # WRITER
  local settings=(--set "output.writer=$1") in_frames in_checkpoints
  [ "$1" = direct ] || [ -z "${HINTS:-}" ] || settings+=(--set "output.hints=$HINTS")
  rm -rf "$folder/run"
  mpirun -n "$ranks" "$firn" run "$folder/scene.yml" --output "$folder/run" --profile "${settings[@]}" >"$folder/log" 2>&1 || {
    tail -n 5 "$folder/log" >&2
    exit 1
  }
  frames=$(cat "$folder"/run/frames/*.h5 | wc -c)
  checkpoint=$(cat "$folder"/run/checkpoints/*.h5 | wc -c)
  read -r in_frames in_checkpoints < <(sed -n 's/^ *files *\([0-9.]*\) s in frames, \([0-9.]*\) s in checkpoints$/\1 \2/p' "$folder/log")
  note "frames-$1" "$frames" "$in_frames"
  note "checkpoints-$1" "$checkpoint" "$in_checkpoints"
}
for _ in 1 2 3 4 5; do
  write_run direct
  write_run parallel_hdf5
  start=$(now)
  dd if=/dev/zero of="$folder/dd" bs=8M count=$((checkpoint / 8388608)) conv=fsync status=none
  note dd $((checkpoint / 8388608 * 8388608)) "$(now) - $start"
  rm "$folder/dd"
  [ -n "${IOR:-}" ] || continue
  each=$((checkpoint / ranks / 1048576))
  mpirun -n "$ranks" "$IOR" -a HDF5 -c -w -e -t 1m -b ${each}m -o "$folder/ior" >"$folder/ior.log" 2>&1
  awk '/^write / { printf "%.0f\n", 1.048576 * $2; exit }' "$folder/ior.log" >>"$folder/rate.ior"
  rm -f "$folder/ior"
done
echo "$particles particles on $ranks ranks, $((frames / 2000000)) MB per frame, $((checkpoint / 1000000)) MB per checkpoint"
dd=$(best <"$folder/rate.dd")
for name in dd ior frames-direct frames-parallel_hdf5 checkpoints-direct checkpoints-parallel_hdf5; do
  [ ! -e "$folder/rate.$name" ] || awk -v name="$name" -v dd="$dd" -v rate="$(best <"$folder/rate.$name")" \
    'BEGIN { printf "%-26s %5d MB/s  %.2f of dd\n", name, rate, rate / dd }'
done
