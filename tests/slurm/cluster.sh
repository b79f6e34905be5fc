# A Slurm of our own on one machine, for tests: its daemons run as the caller on ports of their own, everything lives in one folder,
# nothing in /etc is touched. Sourced; then: cluster_up FOLDER NODES CORES [PAIRS], cluster_down FOLDER.
# Each node is a slurmd with a host name and a /dev/shm of its own (unshare), as Open MPI's shared memory needs; that takes root.
cluster_port=${FIRN_SLURM_PORT:-$((18000 + $$ % 10000))} # below the ports that the system hands out; several tests may run at once

# Says what is missing, or nothing.
cluster_lacks() {
  local tool
  for tool in munged slurmctld slurmd; do
    [ -x /usr/sbin/$tool ] || { echo "/usr/sbin/$tool is not there (Debian: slurm-wlm and munge)" && return; }
  done
  for tool in munge sbatch srun squeue scancel scontrol sinfo unshare; do
    command -v $tool >/dev/null || { echo "$tool is not there (Debian: slurm-client, munge and util-linux)" && return; }
  done
  [ "$(id -u)" -eq 0 ] || { echo "it takes root" && return; }
  unshare -u -m true 2>/dev/null || echo "a host name of its own (unshare) is not allowed here"
}

# A job that was requeued starts only after the credentials of its last start expire: cred_expire is the pause of each requeue.
cluster_conf() { # FOLDER NODES CORES [PAIRS]
  local folder=$1 host k
  host=$(hostname -s)
  cat <<END
ClusterName=firn
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$cluster_port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.sock,cred_expire=15
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
TmpFS=$folder/tmp/%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=pmix
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=2,sched_interval=2,batch_sched_delay=1
SlurmdTimeout=10
InactiveLimit=0
KillWait=5
MinJobAge=300
JobRequeue=1
ReturnToService=2
SlurmdParameters=config_overrides
END
  for ((k = 1; k <= $2; k++)); do
    echo "NodeName=n$k NodeHostname=n$k NodeAddr=127.0.0.1 Port=$((cluster_port + k)) CPUs=$3 CoresPerSocket=$3 RealMemory=1000 State=UNKNOWN"
  done
  echo "PartitionName=all Nodes=n[1-$(($2 - 2 * ${4:-0}))] Default=YES MaxTime=INFINITE State=UP"
  for ((k = 1; k <= ${4:-0}; k++)); do
    echo "PartitionName=pair$k Nodes=n[$(($2 - 2 * $4 + 2 * k - 1))-$(($2 - 2 * $4 + 2 * k))] MaxTime=INFINITE State=UP"
  done
}

# What is waited for takes at most so many seconds on an idle machine; ten times as long on a busy one.
cluster_wait() { # SECONDS COMMAND...
  local k
  for ((k = 0; k < 100 * $1; k++)); do
    "${@:2}" >/dev/null 2>&1 && return 0
    sleep 0.1
  done
  return 1
}

cluster_idle() { # NODES
  [ "$(sinfo -h -N -t idle -o %N | sort -u | wc -l)" -eq "$1" ]
}

cluster_up() { # FOLDER NODES CORES [PAIRS]: so many pairs of the last nodes are partitions of their own, pair1, ...
  local folder=$1 k
  mkdir -p "$folder"/{state,spool,log,tmp}
  chmod 755 "$folder"
  dd if=/dev/urandom of="$folder/munge.key" bs=1024 count=1 status=none && chmod 400 "$folder/munge.key"
  /usr/sbin/munged --key-file="$folder/munge.key" --socket="$folder/munge.sock" --pid-file="$folder/munged.pid" \
    --log-file="$folder/log/munged.log" --seed-file="$folder/munge.seed" || return 1
  cluster_wait 10 munge -S "$folder/munge.sock" -n || return 1
  cluster_conf "$@" >"$folder/slurm.conf"
  export SLURM_CONF=$folder/slurm.conf
  (cd / && /usr/sbin/slurmctld -f "$SLURM_CONF") || return 1
  for ((k = 1; k <= $2; k++)); do
    mkdir -p "$folder/spool/n$k" "$folder/tmp/n$k"
    (cd / && unshare -u -m sh -c "hostname n$k && mount --make-rprivate / && mount -t tmpfs -o size=512m tmpfs /dev/shm &&
      exec /usr/sbin/slurmd -f $SLURM_CONF -N n$k") || return 1
  done
  cluster_wait 30 cluster_idle "$2"
}

# A node is lost with all that runs on it: a node is what shares the host name (the namespace) of its slurmd.
cluster_lose() { # FOLDER NODE
  local pid name process
  pid=$(cat "$1/slurmd.$2.pid")
  name=$(readlink "/proc/$pid/ns/uts")
  [ "$name" != "$(readlink /proc/$$/ns/uts)" ] || return 1
  for process in /proc/[0-9]*; do
    [ "$(readlink "$process/ns/uts" 2>/dev/null)" != "$name" ] || kill -s KILL "${process#/proc/}" 2>/dev/null
  done
}

# What a lost node left running: processes that know this cluster by its configuration.
cluster_orphans() { # FOLDER
  local environ
  for environ in /proc/[0-9]*/environ; do
    cat "$environ" 2>/dev/null | tr '\0' '\n' | grep -q -x -F "SLURM_CONF=$1/slurm.conf" || continue
    environ=${environ%/environ} && environ=${environ#/proc/}
    [ "$environ" = $$ ] || [ "$environ" = "$BASHPID" ] || [ "$(readlink "/proc/$environ/exe")" = "$(readlink /proc/$$/exe)" ] || echo "$environ"
  done
}

# Waits until a job has come to its end for good; prints how.
cluster_finished() { # JOB SECONDS
  local k state
  for ((k = 0; k < 20 * $2; k++)); do
    state=$(squeue -h -t all -j "$1" -o %T 2>/dev/null | sort -u | tr '\n' ' ')
    case $state in *PENDING* | *RUNNING* | *COMPLETING* | *CONFIGURING* | *REQUEUE*) ;; *) break ;; esac
    sleep 0.5
  done
  echo "${state% }"
}

cluster_alive() { # PROCESS; one that nobody has waited for is over
  grep -q '^State:.[^Z]' "/proc/$1/status" 2>/dev/null
}

# Ends what cluster_up started and waits until it is gone, so that the folder can be removed.
cluster_down() { # FOLDER
  local file pid pids=() k
  SLURM_CONF=$1/slurm.conf scancel -u "$(id -un)" 2>/dev/null
  SLURM_CONF=$1/slurm.conf cluster_wait 15 cluster_empty
  for file in "$1"/slurmd.*.pid "$1"/slurmctld.pid "$1"/munged.pid; do
    [ -s "$file" ] || continue
    pid=$(cat "$file")
    cat "/proc/$pid/cmdline" 2>/dev/null | tr '\0' ' ' | grep -q -F "$1" || continue # a number that went to somebody else
    pids+=("$pid")
    kill "$pid" 2>/dev/null
  done
  for pid in "${pids[@]}"; do
    for ((k = 0; k < 100; k++)); do
      cluster_alive "$pid" || continue 2
      sleep 0.1
    done
    kill -s KILL "$pid" 2>/dev/null
  done
  for pid in $(cluster_orphans "$1"); do kill -s KILL "$pid" 2>/dev/null; done
}

cluster_empty() {
  [ -z "$(squeue -h)" ]
}
