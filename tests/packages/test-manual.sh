#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Manual and completions know exactly what ib-hook knows.
. "$(dirname "$0")/lib.sh"

needs mandoc man zsh
manual=$top/packaging/man
completions=$top/packaging/completions

options=$("$IB_HOOK" --help | grep -o -- '--[a-z]*' | sort -u)
expect_at_least "ib-hook --help lists options" 15 "$(wc -l <<<"$options")"
expect_equal "ib-hook(8) has them all, and no other" "$options" \
    "$(grep -o 'Fl Fl [a-z]*' "$manual/ib-hook.8" | sed 's/Fl Fl /--/' | sort -u)"
expect_equal "each has an entry" "$options" "$(sed -n 's/^\.It Fl Fl \([a-z]*\).*/--\1/p' "$manual/ib-hook.8" | sort -u)"
expect_equal "the synopses are the same" "$("$IB_HOOK" --help | sed -n 's/^Usage: //p' | tr -d ' ')" \
    "$(mandoc -Tascii "$manual/ib-hook.8" | col -b | sed -n '/^SYNOPSIS/,/^DESCRIPTION/{//d;p}' | tr -d ' \n')"
formats=$({ "$IB_HOOK" --render no-such-format 2>&1 || true; } | sed -n 's/.*formats: //p' | tr -d ' ' | tr , '\n' | sort)
expect_at_least "--render has formats" 1 "$(wc -w <<<"$formats")"
expect_equal "ib-hook(8) has them all, and no other" "$formats" \
    "$(sed -n '/^.Sh NATIVE CONFIGURATION/,/^.Sh FILES/s/^\.It Cm //p' "$manual/ib-hook.8" | sort)"
expect_equal "so has --help" "$formats" \
    "$("$IB_HOOK" --help | sed -n 's/^Formats: //p' | tr -d ' ' | tr ',' '\n' | sort)"
help=$("$IB_HOOK" --help | tail -n 3 | tr '\n' ' ')
for status in 0 1 2 3; do
    expect_contains "--help has the exit status $status" " $status " "$help"
    expect_contains "so has ib-hook(8)" "
.It $status
" "$(sed -n '/^.Sh EXIT STATUS/,/^.Sh/p' "$manual/ib-hook.8")"
done

config '[defaults]
no-such-key=1' >/dev/null
known=$({ "$IB_HOOK" --check --config $work/ib-hook.conf 2>&1 || true; } | sed -n 's/.*use one of //p' | tr -d ' ' | tr , '\n' | sort)
expect_at_least "its configuration has keys" 6 "$(wc -l <<<"$known")"
expect_equal "ib-hook.conf(5) has them all, and no other" "$known" \
    "$(sed -n 's/^\.It Cm \([a-z0-9_]*\) Ns = .*/\1/p' "$manual/ib-hook.conf.5" | sort)"
sed -n '/^.Sh EXAMPLES/,$p' "$manual/ib-hook.conf.5" | sed -n '/^.Bd/,/^.Ed/p' | csplit -q -z -f $work/example - '/^.Bd/' '{*}'
for example in "$work"/example*; do
    if grep -q '^\$ ' "$example"; then # what it comes to: pages/test-manual-examples runs it
        rm "$example"
        continue
    fi
    sed -i '/^\./d' "$example"
    out=$("$IB_HOOK" --check --config "$example" 2>&1) || fail "an example of ib-hook.conf(5)" "$(<"$example")
$out"
done
ok "its $(find $work -name 'example*' | wc -l) examples are allowed"

