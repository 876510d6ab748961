/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/verdict.h"

#include <string.h>
#include <sys/socket.h>

#define NAMED IBH_PROBE_NAMED

static void clear_charge(gpointer data)
{
    IbhProbeCharge *charge = data;

    g_free(charge->why);
    g_free(charge->fix);
    g_free(charge->advice);
}

GArray *ibh_probe_charges_new(void)
{
    GArray *charges = g_array_new(FALSE, TRUE, sizeof(IbhProbeCharge));

    g_array_set_clear_func(charges, clear_charge);
    return charges;
}

void ibh_probe_charge(GArray *charges, const IbhProbeCharge *what)
{
    g_array_append_vals(charges, what, 1);
}

/* ---- names ---- */

static void add_name(GString *names, guint n, guint max, const char *name)
{
    if (n <= max)
        g_string_append_printf(names, "%s%s", n > 1 ? ", " : "", name);
}

static char *end_names(GString *names, guint n, guint max, guint unnamed)
{
    if (n > max)
        g_string_append_printf(names, " and %u more", unnamed);
    return g_string_free(names, FALSE);
}

/* The one after the other, in the part behind the last dot or colon. */
static gboolean follows(const IbhIp *ip, const IbhIp *before)
{
    const guint length = ip->family == AF_INET6 ? 16 : 4, part = ip->family == AF_INET6 ? 2 : 1;
    guint one = 0, other = 0;

    for (guint i = length - part; i < length; i++) {
        one = one << 8 | before->bytes[i];
        other = other << 8 | ip->bytes[i];
    }
    return ip->family == before->family && memcmp(ip->bytes, before->bytes, length - part) == 0 && other == one + 1;
}

static char *name_range(const IbhIp *first, const IbhIp *last)
{
    char from[IBH_IP_STRLEN], to[IBH_IP_STRLEN];

    ibh_ip_format(first, from);
    ibh_ip_format(last, to);
    if (first == last)
        return g_strdup(from);
    return g_strdup_printf("%s-%s", from, strrchr(to, first->family == AF_INET6 ? ':' : '.'));
}

char *ibh_probe_name_peers(const GArray *peers, guint max)
{
    GString *names = g_string_new(NULL);
    guint n = 0, named = 0;

    for (guint i = 0, end; i < peers->len; i = end) {
        const IbhIp *ips = (const IbhIp *)(gconstpointer)peers->data;
        g_autofree char *name = NULL;

        for (end = i + 1; end < peers->len && follows(&ips[end], &ips[end - 1]);)
            end++;
        name = name_range(&ips[i], &ips[end - 1]);
        add_name(names, ++n, max, name);
        named = n <= max ? end : named;
    }
    return end_names(names, n, max, peers->len - named);
}

/* ---- who is at fault ---- */

/* The pairs of one cause. */
typedef struct {
    IbhProbe *probe;
    const IbhProbeCharge *charge;    /* the first of them */
    gboolean *has;                   /* by pair */
    guint *by_peer, *by_nic;         /* how many of them have it */
    const guint *peer_all, *nic_all; /* how many could */
} Cause;

static guint nic_of(const IbhProbe *probe, const IbhProbePair *pair)
{
    guint at = 0;

    g_ptr_array_find(probe->nics, ibh_probe_source(probe, pair)->nic, &at);
    return at;
}

/* All rails that could tell have it, and they are more than one. */
static gboolean is_of_peer(const Cause *cause, guint peer)
{
    return cause->by_peer[peer] &&
           (cause->charge->place == IBH_AT_PEER || (cause->charge->place == IBH_AT_EITHER && cause->by_peer[peer] > 1 &&
                                                    cause->by_peer[peer] >= cause->peer_all[peer]));
}

static gboolean is_of_nic(const Cause *cause, guint nic)
{
    return cause->by_nic[nic] && (cause->charge->place == IBH_AT_HOME ||
                                  (cause->by_nic[nic] > 1 && cause->by_nic[nic] >= cause->nic_all[nic]));
}

static IbhRemedy remedy(const Cause *cause, gboolean at_peer)
{
    if (at_peer && cause->charge->peer_advice)
        return ibh_advice("%s", cause->charge->peer_advice);
    return cause->charge->fix ? ibh_fix(g_strdup(cause->charge->fix)) : ibh_advice("%s", cause->charge->advice);
}

static void report_peers(Cause *cause)
{
    IbhProbe *probe = cause->probe;
    g_autoptr(GArray) peers = g_array_new(FALSE, FALSE, sizeof(IbhIp));
    g_autofree char *names = NULL;
    gboolean all = cause->charge->place == IBH_AT_EITHER;
    guint n = 0;

    for (guint i = 0; i < probe->pairs->len; i++) {
        const IbhProbePair *pair = ibh_probe_pair(probe, i);

        if (!cause->has[i] || !is_of_peer(cause, pair->peer))
            continue;
        n++;
        cause->has[i] = FALSE;
        if (!peers->len || !ibh_ip_equal(&g_array_index(peers, IbhIp, peers->len - 1), ibh_probe_peer(probe, pair)))
            g_array_append_val(peers, *ibh_probe_peer(probe, pair));
    }
    if (!n)
        return;
    names = ibh_probe_name_peers(peers, NAMED);
    ibh_finding_add(probe->findings, "", cause->charge->severity,
                    cause->charge->peer_code ? cause->charge->peer_code : cause->charge->code, remedy(cause, TRUE),
                    "%s%s: %s; %u of %u pairs", names, all ? " to every rail" : "", cause->charge->why, n,
                    probe->pairs->len)
        ->owner = g_steal_pointer(&names);
}

