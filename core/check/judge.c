/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/check.h"

#include "plan/want.h"

#include <sys/socket.h>

/* ---- what judges share ---- */

/* ---- what is missing, stale or wrong of ours: one finding, one fix ---- */

/* missing.c tells of it. */
static gboolean is_missed(const IbhCheck *check, const IbhLink *link)
{
    IBH_EACH (const IbhKnownRail, one, check->missed) {
        if (one->link == link)
            return TRUE;
    }
    return FALSE;
}

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
    if (nic &&
        (nic->status == IBH_NIC_BLOCKED || is_missed(check, nic->link) || (worst && worst->severity == IBH_ERROR)))
        return TRUE;
    return (!nic || nic->status == IBH_NIC_NO_CANDIDATE) && missed && !missed->link;
}

/* Another program's route stands in the place of one of ours, with the metric that is ib-hook's mark. */
static gboolean report_place_taken(const IbhCheck *check, const IbhOp *op)
{
    if (op->type != IBH_OP_ROUTE_ADD)
        return FALSE;
    IBH_EACH (const IbhRoute, route, check->rails->snapshot->routes) {
        const IbhOwner owner = {.route = route};
        g_autofree char *text = NULL;

        if (!ibh_route_same_place(route, &op->route) || ibh_route_is_ours(route))
            continue;
        text = ibh_owner_describe(check->rails->snapshot, &owner);
        ibh_check_tell(check, ibh_rails_nic(check->rails, op->ifindex), "table-clash", text, (IbhRemedy){0},
                       "%s prevents a route of ib-hook: both have the same table, prefix and metric", text)
            ->severity = IBH_ERROR;
        return TRUE;
    }
    return FALSE;
}

/* In the order of the types, the worst first. */
static const char *const codes[] = {[IBH_OP_RULE_ADD] = "rule-missing",
                                    [IBH_OP_ROUTE_ADD] = "route-missing",
                                    [IBH_OP_ROUTE_REPLACE] = "route-missing",
                                    [IBH_OP_SYSCTL_SET] = "sysctl-wrong",
                                    [IBH_OP_RULE_DEL] = "stale",
                                    [IBH_OP_ROUTE_DEL] = "stale"};

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
        if ((op->type != IBH_OP_ROUTE_ADD && op->type != IBH_OP_ROUTE_REPLACE) || op->ifindex != nic->link->ifindex)
            continue;
        IBH_EACH (const IbhRoute, route, check->rails->snapshot->main_by_nic) {
            if (op->route.gateway.family && route->ifindex == op->ifindex &&
                ibh_ip_equal(&route->gateway, &op->route.gateway) && ibh_prefix_equal(&route->dst, &op->route.dst))
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

/* What is not as it should be. */
static char *say_state(const IbhCheck *check, const IbhNic *nic, const IbhRoute *taken, const IbhOp *first)
{
    const IbhOwner main_route = {.route = taken};
    g_autofree char *text = taken ? ibh_owner_describe(check->rails->snapshot, &main_route) : NULL;
    g_autoptr(GString) table = g_string_new(NULL);
    char dst[IBH_PREFIX_STRLEN];

    if (nic && !has_own_rule(check, nic))
        return g_strdup("not routed yet");
    if (taken)
        return g_strdup_printf("the main table has a new %s", text);
    if (first->type == IBH_OP_RULE_ADD) {
        if (!nic)
            ibh_table_put(table, "lookup", first->rule.table);
        return g_strdup_printf("ib-hook's rule %u%s is missing", first->rule.priority, table->str);
    }
    return g_strdup_printf("ib-hook's route to %s in table %u %s", ibh_prefix_format(&first->route.dst, dst),
                           first->route.table, first->type == IBH_OP_ROUTE_ADD ? "is missing" : "was altered");
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
    const char *effect = first->type == IBH_OP_SYSCTL_SET ? find_effect(first) : NULL;
    g_autofree char *state = NULL, *way = NULL, *command = ibh_op_command(first);
    g_autofree char *why = ibh_op_why(check->rails, first);

    if (first->type == IBH_OP_SYSCTL_SET)
        return g_strdup_printf("it %s: %s=%d instead of %d", effect ? effect : "has another value than it should",
                               ibh_sysctl_name(first->key), first->from, first->to);
    if (first->type >= IBH_OP_RULE_DEL)
        return g_strdup_printf(nic ? "an old rule or route of ib-hook is left over: %s"
                                   : "an old rule or route of ib-hook is left over: %s (%s)",
                               why, command);
    state = say_state(check, nic, taken, first);
    way = taken && !taken->dst.length && !astray ? say_no_default(nic, first->unit.family)
          : packet                               ? ibh_question_way_text(check, packet)
                                                 : NULL;
    return way ? g_strdup_printf("%s: %s", way, state) : g_steal_pointer(&state);
}

/* Of all NICs that it hits. TRUE: of each of them, all packets go as they should. */
static gboolean hit_all(const IbhCheck *check, IbhFinding *finding, const GPtrArray *wrong)
{
    gboolean is_right = TRUE;

    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        const char *iface = nic->link->name;

        if (!find_first(wrong, nic))
            continue;
        ibh_finding_says(finding, iface, say_ours(check, nic, wrong));
        if (find_astray(check, nic))
            ibh_finding_leads_astray(finding, iface);
        if (is_right_anyway(check, nic))
            ibh_finding_spares(finding, iface);
        else
            is_right = FALSE;
    }
    return finding->ifaces->len ? is_right : is_right_anyway(check, NULL);
}

