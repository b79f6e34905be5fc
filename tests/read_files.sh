# Sourced by warnings.sh and clang.sh.

# The compiler reads every file as the build in a folder would, warnings are errors, and makes nothing of it: a fraction of the time.
read_files() { # FOLDER
  local commands count
  cmake --build "$1" --target firn_page >/dev/null || return 1 # a file that the build makes
  # One command a line, out of its quotes.
  commands=$(sed -n 's/^ *"command": "\(.*\)",\{0,1\}$/\1/p' "$1/compile_commands.json" | sed 's/\\\(.\)/\1/g')
  count=$(wc -l <<<"$commands")
  [ "$count" -gt 200 ] || { echo "$0: only $count files to compile" >&2 && return 1; }
  # shellcheck disable=SC2016 # $1 is the inner shell's
  (cd "$1" && xargs -r -P 2 -d '\n' -n 1 bash -c 'eval "$1 -fsyntax-only"' _ <<<"$commands") || return 1
  echo "$count files, no warnings"
}
