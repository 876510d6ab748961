/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/check.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#define STEPS_MAX 8

/* ---- owners ---- */

gboolean ibh_question_is_caused_by(const IbhQuestion *question, const IbhOwner *owner)
{
    return question->grade > IBH_RIGHT && question->owner.rule == owner->rule && question->owner.route == owner->route;
}

gboolean ibh_rails_own_prefix(const IbhRails *rails, const IbhPrefix *prefix)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (nic->status != IBH_NIC_RAIL)
            continue;
        IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
            if (address->local.family == prefix->ip.family && prefix->length >= address->subnet.length &&
                ibh_prefix_contains(&address->subnet, &prefix->ip))
                return TRUE;
        }
    }
    return FALSE;
}

/* It is there for networks in its table that are none of the rails': one route in it is wrong. Where other rules lead
 * to that table as well, all of its routes may be right for these. */
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

/* The snapshot may have a route twice: with main, and as an error. */
static void take_away(const IbhCheck *check, const IbhOwner *object)
{
    if (object->rule)
        g_ptr_array_add(check->taken_away, (gpointer)(guintptr)object->rule);
    IBH_EACH_ROUTE (route, check) {
        if (object->route && ibh_route_compare(route, object->route) == 0)
            g_ptr_array_add(check->taken_away, (gpointer)(guintptr)route);
    }
}

/* TRUE if the packet goes another way without this object as well, which sent it on. */
static gboolean turns(const IbhCheck *check, const IbhQuestion *question, const IbhTrace *trace, const IbhOwner *object)
{
    IbhTrace otherwise;

    take_away(check, object);
    otherwise = ibh_fib_walk(check->repaired, &question->lookup);
    return !ibh_trace_is_same_way(&otherwise, trace);
}

/* What led it past what would have been right: the first jump, or else throw, without which, and without those before
 * it, it goes another way. */
static IbhOwner find_turn(const IbhCheck *check, const IbhQuestion *question, const IbhTrace *trace)
{
    const IbhSnapshot *snapshot = check->rails->snapshot;
    const IbhOwner thrower = {.route = trace->thrower};

    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        const IbhOwner jump = {.rule = rule};

        if (trace->jump && rule->action == FR_ACT_GOTO && ibh_rule_matches(snapshot, rule, &question->lookup) &&
            turns(check, question, trace, &jump))
            return jump;
    }
    return trace->thrower && turns(check, question, trace, &thrower) ? thrower : (IbhOwner){0};
}

IbhOwner ibh_check_find_owner(const IbhCheck *check, const IbhQuestion *question, const IbhTrace *trace)
{
    const guint before = check->taken_away->len;
    const IbhOwner turn = find_turn(check, question, trace), rule = {.rule = trace->rule};
    const IbhRoute *route = trace->route;

    g_ptr_array_set_size(check->taken_away, (gint)before);
    if (ibh_question_has_small_mtu(check, question, trace))
        return (IbhOwner){.route = route};
    if (turn.rule || turn.route)
        return turn;
    if (rule.rule && !ibh_rule_is_expected(rule.rule) && (!route || !serves_others(check, rule.rule, route)))
        return rule;
    return (IbhOwner){.route = route && !ibh_route_is_ours(route) ? route : NULL};
}

/* ---- what may be taken away ---- */

/* A person has made it, for an address or a part of the rails' subnets. */
static gboolean is_of_rails_by_hand(const IbhCheck *check, const IbhPrefix *prefix, guint8 protocol)
{
    const gboolean by_hand = protocol == RTPROT_UNSPEC || protocol == RTPROT_BOOT || protocol == RTPROT_STATIC;

    return by_hand && prefix->length && ibh_rails_own_prefix(check->rails, prefix);
}

/* An absent attribute of a delete matches everything: it would delete the first similar rule, even one of ours. */
static gboolean is_first_alike(const IbhSnapshot *snapshot, const IbhRule *rule)
{
    IBH_EACH (const IbhRule, other, snapshot->rules) {
        if (other->family == rule->family && other->priority == rule->priority &&
            ibh_prefix_equal(&other->from, &rule->from))
            return ibh_rule_compare(other, rule) == 0;
    }
    return FALSE;
}

