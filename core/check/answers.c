/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/answers.h"

#include "check/rules.h"
#include "check/wires.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* ---- traffic that names no source ---- */

static gboolean has_rule_for_main(const IbhRails *rails, int family)
{
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (rule->family == family && rule->action == FR_ACT_TO_TBL && rule->table == IBH_TABLE_MAIN &&
            !rule->from.length && !rule->to.length && !rule->selectors && rule->suppress_prefixlength < 0 &&
            rule->suppress_ifgroup < 0)
            return TRUE;
    }
    return FALSE;
}

static void report_no_rule_for_main(IbhCheck *check, int family)
{
    g_autofree char *fix =
        g_strdup_printf("ip -%c rule add priority %u lookup main", ibh_ip_option(family), IBH_PRIORITY_MAIN);

    IBH_EACH_POINTER (const IbhFinding, finding, check->findings) {
        if (g_strcmp0(finding->fix, fix) == 0)
            return; /* an address of the host, not of one rail */
    }
    ibh_finding_add(check->findings, "", IBH_ERROR, "main-rule-missing", ibh_fix(g_steal_pointer(&fix)),
                    "no rule leads to table main (32766, which every host has, is gone), so traffic without a source "
                    "address (ping, mount, ssh) reaches no host");
}

/* As the kernel makes it for an address; "append", because another NIC's route may exist there. */
static char *fix_lacking_route(const char *subnet, const char *word, const IbhIp *source)
{
    char text[IBH_IP_STRLEN];

    if (source->family == AF_INET6)
        return g_strdup_printf("ip -6 route append %s dev %s protocol kernel metric 256", subnet, word);
    return g_strdup_printf("ip -4 route append %s dev %s protocol kernel scope link src %s", subnet, word,
                           ibh_ip_format(source, text));
}

static void report_lacking_route(IbhCheck *check, const IbhQuestion *question, const IbhAddress *near)
{
    const char *iface = question->nic->link->name;
    g_autofree char *word = ibh_shell_word(iface), *where = ibh_check_say_where(check, &question->lookup);
    char subnet[IBH_PREFIX_STRLEN];

    ibh_prefix_format(&near->subnet, subnet);
    ibh_finding_add(
        check->findings, iface, IBH_WARNING, "route-missing", ibh_fix(fix_lacking_route(subnet, word, &near->local)),
        "main has no route to %s, so traffic without a source address (ping, mount, rping without -I) %s: give main "
        "its connected route back",
        subnet, where);
}

static const char *name_error(const IbhRoute *error)
{
    return error->type == RTN_BLACKHOLE ? "blackhole" : error->type == RTN_PROHIBIT ? "prohibit" : "unreachable";
}

/* Inside the subnet main's more exact routes of any type count: this may be meant, and may be the reason why a host is
 * not reached. */
static void report_kept_error(IbhCheck *check, const IbhQuestion *question)
{
    const IbhRoute *error = ibh_find_error_in_main(check->rails->snapshot, &question->lookup.to);
    char dst[IBH_PREFIX_STRLEN];

    if (question->kind != IBH_ASK_LEAVES || !question->as_main_says || !question->lookup.error || !error ||
        ibh_findings_have(check->findings, "", "main-error-route"))
        return;
    ibh_finding_add(check->findings, "", IBH_INFO, "main-error-route",
                    ibh_advice("if that is not meant, delete the route: ip -%c route show type %s",
                               ibh_ip_option(error->family), name_error(error)),
                    "main has %s as %s, more exact than the rails' subnet: no rail sends anything there",
                    ibh_prefix_format(&error->dst, dst), name_error(error));
}

static void report_error_in_main(IbhCheck *check, const IbhQuestion *question, const IbhRoute *error)
{
    const char *type = name_error(error), *iface = question->nic->link->name;
    char dst[IBH_PREFIX_STRLEN], to[IBH_IP_STRLEN];

    if (ibh_findings_have(check->findings, iface, "main-error-route"))
        return;
    ibh_prefix_format(&error->dst, dst);
    ibh_finding_add(
        check->findings, iface, IBH_ERROR, "main-error-route",
        ibh_fix(g_strdup_printf("ip -%c route del %s %s metric %u table main", ibh_ip_option(error->family), type, dst,
                                error->metric)),
        "main has %s as %s, and no better route for %s: a rule asks main first and gets this error, so that address "
        "is not reached",
        dst, type, ibh_ip_format(&question->lookup.to, to));
}

static void report_source(IbhCheck *check, const IbhQuestion *question, const IbhAddress *near)
{
    char subnet[IBH_PREFIX_STRLEN], source[IBH_IP_STRLEN];

    ibh_prefix_format(&near->subnet, subnet);
    ibh_finding_add(check->findings, question->nic->link->name, IBH_WARNING, "route-wrong",
                    ibh_advice("give main's route the source of its NIC: ip route show %s", subnet),
                    "table main reaches %s with the source %s, which is not of that subnet: peers send their replies "
                    "to traffic without a source address elsewhere, or nowhere",
                    subnet, ibh_ip_format(&question->lookup.src, source));
}

