# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# One line that tells how far the tests are: on a terminal only, and on descriptor 3 where the caller has one for it.

if ! { : >&3; } 2>/dev/null; then
    if [ -t 2 ] && [ -z "${V:-}" ]; then exec 3>&2; else exec 3>/dev/null; fi
fi

progress() { # TEXT
    printf '\r\e[K%s' "${PART:+$PART: }$1" >&3
}

progress_end() {
    printf '\r\e[K' >&3
}
