#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where --watch runs, a hook asks it, waits until all up to now is done, and starts nothing itself. What --watch is not
# told by the kernel (values of ARP, the configuration, what was taken down on purpose) is done when the hook ends, too.
. "$(dirname "$0")/lib.sh"
needs strace ss

make_hosts 2 B
journal_start
system_config ""
strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"

# asked WHAT [VARIABLE=VALUE]… PROGRAM ARGUMENT…: that hook executes nothing
asked() {
    manager_calls B PATH="$PATH" strace -f -o $work/trace -e trace=execve env "${@:2}"
    expect_equal "$1: it executes nothing" "" "$(grep 'execve("/usr/bin/ib-hook' $work/trace || true)"
}
looks() { grep -c STATUS= $work/notified; } # of --watch, so far

# With --config or --sysfs it does not do what a hook would do: it does not listen.
watch_start B
expect_equal "--sysfs: nobody listens" "" "$(find /run/ib-hook -name 'watch-*')"
watch_stop
watch_listen B --config "$(config "")"
expect_equal "--config: nobody listens" "" "$(find /run/ib-hook -name 'watch-*')"
watch_stop

watch_listen B
socket=$(find /run/ib-hook -type s)
expect_equal "root's alone" "600 0" "$(stat -c '%a %u' "$socket")"
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
applied=$(state B | tidy)

# Each hook: nobody tells --watch of that sysctl.
ln -s "$HOOKS/rhel-ifcfg" $work/ifup-local
for call in "$HOOKS/nm-dispatcher ib1 up" "$HOOKS/nm-dispatcher ib1 reapply" "IFACE=ib1 OperationalState=routable $HOOKS/networkd-dispatcher" \
    "IFACE=ib1 MODE=start $HOOKS/ifupdown" "IFACE=--all MODE=start $HOOKS/ifupdown" "$work/ifup-local ib1"; do
    sysctl_set B ib1 arp_announce 0
    from=$(($(journal_lines) + 1))
    # shellcheck disable=SC2086 # words
    manager_calls B $call
    expect_equal "$call: all is done when it ends" "$applied" "$(state B | tidy)"
    expect_equal "$call: it is said" "6 ib1: set arp_announce=2; announced 172.16.34.2" "$(journal "$from")"
    sysctl_set B ib1 arp_announce 0
    # shellcheck disable=SC2086
    asked "$call" $call
    expect_equal "$call: and all is done" "$applied" "$(state B | tidy)"
    from=$(($(journal_lines) + 1))
    # shellcheck disable=SC2086
    manager_calls B $call
    expect_equal "$call: silence when nothing changed" "" "$(journal "$from")"
done

# Whatever its caller leaves behind.
huge=$(head -c 131060 /dev/zero | tr '\0' x)
while read -r surroundings; do
    sysctl_set B ib1 arp_announce 0
    status=0
    # shellcheck disable=SC2016,SC2086 # for the inner shell; words
    with_sys B strace -f -o $work/trace -e trace=execve sh -c "$surroundings" sh env -i A="$huge" GCONV_PATH=/nowhere NLDBG=9 IFACE=ib1 \
        MODE=start "$HOOKS/ifupdown" </dev/null >$work/said 2>&1 || status=$?
    expect_equal "$surroundings: exit status, and nothing said" 0 "$status$(<$work/said)"
    expect_equal "$surroundings: it executes nothing" "" "$(grep 'execve("/usr/bin/ib-hook' $work/trace || true)"
    expect_equal "$surroundings: all is done" "$applied" "$(state B | tidy)"
done <<'END'
exec "$@" <&-
exec "$@" >&- 2>&-
exec "$@" <&- >&- 2>&-
umask 0777; exec "$@"
exec env --block-signal "$@"
exec env --ignore-signal "$@"
exec prlimit --nofile=5 --fsize=0 --nproc=0 --memlock=0 "$@"
exec prlimit --as=8192000 "$@"
END
# shellcheck disable=SC2016 # a name, not a command
for name in '../../etc/passwd' '$(reboot)' "$huge" $'\e[2J' %n%n 'ib0:1' '' -ib1; do
    sysctl_set B ib1 arp_announce 0
    manager_calls B "IFACE=$name" MODE=stop "$HOOKS/ifupdown"
    expect_equal "a name that no interface has: all is done" "$applied" "$(state B | tidy)"
done

