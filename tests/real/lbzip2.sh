#!/usr/bin/env bash
# lbzip2: bzip2 by several threads that take their work from one queue, with signals.
source "$(dirname "$0")/common.sh"

folder=$(fetch lbzip2)
if [ ! -f "$folder/Makefile" ]; then
    # What gnulib of that time asks glibc for has another name by now.
    (cd "$folder" && CC="$RADDLE cc" CPPFLAGS=-D_IO_ftrylockfile ./configure --quiet) >&2
fi
make -s -C "$folder" >&2
check lbzip2 2.5 -- "$folder/src/lbzip2" -1 -n 2 -k -c "$(input zeros 350000)"
