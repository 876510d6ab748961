/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/check.h"

#include "check/answers.h"
#include "check/foreign.h"
#include "check/rules.h"
#include "check/wires.h"
#include "plan/emit.h"
#include "plan/known.h"
#include "plan/tables.h"
#include "plan/want.h"

#include <errno.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* ---- missing and superfluous items ---- */

/* A rule that asks main comes and goes with the rule behind it: only the latter is reported. */
static gboolean follows_from_another(const IbhPlan *plan, const IbhOp *op)
{
    if (!ibh_rule_asks_main(&op->rule))
        return FALSE;
    IBH_EACH_POINTER (const IbhOp, other, plan->ops) {
        if (other->type == op->type && !ibh_rule_asks_main(&other->rule) &&
            other->rule.priority == op->rule.priority + 1 && ibh_prefix_equal(&other->rule.from, &op->rule.from))
            return TRUE;
    }
    return FALSE;
}

static void judge_missing_rule_for_main(IbhCheck *check, const IbhOp *op)
{
    char from[IBH_IP_STRLEN], to[IBH_PREFIX_STRLEN];

    ibh_finding_add(check->findings, op->iface, IBH_ERROR, "rule-missing", ibh_fix_by_apply(ibh_op_command(op)),
                    "no rule asks main first for what comes from %s%s%s: bridges, containers and other routes of main "
                    "lose it",
                    ibh_rule_is_spread(&op->rule) ? "no source yet" : ibh_ip_format(&op->rule.from.ip, from),
                    op->rule.to.length ? " to " : "", op->rule.to.length ? ibh_prefix_format(&op->rule.to, to) : "");
}

/* The kernel keeps one route there, and would refuse ours beside it. */
static gboolean report_place_taken(IbhCheck *check, const IbhOp *op)
{
    IBH_EACH (const IbhRoute, route, check->rails->snapshot->routes) {
        IbhOp instead = *op;
        char text[IBH_PREFIX_STRLEN];

        if (!ibh_route_same_place(route, &op->route) || ibh_route_is_ours(route))
            continue;
        instead.type = IBH_OP_ROUTE_REPLACE;
        ibh_finding_add(
            check->findings, op->iface, IBH_ERROR, "route-missing", ibh_fix(ibh_op_command(&instead)),
            "table %u lacks the route to %s: another one stands in its place, with the metric that is ib-hook's mark",
            op->route.table, ibh_prefix_format(&op->route.dst, text));
        return TRUE;
    }
    return FALSE;
}

/* nic-gone reports it. */
static gboolean was_of_gone_nic(const IbhCheck *check, guint32 table)
{
    IBH_EACH (const IbhSavedRail, saved, check->rails->snapshot->state->rails) {
        if (saved->table == table)
            return TRUE;
    }
    return FALSE;
}

/* The reason why it is a leftover is a finding of its own: the rail may not be programmed, or is down, which removed
 * its IPv6 addresses. */
static gboolean is_left_for_a_reason(const IbhCheck *check, const IbhOp *op)
{
    const IbhNic *nic = op->ifindex ? ibh_rails_nic(check->rails, op->ifindex) : NULL;

    if (op->type != IBH_OP_RULE_DEL && op->type != IBH_OP_ROUTE_DEL)
        return FALSE;
    if (!nic || nic->status == IBH_NIC_NO_CANDIDATE)
        return was_of_gone_nic(check, op->type == IBH_OP_RULE_DEL ? op->rule.table : op->route.table);
    return nic->status == IBH_NIC_BLOCKED || ibh_nic_missing(check->rails, nic) != IBH_IS_THERE ||
           (nic->status == IBH_NIC_RAIL && !(nic->link->flags & IFF_UP) && ibh_op_family(op) == AF_INET6);
}

