/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A finding for each cause. Pairs that are charged with a cause in the same words, which name neither rail nor peer,
 * have the same one; which pairs have it, and which have not, tells who is at fault.
 */
#include "probe/probe.h"

/* ---- who is at fault ---- */

/* How many pairs of a peer, or of a rail, have the cause; and could: a pair could tell only if nothing of this host is
 * in its way. */
typedef struct {
    guint has, could;
} Count;

/* The pairs of one cause. */
typedef struct {
    IbhProbe *probe;
    const IbhCauseRow *row;
    const char *why; /* in words */
    gboolean *has;   /* by pair; those that are not told yet */
    Count *counts;   /* of each peer, then of each rail */
} Cause;

typedef enum { OF_PEERS, OF_RAILS, OF_PAIRS } Share;

static Count *count_of(const Cause *cause, const IbhProbePair *pair, Share share)
{
    guint at = 0;

    if (share == OF_PEERS)
        return &cause->counts[pair->peer];
    (void)g_ptr_array_find(cause->probe->nics, ibh_probe_source(pair)->nic, &at);
    return &cause->counts[cause->probe->peers->len + at];
}

/* Of a peer, if all rails that could tell have it, and they are more than one; the same of a rail. */
static gboolean is_of(const Cause *cause, guint i, Share share)
{
    const Count *count = count_of(cause, ibh_probe_pair(cause->probe, i), share);

    if (share == OF_PAIRS || !cause->has[i])
        return cause->has[i];
    if (cause->row->place != IBH_AT_EITHER)
        return cause->row->place == (share == OF_PEERS ? IBH_AT_PEER : IBH_AT_HOME);
    return count->has > 1 && count->has >= count->could;
}

static void add_once(GPtrArray *names, char *name)
{
    if (g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
        g_free(name);
    else
        g_ptr_array_add(names, name);
}

/* The peers that have it towards all rails, then the rails that have it towards all peers, then what is left. */
static void report_share(Cause *cause, Share share)
{
    IbhProbe *probe = cause->probe;
    const IbhCauseRow *row = cause->row;
    const gboolean at_peer = share == OF_PEERS;
    g_autoptr(GArray) peers = g_array_new(FALSE, FALSE, sizeof(IbhIp));
    g_autoptr(GPtrArray) rails = g_ptr_array_new_with_free_func(g_free), pairs = g_ptr_array_new_with_free_func(g_free),
                         fixes = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *to = NULL, *who = NULL, *advice = NULL, *fix = NULL, *by = NULL;
    gboolean of_rails;
    IbhFinding *finding;

    for (guint i = 0; i < probe->pairs->len; i++) {
        const IbhProbePair *pair = ibh_probe_pair(probe, i);
        const IbhIp *peer = ibh_probe_peer(pair);
        const char *rail = ibh_probe_link(pair)->name;
        char ip[IBH_IP_STRLEN];

        if (!is_of(cause, i, share))
            continue;
        cause->has[i] = FALSE;
        g_ptr_array_add(pairs, g_strdup_printf("%s to %s", rail, ibh_ip_format(peer, ip)));
        add_once(rails, g_strdup(rail));
        if (row->fix)
            add_once(fixes, ibh_probe_fill_in(pair, row->fix));
        if (!peers->len || !ibh_ip_equal(&g_array_index(peers, IbhIp, peers->len - 1), peer))
            g_array_append_val(peers, *peer);
        if (pairs->len == 1)
            advice = ibh_probe_fill_in(pair, row->advice);
    }
    if (!pairs->len)
        return;
    to = ibh_probe_name_peers(peers, IBH_PROBE_NAMED);
    by = ibh_probe_join_names(rails, IBH_PROBE_NAMED, 0);
    of_rails = share == OF_RAILS || (share == OF_PAIRS && rails->len == 1);
    who = at_peer    ? g_strdup_printf("%s%s", to, row->place == IBH_AT_EITHER ? " to every rail" : "")
          : of_rails ? g_strdup_printf("%s to %s", by, to)
                     : ibh_probe_join_names(pairs, IBH_PROBE_NAMED, 0);
    g_ptr_array_add(fixes, NULL);
    fix = row->fix ? g_strjoinv("; ", (char **)fixes->pdata) : NULL;
    finding = ibh_finding_add(probe->findings, of_rails ? rails->pdata[0] : "", row->severity,
                              at_peer && row->peer_code ? row->peer_code : row->code,
                              (IbhRemedy){.fix = g_steal_pointer(&fix), .advice = g_steal_pointer(&advice)},
                              "%s: %s; %u of %u pairs", who, cause->why, pairs->len, probe->pairs->len);
    for (guint i = 1; of_rails && i < rails->len; i++)
        ibh_finding_hits(finding, rails->pdata[i]);
    finding->owner = at_peer ? g_steal_pointer(&to) : share == OF_RAILS ? NULL : g_steal_pointer(&who);
}

/* Of all pairs with this cause, and these words. */
static void report_cause(Cause *cause, char **whys, guint first)
{
    const IbhProbe *probe = cause->probe;
    g_autofree char *why = g_strdup(whys[first]);

    for (guint i = 0; i < probe->peers->len + probe->nics->len; i++)
        cause->counts[i].has = 0;
    cause->why = why;
    for (guint i = first; i < probe->pairs->len; i++) {
        cause->has[i] = g_strcmp0(whys[i], why) == 0;
        if (!cause->has[i])
            continue;
        g_clear_pointer(&whys[i], g_free);
        for (int share = OF_PEERS; share <= OF_RAILS; share++)
            count_of(cause, ibh_probe_pair(probe, i), (Share)share)->has++;
    }
    for (int share = OF_PEERS; share <= OF_PAIRS; share++)
        report_share(cause, (Share)share);
}

void ibh_probe_report_causes(IbhProbe *probe)
{
    const guint n = probe->pairs->len;
    g_autofree gboolean *has = g_new0(gboolean, n);
    g_autofree char **whys = g_new0(char *, n);
    g_autofree Count *counts = g_new0(Count, probe->peers->len + probe->nics->len);
    Cause cause = {.probe = probe, .has = has, .counts = counts};

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        const gboolean could = !pair->loss || ibh_probe_cause(pair->loss)->place != IBH_AT_HOME;

        for (int share = OF_PEERS; could && share <= OF_RAILS; share++)
            count_of(&cause, pair, (Share)share)->could++;
    }
    for (int number = IBH_CAUSE_NONE; number < IBH_N_CAUSES; number++) {
        cause.row = ibh_probe_cause((IbhCause)number);
        for (guint i = 0; i < n && cause.row->code; i++) {
            if (ibh_probe_has(ibh_probe_pair(probe, i), (IbhCause)number))
                whys[i] = ibh_probe_fill_in(ibh_probe_pair(probe, i), cause.row->why);
        }
        for (guint i = 0; i < n; i++) {
            if (whys[i])
                report_cause(&cause, whys, i);
        }
    }
}
