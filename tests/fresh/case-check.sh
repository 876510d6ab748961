# shellcheck shell=bash disable=SC2164 # lib.sh ends it at the first failure
# SPDX-License-Identifier: GPL-2.0-or-later
# The README's second command: all tests, and nothing but packages and the clone has changed.
clone
cd ib-hook
make deps
make -s build/unpacked/.complete
install_packages iproute2
before=$(machine /root/ib-hook)
make check >/root/check.log 2>&1 || { cat /root/check.log && fail "make check"; }
mv /root/check.log check.log
expect '^[0-9]+ passed, 0 failed, 0 skipped$' check.log
[ "$(wc -l <check.log)" -le 60 ] || fail "it prints more than a page: $(wc -l <check.log) lines"
expect_untouched "$before" /root/ib-hook
seen "$(tail -n 1 check.log); nothing else of the machine has changed"
