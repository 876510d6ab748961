/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/check.h"

#include "check/foreign.h"
#include "check/names.h"
#include "check/verdict.h"
#include "check/wires.h"
#include "plan/emit.h"
#include "plan/known.h"
#include "plan/rails.h"
#include "plan/want.h"

#include <errno.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* ---- what is missing, stale or wrong of ours: one finding, one fix ---- */

/* nic-gone reports it. */
static gboolean was_of_gone_nic(const IbhCheck *check, const IbhOp *op)
{
    const IbhState *state = check->rails->snapshot->state;
    const IbhKnownRail *known = op->type == IBH_OP_RULE_DEL ? ibh_known_with(state->known, &op->rule.from.ip) : NULL;

    IBH_EACH (const IbhSavedRail, saved, state->rails) {
        if (saved->table == (op->type == IBH_OP_RULE_DEL ? op->rule.table : op->route.table))
            return TRUE;
    }
    return known && !ibh_known_link(check->rails->snapshot, known);
}

/* The reason why it is a leftover is a finding of its own: the rail may not be programmed, or is down, which removed
 * its IPv6 addresses. */
static gboolean is_left_for_a_reason(const IbhCheck *check, const IbhOp *op)
{
    const IbhNic *nic = op->ifindex ? ibh_rails_nic(check->rails, op->ifindex) : NULL;

    if (nic && (nic->status == IBH_NIC_BLOCKED || ibh_nic_missing(check->rails, nic) != IBH_IS_THERE))
        return TRUE;
    if (nic && nic->link->master && ibh_findings_have(check->findings, op->iface, "address-unusable"))
        return TRUE; /* the NIC is a port now */
    if (op->type != IBH_OP_RULE_DEL && op->type != IBH_OP_ROUTE_DEL)
        return FALSE;
    if (!nic || nic->status == IBH_NIC_NO_CANDIDATE)
        return was_of_gone_nic(check, op);
    return nic->status == IBH_NIC_RAIL && !(nic->link->flags & IFF_UP) && ibh_op_family(op) == AF_INET6;
}

typedef struct {
    guint rules, routes, values, stale;
    const IbhOp *first;
} Ours;

static void count_op(Ours *ours, const IbhOp *op)
{
    switch (op->type) {
    case IBH_OP_RULE_ADD:
        ours->rules++;
        break;
    case IBH_OP_ROUTE_ADD:
    case IBH_OP_ROUTE_REPLACE:
        ours->routes++;
        break;
    case IBH_OP_SYSCTL_SET:
        ours->values++;
        break;
    case IBH_OP_RULE_DEL:
    case IBH_OP_ROUTE_DEL:
        ours->stale++;
        break;
    case IBH_OP_ANNOUNCE:
    case IBH_OP_NEIGH_DEL:
        return;
    }
    if (!ours->first)
        ours->first = op;
}

/* Another program's route stands in the place of one of ours, with the metric that is ib-hook's mark. */
static gboolean report_place_taken(IbhCheck *check, const IbhOp *op)
{
    if (op->type != IBH_OP_ROUTE_ADD)
        return FALSE;
    IBH_EACH (const IbhRoute, route, check->rails->snapshot->routes) {
        const IbhOwner owner = {.route = route};
        g_autofree char *text = NULL;
        IbhFinding *finding;

        if (!ibh_route_same_place(route, &op->route) || ibh_route_is_ours(route))
            continue;
        text = ibh_owner_describe(check->rails->snapshot, &owner);
        finding = ibh_finding_of(check->findings, "table-clash", text, op->iface);
        finding->severity = IBH_ERROR;
        if (!finding->message)
            finding->message = g_strdup_printf("%s stands in the place of a route of ib-hook's", text);
        return TRUE;
    }
    return FALSE;
}

static void put_count(GString *text, guint count, const char *what)
{
    if (count)
        g_string_append_printf(text, "%s%u %s%s", text->len ? ", " : "", count, what, count == 1 ? "" : "s");
}

