#!/usr/bin/env bash
# Restarts with a scene that was edited meanwhile: ids stay unique, rows that were measured stay, and nothing goes on under a name
# that has another meaning by now.
#   test_edits.sh FIRN MPIEXEC
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"

last_frame() { # FOLDER
  find "$1/frames" -name 'frame_*.h5' | LC_ALL=C sort | tail -n 1
}
ids() { # FOLDER: those of its last frame, a line each
  rm -f ids.csv
  "$firn" export "$(last_frame "$1")" -o ids.csv >/dev/null 2>&1 || fail "no export of $1"
  awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) if ($k == "id") at = k; next } { print $at }' ids.csv | LC_ALL=C sort
}
unique() { # FOLDER WHAT
  local twice
  twice=$(ids "$1" | uniq -d | wc -l)
  [ "$twice" -eq 0 ] || fail "$2: $twice ids occur twice"
  [ "$(ids "$1" | awk '$1 >= 2 ^ 52' | wc -l)" -gt 200 ] || fail "$2: the sources have brought nothing"
}

# Sources: swapped, changed, renamed, taken out and brought back, by force. Ids are unique whatever was changed.
storm() { # SOURCES...
  cat <<END
domain: {lower: [-0.1, -0.04, -0.05], cells: [20, 16, 10], spacing: 0.01}
time: {end: 0.02, frame_rate: 200, max_step: 1e-3}
snow: [{sphere: {center: [-0.05, 0.03, 0], radius: 0.02}}]
sources: [$(IFS=, && echo "$*")]
bodies: {floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}}
checkpoint: {frames: 1}
END
}
fall='{name: fall, box: {lower: [-0.08, 0.09, -0.04], upper: [0, 0.1, 0.04]}, rate: 2, velocity: [0, -1, 0], seed: 1}'
gun='{name: gun, sphere: {center: [0.08, 0.05, 0], radius: 0.01}, rate: 1, velocity: [-6, 2, 0], seed: 2}'
storm "$fall" "$gun" >storm.yml
storm "$gun" "$fall" >swapped.yml
storm "$gun" >gun.yml
storm "${fall/fall/snowfall}" "$gun" >renamed.yml
storm "$fall" "${gun/gun/fall}" >twins.yml
expect 1 1 twins.log twins.yml --output twins
says twins.log "there is another source called 'fall'"
expect 0 1 whole.log storm.yml --output whole
expect 0 2 half.log storm.yml --output half --set time.end=0.01
expect 1 1 swapped.log swapped.yml --output half --restart auto
says swapped.log 'order of sources: \[fall, gun\] -> \[gun, fall\]  \(the snow depends on it\)'
edit() { # WHAT RANKS SCENE ARGUMENTS...
  rm -rf edited
  cp -r half edited
  expect 0 "$2" edited.log "$3" --output edited --restart auto --force "${@:4}"
  unique edited "$1"
}
edit "swapped sources" 3 swapped.yml
same whole edited # seeds and names are theirs: the order has no effect on the snow
edit "a new rate" 1 storm.yml --set sources.0.rate=1.2
edit "fewer particles" 1 storm.yml --set sources.0.per_cell=3
edit "a later beginning" 1 storm.yml --set sources.1.from=0.009
edit "another density" 1 storm.yml --set materials.snow.density=300
edit "finer cells" 1 storm.yml --set domain.spacing=0.0125
edit "another name" 2 renamed.yml
expect 0 1 edited.log storm.yml --output edited --restart auto --force --set time.end=0.03 # and the first one again
unique edited "the first name again"
edit "one source less" 1 gun.yml
[ "$(ids edited | awk '$1 >= 2 ^ 52 && $1 < 2 ^ 52 + 2 ^ 40' | wc -l)" -gt 100 ] || fail "what a source had brought is gone"
expect 0 2 edited.log storm.yml --output edited --restart auto --force --set time.end=0.03
unique edited "a source that came back"
# Twice in a row: what was changed goes on as it would have without the second interruption.
edit "a new rate" 1 storm.yml --set sources.0.rate=1.2
rm -rf twice && cp -r half twice
for end in 0.015 0.02; do
  expect 0 2 twice.log storm.yml --output twice --restart auto --force --set sources.0.rate=1.2 --set time.end=$end
done
same edited twice

# A window that is narrower, wider or slower than it was, other snow, other cells: nothing enters twice, and ids stay unique. Snow that
# entered again would fill cells with twice their particles.
cat >plow.yml <<'END'
domain: {lower: [0, 0, 0], cells: [80, 10, 8], spacing: 0.01, slab_axis: z}
time: {end: 0.06, frame_rate: 100, max_step: 1e-3}
snow:
  - {box: {lower: [0, 0, 0], upper: [0.8, 0.03, 0.08]}, per_cell: 3, sampling: jittered}
  - {box: {lower: [0, 0.03, 0], upper: [0.8, 0.04, 0.08]}, per_cell: 4, sampling: random}
