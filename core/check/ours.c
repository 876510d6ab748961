/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The finding about our own rules, routes and sysctl values: they are missing, stale or wrong, and --apply repairs
 * them. Also the finding table-clash: a foreign route prevents a route of ours.
 */
#include "check/rows.h"

#include "check/missing.h"
#include "plan/want.h"

#include <linux/rtnetlink.h>

/* Returns the known rail that had this address, or NULL. */
static const IbhKnownRail *find_known_with(const GArray *known, const IbhIp *ip)
{
    IBH_EACH (const IbhKnownRail, one, known) {
        for (guint i = 0; i < one->n_addresses; i++) {
            if (ibh_ip_equal(&one->addresses[i], ip))
                return one;
        }
    }
    return NULL;
}

/* TRUE if the finding about our own rules, routes and values should not count this operation as a fault. `nic` is the
 * NIC of the operation; NULL if there is none. In all of these cases but the first, another finding is about the cause:
 * - The plan changes a rail's sysctl only for a moment, and the present value is right.
 * - The NIC is a rail that is down or has lost its addresses of the operation's family, and the operation removes what
 *   is left.
 * - The NIC is not a rail, and one of these is true: it is blocked, it is the NIC of a missing rail, or it has a
 *   finding of severity error.
 * - The operation deletes a rule for an address of a missing rail whose NIC is gone; and the operation has no NIC, or a
 *   NIC that is no candidate. */
static gboolean is_no_fault(const IbhCheck *check, const IbhNic *nic, const IbhOp *op)
{
    const IbhFinding *worst = ibh_findings_worst(check->findings, op->iface);
    const IbhKnownRail *missed = op->type == IBH_OP_RULE_DEL ? find_known_with(check->missed, &op->rule.from.ip) : NULL;

    if (nic && nic->status == IBH_NIC_RAIL && op->type == IBH_OP_SYSCTL_SET)
        return nic->link->sysctl[op->key] == ibh_want_sysctl(check->rails, nic, op->key);
    if (nic && nic->status == IBH_NIC_RAIL)
        return ibh_op_removes(op->type) &&
               (!(nic->link->flags & IFF_UP) || ibh_check_find_lost_address(check, nic, op->unit.family));
    if (nic && (nic->status == IBH_NIC_BLOCKED || ibh_link_is_missed(check->missed, nic->link) ||
                (worst && worst->severity == IBH_ERROR)))
        return TRUE;
    return (!nic || nic->status == IBH_NIC_NO_CANDIDATE) && missed && !missed->link;
}

/* TRUE if a foreign route has the table, prefix and metric of a route that we want to add. */
gboolean ibh_place_is_taken(IbhSubject *about)
{
    const IbhSnapshot *snapshot = about->check->rails->snapshot;

    IBH_EACH (const IbhRoute, route, snapshot->routes) {
        g_autofree char *text = NULL;

        if (about->op->type != IBH_OP_ROUTE_ADD || !ibh_route_same_place(route, &about->op->route) ||
            ibh_route_is_ours(route))
            continue;
        text = ibh_owner_describe(snapshot, &(IbhOwner){.route = route});
        ibh_subject_say(about, "owner=%s", text);
        return TRUE;
    }
    return FALSE;
}

/* What is wrong with a NIC and its packets. A fault is an operation that find_faults() returns. */
typedef struct {
    const IbhNic *nic;         /* NULL: the host, and packets without a source address */
    const IbhOp *fault;        /* the most important fault of this NIC; for the host, the most important fault that
                                  belongs to no NIC or, if each belongs to a NIC, the plan's first fault; NULL: none */
    const IbhQuestion *packet; /* the first question about an outgoing packet in the family of `fault`; NULL: none */
    const IbhQuestion *astray; /* the first packet that goes astray and has right_when_repaired; NULL: none */
    gboolean is_right;         /* there are questions, and none of their packets goes wrong; and each packet with a
                                  source address has the way and the metrics that it would have after --apply */
} Hit;

/* Returns what `faults` (IbhOp *) and the questions say about a NIC (NULL: about the host). If the NIC has
 * no fault, sets no member but `nic`. */
