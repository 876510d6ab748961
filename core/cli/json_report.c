/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/json.h"
#include "probe/rdma.h"
#include "cli/report.h"

#include <linux/if_arp.h>

static void put_addresses(IbhJson *json, const IbhNic *nic)
{
    g_autoptr(GPtrArray) addresses = ibh_report_addresses(nic);

    ibh_json_open(json, "addresses", '[');
    IBH_EACH_POINTER (const char, address, addresses)
        ibh_json_string(json, NULL, address);
    ibh_json_close(json, ']');
}

static void put_nic(IbhJson *json, const IbhReport *report, const IbhNic *nic)
{
    const IbhManager *manager = ibh_snapshot_manager(report->rails->snapshot, nic->link->ifindex);

    ibh_json_open(json, NULL, '{');
    ibh_json_string(json, "iface", nic->link->name);
    ibh_json_int(json, "ifindex", nic->link->ifindex);
    ibh_json_string(json, "type", nic->link->type == ARPHRD_INFINIBAND ? "infiniband" : "ethernet");
    ibh_json_string(json, "rdma", nic->link->rdma[0] ? nic->link->rdma : NULL);
    put_addresses(json, nic);
    ibh_json_int(json, "mtu", nic->link->mtu);
    if (nic->status == IBH_NIC_RAIL) {
        ibh_json_int(json, "table", nic->table);
        ibh_json_string(json, "main", ibh_report_main(report->rails, nic));
    }
    ibh_json_string(json, "manager", manager ? manager->name : NULL);
    ibh_json_string(json, "connection", manager ? manager->connection : NULL);
    ibh_json_bool(json, "engaged", nic->status == IBH_NIC_RAIL);
    ibh_json_string(json, "why", nic->why);
    ibh_json_bool(json, "ok", ibh_findings_are_ok(report->findings, nic->link->name));
    ibh_json_close(json, '}');
}

static void put_nics(IbhJson *json, const IbhReport *report, const char *key, gboolean rails, gboolean verbose)
{
    ibh_json_open(json, key, '[');
    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
        if ((nic->status == IBH_NIC_RAIL) == rails && ibh_report_lists(report, nic, verbose))
            put_nic(json, report, nic);
    }
    ibh_json_close(json, ']');
}

static void put_findings(IbhJson *json, const IbhReport *report)
{
    ibh_json_open(json, "findings", '[');
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        ibh_json_open(json, NULL, '{');
        ibh_json_open(json, "ifaces", '[');
        IBH_EACH_POINTER (const char, iface, finding->ifaces)
            ibh_json_string(json, NULL, iface);
        ibh_json_close(json, ']');
        ibh_json_string(json, "severity", ibh_severity_name(finding->severity));
        ibh_json_string(json, "code", finding->code);
        ibh_json_string(json, "owner", finding->owner);
        ibh_json_string(json, "message", finding->message);
        ibh_json_string(json, "fix", finding->fix);
        ibh_json_string(json, "advice", finding->advice);
        ibh_json_close(json, '}');
    }
    ibh_json_close(json, ']');
}

static void put_checked(IbhJson *json, const IbhReport *report)
{
    g_autoptr(GPtrArray) lines = ibh_report_checked(report);

    ibh_json_open(json, "checked", '[');
    IBH_EACH_POINTER (const char, line, lines)
        ibh_json_string(json, NULL, line);
    ibh_json_close(json, ']');
}

static void put_missing(IbhJson *json, const IbhReport *report)
{
    ibh_json_open(json, "missing", '[');
    for (guint i = 0; report->missed && i < report->missed->len; i++) {
        const IbhMissed *missed = &g_array_index(report->missed, IbhMissed, i);
        g_autoptr(GDateTime) since = missed->known.since ? g_date_time_new_from_unix_utc(missed->known.since) : NULL;
        g_autofree char *text = since ? g_date_time_format(since, "%Y-%m-%dT%H:%M:%SZ") : NULL;

        ibh_json_open(json, NULL, '{');
        ibh_json_string(json, "iface", missed->known.iface);
        ibh_json_string(json, "since", text);
        ibh_json_string(json, "why", ibh_missing_text(missed->why));
        ibh_json_close(json, '}');
    }
    ibh_json_close(json, ']');
}

static char *check(const IbhReport *report, const IbhStyle *style)
{
    IbhJson *json = ibh_json_new();

    ibh_json_open(json, NULL, '{');
    ibh_json_bool(json, "ok", ibh_findings_are_ok(report->findings, NULL));
    put_nics(json, report, "rails", TRUE, style->verbose);
    put_nics(json, report, "others", FALSE, style->verbose);
    put_missing(json, report);
    put_findings(json, report);
    if (style->verbose)
        put_checked(json, report);
    ibh_json_close(json, '}');
    return ibh_json_finish(json);
}

