/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report for programs: one line of JSON. Its schema is packaging/fleet/ib-hook.schema.json. */
#include "check/missing.h"
#include "plan/want.h"
#include "report/report.h"

#include <linux/if_arp.h>
#include <string.h>

#define FIRST_PAIR 0x10000 /* from this code point on, JSON escapes a character as two UTF-16 surrogates */

void ibh_json_put_quoted(GString *out, const char *text)
{
    g_autofree char *valid = text ? g_utf8_make_valid(text, -1) : NULL;

    g_string_append(out, valid ? "\"" : "null");
    for (char *at = valid; at && *at; at = g_utf8_next_char(at)) {
        const gunichar c = g_utf8_get_char(at);

        if (c == '"' || c == '\\')
            g_string_append_printf(out, "\\%c", (char)c);
        else if (ibh_char_is_printable(c))
            g_string_append_unichar(out, c);
        else if (c < FIRST_PAIR)
            g_string_append_printf(out, "\\u%04x", c);
        else /* a surrogate pair */
            g_string_append_printf(out, "\\u%04x\\u%04x", 0xd800 + ((c - FIRST_PAIR) >> 10), 0xdc00 + (c & 0x3ff));
    }
    g_string_append(out, valid ? "\"" : "");
}

static void json_put_lladdr(GString *out, const IbhLladdr *lladdr)
{
    g_autofree char *text = ibh_lladdr_format(lladdr);

    ibh_json_put_quoted(out, text);
}

static void json_put_texts(GString *out, const GPtrArray *texts)
{
    g_string_append_c(out, '[');
    IBH_EACH_POINTER (const char, text, texts) {
        g_string_append(out, out->str[out->len - 1] == '[' ? "" : ",");
        ibh_json_put_quoted(out, text);
    }
    g_string_append_c(out, ']');
}

/*
 * Writes members of an object, or items of a list, and the commas between them. `format` has a word for each: KEY:KIND
 * in an object, KIND in a list. "{ iface:s ifindex:u }" writes {"iface":"ib0","ifindex":5}. KIND is either a bracket
 * ({ } [ ]), which is written as it is, or the type of the next argument. Several calls may write one object: the last
 * character of `out` tells whether a comma is due. The types:
 * - s: const char *; NULL becomes null
 * - n: const char *; "" becomes null
 * - t: GPtrArray of char *
 * - i: const IbhIp *
 * - l: const IbhLladdr *; an empty one becomes null
 * - u: guint
 * - b: gboolean; a negative value becomes null
 * - d: double; a negative value becomes null
 */
static void json_put(GString *out, const char *format, ...)
{
    g_auto(GStrv) words = g_strsplit(format, " ", -1);
    char ip[IBH_IP_STRLEN];
    const char *name;
    va_list values;
    double number;
    int truth;

    va_start(values, format);
    for (char **word = words; *word; word++) {
        const char *colon = strchr(*word, ':'), *kind = colon ? colon + 1 : *word;

        if (out->len && !strchr("{[", out->str[out->len - 1]) && !strchr("}]", *kind))
            g_string_append_c(out, ',');
        if (colon)
            g_string_append_printf(out, "\"%.*s\":", (int)(colon - *word), *word);
        switch (*kind) {
        case 's':
            ibh_json_put_quoted(out, va_arg(values, const char *));
            break;
        case 'n':
            name = va_arg(values, const char *);
            ibh_json_put_quoted(out, name[0] ? name : NULL);
            break;
        case 't':
            json_put_texts(out, va_arg(values, const GPtrArray *));
            break;
        case 'i':
            ibh_json_put_quoted(out, ibh_ip_format(va_arg(values, const IbhIp *), ip));
            break;
        case 'l':
            json_put_lladdr(out, va_arg(values, const IbhLladdr *));
            break;
        case 'u':
            g_string_append_printf(out, "%u", va_arg(values, guint));
            break;
        case 'b':
            truth = va_arg(values, gboolean);
            g_string_append(out, truth < 0 ? "null" : truth ? "true" : "false");
            break;
        case 'd':
            number = va_arg(values, double);
            if (number < 0)
                g_string_append(out, "null");
            else
                g_string_append_printf(out, "%.3f", number);
            break;
        default:
            g_string_append_c(out, *kind);
        }
    }
    va_end(values);
}

