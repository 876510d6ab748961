/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "case_text.h"

#include "fib.h"
#include "plan/plan.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

/* ---- words ---- */

typedef struct {
    const char *name;
    guint32 value;
} Name; /* of a number */

static const Name tables[] = {{"main", RT_TABLE_MAIN}, {"local", RT_TABLE_LOCAL}, {"default", RT_TABLE_DEFAULT}, {0}};
static const Name scopes[] = {
    {"global", RT_SCOPE_UNIVERSE}, {"site", RT_SCOPE_SITE}, {"link", RT_SCOPE_LINK}, {"host", RT_SCOPE_HOST}, {0}};
static const Name protocols[] = {{"redirect", RTPROT_REDIRECT},
                                 {"kernel", RTPROT_KERNEL},
                                 {"boot", RTPROT_BOOT},
                                 {"static", RTPROT_STATIC},
                                 {"ra", RTPROT_RA},
                                 {"dhcp", RTPROT_DHCP},
                                 {0}};
static const Name marks[] = {{"mark", IBH_MARK}, {0}};

/* What a word does to the record that a line is read into, and how it is written again. */
typedef enum {
    SET,        /* to the value in the table */
    ADD_BIT,    /* likewise */
    ADD_BIT_OF, /* and something follows that does not matter here */
    SKIP,
    NEXTHOP, /* [via IP] dev L [weight N] */
    METRIC,  /* [lock] N */
    MARK,    /* N[/MASK] */
    NUMBER,  /* and all below: what follows the word */
    EQUALS,  /* written word=number */
    NAME,
    ADDRESS,
    LOCAL, /* an address with its prefix length */
    PREFIX,
    DEVICE,
    HARDWARE, /* the hardware address of a link */
    SYSCTL
} Kind;

typedef struct {
    const char *word; /* "": none, it is known by its place */
    Kind kind;
    gsize offset, size;
    guint32 value;
    const Name *names;
} Attribute;

#define AT(record, member) offsetof(record, member), sizeof(((record *)0)->member), 0
#define TO(record, member, value) offsetof(record, member), sizeof(((record *)0)->member), value

static const Attribute link_words[] = {{"", NAME, AT(IbhLink, name), NULL},
                                       {"link", DEVICE, AT(IbhLink, parent), NULL},
                                       {"index", NUMBER, AT(IbhLink, ifindex), NULL},
                                       {"infiniband", SET, TO(IbhLink, type, ARPHRD_INFINIBAND), NULL},
                                       {"ether", SET, TO(IbhLink, type, ARPHRD_ETHER), NULL},
                                       {"loopback", SET, TO(IbhLink, type, ARPHRD_LOOPBACK), NULL},
                                       {"rdma", NAME, AT(IbhLink, rdma), NULL},
                                       {"slot", NAME, AT(IbhLink, slot), NULL},
                                       {"up", SET, TO(IbhLink, flags, IFF_UP), NULL},
                                       {"tunnel", SET, TO(IbhLink, flags, IFF_UP | IFF_POINTOPOINT | IFF_NOARP), NULL},
                                       {"down", SET, TO(IbhLink, flags, 0), NULL},
                                       {"no-carrier", SET, TO(IbhLink, carrier, FALSE), NULL},
                                       {"vf", SET, TO(IbhLink, vf, TRUE), NULL},
                                       {"representor", SET, TO(IbhLink, representor, TRUE), NULL},
                                       {"address", HARDWARE, AT(IbhLink, lladdr), NULL},
                                       {"master", DEVICE, AT(IbhLink, master), NULL},
                                       {"group", NUMBER, AT(IbhLink, group), marks},
                                       {"rp_filter", EQUALS, AT(IbhLink, sysctl[IBH_SYSCTL_RP_FILTER]), NULL},
                                       {"arp_filter", EQUALS, AT(IbhLink, sysctl[IBH_SYSCTL_ARP_FILTER]), NULL},
                                       {"arp_announce", EQUALS, AT(IbhLink, sysctl[IBH_SYSCTL_ARP_ANNOUNCE]), NULL},
                                       {"arp_ignore", EQUALS, AT(IbhLink, sysctl[IBH_SYSCTL_ARP_IGNORE]), NULL},
                                       {"ignore_routes_with_linkdown", EQUALS, AT(IbhLink, ignores_linkdown), NULL},
                                       {"proxy_arp", EQUALS, AT(IbhLink, proxy_arp), NULL},
                                       {"proxy_arp_pvlan", EQUALS, AT(IbhLink, proxy_arp_pvlan), NULL},
                                       {"forwarding", EQUALS, AT(IbhLink, forwarding), NULL},
                                       {"forwarding6", EQUALS, AT(IbhLink, forwarding6), NULL},
                                       {"mtu", EQUALS, AT(IbhLink, mtu), NULL},
                                       {"keeps-mtu6", SET, TO(IbhLink, keeps_mtu6, TRUE), NULL},
                                       {"mtu6", EQUALS, AT(IbhLink, mtu6), NULL},
                                       {"type", NAME, AT(IbhLink, kind), NULL},
                                       {"table", NUMBER, AT(IbhLink, vrf), NULL},
                                       {0}};

static const Attribute address_words[] = {{"", LOCAL, AT(IbhAddress, local), NULL},
                                          {"peer", PREFIX, AT(IbhAddress, subnet), NULL},
                                          {"dev", DEVICE, AT(IbhAddress, ifindex), NULL},
                                          {"scope", NUMBER, AT(IbhAddress, scope), scopes},
                                          {"noprefixroute", SET, TO(IbhAddress, noprefixroute, TRUE), NULL},
                                          {"tentative", SET, TO(IbhAddress, tentative, TRUE), NULL},
                                          {"secondary", SET, TO(IbhAddress, secondary, TRUE), NULL},
                                          {"deprecated", SET, TO(IbhAddress, deprecated, TRUE), NULL},
                                          {"dynamic", SET, TO(IbhAddress, dynamic, TRUE), NULL},
                                          {0}};

#define NO_PRIORITY G_MAXUINT32

