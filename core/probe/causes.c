/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/causes.h"

#include "model/model.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define HOME IBH_AT_HOME, IBH_ERROR
#define EITHER IBH_AT_EITHER, IBH_ERROR
#define FILTERS "nft list ruleset; iptables-save; "
#define IPSEC "ip xfrm policy; leave the rails out of it"
#define NAT "leave the rails out of it (nft list ruleset, iptables-save -t nat)"
#define INSTALL "on the peer ({peer}): install ib-hook there, or ib-hook --apply"
#define LONG "packets of {passed} bytes come through, but not {full}, as the rail's MTU allows"
#define LOST IBH_PROBE_LOST, "probe-lost"
#define NOT_SENT IBH_PROBE_LOST, "probe-not-sent"

static const IbhCauseRow rows[IBH_N_CAUSES] = {
    [IBH_CAUSE_NONE] = {.fault = IBH_NO_FAULT},
    [IBH_LOSS_NO_CARRIER] = {HOME, .fault = IBH_PROBE_LOST},
    [IBH_LOSS_DUPLICATE] = {HOME, .fault = IBH_PROBE_LOST},
    [IBH_LOSS_TABLE] = {HOME, .fault = IBH_PROBE_UNSENT},
    [IBH_LOSS_OURS] = {HOME, IBH_PROBE_UNSENT, "probe-not-sent",
                       .why = "a route of type local says that the address is this host's own, so nothing leaves",
                       .advice = "ip route show table all type local {peer}"},
    [IBH_LOSS_NO_WAY] = {HOME, IBH_PROBE_UNSENT, "probe-not-sent",
                         .why = "this host has no way there by this NIC: {refused}",
                         .advice = "ask the kernel: ip route get {peer} from {from} oif {if}; ip rule"},
    [IBH_LOSS_FIREWALL] = {HOME, IBH_PROBE_UNSENT, "probe-not-sent", .why = "this host's own firewall drops the echoes",
                           .advice = FILTERS "ip xfrm policy"},
    [IBH_LOSS_QUEUE] = {HOME, IBH_PROBE_UNSENT, "probe-not-sent",
                        .why = "this host's own filter or queue drops the echoes: nft, tc",
                        .advice = FILTERS "tc -s qdisc show dev {if}; tc filter show dev {if} egress"},
    [IBH_LOSS_UNTRIED] = {HOME, IBH_PROBE_UNSENT, "probe-not-sent", .why = "the echoes were never tried",
                          .advice = "ask the kernel: ip route get {peer} from {from} oif {if}"},
    [IBH_LOSS_STATIC] = {IBH_AT_HOME, IBH_WARNING, IBH_PROBE_LOST, "neighbour-static",
                         .why =
                             "a permanent entry of this host's neighbour table has another hardware address than the "
                             "one that answers ARP, so packets do not arrive",
                         .fix = "ip neigh del {peer} dev {if}"},
    [IBH_LOSS_ARP_OFF] = {IBH_AT_HOME, IBH_WARNING, IBH_PROBE_LOST, "arp-off",
                          .why = "ARP is switched off on this NIC, so it finds no neighbour",
                          .fix = "ip link set arp on dev {if}"},
    [IBH_LOSS_HELD] = {HOME, NOT_SENT,
                       .why = "no echo leaves by this NIC, or answers to ARP are dropped: this host's own filter, nft "
                              "(tables arp and netdev, too), arptables or tc",
                       .advice = FILTERS "tc -s qdisc show dev {if}; tc filter show dev {if} egress"},
    [IBH_LOSS_SENT_FROM] = {HOME, IBH_PROBE_LOST, "address-translated",
                            .why =
                                "this host's own address translation (nft, iptables) sends echoes from {leaves from}",
                            .advice = NAT},
    [IBH_LOSS_SENT_TO] = {HOME, IBH_PROBE_LOST, "address-translated",
                          .why = "this host's own address translation (nft, iptables) sends echoes to {leaves to}",
                          .advice = NAT},
    [IBH_LOSS_DROPPED] = {HOME, IBH_PROBE_DROPPED, "reply-dropped",
                          .why =
                              "replies come in by {reply if}, and this host drops them: rp_filter, its own firewall, "
                              "nft's table netdev, or tc",
                          .advice = "ib-hook --check --iface {if}; if that is ok: " FILTERS
                                    "tc filter show dev {if} ingress"},
    [IBH_LOSS_GATEWAY] = {EITHER, IBH_PROBE_LOST, "gateway-down",
                          .why = "the gateway {via} does not answer {arp}, so nothing beyond it is reached",
                          .advice = "see whether the gateway is up, and on this wire; or route around it"},
    [IBH_LOSS_SOME] = {EITHER, LOST,
                       .why = "some echoes get lost: load, a cable, a full queue, or a limit on the peer's side",
                       .advice = "more echoes tell how many (--count 100); ethtool -S {if}, the peer's load"},
    [IBH_LOSS_AFTER_ARP] = {EITHER, LOST, "peer-down",
                            .why =
                                "{arp answered} answered, echoes are not: a firewall there, another prefix there, or "
                                "no way back",
                            .advice =
                                "on the peer ({peer}): its firewall (nft list ruleset), its prefix, ib-hook --check"},
    [IBH_LOSS_NOTHING] = {EITHER, LOST, "peer-down",
                          .why = "nothing answers, not even {arp}: the NIC there, the wire or the host is down, or it "
                                 "is another wire",
                          .advice = "is the peer up, and on the same wire? ({peer} by {if})",
                          .peer_advice = "see whether they are up, on this wire, and answer at all"},
    [IBH_LOSS_UNKNOWN] = {EITHER, LOST, "peer-down", .why = "no reply: the peer is down, on another wire, or drops it",
                          .advice = "is the peer up, and on the same wire? ({peer} by {if})",
                          .peer_advice = "see whether they are up, and answer pings at all"},

    [IBH_LOCAL_XDP] = {HOME, IBH_PROBE_LOST, "reply-dropped",
                       .why =
                           "nothing comes in by this NIC, to which an XDP program is attached: it drops what arrives, "
                           "before this host sees it",
                       .advice = "ip -details link show dev {if}; bpftool net show dev {if}"},
    [IBH_LOCAL_PASSTHRU] = {HOME, IBH_PROBE_LOST, "reply-dropped",
                            .why =
                                "nothing comes in by this NIC: a macvlan in mode passthru on it takes all that arrives",
                            .advice = "ip -details link show type macvlan"},
    [IBH_LOCAL_QDISC] = {HOME, NOT_SENT,
                         .why = "this host's own queue of this NIC drops what leaves: the drops of its qdisc grow",
                         .advice = "tc -s qdisc show dev {if}"},
    [IBH_LOCAL_IPSEC_IN] = {HOME, IBH_PROBE_DROPPED, "reply-dropped",
                            .why = "this host's IPsec policies drop replies: an XfrmIn counter of /proc/net/xfrm_stat "
                                   "grows",
                            .advice = IPSEC},
    [IBH_LOCAL_IPSEC_OUT] = {HOME, NOT_SENT,
                             .why = "this host's IPsec policies drop what leaves, or have no key for it: an XfrmOut "
                                    "counter of /proc/net/xfrm_stat grows",
                             .advice = "ip xfrm state; " IPSEC},
    [IBH_LOCAL_RP_FILTER] = {HOME, IBH_PROBE_DROPPED, "reply-dropped",
                             .why = "this host's rp_filter drops the replies: IPReversePathFilter grows",
                             .advice = "ib-hook --check --iface {if}"},

    [IBH_WAY_NONE] = {HOME, IBH_PROBE_ROUTE, "routed-other-nic",
                      .why = "this address's own traffic does not leave at all: {no route}",
                      .advice = "ib-hook --check --iface {if} names the rule or route"},
    [IBH_WAY_OTHER_NIC] = {HOME, IBH_PROBE_ROUTE, "routed-other-nic",
                           .why = "the echo was sent by this NIC, but this address's own traffic leaves by {route if}",
                           .advice = "ib-hook --check --iface {if} names the rule or route"},
    [IBH_WAY_REPLY] = {HOME, IBH_PROBE_REPLY, "reply-other-nic",
                       .why = "replies came in by {reply if}: the peer holds its hardware address for this one's",
                       .advice = "ib-hook --check --iface {if}; if that is ok, on the peer: ip neigh flush to {from}"},
    [IBH_WAY_TRANSLATED] = {IBH_AT_HOME, IBH_WARNING, IBH_PROBE_TRANSLATED, "address-translated",
                            .why = "this host's own address translation changes what leaves by this NIC: the peer sees "
                                   "another address",
                            .advice = NAT},
    [IBH_WAY_NOT_KNOWN] = {IBH_AT_EITHER, IBH_WARNING, IBH_PROBE_NOT_KNOWN, "not-known",
                           .why = "echoes come back, but no hardware address of the peer was seen: by which NIC is not "
                                  "known",
                           .advice = "as root; ip neigh show to {peer} dev {if}"},
    [IBH_PEER_FLUX] = {IBH_AT_PEER, IBH_WARNING, IBH_PROBE_FLUX, "peer-flux",
                       .why =
                           "not one NIC answers for each address: that host mixes its rails (ARP flux), so peers use "
                           "the wrong NIC, unless these addresses are all of one NIC",
                       .advice = INSTALL},
    [IBH_PEER_TWO] = {IBH_AT_PEER, IBH_WARNING, IBH_PROBE_FLUX, "peer-flux",
                      .why =
                          "several hardware addresses answer for the address, and for no other: two hosts have it, or "
                          "a host mixes its NICs",
                      .advice = INSTALL},
    [IBH_PEER_SENDER] = {IBH_AT_PEER, IBH_WARNING, IBH_PROBE_PEER_SENDER, "peer-replies-other-nic",
                         .why = "the peer replies by another NIC than the one that has the address: its own routing "
                                "mixes its rails",
                         .advice = INSTALL},

    [IBH_SIZE_PIECES] = {IBH_AT_EITHER, IBH_WARNING, IBH_PROBE_MTU, "path-mtu",
                         .why = "packets of {full} bytes, as the rail's MTU allows, arrive, but replies of that size "
                                "come in pieces of {piece}: the peer's MTU is smaller",
                         .advice = "one MTU on both sides: here {full}; there: ip link, ip route show to {from}"},
    [IBH_SIZE_TOLD] = {EITHER, IBH_PROBE_MTU, "path-mtu", .why = LONG ": {told by} says that they are too long",
                       .advice = "look at the MTU of the next link of {told by}"},
    [IBH_SIZE_BEYOND] = {IBH_AT_EITHER, IBH_INFO, IBH_NO_FAULT, "path-mtu",
                         .why = LONG ": {told by} says that they are too long",
                         .advice = "look at the MTU of the next link of {told by}"},
    [IBH_SIZE_HELD] = {HOME, IBH_PROBE_MTU, "path-mtu", .why = LONG ": this host's own firewall drops them",
                       .advice = "on this host: nft list ruleset, iptables-save"},
    [IBH_SIZE_DROPPED] = {HOME, IBH_PROBE_MTU, "path-mtu",
                          .why = LONG ": this host's own firewall drops the replies, which come in whole",
                          .advice = "on this host: nft list ruleset, iptables-save"},
    [IBH_SIZE_SILENT] = {EITHER, IBH_PROBE_MTU, "path-mtu",
                         .why = LONG ", without an ICMP error: connections open, and hang once they send more",
                         .advice = "look at the MTU of the switch ports on the way, of the peer's NIC (ip link), at "
                                   "firewalls there"},

    [IBH_CAUSE_RDMA_UNASKED] = {HOME, IBH_NO_FAULT, .why = "not asked"},
    [IBH_CAUSE_RDMA_NO_ECHO] = {HOME, IBH_NO_FAULT, .why = "not asked, as the peer gives no sign of life"},
    [IBH_CAUSE_RDMA_NO_MODULE] = {HOME, IBH_NO_FAULT, .why = "not asked: the module rdma_ucm is not loaded"},
    [IBH_CAUSE_RDMA_FILTERED] =
        {HOME, IBH_PROBE_RDMA, "rdma-unreachable",
         .why = "RDMA not asked: this host's own firewall drops UDP 4791, by which Soft-RoCE sends",
         .advice = "let UDP port 4791 out (nft list ruleset, iptables -S OUTPUT)"},
    [IBH_CAUSE_RDMA_BLOCKED] = {HOME, IBH_PROBE_RDMA, "rdma-unreachable",
                                .why = "RDMA not asked: the kernel did not let go of the process that should ask",
                                .advice =
                                    "dmesg; a process ib-hook in state D (ps -eo pid,stat,wchan:30,comm) ends with "
                                    "its cause"},
    [IBH_CAUSE_RDMA_NO_DEVICE] = {HOME, IBH_PROBE_NO_DEVICE, "rdma-no-device",
                                  .why = "no RDMA device is behind this NIC, so it cannot be asked by RDMA",
                                  .advice = "ib-hook --check --iface {if}; dmesg"},
    [IBH_CAUSE_RDMA_NO_GID] = {HOME, IBH_PROBE_RDMA, "rdma-unreachable",
                               .why = "no RDMA: the NIC's RDMA device has no GID for its address",
                               .advice = "ib-hook --check --iface {if}; take the address away and add it again"},
    [IBH_CAUSE_RDMA_REFUSED] = {HOME, IBH_PROBE_RDMA, "rdma-unreachable",
                                .why = "the kernel does not send RDMA requests: {rdma error}",
                                .advice = "ib-hook --check --iface {if}; dmesg"},
    [IBH_CAUSE_RDMA_NO_WAY] = {HOME, IBH_PROBE_RDMA, "rdma-unreachable",
                               .why = "the RDMA connection manager does not find the way: {rdma error}",
                               .advice = "ib-hook --check --iface {if}; dmesg"},
    [IBH_CAUSE_RDMA_NO_PATH] = {HOME, IBH_PROBE_RDMA, "rdma-unreachable",
                                .why = "the subnet manager tells no path: {rdma error}",
                                .advice = "ib-hook --check --iface {if}: the port, its P_Key, its subnet manager"},
    [IBH_CAUSE_RDMA_SILENT] = {EITHER, IBH_PROBE_RDMA, "rdma-unreachable",
                               .why =
                                   "RDMA requests get no answer, though IP works: the RDMA device is gone, has no GID "
                                   "for the address, or what it sends or gets is dropped",
                               .advice =
                                   "on both sides: rdma link, ib-hook --check --iface {if}; between both: UDP 4791 "
                                   "has to pass (RoCE)",
                               .peer_advice = "on the peer: rdma link, ib-hook --check; between both: UDP 4791 has to "
                                              "pass (RoCE)"},
};