/* TRUE if main=spread sends traffic without a source address through this NIC. */
static gboolean is_spread(const IbhRails *rails, const IbhNic *nic)
{
    g_autoptr(GArray) routes = IBH_NEW_ARRAY(IbhRoute), rules = IBH_NEW_ARRAY(IbhRule);
    gboolean has = FALSE;
    IbhRoute part;

    ibh_want_spread(rails, routes, rules);
    IBH_EACH (const IbhRoute, route, routes)
        has |= ibh_route_part(route, nic->link->ifindex, &part);
    return has;
}

static void json_put_nic(const IbhReport *report, const IbhNic *nic)
{
    const IbhManager *manager = ibh_facts_manager(report->facts, nic->link->ifindex);
    const IbhLink *link = nic->link;
    g_autoptr(GPtrArray) addresses = ibh_report_addresses(report, nic, IBH_ADDRESSES_ALL);
    g_autofree char *why = ibh_nic_why(nic);

    json_put(report->out, "{ iface:s ifindex:u type:s rdma:n addresses:t", link->name, link->ifindex,
             link->type == ARPHRD_INFINIBAND ? "infiniband" : "ethernet", link->rdma, addresses);
    if (nic->status == IBH_NIC_RAIL) {
        g_autoptr(GPtrArray) unchecked = ibh_report_addresses(report, nic, IBH_ADDRESSES_UNCHECKED);

        json_put(report->out, "table:u main:s unchecked:t", nic->table,
                 is_spread(report->rails, nic) ? "spread" : "keep", unchecked);
    }
    json_put(report->out, "manager:s connection:s why:s ok:b }", manager ? manager->name : NULL,
             manager ? manager->connection : NULL, why, !ibh_findings_worst(report->findings, link->name));
}

static void json_put_show_or_check(const IbhReport *report)
{
    json_put(report->out, "rails:[");
    IBH_EACH_POINTER (const IbhNic, nic, report->shown_rails)
        json_put_nic(report, nic);
    json_put(report->out, "] others:[");
    IBH_EACH_POINTER (const IbhNic, nic, report->shown_others)
        json_put_nic(report, nic);
    json_put(report->out, "] missing:[");
    IBH_EACH_POINTER (const IbhKnownRail, missed, report->shown_missed) {
        g_autofree char *pci = ibh_known_pci(missed);
        g_autoptr(GDateTime) since = missed->since ? g_date_time_new_from_unix_utc(missed->since) : NULL;
        g_autofree char *time = since ? g_date_time_format(since, "%Y-%m-%dT%H:%M:%SZ") : NULL;

        json_put(report->out, "{ iface:s rdma:n pci:s mac:n manager:s since:s why:s }", ibh_known_name(missed),
                 missed->port, pci, missed->hardware, ibh_known_manager(report->facts, missed), time,
                 ibh_missing_text(missed->why));
    }
    json_put(report->out, "]");
}

/* Returns the name of the link with this index; NULL if there is none. */
static const char *name_link(const IbhProbe *probe, int ifindex)
{
    const IbhLink *link = ifindex ? ibh_snapshot_link(probe->rails->snapshot, ifindex) : NULL;

    return link ? link->name : NULL;
}

