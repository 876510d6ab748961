#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Debian package on a system that runs: routed once installed, left alone by upgrades, as it was once removed.
. "$(dirname "$0")/lib.sh"

make_root
make_hosts 2 B
mkdir -p $root/etc/ib-hook
printf '[interface ib*]\nmanage=yes\n' >$root/etc/ib-hook/ib-hook.conf # there is no RDMA here
pure=$(state B)
cp "$deb" $root/ib-hook.deb
cp "$(newer)" $root/newer.deb

dpkg_says() { # ARGUMENT…: what it, and our scripts, say
    : >$root/run/calls
    inside dpkg --no-triggers "$@" 2>&1 | grep -v -e '^(Reading' -e '^Selecting' -e '^Preparing' -e '^Unpacking' -e '^Setting' -e '^Removing'
}

# In a chroot of a running system, all looks as if it ran: systemctl does nothing there.
pretend_booted
pretend_chroot 0
cp $root/usr/bin/systemctl $work/systemctl
printf '#!/bin/sh\n' >$root/usr/bin/systemctl
dpkg_says -i /ib-hook.deb >$work/log || true
expect_equal "in a chroot, nothing is routed" "$pure" "$(state B)"
inside dpkg -P ib-hook >$work/log 2>&1
expect_equal "nor undone" "$pure" "$(state B)"

pretend_booted
dpkg_says -i /ib-hook.deb >$work/said || true
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_contains "before that, /run/ib-hook has got its label" "systemd-tmpfiles --create ib-hook.conf: 0 rules" "$(calls tmpfiles)"
expect_contains "by its service, which starts as those of all packages do" start "$(calls " ib-hook.service")"
expect_contains "ib-hook-watch.service starts" "start ib-hook-watch.service" "$(calls watch)"
expect_contains "and networkd-dispatcher, which had no hook" "--system start networkd-dispatcher.service: 4 rules" "$(calls "start networkd-dispatcher")"

# --undo lasts.
inside ib-hook --undo >$work/log
dpkg_says -i /newer.deb >$work/said || true
expect_nothing_of_ours B
expect_contains "an upgrade starts ib-hook-watch.service anew" "--system restart ib-hook-watch.service" "$(calls watch)"
expect_equal "and not networkd-dispatcher" "" "$(calls "start networkd-dispatcher")"

inside ib-hook --apply >$work/log
dpkg_says -r ib-hook >$work/said || true
expect_equal "removed, all is as it was before" "$pure" "$(state B)"
expect_contains "ib-hook-watch.service stopped before anything was undone" "stop ib-hook-watch.service ib-hook.service: 4 rules" "$(calls stop)"

rm $root/run/dispatching # a reboot, at which it had no hook
dpkg_says -i /ib-hook.deb >$work/said || true
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
ok "installed again, nothing is held"
expect_contains "and networkd-dispatcher starts, also after a removal that left the configuration" \
    "start networkd-dispatcher.service" "$(calls "start networkd-dispatcher")"
dpkg_says -P ib-hook >$work/said || true
expect_equal "purged, too" "$pure" "$(state B)"

# A removal undoes also where another program than systemd is process 1.
rm -r $root/run/systemd
dpkg_says -i /ib-hook.deb >$work/said || true
inside ib-hook --apply >$work/log
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
dpkg_says -r ib-hook >$work/said || true
expect_equal "removed without systemd" "$pure" "$(state B)"
