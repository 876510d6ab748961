#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A trial (--apply --confirm) beside what happens meanwhile: a plain --apply is part of it; a state that cannot be written is
# tried again; NICs that it was not about stay rails, and what it gave back is in nobody's way.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
know_both_states B
configured() { expect_hook "$1" B --config /etc/ib-hook/ib-hook.conf "${@:2}"; } # STATUS ARGUMENT…
event() { manager_calls B IFACE=ib1 MODE=start "$HOOKS/ifupdown"; }
nobody_waits() { ! pgrep -f -x -- "$IB_HOOK .*--apply .*" >/dev/null; }

# Else values without the rules that they need would stay, and the NIC would be cut off.
system_config '[defaults]'
configured 0 --apply --confirm 2
system_config '[defaults]
arp=strict'
configured 0 --apply
expect_contains "a plain --apply is part of the trial" "the state before comes back in" "$out"
wait_until 8 is "$before"
wait_until 5 nobody_waits
expect_equal "all of it is given back" "$before" "$(state B)"
expect_hook 0 B --apply -q
expect_hook 0 B --undo -q

# Without its state, the next event would route these NICs again.
mkdir -p /run/ib-hook
mount -t tmpfs -o size=64k,mode=0755 tmpfs /run/ib-hook
journal_start
expect_hook 0 B --apply --confirm 1
head -c 1M /dev/zero >/run/ib-hook/junk 2>/dev/null || true
wait_until 8 is "$before"
event
rm /run/ib-hook/junk
wait_until 20 nobody_waits
expect_equal "once there is room again, it is given back for good" "$before" "$(state B)"
event
expect_equal "and hooks leave it so" "$before" "$(state B)"
umount /run/ib-hook
expect_hook 0 B --apply -q

# One rail is given back; the other one is cared for, and gives neither its table nor its values away.
sysctl_set B all rp_filter 0
for nic in ib0 ib1; do sysctl_set B $nic rp_filter 1; done
system_config '[defaults]'
configured 0 --apply -q
values="$(sysctl_get B ib0 arp_ignore) $(sysctl_get B ib0 arp_filter)"
system_config '[interface ib1]
gateway=172.16.0.254'
configured 0 --apply --iface ib1 --confirm 1 -q
wait_until 8 nobody_waits
system_config '[interface ib0]
table=942'
event
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_equal "the values of the other one" "$values" "$(sysctl_get B ib0 arp_ignore) $(sysctl_get B ib0 arp_filter)"
ip -n B link set ib0 down
ip -n B link set ib0 up
event
expect_contains "and it is routed again" "dev ib0 table" \
    "$(ip -n B route get 172.16.16.1 from 172.16.34.1)"

# Whose time has long been over, since its process was killed, or tries in vain, no plain --apply is part of.
configured 0 --undo -q
configured 0 --apply --confirm 1
pid=$(pgrep -f -x -- "$IB_HOOK .*--apply .*")
kill -KILL "$pid"
wait_until 5 nobody_waits
past() { [ $((${EPOCHREALTIME/[.,]/} - start)) -gt 7000000 ]; }
start=${EPOCHREALTIME/[.,]/}
wait_until 10 past
expect_hook 0 B --undo --iface ib0 --iface ib1 -q
configured 0 --apply
expect_equal "it is no part of one that was killed" "" "$(grep "comes back" <<<"$out" || true)"
