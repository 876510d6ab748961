#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --watch repairs what no manager announces, in milliseconds, and then sleeps.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
journal_start
mkdir -p /etc/ib-hook/conf.d # as the packages have it: what is made later is found at the next look
watch_start B
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
applied=$(state B | tidy)
as_applied() { [ "$(state B | tidy)" = "$applied" ]; }
repaired() { wait_until 5 as_applied && ok "repaired: $1"; }

ip -n B link set ib1 down
ip -n B link set ib1 up
repaired "a link that went down and up"

ip -n B rule flush
ip -n B rule add lookup main priority 32766 protocol kernel
ip -n B rule add lookup default priority 32767 protocol kernel
repaired "rules that somebody flushed"

ip -n B route flush table 942
repaired "a table that somebody flushed"

ip -n B route replace 172.16.0.0/16 dev ib1 table 942 proto static metric 1768056939
ip -n B route del 172.16.0.0/16 dev ib1 table 942 proto static metric 1768056939
repaired "a route of another protocol that took the place of ours, and went"

sysctl_set B ib0 rp_filter 1
loose() { [ "$(sysctl_get B ib0 rp_filter)" = 2 ]; }
wait_until 5 loose
ok "a strict rp_filter that somebody set is loosened"
applied=$(state B | tidy)

# An address that comes, and goes: its rule goes after a second, not at once.
ip -n B address add 172.16.34.7/32 dev ib1
vip() { our_rules B | grep -q "from 172.16.34.7 "; }
wait_until 5 vip
ok "a VIP gets its rule"
ip -n B address del 172.16.34.7/32 dev ib1
wait_until 5 as_applied
ok "and it goes with it"

gone() { ! our_rules B | grep -q "from 172.16.34.2 "; }
start=${EPOCHREALTIME/[.,]/}
ip -n B address del 172.16.34.2/16 dev ib1
wait_until 5 gone
took=$((${EPOCHREALTIME/[.,]/} - start))
expect_at_least "the last address of a NIC may come back for a second" 1000000 $took
expect_sysctls B ib1 arp_announce=0 arp_ignore=1 # it does not answer for the rails
ip -n B address add 172.16.34.2/16 dev ib1
repaired "an address that came back"

# A NIC that goes and comes back as another.
remove_nic B ib1
wait_until 5 gone
add_nic B ib1 1 172.16.34.2/16
repaired "a NIC that came back with another index"

# What --undo leaves alone stays alone; other interfaces do not.
expect_hook 0 B --undo --iface ib1
ip -n B rule add from 9.9.9.9 lookup 99 # something happens
ip -n B rule del from 9.9.9.9 lookup 99
ip -n B route flush table 941
route_of_ib0() { [ -n "$(ip -n B route show table 941)" ]; }
wait_until 5 route_of_ib0
expect_rules B "$(rule_line 172.16.34.1 941)"
expect_hook 0 B --apply
repaired "held no more"

# A configuration that changed waits for --apply: somebody may still be editing.
from=$(($(journal_lines) + 1))
notices() { journal "$from" | grep -c '^5 the configuration in /etc/ib-hook is not in force: sudo ib-hook --apply; ' || true; }
noticed() { [ "$(notices)" = "$1" ]; }
on_ib0() { [ "$(our_rules B | grep -c "from 172.16.34.9 to 172.16.0.0/16 lookup 941 ")" = "$1" ]; }
something_happens() {
    ip -n B address add 172.16.34.9/32 dev ib0
    wait_until 5 on_ib0 1
    ip -n B address del 172.16.34.9/32 dev ib0
    wait_until 5 on_ib0 0
}
system_config '[interface ib1]
manage=no'
wait_until 5 noticed 1
something_happens
expect_equal "a configuration that changed is said once, and waits" "$applied 1" "$(state B | tidy) $(notices)"
printf '[interface ib1]\nmanage=on\n' >/etc/ib-hook/conf.d/50.conf
refused() { journal "$from" | grep -q '^4 /etc/ib-hook/conf.d/50.conf:2: '; }
wait_until 5 refused
something_happens
expect_equal "one with an error also waits, in conf.d, too" "$applied 1" "$(state B | tidy) $(notices)"
printf '[interface ib1]\nmanage=yes\n' >/etc/ib-hook/conf.d/50.conf
wait_until 5 noticed 2
rm /etc/ib-hook/conf.d/50.conf
wait_until 5 noticed 3
expect_hook 0 B --apply
something_happens
expect_equal "in force after --apply" "$(rule_line 172.16.34.1 941)" "$(our_rules B)"
system_config ''
wait_until 5 noticed 4
kill -HUP "$watch"
repaired "SIGHUP puts it into force as well"
expect_equal "and then it is not said" 4 "$(notices)"

# One file that no host with two rails can have: repairs go on by what is in force.
printf '[interface ib*]\ntable=950\n' >/etc/ib-hook/conf.d/50.conf
wait_until 5 noticed 5
kill -HUP "$watch"
conflict() { journal "$from" | grep -q '^4 /etc/ib-hook/conf.d/50.conf:2: table=950 of ib1, and ib0 has table=950: '; }
wait_until 5 conflict
ip -n B rule del priority 1941 from 172.16.34.2
repaired "SIGHUP with a conflict of table= changes nothing"
rm /etc/ib-hook/conf.d/50.conf
from=$(($(journal_lines) + 1))
ip -n B rule del priority 1941 from 172.16.34.2
repaired "nor is it in the way afterwards"

