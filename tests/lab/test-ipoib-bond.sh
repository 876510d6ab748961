#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two bonds (active-backup) of two IPoIB NICs each, in one subnet: the bonds are rails, their ports are not. A bond has the
# hardware address of its active port: after a failover peers learn the other one's, and nothing is left to do.
# shellcheck source-path=SCRIPTDIR source=ipoib/lib.sh
. "$(dirname "$0")/ipoib/lib.sh"

both_learned() { # WHAT: A has learned the hardware address of each bond for its address, within three seconds
    local expected got end=$((SECONDS + 3))
    expected="$(lladdr B bond0) $(lladdr B bond1)"
    until got="$(learned A ib0 172.16.34.1) $(learned A ib0 172.16.34.2)" && [ "$got" = "$expected" ]; do
        [ $SECONDS -le $end ] || break
        sleep 0.05
    done
    expect_equal "$1" "$expected" "$got"
}

# shellcheck disable=SC2034 # for ipoib_start
ports=4
ipoib_start
vm lab 'modprobe bonding max_bonds=0'
set_addresses A
# shellcheck disable=SC2016 # for the guest's shell
on B 'set -e
for n in 0 1; do
    ip link add bond$n type bond mode active-backup miimon 50
    ip link set ib$((2 * n)) master bond$n
    ip link set ib$((2 * n + 1)) master bond$n
    ip address add 172.16.34.$((n + 1))/16 dev bond$n
    ip link set bond$n up
done'
hook 0 B --apply
hook 0 B --check --json
expect_equal "the bonds are rails of type infiniband" "bond0 infiniband 941
bond1 infiniband 942" "$(jq -r '.rails[] | "\(.iface) \(.type) \(.table)"' <<<"$out")"
ask_all A 172.16.34.1 172.16.34.2
both_learned "each is learned with its own hardware address"
pings "both answer" A 172.16.34.1 172.16.34.2

on B 'ip link set ib2 down'
both_learned "after a failover, with that of the port which is active now"
pings "both answer after a failover" A 172.16.34.1 172.16.34.2
hook 0 B --check
hook 0 B --apply --json
expect_equal "there was nothing to do" false "$(jq .changed <<<"$out")"
