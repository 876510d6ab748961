#include "case_text.h"

#include <linux/fib_rules.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* ---- words for numbers ---------------------------------------------------------------------- */

typedef struct {
    const char *name;
    guint32 value;
} Word;

static const Word link_types[] = {
    {"infiniband", ARPHRD_INFINIBAND}, {"ether", ARPHRD_ETHER}, {"loopback", ARPHRD_LOOPBACK}, {0}};
static const Word tables[] = {{"main", RT_TABLE_MAIN}, {"local", RT_TABLE_LOCAL}, {"default", RT_TABLE_DEFAULT}, {0}};
static const Word scopes[] = {
    {"global", RT_SCOPE_UNIVERSE}, {"site", RT_SCOPE_SITE}, {"link", RT_SCOPE_LINK}, {"host", RT_SCOPE_HOST}, {0}};
static const Word protocols[] = {{"redirect", RTPROT_REDIRECT},
                                 {"kernel", RTPROT_KERNEL},
                                 {"boot", RTPROT_BOOT},
                                 {"static", RTPROT_STATIC},
                                 {"ra", RTPROT_RA},
                                 {"dhcp", RTPROT_DHCP},
                                 {0}};
static const Word route_types[] = {{"unicast", RTN_UNICAST},
                                   {"local", RTN_LOCAL},
                                   {"broadcast", RTN_BROADCAST},
                                   {"blackhole", RTN_BLACKHOLE},
                                   {"unreachable", RTN_UNREACHABLE},
                                   {"prohibit", RTN_PROHIBIT},
                                   {"throw", RTN_THROW},
                                   {0}};
static const Word actions[] = {{"goto", FR_ACT_GOTO},           {"nop", FR_ACT_NOP},
                               {"blackhole", FR_ACT_BLACKHOLE}, {"unreachable", FR_ACT_UNREACHABLE},
                               {"prohibit", FR_ACT_PROHIBIT},   {0}};
static const Word selectors[] = {{"not", IBH_SELECT_NOT},       {"iif", IBH_SELECT_IIF},     {"oif", IBH_SELECT_OIF},
                                 {"fwmark", IBH_SELECT_FWMARK}, {"tos", IBH_SELECT_TOS},     {"uid", IBH_SELECT_UID},
                                 {"port", IBH_SELECT_PORT},     {"other", IBH_SELECT_OTHER}, {0}};
static const Word marks[] = {{"mark", IBH_MARK}, {0}};

static const Word *find_word(const Word *words, const char *name)
{
    for (; words->name; words++) {
        if (g_str_equal(words->name, name))
            return words;
    }
    return NULL;
}

static void append_word(GString *text, const char *before, const Word *words, guint32 value)
{
    for (; words && words->name; words++) {
        if (words->value == value) {
            g_string_append_printf(text, " %s%s", before, words->name);
            return;
        }
    }
    g_string_append_printf(text, " %s%u", before, value);
}

/* ---- a line that is being read ----------------------------------------------------------------- */

typedef struct {
    IbhCase *cas;
    char *rest;  /* what is left of it */
    char *error; /* the first thing that was wrong with it */
} Line;

static void G_GNUC_PRINTF(2, 3) fail(Line *line, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (!line->error)
        line->error = g_strdup_vprintf(format, args);
    va_end(args);
}

static const char *peek(Line *line)
{
    line->rest += strspn(line->rest, " \t");
    return *line->rest ? line->rest : NULL;
}

/* The next word, cut off; "" at the end of the line. */
static const char *next(Line *line)
{
    char *word = line->rest + strspn(line->rest, " \t");
    gsize length = strcspn(word, " \t");

    line->rest = word + length + (word[length] ? 1 : 0);
    word[length] = '\0';
    return word;
}

static gboolean is(const char *a, const char *b)
{
    return g_str_equal(a, b);
}

static guint32 number(Line *line, const char *text, const Word *words)
{
    const Word *word = words ? find_word(words, text) : NULL;
    guint64 value = 0;

    if (word)
        return word->value;
    if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT32, &value, NULL))
        fail(line, "“%s” is no number", text);
    return (guint32)value;
}

static IbhIp ip(Line *line)
{
    const char *text = next(line);
    IbhIp value = {0};

    if (!ibh_ip_parse(text, &value))
        fail(line, "“%s” is no address", text);
    return value;
}

static IbhPrefix prefix_of(Line *line, const char *text)
{
    IbhPrefix value = {.ip.family = AF_INET};

    if (!is(text, "all") && !is(text, "default") && !ibh_prefix_parse(text, &value))
        fail(line, "“%s” is no prefix", text);
    return value;
}

