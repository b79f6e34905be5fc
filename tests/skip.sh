# Sourced by tests that cannot do everything everywhere: what was left out is said, and tests/run.sh ends with a list of it.
skipped() { # WHAT: WHY
  echo "SKIP: $*"
  [ -z "${FIRN_SKIPPED:-}" ] || echo "$(basename "$0"): $*" >>"$FIRN_SKIPPED"
}

# Whether a program can start below `ulimit -v`; one with the address sanitizer maps terabytes.
can_be_limited() { # PROGRAM
  ! ldd "$1" | grep -q libasan || { skipped "a limit of memory (ulimit -v): the address sanitizer needs more" && return 1; }
}
