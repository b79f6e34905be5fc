#!/usr/bin/env bash
# A scaling study: a job for each number of ranks, or all runs here; then a table and plots of time, speed-up, efficiency, phases,
# waiting and balance, with the frames' bits compared.
#   jobs/scaling.sh strong|weak SCENE.yml -o FOLDER --ranks 1,2,4,8 [--repeats 3] [-- ARGUMENTS OF firn run]
#   jobs/scaling.sh collect FOLDER
#   FIRN_SBATCH="-t 30:00" jobs/scaling.sh strong scene.yml -o out/strong --ranks 1x16,2x16,4x16 -- --set time.end=0.1
# strong: the scene as it is. weak: once a rank, side by side along the slab axis. --ranks 2x16 is 2 ranks of 16 threads; with ranks
# alone, -c in FIRN_SBATCH says the cores of each (1). Nodes are not shared with other jobs, unless FIRN_SHARED=1.
# See study.sh for FIRN, FIRN_SBATCH and FIRN_HERE.
set -euo pipefail
# shellcheck source=jobs/study.sh
. "$(dirname "${BASH_SOURCE[0]}")/study.sh"
case ${1:-} in
  collect) exec "$FIRN" study "$@" ;;
  strong | weak) ;;
  *) echo "usage: jobs/scaling.sh strong|weak SCENE.yml -o FOLDER --ranks 1,2,4,8 [--repeats N] | collect FOLDER" >&2 && exit 1 ;;
esac
folder=$(study_folder "$@")
"$FIRN" study "$@"
if study_uses_slurm; then
  jobs=() study_defaults=(-c 1)
  [ -n "${FIRN_SHARED:-}" ] || study_defaults+=(--exclusive)
  while read -r run ranks threads; do
    jobs+=("$(study_submit "$folder" "$run" -n "$ranks" ${threads:+-c "$threads"})")
  done < <("$FIRN" study list "$folder")
  study_collect_after "$folder" "${jobs[@]}"
else
  study_run_here "$folder"
fi