static void put_operations(IbhJson *json, const GPtrArray *ops)
{
    ibh_json_open(json, "operations", '[');
    IBH_EACH_POINTER (const IbhOp, op, ops) {
        g_autofree char *command = ibh_op_command(op);

        ibh_json_open(json, NULL, '{');
        ibh_json_string(json, "iface", op->iface);
        ibh_json_string(json, "op", ibh_op_name(op->type));
        ibh_json_string(json, "command", command);
        ibh_json_string(json, "why", op->why);
        ibh_json_close(json, '}');
    }
    ibh_json_close(json, ']');
}

static void put_others(IbhJson *json, const IbhReport *report, gboolean verbose)
{
    ibh_json_open(json, "others", '[');
    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
        if (nic->status == IBH_NIC_RAIL || !ibh_report_lists(report, nic, verbose))
            continue;
        ibh_json_open(json, NULL, '{');
        ibh_json_string(json, "iface", nic->link->name);
        ibh_json_string(json, "why", nic->why);
        ibh_json_close(json, '}');
    }
    ibh_json_close(json, ']');
}

static char *plan(const IbhReport *report, const IbhStyle *style)
{
    IbhJson *json = ibh_json_new();

    ibh_json_open(json, NULL, '{');
    ibh_json_bool(json, "ok", TRUE);
    ibh_json_bool(json, "changed", report->plan->ops->len > 0);
    put_operations(json, report->plan->ops);
    put_others(json, report, style->verbose);
    ibh_json_close(json, '}');
    return ibh_json_finish(json);
}

static void put_error(IbhJson *json, int status, const char *message)
{
    ibh_json_open(json, "error", '{');
    ibh_json_int(json, "exit", status);
    ibh_json_string(json, "message", message);
    ibh_json_close(json, '}');
}

static char *change(const IbhReport *report, const IbhStyle *style)
{
    IbhJson *json = ibh_json_new();

    (void)style;
    ibh_json_open(json, NULL, '{');
    ibh_json_bool(json, "ok", report->errors->len == 0);
    ibh_json_bool(json, "changed", report->done->len > 0);
    put_operations(json, report->done);
    if (report->errors->len) {
        g_autoptr(GString) message = g_string_new(NULL);

        IBH_EACH_POINTER (const char, line, report->errors)
            g_string_append_printf(message, "%s%s", message->len ? "\n" : "", line);
        put_error(json, 3, message->str);
    }
    ibh_json_close(json, '}');
    return ibh_json_finish(json);
}

/* ---- --probe ---- */

static void put_link(IbhJson *json, const char *key, const IbhRails *rails, int ifindex)
{
    const IbhLink *link = ifindex ? ibh_snapshot_link(rails->snapshot, ifindex) : NULL;

    ibh_json_string(json, key, link ? link->name : NULL);
}

static void put_lladdr(IbhJson *json, const char *key, const guint8 *lladdr, guint length)
{
    g_autofree char *text = length ? ibh_report_lladdr(lladdr, length) : NULL;

    ibh_json_string(json, key, text);
}

static void put_faults(IbhJson *json, const IbhProbePair *pair)
{
    ibh_json_open(json, "problems", '[');
    for (int fault = 0; fault < IBH_PROBE_N_FAULTS; fault++) {
        if (pair->faults & 1u << fault)
            ibh_json_string(json, NULL, ibh_probe_fault_name((IbhProbeFault)fault));
    }
    ibh_json_close(json, ']');
}

/* The hosts that answered ARP, asked a second time. */
static void put_answers(IbhJson *json, const IbhProbePair *pair)
{
    ibh_json_open(json, "arp", '[');
    for (guint i = 0; i < pair->answers; i++)
        put_lladdr(json, NULL, pair->answer[i], pair->answer_len);
    ibh_json_close(json, ']');
}

/* The largest size known to come through whole; null: only the small echo's. */
static void put_size(IbhJson *json, const IbhProbePair *pair)
{
    guint whole = pair->mtu.fragment ? MIN(pair->mtu.fragment, pair->mtu.passed) : pair->mtu.passed;

    if (whole)
        ibh_json_int(json, "path_mtu", whole);
    else
        ibh_json_string(json, "path_mtu", NULL);
}

