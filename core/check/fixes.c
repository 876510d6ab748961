/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the owner of a packet that is not right, and the commands that correct the owner's packets: they delete the
 * owner, and perhaps other rules and routes. To prove that the commands work, walks packets through the model
 * `repaired` while check->without has what the commands delete: the walks ignore these rules and routes.
 */
#include "check/check.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#define STEPS_MAX 8 /* how many commands a fix has at most */

/* ---- owners ---- */

gboolean ibh_question_is_caused_by(const IbhQuestion *question, const IbhOwner *owner)
{
    return question->grade > IBH_RIGHT && question->owner.rule == owner->rule && question->owner.route == owner->route;
}

gboolean ibh_rails_own_prefix(const IbhRails *rails, const IbhPrefix *prefix)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
            if (nic->status == IBH_NIC_RAIL && ibh_prefix_covers(&address->subnet, prefix))
                return TRUE;
        }
    }
    return FALSE;
}

/* TRUE if three things are true: the rule selects no subnet of a rail, nor a part of one; no other rule leads to the
 * rule's table; and besides the route `wrong`, the table has a route to a network outside of the rails' subnets. Then
 * the host may need the rule, and only `wrong` is to blame. If another rule also leads to the table, that rule may need
 * `wrong`. */
static gboolean serves_others(const IbhCheck *check, const IbhRule *rule, const IbhRoute *wrong)
{
    if (rule->action != FR_ACT_TO_TBL || (rule->from.length && ibh_rails_own_prefix(check->rails, &rule->from)) ||
        (rule->to.length && ibh_rails_own_prefix(check->rails, &rule->to)))
        return FALSE;
    IBH_EACH (const IbhRule, other, check->rails->snapshot->rules) {
        if (other != rule && other->family == rule->family && other->table == rule->table)
            return FALSE;
    }
    IBH_EACH_ROUTE (route, check) {
        if (route->table == rule->table && route->family == rule->family && ibh_route_compare(route, wrong) != 0 &&
            !ibh_rails_own_prefix(check->rails, &route->dst))
            return TRUE;
    }
    return FALSE;
}

/* A turn is a goto or a throw route. Returns the turn that led a packet past another route; an empty owner if there is
 * none. Walks the packet without the first goto, then also without the second, and so on, and at last also without the
 * throw route. Once the packet goes another way, the turn that was left out last is to blame. */
static IbhOwner find_turn(IbhCheck *check, const IbhQuestion *question)
{
    const IbhSnapshot *snapshot = check->rails->snapshot;
    const guint n_without = check->without->len;
    const IbhTrace repaired = ibh_fib_walk(check->repaired, &question->lookup);
    g_autoptr(GArray) turns = IBH_NEW_ARRAY(IbhOwner);
    IbhOwner found = {0};

    if (question->got.jump) {
        IBH_EACH (const IbhRule, rule, snapshot->rules) {
            if (rule->action == FR_ACT_GOTO && ibh_rule_matches(snapshot, rule, &question->lookup))
                g_array_append_val(turns, ((IbhOwner){.rule = rule}));
        }
    }
    if (question->got.thrower)
        g_array_append_val(turns, ((IbhOwner){.route = question->got.thrower}));
    IBH_EACH (const IbhOwner, turn, turns) {
        IbhTrace otherwise;

        g_array_append_vals(check->without, turn, 1);
        otherwise = ibh_fib_walk(check->repaired, &question->lookup);
        if (!ibh_trace_is_same_way(&otherwise, &repaired)) {
            found = *turn;
            break;
        }
    }
    g_array_set_size(check->without, n_without);
    return found;
}

IbhOwner ibh_check_find_owner(IbhCheck *check, const IbhQuestion *question)
{
    const IbhOwner turn = find_turn(check, question);
    const IbhRule *rule = question->got.rule;
    const IbhRoute *route = question->got.route;

    if (question->small_mtu)
        return (IbhOwner){.route = route};
    if (turn.rule || turn.route)
        return turn;
    /* Blame the rule; but if the rule is expected, or the host may need it for other networks, blame the route. */
    if (rule && !ibh_rule_is_expected(rule) && (!route || !serves_others(check, rule, route)))
        return (IbhOwner){.rule = rule};
    return (IbhOwner){.route = route && !ibh_route_is_ours(route) ? route : NULL};
}

