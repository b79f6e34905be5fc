#!/usr/bin/env bash
# The job scripts for each scheduler, from one template: job.in is what they share, slurm.in, pbs.in and flux.in are what differs. A job
# script must be one file, since schedulers copy it. tests/check.sh compares.
#   packaging/jobs/make.sh [FOLDER=jobs]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-$here/../../jobs}
for scheduler in slurm pbs flux; do
  awk -v template="$here/job.in" -v name="jobs/firn.$scheduler" '
    /^#@ / { section = $2; text[section] = ""; next }
    { text[section] = text[section] (text[section] == "" ? "" : "\n") $0 }
    END {
      print "#!/usr/bin/env bash\n" text["HEAD"]
      print "#\n# Made by packaging/jobs/make.sh; change its templates."
      while ((getline line <template) > 0) {
        while (match(line, /@@[A-Z_]+@@/)) {
          key = substr(line, RSTART + 2, RLENGTH - 4)
          line = substr(line, 1, RSTART - 1) text[key] substr(line, RSTART + RLENGTH)
        }
        print line
      }
    }' "$here/$scheduler.in" >"$folder/firn.$scheduler"
  chmod +x "$folder/firn.$scheduler"
done
