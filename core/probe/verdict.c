/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/verdict.h"

#include <string.h>
#include <sys/socket.h>

#define NAMED IBH_PROBE_NAMED

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
    const IbhCauseRow *row;
    const char *why;                 /* in words; the cause is the same where these are */
    const IbhProbePair *first;       /* for its advice */
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
    return cause->row->place == IBH_AT_PEER || (cause->row->place == IBH_AT_EITHER && cause->by_peer[peer] > 1 &&
                                                cause->by_peer[peer] >= cause->peer_all[peer]);
}

static gboolean is_of_nic(const Cause *cause, guint nic)
{
    return cause->row->place == IBH_AT_HOME || (cause->by_nic[nic] > 1 && cause->by_nic[nic] >= cause->nic_all[nic]);
}

typedef enum { OF_PEERS, OF_RAILS, OF_PAIRS } Share;

static gboolean is_of(const Cause *cause, guint i, Share share)
{
    const IbhProbePair *pair = ibh_probe_pair(cause->probe, i);

    return cause->has[i] && (share == OF_PAIRS || (share == OF_PEERS ? is_of_peer(cause, pair->peer)
                                                                     : is_of_nic(cause, nic_of(cause->probe, pair))));
}

static IbhRemedy remedy(const Cause *cause, gboolean at_peer)
{
    const char *advice = at_peer && cause->row->peer_advice ? cause->row->peer_advice : cause->row->advice;
    g_autofree char *text = ibh_probe_fill_in(cause->probe, cause->first, advice);

    return cause->row->fix ? ibh_fix(ibh_probe_fill_in(cause->probe, cause->first, cause->row->fix))
                           : ibh_advice("%s", text);
}

/* The peers that have it towards all rails, then the rails that have it towards all peers, then what is left. */
static void report_share(Cause *cause, Share share)
{
    IbhProbe *probe = cause->probe;
    const gboolean at_peer = share == OF_PEERS;
    g_autoptr(GArray) peers = g_array_new(FALSE, FALSE, sizeof(IbhIp));
    g_autoptr(GPtrArray) nics = g_ptr_array_new();
    GString *list = g_string_new(NULL), *rails = g_string_new(NULL);
    g_autofree char *pairs = NULL, *names = NULL, *to = NULL, *who = NULL;
    gboolean of_rails;
    IbhFinding *finding;
    guint n = 0;

    for (guint i = 0; i < probe->pairs->len; i++) {
        const IbhProbePair *pair = ibh_probe_pair(probe, i);
        const IbhIp *peer = ibh_probe_peer(probe, pair);
        const IbhNic *nic = ibh_probe_source(probe, pair)->nic;
        g_autofree char *name = NULL;
        char ip[IBH_IP_STRLEN];

        if (!is_of(cause, i, share))
            continue;
        cause->has[i] = FALSE;
        name = g_strdup_printf("%s to %s", nic->link->name, ibh_ip_format(peer, ip));
        add_name(list, ++n, NAMED, name);
        if (!g_ptr_array_find(nics, nic, NULL)) {
            g_ptr_array_add(nics, (gpointer)(guintptr)nic);
            add_name(rails, nics->len, NAMED, nic->link->name);
        }
        if (!peers->len || !ibh_ip_equal(&g_array_index(peers, IbhIp, peers->len - 1), peer))
            g_array_append_val(peers, *peer);
    }
    pairs = end_names(list, n, NAMED, n - NAMED);
    names = end_names(rails, nics->len, NAMED, nics->len - NAMED);
    if (!n)
        return;
    to = ibh_probe_name_peers(peers, NAMED);
    of_rails = share == OF_RAILS || (share == OF_PAIRS && nics->len == 1);
    who = at_peer    ? g_strdup_printf("%s%s", to, cause->row->place == IBH_AT_EITHER ? " to every rail" : "")
          : of_rails ? g_strdup_printf("%s to %s", names, to)
                     : g_steal_pointer(&pairs);
    finding = ibh_finding_add(probe->findings, of_rails ? ((const IbhNic *)nics->pdata[0])->link->name : "",
                              cause->row->severity,
                              at_peer && cause->row->peer_code ? cause->row->peer_code : cause->row->code,
                              remedy(cause, at_peer), "%s: %s; %u of %u pairs", who, cause->why, n, probe->pairs->len);
    for (guint i = 1; of_rails && i < nics->len; i++)
        ibh_finding_hits(finding, ((const IbhNic *)nics->pdata[i])->link->name);
    finding->owner = at_peer ? g_steal_pointer(&to) : share == OF_RAILS ? NULL : g_steal_pointer(&who);
}

/* A pair could tell of others only if nothing of this host is in its way. */
static void count_all(const IbhProbe *probe, guint *peer_all, guint *nic_all)
{
    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        peer_all[pair->peer] += pair->hindered ? 0 : 1;
        nic_all[nic_of(probe, pair)] += pair->hindered ? 0 : 1;
    }
}

static void report_cause(IbhProbe *probe, const GArray *charges, guint first, char **whys, const guint *peer_all,
                         const guint *nic_all)
{
    const IbhProbeCharge *charge = &g_array_index(charges, IbhProbeCharge, first);
    g_autofree gboolean *has = g_new0(gboolean, probe->pairs->len);
    g_autofree guint *by_peer = g_new0(guint, probe->peers->len), *by_nic = g_new0(guint, probe->nics->len);
    g_autofree char *why = g_strdup(whys[first]);
    Cause cause = {.probe = probe,
                   .row = ibh_probe_cause(charge->cause),
                   .why = why,
                   .first = ibh_probe_pair(probe, charge->pair),
                   .has = has,
                   .by_peer = by_peer,
                   .by_nic = by_nic,
                   .peer_all = peer_all,
                   .nic_all = nic_all};

    for (guint i = first; i < charges->len; i++) {
        const IbhProbeCharge *other = &g_array_index(charges, IbhProbeCharge, i);
        const IbhProbePair *pair = ibh_probe_pair(probe, other->pair);

        if (!whys[i] || other->cause != charge->cause || strcmp(whys[i], why) != 0)
            continue;
        g_clear_pointer(&whys[i], g_free);
        has[other->pair] = TRUE;
        by_peer[pair->peer]++;
        by_nic[nic_of(probe, pair)]++;
    }
    for (int share = OF_PEERS; share <= OF_PAIRS; share++)
        report_share(&cause, (Share)share);
}

void ibh_probe_report_charges(IbhProbe *probe, const GArray *charges)
{
    g_autoptr(GPtrArray) whys = g_ptr_array_new_with_free_func(g_free);
    g_autofree guint *peer_all = g_new0(guint, probe->peers->len), *nic_all = g_new0(guint, probe->nics->len);

    count_all(probe, peer_all, nic_all);
    IBH_EACH (const IbhProbeCharge, charge, charges)
        g_ptr_array_add(
            whys, ibh_probe_fill_in(probe, ibh_probe_pair(probe, charge->pair), ibh_probe_cause(charge->cause)->why));
    for (guint i = 0; i < charges->len; i++) {
        if (whys->pdata[i])
            report_cause(probe, charges, i, (char **)whys->pdata, peer_all, nic_all);
    }
}
