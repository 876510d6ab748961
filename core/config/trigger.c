/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/trigger.h"

#include <string.h>

bool ibh_trigger_is_name(const char *name)
{
    return name[0] && strnlen(name, IFNAMSIZ) < IFNAMSIZ && !strpbrk(name, "/: \t\n\v\f\r") && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

/* The loopback never needs work; of an empty or hostile name only "something has changed" is left. */
static IbhTrigger make(const char *iface, bool down)
{
    IbhTrigger trigger = {.wanted = !iface || strcmp(iface, "lo") != 0};

    if (iface && ibh_trigger_is_name(iface)) {
        memcpy(trigger.iface, iface, strlen(iface));
        memcpy(trigger.down, trigger.iface, down ? sizeof trigger.down : 0);
    }
    return trigger;
}

/* Like getenv(), of any environment. */
static const char *trigger_getenv(char **envp, const char *name)
{
    const size_t length = strlen(name);

    for (; *envp; envp++) {
        if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=')
            return *envp + length + 1;
    }
    return NULL;
}

static bool is(const char *word, const char *other)
{
    return word && strcmp(word, other) == 0;
}

/* "reapply" comes before the new addresses are set: a moment before (1.42), or before it is known that no other host
 * has them (0.2 s by default from 1.46 on). */
IbhTrigger ibh_trigger_nm(int argc, char **argv)
{
    static const char *const actions[] = {"pre-up", "up", "dhcp4-change", "dhcp6-change", "reapply", "down"};
    IbhTrigger trigger = {.wanted = false};

    for (size_t i = 0; argc >= 3 && i < sizeof actions / sizeof actions[0]; i++) {
        if (!is(argv[2], actions[i]))
            continue;
        trigger = make(argv[1], is(argv[2], "down"));
        trigger.early = trigger.wanted && is(argv[2], "reapply");
    }
    return trigger;
}

/* "degraded" and "no-carrier" come and go by themselves: while networkd restarts, addresses are away for a moment. */
IbhTrigger ibh_trigger_networkd(char **envp)
{
    return make(trigger_getenv(envp, "IFACE"), is(trigger_getenv(envp, "OperationalState"), "off"));
}

/* PHASE has other values in each of the three ifupdowns; MODE has the same in all. */
IbhTrigger ibh_trigger_ifupdown(char **envp)
{
    return make(trigger_getenv(envp, "IFACE"), is(trigger_getenv(envp, "MODE"), "stop"));
}

IbhTrigger ibh_trigger_ifcfg(int argc, char **argv)
{
    const char *program = argc > 0 ? argv[0] : "", *slash = strrchr(program, '/');
    const char *name = slash ? slash + 1 : program;

    return make(argc > 1 ? argv[1] : NULL, is(name, "ifdown-local"));
}
