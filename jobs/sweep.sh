#!/usr/bin/env bash
# A sweep over keys of a scene: a job array, or all runs here one after the other; then a table and a contact sheet.
#   jobs/sweep.sh SCENE.yml -o FOLDER KEY=A,B,C... [-- ARGUMENTS OF firn run]
#   jobs/sweep.sh SCENE.yml -o FOLDER TABLE.csv [-- ARGUMENTS OF firn run]
#   FIRN_SBATCH="-N 1 -t 2:00:00" jobs/sweep.sh scene.yml -o out/sweep materials.packed.young=7e4,1.4e5 time.cfl=0.2,0.4
# Every combination is a run, or every row of the table, whose first line names the keys. See study.sh for FIRN, FIRN_SBATCH and
# FIRN_HERE, and `firn help study` for other columns of the table.
set -euo pipefail
# shellcheck source=jobs/study.sh
. "$(dirname "${BASH_SOURCE[0]}")/study.sh"
folder=$(study_folder "$@")
"$FIRN" study sweep "$@"
if study_uses_slurm; then
  last=$("$FIRN" study list "$folder" | tail -n 1)
  job=$(study_submit "$folder" "0-${last%% *}")
  study_collect_after "$folder" "$job"
else
  study_run_here "$folder"
fi