/* What is cached may go: the kernel learns it again if it needs it. */
static gboolean may_be_taken_away(const IbhCheck *check, const IbhOwner *owner)
{
    const IbhRule *rule = owner->rule;
    const IbhRoute *route = owner->route;

    if (rule)
        return is_of_rails_by_hand(check, &rule->from, rule->protocol) && rule->priority < IBH_PRIORITY_MAIN &&
               !(rule->selectors & ~(guint)IBH_SELECT_TO) && !rule->l3mdev &&
               is_first_alike(check->rails->snapshot, rule);
    if (route && route->cached)
        return TRUE;
    return route && is_of_rails_by_hand(check, &route->dst, route->protocol) && route->table != IBH_TABLE_LOCAL &&
           route->nexthops <= 1 && !route->special;
}

/* Without what is taken away, the owner of the first packet that is wrong still, as this one's were, or was right and
 * is wrong now; FALSE: there is none. */
static gboolean find_next(const IbhCheck *check, const IbhOwner *owner, IbhOwner *ret_next)
{
    IBH_EACH (const IbhQuestion, question, check->questions) {
        gboolean own = ibh_question_is_caused_by(question, owner);
        IbhTrace now;

        if (question->grade >= IBH_DOUBTFUL && !own)
            continue;
        now = ibh_fib_walk(check->repaired, &question->lookup);
        if ((own || !ibh_trace_is_same_answer(&now, &question->got)) &&
            ibh_question_grade(check, question, &now) >= IBH_DOUBTFUL) {
            *ret_next = ibh_check_find_owner(check, question, &now);
            return TRUE;
        }
    }
    return FALSE;
}

/* ---- does it do anything else? ---- */

static gboolean is_question(const IbhCheck *check, const IbhIp *from, const IbhPiece *piece)
{
    IBH_EACH (const IbhQuestion, question, check->questions) {
        if ((question->kind == IBH_ASK_LEAVES || question->kind == IBH_ASK_UNBOUND) &&
            ibh_ip_equal(&question->lookup.to, &piece->host) && ibh_prefix_equal(&question->piece, &piece->prefix) &&
            (question->kind == IBH_ASK_UNBOUND ? from->family == AF_UNSPEC
                                               : ibh_ip_equal(&question->lookup.from, from)))
            return TRUE;
    }
    return FALSE;
}

/* What of a packet changes without what is gone. */
typedef struct {
    IbhTrace before, after;
    gboolean differs;
} Change;

/* Of an IbhRule or IbhRoute of the snapshot; NULL: it is a route. */
static const IbhRule *as_rule(const IbhSnapshot *snapshot, gconstpointer taken_away)
{
    const IbhRule *rules = (const IbhRule *)(const void *)snapshot->rules->data;

    return taken_away >= (gconstpointer)rules && taken_away < (gconstpointer)(rules + snapshot->rules->len) ? taken_away
                                                                                                            : NULL;
}

static gboolean may_decide(const IbhSnapshot *snapshot, gconstpointer taken_away, const IbhLookup *packet)
{
    const IbhRule *rule = as_rule(snapshot, taken_away);
    const IbhRoute *route = taken_away;

    return rule ? ibh_rule_matches(snapshot, rule, packet) : ibh_prefix_contains(&route->dst, &packet->to);
}

static gboolean is_asked_about(const IbhIp *from)
{
    return ibh_ip_is_unicast(from) && !ibh_ip_is_link_local(from);
}

/* IbhAddress of this host, from which something that is taken away can decide. A host may have thousands, and rules
 * that are taken away mostly name one. */
