/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/facts.h"

static void manager_clear(gpointer data)
{
    g_free(((IbhManager *)data)->connection);
    g_free(((IbhManager *)data)->inactive);
    g_free(((IbhManager *)data)->remedy);
}

static void script_clear(gpointer data)
{
    g_free(((IbhScript *)data)->path);
    g_free(((IbhScript *)data)->text);
}

IbhFacts *ibh_facts_new(void)
{
    IbhFacts *facts = g_new0(IbhFacts, 1);

    facts->managers = IBH_NEW_ARRAY(IbhManager);
    g_array_set_clear_func(facts->managers, manager_clear);
    facts->scripts = IBH_NEW_ARRAY(IbhScript);
    g_array_set_clear_func(facts->scripts, script_clear);
    facts->routes = IBH_NEW_ARRAY(IbhRoute);
    facts->mute[0] = IBH_NEW_ARRAY(int);
    facts->mute[1] = IBH_NEW_ARRAY(int);
    facts->no_ipv6 = IBH_NEW_ARRAY(int);
    return facts;
}

void ibh_facts_free(IbhFacts *facts)
{
    if (!facts)
        return;
    g_array_unref(facts->managers);
    g_array_unref(facts->scripts);
    g_array_unref(facts->routes);
    g_array_unref(facts->mute[0]);
    g_array_unref(facts->mute[1]);
    g_array_unref(facts->no_ipv6);
    g_free(facts);
}

const IbhManager *ibh_facts_manager(const IbhFacts *facts, int ifindex)
{
    IBH_EACH (const IbhManager, manager, facts->managers) {
        if (manager->ifindex == ifindex && manager->name)
            return manager;
    }
    return NULL;
}
