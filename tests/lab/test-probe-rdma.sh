#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --probe --rdma: the peer's connection manager answers by RDMA, without a server there. Faults of RDMA, where pings
# still pass: a device that is gone on either side, UDP 4791 dropped by either side's firewall, no rdma_ucm. The command
# ends in time each time, and an RDMA connection that runs meanwhile goes on.
. "$(dirname "$0")/lib.sh"

make_hosts 2
hook A --apply >/dev/null
hook B --apply >/dev/null

# probe SECONDS [OPTION]…: from both rails to both addresses; it ends in that time, and no process of its own holds its output open
probe() {
    local start
    read -r start _ < <(vm A 'cat /proc/uptime')
    out=$(vm A "ib-hook --probe 172.16.34.1 172.16.34.2 --rdma --json ${*:2} | cat")
    read -r end _ < <(vm A 'cat /proc/uptime')
    [ "${end%.*}" -le $((${start%.*} + $1 + 1)) ] || fail "--probe --rdma ends within $1 s" "$start to $end"
    ok "--probe --rdma ends within $1 s"
}

answers() { json '[.pairs[] | .rdma] | join(" ")'; }
codes() { json '[.findings[] | "\(.severity) \(.code) \(.ifaces | join("+"))"] | join(", ")'; }
messages() { json '.findings[] | .message, .advice, .fix'; }
# processes of the name ib-hook, by their state
# shellcheck disable=SC2016 # for the shell in the guest
left() { vm "$1" 'for f in /proc/[0-9]*/stat; do read -r _ name state _ <$f && [ "$name" = "(ib-hook)" ] && echo "$state"; done 2>/dev/null; true' | xargs; }

probe 5
expect_equal "right hosts: every pair answers, without any server" "answered answered answered answered" "$(answers)"
expect_equal "and it is ok" "true " "$(json .ok) $(codes)"
expect_hook 0 A --probe 172.16.34.1 172.16.34.2 --rdma
expect_contains "in text" "ok; RDMA: answered" "$out"
expect_hook 0 A --probe 172.16.34.1
expect_equal "without --rdma it is not asked" "" "$(grep RDMA <<<"$out" || true)"
expect_hook 0 A --probe 172.16.34.1 --json
expect_equal "which is null" "null null" "$(json '[.pairs[] | .rdma | tostring] | join(" ")')"

# Nobody there is no fault of RDMA; and it needs no user with privileges.
expect_hook 1 A --probe 172.16.34.9 172.16.34.1 --rdma --json
expect_equal "no peer: not asked" "no-echo no-echo answered answered" "$(answers)"
expect_equal "which is the peer's fault, not RDMA's" "error peer-down " "$(codes)"
expect_hook 1 A --probe 172.16.34.9 172.16.34.1 --rdma
expect_contains "each such pair is named" "RDMA: no-echo" "$(grep "^ib1 *172.16.34.9 " <<<"$out")"

# A connection in use goes on, while it is probed all the time.
rping_serve 2
# shellcheck disable=SC2016 # for the shell in the guest
vm A 'rping -c -I 172.16.16.1 -a 172.16.34.1 -p 9401 -C 600 >/run/rping.out 2>&1 & echo $! >/run/rping.pid
    n=0; while kill -0 $(cat /run/rping.pid) 2>/dev/null && [ $n -lt 5 ]; do ib-hook --probe 172.16.34.1 --rdma --count 1 --quiet || exit 1; n=$((n + 1)); done
    echo $n >/run/probes; wait $(cat /run/rping.pid); echo $? >/run/rping.status'
expect_equal "rping, probed meanwhile, comes through" "0" "$(vm A 'cat /run/rping.status')"
expect_at_least "probes in that time" 1 "$(vm A 'cat /run/probes')"
vm B 'killall rping'

# ---- the peer ----

vm B 'rdma link delete rxe1'
probe 9
expect_equal "a device of the peer is gone" "answered answered silent silent" "$(answers)"
expect_equal "one finding for both rails" "error rdma-unreachable " "$(codes)"
expect_contains "which names the peer" "172.16.34.2 to every rail: RDMA requests get no answer: the RDMA device" "$(messages)"
expect_equal "pings pass" "3 3 3 3" "$(json '[.pairs[].received] | join(" ")')"
expect_hook 1 A --probe 172.16.34.1 172.16.34.2 --rdma
expect_contains "in text" "rdma-unreachable; RDMA: silent" "$out"
expect_contains "and of the other pairs" "ok; RDMA: answered" "$out"
vm B 'rdma link add rxe1 type rxe netdev ib1'

vm B 'nft "add table ip t; add chain ip t c { type filter hook input priority 0; }; add rule ip t c iifname ib0 udp dport 4791 drop"'
probe 9
expect_equal "the peer's firewall drops it on one NIC" "silent silent answered answered" "$(answers)"
expect_equal "one finding" "error rdma-unreachable " "$(codes)"
vm B 'nft flush chain ip t c; nft add rule ip t c ip saddr 172.16.16.2 udp dport 4791 drop'
probe 9
expect_equal "what one rail sends is dropped" "answered silent answered silent" "$(answers)"
expect_contains "each peer is named" "ib1 to 172.16.34.1-.2: RDMA requests get no answer: the RDMA device" "$(messages)"
vm B 'nft delete table ip t'

# ---- here ----

vm A 'nft "add table ip t; add chain ip t c { type filter hook output priority 0; }; add rule ip t c ip daddr 172.16.34.2 udp dport 4791 drop"'
probe 5
expect_equal "our own firewall drops it: not even asked" "answered answered not-asked not-asked" "$(answers)"
expect_contains "and that is said" "this host's own firewall or queue drops UDP 4791" "$(messages)"
expect_equal "no process is left" "" "$(left A)"

# One that lets an empty datagram pass is not seen in time. What Soft-RoCE sends to other peers waits behind what is
# dropped, and the kernel keeps the processes that asked; but nobody waits for them.
vm A 'nft flush chain ip t c; nft add rule ip t c ip daddr 172.16.34.2 udp dport 4791 udp length gt 8 drop'
probe 20
expect_equal "it ends, and tells what it knows" "silent silent" "$(json '[.pairs[] | select(.peer == "172.16.34.2") | .rdma] | join(" ")')"
expect_contains "the trap is real: processes that cannot be ended" "D" "$(left A)"
vm A 'nft delete table ip t'
gone=
for _ in $(seq 100); do
    gone=$(left A)
    [ -n "$gone" ] || break
done
expect_equal "and without the filter nothing is left" "" "$gone"
probe 5
expect_equal "all is as before" "answered answered answered answered" "$(answers)"

# Without its device a NIC is no longer a rail; by name it is probed all the same.
vm A 'rdma link delete rxe1'
probe 5 --iface ib0 --iface ib1
expect_equal "no device behind one NIC" "answered no-device answered no-device" "$(answers)"
expect_equal "is a finding of that NIC" "error rdma-no-device ib1" "$(codes)"
vm A 'rdma link add rxe1 type rxe netdev ib1'

vm A 'rmmod rdma_ucm'
probe 5
expect_equal "rdma_ucm is not loaded" "not-asked not-asked not-asked not-asked" "$(answers)"
expect_equal "one finding" "error module-missing ib0+ib1" "$(codes)"
vm A "$(json '.findings[0].fix')"
vm B 'rmmod rdma_ucm'
probe 5
expect_equal "its fix cures it; the peer needs none" "answered answered answered answered" "$(answers)"
