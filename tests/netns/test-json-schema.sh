#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What --json prints is as the schema says, and no key is missing in the schema: of each action, right and wrong.
. "$(dirname "$0")/lib.sh"
needs python3

schema=$top/packaging/fleet/ib-hook.schema.json
make_hosts 2
n=0
# prints STATUS ARGUMENT…: one object of B, kept for the schema
prints() {
    local status=0
    ((++n))
    hook B "${@:2}" --json >"$work/json.$n" 2>/dev/null || status=$?
    [ $status = "$1" ] || fail "ib-hook ${*:2} --json: expected exit status $1, got $status" "$(<"$work/json.$n")"
}

prints 0 --show
prints 1 --check --verbose
prints 0 --plan --verbose
prints 0 --apply
prints 0 --check
prints 0 --apply
ip -n B rule del priority 1941 from 172.16.34.2
ip -n B rule add from 172.16.34.1 lookup main priority 100
ip -n B link set ib1 arp off
prints 1 --check --verbose
ip -n B link set ib1 arp on
ip -n B rule del priority 100
prints 1 --check --iface lo
prints 2 --check --iface nowhere
prints 2 --bogus
prints 0 --apply
prints 1 --probe 172.16.16.1 172.16.16.2 --count 1
hook A --apply >/dev/null
prints 0 --probe 172.16.16.1 172.16.16.2 --count 1
ip -n A link set ib1 down
prints 1 --probe 172.16.16.1 172.16.16.2 172.16.34.1 --count 1
prints 1 --probe 172.16.16.1 10.99.0.1 --count 1 --rdma
prints 0 --undo
prints 1 --check
prints 0 --apply --confirm 60
prints 0 --confirm
prints 2 --confirm
prints 0 --undo
sysctl_set B ib0 arp_ignore 0
on B sh -c "ip link set ib1 down"
prints 1 --check
plant mlx5-infiniband $work/host
prints 1 --check --verbose --sysfs $work/host/sys
expect_equal "each is as the schema says" "" "$("$tests/../tools/schema.py" "$schema" "$work"/json.* 2>&1)"
expect_at_least "objects" 23 $n

# The schema holds what it says.
jq '.findings[0].severity = "fatal"' $work/json.2 >$work/wrong.1
jq 'del(.ok)' $work/json.4 >$work/wrong.2
jq '.pairs[0].sent = "3"' $work/json.12 >$work/wrong.3
jq '.more = 1' $work/json.1 >$work/wrong.4
for i in 1 2 3 4; do
    "$tests/../tools/schema.py" "$schema" $work/wrong.$i >$work/out && fail "a wrong object is refused" "$(<$work/wrong.$i)"
    ok "refused: $(head -n 1 $work/out | cut -d: -f2-)"
done