sources: [{name: fall, box: {lower: [0.1, 0.09, 0], upper: [0.5, 0.1, 0.08]}, rate: 2, velocity: [0, -1, 0], seed: 1}]
bodies:
  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}
  plow: {sphere: {center: [0.2, 0.09, 0.04], radius: 0.005}, velocity: [4, 0, 0]}
window: {follow: plow, axis: x, ahead: 0.15, behind: 0.15}
checkpoint: {frames: 1}
END
grep -v '^window' plow.yml >open.yml
sed 's/axis: x/axis: -x/' plow.yml >reverse.yml
snow() { # of the last export: the scene's particles, and how many of them the fullest cell has
  awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k; next }
           $at["id"] < 2 ^ 52 { all++; n = ++cell[int($at["x"] / 0.01), int($at["y"] / 0.01), int($at["z"] / 0.01)] }
           n > most { most = n }
           END { print all + 0, most + 0 }' ids.csv
}
expect 0 1 plow.log plow.yml --output plow
expect 0 2 half.log plow.yml --output half_plow --set time.end=0.03
snowy() { # WHAT FOLDER LEAST MOST FULLEST: so many particles of the scene, at most FULLEST in a cell
  local all most
  unique "$2" "$1"
  read -r all most < <(snow)
  [ "$all" -ge "$3" ] && [ "$all" -le "$4" ] && [ "$most" -le "$5" ] || fail "$1: $all particles, up to $most in a cell"
}
plow() { # WHAT LEAST MOST FULLEST SCENE ARGUMENTS...: by force from the middle
  rm -rf edited
  cp -r half_plow edited
  expect 0 1 edited.log "$5" --output edited --restart auto --force "${@:6}"
  snowy "$1" edited "${@:2:3}"
}
plow "a window as it was" 3100 3300 8 plow.yml
same plow edited
plow "a narrower window" 2600 2800 8 plow.yml --set window.ahead=0.1
plow "a wider window" 5200 5400 8 plow.yml --set window.ahead=0.25 --set window.behind=0.25
plow "a slower window" 3100 3300 8 plow.yml --set 'bodies.plow.velocity=[2, 0, 0]'
plow "more particles" 3700 3900 12 plow.yml --set snow.0.per_cell=5
plow "narrower snow" 3000 3200 8 plow.yml --set 'snow.0.box.lower=[0, 0, 0.01]'
plow "larger cells" 2500 2800 8 plow.yml --set domain.spacing=0.0125
expect 1 2 reverse.log reverse.yml --output half_plow --restart auto --force
says reverse.log "the run's window moves along x"
# Without the window nothing enters; with it again what had not yet.
plow "no window" 3100 3300 8 open.yml --set time.end=0.04
expect 0 2 edited.log plow.yml --output edited --restart auto --force
snowy "a window that came back" edited 3100 3300 8
# A window for snow that is all there: nothing is left to enter.
rm -rf half_plow
expect 0 1 half.log open.yml --output half_plow --set time.end=0.03
plow "a new window" 5000 5500 8 plow.yml

# Copies of a scene have bodies of their own names, so forces and contacts find their way back.
cat >copies.yml <<'END'
domain: {cells: [14, 10, 10], spacing: 0.01, copies: 2, slab_axis: x}
gravity: [-5, -9.81, 0]
time: {end: 0.02, frame_rate: 50, max_step: 1e-3}
snow: [{box: {lower: [0.02, 0.03, 0.03], upper: [0.11, 0.06, 0.08]}, velocity: [-3, -2, 0], per_cell: 4}]
bodies: {plate: {box: {lower: [0.02, 0, 0.02], upper: [0.12, 0.03, 0.1]}, measure: true, pressure_map: true}}
output: {history_every: 7}
END
expect 0 1 copies.log copies.yml --output copies
says copies/history.csv ',force_plate_x,.*,area_plate,force_plate\.2_x,.*,area_plate\.2,'
expect 0 2 copies.log copies.yml --output broken --set checkpoint.steps=4 --set checkpoint.keep=100
find broken/checkpoints broken/frames -name '*.h5' -newer "$(find broken/checkpoints -name '*.h5' | LC_ALL=C sort | sed -n 3p)" -delete
expect 0 3 copies.log copies.yml --output broken --restart auto
cmp -s <(computed copies) <(computed broken) || fail "forces on copies differ after a restart"
h5diff "$(last_frame copies)" "$(last_frame broken)" /contacts >diff.log 2>&1 || { fail "contacts of copies differ after a restart" && show diff.log; }
"$firn" plot copies -o copies.svg --only forces >plot.log 2>&1 || { fail "no plot of the forces on copies" && show plot.log; }
says copies.svg '>plate\.2<'

