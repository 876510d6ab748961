# shellcheck shell=bash disable=SC2154 # what netns/lib.sh offers
# SPDX-License-Identifier: GPL-2.0-or-later
# A cluster: `. "$(dirname "$0")/nodes.sh"` after netns/lib.sh. n1, n2, n3 are hosts with two rails each and a NIC for management;
# the control host has that one alone. Programs that would start as services where they are installed are laid over /usr for this
# test, and /etc is its own.
[ "$rooted" = yes ] || skip "laying files over /usr needs the real root"
UNPACKED=$IBH_BUILD/fleet
[ -e "$UNPACKED/.complete" ] || skip "there are no services: make $UNPACKED/.complete"

declare -A NODES=([n1]=A [n2]=B [n3]=C)

make_nodes() {
    local node program
    make_hosts 2 A B C
    new_host control
    ip -n wire link add br1 type bridge forward_delay 0 mcast_snooping 0
    ip -n wire link set br1 up
    manage control 9
    for node in "${!NODES[@]}"; do manage "${NODES[$node]}" "${node#n}"; done
    lay_over /usr "$UNPACKED/usr"
    lay_over /etc "$UNPACKED/etc"
    for program in /usr/sbin/*-wlm; do ln -sf "$program" "${program%-wlm}"; done # what alternatives would do
    install -m 0755 "$IB_HOOK" /usr/bin/ib-hook
    mkdir -p /etc/ib-hook
    printf '[interface ib*]\nmanage=yes\n' >/etc/ib-hook/ib-hook.conf
    printf '10.9.0.%s\n' '1 n1' '2 n2' '3 n3' '9 control' >>/etc/hosts
    for node in A B C; do on $node ib-hook --apply >/dev/null; done
}

manage() { # HOST N: its NIC for management
    ip -n wire link add "$1.m" type veth peer name eth0 netns "$1"
    ip -n wire link set "$1.m" master br1 up
    ip -n "$1" address add "10.9.0.$2/24" dev eth0
    ip -n "$1" link set eth0 up
}

# shellcheck disable=SC2016 # for the inner shell
# named HOST NAME COMMAND…: for what asks for the name of its host; in the background, its process id is $!
named() {
    exec nsenter --net="/run/netns/$1" unshare --uts sh -c 'hostname "$1"; shift; exec "$@"' sh "${@:2}"
}

at() { # NODE COMMAND…
    on "${NODES[$1]}" "${@:2}"
}
