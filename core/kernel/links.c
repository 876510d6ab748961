/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Links and addresses.
 */
#include "kernel/netlink.h"

#include "kernel/dump.h"

#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>

/* ---- links ---- */

/* Kinds that name the link they are stacked on; IFLA_LINK of others (veth, tunnels) means something else. */
static gboolean is_stacked_kind(const char *kind)
{
    static const char *const kinds[] = {"vlan", "macvlan", "macvtap", "ipvlan", "ipoib", NULL};

    return g_strv_contains(kinds, kind);
}

/* "pf0vf3", "c1pf0sf8": the port of another function; the uplink's own port is "p0". */
static gboolean is_representor_port(const char *port)
{
    return g_str_has_prefix(port, "pf") || (port[0] == 'c' && g_ascii_isdigit(port[1]));
}

static void get_kind(struct nlattr *info, char *kind, gsize size)
{
    struct nlattr *attributes[IFLA_INFO_MAX + 1];

    kind[0] = '\0';
    if (info && nla_parse_nested(attributes, IFLA_INFO_MAX, info, NULL) >= 0)
        get_string(attributes[IFLA_INFO_KIND], kind, size);
}

static gint32 get_conf(struct nlattr *conf, int index)
{
    gint32 value = 0;
    int offset = (index - 1) * 4;

    if (conf && offset + 4 <= nla_len(conf))
        memcpy(&value, (const char *)nla_data(conf) + offset, 4);
    return value;
}

/* The kernel tells the interface's sysctls along with the link: no file has to be read for them. */
static void get_sysctls(struct nlattr *af_spec, IbhLink *link)
{
    static const int indices[IBH_N_SYSCTLS] = {
        [IBH_SYSCTL_RP_FILTER] = IPV4_DEVCONF_RP_FILTER,       [IBH_SYSCTL_ARP_FILTER] = IPV4_DEVCONF_ARPFILTER,
        [IBH_SYSCTL_ARP_ANNOUNCE] = IPV4_DEVCONF_ARP_ANNOUNCE, [IBH_SYSCTL_ARP_IGNORE] = IPV4_DEVCONF_ARP_IGNORE,
        [IBH_SYSCTL_ACCEPT_LOCAL] = IPV4_DEVCONF_ACCEPT_LOCAL,
    };
    struct nlattr *inet = af_spec ? nla_find(nla_data(af_spec), nla_len(af_spec), AF_INET) : NULL;
    struct nlattr *conf = inet ? nla_find(nla_data(inet), nla_len(inet), IFLA_INET_CONF) : NULL;

    for (int key = 0; key < IBH_N_SYSCTLS; key++)
        link->sysctl[key] = get_conf(conf, indices[key]);
    link->proxy_arp_pvlan = get_conf(conf, IPV4_DEVCONF_PROXY_ARP_PVLAN) != 0;
    link->proxy_arp = get_conf(conf, IPV4_DEVCONF_PROXY_ARP) != 0;
    link->forwarding = get_conf(conf, IPV4_DEVCONF_FORWARDING) != 0;
    inet = af_spec ? nla_find(nla_data(af_spec), nla_len(af_spec), AF_INET6) : NULL;
    conf = inet ? nla_find(nla_data(inet), nla_len(inet), IFLA_INET6_CONF) : NULL;
    link->mtu6 = get_conf(conf, DEVCONF_MTU6 + 1); /* IPv6 counts from 0 */
}

static void get_hardware_address(struct nlattr **attributes, IbhLink *link)
{
    struct nlattr *own = attributes[IFLA_ADDRESS], *broadcast = attributes[IFLA_BROADCAST];

    if (!own || !broadcast || nla_len(own) > IBH_LLADDR_MAX || nla_len(broadcast) != nla_len(own))
        return;
    link->lladdr_len = (guint)nla_len(own);
    memcpy(link->lladdr, nla_data(own), link->lladdr_len);
    memcpy(link->broadcast, nla_data(broadcast), link->lladdr_len);
}