/* The rails whose pairs with these peers have it, and all that do not belong to one: pairs. */
static void report_pairs(Cause *cause, gboolean whole)
{
    IbhProbe *probe = cause->probe;
    g_autoptr(GArray) peers = g_array_new(FALSE, FALSE, sizeof(IbhIp));
    g_autoptr(GPtrArray) nics = g_ptr_array_new();
    GString *list = g_string_new(NULL), *rails = g_string_new(NULL);
    g_autofree char *pairs = NULL, *names = NULL, *who = NULL;
    IbhFinding *finding;
    guint n = 0;

    for (guint i = 0; i < probe->pairs->len; i++) {
        const IbhProbePair *pair = ibh_probe_pair(probe, i);
        const IbhNic *nic = ibh_probe_source(probe, pair)->nic;
        g_autofree char *name = NULL;
        char ip[IBH_IP_STRLEN];

        if (!cause->has[i] || (whole && !is_of_nic(cause, nic_of(probe, pair))))
            continue;
        cause->has[i] = FALSE;
        name = g_strdup_printf("%s to %s", nic->link->name, ibh_ip_format(ibh_probe_peer(probe, pair), ip));
        add_name(list, ++n, NAMED, name);
        if (!g_ptr_array_find(nics, nic, NULL)) {
            g_ptr_array_add(nics, (gpointer)(guintptr)nic);
            add_name(rails, nics->len, NAMED, nic->link->name);
        }
        if (!peers->len || !ibh_ip_equal(&g_array_index(peers, IbhIp, peers->len - 1), ibh_probe_peer(probe, pair)))
            g_array_append_val(peers, *ibh_probe_peer(probe, pair));
    }
    pairs = end_names(list, n, NAMED, n - NAMED);
    names = end_names(rails, nics->len, NAMED, nics->len - NAMED);
    if (!n)
        return;
    if (whole || nics->len == 1) {
        g_autofree char *to = ibh_probe_name_peers(peers, NAMED);

        who = g_strdup_printf("%s to %s", names, to);
    }
    finding =
        ibh_finding_add(probe->findings, whole || nics->len == 1 ? ((const IbhNic *)nics->pdata[0])->link->name : "",
                        cause->charge->severity, cause->charge->code, remedy(cause, FALSE), "%s: %s; %u of %u pairs",
                        who ? who : pairs, cause->charge->why, n, probe->pairs->len);
    for (guint i = 1; whole && i < nics->len; i++)
        ibh_finding_hits(finding, ((const IbhNic *)nics->pdata[i])->link->name);
    finding->owner = whole ? NULL : g_strdup(who ? who : pairs);
}

/* A pair could tell of others only if nothing of this host is in its way. */
static void count_all(const IbhProbe *probe, guint *peer_all, guint *nic_all)
{
    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        peer_all[pair->peer] += pair->hindered ? 0 : 1;
        nic_all[nic_of(probe, pair)] += pair->hindered ? 0 : 1;
    }
}

static void report_cause(IbhProbe *probe, const GArray *charges, guint first, gboolean *told, const guint *peer_all,
                         const guint *nic_all)
{
    g_autofree gboolean *has = g_new0(gboolean, probe->pairs->len);
    g_autofree guint *by_peer = g_new0(guint, probe->peers->len), *by_nic = g_new0(guint, probe->nics->len);
    Cause cause = {.probe = probe,
                   .charge = &g_array_index(charges, IbhProbeCharge, first),
                   .has = has,
                   .by_peer = by_peer,
                   .by_nic = by_nic,
                   .peer_all = peer_all,
                   .nic_all = nic_all};

    for (guint i = first; i < charges->len; i++) {
        const IbhProbeCharge *charge = &g_array_index(charges, IbhProbeCharge, i);
        const IbhProbePair *pair = ibh_probe_pair(probe, charge->pair);

        if (told[i] || strcmp(charge->code, cause.charge->code) != 0 || strcmp(charge->why, cause.charge->why) != 0 ||
            charge->severity != cause.charge->severity)
            continue;
        told[i] = TRUE;
        if (has[charge->pair])
            continue;
        has[charge->pair] = TRUE;
        by_peer[pair->peer]++;
        by_nic[nic_of(probe, pair)]++;
    }
    report_peers(&cause);
    report_pairs(&cause, TRUE);
    report_pairs(&cause, FALSE);
}

void ibh_probe_report_charges(IbhProbe *probe, const GArray *charges)
{
    g_autofree gboolean *told = g_new0(gboolean, charges->len + 1);
    g_autofree guint *peer_all = g_new0(guint, probe->peers->len), *nic_all = g_new0(guint, probe->nics->len);

    count_all(probe, peer_all, nic_all);
    for (guint i = 0; i < charges->len; i++) {
        if (!told[i])
            report_cause(probe, charges, i, told, peer_all, nic_all);
    }
}