/* ---- what may be deleted ---- */

/* TRUE for a cached route, because the kernel learns the route again. Any other owner has to meet these conditions:
 * - It is a rule from, or a route to, a rail's subnet or a part of one.
 * - According to its protocol, it was probably made by hand.
 * - A route is not in table local, has at most one next hop, and is not special (IbhRoute).
 * - A rule has a lower priority number than IBH_PRIORITY_MAIN, and selects by nothing but source and destination. No
 *   goto leads to the rule, and the command that deletes the rule deletes no other rule. */
static gboolean may_be_deleted(const IbhCheck *check, const IbhOwner *owner)
{
    const IbhRule *rule = owner->rule;
    const IbhRoute *route = owner->route;
    const IbhPrefix *prefix = rule ? &rule->from : route ? &route->dst : NULL;
    const guint8 protocol = rule ? rule->protocol : route ? route->protocol : RTPROT_UNSPEC;

    if (route && route->cached)
        return TRUE;
    if (!prefix || !prefix->length || !ibh_rails_own_prefix(check->rails, prefix))
        return FALSE;
    /* With any other protocol, the kernel, a routing daemon or a manager made the rule or route. */
    if (protocol != RTPROT_UNSPEC && protocol != RTPROT_BOOT && protocol != RTPROT_STATIC)
        return FALSE;
    if (route)
        return route->table != IBH_TABLE_LOCAL && route->nexthops <= 1 && !route->special;
    if (rule->priority >= IBH_PRIORITY_MAIN || (rule->selectors & ~(guint)IBH_SELECT_TO) || rule->l3mdev)
        return FALSE;
    /* In a delete, the kernel treats an absent attribute as a wildcard, and deletes the first rule that matches. So the
     * first rule with this family, priority and source must be the owner, or equal to the owner. The loop ends with
     * this rule. By then it has met each goto that leads to the owner, because a goto comes before its target. */
    IBH_EACH (const IbhRule, other, check->rails->snapshot->rules) {
        if (other->action == FR_ACT_GOTO && other->family == rule->family && other->target == rule->priority)
            return FALSE; /* after the delete, the goto would have no target, and the kernel would ignore the goto */
        if (other->family == rule->family && other->priority == rule->priority &&
            ibh_prefix_equal(&other->from, &rule->from))
            return ibh_rule_compare(other, rule) == 0;
    }
    return FALSE;
}

/* Walks two kinds of packets again, without the rules and routes that the fix deletes: packets whose grade is due to
 * this owner, and packets that do not go wrong at present. If a packet would go wrong after the fix, sets `ret_next` to
 * the owner that this packet would then have, and returns TRUE. Returns FALSE if no packet would go wrong: the fix is
 * proved. */
static gboolean find_next_owner(IbhCheck *check, const IbhOwner *owner, IbhOwner *ret_next)
{
    IBH_EACH (const IbhQuestion, question, check->questions) {
        const gboolean is_of_owner = ibh_question_is_caused_by(question, owner);
        IbhQuestion after = *question; /* the packet after the fix */

        if (question->grade >= IBH_DOUBTFUL && !is_of_owner)
            continue;
        after.got = ibh_fib_walk(check->repaired, &question->lookup);
        if (!is_of_owner && ibh_trace_is_same_answer(&after.got, &question->got))
            continue;
        ibh_question_grade(check, &after);
        if (after.grade >= IBH_DOUBTFUL) {
            *ret_next = ibh_check_find_owner(check, &after);
            return TRUE;
        }
    }
    return FALSE;
}

/* ---- what else a fix changes ---- */

/* TRUE if something that the fix deletes may match this packet or, if `to` is NULL, any packet from this source. */
static gboolean may_change(const IbhCheck *check, const IbhIp *from, const IbhIp *to)
{
    IBH_EACH (const IbhOwner, gone, check->without) {
        const IbhPrefix *target = gone->rule ? &gone->rule->to : &gone->route->dst;
        const gboolean has_source =
            gone->rule ? ibh_prefix_contains(&gone->rule->from, from) : gone->route->family == from->family;

        if (has_source && (!to || !target->length || ibh_prefix_contains(target, to)))
            return TRUE;
    }
    return FALSE;
}

