#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where ib-hook is installed, and the manager of a rail cannot call its hook, --check says so, of each manager once: the next
# event will not be answered. The managers are told by the files that they leave in a tree; SELinux is make check-selinux's.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
hook B --apply >/dev/null
tree=$work/tree
mkdir -p $tree/usr/bin
ln -s /run/sys/B $tree/sys
touch $tree/usr/bin/ib-hook
program=$tree/usr/libexec/hook
mkdir -p "${program%/*}"

ifindex() { ip -n B -json link show "$1" | jq '.[0].ifindex'; }
by_networkd() {
    mkdir -p $tree/run/systemd/netif/links
    for nic in ib0 ib1; do
        printf 'ADMIN_STATE=configured\nNETWORK_FILE=/etc/systemd/network/20-%s.network\n' $nic >"$tree/run/systemd/netif/links/$(ifindex $nic)"
    done
}
by_network_manager() {
    mkdir -p $tree/run/NetworkManager/devices
    for nic in ib0 ib1; do
        printf '[device]\nmanaged=true\nconnection-uuid=5b1d6a4e\n' >"$tree/run/NetworkManager/devices/$(ifindex $nic)"
    done
}
by_ifupdown() {
    mkdir -p $tree/run/network
    printf 'lo=lo\nib0=ib0\nib1=ib1\n' >$tree/run/network/ifstate
}

# says WHAT EXPECTED: the findings, and what the one says
says() {
    hook B --sysfs $tree/sys --check --json >$work/out || true
    expect_equal "$1" "$2" "$(jq -r '.findings[] | select(.severity != "info") | "\(.ifaces | join("+")) \(.severity) \(.code)"' $work/out | xargs)"
    [ -z "$2" ] || expect_contains "$1: which file" "${3:-}" "$(jq -r '.findings[].message' $work/out)"
}
put() { # PATH [MODE]: a hook there, by a link
    install -D -m "${2:-0755}" "$IB_HOOK" "$program"
    mkdir -p "$tree/${1%/*}"
    ln -srf "$program" "$tree/$1"
}

for manager in networkd network_manager ifupdown; do
    rm -rf ${tree:?}/{run,etc}
    rm -rf ${tree:?}/usr/lib
    by_$manager
    case $manager in
        networkd) place=etc/networkd-dispatcher/configured.d/50-ib-hook ;;
        network_manager) place=etc/NetworkManager/dispatcher.d/50-ib-hook ;;
        ifupdown) place=etc/network/if-up.d/ib-hook ;;
    esac
    says "$manager: there is no hook" "ib0+ib1 warning hook-inactive" "there is no /$place"
    put "$place"
    says "$manager: there is one" ""
    [ $manager != networkd ] ||
        expect_contains "nobody calls it, as an administrator wants it: a note" "ib0+ib1 info networkd-dispatcher" \
            "$(jq -r '.findings[] | select(.code == "hook-inactive") | "\(.ifaces | join("+")) \(.severity) \(.owner)"' $work/out)"
    ln -sf /dev/null "$tree/$place"
    says "$manager: it is masked" "ib0+ib1 warning hook-inactive" "/$place is masked"
    put "$place" 0775
    says "$manager: others may write it" "ib0+ib1 warning hook-inactive" "/$place is not an executable file"
    put "$place" 0644
    says "$manager: nobody may execute it" "ib0+ib1 warning hook-inactive" "/$place is not an executable file"
    rm "$program"
    says "$manager: the link leads nowhere" "ib0+ib1 warning hook-inactive" "/$place: No such file"
    ln -sf "${IB_HOOK}" "$tree/$place"
    says "$manager: the link leads out of the tree, where nobody looks" ""
done

rm -rf ${tree:?}/{run,etc}
by_network_manager
put usr/lib/NetworkManager/dispatcher.d/50-ib-hook
says "NetworkManager also runs what lies in /usr/lib" ""
mkdir -p $tree/etc/NetworkManager/dispatcher.d
ln -s /dev/null $tree/etc/NetworkManager/dispatcher.d/50-ib-hook
says "unless it is masked in /etc" "ib0+ib1 warning hook-inactive" "is masked"
rm $tree/usr/bin/ib-hook
says "where it is not installed, nobody expects a hook" ""
