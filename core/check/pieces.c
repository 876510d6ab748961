/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The questions about pieces of a rail's subnet that foreign rules and routes, and main, take out.
 */
#include "check/asking.h"
#include "check/rules.h"
#include "plan/others.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#define UNASKABLE (IBH_SELECT_NOT | IBH_SELECT_OTHER)
#define SELECTIVE (IBH_SELECT_FWMARK | IBH_SELECT_TOS | IBH_SELECT_UID | IBH_SELECT_PORT)

IbhQuestion ibh_ask_about(IbhQuestionKind kind, const IbhNic *nic, const IbhIp *from, const IbhIp *to)
{
    return (IbhQuestion){
        .kind = kind,
        .nic = nic,
        .lookup = {.from = *from,
                   .to = *to,
                   .iif = kind == IBH_ASK_ARRIVES || kind == IBH_ASK_PROXIES ? nic->link->ifindex : 0,
                   .match = kind == IBH_ASK_LEAVES || kind == IBH_ASK_ELSEWHERE || kind == IBH_ASK_UNBOUND}};
}

IbhQuestion ibh_ask_leaving(const IbhAskTarget *target, const IbhIp *neighbour)
{
    IbhQuestion question = ibh_ask_about(IBH_ASK_LEAVES, target->nic, &target->address->local, neighbour);

    question.length = target->prefix->length;
    return question;
}

void ibh_question_add(const IbhAsking *asking, const IbhQuestion *question)
{
    if (asking->questions->len < IBH_QUESTIONS_MAX)
        g_array_append_val(asking->questions, *question);
}

/* The same with the values that a rule matches by. */
static void ask_with(const IbhAsking *asking, IbhQuestion *question, const IbhRule *rule)
{
    question->lookup.by = rule->by;
    question->lookup.selectors = rule->selectors & SELECTIVE;
    ibh_question_add(asking, question);
}

void ibh_ask_simply(const IbhAsking *asking, IbhQuestionKind kind, const IbhNic *nic, const IbhIp *from,
                    const IbhIp *to)
{
    const IbhQuestion question = ibh_ask_about(kind, nic, from, to);

    ibh_question_add(asking, &question);
}

/* Traffic without a source concerns the whole host: one question for each subnet is enough. */
gboolean ibh_is_asked_unbound(const IbhAsking *asking, const IbhIp *to)
{
    IBH_EACH (const IbhQuestion, question, asking->questions) {
        if (question->kind == IBH_ASK_UNBOUND && ibh_ip_equal(&question->lookup.to, to))
            return TRUE;
    }
    return FALSE;
}

void ibh_ask_in_piece(const IbhAsking *asking, const IbhAskTarget *target, const IbhPrefix *piece, const IbhRule *rule)
{
    IbhQuestion question;
    IbhIp neighbour;

    if (!ibh_find_in_piece(&asking->all, piece, target->holes, &neighbour))
        return;
    question = ibh_ask_leaving(target, &neighbour);
    if (rule)
        ask_with(asking, &question, rule);
    else
        ibh_question_add(asking, &question);
}

/* A rule takes a piece of it, or only some packets: the question has the values that the rule matches by. */
static void ask_about_rule(const IbhAsking *asking, const IbhAskTarget *target, const IbhRule *rule)
{
    gboolean takes_piece = ibh_prefix_is_inside(&rule->to, target->prefix);

    if ((takes_piece || (rule->selectors & SELECTIVE)) &&
        (!rule->to.length || ibh_prefix_overlaps(&rule->to, target->prefix)))
        ibh_ask_in_piece(asking, target, takes_piece ? &rule->to : target->prefix, rule);
}

/* Broadcast and anycast addresses are mostly edges of subnets, and no neighbours. */
static gboolean takes_neighbours(const IbhAsking *asking, const IbhRoute *route)
{
    IbhIp neighbour;

    if (route->type == RTN_BROADCAST || route->type == RTN_ANYCAST)
        return ibh_find_neighbour(&asking->all, &route->dst, NULL, &neighbour);
    return route->type == RTN_UNICAST || route->type >= RTN_BLACKHOLE;
}

/* A foreign route, in a table that this address is led to, takes a piece of it. */
static void ask_about_foreign_routes(const IbhAsking *asking, const IbhAskTarget *target, guint32 table,
                                     const IbhRule *rule)
{
    g_autoptr(GPtrArray) inside = ibh_snapshot_routes_inside(asking->rails->snapshot, table, target->prefix);

    IBH_EACH_POINTER (const IbhRoute, route, inside) {
        if (!ibh_route_is_ours(route) && takes_neighbours(asking, route))
            ibh_ask_in_piece(asking, target, &route->dst, rule);
    }
}

