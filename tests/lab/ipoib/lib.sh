# shellcheck shell=bash
# What every test-ipoib-*.sh starts with: `. "$(dirname "$0")/ipoib/lib.sh"`. All of ../lib.sh, and in one virtual machine
# two hosts: network namespaces A and B, each with IPoIB ports ib0 ib1 on one InfiniBand, as ipoib_lab.c makes them.
#
#   ipoib_start                 boots, loads the module, makes the hosts, without addresses
#   on HOST 'SCRIPT'            runs it there, by sh
#   set_addresses HOST…         172.16.16.1 .2 or 172.16.34.1 .2 on ib0 ib1, which come up
#   pings WHAT HOST ADDRESS…    every address answers, bound to each NIC and not bound
#   ask_all HOST PEER           HOST's NICs learn all of PEER's addresses by ARP
#   who_answers HOST PEER       by which NIC of PEER, for each address and each NIC of HOST
#   hook STATUS HOST ARG…       ib-hook there exits with this status; its output is in $out
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

"$tests/ipoib/build"

ipoib_start() {
    vm_start lab 0 file="$lab/ipoib/ipoib_lab.ko:/usr/lib/ipoib_lab.ko"
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
    insmod /usr/lib/ipoib_lab.ko'
}

on() { # HOST SCRIPT
    vm lab "ip netns exec $1 sh -c '${2//\'/\'\\\'\'}'"
}

address() { # HOST N → the address of its NIC number N
    echo "172.16.$(host_id "$1").$(($2 + 1))"
}

add_address() { # HOST NIC ADDRESS/LENGTH: of a NIC that is up from then on
    on "$1" "ip address add $3 dev $2 && ip link set $2 up"
}

set_addresses() { # HOST…
    local host n
    for host in "$@"; do
        for n in 0 1; do add_address "$host" ib$n "$(address "$host" $n)/16"; done
    done
}

lladdr() { # HOST NIC → its 20 bytes
    on "$1" "cat /sys/class/net/$2/address"
}

learned() { # HOST NIC ADDRESS → the 20 bytes that it learned for a peer's address
    on "$1" "ip -o neighbour show to $3 dev $2" | sed -n 's/.*lladdr \([0-9a-f:]*\).*/\1/p'
}

pings() { # WHAT HOST ADDRESS…
    local to from refused=
    for to in "${@:3}"; do
        for from in "" "-I $(address "$2" 0)" "-I $(address "$2" 1)"; do
            on "$2" "ping -q -n -c 1 -W 3 $from $to >/dev/null" || refused+="$to ${from:-unbound}"$'\n'
        done
    done
    expect_equal "$1" "" "$refused"
}

ask_all() { # HOST PEER
    local nic n
    on "$1" "ip neighbour flush all"
    for nic in ib0 ib1; do
        for n in 0 1; do
            on "$1" "ping -q -n -c 1 -W 2 -I $nic $(address "$2" $n) >/dev/null || true"
        done
    done
}

# "ib0: 172.16.34.2 is ib1": HOST's ib0 has learned the hardware address of PEER's ib1 for it.
who_answers() { # HOST PEER [ADDRESS]…: of all if none is named
    local nic n known address peers=
    [ $# -gt 2 ] || set -- "$@" "$(address "$2" 0)" "$(address "$2" 1)"
    for n in 0 1; do peers+="$(lladdr "$2" ib$n) ib$n"$'\n'; done
    for nic in ib0 ib1; do
        for address in "${@:3}"; do
            known=$(learned "$1" $nic "$address")
            echo "$nic: $address is $(sed -n "s/^${known:-nobody} //p" <<<"$peers")"
        done
    done
}

hook() { # STATUS HOST ARG…
    local status=0
    # shellcheck disable=SC2034 # for the caller
    out=$(on "$2" "ib-hook ${*:3}") || status=$?
    expect_equal "$2: ib-hook ${*:3} exits with $1" "$1" "$status"
}
