#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --family 4 and 6: --show, --check and --plan look at one family; --apply and --undo do both or nothing.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
for i in 0 1; do ip -n B address add "fd00:16::34:$((i + 1))/64" dev "ib$i" nodad; done
before=$(state B)
fresh=$before

commands() { json '.operations[].command'; }
changes() { json '.operations[] | select(.op != "announce") | .command'; } # all the NIC's addresses are announced again
families() { # of the commands that name one
    commands | sed -n 's/^ip -\([46]\) .*/\1/p' | sort -u | xargs
}

# --plan
expect_hook 0 B --plan --json
both=$(commands)
expect_equal "--plan: both families" "4 6" "$(families)"
expect_hook 0 B --plan --family 4 --json
four=$(commands)
expect_equal "--plan --family 4: IPv4 alone" 4 "$(families)"
expect_contains "with the ARP sysctls" arp_ignore "$four"
expect_hook 0 B --plan --family 6 --json
six=$(commands)
expect_equal "--plan --family 6: IPv6 alone" 6 "$(families)"
expect_lacks "without any sysctl of IPv4" net/ipv4 "$six"
expect_equal "together they are the whole" "$(sort <<<"$both")" "$(sort <<<"$four
$six")"
expect_hook 0 B --plan --family=6
expect_contains "in words" "ip -6 rule add" "$out"
expect_lacks "in words, and no other" "ip -4" "$out"

# --check: each sees its own only
expect_hook 1 B --check --family 4
expect_hook 1 B --check --family 6
expect_hook 0 B --apply
applied=$(state B)
for family in 4 6; do expect_hook 0 B --check --family $family; done
ip -n B -6 rule del priority 1941 from fd00:16::34:2
expect_hook 1 B --check
expect_hook 0 B --check --family 4 --json
expect_equal "IPv4: nothing is wrong" "true true" "$(json '.rails[].ok' | xargs)"
expect_hook 1 B --check --family 6 --json
expect_contains "IPv6: the rule" "fd00:16::34:2" "$(json '.findings[] | select(.code == "rule-missing") | .fix')"
expect_hook 0 B --plan --family 4 --json
expect_equal "IPv4: nothing to do" "" "$(changes)"
expect_hook 0 B --plan --family 6 --json
expect_equal "IPv6: the rule and its announcement at most" 6 "$(families)"
expect_hook 0 B --apply
expect_equal "repaired" "$applied" "$(state B)"
ip -n B rule del priority 1941 from 172.16.34.2
sysctl_set B ib0 arp_announce 0
expect_hook 0 B --check --family 6
expect_hook 1 B --check --family 4
expect_hook 0 B --plan --family 6 --json
expect_equal "IPv6: nothing to do" "" "$(changes)"
expect_hook 0 B --apply
expect_equal "repaired, too" "$applied" "$(state B)"

# --check --json: the addresses of a family
for family in 4 6; do
    expect_hook 0 B --check --family $family --json
    expect_equal "--family $family: one object" "object true" "$(json '"\(type) \(.ok)"')"
    expect_equal "--family $family: both rails" "ib0 ib1" "$(json '.rails[].iface' | xargs)"
done

# --show
for family in 4 6; do
    expect_hook 0 B --show --family $family
    expect_contains "--show --family $family" ib1 "$out"
done
expect_equal "looking changes nothing" "$applied" "$(state B)"

# What changes things does both, and what is no family is none.
for action in --apply --undo; do
    for family in 4 6; do
        expect_hook 2 B $action --family $family
        expect_contains "$action --family $family" "--family" "$err"
        expect_hook 2 B --family $family $action --json
        expect_equal "$action --family $family --json" "2 object" "$(json '"\(.error.exit) \(type)"')"
    done
done
for wrong in 5 46 "4 6" ipv4 inet "" 4x -4 04; do
    expect_hook 2 B --plan --family "$wrong"
done
expect_hook 2 B --plan --family
expect_hook 2 B --plan --fam 4
expect_equal "none of which changes anything" "$applied" "$(state B)"
expect_hook 0 B --undo
expect_equal "the state after --undo" "$fresh" "$(state B)"
