/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/questions.h"
#include "model/text.h"
#include "probe/answers.h"
#include "probe/local.h"
#include "probe/rdma.h"
#include "probe/size.h"
#include "probe/syn.h"
#include "probe/trace.h"
#include "probe/verdict.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

const char *ibh_probe_fault_name(IbhProbeFault fault)
{
    static const char *const names[IBH_PROBE_N_FAULTS] = {
        [IBH_PROBE_UNSENT] = "probe-not-sent",
        [IBH_PROBE_DROPPED] = "reply-dropped",
        [IBH_PROBE_LOST] = "probe-lost",
        [IBH_PROBE_ROUTE] = "routed-other-nic",
        [IBH_PROBE_REPLY] = "reply-other-nic",
        [IBH_PROBE_FLUX] = "peer-flux",
        [IBH_PROBE_PEER_SENDER] = "peer-replies-other-nic",
        [IBH_PROBE_MTU] = "path-mtu",
        [IBH_PROBE_RDMA] = "rdma-unreachable",
        [IBH_PROBE_NO_DEVICE] = "rdma-no-device",
        [IBH_PROBE_NOT_KNOWN] = "not-known",
        [IBH_PROBE_TRANSLATED] = "address-translated",
    };

    return names[fault];
}

void ibh_probe_blame(IbhProbePair *pair, IbhProbeFault fault)
{
    pair->faults |= 1u << fault;
}

/* ---- why echoes are lost ---- */

