#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The page that says where ib-hook works promises what the tests prove: no row without its test, no system booted without its row.
. "$(dirname "$0")/../netns/lib.sh"

page=$top/packaging/doc/supported.md
rows() { # of both tables: distribution | manager or proof | how | test
    sed -n 's/^| *\(.*[^ ]\) *|$/\1/p' "$page" | grep -v -e '^---' -e '| test$' | sed 's/ *| */|/g'
}
list() { # NAME FILE: the words of an array that a script has
    sed -n "s/^$1=(\(.*\))$/\1/p" "$top/tests/$2" | tr ' ' '\n' | sort
}
in_list() { # WORD NAME FILE
    list "$2" "$3" | grep -qx -e "$1"
}
suite_of() { # SYSTEM: of Debian that it boots, by what its image stands on
    local system=${1/networkd-alone/debian12} on
    while :; do
        on=$(sed -n "s/^ *$system) echo \"\([^ ]*\) .*/\1/p" "$top/tests/managers/images")
        case $on in
            bullseye) echo 11 && return ;;
            bookworm) echo 12 && return ;;
            trixie) echo 13 && return ;;
            '') fail "tests/managers/images has no recipe for $1" ;;
        esac
        system=$on
    done
}

# proved_by TEST → how a row may say that it is proved; fails where there is no such test
proved_by() {
    local name=${1#*/}
    case $1 in
        managers/*) in_list "$name" systems managers/run && echo booted ;;
        platforms/*) in_list "$name" platforms platforms/run && echo namespaces ;;
        selinux/*) [ -e "$top/tests/$1.sh" ] && echo "virtual machine" ;;
        netns/* | packages/*) [ -e "$top/tests/$1.sh" ] && echo "contract only" ;;
        *) return 1 ;;
    esac
}

managers=$(rows | grep -v -e '^\.deb|' -e '^RPM|')
expect_at_least "managers have rows" 10 "$(wc -l <<<"$managers")"
while IFS='|' read -r distribution manager how test; do
    expect_equal "$distribution, $manager: $test" "$how" "$(proved_by "$test" || echo "there is no such test")"
    [ "$how" != booted ] || expect_equal "$test boots" "$distribution" "Debian $(suite_of "${test#*/}")"
done <<<"$managers"
expect_equal "every system that is booted has its row" "$(list systems managers/run)" \
    "$(rows | sed -n 's,.*|managers/,,p' | sort)"

# The manager's version is in the name of its system.
while IFS='|' read -r _ manager _ test; do
    [[ ! $test =~ -([0-9.]+)$ ]] || expect_contains "$test has that version" "${BASH_REMATCH[1]}" "$manager"
done <<<"$(grep '|managers/' <<<"$managers")"

packages=$(rows | grep -e '^\.deb|' -e '^RPM|')
while IFS='|' read -r package distribution _ test; do
    case $test in
        fresh/*)
            read -r _ suite name <<<"${test//\// }"
            expect_contains "$package, $distribution: $test" "$suite/$name" \
                "$(sed -n '/^cases() {/,/^}/p' "$top/tests/fresh/run" | bash -c '. /dev/stdin; cases')"
            [ -e "$top/tests/fresh/case-$name.sh" ] || fail "there is no tests/fresh/case-$name.sh"
            expect_equal "$suite is" "$distribution" "$(case $suite in bullseye) echo Debian 11 ;; bookworm) echo Debian 12 ;; trixie) echo Debian 13 ;; esac)"
            ;;
        *)
            [ -e "$top/tests/$test.sh" ] || fail "there is no tests/$test.sh"
            ok "$package, $distribution: $test"
            ;;
    esac
done <<<"$packages"
expect_equal "of the other platforms, all are named" "$(list platforms platforms/run | grep -v debian13)" \
    "$(grep -o 'platforms/[a-z0-9-]*' "$page" | sed 's,.*/,,' | sort -u)"
