# Sourced by tests that cannot do everything everywhere: what was left out is said, and tests/run.sh ends with a list of it.
skipped() { # WHAT: WHY
  echo "SKIP: $*"
  [ -z "${FIRN_SKIPPED:-}" ] || echo "$(basename "$0"): $*" >>"$FIRN_SKIPPED"
}
