#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# SUSE's wicked calls what the RPM installs, as wicked's dispatcher of scripts does: an absolute path, executable or not looked
# at, SCRIPT ACTION INTERFACE; its exit status counts for nothing. wicked itself is not here.
. "$(dirname "$0")/lib.sh"

make_root
make_hosts 0 B
for i in 0 1; do add_nic B ib$i $i; done
mkdir -p $root/etc/ib-hook
printf '[interface ib*]\nmanage=yes\n' >$root/etc/ib-hook/ib-hook.conf # there is no RDMA here
on B rpm --root $root --dbpath /var/lib/rpm --nodeps -i "$rpm" >$work/said 2>&1
pure=$(state B)

# What the manual tells people to write, as a shell reads that file.
POST_UP_SCRIPT='' POST_DOWN_SCRIPT=''
eval "$(sed -n 's/^\.Dl \(POST_[A-Z]*_SCRIPT=\)/\1/p' "$top/packaging/man/ib-hook.8" | sed 's/\\(dq/"/g')"
expect_equal "both actions are for the same program" "$POST_UP_SCRIPT" "$POST_DOWN_SCRIPT"
expect_equal "by wicked's own scheme" wicked: "${POST_UP_SCRIPT%%/*}"
script=${POST_UP_SCRIPT#wicked:}

dispatch() { # ACTION INTERFACE
    # shellcheck disable=SC2016 # for the shell there
    inside sh -c 'test -e "$0" && ! test -d "$0" && exec "$0" "$1" "$2"' "$script" "$1" "$2" >$work/out 2>$work/err </dev/null ||
        fail "$1 $2 exits $?" "$(<$work/err)"
    expect_equal "$1 $2 writes to nobody's standard output" "" "$(<$work/out)"
}
ifup() { # NIC ADDRESS
    dispatch pre-up "$1"
    ip -n B link set "$1" up
    ip -n B address add "$2" dev "$1"
    dispatch post-up "$1"
}
ifdown() { # NIC
    dispatch pre-down "$1"
    ip -n B address flush dev "$1"
    ip -n B link set "$1" down
    dispatch post-down "$1"
}

ifup ib0 172.16.34.1/16
expect_rails B ib0:941:172.16.34.1
ifup ib1 172.16.34.2/16
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
dispatch pre-down ib1
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
ifdown ib1
expect_rails B ib0:941:172.16.34.1
ifdown ib0
expect_nothing_of_ours B
on B rpm --root $root --dbpath /var/lib/rpm --nodeps -e ib-hook >$work/said 2>&1
expect_equal "nothing is left" "$pure" "$(state B)"