static void json_put_pair(GString *out, const IbhProbe *probe, const IbhProbePair *pair)
{
    const IbhProbeSource *source = ibh_probe_source(pair);
    g_autoptr(GPtrArray) problems = ibh_probe_problems(pair);
    /* If replies come in fragments, a packet longer than the fragments does not pass in one piece. */
    const guint size = pair->mtu.fragment ? MIN(pair->mtu.fragment, pair->mtu.passed) : pair->mtu.passed;
    const int ok = ibh_pair_verdict(pair);

    json_put(out, "{ iface:s source:i peer:i sent:u received:u rtt_ms:d route_iface:s reply_iface:s",
             source->nic->link->name, &source->ip, ibh_probe_peer(pair), pair->sent, pair->received,
             (double)pair->rtt / 1000, name_link(probe, pair->route.error ? 0 : pair->route.oif),
             name_link(probe, pair->reply_ifindex));
    json_put(out, "peer_lladdr:l reply_lladdr:l tcp_lladdr:l arp:[",
             ibh_probe_is_direct(pair) ? &pair->hop->lladdr : &(IbhLladdr){0}, &pair->sender, &pair->syn_sender);
    for (guint i = 0; pair->hop && i < pair->hop->n_claims; i++)
        json_put(out, "l", &pair->hop->claims[i].lladdr);
    if (size)
        json_put(out, "] path_mtu:u", size);
    else
        json_put(out, "] path_mtu:b", -1); /* null */
    json_put(out, "rdma:s problems:t stage:s ok:b", ibh_pair_rdma_text(probe, pair), problems, ibh_probe_stage(pair),
             ok);
    if (ok < 0)
        json_put(out, "reason:s", "which hosts answered is not known");
    json_put(out, "}");
}

static void json_put_probe(const IbhReport *report)
{
    const IbhProbe *probe = report->probe;
    const GArray *const without_result[] = {probe->unasked, probe->unfinished};

    json_put(report->out, "pairs:[");
    IBH_EACH (const IbhProbePair, pair, probe->pairs)
        json_put_pair(report->out, probe, pair);
    for (guint i = 0; i < G_N_ELEMENTS(without_result); i++) {
        IBH_EACH (const IbhProbeUnasked, unasked, without_result[i])
            json_put(report->out, "{ iface:s peer:i ok:b reason:s }", unasked->nic->link->name,
                     &g_array_index(probe->peers, IbhIp, unasked->peer), -1, unasked->why);
    }
    json_put(report->out, "] own:[");
    IBH_EACH (const IbhIp, own, probe->own)
        json_put(report->out, "i", own);
    json_put(report->out, "]");
}

static void json_put_changes(const IbhReport *report)
{
    json_put(report->out, "changed:b operations:[", report->ops->len > 0);
    IBH_EACH_POINTER (const IbhOp, op, report->ops) {
        g_autofree char *command = ibh_op_command(op), *why = ibh_op_why(report->rails, op);

        json_put(report->out, "{ iface:s op:s command:s why:s }", op->iface, ibh_op_name(op->type), command, why);
    }
    json_put(report->out, "]");
    if (report->failed) {
        g_autofree char *message = ibh_texts_join(report->errors, "\n");

        json_put(report->out, "error:{ exit:u message:s }", IBH_EXIT_SYSTEM, message);
    }
}

void ibh_report_json(const IbhReport *report)
{
    json_put(report->out, "{ ok:b", ibh_report_is_ok(report));
    if (report->message)
        json_put(report->out, "error:{ exit:u message:s }", report->status, report->message);
    else if (report->ops)
        json_put_changes(report);
    else if (!report->findings)
        json_put(report->out, "confirmed:b", TRUE);
    else {
        (report->probe ? json_put_probe : json_put_show_or_check)(report);
        json_put(report->out, "findings:[");
        IBH_EACH_POINTER (const IbhFinding, finding, report->findings)
            json_put(report->out, "{ ifaces:t severity:s code:s owner:s message:s fix:s advice:s }", finding->ifaces,
                     ibh_severity_name(finding->severity), finding->code, finding->owner, finding->message,
                     finding->fix, finding->advice);
        json_put(report->out, "]");
    }
    json_put(report->out, "}");
    g_string_append_c(report->out, '\n');
}
