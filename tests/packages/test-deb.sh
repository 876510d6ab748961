#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Debian package where nothing is booted, as in the making of an image: installed, upgraded, removed, purged.
. "$(dirname "$0")/lib.sh"

make_root
make_hosts 2 B
pure=$(state B)
files >$work/before

install() { # DEB
    cp "$1" $root/ib-hook.deb
    expect_equal "dpkg -i says nothing of ours" "" "$(inside dpkg -i /ib-hook.deb 2>$work/err | grep ib-hook: || true)"
    expect_equal "nor is there an error" "" "$(grep -v ' downgrading ' $work/err || true)"
    rm $root/ib-hook.deb
}

all_links=$(grep -e ^./etc/ "$top/tests/installed-files" | sed 's/^.//' | sort)
install "$deb"
mkdir -p $root/etc/ib-hook
printf '[interface ib*]\nmanage=yes\n' >$root/etc/ib-hook/ib-hook.conf # there is no RDMA here
expect_equal "all links are there" "$all_links" "$(links | sed 's/ ->.*//')"
while read -r link _ program; do
    [ "$(stat -Lc '%u %a %F' "$root$program")" = "0 755 regular file" ] || fail "$link -> $program"
done < <(links)
ok "each leads to a program of root's, 0755"
expect_equal "networkd-dispatcher's directories are as it wants them" "755 0 0" \
    "$(stat -c '%a %u %g' $root/etc/networkd-dispatcher/*.d | sort -u)"
# shellcheck disable=SC2016 # for zsh
expect_equal "a zsh that is new here has its completion" _ib-hook \
    "$(inside zsh -f -c 'autoload -U compinit && compinit -D && print -r -- $_comps[ib-hook]')"
expect_equal "known rails have a directory of root's" "755 0 0" "$(stat -c '%a %u %g' $root/var/lib/ib-hook)"
expect_equal "both services start at the next boot" "ib-hook-watch.service ib-hook.service" \
    "$(basename -a $root/etc/systemd/system/multi-user.target.wants/* | sort | xargs)"
expect_equal "ib-hook.service with systemd-networkd and the network, too" "network-online.target systemd-networkd.service" \
    "$(cd $root/etc/systemd/system && echo */ib-hook.service | sed 's,multi-user.target.wants/ib-hook.service ,,; s,\.wants/ib-hook.service,,g')"

# shellcheck disable=SC2086 # a list of words
expect_equal "dpkg -S knows them" "$all_links" "$(inside dpkg -S $all_links | sed 's/^ib-hook: //' | sort)"
expect_equal "dpkg -V finds all as it was installed" "" "$(inside dpkg -V ib-hook)"
expect_equal "its files are the package's: no script made one" "" \
    "$(since $work/before | sed -n 's/^> \([^ ]*\) .*/\1/p' | grep -v -e '^etc/systemd' -e ^var/lib/systemd -e 'etc/ib-hook/ib-hook.conf' |
        while read -r file; do inside dpkg -S "/$file" >/dev/null 2>&1 || inside dpkg -S "/${file#usr/}" >/dev/null 2>&1 || echo "$file"; done)"

# What an administrator did to services stays. Links are the package's: manage=no is what switches ib-hook off.
rm $root/etc/network/if-up.d/ib-hook $root/etc/systemd/system/multi-user.target.wants/ib-hook-watch.service
ln -sf /dev/null $root/etc/NetworkManager/dispatcher.d/50-ib-hook
install "$(newer)"
expect_equal "an upgrade puts links back, as the manual says" "$all_links" "$(links | grep -v null | sed 's/ ->.*//')"
expect_equal "and leaves the services as they are" ib-hook.service "$(basename -a $root/etc/systemd/system/multi-user.target.wants/*)"
install "$(older)"
expect_equal "so does a downgrade" "$all_links ib-hook.service" \
    "$(links | grep -v null | sed 's/ ->.*//') $(basename -a $root/etc/systemd/system/multi-user.target.wants/*)"

touch $root/var/lib/ib-hook/rails
inside dpkg -r ib-hook >$work/log 2>&1
expect_equal "no link is left when it is removed" "" "$(links)"
expect_equal "nothing of ours can run any more" "" "$(cd $root && find usr lib/ -name '*ib-hook*' ! -path '*/man/*')"
expect_equal "configuration and known rails stay" "etc/ib-hook/ib-hook.conf var/lib/ib-hook/rails" \
    "$(cd $root && find etc/ib-hook var/lib/ib-hook -type f | sort | xargs)"

install "$deb"
expect_equal "installed again, all links are there" "$all_links" "$(links | sed 's/ ->.*//')"
rm $root/etc/ib-hook/ib-hook.conf
mkdir -p $root/run/ib-hook && touch $root/run/ib-hook/state
inside dpkg -P ib-hook >$work/log 2>&1
expect_equal "in a chroot, /run may be the host's" state "$(ls $root/run/ib-hook)"
rm -r $root/run/ib-hook
expect_equal "purging leaves what was there before, /var/lib included" "" "$(since $work/before)"
expect_equal "nothing touched the network" "$pure" "$(state B)"
