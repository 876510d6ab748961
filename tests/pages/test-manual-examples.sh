#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The examples of ib-hook(8) and ib-hook.conf(5), run in the order in which they stand there: each command's output has to
# be what the page shows. There, "..." is anything, lines are broken to fit, and round trips are other numbers.
. "$(dirname "$0")/../netns/lib.sh"
. "$tests/../page.sh"
. "$(dirname "$0")/manual.sh"

# The third example of --probe: rails of 9000, and a switch's port of 1500.
narrow_port() {
    local link
    for link in A.0 A.1 B.0 B.1; do
        ip -n "${link%.*}" link set ib${link#*.} mtu 9000
        ip -n wire link set $link mtu 9000
    done
    ip -n wire link set A.1 mtu 1500
}

# story PAGE HOST: all of its examples
probes=0
story() {
    local page=$1 host command="" expected="" got="" n=0 config=""
    while read -r kind text || [ "$kind" ]; do
        if [ "$kind" != shows ] && [ -n "$command" ]; then
            compare "$page" "$command" "$expected" "$got"
            command=""
        fi
        case $kind in
            config) config+=$text$'\n' ;;
            shows) expected+=$text$'\n' ;;
            run)
                [ -z "$config" ] || printf '%s' "$config" >$work/ib-hook.conf
                config=""
                read -r host text <<<"$text"
                [ "$host" != - ] || host=$2
                [[ $text != *journalctl* && $text != *--rdma* ]] || continue # no journal, no RDMA (lab/probe-rdma has) here
                [[ $text != *--probe* || $((++probes)) != 3 ]] || narrow_port
                forget A B
                text=${text//\/usr\/share\/ib-hook\/fleet/$top/packaging/fleet}
                text=${text//\/usr\/sbin\/ib-hook/ib-hook}
                command=$text expected="" n=$((n + 1))
                got=$(cd $work && on "$2" env PATH="$work/bin.$host:$PATH" bash -c "$text" 2>&1 </dev/null) || true
                ;;
        esac
    done < <(examples "$page" EXAMPLES)
    [ -z "$command" ] || compare "$page" "$command" "$expected" "$got"
    expect_at_least "$page: examples that were run" 5 $n
}

make_hosts 2
wrappers A --sysfs /run/sys/A
wrappers B --sysfs /run/sys/B
plant mlx5-infiniband $work/node7.host
wrappers node7 --sysfs $work/node7.host/sys
echo "1: DOWN" >$work/node7.host/sys/class/infiniband/mlx5_1/ports/1/state
echo "2: Polling" >$work/node7.host/sys/class/infiniband/mlx5_1/ports/1/phys_state
story ib-hook.8 B

new_host C
add_nic C ib0 2 172.16.34.1/16
add_nic C ib1 3 172.16.34.2/16
add_nic C ib3 4 172.16.34.4/16
add_nic C eno1 5 10.1.0.1/24
add_nic C eno2 6 10.1.0.2/24
rdma C ib0 ib1 ib3
wait_until 5 settled C
: >$work/ib-hook.conf
wrappers C --sysfs /run/sys/C --config $work/ib-hook.conf
story ib-hook.conf.5 C
