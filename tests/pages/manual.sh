# shellcheck shell=bash disable=SC2154 # what lib.sh offers
# SPDX-License-Identifier: GPL-2.0-or-later
# Examples of manual pages: `. "$(dirname "$0")/manual.sh"` after lib.sh.

# shellcheck disable=SC2016 # for what is written
# A command of an example on a host: with its ib-hook, and what leads to other hosts.
wrappers() { # HOST ARGUMENT…: for its ib-hook, unless it is to look at another tree
    local bin=$work/bin.$1
    mkdir -p "$bin"
    printf '#!/bin/bash\n[ "${*%%%%--sysfs*}" = "$*" ] || exec "%s" "$@"\nexec -a ib-hook "%s" "$@"%s\n' "$IB_HOOK" "$IB_HOOK" \
        "$(printf ' %s' "${@:2}")" >"$bin/ib-hook"
    printf '#!/bin/sh\nexec "$@"\n' >"$bin/sudo"
    chmod 0755 "$bin"/*
}

# examples PAGE SECTION: "config TEXT", "run HOST COMMAND", "shows TEXT", one per line, from the literal blocks of the section
examples() {
    sed -n "/^.Sh $2\$/,/^.Sh [^${2:0:1}]/p" "$top/packaging/man/$1" | sed -n '/^.Bd/,/^.Ed/p' | sed 's/\\&//g; s/\\e/\\/g; s/\\(dq/"/g' |
        awk '/^\.Bd/ { runs = 0 }
            /^\.[A-Z]/ { next }
            /\|$/ { command = command $0; next } # goes on in the next line
            { $0 = command $0; command = "" }
            match($0, /^([a-z0-9]*#|\$) /) && $2 !~ /:$/ {
                runs = 1
                print "run", (/^node/ ? substr($0, 1, RLENGTH - 2) : "-"), substr($0, RLENGTH + 1)
                next
            }
            { print (runs ? "shows " : "config ") $0 }'
}
