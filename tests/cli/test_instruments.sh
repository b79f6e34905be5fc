#!/usr/bin/env bash
# Forces, the budget of energy and probes as `firn run` writes them: the same text on any ranks and across a restart, and particles
# that do not feel them. usage: test_instruments.sh FIRN MPIEXEC
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"

cat > scene.yml <<'YML'
domain: {lower: [-0.15, -0.04, -0.06], cells: [30, 24, 12], spacing: 0.01, slab_axis: x}
time: {end: 0.02, frame_rate: 200}
materials: {snow: {young: 8e4, critical_compression: 5e-3, critical_stretch: 2e-3}}
snow: [{box: {lower: [-0.06, 0.01, -0.03], upper: [0.06, 0.05, 0.03]}, per_cell: 4, velocity: [4, -4, 1]}]
bodies:
  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, friction: 0.3}
  wall: {plane: {point: [0.08, 0, 0], normal: [-1, 0, 0]}, friction: 0.1}
YML
cp scene.yml measured.yml
sed -i 's/friction: 0.3}/friction: 0.3, measure: true, pressure_map: true}/
        s/friction: 0.1}/friction: 0.1, measure: true, pressure_map: true, pivot: [0.08, 0, 0]}/' measured.yml
cat >> measured.yml <<'YML'
output: {budget: true, probes_every: 3, history_every: 2}
probes:
  - {name: core, point: [0, 0.02, 0], radius: 0.02}
  - {name: block, inside: {box: {lower: [-0.05, 0, -0.03], upper: [0.05, 0.05, 0.03]}}}
  - {name: axis, line: {from: [-0.06, 0.02, 0], to: [0.06, 0.02, 0], count: 3}}
  - {name: pit, profile: {lower: [-0.05, 0, -0.05], upper: [0.05, 0.06, 0.05], count: 4}}
  - {name: gate, flux: {point: [0.01, 0, 0], normal: [1, 0, 0]}}
  - {name: behind, inside: {box: {lower: [0.01, -1, -1], upper: [1, 1, 1]}}}
  - {name: pile, deposit: {direction: [1, 0, 0], above: {plane: {point: [0, 0.005, 0], normal: [0, 1, 0]}}}}
  - {name: heap, deposit: {direction: [1, 0, 0]}}
YML

# The columns before those that depend on the machine.
computed() {
  awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) if ($k == "imbalance") last = k - 1 }
           { line = $1; for (k = 2; k <= last; k++) line = line "," $k; print line }' "$1/history.csv"
}
same() { # what FOLDER
  for frame in one/frames/*.h5; do
    h5diff "$frame" "$2/frames/${frame##*/}" /contacts > log.txt 2>&1 || fail "$1: the contacts of ${frame##*/} differ: $(head -3 log.txt)"
  done
  cmp -s one/probes.csv "$2/probes.csv" || fail "$1: probes.csv differs"
  cmp -s <(computed one) <(computed "$2") || fail "$1: history.csv differs"
}

start() { # ranks arguments...
  "$mpiexec" -n "$1" "$firn" run "${@:2}" --threads 1 --quiet < /dev/null > log.txt 2>&1
}

