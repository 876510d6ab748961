/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/operation.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

static const struct {
    const char *name, *verb, *done; /* the name in plans; the verb of ip(8), or NULL; the journal's verb */
    IbhWhat what;
    IbhOpType inverse; /* not used for operations about peers, which have none */
} FORMS[] = {
    [IBH_OP_RULE_ADD] = {"rule-add", "add", "added", IBH_RULE, IBH_OP_RULE_DEL},
    [IBH_OP_RULE_DEL] = {"rule-del", "del", "removed", IBH_RULE, IBH_OP_RULE_ADD},
    [IBH_OP_ROUTE_ADD] = {"route-add", "add", "added", IBH_ROUTE, IBH_OP_ROUTE_DEL},
    [IBH_OP_ROUTE_REPLACE] = {"route-replace", "replace", "replaced", IBH_ROUTE, IBH_OP_ROUTE_REPLACE},
    [IBH_OP_ROUTE_DEL] = {"route-del", "del", "removed", IBH_ROUTE, IBH_OP_ROUTE_ADD},
    [IBH_OP_SYSCTL_SET] = {"sysctl-set", NULL, "set", IBH_SYSCTL, IBH_OP_SYSCTL_SET},
    [IBH_OP_ANNOUNCE] = {"announce", NULL, "announced", IBH_PEERS, IBH_OP_ANNOUNCE},
    [IBH_OP_NEIGH_DEL] = {"neigh-del", NULL, "forgot", IBH_PEERS, IBH_OP_NEIGH_DEL},
};

const char *ibh_op_name(IbhOpType type)
{
    return FORMS[type].name;
}

IbhWhat ibh_op_what(const IbhOp *op)
{
    return FORMS[op->type].what;
}

gboolean ibh_op_removes(IbhOpType type)
{
    return type == IBH_OP_RULE_DEL || type == IBH_OP_ROUTE_DEL;
}

gboolean ibh_unit_is_same(const IbhUnit *a, const IbhUnit *b)
{
    return a->kind != IBH_UNIT_NONE && a->kind == b->kind && a->family == b->family && a->ifindex == b->ifindex;
}

void ibh_op_free(IbhOp *op)
{
    g_free(op->hops);
    g_free(op);
}

const char *ibh_protocol_name(guint8 protocol, char buffer[8])
{
    static const char *const protocols[] = {
        [RTPROT_KERNEL] = "kernel", [RTPROT_BOOT] = "boot",   [RTPROT_STATIC] = "static",
        [RTPROT_RA] = "ra",         [RTPROT_ZEBRA] = "zebra", [RTPROT_BIRD] = "bird",
        [RTPROT_DHCP] = "dhcp",     [RTPROT_BGP] = "bgp",     [RTPROT_OSPF] = "ospf",
    };

    if (protocol < G_N_ELEMENTS(protocols) && protocols[protocol])
        return protocols[protocol];
    g_snprintf(buffer, 8, "%u", protocol);
    return buffer;
}

/* ---- rules and routes in the words of ip ---- */

void ibh_table_put(GString *text, const char *word, guint32 table)
{
    if (table == IBH_TABLE_MAIN || table == IBH_TABLE_LOCAL)
        g_string_append_printf(text, " %s %s", word, table == IBH_TABLE_MAIN ? "main" : "local");
    else
        g_string_append_printf(text, " %s %u", word, table);
}

static void put_ports(GString *text, const char *word, const guint16 ports[2])
{
    if (!ports[1]) /* any port */
        return;
    g_string_append_printf(text, " %s %u", word, ports[0]);
    if (ports[0] != ports[1])
        g_string_append_printf(text, "-%u", ports[1]);
}

