#!/usr/bin/env bash
# How fast frames and checkpoints are written, beside dd with fsync on the same disk: prints both and their ratio.
#   jobs/writing.sh [FIRN=build/release/firn] [FOLDER=out/writing] [RANKS=2] [PARTICLES=2e6]
# Both write the same number of bytes, five times in turn; the best of each counts. The state is that of a block of snow at rest.
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
for _ in 1 2 3 4 5; do
  rm -rf "$folder/run"
  mpirun -n "$ranks" "$firn" run "$folder/scene.yml" --output "$folder/run" --profile >"$folder/log" 2>&1 || {
    tail -n 5 "$folder/log" >&2
    exit 1
  }
  frames=$(cat "$folder"/run/frames/*.h5 | wc -c)
  checkpoint=$(cat "$folder"/run/checkpoints/*.h5 | wc -c)
  read -r in_frames in_checkpoints < <(sed -n 's/^ *files *\([0-9.]*\) s in frames, \([0-9.]*\) s in checkpoints$/\1 \2/p' "$folder/log")
  rate "$frames" "$in_frames" >>"$folder/rate.frames" && echo >>"$folder/rate.frames"
  rate "$checkpoint" "$in_checkpoints" >>"$folder/rate.checkpoints" && echo >>"$folder/rate.checkpoints"
  start=$(now)
  dd if=/dev/zero of="$folder/dd" bs=8M count=$((checkpoint / 8388608)) conv=fsync status=none
  rate $((checkpoint / 8388608 * 8388608)) "$(now) - $start" >>"$folder/rate.dd" && echo >>"$folder/rate.dd"
  rm "$folder/dd"
done
dd=$(best <"$folder/rate.dd") f=$(best <"$folder/rate.frames") c=$(best <"$folder/rate.checkpoints")
echo "$particles particles on $ranks ranks, $((frames / 2000000)) MB a frame, $((checkpoint / 1000000)) MB a checkpoint"
awk "BEGIN { printf \"dd with fsync  %5d MB/s\nframes         %5d MB/s  %.2f of dd\ncheckpoints    %5d MB/s  %.2f of dd\n\", $dd, $f, $f / $dd, $c, $c / $dd }"
