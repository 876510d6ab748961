#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --watch is suspended while more happens than its socket holds: continued, it looks at everything anew.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
journal_start
watch_start B
applied=$(state B | tidy)
right() { [ "$(state B | tidy)" = "$applied" ]; }
wait_until 5 calm

kill -STOP "$watch"
for ((i = 0; i < 30000; i++)); do
    echo "rule add from 10.$((i / 250 % 250)).$((i % 250)).1 lookup 77"
    echo "rule del from 10.$((i / 250 % 250)).$((i % 250)).1 lookup 77"
done >$work/flood
ip -n B -batch $work/flood
# shellcheck disable=SC2016 # awk's
dropped=$(on B awk -v pid="$watch" '$2 == 0 && $3 == pid { print $9 }' /proc/net/netlink | sort -n | tail -1)
expect_at_least "its socket overran: messages dropped" 1 "${dropped:-0}"
ip -n B rule del from 172.16.34.2 lookup 942 # nobody tells it of this
ip -n B route flush table 941
kill -CONT "$watch"
wait_until 5 right
ok "and it repaired what it was not told of"
watch_stop
