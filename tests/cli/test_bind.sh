#!/usr/bin/env bash
# --bind: the map of ranks, threads and cores is in the log once and is true, the launcher's choice of cores is kept, too few cores
# bind nothing, and none of it changes a bit.
#   test_bind.sh FIRN MPIEXEC
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
unset OMP_PROC_BIND OMP_PLACES GOMP_CPU_AFFINITY OMP_NUM_THREADS

small_scene | sed 's/end: 0.05/end: 0.0125/' >s.yml
cores=$(lscpu -p=core,socket | grep -v '^#' | sort -u | wc -l)
units=$(grep Cpus_allowed_list /proc/self/status | cut -f2)

map_says() { # LOG REGEX
  says "$1" "$2"
  [ "$(grep -c 'per node of' "$1")" -eq 1 ] || { fail "the map is not there once" && show "$1"; }
}

# Where the threads of a process may run, one line each.
places() { # PROCESS
  cat /proc/"$1"/task/*/status 2>/dev/null | sed -n 's/^Cpus_allowed_list:\s*//p'
}

expect 0 1 auto.log s.yml --output auto
map_says auto.log '^1 rank per node of [0-9]+ cores, [0-9]+ threads? each, bound: rank 0 to [0-9]'
expect 0 1 none.log s.yml --output none --bind none
map_says none.log ' each, not bound$'
same auto none
expect 0 1 one.log s.yml --output one --threads 1 --bind core
map_says one.log ', 1 thread each, bound: rank 0 to [0-9]'
same auto one

# Threads without work are told of in one line, with the reason; with work for all there is none.
expect 0 1 idle.log s.yml --output idle --threads 60 --profile
says idle.log '^[0-9]+ of 60 threads have no work; [0-9]+ have no blocks \(a thread needs at least one of 4 x 4 x 8 cells'
# So does the balance over threads: at most 60 times the mean, and more than twice if half of them have nothing.
says idle.log "^  threads: counted work of rank 0's busiest of 60 over their mean ([2-9]|[1-5][0-9])[.][0-9]+, at most"
expect 0 1 even.log s.yml --output even --threads 2 --profile
says even.log "^  threads: counted work of rank 0's busiest of 2 over their mean 1[.][0-5]"
awk '/"thread_imbalance"/ { on = 1 } on && /"mean"/ { sub(",", "", $2); exit !($2 >= 1 && $2 < 1.6) }' even/run.json || fail "no balance of threads in run.json"
[ "$(grep -c 'have no work' idle.log)" -eq 1 ] || { fail "not one line" && show idle.log; }
! grep -q 'have no work' one.log || { fail "one thread has work" && show one.log; }
if [ "$cores" -gt 1 ]; then # 1616 particles are not worth two threads
  says auto.log "^$((cores - 1)) of $cores threads have no work; $((cores - 1)) have too few particles \(a thread needs 4000"
fi

# A machine with several memories, as hwloc is told: who uses which.
! grep -q 'NUMA' auto.log || [ "$(lscpu -p=node | grep -v '^#' | sort -u | wc -l)" -gt 1 ] || fail "memories of a machine with one"
if [ "$cores" -ge 2 ]; then
  HWLOC_SYNTHETIC='numa:2 core:1 pu:1' HWLOC_THISSYSTEM=1 expect 0 2 numa.log s.yml --output numa --threads 1 --bind core
  says numa.log '^memory of 2 NUMA nodes: rank 0 on 0, rank 1 on 1$'
  same auto numa
fi

# By default two ranks share the cores between them.
each=$((cores / 2 > 0 ? cores / 2 : 1))
expect 0 2 share.log s.yml --output share
map_says share.log "^2 ranks per node of [0-9]+ cores, $each threads? each, "
same auto share

# More threads than cores.
expect 0 2 many.log s.yml --output many --threads $((cores + 1))
map_says many.log 'not bound \(more threads than cores\)'
expect 0 1 must.log s.yml --output must --threads $((cores + 1)) --bind core
says must.log 'warning: --bind core: not bound \(more threads than cores\)'

