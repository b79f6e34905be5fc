#!/usr/bin/env bash
# The static checks: what a reviewer would find by reading, found by a machine in seconds.
#   tests/check.sh [BUILD [CHECK...]]   BUILD is a configured build folder, default build/release (its include paths are used);
#                                       CHECK is one of format, headers, mpi, layers, leftovers,
#                                       scripts, names, modules, links, default all
# Every check prints its complaints as "file: reason"; the exit code is 1 if there was any. Warnings as errors
# take longer and are a test of their own (tests/warnings.sh).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
build=${1:-build/release}
checks=("${@:2}")
[ ${#checks[@]} -gt 0 ] || checks=(format headers mpi layers leftovers scripts names modules links)
# shellcheck source=tests/skip.sh
. tests/skip.sh
failures=$(mktemp) || exit 1
trap 'rm -f "$failures" "$failures.format"' EXIT

complain() {
  echo "$*" | tee -a "$failures" >&2
}

# git-less checkouts must work, so files are found by folder. Sorted, for messages in a steady order.
sources() { # patterns...
  local names=() pattern
  for pattern in "$@"; do names+=(-o -name "$pattern"); done
  find src include decomposition io tests jobs packaging .ci \( "${names[@]:1}" \) -type f | LC_ALL=C sort
}

# The code without comments, which may well talk about MPI; line numbers are kept.
code_of() {
  gcc -fpreprocessed -dD -E -x c "$1" 2>/dev/null | awk -v file="$1" '
    /^# [0-9]+ "/ { line = $2 - 1; next }
    { line++; print file ":" line ": " $0 }'
}

# Formatting differs between versions of clang-format: the one that decides is Debian 12's.
check_format() {
  local tool version
  for tool in clang-format-14 clang-format; do
    version=$("$tool" --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p')
    [ "$version" = 14 ] && break
  done
  if [ "$version" != 14 ]; then
    skipped "format: it takes clang-format 14, and here is ${version:-none}"
    return
  fi
  # Many files a call: most of its time is its start.
  sources '*.c' '*.h' | xargs -r -n 40 -P 2 "$tool" --dry-run -Werror >"$failures.format" 2>&1 || {
    grep -q ': error: ' "$failures.format" || complain "format: $tool failed: $(head -n 1 "$failures.format")"
  }
  sed -n 's/^\([^: ]*\):[0-9]*:[0-9]*: error: .*/\1/p' "$failures.format" | LC_ALL=C sort -u |
    while read -r file; do complain "$file: not formatted; run $tool -i $file"; done
}

# Each header compiles as the only line of a program, with the include paths of the build.
check_headers() {
  local database=$build/compile_commands.json flags
  if [ ! -r "$database" ]; then
    complain "$database: not there; configure first (cmake --preset release)"
    return
  fi
  flags=$(grep -o -E -e '-(I|isystem) ?[^ "\\]+' "$database" | LC_ALL=C sort -u | tr '\n' ' ')
  # shellcheck disable=SC2086,SC2016 # the flags are words on purpose; the file name is $1
  sources '*.h' | xargs -r -P 2 -I{} bash -c '
    header=$1; shift
    printf "#include \"%s\"\n" "$PWD/$header" |
      gcc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-function -Wno-psabi -Werror -fsyntax-only "$@" -x c - 2>&1 |
      grep -m 1 -E "error" | sed "s|^|$header: does not compile alone: |"' _ {} $flags -Itests |
    while read -r line; do complain "$line"; done
}

# MPI lives in decomposition/ and io/. The public header takes a communicator, and src/api hands it on: the type, no more.
check_mpi() {
  local file allowed
  find src include \( -name '*.c' -o -name '*.h' \) -type f | LC_ALL=C sort | while read -r file; do
    case $file in
      include/firn/firn.h | src/api/*) allowed='s/\bMPI_Comm\b//g; s/<mpi\.h>//' ;;
      *) allowed='' ;;
    esac
    code_of "$file" | sed "$allowed" | grep -E '\bMPI_[A-Za-z]|<mpi\.h>' | while read -r line; do
      complain "$line (MPI belongs into decomposition/ and io/)"
    done
  done
}

# The layers of docs/architecture.md, one line a folder; includes may go to the same or a smaller number.
layer_of() {
  case $1 in
    src/base/* | include/*) echo 0 ;;
    src/material/*) echo 1 ;;
    src/grid/* | src/levelset/* | src/terrain/*) echo 2 ;;
    src/bodies/*) echo 3 ;;
    src/kernels/*) echo 4 ;;
    src/solver/*) echo 5 ;;
    decomposition/*) echo 6 ;;
    io/*) echo 7 ;;
    src/seeding/*) echo 8 ;;
    src/sim/*) echo 9 ;;
    src/render/* | src/surface/* | src/predict/*) echo 10 ;;
    src/study/* | src/run/*) echo 11 ;;
    src/commands/* | src/api/*) echo 12 ;;
    *) complain "$1: in no folder of the layers" ;;
  esac
}

check_layers() {
  local file included target
  find src decomposition io include \( -name '*.c' -o -name '*.h' \) -type f | LC_ALL=C sort | while read -r file; do
    sed -n 's/^ *# *include *"\([^"]*\)".*/\1/p' "$file" | while read -r included; do
      if [ -e "src/$included" ] || [ "$included" = base/version.h ]; then
        target=src/$included
      elif [ -e "$included" ]; then
        target=$included
      elif [ -e "$(dirname "$file")/$included" ]; then
        target=$(dirname "$file")/$included
      else
        continue # a file that the build makes, or a missing one: the compiler tells
      fi
      [ "$(layer_of "$target")" -le "$(layer_of "$file")" ] ||
        complain "$file: includes \"$included\", which is below it in docs/architecture.md"
    done
  done
}

check_leftovers() {
  local word='TO''DO|FIX''ME|XX''X'
  sources '*.c' '*.h' '*.sh' '*.txt' '*.yml' | grep -v '^tests/data/' | xargs -r grep -n -E "(^|[^A-Za-z])($word)([^A-Za-z]|\$)" |
    while read -r line; do complain "$line (finish it or open an issue)"; done
}

check_scripts() {
  local file reason
  { sources '*.sh'; echo .ci/run; } | while read -r file; do
    reason=$(bash -n "$file" 2>&1) || complain "$file: ${reason%%$'\n'*}"
  done
  local made
  made=$(mktemp -d)
  packaging/jobs/make.sh "$made"
  for file in firn.slurm firn.pbs firn.flux; do
    cmp -s "$made/$file" "jobs/$file" || complain "jobs/$file: differs from what packaging/jobs/make.sh makes"
    reason=$(bash -n "jobs/$file" 2>&1) || complain "jobs/$file: ${reason%%$'\n'*}"
  done
  rm -rf "$made"
  for file in .ci/run tests/run.sh tests/check.sh jobs/quickstart.sh; do
    [ -x "$file" ] || complain "$file: not executable"
  done
}

# The pages: those of the top folder, docs/, docs/dev/ and scenes/.
pages() {
  find . -maxdepth 1 -name '*.md' -type f | sed 's|^\./||'
  find docs scenes -name '*.md' -type f
}

# A file that a page or a comment names is there. Tests make files of their own and are left out.
check_names() {
  local name file line
  { sources '*.c' '*.h' | grep -v '^tests/'; pages; } | LC_ALL=C sort | xargs grep -n -o -H -E \
    '\b(src|io|decomposition|tests|docs|jobs)/[A-Za-z0-9_/-]+\.(c|h|md|sh|py|yml)\b' | while IFS=: read -r file line name; do
    [ -e "$name" ] || [ -e "src/$name" ] || complain "$file:$line: names $name, which does not exist"
  done
}

# A base name is one module: two files share it only if they are its source and its header.
check_modules() {
  local name
  find src decomposition io include \( -name '*.c' -o -name '*.h' -o -name '*.cpp' \) -type f |
    sed 's/\.[a-z]*$//' | LC_ALL=C sort -u | sed 's|.*/||' | LC_ALL=C sort | uniq -d | while read -r name; do
    complain "$name: files of this name are in several folders:" \
      "$(find src decomposition io include -name "$name.*" | LC_ALL=C sort | paste -s -d ' ')"
  done
}

# A heading as the anchor that GitHub makes of it.
anchors_of() { # PAGE
  sed -n '/^ *```/,/^ *```/d; s/^##* *//p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# Links between pages lead to files and headings that exist.
check_links() {
  local file line target path anchor
  pages | LC_ALL=C sort | while read -r file; do
    grep -n -o -E '\]\([^) ]+\)' "$file" | sed 's/](\(.*\))/\1/' | while IFS=: read -r line target; do
      case $target in http://* | https://* | mailto:*) continue ;; esac
      path=${target%%#*}
      anchor=${target#"$path"}
      path=${path:+$(dirname "$file")/$path}
      [ -e "${path:-$file}" ] || { complain "$file:$line: links to $target, which does not exist" && continue; }
      [ -z "$anchor" ] || anchors_of "${path:-$file}" | grep -q -x -F -e "${anchor#\#}" ||
        complain "$file:$line: links to $target, and there is no such heading"
    done
  done
}

for check in "${checks[@]}"; do "check_$check"; done
count=$(wc -l <"$failures")
[ "$count" -eq 0 ] || { echo "static checks: $count complaints" >&2 && exit 1; }
echo "static checks: all good"