static const Attribute rule_words[] = {{"not", ADD_BIT, TO(IbhRule, selectors, IBH_SELECT_NOT), NULL},
                                       {"from", PREFIX, AT(IbhRule, from), NULL},
                                       {"to", PREFIX, AT(IbhRule, to), NULL},
                                       {"iif", ADD_BIT_OF, TO(IbhRule, selectors, IBH_SELECT_IIF), NULL},
                                       {"oif", ADD_BIT_OF, TO(IbhRule, selectors, IBH_SELECT_OIF), NULL},
                                       {"fwmark", MARK, AT(IbhRule, by.mark), NULL},
                                       {"tos", ADD_BIT_OF, TO(IbhRule, selectors, IBH_SELECT_TOS), NULL},
                                       {"uidrange", ADD_BIT_OF, TO(IbhRule, selectors, IBH_SELECT_UID), NULL},
                                       {"dport", ADD_BIT_OF, TO(IbhRule, selectors, IBH_SELECT_PORT), NULL},
                                       {"tun_id", ADD_BIT_OF, TO(IbhRule, selectors, IBH_SELECT_OTHER), NULL},
                                       {"goto", NUMBER, AT(IbhRule, target), NULL},
                                       {"nop", SET, TO(IbhRule, action, FR_ACT_NOP), NULL},
                                       {"blackhole", SET, TO(IbhRule, action, FR_ACT_BLACKHOLE), NULL},
                                       {"unreachable", SET, TO(IbhRule, action, FR_ACT_UNREACHABLE), NULL},
                                       {"prohibit", SET, TO(IbhRule, action, FR_ACT_PROHIBIT), NULL},
                                       {"l3mdev", SET, TO(IbhRule, l3mdev, TRUE), NULL},
                                       {"lookup", NUMBER, AT(IbhRule, table), tables},
                                       {"priority", NUMBER, AT(IbhRule, priority), NULL},
                                       {"suppress_prefixlength", NUMBER, AT(IbhRule, suppress_prefixlength), NULL},
                                       {"suppress_ifgroup", NUMBER, AT(IbhRule, suppress_ifgroup), marks},
                                       {"realms", NUMBER, AT(IbhRule, realms), NULL},
                                       {"protocol", NUMBER, AT(IbhRule, protocol), protocols},
                                       {0}};

static const Attribute route_words[] = {{"local", SET, TO(IbhRoute, type, RTN_LOCAL), NULL},
                                        {"broadcast", SET, TO(IbhRoute, type, RTN_BROADCAST), NULL},
                                        {"throw", SET, TO(IbhRoute, type, RTN_THROW), NULL},
                                        {"blackhole", SET, TO(IbhRoute, type, RTN_BLACKHOLE), NULL},
                                        {"unreachable", SET, TO(IbhRoute, type, RTN_UNREACHABLE), NULL},
                                        {"prohibit", SET, TO(IbhRoute, type, RTN_PROHIBIT), NULL},
                                        {"", PREFIX, AT(IbhRoute, dst), NULL},
                                        {"from", ADD_BIT_OF, TO(IbhRoute, special, TRUE), NULL},
                                        {"via", ADDRESS, AT(IbhRoute, gateway), NULL},
                                        {"dev", DEVICE, AT(IbhRoute, ifindex), NULL},
                                        {"onlink", SET, TO(IbhRoute, onlink, TRUE), NULL},
                                        {"src", ADDRESS, AT(IbhRoute, src), NULL},
                                        {"table", NUMBER, AT(IbhRoute, table), tables},
                                        {"metric", NUMBER, AT(IbhRoute, metric), marks},
                                        {"protocol", NUMBER, AT(IbhRoute, protocol), protocols},
                                        {"scope", NUMBER, AT(IbhRoute, scope), scopes},
                                        {"cached", SET, TO(IbhRoute, cached, TRUE), NULL},
                                        {"expires", SET, TO(IbhRoute, expires, TRUE), NULL},
                                        {"encap", ADD_BIT_OF, TO(IbhRoute, encapsulated, TRUE), NULL},
                                        {"mtu", METRIC, 0, 0, RTAX_MTU, NULL},
                                        {"advmss", METRIC, 0, 0, RTAX_ADVMSS, NULL},
                                        {"hoplimit", METRIC, 0, 0, RTAX_HOPLIMIT, NULL},
                                        {"nexthop", NEXTHOP, 0, 0, 0, NULL},
                                        {0}};

static const Attribute neighbour_words[] = {
    {"", ADDRESS, AT(IbhNeighbour, ip), NULL}, {"dev", DEVICE, AT(IbhNeighbour, ifindex), NULL}, {0}};

/* Of what arping and ndptool announce, into the same record. */
static const Attribute announce_words[] = {{"", DEVICE, AT(IbhNeighbour, ifindex), NULL},
                                           {"-T", SKIP, 0, 0, 0, NULL},
                                           {"send", SKIP, 0, 0, 0, NULL},
                                           {"", ADDRESS, AT(IbhNeighbour, ip), NULL},
                                           {0}};

static const Attribute saved_words[] = {{"", NAME, AT(IbhSavedSysctl, iface), NULL},
                                        {"", SYSCTL, AT(IbhSavedSysctl, key), NULL},
                                        {"old", EQUALS, AT(IbhSavedSysctl, old), NULL},
                                        {"set", EQUALS, AT(IbhSavedSysctl, set), NULL},
                                        {"ifindex", EQUALS, AT(IbhSavedSysctl, ifindex), NULL},
                                        {0}};

static const Attribute rail_words[] = {{"", NAME, AT(IbhSavedRail, iface), NULL},
                                       {"table", EQUALS, AT(IbhSavedRail, table), NULL},
                                       {"ifindex", EQUALS, AT(IbhSavedRail, ifindex), NULL},
                                       {"explicit", SET, TO(IbhSavedRail, is_explicit, TRUE), NULL},
                                       {0}};

/* ---- a line that is being read ---- */

typedef struct {
    IbhCase *cas; /* NULL: a line for the kernel alone */
    FakeKernel *kernel;
    char *rest;    /* what is left of it */
    int family;    /* of what does not say it */
    GError *error; /* the first thing that was wrong with it */
} Line;

/* CASE, IN_WORDS: nothing of the kernel's; the latter in other words of this language. */
typedef enum { ADD, APPEND, REPLACE, DEL, WAS, NIC, READY, RULES, ANNOUNCE, CASE, IN_WORDS } Verb;

static void G_GNUC_PRINTF(2, 3) fail(Line *line, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (!line->error)
        line->error = g_error_new_valist(IBH_CASE_ERROR, 0, format, args);
    va_end(args);
}

static gboolean is_at_end(Line *line)
{
    line->rest += strspn(line->rest, " \t=");
    return !*line->rest;
}

/* The next word, cut off; "" at the end of the line. */
static const char *next(Line *line)
{
    char *word = line->rest + strspn(line->rest, " \t=");
    gsize length = strcspn(word, " \t=");

    line->rest = word + length + (word[length] ? 1 : 0);
    word[length] = '\0';
    return word;
}

/* Passes over these words, if they are the next ones. */
static gboolean take(Line *line, const char *words)
{
    gsize length = strlen(words);

    if (strncmp(line->rest, words, length) != 0 || (line->rest[length] && line->rest[length] != ' '))
        return FALSE;
    line->rest += length + strspn(line->rest + length, " ");
    return TRUE;
}

