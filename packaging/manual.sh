#!/usr/bin/env bash
# Man pages (one a command, and one for firn itself) and bash completion, from what `firn help` prints: there is no second text.
#   packaging/manual.sh FIRN FOLDER [EMULATOR...]   the build calls it; makes FOLDER/firn.1, FOLDER/firn-run.1, ..., FOLDER/firn.bash
set -euo pipefail
export LC_ALL=C
firn=("${@:3}" "$1") folder=$2
mkdir -p "$folder"
version=$("${firn[@]}" version | cut -d' ' -f1,2)

# Name and summary of each command, as the first page lists them.
summaries() {
  "${firn[@]}" help | sed -n 's/^  \([a-z]*\)  *\(.*\)$/\1 \2/p'
}

# Help as a page: usage lines as they are; "  NAME   text" is an item, deeper lines belong to it; others are paragraphs.
page() { # NAME SUMMARY < HELP
  awk -v name="$1" -v summary="$2" -v version="$version" '
    function escape(text) {
      gsub(/\\/, "\\e", text); gsub(/-/, "\\-", text)
      if (text ~ /^[.\x27]/) text = "\\&" text
      return text
    }
    function heading(title) { if (section != title) { print ".SH " title; section = title; empty = 0 } }
    BEGIN {
      title = toupper(name); gsub(/-/, "\\-", title)
      printf ".TH \"%s\" 1 \"\" \"%s\" \"Firn\"\n.SH NAME\n%s \\- %s\n", title, version, escape(name), escape(summary)
    }
    /^usage: / { print ".SH SYNOPSIS\n.nf"; usage = 1; print escape(substr($0, 8)); next }
    usage && /^ / { sub(/^       /, ""); print escape($0); next }
    usage { usage = 0; print ".fi"; next }
    /^$/ { empty = 1; next }
    match($0, /^  [^ ]/) {
      text = substr($0, 3); gap = match(text, /  +/)
      item = gap ? substr(text, 1, gap - 1) : text; rest = gap ? substr(text, gap + RLENGTH) : ""
      heading("OPTIONS"); print ".TP\n.B " escape(item); if (rest != "") print escape(rest)
      inside = 1; empty = 0; next
    }
    /^   / && inside { sub(/^ +/, ""); print escape($0); next }
    { if (!section || inside) heading(inside ? "NOTES" : "DESCRIPTION"); else if (empty) print ".PP"
      inside = 0; empty = 0; sub(/^ +/, ""); print escape($0) }'
}

names=()
while read -r name summary; do
  names+=("$name")
  "${firn[@]}" help "$name" | page "firn-$name" "$summary" >"$folder/firn-$name.1"
done < <(summaries)
{
  "${firn[@]}" help | page firn "simulate snow with the material point method on MPI clusters" | sed 's/^\.SH OPTIONS/.SH COMMANDS/'
  echo ".SH SEE ALSO"
  printf '\\fBfirn\\-%s\\fR(1)\n' "${names[@]}" | paste -s -d '~' | sed 's/~/,\n/g'
} >"$folder/firn.1"

# Completion: commands, the options of each, the words that some of them take ("--bind auto|core|none"), and files.
options() { # COMMAND: each option, and behind it its words if it takes one of some
  "${firn[@]}" help "$1" | sed -n -E 's/^  (-[a-z], )?(--[a-z][a-z-]*)( ([^ ]*))?.*/\2 \4/p' |
    awk '{ n = split($2, words, "|"); gsub(/\|?[A-Z]+\|?/, "", $2); print $1 (n > 1 ? " " $2 : "") }'
  echo --help
}
{
  cat <<END
# bash completion for firn, made by packaging/manual.sh from the help of each command
_firn() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} words=
  if [ "\$COMP_CWORD" -eq 1 ]; then
    words='${names[*]}'
  else
    case "\${COMP_WORDS[1]} \$before" in
END
  for name in "${names[@]}"; do
    options "$name" | sed -n -E "s/^(--[^ ]*) (.*)/      '$name \1') words='\2' ;;/p" | tr '|' ' '
  done
  cat <<'END'
    esac
  fi
  if [ -z "$words" ]; then
    case ${COMP_WORDS[1]} in
END
  for name in "${names[@]}"; do
    if [ "$name" = help ]; then words=${names[*]}; else words=$(options "$name" | cut -d ' ' -f 1 | paste -s -d ' '); fi
    echo "      $name) words='$words' ;;"
  done
  cat <<'END'
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  [ "$COMP_CWORD" -eq 1 ] || [[ $word == -* ]] || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word")
}
complete -o filenames -F _firn firn
END
} >"$folder/firn.bash"
