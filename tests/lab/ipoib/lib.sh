# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What every test-ipoib-*.sh starts with: `. "$(dirname "$0")/ipoib/lib.sh"`. All of ../lib.sh, and in one virtual machine
# two hosts: network namespaces A and B, each with IPoIB ports ib0 ib1 on one InfiniBand, as ipoib_lab.c makes them.
#
#   ipoib_start                 boots, loads the module, makes the hosts, without addresses
#   on HOST 'SCRIPT'            runs it there, by sh
#   set_addresses HOST…         172.16.16.1 .2 or 172.16.34.1 .2 on ib0 ib1, which come up
#   ports                       of each host: 2; to be set before ipoib_start
#   nics                        ib0 ib1: what the next three look at
#   pings WHAT HOST ADDRESS…    every address answers, bound to each NIC's address and not bound
#   ask_all HOST ADDRESS…       each of HOST's NICs asks who has these, by ARP
#   expect_answers WHAT HOST PEER ADDRESS=NIC…   and has learned the hardware address of this NIC of PEER for it
#   hook STATUS HOST ARG…       ib-hook there exits with this status; its output is in $out
#   event HOST                  what a hook does there
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

"$tests/ipoib/build"
nics="ib0 ib1"
ports=2

ipoib_start() {
    vm_start lab 0 file="$lab/ipoib/ipoib_lab.ko:/usr/lib/ipoib_lab.ko" file="$(dirname "$IB_HOOK")/hooks/boot:/usr/sbin/event"
    # shellcheck disable=SC2016 # for the guest's shell
    vm lab 'for host in A B; do
        ip netns add $host
        ip netns exec $host sh -c "
            echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
            echo 0 >/proc/sys/net/ipv4/conf/default/rp_filter
            echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
            echo 0 >/proc/sys/net/ipv6/conf/default/router_solicitations
            ip link set lo up"
    done
    '"insmod /usr/lib/ipoib_lab.ko nics=$ports"
}

on() { # HOST SCRIPT
    vm lab "ip netns exec $1 sh -c '${2//\'/\'\\\'\'}'"
}

add_address() { # HOST NIC ADDRESS/LENGTH: of a NIC that is up from then on
    on "$1" "ip address add $3 dev $2 && ip link set $2 up"
}

set_addresses() { # HOST…
    local host
    for host in "$@"; do
        on "$host" "for n in 0 1; do ip address add 172.16.$(host_id "$host").\$((n + 1))/16 dev ib\$n && ip link set ib\$n up; done"
    done
}

lladdr() { # HOST NIC → its 20 bytes
    on "$1" "cat /sys/class/net/$2/address"
}

learned() { # HOST NIC ADDRESS → the 20 bytes that it learned for a peer's address
    on "$1" "ip -o neighbour show to $3 dev $2" | sed -n 's/.*lladdr \([0-9a-f:]*\).*/\1/p'
}

pings() { # WHAT HOST ADDRESS…: from each NIC's address, and from none in particular
    expect_equal "$1" "" "$(on "$2" "for from in any $nics; do
        bound=; [ \$from = any ] || bound=\"-I \$(ip -o -4 address show \$from | sed -n \"1s/.*inet \\([0-9.]*\\).*/\\1/p\")\"
        for to in ${*:3}; do
            ping -q -n -c 1 -W 3 \$bound \$to >/dev/null || echo \$to from \$from
        done
    done")"
}

ask_all() { # HOST ADDRESS…
    on "$1" "ip neighbour flush all
    for nic in $nics; do
        for to in ${*:2}; do
            ping -q -n -c 1 -W 2 -I \$nic \$to >/dev/null
        done
    done; true"
}

# One line "ib0: 172.16.34.2 is ib1" for each NIC of HOST and each address: what it knows is the address of PEER's ib1.
who_answers() { # HOST PEER ADDRESS…
    local nic address known peers neighbours
    peers=$(on "$2" "for nic in $nics; do echo \$(cat /sys/class/net/\$nic/address) \$nic; done")
    neighbours=$(on "$1" "ip neighbour")
    for nic in $nics; do
        for address in "${@:3}"; do
            known=$(sed -n "s/^$address dev $nic lladdr \([0-9a-f:]*\).*/\1/p" <<<"$neighbours")
            echo "$nic: $address is $(sed -n "s/^${known:-nobody} //p" <<<"$peers")"
        done
    done
}

expect_answers() { # WHAT HOST PEER ADDRESS=NIC…: within three seconds
    local nic word got expected="" end=$((SECONDS + 3)) addresses=("${@:4}")
    for nic in $nics; do
        for word in "${@:4}"; do expected+="$nic: ${word%=*} is ${word#*=}"$'\n'; done
    done
    expected=${expected%$'\n'}
    until got=$(who_answers "$2" "$3" "${addresses[@]%=*}") && [ "$got" = "$expected" ]; do
        [ $SECONDS -le $end ] || break
        sleep 0.05
    done
    expect_equal "$1" "$expected" "$got"
}

event() { # HOST
    # shellcheck disable=SC2034 # for the caller
    out=$(on "$1" event)
}

hook() { # STATUS HOST ARG…
    local status=0
    # shellcheck disable=SC2034 # for the caller
    out=$(on "$2" "ib-hook ${*:3}") || status=$?
    expect_equal "$2: ib-hook ${*:3} exits with $1" "$1" "$status"
}