static Hit look_at_nic(const IbhCheck *check, const IbhNic *nic, const GPtrArray *faults)
{
    Hit hit = {.nic = nic};
    gboolean is_asked = FALSE, is_wrong = FALSE;

    IBH_EACH_POINTER (const IbhOp, op, faults) {
        if (op->ifindex == (nic ? nic->link->ifindex : 0) && (!hit.fault || op->type < hit.fault->type))
            hit.fault = op;
    }
    if (!hit.fault && !nic && faults->len)
        hit.fault = faults->pdata[0];
    if (!hit.fault)
        return hit;
    IBH_EACH (const IbhQuestion, question, check->questions) {
        const gboolean is_unbound = question->kind == IBH_ASK_UNBOUND,
                       is_about = nic ? question->nic == nic : is_unbound;
        IbhTrace repaired;

        if (!is_about)
            continue;
        repaired = ibh_fib_walk(check->repaired, &question->lookup);
        is_asked = TRUE;
        is_wrong |= question->grade > IBH_NOTED || question->right_when_repaired ||
                    (!is_unbound && !ibh_trace_is_same_answer(&question->got, &repaired));
        if (!hit.packet && question->kind == (nic ? IBH_ASK_LEAVES : IBH_ASK_UNBOUND) &&
            question->lookup.to.family == hit.fault->unit.family)
            hit.packet = question;
        if (!hit.astray && question->right_when_repaired && ibh_question_goes_astray(question))
            hit.astray = question;
    }
    hit.is_right = is_asked && !is_wrong;
    return hit;
}

static gboolean has_rule_to(const IbhCheck *check, guint32 table)
{
    IBH_EACH (const IbhRule, rule, check->rails->snapshot->rules) {
        if (ibh_rule_is_ours(rule) && rule->table == table)
            return TRUE;
    }
    return FALSE;
}

/* Returns a new route of this family in the main table; NULL if there is none. A route via a gateway through this NIC
 * counts as new if a fault adds or replaces a route of ours with the same prefix and gateway; the first such fault
 * decides. But a default route that D lacks is not new if our rules lead to D already: then D had a copy of the route,
 * and somebody deleted the copy. */
static const IbhRoute *find_new_route(const IbhCheck *check, const GPtrArray *faults, const IbhNic *nic, int family)
{
    IBH_EACH_POINTER (const IbhOp, op, faults) {
        if ((op->type != IBH_OP_ROUTE_ADD && op->type != IBH_OP_ROUTE_REPLACE) || op->ifindex != nic->link->ifindex ||
            op->unit.family != family || !op->route.gateway.family)
            continue;
        if (op->type == IBH_OP_ROUTE_ADD && !op->route.dst.length && has_rule_to(check, op->route.table))
            continue;
        IBH_EACH (const IbhRoute, route, check->rails->snapshot->main_by_nic) {
            if (route->ifindex == op->ifindex && ibh_ip_equal(&route->gateway, &op->route.gateway) &&
                ibh_prefix_equal(&route->dst, &op->route.dst))
                return route;
        }
    }
    return NULL;
}

static gboolean has_own_rule(const IbhCheck *check, const IbhNic *nic)
{
    IBH_EACH (const IbhRule, rule, check->rails->snapshot->rules) {
        if (ibh_rule_is_ours(rule) && ibh_rule_owner(check->rails, rule) == nic)
            return TRUE;
    }
    return FALSE;
}

/* Says that the NIC's first address of this family lacks a default route of its own; NULL if the NIC has no such
 * address. If main has a new default route, and no packet goes astray, say_hit() takes this text in place of the way of
 * Hit.packet: that packet may be for the NIC's own subnet, which needs no default route. */
static char *say_no_default(const IbhNic *nic, int family)
{
    char ip[IBH_IP_STRLEN];

    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (address->local.family == family)
            return g_strdup_printf("%s still lacks its own default", ibh_ip_format(&address->local, ip));
    }
    return NULL;
}

/* TRUE if the packet, of the kind IBH_ASK_LEAVES, leaves this host through its own NIC, and through no other. */
static gboolean leaves_rightly(const IbhQuestion *packet)
{
    const IbhRoute *route = packet->got.route;

    return route && route->type == RTN_UNICAST && !packet->got.refused && !ibh_question_goes_astray(packet);
}

