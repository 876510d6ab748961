#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The RPM: installed, upgraded and erased, in the making of an image and on a system that runs.
. "$(dirname "$0")/lib.sh"

make_root
make_hosts 2 B
pure=$(state B)
mkdir -p $root/etc/ib-hook $root/etc/sysconfig/network-scripts $root/usr/lib/tmpfiles.d # which systemd has
touch $root/etc/sysconfig/network-scripts/ifup-post
printf '[interface ib*]\nmanage=yes\n' >$root/etc/ib-hook/ib-hook.conf # there is no RDMA here
printf '#!/bin/sh\necho mine\n' >$root/usr/sbin/ifup-local
chmod 0755 $root/usr/sbin/ifup-local

run_rpm() { # ARGUMENT…: what it, and our scripts, say
    : >$root/run/calls
    on B rpm --root $root --dbpath /var/lib/rpm --nodeps "$@" 2>&1 | sed '/^rpm: /d' # Debian's wants to be alien
}

later_rpm() { # → its file
    "$top/packaging/source-tree.sh" $work/later/tree
    sed -i 's/^Release: *1/Release: 2/' $work/later/tree/packaging/rpm/ib-hook.spec
    repack_rpm $work/later
}
later=$(later_rpm)

mkdir -p $root/usr/share/licenses # of the package filesystem
files >$work/before
said=$(run_rpm -i "$rpm")
expect_equal "of an administrator's ifup-local, it prints what it should have" \
    'ib-hook: /sbin/ifup-local is not ours and stays as it is; it should have the line: /usr/libexec/ib-hook/ifup-local "$@"' "$said"
expect_equal "all other links are made" "$({ grep -e ^./etc/ "$top/tests/installed-files" | sed 's/^.//' && echo /usr/sbin/ifdown-local; } | sort)" \
    "$(links | sed 's/ ->.*//')"

rm $root/etc/network/if-up.d/ib-hook $root/usr/sbin/ifdown-local
ln -sf /dev/null $root/etc/NetworkManager/dispatcher.d/50-ib-hook
files >$work/changed
ln -sf /usr/libexec/ib-hook/nm-dispatcher $root/etc/NetworkManager/dispatcher.d/pre-up.d/50-ib-hook
expect_equal "an upgrade says nothing" "" "$(run_rpm -U "$later")"
expect_equal "it is the only one then" 2 "$(rpm --root $root --dbpath /var/lib/rpm -q --queryformat '%{RELEASE}' ib-hook)"
expect_equal "and leaves the links as they are, but for one to where the program was" "" "$(since $work/changed)"

expect_equal "erasing it says nothing" "" "$(run_rpm -e ib-hook)"
expect_equal "and leaves what was there before, ifup-local too" "" "$(since $work/before)"
expect_equal "nothing touched the network" "$pure" "$(state B)"

rm -r $root/usr/sbin/ifup-local
pretend_booted
said=$(run_rpm -i "$rpm")
expect_contains "on a system that runs, NICs are routed" "applied: 12 changes" "$said"
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_contains "before that, /run/ib-hook has got its label" "systemd-tmpfiles --create ib-hook.conf: 0 rules" "$(calls tmpfiles)"
expect_equal "ifup-local and ifdown-local are links" "ifdown-local -> /usr/libexec/ib-hook/ifdown-local
ifup-local -> /usr/libexec/ib-hook/ifup-local" "$(links | sed -n 's,^/usr/sbin/,,p')"
expect_contains "ib-hook-watch.service starts then" "systemctl start ib-hook-watch.service: 4 rules" "$(calls start)"
expect_contains "whether both start at the next boot, the presets say" "systemctl --no-reload preset ib-hook.service ib-hook-watch.service" "$(calls preset)"
expect_contains "networkd-dispatcher has its first hook" "systemctl start networkd-dispatcher.service" "$(calls start)"

inside ib-hook --undo >$work/log
run_rpm -U "$later" >$work/log
expect_nothing_of_ours B
expect_equal "an upgrade starts ib-hook-watch.service anew, if it runs" "systemctl try-restart ib-hook-watch.service: 0 rules" \
    "$(calls start)"
inside ib-hook --apply >$work/log
run_rpm -e ib-hook >$work/log
expect_equal "erased, all is as it was before" "$pure" "$(state B)"
expect_contains "ib-hook-watch.service stopped before anything was undone" \
    "systemctl --no-reload disable --now ib-hook-watch.service ib-hook.service: 4 rules" "$(calls disable)"
expect_equal "nothing is left" "" "$(links; ls $root/run/ib-hook 2>/dev/null || true)"

# Presets that leave services off, and no network-scripts.
sed -i 's/^    \*is-enabled\*.*/    *is-enabled*) exit 1 ;;/' $root/usr/bin/systemctl
rm -r $root/etc/sysconfig
said=$(run_rpm -i "$rpm")
expect_contains "where presets leave it off, it says so" "ib-hook-watch.service, which repairs what no manager announces, is off" "$said"
expect_lacks "and does not start it" "systemctl start ib-hook-watch.service" "$(calls start)"
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
expect_equal "without network-scripts there is no ifup-local" "" "$(links | grep local || true)"
