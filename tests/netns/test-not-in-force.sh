#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A configuration that was edited and not applied yet accuses no rail: --check judges by the one in force, that of the last
# run that programmed, and notes the other. --plan and --show tell what the files say now. Who may not read a configuration
# reads nothing of it in the state and in reports either.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
expect_hook 0 B --apply
applied=$(state B)
note="info not-in-force: the configuration in /etc/ib-hook is not in force"

# edited WHAT TEXT
edited() {
    system_config "$2"
    expect_hook 0 B --check --json
    expect_equal "$1: one note" "info not-in-force" "$(json '[.findings[] | "\(.severity) \(.code)"] | join(", ")')"
    expect_equal "$1: the rails" "ib0:true ib1:true" "$(json '[.rails[] | "\(.iface):\(.ok)"] | join(" ")')"
    expect_hook 0 B --check
    expect_contains "$1: the verdict" "ok: 2 rails" "$out"
    expect_contains "$1: the note is seen, with its command" "is not in force; sudo ib-hook --apply" "$out"
    expect_hook 0 B --plan
    expect_differs "$1: --plan tells what --apply would do" "# nothing to do" "$(grep -v '^# ib' <<<"$out")"
}
edited "all is switched off" '[interface *]
manage=no'
expect_hook 0 B --show --json
expect_equal "--show tells what the files say" "0" "$(json '.rails | length')"
edited "arp=strict" '[defaults]
arp=strict'
edited "main=spread" '[defaults]
main=spread'
edited "a gateway" '[interface ib1]
gateway=172.16.0.1'
expect_equal "nothing was changed meanwhile" "$applied" "$(state B)"

expect_hook 0 B --check --verbose
expect_contains "with --verbose" "host: $note" "$out"
expect_hook 1 B --check --config /etc/ib-hook/ib-hook.conf
expect_lacks "a file that is named counts by itself" "not in force" "$out"

# What is wrong by the configuration in force is an error beside it.
in_force=$(rule_line 172.16.34.2 942 | tail -n 1)
ip -n B rule del priority 1941 from 172.16.34.2
expect_hook 1 B --check --json
expect_equal "a rule is missing" "ib1 error rule-missing" "$(findings)"
expect_hook 0 B --apply
expect_contains "it is back" "$in_force" "$(our_rules B)"
expect_hook 0 B --check --json
expect_equal "what was applied is in force" "" "$(json '[.findings[] | select(.code == "not-in-force") | .code] | join(" ")')"

# A comment more is no other configuration; a broken one is an error of its line.
printf '# a comment\n' >>/etc/ib-hook/ib-hook.conf
expect_hook 0 B --check --verbose
expect_lacks "a comment" "not-in-force" "$out"
system_config '[defaults]
arp=loud'
expect_hook 2 B --check
expect_contains "a broken file" "/etc/ib-hook/ib-hook.conf:2: arp=loud" "$err"

# A NIC has come that the configuration in force cannot be used for.
system_config '[interface ib[1-9]]
table=700'
expect_hook 0 B --apply
system_config ''
add_nic B ib2 2 172.16.34.3/16
rdma B ib0 ib1 ib2
wait_until 5 settled B
expect_hook 2 B --check
expect_contains "one table for two: it is said which configuration has it" "the configuration in /etc/ib-hook is not in force" "$err"
expect_hook 0 B --apply
expect_hook 0 B --check

# A configuration that not all users may read: they learn nothing of its name and lines, and hear why.
[ "$rooted" = yes ] || skip "the real root has to become another user"
needs setpriv
secret=$work/secret.conf
printf '[interface ib-secret]\ntable=777\n' >$secret
chmod 0600 $secret
learns_nothing() { # WHAT
    local action
    expect_lacks "$1: in the state" ecret "$(on B setpriv --reuid=65534 --clear-groups cat /run/ib-hook/n* 2>&1 || true)"
    for action in --check --show; do
        on B setpriv --reuid=65534 --clear-groups "$IB_HOOK" --sysfs /run/sys/B $action --verbose >$work/out 2>&1 || true
        expect_lacks "$1: by $action" ecret "$(<$work/out)"
        expect_contains "$1: $action says why" "Permission denied" "$(<$work/out)"
    done
}
expect_hook 0 B --apply --config $secret
learns_nothing "named by --config"
expect_hook 0 B --check --json
expect_equal "root judges by it" "info not-in-force, info section-unmatched" "$(json '[.findings[] | "\(.severity) \(.code)"] | sort | join(", ")')"
manager_calls B "$HOOKS/nm-dispatcher" ib1 up # by what the system has
expect_contains "with it all may read the state again" "config" "$(on B setpriv --reuid=65534 --clear-groups cat /run/ib-hook/n*.state)"
cp $secret /etc/ib-hook/ib-hook.conf
chmod 0600 /etc/ib-hook/ib-hook.conf
expect_hook 0 B --apply
learns_nothing "the system's"
expect_hook 0 B --undo --iface ib1
learns_nothing "after --undo, which keeps it"
chmod 0644 /etc/ib-hook/ib-hook.conf
expect_hook 0 B --apply
expect_contains "where all may read the file" ecret "$(on B setpriv --reuid=65534 --clear-groups cat /run/ib-hook/n*.state)"
chmod 0600 /etc/ib-hook/ib-hook.conf
expect_hook 0 B --apply
learns_nothing "and no more"
