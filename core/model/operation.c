/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/operation.h"

#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

/* What each type changes, by which verb of ip(8), and what reverts it. */
static const struct {
    const char *name;
    enum { RULE, ROUTE, SYSCTL, PEERS } what;
    const char *verb;
    gboolean has_inverse;
    IbhOpType inverse;
} FORMS[] = {
    [IBH_OP_RULE_ADD] = {"rule-add", RULE, "add", TRUE, IBH_OP_RULE_DEL},
    [IBH_OP_RULE_DEL] = {"rule-del", RULE, "del", TRUE, IBH_OP_RULE_ADD},
    [IBH_OP_ROUTE_ADD] = {"route-add", ROUTE, "add", TRUE, IBH_OP_ROUTE_DEL},
    [IBH_OP_ROUTE_REPLACE] = {"route-replace", ROUTE, "replace", TRUE, IBH_OP_ROUTE_REPLACE},
    [IBH_OP_ROUTE_DEL] = {"route-del", ROUTE, "del", TRUE, IBH_OP_ROUTE_ADD},
    [IBH_OP_SYSCTL_SET] = {"sysctl-set", SYSCTL, NULL, TRUE, IBH_OP_SYSCTL_SET},
    [IBH_OP_ANNOUNCE] = {"announce", PEERS, NULL, FALSE, IBH_OP_ANNOUNCE},
    [IBH_OP_NEIGH_DEL] = {"neigh-del", PEERS, NULL, FALSE, IBH_OP_NEIGH_DEL},
};

const char *ibh_op_name(IbhOpType type)
{
    return FORMS[type].name;
}

int ibh_op_family(const IbhOp *op)
{
    const int families[] = {
        [RULE] = op->rule.family, [ROUTE] = op->route.family, [SYSCTL] = AF_INET, [PEERS] = op->ip.family};

    return families[FORMS[op->type].what];
}

void ibh_op_free(IbhOp *op)
{
    if (!op)
        return;
    g_free(op->hops);
    g_free(op->why);
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

static char *rule_command(const char *verb, const IbhRule *rule)
{
    char from[IBH_IP_STRLEN], to[IBH_PREFIX_STRLEN], protocol[8];
    GString *text = g_string_new(NULL);

    g_string_printf(text, "ip -%c rule %s priority %u from %s", rule->family == AF_INET6 ? '6' : '4', verb,
                    rule->priority, rule->from.length ? ibh_ip_format(&rule->from.ip, from) : "all");
    if (rule->to.length)
        g_string_append_printf(text, " to %s", ibh_prefix_format(&rule->to, to));
    g_string_append_printf(text, " lookup %u", rule->table);
    if (rule->suppress_prefixlength >= 0)
        g_string_append_printf(text, " suppress_prefixlength %d", (int)rule->suppress_prefixlength);
    if (rule->suppress_ifgroup >= 0)
        g_string_append_printf(text, " suppress_ifgroup %u", (guint)rule->suppress_ifgroup);
    g_string_append_printf(text, " protocol %s", ibh_protocol_name(rule->protocol, protocol));
    return g_string_free(text, FALSE);
}

static char *route_command(const char *verb, const IbhRoute *route, const char *iface, const char *hops)
{
    char dst[IBH_PREFIX_STRLEN], ip[IBH_IP_STRLEN], protocol[8];
    GString *text = g_string_new(NULL);

    g_string_printf(text, "ip -%c route %s %s", route->family == AF_INET6 ? '6' : '4', verb,
                    ibh_prefix_format(&route->dst, dst));
    if (route->gateway.family != AF_UNSPEC)
        g_string_append_printf(text, " via %s", ibh_ip_format(&route->gateway, ip));
    if (route->ifindex && !hops)
        g_string_append_printf(text, " dev %s%s", iface, route->onlink ? " onlink" : "");
    g_string_append_printf(text, " table %u protocol %s", route->table, ibh_protocol_name(route->protocol, protocol));
    if (route->scope == RT_SCOPE_LINK)
        g_string_append(text, " scope link");
    if (route->src.family != AF_UNSPEC)
        g_string_append_printf(text, " src %s", ibh_ip_format(&route->src, ip));
    if (route->metric)
        g_string_append_printf(text, " metric %u", route->metric);
    if (hops)
        g_string_append_printf(text, " %s", hops);
    return g_string_free(text, FALSE);
}

char *ibh_op_command(const IbhOp *op)
{
    g_autofree char *iface = ibh_shell_word(op->iface), *setting = NULL, *word = NULL;
    char ip[IBH_IP_STRLEN];

    switch (FORMS[op->type].what) {
    case RULE:
        return rule_command(FORMS[op->type].verb, &op->rule);
    case ROUTE:
        return route_command(FORMS[op->type].verb, &op->route, iface, op->hops);
    case SYSCTL:
        /* With slashes, because dots in an interface's name (ib0.8002) would end it. */
        setting = g_strdup_printf("net/ipv4/conf/%s/%s=%d", op->iface, ibh_sysctl_name(op->key), op->to);
        word = ibh_shell_word(setting);
        return g_strdup_printf("sysctl -w %s", word);
    case PEERS:
        break;
    }
    ibh_ip_format(&op->ip, ip);
    if (op->type == IBH_OP_NEIGH_DEL)
        return g_strdup_printf("ip neigh del %s dev %s", ip, iface);
    return op->ip.family == AF_INET ? g_strdup_printf("arping -U -c 1 -I %s %s", iface, ip)
                                    : g_strdup_printf("ndptool -t na -U -i %s -T %s send", iface, ip);
}

gboolean ibh_op_inverse(const IbhOp *op, IbhOp *ret_inverse)
{
    if (op->for_good || !FORMS[op->type].has_inverse)
        return FALSE;
    *ret_inverse = *op;
    ret_inverse->type = FORMS[op->type].inverse;
    ret_inverse->why = NULL;
    ret_inverse->from = op->to;
    ret_inverse->to = op->from;
    if (op->type == IBH_OP_ROUTE_REPLACE) {
        ret_inverse->route = op->replaced;
        ret_inverse->replaced = op->route;
    }
    return TRUE;
}

/* ---- a plan ---- */

IbhPlan *ibh_plan_new(void)
{
    IbhPlan *plan = g_new0(IbhPlan, 1);

    plan->ops = g_ptr_array_new_with_free_func((GDestroyNotify)ibh_op_free);
    return plan;
}

void ibh_plan_free(IbhPlan *plan)
{
    if (!plan)
        return;
    g_ptr_array_unref(plan->ops);
    g_free(plan);
}
