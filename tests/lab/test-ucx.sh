#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# UCX between all pairs of two hosts' rails over RoCE, with the environment that --render env prints: ucx_perftest comes
# through, and its packets used the two devices of the pair. By IPv6: with a GID of an IPv4 address UCX 1.13 gets no answer that
# it takes from Soft-RoCE, ib-hook or not.
. "$(dirname "$0")/lib.sh"

plugins=$(dirname "$(ldconfig -p | sed -n 's/.*=> \(.*libucp\.so\.0\)$/\1/p' | head -n 1)")/ucx
files=(file="$(command -v ucx_perftest):/usr/bin/ucx_perftest")
for plugin in "$plugins"/libuct_{ib,rdmacm}.so.0; do files+=(file="$plugin:$plugin"); done
make_hosts 2 memory=1024 "${files[@]}"
for host in A B; do
    for n in 0 1; do vm $host "ip address add fd00:16::$(host_id $host):$((n + 1))/64 dev ib$n nodad"; done
    hook $host --apply >/dev/null
done

# shellcheck disable=SC2016 # for the shell in the guest
packets='for n in 0 1; do cat /sys/class/infiniband/rxe$n/ports/1/hw_counters/sent_pkts; done | xargs'
moved() { # BEFORE AFTER: the devices that sent 20 packets and more
    local before after i
    read -r -a before <<<"$1"
    read -r -a after <<<"$2"
    for i in 0 1; do [ $((after[i] - before[i])) -lt 20 ] || printf 'rxe%d ' $i; done
}

# shellcheck disable=SC2016 # for the shell in the guest
index=$(vm A 'cd /sys/class/infiniband/rxe0/ports/1/gids && grep -l "^fd00:0016:" [0-9]* | head -n 1')
# shellcheck disable=SC2016 # for the shell in the guest
environment='eval "$(ib-hook --render env)"; export UCX_IB_GID_INDEX='$index' UCX_TLS=rc UCX_NET_DEVICES='
for i in 0 1; do
    for j in 0 1; do
        a=$(vm A "$packets") b=$(vm B "$packets")
        # shellcheck disable=SC2016 # for the shell in the guest
        vm B "$environment"'rxe'$j':1; ucx_perftest -p 13337 >/run/ucx.server 2>&1 & echo $! >/run/ucx.pid
            until grep -q ":3419 " /proc/net/tcp*; do kill -0 $(cat /run/ucx.pid) || exit 1; done'
        vm A "${environment}rxe$i:1; ucx_perftest $(address B $j) -p 13337 -t tag_lat -n 50 -w 5 >/run/ucx.client 2>&1" ||
            fail "ucx_perftest from rxe$i to rxe$j" "$(vm A 'cat /run/ucx.client')" "$(vm B 'cat /run/ucx.server')"
        expect_equal "UCX from A's rail $i to B's rail $j: the devices" "rxe$i rxe$j " \
            "$(moved "$a" "$(vm A "$packets")")$(moved "$b" "$(vm B "$packets")")"
    done
done
