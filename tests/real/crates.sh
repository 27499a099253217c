#!/usr/bin/env bash
# Crates of the registry as they are: their own tests, each for REAL_TIME, and a row for each crate.
#
#   crates.sh                 all of them
#   crates.sh rtrb-0.4.1 ...  these
REAL_TIME=${REAL_TIME:-1s}
source "$(dirname "$0")/common.sh"

CRATES=(
    arc-swap-1.9.3 async-channel-2.5.0 concurrent-queue-2.5.0 crossbeam-channel-0.5.17 dashmap-6.2.1
    event-listener-5.4.2 flume-0.12.0 once_cell-1.21.4 oneshot-0.2.1 papaya-0.2.5 parking_lot-0.12.5 ringbuf-0.6.0
    rtrb-0.4.1 sharded-slab-0.1.7 spin-0.12.3 thread_local-1.1.10 triomphe-0.1.17
)
[ $# -eq 0 ] || CRATES=("$@")
unset RADDLE_DIR

# Puts the sources of a crate into a folder of that name.
fetch_crate() {
    local name=${1%-*} version=${1##*-}
    [ -d "$1" ] && return
    mkdir -p "fetch-$1/src"
    touch "fetch-$1/src/lib.rs"
    printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2024"\n[dependencies]\n%s = "=%s"\n' \
        "$name" "$version" >"fetch-$1/Cargo.toml"
    (cd "fetch-$1" && cargo fetch --quiet)
    cp -r "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$1" .
    # Elsewhere cargo would look for a workspace around it.
    grep -q '^\[workspace\]' "$1/Cargo.toml" || printf '\n[workspace]\n' >>"$1/Cargo.toml"
}

cd "$REAL_WORK"
for crate in "${CRATES[@]}"; do
    fetch_crate "$crate"
    log=$REAL_WORK/$crate.log
    (cd "$crate" && $RADDLE test --native --budget "$REAL_TIME") >"$log" 2>&1 || true
    # One word for each way to fail, with how many tests there were.
    kinds=$(grep '^FAIL' "$log" | sed -E 's/.*  +([a-z ]+) after .*/\1/; s/ /-/g' | sort | uniq -c |
        awk '{ printf " %s=%s", $2, $1 }' || true)
    all=$(grep -cE '  (every behaviour was run|nothing to explore)' "$log" || true)
    echo "real $crate $(grep -E '^[0-9]+ passed' "$log" | tail -1 | sed 's/ (.*//' || echo 'not run') of-which-all=$all$kinds"
done
