# shellcheck shell=sh
# What RHEL's network-scripts call, for the RPM: LINK PROGRAM. There is only one of each, and it may be the administrator's.
network_scripts_links() {
    cat <<'END'
/sbin/ifup-local /usr/libexec/ib-hook/ifup-local
/sbin/ifdown-local /usr/libexec/ib-hook/ifdown-local
END
}
