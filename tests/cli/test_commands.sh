#!/usr/bin/env bash
# The way into `firn`: help texts, version, unknown commands, exit codes, and where each of them prints.
#   test_commands.sh FIRN MPIEXEC
set -uo pipefail
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"
firn=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
[ -x "$firn" ] || { echo "FAIL: $firn is not there; build it first" >&2 && exit 1; }
bad=0 ran="firn"

fail() {
  echo "FAIL: $ran: $*" >&2
  bad=1
}

# expect CODE ARGUMENTS...: runs firn, leaves what it printed in out and err
expect() {
  local code=$1 got
  shift
  ran="firn $*"
  timeout 300 "$firn" "$@" >"$work/out" 2>"$work/err" </dev/null
  got=$?
  [ "$got" -eq "$code" ] || fail "exit code $got instead of $code: $(head -c 300 "$work/err")"
}
says() { # FILE REGEX
  grep -q -E -e "$2" "$work/$1" || fail "std$1 has no '$2': $(head -c 300 "$work/$1")"
}
silent() { # FILE
  [ ! -s "$work/$1" ] || fail "std$1 should be empty: $(head -c 300 "$work/$1")"
}
one_error_line() {
  [ "$(wc -l <"$work/err")" -eq 1 ] || fail "stderr should be one line: $(head -c 300 "$work/err")"
  says err '^firn: '
  silent out
}

commands=(run check info diff levelset preview render movie plot report view surface export bench version)
for ask in help --help -h; do
  expect 0 $ask
  silent err
  says out '^usage: firn COMMAND'
  for command in "${commands[@]}"; do says out "^  $command +[a-z]"; done
  awk 'length > 100 { exit 1 }' "$work/out" || fail "a line is too wide"
done

for command in "${commands[@]}"; do
  expect 0 help "$command"
  silent err
  says out "^usage: firn $command"
  cp "$work/out" "$work/from_help"
  expect 0 "$command" --help
  silent err
  cmp -s "$work/out" "$work/from_help" || fail "not what firn help $command prints"
done
expect 0 help help
says out '^usage: firn COMMAND'

for ask in version --version -V; do
  expect 0 $ask
  silent err
  says out '^firn [0-9]+\.[0-9]+\.[0-9]+ \(commit ([0-9a-f]{12}|unknown)\)$'
done

expect 1
silent out
says err '^usage: firn COMMAND'
while read -r typed meant; do
  expect 1 "$typed"
  one_error_line
  says err "unknown command '$typed'; did you mean '$meant'\?"
  expect 1 help "$typed"
  one_error_line
done <<'END'
rnu run
chekc check
preveiw preview
benhc bench
diff2 diff
helpp help
Info info
END
for typed in xyzzy --frobnicate '' 'run ' "$(printf 'a%.0s' {1..300})"; do
  expect 1 "$typed"
  one_error_line
done
expect 1 version please
one_error_line
expect 1 help run check
one_error_line

# Without what they need, with an option that does not exist, with a file that does not: a complaint, and nothing left behind.
# diff keeps 1 for "they differ", as diff(1) does.
refuses() { # command arguments...
  local code=1
  [ "$1" != diff ] || code=2
  expect $code "$@"
  one_error_line
}
for command in run check info diff levelset preview render movie plot report view surface export; do refuses $command; done
for command in run check info diff levelset study model preview render movie plot report view surface export bench; do
  refuses $command --no-such-option
  says err "$command: unknown option \"--no-such-option\"; see firn help $command"
done
refuses run scene.yml --thread=2 --trheads 2
says err 'run: unknown option "--trheads"; did you mean --threads\?'
refuses run scene.yml --threads
says err 'run: --threads needs a value; see firn help run'
refuses movie out -o
says err 'movie: -o needs a value'
refuses plot out -o p.svg --over frames
says err 'plot: --over takes time or step, not "frames"'
for command in run check info; do
  refuses $command no_such_file
  says err no_such_file
done
refuses diff no_such_file no_such_file
# Options that would have no effect, and numbers that are none.
refuses run scene.yml --threads 2x
says err '--threads needs a whole number from 1 to [0-9]+, not "2x"'
refuses run scene.yml --wall-limit 5m
says err '--wall-limit needs a number above 0, not "5m"'
refuses check scene.yml --ranks 2x
says err '--ranks needs a whole number from 1 to [0-9]+, not "2x"'
refuses run scene.yml --output $'two\nlines'
says err 'line break'
refuses diff --tolerance 1e-3x a b
says err '--tolerance needs a number'
refuses bench --particles 1e3x
refuses bench --repeat 2.7
! can_be_limited "$firn" || (ulimit -v 4000000 && expect 1 bench --particles 2e9 && one_error_line && says err 'the snow takes at least [0-9]+ MiB' && exit $bad) || bad=1
refuses bench --only explizit
says err '--only "explizit": no workload begins so'
refuses info --scene --resolved file.h5
says err 'one of --scene, --resolved and --json'
refuses run scene.yml --bind maybe
says err "--bind takes auto, core or none, not .maybe."
refuses preview no_such_file -o picture.png

ran="firn help >/dev/full"
"$firn" help >/dev/full 2>"$work/err" && fail "a full disk went unnoticed"
says err '^firn: cannot write'

rm -f out err from_help
left=$(ls -A "$work")
[ -z "$left" ] || fail "left behind: $left"
[ $bad -eq 0 ] && echo "commands: good"
exit $bad
