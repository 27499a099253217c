#!/usr/bin/env bash
# xz with -T: the threads of liblzma, with time limits on every wait.
source "$(dirname "$0")/common.sh"

folder=$(fetch xz-utils)
if [ ! -f "$folder/Makefile" ]; then
    (
        cd "$folder"
        CC="$RADDLE cc" ./configure --quiet --disable-shared --disable-nls --disable-lzmadec \
            --disable-lzmainfo --disable-scripts --disable-doc
    ) >&2
fi
make -s -C "$folder" >&2
# Small tables, so that an execution is short.
check xz 5.4.1 -- "$folder/src/xz/xz" -T2 --lzma2=preset=0,dict=4KiB --block-size=4096 -k -c "$(input text 12000)"
