/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include "kernel/dump.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>
#include <netlink/addr.h>
#include <netlink/object.h>
#include <netlink/route/addr.h>

/* ---- links ---- */

/* Returns a sysctl of IFLA_INET_CONF or IFLA_INET6_CONF; 0 if the kernel did not send the sysctl. `index` counts from
 * 1, as IPV4_DEVCONF_* do. */
static gint32 get_conf(struct nlattr *conf, int index)
{
    gint32 value = 0;
    int offset = (index - 1) * 4;

    if (conf && offset + 4 <= nla_len(conf))
        memcpy(&value, (const char *)nla_data(conf) + offset, 4);
    return value;
}

/* A message about a link contains the link's sysctls, so we need not read a file for each sysctl. */
static void get_sysctls(struct nlattr *af_spec, IbhLink *link)
{
    static const int indices[IBH_N_SYSCTLS] = {
        [IBH_SYSCTL_RP_FILTER] = IPV4_DEVCONF_RP_FILTER,
        [IBH_SYSCTL_ARP_FILTER] = IPV4_DEVCONF_ARPFILTER,
        [IBH_SYSCTL_ARP_ANNOUNCE] = IPV4_DEVCONF_ARP_ANNOUNCE,
        [IBH_SYSCTL_ARP_IGNORE] = IPV4_DEVCONF_ARP_IGNORE,
    };
    struct nlattr *conf = find_in(find_in(af_spec, AF_INET), IFLA_INET_CONF);

    for (int key = 0; key < IBH_N_SYSCTLS; key++)
        link->sysctl[key] = get_conf(conf, indices[key]);
    link->ignores_linkdown = get_conf(conf, IPV4_DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN);
    link->proxy_arp_pvlan = get_conf(conf, IPV4_DEVCONF_PROXY_ARP_PVLAN);
    link->proxy_arp = get_conf(conf, IPV4_DEVCONF_PROXY_ARP);
    link->forwarding = get_conf(conf, IPV4_DEVCONF_FORWARDING);
    conf = find_in(find_in(af_spec, AF_INET6), IFLA_INET6_CONF);
    link->mtu6 = get_conf(conf, DEVCONF_MTU6 + 1); /* DEVCONF_* of IPv6 start at 0 */
    link->keeps_mtu6 = conf && !get_conf(conf, DEVCONF_ACCEPT_RA_MTU + 1);
    link->ignores_linkdown6 = get_conf(conf, DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN + 1);
    link->forwarding6 = get_conf(conf, DEVCONF_FORWARDING + 1);
}

static gboolean on_link_message(struct nlmsghdr *header, gpointer data)
{
    /* For links of these kinds, and for InfiniBand, IFLA_LINK is the link below; for other links, it may be something
     * else (a veth's peer). */
    static const char *const stacked[] = {"vlan", "macvlan", "macvtap", "ipvlan", "ipoib", NULL};
    struct nlattr *attributes[IFLA_MAX + 1], *own, *broadcast, *info_data;
    const struct ifinfomsg *info = nlmsg_data(header);
    char port[64];
    IbhLink link;

    if (!parse(header, sizeof *info, attributes, IFLA_MAX))
        return FALSE;
    link = (IbhLink){.ifindex = info->ifi_index,
                     .type = info->ifi_type,
                     .flags = info->ifi_flags,
                     .carrier = (info->ifi_flags & (1u << 16 /* IFF_LOWER_UP */)) != 0,
                     .master = (int)get_u32(attributes[IFLA_MASTER], 0),
                     .group = get_u32(attributes[IFLA_GROUP], 0),
                     .mtu = (int)get_u32(attributes[IFLA_MTU], 0)};
    get_string(attributes[IFLA_IFNAME], link.name, sizeof link.name);
    get_string(find_in(attributes[IFLA_LINKINFO], IFLA_INFO_KIND), link.kind, sizeof link.kind);
    info_data = find_in(attributes[IFLA_LINKINFO], IFLA_INFO_DATA);
    if (g_str_equal(link.kind, "vrf"))
        link.vrf = get_u32(find_in(info_data, IFLA_VRF_TABLE), 0);
    /* With IFLA_LINK_NETNSID, IFLA_LINK is an index in another namespace. */
    if (!attributes[IFLA_LINK_NETNSID] && (g_strv_contains(stacked, link.kind) || link.type == ARPHRD_INFINIBAND))
        link.parent = (int)get_u32(attributes[IFLA_LINK], 0);
    if (link.parent == link.ifindex)
        link.parent = 0; /* IFLA_LINK names the link itself: no link is below */
    /* A representor's port has the name of another function, "pf0vf3" or "c1pf0sf8"; the uplink's own port is "p0". */
    get_string(attributes[IFLA_PHYS_PORT_NAME], port, sizeof port);
    link.representor = attributes[IFLA_PHYS_SWITCH_ID] &&
                       (g_str_has_prefix(port, "pf") || (port[0] == 'c' && g_ascii_isdigit(port[1])));
    /* Announcements need a broadcast address, too. If the link has no broadcast address of the same length, treat the
     * link as one without a hardware address. */
    own = attributes[IFLA_ADDRESS];
    broadcast = attributes[IFLA_BROADCAST];
    if (own && broadcast && nla_len(own) <= IBH_LLADDR_MAX && nla_len(broadcast) == nla_len(own)) {
        link.lladdr_len = (guint)nla_len(own);
        memcpy(link.lladdr, nla_data(own), link.lladdr_len);
        memcpy(link.broadcast, nla_data(broadcast), link.lladdr_len);
    }
    get_sysctls(attributes[IFLA_AF_SPEC], &link);
    g_array_append_vals(data, &link, 1);
    return TRUE;
}

