# What the scripts in this folder share; they source it.
#
#   RADDLE      the command to run, `cargo raddle` if it is not set
#   REAL_WORK   where sources are fetched to and built, a folder in /tmp if it is not set
#   REAL_TIME   how long each strategy runs, 60s if it is not set
#   STRATEGIES  which, "auto random pct pos" if it is not set

set -euo pipefail

RADDLE=${RADDLE:-cargo raddle}
REAL_WORK=${REAL_WORK:-/tmp/raddle-real}
REAL_TIME=${REAL_TIME:-60s}
STRATEGIES=${STRATEGIES:-auto random pct pos}
export RADDLE_DIR=$REAL_WORK/schedules
unset CARGO_TARGET_DIR
mkdir -p "$REAL_WORK"

# Prints the folder with the sources of a package of Debian's, which it fetches if they are not there:
# `fetch pbzip2`, or `fetch pigz trixie` for another release than bookworm. The system's own lists are left alone.
fetch() {
    local package=$1 suite=${2:-bookworm}
    local to=$REAL_WORK/$package lists=$REAL_WORK/lists-$suite
    if [ ! -d "$to" ]; then
        mkdir -p "$lists/partial" "$to.new"
        local key=/usr/share/keyrings/debian-archive-keyring.gpg
        echo "deb-src [signed-by=$key] $(mirror) $suite main" >"$lists.list"
        local options=(
            -o "Dir::Etc::sourcelist=$lists.list" -o Dir::Etc::sourceparts=/dev/null
            -o "Dir::State::lists=$lists" -o APT::Get::List-Cleanup=0 -o APT::Sandbox::User=root
        )
        (
            cd "$to.new"
            [ -n "$(ls -A "$lists" | grep Sources || true)" ] || apt-get "${options[@]}" update
            apt-get "${options[@]}" source "$package" || unpack_original
        ) >&2
        mv "$to.new" "$to"
    fi
    find "$to" -mindepth 1 -maxdepth 1 -type d
}

# Where this system gets Debian's packages from.
mirror() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
        grep -oE '^(URIs:|deb) .*https?://[^ ]+/debian/?( |$)' | grep -oE 'https?://[^ ]+' | head -1
}

# Some mirrors do not have Debian's changes of a package, but what they were made to.
unpack_original() {
    local archive
    archive=$(ls ./*.orig.tar.*)
    tar -xf "$archive"
}

# Files to work on: `input zeros 350000`, `input text 250000`.
input() {
    local file=$REAL_WORK/input-$1-$2
    case $1 in
    zeros) head -c "$2" /dev/zero >"$file" ;;
    text) seq 1 1000000 | head -c "$2" >"$file" || true ;;
    esac
    echo "$file"
}

# The memory of the process that runs the program, in KiB.
memory_of() {
    local child
    child=$(cat "/proc/$1/task/$1/children" 2>/dev/null) || return 0
    awk '/VmRSS/ { print $2 }' "/proc/${child%% *}/status" 2>/dev/null || true
}

# How many events an execution has, on average over a few.
events_of() {
    local trace=$REAL_WORK/trace
    rm -f "$trace"
    RADDLE_TRACE=$trace $RADDLE run --strategy random --max-executions 5 --budget 60s -- "$@" >/dev/null 2>&1 || true
    awk '/^execution / { executions++; next } { events++ }
         END { if (executions) printf "%d", events / executions; else printf "-" }' "$trace" 2>/dev/null || echo -
    rm -f "$trace"
}

# Runs a program under each strategy, and prints a row for each: `check pbzip2 1.1.13 -- ./pbzip2 -c file`. Memory is
# what the process has after a minute, or a third of the time if that is sooner, and at the end.
check() {
    local name=$1 version=$2
    shift 3
    local events strategy
    events=$(events_of "$@")
    for strategy in $STRATEGIES; do
        local log=$REAL_WORK/$name-$strategy.log
        $RADDLE run --strategy "$strategy" --max-executions 1000000000 --budget "$REAL_TIME" -- "$@" >"$log" 2>&1 &
        local process=$! samples=()
        while kill -0 $process 2>/dev/null; do
            samples+=("$(memory_of $process)")
            sleep 1
        done
        local status=0
        wait $process || status=$?
        local last=$((${#samples[@]} - 2))
        local early=$((${#samples[@]} / 3))
        early=$((early > 60 ? 60 : early))
        local memory="${samples[$early]:--}..${samples[$((last > 0 ? last : 0))]:--}"
        row "$name" "$version" "$strategy" "$events" "$memory" "$status" "$log"
    done
}

# One line of what a check has said in the end.
row() {
    local summary
    summary=$(grep '^raddle: ' "$7" | tail -1)
    local result
    case $6 in
    0) result=passed ;;
    1) result=$(grep -m1 '^raddle: .* after ' "$7" | sed 's/^raddle: [^:]*: //; s/ after.*//; s/ /-/g' || true) ;;
    *) result=not-run ;;
    esac
    local runs seconds
    runs=$(sed -nE 's/.* in ([0-9,]+) runs?.*/\1/p; s/.*: ([0-9,]+) classes? run.*/\1/p' <<<"$summary" | head -1 | tr -d ,)
    seconds=$(sed -nE 's/.*, (([0-9]+)m )?([0-9.]+)s\).*/\2 \3/p' <<<"$summary" | awk '{ print NF == 2 ? $1 * 60 + $2 : $1 }')
    local rate
    rate=$(awk -v runs="${runs:-0}" -v seconds="${seconds:-0}" 'BEGIN { printf "%.1f", seconds ? runs / seconds : 0 }')
    echo "real $1 version=$2 strategy=$3 executions=${runs:--} per_s=$rate events=$4 kib=$5 result=${result:-failed}"
}
