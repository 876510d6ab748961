#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A hook of root's that is forbidden what it needs says so in one line, once; where it cannot remember that, in a short one.
# Here strace forbids; under SELinux: ../selinux.
. "$(dirname "$0")/lib.sh"
needs strace

make_hosts 2 B
journal_start

# forbidden PATH…: what a hook says that may not open these
forbidden() {
    local from path paths=()
    for path in "$@"; do paths+=(-P "$path"); done
    from=$(($(journal_lines) + 1))
    manager_calls B PATH=/usr/bin strace -f -qq -o /dev/null "${paths[@]}" -e inject=open,openat:error="${refusal:-EACCES}" \
        "$HOOKS/nm-dispatcher" ib1 up >&2
    journal "$from"
}

mkdir -p /run/ib-hook # as systemd-tmpfiles does
all=/proc/sys/net/ipv4/conf/all/arp_ignore
needed=("$all" /proc/sys/net/ipv4/conf/ib{0,1}/arp_{announce,ignore})
said=$(forbidden "${needed[@]}" /run/ib-hook)
expect_contains "what it may not" "ib-hook cannot act: root may not open /run/ib-hook" "$said"
expect_equal "it is one line" 1 "$(wc -l <<<"$said")"
said=$(forbidden "${needed[@]}" /run/ib-hook) # an assignment: as an argument, its failure would not be seen
expect_equal "and it is not said again" "" "$said"
expect_nothing_of_ours B

rm /run/ib-hook/confined
said=$(forbidden "${needed[@]}" /run/ib-hook /run/ib-hook/confined)
expect_equal "where nothing can be remembered, it is one line each time" "$said" \
    "$(forbidden "${needed[@]}" /run/ib-hook /run/ib-hook/confined)"
expect_equal "one" 1 "$(wc -l <<<"$said")"

# What may be read and not be written: the first so many opens succeed. The hook tries again, and says it once all the same.
paths=()
for path in "${needed[@]}"; do paths+=(-P "$path"); done
for n in 2 3; do
    rm -rf /run/ib-hook
    mkdir -p /run/ib-hook
    from=$(($(journal_lines) + 1))
    manager_calls B PATH=/usr/bin strace -f -qq -o /dev/null "${paths[@]}" \
        -e inject=open,openat:error=EACCES:when=$n+ "$HOOKS/nm-dispatcher" ib1 up >/dev/null
    expect_equal "from open $n on" 1 "$(journal "$from" | grep -c "ib-hook cannot act: root may not open $all")"
done

rm -rf /run/ib-hook
manager_calls B PATH=/usr/bin "$HOOKS/nm-dispatcher" ib1 up
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
said=$(forbidden /sys/class/net)
expect_equal "a hook that can do its work does not ask" "" "$said"

# A container's /proc/sys can only be read.
sysctl_set B ib1 arp_ignore 0
said=$(refusal=EROFS forbidden "${needed[@]}")
expect_contains "a read-only /proc/sys" "ib-hook cannot act: root may not open $all" "$said"

# And does no harm if no value of /proc/sys has to change: then a wrong line of the configuration is named as ever.
rm -rf /run/ib-hook
sysctl_set B ib1 arp_ignore 1
system_config "[defaults]
gatway=none"
said=$(refusal=EROFS forbidden "${needed[@]}")
expect_contains "a line that is wrong is named" "gatway" "$said"
expect_lacks "and nothing else is blamed" "cannot act" "$said"
rm -rf /etc/ib-hook
sysctl_set B ib1 arp_ignore 0

# What is in the way of the state forbids nothing.
rm -rf /run/ib-hook
echo >/run/ib-hook
from=$(($(journal_lines) + 1))
manager_calls B PATH=/usr/bin "$HOOKS/nm-dispatcher" ib1 up
expect_contains "a file in the place of /run/ib-hook" "/run/ib-hook: Not a directory" "$(journal "$from")"
expect_lacks "nothing is forbidden" "cannot act" "$(journal "$from")"
expect_sysctls B ib1 arp_ignore=1
