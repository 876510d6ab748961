# shellcheck shell=bash disable=SC2164 # lib.sh ends it at the first failure
# SPDX-License-Identifier: GPL-2.0-or-later
# The README's first command.
clone
cd ib-hook
make demo >../demo.log 2>&1 || { cat ../demo.log && fail "make demo"; }
expect 'of 4 pairs used their own NICs, with it 4 of 4' ../demo.log
! grep -iE 'not found|no such file|debconf' ../demo.log || fail "what was printed is for nobody to read"
seen "$(wc -l <../demo.log) lines, the last of them: $(tail -n 1 ../demo.log | cut -c1-76)…"