static guint64 number(Line *line, const char *text, gsize size, const Name *names)
{
    guint64 highest = size >= 4 ? G_MAXUINT32 : (G_GUINT64_CONSTANT(1) << 8 * size) - 1, value;
    char *end;

    for (; names && names->name; names++) {
        if (g_str_equal(names->name, text))
            return names->value;
    }
    value = g_ascii_strtoull(text, &end, 0);
    if (!g_ascii_isdigit(*text) || *end || value > highest)
        fail(line, "“%.60s” is no number here", text);
    return value;
}

static IbhIp ip(Line *line, const char *text)
{
    IbhIp value = {0};

    if (!ibh_ip_parse(text, &value))
        fail(line, "“%.60s” is no address", text);
    return value;
}

static IbhPrefix prefix_of(Line *line, const char *text)
{
    IbhPrefix value = {.ip.family = line->family};

    if (!g_str_equal(text, "all") && !g_str_equal(text, "default") && !ibh_prefix_parse(text, &value))
        fail(line, "“%.60s” is no prefix", text);
    return value;
}

/* A NIC that is not there: the kernel says so. */
static int device(Line *line, const char *name)
{
    const IbhLink *link = ibh_snapshot_link_by_name(line->kernel->now, name);

    if (!link && !line->error)
        line->error = g_error_new_literal(FAKE_ERROR, ENODEV, "Cannot find device");
    return link ? link->ifindex : 0;
}

static void copy_name(Line *line, const char *text, char *to, gsize size)
{
    if (!*text || g_strlcpy(to, text, size) >= size)
        fail(line, "“%.60s” is no name", text);
}

static void read_local(Line *line, const char *text, IbhAddress *address)
{
    gsize length = strcspn(text, "/");
    g_autofree char *local = g_strndup(text, length);

    address->local = ip(line, local);
    address->subnet =
        text[length] ? prefix_of(line, text) : ibh_prefix_of(&address->local, ibh_ip_bits(&address->local));
}

static void read_hardware(Line *line, const char *text, IbhLink *link)
{
    g_auto(GStrv) bytes = g_strsplit(text, ":", -1);

    link->lladdr_len = 0;
    for (char **byte = bytes; *byte; byte++) {
        guint64 value;

        if (link->lladdr_len == IBH_LLADDR_MAX || !g_ascii_string_to_unsigned(*byte, 16, 0, 255, &value, NULL)) {
            fail(line, "“%.60s” is no hardware address", text);
            return;
        }
        link->lladdr[link->lladdr_len++] = (guint8)value;
    }
}

static void read_nexthop(Line *line, IbhRoute *route)
{
    IbhIp gateway = {.family = AF_UNSPEC};
    int ifindex;

    route->family = route->dst.ip.family;
    if (take(line, "via"))
        gateway = ip(line, next(line));
    if (!take(line, "dev"))
        fail(line, "dev is missing after nexthop");
    ifindex = device(line, next(line));
    if (take(line, "weight"))
        number(line, next(line), 1, NULL);
    if (!line->error)
        fake_add_hop(line->kernel, route, ifindex, &gateway);
}

static void append_metric(GByteArray *bytes, guint16 type, guint32 value)
{
    const struct nlattr head = {.nla_len = sizeof head + sizeof value, .nla_type = type};

    g_byte_array_append(bytes, (const guint8 *)&head, sizeof head);
    g_byte_array_append(bytes, (const guint8 *)&value, sizeof value);
}

/* As the kernel writes them, but for their order, which is the line's; a lock comes first, as there. */
static void read_metric(Line *line, guint16 type, IbhRoute *route)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();

    if (take(line, "lock"))
        append_metric(bytes, RTAX_LOCK, 1u << type);
    if (route->metrics_size)
        g_byte_array_append(bytes, route->metrics, route->metrics_size);
    append_metric(bytes, type, (guint32)number(line, next(line), 4, NULL));
    route->metrics = fake_keep(bytes->data, bytes->len);
    route->metrics_size = bytes->len;
}

static void read_mark(const char *text, IbhRule *rule)
{
    const char *mask = strchr(text, '/');

    rule->selectors |= IBH_SELECT_FWMARK;
    rule->by.mark = (guint32)g_ascii_strtoull(text, NULL, 0);
    rule->by.mask = mask ? (guint32)g_ascii_strtoull(mask + 1, NULL, 0) : G_MAXUINT32;
}

static void put(gpointer field, gsize size, guint64 value)
{
    if (size == 1)
        *(guint8 *)field = (guint8)value;
    else if (size == 2)
        *(guint16 *)field = (guint16)value;
    else if (size == 4)
        *(guint32 *)field = (guint32)value;
    else
        *(guint64 *)field = value;
}

static guint64 get(gconstpointer field, gsize size)
{
    return size == 1   ? *(const guint8 *)field
           : size == 2 ? *(const guint16 *)field
           : size == 4 ? *(const guint32 *)field
                       : *(const guint64 *)field;
}

static void read_value(Line *line, const Attribute *attribute, const char *text, gpointer record)
{
    gpointer field = (guint8 *)record + attribute->offset;

    switch (attribute->kind) {
    case SET:
        put(field, attribute->size, attribute->value);
        break;
    case ADD_BIT:
    case ADD_BIT_OF:
        put(field, attribute->size, get(field, attribute->size) | attribute->value);
        break;
    case SKIP:
        break;
    case NEXTHOP:
        read_nexthop(line, record);
        break;
    case METRIC:
        read_metric(line, (guint16)attribute->value, record);
        break;
    case MARK:
        read_mark(text, record);
        break;
    case NUMBER:
    case EQUALS:
        put(field, attribute->size, number(line, text, attribute->size, attribute->names));
        break;
    case NAME:
        copy_name(line, text, field, attribute->size);
        break;
    case ADDRESS:
        *(IbhIp *)field = ip(line, text);
        break;
    case LOCAL:
        read_local(line, text, record);
        break;
    case PREFIX:
        *(IbhPrefix *)field = prefix_of(line, text);
        break;
    case DEVICE:
        *(int *)field = device(line, text);
        break;
    case HARDWARE:
        read_hardware(line, text, record);
        break;
    case SYSCTL:
        if (!ibh_sysctl_parse(text, field))
            fail(line, "“%.60s” is no sysctl", text);
        break;
    }
}

/* The first in the table that it can be: by its word, or by its place if that is free; `places` are taken. */
static const Attribute *find_attribute(const Attribute *attributes, const char *word, guint places)
{
    for (; attributes->word; attributes++) {
        if (*attributes->word ? g_str_equal(attributes->word, word) : places-- == 0)
            return attributes;
    }
    return NULL;
}

