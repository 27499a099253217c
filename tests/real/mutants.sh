#!/usr/bin/env bash
# Changes and what tests notice of them: a row for the lock-free structures of `weakest` and one for those of `lock_free`
# with the orderings that were published, for each of ten stories' correct twins, and for each of three crates of the
# registry, whose loom tests run with raddle in loom's place.
#
#   mutants.sh                      all of them
#   mutants.sh parking-2.2.1 bank   these
#
#   TIER        runtime, source or all, which it is if it is not set
#   BUDGET      time of each check, 10s if it is not set
#   REAL_WORK   where sources are fetched to and built, a folder in /tmp if it is not set
source "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")/../.." && pwd)

STRUCTURES=(weakest lock_free)
STORIES=(bank cached_hash string_buffer two_stage logger last_job handmade_lock leaked_permit if_not_while wrong_lock)
CRATES=(
    'parking-2.2.1 loom --features loom --test loom'
    'concurrent-queue-2.5.0 loom --features loom --test loom'
    'oneshot-0.1.13 oneshot_loom --features loom --test loom --test sync'
)
export CARGO_TARGET_DIR=$REAL_WORK/mutants-target CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0
unset RADDLE_DIR

# Prints a row from the records of a run and from what the command says last, whose time begins after the first build.
row() {
    python3 - "$1" "$2" <<'PYTHON'
import json, re, sys
name, file = sys.argv[1:]
times = re.findall(r" in ([0-9.]+) s$", open(file + ".log").read(), re.MULTILINE)
seconds = float(times[-1]) if times else 0
records = [json.loads(line) for line in open(file) if line.startswith("{")]
count = lambda test: sum(1 for record in records if test(record))
word = lambda text: count(lambda record: record["outcome"] == text)
exhaustive = count(lambda record: record.get("exhaustive"))
tried = len(records) - word("not reached")
print(f"real {name} generated={len(records)} killed={word('noticed')} survived_exhaustively={exhaustive} "
      f"survived={word('not noticed') - exhaustive} timed_out={word('timed out')} undecided={word('undecided')} "
      f"unbuildable={word('unbuildable')} not_reached={word('not reached')} "
      f"tried_per_minute={60 * tried / max(seconds, 0.1):.0f}")
PYTHON
}

# Tries the changes in this folder: name, arguments.
try() {
    local name=$1 log=$REAL_WORK/mutants-$1.json
    shift
    $RADDLE mutants --tier "${TIER:-all}" --budget "${BUDGET:-10s}" --json "$@" >"$log" 2>"$log.log" || [ $? -eq 1 ] ||
        tail -3 "$log.log" >&2
    row "$name" "$log"
}

wanted() {
    [ ${#CHOSEN[@]} -eq 0 ] || [[ " ${CHOSEN[*]} " == *" $1 "* ]]
}

# Gives the structures in a source the orderings that a test lists as the weakest.
publish() {
    python3 - "$@" <<'PYTHON'
import re, sys
source, test = sys.argv[1:]
text, listed = open(source).read(), open(test).read()
string = r'"((?:[^"\\]|\\.)*)"'
for pair in re.findall(r'\(\s*' + string + r',\s*' + string + r',?\s*\)', listed):
    old, new = (part.replace("\\n", "\n") for part in pair)
    if "SeqCst" in old:
        text = text.replace(old, new)
# Too weak as it was published; see the test.
text = text.replace("self.local.store(epoch + 1, Relaxed)", "self.local.store(epoch + 1, Release)")
text = re.sub(r"Ordering::\{[^}]*\}", "Ordering::*", text)
open(source, "w").write(text)
PYTHON
}

CHOSEN=("$@")
for structure in "${STRUCTURES[@]}"; do
    wanted "$structure" || continue
    folder=$REAL_WORK/mutants/$structure
    rm -rf "$folder"
    mkdir -p "$REAL_WORK/mutants"
    cp -r "$here/tests/newcomer/$structure" "$folder"
    cp "$here/Cargo.lock" "$folder/"
    sed -i "s|RADDLE_PATH|$here/crates/raddle|" "$folder/Cargo.toml"
    grep -q '^\[workspace\]' "$folder/Cargo.toml" || printf '\n[workspace]\n' >>"$folder/Cargo.toml"
    publish "$folder/src/lib.rs" "$here/tests/tests/$structure.rs"
    (cd "$folder" && try "$structure")
done
for story in "${STORIES[@]}"; do
    wanted "$story" || continue
    folder=$REAL_WORK/mutants/$story
    rm -rf "$folder"
    mkdir -p "$folder/tests"
    cp -r "$here/tests/stories/src" "$folder/"
    cp "$here/Cargo.lock" "$folder/"
    cat >"$folder/Cargo.toml" <<MANIFEST
[package]
name = "raddle-stories"
version = "0.1.0+${story//_/-}"
edition = "2024"
[lib]
test = false
doctest = false
[dependencies]
raddle = { path = "$here/crates/raddle", features = ["check"] }
[workspace]
MANIFEST
    printf '%s\n' '#[raddle::test]' 'fn twin() {' \
        "    let story = raddle_stories::all().into_iter().find(|story| story.name == \"$story\");" \
        '    (story.unwrap().correct)()' '}' >"$folder/tests/twin.rs"
    # Only the story's own file, and of that only what the twin runs.
    for file in "$folder"/src/programs/*.rs; do
        grep -q "name: \"$story\"" "$file" && own=$(basename "$file")
    done
    (
        cd "$folder"
        git init --quiet
        git add -A
        git -c user.name=a -c user.email=a@b commit --quiet -m all
        # A diff in every line of one file.
        sed -i 's/$/ /' "src/programs/$own"
        try "$story" --in-diff HEAD
    )
done
for line in "${CRATES[@]}"; do
    read -r crate flag arguments <<<"$line"
    wanted "$crate" || continue
    folder=$REAL_WORK/mutants/$crate
    if [ ! -d "$folder" ]; then
        mkdir -p "$folder.fetch/src"
        touch "$folder.fetch/src/lib.rs"
        printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n%s = "=%s"\n' \
            "${crate%-*}" "${crate##*-}" >"$folder.fetch/Cargo.toml"
        (cd "$folder.fetch" && cargo fetch --quiet)
        cp -r "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$crate" "$folder"
        rm -f "$folder/Cargo.lock"
        grep -q '^\[workspace\]' "$folder/Cargo.toml" || printf '\n[workspace]\n' >>"$folder/Cargo.toml"
        printf '\n[patch.crates-io]\nloom = { path = "%s/crates/loom/patch" }\n' "$here" >>"$folder/Cargo.toml"
    fi
    (cd "$folder" && RUSTFLAGS="--cfg $flag --cap-lints warn" try "$crate" $arguments)
done