/* In texts, {if} stands for the rail, {peer} for the peer's address. A cause without a code is told elsewhere. */
static const struct {
    IbhProbePlace place;
    IbhSeverity severity;
    IbhProbeFault fault;
    const char *code, *why, *fix, *advice, *peer_advice;
} losses[IBH_N_LOSSES] = {
    [IBH_LOSS_NO_CARRIER] = {IBH_AT_HOME, IBH_ERROR, IBH_PROBE_LOST, NULL, NULL, NULL, NULL, NULL},
    [IBH_LOSS_DUPLICATE] = {IBH_AT_HOME, IBH_ERROR, IBH_PROBE_LOST, NULL, NULL, NULL, NULL, NULL},
    [IBH_LOSS_TABLE] = {IBH_AT_HOME, IBH_ERROR, IBH_PROBE_UNSENT, NULL, NULL, NULL, NULL, NULL},
    [IBH_LOSS_OURS] = {IBH_AT_HOME, IBH_ERROR, IBH_PROBE_UNSENT, "probe-not-sent",
                       "a route of type local says that the address is this host's own, so nothing leaves", NULL,
                       "ip route show table all type local {peer}", NULL},
    [IBH_LOSS_NO_WAY] = {IBH_AT_HOME, IBH_ERROR, IBH_PROBE_UNSENT, "probe-not-sent", NULL, NULL,
                         "ask the kernel: ip route get {peer} from {from} oif {if}; ip rule", NULL},
    [IBH_LOSS_FIREWALL] = {IBH_AT_HOME, IBH_ERROR, IBH_PROBE_UNSENT, "probe-not-sent",
                           "this host's own firewall drops the echoes", NULL, "nft list ruleset; iptables-save", NULL},
    [IBH_LOSS_QUEUE] = {IBH_AT_HOME, IBH_ERROR, IBH_PROBE_UNSENT, "probe-not-sent",
                        "this host's own filter or queue drops the echoes: nft, tc", NULL,
                        "nft list ruleset; tc -s qdisc show dev {if}; tc filter show dev {if} egress", NULL},
    [IBH_LOSS_UNTRIED] = {IBH_AT_HOME, IBH_ERROR, IBH_PROBE_UNSENT, "probe-not-sent", "never tried", NULL,
                          "ask the kernel: ip route get {peer} from {from} oif {if}", NULL},
    [IBH_LOSS_STATIC] = {IBH_AT_HOME, IBH_WARNING, IBH_PROBE_LOST, "neighbour-static",
                         "a permanent entry of this host's neighbour table has another hardware address than the one "
                         "that answers ARP, so packets do not arrive",
                         "ip neigh del {peer} dev {if}", NULL, NULL},
    [IBH_LOSS_ARP_OFF] = {IBH_AT_HOME, IBH_WARNING, IBH_PROBE_LOST, "arp-off",
                          "ARP is switched off on this NIC, so it finds no neighbour", "ip link set arp on dev {if}",
                          NULL, NULL},
    [IBH_LOSS_HELD] = {IBH_AT_HOME, IBH_ERROR, IBH_PROBE_LOST, "probe-not-sent",
                       "no echo leaves by this NIC, or answers to ARP are dropped: this host's own filter, nft (tables "
                       "arp and netdev, too), arptables or tc",
                       NULL, "nft list ruleset; tc -s qdisc show dev {if}; tc filter show dev {if} egress", NULL},
    [IBH_LOSS_TRANSLATED] = {IBH_AT_HOME, IBH_ERROR, IBH_PROBE_LOST, "address-translated", NULL, NULL,
                             "leave the rails out of it (nft list ruleset, iptables-save -t nat)", NULL},
    [IBH_LOSS_DROPPED] = {IBH_AT_HOME, IBH_ERROR, IBH_PROBE_LOST, "reply-dropped",
                          "replies come in by this NIC, and this host drops them at once: its own filter, nft's table "
                          "netdev, or tc",
                          NULL, "nft list ruleset; tc filter show dev {if} ingress", NULL},
    [IBH_LOSS_REFUSED] = {IBH_AT_HOME, IBH_ERROR, IBH_PROBE_DROPPED, "reply-dropped", NULL, NULL,
                          "ib-hook --check --iface {if}; if that is ok: nft list ruleset; iptables-save", NULL},
    [IBH_LOSS_GATEWAY] = {IBH_AT_EITHER, IBH_ERROR, IBH_PROBE_LOST, "gateway-down", NULL, NULL,
                          "see whether the gateway is up, and on this wire; or route around it", NULL},
    [IBH_LOSS_SOME] = {IBH_AT_EITHER, IBH_ERROR, IBH_PROBE_LOST, "probe-lost",
                       "some echoes get lost: load, a cable, a full queue, or a limit on the peer's side", NULL,
                       "more echoes tell how many (--count 100); ethtool -S {if}, the peer's load", NULL},
    [IBH_LOSS_AFTER_ARP] = {IBH_AT_EITHER, IBH_ERROR, IBH_PROBE_LOST, "probe-lost", NULL, NULL,
                            "on the peer ({peer}): its firewall (nft list ruleset), its prefix, ib-hook --check", NULL},
    [IBH_LOSS_NOTHING] = {IBH_AT_EITHER, IBH_ERROR, IBH_PROBE_LOST, "probe-lost", NULL, NULL,
                          "is the peer up, and on the same wire? ({peer} by {if})",
                          "see whether they are up, on this wire, and answer at all"},
    [IBH_LOSS_UNKNOWN] = {IBH_AT_EITHER, IBH_ERROR, IBH_PROBE_LOST, "probe-lost",
                          "no reply: the peer is down, on another wire, or drops it", NULL,
                          "is the peer up, and on the same wire? ({peer} by {if})",
                          "see whether they are up, and answer pings at all"},
};

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

/* The neighbour table had no room: that has another errno in each family. */
static gboolean was_refused(const IbhProbe *probe, const IbhProbePair *pair)
{
    int family = ibh_probe_family(ibh_probe_peer(probe, pair));

    return probe->was_full[family] && (pair->send_error == ENOBUFS || (family && pair->send_error == EINVAL));
}

/* Nothing was sent, or not everything. */
static IbhProbeLoss judge_unsent(const IbhProbe *probe, const IbhProbePair *pair)
{
    if (was_refused(probe, pair))
        return IBH_LOSS_TABLE;
    switch (pair->send_error) {
    case 0:
        return IBH_LOSS_UNTRIED;
    case EPERM:
        return IBH_LOSS_FIREWALL;
    case ENOBUFS:
        return IBH_LOSS_QUEUE;
    default:
        return IBH_LOSS_NO_WAY;
    }
}

