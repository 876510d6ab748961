#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2016 # for the shell in the guest
# With our policy module: each hook and service from its caller's domain, each the first one that runs, and after a shell.
. "$(dirname "$0")/lib.sh"
boot with

# The addresses are away for a moment, and with them the routes: no hook that only looks would pass.
disturb() {
    vm H 'ip address flush dev ib1; ip address add 172.16.50.2/16 dev ib1; ip address add fd00:50::2/64 dev ib1
        ip rule del from 172.16.50.1 lookup 941'
}

# both_orders DOMAIN COMMAND…
both_orders() {
    local domain=$1
    shift
    clean
    as "$domain" "$@"
    expect_done "$* as the first one, from $domain"
    expect_equal "it has its own domain" ib_hook_t "$(ran_in)"
    expect_equal "what it may not, it does not try" "" "$(denied)"
    vm H 'ib-hook --check >/dev/null'
    disturb
    vm H 'ib-hook --apply >/dev/null'
    expect_done "a shell goes on"
    clean
    vm H 'ib-hook --apply >/dev/null'
    disturb
    as "$domain" "$@"
    expect_done "$* after a shell, from $domain"
    expect_equal "it has its own domain" ib_hook_t "$(ran_in)"
    expect_equal "what it may not, it does not try" "" "$(denied)"
}

nm=/etc/NetworkManager/dispatcher.d
both_orders NetworkManager_dispatcher_t $nm/50-ib-hook ib0 up
both_orders NetworkManager_t $nm/50-ib-hook ib0 up
both_orders NetworkManager_dispatcher_t $nm/pre-up.d/50-ib-hook ib1 pre-up
both_orders initrc_t /sbin/ifup-local ib0
both_orders initrc_t MODE=start IFACE=ib0 /etc/network/if-up.d/ib-hook
both_orders init_t /usr/libexec/ib-hook/boot

# It has no domain of its own, may do everything, and leaves what others can use.
clean
as unconfined_service_t IFACE=ib0 OperationalState=routable /etc/networkd-dispatcher/routable.d/50-ib-hook
expect_done "networkd-dispatcher's hook"
disturb
as NetworkManager_dispatcher_t $nm/50-ib-hook ib0 up
expect_done "and then NetworkManager's"

# wait_for COUNT: of rules, routes and sysctls
wait_for() {
    local deadline=$((SECONDS + 20))
    until [ "$(rules)" = "$1" ]; do [ $SECONDS -lt $deadline ] || fail "there are $(rules), not $1" "$(denied)"; done
}

# The service has NoNewPrivileges=, with which a change of domain wants a permission of its own.
for first in watch shell; do
    clean
    [ $first = watch ] || vm H 'ib-hook --apply >/dev/null'
    vm H 'runcon system_u:system_r:init_t:s0 busybox-caller setpriv --nnp /usr/bin/ib-hook --watch >/dev/null 2>&1 </dev/null &
        echo $! >/run/watch'
    wait_for 6
    ok "--watch, with $first as the first one"
    expect_equal "it has its own domain" system_u:system_r:ib_hook_t:s0 "$(vm H 'cat /proc/$(cat /run/watch)/attr/current' | tr -d '\0')"
    disturb
    wait_for 6
    ok "it repairs"
    as NetworkManager_dispatcher_t $nm/50-ib-hook ib0 up
    vm H 'kill $(cat /run/watch); until ! kill -0 $(cat /run/watch) 2>/dev/null; do usleep 10000; done'
    expect_equal "what it may not, it does not try" "" "$(denied)"
done

clean
as init_t /usr/bin/ib-hook --apply --confirm 60
expect_done "--apply --confirm"
vm H 'ib-hook --confirm >/dev/null' || fail "a shell cannot confirm it"
expect_done "a shell has confirmed it"
clean
as init_t /usr/bin/ib-hook --apply --confirm 1
expect_equal "in its own domain" ib_hook_t "$(ran_in)"
wait_for 0
ok "nobody confirms: it is undone"
vm H 'ib-hook --apply --confirm 60 >/dev/null'
as init_t /usr/bin/ib-hook --confirm || fail "a service cannot confirm what a shell began" "$(denied)"
expect_equal "what it may not, it does not try" "" "$(denied)"
