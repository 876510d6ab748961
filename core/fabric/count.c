/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks the setting rails=N, which says that N RDMA ports should have a rail. The setting is for rails that a host
 * cannot report as missing, because it does not remember them: a host without a disk starts with an empty /var/lib, and
 * no host remembers rails that are not hardware, such as virtual functions (is_hardware() in plan/known.c).
 */
#include "fabric/rows.h"

#include "check/check.h"

#include <string.h>

#define DEPTH 8 /* below a stacked link, such as a VLAN on a VLAN, we look at this many links at most */

/* Returns the name of a NIC's RDMA port. If the NIC has no port (for example a macvlan, or a VLAN on a VLAN), returns
 * the name of the port of the first link below the NIC that has a port. If there is no such link either, returns the
 * NIC's own name: so a rail without RDMA (manage=yes) counts as a port of its own. */
static const char *name_port_below(const IbhRails *rails, const IbhNic *nic)
{
    const IbhLink *link = nic->link, *below;

    for (int depth = 0; !link->rdma[0] && depth < DEPTH; depth++) {
        below = ibh_snapshot_link(rails->snapshot, link->parent);
        if (!below)
            break;
        link = below;
    }
    return link->rdma[0] ? link->rdma : nic->link->name;
}

/* A port with several rails counts once. If too few ports have a rail, the finding names the ports without a rail:
 * "mlx5_1/1 (ib1: it has no address)". */
void ibh_fabric_judge_count(const IbhFabric *fabric, const IbhRails *rails, guint wanted, GPtrArray *findings)
{
    g_autoptr(GHashTable) with_rail = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GString) without = g_string_new(NULL), words = g_string_new(NULL);
    IbhSubject about = {.rows = ibh_fabric_rows, .findings = findings, .words = words, .iface = ""};
    guint have, n_without = 0, absent;

    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (nic->status == IBH_NIC_RAIL)
            g_hash_table_add(with_rail, (gpointer)(guintptr)name_port_below(rails, nic));
    }
    have = g_hash_table_size(with_rail);
    IBH_EACH (const IbhPort, port, fabric->ports) {
        g_autofree char *why = NULL, *detail = NULL;
        const IbhNic *nic = NULL;

        if (g_hash_table_contains(with_rail, port->name))
            continue;
        /* If the port has several netdevs, name the first one in rails->nics, where candidates come first. A
         * representor is the netdev of another function, so never name a representor. */
        IBH_EACH_POINTER (const IbhNic, one, rails->nics) {
            if (!one->link->representor && g_str_equal(one->link->rdma, port->name)) {
                nic = one;
                break;
            }
        }
        why = nic ? ibh_nic_why(nic) : NULL;
        detail = nic ? g_strdup_printf("%s: %s", nic->link->name, why) : g_strdup("no netdev here");
        g_string_append_printf(without, "%s%s (%s)", without->len ? ", " : "", port->name, detail);
        n_without++;
    }
    /* If rails= expects more ports than this host has at all, the finding also says how many are not there. */
    absent = wanted > have + n_without ? wanted - have - n_without : 0;
    if (absent)
        g_string_append_printf(without, "%s%u %s not there", without->len ? ", and " : "", absent,
                               absent == 1 ? "port is" : "ports are");
    ibh_subject_say(&about, "have=%u\nwanted=%u\nwithout=%s", have, wanted, without->str);
    if (have != wanted)
        ibh_subject_ask(&about, have < wanted ? IBH_OF_MISSING_RAILS : IBH_OF_MORE_RAILS);
}