/* Echoes left, and did not come back: what the neighbour says, asked anew. */
static IbhProbeLoss judge_silence(const IbhProbe *probe, const IbhProbePair *pair)
{
    const IbhIp *via = ibh_probe_via(probe, pair);

    if (pair->answers)
        return via && ibh_ip_equal(via, ibh_probe_peer(probe, pair)) ? IBH_LOSS_AFTER_ARP : IBH_LOSS_UNKNOWN;
    if (!probe->hears_arp || !via)
        return IBH_LOSS_UNKNOWN;
    return ibh_ip_equal(via, ibh_probe_peer(probe, pair)) ? IBH_LOSS_NOTHING : IBH_LOSS_GATEWAY;
}

static IbhProbeLoss judge_loss(const IbhProbe *probe, const IbhProbePair *pair)
{
    const IbhLink *link = ibh_probe_link(probe, pair);
    const IbhProbeLoss here = ibh_probe_trace_verdict(pair);

    if (!ibh_nic_is_usable(ibh_probe_source(probe, pair)->nic))
        return IBH_LOSS_NO_CARRIER;
    if (!pair->route.error && pair->route.type == RTN_LOCAL)
        return IBH_LOSS_OURS;
    if (here == IBH_LOSS_HELD) /* errors of sending follow from it */
        return here;
    if (pair->send_error || !pair->sent)
        return judge_unsent(probe, pair);
    if (pair->dropped)
        return IBH_LOSS_REFUSED;
    if (pair->received)
        return IBH_LOSS_SOME;
    if (has_double(probe, pair->source))
        return IBH_LOSS_DUPLICATE;
    if (pair->on_link && has_wrong_entry(pair))
        return IBH_LOSS_STATIC;
    if (pair->on_link && (link->flags & IFF_NOARP) && (link->flags & IFF_BROADCAST) && !pair->fixed)
        return IBH_LOSS_ARP_OFF;
    return here != IBH_LOSS_NONE ? here : judge_silence(probe, pair);
}

/* ---- in words ---- */

/* What the kernel says of a route that is no way: its errno tells its type. */
static const char *explain_refusal(int error)
{
    switch (error) {
    case EINVAL:
        return "a blackhole route";
    case EHOSTUNREACH:
        return "an unreachable route";
    case EACCES:
        return "a prohibit route";
    case ENETUNREACH:
        return "no route";
    default:
        return g_strerror(error);
    }
}

static const char *name_link(const IbhProbe *probe, int ifindex)
{
    const IbhLink *link = ibh_snapshot_link(probe->rails->snapshot, ifindex);

    return link ? link->name : "another interface";
}

static char *explain_loss(const IbhProbe *probe, const IbhProbePair *pair)
{
    const gboolean six = ibh_probe_peer(probe, pair)->family == AF_INET6;
    char from[IBH_IP_STRLEN], to[IBH_IP_STRLEN];

    switch (pair->loss) {
    case IBH_LOSS_NO_WAY:
        return g_strdup_printf("this host has no way there by this NIC: %s", explain_refusal(pair->send_error));
    case IBH_LOSS_TRANSLATED:
        if (ibh_ip_equal(&pair->trace.to, ibh_probe_peer(probe, pair)))
            return g_strdup_printf("this host's own address translation (nft, iptables) sends echoes from %s",
                                   ibh_ip_format(&pair->trace.from, from));
        return g_strdup_printf("this host's own address translation (nft, iptables) sends echoes to %s",
                               ibh_ip_format(&pair->trace.to, to));
    case IBH_LOSS_REFUSED:
        return g_strdup_printf("replies came to this host by %s, and this host dropped them: rp_filter or a firewall",
                               name_link(probe, pair->reply_ifindex));
    case IBH_LOSS_GATEWAY:
        return g_strdup_printf("the gateway %s does not answer %s, so nothing beyond it is reached",
                               ibh_ip_format(ibh_probe_via(probe, pair), to), six ? "neighbour solicitations" : "ARP");
    case IBH_LOSS_AFTER_ARP:
        return g_strdup_printf("%s answered, echoes are not: a firewall there, another prefix there, or no way back",
                               six ? "neighbour solicitations are" : "ARP is");
    case IBH_LOSS_NOTHING:
        return g_strdup_printf("nothing answers, not even %s: the NIC there, the wire or the host is down, or it is "
                               "another wire",
                               six ? "neighbour solicitations" : "ARP");
    default:
        return g_strdup(losses[pair->loss].why);
    }
}

