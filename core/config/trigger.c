/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/trigger.h"

#include "model/model.h"

#include <string.h>

/* lo, too, may get an address that the rails have to leave to main's NIC. Of an empty or hostile name only "something
 * has changed" is left. `down`: the event that takes an interface down on purpose. */
static IbhTrigger make(const char *manager, const char *iface, const char *event, const char *down)
{
    IbhTrigger trigger = {.wanted = true};
    const bool named = iface && ibh_iface_name_is_valid(iface);

    if (named && g_strcmp0(event, down) == 0)
        g_strlcpy(trigger.down, iface, sizeof trigger.down);
    (void)g_snprintf(trigger.cause, sizeof trigger.cause, "%s: %s %s", manager, named ? iface : "?",
                     event ? event : "?");
    return trigger;
}

/* "reapply" comes before the new addresses are set: a moment before (1.42), or before it is known that no other host
 * has them (0.2 s by default from 1.46 on). */
IbhTrigger ibh_trigger_nm(int argc, char **argv)
{
    static const char *const actions[] = {"pre-up", "up", "dhcp4-change", "dhcp6-change", "reapply", "down", NULL};
    IbhTrigger trigger = {.wanted = false};

    if (argc >= 3 && g_strv_contains(actions, argv[2])) {
        trigger = make("NetworkManager", argv[1], argv[2], "down");
        trigger.early = g_str_equal(argv[2], "reapply") && !g_str_equal(argv[1], "lo");
    }
    return trigger;
}

/* "degraded" and "no-carrier" come and go by themselves: while networkd restarts, addresses are away for a moment. */
IbhTrigger ibh_trigger_networkd(char **envp)
{
    return make("networkd-dispatcher", g_environ_getenv(envp, "IFACE"), g_environ_getenv(envp, "OperationalState"),
                "off");
}

/* PHASE has other values in each of the three ifupdowns; MODE has the same in all. */
IbhTrigger ibh_trigger_ifupdown(char **envp)
{
    return make("ifupdown", g_environ_getenv(envp, "IFACE"), g_environ_getenv(envp, "MODE"), "stop");
}

IbhTrigger ibh_trigger_ifcfg(int argc, char **argv)
{
    const char *program = argc > 0 ? argv[0] : "", *slash = strrchr(program, '/');
    const char *event = g_str_equal(slash ? slash + 1 : program, "ifdown-local") ? "down" : "up";

    return make("network-scripts", argc > 1 ? argv[1] : NULL, event, "down");
}
