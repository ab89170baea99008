#!/bin/bash
# Starts munge, slurmctld and slurmd of this machine in folders of their own, runs the given command, and ends them.
# As root, without systemd: slurm.sh COMMAND...
set -euo pipefail

[ "$(id -u)" = 0 ] || { echo "slurm.sh: found the user $(id -un), expected root: munge and slurmd need it" >&2; exit 1; }
for program in munged slurmctld slurmd; do
    command -v $program > /dev/null || { echo "slurm.sh: $program is missing; apt-get install slurm-wlm munge" >&2; exit 1; }
done
place=$(mktemp -d /tmp/quiclab-slurm-XXXXXX)
chmod 755 "$place"
pids=()
finish() {
    # Jobs that still run would keep slurmd, and with it whoever reads this script's output.
    scancel --user="$(id -un)" 2> /dev/null || true
    for _ in $(seq 20); do [ -z "$(squeue --noheader 2> /dev/null)" ] && break; sleep 0.5; done
    for pid in "${pids[@]}"; do kill "$pid" 2> /dev/null || true; done
    for _ in $(seq 20); do
        alive=; for pid in "${pids[@]}"; do kill -0 "$pid" 2> /dev/null && alive=1; done
        [ -n "$alive" ] || break
        sleep 0.5
    done
    for pid in "${pids[@]}"; do kill -KILL "$pid" 2> /dev/null || true; done
    [ -n "${KEEP:-}" ] || rm -rf "$place"
}
trap finish EXIT

mkdir -p "$place"/{munge,state,spool,log}
chmod 755 "$place/munge"
dd if=/dev/urandom of="$place/munge/key" bs=128 count=1 status=none
chmod 400 "$place/munge/key"
munged --force --foreground --key-file="$place/munge/key" --socket="$place/munge/socket" --pid-file="$place/munge/pid" \
    --seed-file="$place/munge/seed" --log-file="$place/munge/log" > /dev/null 2>&1 & pids+=($!)

host=$(hostname -s)
cat > "$place/slurm.conf" <<END
ClusterName=quiclab
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$place/munge/socket
CredType=cred/munge
SlurmctldPort=16817
SlurmdPort=16818
StateSaveLocation=$place/state
SlurmdSpoolDir=$place/spool
SlurmctldPidFile=$place/slurmctld.pid
SlurmdPidFile=$place/slurmd.pid
SlurmctldLogFile=$place/log/slurmctld
SlurmdLogFile=$place/log/slurmd
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
MpiDefault=none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=4000 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=$place/slurm.conf
slurmctld -D -f "$SLURM_CONF" > /dev/null 2>&1 & pids+=($!)
slurmd -D -f "$SLURM_CONF" -N "$host" > /dev/null 2>&1 & pids+=($!)
for _ in $(seq 60); do
    sinfo --noheader --format=%T 2> /dev/null | grep -q idle && break
    sleep 1
done
sinfo --noheader --format=%T | grep -q idle || { echo "slurm.sh: the node is not idle after a minute:" >&2; tail -n 20 "$place"/log/* >&2; exit 1; }
"$@"