/* The one to speak of: the first whose packets another NIC sends, else the first that it hits; NULL: none. */
static const IbhNic *find_worst(const IbhCheck *check, const GPtrArray *wrong)
{
    const IbhNic *worst = NULL;

    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        if (!find_first(wrong, nic))
            continue;
        if (find_astray(check, nic))
            return nic;
        worst = worst ? worst : nic;
    }
    return worst;
}

static void judge_ours(const IbhCheck *check)
{
    g_autoptr(GPtrArray) wrong = g_ptr_array_new();
    guint worst = G_N_ELEMENTS(codes) - 1;
    g_autofree char *said = NULL;
    IbhFinding *finding;

    IBH_EACH_POINTER (const IbhOp, op, check->plan) {
        if (op->type >= G_N_ELEMENTS(codes) || is_left_for_a_reason(check, op) || report_place_taken(check, op))
            continue;
        g_ptr_array_add(wrong, (gpointer)(guintptr)op);
        worst = MIN(worst, op->type);
    }
    if (!wrong->len)
        return;
    said = say_ours(check, find_worst(check, wrong), wrong);
    finding = ibh_check_tell(check, NULL, codes[worst], NULL, ibh_remedy_fix("sudo ib-hook", "--apply"),
                             "%s (%u change%s)", said, wrong->len, wrong->len == 1 ? "" : "s");
    if (hit_all(check, finding, wrong))
        finding->severity = IBH_WARNING;
}

/* ---- rails ---- */

#define ANSWERS_NOTHING 8 /* arp_ignore; 3 to 7 ignore nothing that matters here */

static void judge_arp_ignore(const IbhCheck *check, const IbhNic *nic)
{
    int all = check->rails->snapshot->all[IBH_SYSCTL_ARP_IGNORE];

    if (nic->link->sysctl[IBH_SYSCTL_ARP_IGNORE] >= ANSWERS_NOTHING && ibh_nic_serves_family(nic, AF_INET)) {
        ibh_check_tell(check, nic, "effective-sysctl", NULL,
                       ibh_remedy_fix("sysctl -w", "net/ipv4/conf/%s/arp_ignore=1", nic->link->name),
                       "peers get no answer to ARP requests, and cannot reach it: its arp_ignore is %d",
                       nic->link->sysctl[IBH_SYSCTL_ARP_IGNORE]);
        return;
    }
    if (all <= 2 || all < nic->link->sysctl[IBH_SYSCTL_ARP_IGNORE])
        return;
    ibh_check_tell(
        check, nic, "effective-sysctl", "net.ipv4.conf.all.arp_ignore",
        ibh_remedy_advice("if no other NIC of this host needs it: sudo sysctl -w net.ipv4.conf.all.arp_ignore=0"),
        "%s: all.arp_ignore=%d applies to every NIC",
        all >= ANSWERS_NOTHING ? "peers get no answer to ARP requests, and cannot reach it"
                               : "it answers ARP for other NICs' addresses, and peers send to the wrong one",
        all)
        ->severity = all >= ANSWERS_NOTHING ? IBH_ERROR : IBH_WARNING;
}

/* The configuration has given its old number to another NIC. */
static void judge_table(const IbhCheck *check, const IbhNic *nic)
{
    guint32 number = IBH_TABLE_BASE + nic->rank;
    const IbhNic *other = ibh_rails_nic_by_table(check->rails, number);

    if (nic->settings.table == IBH_TABLE_AUTO && nic->table != number && other &&
        other->settings.table != IBH_TABLE_AUTO)
        ibh_check_tell(check, nic, "table-moved", NULL, (IbhRemedy){0},
                       "its table is %u, because %s has table=%u (%s): programs that use the old number reach that NIC",
                       nic->table, other->link->name, other->table, other->settings.table_origin);
}

/* ---- other NICs ---- */

