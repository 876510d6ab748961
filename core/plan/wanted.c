/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/plan.h"
#include "plan/want.h"

#include <string.h>

IbhWanted *ibh_wanted_empty(const IbhRails *rails)
{
    IbhWanted *wanted = g_new(IbhWanted, 1);

    *wanted = (IbhWanted){.rails = rails,
                          .nics = IBH_NEW_ARRAY(IbhWantedNic),
                          .rules = IBH_NEW_ARRAY(IbhRule),
                          .routes = IBH_NEW_ARRAY(IbhRoute)};
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        IbhWantedNic one = {.nic = nic};

        memcpy(one.value, nic->link->sysctl, sizeof one.value);
        g_array_append_val(wanted->nics, one);
    }
    return wanted;
}

IbhWantedNic *ibh_wanted_nic(const IbhWanted *wanted, const IbhNic *nic)
{
    return nic ? &g_array_index(wanted->nics, IbhWantedNic, nic->position) : NULL;
}

void ibh_wanted_free(IbhWanted *wanted)
{
    g_array_unref(wanted->nics);
    g_array_unref(wanted->rules);
    g_array_unref(wanted->routes);
    g_free(wanted);
}

/* `user` owns a route in this table, or a rule that leads to the table, or is NULL if the route or rule has no owner.
 * Selects `user` if the table belongs to a selected rail. Never selects a kept NIC. Returns TRUE if `user` was not
 * selected before, but is now. */
static gboolean select_user(const IbhWanted *wanted, const IbhNic *user, guint32 table)
{
    const IbhNic *of_table = ibh_rails_nic_by_table(wanted->rails, table);
    IbhWantedNic *one = ibh_wanted_nic(wanted, user);

    if (!one || one->selected || user->kept || !of_table || of_table->status != IBH_NIC_RAIL ||
        !ibh_wanted_nic(wanted, of_table)->selected)
        return FALSE;
    one->selected = TRUE;
    return TRUE;
}

IbhWanted *ibh_wanted_new(const IbhRails *rails)
{
    IbhWanted *wanted = ibh_wanted_empty(rails);
    gboolean more = rails->only != NULL;

    wanted->orphans = !rails->only;
    wanted->waits = TRUE;
    /* A route of main=spread serves all rails of a subnet, so a run for some rails leaves the route alone. But
     * --undo for some rails takes these rails out of the route, unless the configuration could not be used: then we do
     * not know which rails remain. If any NIC is kept (IbhNic.kept), this run leaves the route alone, too. */
    wanted->spread = !rails->only || (rails->undo && !rails->blind);
    IBH_EACH (IbhWantedNic, one, wanted->nics) {
        one->selected = !one->nic->kept && ibh_nic_is_selected(one->nic, rails->only);
        wanted->spread &= !one->nic->kept;
    }
    /* A rail selected by name may need a table that another NIC has to leave first: then move that NIC, too. That NIC
     * may take the table of a third NIC, so repeat until no NIC is added. */
    while (more) {
        more = FALSE;
        IBH_EACH (const IbhRule, rule, rails->snapshot->rules)
            more |= ibh_rule_is_ours(rule) && select_user(wanted, ibh_rule_owner(rails, rule), rule->table);
        IBH_EACH (const IbhRoute, route, rails->snapshot->routes)
            more |= ibh_route_is_ours(route) && select_user(wanted, ibh_route_owner(rails, route), route->table);
    }
    IBH_EACH (IbhWantedNic, one, wanted->nics) {
        const IbhNic *nic = one->nic;
        /* An undone NIC with a strict rp_filter may drop even ARP requests for its own addresses. Then a remaining rail
         * has to answer these requests, so --undo also sets the ARP sysctls of the rails that it otherwise leaves
         * alone. */
        const gboolean adapts = rails->undo && !rails->blind && !nic->kept && ibh_nic_is_programmed(rails, nic);

        if (one->selected) {
            g_array_append_vals(wanted->rules, nic->rules->data, nic->rules->len);
            g_array_append_vals(wanted->routes, nic->routes->data, nic->routes->len);
        }
        for (IbhSysctl key = 0; key < IBH_N_SYSCTLS; key++) {
            if (one->selected || (adapts && key != IBH_SYSCTL_RP_FILTER))
                one->value[key] = ibh_want_sysctl(rails, nic, key);
        }
    }
    if (wanted->spread)
        ibh_want_spread(rails, wanted->routes, wanted->rules);
    return wanted;
}
