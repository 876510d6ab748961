#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm, three nodes: the health check drains the one with a broken rail, says why, and takes it back; never somebody else's
# drain. srun collects what all nodes say.
. "$(dirname "$0")/../netns/lib.sh"
. "$(dirname "$0")/nodes.sh"
make_nodes

mkdir -p /run/munge "$work/munge"
install -m 0755 "$top/packaging/fleet/slurm-healthcheck" /usr/sbin/slurm-healthcheck
head -c 1024 /dev/urandom >"$work/munge/key"
chmod 0400 "$work/munge/key"
munged --foreground --force --key-file="$work/munge/key" --log-file="$work/munge/log" --pid-file="$work/munge/pid" --seed-file="$work/munge/seed" \
    --socket=/run/munge/munge.socket.2 >"$work/munge/out" 2>&1 &
wait_until 5 test -S /run/munge/munge.socket.2

mkdir -p "$work/slurm" /etc/slurm
# Checks that slurmd has begun with other settings are over when this returns.
settings() { # SETTING…: of the health check
    printf '%s\n' AGAIN=0 "$@" >"$work/slurm/settings"
    flock --exclusive "$work/slurm/lock" cp "$work/slurm/settings" /etc/ib-hook/slurm-healthcheck
}
printf '#!/bin/sh\nexec flock --shared %s /usr/sbin/slurm-healthcheck\n' "$work/slurm/lock" >/usr/sbin/begun-by-slurmd
chmod +x /usr/sbin/begun-by-slurmd
settings
cat >/etc/slurm/slurm.conf <<END
ClusterName=test
SlurmctldHost=control
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$work/slurm/state
SlurmdSpoolDir=$work/slurm/%n
SlurmctldPidFile=$work/slurm/slurmctld.pid
SlurmdPidFile=$work/slurm/%n.pid
SlurmctldLogFile=$work/slurm/slurmctld.log
SlurmdLogFile=$work/slurm/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
AuthType=auth/munge
HealthCheckProgram=/usr/sbin/begun-by-slurmd
HealthCheckInterval=2
NodeName=n[1-3] CPUs=1 State=UNKNOWN
PartitionName=all Nodes=n[1-3] Default=YES State=UP
END
echo CgroupPlugin=cgroup/v1 >/etc/slurm/cgroup.conf
named control control slurmctld -D >"$work/slurm/control.out" 2>&1 &
for node in n1 n2 n3; do
    mkdir "$work/slurm/$node"
    named "${NODES[$node]}" $node slurmd -D >"$work/slurm/$node.out" 2>&1 &
done

states() { # of n1, n2 and n3
    on control sinfo -h -N -o '%N %T %E'
}
are() { [ "$(states 2>/dev/null)" = "$1" ]; }
drained_for() { [[ $(states) == *"$1"* ]]; }
expect_states() { # WHAT STATES
    wait_until 20 are "$2"
    ok "$1: ${2//$'\n'/, }"
}
trap '[ $n_fail = 0 ] && echo "1..$n_ok" || { states; tail -n 15 "$work"/slurm/*.{log,out}; }' EXIT

all="n1 idle none
n2 idle none
n3 idle none"
expect_states "at first" "$all"
expect_equal "a job on all of them" "n1 n2 n3" "$(on control srun -N 3 printenv SLURMD_NODENAME | sort | paste -sd' ')"
# A file for each: on its standard output srun mixes lines of more than 1024 bytes of several nodes.
collect() { # WHAT ARGUMENT…
    mkdir "$work/$1"
    on control srun -N 3 --output="$work/$1/%N" "${@:2}"
}
collect check /usr/bin/ib-hook --check --json
expect_equal "what all say" "true 2 true 2 true 2" "$(jq -r '"\(.ok) \(.rails | length)"' "$work"/check/n[123] | paste -sd' ')"
printf '172.16.%s\n' {16,34,50}.{1,2} >"$work/addresses"
collect probe sh -c "/usr/bin/ib-hook --probe --json \$(shuf -n 100 $work/addresses)"
expect_equal "from every rail to every rail of the others" "24 24" "$(jq -s '[.[].pairs[]] | "\(length) \(map(select(.ok)) | length)"' -r "$work"/probe/n[123])"

health() { # NODE: what the check says and does, now; what is in $work/bin is found first
    PATH=$work/bin:$PATH SLURMD_NODENAME=$1 at "$1" slurm-healthcheck 2>/dev/null
}
mkdir "$work/bin"
instead_of() { # PROGRAM: a script, from standard input
    { echo '#!/bin/sh' && cat; } >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}

# ---- a rail breaks, and is repaired
break_rail() { # NODE: somebody deletes the rule of its ib1
    at "$1" ip rule del priority 1941 lookup 942
}
missing() { # NODE DRAINED
    local address
    address=172.16.$(host_id "${NODES[$1]}").2
    echo "$1 $2 ib-hook: ib1 rule-missing: $address leaves through ib0: ib-hook's rule 1941 is missing (1 change) (of 2 rails)"
}
break_rail n2
expect_states "a broken rail" "n1 idle none
$(missing n2 drained)
n3 idle none"
expect_equal "two nodes are left for jobs" "n1 n3" "$(on control srun -N 2 printenv SLURMD_NODENAME | sort | paste -sd' ')"
at n2 ib-hook --apply >/dev/null
expect_states "repaired" "$all"

# ---- nodes that are drained for another reason keep it
on control scontrol update nodename=n1 state=drain reason="fan 3"
break_rail n1
expect_equal "the check itself" "" "$(health n1)"
at n1 ib-hook --apply >/dev/null
expect_equal "after the repair" "" "$(health n1)"
expect_equal "somebody else's drain" "n1 drained fan 3" "$(states | grep n1)"
on control scontrol update nodename=n1 state=undrain
expect_states "taken back by hand" "$all"

