/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings from the kernel's answers: judges the answer to each question, finds the owner of each packet that is not
 * right, and adds one finding for each owner. Also adds findings about foreign rules that no RDMA packet matches.
 */
#include "check/check.h"
#include "plan/want.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#define FIXES_MAX 64  /* for how many owners we look for a fix: each proof walks all packets again, which takes time */
#define NOTES_MAX 256 /* how many owners we note: a routing protocol may have thousands of routes inside remote= */

/* ---- findings by owner ---- */

/* TRUE if the packet goes astray because its source address has no subnet: the packet is for the network on the
 * address's link (the prefix of length link_length), and its owner is a route of main to this network, or to a shorter
 * prefix. With a subnet, the rail's table would have a route of ours to the network, and main would not decide. */
static gboolean has_no_subnet(const IbhQuestion *question)
{
    const IbhRoute *route = question->owner.route;

    return question->link_length && route && route->table == IBH_TABLE_MAIN &&
           route->dst.length <= question->link_length && ibh_question_goes_astray(question);
}

/* If the packet has no source address (unbound traffic), and its owner is a route through a link without a wire, where
 * no peer can be, returns this link; else NULL. Only the first link of a multipath route counts. */
static const IbhLink *find_link_without_wire(const IbhCheck *check, const IbhQuestion *question)
{
    const IbhRoute *unbound_route = question->kind == IBH_ASK_UNBOUND ? question->owner.route : NULL;
    const IbhLink *link = unbound_route && !ibh_route_is_error(unbound_route)
                              ? ibh_snapshot_link(check->rails->snapshot, unbound_route->ifindex)
                              : NULL;

    return link && ibh_link_has_no_wire(check->rails, link) ? link : NULL;
}

/* Returns the code of the finding about the packet's owner. A foreign route in T or D of a candidate is a table-clash,
 * except for packets to the candidate's subnets: for these, the route is judged like a route of any other table. If
 * there is no owner, the code is "unbound", even for a packet with a source address: the remedy of this code is to
 * restore what is missing. Unbound traffic also has this code if its owner is a route through a link without a wire, or
 * an error route. */
static const char *choose_code(const IbhCheck *check, const IbhQuestion *question)
{
    const IbhRoute *route = question->owner.route;
    const IbhNic *table_owner = route ? ibh_rails_nic_by_table(check->rails, route->table) : NULL;

    if (table_owner && !ibh_nic_address_near(table_owner, &question->lookup.to))
        return "table-clash";
    if (has_no_subnet(question))
        return "address-unusable";
    if (question->owner.rule)
        return "foreign-rule";
    if (!route || find_link_without_wire(check, question))
        return "unbound";
    return question->kind == IBH_ASK_UNBOUND && ibh_route_is_error(route) ? "unbound" : "foreign-route";
}

/* Returns the remedy for the packet; empty if the remedy of the code's row is right. */
static IbhRemedy choose_remedy(const IbhCheck *check, const IbhQuestion *question)
{
    const IbhLink *link = find_link_without_wire(check, question);
    const IbhIp *from = &question->lookup.from;
    char ip[IBH_IP_STRLEN];

    if (question->grade == IBH_NOTED)
        return ibh_remedy_advice("nothing has to be done");
    if (has_no_subnet(question))
        return ibh_remedy_advice(
            "give each NIC in that subnet an address with the prefix length of the subnet, such as %s/%u "
            "in place of %s/%u: ib-hook then has a route to the subnet in the table of each rail",
            ibh_ip_format(from, ip), question->link_length, ip, ibh_ip_bits(from));
    if (ibh_question_loses_answers(check, question))
        return ibh_question_advise_gateway(check, question);
    if (link)
        return ibh_remedy_advice("give %s a subnet of its own, or its route a higher metric than those of the rails",
                                 link->name);
    return (IbhRemedy){0};
}

static const IbhSeverity severities[] = {[IBH_NOTED] = IBH_INFO, [IBH_DOUBTFUL] = IBH_WARNING, [IBH_WRONG] = IBH_ERROR};

