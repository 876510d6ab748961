#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Without capabilities one can look, and not change: --apply says what is missing.
. "$(dirname "$0")/lib.sh"
needs setpriv

make_hosts 2 B
bare=(setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all)
before=$(state B)

# as_bare STATUS COMMAND…: root by number, without capabilities
as_bare() {
    local status=0
    on B "${bare[@]}" "$IB_HOOK" --sysfs /run/sys/B "${@:2}" >$work/out 2>$work/err </dev/null || status=$?
    out=$(<$work/out) err=$(<$work/err)
    [ $status = "$1" ] || fail "without capabilities ib-hook ${*:2}: expected exit status $1, got $status" "$out
$err"
    ok "without capabilities ib-hook ${*:2} exits $1"
}

as_bare 0 --show
expect_contains "--show shows the NICs" ib1 "$out"
as_bare 0 --plan
expect_contains "--plan shows what is to do" "from 172.16.34.2 " "$out"
as_bare 1 --check
for action in --apply --undo; do
    [ $action = --apply ] || hook B --apply >/dev/null
    during=$(state B)
    as_bare 3 $action
    expect_contains "$action says what is missing" CAP_NET_ADMIN "$err"
    expect_equal "$action changed nothing" "$during" "$(state B)"
done
as_bare 3 --watch
expect_contains "--watch says what is missing" CAP_NET_ADMIN "$err"
as_bare 3 --probe 172.16.16.1
expect_contains "--probe says what is missing" CAP_NET_RAW "$err"
as_bare 3 --probe 172.16.16.1 --json
expect_equal "as JSON, too" "false 3" "$(json '"\(.ok) \(.error.exit)"')"
as_bare 0 --check
as_bare 0 --check --json
expect_equal "--check is content" true "$(json .ok)"
expect_hook 0 B --undo
expect_equal "the state after --undo" "$before" "$(state B)"

if [ "$rooted" = yes ]; then
    cp "$IB_HOOK" /run/test/ib-hook-for-all
    chmod 0755 /run/test/ib-hook-for-all
    IB_HOOK=/run/test/ib-hook-for-all
    bare=(setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all --ambient-caps=-all)
    as_bare 0 --show
    as_bare 0 --plan
    as_bare 1 --check
    as_bare 3 --apply
    expect_contains "an ordinary user is told what is missing" CAP_NET_ADMIN "$err"
    expect_equal "and changes nothing" "$before" "$(state B)"
fi
