#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# At its first message to the kernel, and before the C library resolves a name, a root process has given up all but two
# capabilities, can gain none, leaves no core dump, and what it has opened would not outlive an exec.
. "$(dirname "$0")/lib.sh"
needs strace
strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"

make_hosts 2 B
NET=$(printf '%016x' $(((1 << 12) | (1 << 13)))) # CAP_NET_ADMIN, CAP_NET_RAW

is_stopped() { grep -q 'stopped by SIGSTOP' $work/trace 2>/dev/null; }
field() { sed -n "s/^$1:[[:blank:]]*//p" "/proc/$pid/status"; }

# stopped_at CALL PATH PROGRAM…: stopped there; its process id is in $pid
stopped_at() {
    rm -f $work/trace
    nsenter --net=/run/netns/B strace -D -o $work/trace -e trace="$1" ${2:+-P "$2"} -e inject="$1":signal=STOP:when=1 \
        "${@:3}" >/dev/null 2>&1 </dev/null &
    pid=$!
    wait_until 5 is_stopped
}

# privileges NAME CAPABILITIES: of the process that is stopped
privileges() {
    local set fd flags
    for set in CapEff CapPrm; do expect_equal "$1: $set" "$2" "$(field $set)"; done
    for set in CapInh CapAmb; do expect_equal "$1: $set" 0000000000000000 "$(field $set)"; done
    expect_equal "$1: no new privileges" 1 "$(field NoNewPrivs)"
    # Behind the three standard ones, all close when a program is started: there is no fork, and none could leak.
    for fd in /proc/"$pid"/fd/*; do
        [[ ${fd##*/} -gt 2 && $(readlink "$fd") != /dev/null && $(readlink "$fd") != pipe:* ]] || continue # the caller's
        flags=$(sed -n 's/^flags:[[:blank:]]*//p' "/proc/$pid/fdinfo/${fd##*/}")
        [ $((flags & 02000000)) != 0 ] || fail "$1: descriptor ${fd##*/} ($(readlink "$fd")) does not close on exec"
    done
    ok "$1: descriptors close on exec"
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null || true
}

n=0
while read -r program; do
    # shellcheck disable=SC2086 # words
    stopped_at sendmsg "" $program
    privileges "${program##*/}" "$NET"
    n=$((n + 1))
done <<END
$IB_HOOK --sysfs /run/sys/B --apply
$IB_HOOK --sysfs /run/sys/B --undo
$IB_HOOK --sysfs /run/sys/B --show
$IB_HOOK --sysfs /run/sys/B --check --json
$IB_HOOK --sysfs /run/sys/B --plan
$IB_HOOK --sysfs /run/sys/B --render rt_tables
$IB_HOOK --sysfs /run/sys/B --probe 172.16.34.1
$IB_HOOK --sysfs /run/sys/B --watch
$HOOKS/nm-dispatcher ib0 up
$HOOKS/nm-dispatcher ib0 reapply
$HOOKS/rhel-ifcfg ib0
END
ok "$n programs"
stopped_at openat /etc/nsswitch.conf "$IB_HOOK" --probe localhost
privileges "before it looks for a name" "$NET"

# Whoever may not look into root's memory finds none of it in a file either, whatever limits and pattern there are.
# ends HOW PROGRAM…: killed by a signal that leaves a core dump where one may be
ends() {
    (
        ulimit -c unlimited
        cd $work
        on B strace -qq -o $work/trace -e trace=sendmsg,write -e inject=sendmsg,write:signal=SIGQUIT:when=1 "${@:2}" >/dev/null 2>&1 </dev/null
    ) || true
    expect_contains "$1" "killed by SIGQUIT" "$(<$work/trace)"
    [[ $(<$work/trace) == *"(core dumped)"* ]]
}
dumps=no
if ends "another program" sh -c 'echo x'; then
    dumps=yes
    for action in --show --apply --watch; do
        ! ends "ib-hook $action" "$IB_HOOK" --sysfs /run/sys/B $action || fail "ib-hook $action leaves a core dump"
        ok "ib-hook $action leaves no core dump"
    done
    ! ends "a hook" "$HOOKS/nm-dispatcher" ib0 up || fail "a hook leaves a core dump"
    ok "a hook leaves no core dump"
fi

# The kernel gives to root what is of a process that may not be looked into, be it somebody else's.
if [ "$rooted" = yes ]; then
    install "$IB_HOOK" $work/ib-hook
    stopped_at sendmsg "" setpriv --reuid 65534 --clear-groups $work/ib-hook --sysfs /run/sys/B --show
    expect_equal "whose process it is" 65534 "$(field Uid | cut -f 1)"
    expect_equal "who may look into it" 0 "$(stat -c %u "/proc/$pid/environ")"
    kill -KILL "$pid"
fi
[ $dumps = yes ] || skip "this machine makes no core dumps"