/* What a fix does to one packet. Both traces are walks through the model `repaired`. */
typedef struct {
    IbhQuestion packet; /* `got` is the packet's trace before the fix */
    IbhTrace after;     /* the packet's trace after the fix */
} Effect;

/* Walks a packet first as after the fix (effect->after), then as before the fix (effect->packet.got). FALSE if the fix
 * does not change the answer (ibh_trace_is_same_answer()). Most packets meet nothing that the fix deletes: for these,
 * returns FALSE without a walk, and sets no trace. */
static gboolean find_change(const IbhCheck *check, Effect *effect)
{
    IbhQuestion *packet = &effect->packet;

    if (!may_change(check, &packet->lookup.from, &packet->lookup.to))
        return FALSE;
    effect->after = ibh_fib_walk(check->repaired, &packet->lookup);
    ibh_fib_set_without(check->repaired, NULL);
    packet->got = ibh_fib_walk(check->repaired, &packet->lookup);
    ibh_fib_set_without(check->repaired, check->without);
    return !ibh_trace_is_same_answer(&packet->got, &effect->after);
}

/* TRUE if a question has this packet's source and destination: find_next_owner() has judged the packet, or has skipped
 * it because another owner makes it go wrong already. So the fix does no harm to the packet. But FALSE for a packet
 * without a source address if it does not go wrong now, and would go another way after the fix: the rule or route that
 * the fix deletes may be there for this very packet, because no other NIC reaches the destination. */
static gboolean is_judged(const IbhCheck *check, const Effect *effect)
{
    const IbhLookup *packet = &effect->packet.lookup;

    IBH_EACH (const IbhQuestion, question, check->questions) {
        if (ibh_ip_equal(&question->lookup.from, &packet->from) && ibh_ip_equal(&question->lookup.to, &packet->to))
            return question->kind != IBH_ASK_UNBOUND || question->grade >= IBH_DOUBTFUL ||
                   ibh_trace_is_same_way(&effect->packet.got, &effect->after);
    }
    return FALSE;
}

/* Finds a packet of this host that the fix would change, and that is not judged (is_judged()); FALSE if there is none.
 * For each piece, tries first a packet without a source address, then packets from the host's addresses, except
 * link-local and loopback addresses. If the fix changes the first packet, but this packet is judged, then other packets
 * that the fix changes in the same way do not count, either. */
static gboolean find_harm(const IbhCheck *check, Effect *harm)
{
    /* A host may have thousands of addresses: into each piece, walk packets only from those that the fix may affect. */
    g_autoptr(GPtrArray) senders = g_ptr_array_new();

    IBH_EACH (IbhAddress, address, check->rails->snapshot->addresses) {
        if (ibh_ip_is_unicast(&address->local) && !ibh_ip_is_link_local(&address->local) &&
            may_change(check, &address->local, NULL))
            g_ptr_array_add(senders, address);
    }
    IBH_EACH (const IbhPiece, piece, check->pieces) {
        Effect unbound = {.packet = {.kind = IBH_ASK_UNBOUND, .piece = piece->prefix}};
        gboolean unbound_changes;

        unbound.packet.lookup = (IbhLookup){.from.family = piece->host.family, .to = piece->host};
        unbound_changes = find_change(check, &unbound);
        *harm = unbound;
        if (unbound_changes && !is_judged(check, &unbound))
            return TRUE;
        harm->packet.kind = IBH_ASK_LEAVES;
        IBH_EACH_POINTER (const IbhAddress, address, senders) {
            harm->packet.lookup.from = address->local;
            if (address->local.family != piece->host.family || !find_change(check, harm))
                continue;
            if (unbound_changes && ibh_trace_is_same_answer(&harm->packet.got, &unbound.packet.got) &&
                ibh_trace_is_same_answer(&harm->after, &unbound.after))
                continue;
            if (!is_judged(check, harm))
                return TRUE;
        }
    }
    return FALSE;
}

/* Looks at the questions about packets that leave, with or without a source address. Finds a packet whose route has
 * metrics now, and would have other metrics, or none, after the fix; FALSE if there is no such packet. Lost metrics are
 * harm even if the packet also goes another way: whoever set the metrics may know what the wire carries. */
