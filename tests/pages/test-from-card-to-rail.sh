#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# packaging/doc/from-card-to-rail.md: each command that needs neither a card nor RDMA prints what the page shows, each file is
# taken by the manager that it is for, and every block says how it is tested.
. "$(dirname "$0")/../netns/lib.sh"
. "$tests/../page.sh"
page=$top/packaging/doc/from-card-to-rail.md

# ---- every block of commands says how it is tested, and there is a test for each ----
unsaid=$(page_blocks "$page" | awk '/^@ / { unsaid = /^@ none/; next } unsaid && /^([a-z0-9]+)?[#$] /')
expect_equal "each block of commands says how it is tested" "" "$unsaid"
expect_equal "and by a test that there is" "" "$(page_blocks "$page" | grep '^@ [Tt]ested' | grep -v -e 'in namespaces' \
    -e 'in virtual machines' -e 'apt knows' -e 'nmcli --offline' -e 'netplan' -e 'ifquery' || true)"

# ---- namespaces ----
make_hosts 2
for host in "A /run/sys/A" "B /run/sys/B"; do
    mkdir -p "$work/bin.${host% *}"
    printf '#!/bin/sh\nexec "%s" "$@" --sysfs %s\n' "$IB_HOOK" "${host#* }" >"$work/bin.${host% *}/ib-hook"
    chmod 0755 "$work/bin.${host% *}/ib-hook"
done
mkdir "$work/bin.none"
ln -s "$IB_HOOK" "$work/bin.none/ib-hook"

# shellcheck disable=SC2016 # for the inner shell
on_page() { # HOST COMMAND: there; ib-hook sees the RDMA devices of make_hosts, other programs the /sys of the namespace
    cd $work
    case "$1 $2" in
        memserver34*ulimit*) with_sys B env PATH="$work/bin.none:$PATH" bash -c "$2" ;; # limits are not in a copy of /sys
        memserver34*ib-hook*) PATH="$work/bin.B:$PATH" on B bash -c "$2" ;;
        memserver34*) on B unshare --mount bash -c 'mount -t sysfs sysfs /sys && eval "$1"' bash "$2" ;;
        cpuserver16*) PATH="$work/bin.A:$PATH" on A bash -c "$2" ;;
        *) echo "the page names another host: $1" ;;
    esac
}
tell_story "$page" "in namespaces" on_page
expect_at_least "commands that ran here" 11 $told

# ---- packages ----
packages=$(page_file "$page" "apt knows" | sed -n 's/^# apt install //p')
expect_at_least "packages of Debian" 6 "$(wc -w <<<"$packages")"
if apt-cache show libc6 >/dev/null 2>&1; then
    for package in $packages; do
        apt-cache show "$package" >/dev/null 2>&1 || fail "apt knows $package"
    done
    ok "apt knows $packages"
fi