# groff 1.23 says so itself; before, a table that is too wide runs off the screen.
too_wide() { # PAGE: the first line of each table whose columns need more than 72 of 80 characters
    awk -F'\t' '/^\.TS/ { width[1] = width[2] = width[3] = most = 0; first = NR; inside = 1 }
        /^\.TE/ { if (width[1] + width[2] + width[3] + 3 * (most - 1) > 72) print first; inside = 0 }
        inside && NF > 1 { most = NF; for (i = 1; i <= NF; i++) if ($i != "T{" && length($i) > width[i]) width[i] = length($i) }' "$1"
}
for page in ib-hook.8 ib-hook.conf.5; do
    expect_equal "tables of $page fit" "" "$(too_wide "$manual/$page")"
    expect_equal "mandoc -Tlint $page" "" "$(mandoc -Tlint -Wwarning "$manual/$page")"
    expect_equal "man --warnings $page" "" "$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings --local-file "$manual/$page" 2>&1 >/dev/null)"
    expect_equal "no other system's name in $page" "" "$(LC_ALL=C.UTF-8 man --local-file "$manual/$page" 2>&1 | grep -o BSD || true)"
done

# ---- bash ----

complete_bash() { # WORD…: what it offers for the last one
    (
        # shellcheck source=packaging/completions/ib-hook.bash
        . "$completions/ib-hook.bash"
        compopt() { :; }
        COMP_WORDS=(ib-hook "$@") COMP_CWORD=$# COMPREPLY=()
        _ib_hook
        printf '%s\n' "${COMPREPLY[@]}" | sort
    )
}
expect_equal "bash completes all options, and no other" "$options" "$(complete_bash "")"
expect_equal "and the one that was begun" "--undo" "$(complete_bash --json --un)"
interfaces=$(cd /sys/class/net && printf '%s\n' * | sort)
expect_equal "interfaces are those of this host" "$interfaces" "$(complete_bash --check --iface "")"
expect_equal "also after =" "$interfaces" "$(complete_bash --iface =)"
# shellcheck disable=SC2016,SC2030 # the name is to stand as it is; only this namespace has the NIC
hostile=$(cd $work && unshare --net --mount sh -c 'mount -t sysfs sysfs /sys && ip link add name "a\$(>x)" type bridge &&
    exec bash -c ". $1; COMP_WORDS=(ib-hook --iface a) COMP_CWORD=2; _ib_hook; echo \"\${COMPREPLY[*]}\"" - "$1"' - "$completions/ib-hook.bash")
expect_equal "a name that is a command is quoted" 'a\$\(\>x\)' "$hostile"
[ ! -e $work/x ] || fail "a name of a NIC is not run"
expect_equal "formats of --render" "$formats" "$(complete_bash --render "")"
expect_equal "also after =" "env" "$(complete_bash --render = e)"
mkdir -p $work/tree/dir && touch $work/tree/file
expect_equal "files of --config" "$work/tree/dir $work/tree/file" "$(complete_bash --config $work/tree/ | xargs)"
expect_equal "directories of --sysfs" "$work/tree/dir" "$(complete_bash --sysfs $work/tree/)"

# ---- zsh ----

# It completes for a terminal only: it gets one, and says what it would offer.
mkdir $work/zsh
cat >$work/zsh/.zshrc <<'E'
PS1= fpath=($COMPLETIONS $fpath)
autoload -U compinit
compinit -D -u
compadd() {
    local -a hits
    if [[ "$*" != *-[ADO]* ]]; then
        builtin compadd -O hits "$@"
        print -rl -- hit:$^hits
    fi
    builtin compadd "$@"
}
finish() { print END; exit; }
zle -N finish
bindkey '^X' finish
bindkey '^I' complete-word
print READY
E
cat >$work/ask.zsh <<'E'
zmodload zsh/zpty
zpty z zsh -d -i
zpty -r z out '*READY*'
zpty -w -n z "$1"$'\t\x18'
zpty -r z out '*END*'
print -r -- "$out"
E
complete_zsh() { # LINE
    COMPLETIONS=$completions ZDOTDIR=$work/zsh timeout -s KILL 30 zsh -f $work/ask.zsh "$1" | tr -d '\r' | sed -n 's/.*hit://p' | sort
}
expect_equal "zsh completes all options, and no other" "$options" "$(complete_zsh "ib-hook --")"
expect_equal "interfaces are those of this host" "$interfaces" "$(complete_zsh "ib-hook --check --iface ")"
expect_equal "formats of --render" "$formats" "$(complete_zsh "ib-hook --render ")"
