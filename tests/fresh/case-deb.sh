# shellcheck shell=bash disable=SC2164 # lib.sh ends it at the first failure
# SPDX-License-Identifier: GPL-2.0-or-later
# The package: built in a place with a space in its name, linted, installed, run, read about, purged.
mkdir "a place"
clone "a place/ib-hook"
make -C "a place/ib-hook" deb
install_packages man-db iproute2 lintian
"a place/ib-hook/tests/packages/lintian" "a place/ib-hook/build/deb/"*.changes >lint.log || { cat lint.log && fail "lintian"; }
! grep . lint.log || fail "lintian has something to say"
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "./a place/ib-hook/build/deb/"ib-hook_*.deb >install.log 2>&1 ||
    { cat install.log && fail "apt install"; }
ib-hook >show
expect '^no rails: ' show
ib-hook --check >check || fail "--check: $(<check)"
man ib-hook >page 2>man.log || fail "man ib-hook: $(<man.log)"
expect '^IB-HOOK\(8\)' page
! grep . man.log || fail "man complains of the page"
libraries=$(apt-mark showauto | grep -E 'libnl|libglib' | xargs)
DEBIAN_FRONTEND=noninteractive apt-get purge -y -qq ib-hook >/dev/null
left=$(find / \( -path /proc -o -path /sys -o -path /dev -o -path /var/cache -o -path /root -o -path /origin -o -path /cases \) -prune -o -name '*ib-hook*' -print)
[ -z "$left" ] || fail "left behind: $left"
seen "$(basename "a place/ib-hook/build/deb/"ib-hook_*.deb), with $libraries"