# Rows are measurements: they stay, whatever a restart measures besides, no more, elsewhere, or in another order.
measured() { # PROBES...
  cat <<END
domain: {lower: [-0.08, -0.04, -0.05], cells: [16, 12, 10], spacing: 0.01}
time: {end: 0.02, frame_rate: 200, max_step: 1e-3}
snow: [{sphere: {center: [-0.02, 0.03, 0], radius: 0.025}, velocity: [1, -2, 0]}]
bodies:
  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, measure: true}
  wall: {plane: {point: [0.03, 0, 0], normal: [-1, 0, 0]}, measure: true}
probes: [$(IFS=, && echo "$*")]
output: {probes_every: 1}
checkpoint: {frames: 1}
END
}
core='{name: core, point: [-0.02, 0.02, 0], radius: 0.02}'
gate='{name: gate, flux: {point: [-0.01, 0, 0], normal: [1, 0, 0]}}'
step_flux='{name: down, flux: {point: [0, 0.02, 0], normal: [0, -1, 0]}}'
measured "$core" "$gate" "$step_flux" >measured.yml
measured "$step_flux" "$gate" "$core" >reordered.yml
measured "${core/-0.02, 0.02, 0/0, 0.02, 0}" "${gate/-0.01/0}" "$step_flux" >moved.yml
measured "${core/core/heart}" "$gate" "$step_flux" >called.yml
measured "$core" '{name: pit, profile: {lower: [0, 0, 0], upper: [0.1, 0.1, 0.1]}}' "${gate/gate/pit_3}" >mixed.yml
expect 1 1 mixed.log mixed.yml --output mixed
says mixed.log "'pit_3' and 'pit' would have columns of the same name"
column() { # FILE NAME
  awk -F, -v name="$2" 'NR == 1 { for (k = 1; k <= NF; k++) if ($k == name) { if (at) twice = 1; at = k } if (!at || twice) { print "no or two columns " name; exit } next } { print $at }' "$1"
}
equal() { # FILE NAME: as in the run that was never stopped
  cmp -s <(column "whole/$1" "$2") <(column "edited/$1" "$2") || fail "$what: $2 is not what it is without a restart"
}
split_at() { # FILE OLD NEW: the values before the restart are in column OLD, those after it in NEW, and nan elsewhere
  awk -v old="$(column "edited/$1" "$2" | paste -s)" -v new="$(column "edited/$1" "$3" | paste -s)" -v first="$at" \
    -v steps="$(column "edited/$1" step | paste -s)" 'BEGIN {
      count = split(old, a, "\t"); if (split(new, b, "\t") != count || split(steps, s, "\t") != count || count < 10) exit 1
      for (k = 1; k <= count; k++) if ((a[k] == "nan") != (s[k] >= first) || (b[k] == "nan") != (s[k] < first)) exit 1 }' ||
    fail "$what: $1 has no values of $2 before step $at or of $3 from then on"
}
rm -rf whole
expect 0 1 whole.log measured.yml --output whole
expect 0 2 half.log measured.yml --output begun --set time.end=0.01
restart_with() { # WHAT SCENE ARGUMENTS...
  what=$1
  rm -rf edited
  cp -r begun edited
  expect 0 1 edited.log "$2" --output edited --restart auto "${@:3}"
  at=$(basename "$(newest begun)" .h5 | sed 's/checkpoint_0*//')
  for file in history.csv probes.csv; do
    cmp -s <(column whole/$file step) <(column edited/$file step) || fail "$what: rows of $file are gone"
    [ "$(awk -F, '{ print NF }' edited/$file | sort -u | wc -l)" -eq 1 ] || fail "$what: $file is no table"
    [ -z "$(head -n 1 edited/$file | tr , '\n' | sort | uniq -d)" ] || fail "$what: $file has two columns of one name"
  done
  [ -z "$(find edited -name 'replaced_*')" ] || fail "$what: something was set aside"
  same whole edited
}
restart_with "nothing changed" measured.yml
cmp -s whole/probes.csv edited/probes.csv || fail "probes.csv differs after a restart"
restart_with "reordered probes" reordered.yml
for name in core_density gate_mass down_momentum_y; do equal probes.csv $name; done
says edited/probes.csv '^step,time,particles,down_mass,'
restart_with "a budget, and a body less" measured.yml --set output.budget=true --set bodies.wall.measure=false
equal history.csv force_floor_y
split_at history.csv force_wall_x lost_scheme
"$firn" plot edited -o edited.svg --only budget,forces,energy >plot.log 2>&1 || { fail "no plot of columns that begin later" && show plot.log; }
grep -qi nan edited.svg && fail "the plot has points that are none"
"$firn" report edited -o edited.html --pictures 0 >report.log 2>&1 || { fail "no report of columns that begin later" && show report.log; }
restart_with "a body again" measured.yml # what was not measured in between is not there, and the rest is
restart_with "moved probes" moved.yml
says edited.log 'changed meanwhile: probes\.core\.point: \[-0\.02, 0\.02, 0\] -> \[0, 0\.02, 0\]'
equal probes.csv down_mass
split_at probes.csv "core_density_until_$at" core_density
split_at probes.csv "gate_mass_until_$at" gate_mass
awk -v values="$(column edited/probes.csv gate_mass | grep -v nan | paste -s)" 'BEGIN { split(values, v, "\t"); exit !(v[1] < 1e-3 && v[1] > -1e-3) }' ||
  fail "a flux probe that was moved goes on with what passed elsewhere"
