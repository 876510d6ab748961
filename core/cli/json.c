/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report for programs: one line of JSON. */
#include "cli/cli.h"

#include "plan/want.h"

#include <linux/if_arp.h>
#include <string.h>

#define FIRST_PAIR 0x10000

void ibh_json_put_quoted(GString *out, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);

    g_string_append_c(out, '"');
    for (char *at = valid; *at; at = g_utf8_next_char(at)) {
        const gunichar c = g_utf8_get_char(at);

        if (c == '"' || c == '\\')
            g_string_append_printf(out, "\\%c", (char)c);
        else if (ibh_char_is_printable(c))
            g_string_append_unichar(out, c);
        else if (c < FIRST_PAIR)
            g_string_append_printf(out, "\\u%04x", c);
        else /* as UTF-16 has it */
            g_string_append_printf(out, "\\u%04x\\u%04x", 0xd800 + ((c - FIRST_PAIR) >> 10), 0xdc00 + (c & 0x3ff));
    }
    g_string_append_c(out, '"');
}

/* ---- objects, by a format: KEY:KIND for each value, :KIND for one in a list; brackets stand for themselves ---- */

/* From what stands before it in the same list or object. */
static void separate(GString *out)
{
    if (out->len && !strchr("{[", out->str[out->len - 1]))
        g_string_append_c(out, ',');
}

static void put_texts(GString *out, const GPtrArray *texts)
{
    g_string_append_c(out, '[');
    IBH_EACH_POINTER (const char, text, texts) {
        separate(out);
        ibh_json_put_quoted(out, text);
    }
    g_string_append_c(out, ']');
}

/* s is a text of any bytes, a list of these, v what is JSON already; NULL: null. */
static void put_value(GString *out, char kind, const void *value)
{
    if (!value || kind == 'v')
        g_string_append(out, value ? value : "null");
    else if (kind == 's')
        ibh_json_put_quoted(out, value);
    else
        put_texts(out, value);
}

/* Beside those, u is a number, b a truth. */
static void put_all(GString *out, const char *format, va_list args)
{
    for (const char *at = format; *at; at++) {
        const gsize key = strcspn(at, ":{}[] ");

        if (*at == ' ')
            continue;
        if (!strchr("}]", *at))
            separate(out);
        if (key)
            g_string_append_printf(out, "\"%.*s\":", (int)key, at);
        at += at[key] == ':' ? key + 1 : 0;
        if (strchr("{}[]", *at))
            g_string_append_c(out, *at);
        else if (*at == 'u')
            g_string_append_printf(out, "%u", va_arg(args, guint));
        else if (*at == 'b')
            g_string_append(out, va_arg(args, gboolean) ? "true" : "false");
        else
            put_value(out, *at, va_arg(args, const void *));
    }
}

static void put(GString *out, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    put_all(out, format, args);
    va_end(args);
}

/* ---- NICs ---- */

static void put_nic(GString *out, const IbhReport *report, const IbhNic *nic)
{
    const IbhManager *manager = ibh_snapshot_manager(report->rails->snapshot, nic->link->ifindex);
    const IbhLink *link = nic->link;
    g_autoptr(GPtrArray) addresses = ibh_nic_address_texts(nic);

    put(out, "{iface:s ifindex:u type:s rdma:s addresses:a", link->name, link->ifindex,
        link->type == ARPHRD_INFINIBAND ? "infiniband" : "ethernet", link->rdma[0] ? link->rdma : NULL, addresses);
    if (nic->status == IBH_NIC_RAIL)
        put(out, "table:u main:s", nic->table, ibh_spread_has(report->rails, nic) ? "spread" : "keep");
    put(out, "manager:s connection:s why:s ok:b}", manager ? manager->name : NULL, manager ? manager->connection : NULL,
        nic->why, !ibh_findings_worst(report->findings, link->name));
}

/* --show and --check */
static void put_look(GString *out, const IbhReport *report)
{
    for (int rail = TRUE; rail >= FALSE; rail--) {
        put(out, rail ? "rails:[" : "others:[");
        IBH_EACH_POINTER (const IbhNic, nic, report->nics[rail])
            put_nic(out, report, nic);
        put(out, "]");
    }
    put(out, "missing:[");
    IBH_EACH (const IbhKnownRail, missed, report->missed) {
        g_autofree char *pci = ibh_known_pci(missed);
        g_autoptr(GDateTime) since = missed->since ? g_date_time_new_from_unix_utc(missed->since) : NULL;
        g_autofree char *text = since ? g_date_time_format(since, "%Y-%m-%dT%H:%M:%SZ") : NULL;

        put(out, "{iface:s rdma:s pci:s mac:s manager:s since:s why:s}", missed->iface,
            missed->port[0] ? missed->port : NULL, pci, missed->hardware[0] ? missed->hardware : NULL,
            ibh_known_manager(report->rails->snapshot, missed), text, ibh_missing_text(missed->why));
    }
    put(out, "]");
}

