/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/local.h"

typedef struct {
    int ifindex;
    IbhLocalFact fact;
    guint64 before, after;
} Reading;

/* By what is lost. */
typedef enum { ON_THE_WAY_OUT = 1, ON_THE_WAY_IN = 2, ALL_THAT_COMES = 4, SOME = 8 } Stage;

static const struct {
    Stage stage;
    const char *file, *key; /* below /proc/net */
    IbhLocalCause cause;
} facts[IBH_N_LOCAL] = {
    [IBH_LOCAL_XDP] = {ALL_THAT_COMES,
                       NULL,
                       NULL,
                       {"reply-dropped",
                        "nothing comes in by this NIC, to which an XDP program is attached: it drops what arrives, "
                        "before this host sees "
                        "it",
                        "ip -details link show dev {if}; bpftool net show dev {if}"}},
    [IBH_LOCAL_PASSTHRU] = {ALL_THAT_COMES,
                            NULL,
                            NULL,
                            {"reply-dropped",
                             "nothing comes in by this NIC: a macvlan in mode passthru on it takes all that arrives",
                             "ip -details link show type macvlan"}},
    [IBH_LOCAL_QDISC] = {ON_THE_WAY_OUT | ALL_THAT_COMES | SOME,
                         NULL,
                         NULL,
                         {"probe-not-sent",
                          "this host's own queue of this NIC drops what leaves: the drops of its qdisc grow",
                          "tc -s qdisc show dev {if}"}},
    [IBH_LOCAL_TMPL] = {ON_THE_WAY_IN,
                        "xfrm_stat",
                        "XfrmInTmplMismatch",
                        {"reply-dropped",
                         "an IPsec policy of this host drops replies that are not encrypted: XfrmInTmplMismatch grows",
                         "ip xfrm policy; leave the rails out of it"}},
    [IBH_LOCAL_NO_POLICY] = {ON_THE_WAY_IN,
                             "xfrm_stat",
                             "XfrmInNoPols",
                             {"reply-dropped",
                              "this host drops replies for which it has no IPsec policy: XfrmInNoPols grows",
                              "ip xfrm policy; leave the rails out of it"}},
    [IBH_LOCAL_IN_BLOCK] = {ON_THE_WAY_IN,
                            "xfrm_stat",
                            "XfrmInPolBlock",
                            {"reply-dropped", "an IPsec policy of this host blocks the replies: XfrmInPolBlock grows",
                             "ip xfrm policy; leave the rails out of it"}},
    [IBH_LOCAL_OUT_BLOCK] = {ON_THE_WAY_OUT,
                             "xfrm_stat",
                             "XfrmOutPolBlock",
                             {"probe-not-sent",
                              "an IPsec policy of this host blocks what leaves: XfrmOutPolBlock grows",
                              "ip xfrm policy; leave the rails out of it"}},
    [IBH_LOCAL_NO_STATE] =
        {ON_THE_WAY_OUT,
         "xfrm_stat",
         "XfrmOutNoStates",
         {"probe-not-sent",
          "an IPsec policy of this host encrypts what leaves, and has no key for it: XfrmOutNoStates grows",
          "ip xfrm policy; ip xfrm state; leave the rails out of it"}},
    [IBH_LOCAL_RP_FILTER] = {ON_THE_WAY_IN,
                             "netstat",
                             "IPReversePathFilter",
                             {"reply-dropped", "this host's rp_filter drops the replies: IPReversePathFilter grows",
                              "ib-hook --check --iface {if}"}},
};

const char *ibh_probe_local_file(IbhLocalFact fact, const char **ret_key)
{
    *ret_key = facts[fact].key;
    return facts[fact].file;
}

static Reading *find(const IbhProbe *probe, int ifindex, IbhLocalFact fact)
{
    IBH_EACH (Reading, reading, probe->local) {
        if (reading->ifindex == ifindex && reading->fact == fact)
            return reading;
    }
    return NULL;
}

void ibh_probe_local_before(IbhProbe *probe, int ifindex, IbhLocalFact fact, guint64 value)
{
    const Reading reading = {.ifindex = ifindex, .fact = fact, .before = value, .after = value};

    if (!probe->local)
        probe->local = g_array_new(FALSE, FALSE, sizeof(Reading));
    if (!find(probe, ifindex, fact))
        g_array_append_val(probe->local, reading);
}

void ibh_probe_local_after(IbhProbe *probe, int ifindex, IbhLocalFact fact, guint64 value)
{
    Reading *reading;

    if (!probe->local || !find(probe, ifindex, fact))
        ibh_probe_local_before(probe, ifindex, fact, 0);
    reading = find(probe, ifindex, fact);
    reading->after = value;
}

/* ---- which pairs it explains ---- */

static guint stages_of(IbhProbeLoss loss)
{
    switch (loss) {
    case IBH_LOSS_NO_WAY:
    case IBH_LOSS_FIREWALL:
    case IBH_LOSS_QUEUE:
        return ON_THE_WAY_OUT;
    case IBH_LOSS_HELD:
        return ON_THE_WAY_OUT | ALL_THAT_COMES;
    case IBH_LOSS_REFUSED:
    case IBH_LOSS_DROPPED:
        return ON_THE_WAY_IN;
    case IBH_LOSS_NOTHING:
    case IBH_LOSS_AFTER_ARP:
    case IBH_LOSS_UNKNOWN:
        return ALL_THAT_COMES;
    case IBH_LOSS_SOME:
        return SOME;
    default:
        return 0;
    }
}

/* The rail hears of no peer, and the peer is heard by another rail, or there is none. */
static gboolean is_deaf(const IbhProbe *probe, const IbhProbePair *of)
{
    gboolean others = FALSE, reached = FALSE;

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        if (pair->source == of->source && (pair->received || pair->answers))
            return FALSE;
        if (pair->source == of->source || pair->peer != of->peer)
            continue;
        others = TRUE;
        reached |= pair->received > 0;
    }
    return reached || !others;
}

static gboolean explains(const IbhProbe *probe, const IbhProbePair *pair, const Reading *reading)
{
    const guint64 lost = (guint64)MAX(pair->sent - pair->received, 1), grown = reading->after - reading->before;

    if ((reading->ifindex && reading->ifindex != ibh_probe_link(probe, pair)->ifindex) ||
        !(facts[reading->fact].stage & stages_of(pair->loss)) || reading->after < reading->before)
        return FALSE;
    if (reading->fact == IBH_LOCAL_XDP || reading->fact == IBH_LOCAL_PASSTHRU)
        return reading->after && is_deaf(probe, pair);
    return grown >= lost;
}

const IbhLocalCause *ibh_probe_local_cause(const IbhProbe *probe, const IbhProbePair *pair)
{
    for (guint i = 0; probe->local && i < probe->local->len; i++) {
        const Reading *reading = &g_array_index(probe->local, Reading, i);

        if (explains(probe, pair, reading))
            return &facts[reading->fact].cause;
    }
    return NULL;
}
