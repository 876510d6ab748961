#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Without CAP_NET_RAW --probe uses ping sockets, where the administrator allows them; else it says what is missing.
. "$(dirname "$0")/lib.sh"
needs setpriv

make_hosts 2
for host in A B; do
    ip -n $host address add "fd00:16::$(host_id $host):1/64" dev ib0 nodad
    ip -n $host address add "fd00:16::$(host_id $host):2/64" dev ib1 nodad
    wait_until 5 settled $host
    expect_hook 0 $host --apply
done
bare=(setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all)

# as_bare STATUS ARGUMENT…
as_bare() {
    local status=0
    on A "${bare[@]}" "$IB_HOOK" --sysfs /run/sys/A "${@:2}" >$work/out 2>$work/err </dev/null || status=$?
    out=$(<$work/out) err=$(<$work/err)
    [ $status = "$1" ] || fail "without capabilities ib-hook ${*:2}: expected exit status $1, got $status" "$out
$err"
    ok "without capabilities ib-hook ${*:2} exits $1"
}

# Root by number, and an ordinary user.
probe_as_bare() {
    on A sh -c 'echo 1 0 >/proc/sys/net/ipv4/ping_group_range' 2>/dev/null || true # as it is in a new namespace, too
    as_bare 3 --probe 172.16.34.1
    expect_contains "what is missing" CAP_NET_RAW "$err"
    expect_contains "or could be allowed" net.ipv4.ping_group_range "$err"
    as_bare 3 --probe 172.16.34.1 --json
    expect_equal "as JSON, too" "false 3" "$(json '"\(.ok) \(.error.exit)"')"

    on A sh -c 'echo 0 65534 >/proc/sys/net/ipv4/ping_group_range' 2>/dev/null ||
        on A sh -c 'echo 0 0 >/proc/sys/net/ipv4/ping_group_range'
    forget A B
    as_bare 0 --probe 172.16.34.1 172.16.34.2 fd00:16::34:1 fd00:16::34:2 --json
    expect_equal "with ping sockets, both families" "ib0 172.16.34.1 3 ib0
ib1 172.16.34.1 3 ib1
ib0 172.16.34.2 3 ib0
ib1 172.16.34.2 3 ib1
ib0 fd00:16::34:1 3 ib0
ib1 fd00:16::34:1 3 ib1
ib0 fd00:16::34:2 3 ib0
ib1 fd00:16::34:2 3 ib1" "$(json '.pairs[] | "\(.iface) \(.peer) \(.received) \(.reply_iface)"')"
    expect_equal "hardware addresses are known" "$(mac B 0) $(mac B 1)" "$(json '[.pairs[].peer_lladdr] | unique | join(" ")')"
}

probe_as_bare
if [ "$rooted" = yes ]; then
    cp "$IB_HOOK" $work/ib-hook-for-all
    chmod 0755 $work/ib-hook-for-all
    IB_HOOK=$work/ib-hook-for-all
    bare=(setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all --ambient-caps=-all)
    probe_as_bare
fi

for nic in ib0 ib1; do
    ip -n B neigh replace 172.16.16.2 lladdr "$(mac A 0)" dev $nic nud permanent
done
as_bare 1 --probe 172.16.34.1 --json
expect_equal "a reply by the wrong NIC is seen" "ib0 reply-other-nic" \
    "$(json '.pairs[] | select(.iface == "ib1") | "\(.reply_iface) \(.problems | join(" "))"')"
sysctl_set A ib0 rp_filter 1
as_bare 1 --probe 172.16.34.1 --json
expect_equal "one that is dropped counts as lost" "probe-lost" "$(json '.pairs[] | select(.iface == "ib1") | .problems | join(" ")')"