static gboolean has_argument(const Attribute *attribute)
{
    return *attribute->word && (attribute->kind >= MARK || attribute->kind == ADD_BIT_OF);
}

/* Reads the line to its end; FALSE where something is wrong with it. */
static gboolean read_words(Line *line, const Attribute *attributes, gpointer record)
{
    guint places = 0;

    while (!line->error && !is_at_end(line)) {
        const char *word = next(line);
        const Attribute *attribute = find_attribute(attributes, word, places);

        if (!attribute) {
            fail(line, "“%.60s” means nothing here", word);
            break;
        }
        places += !*attribute->word;
        if (has_argument(attribute) && is_at_end(line))
            fail(line, "something is missing after “%s”", word);
        read_value(line, attribute, has_argument(attribute) ? next(line) : word, record);
    }
    for (; attributes->word && !line->error; attributes++) {
        if (!*attributes->word && places-- == 0)
            fail(line, "the line ends too early");
    }
    return !line->error;
}

/* ---- links ---- */

static void default_hardware(IbhLink *link)
{
    link->lladdr_len = link->type == ARPHRD_INFINIBAND ? 20 : 6;
    memset(link->lladdr, 0, sizeof link->lladdr);
    if (link->type == ARPHRD_LOOPBACK)
        return;
    link->lladdr[0] = link->type == ARPHRD_INFINIBAND ? 0x80 : 0x02;
    link->lladdr[link->lladdr_len - 1] = (guint8)link->ifindex;
}

static void complete_link(FakeKernel *kernel, IbhLink *link)
{
    const IbhLink *parent = ibh_snapshot_link(kernel->now, link->parent);

    if (!link->ifindex)
        link->ifindex = fake_next_ifindex(kernel);
    if (!link->type)
        link->type = parent ? parent->type : ARPHRD_ETHER;
    if (!link->lladdr_len)
        default_hardware(link);
    link->carrier = link->carrier && link->flags & IFF_UP;
    link->flags |= link->type == ARPHRD_LOOPBACK ? IFF_LOOPBACK : 0u;
}

/* Hardware is up; what is made has to be told. */
static void read_link(Line *line, Verb verb)
{
    IbhLink link = {.carrier = TRUE, .flags = verb == NIC ? IFF_UP : 0};

    if (!read_words(line, link_words, &link))
        return;
    if (verb == ADD && !*link.kind)
        fail(line, "type is missing");
    complete_link(line->kernel, &link);
    if (!line->error)
        fake_link_add(line->kernel, &link, &line->error);
}

/* Without carrier, routes stay. */
static void change_link(Line *line, Verb verb)
{
    IbhLink *link = fake_link(line->kernel, device(line, next(line)));

    if (line->error)
        return;
    if (verb == DEL)
        fake_link_del(line->kernel, link->ifindex);
    else if (take(line, "up"))
        fake_link_set_up(line->kernel, link, TRUE);
    else if (take(line, "down"))
        fake_link_set_up(line->kernel, link, FALSE);
    else if (take(line, "carrier on"))
        link->carrier = (link->flags & IFF_UP) != 0;
    else if (take(line, "carrier off"))
        link->carrier = FALSE;
    else
        fail(line, "up, down, carrier on or carrier off is missing");
}

/* ---- addresses, rules, routes ---- */

static void read_address(Line *line, Verb verb)
{
    IbhAddress address = {.scope = RT_SCOPE_UNIVERSE};

    if (!read_words(line, address_words, &address))
        return;
    if (!address.ifindex)
        fail(line, "dev is missing");
    else if (verb == DEL)
        fake_address_del(line->kernel, &address, &line->error);
    else if (verb == READY)
        fake_address_ready(line->kernel, &address, &line->error);
    else if (verb == WAS)
        fake_address_was(line->kernel, &address);
    else
        fake_address_add(line->kernel, &address, &line->error);
}

static IbhRule usual_rule(int family)
{
    return (IbhRule){.family = family,
                     .action = FR_ACT_TO_TBL,
                     .protocol = RTPROT_BOOT,
                     .from.ip.family = family,
                     .priority = NO_PRIORITY,
                     .suppress_prefixlength = -1,
                     .suppress_ifgroup = -1};
}

static void read_rule(Line *line, Verb verb)
{
    IbhRule rule = usual_rule(line->family);

    if (!read_words(line, rule_words, &rule))
        return;
    rule.selectors |= rule.to.length ? IBH_SELECT_TO : 0u;
    rule.action = rule.target ? FR_ACT_GOTO : rule.action;
    rule.family = rule.to.length && !rule.from.length ? rule.to.ip.family : rule.from.ip.family;
    rule.from.ip.family = rule.family;
    if (rule.priority == NO_PRIORITY)
        fail(line, "priority is missing");
    else if (verb == DEL)
        fake_rule_del(line->kernel, &rule, &line->error);
    else if (verb == WAS)
        fake_rule_was(line->kernel, &rule);
    else
        fake_rule_add(line->kernel, &rule, &line->error);
}

/* What ip fills in where it is left out. */
static guint8 usual_scope(const IbhRoute *route)
{
    if (route->family == AF_INET6)
        return RT_SCOPE_UNIVERSE;
    if (route->type == RTN_LOCAL)
        return RT_SCOPE_HOST;
    if (route->type == RTN_BROADCAST ||
        (route->type == RTN_UNICAST && route->gateway.family == AF_UNSPEC && !route->hops))
        return RT_SCOPE_LINK;
    return RT_SCOPE_UNIVERSE;
}

static const IbhRoute usual_route = {
    .type = RTN_UNICAST, .table = RT_TABLE_MAIN, .protocol = RTPROT_BOOT, .scope = RT_SCOPE_NOWHERE};

static void complete_route(Line *line, IbhRoute *route, Verb verb)
{
    route->family = route->dst.ip.family;
    if (!route->hops)
        route->nexthops = route->ifindex ? 1 : 0;
    if (route->scope == RT_SCOPE_NOWHERE || route->family == AF_INET6)
        route->scope = usual_scope(route);
    if (route->family == AF_INET6 && !route->metric && verb != DEL && verb != WAS)
        route->metric = FAKE_METRIC6;
    if ((route->src.family && route->src.family != route->family) ||
        (route->gateway.family && route->gateway.family != route->family))
        line->error = g_error_new_literal(FAKE_ERROR, EINVAL, g_strerror(EINVAL));
}

