#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# With clang's ThinLTO and lld, and every symbol asked for (-z defs): it builds without a warning, and works. The RPM is the proof
# for gcc's link-time optimization.
. "$(dirname "$0")/lib.sh"

needs clang ld.lld llvm-ar
env -u MAKEFLAGS -u MFLAGS -u MAKEOVERRIDES make -s -j2 -C "$top" BUILD=$work/thin CC=clang AR=llvm-ar WERROR=-Werror \
    CFLAGS="-O1 -flto=thin" LDFLAGS="-fuse-ld=lld -Wl,-z,defs" all >$work/log 2>&1 || fail "it does not build" "$(<$work/log)"
expect_equal "nothing is said" "" "$(<$work/log)"

make_hosts 2 B
conf=$(config $'[interface ib*]\nmanage=yes')
pure=$(state B)
on B $work/thin/ib-hook --config "$conf" --apply >$work/log
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
on B $work/thin/ib-hook --config "$conf" --undo >$work/log
expect_equal "--undo leaves what was before" "$pure" "$(state B)"
