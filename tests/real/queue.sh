#!/usr/bin/env bash
# Measures searches that are shared by a queue: processor time of one process and of workers with the queue, and the
# utilisation of ten workers whose executions sleep. Needs redis-server; takes some minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."

cargo build --quiet --bin cargo-raddle --test queue
command="$PWD/target/debug/cargo-raddle"
tests="$(cargo test --test queue --no-run --message-format=json 2>/dev/null |
    sed -n 's/.*"executable":"\([^"]*\/queue-[^"]*\)".*/\1/p' | head -1)"
folder="$(mktemp -d)"
port=7391
server=""
end() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$folder"
}
trap end EXIT

# A stand-in for cargo that has built the tests.
cat >"$folder/cargo" <<SCRIPT
#!/bin/sh
case "\$*" in
    metadata*) echo '{"target_directory":"$folder/target","workspace_root":"$folder"}' ;;
    *) echo '{"reason":"compiler-artifact","package_id":"queue","manifest_path":"$folder/Cargo.toml","target":{"name":"queue","kind":["test"]},"profile":{"test":true},"executable":"$tests"}' ;;
esac
SCRIPT
chmod +x "$folder/cargo"
export CARGO="$folder/cargo" RADDLE_QUEUE="redis://127.0.0.1:$port" RADDLE_DIR="$folder/saved"

redis-server --port "$port" --bind 127.0.0.1 --save "" --appendonly yes --dir "$folder" >/dev/null &
server=$!
sleep 1

# Seconds of processor time that a command and its children take, after its output.
TIMEFORMAT='%3R s, processor %3U + %3S s'
run() { (cd "$folder" && time "$@"); }

shared() {
    local test="$1" workers="$2" number
    redis-cli -p "$port" config resetstat >/dev/null
    for number in $(seq "$workers"); do
        run "$command" work --jobs 1 >"$folder/worker$number" 2>&1 &
    done
    run "$command" test "programs::$test" --exact --queue -- -- --include-ignored 2>&1 | sed 's/^/  front: /'
    for job in $(jobs -p); do
        [ "$job" = "$server" ] || wait "$job"
    done
    for number in $(seq "$workers"); do
        sed -n 's/^/  worker: /;2,$p' "$folder/worker$number"
    done
    redis-cli -p "$port" info | tr -d '\r' |
        grep -E '^(used_cpu_sys|used_cpu_user|used_memory_peak_human|total_net_input_bytes|cmdstat_eval)' |
        sed 's/^/  server: /'
}

echo "dp6 in one process"
run "$tests" programs::dp6 --exact --ignored 2>&1 | grep -E 'test result|processor' | sed 's/^/  /'
for workers in 1 2; do
    echo "dp6, $workers workers"
    shared dp6 "$workers"
done
echo "dp5 with 5 ms of sleep in each of 19,330 executions, 10 workers: 9.7 s at 100 %"
shared slept_dp5 10
