#include "kernel/netlink.h"

#include "kernel/private.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/if_arp.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <string.h>
#include <sys/socket.h>

#define DUMP_TRIES 8
#define MAIN_MAX 256 /* routes of main that are read to find those by a rail */

/* ---- attributes ---- */

static gboolean parse(struct nlmsghdr *header, gsize fixed, struct nlattr **attributes, int max)
{
    return nlmsg_valid_hdr(header, (int)fixed) && nlmsg_parse(header, (int)fixed, attributes, max, NULL) >= 0;
}

static guint32 get_u32(struct nlattr *attribute, guint32 otherwise)
{
    return attribute && nla_len(attribute) >= 4 ? nla_get_u32(attribute) : otherwise;
}

static guint8 get_u8(struct nlattr *attribute)
{
    return attribute && nla_len(attribute) >= 1 ? nla_get_u8(attribute) : 0;
}

static IbhIp get_ip(struct nlattr *attribute, int family)
{
    IbhIp ip = {.family = AF_UNSPEC};
    gsize size = family == AF_INET6 ? 16 : 4;

    if (!attribute || (gsize)nla_len(attribute) < size)
        return ip;
    ip.family = family;
    memcpy(ip.bytes, nla_data(attribute), size);
    return ip;
}

static IbhPrefix get_prefix(struct nlattr *attribute, int family, guint length)
{
    IbhIp any = {.family = family}, ip = get_ip(attribute, family);

    return ibh_prefix(ip.family ? &ip : &any, length);
}

static void get_string(struct nlattr *attribute, char *buffer, gsize size)
{
    buffer[0] = '\0';
    if (attribute)
        nla_strlcpy(buffer, attribute, size);
}

/* ---- dumps ---- */

/* A dump that changed under way may lack something or have it twice: it is read again, from the start. */
static gboolean dump(IbhNetlink *netlink, struct nl_msg *message, IbhMessageFunc each, gpointer data, GArray *array,
                     const char *what, GError **error)
{
    guint before = array->len;

    for (int attempt = 1; message; attempt++) {
        g_autoptr(GError) local = NULL;

        if (ibh_netlink_talk(netlink, message, each, data, &local)) {
            nlmsg_free(message);
            return TRUE;
        }
        g_array_set_size(array, before);
        if (local->code != EINTR || attempt == DUMP_TRIES) {
            nlmsg_free(message);
            g_propagate_prefixed_error(error, g_steal_pointer(&local), "cannot read %s: ", what);
            return FALSE;
        }
        nlmsg_hdr(message)->nlmsg_seq = NL_AUTO_SEQ;
        g_usleep((gulong)attempt * 1000);
    }
    g_set_error(error, IBH_NETLINK_ERROR, ENOMEM, "cannot read %s: out of memory", what);
    return FALSE;
}

/* A request with its fixed header, which says all that a strict dump may be filtered by. */
static struct nl_msg *dump_request(int type, gconstpointer fixed, gsize size)
{
    struct nl_msg *message = nlmsg_alloc_simple(type, NLM_F_REQUEST | NLM_F_DUMP);

    if (message && nlmsg_append(message, (void *)(guintptr)fixed, size, NLMSG_ALIGNTO) < 0) {
        nlmsg_free(message);
        return NULL;
    }
    return message;
}

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

/* The kernel tells the interface's sysctls along with the link: no file has to be read for them. */
static void get_sysctls(struct nlattr *af_spec, int *values)
{
    static const int indices[IBH_N_SYSCTLS] = {
        [IBH_SYSCTL_RP_FILTER] = IPV4_DEVCONF_RP_FILTER,       [IBH_SYSCTL_ARP_FILTER] = IPV4_DEVCONF_ARPFILTER,
        [IBH_SYSCTL_ARP_ANNOUNCE] = IPV4_DEVCONF_ARP_ANNOUNCE, [IBH_SYSCTL_ARP_IGNORE] = IPV4_DEVCONF_ARP_IGNORE,
        [IBH_SYSCTL_ACCEPT_LOCAL] = IPV4_DEVCONF_ACCEPT_LOCAL,
    };
    struct nlattr *inet = af_spec ? nla_find(nla_data(af_spec), nla_len(af_spec), AF_INET) : NULL;
    struct nlattr *conf = inet ? nla_find(nla_data(inet), nla_len(inet), IFLA_INET_CONF) : NULL;

    for (int key = 0; conf && key < IBH_N_SYSCTLS; key++) {
        gint32 value;
        int offset = (indices[key] - 1) * 4;

        if (offset + 4 > nla_len(conf))
            continue;
        memcpy(&value, (const char *)nla_data(conf) + offset, 4);
        values[key] = value;
    }
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
    get_string(attributes[IFLA_IFNAME], link.name, sizeof link.name);
    get_kind(attributes[IFLA_LINKINFO], link.kind, sizeof link.kind);
    if (!attributes[IFLA_LINK_NETNSID] && (is_stacked_kind(link.kind) || link.type == ARPHRD_INFINIBAND))
        link.parent = (int)get_u32(attributes[IFLA_LINK], 0);
    if (link.parent == link.ifindex)
        link.parent = 0;
    get_string(attributes[IFLA_PHYS_PORT_NAME], port, sizeof port);
    link.representor = attributes[IFLA_PHYS_SWITCH_ID] && is_representor_port(port);
    get_hardware_address(attributes, &link);
    get_sysctls(attributes[IFLA_AF_SPEC], link.sysctl);
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
    for (guint i = 0; i < orphans->len; i++)
        g_array_index(links, IbhLink, g_array_index(orphans, guint, i)).parent = 0;
}

