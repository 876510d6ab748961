#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --render iproute2: the script leads to the very state that --apply leads to, from nothing, from its own end, and from
# --apply's; and every look-up of the kernel says the same.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lookups.sh"

needs sysctl

render() { # ARGUMENT…: into $work/script
    expect_hook 0 B --render iproute2 "$@"
    printf '%s\n' "$out" >$work/script
    sh -n $work/script || fail "a shell can read it" "$out"
}

check_script() { # WHAT ARGUMENT…: the end state after the script is that after --apply
    local what=$1 before routes answers values
    shift
    before=$(state B)
    render "$@"
    expect_equal "$what: it changes nothing itself" "$before" "$(state B)"
    cp $work/script $work/first
    expect_hook 0 B --apply "$@"
    routes=$(state B) answers=$(lookups B) values=$(sysctls B)
    expect_differs "$what: --apply changes something" "$before" "$routes"
    render "$@"
    expect_equal "$what: rendered once it is so, it is the same" "$(<$work/first)" "$(<$work/script)"
    on B sh $work/script >$work/said 2>&1 || fail "$what: it runs on what --apply did" "$(<$work/said)"
    expect_equal "$what: and leaves it" "$routes" "$(state B)"
    expect_hook 0 B --undo
    expect_equal "$what: undone" "$before" "$(state B)"
    for run in first second; do
        on B sh $work/script >$work/said 2>&1 || fail "$what: the $run run" "$(<$work/said)"
        expect_equal "$what: it says nothing, $run run" "" "$(<$work/said)"
        expect_equal "$what: rules and routes, $run run" "$routes" "$(state B)"
        expect_equal "$what: look-ups, $run run" "$answers" "$(lookups B)"
        expect_equal "$what: sysctls, $run run" "$values" "$(sysctls B)"
    done
    expect_hook 0 B --plan --json "$@"
    expect_equal "$what: nothing is left to do" false "$(json .changed)"
    expect_hook 0 B --undo
}

RP_FILTER=1 make_hosts 2
check_script "two rails"

# A second address, a bridge inside the subnet and one outside, a gateway, IPv6.
ip -n B address add 172.16.34.9/16 dev ib0
add_nic B mgmt 9 192.0.2.34/24
ip -n B link add inside type bridge
ip -n B address add 172.16.50.1/24 dev inside
ip -n B link add docker0 type bridge
ip -n B address add 172.17.0.1/24 dev docker0
ip -n B link set inside up
ip -n B link set docker0 up
ip -n B address add fd00:34::1/64 dev ib0 nodad
ip -n B address add fd00:34::2/64 dev ib1 nodad
ip -n B route add default via 172.16.0.254 dev ib0
ip -n B route add 198.51.100.0/24 via 172.16.0.254 dev ib1
ip -n B -6 route add default via fd00:34::fe dev ib1
wait_until 5 settled B
check_script "gateways and bridges"

check_script "arp=strict" --config "$(config "[defaults]
arp=strict")"
check_script "main=spread" --config "$(config "[defaults]
main=spread")"
ip -n B route del default via 172.16.0.254 dev ib0
ip -n B route del 198.51.100.0/24
check_script "main=remove" --config "$(config "[defaults]
main=remove")"

of_ib1() { # what of a state is its own
    grep -e "lookup 2\?942" -e "table 2\?942" -e "from \(172.16.34.2\|fd00:34::2\) " | tidy
}

ours() { # and ARP
    grep -e "$MARK" -e '^ib[01]/' | tidy
}

# A NIC that is down keeps nobody else from being right: what fails is said, and all else is as after --apply.
for nic in ib0 ib1; do
    for key in $ARP_KEYS; do sysctl_set B $nic "$key" 0; done # the scripts' end: --undo did not know of them
    sysctl_set B $nic rp_filter 1
done
ip -n B address add fd00:34::9/64 dev ib0 nodad
wait_until 5 settled B
expect_hook 0 B --apply
whole=$(state B)
expect_at_least "ib1 has rules and routes of both families" 8 "$(of_ib1 <<<"$whole" | wc -l)"
expect_hook 0 B --undo
render
ip -n B link set ib0 down
for run in first second; do
    status=0
    on B sh $work/script >$work/said 2>&1 || status=$?
    expect_equal "ib0 is down, $run run: exit status" 1 $status
    expect_equal "ib1 has all its rules and routes, $run run" "$(of_ib1 <<<"$whole")" "$(state B | of_ib1)"
    expect_equal "ib0 is left at what failed, once for each family" \
        "script: ib0/6: ip -6 route replace fd00:34::fe/128 dev ib0
script: ib0/4: ip -4 route replace 172.16.0.0/16 dev ib0
script: not done: ib0/6 ib0/4 (see to that, then run it again); all else is" \
        "$(sed "s,^$work/,,; s/ table .*//" $work/said)"
    expect_contains "with the kernel's words" "Device for nexthop is not up" "$(<$work/said)"
done
answers=$(lookups B) values=$(sysctls B | grep -v /ib0/)
expect_hook 0 B --undo
expect_hook 0 B --apply
expect_equal "every look-up is as after --apply without ib0" "$(lookups B)" "$answers"
expect_equal "and every sysctl but those of ib0" "$(sysctls B | grep -v /ib0/)" "$values"
expect_hook 0 B --undo
ip -n B link set ib0 up
for address in 1 9; do ip -n B address replace fd00:34::$address/64 dev ib0 nodad; done
wait_until 5 settled B
on B sh $work/script >$work/said 2>&1 || fail "run again when ib0 is up" "$(<$work/said)"
expect_equal "run again when ib0 is up: it says nothing" "" "$(<$work/said)"
expect_equal "run again when ib0 is up: all is there" "$(ours <<<"$whole")" "$(state B | ours)"
expect_hook 0 B --undo

# Only some of it.
render --iface ib1
expect_lacks "--iface ib1: nothing of ib0" "ib0" "$(grep -v '^#' $work/script)"
expect_contains "but of ib1" "dev ib1" "$(<$work/script)"
render --family 6
expect_lacks "--family 6: no IPv4" "ip -4" "$(<$work/script)"
expect_lacks "and no ARP" "sysctl -qw" "$(<$work/script)"

# Names are anybody's.
ip -n B link set ib1 down
ip -n B link set ib1 name "i;\$x'b"
ip -n B link set "i;\$x'b" up
render --config "$(config "[interface i*]
manage=yes")"
on B sh $work/script >$work/said 2>&1 || fail "a name with quotes and dollars" "$(<$work/said)"
expect_contains "a name with quotes and dollars" "dev i;\$x'b" "$(ip -n B route show table 942)$(ip -n B route show table 941)"