static int ifindex(Line *line, const char *name)
{
    const IbhLink *link = ibh_snapshot_link_by_name(line->cas->snapshot, name);

    if (!link)
        fail(line, "no link “%s” so far", name);
    return link ? link->ifindex : 0;
}

/* The value of KEY=VALUE, NULL if the word is not that. */
static const char *value_of(const char *word, const char *key)
{
    gsize length = strlen(key);

    return strncmp(word, key, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

static gboolean read_sysctl(Line *line, const char *word, int values[IBH_N_SYSCTLS])
{
    for (int key = 0; key < IBH_N_SYSCTLS; key++) {
        const char *value = value_of(word, ibh_sysctl_name((IbhSysctl)key));

        if (value) {
            values[key] = (int)number(line, value, NULL);
            return TRUE;
        }
    }
    return FALSE;
}

/* ---- links --------------------------------------------------------------------------------------- */

static void default_lladdr(IbhLink *link)
{
    link->lladdr_len = link->type == ARPHRD_INFINIBAND ? 20 : 6;
    memset(link->lladdr, 0, sizeof link->lladdr);
    if (link->type == ARPHRD_LOOPBACK)
        return;
    link->lladdr[0] = link->type == ARPHRD_INFINIBAND ? 0x80 : 0x02;
    link->lladdr[link->lladdr_len - 1] = (guint8)link->ifindex;
}

static void read_lladdr(Line *line, const char *text, IbhLink *link)
{
    g_auto(GStrv) bytes = g_strsplit(text, ":", -1);

    link->lladdr_len = 0;
    for (char **byte = bytes; *byte; byte++) {
        guint64 value;

        if (link->lladdr_len == IBH_LLADDR_MAX || !g_ascii_string_to_unsigned(*byte, 16, 0, 255, &value, NULL)) {
            fail(line, "“%s” is no hardware address", text);
            return;
        }
        link->lladdr[link->lladdr_len++] = (guint8)value;
    }
}

static void read_link_word(Line *line, const char *word, IbhLink *link)
{
    const char *value;

    if (is(word, "up"))
        link->flags |= IFF_UP;
    else if (is(word, "carrier"))
        link->carrier = TRUE;
    else if (is(word, "vf"))
        link->vf = TRUE;
    else if (is(word, "representor"))
        link->representor = TRUE;
    else if ((value = value_of(word, "rdma")))
        g_strlcpy(link->rdma, value, sizeof link->rdma);
    else if ((value = value_of(word, "kind")))
        g_strlcpy(link->kind, value, sizeof link->kind);
    else if ((value = value_of(word, "master")))
        link->master = ifindex(line, value);
    else if ((value = value_of(word, "parent")))
        link->parent = ifindex(line, value);
    else if ((value = value_of(word, "lladdr")))
        read_lladdr(line, value, link);
    else if (!read_sysctl(line, word, link->sysctl))
        fail(line, "“%s” says nothing about a link", word);
}

static guint flags_of(const IbhLink *link)
{
    guint flags = link->flags | IFF_MULTICAST | (link->type == ARPHRD_LOOPBACK ? IFF_LOOPBACK : IFF_BROADCAST);

    return flags | (flags & IFF_UP && link->carrier ? IFF_RUNNING : 0);
}

static void read_link(Line *line)
{
    IbhLink link = {.ifindex = (int)number(line, next(line), NULL)};
    const char *name = next(line);

    if (!*name || strlen(name) >= sizeof link.name || ibh_snapshot_link_by_name(line->cas->snapshot, name) ||
        ibh_snapshot_link(line->cas->snapshot, link.ifindex))
        fail(line, "the name “%s” or its index is wrong or used already", name);
    g_strlcpy(link.name, name, sizeof link.name);
    link.type = (guint16)number(line, next(line), link_types);
    default_lladdr(&link);
    while (peek(line))
        read_link_word(line, next(line), &link);
    link.flags = flags_of(&link);
    g_array_append_val(line->cas->snapshot->links, link);
}

static void write_sysctls(GString *text, const int values[IBH_N_SYSCTLS])
{
    for (int key = 0; key < IBH_N_SYSCTLS; key++) {
        if (values[key])
            g_string_append_printf(text, " %s=%d", ibh_sysctl_name((IbhSysctl)key), values[key]);
    }
}

static void write_lladdr(GString *text, const IbhLink *link)
{
    IbhLink usual = *link;

    default_lladdr(&usual);
    if (usual.lladdr_len == link->lladdr_len && memcmp(usual.lladdr, link->lladdr, link->lladdr_len) == 0)
        return;
    for (guint i = 0; i < link->lladdr_len; i++)
        g_string_append_printf(text, "%s%02x", i ? ":" : " lladdr=", link->lladdr[i]);
}

static void write_link(GString *text, const IbhSnapshot *snapshot, const IbhLink *link)
{
    const IbhLink *master = ibh_snapshot_link(snapshot, link->master);
    const IbhLink *parent = ibh_snapshot_link(snapshot, link->parent);

    g_string_append_printf(text, "link %d %s", link->ifindex, link->name);
    append_word(text, "", link_types, link->type);
    g_string_append_printf(text, "%s%s%s%s", link->flags & IFF_UP ? " up" : "", link->carrier ? " carrier" : "",
                           link->vf ? " vf" : "", link->representor ? " representor" : "");
    if (*link->rdma)
        g_string_append_printf(text, " rdma=%s", link->rdma);
    if (*link->kind)
        g_string_append_printf(text, " kind=%s", link->kind);
    if (master)
        g_string_append_printf(text, " master=%s", master->name);
    if (parent)
        g_string_append_printf(text, " parent=%s", parent->name);
    write_lladdr(text, link);
    write_sysctls(text, link->sysctl);
    g_string_append_c(text, '\n');
}

static void read_all(Line *line)
{
    while (peek(line)) {
        const char *word = next(line);

        if (!read_sysctl(line, word, line->cas->snapshot->all))
            fail(line, "“%s” is no sysctl", word);
    }
}

static void write_all(GString *text, const IbhSnapshot *snapshot)
{
    g_string_append(text, "all");
    write_sysctls(text, snapshot->all);
    g_string_append_c(text, '\n');
}

/* ---- addresses and neighbours ---------------------------------------------------------------------- */

static void read_local(Line *line, IbhAddress *address)
{
    const char *text = next(line);
    gsize length = strcspn(text, "/");
    g_autofree char *local = g_strndup(text, length);

    if (!ibh_ip_parse(local, &address->local))
        fail(line, "“%s” is no address", local);
    if (text[length])
        address->subnet = prefix_of(line, text);
    else
        address->subnet = ibh_prefix(&address->local, ibh_ip_bits(&address->local));
}

static void read_address(Line *line)
{
    IbhAddress address = {.ifindex = ifindex(line, next(line))};

    read_local(line, &address);
    while (peek(line)) {
        const char *word = next(line);

        if (is(word, "peer"))
            address.subnet = prefix_of(line, next(line));
        else if (is(word, "scope"))
            address.scope = (guint8)number(line, next(line), scopes);
        else if (is(word, "secondary"))
            address.secondary = TRUE;
        else if (is(word, "noprefixroute"))
            address.noprefixroute = TRUE;
        else if (is(word, "tentative"))
            address.tentative = TRUE;
        else
            fail(line, "“%s” says nothing about an address", word);
    }
    g_array_append_val(line->cas->snapshot->addresses, address);
}

static const char *name_of(const IbhSnapshot *snapshot, int index)
{
    const IbhLink *link = ibh_snapshot_link(snapshot, index);

    return link ? link->name : "-";
}

static void write_address(GString *text, const IbhSnapshot *snapshot, const IbhAddress *address)
{
    char local[IBH_IP_STRLEN], peer[IBH_PREFIX_STRLEN];
    IbhPrefix usual = ibh_prefix(&address->local, address->subnet.length);

    g_string_append_printf(text, "addr %s %s", name_of(snapshot, address->ifindex),
                           ibh_ip_format(&address->local, local));
    if (ibh_prefix_equal(&usual, &address->subnet))
        g_string_append_printf(text, "/%u", address->subnet.length);
    else
        g_string_append_printf(text, " peer %s", ibh_prefix_format(&address->subnet, peer));
    if (address->scope)
        append_word(text, "scope ", scopes, address->scope);
    g_string_append_printf(text, "%s%s%s\n", address->secondary ? " secondary" : "",
                           address->noprefixroute ? " noprefixroute" : "", address->tentative ? " tentative" : "");
}

static void read_neighbour(Line *line)
{
    IbhNeighbour neighbour = {.ifindex = ifindex(line, next(line))};

    neighbour.ip = ip(line);
    g_array_append_val(line->cas->snapshot->neighbours, neighbour);
}

static void write_neighbour(GString *text, const IbhSnapshot *snapshot, const IbhNeighbour *neighbour)
{
    char buffer[IBH_IP_STRLEN];

    g_string_append_printf(text, "neigh %s %s\n", name_of(snapshot, neighbour->ifindex),
                           ibh_ip_format(&neighbour->ip, buffer));
}

/* ---- routes ------------------------------------------------------------------------------------------ */

/* "ib0,ib1!": dead ones with ! */
static void read_hops(Line *line, const char *text, IbhRoute *route)
{
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    g_autoptr(GString) hops = g_string_new(NULL);

    route->nexthops = 0;
    for (char **word = words; *word; word++) {
        gboolean dead = g_str_has_suffix(*word, "!");
        int index;

        if (dead)
            (*word)[strlen(*word) - 1] = '\0';
        index = ifindex(line, *word);
        if (!route->nexthops++)
            route->ifindex = index;
        g_string_append_printf(hops, "%s%d%s", hops->len ? " " : "", index, dead ? "!" : "");
    }
    route->hops = g_intern_string(hops->str);
}

static void write_hops(GString *text, const IbhSnapshot *snapshot, const char *hops)
{
    g_auto(GStrv) words = g_strsplit(hops, " ", -1);

    for (char **word = words; *word; word++)
        g_string_append_printf(text, "%s%s%s", word == words ? " hops " : ",", name_of(snapshot, atoi(*word)),
                               g_str_has_suffix(*word, "!") ? "!" : "");
}

static void read_route_word(Line *line, const char *word, IbhRoute *route)
{
    if (is(word, "via"))
        route->gateway = ip(line);
    else if (is(word, "dev"))
        route->ifindex = ifindex(line, next(line));
    else if (is(word, "onlink"))
        route->onlink = TRUE;
    else if (is(word, "proto"))
        route->protocol = (guint8)number(line, next(line), protocols);
    else if (is(word, "scope"))
        route->scope = (guint8)number(line, next(line), scopes);
    else if (is(word, "src"))
        route->src = ip(line);
    else if (is(word, "metric"))
        route->metric = number(line, next(line), marks);
    else if (is(word, "hops"))
        read_hops(line, next(line), route);
    else if (is(word, "nexthops"))
        route->nexthops = number(line, next(line), NULL);
    else
        fail(line, "“%s” says nothing about a route", word);
}

static void read_route(Line *line)
{
    IbhRoute route = {.type = RTN_UNICAST, .protocol = RTPROT_BOOT, .nexthops = G_MAXUINT};
    const char *word;

    route.table = number(line, next(line), tables);
    word = next(line);
    if (find_word(route_types, word)) {
        route.type = (guint8)number(line, word, route_types);
        word = next(line);
    }
    route.dst = prefix_of(line, word);
    route.family = route.dst.ip.family;
    while (peek(line))
        read_route_word(line, next(line), &route);
    if (route.nexthops == G_MAXUINT)
        route.nexthops = route.ifindex ? 1 : 0;
    g_array_append_val(line->cas->snapshot->routes, route);
}

static void write_route_target(GString *text, const IbhSnapshot *snapshot, const IbhRoute *route)
{
    char buffer[IBH_PREFIX_STRLEN];

    if (route->type != RTN_UNICAST)
        append_word(text, "", route_types, route->type);
    g_string_append_printf(text, " %s", ibh_prefix_format(&route->dst, buffer));
    if (route->gateway.family != AF_UNSPEC)
        g_string_append_printf(text, " via %s", ibh_ip_format(&route->gateway, buffer));
    if (route->hops)
        write_hops(text, snapshot, route->hops);
    else if (route->ifindex)
        g_string_append_printf(text, " dev %s%s", name_of(snapshot, route->ifindex), route->onlink ? " onlink" : "");
}

static void write_route(GString *text, const IbhSnapshot *snapshot, const IbhRoute *route)
{
    char buffer[IBH_IP_STRLEN];

    g_string_append(text, "route");
    append_word(text, "", tables, route->table);
    write_route_target(text, snapshot, route);
    append_word(text, "proto ", protocols, route->protocol);
    if (route->scope)
        append_word(text, "scope ", scopes, route->scope);
    if (route->src.family != AF_UNSPEC)
        g_string_append_printf(text, " src %s", ibh_ip_format(&route->src, buffer));
    if (route->metric)
        append_word(text, "metric ", marks, route->metric);
    if (!route->hops && route->nexthops != (route->ifindex ? 1 : 0))
        g_string_append_printf(text, " nexthops %u", route->nexthops);
    g_string_append_c(text, '\n');
}

/* ---- rules --------------------------------------------------------------------------------------------- */

static void read_rule_word(Line *line, const char *word, IbhRule *rule)
{
    if (find_word(selectors, word))
        rule->selectors |= number(line, word, selectors);
    else if (find_word(actions, word))
        rule->action = (guint8)number(line, word, actions);
    else if (is(word, "from"))
        rule->from = prefix_of(line, next(line));
    else if (is(word, "to"))
        rule->to = prefix_of(line, next(line));
    else if (is(word, "lookup"))
        rule->table = number(line, next(line), tables);
    else if (is(word, "l3mdev"))
        rule->l3mdev = TRUE;
    else if (is(word, "suppress_prefixlength"))
        rule->suppress_prefixlength = number(line, next(line), NULL);
    else if (is(word, "suppress_ifgroup"))
        rule->suppress_ifgroup = number(line, next(line), marks);
    else if (is(word, "mark"))
        rule->suppress_ifgroup = IBH_MARK;
    else if (is(word, "proto"))
        rule->protocol = (guint8)number(line, next(line), protocols);
    else
        fail(line, "“%s” says nothing about a rule", word);
}

static void read_rule(Line *line)
{
    IbhRule rule = {
        .action = FR_ACT_TO_TBL, .protocol = RTPROT_BOOT, .suppress_prefixlength = -1, .suppress_ifgroup = -1};

    rule.from.ip.family = AF_INET;
    rule.priority = number(line, next(line), NULL);
    while (peek(line))
        read_rule_word(line, next(line), &rule);
    if (rule.to.length)
        rule.selectors |= IBH_SELECT_TO;
    rule.family = rule.from.ip.family;
    g_array_append_val(line->cas->snapshot->rules, rule);
}

static void write_rule(GString *text, const IbhRule *rule)
{
    char prefix[IBH_PREFIX_STRLEN];

    g_string_append_printf(text, "rule %u from %s", rule->priority, ibh_prefix_format(&rule->from, prefix));
    if (rule->selectors & IBH_SELECT_TO)
        g_string_append_printf(text, " to %s", ibh_prefix_format(&rule->to, prefix));
    for (const Word *word = selectors; word->name; word++) {
        if (rule->selectors & word->value)
            g_string_append_printf(text, " %s", word->name);
    }
    if (rule->l3mdev)
        g_string_append(text, " l3mdev");
    if (rule->action != FR_ACT_TO_TBL)
        append_word(text, "", actions, rule->action);
    if (rule->table)
        append_word(text, "lookup ", tables, rule->table);
    if (rule->suppress_prefixlength >= 0)
        g_string_append_printf(text, " suppress_prefixlength %u", (guint)rule->suppress_prefixlength);
    if (rule->suppress_ifgroup >= 0)
        append_word(text, "suppress_ifgroup ", marks, (guint32)rule->suppress_ifgroup);
    append_word(text, "proto ", protocols, rule->protocol);
    g_string_append_c(text, '\n');
}

/* ---- what the kernel makes by itself ----------------------------------------------------------------------- */

static void add_kernel_rules(IbhSnapshot *snapshot)
{
    static const struct {
        int family;
        guint32 priority, table;
    } standard[] = {{AF_INET, 0, RT_TABLE_LOCAL},
                    {AF_INET, 32766, RT_TABLE_MAIN},
                    {AF_INET, 32767, RT_TABLE_DEFAULT},
                    {AF_INET6, 0, RT_TABLE_LOCAL},
                    {AF_INET6, 32766, RT_TABLE_MAIN}};

    for (guint i = 0; i < G_N_ELEMENTS(standard); i++) {
        IbhRule rule = {.family = standard[i].family,
                        .priority = standard[i].priority,
                        .from.ip.family = standard[i].family,
                        .action = FR_ACT_TO_TBL,
                        .table = standard[i].table,
                        .protocol = RTPROT_KERNEL,
                        .suppress_prefixlength = -1,
                        .suppress_ifgroup = -1};

        g_array_append_val(snapshot->rules, rule);
    }
}

static void add_kernel_route(IbhSnapshot *snapshot, const IbhAddress *address, guint8 type, IbhPrefix dst)
{
    IbhRoute route = {.family = AF_INET,
                      .table = type == RTN_UNICAST ? RT_TABLE_MAIN : RT_TABLE_LOCAL,
                      .dst = dst,
                      .type = type,
                      .protocol = RTPROT_KERNEL,
                      .scope = type == RTN_LOCAL ? RT_SCOPE_HOST : RT_SCOPE_LINK,
                      .ifindex = address->ifindex,
                      .src = address->local,
                      .nexthops = 1};

    g_array_append_val(snapshot->routes, route);
}

static IbhPrefix broadcast_of(const IbhPrefix *subnet)
{
    IbhPrefix last = {.ip = subnet->ip, .length = 32};

    for (guint bit = subnet->length; bit < 32; bit++)
        last.ip.bytes[bit / 8] |= (guint8)(0x80u >> (bit % 8));
    return last;
}

/* Neither scope nor source, and the same once: several addresses in one prefix share its route. */
static void add_kernel_route6(IbhSnapshot *snapshot, const IbhAddress *address, guint8 type, IbhPrefix dst)
{
    IbhRoute route = {.family = AF_INET6,
                      .table = type == RTN_UNICAST ? RT_TABLE_MAIN : RT_TABLE_LOCAL,
                      .dst = dst,
                      .type = type,
                      .protocol = RTPROT_KERNEL,
                      .metric = type == RTN_UNICAST ? 256 : 0,
                      .ifindex = address->ifindex,
                      .nexthops = 1};

    for (guint i = 0; i < snapshot->routes->len; i++) {
        if (ibh_route_compare(&g_array_index(snapshot->routes, IbhRoute, i), &route) == 0)
            return;
    }
    g_array_append_val(snapshot->routes, route);
}

static void add_kernel_routes6(IbhSnapshot *snapshot, const IbhAddress *address)
{
    if (!address->tentative)
        add_kernel_route6(snapshot, address, RTN_LOCAL, ibh_prefix(&address->local, 128));
    if (address->scope != RT_SCOPE_HOST && !address->noprefixroute)
        add_kernel_route6(snapshot, address, RTN_UNICAST, address->subnet);
}

static void add_kernel_routes(IbhSnapshot *snapshot)
{
    for (guint i = 0; i < snapshot->addresses->len; i++) {
        const IbhAddress *address = &g_array_index(snapshot->addresses, IbhAddress, i);
        const IbhLink *link = ibh_snapshot_link(snapshot, address->ifindex);

        if (!(link->flags & IFF_UP))
            continue;
        if (address->local.family == AF_INET6) {
            add_kernel_routes6(snapshot, address);
            continue;
        }
        add_kernel_route(snapshot, address, RTN_LOCAL, ibh_prefix(&address->local, 32));
        if (ibh_address_is_host(address) || address->secondary)
            continue;
        if (address->subnet.length < 31)
            add_kernel_route(snapshot, address, RTN_BROADCAST, broadcast_of(&address->subnet));
        if (address->scope == RT_SCOPE_HOST)
            add_kernel_route(snapshot, address, RTN_LOCAL, address->subnet);
        else if (!address->noprefixroute)
            add_kernel_route(snapshot, address, RTN_UNICAST, address->subnet);
    }
}

static void read_kernel(Line *line)
{
    const char *what = next(line);

    if (is(what, "rules"))
        add_kernel_rules(line->cas->snapshot);
    else if (is(what, "routes"))
        add_kernel_routes(line->cas->snapshot);
    else
        fail(line, "the kernel makes rules and routes, not “%s”", what);
}

/* ---- state and configuration --------------------------------------------------------------------------------- */

static void read_saved(Line *line)
{
    const char *name = next(line);
    const char *key = next(line);
    const IbhLink *link = ibh_snapshot_link_by_name(line->cas->snapshot, name);
    IbhSavedSysctl saved = {.ifindex = link ? link->ifindex : 0, .old = -1, .set = -1};
    const char *value;

    g_strlcpy(saved.iface, name, sizeof saved.iface);
    if (!ibh_sysctl_parse(key, &saved.key))
        fail(line, "“%s” is no sysctl", key);
    while (peek(line)) {
        const char *word = next(line);

        if ((value = value_of(word, "old")))
            saved.old = (int)number(line, value, NULL);
        else if ((value = value_of(word, "set")))
            saved.set = (int)number(line, value, NULL);
        else if ((value = value_of(word, "ifindex")))
            saved.ifindex = (int)number(line, value, NULL);
        else
            fail(line, "“%s” says nothing about a saved value", word);
    }
    if (saved.old < 0 || saved.set < 0)
        fail(line, "old= or set= is missing");
    g_array_append_val(line->cas->snapshot->state->sysctls, saved);
}

static void read_away(Line *line)
{
    IbhSavedRoute away = {0};
    const char *name = next(line);

    away.ifindex = ifindex(line, name);
    g_strlcpy(away.iface, name, sizeof away.iface);
    away.dst = prefix_of(line, next(line));
    while (peek(line)) {
        const char *word = next(line);

        if (is(word, "src"))
            away.src = ip(line);
        else if (is(word, "metric"))
            away.metric = number(line, next(line), NULL);
        else
            fail(line, "“%s” says nothing about a route that is away", word);
    }
    g_array_append_val(line->cas->snapshot->state->routes, away);
}

static void write_away(GString *text, const IbhSavedRoute *away)
{
    char dst[IBH_PREFIX_STRLEN], src[IBH_IP_STRLEN];

    g_string_append_printf(text, "away %s %s src %s metric %u\n", away->iface, ibh_prefix_format(&away->dst, dst),
                           ibh_ip_format(&away->src, src), away->metric);
}

static void write_saved(GString *text, const IbhSavedSysctl *saved)
{
    g_string_append_printf(text, "saved %s %s old=%d set=%d ifindex=%d\n", saved->iface, ibh_sysctl_name(saved->key),
                           saved->old, saved->set, saved->ifindex);
}

static void read_hold(Line *line)
{
    g_ptr_array_add(line->cas->snapshot->state->holds, g_strdup(next(line)));
}

static void read_config(Line *line)
{
    g_string_append_printf(line->cas->config, "%s\n", line->rest);
    line->rest = strchr(line->rest, '\0');
}

/* ---- what is done and expected --------------------------------------------------------------------------------- */

static void read_do(Line *line)
{
    const char *action = next(line);
    gboolean names = FALSE;

    if (!is(action, "apply") && !is(action, "undo"))
        fail(line, "apply or undo, not “%s”", action);
    line->cas->undo = is(action, "undo");
    while (peek(line)) {
        const char *word = next(line);

        if (is(word, "respect-holds"))
            line->cas->respect_holds = TRUE;
        else if (is(word, "only"))
            names = TRUE;
        else if (names)
            g_ptr_array_add(line->cas->only, g_strdup(word));
        else
            fail(line, "“%s” says nothing about an action", word);
    }
}

static void free_nic(gpointer data)
{
    IbhCaseNic *nic = data;

    g_free(nic->name);
    g_free(nic->verdict);
    g_free(nic->why);
    g_free(nic);
}

static void read_expected_nic(Line *line)
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
    nic->verdict = g_strdup(g_strstrip(line->rest));
    if (!*nic->verdict)
        fail(line, "what is %s expected to be?", nic->name);
    line->rest = strchr(line->rest, '\0');
}

static void read_expect(Line *line)
{
    const char *what = next(line);

    if (is(what, "nic")) {
        read_expected_nic(line);
        return;
    }
    if (is(what, "op"))
        g_ptr_array_add(line->cas->ops, g_strdup(line->rest));
    else if (is(what, "error") && !line->cas->error)
        line->cas->error = g_strdup(line->rest);
    else
        fail(line, "one error, any number of op and nic, but not “%s”", what);
    line->rest = strchr(line->rest, '\0');
}

static void write_expected(GString *text, const IbhCase *cas)
{
    for (guint i = 0; i < cas->nics->len; i++) {
        const IbhCaseNic *nic = g_ptr_array_index(cas->nics, i);

        g_string_append_printf(text, "expect nic %s %s", nic->name, nic->verdict);
        if (nic->why)
            g_string_append_printf(text, " why=\"%s\"", nic->why);
        g_string_append_c(text, '\n');
    }
    for (guint i = 0; i < cas->ops->len; i++)
        g_string_append_printf(text, "expect op %s\n", (const char *)g_ptr_array_index(cas->ops, i));
    if (cas->error)
        g_string_append_printf(text, "expect error %s\n", cas->error);
}

/* ---- the whole ----------------------------------------------------------------------------------------------------
 */

static const struct {
    const char *word;
    void (*read)(Line *line);
} statements[] = {
    {"link", read_link},     {"all", read_all},   {"addr", read_address},  {"neigh", read_neighbour},
    {"route", read_route},   {"rule", read_rule}, {"kernel", read_kernel}, {"saved", read_saved},
    {"away", read_away},     {"hold", read_hold}, {"config", read_config}, {"do", read_do},
    {"expect", read_expect},
};

static void read_line(Line *line)
{
    const char *word = next(line);

    for (guint i = 0; i < G_N_ELEMENTS(statements); i++) {
        if (is(word, statements[i].word)) {
            statements[i].read(line);
            if (peek(line))
                fail(line, "“%s” is too much", line->rest);
            return;
        }
    }
    fail(line, "“%s” starts no statement", word);
}

static IbhCase *new_case(void)
{
    IbhCase *cas = g_new0(IbhCase, 1);

    cas->snapshot = ibh_snapshot_new();
    cas->config = g_string_new(NULL);
    cas->only = g_ptr_array_new_with_free_func(g_free);
    cas->ops = g_ptr_array_new_with_free_func(g_free);
    cas->nics = g_ptr_array_new_with_free_func(free_nic);
    return cas;
}

IbhCase *ibh_case_parse(const char *name, const char *text, GError **error)
{
    g_autoptr(IbhCase) cas = new_case();
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (guint i = 0; lines[i]; i++) {
        Line line = {.cas = cas, .rest = g_strchomp(lines[i])};

        if (!peek(&line))
            continue;
        if (*line.rest != '#')
            read_line(&line);
        else if (!cas->title)
            cas->title = g_strdup(g_strchug(line.rest + 1));
        if (line.error) {
            g_set_error(error, IBH_CASE_ERROR, 0, "%s:%u: %s", name, i + 1, line.error);
            g_free(line.error);
            return NULL;
        }
    }
    g_ptr_array_add(cas->only, NULL);
    return g_steal_pointer(&cas);
}

static void write_state(GString *text, const IbhCase *cas)
{
    const IbhState *state = cas->snapshot->state;
    g_auto(GStrv) lines = g_strsplit(cas->config->str, "\n", -1);

    for (guint i = 0; i < state->sysctls->len; i++)
        write_saved(text, &g_array_index(state->sysctls, IbhSavedSysctl, i));
    for (guint i = 0; i < state->routes->len; i++)
        write_away(text, &g_array_index(state->routes, IbhSavedRoute, i));
    for (guint i = 0; i < state->holds->len; i++)
        g_string_append_printf(text, "hold %s\n", (const char *)g_ptr_array_index(state->holds, i));
    for (guint i = 0; lines[i] && lines[i + 1]; i++)
        g_string_append_printf(text, "config %s\n", lines[i]);
}

static void write_do(GString *text, const IbhCase *cas)
{
    g_string_append_printf(text, "do %s%s", cas->undo ? "undo" : "apply", cas->respect_holds ? " respect-holds" : "");
    for (guint i = 0; i + 1 < cas->only->len; i++)
        g_string_append_printf(text, "%s %s", i ? "" : " only", (const char *)g_ptr_array_index(cas->only, i));
    g_string_append_c(text, '\n');
}

char *ibh_case_write(const IbhCase *cas)
{
    const IbhSnapshot *snapshot = cas->snapshot;
    GString *text = g_string_new(NULL);

    if (cas->title)
        g_string_append_printf(text, "# %s\n", cas->title);
    for (guint i = 0; i < snapshot->links->len; i++)
        write_link(text, snapshot, &g_array_index(snapshot->links, IbhLink, i));
    write_all(text, snapshot);
    for (guint i = 0; i < snapshot->addresses->len; i++)
        write_address(text, snapshot, &g_array_index(snapshot->addresses, IbhAddress, i));
    for (guint i = 0; i < snapshot->routes->len; i++)
        write_route(text, snapshot, &g_array_index(snapshot->routes, IbhRoute, i));
    for (guint i = 0; i < snapshot->rules->len; i++)
        write_rule(text, &g_array_index(snapshot->rules, IbhRule, i));
    for (guint i = 0; i < snapshot->neighbours->len; i++)
        write_neighbour(text, snapshot, &g_array_index(snapshot->neighbours, IbhNeighbour, i));
    write_state(text, cas);
    write_do(text, cas);
    write_expected(text, cas);
    return g_string_free(text, FALSE);
}

void ibh_case_free(IbhCase *cas)
{
    if (!cas)
        return;
    ibh_snapshot_free(cas->snapshot);
    g_string_free(cas->config, TRUE);
    g_ptr_array_unref(cas->only);
    g_ptr_array_unref(cas->ops);
    g_ptr_array_unref(cas->nics);
    g_free(cas->title);
    g_free(cas->error);
    g_free(cas);
}

const char *const *ibh_case_only(const IbhCase *cas)
{
    return cas->only->len > 1 ? (const char *const *)cas->only->pdata : NULL;
}

char *ibh_case_op(const IbhOp *op)
{
    g_autofree char *command = ibh_op_command(op), *unit = NULL;
    gboolean is_raw = op->type == IBH_OP_ANNOUNCE && op->by_kernel != (op->ip.family == AF_INET);

    if (op->ifindex && op->type != IBH_OP_ANNOUNCE && ABS(op->unit) != op->ifindex)
        unit = g_strdup_printf(" with %d", ABS(op->unit));
    return g_strdup_printf("%s %s%s%s%s: %s", ibh_op_name(op->type), *op->iface ? op->iface : "-", unit ? unit : "",
                           op->for_good ? " for good" : "", is_raw ? " raw" : "", command);
}

char *ibh_case_verdict(const IbhNic *nic)
{
    static const char *const names[] = {
        [IBH_NIC_NO_CANDIDATE] = "no-candidate", [IBH_NIC_ALONE] = "alone", [IBH_NIC_NO_ADDRESS] = "no-address",
        [IBH_NIC_UNMANAGED] = "unmanaged",       [IBH_NIC_HELD] = "held",   [IBH_NIC_DEFERRED] = "deferred",
        [IBH_NIC_BLOCKED] = "blocked",           [IBH_NIC_RAIL] = "rail",
    };

    if (nic->status == IBH_NIC_RAIL)
        return g_strdup_printf("rail %u", nic->table);
    if (nic->status == IBH_NIC_BLOCKED)
        return g_strdup_printf("blocked %s", nic->code ? nic->code : "without a code");
    return g_strdup(names[nic->status]);
}