/* null: not IPv6, not a neighbour, or no echo came back. */
static void put_syn(IbhJson *json, const IbhProbePair *pair)
{
    ibh_json_string(json, "tcp",
                    pair->syn.outcome == IBH_SYN_UNWANTED   ? NULL
                    : pair->syn.outcome == IBH_SYN_ANSWERED ? "answered"
                    : pair->syn.outcome == IBH_SYN_SILENT   ? "silent"
                                                            : "not-asked");
    put_lladdr(json, "tcp_lladdr", pair->syn.sender, pair->syn.sender_len);
}

/* null: without --rdma. */
static void put_rdma(IbhJson *json, const IbhProbe *probe, const IbhProbePair *pair)
{
    g_autofree char *why = ibh_probe_rdma_why(probe, pair);
    const char *word = pair->rdma.outcome == IBH_RDMA_UNWANTED    ? NULL
                       : pair->rdma.outcome == IBH_RDMA_ANSWERED  ? "answered"
                       : pair->rdma.outcome == IBH_RDMA_SILENT    ? "silent"
                       : pair->rdma.outcome == IBH_RDMA_NO_DEVICE ? "no-device"
                                                                  : "not-asked";

    ibh_json_string(json, "rdma", word);
    ibh_json_string(json, "rdma_why", why);
}

static void put_pair(IbhJson *json, const IbhProbe *probe, const IbhProbePair *pair)
{
    const IbhProbeSource *source = ibh_probe_source(probe, pair);
    char ip[IBH_IP_STRLEN];

    ibh_json_open(json, NULL, '{');
    ibh_json_string(json, "iface", source->nic->link->name);
    ibh_json_string(json, "source", ibh_ip_format(&source->ip, ip));
    ibh_json_string(json, "peer", ibh_ip_format(ibh_probe_peer(probe, pair), ip));
    ibh_json_int(json, "sent", pair->sent);
    ibh_json_int(json, "received", pair->received);
    if (pair->rtt < 0)
        ibh_json_string(json, "rtt_ms", NULL);
    else
        ibh_json_milli(json, "rtt_ms", pair->rtt);
    put_link(json, "route_iface", probe->rails, pair->route.error ? 0 : pair->route.oif);
    put_link(json, "reply_iface", probe->rails, pair->reply_ifindex);
    put_lladdr(json, "peer_lladdr", pair->lladdr, pair->lladdr_len);
    put_lladdr(json, "reply_lladdr", pair->sender, pair->sender_len);
    put_answers(json, pair);
    put_size(json, pair);
    put_syn(json, pair);
    put_rdma(json, probe, pair);
    put_faults(json, pair);
    ibh_json_bool(json, "ok", !pair->faults);
    ibh_json_close(json, '}');
}

static void put_unasked(IbhJson *json, const IbhProbe *probe)
{
    char ip[IBH_IP_STRLEN];

    ibh_json_open(json, "unasked", '[');
    for (guint peer = 0; peer < probe->peers->len; peer++) {
        IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
            const char *why = ibh_probe_why_unasked(probe, nic, peer);

            if (!why)
                continue;
            ibh_json_open(json, NULL, '{');
            ibh_json_string(json, "iface", nic->link->name);
            ibh_json_string(json, "peer", ibh_ip_format(&g_array_index(probe->peers, IbhIp, peer), ip));
            ibh_json_string(json, "reason", why);
            ibh_json_close(json, '}');
        }
    }
    ibh_json_close(json, ']');
}

static char *probe(const IbhReport *report, const IbhStyle *style)
{
    IbhJson *json = ibh_json_new();
    char ip[IBH_IP_STRLEN];

    (void)style;
    ibh_json_open(json, NULL, '{');
    ibh_json_bool(json, "ok", ibh_findings_are_ok(report->findings, NULL));
    ibh_json_open(json, "pairs", '[');
    IBH_EACH (const IbhProbePair, pair, report->probe->pairs)
        put_pair(json, report->probe, pair);
    ibh_json_close(json, ']');
    put_unasked(json, report->probe);
    ibh_json_open(json, "own", '[');
    IBH_EACH (const IbhIp, own, report->probe->own)
        ibh_json_string(json, NULL, ibh_ip_format(own, ip));
    ibh_json_close(json, ']');
    put_findings(json, report);
    ibh_json_close(json, '}');
    return ibh_json_finish(json);
}

static char *error(int status, const char *message)
{
    IbhJson *json = ibh_json_new();

    ibh_json_open(json, NULL, '{');
    ibh_json_bool(json, "ok", FALSE);
    put_error(json, status, message);
    ibh_json_close(json, '}');
    return ibh_json_finish(json);
}

const IbhWriter ibh_json_writer = {
    .show = check, .check = check, .plan = plan, .change = change, .probe = probe, .error = error};
