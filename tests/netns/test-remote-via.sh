#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# remote=PREFIX via GATEWAY: what a rail reaches by a router of its own subnet, without a default route by it. Two rails in one
# subnet, two routers there, the same networks behind both: each rail's packets go by the router that its section names.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
journal_start
FAR="10.1.1.1 10.2.1.1 192.0.2.1"

# router HOST N: 172.16.0.N, fe80::N; behind it all that is far, which it answers for
router() {
    local address
    new_host "$1"
    add_nic "$1" e0 "1$2" "172.16.0.$2/16" "fd00:16::$2/64" "fe80::$2/64"
    for address in $FAR fd00:2::1; do ip -n "$1" address add "$address" dev lo; done
}
router first 1
router second 2
new_host office # main's default route
add_nic office e0 19 10.20.0.1/24
for address in $FAR; do ip -n office address add "$address" dev lo; done
ip -n office route add 172.16.34.0/24 via 10.20.0.34
add_nic B eth0 9 10.20.0.34/24
ip -n B route add default via 10.20.0.1 dev eth0
for n in 0 1; do ip -n B address add "fd00:16::34:$((n + 1))/64" dev ib$n nodad; done
for nic in ib0 ib1; do sysctl_set B $nic rp_filter 2; done # replies of the office come in through the rails' wire or by eth0
wait_until 5 settled B

# shellcheck disable=SC2016 # for awk
asked() { # HOST → echo requests so far
    on "$1" awk '/^Icmp: [0-9]/ { n += $10 } /^Icmp6InEchos / { n += $2 } END { print n }' /proc/net/snmp /proc/net/snmp6
}

# expect_router WHAT ROUTER FROM TO: all echoes arrive there
expect_router() {
    local before after
    before=$(asked "$2")
    on B ping -q -c 3 -i 0.05 -W 1 -I "$3" "$4" >/dev/null 2>&1 || true
    after=$(asked "$2")
    expect_equal "$1: what $3 sends to $4 gets to $2" 3 $((after - before))
}

way() { # FROM TO
    ip -n B route get "$2" from "$1" 2>&1 | sed -nE 's/.* from [^ ]+ (via [^ ]+ )?dev ([^ ]+) .*/\1\2/p'
}

apply() { # CONFIGURATION
    system_config "$1"
    expect_hook 0 B --apply
    expect_hook 0 B --check
    expect_hook 0 B --plan --json
    expect_equal "a second run has nothing to do" false "$(json .changed)"
}

before=$(state B)
for n in 1 2; do expect_router "without a file, as main says" office 172.16.34.$n 10.1.1.1; done

apply "[interface ib0]
remote=10.0.0.0/8 via 172.16.0.1
[interface ib1]
remote=10.0.0.0/8 via 172.16.0.2, fd00:2::/32 via fe80::2"
expect_router "each by its own" first 172.16.34.1 10.1.1.1
expect_router "each by its own" second 172.16.34.2 10.1.1.1
expect_router "a gateway of the link" second fd00:16::34:2 fd00:2::1
expect_router "beyond the prefix, as main says" office 172.16.34.1 192.0.2.1
expect_equal "it lies in T" "10.0.0.0/8 via 172.16.0.1 dev ib0" \
    "$(ip -n B route show 10.0.0.0/8 table 941 metric $MARK | sed 's/ proto.*//; s/ $//')"
for table in 2941 2942; do
    expect_equal "and makes no default route" "" \
        "$(for family in 4 6; do ip -n B -$family route show table $table 2>/dev/null || true; done)"
done

# What main has more exactly inside it stays so, by whichever NIC; also what is between the two lengths of T.
ip -n B link add docker0 type bridge
ip -n B address add 10.88.0.1/16 dev docker0
ip -n B link set docker0 up
ip -n B route add 10.2.0.0/16 via 10.20.0.1 dev eth0
expect_equal "a bridge inside it is main's" docker0 "$(way 172.16.34.1 10.88.0.7)"
expect_router "a longer prefix is main's" office 172.16.34.2 10.2.1.1
expect_hook 0 B --check
ip -n B route del 10.2.0.0/16
ip -n B link del docker0

apply "[interface ib*]
remote=10.1.0.0/16 via 172.16.0.1, 10.2.0.0/16 via 172.16.0.2, 192.0.2.0/24 via 172.16.0.1"
for n in 1 2; do
    expect_router "several" first 172.16.34.$n 10.1.1.1
    expect_router "several" second 172.16.34.$n 10.2.1.1
    expect_router "several" first 172.16.34.$n 192.0.2.1
done