static void put_selectors(GString *text, const IbhRule *rule)
{
    const IbhSelection *by = &rule->by;

    if (by->dscp_mask) {
        g_string_append_printf(text, " dscp %d", by->tos >> 2);
        if (by->dscp_mask != IBH_DSCP_ALL)
            g_string_append_printf(text, "/0x%x", by->dscp_mask);
    } else if (rule->selectors & IBH_SELECT_TOS) {
        g_string_append_printf(text, " tos 0x%x", by->tos);
    }
    if (rule->selectors & IBH_SELECT_FWMARK) {
        g_string_append_printf(text, " fwmark 0x%x", by->mark);
        if (by->mask != G_MAXUINT32)
            g_string_append_printf(text, "/0x%x", by->mask);
    }
    if (rule->selectors & IBH_SELECT_IIF)
        g_string_append_printf(text, " iif %s", by->iif);
    if (rule->selectors & IBH_SELECT_OIF)
        g_string_append_printf(text, " oif %s", by->oif);
    if (rule->selectors & IBH_SELECT_UID)
        g_string_append_printf(text, " uidrange %u-%u", by->uid[0], by->uid[1]);
    if (by->ip_protocol)
        g_string_append_printf(text, " ipproto %u", by->ip_protocol);
    put_ports(text, "sport", by->sport);
    put_ports(text, "dport", by->dport);
}

char *ibh_rule_text(const IbhRule *rule, gboolean command)
{
    static const char *const refusals[] = {
        [FR_ACT_BLACKHOLE] = "blackhole", [FR_ACT_UNREACHABLE] = "unreachable", [FR_ACT_PROHIBIT] = "prohibit"};
    const gboolean without_length = command && rule->from.length == ibh_ip_bits(&rule->from.ip);
    GString *text = g_string_new(rule->selectors & IBH_SELECT_NOT ? "not from " : "from ");
    char ip[IBH_IP_STRLEN], prefix[IBH_PREFIX_STRLEN], protocol[8];

    g_string_append(text, !rule->from.length ? "all"
                          : without_length   ? ibh_ip_format(&rule->from.ip, ip)
                                             : ibh_prefix_format(&rule->from, prefix));
    if (rule->to.length)
        g_string_append_printf(text, " to %s", ibh_prefix_format(&rule->to, prefix));
    put_selectors(text, rule);
    if (rule->action == FR_ACT_GOTO)
        g_string_append_printf(text, " goto %u", rule->target);
    else if (rule->action == FR_ACT_TO_TBL && command && ibh_rule_is_ours(rule)) /* ip accepts 254 as well as main */
        g_string_append_printf(text, " lookup %u", rule->table);
    else if (rule->action == FR_ACT_TO_TBL)
        ibh_table_put(text, "lookup", rule->table);
    else if (rule->action < G_N_ELEMENTS(refusals) && refusals[rule->action])
        g_string_append_printf(text, " %s", refusals[rule->action]);
    if (rule->suppress_prefixlength >= 0)
        g_string_append_printf(text, " suppress_prefixlength %d", (int)rule->suppress_prefixlength);
    if (rule->suppress_ifgroup >= 0)
        g_string_append_printf(text, " suppress_ifgroup %u", (guint)rule->suppress_ifgroup);
    if (rule->realms > G_MAXUINT16)
        g_string_append_printf(text, " realms %u/%u", rule->realms >> 16, rule->realms & G_MAXUINT16);
    else if (rule->realms)
        g_string_append_printf(text, " realms %u", rule->realms);
    if (command && rule->protocol != RTPROT_UNSPEC)
        g_string_append_printf(text, " protocol %s", ibh_protocol_name(rule->protocol, protocol));
    return g_string_free(text, FALSE);
}

char *ibh_route_text(const IbhRoute *route, const char *iface, const char *hops, gboolean command)
{
    static const char *const types[] = {
        [RTN_LOCAL] = "local ",         [RTN_BROADCAST] = "broadcast ", [RTN_ANYCAST] = "anycast ",
        [RTN_MULTICAST] = "multicast ", [RTN_BLACKHOLE] = "blackhole ", [RTN_UNREACHABLE] = "unreachable ",
        [RTN_PROHIBIT] = "prohibit ",   [RTN_THROW] = "throw "};
    /* With a blackhole nexthop object, the kernel reports the type blackhole, even if the route was added without a
     * type. Then a delete that names the type finds no route; a delete without a type matches every type. */
    const char *type = route->object || route->type >= G_N_ELEMENTS(types) ? NULL : types[route->type];
    GString *text = g_string_new(type);
    char dst[IBH_PREFIX_STRLEN], ip[IBH_IP_STRLEN], protocol[8];

    g_string_append(text, command || route->dst.length ? ibh_prefix_format(&route->dst, dst) : "default");
    if (route->gateway.family != AF_UNSPEC)
        g_string_append_printf(text, " via %s%s", route->gateway.family != route->family ? "inet6 " : "",
                               ibh_ip_format(&route->gateway, ip));
    if (route->object)
        g_string_append_printf(text, " nhid %u", route->object);
    else if (iface && !hops && route->nexthops <= 1)
        g_string_append_printf(text, " dev %s%s", iface, command && route->onlink ? " onlink" : "");
    if (command && route->table == IBH_TABLE_LOCAL) /* ip accepts 255 as well as local */
        g_string_append_printf(text, " table %u", route->table);
    else
        ibh_table_put(text, "table", route->table);
    g_string_append_printf(text, " %s %s", command ? "protocol" : "proto",
                           ibh_protocol_name(route->protocol, protocol));
    if (command && route->scope == RT_SCOPE_LINK)
        g_string_append(text, " scope link");
    if (command && route->src.family != AF_UNSPEC)
        g_string_append_printf(text, " src %s", ibh_ip_format(&route->src, ip));
    if (route->metric)
        g_string_append_printf(text, " metric %u", route->metric);
    ibh_route_put_metrics(text, route);
    if (hops)
        g_string_append_printf(text, " %s", hops);
    return g_string_free(text, FALSE);
}

