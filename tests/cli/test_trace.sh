#!/usr/bin/env bash
# What a run says about itself for programs and pictures: --trace, run.json, and a progress bar that no log ever holds.
#   test_trace.sh FIRN MPIEXEC
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
small_scene | sed 's/end: 0.05/end: 0.0125/' >s.yml

# The trace: all ranks and threads, every step, every phase; and it changes no bit.
expect 0 1 plain.log s.yml --output plain --threads 1
expect 0 2 trace.log s.yml --output traced --threads 2 --trace trace.json
same plain traced
steps=$(sed -n 's/^done: \([0-9]*\) steps.*/\1/p' trace.log)
spans() { # NAME RANK THREAD
  grep -c "^{\"name\":\"$1\",\"ph\":\"X\",\"pid\":$2,\"tid\":$3," trace.json
}
for rank in 0 1; do
  [ "$(spans step $rank 0)" -eq "$steps" ] || fail "rank $rank traced $(spans step $rank 0) of $steps steps"
  for phase in build p2g nodes solve g2p migrate order 'wait: neighbours' 'wait: all ranks' frame; do
    [ "$(spans "$phase" $rank 0)" -gt 0 ] || fail "no span '$phase' of rank $rank"
  done
  [ "$(spans 'p2g planes' $rank 1)$(spans tiles $rank 1)" != 00 ] || fail "no span of thread 1 of rank $rank"
done
says trace.json '"process_name","ph":"M","pid":1,"args":\{"name":"rank 1 on '
[ "$(tail -n 1 trace.json)" = ']}' ] || fail "the trace has no end"
expect 0 2 some.log s.yml --output some --threads 1 --trace some.json --trace-steps 3,5
[ "$(grep -c '"name":"step".*"pid":0' some.json)" -eq 3 ] || fail "--trace-steps 3,5 is not three steps"
expect 1 2 nowhere.log s.yml --output nowhere --threads 1 --trace no/such/folder.json
says nowhere.log '^firn: cannot write the trace no/such/folder.json: '
expect 1 1 bad.log s.yml --trace-steps 3
says bad.log 'firn: run: --trace-steps needs 2 numbers'

# The record.
value() { # KEY: the first with this name
  sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\).*/\1/p" traced/run.json | head -n 1
}
[ "$(value steps)" = "$steps" ] || fail "run.json has $(value steps) steps and the log $steps"
[ "$(value ranks)" = 2 ] && [ "$(value threads)" = 2 ] || fail "run.json has $(value ranks) x $(value threads) threads"
[ "$(value finished)" = true ] || fail "run.json does not know the end"
for key in commit kernels scene_hash hosts processor mpi binding iterations products imbalance set_up stepping \
  exchange reduce plane_messages plane_bytes particle_messages sums sum_bytes memory; do
  grep -q "^ *\"$key\": " traced/run.json || fail "run.json has no $key"
done
# Every product and the P2G of a step is an exchange, both ways, of one or two messages; the tile lists are one more.
least=$((2 * ($(value products) + steps)))
[ "$(value plane_messages)" -ge "$least" ] || fail "$(value plane_messages) messages for $least exchanges"
# A start that stops early says so.
expect 85 1 limit.log s.yml --output limit --threads 1 --wall-limit 1e-3 --set checkpoint.margin=0
says limit/run.json '"finished": false'
says limit/run.json '"stopped_by": "the time limit"'

# The bar: on the user's own terminal, through mpirun as well; never where stderr goes to a file, even if a terminal is near.
small_scene | sed 's/per_cell: 6/per_cell: 12/' >slow.yml
bars() { # FILE
  tr '\r' '\n' <"$1" | grep -c '\[[#.]*\] frame'
}
on_terminal() { # COMMAND: its terminal goes to typescript
  script -q -e -c "$1" typescript >/dev/null 2>&1 </dev/null || { fail "on a terminal: $1" && show typescript; }
}
if command -v script >/dev/null; then
  run="$firn run slow.yml --threads 1 --force --output bar"
  on_terminal "$run"
  [ "$(bars typescript)" -gt 0 ] || fail "no bar on a terminal"
  on_terminal "$mpiexec -n 1 $run"
  [ "$(bars typescript)" -gt 0 ] || fail "no bar on a terminal behind mpirun"
  on_terminal "$mpiexec -n 1 $run 2>bar.log"
  [ "$(bars typescript)$(bars bar.log)" = 00 ] || fail "mpirun with stderr in a file: $(bars bar.log) bars in it"
  on_terminal "$mpiexec -n 1 $run >bar.log 2>&1"
  [ "$(bars typescript)$(bars bar.log)" = 00 ] || fail "mpirun with all in a file: $(bars bar.log) bars in it"
  on_terminal "$mpiexec -n 1 $run --progress never"
  [ "$(bars typescript)" = 0 ] || fail "--progress never draws"
else
  fail "script (package bsdutils) is not there: the progress bar is not tested"
fi
expect 0 1 always.log slow.yml --threads 1 --output bar --force --progress always
[ "$(bars always.log)" -gt 0 ] || fail "--progress always does not draw"
expect 0 1 auto.log slow.yml --threads 1 --output bar --force
[ "$(bars auto.log)" = 0 ] || fail "bars in a redirected log"
finish trace
