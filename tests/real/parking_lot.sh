#!/usr/bin/env bash
# parking_lot's own code next to the model of it (`--model parking_lot`): the clients of
# tests/native-rust/lock-clients, each run with the model and with the code, REAL_TIME each. A row for each version:
#
#   equal     clients of which every behaviour was run, with the code and with the model, and the outcomes are the same
#   failure   clients that fail in the same way with both
#   part      clients of which not every behaviour of the code was run: each outcome so far is one of the model's
#   open      clients that fail with the model, and not in the executions of the code so far; or of which not every
#             behaviour of the model was run
#   other     clients with an outcome, or a failure, that only one of the two has; each has a line of its own
#
#   parking_lot.sh              all versions
#   parking_lot.sh 0.12.5 ...   these
#
#   CLIENTS   a filter for the names of clients, all of them if it is not set
REAL_TIME=${REAL_TIME:-60s}
source "$(dirname "$0")/common.sh"

VERSIONS=(0.11.2 0.12.1 0.12.3 0.12.4 0.12.5)
[ $# -eq 0 ] || VERSIONS=("$@")
CLIENTS=${CLIENTS:-}
SOURCE=$(cd "$(dirname "$0")/../native-rust/lock-clients" && pwd)
unset RADDLE_DIR

# A crate with the clients and one version of parking_lot.
prepare() {
    mkdir -p "$1/src"
    cp "$SOURCE/src/lib.rs" "$1/src"
    printf '[package]\nname = "lock-clients"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n' >"$1/Cargo.toml"
    printf '[dependencies]\nparking_lot = "=%s"\n' "$2" >>"$1/Cargo.toml"
}

# Runs all clients in a folder, with outcomes and the log in another: `clients FOLDER OUT [OPTION...]`.
clients() {
    local folder=$1 out=$2
    shift 2
    rm -rf "$out" && mkdir -p "$out"
    (cd "$folder" && LOCK_CLIENTS=$out $RADDLE test --native --strategy exhaustive --max-executions 1000000000 \
        --budget "$REAL_TIME" "$@" $CLIENTS) >"$out/log" 2>&1 || true
}

# The result of a client in a log: `all`, `some`, or the kind of its failure.
result() {
    local line
    line=$(grep -E "^(  ok|FAIL|  !!) +lock_clients $2 " "$1/log" || true)
    case $line in
    *"not every behaviour was run"*) echo some ;;
    *"every behaviour was run"*) echo all ;;
    FAIL*) sed -E 's/.*  +([a-z ]+) after .*/\1/' <<<"$line" ;;
    *) echo not-run ;;
    esac
}

# What a client's threads have observed, each once.
outcomes() {
    sort -u "$1/${2/::/-}" 2>/dev/null || true
}

cd "$REAL_WORK"
for version in "${VERSIONS[@]}"; do
    folder=$REAL_WORK/lock-clients-$version
    prepare "$folder" "$version"
    code=$folder-code model=$folder-model
    clients "$folder" "$model" --model parking_lot
    clients "$folder" "$code"
    if grep -q 'parts of parking_lot that have no model' "$model/log"; then
        echo "real parking_lot $version has no model"
        continue
    fi
    equal=0 failure=0 part=0 open=0 other=0 seen=0
    for name in $(grep -oE 'lock_clients [a-z_0-9]+::[a-z_0-9]+' "$code/log" | awk '{ print $2 }' | sort -u); do
        of_code=$(result "$code" "$name") of_model=$(result "$model" "$name")
        missing=$(comm -13 <(outcomes "$code" "$name") <(outcomes "$model" "$name") | wc -l)
        invented=$(comm -23 <(outcomes "$code" "$name") <(outcomes "$model" "$name") | wc -l)
        case $of_code/$of_model in
        all/all) [ "$missing" -eq 0 ] && [ "$invented" -eq 0 ] && equal=$((equal + 1)) && continue ;;
        some/all)
            if [ "$invented" -eq 0 ]; then
                part=$((part + 1))
                [ "$missing" -gt 0 ] || seen=$((seen + 1))
                continue
            fi
            ;;
        */not-run | not-run/*) ;;
        some/*) open=$((open + 1)) && continue ;;
        *) [ "$of_code" = "$of_model" ] && failure=$((failure + 1)) && continue ;;
        esac
        other=$((other + 1))
        echo "  $name: code $of_code, model $of_model; $missing outcomes of the model only, $invented of the code only"
    done
    echo "real parking_lot $version equal=$equal failure=$failure part=$part of-which-all-outcomes=$seen open=$open other=$other"
done
