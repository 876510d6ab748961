#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The examples of ib-hook(8) and ib-hook.conf(5), run in the order in which they stand there: each command's output has to
# be what the page shows. There, "..." is anything, lines are broken to fit, and round trips are other numbers.
. "$(dirname "$0")/../netns/lib.sh"
. "$tests/../page.sh"
. "$(dirname "$0")/manual.sh"

# story PAGE HOST: all of its examples
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
                forget A B
                command=$text expected="" n=$((n + 1))
                got=$(cd $work && on "$2" env PATH="$work/bin.$host:$PATH" bash -c "$text" 2>&1 </dev/null) || true
                ;;
        esac
    done < <(examples "$page" EXAMPLES)
    [ -z "$command" ] || compare "$page" "$command" "$expected" "$got"
    expect_at_least "$page: examples that were run" 4 $n
}

make_hosts 2
wrappers A --sysfs /run/sys/A
wrappers B --sysfs /run/sys/B
for host in A B; do expect_hook 0 $host --apply; done
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
