# shellcheck shell=bash disable=SC2154,SC2086 # what lib.sh offers
# SPDX-License-Identifier: GPL-2.0-or-later
# The booted system as a machine: power_on (UNPLUGGED=cable, UNPLUGGED=card: of ib1), power_off. Its files are in $ROOT, its network is host B.

# systemd-nspawn of Debian 12, so that this machine needs none, with a /sys of B's network and with cgroups of its own.
# shellcheck disable=SC2016 # for the inner shell
nspawn() {
    local tools libraries
    tools=$("$managers/images" layers debian12)
    libraries=$(echo "$tools"/usr/lib/*-linux-gnu)
    SYSTEMD_NSPAWN_API_VFS_WRITABLE=yes exec nsenter --net=/run/netns/B unshare --cgroup --mount --propagation slave sh -ec '
        mount -t sysfs sysfs /sys
        mount -t cgroup2 cgroup2 /sys/fs/cgroup
        exec "$@"' sh \
        "$libraries"/ld-linux-*.so.* --library-path "$libraries:$libraries/systemd" "$tools/usr/bin/systemd-nspawn" "$@"
}

power_on() { # as nspawn's process can be a test's, it is known by its number
    new_host B
    add_nic B ib0 0
    [ "${UNPLUGGED:-}" = card ] || add_nic B ib1 1
    add_nic B eth0 2
    [ "${UNPLUGGED:-}" != cable ] || carrier ib1 off
    ip -n wire link set B.2 master br1
    mkdir -p /run/systemd
    nspawn --boot --directory="$ROOT" --network-namespace-path=/run/netns/B --register=no --keep-unit --resolv-conf=off \
        --timezone=off --link-journal=no --console=pipe --settings=no --hostname=host --capability=CAP_NET_ADMIN </dev/null >"$work/console" 2>&1 &
    echo $! >"$work/nspawn"
    wait_until 10 find_leader
    wait_until 30 is_running
}

find_leader() {
    pgrep -x systemd -P "$(<$work/nspawn)" >"$work/leader" || {
        is_on || fail "systemd-nspawn ended" "$(<$work/console)"
        return 1
    }
}

is_on() {
    kill -0 "$(<$work/nspawn)" 2>/dev/null
}

is_off() {
    ! is_on
}

is_running() { # systemd says degraded where a unit failed: that of others is not our business
    case $(host systemctl is-system-running 2>&1 || true) in
        running | degraded) ;;
        # networkd's wait for a NIC that has no cable ends after two minutes
        starting) [ -n "${UNPLUGGED:-}" ] && [ "$(host systemctl list-jobs --no-legend | awk '$4 == "running" { print $2 }')" = systemd-networkd-wait-online.service ] ;;
        *) false ;;
    esac
}

power_off() { # as if the plug were pulled
    kill -KILL "$(<$work/leader)" 2>/dev/null || true
    { wait "$(<$work/nspawn)" || true; } 2>/dev/null
    wait_until 10 is_off
    rm "$work/nspawn"
    { ip netns pids B | xargs -r kill -KILL; } 2>/dev/null || true # what a test left there
    ip -n wire link del B.0
    ip -n wire link del B.1 2>/dev/null || true # its card may be out
    ip -n wire link del B.2
    ip netns del B
}
