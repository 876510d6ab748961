# shellcheck shell=bash disable=SC2034 # what those that use it look at
# SPDX-License-Identifier: GPL-2.0-or-later
# What all tests in shells count and expect. The first failure is the end.

n_ok=0
n_fail=0

ok() {
    n_ok=$((n_ok + 1))
    echo "ok $n_ok - $1"
}

# fail MESSAGE [DETAIL]
fail() {
    n_fail=1
    echo "not ok $((n_ok + 1)) - $1"
    [ -z "${2:-}" ] || echo "  ${2//$'\n'/$'\n'  }"
    exit 1
}

on_error() {
    n_fail=1
    echo "not ok $((n_ok + 1)) - ${0##*/}, line $1: '$2' failed with status $3"
}

# expect_equal WHAT EXPECTED GOT
expect_equal() {
    [ "$2" = "$3" ] || fail "$1" "expected:
$2
got:
$3
$(diff <(echo "$2") <(echo "$3") || true)"
    ok "$1"
}

expect_contains() { # WHAT NEEDLE HAYSTACK
    [[ $3 == *"$2"* ]] || fail "$1" "expected to find: $2
got: $3"
    ok "$1"
}

# succeeded WHAT TEXT: a $(command) as an argument may fail unseen; what on_error or fail then writes is the text
succeeded() {
    [[ ! $2 =~ (^|$'\n')"not ok "[0-9]+" - " ]] || fail "$1" "what was to be looked at is a failure: $2"
}

expect_lacks() { # WHAT NEEDLE HAYSTACK
    succeeded "$1" "$3"
    [[ $3 != *"$2"* ]] || fail "$1" "expected not to find: $2
got: $3"
    ok "$1"
}

expect_at_least() { # WHAT LEAST GOT
    [ "$3" -ge "$2" ] || fail "$1" "expected at least $2, got $3"
    ok "$1"
}
