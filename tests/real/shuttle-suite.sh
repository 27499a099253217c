#!/usr/bin/env bash
# Shuttle's own tests, with shuttle and with raddle in its place.
#
#   shuttle-suite.sh            all of them
#   shuttle-suite.sh FILTER     those whose names contain it
#
#   SUITE_LIMIT     seconds of each test, 60 if it is not set
#   SUITE_CHECKERS  `shuttle`, `raddle`, or both if it is not set
#   REAL_WORK       where sources are fetched to and built, a folder in /tmp if it is not set
#
# Fetches shuttle from the registry and builds the tests folder of the package twice. Every test that is not ignored runs
# in a process of its own. Prints how many passed, failed and did not end with each, then the tests that did not pass with
# raddle, with the first line of the failure, and those that only shuttle fails. Writes the verdict, the seconds and the
# name of every test to `shuttle.tsv` and `raddle.tsv` in the folder `shuttle-suite` of `REAL_WORK`.
#
# Three places are edited, in both copies: a test of `shuttle_engine`, which is another package, is left out; an elided
# lifetime in a thread-local is written out, because std's macro needs that too; and the list of features is declared.
set -euo pipefail

REAL_WORK=${REAL_WORK:-/tmp/raddle-real}
export SUITE_LIMIT=${SUITE_LIMIT:-60}
export SUITE_CHECKERS=${SUITE_CHECKERS:-shuttle raddle}
here=$(cd "$(dirname "$0")/../.." && pwd)
version=0.9.9

mkdir -p "$REAL_WORK/shuttle-suite"
cd "$REAL_WORK/shuttle-suite"
mkdir -p fetch/src
touch fetch/src/lib.rs
printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\nshuttle = "=%s"\n' \
    "$version" >fetch/Cargo.toml
(cd fetch && cargo fetch --quiet)

for checker in $SUITE_CHECKERS; do
    mkdir -p "$checker/empty"
    touch "$checker/empty/lib.rs"
    if [ ! -e "$checker/edited" ]; then
        rm -rf "$checker/tests"
        cp -r "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"shuttle-$version/tests" "$checker/tests"
        python3 - "$checker/tests/basic/thread.rs" <<'PYTHON'
import re, sys
path = sys.argv[1]
text = open(path).read()
begin = text.index("    /// A thread's slot for a `DestroyedLastKey`")
end = begin + re.search(r"\n    }\n", text[begin:]).end()
text = text[:begin] + text[end:]
text = text.replace("MutexGuard<'_, usize>>> = Cell", "MutexGuard<'static, usize>>> = Cell")
open(path, "w").write(text)
PYTHON
        touch "$checker/edited"
    fi
    case $checker in
    shuttle) dependency="version = \"=$version\", features = [\"vector-clocks\"]" ;;
    raddle)
        dependency="package = \"raddle-shuttle\", path = \"$here/crates/shuttle\""
        dependency="$dependency, features = [\"vector-clocks\", \"tracing\"]"
        ;;
    esac
    cat >"$checker/Cargo.toml" <<MANIFEST
[package]
name = "shuttle-tests"
version = "0.0.0"
edition = "2021"
[lib]
path = "empty/lib.rs"
[features]
annotation = []
[dependencies]
shuttle = { $dependency }
[dev-dependencies]
futures = "0.3.15"
pin-project = "1.1.3"
proptest = "1.0.0"
proptest-derive = "0.5.0"
rand = "0.8.6"
regex = "1.5.5"
rustversion = "1"
tempfile = "3.2.0"
test-log = { version = "0.2.8", default-features = false, features = ["trace"] }
tracing = "0.1.36"
tracing-subscriber = { version = "0.3.9", features = ["env-filter"] }
trybuild = "1.0"
[profile.dev]
opt-level = 1
debug = "line-tables-only"
[profile.dev.package]
shuttle-tests.opt-level = 0
[workspace]
MANIFEST
    (cd "$checker" && CARGO_TARGET_DIR="$REAL_WORK/shuttle-suite-target" \
        cargo test --quiet --tests --no-run --message-format=json |
        sed -nE 's/.*"executable":"([^"]+)".*/\1/p' >executables)
done
python3 "$here/tests/real/shuttle_suite.py" "${1:-}"
