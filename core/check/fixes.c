/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/check.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#define STEPS_MAX 8

/* ---- owners ---- */

static gboolean is_of_rails(const IbhRails *rails, const IbhPrefix *prefix)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (!ibh_is_routed(nic))
            continue;
        IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
            if (address->local.family == prefix->ip.family && prefix->length >= address->subnet.length &&
                ibh_prefix_contains(&address->subnet, &prefix->ip))
                return TRUE;
        }
    }
    return FALSE;
}

/* Its table also leads to networks that are none of the rails': it is there for these, and one route in it is wrong. */
static gboolean serves_others(const IbhCheck *check, const IbhRule *rule, const IbhRoute *wrong)
{
    if (rule->action != FR_ACT_TO_TBL || (rule->from.length && is_of_rails(check->rails, &rule->from)) ||
        (rule->to.length && is_of_rails(check->rails, &rule->to)))
        return FALSE;
    IBH_EACH_ROUTE (route, check->rails->snapshot) {
        if (route->table == rule->table && route->family == rule->family && ibh_route_compare(route, wrong) != 0 &&
            route->table != IBH_TABLE_MAIN && !ibh_rails_nic_by_table(check->rails, route->table) &&
            !is_of_rails(check->rails, &route->dst))
            return TRUE;
    }
    return FALSE;
}

static gboolean is_the_same(const IbhTrace *a, const IbhTrace *b)
{
    return a->route == b->route && a->refused == b->refused;
}

static GArray *with_one_more(const GArray *without, const IbhOwner *owner)
{
    GArray *all = g_array_new(FALSE, TRUE, sizeof(IbhOwner));

    if (without)
        g_array_append_vals(all, without->data, without->len);
    g_array_append_val(all, *owner);
    return all;
}

/* TRUE if the packet would go another way without this object, which sent it on. */
static gboolean matters(const IbhCheck *check, const IbhQuestion *question, const IbhTrace *trace,
                        const GArray *without, const IbhOwner *object)
{
    g_autoptr(GArray) more = with_one_more(without, object);
    g_autoptr(IbhFib) model = ibh_model_new(check, IBH_MODEL_REPAIRED, more);
    const IbhTrace otherwise = ibh_fib_walk(model, &question->lookup);

    return !is_the_same(&otherwise, trace);
}

/* Of the jumps that led it past what would have been right, the first without which it would go another way; if it
 * takes more than one away, the first of all. NULL: none. */
static const IbhRule *find_jump(const IbhCheck *check, const IbhQuestion *question, const IbhTrace *trace,
                                const GArray *without)
{
    const IbhSnapshot *snapshot = check->rails->snapshot;
    g_autoptr(GArray) all = NULL;
    const IbhOwner first = {.rule = trace->jump};

    if (!trace->jump)
        return NULL;
    all = with_one_more(without, &first);
    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        const IbhOwner jump = {.rule = rule};

        if (rule->action != FR_ACT_GOTO || !ibh_rule_matches(snapshot, rule, &question->lookup))
            continue;
        if (matters(check, question, trace, without, &jump))
            return rule;
        g_array_append_val(all, jump);
    }
    return matters(check, question, trace, all, &first) ? trace->jump : NULL;
}

IbhOwner ibh_find_owner(const IbhCheck *check, const IbhQuestion *question, const IbhTrace *trace,
                        const GArray *without)
{
    const IbhOwner jump = {.rule = find_jump(check, question, trace, without)}, thrown = {.route = trace->thrown},
                   rule = {.rule = trace->rule};
    const IbhRoute *route = trace->route;

    if (jump.rule)
        return jump;
    if (thrown.route && matters(check, question, trace, without, &thrown))
        return thrown;
    if (rule.rule && !ibh_rule_is_expected(rule.rule) && !(question->theirs && !trace->refused) &&
        (!route || !serves_others(check, rule.rule, route)))
        return rule;
    if (route && ibh_route_is_ours(route) && route->gateway.family != AF_UNSPEC) /* copied from main */
        route = ibh_fib_find(check->ideal, IBH_TABLE_MAIN, &question->lookup.to);
    return (IbhOwner){.route = route && !ibh_route_is_ours(route) ? route : NULL};
}

/* ---- commands ---- */

