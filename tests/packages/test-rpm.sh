#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The RPM: installed, upgraded and erased, in the making of an image and on a system that runs. Installing it changes no running
# service and no running network; the next event does.
. "$(dirname "$0")/lib.sh"

make_root
make_hosts 2 B
pure=$(state B)
# What the managers' packages have, and systemd.
mkdir -p $root/etc/ib-hook $root/etc/NetworkManager/dispatcher.d/pre-up.d $root/usr/lib/NetworkManager/dispatcher.d/pre-up.d \
    $root/etc/networkd-dispatcher/{configured,degraded,no-carrier,off,routable}.d $root/usr/lib/{tmpfiles.d,systemd/system} \
    $root/usr/share/{licenses,zsh/site-functions,bash-completion/completions}
printf '[interface ib*]\nmanage=yes\n' >$root/etc/ib-hook/ib-hook.conf # there is no RDMA here
printf '#!/bin/sh\necho mine\n' >$root/usr/sbin/ifup-local
chmod 0755 $root/usr/sbin/ifup-local
ln -s /dev/null $root/etc/networkd-dispatcher/off.d/50-ib-hook

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

files >$work/before
said=$(run_rpm -i "$rpm" "$network_scripts")
expect_contains "of an administrator's own file or mask, it says that it stays" "/usr/sbin/ifup-local.rpmnew" "$said"
expect_equal "that is all it says" 2 "$(wc -l <<<"$said")"
expect_equal "an administrator's ifup-local is as it was" "echo mine" "$(tail -n 1 $root/usr/sbin/ifup-local)"
expect_equal "so is a mask" /dev/null "$(readlink $root/etc/networkd-dispatcher/off.d/50-ib-hook)"
rm $root/usr/sbin/ifup-local.rpmnew $root/etc/networkd-dispatcher/off.d/50-ib-hook.rpmnew
expect_equal "all links are there" "$({ grep -e ^./etc/ "$top/tests/installed-files" | grep -v /etc/network/ | sed 's/^.//' && echo /usr/sbin/ifdown-local; } | sort)" \
    "$(links | sed 's/ ->.*//')"

ln -sf /dev/null $root/etc/NetworkManager/dispatcher.d/50-ib-hook
files >$work/changed
expect_equal "an upgrade says nothing" "" "$(run_rpm -U "$later")"
expect_equal "it is the only one then" 2 "$(rpm --root $root --dbpath /var/lib/rpm -q --queryformat '%{RELEASE}' ib-hook)"
expect_equal "and leaves masks and files as they are" "" "$(since $work/changed)"
ln -sf /usr/lib/NetworkManager/dispatcher.d/50-ib-hook $root/etc/NetworkManager/dispatcher.d/50-ib-hook

touch $root/var/lib/ib-hook/rails
run_rpm -e ib-hook ib-hook-network-scripts >$work/log
rm -f $root/etc/networkd-dispatcher/off.d/50-ib-hook* $root/usr/sbin/ifup-local*
expect_equal "erasing it leaves what was there before; what was an administrator's is his" \
    "< etc/networkd-dispatcher/off.d/50-ib-hook l 777 /dev/null
< usr/sbin/ifup-local f 755" "$(since $work/before)"
expect_equal "nothing touched the network" "$pure" "$(state B)"

pretend_booted
expect_equal "on a system that runs, it says nothing" "" "$(run_rpm -i "$rpm")"
expect_equal "and changes nothing of the network" "$pure" "$(state B)"
expect_equal "of services it asks for the presets alone" "systemctl --no-reload preset ib-hook.service ib-hook-watch.service: 0 rules" "$(calls .)"
inside env NM_DISPATCHER_ACTION=up DEVICE_IFACE=ib0 /etc/NetworkManager/dispatcher.d/50-ib-hook ib0 up
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
ok "the next event routes the NICs, without any preset"

inside ib-hook --undo >$work/log
run_rpm -U "$later" >$work/log
expect_nothing_of_ours B
expect_equal "an upgrade starts ib-hook-watch.service anew, if it runs" "systemctl try-restart ib-hook-watch.service: 0 rules" "$(calls .)"
inside ib-hook --apply >$work/log
run_rpm -e ib-hook >$work/log
expect_equal "erased, all is as it was before" "$pure" "$(state B)"
expect_contains "ib-hook-watch.service stopped before anything was undone" \
    "systemctl --no-reload disable --now ib-hook-watch.service ib-hook.service: 4 rules" "$(calls disable)"
expect_equal "nothing is left" "" "$(links; ls $root/run/ib-hook 2>/dev/null || true)"
