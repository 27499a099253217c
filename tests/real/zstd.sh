#!/usr/bin/env bash
# zstd: its thread pool's own tests, and compression by two threads.
source "$(dirname "$0")/common.sh"

folder=$(fetch libzstd)
(
    cd "$folder"
    # The rule for `poolTests` in tests/Makefile.
    $RADDLE cc -DZSTD_MULTITHREAD -Ilib -Ilib/common -Iprograms tests/poolTests.c programs/util.c programs/timefn.c \
        lib/common/{pool,threading,zstd_common,error_private}.c -lpthread -o poolTests
    make -s -C programs zstd CC="$RADDLE cc" HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0 ZSTD_LEGACY_SUPPORT=0 ZSTD_NO_ASM=1
) >&2
check zstd-pool 1.5.4 -- "$folder/poolTests"
check zstd 1.5.4 -- "$folder/programs/zstd" -1 -T2 -B1MB -q -k -c "$(input zeros 1300000)"
