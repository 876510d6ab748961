/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/report.h"

#include "plan/emit.h"
#include "plan/plan.h"
#include "plan/want.h"

#include <linux/if_arp.h>

/* ---- NICs ---- */

/* The NICs asked about by name; without names, every candidate and RDMA-capable NIC, or with `verbose` every netdev. */
static gboolean lists(const IbhReport *report, const IbhNic *nic, gboolean verbose)
{
    if (report->only)
        return ibh_is_selected(nic, report->only);
    return verbose || nic->rank || nic->link->rdma[0] || nic->link->type == ARPHRD_INFINIBAND;
}

static void add_addresses(IbhNode *node, const IbhNic *nic)
{
    IbhNode *list = ibh_add_list(node, "addresses");
    char text[IBH_PREFIX_STRLEN];

    IBH_EACH_POINTER (const IbhAddress, address, &nic->addresses) {
        const IbhPrefix shown = {.ip = address->local, .length = address->subnet.length};

        if (ibh_address_counts(address))
            ibh_add_text(list, NULL, ibh_prefix_format(&shown, text));
    }
}

/* " on NUMA node 0, nearest GPU 0000:17:00.0 (PCIe switch)" */
static void append_place(GString *text, const IbhFabric *fabric, const IbhNic *nic)
{
    const IbhPortNic *own = fabric ? ibh_fabric_nic(fabric, nic->link->name) : NULL;
    const IbhPort *port = own ? ibh_fabric_port(fabric, own) : NULL;
    const IbhRdmaDevice *device = port ? ibh_fabric_device(fabric, port) : NULL;
    const IbhGpu *nearest = NULL;
    IbhNearness best = IBH_FAR;

    if (!device)
        return;
    if (device->place.node >= 0)
        g_string_append_printf(text, " on NUMA node %d", device->place.node);
    IBH_EACH (const IbhGpu, gpu, fabric->gpus) {
        IbhNearness near = ibh_compare_places(&gpu->place, &device->place);

        nearest = near > best ? gpu : nearest;
        best = MAX(best, near);
    }
    if (nearest)
        g_string_append_printf(text, ", nearest GPU %s (%s)", nearest->name, ibh_nearness_name(best));
}

/* Of a rail, in a line: where it is, and what it has. */
static char *tell_facts(const IbhReport *report, const IbhNic *nic)
{
    const IbhManager *manager = ibh_snapshot_manager(report->rails->snapshot, nic->link->ifindex);
    g_autoptr(GArray) routes = ibh_want_routes(report->rails, nic), rules = ibh_want_rules(report->rails, nic, routes);
    GString *text = g_string_new(nic->link->rdma[0] ? nic->link->rdma : "no RDMA port");

    append_place(text, report->fabric, nic);
    g_string_append_printf(text, ", %s", manager ? manager->name : "no manager known");
    if (manager && manager->connection)
        g_string_append_printf(text, " (%s)", manager->connection);
    g_string_append_printf(text, ", table %u, main=%s, wants %u rules", nic->table,
                           ibh_spread_has(report->rails, nic) ? "spread" : "keep", rules->len);
    for (int key = 0; key <= IBH_SYSCTL_ARP_IGNORE; key++)
        g_string_append_printf(text, "%s%s=%d", key ? " " : ", ", ibh_sysctl_name((IbhSysctl)key),
                               nic->link->sysctl[key]);
    return g_string_free(text, FALSE);
}

static void add_nic(IbhNode *list, const IbhReport *report, const IbhNic *nic, gboolean verbose)
{
    const IbhManager *manager = ibh_snapshot_manager(report->rails->snapshot, nic->link->ifindex);
    const IbhLink *link = nic->link;
    IbhNode *node = ibh_add_object(list, NULL);
    const gboolean rail = nic->status == IBH_NIC_RAIL;

    ibh_add_text(node, "iface", link->name);
    ibh_add_number(node, "ifindex", link->ifindex);
    ibh_add_text(node, "type", link->type == ARPHRD_INFINIBAND ? "infiniband" : "ethernet");
    ibh_add_text(node, "rdma", link->rdma[0] ? link->rdma : NULL);
    add_addresses(node, nic);
    ibh_add_text(node, "link", !(link->flags & IFF_UP) ? "down" : link->carrier ? "up" : "no carrier");
    ibh_add_number(node, "mtu", link->mtu);
    if (rail) {
        ibh_add_number(node, "table", nic->table);
        ibh_add_text(node, "main", ibh_spread_has(report->rails, nic) ? "spread" : "keep");
    }
    ibh_add_text(node, "manager", manager ? manager->name : NULL);
    ibh_add_text(node, "connection", manager ? manager->connection : NULL);
    ibh_add_flag(node, "engaged", rail);
    ibh_add_text(node, "why", nic->why);
    if (report->findings)
        ibh_add_flag(node, "ok", ibh_findings_are_ok(report->findings, link->name));
    if (rail && verbose && report->findings) {
        g_autofree char *facts = tell_facts(report, nic);

        ibh_add_text(node, "facts", facts);
    }
}

