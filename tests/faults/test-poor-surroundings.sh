#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where something is missing, it does what can be done without, and says in a word what is missing.
. "$(dirname "$0")/lib.sh"
needs capsh

make_hosts 2 B
journal_start
with() { # MOUNTS PROGRAM…: on B, in a mount namespace where a script has changed something first
    local status=0
    on B unshare --mount sh -c "$1"' && shift && exec "$@"' sh "$@" >$work/out 2>$work/err </dev/null || status=$?
    err=$(<$work/err)
    echo $status >$work/status
}
status_is() { expect_equal "$1: exit status" "$2" "$(<$work/status)"; }

# A /run that cannot be written.
with "cp -r /run/sys /tmp/ib-hook-sys.$$ && mount -t tmpfs -o ro tmpfs /run" \
    "$IB_HOOK" --sysfs "/tmp/ib-hook-sys.$$/B" --apply
rm -rf "/tmp/ib-hook-sys.$$"
status_is "/run cannot be written" 0
expect_contains "it is said" "cannot open or make /run/ib-hook: Read-only file system" "$err"
expect_contains "and what that means" "not remembered" "$err"
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
names_lost_values() { # WHAT: of the --undo before
    local nic setting
    for nic in ib0 ib1; do
        for setting in arp_announce=2 arp_ignore=1; do
            expect_contains "$1: --undo names what it leaves" "$nic: $setting stays: the value before ib-hook is not known" "$err"
            expect_contains "… and how to change it" "(sysctl -w net/ipv4/conf/$nic/${setting%=*}=0)" "$err"
            sysctl_set B $nic "${setting%=*}" 0
        done
    done
}
expect_hook 0 B --undo
names_lost_values "/run could not be written"
expect_hook 0 B --undo
expect_equal "and names it once" "" "$err"

# A hold that cannot be written does not hold.
expect_hook 0 B --apply
with "cp -r /run/sys /tmp/ib-hook-sys.$$ && mount -t tmpfs -o ro tmpfs /run" \
    "$IB_HOOK" --sysfs "/tmp/ib-hook-sys.$$/B" --undo
rm -rf "/tmp/ib-hook-sys.$$"
status_is "--undo with a /run that cannot be written" 0
expect_contains "it does not promise what cannot be" "changes, until the next event" "$(<$work/out)"
expect_contains "and says what to do" "the next event routes these NICs again; to prevent that, set manage=no in /etc/ib-hook/ib-hook.conf" "$err"
manager_calls B "$HOOKS/nm-dispatcher" ib0 up
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_hook 0 B --undo
rm -rf /run/ib-hook

# A state that cannot be written once is written afterwards; where it never can, the next hook makes no secret of it.
before=$(state B)
traced rename:error=ENOMEM:when=1 "$IB_HOOK" --apply
expect_equal "the first write fails: nothing is lost" "" "$(<$work/err)"
expect_hook 0 B --undo
expect_equal "and all is given back" "$before" "$(state B)"
traced rename:error=ENOMEM "$IB_HOOK" --apply
expect_contains "no write succeeds: it is said" "old sysctl values and holds are not remembered" "$(<$work/err)"
manager_calls B "$HOOKS/nm-dispatcher" ib0 up
expect_hook 0 B --undo
names_lost_values "no write succeeded"
rm -rf /run/ib-hook

# Sysctls that cannot be written: what cannot be whole is not begun.
with "mount -o bind,ro /proc/sys /proc/sys" "$IB_HOOK" --sysfs /run/sys/B --apply
status_is "/proc/sys is read-only" 3
expect_contains "it is said" "arp_announce: Read-only file system" "$err"
expect_nothing_of_ours B
expect_contains "and that nothing stands" "the state before is back" "$err"

# No sysfs: no RDMA device is seen.
with "mount -t tmpfs tmpfs /sys" "$IB_HOOK" --check
status_is "no /sys/class/infiniband" 0
expect_contains "it is said" "no rails: no two RDMA NICs share a subnet here" "$(<$work/out)"

# No table of IPv4: main comes with the first address of a namespace.
ip netns add C
for i in 0 1; do add_nic C ib$i $((i + 8)) && ip -n C link set ib$i up; done
rdma C ib0 ib1
from=$(($(journal_lines) + 1))
for _ in 1 2; do manager_calls C "$HOOKS/nm-dispatcher" ib0 up; done
expect_equal "hooks have nothing to say of it" "" "$(journal $from)"

# Without CAP_NET_RAW only announcements of other than a NIC's own first address need a packet socket.
ip -n B address add 172.16.34.9/32 dev ib1
with true capsh --drop=cap_net_raw -- -c "exec '$IB_HOOK' --sysfs /run/sys/B --apply"
status_is "no CAP_NET_RAW" 0
expect_contains "it is said" "ib1: announce:" "$err"
expect_equal "and everything is done" 6 "$(our_rules B | wc -l)"
hook B --undo >/dev/null

# Without CAP_NET_ADMIN nothing is tried.
with true capsh --drop=cap_net_admin -- -c "exec '$IB_HOOK' --sysfs /run/sys/B --apply"
status_is "no CAP_NET_ADMIN" 3
expect_contains "it is said" "this needs CAP_NET_ADMIN" "$err"
expect_nothing_of_ours B

# Few descriptors, little memory.
with "ulimit -n 4" "$IB_HOOK" --sysfs /run/sys/B --apply
status_is "four descriptors" 3
[ -n "$err" ] || fail "four descriptors: nothing said"
expect_nothing_of_ours B
with "ulimit -v 60000" "$IB_HOOK" --sysfs /run/sys/B --apply
status_is "60 MB of address space" 0
expect_equal "are enough" 6 "$(our_rules B | wc -l)"
hook B --undo >/dev/null

# A filter that denies what is not essential.
traced "prctl,capset,fchmod,getrandom,prlimit64:error=EPERM" "$IB_HOOK" --apply
expect_equal "calls are denied: exit status" 0 "$status"
expect_equal "and all is done" 6 "$(our_rules B | wc -l)"
