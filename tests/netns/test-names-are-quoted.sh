#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The name of an interface may be a shell's command. Whatever ib-hook prints to be pasted, text and JSON, runs nothing but
# what it says, and works.
. "$(dirname "$0")/lib.sh"
needs sysctl

# shellcheck disable=SC2016 # meant literally
names=('x;id>&2;#' '$(id)' '`id`' "'|id|'" '"|id|"' '~' '*' '\x&id' '!!{1,2}')
make_hosts ${#names[@]} B
name_nics B "${names[@]}"

# Commands that must not run leave a trace; what would be announced does, too.
mkdir $work/bin
for command in id x; do
    printf '#!/bin/sh\necho %s "$@" >>%s\n' $command $work/executed >$work/bin/$command
done
# shellcheck disable=SC2016 # for the inner shell
printf '#!/bin/sh\nprintf "%%s\\n" "$5" >>%s\n' $work/announced >$work/bin/arping
# shellcheck disable=SC2016 # for the inner shell
printf '#!/bin/sh\n[ "$1" != ib-hook ] || { shift; exec %s --sysfs /run/sys/B "$@"; }\nexec "$@"\n' "$IB_HOOK" >$work/bin/sudo # who tests is root
chmod +x $work/bin/*

# paste WHAT SHELL: standard input, into a shell, line by line
paste() {
    local line
    rm -f $work/announced
    while IFS= read -r line; do
        (cd $work/bin && PATH=$work/bin:$PATH on B "$2" -c "$line") >$work/pasted 2>&1 </dev/null ||
            fail "$1: this can be pasted into $2: $line" "$(<$work/pasted)"
        [ ! -e $work/executed ] || fail "$1: nothing else is executed by: $line" "$(<$work/executed)"
    done
    ok "$1: it can be pasted into $2"
}

# Takes back what was pasted: to ib-hook those sysctls are the administrator's own.
# shellcheck disable=SC2016 # for the inner shell
undone() {
    local name
    hook B --undo >/dev/null
    for name in "${names[@]}"; do
        on B sh -c 'cd "$1" && echo 0 >arp_ignore && echo 0 >arp_announce' - "$CONF/$name"
    done
    expect_equal "back to the start" "$before" "$(state B)"
}

fixes() { # what the last --check proposes
    json '.findings[] | select(.severity != "info") | .fix // empty' | sort -u
}

before=$(state B)
expect_hook 0 B --apply
applied=$(state B)
undone

for shell in sh bash; do
    expect_hook 0 B --plan
    paste "--plan" $shell <<<"$out"
    expect_equal "--plan: it leads to where --apply does" "$applied" "$(state B)"
    expect_equal "--plan: each name is announced once" "$(printf '%s\n' "${names[@]}" | sort)" "$(sort $work/announced)"
    undone
    expect_hook 0 B --plan --json
    expect_equal "--plan --json: valid, and all names are in it" "$(printf '%s\n' "${names[@]}" | sort)" \
        "$(json '.operations[].iface' | sort -u)"
    paste "--plan --json" $shell < <(json '.operations[].command')
    expect_equal "--plan --json: it leads to where --apply does" "$applied" "$(state B)"
    undone
done

# What --check proposes is a command as well.
printf '#!/bin/sh\nexec %q --sysfs /run/sys/B "$@"\n' "$IB_HOOK" >$work/bin/ib-hook
chmod +x $work/bin/ib-hook
expect_hook 1 B --check --json
paste "where all are held, the fixes of --check" sh < <(fixes)
expect_equal "they lead to where --apply does" "$(tidy <<<"$applied")" "$(state B | tidy)"

for ((i = 0; i < ${#names[@]}; i++)); do
    ip -n B rule del from "172.16.34.$((i + 1))"
    ip -n B route flush table $((941 + i))
done
expect_hook 1 B --check --json
expect_equal "--check: a rule of each is missing" "$(printf '%s\n' "${names[@]}" | sort)" \
    "$(json '.findings[] | select(.code == "rule-missing") | .ifaces[]' | sort)"
paste "where rules and routes are missing, the fixes of --check" sh < <(fixes)
expect_equal "they lead to where --apply does" "$(tidy <<<"$applied")" "$(state B | tidy)"

for name in "${names[@]}"; do
    expect_hook 0 B --check --iface "$name"
done
undone

# Advice with a command at its end, too.
expect_hook 0 B --apply
for name in "${names[@]}"; do ip -n B link set "$name" down; done
expect_hook 0 B --check --json
advised() { json '.findings[] | select(.code == "carrier-down") | .advice' | sed -n 's/.*: \(sudo ip link set .* up\)$/\1/p'; }
expect_equal "each NIC that is down has such advice" ${#names[@]} "$(advised | wc -l)"
paste "where NICs are down, the advice of --check" sh < <(advised)
expect_equal "all are up" ${#names[@]} "$(ip -n B -j link show up | jq '[.[] | select(.ifname != "lo")] | length')"
