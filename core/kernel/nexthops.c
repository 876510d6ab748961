/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Nexthop objects (ip nexthop). With the sysctl nexthop_compat_mode=0, the kernel reports a route with the id of its
 * object, and without gateway and device. So ask the kernel for the object and, if the object is a group, for each
 * member of the group.
 */
#include "kernel/dump.h"
#include "kernel/netlink.h"

#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

void ibh_route_set_hops(IbhRoute *route, const GArray *hops, GHashTable *pool)
{
    route->hops = ibh_pool_keep(pool, hops->data, hops->len * sizeof(IbhHop));
    route->nexthops = hops->len;
    route->ifindex = hops->len ? route->hops->ifindex : 0;
}

typedef struct {
    IbhHop hop;      /* if the object is a single nexthop */
    GArray *members; /* struct nexthop_grp, if the object is a group */
} Object;

static gboolean on_object(struct nlmsghdr *header, gpointer data)
{
    Object *object = data;
    struct nlattr *attributes[NHA_MAX + 1];
    const struct nhmsg *info = nlmsg_data(header);

    if (!parse(header, sizeof *info, attributes, NHA_MAX))
        return FALSE;
    object->hop = (IbhHop){.ifindex = (int)get_u32(attributes[NHA_OIF], 0),
                           .dead = (info->nh_flags & RTNH_F_DEAD) != 0,
                           .encapsulated = attributes[NHA_ENCAP_TYPE] != NULL,
                           .gateway = get_ip(attributes[NHA_GATEWAY], info->nh_family)};
    if (attributes[NHA_GROUP])
        g_array_append_vals(object->members, nla_data(attributes[NHA_GROUP]),
                            (guint)nla_len(attributes[NHA_GROUP]) / sizeof(struct nexthop_grp));
    return TRUE;
}

/* Returns FALSE if the object cannot be read: for example, the object has gone, the kernel has no nexthop objects
 * (before 5.3), or the answer was lost. */
static gboolean read_object(IbhNetlink *netlink, guint32 id, Object *object)
{
    const struct nhmsg fixed = {.nh_family = AF_UNSPEC};
    g_autoptr(IbhMessage) message = ibh_message_new(RTM_GETNEXTHOP, 0, &fixed, sizeof fixed);

    nla_put_u32(message, NHA_ID, id);
    return ibh_netlink_talk(netlink, message, on_object, object, NULL);
}

void ibh_route_resolve_nexthop(IbhNetlink *netlink, GHashTable *objects, IbhRoute *route)
{
    g_autoptr(GArray) members = IBH_NEW_ARRAY(struct nexthop_grp), hops = IBH_NEW_ARRAY(IbhHop);
    const gpointer id = GUINT_TO_POINTER(route->object);
    const IbhRoute *earlier; /* a route with the same object */
    Object object = {.members = members};
    guint n_members;

    if (!route->object || route->ifindex || route->type != RTN_UNICAST)
        return;
    earlier = objects ? g_hash_table_lookup(objects, id) : NULL;
    if (earlier) {
        route->ifindex = earlier->ifindex;
        route->gateway = earlier->gateway;
        route->encapsulated = earlier->encapsulated;
        route->nexthops = earlier->nexthops;
        route->hops = earlier->hops;
        return;
    }
    if (!read_object(netlink, route->object, &object))
        return;
    /* If the object is a group, its members are the route's nexthops, except members that cannot be read. Count the
     * members first, because the loop reads each member into `object`, too: if a member were a group itself, which the
     * kernel refuses, read_object() would append to `members`. */
    n_members = members->len;
    for (guint i = 0; i < n_members; i++) {
        if (read_object(netlink, g_array_index(members, struct nexthop_grp, i).id, &object))
            g_array_append_val(hops, object.hop);
    }
    if (n_members) {
        ibh_route_set_hops(route, hops, netlink->pool);
    } else {
        route->ifindex = object.hop.ifindex;
        route->gateway = object.hop.gateway;
        route->encapsulated = object.hop.encapsulated;
        route->nexthops = route->ifindex != 0;
    }
    if (objects)
        g_hash_table_insert(objects, id, g_memdup(route, sizeof *route));
}
