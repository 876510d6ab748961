#!/bin/bash
# At its first message to the kernel a root process has given up all but two capabilities, can gain none, and what it has
# opened would not outlive an exec.
. "$(dirname "$0")/lib.sh"
needs strace
strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"

make_hosts 2 B
KEPT=$(printf '%016x' $(((1 << 12) | (1 << 13)))) # CAP_NET_ADMIN, CAP_NET_RAW

stopped() { grep -q 'stopped by SIGSTOP' $work/trace 2>/dev/null; }
field() { sed -n "s/^$1:[[:blank:]]*//p" "/proc/$pid/status"; }

# at_first_message PROGRAM…: stopped there; its process id is in $pid
at_first_message() {
    rm -f $work/trace
    nsenter --net=/run/netns/B strace -D -o $work/trace -e trace=sendmsg -e inject=sendmsg:signal=STOP:when=1 \
        "$@" >/dev/null 2>&1 </dev/null &
    pid=$!
    wait_until 5 stopped
}

for program in "$IB_HOOK --sysfs /run/sys/B --apply" "$IB_HOOK --sysfs /run/sys/B --watch" "$HOOKS/nm-dispatcher ib0 up"; do
    # shellcheck disable=SC2086 # words
    at_first_message $program
    name=${program##*/}
    expect_equal "$name: effective capabilities" "$KEPT" "$(field CapEff)"
    expect_equal "$name: permitted" "$KEPT" "$(field CapPrm)"
    expect_equal "$name: inheritable" 0000000000000000 "$(field CapInh)"
    expect_equal "$name: no new privileges" 1 "$(field NoNewPrivs)"
    # Behind the three standard ones, all close when a program is started: there is no fork, and none could leak.
    for fd in /proc/"$pid"/fd/*; do
        [[ ${fd##*/} -gt 2 && $(readlink "$fd") != /dev/null && $(readlink "$fd") != pipe:* ]] || continue # the caller's
        flags=$(sed -n 's/^flags:[[:blank:]]*//p' "/proc/$pid/fdinfo/${fd##*/}")
        [ $((flags & 02000000)) != 0 ] || fail "$name: descriptor ${fd##*/} ($(readlink "$fd")) does not close on exec"
    done
    ok "$name: descriptors close on exec"
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null || true
done
