#!/usr/bin/env bash
# firn preview as users meet it: help, and every mistake on the command line as one line and exit code 1, with no file left behind.
# usage: test_preview.sh FIRN MPIEXEC
set -u
firn=$(realpath "$1")
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export FIRN_CHECK_BALANCE=1
failures=0

fail() {
  echo "FAIL: $*" >&2
  failures=$((failures + 1))
}

refused() { # expected-words arguments...
  local words=$1 code
  shift
  "$firn" preview "$@" >stdout 2>stderr
  code=$?
  [ "$code" -eq 1 ] || fail "preview $*: exit code $code, not 1"
  [ "$(wc -l <stderr)" -eq 1 ] || fail "preview $*: not one line: $(cat stderr)"
  grep -q -e "$words" stderr || fail "preview $*: '$(cat stderr)' does not say '$words'"
  [ ! -s stdout ] || fail "preview $*: wrote to stdout"
}

"$firn" preview --help >help || fail "--help fails"
grep -q "usage: firn preview" help || fail "--help shows no usage"
rm -f help

echo noise >noise.h5
mkdir folder.h5
refused "no frame" -o out.png
refused "-o OUT.png" noise.h5
refused "needs a value" noise.h5 -o
refused 'unknown option "--sise"; did you mean --size?' noise.h5 -o out.png --sise 3x3
refused "missing.h5" missing.h5 -o out.png
refused "noise.h5" noise.h5 -o out.png
refused "folder.h5" folder.h5 -o out.png
refused "is not a size" noise.h5 -o out.png --size 640
refused "is not a size" noise.h5 -o out.png --size 0x10
refused "16 to 8192" noise.h5 -o out.png --size 8x8
refused "is not a size" noise.h5 -o out.png --size 640x+360
for columns in 0 two 2x 1.5; do refused "--columns needs a whole number" noise.h5 -o out.png --columns "$columns"; done
for point in 1,2 nan,0,0 0x1,0,0 1,2,3,4; do
  refused "--eye needs 3 numbers" noise.h5 -o out.png --eye "$point" --target 0,0,0
done
for name in x.jpg picture .png; do refused "must end in .png" noise.h5 -o "$name"; done
refused "need each other" noise.h5 -o out.png --eye 1,2,3
refused "same point" noise.h5 -o out.png --eye 1,2,3 --target 1,2,3
rm -f stdout stderr
left=$(ls)
[ "$left" = $'folder.h5\nnoise.h5' ] || fail "files left behind: $left"

[ "$failures" -eq 0 ] && echo "preview: all refused as they should be"
exit $((failures > 0))
