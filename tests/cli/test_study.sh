#!/usr/bin/env bash
# Studies without Slurm: a sweep and scaling studies in one command each, their tables and pictures, what is asked for wrongly, and a
# run that gets nowhere.
#   test_study.sh FIRN MPIEXEC
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
jobs=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../jobs" && pwd)
export FIRN=$firn FIRN_HERE=1
PATH=$(dirname "$mpiexec"):$PATH
small_scene | sed 's/end: 0.05/end: 0.0125/' >s.yml

cell() { # FILE ROW COLUMN-NAME
  awk -F, -v row="$2" -v name="$3" 'NR == 1 { for (k = 1; k <= NF; k++) if ($k == name) c = k } NR == row + 1 { print $c }' "$1"
}
refused() { # REGEX ARGUMENTS...
  "$firn" study "${@:2}" 2>refused.log >table.log && fail "study ${*:2} is accepted"
  says refused.log "$1"
  [ "$(wc -l <refused.log)" -eq 1 ] || fail "study ${*:2} says more than a line"
}

# A sweep: values with commas in them, arguments for all runs.
FIRN_RANKS=2 "$jobs/sweep.sh" s.yml -o sweep 'snow.0.velocity=[5, -4, 0.3],[0, 0, 0]' bodies.floor.friction=0.1,0.9 \
  -- --threads 1 --set time.cfl=0.3 >sweep.log 2>&1 || { fail "sweep.sh" && show sweep.log; }
[ "$(wc -l <sweep/results.csv)" -eq 5 ] || { fail "the table has not one row a run" && show sweep/results.csv; }
for k in 0 1 2 3; do
  same_scene=$(grep -c 'on 2 ranks' sweep/run_$k.log)
  [ "$same_scene" -ge 1 ] || { fail "run $k did not run on 2 ranks" && show sweep/run_$k.log; }
