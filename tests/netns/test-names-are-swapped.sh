#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two standing rails take each other's names (a udev rule, a driver that probes in another order): automatic tables stay
# with their NICs; where table= gives them to names, each moves to the other's. Where one operation of that fails, both
# are as they were.
. "$(dirname "$0")/lib.sh"
needs strace

make_hosts 2
serve B
sysctl_set B ib1 arp_announce 1 # so that their sysctls are not alike
strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"

rename() { # FROM TO: old kernels rename only what is down, and then its routes go
    ip -n B link set dev "$1" name "$2" 2>/dev/null && return
    ip -n B link set "$1" down
    ip -n B link set "$1" name "$2"
    ip -n B link set "$2" up
}

swap() {
    rename ib0 old
    rename ib1 ib0
    rename old ib1
    wait_until 5 settled B
}

injected() { # NUMBER → exit status of an --apply whose message of that number is refused
    local status=0
    on B strace -o $work/trace -e trace=sendmsg -e inject=sendmsg:error=ENOBUFS:when="$1" \
        "$IB_HOOK" --sysfs /run/sys/B --config "$tables" --apply >$work/out 2>$work/err </dev/null || status=$?
    echo $status
}

tables=$(config '[interface ib0]
table=941
[interface ib1]
table=942')
rails_by_hand A 2
before=$(state B)
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
swap
expect_hook 0 B --check # automatic tables stay with their NICs
expect_hook 0 B --apply
expect_rails B ib1:941:172.16.34.1 ib0:942:172.16.34.2
expect_hook 1 B --config "$tables" --check
expect_hook 0 B --config "$tables" --apply
expect_rails B ib0:941:172.16.34.2 ib1:942:172.16.34.1
expect_hook 0 B --config "$tables" --check
expect_hook 0 B --config "$tables" --apply --json
expect_equal "nothing is left to do" false "$(json .changed)"
forget A B
for i in 1 2; do
    expect_equal "172.16.34.$i arrives and leaves by its own NIC" 10 \
        "$(flow_on A --from 172.16.16.$i --to 172.16.34.$i --expect-server ib$((2 - i)) --count 10 | jq .right)"
done

refusals=0
for ((i = 1; ; i++)); do
    swap
    swapped=$(state B | tidy)
    status=$(injected $i)
    case $status in
        0) expect_equal "message $i refused, exit status 0: all is done" false "$(hook B --config "$tables" --plan --json | jq .changed)" ;;
        3)
            expect_equal "message $i refused: both are as they were" "$swapped" "$(state B | tidy)"
            expect_hook 0 B --config "$tables" --apply
            refusals=$((refusals + 1))
            ;;
        *) fail "message $i refused: exit status $status" "$(<$work/err)" ;;
    esac
    if [ $((i % 2)) = 1 ]; then
        expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
    else
        expect_rails B ib0:941:172.16.34.2 ib1:942:172.16.34.1
    fi
    grep -q INJECTED $work/trace || break
done
expect_at_least "operations that were refused" 6 $refusals
[ $((i % 2)) = 1 ] || swap
expect_hook 0 B --undo
expect_equal "the state after --undo" "$before" "$(state B)"
