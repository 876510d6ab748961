/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/check.h"

#include "model/model.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* ---- the rule in the words of ip ---- */

static void put_range(GString *text, const char *word, guint32 first, guint32 last)
{
    if (last == first)
        g_string_append_printf(text, " %s %u", word, first);
    else
        g_string_append_printf(text, " %s %u-%u", word, first, last);
}

static void put_selection(GString *text, const IbhRule *rule)
{
    const IbhSelection *by = &rule->by;

    if (by->dscp_mask) {
        g_string_append_printf(text, " dscp %d", by->tos >> 2);
        if (by->dscp_mask != IBH_DSCP_ALL)
            g_string_append_printf(text, "/0x%x", by->dscp_mask);
    } else if (rule->selectors & IBH_SELECT_TOS) {
        g_string_append_printf(text, " tos 0x%x", by->tos);
    }
    if (rule->selectors & IBH_SELECT_FWMARK)
        g_string_append_printf(text, by->mask == G_MAXUINT32 ? " fwmark 0x%x" : " fwmark 0x%x/0x%x", by->mark,
                               by->mask);
    if (rule->selectors & IBH_SELECT_IIF)
        g_string_append_printf(text, " iif %s", by->iif);
    if (rule->selectors & IBH_SELECT_OIF)
        g_string_append_printf(text, " oif %s", by->oif);
    if (rule->selectors & IBH_SELECT_UID)
        g_string_append_printf(text, " uidrange %u-%u", by->uid[0], by->uid[1]);
    if (by->ip_protocol)
        g_string_append_printf(text, " ipproto %u", by->ip_protocol);
    if (by->sport[1])
        put_range(text, "sport", by->sport[0], by->sport[1]);
    if (by->dport[1])
        put_range(text, "dport", by->dport[0], by->dport[1]);
}

static void put_table(GString *text, const char *word, guint32 table)
{
    if (table == IBH_TABLE_MAIN || table == IBH_TABLE_LOCAL)
        g_string_append_printf(text, " %s %s", word, table == IBH_TABLE_MAIN ? "main" : "local");
    else
        g_string_append_printf(text, " %s %u", word, table);
}

static void put_action(GString *text, const IbhRule *rule)
{
    if (rule->action != FR_ACT_TO_TBL) {
        g_string_append(text, rule->action == FR_ACT_BLACKHOLE     ? " blackhole"
                              : rule->action == FR_ACT_UNREACHABLE ? " unreachable"
                              : rule->action == FR_ACT_PROHIBIT    ? " prohibit"
                              : rule->action == FR_ACT_GOTO        ? " goto"
                                                                   : "");
        if (rule->action == FR_ACT_GOTO)
            g_string_append_printf(text, " %u", rule->target);
        return;
    }
    put_table(text, "lookup", rule->table);
    if (rule->suppress_prefixlength >= 0)
        g_string_append_printf(text, " suppress_prefixlength %d", (int)rule->suppress_prefixlength);
    if (rule->suppress_ifgroup >= 0)
        g_string_append_printf(text, " suppress_ifgroup %u", (guint)rule->suppress_ifgroup);
}

static char *describe_rule(const IbhRule *rule)
{
    GString *text = g_string_new(rule->selectors & IBH_SELECT_NOT ? "not from " : "from ");
    char prefix[IBH_PREFIX_STRLEN];

    g_string_append(text, rule->from.length ? ibh_prefix_format(&rule->from, prefix) : "all");
    if (rule->to.length)
        g_string_append_printf(text, " to %s", ibh_prefix_format(&rule->to, prefix));
    put_selection(text, rule);
    put_action(text, rule);
    return g_string_free(text, FALSE);
}

/* ---- the same of a route ---- */

static const char *const types[] = {
    [RTN_LOCAL] = "local ",         [RTN_BROADCAST] = "broadcast ", [RTN_ANYCAST] = "anycast ",
    [RTN_MULTICAST] = "multicast ", [RTN_BLACKHOLE] = "blackhole ", [RTN_UNREACHABLE] = "unreachable ",
    [RTN_PROHIBIT] = "prohibit ",   [RTN_THROW] = "throw "};

static void put_way(GString *text, const IbhSnapshot *snapshot, const IbhRoute *route)
{
    const IbhLink *link = route->ifindex ? ibh_snapshot_link(snapshot, route->ifindex) : NULL;
    gboolean across = route->gateway.family != AF_UNSPEC && route->gateway.family != route->family;
    char ip[IBH_IP_STRLEN];

    if (route->gateway.family != AF_UNSPEC)
        g_string_append_printf(text, " via %s%s", across ? "inet6 " : "", ibh_ip_format(&route->gateway, ip));
    if (route->object)
        g_string_append_printf(text, " nhid %u", route->object);
    else if (link && route->nexthops <= 1) {
        g_autofree char *word = ibh_shell_word(link->name);

        g_string_append_printf(text, " dev %s", word);
    }
    if (route->nexthops > 1)
        g_string_append(text, " by several NICs");
}

static char *describe_route(const IbhSnapshot *snapshot, const IbhRoute *route)
{
    GString *text = g_string_new(route->object || route->type >= G_N_ELEMENTS(types) ? NULL : types[route->type]);
    char prefix[IBH_PREFIX_STRLEN], protocol[8];

    g_string_append(text, route->dst.length ? ibh_prefix_format(&route->dst, prefix) : "default");
    put_way(text, snapshot, route);
    put_table(text, "table", route->table);
    g_string_append_printf(text, " proto %s", ibh_protocol_name(route->protocol, protocol));
    if (route->metric)
        g_string_append_printf(text, " metric %u", route->metric);
    return g_string_free(text, FALSE);
}

char *ibh_owner_describe(const IbhSnapshot *snapshot, const IbhOwner *owner)
{
    g_autofree char *text = owner->rule    ? describe_rule(owner->rule)
                            : owner->route ? describe_route(snapshot, owner->route)
                                           : NULL;

    return owner->rule ? g_strdup_printf("rule %u: %s", owner->rule->priority, text)
                       : g_strconcat(text ? "route " : "", text, NULL);
}

char *ibh_owner_command(const IbhSnapshot *snapshot, const IbhOwner *owner)
{
    int family = owner->rule ? owner->rule->family : owner->route->family;
    g_autofree char *text = owner->rule ? describe_rule(owner->rule) : describe_route(snapshot, owner->route);
    char version = family == AF_INET6 ? '6' : '4';

    return owner->rule ? g_strdup_printf("ip -%c rule del priority %u %s", version, owner->rule->priority, text)
                       : g_strdup_printf("ip -%c route del %s", version, text);
}