restart_with "a probe of another name" called.yml
split_at probes.csv core_density heart_density

# Rows that are damaged or missing are missed aloud, and those behind them stay.
rm -rf edited
cp -r begun edited
size=$(stat -c %s edited/history.csv)
truncate -s $((size / 2)) edited/history.csv
sed -i '4s/,.*/,cut/' edited/probes.csv
expect 0 1 torn.log measured.yml --output edited --restart auto
says torn.log 'warning: edited/history.csv lacks [0-9]+ of the [0-9]+ rows before step [0-9]+'
says torn.log 'warning: edited/probes.csv: 1 lines are damaged and are left out, the first is line 4'
cmp -s <(sed 4d whole/probes.csv) edited/probes.csv || fail "more than the damaged line is gone from probes.csv"

# A body that is measured from the middle of a row on: the mean is over the time that it was measured.
expect 0 1 each.log measured.yml --output each
expect 0 1 late.log measured.yml --output late --set bodies.wall.measure=false --set output.history_every=7 --set time.end=0.01
expect 0 2 late.log measured.yml --output late --restart auto --set output.history_every=7
awk -v first="$at" -v force="$(column each/history.csv force_wall_x | paste -s)" -v dt="$(column each/history.csv dt | paste -s)" \
  -v late="$(column late/history.csv force_wall_x | grep -v nan | head -n 1)" 'BEGIN {
    count = split(force, f, "\t"); split(dt, d, "\t")
    for (k = first + 1; k <= count && (k - 2) % 7 != 6; k++) { sum += f[k] * d[k]; time += d[k] }
    for (; k <= count; k++) { sum += f[k] * d[k]; time += d[k]; if ((k - 1) % 7 == 0) break }
    if (time == 0 || late == "" || late == 0) exit 1
    off = late / (sum / time) - 1; exit !(off < 1e-9 && off > -1e-9) }' || fail "a force is the mean over a time when it was not measured: $(column late/history.csv force_wall_x | paste -s -d ' ')"

# The last frame of a shorter run, between two frames or out of their beat, is none of the longer one.
for first in every=1 every=2; do
  rm -rf longer beat
  expect 0 1 longer.log measured.yml --output longer --set output.$first --set time.end=0.013
  [ -e longer/frames/frame_000003.h5 ] || fail "no last frame"
  expect 0 1 longer.log measured.yml --output longer --set output.every=2 --restart auto
  [ ! -e longer/frames/frame_000003.h5 ] || fail "output.$first: the last frame of the shorter run is still there"
  grep -q frame_000003 longer/measured.xdmf && fail "output.$first: the last frame of the shorter run is in the series"
  [ -z "$(find longer -name 'replaced_*')" ] || fail "output.$first: it is in a folder of its own"
  same whole/frames/frame_000004.h5 longer/frames/frame_000004.h5
done
expect 0 1 beat.log measured.yml --output beat --set output.every=2
same beat longer
# One that is a frame by rights stays: the results of a run with all frames are not thinned.
expect 0 1 longer.log measured.yml --output thinned --set time.end=0.015
expect 0 1 longer.log measured.yml --output thinned --set output.every=2 --restart auto
same whole thinned

# A run that ends without snow is no reason to remove the one that it replaced.
cat >empty.yml <<'END'
domain: {cells: [10, 10, 10], spacing: 0.01}
time: {end: 0.02, frame_rate: 100}
snow: [{sphere: {center: [0.05, 0.05, 0.05], radius: 0.01}, velocity: [20, 0, 0]}]
END
expect 87 1 empty.log empty.yml --output beat --force --set checkpoint.frames=1
says empty.log 'warning: no snow is left, so what this run replaced stays in beat/replaced_'
same whole/frames/frame_000004.h5 beat/replaced_*/frames/frame_000004.h5
expect 87 1 empty.log empty.yml --output beat --restart auto --set checkpoint.frames=1
says empty.log "nothing to do"
same whole/frames/frame_000004.h5 beat/replaced_*/frames/frame_000004.h5

finish edits