static void report_past_main(IbhCheck *check, const IbhQuestion *question, const char *where)
{
    const IbhRule *rule = ibh_find_leading_rule(check->rails, &question->lookup);
    g_autofree char *text = rule ? ibh_rule_describe(rule) : NULL;
    g_autofree char *before = rule ? g_strdup_printf("the rule %u: %s is asked before it", rule->priority, text)
                                   : g_strdup("does not decide");
    char to[IBH_IP_STRLEN];

    ibh_finding_add(check->findings, question->nic->link->name, IBH_ERROR, "routed-other-nic",
                    rule ? ibh_advise_on_rule(check, rule)
                         : ibh_advice("\"ip rule\" shows which rule comes before table main"),
                    "traffic without a source address to %s, in its subnet, %s: table main has that subnet, but %s",
                    ibh_ip_format(&question->lookup.to, to), where, before);
}

static void judge_unbound(IbhCheck *check, const IbhQuestion *question)
{
    const IbhLookup *answer = &question->lookup;
    const IbhRoute *error = answer->error ? ibh_find_error_in_main(check->rails->snapshot, &answer->to) : NULL;
    const char *iface = question->nic->link->name;
    const IbhAddress *near = ibh_find_address_near(check->rails, question->nic->link->ifindex, &answer->to);
    g_autofree char *where = ibh_check_say_where(check, answer);
    char to[IBH_IP_STRLEN];

    if (!has_rule_for_main(check->rails, answer->to.family))
        report_no_rule_for_main(check, answer->to.family);
    else if (error)
        report_error_in_main(check, question, error);
    else if (near && (answer->to.family == AF_INET || near->is_on_link) && !ibh_main_has(check->rails, &near->subnet))
        report_lacking_route(check, question, near);
    else if (ibh_has_source_of_elsewhere(check->rails, answer))
        report_source(check, question, near);
    else if (answer->table == IBH_TABLE_MAIN && ibh_is_led_astray(check->rails, answer))
        ibh_finding_add(check->findings, iface, IBH_ERROR, "routed-other-nic",
                        ibh_advice("if that is not meant, delete the route by it: ip route show to match %s",
                                   ibh_ip_format(&answer->to, to)),
                        "table main leads its subnet by a NIC that has no address there: traffic without a source "
                        "address to %s %s",
                        ibh_ip_format(&answer->to, to), where);
    else
        report_past_main(check, question, where);
}

/* ---- traffic of a rail's address ---- */

static void report_route_by_other_rail(IbhCheck *check, const IbhQuestion *question)
{
    const IbhRoute *route = ibh_find_in_main(check->rails->snapshot, &question->lookup.to);
    char dst[IBH_PREFIX_STRLEN], from[IBH_IP_STRLEN];

    ibh_prefix_format(&route->dst, dst);
    ibh_finding_add(check->findings, question->nic->link->name, IBH_WARNING, "routed-other-nic",
                    ibh_advice("if that is not meant, delete the route: ip route show %s", dst),
                    "table main leads %s by %s, another rail: what goes there from %s leaves by that one, too", dst,
                    ibh_check_link_name(check, question->lookup.oif), ibh_ip_format(&question->lookup.from, from));
}

/* To reach one host of the subnet, a packet would be sent to all, or to any; a plain socket may not even. */
static void report_no_unicast(IbhCheck *check, const IbhQuestion *question)
{
    gboolean broadcast = question->lookup.type == RTN_BROADCAST;
    char to[IBH_IP_STRLEN];

    ibh_ip_format(&question->lookup.to, to);
    ibh_finding_add(check->findings, question->nic->link->name, IBH_ERROR, "routed-other-nic",
                    ibh_advice("if that is not meant, take it away: ip -%c route show table local type %s",
                               ibh_ip_option(question->lookup.to.family), broadcast ? "broadcast" : "anycast"),
                    "table local has %s, a neighbour, as %s address (of a route, or as brd of an address): that host "
                    "is not reached",
                    to, broadcast ? "a broadcast" : "an anycast");
}

static void judge_leaving(IbhCheck *check, const IbhQuestion *question)
{
    const IbhLookup *answer = &question->lookup;
    const IbhRoute *error = answer->error ? ibh_find_error_in_main(check->rails->snapshot, &answer->to) : NULL;
    const char *iface = question->nic->link->name;
    g_autofree char *where = ibh_check_say_where(check, answer);
    char from[IBH_IP_STRLEN], to[IBH_IP_STRLEN];

    if (ibh_find_foreign_route(check, question))
        return; /* foreign-table reports it */
    if (error) {
        if (error->dst.length || ibh_find_address_near(check->rails, question->nic->link->ifindex, &answer->to))
            report_error_in_main(check, question, error);
        return; /* ibh_judge_errors_in_main reports an error as default route */
    }
    if (answer->type == RTN_BROADCAST || answer->type == RTN_ANYCAST) {
        report_no_unicast(check, question);
        return;
    }
    if (question->as_main_says && answer->table == IBH_TABLE_MAIN) {
        report_route_by_other_rail(check, question);
        return;
    }
    ibh_finding_add(check->findings, iface, IBH_ERROR, "routed-other-nic",
                    ibh_advice("\"ip rule\" shows who is asked before its rules"),
                    "the kernel answers that traffic from %s to %s%s %s, not by %s: RDMA by it fails, or uses another "
                    "NIC",
                    ibh_ip_format(&answer->from, from), ibh_ip_format(&answer->to, to),
                    question->kind == IBH_ASK_ELSEWHERE ? ", a network of another NIC," : "", where,
                    question->kind == IBH_ASK_ELSEWHERE ? "that one" : iface);
}

