#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Commands and names inside sentences, on every page: ib-hook understands each command that stands in backquotes, make has each
# target, and each file and test exists.
# shellcheck disable=SC2016 # Markdown's quotes
. "$(dirname "$0")/../netns/lib.sh"
needs make

pages=("$top"/{README,CONTRIBUTING,.github/SECURITY}.md "$top"/core/*.md "$top"/packaging/doc/*.md "$top"/packaging/*/README.md
    "$top"/packaging/ansible/roles/*/README.md "$top"/tests/README.md "$top"/tests/*/README.md)

quoted() { # PATTERN: what stands in backquotes on any page and begins like this, each once
    cat "${pages[@]}" | grep -oE '`'"$1"'[^`]*`' | tr -d '`' | sort -u
}

# ---- ib-hook ----
make_hosts 2
echo 172.16.34.1 >$work/addresses
n=0
while read -r command; do
    case $command in
        *…* | *--watch* | *--render | *--probe | *'|'* | *'[/]'* | 'ib-hook --event'*) continue ;; # names of actions alone; stays; a pipe: other tests run it
    esac
    words=${command#sudo } words=${words#/usr/sbin/} words=${words#build/}
    words=$(sed -E 's/\bIF\b/ib1/g; s/\bPEER\b/172.16.34.1/g; s/\bSECONDS\b/60/g; s/\bFORMAT\b/netplan/g
        s/\bNAME\b/ib1/g; s/\bDIR\b/tree/g' <<<"${words#ib-hook}")
    rm -rf $work/tree
    mkdir -p $work/tree/class/infiniband
    status=0
    said=$(cd $work && on A timeout 20 bash -c "'$IB_HOOK' $words" 2>&1 </dev/null) || status=$?
    [ $status != 2 ] || [[ $said == *"nothing waits for a confirmation"* ]] || fail "ib-hook understands: $command" "$said"
    n=$((n + 1))
done < <(quoted '(sudo |/usr/sbin/|build/)*ib-hook --?[a-z]')
ok "ib-hook understands every command in a sentence"
expect_at_least "commands" 12 $n

# ---- make, tests, files ----
targets=$({ make -C "$top" -pRrqn : 2>/dev/null || true; } | sed -n 's/^\([a-z][a-z_.-]*\):.*/\1/p' | sort -u)
expect_contains "make tells its targets" $'\n'check-lab$'\n' "$targets"
while read -r target; do
    expect_contains "make $target" $'\n'"$target"$'\n' $'\n'"$targets"$'\n'
done < <(cat "${pages[@]}" | grep -oE '(`|^    |&& )make [a-z_.-]+' | sed 's/.*make //' | sort -u)

while read -r name; do
    compgen -G "$top/tests/*/test-*$name*.sh" >/dev/null || fail "tests/netns/run $name runs a test"
    ok "tests/netns/run $name"
done < <(quoted 'tests/netns/run [a-z]' | sed 's/.*run //' | tr ' ' '\n' | sort -u)

while read -r file; do # in the tree, a room of core, or a folder of the tests
    [ -e "$top/$file" ] || [ -e "$top/core/$file" ] || [ -e "$top/tests/$file" ] || fail "$file exists"
done < <(cat "$top"/CONTRIBUTING.md "$top"/core/*.md | grep -oE '\b(core|model|config|plan|check|render|cli|kernel|host|run|hook|tests|packaging)/[a-z_/-]+\.(c|h|py|sh|md)\b' | sort -u)
ok "every file that a page for contributors names exists"
while read -r test; do
    compgen -G "$top/$test*" >/dev/null || fail "$test exists"
    ok "$test exists"
done < <(cat "${pages[@]}" | grep -oE '\btests/(netns|packages|lab|managers|faults|fleet|fresh)/(test|case)-[a-z0-9-]+' | sort -u)