/* Adds the finding about the packet and its owner. If the packet goes wrong, also looks for a better remedy than that
 * of choose_remedy(): rules or routes to delete. Does not look if the cause is a missing subnet, if rp_filter drops the
 * answers, or if we have already looked for FIXES_MAX owners. */
static IbhFinding *add_packet_finding(IbhCheck *check, const IbhQuestion *question)
{
    const IbhSnapshot *snapshot = check->rails->snapshot;
    g_autofree char *what = ibh_question_way_text(check, question), *why = ibh_owner_text(snapshot, &question->owner),
                    *owner = ibh_owner_describe(snapshot, &question->owner);
    const guint n_findings = check->findings->len;
    IbhFinding *finding;

    /* Without an owner, `why` is "". Then no rule decides; or a rule with the priority IBH_PRIORITY_MAIN or a higher
     * number refuses the packet, so main has no route; or a rule leads to a route of ours, for example that of
     * main=spread. */
    finding = ibh_check_add_finding(check, NULL, choose_code(check, question), owner, choose_remedy(check, question),
                                    "%s: %s", what,
                                    why[0]                  ? why
                                    : !question->got.rule   ? "no rule leads there"
                                    : question->got.refused ? "the main table has no route there"
                                                            : "a route of ib-hook leads there");
    /* If there is no new finding, another owner has this one already, because both owners have the same text, such as
     * the same rule in both families. The other owner's packet is at least as bad, so severity and fix stay. */
    if (check->findings->len == n_findings)
        return finding;
    finding->severity = severities[question->grade];
    if (question->grade < IBH_DOUBTFUL || has_no_subnet(question) || ibh_question_loses_answers(check, question) ||
        check->tried >= FIXES_MAX)
        return finding;
    check->tried++;
    ibh_finding_set_remedy(finding, ibh_check_find_fix(check, &question->owner));
    return finding;
}

/* Adds one finding for one owner. Its message is about the worst packet. Each NIC whose addresses send packets of this
 * owner to other hosts (IBH_ASK_LEAVES) gets a text of its own, about the worst of these packets. */
static void add_owner_finding(IbhCheck *check, const IbhQuestion *worst)
{
    IbhFinding *finding = add_packet_finding(check, worst);
    g_autofree char *why = ibh_owner_text(check->rails->snapshot, &worst->owner);

    IBH_EACH (IbhQuestion, question, check->questions) {
        if (question->is_explained || !ibh_question_is_caused_by(question, &worst->owner))
            continue;
        question->is_explained = TRUE;
        ibh_finding_add_iface(finding, question->nic->link->name);
    }
    if (!worst->owner.rule && !worst->owner.route) /* no owner: a NIC's text would have no cause to name */
        return;
    /* The worst grade comes first, because a NIC keeps the first text that it gets. */
    for (IbhGrade grade = IBH_WRONG; grade > IBH_RIGHT; grade--) {
        IBH_EACH (const IbhQuestion, question, check->questions) {
            const char *iface = question->nic->link->name;
            g_autofree char *what = NULL;

            if (question->grade != grade || question->kind != IBH_ASK_LEAVES ||
                !ibh_question_is_caused_by(question, &worst->owner))
                continue;
            if (grade == IBH_NOTED && question->small_mtu) /* only the MTU is noted; the way is right */
                continue;
            what = ibh_question_way_text(check, question);
            ibh_finding_add_text(finding, iface, severities[grade],
                                 grade == IBH_NOTED ? ibh_question_exception_text(check, question)
                                                    : g_strdup_printf("%s: %s", what, why));
            if (grade >= IBH_DOUBTFUL && ibh_question_goes_astray(question))
                ibh_finding_set_astray(finding, iface);
        }
    }
}

/* ---- findings about single packets: the kernel's answer differs from the walk, or a link has our mark ---- */

