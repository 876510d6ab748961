#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A container bridge outside of the rails' subnet is reached from the rails' addresses in every step while they gain, use
# and lose a default route: no packet is lost, and after each single operation the kernel still says "by the bridge".
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
for i in 1 2; do ip -n B address add fd00:16::34:$i/64 dev ib$((i - 1)); done
ip -n B link add docker0 type bridge forward_delay 0
ip -n B address add 172.17.0.1/16 dev docker0
ip -n B address add fd00:17::1/64 dev docker0
ip -n B link set docker0 up
new_host box
ip -n B link add veth0 type veth peer name eth0 netns box
ip -n B link set veth0 master docker0 up
ip -n box address add 172.17.0.5/16 dev eth0
ip -n box address add fd00:17::5/64 dev eth0
ip -n box link set eth0 up
ip -n box route add default via 172.17.0.1
ip -n box -6 route add default via fd00:17::1
wait_until 5 settled box
wait_until 5 settled B
serve box

by_bridge() { # WHAT
    local i got
    for i in 1 2; do
        got=$(ip -n B -j route get 172.17.0.5 from 172.16.34.$i | jq -r '.[0].dev')
        [ "$got" = docker0 ] || fail "$1: from 172.16.34.$i" "expected docker0, got $got
$(ip -n B rule)
$(ip -n B route show table 94$i)"
        got=$(ip -n B -j route get fd00:17::5 from fd00:16::34:$i | jq -r '.[0].dev')
        [ "$got" = docker0 ] || fail "$1: from fd00:16::34:$i" "expected docker0, got $got
$(ip -n B -6 rule)
$(ip -n B -6 route show table 94$i)"
    done
}

# step_by_step WHAT [OPTION…]: runs what --plan prints, one command at a time
step_by_step() {
    local n=0 command
    hook B "${@:2}" --plan >$work/plan
    while read -r command; do
        case $command in
            ip\ *)
                command=${command%%  #*}
                on B sh -c "$command" || fail "$1: $command"
                n=$((n + 1))
                by_bridge "$1, after $n: $command"
                ;;
        esac
    done <$work/plan
    expect_at_least "$1: single operations, the bridge reached after each" 1 $n
    expect_hook 0 B "${@:2}" --apply --json
    expect_lacks "$1: there was no other operation" '"op":"r' "$out"
}

gain() {
    ip -n B route add default via 172.16.0.1 dev ib0
    ip -n B -6 route add default via fd00:16::1 dev ib0
}

lose() {
    ip -n B route delete default
    ip -n B -6 route delete default
}

by_bridge "before"
step_by_step "the first rules"
gain
step_by_step "a default route is gained"
expect_equal "it is in use" ib1 "$(ip -n B -j route get 10.9.9.9 from 172.16.34.2 | jq -r '.[0].dev')"
expect_equal "it is in use in IPv6" ib1 "$(ip -n B -j route get fd00:9::9 from fd00:16::34:2 | jq -r '.[0].dev')"
ip -n B route replace default via 172.16.0.2 dev ib0
ip -n B -6 route replace default via fd00:16::2 dev ib0
step_by_step "it is replaced"
file=$(config '[interface ib1]
table=777')
step_by_step "a table moves" --config "$file"
step_by_step "and moves back"
lose
step_by_step "it is lost"
gain
step_by_step "it is gained again"
expect_hook 0 B --check

# The same under traffic, by --apply and --undo.
lose
expect_hook 0 B --apply
streams=() pings=()
for i in 1 2; do
    flow_on B --from 172.16.34.$i --to 172.17.0.5 --expect-server any --expect-iface any --rate 500 \
        --started $work/started.$i --stop-file $work/stop >$work/stream.$i &
    streams+=($!)
    on B ping -6 -q -n -c 1000 -i 0.002 -w 20 -I fd00:16::34:$i fd00:17::5 >$work/stream6.$i &
    pings+=($!)
done
flows() { [ -e $work/started.1 ] && [ -e $work/started.2 ]; }
wait_until 5 flows

run() { # ACTION
    hook B "$1" >/dev/null 2>$work/err || fail "ib-hook $1 under traffic" "$(<$work/err)"
}

rounds=0
while [ $rounds -lt 3 ] || kill -0 "${pings[@]}" 2>/dev/null; do
    gain
    run --apply
    sleep 0.02
    lose
    run --apply
    sleep 0.02
    gain
    run --apply
    run --undo
    lose
    run --apply
    rounds=$((rounds + 1))
done
touch $work/stop
for pid in "${streams[@]}" "${pings[@]}"; do wait "$pid" || true; done
for i in 1 2; do
    expect_equal "from 172.16.34.$i, in $rounds rounds: lost of $(jq .sent $work/stream.$i) packets" 0 \
        "$(jq .lost $work/stream.$i)"
    expect_contains "from fd00:16::34:$i" "1000 packets transmitted, 1000 received" "$(<$work/stream6.$i)"
done
