/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/loss.h"

#include "check/outcome.h"
#include "probe/trace.h"
#include "model/text.h"

#include <linux/if.h>
#include <string.h>
#include <sys/socket.h>

#define NAMED 4 /* peers that a finding names */

void ibh_probe_add_name(GString *names, guint n, const char *name)
{
    if (n <= NAMED)
        g_string_append_printf(names, "%s%s", n > 1 ? ", " : "", name);
}

void ibh_probe_end_names(GString *names, guint n)
{
    if (n > NAMED)
        g_string_append_printf(names, " and %u more", n - NAMED);
}

/* ---- why ---- */

/* A permanent entry of the neighbour table whose hardware address is not that of the host that answers ARP. */
static gboolean has_wrong_entry(const IbhProbePair *pair)
{
    return pair->fixed && pair->answers && pair->answer_len == pair->lladdr_len &&
           memcmp(pair->answer[0], pair->lladdr, pair->lladdr_len) != 0;
}

/* Another host has the address, too: replies go to either host. */
static gboolean has_double(const IbhProbe *probe, guint source)
{
    IBH_EACH (const IbhProbeStranger, stranger, probe->strangers) {
        if (stranger->source == source && !stranger->proxy && !stranger->own)
            return TRUE;
    }
    return FALSE;
}

void ibh_probe_judge_loss(const IbhProbe *probe, IbhProbePair *pair)
{
    const IbhLink *link = ibh_probe_link(probe, pair);
    const IbhProbeLoss here = ibh_probe_trace_verdict(pair);

    if (pair->received)
        pair->loss = IBH_LOSS_SOME;
    else if (!ibh_nic_is_usable(ibh_probe_source(probe, pair)->nic))
        pair->loss = IBH_LOSS_NO_CARRIER;
    else if (has_double(probe, pair->source))
        pair->loss = IBH_LOSS_DUPLICATE;
    else if (pair->on_link && has_wrong_entry(pair))
        pair->loss = IBH_LOSS_STATIC;
    else if (pair->on_link && (link->flags & IFF_NOARP) && (link->flags & IFF_BROADCAST) && !pair->fixed)
        pair->loss = IBH_LOSS_ARP_OFF;
    else if (here != IBH_LOSS_NONE)
        pair->loss = here;
    else if (!pair->on_link || !probe->hears_arp || ibh_probe_peer(probe, pair)->family != AF_INET)
        pair->loss = IBH_LOSS_UNKNOWN;
    else
        pair->loss = pair->answers ? IBH_LOSS_AFTER_ARP : IBH_LOSS_NOTHING;
}

/* The cause is at the peer, not at this host. */
static gboolean accuses_peer(const IbhProbePair *pair)
{
    return pair->loss == IBH_LOSS_UNKNOWN || pair->loss == IBH_LOSS_AFTER_ARP || pair->loss == IBH_LOSS_NOTHING;
}

static gboolean is_lost(const IbhProbePair *pair)
{
    return (pair->faults & 1u << IBH_PROBE_LOST) != 0;
}

static const char *explain(IbhProbeLoss loss)
{
    switch (loss) {
    case IBH_LOSS_SOME:
        return "some echoes get lost: load, a cable, a full queue, or a limit on the peer's side";
    case IBH_LOSS_STATIC:
        return "a permanent entry of this host's neighbour table has another hardware address than the one that "
               "answers "
               "ARP, so packets to that address do not arrive";
    case IBH_LOSS_ARP_OFF:
        return "ARP is switched off on this NIC, so it finds no neighbour";
    case IBH_LOSS_HELD:
        return "no echo leaves by this NIC, or answers to ARP are dropped: this host's own filter, nft (tables arp and "
               "netdev, too), arptables or tc";
    case IBH_LOSS_DROPPED:
        return "replies come in by this NIC, and this host drops them at once: its own filter, nft's table netdev, or "
               "tc";
    case IBH_LOSS_AFTER_ARP:
        return "ARP is answered, echoes are not: a firewall there, another prefix there, or no way back";
    case IBH_LOSS_NOTHING:
        return "nothing answers, not even ARP: the NIC there, the wire or the host is down, or it is another wire";
    default:
        return "no reply: the peer is down, on another wire, or drops it";
    }
}

