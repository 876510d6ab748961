/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides who is at fault. Pairs that have the same cause in the same words share findings. The words of different
 * pairs can be the same, because the words of most causes name neither the pair's own rail nor its peer. The row of a
 * cause may say who is to blame. If the row does not say, a peer, a rail or single pairs are to blame, depending on
 * which pairs have the cause, and which do not.
 */
#include "probe/probe.h"

gint64 *ibh_probe_fact(const IbhProbe *probe, int ifindex, IbhProbeFact fact)
{
    const gpointer key = GUINT_TO_POINTER((guint)ifindex * IBH_N_FACTS + fact);
    gint64 *value = g_hash_table_lookup(probe->facts, key);

    if (!value) {
        value = g_new0(gint64, 1);
        g_hash_table_insert(probe->facts, key, value);
    }
    return value;
}

/* Who is to blame, and so what the finding is about: peers, rails, or single pairs. */
typedef enum { OF_PEERS, OF_RAILS, OF_PAIRS } Share;

/* Counts the pairs of a peer or of a rail. If a pair has the cause, but not in the words of the Charge below, it counts
 * as a pair without the cause. */
typedef struct {
    guint has;                 /* how many have the cause */
    guint witnesses;           /* how many are witnesses (is_witness()) */
    guint witnesses_that_have; /* how many witnesses have the cause */
} Count;

/* A cause, and the pairs that have this cause in the same words. */
typedef struct {
    IbhProbe *probe;
    const IbhCauseRow *row;
    const char *why;  /* what the cause says, in words */
    GPtrArray *pairs; /* const IbhProbePair * */
    Count *counts;    /* one for each peer, then one for each rail */
} Charge;

/* TRUE if a cause on the way or at the peer would show in this pair. FALSE if this host is to blame for what the pair
 * lost, or if another finding explains the loss. In both cases, the place is IBH_AT_HOME (see the row of
 * IBH_LOSS_TOLD). */
static gboolean is_witness(const IbhProbePair *pair)
{
    const IbhCause loss = pair->causes[0];

    return loss == IBH_CAUSE_NONE || ibh_probe_causes[loss].place != IBH_AT_HOME;
}

/* Returns the count of the pair's peer (OF_PEERS) or of the pair's rail (OF_RAILS). */
static Count *find_count(const Charge *charge, const IbhProbePair *pair, Share share)
{
    return &charge->counts[share == OF_PEERS ? pair->peer : charge->probe->peers->len + pair->rail];
}

/* Decides who is to blame for the cause that this pair has. The place in the row of the cause may tell. If the place is
 * IBH_AT_EITHER, the peer is to blame under three conditions:
 * - At least two pairs of the peer have the cause.
 * - At least one pair of the peer is a witness (is_witness()).
 * - All witnesses of the peer have the cause.
 * If the peer is not to blame, the rail is, under the same conditions for its pairs; else the single pair is. */
static Share share_of(const Charge *charge, const IbhProbePair *pair)
{
    if (charge->row->place != IBH_AT_EITHER)
        return charge->row->place == IBH_AT_PEER ? OF_PEERS : OF_RAILS;
    for (Share share = OF_PEERS; share < OF_PAIRS; share++) {
        const Count *count = find_count(charge, pair, share);

        if (count->has > 1 && count->witnesses && count->witnesses_that_have == count->witnesses)
            return share;
    }
    return OF_PAIRS;
}

/* Adds a text, unless the list has the text already: equal texts are the same pointer. Ignores NULL. */
static void add_once(GPtrArray *texts, const char *text)
{
    if (text && !g_ptr_array_find(texts, text, NULL))
        g_ptr_array_add(texts, (gpointer)(guintptr)text);
}

/* Returns the texts with "; " between them; NULL if there are none. */
static char *join_texts(GPtrArray *texts)
{
    if (!texts->len)
        return NULL;
    g_ptr_array_add(texts, NULL);
    return g_strjoinv("; ", (char **)texts->pdata);
}

/* TRUE if the fact could explain what the pair lost. A counter must have grown by at least 1, and by at least as many
 * packets as the pair lost. Filters, and what is attached to the pair's NIC or route, could always explain the loss,
 * because their drops are not counted here. */