on control scontrol update nodename=n1 state=down reason="no disk"
break_rail n1
expect_equal "the check itself" "" "$(health n1)"
at n1 ib-hook --apply >/dev/null
expect_equal "somebody took it down" "n1 down no disk" "$(states | grep n1)"
on control scontrol update nodename=n1 state=resume
expect_states "taken back by hand" "$all"

# ---- told to report it does nothing else
settings ACTION=report
break_rail n3
expect_equal "what it reports" "drain: $(missing n3 drained | cut -d' ' -f3-)" "$(health n3)"
expect_equal "what it does" "$all" "$(states)"
settings ACTION=drain
expect_states "told to drain" "n1 idle none
n2 idle none
$(missing n3 drained)"
settings ACTION=report
at n3 ib-hook --apply >/dev/null
expect_equal "what it reports" "undrain, no more: $(missing n3 drained | cut -d' ' -f3-)" "$(health n3)"
expect_equal "what it does" "$(missing n3 drained)" "$(states | grep n3)"
settings
expect_states "taken back" "$all"

# ---- warnings count if told so
at n2 sysctl -q -w net.ipv4.conf.ib0.arp_ignore=0
expect_equal "a warning is no reason" "" "$(health n2)"
settings DRAIN_ON=warning
wait_until 20 drained_for "n2 drained ib-hook: ib0 sysctl-wrong: it answers ARP for other NICs' addresses, too"
ok "but if told so"
at n2 ib-hook --apply >/dev/null
expect_states "repaired" "$all"

# ---- a rail that is gone, of a NIC that is no hardware: no finding of --check's
settings
gone() { # NODE
    echo "$1 drained ib-hook: rail-gone: 1 left, ib-hook --show says of each NIC why it is none (of 2 rails)"
}
expect_gone() { # WHAT
    expect_states "$1" "n1 idle none
$(gone n2)
n3 idle none"
}
bring_rail_back() {
    add_nic B ib1 1 172.16.34.2/16
    at n2 ib-hook --apply >/dev/null
}
break_rail n2
wait_until 20 drained_for "n2 drained ib-hook: ib1 rule-missing:"
remove_nic B ib1
expect_gone "while it is drained"
expect_equal "the check itself" "" "$(health n2)"
on control scontrol update nodename=n2 state=drain reason="$(states | sed -n 's/^n2 drained //p') : reboot issued"
expect_gone "slurmctld has added to the reason"
bring_rail_back
expect_states "all rails are back" "$all"
settings ACTION=report
remove_nic B ib1
at n2 ib-hook --apply >/dev/null
expect_equal "nobody said how many there are" "" "$(health n2)"
settings RAILS=2
expect_gone "somebody said it"
bring_rail_back
expect_states "repaired" "$all"
settings RAILS=two
expect_equal "no number" "/etc/ib-hook/slurm-healthcheck: RAILS=two is no number: nothing is checked" "$(health n2)"
settings

# ---- one that is held drains
at n3 ib-hook --undo >/dev/null
wait_until 20 drained_for "n3 drained ib-hook: ib0,ib1 held: left alone since it was undone"
ok "--undo drains"
expect_equal "and it stays so" "" "$(health n3)"
expect_contains "with its rails" "(of 2 rails)" "$(states | grep n3)"
at n3 ib-hook --apply >/dev/null
expect_states "--apply takes it back" "$all"

# ---- it looks again
settings ACTION=report AGAIN=16
expect_contains "too long a pause is refused" "AGAIN=16 is more than 15" "$(health n1)"
settings ACTION=report AGAIN=7
instead_of sleep <<<"ib-hook --apply --quiet >/dev/null && echo slept \$1"
break_rail n1
expect_contains "what is over at the second look" "slept 7
not for long: ib1 rule-missing: " "$(health n1)"
instead_of sleep <<<'ib-hook --apply --quiet >/dev/null && ip link set ib0 down'
break_rail n1
expect_contains "something else is no second time" "not for long: ib1 rule-missing: " "$(health n1)"
at n1 ip link set ib0 up
at n1 ip link set ib1 down # so that main's first route is ib0's again
at n1 ip link set ib1 up
at n1 ib-hook --apply --quiet >/dev/null
instead_of sleep <<<'ib-hook --apply --iface ib0 --quiet >/dev/null'
break_rail n1
at n1 ip rule del priority 1941
expect_contains "what lasts on one of two rails lasts" "drain: ib-hook: ib1 rule-missing: " "$(health n1)"
at n1 ib-hook --apply --quiet >/dev/null
expect_equal "nothing to look at again" "" "$(health n1)"
rm "$work/bin/sleep"
settings

# ---- it does not know what Slurm thinks
touch "$work/changes"
instead_of scontrol <<END
[ \$1 = show ] || { echo "\$*" >>$work/changes; exit; }
echo "slurm_load_node error: Unable to contact slurm controller"
exit 1
END
break_rail n1
expect_contains "slurmctld does not answer" "scontrol show node n1 (status 1): slurm_load_node error" "$(health n1)"
expect_equal "it is told nothing" "" "$(<"$work/changes")"
rm "$work/bin/scontrol"
at n1 ib-hook --apply >/dev/null
expect_states "repaired" "$all"

# ---- what it cannot tell is no reason
echo nonsense >>/etc/ib-hook/ib-hook.conf
expect_contains "a bad configuration" "could not tell (status 2): ib-hook: /etc/ib-hook/ib-hook.conf:3" "$(health n1)"
echo 'if [ x' >/etc/ib-hook/slurm-healthcheck
expect_equal "a file that is none" "" "$(health n1)"
expect_equal "all are there" "$all" "$(states)"