static void judge_op(IbhCheck *check, const IbhOp *op)
{
    char text[IBH_PREFIX_STRLEN];

    if (is_left_for_a_reason(check, op))
        return;

    if ((op->type == IBH_OP_RULE_DEL || op->type == IBH_OP_ROUTE_DEL) &&
        ibh_findings_have(check->findings, op->iface, "address-unusable"))
        return; /* it is left over because the NIC is a port now */
    switch (op->type) {
    case IBH_OP_RULE_ADD:
        if (follows_from_another(check->plan, op))
            break;
        if (ibh_rule_asks_main(&op->rule)) {
            judge_missing_rule_for_main(check, op);
            break;
        }
        if (ibh_rule_is_spread(&op->rule)) {
            ibh_finding_add(check->findings, op->iface, IBH_ERROR, "rule-missing", ibh_fix_by_apply(ibh_op_command(op)),
                            "no rule leads unbound traffic to table %u, so all of it leaves by one rail",
                            op->rule.table);
            break;
        }
        ibh_finding_add(check->findings, op->iface, IBH_ERROR, "rule-missing", ibh_fix_by_apply(ibh_op_command(op)),
                        "no rule for what comes from %s (to table %u), so it leaves by whichever NIC main prefers",
                        ibh_ip_format(&op->rule.from.ip, text), op->rule.table);
        break;
    case IBH_OP_RULE_DEL:
        if (follows_from_another(check->plan, op))
            break;
        ibh_finding_add(check->findings, op->iface, IBH_WARNING, "rule-stale", ibh_fix_by_apply(ibh_op_command(op)),
                        "the rule from %s lookup %u is left over (%s): traffic from that address is misled",
                        ibh_ip_format(&op->rule.from.ip, text), op->rule.table, op->why);
        break;
    case IBH_OP_ROUTE_ADD:
        if (report_place_taken(check, op))
            break;
        ibh_finding_add(check->findings, op->iface, IBH_ERROR, "route-missing", ibh_fix_by_apply(ibh_op_command(op)),
                        "table %u lacks the route to %s, so its traffic falls through to main", op->route.table,
                        ibh_prefix_format(&op->route.dst, text));
        break;
    case IBH_OP_ROUTE_REPLACE:
        ibh_finding_add(
            check->findings, op->iface, IBH_ERROR, "route-wrong", ibh_fix_by_apply(ibh_op_command(op)),
            "the route to %s in table %u has another device or a source address that is gone: what uses it leaves by "
            "the "
            "wrong NIC, or not at all",
            ibh_prefix_format(&op->route.dst, text), op->route.table);
        break;
    case IBH_OP_ROUTE_DEL:
        ibh_finding_add(check->findings, op->iface, IBH_WARNING, "rule-stale", ibh_fix_by_apply(ibh_op_command(op)),
                        "the route to %s in table %u is left over (%s): what uses the table is misled",
                        ibh_prefix_format(&op->route.dst, text), op->route.table, op->why);
        break;
    case IBH_OP_SYSCTL_SET:
    case IBH_OP_ANNOUNCE:
    case IBH_OP_NEIGH_DEL:
        break;
    }
}

/* ---- sysctls ---- */

static const char *explain_sysctl(IbhSysctl key)
{
    switch (key) {
    case IBH_SYSCTL_RP_FILTER:
        return "packets that peers send to the wrong NIC are dropped, or accepted, against what is configured";
    case IBH_SYSCTL_ARP_FILTER:
    case IBH_SYSCTL_ARP_IGNORE:
        return "it answers ARP for other NICs' addresses, and peers send to the wrong one";
    case IBH_SYSCTL_ARP_ANNOUNCE:
        return "it asks peers with other NICs' addresses, and they learn the wrong one";
    default:
        return "it is configured otherwise";
    }
}

#define ANSWERS_NOTHING 8 /* arp_ignore; 3 to 7 ignore nothing that matters here */

/* What applies to a NIC is not its own value alone. */
static void judge_arp_ignore(IbhCheck *check, const IbhNic *nic)
{
    int own = nic->link->sysctl[IBH_SYSCTL_ARP_IGNORE], all = check->rails->snapshot->all[IBH_SYSCTL_ARP_IGNORE];
    int value = ibh_sysctl_effective(IBH_SYSCTL_ARP_IGNORE, own, all);
    gboolean is_all = all == value;

    if (value <= 2)
        return;
    ibh_finding_add(check->findings, nic->link->name, value >= ANSWERS_NOTHING ? IBH_ERROR : IBH_WARNING,
                    "effective-sysctl",
                    ibh_fix(is_all ? ibh_sysctl_command("all", IBH_SYSCTL_ARP_IGNORE, 0)
                                   : ibh_sysctl_command(nic->link->name, IBH_SYSCTL_ARP_IGNORE, 1)),
                    "%sarp_ignore=%d applies to it, ib-hook wants 1: %s", is_all ? "all." : "", value,
                    value >= ANSWERS_NOTHING ? "peers get no answer to their ARP requests, and cannot reach it"
                                             : explain_sysctl(IBH_SYSCTL_ARP_IGNORE));
}

/* The kernel drops such packets, and that is reported. */
static gboolean drops(const IbhCheck *check, const IbhNic *nic)
{
    IBH_EACH (const IbhQuestion, question, check->questions) {
        if (question->nic == nic && question->kind == IBH_ASK_ARRIVES &&
            !ibh_question_is_well_answered(check->rails, question))
            return TRUE;
    }
    return FALSE;
}