# An edit right after an --apply: what is in force is neither the edit nor what was in force before.
wait_until 5 calm
kill -STOP "$watch"
system_config '[interface ib1]
manage=no'
expect_hook 0 B --apply
system_config '[interface ib0]
manage=no'
kill -CONT "$watch"
wait_until 5 noticed 1
something_happens
expect_equal "what --apply read stays in force" "$(rule_line 172.16.34.1 941)" "$(our_rules B)"
watch_stop
watch_start B
wait_until 5 noticed 2
something_happens
expect_equal "also for a --watch that starts anew" "$(rule_line 172.16.34.1 941)" "$(our_rules B)"
expect_hook 0 B --apply
expect_rules B "$(rule_line 172.16.34.2 942)"
system_config ''
expect_hook 0 B --apply
repaired "the next --apply puts it into force"

# Idle: it does not even wake up.
wait_until 5 calm
ok "it sleeps"
peak=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$watch/status")
[ "$peak" -lt 6144 ] || fail "peak memory" "expected less than 6 MiB, got $peak KiB"
ok "peak memory is $peak KiB"

watch_stop
expect_equal "what it did stays when it ends" "$applied" "$(state B | tidy)"
expect_contains "systemd is told" "STOPPING=1" "$(<$work/notified)"
# Where the machine is slow, it looks while the other route is in the place of ours.
expect_equal "no warning but of the bad file" "" "$(journal 1 | sed '/^[0-4] /!d; \,^4 /etc/ib-hook/conf.d/50.conf,d
    \,^4 ib1: route-add failed: File exists (ip -4 route add 172.16.0.0/16 ,d')"

# What the kernel refuses is said once, tried again, and said again to whoever asks by SIGHUP.
ip -n B address add 10.1.0.2/24 dev ib1
ip -n B route del local 10.1.0.2 dev ib1 table local # now the kernel takes no route with this source
from=$(($(journal_lines) + 1))
complaints() { journal "$from" | grep -c '^[34] .*10\.1\.0\.0/24' || true; }
complained() { [ "$(complaints)" = "$1" ]; }
watch_start B
wait_until 5 complained 1
ip -n B address add 172.16.34.8/32 dev ib0
other() { our_rules B | grep -q "from 172.16.34.8 to 172.16.0.0/16 lookup 941 "; }
wait_until 5 other
expect_equal "other rails are kept; what stays wrong is said once" 1 "$(complaints)"
kill -HUP "$watch"
wait_until 5 complained 2
ok "SIGHUP: it is said again"
# A look takes back what it could do before the kernel refused the rest, and does not wake itself by that.
timeout 4 ip -n B monitor route >$work/reports &
monitor=$!
reported() { ip -n B route add blackhole 192.0.2.1 && ip -n B route del blackhole 192.0.2.1 && grep -q 192.0.2.1 $work/reports; }
wait_until 3 reported
ip -n B route flush table 942
wait "$monitor" || true
taken_back=$(grep -c '^Deleted 172.16.0.0/16 dev ib1 table 942' $work/reports)
[[ $taken_back =~ ^[3-9]$ ]] || fail "it tries again after pauses that grow" "in 4 s it took its route back $taken_back times"
ok "it tries again after pauses that grow"
ip -n B address del 10.1.0.2/24 dev ib1
ip -n B address add 10.1.0.2/24 dev ib1
right() { our_rules B | grep -q "from 10.1.0.2 "; }
wait_until 5 right
ok "with the cause gone, so is the trouble"
watch_stop

# As systemd tells it: a socket that is no file; how often, and which process, has to say that it is alive.
nsenter --net=/run/netns/B "$LISTEN" @ib-hook-test >$work/heard &
bound() { on B grep -q '@ib-hook-test$' /proc/net/unix; }
wait_until 5 bound
# told VARIABLE=VALUE…: a watch in this environment; its process id is in $watch
told() {
    : >$work/heard
    nsenter --net=/run/netns/B env "$@" "$IB_HOOK" --sysfs /run/sys/B --watch >$work/watch.out 2>&1 &
    watch=$!
}
heard() { [ "$(grep -c "^$1" $work/heard)" -ge "$2" ]; }
told NOTIFY_SOCKET=@ib-hook-test WATCHDOG_USEC=100000
wait_until 5 heard WATCHDOG=1 3
ok "it says again and again that it is alive"
watch_stop
wait_until 5 heard STOPPING=1 1 # else it may be heard from the next one
told NOTIFY_SOCKET=@ib-hook-test WATCHDOG_USEC=100000 WATCHDOG_PID=1
wait_until 5 heard READY=1 1
watch_stop
wait_until 5 heard STOPPING=1 1
expect_lacks "not if another process is asked" WATCHDOG "$(<$work/heard)"
told NOTIFY_SOCKET=nonsense
ip -n B rule del from 172.16.34.8 lookup 941
wait_until 5 other
ok "a socket that is none does not matter"
watch_stop

# Whoever removes /run/ib-hook removes its sign; it makes both anew.
watch_start B
rm -rf /run/ib-hook
has_sign() { ip -n B rule del from 172.16.34.2 lookup 942 2>/dev/null; [ -n "$(find /run/ib-hook -name '*.watch')" ]; }
wait_until 10 has_sign
watch_stop

# Users cannot test its lock: the file is their sign that it runs, and goes with it.
expect_equal "it leaves no file that says it runs" "" "$(find /run/ib-hook -name '*.watch')"
