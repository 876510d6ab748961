#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Writes what packaging/project says into the files that name who publishes ib-hook: fill-in.sh TREE. With other values it can be
# done again; where a value is empty, these files stay as they are.
# fill-in.sh --check FILE: fails if FILE is not filled in, and says what is missing.
set -eu

want() { # NAME, its VALUE, PATTERN of a right one, and what it is in words
    printf '%s\n' "$2" | grep -Eqx "$3" || {
        echo "$file: $1=\"$2\" is not filled in: $4" >&2
        status=1
    }
}

check() { # FILE
    file=$1
    status=0
    # shellcheck source=packaging/project
    . "$(realpath "$file")"
    want MAINTAINER "$MAINTAINER" '[^<>"]+ <[^<> @]+@[^<> @]+>' "who maintains ib-hook: Name <address@example.org>"
    want HOMEPAGE "$HOMEPAGE" 'https?://[^ "<>]+' "the home page: https://…"
    want REPORT "$REPORT" 'https?://[^ "<>]+' "the page where bugs are reported: https://…"
    want VCS "$VCS" '(https?|git|ssh)://[^ "<>&]+' "what git clone takes: https://….git"
    return $status
}

if [ "$1" = --check ]; then
    check "$2" || {
        echo "A release says who publishes it: fill in packaging/project, or name a file like it: PROJECT=FILE" >&2
        exit 1
    }
    exit
fi

cd "$1"
# shellcheck source=packaging/project
. ./packaging/project
debian=packaging/debian
spec=packaging/rpm/ib-hook.spec

quoted() { # VALUE, for the replacement of sed's s,,,
    printf '%s\n' "$1" | sed 's/[&,\]/\\&/g'
}

field() { # FILE LINE NAME VALUE: NAME, with all that stands before the value, follows the line that begins with LINE
    sed -i "/^$3/d" "$1"
    [ -z "$4" ] || sed -i "s,^$2.*,&\\n$3$(quoted "$4")," "$1"
}

# What standard input has stands before the line NEXT (or at the end), in place of what is there from the line FIRST on.
section() { # FILE FIRST [NEXT]
    awk -v first="$2" -v next_line="${3:-}" -v text="$(cat)" '
        $0 == first { inside = 1 }
        next_line != "" && $0 == next_line { print text "\n"; inside = 0 }
        !inside
        END { if (next_line == "") print text }' "$1" >"$1.new"
    cat "$1.new" >"$1" # its mode stays
    rm "$1.new"
}

if [ -n "$MAINTAINER" ]; then
    who=$(quoted "$MAINTAINER")
    sed -i "s,^Maintainer: .*,Maintainer: $who," $debian/control
    sed -i "0,/^ -- /s,^ -- .*>  , -- $who  ," $debian/changelog
    sed -i "/^%changelog/{n;s,^\(\(\* *\)\([^ ]* \)\{4\}\).* - ,\1$who - ,}" $spec
    section core/SECURITY.md "## Reporting" "## Attacks" <<END
## Reporting

If you find an attack that works, write to $MAINTAINER in private before you publish it.
END
fi
field $debian/copyright Upstream-Name: "Source: " "$VCS"
field $debian/copyright Upstream-Name: "Upstream-Contact: " "$MAINTAINER"
field $debian/control Standards-Version: "Vcs-Git: " "$VCS"
field $debian/control Standards-Version: "Vcs-Browser: " "$(echo "$VCS" | sed -n '/^http/s/[.]git$//p')"
field $debian/control Standards-Version: "Homepage: " "$HOMEPAGE"
field $spec License: "Packager:       " "$MAINTAINER"
field $spec License: "VCS:            git:" "$VCS"
field $spec License: "BugURL:         " "$REPORT"
field $spec License: "URL:            " "$HOMEPAGE"
sed -i "s,\(<param name=\"url\">\)[^<]*,\1$(quoted "$VCS")," packaging/obs/_service

check packaging/project 2>/dev/null || exit 0
sed -i "1s,(unreleased),($(date -u -d "$(sed -n '/^ -- /{s/.*>  //p;q}' $debian/changelog)" +%F))," NEWS
section README.md "## Help and bugs" "## Work on it" <<END
## Help and bugs

The home page is <$HOMEPAGE>. Ask questions and report bugs at <$REPORT>.
Include the output of \`ib-hook --version\` and \`sudo ib-hook --check --verbose\`. If you find a vulnerability, write to
$MAINTAINER in private before you publish it.
END
section packaging/man/ib-hook.8 ".Sh BUGS" <<END
.Sh BUGS
Known bugs are listed at
.Lk $REPORT .
.Sh REPORTING BUGS
Report a bug, or ask a question, at
.Lk $REPORT .
Include the output of
.Ql ib-hook --version
and
.Ql ib-hook --check --verbose .
If you find a vulnerability, write to
.An ${MAINTAINER% <*}
.Aq Mt $(echo "$MAINTAINER" | sed 's/.*<\(.*\)>/\1/')
in private before you publish it.
The home page is
.Lk $HOMEPAGE .
END
