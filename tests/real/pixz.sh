#!/usr/bin/env bash
# pixz: xz by a pipeline of threads, with queues between them. Needs libarchive-dev and liblzma-dev.
source "$(dirname "$0")/common.sh"

folder=$(fetch pixz)
(
    cd "$folder"
    # All that its configure script would find out.
    touch src/config.h
    $RADDLE cc -Isrc -D_FILE_OFFSET_BITS=64 -D_GNU_SOURCE -DHAVE_DECL_HTOLE64=1 -DHAVE_DECL_LE64TOH=1 \
        -DPACKAGE_VERSION='"1.0.7"' src/*.c -o pixz -lpthread -llzma -larchive -lm
) >&2
check pixz 1.0.7 -- "$folder/pixz" -t -0 -p 2 -k "$(input zeros 350000)" "$REAL_WORK/pixz.output"
