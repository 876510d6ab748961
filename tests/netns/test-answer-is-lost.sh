#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each answer of the kernel in turn gets lost on its way, or all from one on. What was asked for may be done or not: a rail
# is whole or as it was, and the next run gets there. So for --apply, for a move between tables, and for --undo.
. "$(dirname "$0")/lib.sh"
needs strace

make_hosts 2 B
sysctl_set B ib1 arp_announce 1
before=$(state B)
strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"

# losing NUMBER ARGUMENT… → exit status; with a + behind the number, all answers from there on are lost
losing() {
    local status=0
    on B strace -o $work/trace -e trace=recvmsg -e inject=recvmsg:error=ENOMEM:when="$1" \
        "$IB_HOOK" --sysfs /run/sys/B "${@:2}" >$work/out 2>$work/err </dev/null || status=$?
    echo $status
}

both() { # rules, routes and sysctls of ib0, and of ib1
    local all
    all=$(state B)
    { grep -e 172.16.34.1 -e " dev ib0 " -e "^ib0/" || true; } <<<"$all"
    echo --
    { grep -e 172.16.34.2 -e " dev ib1 " -e "^ib1/" || true; } <<<"$all"
}

# verdict START END → of each rail: start | end | torn
verdict() {
    local now nic rails=()
    now=$(both)
    for nic in 0 1; do
        case $(part $nic "$now") in
            "$(part $nic "$1")") rails+=(start) ;;
            "$(part $nic "$2")") rails+=(end) ;;
            *) rails+=(torn) ;;
        esac
    done
    echo "${rails[*]}"
}

part() { # 0|1 BOTH
    [ "$1" = 0 ] && echo "${2%%--*}" || echo "${2##*--}"
}

# each_answer WHAT PREPARE ARGUMENT…: from what PREPARE makes, runs with these arguments, one answer after the other lost
each_answer() {
    local what=$1 prepare=$2 start end i status got
    shift 2
    $prepare
    start=$(both)
    expect_equal "$what: it works" 0 "$(losing 9999 "$@")"
    end=$(both)
    expect_differs "$what: it changes something" "$start" "$end"
    for ((i = 1; ; i++)); do
        $prepare
        status=$(losing $i "$@")
        grep -q INJECTED $work/trace || break
        got="$status $(verdict "$start" "$end")"
        case $got in
            "0 end end") ;; # an announcement: peers ask again
            "3 start start" | "3 start end" | "3 end start") ;;
            *) fail "$what: answer $i lost: expected each rail whole or as it was, got: $got" "$(<$work/err)
$(diff <(echo "$end") <(both) || true)" ;;
        esac
        hook B "$@" >/dev/null || fail "$what: answer $i lost: the next run"
        [ "$(both)" = "$end" ] ||
            fail "$what: answer $i lost: the next run gets there" "$(diff <(echo "$end") <(both) || true)"

        $prepare
        losing $i+ "$@" >/dev/null
        hook B "$@" >/dev/null || fail "$what: all from answer $i lost: the next run"
        [ "$(both)" = "$end" ] ||
            fail "$what: all from answer $i lost: the next run gets there" "$(diff <(echo "$end") <(both) || true)"
        hook B --undo >/dev/null
        [ "$before" = "$(state B)" ] ||
            fail "$what: all from answer $i lost: --undo" "$(diff <(echo "$before") <(state B) || true)"
    done
    [ "$i" -gt 5 ] || fail "$what: there are answers to lose" "only $i"
    ok "$what: each of $((i - 1)) answers lost"
}

undone() { hook B --undo >/dev/null; }
applied() { hook B --apply >/dev/null; }
elsewhere() { # in other tables
    hook B --config "$moved" --apply >/dev/null
}
moved=$(config '[interface ib0]
table=701
[interface ib1]
table=702')

each_answer "--apply" undone --apply
each_answer "a move" elsewhere --apply
each_answer "--undo" applied --undo
undone
expect_equal "the state after the last --undo" "$before" "$(state B)"

# A late answer is not taken for the next request's: after one is lost on ib0, the kernel refuses a route of ib1.
ip -n B address add 10.1.0.2/24 dev ib1
ip -n B route del local 10.1.0.2 dev ib1 table local
start=$(both)
expect_equal "a refusal: exit status" 3 "$(losing 9999 --apply)"
end=$(both)
expect_equal "a refusal: ib0 is a rail, ib1 is as it was" "end start" "$(verdict "$start" "$end")"
for ((i = 1; ; i++)); do
    undone
    status=$(losing $i --apply)
    grep -q INJECTED $work/trace || break
    case "$status $(verdict "$start" "$end")" in
        "3 start start" | "3 end start") ;;
        *) fail "a refusal, and answer $i lost: got $status $(verdict "$start" "$end")" "$(<$work/err)" ;;
    esac
done
ok "a refusal, and each of $((i - 1)) answers lost"
