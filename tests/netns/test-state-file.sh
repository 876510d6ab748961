#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is remembered in /run/ib-hook may be lost or spoilt, or cannot be written: that loses old sysctl values and holds,
# nothing else, and is said.
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
expect_hook 0 B --apply
expect_equal "read-only: said once each" "lock: Read-only file system; going on without a lock; make /run writable
state.new: Read-only file system; old sysctl values and holds are not remembered for --undo: make /run writable" \
    "$(sed -n 's|^ib-hook: .*/run/ib-hook/[^.]*\.||p' <<<"$err")"
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
umount /run/ib-hook
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2


# Without a descriptor left, whatever it is that cannot be opened, the limit is what is wrong.
seen=0
for ((n = 3; n < 12; n++)); do
    said=$(on B prlimit --nofile=$n "$IB_HOOK" --sysfs /run/sys/B --apply </dev/null 2>&1) || true
    [[ $said == *"Too many open files"* ]] || continue
    seen=$((seen + 1))
    expect_contains "$n descriptors" "raise the limit of its caller (ulimit -n, LimitNOFILE=)" "$said"
done
expect_at_least "limits that were too low" 3 $seen

status=0
hook B --plan >/dev/full 2>$work/err || status=$?
expect_equal "output that cannot be written is an error" 3 $status
