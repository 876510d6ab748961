#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# RHEL's network-scripts call what the RPM installs: with what is said of them, in a system with no ib-hook of its own.
. "$(dirname "$0")/lib.sh"

make_root
make_hosts 0 B
for i in 0 1; do add_nic B ib$i $i; done
mkdir -p $root/etc/ib-hook $root/etc/sysconfig/network-scripts
printf '[interface ib*]\nmanage=yes\n' >$root/etc/ib-hook/ib-hook.conf # there is no RDMA here
install_rpm() {
    on B rpm --root $root --dbpath /var/lib/rpm --nodeps "$@" >$work/said 2>&1
}
install_rpm -i "$rpm" "$network_scripts"
pure=$(state B)

# As the last step of ifup-post, of ifdown-post, and of ifup-aliases: the only check is -x, the variables are not exported.
call() { # SCRIPT INTERFACE
    inside sh -c "cd /etc/sysconfig/network-scripts && [ -x /sbin/$1 ] && exec /sbin/$1 $2" >$work/out 2>$work/err </dev/null ||
        fail "$1 $2 exits $?" "$(<$work/err)"
    expect_equal "$1 $2 exits 0, and writes to nobody's standard output" "" "$(<$work/out)"
}

ifup() { # NIC ADDRESS [ALIAS NUMBER]
    ip -n B link set "$1" up
    ip -n B address add "$2" dev "$1"
    if [ $# = 4 ]; then # the aliases come before their NIC
        ip -n B address add "$3" dev "$1" label "$1:$4"
        call ifup-local "$1:$4"
    fi
    call ifup-local "$1"
}

ifdown() { # NIC
    ip -n B address flush dev "$1"
    ip -n B link set "$1" down
    call ifdown-local "$1"
}

ifup ib0 172.16.34.1/16
expect_rails B ib0:941:172.16.34.1
ifup ib1 172.16.34.2/16
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2

ifdown ib1
expect_rails B ib0:941:172.16.34.1
ifup ib1 172.16.34.2/16 172.16.34.12/16 1
expect_rules B "$(rule_line 172.16.34.1 941)
$(rule_line 172.16.34.2 942)
$(rule_line 172.16.34.12 942)"
expect_equal "called again, it has nothing to say" "" "$(call ifup-local ib1 >/dev/null; cat $work/err)"
ifdown ib1
ifdown ib0
expect_nothing_of_ours B
install_rpm -e ib-hook ib-hook-network-scripts

# An administrator's own stays, and works with the line that the manual has.
# shellcheck disable=SC2016 # as it stands there
printf '#!/bin/sh\necho "mine: $1" >>/run/mine\n' >$root/usr/sbin/ifup-local
chmod 0755 $root/usr/sbin/ifup-local
install_rpm -i "$rpm" "$network_scripts"
ifup ib0 172.16.34.1/16
expect_nothing_of_ours B
sed -n 's,^\.Dl \(/usr/libexec/ib-hook/ifup-local\) .*,\1 "$@",p' "$top/packaging/man/ib-hook.8" >>$root/usr/sbin/ifup-local
call ifup-local ib0
expect_rails B ib0:941:172.16.34.1
expect_equal "it was called each time" "mine: ib0 mine: ib0" "$(xargs <$root/run/mine)"
ifdown ib0
install_rpm -e ib-hook ib-hook-network-scripts
expect_contains "it is still there without us" "mine: " "$(cat $root/usr/sbin/ifup-local*)"

expect_equal "nothing is left" "$pure" "$(state B)"
