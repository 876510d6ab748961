/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"
#include "probe/prober_io.h"

#include <sys/socket.h>

static int family_at(int six)
{
    return six ? AF_INET6 : AF_INET;
}

static gboolean is_used(const IbhProbe *probe, int six)
{
    IBH_EACH (const IbhProbeSource, source, probe->sources) {
        if (source->ip.family == family_at(six))
            return TRUE;
    }
    return FALSE;
}

gboolean ibh_prober_read_neighbours(IbhProber *prober, GArray *neighbours, GError **error)
{
    for (int six = 0; six <= 1; six++) {
        if (is_used(prober->probe, six) &&
            !ibh_netlink_read_neighbours(prober->netlink, family_at(six), IBH_NEIGHBOURS_ALL, neighbours, error))
            return FALSE;
    }
    return TRUE;
}

/* The limits do not count permanent entries and those of a control plane. Where /proc shows another limit than the
 * kernel's, as in some containers, it counts, for this network namespace alone. */
static gboolean read_table(IbhProber *prober, int six, IbhNeighbourTable *table, GError **error)
{
    guint shown = (guint)MAX(ibh_sysctl_read("ipv%c/neigh/default/gc_thresh3", six ? '6' : '4'), 0), fixed = 0;
    g_autoptr(GArray) neighbours = g_array_new(FALSE, TRUE, sizeof(IbhNeighbour));

    if (!ibh_netlink_read_neighbour_table(prober->netlink, family_at(six), table, error) ||
        !ibh_netlink_read_neighbours(prober->netlink, family_at(six), IBH_NEIGHBOURS_ALL, neighbours, error))
        return FALSE;
    IBH_EACH (const IbhNeighbour, neighbour, neighbours)
        fixed += neighbour->fixed && !neighbour->no_arp ? 1 : 0;
    prober->full[six] = MIN(prober->full[six], table->full);
    prober->probe->was_full[six] |= table->full > prober->full[six];
    if (table->limit && (!shown || shown == table->limit))
        table->used -= MIN(table->used, fixed);
    else
        *table = (IbhNeighbourTable){.limit = shown, .used = neighbours->len - fixed};
    prober->probe->table_size[six] = table->limit;
    return TRUE;
}

gboolean ibh_prober_read_room(IbhProber *prober, guint ret_room[2], GError **error)
{
    for (int six = 0; six <= 1; six++) {
        IbhNeighbourTable table;

        ret_room[six] = 0;
        if (!is_used(prober->probe, six))
            continue;
        if (!read_table(prober, six, &table, error))
            return FALSE;
        ret_room[six] = ibh_probe_room(&table);
    }
    return TRUE;
}

gboolean ibh_prober_forget(IbhProber *prober, guint i)
{
    const IbhProbePair *pair = ibh_probe_pair(prober->probe, i);
    const IbhOp op = {.type = IBH_OP_NEIGH_DEL,
                      .ifindex = ibh_probe_link(prober->probe, pair)->ifindex,
                      .ip = *ibh_probe_peer(prober->probe, pair)};

    return !ibh_probe_takes_entry(pair) || pair->fixed || ibh_netlink_execute(prober->netlink, &op, NULL);
}