done
says sweep/results.csv '^run,state,snow.0.velocity,bodies.floor.friction,run.steps,run.seconds.stepping,time,particles,kinetic,'
says sweep/results.csv '^0,done,"\[5, -4, 0.3\]",0.1,'
says sweep/results.csv '^3,done,"\[0, 0, 0\]",0.9,'
"$firn" info --scene sweep/run_002/frames/frame_000001.h5 >scene.txt
says scene.txt '^# --set snow.0.velocity=\[0, 0, 0\]$'
says scene.txt '^# --set time.cfl=0.3$'
[ "$(head -c 4 sweep/sheet.png | tail -c 3)" = PNG ] || fail "no contact sheet"
# Numbers of the table are those of the runs.
expect 0 1 alone.log s.yml --output alone --threads 1 --set time.cfl=0.3 --set bodies.floor.friction=0.9 --set 'snow.0.velocity=[0, 0, 0]'
same alone sweep/run_003
"$firn" study collect sweep --columns kinetic,frame.position_y.min,run.particles >columns.txt || fail "collect --columns"
kinetic=$(cell alone/history.csv $(($(wc -l <alone/history.csv) - 1)) kinetic)
awk -v a="$kinetic" -v b="$(sed 's/"[^"]*"/v/' sweep/results.csv | cell /dev/stdin 4 kinetic)" 'BEGIN { exit !(a != "" && b != "" && (a - b) ^ 2 <= 1e-16 * a ^ 2) }' ||
  { fail "the kinetic energy of run 3 is not $kinetic" && show sweep/results.csv; }
refused 'no run has a number "kinetik"' collect sweep --columns kinetik

# A table.
printf '# two runs\nbodies.floor.friction,"snow.0.velocity"\n0.2,"[1, 0, 0]"\n0.3,"[2, 0, 0]"\n' >t.csv
"$firn" study sweep s.yml -o table t.csv >table.log 2>&1 || { fail "a table" && show table.log; }
"$firn" study arguments table 1 | tr '\n' ' ' >words.txt
says words.txt "^$work/s.yml --set bodies.floor.friction=0.3 --set snow.0.velocity=\[2, 0, 0\] --output $work/table/run_001 $"
[ "$("$firn" study list table)" = "$(printf '0 0\n1 0')" ] || fail "list"
"$firn" study collect table >empty.txt || fail "collecting what has not run"
says table/results.csv '^1,not run,0.3,'

# The model: what it measured is what it and firn check take up again; twice the time and memory of one rank are twice as much.
"$firn" model s.yml --threads 1 --steps 2 --ranks 1,2,4 --save m.json --csv model.csv --plot model >model.txt 2>&1 || { fail model && show model.txt; }
[ "$(cut -d, -f1 model.csv | paste -s -d ' ')" = 'ranks 1 2 4' ] || { fail "the model's table" && show model.csv; }
for text in 'Predicted strong scaling of s.yml' 'time per step, ms' efficiency 'lost, % of a step' 'serial work'; do says model.svg ">$text"; done
[ "$(grep -c '<circle' model.svg)" -eq 24 ] || fail "the model's plot has not its points"
[ "$(head -c 4 model.png | tail -c 3)" = PNG ] || fail "no model.png"
"$firn" check s.yml --ranks 4 --per-node 2 --machine m.json --network hdr >ask.txt 2>&1 || { fail "check --ranks" && show ask.txt; }
says ask.txt '^  to ask for, on 4 ranks of 1 thread$'
says ask.txt '^    nodes      2, with 2 cores each$'
says ask.txt '^    memory     0.2 GB per node'
says ask.txt '^    walltime   0:0[1-9]:00: twice [0-9]+ steps of [0-9.e-]+ ms with [0-9.]+ iterations each \(as measured\)$'
"$firn" check s.yml --ranks 400 >ask.txt 2>&1 || { fail "check --ranks 400" && show ask.txt; }
says ask.txt 'warning: s.yml: only [0-9]+ of 400 ranks get a slab, which has at least 4 planes'
"$firn" check s.yml --threads 4 >ask.txt 2>&1 && fail "threads without ranks are accepted"
says ask.txt 'are for --ranks N'
"$firn" check s.yml --ranks 2 --machine s.yml >ask.txt 2>&1 && fail "a scene is accepted as a machine"
says ask.txt 'not what firn model --save writes'

# Scaling: tables, plots, bits.
"$jobs/scaling.sh" strong s.yml -o strong --ranks 1,2,3 -- --threads 1 >strong.log 2>&1 || { fail "strong" && show strong.log; }
says strong.log 'frames: 3 of 3 runs that share a scene with another have the same bits'
[ "$(cell strong/results.csv 3 ranks)" = 3 ] || { fail "the strong table" && show strong/results.csv; }
[ "$(cell strong/results.csv 1 speedup)" = 1 ] || fail "the first is the measure of speed-up"
plotted strong 3 'frames: the same bits \(3 of 3 runs compared\)'
"$jobs/scaling.sh" weak s.yml -o weak --ranks 1,2 -- --threads 1 >weak.log 2>&1 || { fail "weak" && show weak.log; }
says weak.log 'frames: 4 of 4 runs that share a scene with another have the same bits'
one=$(cell weak/results.csv 1 kB_per_step) two=$(cell weak/results.csv 3 kB_per_step)
[ "$one" = 0 ] && [ "$two" != 0 ] || { fail "bytes: $one on one rank, $two on two" && show weak/results.csv; }
plotted weak 2 'frames: the same bits \(4 of 4 runs compared\)'
particles() { sed -n 's/^ *"particles": \([0-9]*\),/\1/p' "$1/run.json"; }
[ "$(particles weak/run_002)" -eq $((2 * $(particles weak/run_000))) ] || fail "twice the ranks have not twice the snow"
# Copies of a bar meet, so that ranks exchange as much as if one bar were cut; with air between them they do not. The table has all
# that a paper says of it.
cat >bar.yml <<'END'
domain: {cells: [32, 12, 12], spacing: 0.01}
time: {end: 0.001, frame_rate: 1000}
snow: [{box: {lower: [0.08, 0.02, 0.02], upper: [0.24, 0.06, 0.1]}}]
bodies: {floor: {plane: {point: [0, 0.02, 0], normal: [0, 1, 0]}}}
END
"$jobs/scaling.sh" weak bar.yml -o bar --ranks 1,2 --repeats 2 -- --threads 1 >bar.log 2>&1 || { fail "a weak study of a bar" && show bar.log; }
says bar.log 'copies follow each other every 16 cells along x, where their snow meets'
says bar.log 'frames: 6 of 6 runs that share a scene with another have the same bits'
plotted bar 2 'frames: the same bits \(6 of 6 runs compared\)' 5
says bar/scaling.svg '>least and most'
half=$(cell bar/results.csv 2 kB_per_step) whole=$(cell bar/results.csv 3 kB_per_step)
awk -v half="$half" -v whole="$whole" 'BEGIN { exit !(half > 50 && whole > 0.9 * half) }' || fail "copies exchange $whole kB, parts of one $half kB"
"$jobs/scaling.sh" weak bar.yml -o air --ranks 2 --apart -- --threads 1 >air.log 2>&1 || { fail "copies with air" && show air.log; }
awk -v air="$(cell air/results.csv 1 kB_per_step)" -v whole="$whole" 'BEGIN { exit !(air < 0.1 * whole) }' || fail "copies apart exchange as much"
[ "$(cell bar/results.csv 1 repeats) $(cell bar/results.csv 2 repeats)" = '2 1' ] || { fail "repeats" && show bar/results.csv; }
awk -F, 'NR == 2 { exit !($8 > 0 && $8 <= $7 && $7 <= $9) }' bar/results.csv || { fail "least, median and most" && show bar/results.csv; }
for column in cores particles cells particles_per_cell steps iterations_per_step MB_per_rank processor node_cores mpi isa commit; do
  [ -n "$(sed 's/"[^"]*"/v/g' bar/results.csv | cell /dev/stdin 1 $column)" ] || { fail "no $column in the table" && show bar/results.csv; }
done
says bar/results.csv '"1 rank per node of [0-9]+ cores, 1 thread each, '
! head -n 1 bar/results.csv | grep -q "['% ]" || { fail "names of columns" && show bar/results.csv; }
refused 'copies of snow that takes 16 cells along x would overlap every 15 cells; use at least 16' weak bar.yml -o new --ranks 2 -- --set domain.copy_cells=15

# Threads instead of ranks, and both on the same cores.
"$jobs/scaling.sh" strong bar.yml -o threads --ranks 1x1,1x2,2x1 >threads.log 2>&1 || { fail "a study of threads" && show threads.log; }
[ "$("$firn" study list threads | paste -s -d ';')" = '0 1 1;1 1 2;2 2 1' ] || fail "list of threads"
[ "$(cut -d, -f2-4 threads/results.csv | paste -s -d ' ')" = 'ranks,threads,cores 1,1,1 1,2,2 2,1,2' ] || { fail "the table of threads" && show threads/results.csv; }
says threads/scaling.svg '1 to 2 threads per rank'
"$jobs/scaling.sh" strong bar.yml -o split --ranks 2x1,1x2 >split.log 2>&1 || { fail "a study of ranks and threads" && show split.log; }
says split/scaling.svg '>ranks, on 2 cores<'
refused 'whose cores do not fall, not "2x2,1x2"' strong bar.yml -o new --ranks 2x2,1x2
refused 'whose cores do not fall, not "1,1x2"' strong bar.yml -o new --ranks 1,1x2
refused '3 cores are no multiple of the 2 of one copy' weak bar.yml -o new --ranks 1x2,1x3
refused 'apart is for weak studies' strong bar.yml -o new --ranks 1 --apart

# A run of other bits is found.
cp weak/run_002/frames/frame_000001.h5 keep.h5
printf x | dd of=weak/run_002/frames/frame_000001.h5 bs=1 seek=30000 conv=notrunc status=none
refused 'runs of the same scene wrote different frames' collect weak
says weak/results.csv 'DIFFERENT'
plotted weak 2 'FRAMES DIFFER'
cp keep.h5 weak/run_002/frames/frame_000001.h5

refused 'holds a study already' sweep s.yml -o table time.cfl=0.2
refused 'is neither KEY=A,B,C' sweep s.yml -o new time.cfl
refused 'run 1 of the study: .*time.cfl' sweep s.yml -o new time.cfl=0.2,2
refused 'run 0 of the study: .*s.yml: --set tiem.cfl=0.2|did you mean .time.' sweep s.yml -o new tiem.cfl=0.2
refused 'rising numbers such as 1,2,4,8, .*, not "2,1"' strong s.yml -o new --ranks 2,1
refused 'needs one scene and --ranks' weak s.yml -o new
refused 'neither sweep, strong' stroll s.yml
refused 'study.json' list nowhere
[ ! -e new ] || fail "a study that is refused leaves a folder"
sed 's/normal: \[0, 1, 0\]/normal: [1, 0, 0]/' s.yml >wall.yml
refused 'run 0 of the study: .*bodies.floor: has no end along x' weak wall.yml -o new --ranks 2

# Words that scripts cannot hand on are refused; the name of a folder is a word and no command.
refused 'continues with a control character' sweep s.yml -o new time.cfl=0.2 -- --set $'name: a\n--force'
refused 'continues with a control character' sweep s.yml -o $'new\nline' time.cfl=0.2
refused 'has a backslash' sweep s.yml -o 'new\j' time.cfl=0.2
[ ! -e new ] || fail "a study that is refused leaves a folder"
mkdir slurm
cat >slurm/sbatch <<'END'
#!/usr/bin/env bash
printf '%s\n' "$@" >>sbatch.log
for word; do
  [ "${before:-}" != --wrap ] || sh -c "$word" || exit 1
  before=$word
done
echo 7
END
printf '#!/bin/sh\n' >slurm/sinfo
chmod +x slurm/*
for folder in "it's; touch broken_out; echo '" '-50%j "$(touch broken_out)"'; do
  rm -f sbatch.log
  (unset FIRN_HERE && PATH=$PWD/slurm:$PATH "$jobs/sweep.sh" s.yml -o "$folder" time.cfl=0.2,0.3) >quoted.log 2>&1 ||
    { fail "a study in the folder $folder" && show quoted.log; }
  [ ! -e broken_out ] || { fail "the folder $folder is a command" && rm broken_out; }
  [ -e "./$folder/results.csv" ] || { fail "no table in the folder $folder" && show quoted.log; }
done
says sbatch.log '^./-50%%j .*/run_%a.log$'

# --give-up: starts that come to nothing are counted, and so are those that write the same steps again.
expect 0 1 first.log s.yml --output stuck --threads 1 --set checkpoint.steps=8
[ "$(wc -l <stuck/starts.csv)" -eq 2 ] || fail "a start is not a line of starts.csv"
step=$(newest stuck) && step=$((10#$(basename "${step#*checkpoint_}" .h5)))
rm stuck/run.json
for _ in 1 2 3; do # starts that were killed
  sed -n "2s/,[0-9]*,0,/,9,$step,/p" stuck/starts.csv >>stuck/starts.csv
done
expect 1 2 stuck.log s.yml --output stuck --threads 1 --restart auto --give-up 3 --set time.end=0.025
says stuck.log "^firn: giving up: the last 3 starts of the run in stuck brought it no further than step $step; look"
expect 0 2 patient.log s.yml --output stuck --threads 1 --restart auto --give-up 4
expect 0 2 free.log s.yml --output stuck --threads 1 --restart auto --set time.end=0.025
expect 0 2 again.log s.yml --output stuck --threads 1 --restart auto --give-up 3 --set time.end=0.025
finish study