/* ---- operations in words ---- */

char *ibh_op_describe(const IbhOp *op)
{
    const char *done = FORMS[op->type].done;
    char ip[IBH_IP_STRLEN], dst[IBH_PREFIX_STRLEN];

    switch (ibh_op_what(op)) {
    case IBH_RULE:
        if (ibh_rule_is_spread(&op->rule))
            return g_strdup_printf("%s rule to table %u", done, op->rule.table);
        return g_strdup_printf("%s rule from %s to table %u", done, ibh_ip_format(&op->rule.from.ip, ip),
                               op->rule.table);
    case IBH_ROUTE:
        return g_strdup_printf("%s route %s in table %u", done, ibh_prefix_format(&op->route.dst, dst),
                               op->route.table);
    case IBH_SYSCTL:
        return g_strdup_printf("%s %s=%d", done, ibh_sysctl_name(op->key), op->to);
    default:
        return g_strdup_printf("%s %s", done, op->type == IBH_OP_NEIGH_DEL ? "neighbours" : ibh_ip_format(&op->ip, ip));
    }
}

char *ibh_op_command(const IbhOp *op)
{
    g_autofree char *iface = ibh_text_shell_word(op->iface), *text = NULL, *setting = NULL;
    char ip[IBH_IP_STRLEN];

    switch (ibh_op_what(op)) {
    case IBH_RULE:
        text = ibh_rule_text(&op->rule, TRUE);
        return g_strdup_printf("ip -%c rule %s priority %u %s", op->rule.family == AF_INET6 ? '6' : '4',
                               FORMS[op->type].verb, op->rule.priority, text);
    case IBH_ROUTE:
        text = ibh_route_text(&op->route, op->route.ifindex ? iface : NULL, op->hops, TRUE);
        return g_strdup_printf("ip -%c route %s %s", op->route.family == AF_INET6 ? '6' : '4', FORMS[op->type].verb,
                               text);
    case IBH_SYSCTL: /* with slashes: sysctl(8) would split a name such as ib0.8002 at the dot */
        setting = g_strdup_printf("net/ipv4/conf/%s/%s=%d", op->iface, ibh_sysctl_name(op->key), op->to);
        text = ibh_text_shell_word(setting);
        return g_strdup_printf("sysctl -w %s", text);
    default:
        if (op->type == IBH_OP_NEIGH_DEL)
            return g_strdup_printf("ip -4 neigh flush dev %s", iface);
        ibh_ip_format(&op->ip, ip);
        return op->ip.family == AF_INET ? g_strdup_printf("arping -U -c 1 -I %s %s", iface, ip)
                                        : g_strdup_printf("ndptool -t na -U -i %s -T %s send", iface, ip);
    }
}

gboolean ibh_op_inverse(const IbhOp *op, IbhOp *ret_inverse)
{
    if (op->for_good || ibh_op_what(op) == IBH_PEERS)
        return FALSE;
    *ret_inverse = *op;
    ret_inverse->type = FORMS[op->type].inverse;
    ret_inverse->from = op->to;
    ret_inverse->to = op->from;
    if (op->type == IBH_OP_ROUTE_REPLACE) {
        ret_inverse->route = op->replaced;
        ret_inverse->replaced = op->route;
    }
    return TRUE;
}