/* The table that our rule leads this address's own traffic to; 0: no rule does. */
static guint32 find_ruled_table(const IbhSnapshot *snapshot, const IbhAddress *address)
{
    const IbhPrefix own = ibh_prefix_of_host(&address->local);

    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        if (ibh_rule_is_ours(rule) && ibh_prefix_equal(&rule->from, &own) && rule->table != IBH_TABLE_MAIN &&
            rule->priority < IBH_PRIORITY_DEFAULTS)
            return rule->table;
    }
    return 0;
}

static gboolean is_no_rail_left(const IbhCheck *check)
{
    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        if (nic->status == IBH_NIC_RAIL)
            return FALSE;
    }
    return TRUE;
}

/* A trial was perhaps not confirmed because it cut its user off: the configuration is read first. */
static IbhRemedy end_hold(const IbhCheck *check, const IbhNic *nic)
{
    if (nic->kept)
        return ibh_remedy_advice("correct the configuration, then: sudo ib-hook --apply --confirm 60");
    /* No rail is left: one command ends all holds, silent NICs', too. */
    if (is_no_rail_left(check))
        return ibh_remedy_fix("sudo ib-hook", "--apply");
    return ibh_remedy_fix("sudo ib-hook --apply --iface", "%s", nic->link->name);
}

/* It is kept with its rules, and an event has taken the route that they lead to: what the configuration wants of it
 * counts for nothing here. */
static void judge_kept(const IbhCheck *check, const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        const guint32 table = find_ruled_table(check->rails->snapshot, address);
        IbhPiece *end, *rest = ibh_check_pieces_inside(check, &address->subnet, &end);
        IbhQuestion question = {.kind = IBH_ASK_LEAVES, .nic = nic};
        g_autofree char *way = NULL;
        char subnet[IBH_PREFIX_STRLEN];

        if (!table || rest == end || ibh_fib_find(check->actual, table, &rest->host, 0))
            continue;
        question.piece = rest->prefix;
        question.lookup = (IbhLookup){.from = address->local, .to = rest->host};
        question.got = ibh_fib_walk(check->actual, &question.lookup);
        if (!ibh_question_goes_astray(&question))
            continue;
        way = ibh_question_way_text(check, &question);
        ibh_finding_leads_astray(ibh_check_tell(check, nic, "route-missing", NULL, end_hold(check, nic),
                                                "%s: ib-hook's route to %s in table %u is missing", way,
                                                ibh_prefix_format(&address->subnet, subnet), table),
                                 nic->link->name);
        return;
    }
}

static void judge_no_rail(const IbhCheck *check, const IbhNic *nic)
{
    g_autofree char *why = ibh_nic_why(nic);

    if (nic->status == IBH_NIC_HELD) {
        const char *then = nic->kept ? "" : ": until then it is no rail";

        ibh_check_tell(check, nic, "held", is_no_rail_left(check) ? "" : NULL, end_hold(check, nic), "%s%s", why, then);
    } else if (nic->status == IBH_NIC_BLOCKED) {
        ibh_check_tell(check, nic, "local-rule-late", "", (IbhRemedy){0}, "not programmed: %s", why);
    } else if (nic->status == IBH_NIC_NO_ADDRESS && !is_missed(check, nic->link)) {
        ibh_check_tell(
            check, nic, "no-address", NULL,
            ibh_remedy_advice("give it an address where its network manager is configured, if it is to be used"),
            "%s: nothing to route", why)
            ->severity = IBH_INFO;
    }
    if (nic->kept && ibh_nic_is_usable(nic))
        judge_kept(check, nic);
    if (check->only && !nic->kept)
        ibh_check_tell(check, nic, "not-engaged", NULL, (IbhRemedy){0}, "it is no rail: %s", why);
}

static void judge_nic(const IbhCheck *check, const IbhNic *nic)
{
    ibh_check_judge_wire(check, nic);
    if (nic->status != IBH_NIC_RAIL) {
        judge_no_rail(check, nic);
        return;
    }
    ibh_check_judge_siblings(check, nic);
    judge_arp_ignore(check, nic);
    ibh_check_judge_gateway(check, nic);
    ibh_check_judge_manager(check, nic);
    judge_table(check, nic);
}

void ibh_check_judge(IbhCheck *check, const GPtrArray *plan, const GArray *missed, GPtrArray *findings)
{
    check->plan = plan;
    check->findings = findings;
    check->missed = missed;
    ibh_check_judge_missing(check);
    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        if (ibh_nic_is_selected(nic, check->only))
            judge_nic(check, nic);
    }
    ibh_check_judge_ways(check);
    judge_ours(check);
    ibh_check_judge_calls(check);
    ibh_check_judge_scripts(check);
}
