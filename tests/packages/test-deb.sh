#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Debian package where nothing is booted, as in the making of an image: installed, upgraded, removed, purged.
. "$(dirname "$0")/lib.sh"

make_root
make_hosts 2 B
pure=$(state B)
mkdir -p $root/etc/ib-hook
printf '[interface ib*]\nmanage=yes\n' >$root/etc/ib-hook/ib-hook.conf # there is no RDMA here
files >$work/before

install() { # DEB [kept]: with "kept", what an administrator made of links is so before postinst, too
    cp "$1" $root/ib-hook.deb
    if [ "${2:-}" = kept ]; then
        inside dpkg --unpack /ib-hook.deb >$work/log 2>&1
        expect_equal "before postinst runs, no deleted or masked link is back" "$(links_of $work/changed)" "$(links_of <(files))"
    fi
    expect_equal "dpkg -i says nothing of ours" "" "$(inside dpkg -i /ib-hook.deb 2>$work/err | grep ib-hook: || true)"
    expect_equal "nor is there an error" "" "$(<$work/err)"
    rm $root/ib-hook.deb
}

links_of() { # FILE, with files
    grep -e '^etc/.*ib-hook ' "$1" | grep -v -e pre-up.d -e '^etc/systemd'
}

all_links=$(grep -e ^./etc/ "$top/tests/installed-files" | sed 's/^.//' | sort)
install "$deb"
expect_equal "all links are made" "$all_links" "$(links | sed 's/ ->.*//')"
while read -r link _ program; do
    [ "$(stat -Lc '%u %a %F' "$root$program")" = "0 755 regular file" ] || fail "$link -> $program"
done < <(links)
ok "each leads to a program of root's, 0755"
expect_equal "networkd-dispatcher's directories are as it wants them" "755 0 0" \
    "$(stat -c '%a %u %g' $root/etc/networkd-dispatcher/*.d | sort -u)"
expect_equal "both services start at the next boot" "ib-hook-watch.service ib-hook.service" \
    "$(basename -a $root/etc/systemd/system/multi-user.target.wants/* | sort | xargs)"
expect_equal "ib-hook.service with systemd-networkd and the network, too" "network-online.target systemd-networkd.service" \
    "$(cd $root/etc/systemd/system && echo */ib-hook.service | sed 's,multi-user.target.wants/ib-hook.service ,,; s,\.wants/ib-hook.service,,g')"

# shellcheck disable=SC2086 # a list of words
expect_equal "dpkg -S knows them" "$all_links" "$(inside dpkg -S $all_links | sed 's/^ib-hook: //' | sort)"
expect_equal "dpkg -V finds all as it was installed" "" "$(inside dpkg -V ib-hook)"

# What an administrator did to links and services stays, and what was moved away from there.
mkdir -p $root/var/lib/ib-hook/replaced/etc/network/if-up.d
touch $root/var/lib/ib-hook/replaced/etc/network/if-up.d/route-ib.q7Xw2a
rm $root/etc/network/if-up.d/ib-hook
ln -sf /dev/null $root/etc/NetworkManager/dispatcher.d/50-ib-hook
printf '#!/bin/sh\nexit 0\n' >$root/etc/network/own && chmod 0755 $root/etc/network/own
mv -f $root/etc/network/own $root/etc/network/if-post-down.d/ib-hook
ln -sf /usr/bin/true $root/etc/networkd-dispatcher/off.d/50-ib-hook
expect_equal "dpkg -V says which link is gone" "missing     /etc/network/if-up.d/ib-hook" "$(inside dpkg -V ib-hook || true)"
rm $root/etc/systemd/system/multi-user.target.wants/ib-hook-watch.service
files | grep -v var/lib/systemd >$work/changed
# Where this link led to at first; NetworkManager would take it for a hook that is missing.
ln -sf /usr/libexec/ib-hook/nm-dispatcher $root/etc/NetworkManager/dispatcher.d/pre-up.d/50-ib-hook
newer=$(newer)
install "$newer" kept
expect_equal "an upgrade leaves links and services as they are, but for a link to where the program was" "" "$(since $work/changed | grep -v var/lib/systemd || true)"

inside dpkg -r ib-hook >$work/log 2>&1
expect_equal "of the links, removal leaves what is the administrator's" \
    "/etc/NetworkManager/dispatcher.d/50-ib-hook -> /dev/null
/etc/networkd-dispatcher/off.d/50-ib-hook -> /usr/bin/true" "$(links)"
expect_equal "his own hook, too" "$(printf '#!/bin/sh\nexit 0')" "$(<$root/etc/network/if-post-down.d/ib-hook)"
rm $root/etc/network/if-post-down.d/ib-hook $root/etc/networkd-dispatcher/off.d/50-ib-hook
expect_equal "nothing of ours can run any more" "" "$(cd $root && find usr lib/ -name '*ib-hook*' ! -path '*/man/*')"

install "$newer"
expect_equal "installed again, the deleted link is back and the masked one is not" \
    "${all_links/dispatcher.d\/50-ib-hook/dispatcher.d/50-ib-hook -> /dev/null}" \
    "$(links | sed '/null$/!s/ ->.*//')"

inside dpkg -P ib-hook >$work/log 2>&1
expect_equal "no script of the administrator's is lost" "route-ib.q7Xw2a" \
    "$(cd $root/var/lib/ib-hook && [ ! -e removed ] && basename "$(find . -type f)")"
rm -r $root/var/lib/ib-hook
expect_equal "purging leaves what was there before" "" "$(since $work/before)"
rm -r $root/etc/ib-hook
mkdir -p $root/etc/ib-hook/conf.d
install "$deb"
touch $root/run/left && mkdir $root/run/ib-hook && touch $root/run/ib-hook/state
inside dpkg -P ib-hook >$work/log 2>&1
expect_equal "and no empty /etc/ib-hook, no /run/ib-hook" "< etc/ib-hook d 755
< etc/ib-hook/ib-hook.conf f 644
> left f 644" "$(since $work/before)"
expect_equal "nothing touched the network" "$pure" "$(state B)"
