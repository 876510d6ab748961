/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report for programs: one line of JSON. */
#include "cli/report.h"

#include "plan/want.h"

#include <linux/if_arp.h>
#include <string.h>

void ibh_put_quoted(GString *out, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);

    g_string_append_c(out, '"');
    for (const char *at = valid; *at; at++) {
        guchar c = (guchar)*at;

        if (c == '"' || c == '\\')
            g_string_append_printf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            g_string_append_printf(out, "\\u%04x", c);
        else
            g_string_append_c(out, (char)c);
    }
    g_string_append_c(out, '"');
}

/* ---- values, each with its key, or (NULL) in a list ---- */

/* As it stands: a number, or the beginning of a list or object, which its writer ends. */
G_GNUC_PRINTF(3, 4) static void put(GString *out, const char *key, const char *format, ...)
{
    va_list args;

    if (!strchr("{[", out->str[out->len - 1]))
        g_string_append_c(out, ',');
    if (key)
        g_string_append_printf(out, "\"%s\":", key);
    va_start(args, format);
    g_string_append_vprintf(out, format, args);
    va_end(args);
}

static void put_flag(GString *out, const char *key, gboolean flag)
{
    put(out, key, "%s", flag ? "true" : "false");
}

/* Any bytes; NULL: null. */
static void put_text(GString *out, const char *key, const char *text)
{
    put(out, key, "%s", text ? "" : "null");
    if (text)
        ibh_put_quoted(out, text);
}

static void put_texts(GString *out, const char *key, const GPtrArray *texts)
{
    put(out, key, "[");
    IBH_EACH_POINTER (const char, text, texts)
        put_text(out, NULL, text);
    g_string_append_c(out, ']');
}

/* ---- NICs ---- */

static void put_nic(GString *out, const IbhReport *report, const IbhNic *nic)
{
    const IbhManager *manager = ibh_snapshot_manager(report->rails->snapshot, nic->link->ifindex);
    const IbhLink *link = nic->link;
    g_autoptr(GPtrArray) addresses = ibh_told_addresses(nic);

    put(out, NULL, "{");
    put_text(out, "iface", link->name);
    put(out, "ifindex", "%d", link->ifindex);
    put_text(out, "type", link->type == ARPHRD_INFINIBAND ? "infiniband" : "ethernet");
    put_text(out, "rdma", link->rdma[0] ? link->rdma : NULL);
    put_texts(out, "addresses", addresses);
    if (nic->status == IBH_NIC_RAIL) {
        put(out, "table", "%u", nic->table);
        put_text(out, "main", ibh_spread_has(report->rails, nic) ? "spread" : "keep");
    }
    put_text(out, "manager", manager ? manager->name : NULL);
    put_text(out, "connection", manager ? manager->connection : NULL);
    put_text(out, "why", nic->why);
    put_flag(out, "ok", ibh_findings_worst(report->findings, link->name) == IBH_INFO);
    g_string_append_c(out, '}');
}

static void put_missing(GString *out, const IbhMissed *missed)
{
    g_autoptr(GDateTime) since = missed->known.since ? g_date_time_new_from_unix_utc(missed->known.since) : NULL;
    g_autofree char *text = since ? g_date_time_format(since, "%Y-%m-%dT%H:%M:%SZ") : NULL;

    put(out, NULL, "{");
    put_text(out, "iface", missed->known.iface);
    put_text(out, "since", text);
    put_text(out, "why", ibh_missing_text(missed->why));
    g_string_append_c(out, '}');
}

/* --show and --check */
static void put_look(GString *out, const IbhReport *report)
{
    for (int rail = TRUE; rail >= FALSE; rail--) {
        put(out, rail ? "rails" : "others", "[");
        IBH_EACH_POINTER (const IbhNic, nic, report->nics[rail])
            put_nic(out, report, nic);
        g_string_append_c(out, ']');
    }
    put(out, "missing", "[");
    IBH_EACH (const IbhMissed, missed, report->missed)
        put_missing(out, missed);
    g_string_append_c(out, ']');
}

/* ---- findings, operations, errors ---- */

static void put_findings(GString *out, const GPtrArray *findings)
{
    put(out, "findings", "[");
    IBH_EACH_POINTER (const IbhFinding, finding, findings) {
        put(out, NULL, "{");
        put_texts(out, "ifaces", finding->ifaces);
        put_text(out, "severity", ibh_severity_name(finding->severity));
        put_text(out, "code", finding->code);
        put_text(out, "owner", finding->owner);
        put_text(out, "message", finding->message);
        put_text(out, "fix", finding->fix);
        put_text(out, "advice", finding->advice);
        g_string_append_c(out, '}');
    }
    g_string_append_c(out, ']');
}

