#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --probe, where all is right: every rail reaches every peer, replies come back on the rail, and each of the peer's
# addresses has its own hardware address.
. "$(dirname "$0")/lib.sh"

make_hosts 2
expect_hook 0 A --apply
expect_hook 0 B --apply

expect_hook 0 A --probe 172.16.34.1 172.16.34.2 --json
expect_equal "ok" true "$(json .ok)"
expect_equal "every pair: NICs and hardware addresses" "ib0 172.16.16.1 172.16.34.1 3/3 ib0 ib0 $(mac B 0) $(mac B 0) true
ib1 172.16.16.2 172.16.34.1 3/3 ib1 ib1 $(mac B 0) $(mac B 0) true
ib0 172.16.16.1 172.16.34.2 3/3 ib0 ib0 $(mac B 1) $(mac B 1) true
ib1 172.16.16.2 172.16.34.2 3/3 ib1 ib1 $(mac B 1) $(mac B 1) true" \
    "$(json '.pairs[] | "\(.iface) \(.source) \(.peer) \(.received)/\(.sent) \(.route_iface) \(.reply_iface) \(.peer_lladdr) \(.reply_lladdr) \(.ok)"')"
expect_equal "round trips are numbers" true "$(json '[.pairs[].rtt_ms | type == "number" and . >= 0 and . < 1000] | all')"
expect_equal "no problem, no finding" "0 0" "$(json '"\([.pairs[].problems[]] | length) \(.findings | length)"')"

expect_hook 0 A --probe 172.16.34.1 172.16.34.2
expect_equal "a line for the peers of each rail" "ib0 172.16.34.1-.2 6/6 ok ib1 172.16.34.1-.2 6/6 ok" \
    "$(awk 'NR > 1 { print $1, $2, $3, $5 }' <<<"$out" | sort | xargs)"
expect_equal "nothing on standard error" "" "$err"
expect_hook 0 A --probe 172.16.34.1 --quiet
expect_equal "--quiet has nothing to say" "" "$out"

# What is asked of whom.
expect_hook 0 A --probe 172.16.34.1 --iface ib1 --count 5 --json
expect_equal "--iface and --count" "ib1 5" "$(json '.pairs[] | "\(.iface) \(.sent)"')"
expect_hook 2 A --probe 172.16.34.1 --iface ib7

# Peers by name: each of a name's addresses, once.
expect_hook 2 A --probe node17
expect_contains "a name that nobody knows" "--probe node17: " "$err"
printf '172.16.34.1 node34\n172.16.34.2 node34\n127.0.0.1 only-lo\n' >>/etc/hosts
expect_hook 0 A --probe node34 172.16.34.2 --json
expect_equal "the addresses of the name, and no address twice" "172.16.34.1 172.16.34.2" "$(json '[.pairs[].peer] | unique | join(" ")')"
expect_equal "which addresses it has" "ib-hook: node34 is 172.16.34.1, 172.16.34.2" "$err"
expect_hook 2 A --probe only-lo
expect_contains "no address for a peer" "only loopback, multicast or fe80:: addresses" "$err"

# A signal ends it in what is known so far.
interrupt() { # SIGNAL [REPORT]
    ip netns exec A "$IB_HOOK" --sysfs /run/sys/A --probe 172.16.34.1 172.16.34.2 --count 1000 "${2:---json}" >$work/interrupted &
    local pid=$!
    wait_until 5 is_sending
    kill -"$1" "$pid"
    status=0
    wait "$pid" || status=$?
    out=$(<$work/interrupted)
}
sent_by_ib0() {
    ip -n A -s -j link show dev ib0 | jq '.[0].stats64.tx.packets'
}
is_sending() { # more packets than `before`
    [ "$(sent_by_ib0)" -gt "$before" ]
}
for signal in INT TERM; do
    before=$(($(sent_by_ib0) + 2))
    interrupt $signal
    expect_equal "$signal: the exit status says so" 130 $status
    expect_equal "$signal: no pair is judged that was under way" "null interrupted" "$(json '[.pairs[] | "\(.ok) \(.reason)"] | unique | join(", ")')"
    expect_equal "$signal: nobody is accused, and nothing is right" "0 false" "$(json '"\(.findings | length) \(.ok)"')"
