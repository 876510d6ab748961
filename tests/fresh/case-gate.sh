# shellcheck shell=bash disable=SC2164 # lib.sh ends it at the first failure
# SPDX-License-Identifier: GPL-2.0-or-later
# What judges a change, from nothing: git and make are here, the rest it installs.
clone
cd ib-hook
.ci/run >gate.log 2>&1 || { cat gate.log && fail ".ci/run"; }
sed -n '/^the parts:$/,$p' gate.log
expect '^[0-9]+ passed, 0 failed, 0 skipped$' gate.log
seen "$(tail -n 1 gate.log); $(sed -n 's/^ *\([0-9]* s\)  in all/\1/p' gate.log)"