static void replace(GString *text, const char *what, const char *by)
{
    for (char *at = text->str; (at = strstr(at, what)); at = text->str) {
        gssize start = at - text->str;

        g_string_erase(text, start, (gssize)strlen(what));
        g_string_insert(text, start, by);
    }
}

/* "{if}", "{peer}", "{from}": of this pair. NULL stays NULL. */
char *ibh_probe_fill_in(const IbhProbe *probe, const IbhProbePair *pair, const char *template)
{
    g_autofree char *iface = ibh_shell_word(ibh_probe_link(probe, pair)->name);
    char ip[IBH_IP_STRLEN];
    GString *text;

    if (!template)
        return NULL;
    text = g_string_new(template);
    replace(text, "{if}", iface);
    replace(text, "{peer}", ibh_ip_format(ibh_probe_peer(probe, pair), ip));
    replace(text, "{from}", ibh_ip_format(&ibh_probe_source(probe, pair)->ip, ip));
    return g_string_free(text, FALSE);
}

/* ---- what is wrong with each pair ---- */

static void judge_echoes(const IbhProbe *probe, guint i, GArray *charges)
{
    IbhProbePair *pair = ibh_probe_pair(probe, i);
    gboolean told_alone;

    for (guint number = 0; number < (guint)probe->count; number++)
        pair->dropped |= ibh_probe_echo(probe, i, number)->seen && !ibh_probe_echo(probe, i, number)->received;
    if (pair->sent && pair->received >= pair->sent && !pair->send_error)
        return;
    pair->loss = judge_loss(probe, pair);
    pair->local = ibh_probe_local_cause(probe, pair);
    pair->hindered = pair->local || losses[pair->loss].place == IBH_AT_HOME;
    ibh_probe_blame(pair, losses[pair->loss].fault);
    if (pair->received < pair->sent && losses[pair->loss].fault == IBH_PROBE_UNSENT)
        ibh_probe_blame(pair, IBH_PROBE_LOST);
    if (!losses[pair->loss].code)
        return;
    told_alone = pair->loss == IBH_LOSS_AFTER_ARP || pair->loss == IBH_LOSS_NOTHING || pair->loss == IBH_LOSS_UNKNOWN;
    ibh_probe_charge(
        charges, &(IbhProbeCharge){.pair = i,
                                   .place = pair->local ? IBH_AT_HOME : losses[pair->loss].place,
                                   .severity = losses[pair->loss].severity,
                                   .code = pair->local ? pair->local->code : losses[pair->loss].code,
                                   .peer_code = told_alone ? "peer-down" : NULL,
                                   .why = pair->local ? g_strdup(pair->local->why) : explain_loss(probe, pair),
                                   .fix = pair->local ? NULL : ibh_probe_fill_in(probe, pair, losses[pair->loss].fix),
                                   .advice = ibh_probe_fill_in(
                                       probe, pair, pair->local ? pair->local->advice : losses[pair->loss].advice),
                                   .peer_advice = losses[pair->loss].peer_advice});
}

