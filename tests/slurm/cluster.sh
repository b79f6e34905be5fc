# A Slurm of our own on one machine, for tests: its daemons run as the caller on ports of their own, everything lives in one folder,
# nothing in /etc is touched. Sourced; then: cluster_up FOLDER NODES CORES, cluster_down FOLDER.
# Each node is a slurmd with a host name and a /dev/shm of its own (unshare), as Open MPI's shared memory needs; that takes root.
cluster_port=${FIRN_SLURM_PORT:-17817}

cluster_has() {
  local tool
  for tool in /usr/sbin/munged /usr/sbin/slurmctld /usr/sbin/slurmd; do [ -x $tool ] || return 1; done
  [ "$(id -u)" -eq 0 ] && unshare -u -m true 2>/dev/null
}

cluster_conf() { # FOLDER NODES CORES
  local folder=$1 host k
  host=$(hostname -s)
  cat <<END
ClusterName=firn
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$cluster_port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.sock,cred_expire=10
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
  echo "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
}

cluster_wait() { # SECONDS COMMAND...
  local k
  for ((k = 0; k < 10 * $1; k++)); do
    "${@:2}" >/dev/null 2>&1 && return 0
    sleep 0.1
  done
  return 1
}

cluster_idle() { # NODES
  [ "$(sinfo -h -N -t idle -o %N | sort -u | wc -l)" -eq "$1" ]
}

cluster_up() { # FOLDER NODES CORES
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

cluster_down() { # FOLDER
  local file
  scancel -u "$(id -un)" 2>/dev/null
  sleep 1
  for file in "$1"/slurmd.*.pid "$1"/slurmctld.pid "$1"/munged.pid; do
    [ -s "$file" ] && kill "$(cat "$file")" 2>/dev/null
  done
}
