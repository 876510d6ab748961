#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Port to port on one host, over the wire: only with accept_local=1 does a rail take what comes from another of the
# host's own addresses. It is given back, and never set where `all` has it already.
. "$(dirname "$0")/lib.sh"

make_hosts 2 B
takes() { # what comes in by ib1 from ib0's address → yes | no
    on B ip route get 172.16.34.2 from 172.16.34.1 iif ib1 >/dev/null 2>&1 && echo yes || echo no
}
file=$(config '[interface ib*]
accept_local=1')

expect_hook 0 B --apply
expect_equal "by default" no "$(takes)"
expect_sysctls B ib0 accept_local=0
expect_hook 0 B --config "$file" --apply
expect_sysctls B ib0 accept_local=1
expect_sysctls B ib1 accept_local=1
expect_equal "with accept_local=1" yes "$(takes)"
expect_hook 0 B --config "$file" --check
expect_hook 0 B --apply
expect_equal "no longer configured" no "$(takes)"
expect_hook 0 B --config "$file" --apply
expect_hook 0 B --undo
expect_sysctls B ib0 accept_local=0
expect_sysctls B ib1 accept_local=0

sysctl_set B all accept_local 1
expect_hook 0 B --config "$file" --apply
expect_equal "the host takes it anyway" yes "$(takes)"
expect_hook 0 B --config "$file" --check
