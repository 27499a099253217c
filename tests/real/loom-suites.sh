#!/usr/bin/env bash
# Loom suites of crates of the registry, with loom and with raddle in its place: a row for each suite.
#
#   loom-suites.sh                   all of them
#   loom-suites.sh parking-2.2.1 ...  these
#
#   SUITE_LIMIT    seconds of each test, 60 if it is not set
#   SUITE_PROFILE  release, or dev: then dependencies, among them both checkers, are optimised without debug
#                  assertions, and the crate of the suite with opt-level 1; release if it is not set
#   REAL_WORK      where sources are fetched to and built, a folder in /tmp if it is not set
#
# Every test runs in a process of its own, once with loom and once with raddle. Processor seconds are those of the tests
# that pass with both, then run in one process, without what a process costs that runs no test. Suites of loom 0.5 use
# 0.7. Prints for each suite: the tests, and for each checker how many passed, failed and did not end, the executions
# and the processor seconds; then the tests that did not pass.
set -euo pipefail

REAL_WORK=${REAL_WORK:-/tmp/raddle-real}
export SUITE_LIMIT=${SUITE_LIMIT:-60}
here=$(cd "$(dirname "$0")/../.." && pwd)

# Crate, its flags, filter of tests, arguments of cargo. Crates with the same flags share builds of both checkers.
OWN=async_event_loom,diatomic_waker_loom,multishot_loom,oneshot_loom,st3_loom
SUITES=(
    "async-event-0.2.1 $OWN loom --lib"
    'bytes-1.12.1 loom fuzz --lib'
    'burstq-0.2.0 loom - --lib'
    'concurrent-queue-2.5.0 loom - --features loom --test loom'
    'cordyceps-0.3.5 loom loom --lib'
    'crossbeam-epoch-0.9.21 crossbeam_loom - --features loom --test loom'
    "diatomic-waker-0.2.3 $OWN - --lib"
    'event-listener-5.4.2 loom - --features loom --test loom'
    'haphazard-0.1.8 loom - --test loom'
    'left-right-0.11.8 loom - --test loom'
    'loom-0.7.2 loom - --features futures,checkpoint --tests'
    'loom-patch-0.0.0 loom - --test patched'
    'maitake-sync-0.2.2 loom loom --lib'
    "multishot-0.3.2 $OWN - --lib"
    "oneshot-0.1.13 $OWN - --features loom --test loom --test sync --test future"
    'parking-2.2.1 loom - --features loom --test loom'
    'saa-5.6.2 loom models --features loom --lib'
    'sdd-3.0.10 loom model --features loom --lib'
    'sharded-slab-0.1.7 loom - --lib'
    "st3-0.4.1 $OWN - --test integration"
    'swap-buffer-queue-0.2.1 loom - --lib'
    'tachyonix-0.3.1 tachyonix_loom loom --lib'
    'thingbuf-0.1.6 loom - --lib'
    'tokio-1.54.1 loom sync::tests::loom_ --features full --lib'
)

export CARGO_TARGET_DIR=$REAL_WORK/loom-suites-target CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_DEV_OPT_LEVEL=1
export CARGO_PROFILE_DEV_DEBUG=line-tables-only CARGO_INCREMENTAL=0
case ${SUITE_PROFILE:=release} in
release) PROFILE=(--release) ;;
dev) PROFILE=(--config 'profile.dev.package."*".opt-level=3' --config 'profile.dev.package."*".debug-assertions=false'
    --config 'profile.dev.package."*".overflow-checks=false') ;;
*) echo "SUITE_PROFILE is release or dev" >&2 && exit 1 ;;
esac

# Puts the sources of a crate into the two folders of a suite.
fetch_suite() {
    local suite=$1 name=${1%-*} version=${1##*-}
    [ -d "$suite/raddle" ] && return
    local to from
    if [ "$name" = loom-patch ]; then
        # A package of our own, with dependencies that name loom.
        from=$here/tests/real/$name
    else
        mkdir -p "$suite/fetch/src"
        touch "$suite/fetch/src/lib.rs"
        printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n%s = "=%s"\n' \
            "$name" "$version" >"$suite/fetch/Cargo.toml"
        (cd "$suite/fetch" && cargo fetch --quiet)
        from=$(echo "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$suite")
    fi
    mkdir -p "$suite"
    for to in loom raddle; do
        cp -r "$from" "$suite/$to"
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
    cargo test --quiet "${PROFILE[@]}" --no-run --message-format=json "${@:1}" 2>"$PWD/build.log" |
        sed -nE 's/.*"executable":"([^"]+)".*/\1/p'
}

mkdir -p "$REAL_WORK/loom-suites"
cd "$REAL_WORK/loom-suites"
for row in "${SUITES[@]}"; do
    read -r suite flags filter arguments <<<"$row"
    if [ $# -gt 0 ] && [[ " $* " != *" $suite "* ]]; then
        continue
    fi
    export RUSTFLAGS="--cfg ${flags//,/ --cfg } --cap-lints warn"
    fetch_suite "$suite"
    # The bound of its own continuous integration.
    case $suite in
    tokio-*) export LOOM_MAX_PREEMPTIONS=2 ;;
    *) unset LOOM_MAX_PREEMPTIONS ;;
    esac
    for checker in loom raddle; do
        (cd "$suite/$checker" && build $arguments >executables) ||
            echo "$suite: does not build with $checker: $(grep -m1 '^error' "$suite/$checker/build.log")"
    done
    python3 "$here/tests/real/loom_suite.py" "$suite" "$filter"
done
