#!/usr/bin/env bash
# What a run says and refuses: folders of any name, the profile without the rest of the log, what cannot fit or cannot be read, doubts before
# the first step, snow that is gone, snow at its hardening limit.
#   test_words.sh FIRN MPIEXEC
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
unset OMP_NUM_THREADS

checks() { # CODE LOG ARGUMENTS...
  local code=$1 log=$2 got
  shift 2
  timeout $patience "$firn" check "$@" >"$log" 2>&1
  got=$?
  [ $got -eq "$code" ] || { fail "exit code $got instead of $code: firn check $*" && show "$log"; }
}
silent_on() { # LOG REGEX
  ! grep -q -E -e "$2" "$1" || { fail "$1 says '$2'" && show "$1"; }
}

small_scene >s.yml
short=(s.yml --set time.end=0.0125)

# Any folder, and what reads its frames afterwards.
for folder in "it's" 'say "hi" twice' 'Schnee im März' 'back\slash' '# 1: [x]'; do
  expect 0 1 odd.log "${short[@]}" --output "deep/$folder"
  silent_on odd.log '^warning'
  [ -s "deep/$folder/frames/frame_000002.h5" ] || fail "no frames in deep/$folder"
  "$firn" preview "deep/$folder"/frames/*.h5 --size 64x36 -o "deep/$folder.png" >preview.log 2>&1 || { fail "no picture of deep/$folder" && show preview.log; }
done
same "deep/it's" 'deep/say "hi" twice'

# Quiet is quiet, but for what was asked for.
expect 0 2 quiet.log "${short[@]}" --output quiet --quiet
[ ! -s quiet.log ] || { fail "--quiet is not" && show quiet.log; }
expect 0 2 profile.log "${short[@]}" --output profile --quiet --profile
says profile.log '^  p2g +[0-9.]+ s'
says profile.log '^  balance: '
silent_on profile.log '^(firn|frame|done)'

# An instruction set that is not there is an error; one that is there is used.
lacking=
best=$(sed -n 's/.* \([a-z0-9]*\) kernels;.*/\1/p' odd.log)
case $best in
  sse2 | neon | portable | avx2) lacking=avx512 ;;
  avx512) ;; # there is none above it; unit/test_options asks for sets that a machine lacks
  *) fail "no kernels named in the log" && show odd.log ;;
esac
if [ -n "$lacking" ]; then
  expect 1 2 isa.log "${short[@]}" --output isa --isa "$lacking"
  says isa.log "^firn: --isa $lacking: this machine runs $best at most"
  [ ! -e isa ] || fail "a folder in spite of the error"
fi
expect 0 1 isa2.log "${short[@]}" --output isa2 --isa "$best"
says isa2.log " $best kernels;"

# More than any machine holds: refused at once, after the header, by an exit code and not by an abort.
big=(--set snow.0.per_cell=null --set snow.0.particles=1e12)
expect 1 2 big.log s.yml --output big "${big[@]}"
says big.log '^firn [0-9.]+ .*: s on 2 ranks$'
says big.log '^firn: s.yml: 1e\+12 particles are too many for 2 ranks, of which each holds [0-9]+ at most; use [0-9]+ ranks or more$'
silent_on big.log 'MPI_ABORT|fatal'
[ ! -e big ] || fail "a folder in spite of the error"
checks 0 big.txt s.yml "${big[@]}" --ranks 1000
says big.txt '^  warning: [0-9]+ MiB in all, and .* [0-9]+ MiB: it takes [0-9]+ nodes like this one'
if can_be_limited "$firn"; then
  (ulimit -v 4000000 && run 1 space.log s.yml --output big --set snow.0.per_cell=null --set snow.0.particles=2e7)
  [ $? -eq 1 ] || { fail "a limit on memory went unnoticed" && show space.log; }
  says space.log '^firn: s.yml: the snow takes at least [0-9]+ MiB on a rank, and its limit \(ulimit -v\) is [0-9]+ MiB'
fi

SLURM_MEM_PER_NODE=1 expect 1 2 slurm.log s.yml --output big --set snow.0.per_cell=60
says slurm.log '^firn: s.yml: the snow takes at least [0-9]+ MiB on a node \(2 ranks of [0-9]+ MiB\), and Slurm gives 1 MiB; use more nodes, or fewer particles$'

# Explicit steps get shorter as snow hardens, and the check says what to do.
checks 0 hard.txt s.yml --set integrator='{scheme: explicit}' --set time='{end: 0.05}'
says hard.txt '^             [0-9]+ once some snow is pressed to half its volume, which hardens it$'
says hard.txt '^  advice     integrator.scheme: semi-implicit is not bound by that'
checks 0 soft.txt s.yml --set integrator='{scheme: semi-implicit}'
silent_on soft.txt advice

# Particle files.
expect 0 1 source.log "${short[@]}" --output source
"$firn" info source/frames/frame_000000.h5 >info.txt
cp source/frames/frame_000000.h5 good.h5
cat >from.yml <<'END'
domain: {lower: [-0.2, -0.04, -0.08], cells: [40, 20, 16], spacing: 0.01}
time: {end: 0.005}
snow:
  - {name: pile, file: good.h5}
bodies:
  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}
