#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Without our policy module, as the .deb or the RPM alone install it: each hook from its caller's domain.
. "$(dirname "$0")/lib.sh"
boot without

# Why the program for NetworkManager lies where it does: the same one as any other file may do nothing there.
clean
vm H 'ln -sf /usr/bin/plain-program /etc/NetworkManager/dispatcher.d/60-plain'
as NetworkManager_dispatcher_t /etc/NetworkManager/dispatcher.d/60-plain ib0 up
expect_nothing "a link to a program of type bin_t does nothing, in the dispatcher's domain"
expect_contains "although it ran, there" "comm=\"60-plain\"" "$(vm H 'dmesg | grep denied.*scontext=[^:]*:[^:]*:NetworkManager_dispatcher_t')"
expect_contains "it says so" "SELinux forbids access to /sys/class/net to ib-hook, which runs as system_u:system_r:NetworkManager_dispatcher_t:s0: install ib-hook-selinux" \
    "$(vm H 'cat /run/messages')"
vm H 'rm /etc/NetworkManager/dispatcher.d/60-plain'

for hook in 50-ib-hook pre-up.d/50-ib-hook; do
    for directory in /etc /usr/lib; do
        clean
        as NetworkManager_dispatcher_t $directory/NetworkManager/dispatcher.d/$hook ib0 up
        expect_done "$directory/NetworkManager/dispatcher.d/$hook routes"
        expect_equal "in this domain" NetworkManager_dispatcher_custom_t "$(ran_in)"
    done
done

clean
as unconfined_service_t IFACE=ib0 OperationalState=routable /etc/networkd-dispatcher/routable.d/50-ib-hook
expect_done "networkd-dispatcher's hook routes"
clean
as initrc_t /sbin/ifup-local ib0
expect_done "network-scripts' hook routes"
vm H 'ip address flush dev ib1; ip address add 172.16.50.2/16 dev ib1'
as NetworkManager_dispatcher_t /etc/NetworkManager/dispatcher.d/50-ib-hook ib1 up
expect_done "and NetworkManager's, after it"
