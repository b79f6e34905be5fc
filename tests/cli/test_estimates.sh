#!/usr/bin/env bash
# What firn check says of time and memory, beside each other and beside a run: the estimate for one core and that for a queue
# have one source, and memory counts the process too.
#   test_estimates.sh FIRN MPIEXEC
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
small_scene | sed 's/radius: 0.04/radius: 0.06/; s/end: 0.05/end: 0.06/; s/lower: .*, cells: [^]]*\]/lower: [-0.2, -0.04, -0.08], cells: [40, 24, 16]/' >s.yml

"$firn" check s.yml >plain.log || fail "check fails"
"$firn" check s.yml --ranks 1 >ranks.log || fail "check --ranks fails"
# seconds: "time  about 8.8 s on ..."; "walltime 0:01:00: twice 807 steps of 10.9 ms with ..."
plain=$(sed -n 's/^  time  *about \([0-9.e+]*\) s .*/\1/p' plain.log)
ranks=$(sed -n 's/.*twice \([0-9.e+]*\) steps of \([0-9.e+-]*\) ms.*/\1 \2/p' ranks.log | awk '{ print $1 * $2 / 1e3 }')
near() { # A B FACTOR
  awk -v a="$1" -v b="$2" -v f="$3" 'BEGIN { exit !(a > 0 && b > 0 && a < f * b && b < f * a) }'
}
near "$plain" "$ranks" 2 || { fail "check says $plain s, and $ranks s with --ranks 1" && show ranks.log; }

# A run on one thread: its processor time, and the most memory that was seen of it.
start 1 run.log s.yml --threads 1 --output out
most=0 spent=0
while kill -0 "$launcher" 2>/dev/null; do
  for pid in $(ranks_of "$launcher"); do
    seen=$(awk '/^VmHWM:/ { print $2 }' "/proc/$pid/status" 2>/dev/null)
    user=$(awk '{ print $14 / 100 }' "/proc/$pid/stat" 2>/dev/null)
    [ "${seen:-0}" -le "$most" ] || most=$seen
    [ -z "$user" ] || spent=$user
  done
  sleep 0.05
done
wait "$launcher" || { fail "the run fails" && show run.log; }
near "$plain" "$spent" 4 || fail "check says $plain s, and the run took $spent s of processor time"
said=$(sed -n 's/^  memory  *about \([0-9.]*\) MiB per rank.*/\1/p' plain.log)
awk -v said="$said" -v most="$most" 'BEGIN { exit !(said * 1024 > 0.8 * most && said * 1024 < 1.3 * most) }' ||
  fail "check says $said MiB, and the run took $((most / 1024)) MiB"

# The command that fits the speeds says what it found beside what is used.
"$mpiexec" -n 1 "$firn" model s.yml --fit --ranks 1 >fit.log 2>&1 || { fail "model --fit fails" && show fit.log; }
says fit.log '^over the bare pair of [0-9.]+ ns per particle: 0\.[0-9]+ parallel, 0\.[0-9]+ serial, 0\.[0-9]+ per product \(firn check takes 0\.112, '
finish estimates