static GPtrArray *find_senders(const IbhSnapshot *snapshot, const GPtrArray *taken_away)
{
    GPtrArray *senders = g_ptr_array_new();

    IBH_EACH (IbhAddress, address, snapshot->addresses) {
        gboolean may = FALSE;

        IBH_EACH_POINTER (const void, object, taken_away) {
            const IbhRule *rule = as_rule(snapshot, object);
            const IbhRoute *route = object;

            may |= rule ? (rule->selectors & IBH_SELECT_NOT) || ibh_prefix_contains(&rule->from, &address->local)
                        : route->family == address->local.family;
        }
        if (may && is_asked_about(&address->local))
            g_ptr_array_add(senders, address);
    }
    return senders;
}

/* Most packets meet none of these objects, and need not be walked. */
static Change walk_twice(const IbhCheck *check, const GPtrArray *taken_away, const IbhLookup *packet)
{
    Change change = {.differs = FALSE};

    IBH_EACH_POINTER (const void, object, taken_away)
        change.differs |= may_decide(check->rails->snapshot, object, packet);
    if (!change.differs)
        return change;
    change.before = ibh_fib_walk(check->repaired, packet);
    ibh_fib_without(check->repaired, taken_away);
    change.after = ibh_fib_walk(check->repaired, packet);
    ibh_fib_without(check->repaired, check->taken_away);
    change.differs = !ibh_trace_is_same_answer(&change.before, &change.after);
    return change;
}

/* It goes as unbound traffic does, before and after. */
static gboolean is_like(const Change *change, const Change *unbound)
{
    return unbound->differs && ibh_trace_is_same_answer(&change->before, &unbound->before) &&
           ibh_trace_is_same_answer(&change->after, &unbound->after);
}

/* A packet whose answer changes: its way, or only the metrics of its route. */
typedef struct {
    IbhQuestion packet;
    gboolean loses_metrics;
} Harm;

static Harm harm_to(IbhQuestionKind kind, const IbhPiece *piece, const IbhLookup *lookup, const Change *change)
{
    return (Harm){.packet = {.kind = kind, .piece = piece->prefix, .lookup = *lookup, .got = change->before},
                  .loses_metrics = ibh_trace_is_same_way(&change->before, &change->after)};
}

/* A packet to this piece whose answer changes, though it is none that a rail's questions are about: from an address of
 * this host, or from none. FALSE: there is none. */
static gboolean find_harmed(const IbhCheck *check, const GPtrArray *taken_away, const GPtrArray *senders,
                            const IbhPiece *piece, Harm *harm)
{
    const IbhIp none = {.family = piece->host.family};
    const IbhLookup plain = {.from = none, .to = piece->host};
    const Change unbound = walk_twice(check, taken_away, &plain);

    if (unbound.differs && !is_question(check, &(IbhIp){0}, piece)) {
        *harm = harm_to(IBH_ASK_UNBOUND, piece, &plain, &unbound);
        return TRUE;
    }
    IBH_EACH_POINTER (const IbhAddress, address, senders) {
        const IbhLookup packet = {.from = address->local, .to = piece->host};
        Change change;

        if (address->local.family != none.family)
            continue;
        change = walk_twice(check, taken_away, &packet);
        if (!change.differs || is_like(&change, &unbound) || is_question(check, &address->local, piece))
            continue;
        *harm = harm_to(IBH_ASK_LEAVES, piece, &packet, &change);
        return TRUE;
    }
    return FALSE;
}

/* The author of a route's metrics may know what the wire carries. Where these go the way may be right and packets be
 * lost. */
static gboolean loses_metrics(const Change *change)
{
    if (!change->differs || change->before.refused || change->after.refused)
        return FALSE;
    return change->before.route->metrics_size && !ibh_route_has_same_metrics(change->before.route, change->after.route);
}

/* A packet of the rails' questions, whose way may change, but which is to keep the metrics that it has. FALSE: there is
 * none. */
