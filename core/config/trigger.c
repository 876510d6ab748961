#include "config/trigger.h"

#include "model/model.h"

#include <string.h>

static gboolean is_one_of(const char *word, const char *const *words)
{
    return word && g_strv_contains(words, word);
}

/* Nothing ever is to be done for the loopback; of an empty or hostile name only "something has changed" is left. */
static IbhTrigger make(const char *iface, gboolean down)
{
    IbhTrigger trigger = {.wanted = g_strcmp0(iface, "lo") != 0};

    if (down && iface && ibh_is_iface_name(iface))
        g_strlcpy(trigger.down, iface, sizeof trigger.down);
    return trigger;
}

/* "reapply" is said before the new addresses are set: a moment before (1.42), or before it is known that nobody else
 * has them (0.2 s by default from 1.46 on). */
IbhTrigger ibh_trigger_nm(int argc, char **argv)
{
    static const char *const actions[] = {"pre-up", "up", "dhcp4-change", "dhcp6-change", "reapply", "down", NULL};
    IbhTrigger trigger;

    if (argc < 3 || !is_one_of(argv[2], actions))
        return (IbhTrigger){.wanted = FALSE};
    trigger = make(argv[1], g_str_equal(argv[2], "down"));
    trigger.early = trigger.wanted && g_str_equal(argv[2], "reapply");
    return trigger;
}

/* "degraded" and "no-carrier" come and go by themselves: while networkd restarts, addresses are away for a moment. */
IbhTrigger ibh_trigger_networkd(char **envp)
{
    return make(g_environ_getenv(envp, "IFACE"), g_strcmp0(g_environ_getenv(envp, "OperationalState"), "off") == 0);
}

/* PHASE has other values in each of the three ifupdowns; MODE has the same in all. */
IbhTrigger ibh_trigger_ifupdown(char **envp)
{
    return make(g_environ_getenv(envp, "IFACE"), g_strcmp0(g_environ_getenv(envp, "MODE"), "stop") == 0);
}

IbhTrigger ibh_trigger_rhel(int argc, char **argv)
{
    const char *program = argc > 0 ? strrchr(argv[0], '/') : NULL;

    program = program ? program + 1 : argc > 0 ? argv[0] : "";
    return make(argc > 1 ? argv[1] : NULL, g_str_equal(program, "ifdown-local"));
}