static void report_drop(IbhCheck *check, const IbhQuestion *question)
{
    const IbhRule *rule = ibh_find_refusing_rule(check->rails, &question->lookup);
    const char *iface = question->nic->link->name;
    char from[IBH_IP_STRLEN], to[IBH_IP_STRLEN];

    if (rule) {
        ibh_report_foreign_rule(check, rule, question);
        return;
    }
    ibh_finding_add(
        check->findings, iface, IBH_ERROR, "effective-sysctl",
        ibh_fix(ibh_sysctl_command(iface, IBH_SYSCTL_RP_FILTER, 2)),
        "the kernel drops packets from %s to %s that arrive by %s (rp_filter of this NIC or of all): peers get no "
        "answer",
        ibh_ip_format(&question->lookup.from, from), ibh_ip_format(&question->lookup.to, to), iface);
}

static void report_lacking_address(IbhCheck *check, const IbhIp *ip)
{
    const IbhNic *holder = ibh_rails_holder(check->rails, ip);
    const char *iface = holder->link->name;
    g_autofree char *word = ibh_shell_word(iface);
    char text[IBH_IP_STRLEN];

    if (ibh_findings_have(check->findings, iface, "address-unusable"))
        return;
    ibh_ip_format(ip, text);
    ibh_finding_add(
        check->findings, iface, IBH_ERROR, "address-unusable",
        ibh_fix(
            ip->family == AF_INET
                ? g_strdup_printf("ip -4 route add local %s dev %s table local protocol kernel scope host src %s", text,
                                  word, text)
                : g_strdup_printf("ip -6 route add local %s dev %s table local protocol kernel metric 0", text, word)),
        "table local lacks the address %s, so what comes in for it is not taken", text);
}

static void report_late_local_rule(IbhCheck *check, const IbhQuestion *question)
{
    const IbhLookup *answer = &question->lookup;
    char from[IBH_IP_STRLEN], to[IBH_IP_STRLEN];
    guint32 late;

    if (!ibh_is_local_rule_late(check->rails, answer->to.family, &late)) { /* the table lacks the address */
        report_lacking_address(check, &answer->to);
        return;
    }
    ibh_finding_add(check->findings, question->nic->link->name, IBH_ERROR, "local-rule-late",
                    ibh_fix(g_strdup_printf("ip -%c rule add priority 0 from all lookup local",
                                            ibh_ip_option(answer->from.family))),
                    "traffic from %s to %s, both addresses of this host, does not stay on it: the local table's rule "
                    "comes too late",
                    ibh_ip_format(&answer->from, from), ibh_ip_format(&answer->to, to));
}

/* Items of this NIC that are missing (in the plan) explain wrong answers. */
static gboolean plan_explains(const IbhCheck *check, const IbhQuestion *question)
{
    int family = question->lookup.to.family;

    if (question->kind == IBH_ASK_UNBOUND || question->kind == IBH_ASK_PROXIES)
        return FALSE;
    IBH_EACH_POINTER (const IbhOp, op, check->plan->ops) {
        if (g_str_equal(op->iface, question->nic->link->name) &&
            ((op->type == IBH_OP_RULE_ADD && op->rule.family == family) ||
             ((op->type == IBH_OP_ROUTE_ADD || op->type == IBH_OP_ROUTE_REPLACE) && op->route.family == family &&
              op->route.table != IBH_TABLE_MAIN)))
            return TRUE;
    }
    return FALSE;
}

void ibh_judge_answer(IbhCheck *check, const IbhQuestion *question)
{
    if (ibh_question_is_well_answered(check->rails, question)) {
        report_kept_error(check, question);
        return;
    }
    if (plan_explains(check, question) || ibh_find_foreign_rule(check->rails, &question->lookup))
        return; /* a finding of the rule reports these */
    switch (question->kind) {
    case IBH_ASK_LEAVES:
    case IBH_ASK_ELSEWHERE:
        judge_leaving(check, question);
        break;
    case IBH_ASK_ARRIVES:
        report_drop(check, question);
        break;
    case IBH_ASK_LOCAL:
        report_late_local_rule(check, question);
        break;
    case IBH_ASK_UNBOUND:
        judge_unbound(check, question);
        break;
    case IBH_ASK_PROXIES:
        ibh_judge_proxy_arp(check, question);
        break;
    }
}
