#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is remembered in /run/ib-hook may be lost or spoilt: that loses old sysctl values and holds, nothing else. Where it
# cannot be written, nothing is changed.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
before=$(state B)
head -c 3000 /dev/urandom >/run/test/noise

for harm in 'rm -f' 'truncate -s 0' 'truncate -s 7' 'cp /dev/stdin'; do
    expect_hook 0 B --apply
    applied=$(state B)
    find /run/ib-hook -type f -name '*.state' | while read -r file; do
        $harm "$file" </run/test/noise
    done
    expect_hook 0 B --show
    expect_hook 0 B --check
    expect_hook 0 B --apply --json
    expect_equal "after $harm: nothing is left to do" false "$(json .changed)"
    expect_equal "after $harm: the state" "$applied" "$(state B)"
    expect_hook 0 B --undo
    expect_nothing_of_ours B
    for nic in ib0 ib1; do
        sysctl_set B $nic arp_ignore 0
        sysctl_set B $nic arp_announce 0
    done
    expect_equal "after $harm: all but sysctls came back" "$before" "$(state B)"
done

mount -o bind,ro /run/ib-hook /run/ib-hook
expect_hook 3 B --apply
expect_contains "it names the directory" /run/ib-hook "$err"
expect_equal "where nothing can be remembered, nothing is changed" "$before" "$(state B)"
expect_hook 0 B --show
expect_hook 0 B --plan
umount /run/ib-hook
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2

status=0
hook B --plan >/dev/full 2>$work/err || status=$?
expect_equal "output that cannot be written is an error" 3 $status
