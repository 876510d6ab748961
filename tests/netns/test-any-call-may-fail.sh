#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each message to the kernel in turn is refused, or the program is killed at it. Every rail is whole or absent; the next
# --apply gets there, and --undo still knows what was before.
. "$(dirname "$0")/lib.sh"
needs strace

make_hosts 2 B
sysctl_set B ib1 arp_announce 1
strict=$(config '[defaults]
arp=strict')
before=$(state B)
strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"

calls() { # how many messages an --apply sends
    on B strace -f -o $work/trace -e trace=sendmsg,sendto "$IB_HOOK" --sysfs /run/sys/B --config "$strict" --apply >/dev/null
    grep -c 'send' $work/trace
}

injected() { # WHAT NUMBER → exit status
    local status=0
    on B strace -f -o $work/trace -e trace=sendmsg,sendto -e inject=sendmsg,sendto:"$1":when="$2" \
        "$IB_HOOK" --sysfs /run/sys/B --config "$strict" --apply >$work/out 2>$work/err || status=$?
    echo $status
}

count() { # TEXT
    grep -c "$1" || true
}

whole() { # NIC TABLE ADDRESS ANNOUNCE-BEFORE → whole | absent | torn
    local got
    got="$(our_rules B | count "from $3 ") $(our_routes B | count " $1 table $2 ") $(on B cat $CONF/"$1"/rp_filter $CONF/"$1"/arp_announce | xargs)"
    case $got in
        "2 1 1 2") echo whole ;;
        "0 0 0 $4") echo absent ;;
        *) echo "torn ($got)" ;;
    esac
}

n=$(calls)
hook B --undo >/dev/null
expect_equal "the state after --undo" "$before" "$(state B)"
refusals=0
for ((i = 1; i <= n; i++)); do
    status=$(injected error=ENOBUFS "$i")
    verdicts="$(whole ib0 941 172.16.34.1 0) $(whole ib1 942 172.16.34.2 1)"
    case "$status $verdicts" in
        "0 whole whole") ;;
        "3 "*torn*) fail "message $i of $n refused: expected whole or absent rails, got: $verdicts" "$(<$work/err)" ;;
        "3 whole whole") fail "message $i of $n refused: exit status 3, but all is done" "$(<$work/err)" ;;
        "3 "*) refusals=$((refusals + 1)) ;;
        *) fail "message $i of $n refused: exit status $status, rails: $verdicts" "$(<$work/err)" ;;
    esac
    hook B --undo >/dev/null || fail "message $i of $n refused: --undo"
    [ "$before" = "$(state B)" ] || fail "message $i of $n refused: the state after --undo" "$(diff <(echo "$before") <(state B))"
done
ok "each of $n messages refused: rails are whole or absent, --undo restores ($refusals times exit status 3)"

for ((i = 1; i <= n; i++)); do
    status=$(injected signal=KILL "$i")
    [ "$status" = 137 ] || continue
    if [ $((i % 2)) = 0 ]; then
        hook B --config "$strict" --apply >/dev/null || fail "killed at message $i of $n: the next --apply"
        hook B --config "$strict" --check >/dev/null || fail "killed at message $i of $n: then --check"
    fi
    hook B --undo >/dev/null || fail "killed at message $i of $n: --undo"
    [ "$before" = "$(state B)" ] || fail "killed at message $i of $n: the state after --undo" "$(diff <(echo "$before") <(state B))"
done
ok "killed at each of $n messages: the next --apply gets there, --undo restores"