# The last unit alone, as a launcher may leave it.
last=${units##*[,-]}
taskset -c "$last" "$firn" run s.yml --output alone >alone.log 2>&1 || fail "on one core: exit code $?"
map_says alone.log ", 1 thread each, bound: rank 0 to $last\$"
same auto alone

if [ "$cores" -lt 2 ]; then
  skipped "two threads and two ranks on cores of their own: there is one core"
else
  expect 0 1 spare.log s.yml --output spare --threads 1
  map_says spare.log 'not bound \(cores to spare\)'

  # What the system says of the threads while they run.
  "$firn" run s.yml --output two --threads 2 --bind core --set time.end=10 >two.log 2>&1 &
  process=$!
  wait_started $process two.log
  [ "$(places $process | grep -v -x -c -F "$units")" -ge 2 ] || fail "fewer than two threads are bound: $(places $process | tr '\n' ' ')"
  [ "$(places $process | grep -v -x -F "$units" | sort -u | wc -l)" -eq 2 ] || fail "not one core each: $(places $process | tr '\n' ' ')"
  kill -TERM $process
  wait $process

  # Two ranks that were left the same cores: none of them is used twice.
  expect 0 2 ranks.log s.yml --output ranks --threads 1 --bind core
  map_says ranks.log ', 1 thread each, bound: rank 0 to '
  used=$(sed -n 's/.*bound: rank 0 to \(.*\), rank 1 to \(.*\)/\1 \2/p' ranks.log)
  [ -n "$used" ] && [ "${used% *}" != "${used#* }" ] || fail "two ranks on one core: $used"
  same auto ranks

  # OpenMP's own variables: two threads on two cores, whatever is set, and the log says who bound them.
  cores_of() { # WORDS: the single cores that threads of a run with these variables are bound to
    : >openmp.log # of the run before
    env "$@" "$firn" run s.yml --output openmp --force --threads 2 --set time.end=10 >openmp.log 2>&1 &
    process=$!
    wait_started $process openmp.log || { fail "$*: the run did not start" && show openmp.log; }
    [ "$(ps -o comm= -p $process)" = firn ] || fail "the program shows as $(ps -o comm= -p $process) in ps"
    used=$(places $process | grep -x -E '[0-9]+' | sort -u | wc -l)
    kill -KILL $process
    wait $process 2>/dev/null
  }
  for words in OMP_PROC_BIND=close OMP_PROC_BIND=spread OMP_PLACES=cores OMP_PLACES=threads "OMP_PLACES=cores OMP_PROC_BIND=close" \
    "OMP_NUM_THREADS=2 OMP_PROC_BIND=close" "OMP_NUM_THREADS=2 OMP_PROC_BIND=true" GOMP_CPU_AFFINITY=0-$((cores - 1)); do
    # shellcheck disable=SC2086 # a list of words on purpose
    cores_of $words
    [ "$used" -ge 2 ] || fail "$words: threads on $used cores: $(grep 'per node of' openmp.log)"
    map_says openmp.log ', 2 threads each, bound by OpenMP, as its variables ask: rank 0 to '
  done
  OMP_PROC_BIND=close expect 0 1 count.log s.yml --output count
  map_says count.log ", $cores threads each, bound by OpenMP"
  OMP_PLACES="{$last}" expect 0 1 single.log s.yml --output single --threads 2
  says single.log '^warning: OpenMP.s variables put 2 threads of a rank on 1 processing unit '
  OMP_PROC_BIND=false expect 0 1 free.log s.yml --output free
  map_says free.log 'not bound \(OMP_PROC_BIND says so\)'
  # OpenMP would put both ranks on the first core.
  OMP_PROC_BIND=close expect 0 2 close.log s.yml --output close --threads 1
  used=$(sed -n 's/.*bound: rank 0 to \(.*\), rank 1 to \(.*\)/\1 \2/p' close.log)
  [ -n "$used" ] && [ "${used% *}" != "${used#* }" ] || { fail "OMP_PROC_BIND=close: two ranks on one core: $used" && show close.log; }
  same auto close
  # -c of Slurm without an affinity plugin: the mask has all cores.
  SLURM_CPUS_PER_TASK=1 SLURM_CPUS_ON_NODE=$cores expect 0 1 task.log s.yml --output task
  map_says task.log ', 1 thread each,'

  # One rank was left a core that the other may use too.
  "$mpiexec" -n 1 taskset -c "$last" "$firn" run s.yml --output overlap --threads 1 --bind core : \
    -n 1 "$firn" run s.yml --output overlap --threads 1 --bind core >overlap.log 2>&1 || fail "sets that overlap: exit code $?"
  map_says overlap.log 'not bound \(the launcher.s sets of cores overlap\)'
  same auto overlap
fi

# OMP_NUM_THREADS is the default of --threads, and the log says so.
OMP_NUM_THREADS=1 expect 0 1 omp.log s.yml --output omp
says omp.log '^OMP_NUM_THREADS asks for 1 thread per rank$'
map_says omp.log ', 1 thread each,'
OMP_NUM_THREADS=3,2 expect 0 2 omp3.log s.yml --output omp3
map_says omp3.log ', 3 threads each,'
OMP_NUM_THREADS=3 expect 0 1 asked.log s.yml --output asked --threads 2
map_says asked.log ', 2 threads each,'
! grep -q OMP_NUM_THREADS asked.log || fail "OMP_NUM_THREADS is named where --threads counts"
OMP_NUM_THREADS=many expect 0 1 many.log s.yml --output many --force
says many.log '^warning: OMP_NUM_THREADS is "many", not a number from 1 to [0-9]+: ignored$'

# Threads that wait spin for microseconds and then sleep, unless the user chose how; OpenMP's own limit is milliseconds.
spinning() { # LOG FOLDER: prints the setting of a run, which is long enough to be looked at
  "$firn" run s.yml --output "$2" --threads 2 --set time.end=0.05 >"$1" 2>&1 </dev/null &
  local process=$!
  wait_started $process "$1" || fail "the run did not start"
  tr '\0' '\n' <"/proc/$process/environ" | grep -E '^(GOMP_SPINCOUNT|OMP_WAIT_POLICY)='
  wait $process || { fail "exit code $?" && show "$1"; }
}
[ "$(unset OMP_WAIT_POLICY GOMP_SPINCOUNT && spinning spin.log spin)" = GOMP_SPINCOUNT=2000 ] || fail "waiting threads are not bounded"
[ "$(unset GOMP_SPINCOUNT && OMP_WAIT_POLICY=active spinning active.log active)" = OMP_WAIT_POLICY=active ] ||
  fail "what the user chose for waiting threads is not kept"
same auto/frames/frame_000002.h5 spin/frames/frame_000002.h5
same spin active

expect 1 1 bad.log s.yml --output bad --bind maybe
says bad.log '^firn: run: --bind takes auto, core or none, not "maybe"$'
[ ! -e bad ] || fail "a folder in spite of the error"
finish bind
