#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --probe --rdma where there is no RDMA: what is missing is named, once, and echoes are judged as ever. What RDMA itself
# says is lab/probe-rdma's.
. "$(dirname "$0")/lib.sh"
needs nft

[ ! -e /dev/infiniband ] || mount -t tmpfs none /dev/infiniband # the machine's own devices are not asked
make_hosts 2
expect_hook 0 A --apply
expect_hook 0 B --apply

answers() { json '[.pairs[] | "\(.received) \(.rdma)"] | join(", ")'; }

expect_hook 1 A --probe 172.16.34.1 172.16.34.2 --rdma --json
expect_equal "echoes come through, nobody is asked by RDMA" "3 not-asked, 3 not-asked, 3 not-asked, 3 not-asked" "$(answers)"
expect_equal "which is one finding" "error module-missing ib0+ib1" "$(codes)"
expect_equal "with its fix" "sudo modprobe rdma_ucm" "$(json '.findings[].fix')"
expect_equal "the pairs themselves have no fault" "true" "$(json '[.pairs[].ok] | unique[]')"
expect_equal "nothing on standard error" "" "$err"
expect_hook 1 A --probe 172.16.34.1 172.16.34.2 --rdma
expect_contains "in text" "ok; RDMA: not-asked" "$out"

# A peer that is not there is not asked, and named.
expect_hook 1 A --probe 172.16.34.1 172.16.34.77 --rdma
expect_contains "a pair that is not asked is named" "RDMA: no-echo" "$(grep "^ib1 *172.16.34.77 " <<<"$out")"

# A NIC without any RDMA has no module to miss.
rm -r "/run/sys/A/class/infiniband/mlx5_1"
expect_hook 1 A --probe 172.16.34.1 --rdma --iface ib1 --json
expect_equal "no device" "3 no-device" "$(answers)"
expect_equal "is a finding of the NIC" "error rdma-no-device ib1" "$(codes)"
rdma A ib0 ib1

# Soft-RoCE sends by this host's own firewall; an adapter does not.
on A nft "add table ip t; add chain ip t c { type filter hook output priority 0; }; add rule ip t c ip daddr 172.16.34.2 udp dport 4791 drop"
expect_hook 1 A --probe 172.16.34.1 172.16.34.2 --rdma --json
expect_equal "an adapter's packets do not pass it" "error module-missing ib0+ib1" "$(codes)"
for n in 0 1; do echo ib$n >/run/sys/A/class/infiniband/mlx5_$n/parent; done
expect_hook 1 A --probe 172.16.34.1 172.16.34.2 --rdma --json
expect_equal "Soft-RoCE's do" "error module-missing ib0+ib1, error rdma-unreachable ib0+ib1" "$(codes)"
expect_contains "and that is what is said" "ib0, ib1 to 172.16.34.2: RDMA was not tested: this host's own firewall or queue drops UDP 4791" \
    "$(json '.findings[].message')"
expect_equal "of these pairs only" "172.16.34.2 172.16.34.2" \
    "$(json '[.pairs[] | select(.problems == ["rdma-unreachable"]) | .peer] | join(" ")')"
on A nft flush ruleset
expect_hook 1 A --probe 172.16.34.1 172.16.34.2 --rdma --json
expect_equal "without it nothing is said of it" "error module-missing ib0+ib1" "$(codes)"
