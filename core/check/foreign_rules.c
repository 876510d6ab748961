/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Foreign rules that are asked before the rails' rules: an error where they make the kernel's answers wrong.
 */
#include "check/foreign.h"
#include "check/rules.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

/* ---- the rule in the words of ip ---- */

static void put_range(GString *text, const char *word, guint32 first, guint32 last)
{
    if (last == first)
        g_string_append_printf(text, " %s %u", word, first);
    else
        g_string_append_printf(text, " %s %u-%u", word, first, last);
}

static void put_selection(GString *text, const IbhRule *rule)
{
    const IbhSelection *by = &rule->by;

    if (by->dscp_mask) {
        g_string_append_printf(text, " dscp %d", by->tos >> 2);
        if (by->dscp_mask != IBH_DSCP_ALL)
            g_string_append_printf(text, "/0x%x", by->dscp_mask);
    } else if (rule->selectors & IBH_SELECT_TOS) {
        g_string_append_printf(text, " tos 0x%x", by->tos);
    }
    if (rule->selectors & IBH_SELECT_FWMARK)
        g_string_append_printf(text, by->mask == G_MAXUINT32 ? " fwmark 0x%x" : " fwmark 0x%x/0x%x", by->mark,
                               by->mask);
    if (rule->selectors & IBH_SELECT_IIF)
        g_string_append_printf(text, " iif %s", by->iif);
    if (rule->selectors & IBH_SELECT_UID)
        g_string_append_printf(text, " uidrange %u-%u", by->uid[0], by->uid[1]);
    if (by->ip_protocol)
        g_string_append_printf(text, " ipproto %u", by->ip_protocol);
    if (by->sport[1])
        put_range(text, "sport", by->sport[0], by->sport[1]);
    if (by->dport[1])
        put_range(text, "dport", by->dport[0], by->dport[1]);
}

static void put_action(GString *text, const IbhRule *rule)
{
    if (rule->action != FR_ACT_TO_TBL) {
        g_string_append(text, rule->action == FR_ACT_BLACKHOLE     ? " blackhole"
                              : rule->action == FR_ACT_UNREACHABLE ? " unreachable"
                              : rule->action == FR_ACT_PROHIBIT    ? " prohibit"
                              : rule->action == FR_ACT_GOTO        ? " goto another one"
                                                                   : "");
        return;
    }
    g_string_append_printf(text, " lookup %u", rule->table);
    if (rule->suppress_prefixlength >= 0)
        g_string_append_printf(text, " suppress_prefixlength %d", (int)rule->suppress_prefixlength);
    if (rule->suppress_ifgroup >= 0)
        g_string_append_printf(text, " suppress_ifgroup %u", (guint)rule->suppress_ifgroup);
}

char *ibh_rule_describe(const IbhRule *rule)
{
    GString *text = g_string_new(rule->selectors & IBH_SELECT_NOT ? "not from " : "from ");
    char prefix[IBH_PREFIX_STRLEN];

    g_string_append(text, rule->from.length ? ibh_prefix_format(&rule->from, prefix) : "all");
    if (rule->to.length)
        g_string_append_printf(text, " to %s", ibh_prefix_format(&rule->to, prefix));
    put_selection(text, rule);
    put_action(text, rule);
    return g_string_free(text, FALSE);
}

static gboolean can_be_told_apart(const IbhRule *rule)
{
    return !(rule->selectors & IBH_SELECT_OTHER) && (rule->action == FR_ACT_TO_TBL || ibh_rule_refuses(rule));
}

#define BEHIND 32763u /* after the rails' rules, and before main's: there it still serves other traffic */

/* An absent attribute of a delete matches everything: it would delete the first similar rule, even one of ours. */
static gboolean is_first_deleted(const IbhCheck *check, const IbhRule *rule)
{
    IBH_EACH (const IbhRule, other, check->rails->snapshot->rules) {
        if (other == rule)
            return TRUE;
        if (other->family == rule->family && other->priority == rule->priority && other->action == rule->action &&
            other->table == rule->table && (!rule->from.length || ibh_prefix_equal(&other->from, &rule->from)) &&
            (!rule->to.length || ibh_prefix_equal(&other->to, &rule->to)))
            return FALSE;
    }
    return FALSE;
}

static gboolean is_wrong_by(const IbhCheck *check, const IbhQuestion *question, const IbhRule *rule)
{
    return !ibh_question_is_well_answered(check->rails, question) &&
           ibh_find_foreign_rule(check->rails, &question->lookup) == rule;
}

/* Where it takes that traffic elsewhere instead, a rule may come before it once it has moved: WireGuard has one. */
static gboolean refuses_unbound(const IbhCheck *check, const IbhRule *rule)
{
    IBH_EACH (const IbhQuestion, question, check->questions) {
        if (question->kind == IBH_ASK_UNBOUND && question->lookup.error && is_wrong_by(check, question, rule))
            return TRUE;
    }
    return FALSE;
}

static gboolean can_be_deleted(const IbhCheck *check, const IbhRule *rule)
{
    return can_be_told_apart(rule) && is_first_deleted(check, rule);
}

IbhRemedy ibh_advise_on_rule(const IbhCheck *check, const IbhRule *rule)
{
    g_autofree char *text = ibh_rule_describe(rule);
    char family = ibh_ip_option(rule->family);

    if (can_be_deleted(check, rule))
        return ibh_advice("if it is not meant: ip -%c rule del priority %u %s", family, rule->priority, text);
    return ibh_advice("find its owner (ip -%c rule show priority %u); a priority after the rails' leaves them alone",
                      family, rule->priority);
}

