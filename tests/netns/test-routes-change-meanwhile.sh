#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Another program deletes IPv6 routes and adds one while ours are being read. The kernel hands out many routes in several
# datagrams, goes on where it was by a number, and does not say that something changed: so routes that follow do not come. They
# are there.
. "$(dirname "$0")/lib.sh"
needs strace

# Six rails as NetworkManager and networkd configure IPv6: the address has no route of its own, the manager adds that.
new_host B
make_wire
for n in 0 1 2 3 4 5; do
    add_nic B ib$n $n "172.16.34.$((n + 1))/16"
    ip -n B address add fd00:16::34:$((n + 1))/64 dev ib$n nodad noprefixroute
    ip -n B route add fd00:16::/64 dev ib$n proto kernel metric $((256 + n))
done
rdma B ib0 ib1 ib2 ib3 ib4 ib5
ip -n B link add br0 up type bridge
for k in {1..500}; do echo "route PROTOCOL 2001:db8::$(printf %x "$k")/128 dev br0"; done >$work/all

our_rules6() { ip -n B -6 -d rule show | marked suppress_ifgroup; }
trace() { with_sys B strace -qq -o $work/trace -e trace=sendmsg,recvmsg "$@" "$HOOKS/nm-dispatcher" ib0 up </dev/null; }
waits() { [ "$(grep -c '^recvmsg' $work/trace)" -ge "$number" ]; }

journal_start
for protocol in boot kernel; do
    sed "s/PROTOCOL/add/; s/$/ proto $protocol/" $work/all >$work/add
    sed "s/PROTOCOL/del/; s/$/ proto $protocol/; 250q" $work/all >$work/del
    echo "route add 2001:db8:1::1/128 dev br0 proto $protocol" >>$work/del
    ip -n B -6 -batch $work/add
    wait_until 5 settled B
    manager_calls B "$HOOKS/nm-dispatcher" ib0 up
    rules=$(our_rules6)
    expect_equal "$protocol: the rails have their rules" 12 "$(wc -l <<<"$rules")"

    # Which calls receive a datagram full of routes: the dump is continued while that is handed out.
    trace
    numbers=$(awk '/^recvmsg/ { n++ } /RTM_NEWROUTE/ && / = [0-9]+$/ && $NF > 16384 { print n }' $work/trace)
    for number in $numbers; do
        from=$(($(journal_lines) + 1))
        : >$work/trace
        trace -e "inject=recvmsg:delay_enter=1000000:when=$number" &
        hook=$!
        wait_until 5 waits
        ip -n B -6 -batch $work/del
        wait $hook || fail "$protocol, datagram $number: the hook ends with 0" "got $?"
        expect_equal "$protocol, datagram $number: our rules are the same" "" "$(diff <(echo "$rules") <(our_rules6) || true)"
        expect_equal "$protocol, datagram $number: the hook has nothing to say" "" "$(journal "$from")"
        { sed 250q $work/add && sed -n '$s/ add / del /p' $work/del; } >$work/again
        ip -n B -6 -batch $work/again
    done
    [ $protocol = boot ] || [ -n "$numbers" ] || fail "the hook receives a datagram full of routes" "$(tail -n 20 $work/trace)"
    sed "s/ add / del /" $work/add >$work/gone
    ip -n B -6 -batch $work/gone
done
