# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What RHEL's network-scripts call, for the RPM: LINK PROGRAM. There is only one of each, and it may be the administrator's.
# NetworkManager makes /etc/sysconfig/network-scripts, too.
has_network_scripts() { # ROOT
    [ -e "$1/etc/sysconfig/network-scripts/ifup-post" ]
}

network_scripts_links() {
    cat <<'END'
/sbin/ifup-local /usr/libexec/ib-hook/ifup-local
/sbin/ifdown-local /usr/libexec/ib-hook/ifdown-local
END
}