static gboolean on_link(struct nlmsghdr *header, gpointer data)
{
    struct nlattr *attributes[IFLA_MAX + 1];
    const struct ifinfomsg *info = nlmsg_data(header);
    char port[64];
    IbhLink link = {0};

    if (header->nlmsg_type != RTM_NEWLINK)
        return TRUE;
    if (!parse(header, sizeof *info, attributes, IFLA_MAX))
        return FALSE;
    link.ifindex = info->ifi_index;
    link.type = info->ifi_type;
    link.flags = info->ifi_flags;
    link.carrier = (info->ifi_flags & (1u << 16 /* IFF_LOWER_UP */)) != 0;
    link.master = (int)get_u32(attributes[IFLA_MASTER], 0);
    link.mtu = (int)get_u32(attributes[IFLA_MTU], 0);
    get_string(attributes[IFLA_IFNAME], link.name, sizeof link.name);
    get_kind(attributes[IFLA_LINKINFO], link.kind, sizeof link.kind);
    if (!attributes[IFLA_LINK_NETNSID] && (is_stacked_kind(link.kind) || link.type == ARPHRD_INFINIBAND))
        link.parent = (int)get_u32(attributes[IFLA_LINK], 0);
    if (link.parent == link.ifindex)
        link.parent = 0;
    get_string(attributes[IFLA_PHYS_PORT_NAME], port, sizeof port);
    link.representor = attributes[IFLA_PHYS_SWITCH_ID] && is_representor_port(port);
    get_hardware_address(attributes, &link);
    get_sysctls(attributes[IFLA_AF_SPEC], &link);
    g_array_append_val((GArray *)data, link);
    return TRUE;
}

/* Of an IPoIB child that was moved here, the kernel does not say that its parent's index is one of another namespace:
 * here it may be that of any other NIC. A child has the GUID of its port, and no children. */
static gboolean is_port_of(const GArray *links, const IbhLink *child)
{
    IBH_EACH (const IbhLink, port, links) {
        if (port->ifindex == child->parent)
            return port->type == ARPHRD_INFINIBAND && !port->parent && port->lladdr_len == 20 &&
                   child->lladdr_len == 20 && memcmp(port->lladdr + 12, child->lladdr + 12, 8) == 0;
    }
    return FALSE;
}

static void forget_parents_elsewhere(GArray *links)
{
    g_autoptr(GArray) orphans = g_array_new(FALSE, FALSE, sizeof(guint));

    for (guint i = 0; i < links->len; i++) {
        const IbhLink *link = &g_array_index(links, IbhLink, i);

        if (link->type == ARPHRD_INFINIBAND && link->parent && !is_port_of(links, link))
            g_array_append_val(orphans, i);
    }
    IBH_EACH (const guint, orphan, orphans)
        g_array_index(links, IbhLink, *orphan).parent = 0;
}

gboolean ibh_netlink_read_links(IbhNetlink *netlink, GArray *links, GError **error)
{
    struct ifinfomsg fixed = {.ifi_family = AF_UNSPEC};
    struct nl_msg *message = ibh_dump_request(RTM_GETLINK, &fixed, sizeof fixed);

    if (message)
        nla_put_u32(message, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    if (!ibh_dump(netlink, message, on_link, links, links, "the interfaces", error))
        return FALSE;
    forget_parents_elsewhere(links);
    return TRUE;
}

/* ---- addresses ---- */

static gboolean on_address(struct nlmsghdr *header, gpointer data)
{
    struct nlattr *attributes[IFA_MAX + 1];
    const struct ifaddrmsg *info = nlmsg_data(header);
    IbhAddress address = {0};
    guint32 flags;

    if (header->nlmsg_type != RTM_NEWADDR)
        return TRUE;
    if (!parse(header, sizeof *info, attributes, IFA_MAX))
        return FALSE;
    if (info->ifa_family != AF_INET && info->ifa_family != AF_INET6)
        return TRUE;
    flags = get_u32(attributes[IFA_FLAGS], info->ifa_flags);
    address.ifindex = (int)info->ifa_index;
    address.scope = info->ifa_scope;
    address.secondary = (flags & IFA_F_SECONDARY) != 0;
    address.noprefixroute = (flags & IFA_F_NOPREFIXROUTE) != 0;
    address.is_on_link = info->ifa_family == AF_INET6 && (flags & IFA_F_PERMANENT) && !(flags & IFA_F_NOPREFIXROUTE);
    address.subnet = get_prefix(attributes[IFA_ADDRESS], info->ifa_family, info->ifa_prefixlen);
    address.local = get_ip(attributes[IFA_LOCAL] ? attributes[IFA_LOCAL] : attributes[IFA_ADDRESS], info->ifa_family);
    address.failed = (flags & IFA_F_DADFAILED) != 0;
    address.tentative = address.failed || ((flags & IFA_F_TENTATIVE) && !(flags & IFA_F_OPTIMISTIC));
    if (address.local.family != AF_UNSPEC)
        g_array_append_val((GArray *)data, address);
    return TRUE;
}

gboolean ibh_netlink_read_addresses(IbhNetlink *netlink, GArray *addresses, GError **error)
{
    struct ifaddrmsg fixed = {.ifa_family = AF_UNSPEC};

    return ibh_dump(netlink, ibh_dump_request(RTM_GETADDR, &fixed, sizeof fixed), on_address, addresses, addresses,
                    "the addresses", error);
}
