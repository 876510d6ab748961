#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The examples of ib-hook(8), PROBE, run in their order: what each shows has to be what the page says. Those that only show are
# not run; each code of --probe has an example there or in EXAMPLES.
. "$(dirname "$0")/../netns/lib.sh"
. "$tests/../page.sh"
. "$(dirname "$0")/manual.sh"
needs nft timeout

make_hosts 2
wrappers A --sysfs /run/sys/A
wrappers B --sysfs /run/sys/B
for host in A B; do
    expect_hook 0 $host --apply
    on $host nft 'add table inet filter; add chain inet filter input { type filter hook input priority 0; };
        add chain inet filter output { type filter hook output priority 0; }'
done

page=ib-hook.8 command="" expected="" n=0
run_one() {
    local got
    forget A B
    got=$(cd $work && on B env PATH="$work/bin.B:$PATH" bash -c "$1" 2>&1 </dev/null) || true
    n=$((n + 1))
    compare "$page" "$1" "$2" "$got"
}
while read -r kind text || [ "$kind" ]; do
    case $kind in
        shows) expected+=$text$'\n' ;;
        run)
            [ -z "$command" ] || run_one "$command" "$expected"
            command=${text#- } expected=""
            ;;
    esac
done < <(examples $page PROBE)
run_one "$command" "$expected"
expect_at_least "examples that were run" 30 $n
expect_hook 0 B --probe 172.16.16.1 172.16.16.2 # all of them were cured

# Codes that --probe alone finds, and those that it shares with --check.
sections=$(sed -n '/^.Sh EXAMPLES$/,/^.Sh DIAGNOSTICS/p' "$top/packaging/man/$page")
while read -r code; do
    grep -q "$code" <<<"$sections" || fail "PROBE or EXAMPLES has an example of $code"
    ok "an example of $code"
done < <(cat "$top"/core/probe/*.c | tr -s '\n ' ' ' | grep -oE 'IBH_(ERROR|WARNING|INFO), "[a-z-]+"|"[a-z]+(-[a-z]+)+"' | grep -oE '"[a-z-]+"' | tr -d '"' | sort -u)