gboolean ibh_netlink_read_links(IbhNetlink *netlink, GArray *links, GError **error)
{
    struct ifinfomsg fixed = {.ifi_family = AF_UNSPEC};
    struct nl_msg *message = dump_request(RTM_GETLINK, &fixed, sizeof fixed);

    if (message)
        nla_put_u32(message, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    if (!dump(netlink, message, on_link, links, links, "the interfaces", error))
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
    address.subnet = get_prefix(attributes[IFA_ADDRESS], info->ifa_family, info->ifa_prefixlen);
    address.local = get_ip(attributes[IFA_LOCAL] ? attributes[IFA_LOCAL] : attributes[IFA_ADDRESS], info->ifa_family);
    address.tentative = (flags & IFA_F_DADFAILED) || ((flags & IFA_F_TENTATIVE) && !(flags & IFA_F_OPTIMISTIC));
    if (address.local.family != AF_UNSPEC)
        g_array_append_val((GArray *)data, address);
    return TRUE;
}

gboolean ibh_netlink_read_addresses(IbhNetlink *netlink, GArray *addresses, GError **error)
{
    struct ifaddrmsg fixed = {.ifa_family = AF_UNSPEC};

    return dump(netlink, dump_request(RTM_GETADDR, &fixed, sizeof fixed), on_address, addresses, addresses,
                "the addresses", error);
}

/* ---- rules ---- */

/* libnl's own rule objects drop the suppressors, which are what marks a rule as ours. */
static void get_rule_attribute(struct nlattr *attribute, const struct fib_rule_hdr *info, IbhRule *rule)
{
    switch (nla_type(attribute)) {
    case FRA_SRC:
        rule->from = get_prefix(attribute, info->family, info->src_len);
        break;
    case FRA_PRIORITY:
        rule->priority = get_u32(attribute, 0);
        break;
    case FRA_TABLE:
        rule->table = get_u32(attribute, info->table);
        break;
    case FRA_PROTOCOL:
        rule->protocol = get_u8(attribute);
        break;
    case FRA_SUPPRESS_PREFIXLEN:
        rule->suppress_prefixlength = MAX((gint32)get_u32(attribute, G_MAXUINT32), -1);
        break;
    case FRA_SUPPRESS_IFGROUP:
        rule->suppress_ifgroup = get_u32(attribute, G_MAXUINT32);
        if (rule->suppress_ifgroup == G_MAXUINT32)
            rule->suppress_ifgroup = -1;
        break;
    case FRA_L3MDEV:
        rule->l3mdev = get_u8(attribute) != 0;
        break;
    case FRA_DST: /* its length says whether there is one */
    case FRA_PAD:
        break;
    case FRA_IIFNAME:
        rule->selectors |= IBH_SELECT_IIF;
        break;
    case FRA_OIFNAME:
        rule->selectors |= IBH_SELECT_OIF;
        break;
    case FRA_FWMARK:
    case FRA_FWMASK:
        rule->selectors |= IBH_SELECT_FWMARK;
        break;
    case FRA_UID_RANGE:
        rule->selectors |= IBH_SELECT_UID;
        break;
    case FRA_IP_PROTO:
    case FRA_SPORT_RANGE:
    case FRA_DPORT_RANGE:
        rule->selectors |= IBH_SELECT_PORT;
        break;
    default: /* also what newer kernels bring: such a rule is never taken for ours */
        rule->selectors |= IBH_SELECT_OTHER;
    }
}

static gboolean on_rule(struct nlmsghdr *header, gpointer data)
{
    const struct fib_rule_hdr *info = nlmsg_data(header);

    if (header->nlmsg_type != RTM_NEWRULE)
        return TRUE;
    if (!nlmsg_valid_hdr(header, sizeof *info))
        return FALSE;
    if (info->family == AF_INET || info->family == AF_INET6) { /* multicast routing has rules, too */
        struct nlattr *attribute = nlmsg_attrdata(header, sizeof *info);
        int left = nlmsg_attrlen(header, sizeof *info);
        IbhRule rule = {
            .family = info->family,
            .from = {.ip = {.family = info->family},
                     .length = MIN(info->src_len, info->family == AF_INET ? 32u : 128u)},
            .action = info->action,
            .table = info->table,
            .suppress_prefixlength = -1,
            .suppress_ifgroup = -1,
            .selectors = (info->dst_len ? IBH_SELECT_TO : 0u) | (info->tos ? IBH_SELECT_TOS : 0u) |
                         (info->flags & FIB_RULE_INVERT ? IBH_SELECT_NOT : 0u),
        };

        for (; nla_ok(attribute, left); attribute = nla_next(attribute, &left))
            get_rule_attribute(attribute, info, &rule);
        g_array_append_val((GArray *)data, rule);
    }
    return TRUE;
}

gboolean ibh_netlink_read_rules(IbhNetlink *netlink, GArray *rules, GError **error)
{
    struct fib_rule_hdr fixed = {.family = AF_UNSPEC};

    return dump(netlink, dump_request(RTM_GETRULE, &fixed, sizeof fixed), on_rule, rules, rules, "the routing rules",
                error);
}

/* ---- routes ---- */

/* Whoever asks what is reached by one device (`wanted`) gets, of a route over several gateways, the one by it. */
static gboolean take_hop(const struct rtnexthop *hop, int wanted, IbhRoute *route)
{
    const int head = (int)sizeof *hop;
    struct nlattr *gateway = nla_find((const void *)(hop + 1), hop->rtnh_len - head, RTA_GATEWAY);

    if (hop->rtnh_ifindex != wanted || !gateway || hop->rtnh_flags & RTNH_F_DEAD)
        return FALSE;
    route->ifindex = wanted;
    route->gateway = get_ip(gateway, route->family);
    route->nexthops = 1;
    return TRUE;
}

/* A multipath route over devices alone counts as it is. */
static void get_nexthops(struct nlattr *multipath, int wanted, IbhRoute *route)
{
    const struct rtnexthop *hop = nla_data(multipath);
    g_autoptr(GString) hops = g_string_new(NULL);
    int left = nla_len(multipath);

    route->nexthops = 0;
    while (left >= (int)sizeof *hop && hop->rtnh_len >= sizeof *hop && hop->rtnh_len <= left) {
        int step = (int)RTNH_ALIGN(hop->rtnh_len);

        if (wanted && take_hop(hop, wanted, route))
            return;
        if (!route->nexthops++)
            route->ifindex = hop->rtnh_ifindex;
        g_string_append_printf(hops, "%s%d%s", hops->len ? " " : "", hop->rtnh_ifindex,
                               hop->rtnh_flags & RTNH_F_DEAD ? "!" : "");
        if (hop->rtnh_hops)
            g_string_append_printf(hops, "*%d", hop->rtnh_hops);
        left -= step;
        hop = (const void *)((const char *)hop + step);
    }
    route->hops = g_intern_string(hops->str);
}

static gboolean read_route(struct nlmsghdr *header, int wanted, IbhRoute *ret_route)
{
    struct nlattr *attributes[RTA_MAX + 1];
    const struct rtmsg *info = nlmsg_data(header);
    IbhRoute route = {.nexthops = 0};

    if (!parse(header, sizeof *info, attributes, RTA_MAX))
        return FALSE;
    route.family = info->rtm_family;
    route.table = get_u32(attributes[RTA_TABLE], info->rtm_table);
    route.dst = get_prefix(attributes[RTA_DST], info->rtm_family, info->rtm_dst_len);
    route.type = info->rtm_type;
    route.protocol = info->rtm_protocol;
    route.scope = info->rtm_scope;
    route.metric = get_u32(attributes[RTA_PRIORITY], 0);
    route.ifindex = (int)get_u32(attributes[RTA_OIF], 0);
    route.gateway = get_ip(attributes[RTA_GATEWAY], info->rtm_family);
    route.src = get_ip(attributes[RTA_PREFSRC], info->rtm_family);
    route.nexthops = route.ifindex ? 1 : 0;
    if (attributes[RTA_MULTIPATH])
        get_nexthops(attributes[RTA_MULTIPATH], route.table == IBH_TABLE_MAIN ? wanted : 0, &route);
    route.special = info->rtm_tos || info->rtm_src_len;
    if (route.type != RTN_UNICAST) { /* IPv6 reads a throw back as one of lo */
        route.ifindex = 0;
        route.nexthops = 0;
    }
    *ret_route = route;
    return TRUE;
}

/* A kernel without strict dumps sends everything. */
static gboolean passes(const IbhRoute *route, const IbhRouteFilter *filter)
{
    return (!filter->table || filter->table == route->table) &&
           (!filter->protocol || filter->protocol == route->protocol) &&
           (!filter->type || filter->type == route->type) && (!filter->ifindex || filter->ifindex == route->ifindex);
}

typedef struct {
    const IbhRouteFilter *filter;
    const GArray *ifindexes; /* of main: what is reached by one of these; NULL: whatever passes the filter */
    guint limit;             /* so many messages may come; 0: any number */
    guint count;
    GArray *routes;
} RouteDump;

static gboolean add_route(const RouteDump *dump, struct nlmsghdr *header, const IbhRouteFilter *filter)
{
    IbhRoute route;

    if (!read_route(header, filter->ifindex, &route))
        return FALSE;
    if ((route.family == AF_INET || route.family == AF_INET6) && passes(&route, filter)) /* no MPLS, no multicast */
        g_array_append_val(dump->routes, route);
    return TRUE;
}

static gboolean on_route(struct nlmsghdr *header, gpointer data)
{
    RouteDump *dump = data;
    IbhRouteFilter filter = *dump->filter;
    int device; /* 0: none, or several */

    if (header->nlmsg_type != RTM_NEWROUTE)
        return TRUE;
    if (dump->limit && ++dump->count > dump->limit)
        return FALSE;
    if (!dump->ifindexes)
        return add_route(dump, header, &filter);
    device = (int)get_u32(nlmsg_find_attr(header, sizeof(struct rtmsg), RTA_OIF), 0);
    for (guint i = 0; i < dump->ifindexes->len; i++) {
        filter.ifindex = g_array_index(dump->ifindexes, int, i);
        if ((!device || device == filter.ifindex) && !add_route(dump, header, &filter))
            return FALSE;
    }
    return TRUE;
}

static struct nl_msg *route_request(const IbhRouteFilter *filter)
{
    struct rtmsg fixed = {.rtm_family = AF_UNSPEC,
                          .rtm_table = filter->table < 256 ? (guint8)filter->table : RT_TABLE_UNSPEC,
                          .rtm_protocol = filter->protocol,
                          .rtm_type = filter->type};
    struct nl_msg *message = dump_request(RTM_GETROUTE, &fixed, sizeof fixed);

    if (message && filter->table)
        nla_put_u32(message, RTA_TABLE, filter->table);
    if (message && filter->ifindex)
        nla_put_u32(message, RTA_OIF, (guint32)filter->ifindex);
    return message;
}

gboolean ibh_netlink_read_routes(IbhNetlink *netlink, const IbhRouteFilter *filter, GArray *routes, GError **error)
{
    RouteDump result = {.filter = filter, .routes = routes};

    return dump(netlink, route_request(filter), on_route, &result, routes, "the routes", error);
}

/* One dump of all of main, as long as it is not large: then the kernel picks out what goes by each of the devices. */
gboolean ibh_netlink_read_main(IbhNetlink *netlink, const GArray *ifindexes, GArray *routes, GError **error)
{
    IbhRouteFilter filter = {.table = IBH_TABLE_MAIN, .type = RTN_UNICAST};
    RouteDump result = {.filter = &filter, .ifindexes = ifindexes, .limit = MAIN_MAX, .routes = routes};
    g_autoptr(GError) local = NULL;

    if (dump(netlink, route_request(&filter), on_route, &result, routes, "the routes", &local))
        return TRUE;
    if (result.count <= MAIN_MAX) {
        g_propagate_error(error, g_steal_pointer(&local));
        return FALSE;
    }
    for (guint i = 0; i < ifindexes->len; i++) {
        filter.ifindex = g_array_index(ifindexes, int, i);
        if (!ibh_netlink_read_routes(netlink, &filter, routes, error))
            return FALSE;
    }
    return TRUE;
}

/* ---- neighbours ---- */

#define FLAGS_EXT 15 /* NDA_FLAGS_EXT, which headers before 5.16 do not have */

typedef struct {
    gboolean all; /* also what somebody, or a control plane, put there: ARP would not find it again */
    GArray *neighbours;
} NeighbourDump;

static gboolean on_neighbour(struct nlmsghdr *header, gpointer data)
{
    const NeighbourDump *result = data;
    struct nlattr *attributes[MAX(NDA_MAX, FLAGS_EXT) + 1];
    const struct ndmsg *info = nlmsg_data(header);
    IbhNeighbour neighbour = {0};

    if (header->nlmsg_type != RTM_NEWNEIGH)
        return TRUE;
    if (!parse(header, sizeof *info, attributes, G_N_ELEMENTS(attributes) - 1))
        return FALSE;
    if (!result->all &&
        (info->ndm_state & (NUD_PERMANENT | NUD_NOARP) || info->ndm_flags & NTF_EXT_LEARNED || attributes[FLAGS_EXT]))
        return TRUE;
    neighbour.ifindex = info->ndm_ifindex;
    neighbour.ip = get_ip(attributes[NDA_DST], info->ndm_family);
    if (attributes[NDA_LLADDR] && nla_len(attributes[NDA_LLADDR]) <= IBH_LLADDR_MAX) {
        neighbour.lladdr_len = (guint)nla_len(attributes[NDA_LLADDR]);
        memcpy(neighbour.lladdr, nla_data(attributes[NDA_LLADDR]), neighbour.lladdr_len);
    }
    if (neighbour.ip.family != AF_UNSPEC)
        g_array_append_val(result->neighbours, neighbour);
    return TRUE;
}

static gboolean read_neighbours(IbhNetlink *netlink, int family, gboolean all, GArray *neighbours, GError **error)
{
    struct ndmsg fixed = {.ndm_family = (guint8)family};
    NeighbourDump result = {.all = all, .neighbours = neighbours};

    return dump(netlink, dump_request(RTM_GETNEIGH, &fixed, sizeof fixed), on_neighbour, &result, neighbours,
                "the neighbours", error);
}

gboolean ibh_netlink_read_neighbours(IbhNetlink *netlink, int family, GArray *neighbours, GError **error)
{
    return read_neighbours(netlink, family, FALSE, neighbours, error);
}

gboolean ibh_netlink_read_all_neighbours(IbhNetlink *netlink, int family, GArray *neighbours, GError **error)
{
    return read_neighbours(netlink, family, TRUE, neighbours, error);
}

/* ---- asking ---- */

static gboolean on_answer(struct nlmsghdr *header, gpointer data)
{
    IbhLookup *lookup = data;
    IbhRoute route;

    if (header->nlmsg_type != RTM_NEWROUTE || !read_route(header, 0, &route))
        return FALSE;
    lookup->type = route.type;
    lookup->oif = route.ifindex;
    return TRUE;
}

gboolean ibh_netlink_lookup(IbhNetlink *netlink, IbhLookup *lookup, GError **error)
{
    guint bits = ibh_ip_bits(&lookup->to);
    struct rtmsg fixed = {
        .rtm_family = (guint8)lookup->to.family, .rtm_dst_len = (guint8)bits, .rtm_src_len = (guint8)bits};
    struct nl_msg *message = nlmsg_alloc_simple(RTM_GETROUTE, NLM_F_REQUEST);
    g_autoptr(GError) local = NULL;
    gboolean answered;

    lookup->error = lookup->oif = lookup->type = 0;
    if (!message || nlmsg_append(message, &fixed, sizeof fixed, NLMSG_ALIGNTO) < 0) {
        nlmsg_free(message);
        g_set_error_literal(error, IBH_NETLINK_ERROR, ENOMEM, "out of memory");
        return FALSE;
    }
    nla_put(message, RTA_DST, (int)bits / 8, lookup->to.bytes);
    nla_put(message, RTA_SRC, (int)bits / 8, lookup->from.bytes);
    if (lookup->iif)
        nla_put_u32(message, RTA_IIF, (guint32)lookup->iif);
    answered = ibh_netlink_talk(netlink, message, on_answer, lookup, &local);
    nlmsg_free(message);
    if (answered)
        return TRUE;
    if (local->domain == IBH_ANSWER_LOST || local->code == EIO || local->code == EBADMSG) {
        g_propagate_error(error, g_steal_pointer(&local));
        return FALSE;
    }
    lookup->error = local->code; /* a refusal is an answer, too */
    return TRUE;
}
