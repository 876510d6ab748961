#!/bin/bash
# The check for NHC, with what NHC offers to checks: die and log.
. "$(dirname "$0")/../netns/lib.sh"
make_hosts 2 A

cat >"$work/nhc" <<'END'
die() { shift; echo "die: $*"; }
log() { echo "log: $*"; }
. "$1"
shift
check_ib_hook "$@"
echo "status $?"
END
printf '#!/bin/sh\nexec %s --sysfs /run/sys/A "$@"\n' "$IB_HOOK" >"$work/ib-hook"
chmod +x "$work/ib-hook"
nhc() { # ARGUMENT…
    PATH=$work:$PATH on A bash "$work/nhc" "$top/packaging/fleet/ib-hook.nhc" "$@"
}

hook A --apply >/dev/null
expect_equal "a healthy node" "status 0" "$(nhc)"
on A ip rule del priority 1941 lookup 942
expect_equal "a broken rail" "die: check_ib_hook:  ib1 rule-missing: no rule for what comes from 172.16.16.2 (to table 942), so it leaves by whichever NIC main prefers
status 1" "$(nhc)"
hook A --apply >/dev/null
on A sysctl -q -w net.ipv4.conf.ib0.arp_ignore=0
expect_equal "a warning is no reason" "status 0" "$(nhc)"
expect_equal "but if told so; NHC gives it to a shell, between '" \
    "die: check_ib_hook:  ib0 effective-sysctl: arp_ignore is 0, not 1: it answers ARP for other NICs addresses, and peers send to the wrong one
status 1" "$(nhc warning)"
printf '#!/bin/sh\necho "no configuration"; exit 2\n' >"$work/ib-hook"
expect_equal "what it cannot tell is no reason" "log: check_ib_hook:  ib-hook --check could not tell (status 2):  no configuration
status 0" "$(nhc)"
