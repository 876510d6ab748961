#!/bin/bash
# An announcement with a 20-byte hardware address corrects a peer that holds another NIC's for it, on all of the peer's
# NICs: for a primary address the kernel makes it, for secondary addresses and VIPs ib-hook's packet socket.
# --undo announces each address from the NIC that main uses.
# shellcheck source-path=SCRIPTDIR source=ipoib/lib.sh
. "$(dirname "$0")/ipoib/lib.sh"

addresses="172.16.34.2 172.16.34.22 172.16.99.9"

# Stale entries are not asked about until somebody uses them: what changes them is an announcement.
hold() { # NIC: A takes it for the one with all of these addresses
    local address nic lladdr
    lladdr=$(lladdr B "$1")
    for address in $addresses; do
        for nic in ib0 ib1; do
            on A "ip neighbour replace $address lladdr $lladdr dev $nic nud stale"
        done
    done
}

all_are() { # NIC
    local address nic
    for nic in ib0 ib1; do
        for address in $addresses; do echo "$nic: $address is $1"; done
    done
}

ipoib_start
set_addresses A B
add_address B ib1 172.16.34.22/16
add_address B ib1 172.16.99.9/32

hold ib0
# shellcheck disable=SC2086 # a list of words
expect_equal "A holds ib0 for ib1's addresses" "$(all_are ib0)" "$(who_answers A B $addresses)"
hook 0 B --apply
# shellcheck disable=SC2086
expect_equal "A has learned ib1 for all of them" "$(all_are ib1)" "$(who_answers A B $addresses)"
expect_equal "and asked nobody" "" "$(on A 'ip neighbour' | grep -v STALE || true)"

hook 0 B --undo
# shellcheck disable=SC2086
expect_equal "after --undo A has learned ib0, which main uses" "$(all_are ib0)" "$(who_answers A B $addresses)"
