#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Both packages, built a second time somewhere else, have the same bytes.
. "$(dirname "$0")/lib.sh"

"$top/packaging/build-deb.sh" $work/deb >$work/log &
"$top/packaging/build-rpm.sh" $work/a/longer/path/rpm >$work/log.rpm
wait $!
for one in "$deb" "${deb/ib-hook_/ib-hook-dbgsym_}"; do
    cmp "$one" "$work/deb/$(basename "$one")" || fail "$(basename "$one") differs"
    ok "$(basename "$one")"
done
cmp "$rpm" $work/a/longer/path/rpm/RPMS/*/"${rpm##*/}" || fail "$(basename "$rpm") differs"
ok "$(basename "$rpm")"