static gboolean could_drop(const IbhProbePair *pair, IbhProbeFact fact)
{
    const gboolean is_of_namespace = ibh_probe_facts[fact].file != NULL;
    const gint64 value = *ibh_probe_fact(pair->probe, is_of_namespace ? 0 : ibh_probe_link(pair)->ifindex, fact);

    switch (fact) {
    case IBH_FACT_QUEUE:
    case IBH_FACT_IPSEC_OUT:
    case IBH_FACT_IPSEC_IN:
    case IBH_FACT_RP_FILTER:
        return value >= MAX(pair->sent - pair->received, 1);
    case IBH_FACT_ENCAP:
        return pair->route.encapsulated;
    case IBH_FACT_FILTER_OUT:
    case IBH_FACT_FILTER_IN:
        return TRUE;
    default:
        return value > 0;
    }
}

/* Adds the facts that drop packets where the cause says (IbhCauseRow.drops), and that could explain what the pair lost.
 * Each pair of a finding adds its facts, because facts differ between rails. But filters are the same for all rails, so
 * only the first pair adds the filters. */
static void add_facts(const IbhCauseRow *row, const IbhProbePair *pair, gboolean is_first, GPtrArray *whys,
                      GPtrArray *advice)
{
    for (IbhProbeFact fact = 0; fact < IBH_N_FACTS; fact++) {
        const IbhFactRow *fact_row = &ibh_probe_facts[fact];
        const gboolean is_filter = fact == IBH_FACT_FILTER_OUT || fact == IBH_FACT_FILTER_IN;

        if (!(fact_row->drops & row->drops) || (is_filter && !is_first) || !could_drop(pair, fact))
            continue;
        add_once(whys, ibh_probe_fill_in(pair, fact_row->why));
        add_once(advice, ibh_probe_fill_in(pair, fact_row->advice));
    }
}

/* Makes one finding about all peers, all rails or all single pairs (`share` says which) that are to blame for this
 * cause, if there are any. */
static void report_share(const Charge *charge, Share share)
{
    IbhProbe *probe = charge->probe;
    const IbhCauseRow *row = charge->row;
    const gboolean at_peer = share == OF_PEERS;
    g_autoptr(GArray) peers = IBH_NEW_ARRAY(IbhIp);
    g_autoptr(GPtrArray) rails = g_ptr_array_new(), pairs = g_ptr_array_new(), whys = g_ptr_array_new(),
                         fixes = g_ptr_array_new(), advice = g_ptr_array_new();
    g_autofree char *peer_names = NULL, *who = NULL, *why = NULL, *rail_names = NULL;
    gboolean names_rails;
    IbhFinding *finding;

    IBH_EACH_POINTER (const IbhProbePair, pair, charge->pairs) {
        /* a finding about who has an address names the next hop, which has the address, and may be a gateway */
        const IbhIp *peer = at_peer && row->stage == IBH_STAGE_ANSWER && row->place == IBH_AT_PEER
                                ? &pair->hop->ip
                                : ibh_probe_peer(pair);
        gboolean is_known = FALSE;

        if (share_of(charge, pair) != share)
            continue;
        if (!pairs->len) { /* one example of the advice is enough */
            add_once(whys, charge->why);
            add_once(advice, ibh_probe_fill_in(pair, row->advice));
        }
        add_once(fixes, ibh_probe_fill_in(pair, row->fix));
        add_once(rails, ibh_probe_link(pair)->name);
        add_facts(row, pair, !pairs->len, whys, advice);
        g_ptr_array_add(pairs, (gpointer)(guintptr)ibh_probe_fill_in(pair, "{rail} to {peer}"));
        IBH_EACH (const IbhIp, other, peers)
            is_known |= ibh_ip_equal(other, peer);
        if (!is_known)
            g_array_append_vals(peers, peer, 1);
    }
    if (!pairs->len)
        return;
    peer_names = ibh_probe_name_peers(peers, IBH_PROBE_NAMED);
    rail_names = ibh_probe_join_names(rails, IBH_PROBE_NAMED, 0);
    /* single pairs of one rail are named like the pairs of a rail that is to blame: first the rail, then the peers */
    names_rails = share == OF_RAILS || (share == OF_PAIRS && rails->len == 1);
    who = at_peer       ? g_strdup_printf("%s%s", peer_names, row->place == IBH_AT_EITHER ? " to every rail" : "")
          : names_rails ? g_strdup_printf("%s to %s", rail_names, peer_names)
                        : ibh_probe_join_names(pairs, IBH_PROBE_NAMED, 0);
    why = join_texts(whys);
    finding =
        ibh_finding_add(probe->findings, "", row->severity, at_peer && row->peer_code ? row->peer_code : row->code,
                        (IbhRemedy){.fix = join_texts(fixes), .advice = join_texts(advice)}, "%s: %s; %u of %u pairs",
                        who, why, pairs->len, probe->pairs->len);
    for (guint i = 0; names_rails && i < rails->len; i++)
        ibh_finding_add_iface(finding, rails->pdata[i]);
    /* the owner is who is to blame: the peers or the single pairs; NULL: the interfaces of the finding */
    finding->owner = row->owner          ? g_strdup(ibh_probe_fill_in(charge->pairs->pdata[0], row->owner))
                     : at_peer           ? g_steal_pointer(&peer_names)
                     : share == OF_RAILS ? NULL
                                         : g_steal_pointer(&who);
}

