#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# By which way does an event reach ib-hook? Where it is installed, and nothing calls it for the manager of a rail, --check says
# so, of each manager once: the next event will not be answered. What another way makes up for is a note. The managers and
# systemd are told by the files that they leave in a tree; SELinux is make check-selinux's.
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
    hook B --sysfs $tree/sys --check --json >$work/out || [ $? = 1 ]
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
    says "$manager: there is no hook" "warning hook-inactive" "there is no /$place"
    put "$place"
    says "$manager: there is one" ""
    ln -sf /dev/null "$tree/$place"
    says "$manager: it is masked" "warning hook-inactive" "/$place is masked"
    put "$place" 0775
    says "$manager: others may write it" "warning hook-inactive" "/$place is not an executable file"
    put "$place" 0644
    says "$manager: nobody may execute it" "warning hook-inactive" "/$place is not an executable file"
    rm "$program"
    says "$manager: the link leads nowhere" "warning hook-inactive" "/$place: No such file"
    ln -sf "${IB_HOOK}" "$tree/$place"
    says "$manager: the link leads out of the tree, where nobody looks" ""
done

rm -rf ${tree:?}/{run,etc}
by_network_manager
put usr/lib/NetworkManager/dispatcher.d/50-ib-hook
says "NetworkManager also runs what lies in /usr/lib" ""
mkdir -p $tree/etc/NetworkManager/dispatcher.d
ln -s /dev/null $tree/etc/NetworkManager/dispatcher.d/50-ib-hook
says "unless it is masked in /etc" "warning hook-inactive" "is masked"

# The services that call hooks.
etc=$tree/etc/systemd/system
lib=$tree/usr/lib/systemd/system
unit() { # NAME [ALIAS]: installed, and enabled
    mkdir -p $lib $etc/multi-user.target.wants
    echo '[Unit]' >"$lib/$1"
    if [ $# = 2 ]; then ln -sf "$lib/$1" "$etc/$2"; else ln -sf "$lib/$1" "$etc/multi-user.target.wants/$1"; fi
}
boots() { # …: nothing but systemd, the rails' managers and our hooks
    rm -rf ${tree:?}/{run,etc}
    rm -rf ${tree:?}/usr/lib
    mkdir -p $tree/run/systemd/{system,units}
    for manager in "$@"; do "by_$manager"; done
    put etc/networkd-dispatcher/configured.d/50-ib-hook
    put etc/NetworkManager/dispatcher.d/50-ib-hook
}
advises() { # WHAT COMMAND: one that can be pasted
    expect_contains "$1: advice" "$2" "$(jq -r '.findings[] | select(.code == "hook-inactive") | .advice' $work/out)"
    expect_contains "$1: and --watch" "sudo systemctl enable --now ib-hook-watch.service" "$(jq -r '.findings[].advice' $work/out)"
}
noted() { # WHAT OWNER
    expect_equal "$1" "info $2" "$(jq -r '.findings[] | select(.code == "hook-inactive") | "\(.severity) \(.owner)"' $work/out)"
}
nm=NetworkManager-dispatcher.service alias=dbus-org.freedesktop.nm-dispatcher.service
boots network_manager
says "NetworkManager's service is missing" "warning hook-inactive" "there is no $nm"
advises "it is missing" "install it"
unit $nm $alias
says "it is enabled" ""
rm $lib/$nm
says "it was removed, and left its alias" "warning hook-inactive" "there is no $nm"
unit $nm $alias
rm $etc/$alias
says "it is disabled" "warning hook-inactive" "$nm is disabled"
advises "it is disabled" "sudo systemctl enable --now $nm"
unit $nm $alias
for name in $nm $alias; do
    ln -sf /dev/null "$etc/$name"
    says "$name is masked" "warning hook-inactive" "$name is masked"
    advises "$name is masked" "sudo systemctl unmask $name; sudo systemctl enable --now $nm"
    rm "$etc/$name"
    [ "$name" = $alias ] || says "$name is not masked any more" ""
done
unit $nm $alias
mkdir -p $tree/run/systemd/system
ln -s /dev/null $tree/run/systemd/system/$nm
says "masked until a reboot" "warning hook-inactive" "$nm is masked"
ln -s /dev/null $etc/ib-hook-watch.service
says "so is --watch" "warning hook-inactive" "$nm is masked"
advises "so is --watch" "sudo systemctl unmask ib-hook-watch.service; sudo systemctl enable --now ib-hook-watch.service"

nd=networkd-dispatcher.service
boots networkd
says "networkd calls no hooks itself" "warning hook-inactive" "there is no $nd"
unit $nd
says "the boot has not started the service yet" ""
noted "that is a note" "$nd does not run"
advises "it is not started" "sudo systemctl start $nd"
ln -s 0 "$tree/run/systemd/units/invocation:$nd"
says "it runs" ""
rm "$tree/run/systemd/units/invocation:$nd" $etc/multi-user.target.wants/$nd
says "it is disabled" "warning hook-inactive" "$nd is disabled"
advises "it is disabled" "sudo systemctl enable --now $nd"
unit ib-hook-watch.service
says "nor has it started --watch" ""
noted "a note, too" "$nd is disabled"

# Each rail has a manager of its own. One of them calls us.
boots networkd
rm "$tree/run/systemd/netif/links/$(ifindex ib1)"
by_network_manager
rm "$tree/run/NetworkManager/devices/$(ifindex ib0)"
unit $nm $alias
unit $nd
rm $etc/multi-user.target.wants/$nd
says "a service is disabled, and another way is there" ""
noted "it is a note" "$nd is disabled"
ln -s /dev/null $etc/$nd
says "but one that is masked" "warning hook-inactive" "$nd is masked"
rm $etc/$alias
says "neither calls us: one finding each" "warning hook-inactive warning hook-inactive" "$nm is disabled"
expect_equal "the rails are right all the same" "true true" "$(jq -r '[.rails[].ok] | join(" ")' $work/out)"

rm $tree/usr/bin/ib-hook
says "where it is not installed, nobody expects a hook" ""