const IbhCauseRow *ibh_probe_cause(IbhCause cause)
{
    return &rows[cause];
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

static char *name_ip(const IbhIp *ip)
{
    char text[IBH_IP_STRLEN];

    return g_strdup(ip ? ibh_ip_format(ip, text) : "");
}

static char *name_link(const IbhProbe *probe, int ifindex)
{
    const IbhLink *link = ibh_snapshot_link(probe->rails->snapshot, ifindex);

    return g_strdup(link ? link->name : "another interface");
}

static char *number(guint n)
{
    return g_strdup_printf("%u", n);
}

/* What a word in braces stands for. */
static char *value_of(const IbhProbe *probe, const IbhProbePair *pair, const char *word)
{
    const IbhLink *link = ibh_probe_link(probe, pair);
    const gboolean six = ibh_probe_peer(probe, pair)->family == AF_INET6;

#define IS(name) g_str_equal(word, name)
    return IS("if")             ? ibh_shell_word(link->name)
           : IS("peer")         ? name_ip(ibh_probe_peer(probe, pair))
           : IS("from")         ? name_ip(&ibh_probe_source(probe, pair)->ip)
           : IS("via")          ? name_ip(ibh_probe_via(probe, pair))
           : IS("leaves from")  ? name_ip(&pair->trace.from)
           : IS("leaves to")    ? name_ip(&pair->trace.to)
           : IS("told by")      ? name_ip(&pair->mtu.told_by)
           : IS("arp")          ? g_strdup(six ? "neighbour solicitations" : "ARP")
           : IS("arp answered") ? g_strdup(six ? "neighbour solicitations are" : "ARP is")
           : IS("reply if")
               ? pair->reply_ifindex == link->ifindex ? g_strdup("this NIC") : name_link(probe, pair->reply_ifindex)
           : IS("route if") ? name_link(probe, pair->route.oif)
           : IS("refused")  ? g_strdup(explain_refusal(pair->send_error))
           : IS("no route") ? g_strdup(explain_refusal(pair->route.error))
           : IS("passed")   ? number(pair->mtu.passed)
           : IS("full")     ? number(ibh_probe_full_size(probe, pair))
           : IS("piece")    ? number(pair->mtu.fragment)
                            : g_strdup(g_strerror(pair->rdma.error ? pair->rdma.error : ETIMEDOUT)); /* rdma error */
#undef IS
}

char *ibh_probe_fill_in(const IbhProbe *probe, const IbhProbePair *pair, const char *template)
{
    g_auto(GStrv) parts = template ? g_strsplit_set(template, "{}", -1) : NULL;
    GString *text = template ? g_string_new(NULL) : NULL;

    for (guint i = 0; template && parts[i]; i++) {
        g_autofree char *value = i % 2 ? value_of(probe, pair, parts[i]) : NULL;

        g_string_append(text, value ? value : parts[i]);
    }
    return text ? g_string_free(text, FALSE) : NULL;
}

/* ---- the kernel's own words ---- */

typedef struct {
    int ifindex;
    IbhCause fact;
    guint64 before, after;
} Reading;

/* By what is lost. */
enum { ON_THE_WAY_OUT = 1, ON_THE_WAY_IN = 2, ALL_THAT_COMES = 4, SOME = 8 };

static const struct {
    guint stage;
    const char *file, *key; /* below /proc/net */
} facts[IBH_LOCAL_END] = {
    [IBH_LOCAL_XDP] = {ALL_THAT_COMES, NULL, NULL},
    [IBH_LOCAL_PASSTHRU] = {ON_THE_WAY_IN | ALL_THAT_COMES, NULL, NULL},
    [IBH_LOCAL_QDISC] = {ON_THE_WAY_OUT | ALL_THAT_COMES | SOME, NULL, NULL},
    [IBH_LOCAL_IPSEC_IN] = {ON_THE_WAY_IN, "xfrm_stat", "XfrmIn"},
    [IBH_LOCAL_IPSEC_OUT] = {ON_THE_WAY_OUT, "xfrm_stat", "XfrmOut"},
    [IBH_LOCAL_RP_FILTER] = {ON_THE_WAY_IN, "netstat", "IPReversePathFilter"},
};

const char *ibh_probe_local_file(IbhCause fact, const char **ret_key)
{
    *ret_key = facts[fact].key;
    return facts[fact].file;
}

void ibh_probe_note_local(IbhProbe *probe, int ifindex, IbhCause fact, gboolean after, guint64 value)
{
    const Reading reading = {.ifindex = ifindex, .fact = fact, .before = after ? 0 : value, .after = value};

    if (!probe->local)
        probe->local = g_array_new(FALSE, FALSE, sizeof(Reading));
    IBH_EACH (Reading, known, probe->local) {
        if (known->ifindex == ifindex && known->fact == fact) {
            known->after = value;
            return;
        }
    }
    g_array_append_val(probe->local, reading);
}

static guint stages_of(IbhCause loss)
{
    switch (loss) {
    case IBH_LOSS_NO_WAY:
    case IBH_LOSS_FIREWALL:
    case IBH_LOSS_QUEUE:
        return ON_THE_WAY_OUT;
    case IBH_LOSS_HELD:
        return ON_THE_WAY_OUT | ALL_THAT_COMES;
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

/* The rail hears of no peer, and the peer is heard by another rail, or there is none. What a macvlan takes is heard all
 * the same. */
static gboolean is_deaf(const IbhProbe *probe, const IbhProbePair *of, IbhCause fact)
{
    gboolean others = FALSE, reached = FALSE;

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        if (pair->source == of->source && (pair->received || (pair->answers && fact == IBH_LOCAL_XDP)))
            return FALSE;
        if (pair->source == of->source || pair->peer != of->peer)
            continue;
        others = TRUE;
        reached |= pair->received > 0;
    }
    return reached || !others;
}

static gboolean explains(const IbhProbe *probe, const IbhProbePair *pair, const Reading *reading, guint stages)
{
    const guint64 lost = (guint64)MAX(pair->sent - pair->received, 1);

    if ((reading->ifindex && reading->ifindex != ibh_probe_link(probe, pair)->ifindex) ||
        !(facts[reading->fact].stage & stages) || reading->after < reading->before)
        return FALSE;
    if (reading->fact == IBH_LOCAL_XDP || reading->fact == IBH_LOCAL_PASSTHRU)
        return reading->after && is_deaf(probe, pair, reading->fact);
    return reading->after - reading->before >= lost;
}

IbhCause ibh_probe_local_cause(const IbhProbe *probe, const IbhProbePair *pair, IbhCause loss)
{
    for (guint i = 0; probe->local && i < probe->local->len; i++) {
        const Reading *reading = &g_array_index(probe->local, Reading, i);

        if (explains(probe, pair, reading, stages_of(loss)))
            return reading->fact;
    }
    return loss;
}