static void ask_about_piece(const IbhAsking *asking, const IbhNic *nic, const IbhAddress *address, const IbhRule *rule,
                            const IbhPrefix *subnet)
{
    const IbhPrefix *piece = rule->to.length > subnet->length ? &rule->to : subnet;
    g_autoptr(GArray) own = g_array_new(FALSE, FALSE, sizeof(IbhPrefix));
    IbhQuestion question;
    IbhIp neighbour;

    g_array_append_val(own, address->subnet);
    if (piece->ip.family != address->local.family || (rule->to.length && !ibh_prefix_overlaps(&rule->to, subnet)) ||
        !ibh_find_in_piece(&asking->all, piece, own, &neighbour) ||
        ibh_find_address_near(asking->rails, nic->link->ifindex, &neighbour))
        return;
    question = ibh_ask_about(IBH_ASK_ELSEWHERE, nic, &address->local, &neighbour);
    ask_with(asking, &question, rule);
}

#define BY_GATEWAY_MAX 16 /* for each rule */

/* Asks about the networks that the other rail reaches by its gateways: remote=, and main's routes. */
static void ask_about_gateways_of(const IbhAsking *asking, const IbhNic *owner, const IbhNic *nic,
                                  const IbhAddress *address, const IbhRule *rule)
{
    guint left = BY_GATEWAY_MAX;

    IBH_EACH (const IbhRoute, route, asking->rails->snapshot->routes) {
        if (!ibh_route_is_ours(route) || route->table != rule->table || !ibh_nic_has_table(owner, route->table) ||
            route->gateway.family == AF_UNSPEC || route->family != rule->family ||
            (rule->to.length && !ibh_prefix_overlaps(&rule->to, &route->dst)))
            continue;
        ask_about_piece(asking, nic, address, rule, &route->dst);
        if (!--left)
            return;
    }
}

/* Both NICs have addresses in that subnet, and this address is of another one: so it leaves by its own NIC. */
static void ask_across(const IbhAsking *asking, const IbhNic *nic, const IbhAddress *address, const IbhRule *rule,
                       const IbhPrefix *subnet, GArray *holes)
{
    const IbhAskTarget target = {.nic = nic, .address = address, .prefix = subnet, .holes = holes};
    const IbhPrefix *piece = rule->to.length > subnet->length ? &rule->to : subnet;

    if (subnet->ip.family == address->local.family && !ibh_prefix_overlaps(subnet, &address->subnet) &&
        (!rule->to.length || ibh_prefix_overlaps(&rule->to, subnet)) && ibh_serves_subnet(nic, subnet))
        ibh_ask_in_piece(asking, &target, piece, rule);
}

/* Asks in main's prefixes inside the subnet; with a rule: in the pieces and with the values that it matches. */
static void ask_in_holes(const IbhAsking *asking, const IbhAskTarget *target, const IbhRule *rule)
{
    IBH_EACH (const IbhPrefix, hole, target->holes) {
        const IbhPrefix *piece = rule && rule->to.length > hole->length ? &rule->to : hole;
        IbhQuestion question;
        IbhIp neighbour;

        if ((rule && rule->to.length && !ibh_prefix_overlaps(&rule->to, hole)) ||
            !ibh_find_in_piece(&asking->all, piece, NULL, &neighbour))
            continue;
        question = ibh_ask_leaving(target, &neighbour);
        question.length = hole->length;
        question.as_main_says = TRUE;
        if (rule)
            ask_with(asking, &question, rule);
        else
            ibh_question_add(asking, &question);
    }
}

void ibh_ask_about_holes(const IbhAsking *asking, const IbhAskTarget *target)
{
    ask_in_holes(asking, target, NULL);
}

/* A rule that leads to the rail's own table, past what main has inside its subnets. */
static void ask_past_main(const IbhAsking *asking, const IbhNic *nic, const IbhAddress *address, const IbhRule *rule)
{
    IBH_EACH_POINTER (const IbhAddress, other, &nic->served) {
        g_autoptr(GArray) holes = ibh_find_holes(asking->rails, &other->subnet);
        const IbhAskTarget target = {.nic = nic, .address = address, .prefix = &other->subnet, .holes = holes};

        ask_in_holes(asking, &target, rule);
    }
}

/* A rule that leads to another rail's table: asks beyond this rail's subnet, in the other's, and in main's prefixes
 * inside. */
static void ask_about_detour(const IbhAsking *asking, const IbhNic *owner, const IbhNic *nic, const IbhAddress *address,
                             const IbhRule *rule)
{
    IBH_EACH_POINTER (const IbhAddress, other, &owner->served) {
        g_autoptr(GArray) holes = ibh_find_holes(asking->rails, &other->subnet);

        ask_about_piece(asking, nic, address, rule, &other->subnet);
        ask_across(asking, nic, address, rule, &other->subnet, holes);
        IBH_EACH (const IbhPrefix, hole, holes)
            ask_about_piece(asking, nic, address, rule, hole);
    }
    ask_about_gateways_of(asking, owner, nic, address, rule);
}