# The configuration and the holds of now.
up() { asked "${1:-up}" "$HOOKS/nm-dispatcher" ib1 up; }
system_config "[interface ib1]
table=1942"
up "another configuration"
expect_rails B ib0:941:172.16.34.1 ib1:1942:172.16.34.2
system_config "[interface ib1]
table=nonsense"
from=$(($(journal_lines) + 1))
up "a bad configuration"
up "a bad configuration, again"
expect_rails B ib0:941:172.16.34.1 ib1:1942:172.16.34.2
expect_contains "it is said" "4 /etc/ib-hook/ib-hook.conf:2: " "$(journal "$from")"
expect_equal "once" 1 "$(journal "$from" | wc -l)"
system_config ""
up "a good one"
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_hook 0 B --undo
up "held"
expect_nothing_of_ours B
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2

# Taken down on purpose: at once. Otherwise the address may come back within a second.
kill -STOP "$watch"
ip -n B address del 172.16.34.2/16 dev ib1
sysctl_set B ib0 arp_announce 0
kill -CONT "$watch"
up "the address is away"
expect_equal "its rule stands" "$(own_rule 172.16.34.1 941)
$(own_rule 172.16.34.2 942)" "$(own_rules B)"
asked "taken down" IFACE=ib1 MODE=stop "$HOOKS/ifupdown"
expect_rules B "$(rule_line 172.16.34.1 941)"
ip -n B address add 172.16.34.2/16 dev ib1
up "back"
expect_equal "back as it was" "$applied" "$(state B | tidy)"

# Who undoes it again and again is left alone, but not by the event of that NIC.
fought() { [[ $(journal 1) == *"ib1: something undoes again and again"* ]]; }
fight() {
    ip -n B rule del from 172.16.34.2 2>/dev/null || true
    fought
}
wait_until 20 fight
while ip -n B rule del from 172.16.34.2 2>/dev/null; do :; done # there are two
asked "another NIC's event" "$HOOKS/nm-dispatcher" ib0 up
expect_equal "ib1 is left alone" "$(own_rule 172.16.34.1 941)" "$(own_rules B | grep -v 'from 172.16.34.2' || true)"
expect_equal "its rule is missing" "" "$(own_rules B | grep 'from 172.16.34.2 lookup' || true)"
up "its own event"
expect_equal "back as it was" "$applied" "$(state B | tidy)"

# No answer before all is done: here --watch waits for the lock. And no pause before it, whatever came before.
sysctl_set B ib1 arp_announce 0
exec 9<"$(find /run/ib-hook -name '*.lock')"
flock 9
with_sys B env -i "$HOOKS/nm-dispatcher" ib1 up </dev/null 9>&- &
hook=$!
has_lock_open() { find "/proc/$watch/fd" -lname '/run/ib-hook/*.lock' | grep -q .; }
wait_until 5 has_lock_open
end=$((${EPOCHREALTIME/[.,]/} + 300000))
while [ "${EPOCHREALTIME/[.,]/}" -lt $end ]; do
    kill -0 $hook 2>/dev/null || fail "the hook ends before --watch has begun"
done
flock -u 9
exec 9>&-
wait $hook
expect_equal "all is done when it ends" "$applied" "$(state B | tidy)"
start=${EPOCHREALTIME/[.,]/}
for i in $(seq 20); do
    sysctl_set B ib1 arp_announce 0
    up "$i" >/dev/null
    expect_equal "call $i: all is done" 2 "$(on B cat $CONF/ib1/arp_announce)"
done
took=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
[ $took -lt 5000 ] || fail "20 hooks, one after the other, took $took ms: --watch pauses before it answers"
ok "20 hooks took $took ms"

# Many at once share a look.
sysctl_set B ib1 arp_announce 0
kill -STOP "$watch"
before=$(looks)
hooks=()
for i in $(seq 16); do
    with_sys B env -i IFACE=ib1 MODE=start "$HOOKS/ifupdown" </dev/null &
    hooks+=($!)
done
queued() { [ "$(on B ss -xlH | awk -v path="$socket" '$5 == path { print $3 }')" = "$1" ]; }
wait_until 5 queued 16
kill -CONT "$watch"
wait "${hooks[@]}"
expect_equal "16 at once: back as it was" "$applied" "$(state B | tidy)"
expect_at_least "16 at once share a few looks" $(($(looks) - before)) 4
watch_stop
expect_equal "--watch takes its socket along" "" "$(find /run/ib-hook -type s)"
