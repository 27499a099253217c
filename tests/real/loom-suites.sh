#!/usr/bin/env bash
# Loom suites of crates of the registry, with loom and with raddle in its place: a row for each suite.
#
#   loom-suites.sh                   all of them
#   loom-suites.sh parking-2.2.1 ...  these
#
#   SUITE_LIMIT  seconds of each test, 60 if it is not set
#   REAL_WORK    where sources are fetched to and built, a folder in /tmp if it is not set
#
# Every test runs in a process of its own, once with loom and once with raddle. Processor seconds are those of the
# processes without what one costs that runs no test. Suites of loom 0.5 use 0.7. Prints for each suite: the tests,
# and for each checker how many passed, failed and did not end, the executions and the processor seconds of the tests
# that ended with both; then the tests that did not pass.
set -euo pipefail

REAL_WORK=${REAL_WORK:-/tmp/raddle-real}
export SUITE_LIMIT=${SUITE_LIMIT:-60}
here=$(cd "$(dirname "$0")/../.." && pwd)

# Crate, its flag, filter of tests, arguments of cargo.
SUITES=(
    'async-event-0.2.1 async_event_loom loom --lib'
    'async-lock-3.5.0 loom - --features loom --test loom'
    'bytes-1.12.1 loom fuzz --lib'
    'concurrent-queue-2.5.0 loom - --features loom --test loom'
    'cordyceps-0.3.5 loom loom --lib'
    'crossbeam-epoch-0.9.21 crossbeam_loom - --features loom --test loom'
    'diatomic-waker-0.2.3 diatomic_waker_loom - --lib'
    'event-listener-5.4.2 loom - --features loom --test loom'
    'left-right-0.11.8 loom - --test loom'
    'loom-0.7.2 loom - --features futures,checkpoint --tests'
    'maitake-sync-0.2.2 loom loom --lib'
    'multishot-0.3.2 multishot_loom - --lib'
    'oneshot-0.1.13 oneshot_loom - --features loom --test loom --test sync --test future'
    'parking-2.2.1 loom - --features loom --test loom'
    'sdd-3.0.10 loom model --features loom --lib'
    'sharded-slab-0.1.7 loom - --lib'
    'st3-0.4.1 st3_loom - --test integration'
    'tachyonix-0.3.1 tachyonix_loom loom --lib'
    'thingbuf-0.1.6 loom - --lib'
    'tokio-1.54.1 loom loom_ --features full --lib'
)

export CARGO_TARGET_DIR=$REAL_WORK/loom-suites-target CARGO_PROFILE_RELEASE_LTO=off

# Puts the sources of a crate into the two folders of a suite.
fetch_suite() {
    local suite=$1 name=${1%-*} version=${1##*-}
    [ -d "$suite/raddle" ] && return
    mkdir -p "$suite/fetch/src"
    touch "$suite/fetch/src/lib.rs"
    printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n%s = "=%s"\n' \
        "$name" "$version" >"$suite/fetch/Cargo.toml"
    (cd "$suite/fetch" && cargo fetch --quiet)
    local to
    for to in loom raddle; do
        cp -r "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$suite" "$suite/$to"
        local manifest=$suite/$to/Cargo.toml
        rm -f "$suite/$to/Cargo.lock"
        sed -i '/dependencies.loom\]/,/^$/ s/^version = "0.5[^"]*"/version = "0.7"/' "$manifest"
        grep -q '^\[workspace\]' "$manifest" || printf '\n[workspace]\n' >>"$manifest"
    done
    if [ "$name" = loom ]; then
        # The tests of loom itself, in a package that depends on what is under test. They deny warnings, and std's
        # guards must be used.
        sed -i 's/deny(warnings, rust_2018_idioms)/warn(warnings)/' "$suite"/*/tests/*.rs
        for to in loom raddle; do
            mkdir "$suite/$to/empty"
            touch "$suite/$to/empty/lib.rs"
            cat >"$suite/$to/Cargo.toml" <<'MANIFEST'
[package]
name = "loom-tests"
version = "0.0.0"
edition = "2018"
[lib]
path = "empty/lib.rs"
[features]
futures = []
checkpoint = []
[dependencies]
loom = { version = "0.7", features = ["futures", "checkpoint"] }
futures-util = "0.3"
[workspace]
MANIFEST
        done
    fi
    printf '\n[patch.crates-io]\nloom = { path = "%s/crates/loom/patch" }\n' "$here" >>"$suite/raddle/Cargo.toml"
}

# Builds the tests of a suite and prints the executables.
build() {
    cargo test --quiet --release --no-run --message-format=json "${@:1}" 2>"$PWD/build.log" |
        sed -nE 's/.*"executable":"([^"]+)".*/\1/p'
}

mkdir -p "$REAL_WORK/loom-suites"
cd "$REAL_WORK/loom-suites"
for row in "${SUITES[@]}"; do
    read -r suite flag filter arguments <<<"$row"
    if [ $# -gt 0 ] && [[ " $* " != *" $suite "* ]]; then
        continue
    fi
    export RUSTFLAGS="--cfg $flag --cap-lints warn"
    fetch_suite "$suite"
    for checker in loom raddle; do
        (cd "$suite/$checker" && build $arguments >executables) ||
            echo "$suite: does not build with $checker: $(grep -m1 '^error' "$suite/$checker/build.log")"
    done
    python3 "$here/tests/real/loom_suite.py" "$suite" "$filter"
done
