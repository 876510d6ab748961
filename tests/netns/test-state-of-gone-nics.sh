#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is remembered of a NIC goes with it: the file does not keep the old sysctl values of an index that is no more, and
# another NIC that gets this index keeps its own. A NIC that is renamed, or gets another address, is still the same.
# So it is with a network namespace and its number.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B

remembered() {
    sed -n 's/^sysctl \([^ ]* [0-9]*\) .*/\1/p' /run/ib-hook/*.state | sort -u
}

expect_hook 0 B --apply
expect_equal "both rails are remembered" "ib0 $(ip -n B -j link show ib0 | jq ".[].ifindex")
ib1 $(ip -n B -j link show ib1 | jq ".[].ifindex")" "$(remembered)"
remove_nic B ib0
remove_nic B ib1
expect_hook 0 B --apply
expect_equal "nothing is remembered of NICs that are gone" "" "$(remembered)"

# The same index again, with values that ib-hook sets.
add_nic B ib0 0 172.16.34.1/16
add_nic B ib1 1 172.16.34.2/16
expect_hook 0 B --apply
index=$(ip -n B -j link show ib1 | jq ".[].ifindex")
remove_nic B ib1
rdma B ib0
ip -n B link add index "$index" eth5 type veth peer name other
ip -n B link set eth5 up
sysctl_set B eth5 arp_ignore 1
sysctl_set B eth5 arp_announce 2
expect_hook 0 B --apply
expect_sysctls B eth5 arp_ignore=1 arp_announce=2
expect_hook 0 B --undo
expect_sysctls B eth5 arp_ignore=1 arp_announce=2

# The same NIC with another name; then with another hardware address.
remove_nic B eth5
add_nic B ib1 1 172.16.34.2/16
rdma B ib0 ib1
expect_hook 0 B --apply
ip -n B link set ib1 down
ip -n B link set ib1 name roce1
ip -n B link set roce1 up
rdma B ib0 roce1
expect_hook 0 B --apply
ip -n B link set roce1 address 02:00:00:00:99:99
expect_hook 0 B --apply
expect_sysctls B roce1 arp_ignore=1 arp_announce=2
expect_hook 0 B --undo
expect_sysctls B roce1 arp_ignore=0 arp_announce=0

# What is remembered of a network namespace goes when a later one has its number, as the kernel gives it again soon.
# Another test beside this one may hold one number for long, so four namespaces go.
locks() { (cd /run/ib-hook && echo *.lock); }
own=$(locks)
nested() { # NUMBER: so many namespaces, all of which live until the last has its lock
    # shellcheck disable=SC2016 # for the inner shell
    unshare --net bash -euc '"$IB_HOOK" --apply; [ "$1" = 1 ] || nested $(($1 - 1))' - "$1"
}
export IB_HOOK
export -f nested
nested 4 >$work/log
mapfile -t gone < <(locks | tr ' ' '\n' | grep -vxF "$(tr ' ' '\n' <<<"$own")")
expect_equal "namespaces that are gone have left their locks" 4 ${#gone[@]}
one_is_forgotten() {
    nested 1 >$work/log
    for lock in "${gone[@]}"; do
        [ -e "/run/ib-hook/$lock" ] || return 0
    done
    return 1
}
wait_until 60 one_is_forgotten || fail "files of namespaces that are gone stay: $(locks)"
for lock in $own; do
    [ -e "/run/ib-hook/$lock" ] || fail "what lives has lost $lock"
done
ok "a namespace that is gone is forgotten, and those that live are not"