/* Adds a finding: the kernel does not deliver packets to an address of this host. */
static void report_lacking_address(IbhCheck *check, const IbhQuestion *question)
{
    const IbhNic *holder = ibh_rails_holder(check->rails, &question->lookup.to);
    char ip[IBH_IP_STRLEN];

    ibh_check_add_finding(check, holder ? holder : question->nic, "address-unusable",
                          ibh_ip_format(&question->lookup.to, ip),
                          ibh_remedy_advice("delete the address and add it again"),
                          "this host does not take packets for %s: the table local lacks this address", ip);
}

/* Adds a finding: the kernel does not do what the walk found, and no route that we have read explains the kernel's
 * answer. */
static void report_unknown(IbhCheck *check, const IbhQuestion *question, const IbhLookup *answer)
{
    g_autofree char *expected = ibh_question_way_text(check, question);

    ibh_check_add_finding(check, question->nic, "not-known", "", (IbhRemedy){0},
                          "the kernel does not follow the rules and routes: by these, %s, but the kernel answers %s%s",
                          expected, answer->error ? g_strerror(answer->error) : "through ",
                          answer->error ? "" : ibh_check_link_name(check, answer->oif));
}

/* Adds a finding: the NIC sends to the peer, but the kernel drops packets from the peer, because of rp_filter. Adds no
 * finding in two cases: the group of the NIC's link is our mark, so the group is the cause; or --apply will change
 * rp_filter. */
static void report_filter(IbhCheck *check, const IbhQuestion *question)
{
    const IbhLink *link = question->nic->link;
    g_autofree char *owner = g_strdup_printf("net.ipv4.conf.%s.rp_filter", link->name);

    if (link->group == IBH_MARK)
        return; /* our rules ignore routes through the link, also when rp_filter looks up the way back to the peer */
    if (ibh_want_sysctl(check->rails, question->nic, IBH_SYSCTL_RP_FILTER) == link->sysctl[IBH_SYSCTL_RP_FILTER])
        ibh_check_add_finding(
            check, question->nic, "effective-sysctl", owner,
            ibh_remedy_advice(
                "write arp=auto for it into the configuration and run sudo ib-hook --apply, or set rp_filter "
                "to 2"),
            "peers get no answer: rp_filter of %s or of all drops what comes in through it", link->name);
}

/* Adds a finding: `link` is in the link group whose number is our mark. Our rules have this number as their
 * suppress_ifgroup, so if such a rule finds a route through the link, the kernel ignores the route. No link should be
 * in this group, but a link that comes back from a container may be. */
static void report_group(IbhCheck *check, const IbhQuestion *question, const IbhLink *link)
{
    const char *iface = question->nic->link->name;
    g_autofree char *owner = g_strdup_printf("link group of %s", link->name),
                    *way = ibh_question_way_text(check, question),
                    *text = g_strdup_printf("%s: %s is in link group %u, ib-hook's mark, and ib-hook's rules pass over "
                                            "the routes of that group",
                                            way, link->name, link->group),
                    *word = ibh_text_shell_word(link->name), *foreign_rule = NULL;
    IbhFinding *finding;

    /* The remedy moves the link to the default group. If a foreign rule suppresses routes of the old or of the default
     * group, this may change what that rule does, so the remedy is advice. */
    IBH_EACH (const IbhRule, rule, check->rails->snapshot->rules) {
        const IbhOwner other = {.rule = rule};

        if (!foreign_rule && (rule->suppress_ifgroup == 0 || rule->suppress_ifgroup == IBH_MARK) &&
            !ibh_rule_is_ours(rule))
            foreign_rule = ibh_owner_text(check->rails->snapshot, &other);
    }
    finding = ibh_check_add_finding(
        check, question->nic, "link-group", owner,
        foreign_rule
            ? ibh_remedy_advice("the command may change what %s does with routes through %s, because it "
                                "suppresses link groups, too; if that is right: sudo ip link set dev %s group default",
                                foreign_rule, link->name, word)
            : (IbhRemedy){.fix = g_strdup_printf("ip link set dev %s group default", word)},
        "%s", text);
    ibh_finding_add_text(finding, iface, finding->severity, g_steal_pointer(&text));
    if (ibh_question_goes_astray(question))
        ibh_finding_set_astray(finding, iface);
}

/* ---- one question ---- */