/* ---- findings, operations, errors ---- */

#define ERROR "error:{exit:u message:s}"

static void put_findings(GString *out, const GPtrArray *findings)
{
    put(out, "findings:[");
    IBH_EACH_POINTER (const IbhFinding, finding, findings)
        put(out, "{ifaces:a severity:s code:s owner:s message:s fix:s advice:s}", finding->ifaces,
            ibh_severity_name(finding->severity), finding->code, finding->owner, finding->message, finding->fix,
            finding->advice);
    put(out, "]");
}

static void put_changes(GString *out, const IbhReport *report)
{
    put(out, "changed:b operations:[", report->ops->len > 0);
    IBH_EACH_POINTER (const IbhOp, op, report->ops) {
        g_autofree char *command = ibh_op_command(op);

        put(out, "{iface:s op:s command:s why:s}", op->iface, ibh_op_name(op->type), command, op->why);
    }
    put(out, "]");
    if (report->failed) {
        g_autofree char *message = ibh_texts_join(report->errors, "\n");

        put(out, ERROR, IBH_EXIT_SYSTEM, message);
    }
}

/* ---- --probe ---- */

static const char *name_link(const IbhProbe *probe, int ifindex)
{
    const IbhLink *link = ifindex ? ibh_snapshot_link(probe->rails->snapshot, ifindex) : NULL;

    return link ? link->name : NULL;
}

static void put_pair(GString *out, const IbhProbe *probe, const IbhProbePair *pair)
{
    const IbhProbeSource *source = ibh_probe_source(pair);
    g_autoptr(GPtrArray) problems = ibh_probe_problems(pair);
    const guint size = pair->mtu.fragment ? MIN(pair->mtu.fragment, pair->mtu.passed) : pair->mtu.passed;
    g_autofree char *mtu = size ? g_strdup_printf("%u", size) : NULL;
    g_autofree char *rtt = pair->rtt < 0 ? NULL : g_strdup_printf("%.3f", (double)pair->rtt / 1000);
    g_autofree char *to = ibh_lladdr_format(&pair->lladdr), *from = ibh_lladdr_format(&pair->sender);
    g_autofree char *tcp = ibh_lladdr_format(&pair->syn_sender);
    const int ok = ibh_pair_verdict(pair);
    char own[IBH_IP_STRLEN], peer[IBH_IP_STRLEN];

    put(out, "{iface:s source:s peer:s sent:u received:u rtt_ms:v", source->nic->link->name,
        ibh_ip_format(&source->ip, own), ibh_ip_format(ibh_probe_peer(pair), peer), pair->sent, pair->received, rtt);
    put(out, "route_iface:s reply_iface:s peer_lladdr:s reply_lladdr:s tcp_lladdr:s arp:[",
        name_link(probe, pair->route.error ? 0 : pair->route.oif), name_link(probe, pair->reply_ifindex), to, from,
        tcp);
    for (guint i = 0; i < pair->answers; i++) {
        g_autofree char *answer = ibh_lladdr_format(&pair->answer[i]);

        put(out, ":s", answer);
    }
    put(out, "] path_mtu:v rdma:s problems:a stage:s ok:v", mtu, ibh_pair_rdma_text(probe, pair), problems,
        ibh_probe_stage(pair),
        ok < 0 ? NULL
        : ok   ? "true"
               : "false");
    if (ok < 0)
        put(out, "reason:s", "which hosts answered is not known");
    put(out, "}");
}

static void put_probe(GString *out, const IbhProbe *probe)
{
    char ip[IBH_IP_STRLEN];

    put(out, "pairs:[");
    IBH_EACH (const IbhProbePair, pair, probe->pairs)
        put_pair(out, probe, pair);
    IBH_EACH (const IbhProbeUnasked, unasked, probe->unasked)
        put(out, "{iface:s peer:s ok:v reason:s}", unasked->nic->link->name,
            ibh_ip_format(&g_array_index(probe->peers, IbhIp, unasked->peer), ip), "null", unasked->why);
    put(out, "] own:[");
    IBH_EACH (const IbhIp, own, probe->own)
        put(out, ":s", ibh_ip_format(own, ip));
    put(out, "]");
}

/* ---- the whole ---- */

void ibh_report_json(GString *out, const IbhReport *report)
{
    put(out, "{ok:b", ibh_report_is_ok(report));
    if (report->message)
        put(out, ERROR, report->status, report->message);
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
