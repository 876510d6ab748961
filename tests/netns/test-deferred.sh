#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Somebody routes these NICs already, with tables of other numbers: they are left alone, and --check says so without
# calling it a fault.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B

for nic in ib0 ib1; do sysctl_set B $nic arp_ignore 1 && sysctl_set B $nic arp_announce 2; done

expect_deferred() { # WHAT [STATUS]: of --check, 0
    local before
    before=$(state B)
    expect_hook 0 B --apply --json
    expect_equal "$1: --apply changes nothing" false "$(json .changed)"
    expect_equal "$1: the state" "$before" "$(state B)"
    expect_hook "${2:-0}" B --check --json
    expect_equal "$1: --check says deferred" "ib0 info
ib1 info" "$(json '.findings[] | select(.code == "deferred") | "\(.ifaces | join("+")) \(.severity)"' | sort)"
}

# The documents' script with its own numbers.
for i in 0 1; do
    ip -n B route del 172.16.0.0/16 dev ib$i
    ip -n B route add 172.16.0.0/16 dev ib$i proto kernel scope link src 172.16.34.$((i + 1)) table $((100 + i))
    ip -n B rule add from 172.16.34.$((i + 1)) table $((100 + i))
done
expect_deferred "a script with tables 100 and 101"

# The same with main kept.
for i in 0 1; do
    ip -n B route append 172.16.0.0/16 dev ib$i proto kernel scope link src 172.16.34.$((i + 1))
done
expect_deferred "the same with main kept"

# The connected route in another table only, and no rule: a network manager's route-table setting.
for i in 0 1; do
    ip -n B rule del from 172.16.34.$((i + 1)) table $((100 + i))
    ip -n B route del 172.16.0.0/16 dev ib$i table main
done
expect_deferred "connected routes in tables 100 and 101, which no rule leads to" 1
expect_equal "they reach nobody" "routed-other-nic" "$(json '[.findings[] | select(.severity == "error") | .code] | unique[]')"

# When they are gone, the rails are ours; rules for one NIC's or one user's packets alone are nobody's routing.
for i in 0 1; do
    ip -n B route del 172.16.0.0/16 dev ib$i table $((100 + i))
    ip -n B route append 172.16.0.0/16 dev ib$i proto kernel scope link src 172.16.34.$((i + 1))
    ip -n B route add 172.16.0.0/16 dev ib$i table $((100 + i))
done
ip -n B rule add from 172.16.34.1 oif ib0 table 100
ip -n B rule add from 172.16.34.2 uidrange 0-0 table 101
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
