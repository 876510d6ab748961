/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Foreign rules that are asked before the rails' rules, and the traffic that they match.
 */
#include "check/rules.h"

#include <linux/fib_rules.h>

/* Before the rails' rules; or before main's, where it leads to a rail's table, refuses, or leaves main out. */
static gboolean comes_first(const IbhRails *rails, const IbhRule *rule)
{
    return rule->priority <= IBH_PRIORITY_BASE ||
           (rule->priority < IBH_PRIORITY_MAIN &&
            (rule->action != FR_ACT_TO_TBL || ibh_rails_nic_by_table(rails, rule->table)));
}

/* Rules about forwarded traffic, or traffic bound to a device, do not match questions about addresses. */
static gboolean concerns_addresses(const IbhRule *rule)
{
    return !rule->l3mdev && !(rule->selectors & IBH_SELECT_OIF) &&
           (!(rule->selectors & IBH_SELECT_IIF) || g_str_equal(rule->by.iif, "lo"));
}

gboolean ibh_rule_is_foreign(const IbhRails *rails, const IbhRule *rule)
{
    return !ibh_rule_is_ours(rule) && comes_first(rails, rule) && concerns_addresses(rule) &&
           !(rule->action == FR_ACT_TO_TBL && rule->table == IBH_TABLE_LOCAL);
}

gboolean ibh_rule_refuses(const IbhRule *rule)
{
    return rule->action == FR_ACT_BLACKHOLE || rule->action == FR_ACT_UNREACHABLE || rule->action == FR_ACT_PROHIBIT;
}

gboolean ibh_rule_matches_source(const IbhRule *rule, const IbhIp *from)
{
    return rule->family == from->family &&
           ((rule->selectors & IBH_SELECT_NOT) || ibh_prefix_contains(&rule->from, from));
}

/* ---- what a rule matches ---- */

static gboolean is_within(const guint16 range[2], guint16 port)
{
    return range[0] <= port && port <= range[1];
}

static gboolean matches_tos(const IbhSelection *by, guint8 tos)
{
    return by->dscp_mask ? ((tos >> 2) & by->dscp_mask) == by->tos >> 2 : tos == by->tos;
}

/* A question has no mark, port or user that a rule could match, unless it was given one. */
static gboolean matches_selection(const IbhRule *rule, const IbhLookup *lookup)
{
    const IbhSelection *by = &rule->by, *is = &lookup->by;

    return (!(rule->selectors & IBH_SELECT_FWMARK) || (is->mark & by->mask) == by->mark) &&
           (!(rule->selectors & IBH_SELECT_TOS) || matches_tos(by, is->tos)) &&
           (!(rule->selectors & IBH_SELECT_UID) ||
            ((lookup->selectors & IBH_SELECT_UID) && by->uid[0] <= is->uid[0] && is->uid[0] <= by->uid[1])) &&
           (!(rule->selectors & IBH_SELECT_PORT) || ((!by->ip_protocol || is->ip_protocol == by->ip_protocol) &&
                                                     (!by->sport[1] || is_within(by->sport, is->sport[0])) &&
                                                     (!by->dport[1] || is_within(by->dport, is->dport[0]))));
}

static gboolean matches(const IbhRule *rule, const IbhLookup *lookup)
{
    gboolean match = rule->family == lookup->to.family && ibh_prefix_contains(&rule->from, &lookup->from) &&
                     (!rule->to.length || ibh_prefix_contains(&rule->to, &lookup->to)) &&
                     matches_selection(rule, lookup);

    return rule->family == lookup->to.family && match != ((rule->selectors & IBH_SELECT_NOT) != 0);
}

/* TRUE if this rule can have given the answer: it leads to the table where the route was found, before the rails'
 * rules, or refuses. */
static gboolean may_have_answered(const IbhRule *rule, const IbhLookup *answer)
{
    gboolean leads = rule->action == FR_ACT_TO_TBL;

    if (rule->action == FR_ACT_GOTO)
        return TRUE;
    return answer->error ? !leads || rule->table != IBH_TABLE_MAIN : leads && rule->table == answer->table;
}

const IbhRule *ibh_find_foreign_rule(const IbhRails *rails, const IbhLookup *answer)
{
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (ibh_rule_is_foreign(rails, rule) && matches(rule, answer) && may_have_answered(rule, answer))
            return rule;
    }
    return NULL;
}

/* A rule about what arrives by this NIC, asked before the local table. */
const IbhRule *ibh_find_refusing_rule(const IbhRails *rails, const IbhLookup *arrival)
{
    const IbhNic *nic = ibh_rails_nic(rails, arrival->iif);

    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (ibh_rule_refuses(rule) && matches(rule, arrival) &&
            (!(rule->selectors & IBH_SELECT_IIF) || (nic && g_str_equal(rule->by.iif, nic->link->name))))
            return rule;
    }
    return NULL;
}

/* The kernel does not tell in which table it found an error. */
static gboolean has_error(const IbhSnapshot *snapshot, guint32 table, const IbhIp *to)
{
    g_autoptr(GPtrArray) routes = ibh_snapshot_routes_to(snapshot, table, to);

    IBH_EACH_POINTER (const IbhRoute, route, routes) {
        if (ibh_route_is_error(route))
            return TRUE;
    }
    return FALSE;
}

const IbhRule *ibh_find_leading_rule(const IbhRails *rails, const IbhLookup *answer)
{
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (!ibh_rule_is_ours(rule) && rule->priority < IBH_PRIORITY_MAIN && rule->action == FR_ACT_TO_TBL &&
            (answer->error ? has_error(rails->snapshot, rule->table, &answer->to) : rule->table == answer->table) &&
            concerns_addresses(rule) && matches(rule, answer))
            return rule;
    }
    return NULL;
}