/* TRUE if the link with the index child->parent is the parent of this IPoIB child. FALSE if the parent is in another
 * namespace: then the index belongs to another link here, or to none. A link that has a parent is a child itself, so it
 * is not the parent. */
static gboolean has_its_parent(const GArray *links, const IbhLink *child)
{
    char guid[IBH_HARDWARE_LEN];

    ibh_link_name_hardware(child, guid);
    IBH_EACH (const IbhLink, port, links) {
        if (port->ifindex == child->parent)
            return port->type == ARPHRD_INFINIBAND && !port->parent && ibh_link_has_hardware(port, guid);
    }
    return FALSE;
}

gboolean ibh_netlink_read_links(IbhNetlink *netlink, GArray *links, GError **error)
{
    const struct ifinfomsg fixed = {.ifi_family = AF_UNSPEC};
    struct nl_msg *message = ibh_message_new(RTM_GETLINK, NLM_F_DUMP, &fixed, sizeof fixed);
    g_autoptr(GPtrArray) orphans = g_ptr_array_new();

    nla_put_u32(message, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    if (!ibh_netlink_dump(netlink, message, on_link_message, links, links, NULL, "the interfaces", error))
        return FALSE;
    /* If an IPoIB child was moved to this namespace, the kernel reports its parent's index without the namespace, and
     * here another NIC may have that index. So compare the port GUIDs: a child has the GUID of its parent. Clear
     * `parent` only after the loop: in the loop, has_its_parent() would take a child without `parent` for a parent. */
    IBH_EACH (IbhLink, link, links) {
        if (link->type == ARPHRD_INFINIBAND && link->parent && !has_its_parent(links, link))
            g_ptr_array_add(orphans, link);
    }
    IBH_EACH_POINTER (IbhLink, orphan, orphans)
        orphan->parent = 0;
    return TRUE;
}

/* ---- addresses ---- */

static IbhIp ip_of(const struct nl_addr *address)
{
    const int family = address ? nl_addr_guess_family(address) : AF_UNSPEC;

    if (family != AF_INET && family != AF_INET6)
        return (IbhIp){.family = AF_UNSPEC};
    return ibh_ip_from_bytes(family, nl_addr_get_binary_addr(address));
}

static void append_address(struct nl_object *object, void *data)
{
    struct rtnl_addr *libnl_address = (struct rtnl_addr *)object;
    const guint flags = rtnl_addr_get_flags(libnl_address);
    const struct nl_addr *peer = rtnl_addr_get_peer(libnl_address);
    const IbhIp local = ip_of(rtnl_addr_get_local(libnl_address)), ifa_address = peer ? ip_of(peer) : local;
    const IbhAddress address = {
        .ifindex = rtnl_addr_get_ifindex(libnl_address),
        .local = local,
        .subnet = ibh_prefix_of(&ifa_address, (guint)rtnl_addr_get_prefixlen(libnl_address)),
        .scope = (guint8)rtnl_addr_get_scope(libnl_address),
        .secondary = (flags & IFA_F_SECONDARY) != 0,
        .noprefixroute = (flags & IFA_F_NOPREFIXROUTE) != 0,
        .dynamic = !(flags & IFA_F_PERMANENT),
        .tentative = flags & IFA_F_DADFAILED || (flags & IFA_F_TENTATIVE && !(flags & IFA_F_OPTIMISTIC)),
        .failed = (flags & IFA_F_DADFAILED) != 0,
        .deprecated = (flags & IFA_F_DEPRECATED) != 0,
    };

    if (local.family != AF_UNSPEC && ifa_address.family == local.family)
        g_array_append_vals(data, &address, 1);
}

/* libnl-route-3 makes an object of the message; core/README.md says why. */
static gboolean on_address(struct nlmsghdr *header, gpointer data)
{
    g_autoptr(IbhMessage) message = nlmsg_convert(header);

    if (!message)
        g_error("out of memory");
    nlmsg_set_proto(message, NETLINK_ROUTE);
    return nl_msg_parse(message, append_address, data) >= 0; /* calls append_address() */
}

gboolean ibh_netlink_read_addresses(IbhNetlink *netlink, GArray *addresses, GError **error)
{
    const struct ifaddrmsg fixed = {.ifa_family = AF_UNSPEC};

    return ibh_netlink_dump(netlink, ibh_message_new(RTM_GETADDR, NLM_F_DUMP, &fixed, sizeof fixed), on_address,
                            addresses, addresses, NULL, "the addresses", error);
}