static char *say_ours(const Ours *ours, const char *ways)
{
    g_autoptr(GString) missing = g_string_new(NULL), text = g_string_new(NULL);
    g_autofree char *command = ibh_op_command(ours->first);

    put_count(missing, ours->rules, "rule");
    put_count(missing, ours->routes, "route");
    put_count(missing, ours->values, "ARP value");
    if (missing->len)
        g_string_append_printf(text, "%s of ib-hook's missing or wrong", missing->str);
    if (ours->stale)
        g_string_append_printf(text, "%s%u rules and routes of ib-hook's left over", text->len ? ", " : "",
                               ours->stale);
    if (ways)
        g_string_append_printf(text, ": %s", ways);
    else
        g_string_append_printf(text, ": %s (%s)", ours->first->why ? ours->first->why : "", command);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void judge_ours(IbhCheck *check, const char *ways)
{
    IbhFinding *finding;
    Ours ours = {0};
    const char *code;

    IBH_EACH_POINTER (const IbhOp, op, check->plan->ops) {
        if (!is_left_for_a_reason(check, op) && !report_place_taken(check, op))
            count_op(&ours, op);
    }
    if (!ours.first)
        return;
    code = ours.rules ? "rule-missing" : ours.routes ? "route-missing" : ours.values ? "sysctl-wrong" : "stale";
    finding = ibh_finding_of(check->findings, code, NULL, "");
    finding->message = say_ours(&ours, ways);
    finding->fix = g_strdup("sudo ib-hook --apply");
    IBH_EACH_POINTER (const IbhOp, op, check->plan->ops) {
        if (op->type != IBH_OP_ANNOUNCE && op->type != IBH_OP_NEIGH_DEL && !is_left_for_a_reason(check, op))
            ibh_finding_hits(finding, op->iface);
    }
}

/* ---- values that apply to all NICs ---- */

#define ANSWERS_NOTHING 8 /* arp_ignore; 3 to 7 ignore nothing that matters here */

static void judge_arp_ignore(IbhCheck *check, const IbhNic *nic)
{
    int all = check->rails->snapshot->all[IBH_SYSCTL_ARP_IGNORE];
    IbhFinding *finding;

    if (all <= 2 || all < nic->link->sysctl[IBH_SYSCTL_ARP_IGNORE])
        return;
    finding = ibh_finding_of(check->findings, "effective-sysctl", "net.ipv4.conf.all.arp_ignore", nic->link->name);
    if (finding->message)
        return;
    finding->severity = all >= ANSWERS_NOTHING ? IBH_ERROR : IBH_WARNING;
    finding->fix = ibh_sysctl_command("all", IBH_SYSCTL_ARP_IGNORE, 0);
    finding->message =
        g_strdup_printf("all.arp_ignore=%d applies to every NIC: %s", all,
                        all >= ANSWERS_NOTHING ? "peers get no answer to their ARP requests, and cannot reach it"
                                               : "a rail answers ARP for other NICs' addresses, and peers send to the "
                                                 "wrong one");
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
    judge_arp_ignore(check, nic);
    ibh_judge_gateway(check, nic);
    ibh_judge_manager(check, nic);
    ibh_judge_scripts(check, nic);
    ibh_judge_duplicates(check, nic);
    ibh_judge_table(check, nic);
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
    IbhFinding *blocked;

    switch (nic->status) {
    case IBH_NIC_HELD:
        ibh_finding_add(check->findings, iface, IBH_WARNING, "held",
                        ibh_fix(ibh_command_for("sudo ib-hook --apply --iface", iface)), "%s: it is no rail meanwhile",
                        nic->why);
        break;
    case IBH_NIC_BLOCKED:
        blocked = ibh_finding_of(check->findings, nic->code, NULL, iface);
        if (!blocked->message)
            blocked->message = g_strdup_printf("not programmed: %s", nic->why);
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
    if (!ibh_must_be_silent(check->rails, nic) && answers_beside_rails(check, nic))
        ibh_finding_add(
            check->findings, iface, IBH_INFO, "foreign-nic-answers",
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
        if (!concerns_rails(check, nic, address))
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
        ibh_finding_add(check->findings, nic->link->name, IBH_INFO, "not-engaged",
                        ibh_advice("nothing has to be done; take it out of the VRF if it is to be a rail"),
                        "in the VRF %s, whose table routes it: left alone", master->name);
}

void ibh_check_judge(const IbhRails *rails, const IbhPlan *plan, GArray *questions, const char *const *only,
                     GPtrArray *findings)
{
    IbhCheck check = {.rails = rails, .plan = plan, .questions = questions, .only = only, .findings = findings};
    g_autofree char *ways = NULL;

    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (ibh_is_selected(nic, only))
            judge_port(&check, nic);
    }
    ways = ibh_judge_ways(&check, questions);
    judge_ours(&check, ways);
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (!ibh_is_selected(nic, only))
            continue;
        ibh_judge_foreign_nic(&check, nic);
        ibh_judge_duplicate_elsewhere(&check, nic);
        ibh_judge_wire(&check, nic);
        (nic->status == IBH_NIC_RAIL ? judge_rail : judge_no_rail)(&check, nic);
    }
}