static void put_error(GString *out, int status, const char *message)
{
    put(out, "error", "{");
    put(out, "exit", "%d", status);
    put_text(out, "message", message);
    g_string_append_c(out, '}');
}

static void put_changes(GString *out, const IbhReport *report)
{
    put_flag(out, "changed", report->ops->len > 0);
    put(out, "operations", "[");
    IBH_EACH_POINTER (const IbhOp, op, report->ops) {
        g_autofree char *command = ibh_op_command(op);

        put(out, NULL, "{");
        put_text(out, "iface", op->iface);
        put_text(out, "op", ibh_op_name(op->type));
        put_text(out, "command", command);
        put_text(out, "why", op->why);
        g_string_append_c(out, '}');
    }
    g_string_append_c(out, ']');
    if (report->failed) {
        g_autofree char *message = ibh_join(report->errors, "\n");

        put_error(out, IBH_EXIT_SYSTEM, message);
    }
}

/* ---- --probe ---- */

static void put_ip(GString *out, const char *key, const IbhIp *ip)
{
    char text[IBH_IP_STRLEN];

    put_text(out, key, ibh_ip_format(ip, text));
}

static void put_link(GString *out, const char *key, const IbhProbe *probe, int ifindex)
{
    const IbhLink *link = ifindex ? ibh_snapshot_link(probe->rails->snapshot, ifindex) : NULL;

    put_text(out, key, link ? link->name : NULL);
}

static void put_lladdr(GString *out, const char *key, const IbhLladdr *lladdr)
{
    g_autofree char *text = ibh_lladdr_format(lladdr);

    put_text(out, key, text);
}

static void put_pair(GString *out, const IbhProbe *probe, const IbhProbePair *pair)
{
    const IbhProbeSource *source = ibh_probe_source(probe, pair);
    g_autoptr(GPtrArray) problems = ibh_probe_problems(pair);
    const guint mtu = pair->mtu.fragment ? MIN(pair->mtu.fragment, pair->mtu.passed) : pair->mtu.passed;
    const int ok = ibh_told_ok(pair);

    put(out, NULL, "{");
    put_text(out, "iface", source->nic->link->name);
    put_ip(out, "source", &source->ip);
    put_ip(out, "peer", ibh_probe_peer(probe, pair));
    put(out, "sent", "%d", pair->sent);
    put(out, "received", "%d", pair->received);
    put(out, "rtt_ms", pair->rtt < 0 ? "null" : "%.3f", (double)pair->rtt / 1000);
    put_link(out, "route_iface", probe, pair->route.error ? 0 : pair->route.oif);
    put_link(out, "reply_iface", probe, pair->reply_ifindex);
    put_lladdr(out, "peer_lladdr", &pair->lladdr);
    put_lladdr(out, "reply_lladdr", &pair->sender);
    put_lladdr(out, "tcp_lladdr", &pair->syn_sender);
    put(out, "arp", "[");
    for (guint i = 0; i < pair->answers; i++)
        put_lladdr(out, NULL, &pair->answer[i]);
    g_string_append_c(out, ']');
    put(out, "path_mtu", mtu ? "%u" : "null", mtu);
    put_text(out, "rdma", ibh_told_rdma(probe, pair));
    put_texts(out, "problems", problems);
    put(out, "ok", "%s", ok < 0 ? "null" : ok ? "true" : "false");
    if (ok < 0)
        put_text(out, "reason", "which hosts answered is not known");
    g_string_append_c(out, '}');
}

static void put_probe(GString *out, const IbhProbe *probe)
{
    put(out, "pairs", "[");
    IBH_EACH (const IbhProbePair, pair, probe->pairs)
        put_pair(out, probe, pair);
    IBH_EACH (const IbhProbeUnasked, unasked, probe->unasked) {
        put(out, NULL, "{");
        put_text(out, "iface", unasked->nic->link->name);
        put_ip(out, "peer", &g_array_index(probe->peers, IbhIp, unasked->peer));
        put_text(out, "ok", NULL);
        put_text(out, "reason", unasked->why);
        g_string_append_c(out, '}');
    }
    g_string_append(out, "],\"own\":[");
    IBH_EACH (const IbhIp, own, probe->own)
        put_ip(out, NULL, own);
    g_string_append_c(out, ']');
}

/* ---- the whole ---- */

void ibh_write_json(GString *out, const IbhReport *report)
{
    g_string_append_c(out, '{');
    put_flag(out, "ok", ibh_report_is_ok(report));
    if (report->message)
        put_error(out, report->status, report->message);
    else if (report->ops)
        put_changes(out, report);
    else if (report->probe)
        put_probe(out, report->probe);
    else if (report->findings)
        put_look(out, report);
    if (report->findings)
        put_findings(out, report->findings);
    g_string_append(out, "}\n");
}