static gboolean find_lost_metrics(const IbhCheck *check, Effect *harm)
{
    IBH_EACH (const IbhQuestion, question, check->questions) {
        const IbhTrace *before = &harm->packet.got, *after = &harm->after;
        const gboolean leaves = question->kind == IBH_ASK_LEAVES || question->kind == IBH_ASK_UNBOUND;

        harm->packet = *question;
        if (!leaves || !find_change(check, harm) || before->refused || after->refused)
            continue;
        if (before->route->metrics_size && !ibh_route_has_same_metrics(before->route, after->route))
            return TRUE;
    }
    return FALSE;
}

/* TRUE if this host forwards packets, and a forwarded packet may meet `gone`. As forwarded packets may have any source,
 * they may meet any rule, and any route to whose table a rule leads, with two exceptions:
 * - A rule for a single source does not count: we take the source to be an address of this host.
 * - Expected rules (ibh_rule_is_expected()) that lead to a route do not count: packets without a source meet the route
 *   through these rules, too, and find_harm() has examined such packets. */
static gboolean may_route_forwarded(const IbhSnapshot *snapshot, const IbhOwner *gone)
{
    const IbhRoute *route = gone->route;

    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        const gboolean leads_to_route = route && rule->action == FR_ACT_TO_TBL && rule->table == route->table &&
                                        rule->family == route->family && !ibh_rule_is_expected(rule);

        if ((!leads_to_route && rule != gone->rule) || rule->from.length == ibh_ip_bits(&rule->from.ip))
            continue;
        IBH_EACH (const IbhLink, link, snapshot->links) {
            if (rule->family == AF_INET6 ? link->forwarding6 : link->forwarding)
                return TRUE;
        }
    }
    return FALSE;
}

/* If the fix may change other traffic or metrics, returns advice that says so; else NULL. `what` names what the fix
 * deletes first: "the rule" or "the route". */
static char *say_harm(const IbhCheck *check, const char *what)
{
    Effect harm;
    const gboolean is_harmed = find_harm(check, &harm);
    /* An answer is a way and its metrics. So if the answer differs, but the way is the same, the metrics differ. */
    const gboolean loses_metrics =
        is_harmed ? ibh_trace_is_same_way(&harm.packet.got, &harm.after) : find_lost_metrics(check, &harm);
    g_autofree char *text = NULL;

    if (loses_metrics)
        text = ibh_question_metrics_text(&harm.packet);
    else if (is_harmed)
        text = ibh_question_way_text(check, &harm.packet);
    if (text)
        return g_strdup_printf("before you delete %s, find out what needs it: because of it, %s%s", what, text,
                               loses_metrics ? "" : ", too");
    IBH_EACH (const IbhOwner, gone, check->without) {
        if (may_route_forwarded(check->rails->snapshot, gone))
            return g_strdup_printf("before you delete %s, find out what needs it: it may also route packets that this "
                                   "host forwards",
                                   what);
    }
    return NULL;
}

IbhRemedy ibh_check_find_fix(IbhCheck *check, const IbhOwner *owner)
{
    g_autoptr(GString) text = g_string_new(NULL);
    IbhRemedy remedy = {0};
    gboolean is_proved = FALSE;
    IbhOwner next = *owner;

    /* Delete the owner. If a packet would then go wrong, delete the owner of that packet, too, and so on. */
    for (guint step = 0; !is_proved && step < STEPS_MAX && may_be_deleted(check, &next); step++) {
        g_autofree char *command = ibh_owner_deletion(check->rails->snapshot, &next);

        g_string_append_printf(text, "%s%s", text->len ? " && " : "", command);
        g_array_append_val(check->without, next);
        is_proved = !find_next_owner(check, owner, &next);
    }
    /* Deleting a cached route does no harm, because the kernel learns the route again. So say_harm() need not see such
     * routes. */
    IBH_EACH_BACK (const IbhOwner, gone, check->without) {
        if (gone->route && gone->route->cached)
            IBH_REMOVE(IbhOwner, gone, check->without);
    }
    if (is_proved)
        remedy.advice = say_harm(check, owner->rule ? "the rule" : "the route");
    if (is_proved && !remedy.advice)
        remedy.fix = g_string_free(g_steal_pointer(&text), FALSE);
    g_array_set_size(check->without, 0);
    return remedy;
}
