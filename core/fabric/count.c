/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rails=N: so many RDMA ports shall have a rail, on a host whose memory of its rails does not outlast a boot. */
#include "fabric/rows.h"

#include "check/check.h"

#include <string.h>

#define DEPTH 8 /* how many links below a stacked link we follow */

/* Returns the RDMA port of a NIC, or of the NIC below a P_Key child or a VLAN; without RDMA, the NIC's own name. */
static const char *name_port_below(const IbhRails *rails, const IbhNic *nic)
{
    const IbhLink *link = nic->link;

    for (int depth = 0; link && !link->rdma[0] && depth < DEPTH; depth++)
        link = ibh_snapshot_link(rails->snapshot, link->parent);
    return link && link->rdma[0] ? link->rdma : nic->link->name;
}

/* A set of names: several rails may stand on one port. */
static GHashTable *find_ports_with_rail(const IbhRails *rails)
{
    GHashTable *ports = g_hash_table_new(g_str_hash, g_str_equal);

    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (nic->status == IBH_NIC_RAIL)
            g_hash_table_add(ports, (gpointer)(guintptr)name_port_below(rails, nic));
    }
    return ports;
}

/* "mlx5_1/1 (ib1: it has no address)" */
static void describe_port(const IbhRails *rails, const char *port, GString *text)
{
    g_string_append_printf(text, "%s%s (", text->len ? ", " : "", port);
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        g_autofree char *why = nic->rank ? ibh_nic_why(nic) : NULL;

        if (nic->rank && g_str_equal(nic->link->rdma, port)) {
            g_string_append_printf(text, "%s: %s)", nic->link->name, why);
            return;
        }
    }
    g_string_append(text, "no netdev here)");
}

void ibh_fabric_judge_count(const IbhFabric *fabric, const IbhRails *rails, guint wanted, GPtrArray *findings)
{
    g_autoptr(GHashTable) with_rail = find_ports_with_rail(rails);
    const guint have = g_hash_table_size(with_rail);
    g_autoptr(GString) without = g_string_new(NULL), words = g_string_new(NULL);
    IbhSubject about = {.rows = ibh_fabric_rows, .findings = findings, .words = words, .iface = ""};
    guint absent = wanted > have ? wanted - have : 0;

    IBH_EACH (const IbhPort, port, fabric->ports) {
        if (g_hash_table_contains(with_rail, port->name))
            continue;
        describe_port(rails, port->name, without);
        absent -= absent ? 1 : 0;
    }
    if (absent)
        g_string_append_printf(without, "%s%u %s not there", without->len ? ", and " : "", absent,
                               absent == 1 ? "port is" : "ports are");
    ibh_subject_say(&about, "have=%u\nwanted=%u\nwithout=%s", have, wanted, without->str);
    if (have != wanted)
        ibh_subject_ask(&about, have < wanted ? IBH_OF_MISSING_RAILS : IBH_OF_MORE_RAILS);
}
