#!/usr/bin/env bash
# A scaling study: a job for each number of ranks, or all runs here; then a table and plots of time, speed-up, efficiency, phases,
# waiting and balance, with the frames' bits compared.
#   jobs/scaling.sh strong|weak SCENE.yml -o FOLDER --ranks 1,2,4,8 [-- ARGUMENTS OF firn run]
#   jobs/scaling.sh collect FOLDER
#   FIRN_SBATCH="-c 16 --exclusive -t 30:00" jobs/scaling.sh strong scene.yml -o out/strong --ranks 1,2,4,8 -- --set time.end=0.1
# strong: the scene as it is. weak: once a rank, side by side along the slab axis. See study.sh for FIRN, FIRN_SBATCH and FIRN_HERE.
set -euo pipefail
# shellcheck source=jobs/study.sh
. "$(dirname "${BASH_SOURCE[0]}")/study.sh"
case ${1:-} in
  collect) exec "$FIRN" study "$@" ;;
  strong | weak) ;;
  *) echo "usage: jobs/scaling.sh strong|weak SCENE.yml -o FOLDER --ranks 1,2,4,8 | collect FOLDER" >&2 && exit 1 ;;
esac
folder=$(study_folder "$@")
"$FIRN" study "$@"
if study_uses_slurm; then
  jobs=()
  while read -r run ranks; do
    jobs+=("$(study_submit "$folder" "$run" -n "$ranks")")
  done < <("$FIRN" study list "$folder")
  study_collect_after "$folder" "${jobs[@]}"
else
  study_run_here "$folder"
fi
