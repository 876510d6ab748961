#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# After a boot, both NICs are rails as soon as the network is said to be online, and nothing else has changed.
. "$(dirname "$0")/lib.sh"

if [ "$MODE" = before ]; then # what it is without ib-hook, and what must be found unchanged with it
    forget A
    expect_equal "without ib-hook, the other NIC answers, too" "ib0 ib1" "$(arp_answers A ib0 172.16.16.1 B 172.16.34.2)"
    foreign_routing >"$RESULTS/../foreign.$SYSTEM"
    # supported.md names the versions that are booted here.
    named=$(sed -n "s,^| [^|]* | \([^|]*\) | booted | managers/$SYSTEM |$,\1,p" "$managers/../../packaging/doc/supported.md")
    while read -r program version; do
        case $program in
            NetworkManager) package=network-manager ;;
            systemd-networkd) package=systemd ;;
            netplan) package=netplan.io ;;
            *) package=$program ;;
        esac
        # shellcheck disable=SC2016 # dpkg-query's format
        expect_contains "the page's version of $program" " $version" " $(host dpkg-query -W -f='${Version}' "$package")"
    done < <(grep -oE '[A-Za-z-]+2? [0-9][0-9.]*' <<<"$named")
    expect_contains "the page names it with its version" " " "$(grep -oE '[A-Za-z-]+2? [0-9][0-9.]*' <<<"$named")"
    exit 0
fi

host systemctl -q is-active network-online.target
host cat /run/check-at-boot.json >$work/at-boot.json
expect_checked "the check, when the network was online" "$RAILS" "$(host cat /run/check-at-boot.status)" $work/at-boot.json
expect_rails_right "after the boot"
expect_equal "rules and routes that are not ours" "$(<"$RESULTS/../foreign.$SYSTEM")" "$(foreign_routing)"
expect_quiet_journal
# The NIC that gets its address later may have been told meanwhile not to answer for the other one.
expect_equal "lines in the journal, one for each rail" "2 2" \
    "$(own_journal | grep -vc 'ib[01]: set arp_ignore=1 (') $(own_journal | grep -c 'ib[01]: added route 172.16.0.0/16 in table 94[12]; added rule from 172.16.34.[12] ')"
expect_equal "units of ours that failed, or were started again" "" \
    "$(host systemctl show 'ib-hook*' -p Id -p NRestarts -p Result | grep -v -e '^Id=' -e '^NRestarts=0' -e '^Result=success' -e '^$' || true)"
[ "$MODE" = watch ] || exit 0

# In systemd's sandbox --watch does its work.
ip -n B rule del from 172.16.34.2 lookup 942
said() { [[ $(host journalctl -q -o cat -n 1 _SYSTEMD_UNIT=ib-hook-watch.service) == "ib1: added rule from 172.16.34.2"* ]]; }
wait_until 5 said
settle "$RAILS"
ok "--watch repairs"
