#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is written for people holds together: the manual has every code, the guide has something to ask for every
# symptom, every link leads somewhere.
# shellcheck disable=SC2016 # Markdown's quotes
. "$(dirname "$0")/../netns/lib.sh"
. "$tests/../guide.sh"

# ---- the manual's tables of codes ----
manual() { # SECTION: "CODE SEVERITY", of its table
    sed -n "/^\.Ss Codes of Fl Fl $1\$/,/^\.TE/p" "$top/packaging/man/ib-hook.8" | awk -F '\t' 'NF == 3 { print $1, $2 }' | sort
}
# Of several rows with one code, the first has the code's severity.
codes=$(cat "$top"/core/{check,fabric}/rows.c |
    sed -nE 's/^    \{IBH_.*, "([a-z-]+)", IBH_(ERROR|WARNING|INFO).*/\1 \L\2/p' | awk '!seen[$1]++' | sort)
expect_at_least "--check has codes" 30 "$(wc -l <<<"$codes")"
expect_equal "the manual has --check's codes, their severity, and no other" "$codes" "$(manual check)"
expect_equal "and those that only --probe has" \
    "$(cat "$top"/core/probe/*.c | tr -s '\n ' ' ' | grep -oE 'IBH_(ERROR|WARNING|INFO), "[a-z-]+"|"[a-z]+(-[a-z]+)+"' |
        grep -oE '"[a-z-]+"' | tr -d '"' | grep -vx -e 'ibh-probe-error' | sort -u | comm -23 - <(cut -d' ' -f1 <<<"$codes"))" \
    "$(manual probe | cut -d' ' -f1)"

while read -r symptom; do
    expect_at_least "$symptom: there is something to ask" 1 "$(guide_asks "$symptom" | wc -l)"
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
    done < <(grep -o ']([^ )]*)' "$page" | sed 's/^](//; s/)$//' || true)
    ok "the links of ${page##*/}"
    expect_equal "no line of it but a table's or a command's is longer than 130" "" "$(LC_ALL=C.UTF-8 grep -nE '^[^| ].{130}' "$page" || true)"
done