/* Says that a sysctl of the NIC has another value than it should, and what the value does. */
static char *say_value(const IbhOp *fault)
{
    static const char *const effects[] = {
        [IBH_SYSCTL_RP_FILTER] = "drops packets whose answer another NIC would send",
        [IBH_SYSCTL_ARP_FILTER] = "does not answer ARP as its rail needs it",
        [IBH_SYSCTL_ARP_ANNOUNCE] = "may send ARP requests with another NIC's address as the sender",
        [IBH_SYSCTL_ARP_IGNORE] = "answers ARP for other NICs' addresses, too",
    };
    /* rp_filter has its effect (`effects`) if it is strict (1); an ARP value has its effect if it is too low. */
    const gboolean has_effect = fault->key == IBH_SYSCTL_RP_FILTER ? fault->from == 1 : fault->from < fault->to;

    return g_strdup_printf("it %s: %s=%d instead of %d",
                           has_effect ? effects[fault->key] : "does not have the value that it should",
                           ibh_sysctl_name(fault->key), fault->from, fault->to);
}

/* Says that an old rule or route of ours is left over. If it belongs to no NIC, only the command tells which rule or
 * route it is. */
static char *say_leftover(const IbhCheck *check, const Hit *hit)
{
    g_autofree char *why = ibh_op_why(check->rails, hit->fault), *command = ibh_op_command(hit->fault);

    return g_strdup_printf(hit->nic ? "an old rule or route of ib-hook is left over: %s"
                                    : "an old rule or route of ib-hook is left over: %s (%s)",
                           why, command);
}

/* Says why Hit.fault has to add or replace a rule or route of ours: main has a new route, or the rule or route is
 * missing or was altered. `new_route`: see find_new_route(). */
static char *say_state(const IbhCheck *check, const Hit *hit, const IbhRoute *new_route)
{
    const IbhOp *fault = hit->fault;
    GString *state = g_string_new(NULL);
    char dst[IBH_PREFIX_STRLEN];

    if (new_route) {
        g_autofree char *text = ibh_owner_describe(check->rails->snapshot, &(IbhOwner){.route = new_route});

        g_string_append_printf(state, "the main table has a new %s", text);
    } else if (fault->type == IBH_OP_RULE_ADD) {
        g_string_append_printf(state, "ib-hook's rule %u", fault->rule.priority);
        if (!hit->nic)
            ibh_table_put(state, "lookup", fault->rule.table);
        g_string_append(state, " is missing");
    } else {
        g_string_append_printf(state, "ib-hook's route to %s in table %u %s", ibh_prefix_format(&fault->route.dst, dst),
                               fault->route.table, fault->type == IBH_OP_ROUTE_ADD ? "is missing" : "was altered");
    }
    return g_string_free(state, FALSE);
}

/* Returns a text about Hit.fault, which the caller frees. If a rule or route of ours is missing or was altered, the
 * text says what happens to the packets (`way`, if a packet shows this), and why (`state`). */
static char *say_hit(const IbhCheck *check, const Hit *hit, const GPtrArray *faults)
{
    const int family = hit->fault->unit.family;
    const gboolean is_routed = !hit->nic || has_own_rule(check, hit->nic);
    const IbhRoute *new_route = hit->nic ? find_new_route(check, faults, hit->nic, family) : NULL;
    const gboolean lacks_default = new_route && !new_route->dst.length && !hit->astray;
    const IbhQuestion *packet = hit->astray ? hit->astray : hit->packet;
    g_autofree char *way = NULL, *state = NULL;
    const char *chance = "";

    if (hit->fault->type == IBH_OP_SYSCTL_SET)
        return say_value(hit->fault);
    if (ibh_op_removes(hit->fault->type))
        return say_leftover(check, hit);
    if (lacks_default) {
        way = say_no_default(hit->nic, family);
    } else if (packet) {
        way = ibh_question_way_text(check, packet);
        /* No rule of ours leads the packet, but the route that it takes happens to lead through this NIC. */
        if (!is_routed && leaves_rightly(packet))
            chance = " by chance";
    }
    state = is_routed ? say_state(check, hit, new_route) : g_strdup("not routed yet");
    return way ? g_strconcat(way, chance, ": ", state, NULL) : g_steal_pointer(&state);
}

