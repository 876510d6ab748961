/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report for programs: one line of JSON. */
#include "check/missing.h"
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

/* ---- values, each behind its key; in a list the key is NULL ---- */

/* From what stands before it in the same list or object. */
static void put_key(GString *out, const char *key)
{
    if (out->len && !strchr("{[", out->str[out->len - 1]))
        g_string_append_c(out, ',');
    if (key)
        g_string_append_printf(out, "\"%s\":", key);
}

/* A bracket; end() takes its other half. */
static void begin(GString *out, const char *key, char bracket)
{
    put_key(out, key);
    g_string_append_c(out, bracket);
}

static void end(GString *out, char bracket)
{
    g_string_append_c(out, bracket);
}

static void put_null(GString *out, const char *key)
{
    put_key(out, key);
    g_string_append(out, "null");
}

static void put_number(GString *out, const char *key, guint number)
{
    put_key(out, key);
    g_string_append_printf(out, "%u", number);
}

static void put_truth(GString *out, const char *key, gboolean truth)
{
    put_key(out, key);
    g_string_append(out, truth ? "true" : "false");
}

/* Of any bytes. NULL: null */
static void put_text(GString *out, const char *key, const char *text)
{
    if (!text) {
        put_null(out, key);
        return;
    }
    put_key(out, key);
    ibh_json_put_quoted(out, text);
}

/* "": null */
static void put_name(GString *out, const char *key, const char *name)
{
    put_text(out, key, name[0] ? name : NULL);
}

static void put_texts(GString *out, const char *key, const GPtrArray *texts)
{
    begin(out, key, '[');
    IBH_EACH_POINTER (const char, text, texts)
        put_text(out, NULL, text);
    end(out, ']');
}

static void put_ip(GString *out, const char *key, const IbhIp *ip)
{
    char text[IBH_IP_STRLEN];

    put_text(out, key, ibh_ip_format(ip, text));
}

static void put_lladdr(GString *out, const char *key, const IbhLladdr *lladdr)
{
    g_autofree char *text = ibh_lladdr_format(lladdr);

    put_text(out, key, text);
}

/* ---- NICs ---- */

/* main=spread: unbound traffic leaves through this NIC, too. */
static gboolean is_spread(const IbhRails *rails, const IbhNic *nic)
{
    g_autoptr(GArray) routes = IBH_NEW_ARRAY(IbhRoute), rules = IBH_NEW_ARRAY(IbhRule);
    gboolean has = FALSE;

    ibh_want_spread(rails, routes, rules);
    IBH_EACH (const IbhRoute, route, routes) {
        IBH_EACH_HOP (hop, route)
            has |= hop->ifindex == nic->link->ifindex;
    }
    return has;
}

static void put_nic(GString *out, const IbhReport *report, const IbhNic *nic)
{
    const IbhManager *manager = ibh_facts_manager(report->facts, nic->link->ifindex);
    const IbhLink *link = nic->link;
    g_autoptr(GPtrArray) addresses = ibh_nic_address_texts(nic);
    g_autofree char *why = ibh_nic_why(nic);

    begin(out, NULL, '{');
    put_text(out, "iface", link->name);
    put_number(out, "ifindex", (guint)link->ifindex);
    put_text(out, "type", link->type == ARPHRD_INFINIBAND ? "infiniband" : "ethernet");
    put_name(out, "rdma", link->rdma);
    put_texts(out, "addresses", addresses);
    if (nic->status == IBH_NIC_RAIL) {
        g_autoptr(GPtrArray) unchecked = ibh_report_unchecked(report, nic);

        put_number(out, "table", nic->table);
        put_text(out, "main", is_spread(report->rails, nic) ? "spread" : "keep");
        put_texts(out, "unchecked", unchecked);
    }
    put_text(out, "manager", manager ? manager->name : NULL);
    put_text(out, "connection", manager ? manager->connection : NULL);
    put_text(out, "why", why);
    put_truth(out, "ok", !ibh_findings_worst(report->findings, link->name));
    end(out, '}');
}

static void put_missed(GString *out, const IbhReport *report, const IbhKnownRail *missed)
{
    g_autofree char *pci = ibh_known_pci(missed);
    g_autoptr(GDateTime) since = missed->since ? g_date_time_new_from_unix_utc(missed->since) : NULL;
    g_autofree char *time = since ? g_date_time_format(since, "%Y-%m-%dT%H:%M:%SZ") : NULL;

    begin(out, NULL, '{');
    put_text(out, "iface", missed->iface);
    put_name(out, "rdma", missed->port);
    put_text(out, "pci", pci);
    put_name(out, "mac", missed->hardware);
    put_text(out, "manager", ibh_known_manager(report->facts, missed));
    put_text(out, "since", time);
    put_text(out, "why", ibh_missing_text(missed->why));
    end(out, '}');
}

/* --show and --check */
static void put_look(const IbhReport *report)
{
    GString *out = report->out;

    for (int rail = TRUE; rail >= FALSE; rail--) {
        begin(out, rail ? "rails" : "others", '[');
        IBH_EACH_POINTER (const IbhNic, nic, report->nics[rail])
            put_nic(out, report, nic);
        end(out, ']');
    }
    begin(out, "missing", '[');
    IBH_EACH (const IbhKnownRail, missed, report->missed)
        put_missed(out, report, missed);
    end(out, ']');
}

/* ---- findings, operations, errors ---- */

static void put_findings(const IbhReport *report)
{
    GString *out = report->out;

    begin(out, "findings", '[');
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        begin(out, NULL, '{');
        put_texts(out, "ifaces", finding->ifaces);
        put_text(out, "severity", ibh_severity_name(finding->severity));
        put_text(out, "code", finding->code);
        put_text(out, "owner", finding->owner);
        put_text(out, "message", finding->message);
        put_text(out, "fix", finding->fix);
        put_text(out, "advice", finding->advice);
        end(out, '}');
    }
    end(out, ']');
}