# Beside a gateway of its own, which is for the rest; gateway=none leaves the rest to main.
apply "[interface ib*]
gateway=172.16.0.1
remote=10.2.0.0/16 via 172.16.0.2, 192.0.2.0/24"
for n in 1 2; do
    expect_router "beside gateway=" second 172.16.34.$n 10.2.1.1
    expect_router "beside gateway=, a prefix without a gateway" first 172.16.34.$n 192.0.2.1
    expect_router "beside gateway=" first 172.16.34.$n 10.1.1.1
done
apply "[interface ib*]
gateway=none
remote=10.2.0.0/16 via 172.16.0.2"
expect_router "beside gateway=none" second 172.16.34.1 10.2.1.1
expect_router "beside gateway=none" office 172.16.34.1 10.1.1.1

# It changes make-before-break, and goes with its line.
apply "[interface ib*]
remote=10.2.0.0/16 via 172.16.0.1"
expect_router "another gateway" first 172.16.34.1 10.2.1.1
apply ""
expect_equal "without the line" "" "$(state B | grep -E "^10\\..* metric $MARK" || true)"
expect_hook 0 B --undo
expect_equal "--undo: as before" "$before" "$(state B)"
hook B --apply >$work/said 2>&1

# ---- rails with a subnet each: siblings' subnets inside it go by the own gateway ----

ip -n B address flush dev ib1 scope global
system_config "[interface ib*]
manage=yes
remote=10.0.0.0/8 via 172.16.0.1"
expect_hook 0 B --apply # ib1's address has yet to come: which gateway it can have is not known
expect_equal "a rail that has its address" "via 172.16.0.1 ib0" "$(way 172.16.34.1 10.1.1.1)"
ip -n B address add 10.34.0.2/24 dev ib1
wait_until 5 settled B
system_config "[interface ib*]
manage=yes"
expect_hook 0 B --apply --iface ib1 # by name: it shall have no IPv6
apply "[interface ib*]
manage=yes
[interface ib0]
remote=10.0.0.0/8 via 172.16.0.1
[interface ib1]
remote=172.16.0.0/12 via 10.34.0.1"
expect_equal "another rail's subnet by the own gateway" "via 172.16.0.1 ib0" "$(way 172.16.34.1 10.34.0.77)"
expect_equal "both ways" "via 10.34.0.1 ib1" "$(way 10.34.0.2 172.16.99.1)"

# ---- what it cannot be: exit 2, with file and line, and nothing changes; a hook goes on without it, its rails stay ----

refused() { # WHAT LINE CONFIGURATION [WORD]
    local action before line
    before=$(state B)
    system_config "$3
[interface ib*]
manage=yes"
    for action in --plan --apply --check; do
        expect_hook 2 B $action
        expect_contains "$1: $action names the line" "/etc/ib-hook/ib-hook.conf:$2: " "$err"
        expect_contains "$1: and what is wrong" "${4:-remote}" "$err"
    done
    expect_equal "$1: nothing changes" "$before" "$(state B)"
    manager_calls B IFACE=ib0 MODE=start PHASE=post-up "$HOOKS/ifupdown"
    for line in "from 172.16.34.1 to 172.16.0.0/16 lookup 941" "from 10.34.0.2 to 10.34.0.0/24 lookup 942"; do
        expect_contains "$1: after a hook the rails stand" "1941:	$line " "$(state B)"
    done
}

refused "a gateway in no subnet of the NIC" 3 "# a comment
[interface ib0]
remote=10.0.0.0/8 via 192.168.7.1" 192.168.7.1
refused "a gateway of another rail's subnet" 2 "[interface ib0]
remote=172.31.0.0/16 via 10.34.0.1" 10.34.0.1
refused "a gateway of the other family" 2 "[interface ib0]
remote=fd00:2::/32 via 172.16.0.1"
refused "no gateway behind via" 2 "[interface ib0]
remote=10.0.0.0/8 via"
refused "another word than via" 2 "[interface ib0]
remote=10.0.0.0/8 by 172.16.0.1"
refused "no address" 2 "[interface ib0]
remote=10.0.0.0/8 via router"
refused "a default route" 2 "[interface ib0]
remote=0.0.0.0/0 via 172.16.0.1" gateway=
refused "a prefix that needs a gateway, beside gateway=none" 3 "[interface ib0]
gateway=none
remote=10.0.0.0/8"
refused "one of several that needs it" 2 "[interface ib0]
remote=10.1.0.0/16 via 172.16.0.1, 10.2.0.0/16
gateway=none"

# Without a gateway of its own it is found, not refused: a lease may bring one.
system_config "[interface ib0]
remote=10.0.0.0/8
[interface ib*]
manage=yes"
expect_hook 0 B --apply
expect_hook 1 B --check --json
expect_contains "a prefix without any gateway" "warning gateway-missing ib0" "$(codes)"
