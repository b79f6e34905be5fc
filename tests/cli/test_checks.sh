#!/usr/bin/env bash
# The static checks find what they look for, and what cannot be checked here is said and not passed over.
#   test_checks.sh FIRN MPIEXEC      FIRN is the built command; its folder is the build folder
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd) build=$(dirname "$firn")
export FIRN_SKIPPED=$work/skipped

# A copy of the sources with one mistake each, and the words that must come of it.
tree=$work/tree
mkdir "$tree"
cp -r "$root"/{src,include,decomposition,io,tests,jobs,docs,scenes,packaging,.ci,.clang-format,LICENSE} "$root"/*.md "$tree"
finds() { # CHECK WORDS
  "$tree/tests/check.sh" "$build" "$1" >out 2>&1 && fail "check $1 passes: $2"
  grep -q -F -e "$2" out || { fail "check $1 does not say '$2'" && show out; }
}
passes() { # CHECK
  "$tree/tests/check.sh" "$build" "$1" >out 2>&1 || { fail "check $1 fails on sound sources" && show out; }
}
for check in mpi layers leftovers scripts names links; do passes $check; done
cp "$tree/src/base/error.c" sound.c
spoil() { # TEXT CHECK WORDS
  printf '%s\n' "$1" >>"$tree/src/base/error.c"
  finds "$2" "$3"
  cp sound.c "$tree/src/base/error.c"
}
spoil 'int pace_ranks(void) { int n; MPI_Comm_size(MPI_COMM_WORLD, &n); return n; }' mpi 'MPI belongs into'
spoil '#include "render/sheet.h"' layers 'src/base/error.c: includes "render/sheet.h"'
spoil "/* TO""DO: later */" leftovers 'finish it'
spoil '/* See src/base/nowhere.c. */' names 'names src/base/nowhere.c'
cp "$tree/README.md" sound.md
for link in 'docs/nowhere.md' 'docs/restart.md#nowhere' '#nowhere'; do
  printf '[page](%s)\n' "$link" >>"$tree/README.md"
  finds links "links to $link"
  cp sound.md "$tree/README.md"
done
printf 'if then\n' >"$tree/tests/broken.sh"
finds scripts tests/broken.sh
rm "$tree/tests/broken.sh"
[ ! -s "$FIRN_SKIPPED" ] || fail "left out in silence: $(cat "$FIRN_SKIPPED")"

# Formatting, by a clang-format that finds everything wrong, and by one that is too new.
mkdir bin
cat >bin/clang-format-14 <<'END'
#!/bin/sh
[ "$1" = --version ] && echo "clang-format version 14.0.6" && exit
for file; do echo "$file:3:1: error: code should be clang-formatted [-Wclang-format-violations]" >&2; done
exit 1
END
printf '#!/bin/sh\necho "clang-format version 19.1.0"\n' >bin/clang-format
chmod +x bin/*
PATH=$work/bin:$PATH finds format 'src/base/error.c: not formatted'
sed -i '/^for/s/.*/echo "cannot read .clang-format" >\&2/' bin/clang-format-14
PATH=$work/bin:$PATH finds format 'failed: cannot read .clang-format'
rm bin/clang-format-14
mkdir without # all commands but clang-format
for tool in $(compgen -c | sort -u); do
  place=$(type -P "$tool") && case $tool in clang-format*) ;; *) ln -s "$place" "without/$tool" 2>/dev/null ;; esac
done
PATH=$work/bin:$work/without passes format
grep -q 'format: it takes clang-format 14, and here is 19' "$FIRN_SKIPPED" || fail "a missing clang-format is not on the list: $(cat "$FIRN_SKIPPED")"
PATH=$work/without passes format
grep -q 'format: it takes clang-format 14, and here is none' "$FIRN_SKIPPED" || fail "a missing clang-format is not on the list: $(cat "$FIRN_SKIPPED")"

# A header that does not stand alone, as the only one, since a compiler starts for each.
find "$tree" -name '*.h' -delete
printf 'struct pace_hint {\n  struct nothing inside;\n};\n' >"$tree/src/pace_hint.h"
finds headers 'src/pace_hint.h: does not compile alone'
finish checks
