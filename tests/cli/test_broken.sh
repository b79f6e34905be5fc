#!/usr/bin/env bash
# Broken input: every scene in tests/data/broken, and some that cannot lie in a repository (a folder, noise, a file
# that may not be read), gives exit code 1 and one line that names the reason; never a hang, a crash or a file.
#   test_broken.sh FIRN MPIEXEC
# The first line of a scene is "# expect: substring of the message". All go through `firn check` in one process; every
# sixteenth also through `firn run` on three ranks, where an error must be agreed on.
set -uo pipefail
firn=$1 mpiexec=$2
corpus=$(cd "$(dirname "${BASH_SOURCE[0]}")/../data/broken" && pwd) || exit 1
[ -x "$firn" ] || { echo "FAIL: $firn is not there; build it first" >&2 && exit 1; }
work=$(mktemp -d) || exit 1
trap 'chmod -R u+rwX "$work"; rm -rf "$work"' EXIT
mkdir "$work/made" "$work/here"
cd "$work/here" || exit 1
tried=0 bad=0 as=()

fail() {
  echo "FAIL: $*" >&2
  bad=$((bad + 1))
}

judge() { # what code expected
  local complaints
  tried=$((tried + 1))
  case $2 in
    1) ;;
    124 | 137 | 152) fail "$1: hangs" ;; # 152: 30 s of processor time
    13[0-9]) fail "$1: killed by signal $(($2 - 128)): $(head -c 300 "$work/err")" ;;
    *) fail "$1: exit code $2 instead of 1: $(head -c 300 "$work/err")" ;;
  esac
  complaints=$(grep -c '^firn: ' "$work/err")
  [ "$complaints" -eq 1 ] || fail "$1: $complaints lines start with 'firn: ' instead of one: $(head -c 300 "$work/err")"
  grep '^firn: ' "$work/err" | grep -q -F -e "$3" || fail "$1: no '$3' in: $(head -c 300 "$work/err")"
  if [ -n "$(ls -A .)" ]; then
    fail "$1: left $(find . -mindepth 1 | head -n 5 | xargs)"
    rm -rf ./* ./.[!.]*
  fi
}

check_alone() { # scene expected [arguments...]
  local scene=$1 expected=$2
  shift 2
  "${as[@]}" timeout -k 5 600 prlimit --cpu=30 "$firn" check "$scene" "$@" >"$work/out" 2>"$work/err" </dev/null
  judge "check ${scene##*/} $*" $? "$expected"
  [ "$(wc -l <"$work/err")" -eq 1 ] || fail "check ${scene##*/}: stderr is not one line: $(head -c 300 "$work/err")"
}

run_on_three() { # scene expected
  "${as[@]}" timeout -k 5 600 "$mpiexec" -n 3 "$firn" run "$1" >"$work/out" 2>"$work/err" </dev/null
  judge "run on three ranks ${1##*/}" $? "$2"
}

shopt -s nullglob
scenes=("$corpus"/*.yml)
[ ${#scenes[@]} -ge 60 ] || fail "only ${#scenes[@]} broken scenes in $corpus, where at least 60 belong"
for i in "${!scenes[@]}"; do
  expected=$(sed -n '1s/^# expect: //p' "${scenes[i]}")
  if [ -z "$expected" ]; then
    fail "${scenes[i]}: the first line is not '# expect: ...'"
    continue
  fi
  check_alone "${scenes[i]}" "$expected"
  [ $((i % 16)) -ne 0 ] || run_on_three "${scenes[i]}" "$expected"
done

made=$work/made
mkdir "$made/folder.yml"
: >"$made/empty.yml"
ln -s nowhere "$made/dangling.yml"
head -c 10485760 /dev/urandom >"$made/noise.yml"
head -c 20971520 /dev/zero >"$made/zeros.yml"
printf 'domain:\n\tcells: 4\n' >"$made/tab.yml"
printf 'domain: \377\376\n' >"$made/not_utf8.yml"
awk 'BEGIN { for (i = 0; i < 200000; i++) printf "[" }' >"$made/deep.yml"
awk 'BEGIN { print "a0: &a0 [x, x, x, x, x, x, x, x]"
  for (i = 1; i < 30; i++) { printf "a%d: &a%d [", i, i; for (j = 0; j < 8; j++) printf "*a%d, ", i - 1; print "x]" } }' \
  >"$made/bomb.yml"
awk 'BEGIN { for (i = 0; i < 190000; i++) print "k" i ": 0" }' >"$made/wide.yml"
for scene in "$made"/*.yml "$made/missing.yml"; do check_alone "$scene" "${scene##*/}"; done
for name in folder noise missing empty; do run_on_three "$made/$name.yml" "$name.yml"; done
# A file that may not be read. Root reads everything, and so becomes nobody for it.
echo 'domain: {}' >"$made/locked.yml"
chmod 000 "$made/locked.yml"
if [ "$(id -u)" -eq 0 ]; then
  chmod 755 "$work" "$made" && chmod 777 .
  as=(setpriv --reuid=65534 --regid=65534 --clear-groups env -u LD_PRELOAD HOME="$work")
  cp "$firn" "$work/firn" && firn=$work/firn # the build folder may be root's alone
fi
check_alone "$made/locked.yml" locked.yml
grep -q 'Permission denied' "$work/err" || fail "locked.yml: $(head -c 300 "$work/err")"
run_on_three "$made/locked.yml" locked.yml

[ $bad -eq 0 ] && echo "broken input: $tried cases, good"
[ $bad -eq 0 ] || echo "broken input: $bad of $tried cases are wrong" >&2
exit $((bad > 0))