/* TRUE if both the kernel and the walk refuse the packet, or if both have found the same type of route and, for a
 * unicast route without a list of next hops, the same NIC. */
static gboolean agrees(const IbhTrace *trace, const IbhLookup *answer)
{
    const IbhRoute *route = trace->refused ? NULL : trace->route;

    if (answer->error || !route)
        return answer->error && !route;
    return answer->type == route->type &&
           (answer->type != RTN_UNICAST || ibh_route_leads_through(route, answer->oif) || route->hops);
}

/* Returns a route that we have read and that fits the kernel's answer; NULL if the kernel refuses the packet, or if no
 * such route fits. The walk may choose another route than the kernel, for example if several have the same prefix and
 * metric, or if there are IPv6 routes with a source prefix ("from"), which the walk cannot follow. */
static const IbhRoute *find_answer(const IbhCheck *check, const IbhQuestion *question, const IbhLookup *answer)
{
    const IbhPrefix dst = ibh_prefix_of(&question->lookup.to, answer->length);

    if (answer->error)
        return NULL;
    IBH_EACH_ROUTE (route, check) { /* a pool has equal lists of next hops only once, so we may compare pointers */
        if (route->table == answer->table && ibh_prefix_equal(&route->dst, &dst) && route->type == answer->type &&
            route->hops == answer->hops && (route->hops || route->ifindex == answer->oif))
            return route;
    }
    return NULL;
}

/* Reports a packet that the walk delivers to this host, but that the kernel, asked about this very packet, refuses. */
static void report_lost_arrival(IbhCheck *check, const IbhQuestion *question, const IbhLookup *answer)
{
    if (question->grade != IBH_RIGHT || !question->asked || !answer->error)
        return;
    if (answer->error == EINVAL || answer->error == EXDEV) /* rp_filter drops the packet */
        report_filter(check, question);
    else
        report_lacking_address(check, question);
}

/* Looks for the way of a packet that goes wrong in the model `repaired`, that is, with all our rules and routes in
 * place, and with no link in the group of our mark. If the packet goes another way there, and does not go wrong, the
 * question counts as right, and `right_when_repaired` is set: ours.c reports what is wrong with our rules and routes,
 * and report_group() the link. `question->got` may have the kernel's route by now, so `actual`, the packet's walk, is
 * compared with the walk in `repaired`. */
static void try_repaired(IbhCheck *check, IbhQuestion *question, const IbhTrace *actual)
{
    const IbhQuestion as_it_is = *question;
    const IbhTrace repaired = ibh_fib_walk(check->repaired, &question->lookup);

    if (ibh_trace_is_same_way(actual, &repaired))
        return;
    if (actual->passed)
        report_group(check, question, actual->passed);
    /* Grade this other way. If the packet does not go wrong there, --apply or the remedy of report_group() is enough:
     * keep the way that the packet goes now. If the packet goes wrong there, too, keep the other way, so that the
     * finding blames what remains after these two remedies. */
    question->got = repaired;
    ibh_question_grade(check, question);
    if (question->grade < IBH_DOUBTFUL) {
        *question = as_it_is;
        question->grade = IBH_RIGHT;
        question->right_when_repaired = TRUE;
    }
}

/* Grades a question, and reports what only the kernel's answer shows. */
static void judge_question(IbhCheck *check, IbhQuestion *question)
{
    const IbhLookup *answer = &g_array_index(check->questions, IbhQuestion, question->representative).lookup;
    const IbhTrace actual = question->got;
    const gboolean is_local = actual.route && actual.route->type == RTN_LOCAL;

    ibh_question_grade(check, question);
    if (question->kind == IBH_ASK_ARRIVES) {
        report_lost_arrival(check, question, answer);
        return;
    }
    /* If the kernel does not agree with the walk, the kernel's route counts, provided that we have read it. But if the
     * walk delivers the packet to this host, the kernel should, too, and the kernel's route does not count. */
    if (!agrees(&actual, answer)) {
        const IbhRoute *route = is_local ? NULL : find_answer(check, question, answer);

        if (!route) {
            if (is_local)
                report_lacking_address(check, question);
            else
                report_unknown(check, question, answer);
            question->grade = IBH_DOUBTFUL;
            question->is_explained = TRUE;
            return;
        }
        question->got.route = route;
        question->got.refused = FALSE;
        ibh_question_grade(check, question);
    }
    if (question->grade >= IBH_DOUBTFUL)
        try_repaired(check, question, &actual);
}

