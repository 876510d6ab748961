# shellcheck shell=bash disable=SC2164 # lib.sh ends it at the first failure
# SPDX-License-Identifier: GPL-2.0-or-later
# The README's two commands, one after the other: the first needs nothing of the second; the second runs all tests, and
# nothing but packages and the clone has changed afterwards.
clone
cd ib-hook
make demo >../demo.log 2>&1 || { cat ../demo.log && fail "make demo"; }
expect 'of 4 pairs used their own NICs, with it 4 of 4' ../demo.log
! grep -iE 'not found|no such file|debconf' ../demo.log || fail "it prints what is wrong with the system, not with ib-hook"

# The README's order for a session over a rail: from the clone to a --confirm that waits, before anything is installed. Here
# with two NICs of a private network; pages/test-readme has the session.
# shellcheck disable=SC2016 # of Markdown
safe=$(grep -o '`make deps[^`]*--confirm [0-9]*`' README.md | tr -d '`')
printf '#!/bin/sh\nexec unshare --net "$@"\n' >/usr/local/bin/sudo && chmod 0755 /usr/local/bin/sudo
(eval "$safe") >../safe.log 2>&1 || { cat ../safe.log && fail "$safe"; }
rm /usr/local/bin/sudo
expect '^applied: 0 changes' ../safe.log

make -n check >../plan.log 2>&1
expect '^packaging/deps.sh build tests$' ../plan.log # here they are there already, so that nothing else may change
make -s test-deps
make -s build/unpacked/.complete
before=$(machine /root/ib-hook)
make check >/root/check.log 2>&1 || { cat /root/check.log && fail "make check"; }
mv /root/check.log check.log
expect '^[0-9]+ passed, 0 failed, 0 skipped$' check.log
[ "$(wc -l <check.log)" -le 60 ] || fail "it prints more than a page: $(wc -l <check.log) lines"
expect_untouched "$before" /root/ib-hook
cat check.log
seen "$(tail -n 1 check.log); nothing else of the machine has changed"
