#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 64 hooks at once, while links flap, addresses come and go, NICs vanish, come back with another index, and are renamed.
# Every hook exits with 0; when it is over, one more makes everything right. A NIC that gets a rail's name in the middle of
# --apply keeps its sysctls.
. "$(dirname "$0")/lib.sh"

make_hosts 4 B
journal_start
seed=${IBH_SEED:-$RANDOM}
RANDOM=$seed
echo "# seed $seed: IBH_SEED=$seed repeats it"
before=$(state B | tidy)
hook B --apply >/dev/null
applied=$(state B | tidy)

disturb() { # ROUND
    local nic=ib$((RANDOM % 3)) # ib3 is the one that vanishes
    case $((RANDOM % 5)) in
        0) ip -n B link set $nic down && ip -n B link set $nic up ;;
        1)
            ip -n B address del 172.16.34.$((${nic#ib} + 1))/16 dev $nic
            ip -n B address add 172.16.34.$((${nic#ib} + 1))/16 dev $nic
            ;;
        2)
            remove_nic B ib3
            add_nic B ib3 3 172.16.34.4/16
            ;;
        3)
            ip -n B link set ib3 down
            ip -n B link set ib3 name ib9
            ip -n B link set ib9 name ib3
            ip -n B link set ib3 up
            ;;
        4) ip -n B route flush table $((941 + RANDOM % 4)) ;;
    esac 2>/dev/null || true
}

for round in $(seq 6); do
    hooks=()
    for i in $(seq 64); do
        with_sys B env "IFACE=ib$((i % 4))" MODE=start "$HOOKS/ifupdown" </dev/null >>$work/said 2>&1 &
        hooks+=($!)
        [ $((i % 4)) != 0 ] || disturb
    done
    for pid in "${hooks[@]}"; do
        wait "$pid" || fail "round $round: a hook ended with $?"
    done
done
ok "384 hooks, all of them exited with 0"
expect_equal "they said nothing to their callers" "" "$(<$work/said)"

wait_until 5 settled B
manager_calls B "$HOOKS/nm-dispatcher" ib0 up
expect_equal "one more makes everything right" "$applied" "$(state B | tidy)"
expect_hook 0 B --check
hook B --undo >/dev/null
expect_equal "and what was before can still be given back" "$before" "$(state B | tidy)"

# The same with --watch alone, and nobody who calls it.
hook B --apply >/dev/null
watch_start B
for _ in $(seq 40); do disturb; done
wait_until 5 settled B
right() { [ "$(state B | tidy)" = "$applied" ]; }
wait_until 15 right
ok "--watch makes everything right"
watch_stop

# Another NIC takes the name of a rail in the middle of --apply: the values go to the NIC that was meant.
config 'arp=strict' >/dev/null
sed -i '1i [defaults]' $work/ib-hook.conf
hook B --undo >/dev/null
ip -n B link add eth5 type veth peer name other
for key in rp_filter=2 arp_filter=0 arp_announce=1 arp_ignore=3; do sysctl_set B eth5 ${key%=*} ${key#*=}; done
foreign() { on B sh -c "cd $CONF/$1 && grep . $ARP_KEYS"; }
foreigns=$(foreign eth5) rails=$(foreign ib1)
rename_nic() {
    ip -n B link set "$1" down
    ip -n B link set "$1" name "$2"
    ip -n B link set dev "$2" up
}
is_stopped() { grep -q 'stopped by SIGSTOP' $work/trace 2>/dev/null; }

# swapped_at CALL N: --apply is stopped behind its N-th call of that name, until both NICs have other names
swapped_at() {
    local pid status=0
    rm -f $work/trace
    nsenter --net=/run/netns/B strace -D -o $work/trace -e trace="$1" -e inject="$1:signal=STOP:when=$2" "$IB_HOOK" \
        --sysfs /run/sys/B --config $work/ib-hook.conf --apply >/dev/null 2>&1 </dev/null &
    pid=$!
    wait_until 5 is_stopped
    rename_nic ib1 away
    rename_nic eth5 ib1
    kill -CONT $pid
    wait $pid || status=$?
    expect_equal "renamed after $1: the foreign NIC" "$foreigns" "$(foreign ib1)"
    expect_equal "and --apply ends well" 0 $status
    expect_sysctls B away rp_filter=1 arp_filter=1 arp_announce=2 arp_ignore=2
    hook B --undo >/dev/null
    expect_equal "… after --undo, too" "$foreigns" "$(foreign ib1)"
    expect_equal "and the NIC that was meant has its own values again" "$rails" "$(foreign away)"
    rename_nic ib1 eth5
    rename_nic away ib1
}
swapped_at rename 1 # it has looked, and has written down what it is going to do
swapped_at ioctl 2 # it has opened a file, behind a question about its terminal
