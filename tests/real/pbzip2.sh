#!/usr/bin/env bash
# pbzip2: bzip2 by several threads, with queues, condition variables with time limits, and signals.
source "$(dirname "$0")/common.sh"

folder=$(fetch pbzip2)
make -s -C "$folder" CXX="$RADDLE c++" pbzip2 >&2
check pbzip2 1.1.13 -- "$folder/pbzip2" -p2 -b1 -1 -k -c "$(input zeros 350000)"