/* Charges the pairs that have the cause in the words `charge->why`, and makes findings about those who are to blame.
 * `whys` has the words of each pair; equal words are the same pointer. */
static void report_charge(Charge *charge, const char *const *whys)
{
    IbhProbe *probe = charge->probe;

    g_ptr_array_set_size(charge->pairs, 0);
    for (guint i = 0; i < probe->peers->len + probe->nics->len; i++)
        charge->counts[i].has = charge->counts[i].witnesses_that_have = 0;
    for (guint i = 0; i < probe->pairs->len; i++) {
        IbhProbePair *pair = ibh_probe_pair(probe, i);

        if (whys[i] != charge->why)
            continue;
        g_ptr_array_add(charge->pairs, pair);
        for (Share share = OF_PEERS; share < OF_PAIRS; share++) {
            Count *count = find_count(charge, pair, share);

            count->has++;
            count->witnesses_that_have += is_witness(pair) ? 1 : 0;
        }
    }
    for (Share share = OF_PEERS; share <= OF_PAIRS; share++)
        report_share(charge, share);
}

void ibh_probe_report_causes(IbhProbe *probe)
{
    const guint n = probe->pairs->len;
    /* for each pair, what the cause says; NULL: the pair does not have the cause */
    g_autofree const char **whys = g_new0(const char *, n);
    g_autofree Count *counts = g_new0(Count, probe->peers->len + probe->nics->len);
    g_autoptr(GPtrArray) pairs = g_ptr_array_new();
    Charge charge = {.probe = probe, .counts = counts, .pairs = pairs};

    /* a pair's loss alone tells whether the pair is a witness, so the witnesses are the same for all causes */
    IBH_EACH_PAIR (pair, probe) {
        for (Share share = OF_PEERS; is_witness(pair) && share < OF_PAIRS; share++)
            find_count(&charge, pair, share)->witnesses++;
    }
    for (IbhCause cause = IBH_CAUSE_NONE; cause < IBH_N_CAUSES; cause++) {
        g_autoptr(GPtrArray) distinct_whys = g_ptr_array_new();

        charge.row = &ibh_probe_causes[cause];
        if (!charge.row->code)
            continue;
        for (guint i = 0; i < n; i++) {
            const IbhProbePair *pair = ibh_probe_pair(probe, i);

            whys[i] = ibh_probe_has(pair, cause) ? ibh_probe_fill_in(pair, charge.row->why) : NULL;
            add_once(distinct_whys, whys[i]);
        }
        IBH_EACH_POINTER (const char, why, distinct_whys) {
            charge.why = why;
            report_charge(&charge, whys);
        }
    }
}