static void judge_sysctls(IbhCheck *check, const IbhNic *nic)
{
    judge_arp_ignore(check, nic);
    for (int key = 0; key < IBH_N_SYSCTLS; key++) {
        int now = nic->link->sysctl[key], want = ibh_want_sysctl(check->rails, nic, (IbhSysctl)key);

        if ((key == IBH_SYSCTL_ARP_IGNORE && now > 2) || (key == IBH_SYSCTL_RP_FILTER && drops(check, nic)))
            continue;
        if (now != want)
            ibh_finding_add(check->findings, nic->link->name, IBH_WARNING, "effective-sysctl",
                            ibh_fix_by_apply(ibh_sysctl_command(nic->link->name, (IbhSysctl)key, want)),
                            "its %s is %d, ib-hook wants %d: %s", ibh_sysctl_name((IbhSysctl)key), now, want,
                            explain_sysctl((IbhSysctl)key));
    }
}

/* ---- NICs ---- */

static void judge_carrier(IbhCheck *check, const IbhNic *nic)
{
    g_autofree char *word = ibh_shell_word(nic->link->name);

    if (nic->link->flags & IFF_UP)
        ibh_finding_add(
            check->findings, nic->link->name, IBH_ERROR, "carrier-down",
            ibh_advice("look at the cable, the transceiver, the switch's port and, on InfiniBand, the subnet "
                       "manager"),
            "the link has no carrier, expected up with carrier: nothing can leave or arrive by it");
    else
        ibh_finding_add(check->findings, nic->link->name, IBH_ERROR, "carrier-down",
                        ibh_fix(g_strdup_printf("ip link set %s up", word)),
                        "the link is administratively down, expected up with carrier: nothing can leave or arrive by "
                        "it");
}

/* Its port says more. */
static gboolean is_explained(const IbhCheck *check, const IbhNic *nic)
{
    return ibh_findings_have(check->findings, nic->link->name, "port-not-active") ||
           ibh_findings_have(check->findings, nic->link->name, "sm-missing");
}

static void judge_rail(IbhCheck *check, const IbhNic *nic)
{
    if (!ibh_nic_is_usable(nic) && !is_explained(check, nic))
        judge_carrier(check, nic);
    if (ibh_check_covers(check->rails, AF_INET))
        judge_sysctls(check, nic);
    ibh_judge_errors_in_main(check, nic);
    ibh_judge_gateway(check, nic);
    ibh_judge_manager(check, nic);
    ibh_judge_scripts(check, nic);
    ibh_judge_duplicates(check, nic);
    ibh_judge_foreign_rules(check, nic);
    ibh_judge_table(check, nic);
    ibh_judge_foreign_routes(check, nic);
}

/* It has no address, and may answer because the host has one on lo. */
static gboolean answers_beside_rails(const IbhCheck *check, const IbhNic *nic)
{
    const int *own = nic->link->sysctl, *all = check->rails->snapshot->all;

    if (!nic->rank || nic->status != IBH_NIC_NO_ADDRESS || nic->settings.arp == IBH_ARP_KEEP ||
        !ibh_nic_is_usable(nic) ||
        ibh_sysctl_effective(IBH_SYSCTL_ARP_IGNORE, own[IBH_SYSCTL_ARP_IGNORE], all[IBH_SYSCTL_ARP_IGNORE]) ||
        ibh_sysctl_effective(IBH_SYSCTL_ARP_FILTER, own[IBH_SYSCTL_ARP_FILTER], all[IBH_SYSCTL_ARP_FILTER]))
        return FALSE;
    IBH_EACH_POINTER (const IbhNic, rail, check->rails->nics) {
        if (rail->status == IBH_NIC_RAIL && rail->link->type == nic->link->type && ibh_serves_family(rail, AF_INET))
            return TRUE;
    }
    return FALSE;
}

