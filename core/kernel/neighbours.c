/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include "kernel/dump.h"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netlink/route/neighbour.h>

#define FLAGS_EXT 15 /* NDA_FLAGS_EXT: headers before 5.16 lack it, as does rtnl_neigh before libnl 3.10 */

typedef struct {
    IbhNeighbours which;
    GArray *neighbours;
} NeighbourDump;

static void add_neighbour(struct rtnl_neigh *entry, gboolean managed, const NeighbourDump *dump)
{
    const int state = rtnl_neigh_get_state(entry);
    const guint flags = rtnl_neigh_get_flags(entry);
    const struct nl_addr *lladdr = rtnl_neigh_get_lladdr(entry);
    IbhNeighbour neighbour = {
        .ifindex = rtnl_neigh_get_ifindex(entry),
        .ip = ip_of(rtnl_neigh_get_dst(entry)),
        .no_arp = (state & NUD_NOARP) != 0,
        .fixed = state & (NUD_PERMANENT | NUD_NOARP) || flags & NTF_EXT_LEARNED || managed,
        .proxied = (flags & NTF_PROXY) != 0,
    };

    if (lladdr && nl_addr_get_len(lladdr) <= IBH_LLADDR_MAX) {
        neighbour.lladdr_len = nl_addr_get_len(lladdr);
        memcpy(neighbour.lladdr, nl_addr_get_binary_addr(lladdr), neighbour.lladdr_len);
    }
    if (neighbour.ip.family != AF_UNSPEC && neighbour.proxied == (dump->which == IBH_NEIGHBOURS_PROXY) &&
        (dump->which != IBH_NEIGHBOURS_FOUND || !neighbour.fixed))
        g_array_append_val(dump->neighbours, neighbour);
}

static gboolean on_neighbour(struct nlmsghdr *header, gpointer data)
{
    struct rtnl_neigh *entry;

    if (rtnl_neigh_parse(header, &entry) < 0)
        return FALSE;
    add_neighbour(entry, nlmsg_find_attr(header, sizeof(struct ndmsg), FLAGS_EXT) != NULL, data);
    rtnl_neigh_put(entry);
    return TRUE;
}

gboolean ibh_netlink_read_neighbours(IbhNetlink *netlink, int family, IbhNeighbours which, GArray *neighbours,
                                     GError **error)
{
    struct ndmsg fixed = {.ndm_family = (guint8)family, .ndm_flags = which == IBH_NEIGHBOURS_PROXY ? NTF_PROXY : 0};
    NeighbourDump dump = {.which = which, .neighbours = neighbours};

    return ibh_netlink_dump(netlink, ibh_message_new(RTM_GETNEIGH, NLM_F_DUMP, &fixed, sizeof fixed), on_neighbour,
                            &dump, neighbours, "the neighbours", error);
}
