#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --show and --check say who configures each NIC, and by what, from the files that the managers leave in a captured
# tree; a file that is no plain file, is too long, or speaks of another interface is no answer.
. "$(dirname "$0")/lib.sh"

make_hosts 3 B
tree=$work/tree
mkdir -p $tree
ln -s /run/sys/B $tree/sys
number() { ip -n B -json link show "$1" | jq '.[0].ifindex'; }
zero=$(number ib0) one=$(number ib1)

# as WHAT EXPECTED: what JSON and the table say of ib0 and ib1
as() {
    local line text
    hook B --sysfs $tree/sys --check --json >$work/out || true
    expect_equal "$1" "$2" "$(jq -r '.rails[:2][] | "\(.iface) \(.manager) \(.connection)"' $work/out)"
    text=$(hook B --sysfs $tree/sys --show --verbose)
    while read -r line; do
        line=$(sed 's/ null null$/ no manager known/; t; s/^\(ib.\) \(.*\) null$/\1 \2/; s/^\(ib.\) \([^ ]*\) \([^ ].*\)$/\1 \2 (\3)/' <<<"$line")
        grep -F "${line%% *}: " <<<"$text" | grep -qF "mlx5_${line:2:1}/1, ${line#* }, table" || fail "$1: --show: expected ${line}" "$text"
    done <<<"$2"
    ok "$1: --show says it, too"
}

write() { # PATH TEXT: a file in the tree
    mkdir -p "$tree/$(dirname "$1")"
    printf '%s\n' "$2" >"$tree/$1"
}

clear() { rm -rf "${tree:?}"/{run,etc,var}; }

networkd() { # IFINDEX STATE [FILE]
    write "run/systemd/netif/links/$1" "# This is private data. Do not parse.
ADMIN_STATE=$2
OPER_STATE=routable
${3:+NETWORK_FILE=$3}
DNS="
}

as "nothing there" "ib0 null null
ib1 null null"

networkd "$zero" configured /etc/systemd/network/20-ib0.network
networkd "$one" configuring /run/systemd/network/10-netplan-ib1.network
as "networkd, netplan" "ib0 systemd-networkd 20-ib0.network
ib1 netplan ib1"

networkd "$zero" unmanaged /etc/systemd/network/20-ib0.network
networkd "$one" pending
as "networkd leaves it alone, or has not decided" "ib0 null null
ib1 null null"

clear
uuid=3e2b4f5c-9a51-4a0c-8f57-7a6d6b1e9a01
write "run/NetworkManager/devices/$zero" "[device]
managed=true
connection-uuid=$uuid"
write "run/NetworkManager/devices/$one" "[device]
managed=true
connection-uuid=../../etc/passwd"
as "NetworkManager, by the number of the connection" "ib0 NetworkManager $uuid
ib1 NetworkManager null"

write "run/NetworkManager/devices/$one" "[device]
managed=false"
write etc/sysconfig/network-scripts/ifcfg-ib0 "DEVICE=ib0"
write etc/sysconfig/network-scripts/ifcfg-ib1 "DEVICE=ib1
NM_CONTROLLED=no"
as "an ifcfg file without the scripts is nobody's" "ib0 NetworkManager $uuid
ib1 null null"
write etc/sysconfig/network-scripts/ifup-post "#!/bin/bash"
as "network-scripts, beside NetworkManager" "ib0 NetworkManager $uuid
ib1 network-scripts ifcfg-ib1"

clear
write run/network/ifstate "lo=lo
ib01=ib01
ib0=ib0
xib1=xib1"
write run/ifstate "lo=lo 1 explicit
ib1=work 1 explicit"
write "run/NetworkManager/devices/$zero" "[device]
managed=true
connection-uuid=$uuid"
as "ifupdown, ifupdown-ng, and NetworkManager watches" "ib0 ifupdown ib0
ib1 ifupdown-ng work"

clear
write var/tmp/network/ifstatenew ""
write run/network/ifstatelock ""
printf '\x80\x04\x95\x8c\x04name\x94\x8c\x03ib0\x94\x8c\x04ib1x\x94.' >$tree/var/tmp/network/ifstatenew
as "ifupdown2" "ib0 ifupdown2 ib0
ib1 null null"
printf '\x80\x02(X\x04\x00\x00\x00nameq\x03X\x03\x00\x00\x00ib1q\x04.' >$tree/var/tmp/network/ifstatenew
as "ifupdown2 with an older Python" "ib0 null null
ib1 ifupdown2 ib1"
rm $tree/run/network/ifstatelock
as "ifupdown2, before the last reboot" "ib0 null null
ib1 null null"
write run/network/ifstatelock ""
mv $tree/var/tmp/network $tree/var/tmp/of-somebody
ln -s of-somebody $tree/var/tmp/network
as "ifupdown2, its directory is a link" "ib0 null null
ib1 null null"
rm $tree/var/tmp/network
mv $tree/var/tmp/of-somebody $tree/var/tmp/network
chmod 0777 $tree/var/tmp/network
as "ifupdown2, its directory is everybody's" "ib0 null null
ib1 null null"
chmod 0755 $tree/var/tmp/network
chmod 0666 $tree/var/tmp/network/ifstatenew
as "what anybody could have written" "ib0 null null
ib1 null null"

# What is there but is no answer, and must not hold it up.
clear
mkdir -p $tree/run/systemd/netif/links $tree/run/NetworkManager/devices
networkd 0 configured /etc/systemd/network/20-ib0.network
ln -s 0 $tree/run/systemd/netif/links/"$zero"
mkfifo $tree/run/systemd/netif/links/"$one"
mkdir $tree/run/NetworkManager/devices/"$zero"
{
    printf '[device]\nmanaged=true\n'
    head -c 2000000 /dev/zero | tr '\0' '#'
} >$tree/run/NetworkManager/devices/"$one"
as "a link, a pipe, a directory, two megabytes" "ib0 null null
ib1 null null"

# A name that would move a terminal.
rm -r $tree/run
networkd "$zero" configured "/etc/systemd/network/$(printf 'a\033[2Jb').network"
expect_lacks "no terminal sees what is not printable" $'\033' "$(hook B --sysfs $tree/sys --show --verbose)"
expect_equal "JSON has it whole" $'a\033[2Jb.network' \
    "$(hook B --sysfs $tree/sys --show --json | jq -r '.rails[0].connection')"

# The system's own files speak of the namespace of process 1: of the same number there, not here.
clear
mkdir -p /run/systemd/netif/links
[ "$(readlink /proc/1/ns/net)" = "$(readlink /proc/self/ns/net)" ] || skip "process 1 is in another network namespace"
ip link add here type veth peer name there
here=$(jq -r '.[0].ifindex' <<<"$(ip -json link show here)")
printf 'ADMIN_STATE=configured\nNETWORK_FILE=/etc/systemd/network/here.network\n' >/run/systemd/netif/links/"$here"
cp /run/systemd/netif/links/"$here" /run/systemd/netif/links/"$zero"
file=$(config "[interface *]
manage=yes")
who() { jq -r '(.rails + .others)[] | "\(.iface) \(.manager)"'; }
expect_contains "in the namespace of process 1" "here systemd-networkd" \
    "$("$IB_HOOK" --config "$file" --show --json | who)"
expect_contains "in another one" "ib0 null" "$(on B "$IB_HOOK" --config "$file" --show --json | who)"
