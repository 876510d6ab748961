#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is written for people holds together: every finding has a remedy in the guide, every link leads somewhere.
# shellcheck disable=SC2016 # Markdown's quotes
. "$(dirname "$0")/../netns/lib.sh"
. "$tests/../guide.sh"

codes=$(sed -n 's/^\.It Ic //p' "$top/packaging/man/ib-hook.8" | sed 's/ , /\n/g' | sort -u)
expect_at_least "ib-hook(8) has findings" 30 "$(wc -l <<<"$codes")"
expect_equal "the guide has what to do about each, and about no other" "$codes" "$(sed -n 's/^| `\([a-z-]*\)` |.*/\1/p' "$guide" | sort)"
while read -r symptom; do
    expect_at_least "$symptom: there is something to ask" 1 "$(guide_asks "$symptom" | wc -l)"
    expect_at_least "$symptom: there is something to find" 1 "$(guide_names "$symptom" | wc -l)"
    expect_equal "$symptom: what it names are findings" "" "$(comm -23 <(guide_names "$symptom") <(echo "$codes"))"
done < <(sed -n 's/^### `\?\([^`]*\).*/\1/p' "$guide")

anchors() { # PAGE: those of its headings
    sed -n 's/^##* //p' "$1" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-'
}
for page in "$top"/{README,CONTRIBUTING,.github/SECURITY}.md "$top"/packaging/doc/*.md; do
    while read -r link; do
        case $link in
            '#'*) expect_contains "${page##*/} has the heading $link" $'\n'"${link#?}"$'\n' $'\n'"$(anchors "$page")"$'\n' ;;
            *) [ -e "$(dirname "$page")/${link%#*}" ] || fail "${page##*/} links what is there" "$link" ;;
        esac
    done < <(grep -o '](\S*)' "$page" | sed 's/^](//; s/)$//' || true)
    ok "the links of ${page##*/}"
    expect_equal "no line of it but a table's or a command's is longer than 130" "" "$(LC_ALL=C.UTF-8 grep -nE '^[^| ].{130}' "$page" || true)"
done
