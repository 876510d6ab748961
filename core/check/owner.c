/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rule or route that is the cause of something, of any program: in words, and as the command that takes it away.
 */
#include "check/check.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* ---- a rule in the words of ip ---- */

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

static void put_action(GString *text, const IbhRule *rule)
{
    static const char *const refusals[] = {
        [FR_ACT_BLACKHOLE] = " blackhole", [FR_ACT_UNREACHABLE] = " unreachable", [FR_ACT_PROHIBIT] = " prohibit"};

    if (rule->action == FR_ACT_GOTO)
        g_string_append_printf(text, " goto %u", rule->target);
    else if (rule->action == FR_ACT_TO_TBL)
        ibh_table_put(text, "lookup", rule->table);
    else if (rule->action < G_N_ELEMENTS(refusals) && refusals[rule->action])
        g_string_append(text, refusals[rule->action]);
    if (rule->suppress_prefixlength >= 0)
        g_string_append_printf(text, " suppress_prefixlength %d", (int)rule->suppress_prefixlength);
    if (rule->suppress_ifgroup >= 0)
        g_string_append_printf(text, " suppress_ifgroup %u", (guint)rule->suppress_ifgroup);
    if (rule->realms > G_MAXUINT16)
        g_string_append_printf(text, " realms %u/%u", rule->realms >> 16, rule->realms & G_MAXUINT16);
    else if (rule->realms)
        g_string_append_printf(text, " realms %u", rule->realms);
}

/* Behind its verb. */
static char *write_rule(const IbhRule *rule, gboolean command)
{
    GString *text = g_string_new(rule->selectors & IBH_SELECT_NOT ? "not from " : "from ");
    gboolean single = command && rule->from.length == ibh_ip_bits(&rule->from.ip);
    char ip[IBH_IP_STRLEN], prefix[IBH_PREFIX_STRLEN], protocol[8];

    g_string_append(text, !rule->from.length ? "all"
                          : single           ? ibh_ip_format(&rule->from.ip, ip)
                                             : ibh_prefix_format(&rule->from, prefix));
    if (rule->to.length)
        g_string_append_printf(text, " to %s", ibh_prefix_format(&rule->to, prefix));
    put_selection(text, rule);
    put_action(text, rule);
    if (command && rule->protocol != RTPROT_UNSPEC)
        g_string_append_printf(text, " protocol %s", ibh_protocol_name(rule->protocol, protocol));
    return g_string_free(text, FALSE);
}

/* ---- owners ---- */

/* As a command: one that takes it away. */
static char *write_owner(const IbhSnapshot *snapshot, const IbhOwner *owner, gboolean command)
{
    const IbhRule *rule = owner->rule;
    const IbhLink *link = rule ? NULL : ibh_snapshot_link(snapshot, owner->route->ifindex);
    g_autofree char *iface = link ? ibh_text_shell_word(link->name) : NULL,
                    *text = rule ? write_rule(rule, command) : ibh_route_text(owner->route, iface, NULL, command);
    char version = (rule ? rule->family : owner->route->family) == AF_INET6 ? '6' : '4';

    if (!rule && owner->route->cached) {
        char ip[IBH_IP_STRLEN];

        return command ? g_strconcat("sudo ip -6 route flush cache ", ibh_ip_format(&owner->route->dst.ip, ip), NULL)
                       : g_strconcat("cached route ", text, NULL);
    }
    if (rule)
        return command ? g_strdup_printf("sudo ip -%c rule del priority %u %s", version, rule->priority, text)
                       : g_strdup_printf("rule %u: %s", rule->priority, text);
    return command ? g_strdup_printf("sudo ip -%c route del %s", version, text) : g_strconcat("route ", text, NULL);
}

char *ibh_owner_describe(const IbhSnapshot *snapshot, const IbhOwner *owner)
{
    return owner->rule || owner->route ? write_owner(snapshot, owner, FALSE) : g_strdup("");
}

char *ibh_owner_deletion(const IbhSnapshot *snapshot, const IbhOwner *owner)
{
    return write_owner(snapshot, owner, TRUE);
}

char *ibh_owner_text(const IbhSnapshot *snapshot, const IbhOwner *owner)
{
    g_autofree char *text = owner->rule ? write_rule(owner->rule, FALSE) : NULL;

    return text ? g_strdup_printf("rule %u (%s)", owner->rule->priority, text) : ibh_owner_describe(snapshot, owner);
}