static void read_route(Line *line, Verb verb)
{
    IbhRoute route = usual_route;

    if (read_words(line, route_words, &route))
        complete_route(line, &route, verb);
    if (line->error)
        return;
    if (verb == DEL)
        fake_route_del(line->kernel, &route, &line->error);
    else if (verb == WAS && line->cas && line->cas->by_chance && !fake_could_be_left(line->kernel, &route))
        line->error = g_error_new_literal(FAKE_ERROR, ESTALE, g_strerror(ESTALE));
    else if (verb == WAS)
        fake_route_was(line->kernel, &route);
    else if (verb == APPEND)
        fake_route_append(line->kernel, &route, &line->error);
    else if (verb == REPLACE)
        fake_route_replace(line->kernel, &route, NULL, &line->error);
    else
        fake_route_add(line->kernel, &route, &line->error);
}

/* A table of routes, or all rules of the family but the first. */
static void flush(Line *line, Verb verb)
{
    if (verb == RULES)
        fake_rule_flush(line->kernel, line->family);
    else if (take(line, "all"))
        fake_route_flush(line->kernel, 0);
    else
        fake_route_flush(line->kernel, (guint32)number(line, next(line), 4, tables));
}

/* ---- neighbours, sysctls, announcements ---- */

static void read_neighbour(Line *line, Verb verb)
{
    IbhNeighbour it = {0};

    if (!read_words(line, verb == ANNOUNCE ? announce_words : neighbour_words, &it))
        return;
    if (!it.ifindex)
        fail(line, "the device is missing");
    else if (verb == ANNOUNCE)
        fake_announce(line->kernel, it.ifindex, &it.ip, &line->error);
    else
        g_array_append_val(line->kernel->now->neighbours, it);
}

static void flush_neighbours(Line *line, Verb verb G_GNUC_UNUSED)
{
    const int ifindex = device(line, next(line));

    if (!line->error)
        fake_neigh_flush(line->kernel, ifindex);
}

static void read_sysctl(Line *line, Verb verb G_GNUC_UNUSED)
{
    g_auto(GStrv) parts = NULL;
    IbhSysctl key;
    int value, ifindex = 0;

    take(line, "-w");
    parts = g_strsplit(next(line), "/", -1);
    value = (int)number(line, next(line), 4, NULL);
    if (g_strv_length(parts) != 5 || !g_str_equal(parts[1], "ipv4") || !ibh_sysctl_parse(parts[4], &key))
        fail(line, "not net/ipv4/conf/NAME/SYSCTL=NUMBER");
    if (!line->error && !g_str_equal(parts[3], "all"))
        ifindex = device(line, parts[3]);
    if (line->error)
        return;
    if (ifindex)
        fake_sysctl_set(line->kernel, ifindex, key, value, &line->error);
    else
        line->kernel->now->all[key] = value;
}

/* ---- state and configuration ---- */

static void read_saved(Line *line, Verb verb G_GNUC_UNUSED)
{
    IbhSavedSysctl saved = {.old = -1, .set = -1};

    if (!read_words(line, saved_words, &saved))
        return;
    if (saved.old < 0 || saved.set < 0)
        fail(line, "old= or set= is missing");
    else if (!saved.ifindex)
        saved.ifindex = device(line, saved.iface);
    if (!line->error)
        g_array_append_val(line->kernel->now->state->sysctls, saved);
}

static void read_rail(Line *line, Verb verb G_GNUC_UNUSED)
{
    IbhSavedRail rail = {.ifindex = 0};

    if (!read_words(line, rail_words, &rail))
        return;
    if (!rail.table)
        fail(line, "table= is missing");
    else if (!rail.ifindex)
        rail.ifindex = device(line, rail.iface);
    if (!line->error)
        g_array_append_val(line->kernel->now->state->rails, rail);
}

static void read_hold(Line *line, Verb verb G_GNUC_UNUSED)
{
    g_ptr_array_add(line->kernel->now->state->holds, g_strdup(next(line)));
}

static void read_keep(Line *line, Verb verb G_GNUC_UNUSED)
{
    ibh_state_keep(line->kernel->now->state, next(line));
}

static void read_no_ipv6(Line *line, Verb verb G_GNUC_UNUSED)
{
    const int ifindex = device(line, next(line));

    g_array_append_val(line->cas->facts->no_ipv6, ifindex);
}

static void read_seed(Line *line, Verb verb G_GNUC_UNUSED)
{
    char *end;

    line->cas->seed = g_ascii_strtoull(line->rest, &end, 10);
    line->rest = end;
}

static char *all_the_rest(Line *line)
{
    char *rest = line->rest;

    line->rest = strchr(rest, '\0');
    return rest;
}

static void read_config(Line *line, Verb verb G_GNUC_UNUSED)
{
    const char *text = all_the_rest(line), *end = strstr(text, "] ");

    if (*text == '[' && end)
        g_string_append_printf(line->cas->config, "%.*s\n%s\n", (int)(end + 1 - text), text, end + 2);
    else
        fail(line, "not [section] key=value");
}

/* ---- rails as they usually are ---- */

static gboolean read_line(IbhCase *cas, FakeKernel *kernel, const char *text, GError **error);

/* In words of this language. */
static void G_GNUC_PRINTF(2, 3) also(Line *line, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    if (!line->error)
        read_line(line->cas, line->kernel, text, &line->error);
}

/* rails N [WORD]…: NICs with a port each, of which these words are said, too, and an address in one subnet. */
static void read_rails(Line *line, Verb verb G_GNUC_UNUSED)
{
    guint n = (guint)number(line, next(line), 1, NULL);
    const char *words = all_the_rest(line);

    for (guint i = 0; i < n; i++)
        also(line, "nic ib%u infiniband rdma mlx5_%u/1 %s", i, i, words);
    for (guint i = 0; i < n; i++)
        also(line, "ip address add 172.16.34.%u/16 dev ib%u", i + 1, i);
}

typedef struct {
    const char *nic, *table;
    char address[IBH_IP_STRLEN], subnet[IBH_PREFIX_STRLEN];
} Rail;

/* NIC ADDRESS/LENGTH TABLE */
static Rail read_one(Line *line)
{
    const char *nic = next(line), *address = next(line), *table = next(line);
    Rail rail = {.nic = nic, .table = table};
    IbhAddress read = {0};

    read_local(line, address, &read);
    ibh_ip_format(&read.local, rail.address);
    ibh_prefix_format(&read.subnet, rail.subnet);
    return rail;
}

