# shellcheck shell=bash disable=SC2164 # lib.sh ends it at the first failure
# SPDX-License-Identifier: GPL-2.0-or-later
# An ordinary person with sudo and the release's tarball: demonstration, tests and packages.
add_person
clone release
cd release
printf '%s="%s"\n' MAINTAINER "Jane Roe <jane@example.org>" HOMEPAGE https://example.org \
    REPORT https://example.org/bugs VCS https://example.org/ib-hook.git >../project
make -s PROJECT=../project dist >/dev/null
first=$(sha256sum <build/dist/ib-hook-*.tar.gz)
tar -x -C /home/person -f build/dist/ib-hook-*.tar.gz
(umask 077 && cp -r /home/person/ib-hook-* /root/again && cd /root/again && make -s dist >/dev/null)
[ "$first" = "$(sha256sum </root/again/build/dist/ib-hook-*.tar.gz)" ] || fail "a tarball made of the tarball has other bytes"
mv /home/person/ib-hook-* /home/person/ib-hook
chown -R person: /home/person/ib-hook
unset CI # without root's rights some tests cannot run

as_person 'make demo' >demo.log 2>&1 || { cat demo.log && fail "make demo"; }
expect 'with it 4 of 4' demo.log
as_person 'make check' >check.log 2>&1 || { cat check.log && fail "make check"; }
expect '^[0-9]+ passed, 0 failed, [0-9]+ skipped$' check.log
skipped=$(tail -n 1 check.log | sed 's/.* \([0-9]*\) skipped/\1/')
[ "$skipped" -le 30 ] || fail "so many tests need not be skipped in user namespaces: $(tail -n 30 check.log)"
expect 'sudo make check-netns' check.log
as_person 'make deb && make rpm' >packages.log 2>&1 || { cat packages.log && fail "make deb, make rpm"; }
ls /home/person/ib-hook/build/deb/ib-hook_*.deb /home/person/ib-hook/build/rpm/RPMS/*/*.rpm
seen "make check: $(tail -n 1 check.log); the tarball has the same bytes twice"