static void add_nics(IbhNode *tree, const char *key, const IbhReport *report, gboolean rails, gboolean verbose)
{
    IbhNode *list = ibh_add_list(tree, key);

    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
        if ((nic->status == IBH_NIC_RAIL) == rails && lists(report, nic, verbose))
            add_nic(list, report, nic, verbose);
    }
}

static void add_missing(IbhNode *tree, const GArray *all)
{
    IbhNode *list = ibh_add_list(tree, "missing");

    for (guint i = 0; all && i < all->len; i++) {
        const IbhMissed *missed = &g_array_index(all, IbhMissed, i);
        g_autoptr(GDateTime) since = missed->known.since ? g_date_time_new_from_unix_utc(missed->known.since) : NULL;
        g_autofree char *text = since ? g_date_time_format(since, "%Y-%m-%dT%H:%M:%SZ") : NULL;
        IbhNode *node = ibh_add_object(list, NULL);

        ibh_add_text(node, "iface", missed->known.iface);
        ibh_add_text(node, "since", text);
        ibh_add_text(node, "why", ibh_missing_text(missed->why));
    }
}

/* ---- findings, operations, errors ---- */

static void add_texts(IbhNode *node, const char *key, const GPtrArray *texts)
{
    IbhNode *list = ibh_add_list(node, key);

    IBH_EACH_POINTER (const char, text, texts)
        ibh_add_text(list, NULL, text);
}

static void add_findings(IbhNode *tree, const GPtrArray *findings)
{
    IbhNode *list = ibh_add_list(tree, "findings");

    IBH_EACH_POINTER (const IbhFinding, finding, findings) {
        IbhNode *node = ibh_add_object(list, NULL);

        add_texts(node, "ifaces", finding->ifaces);
        ibh_add_text(node, "severity", ibh_severity_name(finding->severity));
        ibh_add_text(node, "code", finding->code);
        ibh_add_text(node, "owner", finding->owner);
        ibh_add_text(node, "message", finding->message);
        ibh_add_text(node, "fix", finding->fix);
        ibh_add_text(node, "advice", finding->advice);
    }
}

static void add_operations(IbhNode *tree, const GPtrArray *ops)
{
    IbhNode *list = ibh_add_list(tree, "operations");

    IBH_EACH_POINTER (const IbhOp, op, ops) {
        g_autofree char *command = ibh_op_command(op);
        IbhNode *node = ibh_add_object(list, NULL);

        ibh_add_text(node, "iface", op->iface);
        ibh_add_text(node, "op", ibh_op_name(op->type));
        ibh_add_text(node, "command", command);
        ibh_add_text(node, "why", op->why);
    }
}

static void add_error(IbhNode *tree, int status, const char *message)
{
    IbhNode *node = ibh_add_object(tree, "error");

    ibh_add_number(node, "exit", status);
    ibh_add_text(node, "message", message);
}

static void add_changes(IbhNode *tree, const IbhReport *report)
{
    g_autoptr(GString) message = g_string_new(NULL);

    ibh_add_flag(tree, "changed", report->ops->len > 0);
    add_operations(tree, report->ops);
    for (guint i = 0; report->errors && i < report->errors->len; i++)
        g_string_append_printf(message, "%s%s", i ? "\n" : "", (const char *)g_ptr_array_index(report->errors, i));
    if (message->len)
        add_error(tree, 3, message->str);
    if (report->held)
        add_texts(tree, "held", report->held);
    if (report->confirm)
        ibh_add_number(tree, "confirm", report->confirm);
}

/* ---- --probe ---- */

static void add_ip(IbhNode *node, const char *key, const IbhIp *ip)
{
    char text[IBH_IP_STRLEN];

    ibh_add_text(node, key, ibh_ip_format(ip, text));
}

static void add_link(IbhNode *node, const char *key, const IbhProbe *probe, int ifindex)
{
    const IbhLink *link = ifindex ? ibh_snapshot_link(probe->rails->snapshot, ifindex) : NULL;

    ibh_add_text(node, key, link ? link->name : NULL);
}

static void add_lladdr(IbhNode *node, const char *key, const IbhLladdr *lladdr)
{
    g_autofree char *text = ibh_lladdr_format(lladdr);

    ibh_add_text(node, key, text);
}

static const char *syn_word(const IbhProbePair *pair)
{
    return pair->syn == IBH_SYN_UNWANTED   ? NULL
           : pair->syn == IBH_SYN_ANSWERED ? "answered"
           : pair->syn == IBH_SYN_SILENT   ? "silent"
                                           : "not-asked";
}

static const char *rdma_word(const IbhProbe *probe, const IbhProbePair *pair)
{
    return !probe->rdma                       ? NULL
           : pair->rdma == IBH_CAUSE_NONE     ? "answered"
           : pair->rdma >= IBH_RDMA_NO_WAY    ? "silent"
           : pair->rdma == IBH_RDMA_NO_DEVICE ? "no-device"
           : pair->rdma == IBH_RDMA_NO_ECHO   ? "no-echo"
                                              : "not-asked";
}

