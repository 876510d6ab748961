#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The check for NHC, with what NHC offers to checks: die and log.
. "$(dirname "$0")/../netns/lib.sh"
make_hosts 2 A

cat >"$work/nhc" <<'END'
die() { shift; echo "die: $*"; }
log() { echo "log: $*"; false; } # as NHC does where it is silent
. "$1"
shift
check_ib_hook "$@"
echo "status $?"
END
cat >"$work/sleep" <<'END'
#!/bin/sh
eval "$BETWEEN" # the two looks
echo "slept $1"
END
chmod +x "$work/sleep"
printf '#!/bin/sh\nexec %s --sysfs /run/sys/A "$@"\n' "$IB_HOOK" >"$work/ib-hook"
chmod +x "$work/ib-hook"
nhc() { # ARGUMENT…
    PATH=$work:$PATH on A bash "$work/nhc" "$top/packaging/fleet/ib-hook.nhc" "$@"
}

hook A --apply >/dev/null
expect_equal "a healthy node" "status 0" "$(nhc)"
on A ip rule del priority 1941 lookup 942
expect_equal "a broken rail" "slept 10
die: check_ib_hook:  ib1 rule-missing: no rule for what comes from 172.16.16.2 (to table 942), so it leaves by whichever NIC main prefers
status 1" "$(nhc)"
expect_equal "repaired between the two looks" "slept 3
status 0" "$(BETWEEN="ib-hook --apply --quiet >/dev/null" IB_HOOK_AGAIN=3 nhc)"
on A ip rule del priority 1941 lookup 942
expect_equal "something else is no second time" "slept 10
status 0" "$(BETWEEN="ib-hook --apply --quiet >/dev/null; ip link set ib0 down" nhc)"
on A ip link set ib0 up
hook A --apply >/dev/null
on A sysctl -q -w net.ipv4.conf.ib0.arp_ignore=0
expect_equal "a warning is no reason" "status 0" "$(nhc)"
expect_equal "but if told so; NHC gives it to a shell, between '" \
    "slept 10
die: check_ib_hook:  ib0 effective-sysctl: its arp_ignore is 0, ib-hook wants 1: it answers ARP for other NICs addresses, and peers send to the wrong one
status 1" "$(nhc warning)"

hook A --undo >/dev/null
expect_contains "a rail that is held carries nothing as it should" "die: check_ib_hook:  ib0 held: left alone since --undo" "$(nhc)"
hook A --apply >/dev/null

expect_equal "as many rails as there should be" "status 0" "$(nhc error 2)"
on A ip link delete ib1
hook A --apply >/dev/null
expect_equal "a rail that is gone is a warning itself" "status 0" "$(nhc)"
expect_equal "which counts if told so" "slept 10
die: check_ib_hook:  ib1 nic-gone: it was a rail (table 942), and this NIC is gone: what used it goes by other NICs, or nowhere
status 1" "$(nhc warning)"
expect_equal "but if it should be there" "slept 10
die: check_ib_hook:  rail-gone: 1 of 2 left, ib-hook --show says of each NIC why it is none
status 1" "$(nhc error 2)"
printf '#!/bin/sh\necho "no configuration"; exit 2\n' >"$work/ib-hook"
expect_equal "what it cannot tell is no reason" "log: check_ib_hook:  ib-hook --check could not tell (status 2):  no configuration
status 0" "$(nhc)"