/* ---- rules that no RDMA packet matches ---- */

#define SELECTIVE (IBH_SELECT_FWMARK | IBH_SELECT_TOS | IBH_SELECT_UID | IBH_SELECT_PORT)

/* Adds a finding of severity info about a foreign rule that packets of the rails do not match, but would match if they
 * had the mark, TOS, user, IP protocol and ports that the rule selects, and came from a socket that is bound to the
 * rule's oif. */
static void note_selective_rule(const IbhCheck *check, const IbhRule *rule)
{
    const IbhSnapshot *snapshot = check->rails->snapshot;
    const IbhOwner owner = {.rule = rule};
    g_autofree char *text = ibh_owner_describe(snapshot, &owner);
    IbhRule relaxed = *rule;

    /* Skip a rule that has a finding already, usually as the owner of a packet. */
    if (ibh_findings_find(check->findings, "foreign-rule", NULL, text))
        return;
    /* `relaxed` is the rule without the selectors that such a packet fulfils. */
    relaxed.selectors &= ~(guint)(SELECTIVE | IBH_SELECT_OIF);
    IBH_EACH (const IbhQuestion, question, check->questions) {
        IbhFinding *finding;

        if (question->kind != IBH_ASK_LEAVES || !ibh_rule_matches(snapshot, &relaxed, &question->lookup) ||
            ibh_rule_matches(snapshot, rule, &question->lookup))
            continue;
        finding = ibh_check_add_finding(
            check, question->nic, "foreign-rule", text,
            ibh_remedy_advice("RDMA hardware needs no change; to see where the packets of this rule go: ip route "
                              "get PEER from ADDRESS, with the rule's mark, uid or ipproto"),
            "%s is checked before ib-hook's rules, but matches only packets with its mark, TOS, uid, ipproto or "
            "port, which look-ups of RDMA hardware do not have",
            text);
        finding->severity = IBH_INFO;
    }
}

guint32 ibh_check_find_table(const IbhCheck *check, const IbhNic *nic)
{
    guint32 link_table = 0;

    IBH_EACH (const IbhQuestion, question, check->questions) {
        const IbhRoute *route = question->got.route;

        if (question->kind != IBH_ASK_LEAVES || question->nic != nic || !route || question->got.refused)
            continue;
        if (ibh_nic_address_near(nic, &question->lookup.to))
            return route->table;
        if (question->link_length && !link_table)
            link_table = route->table;
    }
    return link_table;
}

/* ---- all ---- */

void ibh_check_judge_packets(IbhCheck *check)
{
    guint n_notes = 0;

    IBH_EACH (IbhQuestion, question, check->questions) {
        judge_question(check, question);
        if (question->grade > IBH_RIGHT && !question->is_explained)
            question->owner = ibh_check_find_owner(check, question);
    }
    /* The worst grade comes first, so that each finding is about the worst packet of its owner. */
    for (IbhGrade grade = IBH_WRONG; grade > IBH_RIGHT; grade--) {
        IBH_EACH (const IbhQuestion, question, check->questions) {
            if (question->grade != grade || question->is_explained || (grade == IBH_NOTED && n_notes == NOTES_MAX))
                continue;
            add_owner_finding(check, question);
            n_notes += grade == IBH_NOTED ? 1 : 0;
        }
    }
    IBH_EACH (const IbhRule, rule, check->rails->snapshot->rules) {
        /* A rule behind the last of our pairs (IBH_PRIORITY_BASE) sees no packet that our pairs route. */
        if ((rule->selectors & SELECTIVE) && !ibh_rule_is_expected(rule) && rule->priority <= IBH_PRIORITY_BASE)
            note_selective_rule(check, rule);
    }
}