static char *say_why(const IbhProbePair *pair)
{
    char from[IBH_IP_STRLEN], to[IBH_IP_STRLEN];

    if (pair->loss != IBH_LOSS_TRANSLATED)
        return g_strdup(explain(pair->loss));
    return g_strdup_printf("this host's own address translation (nft, iptables) sends them from %s to %s",
                           ibh_ip_format(&pair->trace.from, from), ibh_ip_format(&pair->trace.to, to));
}

/* ---- peers that are down ---- */

/* Lost on every rail that is right itself: reported once, not for each rail. */
static gboolean is_down(const IbhProbe *probe, guint peer, IbhProbeLoss *ret_loss)
{
    guint asked = 0;

    *ret_loss = IBH_LOSS_NONE;
    for (guint i = ibh_probe_first_pair(probe, peer); i < probe->pairs->len && ibh_probe_pair(probe, i)->peer == peer;
         i++) {
        const IbhProbePair *pair = ibh_probe_pair(probe, i);

        if (!is_lost(pair) || pair->received)
            return FALSE;
        if (!accuses_peer(pair))
            continue;
        asked++;
        if (*ret_loss == IBH_LOSS_NONE || pair->loss == IBH_LOSS_AFTER_ARP)
            *ret_loss = pair->loss;
    }
    return asked > 1;
}

static void report_down(IbhProbe *probe, IbhProbeLoss loss, gboolean *down)
{
    g_autoptr(GString) names = g_string_new(NULL);
    guint n = 0;

    for (guint peer = 0; peer < probe->peers->len; peer++) {
        IbhProbeLoss why;
        char ip[IBH_IP_STRLEN];

        if (!is_down(probe, peer, &why) || why != loss)
            continue;
        down[peer] = TRUE;
        ibh_probe_add_name(names, ++n, ibh_ip_format(&g_array_index(probe->peers, IbhIp, peer), ip));
    }
    ibh_probe_end_names(names, n);
    if (n)
        ibh_finding_add(probe->findings, "", IBH_ERROR, "peer-down",
                        loss == IBH_LOSS_AFTER_ARP
                            ? ibh_advice("there: its firewall (nft list ruleset), its prefix, ib-hook --check")
                            : ibh_advice("see whether they are up, and answer pings at all"),
                        "%u of %u peers reply to no rail: %s; %s", n, probe->peers->len, names->str, explain(loss));
}

void ibh_probe_report_down_peers(IbhProbe *probe, gboolean *ret_down)
{
    for (int loss = IBH_LOSS_UNKNOWN; loss < IBH_N_LOSSES; loss++)
        report_down(probe, (IbhProbeLoss)loss, ret_down);
}

/* ---- rails that lose ---- */

static IbhRemedy remedy_for(const IbhProbe *probe, const IbhProbePair *pair)
{
    g_autofree char *iface = ibh_shell_word(ibh_probe_link(probe, pair)->name);
    char ip[IBH_IP_STRLEN];

    ibh_ip_format(ibh_probe_peer(probe, pair), ip);
    switch (pair->loss) {
    case IBH_LOSS_STATIC:
        return ibh_fix(g_strdup_printf("ip neigh del %s dev %s", ip, iface));
    case IBH_LOSS_ARP_OFF:
        return ibh_fix(g_strdup_printf("ip link set arp on dev %s", iface));
    case IBH_LOSS_HELD:
        return ibh_advice("on this host: nft list ruleset; tc -s qdisc show dev %s; tc filter show dev %s egress",
                          iface, iface);
    case IBH_LOSS_DROPPED:
        return ibh_advice("on this host: nft list ruleset; tc filter show dev %s ingress", iface);
    case IBH_LOSS_TRANSLATED:
        return ibh_advice("on this host: leave the rails out of it (nft list ruleset, iptables-save -t nat)");
    case IBH_LOSS_AFTER_ARP:
        return ibh_advice("on the peer (%s): its firewall (nft list ruleset), its prefix, ib-hook --check", ip);
    case IBH_LOSS_SOME:
        return ibh_advice("more echoes tell how many (--count 100); ethtool -S %s, the peer's load", iface);
    default:
        return ibh_advice("is the peer up, and on the same wire? (ip neigh show to %s dev %s)", ip, iface);
    }
}