/* What stands of it. */
static void read_programmed(Line *line, Verb verb G_GNUC_UNUSED)
{
    Rail rail = read_one(line);

    also(line, "ip route add %s dev %s src %s table %s metric mark protocol kernel", rail.subnet, rail.nic,
         rail.address, rail.table);
    also(line,
         "ip rule add priority 1940 from %s to %s lookup main suppress_prefixlength %s suppress_ifgroup mark "
         "protocol kernel",
         rail.address, rail.subnet, strchrnul(rail.subnet, '/') + 1);
    also(line, "ip rule add priority 1941 from %s to %s lookup %s suppress_ifgroup mark protocol kernel", rail.address,
         rail.subnet, rail.table);
}

/* What it is given. */
static void read_expected_rail(Line *line, Verb verb G_GNUC_UNUSED)
{
    Rail rail = read_one(line);

    also(line, "expect op route-add %s: ip -4 route add %s dev %s table %s protocol kernel scope link src %s metric %u",
         rail.nic, rail.subnet, rail.nic, rail.table, rail.address, IBH_MARK);
    also(line,
         "expect op rule-add %s: ip -4 rule add priority 1940 from %s to %s lookup 254 suppress_prefixlength %s "
         "suppress_ifgroup %u protocol kernel",
         rail.nic, rail.address, rail.subnet, strchrnul(rail.subnet, '/') + 1, IBH_MARK);
    also(line,
         "expect op rule-add %s: ip -4 rule add priority 1941 from %s to %s lookup %s suppress_ifgroup %u "
         "protocol kernel",
         rail.nic, rail.address, rail.subnet, rail.table, IBH_MARK);
}

/* arp=auto, where nothing was set; and that it was. */
static void read_expected_arp(Line *line, Verb verb G_GNUC_UNUSED)
{
    const char *nic = next(line);

    also(line, "expect op sysctl-set %s: sysctl -w net/ipv4/conf/%s/arp_announce=2", nic, nic);
    also(line, "expect op sysctl-set %s: sysctl -w net/ipv4/conf/%s/arp_ignore=1", nic, nic);
}

static void read_saved_arp(Line *line, Verb verb G_GNUC_UNUSED)
{
    const char *nic = next(line);

    also(line, "saved %s arp_announce old=0 set=2", nic);
    also(line, "saved %s arp_ignore old=0 set=1", nic);
}

/* ---- what is done and expected ---- */

static void read_do(Line *line, Verb verb G_GNUC_UNUSED)
{
    IbhCase *cas = line->cas;

    cas->asked = TRUE;
    cas->respect_holds = FALSE;
    g_ptr_array_set_size(cas->only, 0);
    cas->undo = take(line, "undo");
    if (!cas->undo && !take(line, "apply"))
        fail(line, "apply or undo is missing");
    cas->respect_holds = take(line, "respect-holds");
    if (!take(line, "only"))
        return;
    while (!is_at_end(line) && !take(line, "respect-holds"))
        g_ptr_array_add(cas->only, g_strdup(next(line)));
    g_ptr_array_add(cas->only, NULL);
}

static void free_nic(gpointer data)
{
    IbhCaseNic *nic = data;

    g_free(nic->name);
    g_free(nic->verdict);
    g_free(nic->why);
    g_free(nic);
}

static void read_expected_nic(Line *line, Verb verb G_GNUC_UNUSED)
{
    IbhCaseNic *nic = g_new0(IbhCaseNic, 1);
    char *why;

    g_ptr_array_add(line->cas->nics, nic);
    nic->name = g_strdup(next(line));
    why = strstr(line->rest, "why=\"");
    if (why) {
        nic->why = g_strdup(why + strlen("why=\""));
        *why = '\0';
        if (!g_str_has_suffix(nic->why, "\""))
            fail(line, "the reason has no end");
        else
            nic->why[strlen(nic->why) - 1] = '\0';
    }
    nic->verdict = g_strdup(g_strstrip(all_the_rest(line)));
    if (!*nic->verdict)
        fail(line, "what is %s expected to be?", nic->name);
}

static void read_expected_op(Line *line, Verb verb G_GNUC_UNUSED)
{
    g_ptr_array_add(line->cas->ops, g_strdup(all_the_rest(line)));
}

static void read_expected_error(Line *line, Verb verb G_GNUC_UNUSED)
{
    if (line->cas->error)
        fail(line, "a second error is expected");
    else
        line->cas->error = g_strdup(all_the_rest(line));
}

/* ---- the whole ---- */

static const struct {
    const char *start;
    void (*read)(Line *line, Verb verb);
    Verb verb;
} statements[] = {
    {"nic", read_link, NIC},
    {"ip link add", read_link, ADD},
    {"ip link set", change_link, ADD},
    {"ip link del", change_link, DEL},
    {"ip address add", read_address, ADD},
    {"once ip address add", read_address, WAS},
    {"ip address del", read_address, DEL},
    {"ready", read_address, READY},
    {"ip rule add", read_rule, ADD},
    {"once ip rule add", read_rule, WAS},
    {"ip rule del", read_rule, DEL},
    {"ip rule flush", flush, RULES},
    {"ip route add", read_route, ADD},
    {"once ip route add", read_route, WAS},
    {"ip route append", read_route, APPEND},
    {"ip route replace", read_route, REPLACE},
    {"ip route del", read_route, DEL},
    {"ip route flush table", flush, ADD},
    {"ip neigh add", read_neighbour, ADD},
    {"ip neigh flush dev", flush_neighbours, DEL},
    {"arping -U -c 1 -I", read_neighbour, ANNOUNCE},
    {"ndptool -t na -U -i", read_neighbour, ANNOUNCE},
    {"sysctl", read_sysctl, ADD},
    {"rails", read_rails, NIC},
    {"programmed", read_programmed, ADD},
    {"saved arp of", read_saved_arp, ADD},
    {"saved", read_saved, ADD},
    {"rail", read_rail, ADD},
    {"hold", read_hold, ADD},
    {"keep", read_keep, ADD},
    {"seed", read_seed, CASE},
    {"config", read_config, CASE},
    {"do", read_do, CASE},
    {"no-ipv6", read_no_ipv6, CASE},
    {"expect nic", read_expected_nic, CASE},
    {"expect op", read_expected_op, CASE},
    {"expect rail", read_expected_rail, IN_WORDS},
    {"expect arp of", read_expected_arp, IN_WORDS},
    {"expect error", read_expected_error, CASE},
};

/* `ip -6 route` is `ip route` of that family. */
static char *take_family(const char *text, int *ret_family)
{
    const char *at = strstr(text, "ip -");
    gboolean given = at && (at == text || at == text + strlen("once ")) &&
                     (g_str_has_prefix(at, "ip -4 ") || g_str_has_prefix(at, "ip -6 "));

    *ret_family = given && at[4] == '6' ? AF_INET6 : AF_INET;
    return given ? g_strdup_printf("%.*s%s", (int)(at + 3 - text), text, at + strlen("ip -6 ")) : g_strdup(text);
}