done
for report in --verbose --prometheus; do
    before=$(($(sent_by_ib0) + 2))
    interrupt INT $report
    expect_equal "$report: the exit status says so, too" 130 $status
    case $report in
        --verbose) expect_equal "a line says what was interrupted" "interrupted: 4 of 4 pairs have no result; their peers: 172.16.34.1-.2" "$out" ;;
        *)
            expect_lacks "no pair is measured" "ib_hook_probe_ok{" "$out"
            expect_contains "what was not tested is not right" "ib_hook_probe_all_ok 0" "$out"
            ;;
    esac
done

# On a terminal, and only there, it says how far it is.
LC_ALL=C ip netns exec A script -qec "'$IB_HOOK' --sysfs /run/sys/A --probe 172.16.34.1 172.16.34.2 --count 12 >/dev/null" /dev/null >$work/terminal
expect_contains "progress on a terminal" "of 4 pairs of rail and peer asked" "$(<$work/terminal)"
expect_equal "which is erased at the end" $'\r\e[K' "$(tail -c 4 $work/terminal)"
LC_ALL=C ip netns exec A script -qec "'$IB_HOOK' --sysfs /run/sys/A --probe 172.16.34.1 172.16.34.2 --count 12 --quiet >/dev/null" /dev/null >$work/terminal
expect_equal "none with --quiet" "" "$(<$work/terminal)"
expect_hook 0 A --probe 172.16.34.1 172.16.34.2 --count 12
expect_equal "no progress in a pipe" "" "$err"
expect_hook 1 A --probe 172.16.34.1 fd00:16::34:1 --json
expect_equal "a peer nobody can ask is a finding" no-source "$(json '.findings[].code')"

# The packets: from the rail's address, out of the rail, each pair at the interval.
capture_echoes A 24 expect_hook 0 A --probe 172.16.34.1 172.16.34.2 --count 4
expect_equal "16 requests, one of full size and one that is bound to no NIC for each pair" 24 "$(wc -l <$work/echoes)"
expect_equal "by the NIC of their source" "$(for to in 172.16.34.1 172.16.34.2; do for i in 0 1; do echo "6 ib$i 172.16.16.$((i + 1)) $to"; done; done | xargs)" \
    "$(cut -d ' ' -f 2- $work/echoes | sort -k3 | uniq -c | xargs)"
expect_equal "four of each pair take three intervals, 0.6 s" yes \
    "$(awk 'NR == 1 { first = $1 } END { print ($1 - first >= 0.6 ? "yes" : $1 - first) }' $work/echoes)"

# The report of a host without rails.
new_host C
add_nic C ib0 3 172.16.50.1/16
rdma C ib0
wait_until 5 settled C
expect_hook 0 C --probe 172.16.34.1
expect_contains "no rails: said" "no rails" "$out"
expect_hook 0 C --probe 172.16.34.1 --json
expect_equal "no rails: no pairs" "true 0" "$(json '"\(.ok) \(.pairs | length)"')"
expect_hook 0 C --probe 172.16.34.1 --iface ib0 --json
expect_equal "by name, a NIC that is not a rail is probed, too" "ib0 3" "$(json '.pairs[] | "\(.iface) \(.received)"')"

# IPv4 link-local addresses, as of two ports of one card without any server: each rail asks from its own.
for host in D E; do
    new_host $host
    for n in 0 1; do
        if [ $host = D ]; then add_nic D ib$n $((4 + n)) 169.254.1.$((n + 1))/16; else add_nic E ib$n $((6 + n)) 169.254.2.$((n + 1))/16; fi
        rdma $host ib0 ib1
    done
    wait_until 5 settled $host
    expect_hook 0 $host --apply
done
expect_hook 0 D --probe 169.254.2.1 169.254.2.2 --json
expect_equal "link-local peers" "ib0 169.254.1.1 169.254.2.1 3 ib1 169.254.1.2 169.254.2.1 3 ib0 169.254.1.1 169.254.2.2 3 ib1 169.254.1.2 169.254.2.2 3" \
    "$(json '.pairs[] | "\(.iface) \(.source) \(.peer) \(.received)"' | xargs)"
