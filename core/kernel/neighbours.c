/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include "kernel/dump.h"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#define FLAGS_EXT 15 /* NDA_FLAGS_EXT: headers before 5.16 lack it */

static gboolean on_neighbour(struct nlmsghdr *header, gpointer data)
{
    const struct ndmsg *info = nlmsg_data(header);
    struct nlattr *attributes[NDA_MAX + 1], *lladdr;
    IbhNeighbour neighbour;

    if (!parse(header, sizeof *info, attributes, NDA_MAX))
        return FALSE;
    neighbour = (IbhNeighbour){
        .ifindex = info->ndm_ifindex,
        .ip = get_ip(attributes[NDA_DST], info->ndm_family),
        .no_arp = (info->ndm_state & NUD_NOARP) != 0,
        .fixed = info->ndm_state & (NUD_PERMANENT | NUD_NOARP) || info->ndm_flags & NTF_EXT_LEARNED ||
                 nlmsg_find_attr(header, sizeof *info, FLAGS_EXT), /* sent only with a flag such as NTF_EXT_MANAGED */
        .proxied = (info->ndm_flags & NTF_PROXY) != 0,
    };
    lladdr = attributes[NDA_LLADDR];
    if (lladdr && nla_len(lladdr) <= IBH_LLADDR_MAX) {
        neighbour.lladdr_len = (guint)nla_len(lladdr);
        memcpy(neighbour.lladdr, nla_data(lladdr), neighbour.lladdr_len);
    }
    if (neighbour.ip.family == AF_INET || neighbour.ip.family == AF_INET6)
        g_array_append_vals(data, &neighbour, 1);
    return TRUE;
}

gboolean ibh_netlink_read_neighbours(IbhNetlink *netlink, int family, gboolean proxies, GArray *neighbours,
                                     GError **error)
{
    const struct ndmsg fixed = {.ndm_family = (guint8)family, .ndm_flags = proxies ? NTF_PROXY : 0};

    return ibh_netlink_dump(netlink, ibh_message_new(RTM_GETNEIGH, NLM_F_DUMP, &fixed, sizeof fixed), on_neighbour,
                            neighbours, neighbours, NULL, "the neighbours", error);
}