static gboolean read_line(IbhCase *cas, FakeKernel *kernel, const char *text, GError **error)
{
    Line line = {.cas = cas, .kernel = kernel};
    g_autofree char *copy = take_family(text, &line.family);
    guint i = 0;

    line.rest = copy;
    while (i < G_N_ELEMENTS(statements) && !((cas || statements[i].verb < CASE) && take(&line, statements[i].start)))
        i++;
    if (i == G_N_ELEMENTS(statements))
        fail(&line, "no statement begins like this");
    else
        statements[i].read(&line, statements[i].verb);
    if (!line.error && !is_at_end(&line))
        fail(&line, "“%.60s” is too much", line.rest);
    if (!line.error && statements[i].verb == CASE)
        g_string_append_printf(cas->written, "%s\n", text);
    if (line.error)
        g_propagate_error(error, line.error);
    return !line.error;
}

IbhCase *ibh_case_new(void)
{
    IbhCase *cas = g_new0(IbhCase, 1);

    cas->kernel = fake_kernel_new();
    cas->snapshot = cas->kernel->now;
    cas->facts = ibh_facts_new();
    cas->config = g_string_new(NULL);
    cas->written = g_string_new(NULL);
    cas->only = g_ptr_array_new_with_free_func(g_free);
    cas->ops = g_ptr_array_new_with_free_func(g_free);
    cas->nics = g_ptr_array_new_with_free_func(free_nic);
    return cas;
}

gboolean ibh_case_read(IbhCase *cas, const char *line, GError **error)
{
    return read_line(cas, cas->kernel, line, error);
}

/* What a kernel lists first: IPv4, then as it finds them in its tree. */
static gint in_kernel_order(gconstpointer left, gconstpointer right)
{
    const IbhRoute *a = left, *b = right;

    if (a->family != b->family)
        return a->family < b->family ? -1 : 1;
    if (a->table != b->table)
        return a->table < b->table ? -1 : 1;
    return ibh_ip_compare(&a->dst.ip, &b->dst.ip);
}

static IbhCase *parse(const char *name, const char *text, gboolean by_chance, GError **error)
{
    g_autoptr(IbhCase) cas = ibh_case_new();
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    cas->by_chance = by_chance;
    for (guint i = 0; lines[i]; i++) {
        const char *line = g_strstrip(lines[i]);
        g_autoptr(GError) wrong = NULL;

        if (*line == '#' && !cas->title)
            cas->title = g_strchug(g_strdup(line + 1));
        if (*line && *line != '#' && !ibh_case_read(cas, line, &wrong) && !(by_chance && wrong->domain == FAKE_ERROR)) {
            g_set_error(error, IBH_CASE_ERROR, 0, "%s:%u: %s, in: %.200s", name, i + 1, wrong->message, line);
            return NULL;
        }
    }
    return g_steal_pointer(&cas);
}

static IbhCase *parse_to_be_seen(const char *name, const char *text, gboolean by_chance, GError **error)
{
    IbhCase *cas = parse(name, text, by_chance, error);

    if (cas)
        g_array_sort(cas->snapshot->routes, in_kernel_order);
    return cas;
}

IbhCase *ibh_case_parse(const char *name, const char *text, GError **error)
{
    return parse_to_be_seen(name, text, FALSE, error);
}

IbhCase *ibh_case_parse_world(const char *name, const char *text, GError **error)
{
    return parse_to_be_seen(name, text, TRUE, error);
}

IbhCase *ibh_case_parse_kernel(const char *name, const char *text, GError **error)
{
    return parse(name, text, FALSE, error);
}

void ibh_case_free(IbhCase *cas)
{
    if (!cas)
        return;
    fake_kernel_free(cas->kernel);
    ibh_facts_free(cas->facts);
    g_string_free(cas->config, TRUE);
    g_string_free(cas->written, TRUE);
    g_ptr_array_unref(cas->only);
    g_ptr_array_unref(cas->ops);
    g_ptr_array_unref(cas->nics);
    g_free(cas->title);
    g_free(cas->error);
    g_free(cas);
}

const char *const *ibh_case_only(const IbhCase *cas)
{
    return cas->only->len ? (const char *const *)cas->only->pdata : NULL;
}

gboolean fake_try(FakeKernel *kernel, const char *line, GError **error)
{
    g_autoptr(GError) wrong = NULL;

    if (read_line(NULL, kernel, line, &wrong))
        return TRUE;
    if (wrong->domain == IBH_CASE_ERROR)
        g_error("%s, in: %s", wrong->message, line);
    g_propagate_error(error, g_steal_pointer(&wrong));
    return FALSE;
}

void fake_do(FakeKernel *kernel, const char *line, ...)
{
    va_list more;

    va_start(more, line);
    for (; line; line = va_arg(more, const char *)) {
        g_autoptr(GError) error = NULL;

        if (!fake_try(kernel, line, &error))
            g_error("%s: %s", line, error->message);
    }
    va_end(more);
}

/* ---- writing ---- */

static const char *name_of(const IbhSnapshot *world, int ifindex)
{
    const IbhLink *link = ibh_snapshot_link(world, ifindex);

    return link ? link->name : "?";
}

static void write_number(GString *text, guint64 value, const Name *names)
{
    while (names && names->name && names->value != value)
        names++;
    if (names && names->name)
        g_string_append(text, names->name);
    else
        g_string_append_printf(text, "%" G_GUINT64_FORMAT, value);
}

static void write_hardware(GString *text, const guint8 *bytes, guint length)
{
    for (guint i = 0; i < length; i++)
        g_string_append_printf(text, "%s%02x", i ? ":" : "", bytes[i]);
}

static void write_value(GString *text, const IbhSnapshot *world, const Attribute *attribute, gconstpointer field,
                        gconstpointer record)
{
    char buffer[IBH_PREFIX_STRLEN];

    if (attribute->kind == ADD_BIT_OF)
        g_string_append(text, "1");
    else if (attribute->kind == NUMBER || attribute->kind == EQUALS)
        write_number(text, get(field, attribute->size), attribute->names);
    else if (attribute->kind == NAME)
        g_string_append(text, field);
    else if (attribute->kind == ADDRESS || attribute->kind == LOCAL)
        g_string_append(text, ibh_ip_format(field, buffer));
    else if (attribute->kind == PREFIX)
        g_string_append(text, ibh_prefix_format(field, buffer));
    else if (attribute->kind == DEVICE)
        g_string_append(text, name_of(world, *(const int *)field));
    else if (attribute->kind == HARDWARE)
        write_hardware(text, field, ((const IbhLink *)record)->lladdr_len);
    else if (attribute->kind == SYSCTL)
        g_string_append(text, ibh_sysctl_name(*(const IbhSysctl *)field));
}

