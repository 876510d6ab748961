#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# README.md, followed to the letter: the commands of its first screen in their order, those of "Use it", its configuration, and
# the table of what it changes on a host. It has at most 120 lines of at most 120 characters.
. "$(dirname "$0")/../netns/lib.sh"
. "$tests/../page.sh"
page=$top/README.md

expect_equal "no line but a table's is longer than 120" "" "$(LC_ALL=C.UTF-8 grep -nE '^[^|].{120}' "$page" || true)"
expect_at_least "lines that are left of 120" 0 $((120 - $(wc -l <"$page")))

block() { # N: the commands of its indented block number N, without what explains them
    page_blocks "$page" | awk -v n="$1" '/^@ / { k++; next } k == n' | sed 's/ *# .*//'
}

# follow HOST COMMAND: as it is typed there, in a tree that was built; its status in $status, its output in $said
follow() {
    said=$(cd "$work" && PATH="$work/bin.$1:$PATH" on "$1" bash -c "$2" 2>&1) && status=0 || status=$?
}

make_hosts 2
for host in A B; do
    mkdir -p "$work/bin.$host"
    # shellcheck disable=SC2016 # of the inner shell
    printf '#!/bin/bash\nexec -a "$0" "%s" --sysfs /run/sys/%s "$@"\n' "$IB_HOOK" $host >"$work/bin.$host/ib-hook"
    printf '#!/bin/sh\nexec "$@"\n' >"$work/bin.$host/sudo"
    chmod 0755 "$work/bin.$host"/*
done
ln -s "$work/bin.B" $work/build

# ---- the first screen ----
n=0
while read -r command; do
    case $command in
        make*) continue ;; # tests/fresh builds, tests/packages install
    esac
    follow B "$command"
    case $command in
        *--check) expect_equal "$command: something is wrong" "1 error: ib1: 172.16.34.2 leaves through ib0; fix: sudo ib-hook --apply" "$status ${said%%$'\n'*}" ;;
        *--apply)
            expect_equal "$command: exit status" 0 "$status"
            expect_hook 0 B --check
            rules=$(ip -n B rule | tr -s '\t' ' ') routes=$(ip -n B route show table 941)
            ;;
        *--undo)
            expect_equal "$command: exit status" 0 "$status"
            expect_equal "back to plain Linux" "" "$(our_rules B; our_routes B)"
            ;;
        *) fail "a command that this test does not know" "$command" ;;
    esac
    n=$((n + 1))
done < <(block 1)
expect_equal "commands of the first screen" 3 $n

# ---- switched off ----
# shellcheck disable=SC2016 # of Markdown
off=$(sed -n '/^- \*\*Switch it off\*\*/,/^-\|^$/p' "$page" | tr '\n' ' ' | grep -o '`[^`]*`' | tr -d '`')
expect_equal "what it says to write, and to run" "manage=no [interface ib1] [interface *] /etc/ib-hook/ib-hook.conf sudo ib-hook --apply" \
    "$(xargs <<<"$off")"
expect_hook 0 B --apply
system_config "[interface ib1]
manage=no"
follow B "${off##*$'\n'}"
expect_equal "that command switches it off" "0 $(rule_line 172.16.34.1 941)" "$status $(our_rules B)"
rm /etc/ib-hook/ib-hook.conf
expect_hook 0 B --undo

# ---- what it changes ----
table=$(sed -n '/^## What it changes/,/^## Conf/p' "$page")
for text in "1941: from 172.16.34.1 to 172.16.0.0/16 lookup 941" "1940: from 172.16.34.1 to 172.16.0.0/16 lookup main suppress_prefixlength 16"; do
    expect_contains "the page has the rule" "\`$text\`" "$table"
    expect_contains "so has the host" "$text" "$rules"
done
text="172.16.0.0/16 dev ib0 proto kernel scope link src 172.16.34.1"
expect_contains "the page has the route" "\`$text\`" "$table"
expect_contains "so has the host" "$text" "$routes"

# ---- Is it safe? ----
# The command for a session over a rail, before anything is installed: what it builds is tests/fresh's. Nobody
# confirms it, then somebody does; TCP connections to both NICs go on all the time.
build="make deps && make && "
# shellcheck disable=SC2016 # of Markdown
safe=$(grep -o '`make deps[^`]*--confirm [0-9]*`' "$page" | tr -d '`')
expect_equal "it builds what it runs" "$build" "${safe:0:${#build}}"
safe=${safe#"$build"}
confirmed=$(grep -o "sudo build/ib-hook --confirm\>" "$page")
plain=$(state B)
nobody_waits() { ! pgrep -f -x -- "build/ib-hook .*--apply .*" >/dev/null; }
serve A B
sessions=()
for ((i = 1; i <= 2; i++)); do
    on A "$FLOW" hold --from 172.16.16.$i --to 172.16.34.$i --started $work/started.$i --stop-file $work/stop >$work/held.$i &
    sessions+=($!)
done
both_flow() { [ -e $work/started.1 ] && [ -e $work/started.2 ]; }
wait_until 5 both_flow
follow B "${safe% *} 1"
expect_equal "$safe: exit status" 0 "$status"
expect_contains "it says what to run" "you run: $confirmed" "$said"
wait_until 10 is "$plain"
wait_until 5 nobody_waits
follow B "$safe"
expect_equal "$safe: exit status" 0 "$status"
follow B "$confirmed"
expect_equal "$confirmed: exit status" 0 "$status"
expect_hook 0 B --check
touch $work/stop
for one in "${sessions[@]}"; do wait "$one"; done
for i in 1 2; do expect_equal "the connection to NIC $i went on" "" "$(jq -r .problem $work/held.$i)"; done
expect_hook 0 B --undo

# ---- Use it ----
for host in A B; do expect_hook 0 $host --apply; done
forget A B
n=0
while read -r command; do
    [[ $command != *--rdma ]] || continue # lab/test-probe-rdma
    follow B "$command"
    expect_equal "$command: exit status" 0 "$status"
    n=$((n + 1))
done < <(block 2)
expect_equal "commands of Use it" 4 $n

# ---- Configuration ----
page_blocks "$page" | awk '/^@ / { k++; next } k == 3' >$work/ib-hook.conf
expect_contains "the third block is the configuration" "[interface ib*]" "$(<$work/ib-hook.conf)"
expect_hook 0 B --show --config $work/ib-hook.conf