static void judge_way(const IbhProbe *probe, guint i, GArray *charges)
{
    IbhProbePair *pair = ibh_probe_pair(probe, i);
    int right = ibh_probe_link(probe, pair)->ifindex;
    /* a NIC that is down is reported, not its consequences */
    const gboolean usable = ibh_nic_is_usable(ibh_probe_source(probe, pair)->nic);

    if ((pair->route.error || pair->route.oif != right) && pair->loss != IBH_LOSS_OURS) {
        ibh_probe_blame(pair, IBH_PROBE_ROUTE);
        if (usable)
            ibh_probe_charge(
                charges,
                &(IbhProbeCharge){
                    .pair = i,
                    .place = IBH_AT_HOME,
                    .severity = IBH_ERROR,
                    .code = "routed-other-nic",
                    .why = pair->route.error
                               ? g_strdup_printf("this address's own traffic does not leave at all: %s",
                                                 explain_refusal(pair->route.error))
                               : g_strdup_printf("the echo was sent by this NIC, but this address's own traffic "
                                                 "leaves by %s",
                                                 name_link(probe, pair->route.oif)),
                    .advice = ibh_probe_fill_in(probe, pair, "ib-hook --check --iface {if} names the rule or route"),
                });
    }
    if (pair->reply_ifindex && pair->reply_ifindex != right) {
        ibh_probe_blame(pair, IBH_PROBE_REPLY);
        if (pair->loss != IBH_LOSS_REFUSED)
            ibh_probe_charge(
                charges,
                &(IbhProbeCharge){
                    .pair = i,
                    .place = IBH_AT_HOME,
                    .severity = IBH_ERROR,
                    .code = "reply-other-nic",
                    .why = g_strdup_printf("replies came in by %s: the peer holds its hardware address for "
                                           "this one's",
                                           name_link(probe, pair->reply_ifindex)),
                    .advice = ibh_probe_fill_in(probe, pair,
                                                "ib-hook --check --iface {if}; if that is ok, on the peer: ip neigh "
                                                "flush to {from}"),
                });
    }
}

/* ---- the rest ---- */

static gboolean is_neighbour(const IbhProbe *probe, const IbhProbePair *pair)
{
    const IbhIp *via = ibh_probe_via(probe, pair);

    return via && ibh_ip_equal(via, ibh_probe_peer(probe, pair));
}

/* The replies that were delivered came in for another address. */
static gboolean is_translated(const IbhProbe *probe, guint i)
{
    gboolean any = FALSE;

    for (guint number = 0; probe->hears_replies && number < (guint)probe->count; number++) {
        const IbhProbeEcho *echo = ibh_probe_echo(probe, i, number);

        if (echo->seen)
            return FALSE;
        any |= echo->received;
    }
    return any;
}

static void judge_known(const IbhProbe *probe, guint i, GArray *charges)
{
    IbhProbePair *pair = ibh_probe_pair(probe, i);

    if (!pair->received)
        return;
    if (is_translated(probe, i)) {
        ibh_probe_blame(pair, IBH_PROBE_TRANSLATED);
        ibh_probe_charge(charges,
                         &(IbhProbeCharge){.pair = i,
                                           .place = IBH_AT_HOME,
                                           .severity = IBH_WARNING,
                                           .code = "address-translated",
                                           .why = g_strdup("this host's own address translation changes what leaves by "
                                                           "this NIC: the peer sees another address"),
                                           .advice = g_strdup("leave the rails out of it (nft list ruleset, "
                                                              "iptables-save -t nat)")});
    } else if (is_neighbour(probe, pair) && !pair->lladdr_len && !pair->sender_len) {
        ibh_probe_blame(pair, IBH_PROBE_NOT_KNOWN);
        ibh_probe_charge(
            charges,
            &(IbhProbeCharge){.pair = i,
                              .place = IBH_AT_EITHER,
                              .severity = IBH_WARNING,
                              .code = "not-known",
                              .why = g_strdup("echoes come back, but no hardware address of the peer was "
                                              "seen: by which NIC is not known"),
                              .advice = ibh_probe_fill_in(probe, pair, "as root; ip neigh show to {peer} dev {if}")});
    }
}

void ibh_probe_judge(IbhProbe *probe)
{
    g_autoptr(GArray) charges = ibh_probe_charges_new();

    g_clear_pointer(&probe->findings, g_ptr_array_unref);
    probe->findings = ibh_findings_new();
    ibh_probe_judge_mixed(probe);
    for (guint i = 0; i < probe->pairs->len; i++) {
        judge_echoes(probe, i, charges);
        judge_way(probe, i, charges);
        ibh_probe_judge_size(probe, i, charges);
        judge_known(probe, i, charges);
        ibh_probe_judge_rdma(ibh_probe_pair(probe, i));
    }
    ibh_probe_charge_mixed(probe, charges);
    ibh_probe_report_strangers(probe);
    ibh_probe_report_rails(probe);
    ibh_probe_report_charges(probe, charges);
    ibh_probe_report_rdma(probe);
    ibh_probe_report_whole(probe);
}
