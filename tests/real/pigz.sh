#!/usr/bin/env bash
# pigz: gzip by several threads, which wait for values of locked variables.
source "$(dirname "$0")/common.sh"

folder=$(fetch pigz trixie)
make -s -C "$folder" CC="$RADDLE cc" pigz >&2
check pigz 2.8 -- "$folder/pigz" -p 2 -b 128 -1 -k -c "$(input text 250000)"