/* Who answered, by ARP, TCP and RDMA. */
static void add_answers(IbhNode *node, const IbhProbe *probe, const IbhProbePair *pair)
{
    guint whole = pair->mtu.fragment ? MIN(pair->mtu.fragment, pair->mtu.passed) : pair->mtu.passed;
    g_autofree char *rdma_why = ibh_probe_fill_in(probe, pair, ibh_probe_cause(pair->rdma)->why);
    IbhNode *list = ibh_add_list(node, "arp");

    for (guint i = 0; i < pair->answers; i++)
        add_lladdr(list, NULL, &pair->answer[i]);
    if (whole)
        ibh_add_number(node, "path_mtu", whole);
    else
        ibh_add_text(node, "path_mtu", NULL); /* no more than the small echo */
    ibh_add_text(node, "tcp", syn_word(pair));
    ibh_add_text(node, "tcp_why", ibh_probe_syn_why(pair));
    add_lladdr(node, "tcp_lladdr", &pair->syn_sender);
    ibh_add_text(node, "rdma", rdma_word(probe, pair));
    ibh_add_text(node, "rdma_why", rdma_why);
}

/* null: who answered is not known, and nothing else is wrong. */
static void add_verdict(IbhNode *node, const IbhProbePair *pair)
{
    g_autoptr(GPtrArray) problems = ibh_probe_problems(pair);
    IbhNode *list = ibh_add_list(node, "problems");

    IBH_EACH_POINTER (const char, problem, problems)
        ibh_add_text(list, NULL, problem);
    if (problems->len != 1 || !ibh_probe_has(pair, IBH_WAY_NOT_KNOWN)) {
        ibh_add_flag(node, "ok", !problems->len);
        return;
    }
    ibh_add_text(node, "ok", NULL);
    ibh_add_text(node, "reason", "which hosts answered is not known");
}

static void add_pair(IbhNode *list, const IbhProbe *probe, const IbhProbePair *pair)
{
    const IbhProbeSource *source = ibh_probe_source(probe, pair);
    IbhNode *node = ibh_add_object(list, NULL);

    ibh_add_text(node, "iface", source->nic->link->name);
    add_ip(node, "source", &source->ip);
    add_ip(node, "peer", ibh_probe_peer(probe, pair));
    ibh_add_number(node, "sent", pair->sent);
    ibh_add_number(node, "received", pair->received);
    if (pair->rtt < 0)
        ibh_add_text(node, "rtt_ms", NULL);
    else
        ibh_add_milli(node, "rtt_ms", pair->rtt);
    add_link(node, "route_iface", probe, pair->route.error ? 0 : pair->route.oif);
    add_link(node, "reply_iface", probe, pair->reply_ifindex);
    add_lladdr(node, "peer_lladdr", &pair->lladdr);
    add_lladdr(node, "reply_lladdr", &pair->sender);
    add_answers(node, probe, pair);
    add_verdict(node, pair);
}

static void add_unasked(IbhNode *list, const IbhProbe *probe, const IbhProbeUnasked *unasked)
{
    IbhNode *node = ibh_add_object(list, NULL);

    ibh_add_text(node, "iface", unasked->nic->link->name);
    add_ip(node, "peer", &g_array_index(probe->peers, IbhIp, unasked->peer));
    ibh_add_text(node, "ok", NULL);
    ibh_add_text(node, "reason", unasked->why);
}

static void add_probe(IbhNode *tree, const IbhProbe *probe)
{
    IbhNode *list = ibh_add_list(tree, "pairs");

    IBH_EACH (const IbhProbePair, pair, probe->pairs)
        add_pair(list, probe, pair);
    IBH_EACH (const IbhProbeUnasked, unasked, probe->unasked)
        add_unasked(list, probe, unasked);
    list = ibh_add_list(tree, "own");
    IBH_EACH (const IbhIp, own, probe->own)
        add_ip(list, NULL, own);
}

/* ---- the whole ---- */

IbhNode *ibh_report_tree(const IbhReport *report, gboolean verbose)
{
    const gboolean failed = report->message || (report->errors && report->errors->len);
    IbhNode *tree = ibh_node_new();

    ibh_add_flag(tree, "ok", !failed && (!report->findings || ibh_findings_are_ok(report->findings, NULL)));
    if (report->message) {
        add_error(tree, report->status, report->message);
        return tree;
    }
    if (report->ops)
        add_changes(tree, report);
    if (report->probe)
        add_probe(tree, report->probe);
    if (report->rails && !report->held && !(report->probe && report->probe->nics->len)) {
        add_nics(tree, "rails", report, TRUE, verbose);
        add_nics(tree, "others", report, FALSE, verbose);
        if (report->rails->main == IBH_MAIN_SPREAD)
            ibh_add_number(tree, "fib_multipath_hash_policy", report->rails->snapshot->hash_policy);
    }
    if (report->findings && !report->probe)
        add_missing(tree, report->missed);
    if (report->findings)
        add_findings(tree, report->findings);
    return tree;
}

char *ibh_report(const IbhReport *report, IbhWriter *writer, const IbhStyle *style)
{
    g_autoptr(IbhNode) tree = ibh_report_tree(report, style->verbose);

    return writer(report->action, tree, style);
}