END
checks 0 from.txt from.yml
says from.txt "^  particles  $(sed -n 's/^  particles *//p' info.txt), $(sed -n 's/^  particles *//p' info.txt) of them from files\$"
silent_on from.txt warning
checks 1 missing.txt from.yml --set snow.pile.file=missing.h5
says missing.txt '^firn: from.yml:4: snow.pile: cannot open missing.h5: No such file'
checks 1 text.txt from.yml --set snow.pile.file=s.yml
says text.txt '^firn: from.yml:4: snow.pile: s.yml is not an HDF5 file'
expect 1 2 text.log from.yml --set snow.pile.file=s.yml --output text
says text.log '^firn: from.yml:4: snow.pile: s.yml is not an HDF5 file'
checks 1 far.txt from.yml --set 'domain.lower=[0, 0, 0]'
says far.txt '^firn: from.yml:4: snow.pile: [0-9]+ of [0-9]+ particles of good.h5 that were looked at lie outside the domain'
checks 0 sunk.txt from.yml --set 'bodies.floor.plane.point=[0, 0.06, 0]'
says sunk.txt '^  warning: from.yml:4: snow.pile: about [0-9]+ % of it lies inside the body .floor.'

# Meshes: in centimetres, in millimetres, flat (also askew, where no side of its bounds is zero).
export FIRN_CACHE=$work/cache
cuboid() { # SIZE LOWER HEIGHT TILT: corners and sides
  awk -v s="$1" -v low="$2" -v h="$3" -v t="$4" 'BEGIN {
    for (i = 0; i < 8; i++) { x = low + (i % 2) * s; z = low + int(i / 4) * s; print "v", x, low + int(i / 2) % 2 * h + t * (x + 0.3 * z), z }
    print "f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6" }'
}
cuboid 8 2 8 0 >cm.obj
cuboid 800 200 800 0 >mm.obj
cuboid 0.08 0 0 0 >flat.obj
cuboid 0.08 0 0 0.7 >askew.obj
cat >mesh.yml <<'END'
domain: {lower: [-0.2, -0.2, -0.2], cells: [40, 40, 40], spacing: 0.01}
time: {end: 0.005}
snow:
  - {name: lump, mesh: {file: cm.obj, spacing: 0.2}}
END
checks 1 cm.txt mesh.yml
says cm.txt "^firn: mesh.yml:4: snow.lump: the snow reaches .*outside the domain.*; is the mesh in centimetres\? then give it 'scale: 0.01'"
checks 0 scaled.txt mesh.yml --set snow.lump.mesh.scale=0.01 --set snow.lump.mesh.spacing=0.01
checks 1 grid.txt mesh.yml --set snow.lump.mesh.file=mm.obj --set snow.lump.mesh.spacing=0.01
says grid.txt "too large; raise 'spacing' above 0.01 m, or give 'scale' if the file is not in metres"
for file in flat askew; do
  checks 1 flat.txt mesh.yml --set snow.lump.mesh.file=$file.obj --set snow.lump.mesh.spacing=0.01
  says flat.txt "^firn: mesh.yml:4: snow.lump: $file.obj: the mesh is flat, so that nothing is inside; give it a thickness"
  "$firn" levelset -o keys.h5 --spacing 0.01 --rate 10 $file.obj >keys.txt 2>&1 && fail "keys of a flat mesh"
  says keys.txt 'the mesh is flat'
done
checks 0 body.txt s.yml --set 'bodies.rock={mesh: {file: mm.obj, spacing: 40}}'
says body.txt "^  warning: s.yml: bodies.rock: it is .* m large in a domain of 0.4 m; is the mesh in millimetres\? then give it 'scale: 0.001'|^  warning: s.yml:[0-9]+: bodies.rock: it is .*millimetres"
says body.txt 'bodies.rock: it never is in the domain'

# Doubts come before the first step, and do not stop the run.
expect 0 2 doubt.log "${short[@]}" --output doubt --set 'bodies.plate={box: {center: [0.1, 0.1, 0], size: [0.1, 0.005, 0.1]}}'
says doubt.log '^warning: s.yml: bodies.plate: it is about 0.00[0-9]+ m thick|^warning: s.yml:[0-9]+: bodies.plate: it is about'
awk '/^warning/ { warned = 1 } /^frame/ { exit !warned }' doubt.log || fail "the doubt comes late"

# Snow that falls out of the box: said when it happens and at the end, with an exit code of its own; on one rank as on two.
cat >gone.yml <<'END'
domain: {cells: [20, 20, 20], spacing: 0.01}
time: {end: 0.1, frame_rate: 50, max_step: 1e-3}
snow:
  - {sphere: {center: [0.1, 0.1, 0.1], radius: 0.03}, velocity: [0, -3, 0], per_cell: 4}
END
for ranks in 1 2; do
  expect 87 $ranks gone.log gone.yml --output "gone$ranks" --quiet
  says gone.log '^warning: at 0\.0[0-9]+ s the last of the snow left the domain; the run continues without any$'
  says gone.log '^warning: no snow is left: all [0-9]+ particles have left the domain; enlarge it, or look for the body'
  [ "$(grep -c '^warning' gone.log)" -eq 2 ] || { fail "not two warnings" && show gone.log; }
done
same gone1 gone2

# Stiffness that is held at its limit is counted in the history and told at the end.
expect 0 1 hard.log s.yml --output hard --set time.end=0.025 --set 'materials={snow: {hardening_limit: 1.5}}'
says hard.log '^at most [1-9][0-9]* particles at once reached the hardening or volume limit of their material'
awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k; next } $at["limited"] > most { most = $at["limited"] }
  END { print most }' hard/history.csv >most.txt
grep -q -x -F "$(sed -n 's/^at most \([0-9]*\) particles.*/\1/p' hard.log)" most.txt || fail "the history and the log do not agree: $(cat most.txt)"
silent_on odd.log hardening_limit
finish words
