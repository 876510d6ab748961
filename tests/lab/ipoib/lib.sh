# shellcheck shell=bash
# What every test-ipoib-*.sh starts with: `. "$(dirname "$0")/ipoib/lib.sh"`. All of ../lib.sh, and in one virtual machine
#
#   two hosts     network namespaces A and B, each with IPoIB ports ib0 ib1 on one InfiniBand, as ipoib_lab.c makes them
#   on HOST 'SCRIPT'            runs it there, by sh
#   set_addresses HOST          172.16.16.1 .2 or 172.16.34.1 .2 on ib0 ib1, which come up
#   lladdr HOST NIC             its 20 bytes
#   learned HOST NIC ADDRESS    the 20 bytes that this host's NIC learned for a peer's address
#   pings HOST ADDRESS [NIC]    bound to the NIC's address, or not bound
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

"$tests/ipoib/build"

# ipoib_start [OPTION]…: the virtual machine, the module, the hosts, without addresses
ipoib_start() {
    vm_start lab 0 file="$lab/ipoib/ipoib_lab.ko:/usr/lib/ipoib_lab.ko" "$@"
    vm lab '
        for host in A B; do
            ip netns add $host
            ip netns exec $host sh -c "
                echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
                echo 0 >/proc/sys/net/ipv4/conf/default/rp_filter
                echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
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

set_addresses() { # HOST…
    local host n
    for host in "$@"; do
        for n in 0 1; do
            on "$host" "ip address add $(address "$host" $n)/16 dev ib$n && ip link set ib$n up"
        done
    done
}

lladdr() { # HOST NIC
    on "$1" "cat /sys/class/net/$2/address"
}

learned() { # HOST NIC ADDRESS
    on "$1" "ip -o neighbour show to $3 dev $2" | sed -n 's/.*lladdr \([0-9a-f:]*\).*/\1/p'
}

pings() { # HOST ADDRESS [NIC]
    on "$1" "ping -q -n -c 1 -W 3 ${3:+-I $(address "$1" "${3#ib}")} $2 >/dev/null"
}

# Whose NIC each address was learned with, of what HOST's NICs learned of PEER's: one line per pair.
who_answers() { # HOST PEER
    local nic n known mine=
    for n in 0 1; do mine+="$(lladdr "$2" ib$n) ib$n"$'\n'; done
    for nic in ib0 ib1; do
        for n in 0 1; do
            known=$(learned "$1" $nic "$(address "$2" $n)")
            echo "$nic: $(address "$2" $n) is $(sed -n "s/^${known:-nobody} //p" <<<"$mine")"
        done
    done
}

# Every address of PEER, from every NIC of HOST: what ARP learns is then there to see.
ask_all() { # HOST PEER
    local nic n
    on "$1" "ip neighbour flush all"
    for nic in ib0 ib1; do
        for n in 0 1; do
            on "$1" "ping -q -n -c 1 -W 2 -I $nic $(address "$2" $n) >/dev/null || true"
        done
    done
}
