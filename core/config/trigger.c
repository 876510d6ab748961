/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/trigger.h"

#include "model/model.h"

#include <string.h>

/* Makes the trigger for an event that can have changed a rail. `down_event` is the manager's event for an interface
 * that was taken down on purpose. Events of lo count, too: if lo gets an address, the rails may need arp_filter
 * (plan/arp.c). If the name of the interface is missing or invalid, the hook runs nevertheless, without a name. */
static IbhTrigger new_trigger(const char *manager, const char *iface, const char *event, const char *down_event)
{
    IbhTrigger trigger = {.wanted = true};
    const bool named = iface && ibh_iface_name_is_valid(iface);

    if (named && g_strcmp0(event, down_event) == 0)
        g_strlcpy(trigger.down, iface, sizeof trigger.down);
    (void)g_snprintf(trigger.cause, sizeof trigger.cause, "%s: %s %s", manager, named ? iface : "?",
                     event ? event : "?");
    return trigger;
}

/* Actions that are not in the list, such as hostname, need no run. NetworkManager reports "reapply" before it sets the
 * new addresses. Version 1.42 sets them immediately afterwards. Since 1.46, NetworkManager first checks that no other
 * host has these addresses, which takes 0.2 s by default. */
IbhTrigger ibh_trigger_nm(int argc, char **argv)
{
    static const char *const actions[] = {"pre-up", "up", "dhcp4-change", "dhcp6-change", "reapply", "down", NULL};
    IbhTrigger trigger = {.wanted = false};

    if (argc >= 3 && g_strv_contains(actions, argv[2])) {
        trigger = new_trigger("NetworkManager", argv[1], argv[2], "down");
        trigger.early = g_str_equal(argv[2], "reapply");
    }
    return trigger;
}

/* Only "off" means that an interface was taken down on purpose: "degraded" and "no-carrier" are also reported while
 * networkd restarts and an address is away for a moment. */
IbhTrigger ibh_trigger_networkd(char **envp)
{
    return new_trigger("networkd-dispatcher", g_environ_getenv(envp, "IFACE"),
                       g_environ_getenv(envp, "OperationalState"), "off");
}

/* ifupdown, ifupdown-ng and ifupdown2 set different values of PHASE, but the same values of MODE. */
IbhTrigger ibh_trigger_ifupdown(char **envp)
{
    return new_trigger("ifupdown", g_environ_getenv(envp, "IFACE"), g_environ_getenv(envp, "MODE"), "stop");
}

IbhTrigger ibh_trigger_ifcfg(int argc, char **argv)
{
    const char *program = argc ? argv[0] : "", *slash = strrchr(program, '/');
    const char *event = g_str_equal(slash ? slash + 1 : program, "ifdown-local") ? "down" : "up";

    return new_trigger("network-scripts", argc > 1 ? argv[1] : NULL, event, "down");
}