/* A rule to a rail's own table is not needed; other rules can move behind the rails' rules. A rule that refuses, or
 * takes traffic without a source, would still do so there: only its owner knows whether it is meant. */
static IbhRemedy find_fix(const IbhCheck *check, const IbhRule *rule, const IbhQuestion *question)
{
    g_autofree char *text = ibh_rule_describe(rule);
    gboolean leads_to_rail = rule->action == FR_ACT_TO_TBL && ibh_rails_nic_by_table(check->rails, rule->table);
    char family = ibh_ip_option(rule->family);

    if (!can_be_deleted(check, rule) || rule->action != FR_ACT_TO_TBL ||
        (!leads_to_rail && (question->kind == IBH_ASK_UNBOUND || refuses_unbound(check, rule))))
        return ibh_advise_on_rule(check, rule);
    if (leads_to_rail)
        return ibh_fix(g_strdup_printf("ip -%c rule del priority %u %s", family, rule->priority, text));
    return ibh_fix(g_strdup_printf("ip -%c rule add priority %u %s && ip -%c rule del priority %u %s", family, BEHIND,
                                   text, family, rule->priority, text));
}

/* ---- judgement ---- */

static char *say_wrong(const IbhCheck *check, const IbhQuestion *question)
{
    const char *iface = question->nic->link->name;
    gboolean by_rail = question->kind == IBH_ASK_LEAVES && !question->as_main_says;
    g_autofree char *where = ibh_check_say_where(check, &question->lookup);
    char from[IBH_IP_STRLEN], to[IBH_IP_STRLEN];

    ibh_ip_format(&question->lookup.from, from);
    ibh_ip_format(&question->lookup.to, to);
    if (question->kind == IBH_ASK_ARRIVES)
        return g_strdup_printf("what arrives by %s from %s to %s is refused", iface, from, to);
    return g_strdup_printf("traffic %s%s to %s %s, not %s%s",
                           question->kind == IBH_ASK_UNBOUND ? "without a source address" : "from ",
                           question->kind == IBH_ASK_UNBOUND ? "" : from, to, where,
                           by_rail ? "by " : "as the table main says", by_rail ? iface : "");
}

void ibh_report_foreign_rule(IbhCheck *check, const IbhRule *rule, const IbhQuestion *question)
{
    g_autofree char *text = ibh_rule_describe(rule), *wrong = say_wrong(check, question);

    ibh_finding_add(check->findings, question->nic->link->name, IBH_ERROR, "foreign-rule",
                    find_fix(check, rule, question), "the rule %u: %s is asked before %s: %s", rule->priority, text,
                    rule->priority > IBH_PRIORITY_BASE ? "main's" : "ours", wrong);
}

/* IbhQuestion *: whose answers are wrong, of this rail. */
static GPtrArray *find_wrong(const IbhCheck *check, const IbhNic *nic)
{
    GPtrArray *wrong = g_ptr_array_new();

    IBH_EACH (IbhQuestion, question, check->questions) {
        if (question->nic == nic && !ibh_question_is_well_answered(check->rails, question))
            g_ptr_array_add(wrong, question);
    }
    return wrong;
}

static const IbhQuestion *first_by(const IbhCheck *check, const GPtrArray *wrong, const IbhRule *rule)
{
    IBH_EACH_POINTER (const IbhQuestion, question, wrong) {
        if (ibh_find_foreign_rule(check->rails, &question->lookup) == rule)
            return question;
    }
    return NULL;
}

/* Reports each rule once: that it makes an answer wrong, or that it exists. */
static void report_seen(IbhCheck *check, const IbhRule *rule, const IbhNic *nic)
{
    g_autofree char *text = ibh_rule_describe(rule);
    g_autofree char *seen =
        g_strdup_printf("the rule %u: %s is asked before ours; its answers to the questions of --check are right",
                        rule->priority, text);

    IBH_EACH (const IbhQuestion, question, check->questions) {
        if (is_wrong_by(check, question, rule))
            return;
    }
    IBH_EACH_POINTER (const IbhFinding, finding, check->findings) {
        if (g_str_equal(finding->message, seen))
            return;
    }
    ibh_finding_add(
        check->findings, nic->link->name, IBH_INFO, "foreign-rule",
        ibh_advice("nothing has to be done; a priority after %u would leave the rails alone", IBH_PRIORITY_BASE), "%s",
        seen);
}

static gboolean can_match(const IbhNic *nic, const IbhRule *rule)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (ibh_rule_matches_source(rule, &address->local))
            return TRUE;
    }
    return FALSE;
}

static gboolean has_subnet_overlapping(const IbhNic *nic, const IbhPrefix *to)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (ibh_prefix_overlaps(&address->subnet, to))
            return TRUE;
    }
    return FALSE;
}

void ibh_judge_foreign_rules(IbhCheck *check, const IbhNic *nic)
{
    g_autoptr(GPtrArray) wrong = find_wrong(check, nic); /* also of traffic without a source */

    IBH_EACH (const IbhRule, rule, check->rails->snapshot->rules) {
        const IbhQuestion *question;

        if (!ibh_rule_is_foreign(check->rails, rule))
            continue;
        if ((question = first_by(check, wrong, rule)))
            ibh_report_foreign_rule(check, rule, question);
        else if (can_match(nic, rule) && rule->priority <= IBH_PRIORITY_BASE &&
                 (!rule->to.length || has_subnet_overlapping(nic, &rule->to)))
            report_seen(check, rule, nic);
    }
}
