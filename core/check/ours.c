/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is missing, stale or wrong of ours: one finding, one fix.
 */
#include "check/rows.h"

#include "check/missing.h"
#include "plan/want.h"

/* A NIC that is no rail now, or is down, leaves something behind: why it is so is a finding of its own. */
static gboolean is_left_for_a_reason(const IbhCheck *check, const IbhOp *op)
{
    const IbhNic *nic = op->ifindex ? ibh_rails_nic(check->rails, op->ifindex) : NULL;
    const IbhFinding *worst = ibh_findings_worst(check->findings, op->iface);
    gboolean deletes = ibh_op_removes(op->type);
    const IbhKnownRail *missed = op->type == IBH_OP_RULE_DEL ? ibh_known_with(check->missed, &op->rule.from.ip) : NULL;

    if (nic && nic->status == IBH_NIC_RAIL && op->type == IBH_OP_SYSCTL_SET)
        return ibh_want_sysctl(check->rails, nic, op->key) == nic->link->sysctl[op->key]; /* other only meanwhile */
    if (nic && nic->status == IBH_NIC_RAIL)
        return deletes && (!(nic->link->flags & IFF_UP) || ibh_check_find_lost_address(check, nic, op->unit.family));
    if (nic && (nic->status == IBH_NIC_BLOCKED || ibh_link_is_missed(check->missed, nic->link) ||
                (worst && worst->severity == IBH_ERROR)))
        return TRUE;
    return (!nic || nic->status == IBH_NIC_NO_CANDIDATE) && missed && !missed->link;
}

/* Another program's route stands in the place of one of ours, with the metric that is ib-hook's mark. */
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
        about->severity = IBH_ERROR;
        return TRUE;
    }
    return FALSE;
}

/* What a NIC with this value does, and would not with that of a rail; NULL: no such thing. */
static const char *find_effect(const IbhOp *op)
{
    static const char *const effects[] = {
        [IBH_SYSCTL_RP_FILTER] = "drops packets whose answer another NIC would send",
        [IBH_SYSCTL_ARP_FILTER] = "does not answer ARP as its rail needs it",
        [IBH_SYSCTL_ARP_ANNOUNCE] = "may send ARP requests with another NIC's address as the sender",
        [IBH_SYSCTL_ARP_IGNORE] = "answers ARP for other NICs' addresses, too",
    };
    const gboolean has_it = op->key == IBH_SYSCTL_RP_FILTER ? op->from == 1 : op->from < op->to;

    return has_it ? effects[op->key] : NULL;
}

/* The operation on this NIC (NULL: on none) that says most; NULL: none that counts. */
static const IbhOp *find_first(const GPtrArray *wrong, const IbhNic *nic)
{
    const int ifindex = nic ? nic->link->ifindex : 0;
    const IbhOp *first = NULL;

    IBH_EACH_POINTER (const IbhOp, op, wrong) {
        if (op->ifindex == ifindex && (!first || op->type < first->type))
            first = op;
    }
    return first || nic ? first : wrong->pdata[0];
}

/* Main has got a route, or lost one, since the rail took over what main has through this NIC. */
static const IbhRoute *find_new_route(const IbhCheck *check, const GPtrArray *wrong, const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhOp, op, wrong) {
        if (op->type > IBH_OP_ROUTE_REPLACE || op->ifindex != nic->link->ifindex || !op->route.gateway.family)
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

/* Its first packet that another NIC sends, but would not if all of ours were there; NULL: there is none. */
static const IbhQuestion *find_astray(const IbhCheck *check, const IbhNic *nic)
{
    IBH_EACH (const IbhQuestion, question, check->questions) {
        if (question->ours && question->nic == nic && ibh_question_goes_astray(question))
            return question;
    }
    return NULL;
}

/* What its packets of this family do as it is; of no NIC, those without a source. NULL: none was asked about. */
static const IbhQuestion *find_packet(const IbhCheck *check, const IbhNic *nic, int family)
{
    IBH_EACH (const IbhQuestion, question, check->questions) {
        if (question->kind == (nic ? IBH_ASK_LEAVES : IBH_ASK_UNBOUND) && (!nic || question->nic == nic) &&
            question->lookup.to.family == family)
            return question;
    }
    return NULL;
}

/* All of ours in its place would change nothing of what its packets do. What has no source is right on any rail. */
static gboolean is_right_anyway(const IbhCheck *check, const IbhNic *nic)
{
    gboolean is_asked = FALSE;

    IBH_EACH (const IbhQuestion, question, check->questions) {
        IbhTrace repaired;

        if (nic ? question->nic != nic : question->kind != IBH_ASK_UNBOUND)
            continue;
        repaired = ibh_fib_walk(check->repaired, &question->lookup);
        if (question->grade > IBH_NOTED || question->ours ||
            (question->kind != IBH_ASK_UNBOUND && !ibh_trace_is_same_answer(&question->got, &repaired)))
            return FALSE;
        is_asked = TRUE;
    }
    return is_asked;
}

static char *say_no_default(const IbhNic *nic, int family)
{
    char ip[IBH_IP_STRLEN];

    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (address->local.family == family)
            return g_strdup_printf("%s has no own default yet", ibh_ip_format(&address->local, ip));
    }
    return NULL;
}

