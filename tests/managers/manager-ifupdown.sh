# shellcheck shell=bash
# ifupdown, ifupdown-ng and ifupdown2: /etc/network/interfaces, kept in parts (they include files in different ways).
# shellcheck disable=SC2034 # for boot
CONFIGURED_IN=(etc/network/interfaces etc/network/parts)
# shellcheck disable=SC2034 # for lib.sh
FOREIGN_RULES=kept # when it configures a link

configure() {
    mkdir -p "$ROOT/etc/network/parts"
    stanza lo "iface lo inet loopback"
    static eth0 10.9.0.34/24
    static ib0 172.16.34.1/16
    static ib1 172.16.34.2/16
}

stanza() { # NIC LINE…
    printf '%s\n' "auto $1" "${@:2}" >"$ROOT/etc/network/parts/$1"
    cat "$ROOT/etc/network/parts"/* >"$ROOT/etc/network/interfaces"
}

static() { # NIC ADDRESS [LINE…]
    stanza "$1" "iface $1 inet static" "    address $2" "${@:3}"
}

ready() { # its commands return when all is done
    host systemctl -q is-active networking
}

sees_no_carrier() { # ib1: it does not look
    [[ $(ip -n B link show ib1) == *NO-CARRIER* ]]
}

restore() {
    local nic
    for nic in ib0 ib1; do
        host ifdown --force $nic || true
        ip -n B address flush dev $nic
        host ifup $nic
    done
}

restart() {
    host systemctl restart networking
}

readdress() { # NIC ADDRESS
    host ifdown "$1"
    static "$1" "$2"
    host ifup "$1"
}

down() { # NIC
    host ifdown "$1"
}

up() { # NIC
    host ifup "$1"
}

dhcp() { # ib0 and ib1
    local nic
    for nic in ib0 ib1; do
        host ifdown $nic
        stanza $nic "iface $nic inet dhcp"
        host ifup $nic
    done
}
