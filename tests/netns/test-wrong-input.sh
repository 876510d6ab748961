#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Bad usage and bad configuration: exit status 2, a message that names the culprit, and nothing is changed.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
before=$(state B)

# refused NEEDLE ARGUMENT…
refused() {
    local needle=$1
    shift
    expect_hook 2 B "$@"
    [[ $err == *"$needle"* ]] || fail "ib-hook $*: the message names the culprit" "expected: $needle
got: $err"
    [ "$before" = "$(state B)" ] || fail "ib-hook $*: nothing is changed" "$(diff <(echo "$before") <(state B))"
}

# What is refused by its words alone: unit/test_options.
refused --frobnicate --apply --frobnicate
refused nosuch --apply --iface nosuch
refused nosuch --check --iface ib0 --iface nosuch
refused 'ib0;reboot' --apply --iface 'ib0;reboot'
refused nosuch.conf --apply --config $work/nosuch.conf

# bad_config LINE-NUMBER CULPRIT TEXT: the message has file:line, and what was read. All that is refused: unit/test_config.
bad_config() {
    local file
    file=$(config "$3")
    refused "$file:$1" --apply --config "$file"
    expect_contains "it names what it read" "$2" "$err"
}
bad_config 2 color '[defaults]
color=blue'
bad_config 4 700 '[interface ib0]
table=700
[interface ib1]
table=700'

# A file that others could have written; what else is refused: hostile-configuration.
file=$(config '[defaults]
arp=strict')
chmod 0666 "$file"
refused "$file" --apply --config "$file"

# A section that matches no NIC: who wrote the wrong name believes that it is off.
typo=$(config '[interface ibs1]
manage=no')
meant="$typo:2: no interface is called ibs1, so this section has no effect; the nearest name that exists is ib1"
for action in --plan "--show --verbose"; do
    # shellcheck disable=SC2086 # its words
    expect_hook 0 B --config "$typo" $action
    expect_equal "$action names a section that matches no NIC, once" "$meant" "$(grep ibs1 <<<"$err" | sed 's/^ib-hook: //')"
done
expect_hook 1 B --config "$typo" --check --verbose
expect_contains "so does --check" "host: info section-unmatched: $meant" "$out"

expect_hook 2 B --apply --json --iface nosuch
expect_equal "with --json it is an object" "false 2" "$(json '"\(.ok) \(.error.exit)"')"
expect_contains "with the message" nosuch "$(json .error.message)"
expect_equal "nothing at all was changed" "$before" "$(state B)"
expect_hook 0 B --help
expect_contains "--help" --apply "$out"
expect_hook 0 B --version
