#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# clush, over ssh to three nodes: what all of them say, as lines and folded.
. "$(dirname "$0")/../netns/lib.sh"
. "$(dirname "$0")/nodes.sh"
needs clush ssh ssh-keygen
make_nodes

mkdir -p /run/sshd "$work/ssh"
ssh-keygen -q -t ed25519 -N "" -f "$work/ssh/host"
ssh-keygen -q -t ed25519 -N "" -f "$work/ssh/key"
printf '%s\n' "HostKey $work/ssh/host" "AuthorizedKeysFile $work/ssh/key.pub" "PidFile none" "UsePAM no" "Subsystem sftp internal-sftp" >"$work/ssh/config"
echo "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin" >>/etc/passwd
listens() { [[ $(at "$1" ss -Hltn) == *:22* ]]; }
for node in n1 n2 n3; do
    nsenter --net="/run/netns/${NODES[$node]}" /usr/sbin/sshd -D -e -f "$work/ssh/config" -o "ListenAddress=$node" 2>"$work/ssh/$node.log" &
    wait_until 5 listens $node
done

all() { # ARGUMENT…: of clush
    on control clush -w 'n[1-3]' -o "-F none -i $work/ssh/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR" "$@"
}
folded() { # the report, and its exit status
    local status=0
    jq -nRrf "$top/packaging/fleet/fold.jq" --arg hosts 'n[1-3]' || status=$?
    echo "status $status"
}
# shellcheck disable=SC2016 # for the shells there
probe='/usr/sbin/ib-hook --probe --json $(shuf /run/addresses)'
# shellcheck disable=SC2016
printf '172.16.%s\n' 16.1 16.2 34.1 34.2 50.1 50.2 | all 'cat >/run/addresses.$$ && mv /run/addresses.$$ /run/addresses' # one /run of all

expect_equal "who says that all is well" "n1 n2 n3" \
    "$(all /usr/sbin/ib-hook --check --json | jq -rR 'capture("^(?<host>[^:]*): (?<said>.*)$") | select(.said | fromjson | .ok) | .host' | sort | paste -sd' ')"
expect_contains "folded" "hosts: 3 reported, 0 missing, 0 unreadable" "$(all /usr/sbin/ib-hook --check --json | folded)"
expect_equal "every rail to every rail of the others" \
    "hosts: 3 reported, 0 missing, 0 unreadable; 24 pairs of rail and peer; all good
status 0" "$(all "$probe" | folded)"
all -q -S /usr/sbin/ib-hook --check --quiet >"$work/quiet"
expect_equal "nothing to say, and exit status 0" "" "$(<"$work/quiet")"

# Each asks the next one, which is half of the pairs.
printf '%s\n' 'n1 172.16.16.1 172.16.16.2' 'n2 172.16.34.1 172.16.34.2' 'n3 172.16.50.1 172.16.50.2' >"$work/hosts"
all -q -c "$top/packaging/fleet/mesh.awk" "$work/hosts" --dest /run
# shellcheck disable=SC2016
mesh='/usr/sbin/ib-hook --probe --json $(awk -v own="$(hostname -I)" -f /run/mesh.awk /run/hosts)'
meshed() { # the matrix, and its exit status
    local status=0
    jq -nRrf "$top/packaging/fleet/mesh.jq" || status=$?
    echo "status $status"
}
expect_equal "a mesh" "3 hosts; 6 pairs; 0 dead rails, 0 other pairs lost
status 0" "$(all "$mesh" | meshed)"
ip -n wire link set B.1 down
expect_equal "with a dead rail" "3 hosts; 6 pairs; 1 dead rails, 0 other pairs lost
host  ib0   ib1
n2    .     dead
dead: ib1 of n2
status 1" "$(all "$mesh" 2>/dev/null | meshed)"
ip -n wire link set B.1 up

at n2 ip rule del priority 1941 lookup 942
status=0
all -q -S /usr/sbin/ib-hook --check --quiet >"$work/quiet" 2>&1 || status=$?
expect_equal "exit status with a broken rail" 1 $status
expect_contains "who it is" "n2: ib1: error rule-missing: " "$(<"$work/quiet")"
expect_lacks "and nobody else" "n1:" "$(<"$work/quiet")"
all /usr/sbin/ib-hook --check --json 2>/dev/null | folded >"$work/folded"
expect_contains "folded" "status 1" "$(<"$work/folded")"
expect_contains "folded" "rule-missing" "$(<"$work/folded")"
expect_contains "folded: the probe" "status 1" "$(all "$probe" 2>/dev/null | folded)"
all -x n3 /usr/sbin/ib-hook --check --json 2>/dev/null | folded >"$work/folded"
expect_contains "who did not answer" "2 reported, 1 missing" "$(<"$work/folded")"