static void report_carrier(IbhProbe *probe, const IbhNic *nic)
{
    g_autofree char *iface = ibh_shell_word(nic->link->name), *pairs = NULL;
    gboolean up = (nic->link->flags & IFF_UP) != 0;
    guint n = 0;

    if (ibh_nic_is_usable(nic))
        return;
    IBH_EACH (const IbhProbePair, pair, probe->pairs)
        n += is_lost(pair) && pair->loss == IBH_LOSS_NO_CARRIER && ibh_probe_source(probe, pair)->nic == nic ? 1 : 0;
    pairs = n ? g_strdup_printf(", which explains what %u pairs lost", n) : g_strdup("");
    ibh_finding_add(probe->findings, nic->link->name, IBH_ERROR, "carrier-down",
                    up ? ibh_advice("look at the cable, the transceiver and the switch's port")
                       : ibh_fix(g_strdup_printf("ip link set %s up", iface)),
                    "the link %s: nothing can leave or arrive by it%s",
                    up ? "has no carrier" : "is administratively down", pairs);
}

static const char *code_of(IbhProbeLoss loss)
{
    switch (loss) {
    case IBH_LOSS_STATIC:
        return "neighbour-static";
    case IBH_LOSS_ARP_OFF:
        return "arp-off";
    case IBH_LOSS_HELD:
        return ibh_probe_fault_name(IBH_PROBE_UNSENT);
    case IBH_LOSS_DROPPED:
        return ibh_probe_fault_name(IBH_PROBE_DROPPED);
    default:
        return ibh_probe_fault_name(IBH_PROBE_LOST);
    }
}

/* As --check has them. */
static IbhSeverity severity_of(IbhProbeLoss loss)
{
    return loss == IBH_LOSS_STATIC || loss == IBH_LOSS_ARP_OFF ? IBH_WARNING : IBH_ERROR;
}

/* Each wrong entry has a fix of its own. */
static gboolean is_alone(IbhProbeLoss loss)
{
    return loss == IBH_LOSS_STATIC;
}

static void report_loss(IbhProbe *probe, const IbhNic *nic, const IbhProbePair *of, const gboolean *down)
{
    g_autoptr(GString) names = g_string_new(NULL);
    g_autofree char *why = say_why(of);
    guint n = 0, all = 0;

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        g_autofree char *name = NULL;
        char ip[IBH_IP_STRLEN];

        if (ibh_probe_source(probe, pair)->nic != nic)
            continue;
        all++;
        if (!is_lost(pair) || pair->loss != of->loss || (down[pair->peer] && accuses_peer(pair)) ||
            (is_alone(of->loss) && pair != of))
            continue;
        name = g_strdup_printf("%s (%d of %d)", ibh_ip_format(ibh_probe_peer(probe, pair), ip),
                               pair->sent - pair->received, pair->sent);
        ibh_probe_add_name(names, ++n, name);
    }
    ibh_probe_end_names(names, n);
    ibh_finding_add(probe->findings, nic->link->name, severity_of(of->loss), code_of(of->loss), remedy_for(probe, of),
                    "%u of %u peers: %s; %s", n, all, names->str, why);
}

void ibh_probe_report_losses(IbhProbe *probe, const IbhNic *nic, const gboolean *down)
{
    gboolean told[IBH_N_LOSSES] = {FALSE};

    report_carrier(probe, nic);
    told[IBH_LOSS_NO_CARRIER] = told[IBH_LOSS_DUPLICATE] = TRUE; /* by duplicate-address */
    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        if (!is_lost(pair) || told[pair->loss] || ibh_probe_source(probe, pair)->nic != nic ||
            (down[pair->peer] && accuses_peer(pair)))
            continue;
        told[pair->loss] = !is_alone(pair->loss);
        report_loss(probe, nic, pair, down);
    }
}
