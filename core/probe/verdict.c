/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A finding for each cause. Pairs that are charged with a cause in the same words, which name neither rail nor peer,
 * have the same one; which pairs have it, and which have not, tells who is at fault.
 */
#include "probe/probe.h"

/* ---- facts of this host ---- */

static gpointer key_of(int ifindex, IbhProbeFact fact)
{
    return GUINT_TO_POINTER((guint)ifindex * IBH_N_FACTS + fact);
}

static gssize value_of(const IbhProbe *probe, int ifindex, IbhProbeFact fact)
{
    return (gssize)GPOINTER_TO_SIZE(g_hash_table_lookup(probe->facts, key_of(ifindex, fact)));
}

void ibh_probe_note_fact(IbhProbe *probe, int ifindex, IbhProbeFact fact, gint64 value)
{
    const gssize sum = value_of(probe, ifindex, fact) + (gssize)value;

    g_hash_table_insert(probe->facts, key_of(ifindex, fact), GSIZE_TO_POINTER((gsize)sum));
}

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

/* What is told together. */
typedef struct {
    GArray *peers;
    GPtrArray *rails, *pairs, *whys, *fixes, *advice;
} Told;

static void told_clear(Told *told)
{
    g_array_unref(told->peers);
    g_ptr_array_unref(told->rails);
    g_ptr_array_unref(told->pairs);
    g_ptr_array_unref(told->whys);
    g_ptr_array_unref(told->fixes);
    g_ptr_array_unref(told->advice);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Told, told_clear)

static GPtrArray *new_texts(void)
{
    return g_ptr_array_new_with_free_func(g_free);
}

/* NULL: there are none. */
static char *join_texts(GPtrArray *texts)
{
    if (!texts->len)
        return NULL;
    g_ptr_array_add(texts, NULL);
    return g_strjoinv("; ", (char **)texts->pdata);
}

/* What of this host could have dropped the same. It belongs to the rail, and does not decide which pairs share a cause.
 */
static void add_facts(const IbhCauseRow *row, const IbhProbePair *pair, Told *told)
{
    for (int i = 0; i < IBH_N_FACTS; i++) {
        const IbhFactRow *fact = ibh_probe_fact((IbhProbeFact)i);
        const gssize value = value_of(pair->probe, fact->file ? 0 : ibh_probe_link(pair)->ifindex, (IbhProbeFact)i),
                     enough = fact->is_counter ? MAX(pair->sent - pair->received, 1) : 1;

        if (!(fact->drops & row->drops) || value < enough)
            continue;
        add_once(told->whys, ibh_probe_fill_in(pair, fact->why));
        add_once(told->advice, ibh_probe_fill_in(pair, fact->advice));
    }
}

static void add_pair(const Cause *cause, const IbhProbePair *pair, Told *told)
{
    const IbhCauseRow *row = cause->row;
    /* who has the next hop's address is told of the next hop */
    const gboolean at_hop = row->stage == IBH_STAGE_ANSWER && row->place == IBH_AT_PEER;
    const IbhIp *peer = at_hop ? &pair->hop->ip : ibh_probe_peer(pair);
    const char *rail = ibh_probe_link(pair)->name;
    gboolean is_known = FALSE;
    char ip[IBH_IP_STRLEN];

    if (!told->pairs->len) {
        g_ptr_array_add(told->whys, g_strdup(cause->why));
        if (row->advice)
            g_ptr_array_add(told->advice, ibh_probe_fill_in(pair, row->advice));
    }
    g_ptr_array_add(told->pairs, g_strdup_printf("%s to %s", rail, ibh_ip_format(peer, ip)));
    add_once(told->rails, g_strdup(rail));
    if (row->fix)
        add_once(told->fixes, ibh_probe_fill_in(pair, row->fix));
    IBH_EACH (const IbhIp, other, told->peers)
        is_known |= ibh_ip_equal(other, peer);
    if (!is_known)
        g_array_append_vals(told->peers, peer, 1);
    add_facts(row, pair, told);
}

/* The peers that have it towards all rails, then the rails that have it towards all peers, then what is left. */
static void report_share(Cause *cause, Share share)
{
    IbhProbe *probe = cause->probe;
    const IbhCauseRow *row = cause->row;
    const gboolean at_peer = share == OF_PEERS;
    g_auto(Told) told = {
        g_array_new(FALSE, FALSE, sizeof(IbhIp)), new_texts(), new_texts(), new_texts(), new_texts(), new_texts()};
    g_autofree char *to = NULL, *who = NULL, *why = NULL, *by = NULL;
    gboolean of_rails;
    IbhFinding *finding;

    for (guint i = 0; i < probe->pairs->len; i++) {
        if (!is_of(cause, i, share))
            continue;
        cause->has[i] = FALSE;
        add_pair(cause, ibh_probe_pair(probe, i), &told);
    }
    if (!told.pairs->len)
        return;
    to = ibh_probe_name_peers(told.peers, IBH_PROBE_NAMED);
    by = ibh_probe_join_names(told.rails, IBH_PROBE_NAMED, 0);
    of_rails = share == OF_RAILS || (share == OF_PAIRS && told.rails->len == 1);
    who = at_peer    ? g_strdup_printf("%s%s", to, row->place == IBH_AT_EITHER ? " to every rail" : "")
          : of_rails ? g_strdup_printf("%s to %s", by, to)
                     : ibh_probe_join_names(told.pairs, IBH_PROBE_NAMED, 0);
    why = join_texts(told.whys);
    finding = ibh_finding_add(probe->findings, of_rails ? told.rails->pdata[0] : "", row->severity,
                              at_peer && row->peer_code ? row->peer_code : row->code,
                              (IbhRemedy){.fix = join_texts(told.fixes), .advice = join_texts(told.advice)},
                              "%s: %s; %u of %u pairs", who, why, told.pairs->len, probe->pairs->len);
    for (guint i = 1; of_rails && i < told.rails->len; i++)
        ibh_finding_hits(finding, told.rails->pdata[i]);
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
