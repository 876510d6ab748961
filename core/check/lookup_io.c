/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/look_io.h"

#include "kernel/dump.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

typedef struct {
    IbhRoute route;
    GHashTable *pool;
} Answer;

static gboolean on_answer(struct nlmsghdr *header, gpointer data)
{
    Answer *answer = data;

    return ibh_route_read(header, answer->pool, &answer->route);
}

/* The RDMA stack looks routes up with uid 0 and without an IP protocol. But IPv4 takes a question without a protocol as
 * one about UDP, and would apply rules for UDP. So we ask IPv4 with `neutral`, the protocol that the fewest rules name,
 * and IPv6 without a protocol. For a packet that comes in, we ask without a uid, because the packet has none. */
gboolean ibh_netlink_lookup(IbhNetlink *netlink, IbhLookup *lookup, GError **error)
{
    const gboolean ipv4 = lookup->to.family == AF_INET;
    const guint bits = ibh_ip_bits(&lookup->to);
    /* With RTM_F_FIB_MATCH, the answer is the matching route itself, with its prefix length. Without
     * RTM_F_LOOKUP_TABLE, IPv4 always reports main as the table. */
    const guint match_flags = RTM_F_FIB_MATCH | (ipv4 ? RTM_F_LOOKUP_TABLE : 0);
    const struct rtmsg fixed = {.rtm_family = (guint8)lookup->to.family,
                                .rtm_dst_len = (guint8)bits,
                                .rtm_src_len = (guint8)bits,
                                .rtm_flags = lookup->match ? match_flags : 0};
    g_autoptr(IbhMessage) message = ibh_message_new(RTM_GETROUTE, 0, &fixed, sizeof fixed);
    Answer answer = {.pool = netlink->pool};
    const IbhRoute *route = &answer.route;
    g_autoptr(GError) failure = NULL;

    /* Without a source, lookup->from has only zeros, which the kernel takes for no source. */
    nla_put(message, RTA_DST, (int)bits / 8, lookup->to.bytes);
    nla_put(message, RTA_SRC, (int)bits / 8, lookup->from.bytes);
    if (lookup->iif)
        nla_put_u32(message, RTA_IIF, (guint32)lookup->iif);
    else
        nla_put_u32(message, RTA_UID, 0);
    if (lookup->bound)
        nla_put_u32(message, RTA_OIF, (guint32)lookup->bound);
    if (ipv4)
        nla_put_u8(message, RTA_IP_PROTO, lookup->neutral ? lookup->neutral : IPPROTO_ICMP);

    lookup->error = lookup->oif = lookup->type = 0;
    lookup->hops = NULL;
    if (!ibh_netlink_talk(netlink, message, on_answer, &answer, &failure)) {
        if (failure->code == EIO || failure->code == EBADMSG) { /* an error of netlink.c: no readable answer came */
            g_propagate_error(error, g_steal_pointer(&failure));
            return FALSE;
        }
        lookup->error = failure->code; /* the kernel refuses the packet: an answer */
        return TRUE;
    }
    ibh_route_resolve_nexthop(netlink, NULL, &answer.route);
    lookup->type = route->type;
    lookup->oif = route->ifindex;
    lookup->hops = route->hops;
    lookup->table = route->table;
    lookup->length = route->dst.length;
    lookup->src = route->src;
    lookup->gateway = route->gateway;
    lookup->encapsulated = route->encapsulated;
    return TRUE;
}