start 1 measured.yml --output one || fail "a run with instruments: $(cat log.txt)"
start 1 scene.yml --output plain || fail "a run without: $(cat log.txt)"
[ -e plain/probes.csv ] && fail "probes.csv without probes"
head -1 plain/history.csv | grep -q "force_\|lost_" && fail "columns that nobody asked for"
for frame in plain/frames/*.h5; do
  "$firn" diff "$frame" "one/frames/${frame##*/}" > /dev/null || fail "measuring changes the snow of ${frame##*/}"
done
head -1 one/history.csv | grep -q ",force_floor_y,.*,torque_wall_z,area_wall,unbalanced_x,.*,lost_scheme,.*,imbalance," ||
  fail "the columns of the history: $(head -1 one/history.csv)"
[ "$(awk -F, 'NR > 1 { print NF }' one/probes.csv | sort -u)" = "$(head -1 one/probes.csv | tr ',' '\n' | wc -l)" ] ||
  fail "probes.csv is no table"

for ranks in 2 3 4 7; do
  start "$ranks" measured.yml --output "many$ranks" || fail "on $ranks ranks: $(cat log.txt)"
  same "$ranks ranks" "many$ranks"
  for frame in one/frames/*.h5; do
    cmp -s "$frame" "many$ranks/frames/${frame##*/}" || fail "$ranks ranks: ${frame##*/} is another file"
  done
done
OMP_NUM_THREADS=2 "$firn" run measured.yml --output threads --threads 2 --quiet < /dev/null > log.txt 2>&1 || fail "on two threads: $(cat log.txt)"
same "two threads" threads

# Frames with contacts show in info, in diff and in the series, which has a second grid for them; it is well-formed.
"$firn" info one/frames/frame_000004.h5 | grep -q "contacts  *[1-9]" || fail "info shows no contacts"
"$firn" diff one/frames/frame_000003.h5 one/frames/frame_000004.h5 > log.txt
grep -q "contacts/force: " log.txt || fail "diff does not look at contacts"
[ "$(grep -c ':/contacts/pressure<' one/measured.xdmf)" -ge 3 ] || fail "no contacts in the series"
[ "$(grep -c 'CollectionType="Temporal"' one/measured.xdmf)" = 2 ] || fail "the series has no second grid"
grep -q contacts plain/*.xdmf && fail "contacts in the series of a run that has none"

# What passes a plane is what is more behind it, to the last digit that a sum of masses has.
awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k }
         NR == 2 { first = $at["behind_mass"] }
         NR > 1 { d = $at["behind_mass"] - first - $at["gate_mass"]; if (d < 0) d = -d; if (d > most) most = d; last = $at["gate_mass"] }
         END { exit !(most < 1e-15 && last > 0.01) }' one/probes.csv || fail "flux is not the change of mass behind the plane"

# A deposit on nothing in particular is all the snow.
awk -F, -v mass="$(awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k } NR == 2 { print $at["mass"] }' one/history.csv)" '
  NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k; next }
  { d = $at["heap_mass"] / mass - 1; if (d > 1e-12 || d < -1e-12 || $at["heap_volume"] <= 0 || $at["heap_front"] <= $at["heap_back"]) bad++ }
  END { exit bad > 0 || NR < 5 }' one/probes.csv || fail "a deposit without 'above'"

# The budget closes in every row.
awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k; next }
         { e = $at["kinetic"] + $at["elastic"] + $at["potential"]
           if (NR == 2) first = e
           d = e - first + $at["lost_plastic"] + $at["lost_friction"] + $at["lost_scheme"] - $at["work_bodies"] - $at["energy_in"] + $at["energy_out"]
           if (d < 0) d = -d; if (d > most) most = d }
         END { exit !(most < 1e-10 * first && NR > 10) }' one/history.csv || fail "the budget does not close"

# Stopped in the middle, between rows, and taken up again on other ranks; then made longer.
start 2 measured.yml --output again --set checkpoint.steps=7 --set checkpoint.keep=100 || fail "with checkpoints: $(cat log.txt)"
same "with checkpoints" again
middle=$(ls again/checkpoints/checkpoint_*.h5 | sed -n 3p)
find again/checkpoints -name 'checkpoint_*.h5' -newer "$middle" -delete
start 3 measured.yml --output again --restart auto || fail "a restart: $(cat log.txt)"
same "after a restart" again
start 1 measured.yml --output short --set time.end=0.01 --set checkpoint.frames=1 || fail "a short run: $(cat log.txt)"
start 2 measured.yml --output short --restart auto || fail "made longer: $(cat log.txt)"
same "made longer" short

# Snow that falls and snow that is blown, with a drain: the same particles on any ranks and across a restart.
cat > storm.yml <<'YML'
domain: {lower: [-0.15, -0.04, -0.06], cells: [30, 30, 12], spacing: 0.01, slab_axis: x}
time: {end: 0.04, frame_rate: 100}
snow: [{box: {lower: [-0.05, 0, -0.03], upper: [0.05, 0.02, 0.03]}, per_cell: 4}]
sources:
  - {name: fall, box: {lower: [-0.1, 0.15, -0.05], upper: [0.1, 0.16, 0.05]}, rate: 2, velocity: [0, -4, 0]}
  - {name: nozzle, sphere: {center: [-0.12, 0.06, 0], radius: 0.012}, rate: 1, velocity: [6, 1, 0], from: 0.005,
     until: 0.03, per_cell: 6}
sinks: [{box: {lower: [0.03, -0.04, -0.06], upper: [0.15, 0.03, 0.06]}, from: 0.01}]
bodies: {floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, friction: 0.4}}
output: {budget: true, precision: f64, fields: [mass, density, jp, fe]}
YML
start 1 storm.yml --output storm1 || fail "a storm: $(cat log.txt)"
for ranks in 2 3 4 7; do
  start "$ranks" storm.yml --output "storm$ranks" || fail "a storm on $ranks ranks: $(cat log.txt)"
  "$firn" diff storm1 "storm$ranks" > /dev/null || fail "a storm on $ranks ranks differs"
  cmp -s <(computed storm1) <(computed "storm$ranks") || fail "the history of a storm on $ranks ranks differs"
done
start 2 storm.yml --output storm --set checkpoint.steps=9 --set checkpoint.keep=100 || fail "a storm: $(cat log.txt)"
middle=$(ls storm/checkpoints/checkpoint_*.h5 | sed -n 4p)
find storm/checkpoints storm/frames -name '*.h5' -newer "$middle" -delete
start 3 storm.yml --output storm --restart auto || fail "a storm after a restart: $(cat log.txt)"
"$firn" diff storm1 storm > /dev/null || fail "a storm differs after a restart"
# 2 kg/s for 0.04 s and 1 kg/s for 0.025 s, in whole particles of 0.05 g and 0.067 g; 0.048 kg were there, and some are drained.
awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k; next }
         { e = $at["kinetic"] + $at["elastic"] + $at["potential"]
           if (NR == 2) { first = e; mass = $at["mass"] }
           d = e - first + $at["lost_plastic"] + $at["lost_friction"] + $at["lost_scheme"] - $at["work_bodies"] - $at["energy_in"] + $at["energy_out"]
           if (d < 0) d = -d; if (d > most) most = d; out = $at["removed"] }
         END { exit !(most < 1e-10 * first && out > 100) }' storm1/history.csv || fail "the budget of a storm does not close"
start 1 storm.yml --output fall --set sinks='[{box: {lower: [0.14, 0.2, 0], upper: [0.15, 0.21, 0.01]}}]' ||
  fail "a storm without a drain: $(cat log.txt)"
awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k; next } NR == 2 { mass = $at["mass"] } { time = $at["time"]; last = $at["mass"]; out = $at["removed"] }
         END { due = 2 * time + 1 * 0.025; d = last - mass - due; exit !(d < 0 && d > -1.2e-4 - out * 6.7e-5 && out < 50) }' fall/history.csv ||
  fail "sources do not keep their rates"

# Probes of a scene with heat have temperatures, here of two halves that are 10 K apart.
cat > cold.yml <<'YML'
domain: {lower: [-0.1, -0.1, -0.1], cells: [20, 20, 20], spacing: 0.01}
time: {end: 0.002, frame_rate: 1000}
heat: {}
snow:
  - {box: {lower: [-0.04, 0, -0.03], upper: [0, 0.04, 0.03]}, particles: 1000, temperature: 255}
  - {box: {lower: [0, 0, -0.03], upper: [0.04, 0.04, 0.03]}, particles: 1000, temperature: 265}
probes: [{name: all, inside: {box: {lower: [-0.1, -0.1, -0.1], upper: [0.1, 0.1, 0.1]}}}, {name: left, point: [-0.03, 0.02, 0]}]
YML
start 1 cold.yml --output cold || fail "a cold scene: $(cat log.txt)"
start 3 cold.yml --output cold3 || fail "a cold scene: $(cat log.txt)"
cmp -s cold/probes.csv cold3/probes.csv || fail "temperatures differ on 3 ranks"
awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k; next }
         NR == 2 { exit !($at["all_temperature"] - 260 < 1e-9 && 260 - $at["all_temperature"] < 1e-9 &&
                          $at["all_temperature_spread"] - 5 < 1e-6 && 5 - $at["all_temperature_spread"] < 1e-6 &&
                          $at["left_temperature"] - 255 < 1e-9 && 255 - $at["left_temperature"] < 1e-9 && $at["left_temperature_spread"] < 1e-4) }' cold/probes.csv ||
  fail "temperatures of probes: $(head -2 cold/probes.csv)"

"$firn" plot one -o plot.svg --only budget,forces > /dev/null 2>&1 || fail "no plot of the budget"
"$firn" plot plain -o plot.svg --only budget 2> log.txt && fail "a plot of what was not measured"
grep -q "did not ask" log.txt || fail "the error of that plot: $(cat log.txt)"
exit $bad
