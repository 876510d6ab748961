#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --render udev: udev reads the rules, gives the name of the port's GUID, awkward ones too, and leaves children alone. Names of
# the kernel's own two ports cannot swap, as the rules say; others they can.
# No netdev here has the address of InfiniBand: the rules are those that the unit test holds, with one of Ethernet.
. "$(dirname "$0")/lib.sh"

lay_over_usr
type -P udevadm >/dev/null || skip "udev is not here: make $IBH_BUILD/unpacked/.complete"
mkdir -p /run/udev/rules.d

guid() { # N: the last bytes of its address, as the rules have them
    grep 'NAME=' "$rendered" | sed -n "$1s/.*?\*\([0-9a-f:]*\)\".*/\1/p"
}

install() { # FILE: rendered rules, with addresses of Ethernet
    rendered=$tests/../unit/render/$1
    sed 's/ DRIVERS=="?\*",//; s/ATTR{type}=="32"/ATTR{type}=="1"/; s/"?\*[0-9a-f:]\{12\}/"?*/' "$rendered" \
        >/run/udev/rules.d/70-persistent-ipoib.rules
}

port() { # NIC N: a netdev with this name and address
    ip link add "$1" address "02:00:$(guid "$2" | cut -d: -f5-)" type veth peer name "peer$2"
}

udev_name() { # NIC: what NAME becomes for it
    udevadm test --action=add "/sys/class/net/$1" >$work/said 2>&1 || fail "udevadm test" "$(<$work/said)"
    sed -n "s/.*70-persistent-ipoib.rules:[0-9]* NAME '\(.*\)'\$/\1/p" $work/said
}

named() { # NIC N: the same for one with this name and address
    port "$1" "$2"
    udev_name "$1"
    ip link del "peer$2"
}

install everything.udev
expect_equal "two rules were rendered" 2 "$(grep -c NAME= "$rendered")"
expect_equal "the other one" "ib0" "$(named first 2)"
expect_equal "a name with quotes and dollars" "i'\$b;1" "$(named second 1)"
expect_equal "a child has the GUID of its parent, and keeps its name" "" "$(named second.8002 1)"
expect_lacks "nothing to complain of" "ipoib.rules:" "$(grep -v ' NAME ' $work/said)"

# udevadm test gives the name itself before 257, later it only says it.
rename() { # NIC NAME
    [ ! -e "/sys/class/net/$1" ] || ip link set "$1" name "$2" 2>&1 || true
}

# The driver found the ports in another order: what udev is to do, the kernel refuses.
address() { # NIC
    cat "/sys/class/net/$1/address"
}

install no-gateway.udev
expect_equal "each name of the kernel's is pointed out" "ib0 ib1 ib2" "$(sed -n "s/^# \(.*\): the kernel's name, see above/\1/p" "$rendered" | xargs)"
port ib0 2
port ib1 1
first=$(address ib1) second=$(address ib0)
for pair in "ib0 ib1" "ib1 ib0"; do
    read -r nic name <<<"$pair"
    expect_equal "$nic is to be $name" "$name" "$(udev_name "$nic")"
    expect_contains "it cannot become so, as the rules say" "File exists" "$(rename "$nic" "$name")"
done
expect_equal "both keep the wrong name" "$second $first" "$(address ib0) $(address ib1)"
sed -i 's/NAME="ib/NAME="mlx5_ib/' /run/udev/rules.d/70-persistent-ipoib.rules
for pair in "ib0 mlx5_ib1" "ib1 mlx5_ib0"; do
    read -r nic name <<<"$pair"
    expect_equal "with names of one's own, $nic is to be $name" "$name" "$(udev_name "$nic")"
    expect_equal "which it can become" "" "$(rename "$nic" "$name")"
done
expect_equal "and both are right" "$first $second" "$(address mlx5_ib0) $(address mlx5_ib1)"
