#!/bin/bash
# --render udev: udev reads the rules, gives the name of the port's GUID, awkward ones too, and leaves children alone.
# No netdev here has the address of InfiniBand: the rules are those that the unit test holds, with one of Ethernet.
. "$(dirname "$0")/lib.sh"

[ "$rooted" = yes ] || skip "udevadm test needs the real root"
unpacked=$top/build-unpacked
PATH=$PATH:$unpacked/bin:$unpacked/usr/bin
type -P udevadm >/dev/null || skip "udev is not here: make build-unpacked/.complete"
libraries=$(printf '%s:' "$unpacked"/usr/lib/*-linux-gnu "$unpacked"/lib/*-linux-gnu "$unpacked"/lib/systemd "$unpacked"/usr/lib/systemd)
mount -t sysfs -o ro sysfs /sys
mkdir -p /run/udev/rules.d

guid() { # N: the last bytes of its address, as the rules have them
    sed -n "$1s/.*?\*\([0-9a-f:]*\)\".*/\1/p" "$tests/../unit/render/everything.udev"
}

# What NAME becomes for a netdev with this name and address.
named() { # NIC N
    ip link add "$1" address "02:00:$(guid "$2" | cut -d: -f5-)" type veth peer name peer
    LD_LIBRARY_PATH=$libraries udevadm test --action=add "/sys/class/net/$1" >$work/said 2>&1 || fail "udevadm test" "$(<$work/said)"
    sed -n "s/.*70-persistent-ipoib.rules:[0-9]* NAME '\(.*\)'\$/\1/p" $work/said
    ip link del peer
}

expect_equal "two rules were rendered" 2 "$(grep -c NAME "$tests/../unit/render/everything.udev")"
sed 's/ DRIVERS=="?\*",//; s/ATTR{type}=="32"/ATTR{type}=="1"/; s/"?\*[0-9a-f:]\{12\}/"?*/' "$tests/../unit/render/everything.udev" \
    >/run/udev/rules.d/70-persistent-ipoib.rules
expect_equal "the other one" "ib0" "$(named first 2)"
expect_equal "a name with quotes and dollars" "i'\$b;1" "$(named second 1)"
expect_equal "a child has the GUID of its parent, and keeps its name" "" "$(named second.8002 1)"
expect_lacks "nothing to complain of" "ipoib.rules:" "$(grep -v ' NAME ' $work/said)"