/* What happens to a NIC's packets, or to those without a source, and why. */
static char *say_ours(const IbhCheck *check, const IbhNic *nic, const GPtrArray *wrong)
{
    const IbhOp *first = find_first(wrong, nic);
    const IbhRoute *taken = nic ? find_new_route(check, wrong, nic) : NULL;
    const IbhQuestion *astray = nic ? find_astray(check, nic) : NULL,
                      *packet = astray ? astray : find_packet(check, nic, first->unit.family);
    g_autofree char *way = NULL, *text = NULL, *command = ibh_op_command(first);
    g_autoptr(GString) state = g_string_new(NULL);
    char dst[IBH_PREFIX_STRLEN];

    if (first->type == IBH_OP_SYSCTL_SET) {
        const char *effect = find_effect(first);

        return g_strdup_printf("it %s: %s=%d instead of %d", effect ? effect : "has another value than it should",
                               ibh_sysctl_name(first->key), first->from, first->to);
    }
    if (first->type >= IBH_OP_RULE_DEL)
        return g_strdup_printf(nic ? "an old rule or route of ib-hook is left over: %s"
                                   : "an old rule or route of ib-hook is left over: %s (%s)",
                               first->why, command);
    if (nic && !has_own_rule(check, nic)) {
        g_string_append(state, "not routed yet");
    } else if (taken) {
        text = ibh_owner_describe(check->rails->snapshot, &(IbhOwner){.route = taken});
        g_string_append_printf(state, "the main table has a new %s", text);
    } else if (first->type == IBH_OP_RULE_ADD) {
        g_string_append_printf(state, "ib-hook's rule %u", first->rule.priority);
        if (!nic)
            ibh_table_put(state, "lookup", first->rule.table);
        g_string_append(state, " is missing");
    } else {
        g_string_append_printf(state, "ib-hook's route to %s in table %u %s", ibh_prefix_format(&first->route.dst, dst),
                               first->route.table, first->type == IBH_OP_ROUTE_ADD ? "is missing" : "was altered");
    }
    way = taken && !taken->dst.length && !astray ? say_no_default(nic, first->unit.family)
          : packet                               ? ibh_question_way_text(check, packet, &packet->got)
                                                 : NULL;
    return way ? g_strconcat(way, ": ", state->str, NULL) : g_strdup(state->str);
}

/* Tells of the first NIC whose packets another one sends, else of the first that it hits, else of none. It hits all; if
 * all packets of each of them go as they should, it is a warning. */
void ibh_check_judge_ours(IbhSubject *about)
{
    const IbhCheck *check = about->check;
    g_autoptr(GPtrArray) wrong = g_ptr_array_new(), hit = g_ptr_array_new();
    const IbhNic *worst = NULL;
    g_autofree char *said = NULL;
    IbhOpType type = IBH_OP_ROUTE_DEL;
    gboolean is_right = TRUE;
    IbhFinding *finding;

    IBH_EACH_POINTER (const IbhOp, op, check->plan) {
        const IbhNic *nic = ibh_rails_nic(check->rails, op->ifindex);

        about->op = op;
        about->iface = nic ? nic->link->name : "";
        if (op->type > IBH_OP_ROUTE_DEL || is_left_for_a_reason(check, op) || ibh_subject_ask(about, IBH_OF_PLACE))
            continue;
        g_ptr_array_add(wrong, (gpointer)(guintptr)op);
        type = MIN(type, op->type);
    }
    if (!wrong->len)
        return;
    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        if (!find_first(wrong, nic))
            continue;
        g_ptr_array_add(hit, (gpointer)(guintptr)nic);
        if (!worst || (find_astray(check, nic) && !find_astray(check, worst)))
            worst = nic;
    }
    said = say_ours(check, worst, wrong);
    ibh_subject_say(about, "said=%s\nn=%u\ns=%s", said, wrong->len, wrong->len == 1 ? "" : "s");
    about->iface = "";
    finding = ibh_subject_ask(about, IBH_OF_PLAN + (int)type);
    IBH_EACH_POINTER (const IbhNic, nic, hit) {
        const char *iface = nic->link->name;

        ibh_finding_says(finding, iface, say_ours(check, nic, wrong));
        if (find_astray(check, nic))
            ibh_finding_leads_astray(finding, iface);
        if (is_right_anyway(check, nic))
            ibh_finding_spares(finding, iface);
        else
            is_right = FALSE;
    }
    if (hit->len ? is_right : is_right_anyway(check, NULL))
        finding->severity = IBH_WARNING;
}