static gboolean find_lost_metrics(const IbhCheck *check, const GPtrArray *taken_away, Harm *harm)
{
    IBH_EACH (const IbhQuestion, question, check->questions) {
        const gboolean leaves = question->kind == IBH_ASK_LEAVES || question->kind == IBH_ASK_UNBOUND;
        const Change change = leaves ? walk_twice(check, taken_away, &question->lookup) : (Change){.differs = FALSE};

        if (!loses_metrics(&change))
            continue;
        *harm = (Harm){.packet = *question, .loses_metrics = TRUE};
        harm->packet.got = change.before;
        return TRUE;
    }
    return FALSE;
}

static char *say_harm(const IbhCheck *check, const char *what, const Harm *harm)
{
    const IbhQuestion *packet = &harm->packet;
    g_autofree char *effect = harm->loses_metrics ? ibh_question_metrics_text(packet, &packet->got)
                                                  : ibh_question_way_text(check, packet, &packet->got);

    return g_strdup_printf("look for what needs %s before you delete it: %s because of it%s", what, effect,
                           harm->loses_metrics ? "" : ", too");
}

static gboolean forwards(const IbhSnapshot *snapshot, int family)
{
    IBH_EACH (const IbhLink, link, snapshot->links) {
        if (family == AF_INET6 ? link->forwarding6 : link->forwarding)
            return TRUE;
    }
    return FALSE;
}

/* Packets of other hosts meet it, whose sources are not known. What meets only the rules that every host has goes as
 * unbound traffic does. */
static gboolean is_for_forwarded(const IbhSnapshot *snapshot, gconstpointer taken_away)
{
    const IbhRule *gone = as_rule(snapshot, taken_away);
    const IbhRoute *route = taken_away;

    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        const gboolean leads = gone ? rule == gone
                                    : rule->action == FR_ACT_TO_TBL && rule->table == route->table &&
                                          rule->family == route->family && !ibh_rule_is_expected(rule);

        if (leads && rule->from.length < ibh_ip_bits(&rule->from.ip) && forwards(snapshot, rule->family))
            return TRUE;
    }
    return FALSE;
}

/* What else these objects do, in words; NULL: nothing. */
static char *find_harm(const IbhCheck *check, const IbhOwner *owner)
{
    const char *what = owner->rule ? "the rule" : "the route";
    g_autoptr(GPtrArray) taken_away = g_ptr_array_new(), senders = NULL;
    Harm harm;

    IBH_EACH_POINTER (void, object, check->taken_away) {
        if (as_rule(check->rails->snapshot, object) || !((const IbhRoute *)object)->cached)
            g_ptr_array_add(taken_away, object);
    }
    g_ptr_array_set_size(check->taken_away, 0);
    senders = find_senders(check->rails->snapshot, taken_away);
    IBH_EACH (const IbhPiece, piece, check->pieces) {
        if (find_harmed(check, taken_away, senders, piece, &harm))
            return say_harm(check, what, &harm);
    }
    if (find_lost_metrics(check, taken_away, &harm))
        return say_harm(check, what, &harm);
    IBH_EACH_POINTER (const void, object, taken_away) {
        if (is_for_forwarded(check->rails->snapshot, object))
            return g_strdup_printf("look for what needs %s before you delete it: this host forwards packets of other "
                                   "hosts, which it may lead, too",
                                   what);
    }
    return NULL;
}

IbhRemedy ibh_check_find_fix(const IbhCheck *check, const IbhOwner *owner)
{
    g_autoptr(GString) text = g_string_new(NULL);
    IbhRemedy remedy = {0};
    gboolean is_proved = FALSE;
    IbhOwner next = *owner;

    for (guint step = 0; !is_proved && step < STEPS_MAX && may_be_taken_away(check, &next); step++) {
        g_autofree char *command = ibh_owner_deletion(check->rails->snapshot, &next);

        g_string_append_printf(text, "%s%s", text->len ? " && " : "", command);
        take_away(check, &next);
        is_proved = !find_next(check, owner, &next);
    }
    if (is_proved)
        remedy.advice = find_harm(check, owner);
    if (is_proved && !remedy.advice)
        remedy.fix = g_string_free(g_steal_pointer(&text), FALSE);
    g_ptr_array_set_size(check->taken_away, 0);
    return remedy;
}