static void judge_no_rail(IbhCheck *check, const IbhNic *nic)
{
    const char *iface = nic->link->name;

    switch (nic->status) {
    case IBH_NIC_HELD:
        ibh_finding_add(check->findings, iface, IBH_WARNING, "held",
                        ibh_fix_by_apply(ibh_command_for("ib-hook --apply --iface", iface)),
                        "%s: it is no rail meanwhile", nic->why);
        break;
    case IBH_NIC_BLOCKED:
        ibh_finding_add(check->findings, iface, IBH_ERROR, nic->code,
                        ibh_fix(g_strdup("ip -4 rule add priority 0 from all lookup local; "
                                         "ip -6 rule add priority 0 from all lookup local")),
                        "not programmed: %s", nic->why);
        break;
    case IBH_NIC_NO_ADDRESS:
        if (ibh_nic_missing(check->rails, nic) == IBH_IS_THERE)
            ibh_finding_add(
                check->findings, iface, IBH_INFO, "no-address",
                ibh_advice("give it an address where its network manager is configured, if it is to be used"),
                "%s: nothing to route", nic->why);
        break;
    default:
        break;
    }
    if (ibh_must_be_silent(check->rails, nic) && nic->link->sysctl[IBH_SYSCTL_ARP_IGNORE] == 0)
        ibh_finding_add(check->findings, iface, IBH_WARNING, "foreign-nic-answers",
                        ibh_fix_by_apply(ibh_sysctl_command(iface, IBH_SYSCTL_ARP_IGNORE, 1)),
                        "it is up without an IPv4 address, and answers ARP for the rails' addresses: peers may send to "
                        "the wrong NIC");
    else if (answers_beside_rails(check, nic))
        ibh_finding_add(
            check->findings, iface, IBH_WARNING, "foreign-nic-answers",
            ibh_advice("give it an address or take it down; arp_ignore=1 would silence it, for the address on "
                       "lo, too"),
            "it is up without an IPv4 address, and answers ARP for the rails' addresses, as for that on lo: "
            "peers may send to the wrong NIC");
    if (check->only)
        ibh_finding_add(check->findings, iface, IBH_WARNING, "not-engaged",
                        ibh_advice("ib-hook --show says so of all NICs; manage=yes makes one a rail"),
                        "it is no rail: %s", nic->why);
}

/* TRUE if the address is in a subnet of a rail, or its NIC was a rail. Other hosts are left alone. */
static gboolean concerns_rails(const IbhCheck *check, const IbhNic *nic, const IbhAddress *address)
{
    IBH_EACH (const IbhSavedRail, saved, check->rails->snapshot->state->rails) {
        if (saved->ifindex == nic->link->ifindex)
            return TRUE;
    }
    IBH_EACH_POINTER (const IbhNic, rail, check->rails->nics) {
        if (rail->status == IBH_NIC_RAIL && ibh_find_address_near(check->rails, rail->link->ifindex, &address->local))
            return TRUE;
    }
    return FALSE;
}

/* The bridge, bond or team takes a packet that comes in by its port before IP does. */
static void judge_address_of_port(IbhCheck *check, const IbhNic *nic, const IbhLink *master)
{
    char ip[IBH_IP_STRLEN];

    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (!ibh_check_covers(check->rails, address->local.family) || !concerns_rails(check, nic, address))
            continue;
        ibh_finding_add(check->findings, nic->link->name, IBH_ERROR, "address-unusable",
                        ibh_advice("give %s to %s, or take the NIC out of it: ip link set %s nomaster",
                                   ibh_ip_format(&address->local, ip), master->name, nic->link->name),
                        "it is a port of %s and has the address %s: %s takes what comes in, ARP's answers, too, so "
                        "nothing reaches that address",
                        master->name, ip, master->name);
        return;
    }
}

static void judge_port(IbhCheck *check, const IbhNic *nic)
{
    const IbhLink *master = nic->link->master ? ibh_snapshot_link(check->rails->snapshot, nic->link->master) : NULL;

    if (!master || !(nic->link->rdma[0] || nic->link->type == ARPHRD_INFINIBAND))
        return;
    if (!g_str_equal(master->kind, "vrf"))
        judge_address_of_port(check, nic, master);
    else
        ibh_finding_add(check->findings, nic->link->name, IBH_INFO, "vrf",
                        ibh_advice("nothing has to be done; take it out of the VRF if it is to be a rail"),
                        "in the VRF %s, whose table routes it: left alone", master->name);
}

void ibh_check_judge(const IbhRails *rails, const IbhPlan *plan, const GArray *questions, const char *const *only,
                     GPtrArray *findings)
{
    IbhCheck check = {.rails = rails, .plan = plan, .questions = questions, .only = only, .findings = findings};

    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (ibh_is_selected(nic, only))
            judge_port(&check, nic);
    }
    IBH_EACH_POINTER (const IbhOp, op, plan->ops)
        judge_op(&check, op);
    IBH_EACH (const IbhQuestion, question, questions)
        ibh_judge_answer(&check, question);
    if (questions->len == IBH_QUESTIONS_MAX)
        ibh_finding_add(
            check.findings, "", IBH_WARNING, "not-all-asked",
            ibh_advice("ask about one NIC at a time: ib-hook --check --iface NAME"),
            "the kernel was asked %u questions; of further addresses, routes and rules it is not known where "
            "their traffic goes",
            questions->len);
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (!ibh_is_selected(nic, only))
            continue;
        if (ibh_check_covers(rails, AF_INET))
            ibh_judge_foreign_nic(&check, nic);
        ibh_judge_duplicate_elsewhere(&check, nic);
        ibh_judge_wire(&check, nic);
        (nic->status == IBH_NIC_RAIL ? judge_rail : judge_no_rail)(&check, nic);
    }
}