void ibh_ask_about_detours(const IbhAsking *asking, const IbhNic *nic, const IbhAddress *address)
{
    IBH_EACH_POINTER (const IbhRule, rule, asking->foreign) {
        const IbhNic *owner = rule->action == FR_ACT_TO_TBL ? ibh_rails_nic_by_table(asking->rails, rule->table) : NULL;

        if (!owner || (rule->selectors & UNASKABLE) || !ibh_rule_matches_source(rule, &address->local))
            continue;
        if (owner == nic)
            ask_past_main(asking, nic, address, rule);
        else
            ask_about_detour(asking, owner, nic, address, rule);
    }
}

static void ask_unbound_piece(const IbhAsking *asking, const IbhAskTarget *target, const IbhPrefix *piece,
                              const GArray *holes)
{
    const IbhIp none = {.family = piece->ip.family};
    IbhQuestion question;
    IbhIp neighbour;

    if (!ibh_find_in_piece(&asking->all, piece, holes, &neighbour) || ibh_is_asked_unbound(asking, &neighbour))
        return;
    question = ibh_ask_about(IBH_ASK_UNBOUND, target->nic, &none, &neighbour);
    question.as_main_says = TRUE;
    ibh_question_add(asking, &question);
}

/* A rule that every packet meets which names no source, and perhaps no destination. */
static gboolean meets_unbound(const IbhRule *rule, int family)
{
    const IbhIp none = {.family = family};

    return ibh_rule_matches_source(rule, &none) && !rule->l3mdev &&
           !(rule->selectors & ~(guint)(IBH_SELECT_TO | IBH_SELECT_NOT)) && !ibh_rule_is_ours(rule);
}

static void ask_unbound_errors(const IbhAsking *asking, const IbhAskTarget *target, guint32 table)
{
    g_autoptr(GPtrArray) inside = ibh_snapshot_routes_inside(asking->rails->snapshot, table, target->prefix);

    IBH_EACH_POINTER (const IbhRoute, route, inside) {
        if (route->type >= RTN_BLACKHOLE)
            ask_unbound_piece(asking, target, &route->dst, target->holes);
    }
}

/* A rule without a source that refuses a piece of the subnet refuses it to the whole host, at any priority; so does one
 * whose table has an error there, and a throw in main. */
void ibh_ask_unbound_pieces(const IbhAsking *asking, const IbhAskTarget *target)
{
    IBH_EACH (const IbhRule, rule, asking->rails->snapshot->rules) {
        if (!meets_unbound(rule, target->prefix->ip.family))
            continue;
        if (ibh_prefix_is_inside(&rule->to, target->prefix))
            ask_unbound_piece(asking, target, &rule->to, target->holes);
        if (rule->action == FR_ACT_TO_TBL && rule->table != IBH_TABLE_MAIN)
            ask_unbound_errors(asking, target, rule->table);
    }
    if (asking->rails->main == IBH_MAIN_SPREAD)
        ask_unbound_errors(asking, target, IBH_TABLE_SPREAD);
    IBH_EACH (const IbhPrefix, hole, target->holes)
        ask_unbound_piece(asking, target, hole, NULL);
}

/* An inverted rule matches where its selectors do not: a plain question reaches it, also inside its own destination. */
static void ask_about_inverted(const IbhAsking *asking, const IbhAskTarget *target, const IbhRule *rule)
{
    if (ibh_prefix_is_inside(&rule->to, target->prefix))
        ibh_ask_in_piece(asking, target, &rule->to, NULL);
    if (rule->action == FR_ACT_TO_TBL)
        ask_about_foreign_routes(asking, target, rule->table, NULL);
}

void ibh_ask_about_others(const IbhAsking *asking, const IbhAskTarget *target)
{
    IBH_EACH_POINTER (const IbhRule, rule, asking->foreign) {
        if ((rule->selectors & IBH_SELECT_NOT) && rule->family == target->prefix->ip.family)
            ask_about_inverted(asking, target, rule);
        if ((rule->selectors & UNASKABLE) || !ibh_rule_matches_source(rule, &target->address->local))
            continue;
        ask_about_rule(asking, target, rule);
        if (rule->action == FR_ACT_TO_TBL)
            ask_about_foreign_routes(asking, target, rule->table, rule);
    }
    IBH_EACH (const IbhRule, rule, asking->rails->snapshot->rules) {
        if (ibh_rails_theirs(asking->rails, target->address) && ibh_rule_is_of_a_source(rule) &&
            ibh_rule_matches_source(rule, &target->address->local))
            ask_about_foreign_routes(asking, target, rule->table, NULL);
    }
    if (target->nic->status == IBH_NIC_RAIL) {
        ask_about_foreign_routes(asking, target, target->nic->table, NULL);
        ask_about_foreign_routes(asking, target, ibh_nic_defaults(target->nic), NULL);
    }
    ask_about_foreign_routes(asking, target, IBH_TABLE_LOCAL, NULL);
}
