#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the recording in the README shows: two hosts with two NICs each, one of node34's answering for both of its addresses;
# --check names it, --apply puts it right. The commands are run as they are shown. It fails if it is not seen.
. "$(dirname "$0")/../netns/lib.sh"

dim=$'\e[2m' plain=$'\e[0m'

# On each host, ib-hook is the one under test, and looks at that host's RDMA ports.
command_path() { # HOST
    mkdir -p "$work/bin.$1"
    printf '#!/bin/sh\nexec "%s" --sysfs /run/sys/%s "$@"\n' "$IB_HOOK" "$1" >"$work/bin.$1/ib-hook"
    printf '#!/bin/sh\nexec "$@"\n' >"$work/bin.$1/sudo"
    chmod 0755 "$work/bin.$1/ib-hook" "$work/bin.$1/sudo"
}

say() { printf '%s# %s%s\n' "$dim" "$1" "$plain"; }

run() { # HOST NAME COMMAND: shown, then run; its output is left in $shown, too
    printf '%s$ %s\n' "$2" "$3"
    { on "$1" env -u NO_COLOR TERM=xterm PATH="$work/bin.$1:$PATH" script -qec "$3" /dev/null </dev/null || [ $? = 1 ]; } |
        tr -d '\r' | tee $work/shown # 1: findings
    shown=$(<$work/shown)
}

meet() { # what both hosts learn of each other by talking
    forget A B
    for address in 172.16.34.1 172.16.34.2; do on A ping -q -n -c 1 -W 1 $address >/dev/null; done
}

RP_FILTER=1 make_hosts 2 # a strict rp_filter, as RHEL 8 has it: ib0 always wins
command_path A
command_path B
hook A --apply >/dev/null
meet

say "node34 has ib0 172.16.34.1/16 and ib1 172.16.34.2/16. Its peer sees one NIC with both addresses:"
run A node16 "ip neigh show to 172.16.34.0/24 | cut -d' ' -f1,4,5 | sort"
expect_lacks "ib1's hardware address is not there" "$(mac B 1)" "$shown" >/dev/null
say "What is wrong with ib1?"
run B node34 "ib-hook --check"
expect_contains "it is named" "172.16.34.2 leaves through ib0" "$shown" >/dev/null
run B node34 "sudo ib-hook --apply"
meet
run B node34 "ib-hook --check"
expect_contains "it is right" "172.16.34.2/16 leaves through it" "$shown" >/dev/null
say "Each address has its own NIC now:"
run A node16 "ip neigh show to 172.16.34.0/24 | cut -d' ' -f1,4,5 | sort"
expect_contains "ib1 answers for its own address" "$(mac B 1)" "$shown" >/dev/null
trap - EXIT
