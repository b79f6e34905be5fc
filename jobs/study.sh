#!/usr/bin/env bash
# What sweep.sh and scaling.sh share; sourced. A study's runs are jobs where Slurm is, and otherwise run here, one after the other.
#   FIRN          the program, by default the one in PATH or in build/release
#   FIRN_SBATCH   options of sbatch for every job, e.g. "-t 1:00:00 -c 16 -p short"
#   FIRN_HERE=1   not through Slurm; sweeps take FIRN_RANKS ranks, by default one a socket
study_jobs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -n "${FIRN:-}" ] || FIRN=$(command -v firn) || FIRN=$study_jobs/../build/release/firn
FIRN=$(readlink -f "$(command -v "$FIRN")") || { echo "firn is not there; set FIRN=/path/to/firn" >&2 && exit 1; }
export FIRN

study_uses_slurm() {
  [ -z "${FIRN_HERE:-}" ] && command -v sbatch >/dev/null && sinfo >/dev/null 2>&1
}

study_folder() { # ARGUMENTS...: what follows -o, as a word that no command takes for an option
  local folder=
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    case $1 in
      -o | --output) folder=${2:-} && break ;;
      -o?*) folder=${1#-o} && break ;;
      --output=*) folder=${1#*=} && break ;;
    esac
    shift
  done
  case $folder in -*) folder=./$folder ;; esac
  printf '%s\n' "$folder"
}

# One word for the shell that sbatch --wrap starts, whatever is in it.
study_quote() { # WORD
  printf "'%s'" "${1//\'/\'\\\'\'}"
}

# What a study asks of sbatch unless FIRN_SBATCH says otherwise.
study_defaults=()

# Runs FIRST to LAST of a study; prints the number of the job.
study_submit() { # FOLDER RUNS SBATCH-OPTIONS...
  local folder=$1 runs=$2
  shift 2
  # shellcheck disable=SC2086 # options are words on purpose
  sbatch --parsable --array="$runs" -o "${folder//%/%%}/run_%a.log" "${study_defaults[@]}" ${FIRN_SBATCH:-} "$@" "$study_jobs/firn.slurm" --study "$folder" | cut -d';' -f1
}

study_collect_after() { # FOLDER JOBS...
  local folder=$1 after
  shift
  after=$(IFS=: && echo "$*")
  sbatch --parsable -n 1 -J firn-collect --dependency="afterany:$after" -o "${folder//%/%%}/collect.log" \
    --wrap "$(study_quote "$FIRN") study collect $(study_quote "$folder")" >/dev/null
  echo "submitted: jobs $*; their table will be $folder/results.csv, or call: $(study_quote "$FIRN") study collect $(study_quote "$folder")"
}

study_run_here() { # FOLDER
  local folder=$1 run
  while read -r run _; do
    echo "run $run: $folder/run_$run.log"
    "$study_jobs/firn.slurm" --study "$folder" "$run" >"$folder/run_$run.log" 2>&1 </dev/null ||
      { echo "run $run ended with exit code $?:" >&2 && tail -n 3 "$folder/run_$run.log" >&2; }
  done < <("$FIRN" study list "$folder")
  "$FIRN" study collect "$folder"
}