static void put_exit(GString *out, int status, const char *message)
{
    begin(out, "error", '{');
    put_number(out, "exit", (guint)status);
    put_text(out, "message", message);
    end(out, '}');
}

static void put_error(const IbhReport *report)
{
    put_exit(report->out, report->status, report->message);
}

static void put_changes(const IbhReport *report)
{
    GString *out = report->out;

    put_truth(out, "changed", report->ops->len > 0);
    begin(out, "operations", '[');
    IBH_EACH_POINTER (const IbhOp, op, report->ops) {
        g_autofree char *command = ibh_op_command(op), *why = ibh_op_why(report->rails, op);

        begin(out, NULL, '{');
        put_text(out, "iface", op->iface);
        put_text(out, "op", ibh_op_name(op->type));
        put_text(out, "command", command);
        put_text(out, "why", why);
        end(out, '}');
    }
    end(out, ']');
    if (report->failed) {
        g_autofree char *message = ibh_texts_join(report->errors, "\n");

        put_exit(out, IBH_EXIT_SYSTEM, message);
    }
}

/* ---- --probe ---- */

/* NULL: none */
static const char *name_link(const IbhProbe *probe, int ifindex)
{
    const IbhLink *link = ifindex ? ibh_snapshot_link(probe->rails->snapshot, ifindex) : NULL;

    return link ? link->name : NULL;
}

/* What answered: how often, through which NICs, and from which addresses of the wire. */
static void put_answers(GString *out, const IbhProbe *probe, const IbhProbePair *pair)
{
    put_number(out, "sent", (guint)pair->sent);
    put_number(out, "received", (guint)pair->received);
    put_key(out, "rtt_ms");
    if (pair->rtt < 0)
        g_string_append(out, "null");
    else
        g_string_append_printf(out, "%.3f", (double)pair->rtt / 1000);
    put_text(out, "route_iface", name_link(probe, pair->route.error ? 0 : pair->route.oif));
    put_text(out, "reply_iface", name_link(probe, pair->reply_ifindex));
    put_lladdr(out, "peer_lladdr", ibh_probe_is_direct(pair) ? &pair->hop->lladdr : &(IbhLladdr){0});
    put_lladdr(out, "reply_lladdr", &pair->sender);
    put_lladdr(out, "tcp_lladdr", &pair->syn_sender);
    begin(out, "arp", '[');
    for (guint i = 0; pair->hop && i < pair->hop->n_claims; i++)
        put_lladdr(out, NULL, &pair->hop->claims[i].lladdr);
    end(out, ']');
}

static void put_pair(GString *out, const IbhProbe *probe, const IbhProbePair *pair)
{
    const IbhProbeSource *source = ibh_probe_source(pair);
    g_autoptr(GPtrArray) problems = ibh_probe_problems(pair);
    const guint size = pair->mtu.fragment ? MIN(pair->mtu.fragment, pair->mtu.passed) : pair->mtu.passed;
    const int ok = ibh_pair_verdict(pair);

    begin(out, NULL, '{');
    put_text(out, "iface", source->nic->link->name);
    put_ip(out, "source", &source->ip);
    put_ip(out, "peer", ibh_probe_peer(pair));
    put_answers(out, probe, pair);
    if (size)
        put_number(out, "path_mtu", size);
    else
        put_null(out, "path_mtu");
    put_text(out, "rdma", ibh_pair_rdma_text(probe, pair));
    put_texts(out, "problems", problems);
    put_text(out, "stage", ibh_probe_stage(pair));
    if (ok >= 0) {
        put_truth(out, "ok", ok);
    } else {
        put_null(out, "ok");
        put_text(out, "reason", "which hosts answered is not known");
    }
    end(out, '}');
}

static void put_unasked(GString *out, const IbhProbe *probe, const GArray *all)
{
    IBH_EACH (const IbhProbeUnasked, unasked, all) {
        begin(out, NULL, '{');
        put_text(out, "iface", unasked->nic->link->name);
        put_ip(out, "peer", &g_array_index(probe->peers, IbhIp, unasked->peer));
        put_null(out, "ok");
        put_text(out, "reason", unasked->why);
        end(out, '}');
    }
}

static void put_probe(const IbhReport *report)
{
    const IbhProbe *probe = report->probe;
    GString *out = report->out;

    begin(out, "pairs", '[');
    IBH_EACH (const IbhProbePair, pair, probe->pairs)
        put_pair(out, probe, pair);
    put_unasked(out, probe, probe->unasked);
    put_unasked(out, probe, probe->unfinished);
    end(out, ']');
    begin(out, "own", '[');
    IBH_EACH (const IbhIp, own, probe->own)
        put_ip(out, NULL, own);
    end(out, ']');
}

/* ---- the whole ---- */

static void put_begin(const IbhReport *report)
{
    begin(report->out, NULL, '{');
    put_truth(report->out, "ok", ibh_report_is_ok(report));
}

static void put_end(const IbhReport *report)
{
    end(report->out, '}');
    g_string_append_c(report->out, '\n');
}

static void put_confirmed(const IbhReport *report)
{
    put_truth(report->out, "confirmed", TRUE);
}

void ibh_report_json(const IbhReport *report)
{
    static const IbhLanguage language = {.begin = put_begin,
                                         .error = put_error,
                                         .changes = put_changes,
                                         .probe = put_probe,
                                         .look = put_look,
                                         .findings = put_findings,
                                         .confirmed = put_confirmed,
                                         .end = put_end};

    ibh_report_walk(report, &language);
}