static gboolean is_by_hand(guint8 protocol)
{
    return protocol == RTPROT_UNSPEC || protocol == RTPROT_BOOT || protocol == RTPROT_STATIC;
}

/* An absent attribute of a delete matches everything: it would delete the first similar rule, even one of ours. */
static gboolean is_first_alike(const IbhSnapshot *snapshot, const IbhRule *rule)
{
    IBH_EACH (const IbhRule, other, snapshot->rules) {
        if (other == rule || ibh_rule_compare(other, rule) == 0)
            return TRUE;
        if (other->family == rule->family && other->priority == rule->priority && other->action == rule->action &&
            other->table == rule->table && ibh_prefix_equal(&other->from, &rule->from) &&
            (!rule->to.length || ibh_prefix_equal(&other->to, &rule->to)))
            break;
    }
    return FALSE;
}

static gboolean may_be_taken_away(const IbhCheck *check, const IbhOwner *owner)
{
    const IbhRule *rule = owner->rule;
    const IbhRoute *route = owner->route;

    if (rule)
        return rule->from.length && is_of_rails(check->rails, &rule->from) && is_by_hand(rule->protocol) &&
               !(rule->selectors & ~(guint)IBH_SELECT_TO) && !rule->l3mdev && rule->priority < IBH_PRIORITY_MAIN &&
               is_first_alike(check->rails->snapshot, rule);
    return route && route->table != IBH_TABLE_LOCAL && route->dst.length && is_by_hand(route->protocol) &&
           route->nexthops <= 1 && !route->special && is_of_rails(check->rails, &route->dst);
}

/* Nothing that was right is wrong without them. */
static gboolean spares_the_rest(const IbhCheck *check, const IbhCheck *then)
{
    IBH_EACH (const IbhQuestion, question, check->questions) {
        IbhTrace before, after;

        if (question->kind == IBH_ASK_ARRIVES)
            continue;
        after = ibh_fib_walk(then->repaired, &question->lookup);
        before = ibh_fib_walk(check->repaired, &question->lookup);
        if (!is_the_same(&before, &after) && ibh_grade(check, question, &before) < IBH_DOUBTFUL &&
            ibh_grade(then, question, &after) >= IBH_DOUBTFUL)
            return FALSE;
    }
    return TRUE;
}

/* The first of these that is still wrong; NULL: none. */
static const IbhQuestion *find_wrong(const IbhCheck *then, const GPtrArray *wrong, IbhTrace *ret_trace)
{
    IBH_EACH_POINTER (const IbhQuestion, question, wrong) {
        *ret_trace = ibh_fib_walk(then->repaired, &question->lookup);
        if (ibh_grade(then, question, ret_trace) >= IBH_DOUBTFUL)
            return question;
    }
    return NULL;
}

static char *write_commands(const IbhCheck *check, const GArray *steps)
{
    GString *text = g_string_new(NULL);

    IBH_EACH (const IbhOwner, step, steps) {
        g_autofree char *command = ibh_owner_command(check->rails->snapshot, step);

        g_string_append_printf(text, "%s%s", text->len ? " && " : "", command);
    }
    return g_string_free(text, FALSE);
}

char *ibh_find_fix(const IbhCheck *check, const IbhOwner *owner, const GPtrArray *wrong)
{
    g_autoptr(GArray) steps = g_array_new(FALSE, TRUE, sizeof(IbhOwner));
    IbhOwner next = *owner;

    while (steps->len < STEPS_MAX && may_be_taken_away(check, &next)) {
        g_autoptr(IbhFib) model = NULL, ideal = NULL;
        IbhCheck then = *check;
        const IbhQuestion *left;
        IbhTrace trace;

        g_array_append_val(steps, next);
        model = ibh_model_new(check, IBH_MODEL_REPAIRED, steps);
        ideal = ibh_model_new(check, IBH_MODEL_IDEAL, steps);
        then.repaired = model;
        then.ideal = ideal;
        left = find_wrong(&then, wrong, &trace);
        if (!left)
            return spares_the_rest(check, &then) ? write_commands(check, steps) : NULL;
        next = ibh_find_owner(&then, left, &trace, steps);
        IBH_EACH (const IbhOwner, step, steps) {
            if (ibh_owner_equal(step, &next))
                return NULL;
        }
    }
    return NULL;
}