/* What is not as usual; what is known by its place always. */
static gboolean has_to_be_said(const Attribute *attribute, gconstpointer field, gconstpointer usual)
{
    if (!*attribute->word)
        return TRUE;
    if (!attribute->size || memcmp(field, usual, attribute->size) == 0)
        return FALSE;
    if (attribute->kind == ADDRESS)
        return ((const IbhIp *)field)->family != AF_UNSPEC;
    if (attribute->kind == SET)
        return get(field, attribute->size) == attribute->value;
    return attribute->kind >= NUMBER || get(field, attribute->size) & attribute->value;
}

static void write_words(GString *text, const IbhSnapshot *world, const Attribute *attributes, gconstpointer record,
                        gconstpointer usual)
{
    for (; attributes->word; attributes++) {
        gconstpointer field = (const guint8 *)record + attributes->offset;

        if (!has_to_be_said(attributes, field, (const guint8 *)usual + attributes->offset))
            continue;
        g_string_append_c(text, ' ');
        g_string_append(text, attributes->word);
        if (has_argument(attributes))
            g_string_append_c(text, attributes->kind == EQUALS ? '=' : ' ');
        write_value(text, world, attributes, field, record);
    }
}

char *fake_print_rule(const IbhRule *rule)
{
    GString *text = g_string_new(rule->family == AF_INET6 ? "ip -6 rule add" : "ip rule add");
    IbhRule usual = usual_rule(rule->family);

    write_words(text, NULL, rule_words, rule, &usual);
    return g_string_free(text, FALSE);
}

char *fake_print_route(const IbhSnapshot *world, const IbhRoute *route)
{
    GString *text = g_string_new("once ip route add");
    IbhRoute usual = usual_route, shown = *route;

    usual.scope = usual_scope(route);
    if (route->hops)
        shown.ifindex = 0;
    write_words(text, world, route_words, &shown, &usual);
    ibh_route_put_metrics(text, route);
    IBH_EACH_HOP (hop, route) {
        char ip[IBH_IP_STRLEN];

        g_string_append(text, " nexthop");
        if (hop->gateway.family != AF_UNSPEC)
            g_string_append_printf(text, " via %s", ibh_ip_format(&hop->gateway, ip));
        g_string_append_printf(text, " dev %s", name_of(world, hop->ifindex));
    }
    return g_string_free(text, FALSE);
}

/* A line for each of these. */
static void write_each(GString *text, const IbhSnapshot *world, const char *start, GArray *records,
                       const Attribute *attributes, gconstpointer usual)
{
    for (guint i = 0; i < records->len; i++) {
        g_string_append(text, start);
        write_words(text, world, attributes, records->data + i * g_array_get_element_size(records), usual);
        g_string_append_c(text, '\n');
    }
}

static void write_all(GString *text, const IbhSnapshot *world)
{
    for (int key = 0; key < IBH_N_SYSCTLS; key++)
        g_string_append_printf(text, "sysctl -w net/ipv4/conf/all/%s=%d\n", ibh_sysctl_name((IbhSysctl)key),
                               world->all[key]);
}

char *fake_print(const FakeKernel *kernel)
{
    static const IbhLink up = {.flags = IFF_UP, .carrier = TRUE};
    static const IbhSavedSysctl unknown = {.old = -1, .set = -1};
    static const guint8 nothing[sizeof(IbhAddress)];
    const IbhSnapshot *world = kernel->now;
    GString *text = g_string_new("ip link del lo\n");

    write_each(text, world, "nic", world->links, link_words, &up);
    write_each(text, world, "once ip address add", world->addresses, address_words, nothing);
    write_each(text, world, "ip neigh add", world->neighbours, neighbour_words, nothing);
    write_each(text, world, "saved", world->state->sysctls, saved_words, &unknown);
    write_each(text, world, "rail", world->state->rails, rail_words, nothing);
    for (guint i = 0; i < world->state->holds->len; i++)
        g_string_append_printf(text, "hold %s\n", (const char *)g_ptr_array_index(world->state->holds, i));
    for (guint i = 0; i < world->state->kept->len; i++)
        g_string_append_printf(text, "keep %s\n", (const char *)g_ptr_array_index(world->state->kept, i));
    write_all(text, world);
    /* What is there by itself, and what addresses brought with them: it follows in full. */
    g_string_append(text, "ip rule flush\nip rule del lookup local priority 0 protocol kernel\n"
                          "ip -6 rule flush\nip -6 rule del lookup local priority 0 protocol kernel\n"
                          "ip route flush table all\n");
    for (guint i = 0; i < world->rules->len; i++) {
        g_autofree char *line = fake_print_rule(&g_array_index(world->rules, IbhRule, i));

        g_string_append_printf(text, "once %s\n", line);
    }
    for (guint i = 0; i < world->routes->len; i++) {
        g_autofree char *line = fake_print_route(world, &g_array_index(world->routes, IbhRoute, i));

        g_string_append_printf(text, "%s\n", line);
    }
    return g_string_free(text, FALSE);
}

char *ibh_case_write(const IbhCase *cas)
{
    g_autofree char *world = fake_print(cas->kernel);

    return g_strdup_printf("# %s\n%s%s", cas->title ? cas->title : "", world, cas->written->str);
}

char *ibh_case_op(const IbhOp *op)
{
    g_autofree char *command = ibh_op_command(op);
    const gboolean moves = op->unit.kind == IBH_UNIT_MOVES && op->type != IBH_OP_ANNOUNCE;
    gboolean is_raw = op->type == IBH_OP_ANNOUNCE && op->by_kernel != (op->ip.family == AF_INET);

    return g_strdup_printf("%s %s%s%s%s: %s", ibh_op_name(op->type), *op->iface ? op->iface : "-",
                           moves ? " with others" : "", op->for_good ? " for good" : "", is_raw ? " raw" : "", command);
}

char *ibh_case_verdict(const IbhNic *nic)
{
    static const char *const names[] = {
        [IBH_NIC_NO_CANDIDATE] = "no-candidate",
        [IBH_NIC_ALONE] = "alone",
        [IBH_NIC_NO_ADDRESS] = "no-address",
        [IBH_NIC_UNMANAGED] = "unmanaged",
        [IBH_NIC_HELD] = "held",
        [IBH_NIC_BLOCKED] = "blocked",
        [IBH_NIC_RAIL] = "rail",
    };

    if (nic->status == IBH_NIC_RAIL)
        return g_strdup_printf("rail %u", nic->table);
    return g_strdup(names[nic->status]);
}
