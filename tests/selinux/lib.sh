# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What every test here starts with: `. "$(dirname "$0")/lib.sh"`: all of ../lab/lib.sh, and in addition a virtual machine H
# with two rails, under SELinux, enforcing, with what make install installs:
#
#   boot POLICY           with build/selinux/POLICY
#   as DOMAIN COMMAND…    runs it there as a child of a process of that domain
#   clean                 nothing is routed, nothing remembered
#   expect_done WHAT      both NICs are routed by it, which ran in the domain $ran_in
#   expect_nothing WHAT   it did nothing
#   log                   what was written to the system's log since the last time
set -Eeuo pipefail
# shellcheck source=../lab/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lab/lib.sh"
: "${top:?}" "${work:?}" "${IBH_BUILD:?}" "${no_dad:?}"

boot() { # POLICY
    local policy=$IBH_BUILD/selinux/$1
    local names=$IBH_BUILD/unpacked-selinux/etc/selinux/default/contexts/files/file_contexts.subs_dist
    make -s -C "$top" install DESTDIR="$work/installed" PREFIX=/usr >/dev/null
    mkdir -p "$work/installed/etc/selinux"
    : >"$work/installed/etc/selinux/config"
    tar -c -f "$work/installed.tar" -C "$work/installed" --owner=0 --group=0 etc usr/lib usr/libexec
    vm_start H 2 append="security=selinux" file="$work/installed.tar:/installed.tar" file="$policy:/policy" \
        file="$policy.contexts:/contexts" file="$names:/contexts.subs_dist" \
        file="$(command -v setfiles):/usr/sbin/setfiles" file="$(command -v runcon):/usr/bin/runcon"
    # shellcheck disable=SC2016 # for the shell in the guest
    vm H "$no_dad"'
        tar -x -f /installed.tar && ln -s /usr/libexec/ib-hook/ifup-local /sbin/ifup-local &&
        cp /usr/libexec/ib-hook/networkd-dispatcher /usr/bin/plain-program && cp /usr/bin/busybox /usr/bin/busybox-caller
        for i in 0 1; do
            ip address add 172.16.50.$((i + 1))/16 dev ib$i && ip link set ib$i up &&
                ip address add fd00:50::$((i + 1))/64 dev ib$i && rdma link add rxe$i type rxe netdev ib$i || exit
        done
        mount -t selinuxfs selinuxfs /sys/fs/selinux && dd if=/policy of=/sys/fs/selinux/load bs=64M 2>/dev/null &&
        setfiles -F -e /proc -e /sys -e /dev -e /run /contexts / && setfiles -F /contexts /dev /run &&
        syslogd -O /run/messages && echo 0 >/proc/sys/kernel/printk_ratelimit &&
        until [ -S /dev/log ]; do usleep 10000; done && setfiles -F /contexts /dev/log && echo 1 >/sys/fs/selinux/enforce'
    expect_equal "SELinux is enforcing" 1 "$(vm H 'cat /sys/fs/selinux/enforce')"
}

# as DOMAIN COMMAND…: by a child of a process of that domain, which leaves its standard output nowhere; the exit status
as() {
    vm H "runcon system_u:system_r:$1:s0 /usr/bin/busybox-caller sh -c '${*:2}; exit \$?' >/dev/null 2>&1 </dev/null"
}

# Two addresses that nobody remembers or routes; the kernel's log begins.
clean() {
    vm H 'ib-hook --undo >/dev/null; rm -rf /run/ib-hook; : >/run/messages; dmesg -c >/dev/null'
}

# The domains in which a netlink socket was opened since clean; but for the test's own.
ran_in() {
    vm H "dmesg | sed -n 's/.*granted.* scontext=[^:]*:[^:]*:\([^:]*\):.*/\1/p' | grep -v kernel_t | sort -u"
}

rules() {
    vm H 'ip rule; ip route show table 941; ip route show table 942; cat /proc/sys/net/ipv4/conf/ib[01]/arp_ignore' |
        grep -c -e 'from 172.16.50.[12] .*lookup 94[12]' -e '^172.16.0.0/16' -e '^1$' || true
}

# What is there for two rails in IPv4: two rules, two routes, two sysctls.
expect_done() { # WHAT
    [ "$(rules)" = 6 ] || fail "$1" "$(vm H 'ip rule; cat /run/messages; dmesg | grep denied')"
    ok "$1"
}

expect_nothing() { # WHAT
    expect_equal "$1" 0 "$(rules)"
}

denied() {
    vm H "dmesg | sed -n 's/.*denied  //p' | grep -e ib_hook || true"
}