/* Returns the operations of the plan (IbhOp *) that are faults. Three kinds of operations are no faults: those about
 * peers (IBH_PEERS); those for which is_no_fault() is TRUE; and those that a foreign route prevents, which get a
 * finding of their own (IBH_OF_PLACE). The caller frees the array. */
static GPtrArray *find_faults(IbhSubject *about)
{
    const IbhCheck *check = about->check;
    GPtrArray *faults = g_ptr_array_new();

    IBH_EACH_POINTER (const IbhOp, op, check->plan) {
        const IbhNic *nic = ibh_rails_nic(check->rails, op->ifindex);

        about->op = op;
        about->iface = nic ? nic->link->name : "";
        /* If a foreign route prevents the operation, ibh_subject_ask() adds the finding table-clash, and returns it. */
        if (ibh_op_what(op) == IBH_PEERS || is_no_fault(check, nic, op) || ibh_subject_ask(about, IBH_OF_PLACE))
            continue;
        g_ptr_array_add(faults, (gpointer)(guintptr)op);
    }
    return faults;
}

/* Adds one finding for all faults. The message is about the first NIC with a fault that has Hit.astray; if there is
 * none, about the first NIC with a fault; if no NIC has a fault, about the host. If Hit.is_right holds for all NICs
 * with a fault (for the host if no NIC has a fault), the finding is a warning. Otherwise it has the severity of its
 * row, which is the row of the most important operation.
 *
 * --apply without --iface would also route held and kept NICs. So if a NIC is held or kept, the fix names the NICs with
 * a fault. But a fault that belongs to no NIC needs --apply without --iface. If there is such a fault, and a NIC is
 * held or kept, the remedy is advice, which says that --apply also ends the holds. */
void ibh_check_judge_ours(IbhSubject *about)
{
    const IbhCheck *check = about->check;
    g_autoptr(GPtrArray) faults = find_faults(about);
    g_autoptr(GArray) hits = IBH_NEW_ARRAY(Hit); /* of the NICs with a fault */
    g_autoptr(GString) options = g_string_new(NULL);
    g_autofree char *said = NULL;
    IbhOpType type = IBH_OP_ROUTE_DEL; /* the greatest that a fault can have; the smallest is the most important */
    gboolean is_right = TRUE, has_held = FALSE, is_of_host = FALSE;
    IbhFinding *finding;
    Hit worst;

    if (!faults->len)
        return;
    IBH_EACH_POINTER (const IbhOp, fault, faults) {
        type = MIN(type, fault->type);
        is_of_host |= !ibh_rails_nic(check->rails, fault->ifindex);
    }
    worst = look_at_nic(check, NULL, faults); /* the host, unless a NIC has a fault */
    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        const Hit hit = look_at_nic(check, nic, faults);

        has_held |= nic->status == IBH_NIC_HELD;
        if (!hit.fault)
            continue;
        g_array_append_val(hits, hit);
        is_right &= hit.is_right;
        if (!worst.nic || (hit.astray && !worst.astray))
            worst = hit;
    }
    if (!hits->len)
        is_right = worst.is_right;
    IBH_EACH (const Hit, hit, hits) {
        g_autofree char *name = ibh_text_shell_word(hit->nic->link->name);

        if (has_held && !is_of_host)
            g_string_append_printf(options, " --iface %s", name);
    }
    said = say_hit(check, &worst, faults);
    ibh_subject_say(about, "said=%s\nn=%u\ns=%s\napply=%s%s", said, faults->len, faults->len == 1 ? "" : "s",
                    has_held && is_of_host ? "sudo ib-hook --apply, which also ends the hold of each NIC"
                                           : "$ ib-hook --apply",
                    options->str);
    about->iface = "";
    finding = ibh_subject_ask(about, IBH_OF_PLAN + (int)type);
    IBH_EACH (const Hit, hit, hits) {
        const char *iface = hit->nic->link->name;

        ibh_finding_add_text(finding, iface, hit->is_right ? IBH_WARNING : IBH_ERROR, say_hit(check, hit, faults));
        if (hit->astray)
            ibh_finding_set_astray(finding, iface);
    }
    if (is_right)
        finding->severity = IBH_WARNING;
}
