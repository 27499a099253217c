#!/usr/bin/env bash
# Validates the files of the book that start workers against the schemas of Docker Compose, Kubernetes and GitHub Actions,
# and runs the commands of Slurm on a cluster of this machine, if root runs this and Slurm is installed
# (apt-get install slurm-wlm munge). Needs python3 with venv, pip and, for Slurm, redis-server; takes some minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder="$(mktemp -d)"
pids=()
end() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    rm -rf "$folder"
}
trap end EXIT

python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install check-jsonschema kubernetes-validate
python3 - docs/src/many-machines.md "$folder" <<'PYTHON'
import re, sys
page, folder = sys.argv[1:]
section = open(page).read().split("\n## Starting workers\n")[1].split("\n## ")[0]
files = re.findall(r"\n```yaml\n(.*?)\n```", section, re.S)
for name, text in zip(["compose", "workers", "front", "service", "outside"], files, strict=True):
    open(f"{folder}/{name}.yaml", "w").write(text + "\n")
slurm = [block for block in re.findall(r"\n```console\n(.*?)\n```", section, re.S) if "sbatch" in block]
open(f"{folder}/slurm", "w").write(slurm[0].split("\n")[0] + "\n")
PYTHON
check="$folder/venv/bin/check-jsonschema"
echo "Docker Compose"
"$check" --builtin-schema vendor.compose-spec "$folder/compose.yaml"
echo "GitHub Actions"
"$check" --builtin-schema vendor.github-workflows "$folder/service.yaml" "$folder/outside.yaml"
echo "Kubernetes"
"$folder/venv/bin/kubernetes-validate" --strict "$folder/workers.yaml" "$folder/front.yaml"

if ! command -v slurmctld munged slurmd >/dev/null || [ "$(id -u)" != 0 ]; then
    echo "left out: Slurm"
    exit 0
fi
echo "Slurm"
cargo build --quiet --bin cargo-raddle --test queue
command="$PWD/target/debug/cargo-raddle"
tests="$(cargo test --test queue --no-run --message-format=json 2>/dev/null |
    sed -n 's/.*"executable":"\([^"]*\/queue-[^"]*\)".*/\1/p' | head -1)"
# A stand-in for cargo that has built the tests, and one by which the command is found.
mkdir "$folder/bin" "$folder/state" "$folder/spool"
cat >"$folder/build" <<SCRIPT
#!/bin/sh
case "\$*" in
    metadata*) echo '{"target_directory":"$folder/target","workspace_root":"$folder"}' ;;
    *) echo '{"reason":"compiler-artifact","package_id":"queue","manifest_path":"$folder/Cargo.toml","target":{"name":"queue","kind":["test"]},"profile":{"test":true},"executable":"$tests"}' ;;
esac
SCRIPT
printf '#!/bin/sh\nCARGO=%s exec %s "$@"\n' "$folder/build" "$command" >"$folder/bin/cargo"
chmod +x "$folder/build" "$folder/bin/cargo"
export PATH="$folder/bin:$PATH" RADDLE_QUEUE="redis://:secret@127.0.0.1:7392"

echo requirepass secret | redis-server - --port 7392 --save "" --appendonly yes --dir "$folder" >/dev/null &
pids+=($!)
# A cluster of one machine, which pretends to have more cores.
chmod 700 "$folder"
dd if=/dev/urandom of="$folder/munge.key" bs=1024 count=1 2>/dev/null
chmod 400 "$folder/munge.key"
munged --force --foreground --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
    --pid-file="$folder/munged.pid" --log-file="$folder/munged.log" --seed-file="$folder/munge.seed" 2>/dev/null &
pids+=($!)
cat >"$folder/slurm.conf" <<CONF
ClusterName=one
SlurmctldHost=$(hostname)
SlurmctldPort=16817
SlurmdPort=16818
AuthInfo=socket=$folder/munge.socket
SlurmUser=root
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
NodeName=$(hostname) CPUs=24 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
export SLURM_CONF="$folder/slurm.conf"
sleep 1
slurmctld -D -c 2>/dev/null &
pids+=($!)
slurmd -D -c 2>/dev/null &
pids+=($!)
sleep 3
cd "$folder"
# The command of the book, but for the number of jobs: three at once, and a search for them.
batch="$(sed 's/--array=0-19/--array=0-2/; s/raddle work/raddle work --slice 5ms/' slurm)"
bash -c "$batch"
cargo raddle test programs::dp5 --exact --strategy exhaustive --queue -- -- --include-ignored | tee front
grep -q "every behaviour was run: 19330 classes" front
while squeue --noheader | grep -q .; do sleep 1; done
cat slurm-*.out
! grep -q secret front slurm-*.out
