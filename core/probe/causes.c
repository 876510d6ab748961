/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can be wrong with a pair: the stages of a packet's way, and how each was lost. */
#include "probe/probe.h"

#define HOME IBH_AT_HOME, IBH_ERROR
#define HOME_WARNING IBH_AT_HOME, IBH_WARNING
#define EITHER IBH_AT_EITHER, IBH_ERROR
#define EITHER_WARNING IBH_AT_EITHER, IBH_WARNING
#define PEER IBH_AT_PEER, IBH_ERROR
#define PEER_WARNING IBH_AT_PEER, IBH_WARNING
#define LOST "probe-lost"
#define NOT_SENT "probe-not-sent"
#define DROPPED "reply-dropped"
#define NO_RDMA "rdma-unreachable"
#define BESIDE NULL   /* what proves nothing is told beside the loss */
#define NO_PROBLEM "" /* of the pairs themselves */
#define FILTERS "nft list ruleset; iptables-save; "
#define BPF "bpftool net show dev {if}"
#define MACVLANS "ip -details link show type macvlan"
#define LEAVE_OUT "{ip} rule; nft list ruleset; iptables-save -t mangle: exempt the rails from the filter or the rule"
#define IPSEC "ip xfrm policy; exempt the rails from these policies"
#define NAT "exempt the rails from the translation (nft list ruleset, iptables-save -t nat)"
#define INSTALL "on the peer ({peer}): install ib-hook there, or sudo ib-hook --apply"
#define LONG "packets of {passed} bytes come through, but not those of {full} bytes, which the rail's MTU allows"
#define FROM_THERE                                                                                                     \
    "seen to leave, and nothing came back: the fault is in the wire, in either direction, or in that host"
#define FOLLOW                                                                                                         \
    "follow one on its way: tcpdump -eni {if} host {peer} here, the counters of the switch's ports, the other end"
#define CHECK "ib-hook --check --iface {if}"
#define DAMAGED "that host's NIC, a cable, a switch or this NIC damages them"
#define COUNTERS                                                                                                       \
    "ethtool -S {if}; the error counters of the peer's NIC and of the switch's ports on the way; another cable or "    \
    "transceiver"
#define FIND "find them (the switches' tables of hardware addresses), and "

static const IbhCauseRow rows[IBH_N_CAUSES] = {
    [IBH_CAUSE_NONE] = {.code = NULL},
    [IBH_LOSS_DOWN] = {IBH_STAGE_WAY, ibh_proof_is_down, HOME, "carrier-down", LOST,
                       "the link is administratively down: nothing can leave or arrive",
                       .fix = "ip link set up dev {if}"},
    [IBH_LOSS_NO_CARRIER] = {IBH_STAGE_WAY, ibh_proof_has_no_carrier, HOME, "carrier-down", LOST,
                             "the link has no carrier: nothing can leave or arrive by it",
                             .advice = "look at the cable, the transceiver and the switch's port"},
    [IBH_LOSS_OURS] = {IBH_STAGE_WAY, ibh_proof_is_ours, HOME, NOT_SENT, NULL,
                       "a route of type {type} says that the address is {whose}, so nothing leaves",
                       .advice = "{ip} route show table all type {type} {peer}; ask an address of one other host"},
    [IBH_LOSS_ARP_OFF] = {IBH_STAGE_QUESTION, ibh_proof_is_arp_off, HOME_WARNING, "arp-off", LOST,
                          "ARP is switched off on this NIC, so it finds no neighbour",
                          .fix = "ip link set arp on dev {if}"},
    [IBH_LOSS_TABLE] = {IBH_STAGE_QUESTION, ibh_proof_was_table_full, HOME, "neighbour-table-small", NOT_SENT,
                        "the kernel's table of neighbours is full, so echoes were not sent, which is no fault of these "
                        "peers",
                        .advice =
                            "raise net.{ipv}.neigh.default.gc_thresh3, gc_thresh2 and gc_thresh1 (sudo sysctl -w)"},
    [IBH_LOSS_UNHEARD] = {IBH_STAGE_ENTRY, ibh_proof_is_unheard, HOME, NOT_SENT, NULL,
                          "{arp answered} answered, and this host drops the answer, so no echo leaves: its own filter, "
                          "nft (tables arp and netdev, too), arptables or tc",
                          .advice = FILTERS "arptables-save; tc filter show dev {if} ingress",
                          .lost = IBH_LOST_FRAMES_IN},
    [IBH_LOSS_HELD] =
        {IBH_STAGE_SENT, ibh_proof_is_held, HOME, NOT_SENT, NULL,
         "no echo leaves through this NIC: this host's own filter or queue: nft (table netdev, too) or tc",
         .advice = FILTERS "tc -s qdisc show dev {if}; tc filter show dev {if} egress",
         .lost = IBH_LOST_OUT | IBH_LOST_FRAMES_OUT},
    [IBH_LOSS_FIREWALL] = {IBH_STAGE_SENT, ibh_proof_is_refused, HOME, NOT_SENT, NULL,
                           "this host's own firewall drops the echoes", .advice = FILTERS "ip xfrm policy",
                           .lost = IBH_LOST_OUT},
    [IBH_LOSS_MARKED] = {IBH_STAGE_WAY, ibh_proof_is_marked, HOME, NOT_SENT, NULL,
                         "a route look-up finds this NIC, but packets are refused ({refused}): a filter of this "
                         "host sets a mark or DSCP that a rule refuses, or a rule depends on the NIC",
                         .advice = LEAVE_OUT},
    [IBH_LOSS_NO_WAY] = {IBH_STAGE_WAY, ibh_proof_is_unsent, HOME, NOT_SENT, NULL,
                         "this host has no way there through this NIC: {refused}",
                         .advice = "ask the kernel: ip route get {peer} from {from} oif {if}; ip rule",
                         .lost = IBH_LOST_OUT},
    [IBH_LOSS_DROPPED] =
        {IBH_STAGE_DELIVERED, ibh_proof_is_dropped, HOME, DROPPED, NULL,
         "replies come in through {reply if}, and this host drops them: rp_filter, its own firewall, nft's "
         "table netdev, or tc",
         .advice = CHECK "; if that is ok: " FILTERS "tc filter show dev {if} ingress",
         .lost = IBH_LOST_IN | IBH_LOST_FRAMES_IN},
    [IBH_LOSS_MANGLED] = {IBH_STAGE_REPLY, ibh_proof_is_mangled, EITHER, DROPPED, NULL,
                          "replies come in through this NIC with a wrong checksum, so this host drops them: " DAMAGED,
                          .advice = COUNTERS},
    [IBH_LOSS_TOLD] = {IBH_STAGE_REPLY, ibh_proof_answer_was_wrong, HOME, .problem = LOST},
    [IBH_LOSS_REFUSED] =
        {IBH_STAGE_REPLY, ibh_proof_peer_refuses, PEER, "icmp-refused", LOST,
         "the peer itself sends an ICMP error: {icmp}",
         .advice =
             "on the peer ({peer}): look for what sends these errors: its firewall (nft list ruleset), its routes"},
    [IBH_LOSS_REDIRECT] =
        {IBH_STAGE_WAY, ibh_proof_is_redirected, EITHER, LOST, NULL,
         "packets go through {way if} via {way via}, because this host accepted an ICMP redirect, and not as {route} "
         "says; nothing came back",
         .fix = "{flush redirects}",
         .advice = "sudo sysctl -w {refuse redirects}: no other redirect is accepted through {way if}"},
    [IBH_LOSS_REFUSED_ON_WAY] = {IBH_STAGE_REPLY, ibh_proof_way_refuses, EITHER, "icmp-refused", LOST,
                                 "{refused by}, on the way, sends an ICMP error: {icmp}",
                                 .advice =
                                     "on {refused by}: look for what sends these errors: its routes, its firewall"},
    [IBH_LOSS_SOME] = {IBH_STAGE_REPLY, ibh_proof_has_reply, EITHER, LOST, NULL,
                       "some echoes get lost: load, a cable, a full queue, or a limit on the peer's side",
                       .advice = "more echoes tell how many (--count 100); ethtool -S {if} shows what this NIC drops",
                       .lost = IBH_LOST_SOME},
    [IBH_LOSS_TRANSLATED] = {IBH_STAGE_SENT, ibh_proof_is_translated, HOME, "address-translated", LOST,
                             "this host's own address translation (nft, iptables) changes the echoes: they leave with "
                             "the source {leaves from} and the destination {leaves to}",
                             .advice = NAT},
    [IBH_LOSS_DETOUR] = {IBH_STAGE_WAY, ibh_proof_is_detour, EITHER, LOST, NULL,
                         "packets go via {via}, although the peer is a neighbour: {route} decides; nothing came back",
                         .advice = "delete {route}; or see why {via} does not forward"},
    [IBH_LOSS_GATEWAY] = {IBH_STAGE_ANSWER, ibh_proof_is_gateway_silent, EITHER, "gateway-down", LOST,
                          "the gateway {via} does not answer {arp}, so nothing beyond it is reached",
                          .advice = "see whether the gateway is up, and on this wire; or route around it"},
    [IBH_LOSS_AFTER_ARP] = {IBH_STAGE_REPLY, ibh_proof_has_answered, EITHER, LOST, NULL,
                            "{arp answered} answered, echoes are not: they were " FROM_THERE, .advice = FOLLOW,
                            .peer_code = "peer-down", .lost = IBH_LOST_ALL},
    [IBH_LOSS_NOTHING] = {IBH_STAGE_ANSWER, ibh_proof_is_silent, EITHER, LOST, NULL,
                          "nothing answers, not even {arp}: questions were " FROM_THERE, .advice = FOLLOW,
                          .peer_code = "peer-down", .lost = IBH_LOST_ALL},
    [IBH_LOSS_UNKNOWN] = {IBH_STAGE_REPLY, ibh_proof_is_unknown, EITHER, LOST, NULL,
                          "no reply: the fault is in the wire, in either direction, in a router, or in that host",
                          .advice = FOLLOW, .peer_code = "peer-down", .lost = IBH_LOST_ALL},

    [IBH_LOCAL_IPSEC_IN] = {IBH_STAGE_DELIVERED, NULL, HOME, BESIDE, NULL,
                            "an XfrmIn counter of /proc/net/xfrm_stat grows, too: this host's IPsec policies drop "
                            "packets, perhaps these",
                            .advice = "ip xfrm policy: if these drop the replies, exempt the rails",
                            .lost = IBH_LOST_IN, .file = "xfrm_stat", .key = "XfrmIn"},
    [IBH_LOCAL_IPSEC_OUT] =
        {IBH_STAGE_SENT, NULL, HOME, NOT_SENT, NULL,
         "this host's IPsec policies drop what leaves, or have no key for it: an XfrmOut counter of "
         "/proc/net/xfrm_stat grows",
         .advice = "ip xfrm state; " IPSEC, .lost = IBH_LOST_OUT, .file = "xfrm_stat", .key = "XfrmOut"},
    [IBH_LOCAL_RP_FILTER] = {IBH_STAGE_DELIVERED, NULL, HOME, BESIDE, NULL,
                             "IPReversePathFilter grows, too: this host's rp_filter drops packets, perhaps these",
                             .advice = "nstat -az TcpExtIPReversePathFilter", .lost = IBH_LOST_IN, .file = "netstat",
                             .key = "IPReversePathFilter"},
    [IBH_LOCAL_QDISC] = {IBH_STAGE_SENT, ibh_proof_is_unseen, HOME, NOT_SENT, NULL,
                         "this host's own queue of this NIC drops what leaves: the drops of its qdisc grow",
                         .advice = "tc -s qdisc show dev {if}",
                         .lost = IBH_LOST_FRAMES_OUT | IBH_LOST_ALL | IBH_LOST_SOME},
    [IBH_LOCAL_SOURCE] = {IBH_STAGE_DELIVERED, NULL, HOME, DROPPED, NULL,
                          "a macvlan in mode source on this NIC takes what the hosts on its list send, before this "
                          "host gets it",
                          .advice = MACVLANS, .lost = IBH_LOST_FRAMES_IN},
    [IBH_LOCAL_TCX_IN] =
        {IBH_STAGE_DELIVERED, NULL, HOME, DROPPED, NULL,
         "what comes in through this NIC does not get to this host's sockets: its own filter, or the tcx "
         "program (BPF) that is attached to the NIC",
         .advice = FILTERS BPF, .lost = IBH_LOST_FRAMES_IN},
    [IBH_LOCAL_TCX_OUT] =
        {IBH_STAGE_SENT, NULL, HOME, NOT_SENT, NULL,
         "no echo leaves through this NIC: this host's own filter or queue, or the tcx program (BPF) that "
         "is attached to the NIC",
         .advice = FILTERS "tc -s qdisc show dev {if}; " BPF, .lost = IBH_LOST_FRAMES_OUT},
    [IBH_LOCAL_XDP] = {IBH_STAGE_DELIVERED, NULL, HOME, BESIDE, NULL,
                       "an XDP program is attached to {if}, which could drop what arrives, too", .advice = BPF,
                       .lost = IBH_LOST_ALL},
    [IBH_LOCAL_PASSTHRU] =
        {IBH_STAGE_DELIVERED, ibh_proof_is_deaf, HOME, DROPPED, NULL,
         "nothing comes in through this NIC: a macvlan in mode passthru on it takes all that arrives",
         .advice = MACVLANS, .lost = IBH_LOST_FRAMES_IN | IBH_LOST_ALL},

    [IBH_WAY_NONE] = {IBH_STAGE_WAY, ibh_proof_has_no_route, HOME, "routed-other-nic", NULL,
                      "this address's own traffic does not leave at all: {no route}",
                      .advice = CHECK " names the rule or route"},
    [IBH_WAY_OTHER_NIC] =
        {IBH_STAGE_WAY, ibh_proof_has_other_route, HOME, "routed-other-nic", NULL,
         "the echo was sent through this NIC, but this address's own traffic leaves through {route if}: {route} "
         "decides",
         .advice = "ip route get {peer} from {from}; ip rule shows which rule leads to that table; " CHECK},
    [IBH_WAY_FILTERED] = {IBH_STAGE_WAY, ibh_proof_is_led_away, HOME, "routed-other-nic", NULL,
                          "a route look-up finds this NIC, but what programs send leaves through {free if}: a filter "
                          "of this host sets a mark or DSCP, and a rule sends such packets elsewhere",
                          .advice = LEAVE_OUT},

    [IBH_ENTRY_FIXED] = {IBH_STAGE_ENTRY, ibh_proof_is_entry_fixed, HOME_WARNING, "neighbour-static", NULL,
                         "a permanent entry of this host's neighbour table has another hardware address than the one "
                         "that answers ARP, so packets go to another NIC or host, or to none",
                         .fix = "ip neigh del {peer} dev {if}"},
    [IBH_ENTRY_WRONG] =
        {IBH_STAGE_ENTRY, ibh_proof_is_entry_wrong, HOME_WARNING, "neighbour-wrong", NULL,
         "this host's neighbour table had {entry}, before the first packet, but {answers} answers {arp}, "
         "so packets went to another NIC or host, or to none",
         .fix = "ip neigh del {peer} dev {if}"},
    [IBH_ENTRY_UNANSWERED] = {IBH_STAGE_ENTRY, ibh_proof_is_entry_unanswered, EITHER_WARNING, "arp-unanswered", NULL,
                              "echoes come back, but nothing answers {arp} when --probe asks again: this host uses an "
                              "old neighbour entry, and loses the peer when the entry expires",
                              .advice = FOLLOW},

    [IBH_PEER_FLUX] = {IBH_STAGE_ANSWER, ibh_proof_is_flux, PEER_WARNING, "peer-flux", NULL,
                       "several NICs of that host answer for each address: it mixes its rails (ARP flux), so peers use "
                       "the wrong NIC",
                       .advice = INSTALL},
    [IBH_PEER_TWO] = {IBH_STAGE_ANSWER, ibh_proof_two_hosts_answer, PEER, "duplicate-address", NULL,
                      "{answers} answer for the address, but only one NIC answers for every other address: two hosts "
                      "have the address, or one host answers through two NICs",
                      .advice = FIND "take the address from one of them"},
    [IBH_PEER_MANY] = {IBH_STAGE_ANSWER, ibh_proof_many_addresses_answer, PEER_WARNING, "peer-flux", NULL,
                       "{answers} answer for the address: one host mixes its NICs (ARP flux), or two hosts have it",
                       .advice = INSTALL "; if these are two hosts, take the address from one"},
    [IBH_PEER_TWICE] = {IBH_STAGE_ANSWER, ibh_proof_one_answers_twice, PEER, "duplicate-mac", NULL,
                        "one question gets two answers from {answers}: two hosts have both this hardware address and "
                        "the peer's IP address, so packets go to one or the other",
                        .advice = FIND "give one of the two its own"},
    [IBH_PEER_DOUBLED] =
        {IBH_STAGE_ANSWER, ibh_proof_is_doubled, EITHER_WARNING, "frames-doubled", NULL,
         "each frame comes in twice, answers to {arp} and replies to echoes: a mirror port, an MLAG or "
         "a bond in mode broadcast doubles them",
         .advice = "tcpdump -eni {if} host {peer}: shows both frames; look for mirror ports (SPAN) and "
                   "MLAGs of the switches, and for bonds in mode broadcast"},

    [IBH_BACK_TRANSLATED] = {IBH_STAGE_SENT, ibh_proof_is_reply_translated, HOME_WARNING, "address-translated", NULL,
                             "this host's own address translation changes what leaves through this NIC: the peer sees "
                             "another address",
                             .advice = NAT},
    [IBH_BACK_ENTRY] = {IBH_STAGE_SENDER, ibh_proof_is_back_by_peer, HOME, "reply-other-nic", NULL,
                        "replies came in through {reply if}: the peer's neighbour table has the hardware address of "
                        "{reply if} for this NIC's address",
                        .advice = CHECK "; if that is ok, on the peer: sudo ip neigh flush to {from}"},
    [IBH_BACK_OTHER] = {IBH_STAGE_SENDER, ibh_proof_is_back_by_other, HOME_WARNING, "reply-other-nic", NULL,
                        "replies came in through {reply if}, and not from the hardware address that echoes go to: they "
                        "take another way back, through a router or another wire",
                        .advice = "a strict rp_filter would drop these replies: " CHECK},
    [IBH_BACK_SENDER] = {IBH_STAGE_SENDER, ibh_proof_is_sender_of_peer, PEER_WARNING, "peer-replies-other-nic", NULL,
                         "replies come from the NIC of another address, not from the NIC that answers ARP for this "
                         "address: that host's routing mixes its rails, or goes through another host",
                         .advice = INSTALL},
    [IBH_BACK_STRANGER] = {IBH_STAGE_SENDER, ibh_proof_is_sender_unknown, IBH_AT_PEER, IBH_INFO,
                           "peer-replies-other-nic", NO_PROBLEM,
                           "replies come from {foreign}, which answers for no address that was asked: another NIC of "
                           "that host, or a router",
                           .advice = "probe all addresses of that host: then the report names the sender"},
    [IBH_WAY_NOT_KNOWN] =
        {IBH_STAGE_ANSWER, ibh_proof_is_lladdr_unknown, EITHER_WARNING, "not-known", NULL,
         "echoes come back, but the peer's hardware address was not seen: which of its NICs answers is not known",
         .advice = "run --probe as root; ip neigh show to {peer} dev {if}"},

    [IBH_SIZE_PIECES] = {IBH_STAGE_SIZE, ibh_proof_reply_is_in_pieces, EITHER_WARNING, "path-mtu", NULL,
                         "packets of {full} bytes, as the rail's MTU allows, arrive, but replies of that size come in "
                         "pieces of {piece}: the peer's MTU is smaller",
                         .advice = "one MTU on both sides: here {full}; there: ip link, ip route show to {from}"},
    [IBH_SIZE_TOLD] = {IBH_STAGE_SIZE, ibh_proof_link_is_smaller, EITHER, "path-mtu", NULL,
                       LONG ": {told by} says that they are too long",
                       .advice = "look at the MTU of the next link of {told by}"},
    [IBH_SIZE_BEYOND] = {IBH_STAGE_SIZE, ibh_proof_router_says_too_long, IBH_AT_EITHER, IBH_INFO, "path-mtu",
                         NO_PROBLEM, LONG ": {told by} says that they are too long",
                         .advice = "look at the MTU of the next link of {told by}"},
    [IBH_SIZE_MANGLED] = {IBH_STAGE_SIZE, ibh_proof_is_size_mangled, EITHER, DROPPED, NULL,
                          LONG ": the replies come in with a wrong checksum: " DAMAGED, .advice = COUNTERS},
    [IBH_SIZE_OURS] = {IBH_STAGE_SIZE, ibh_proof_is_size_ours, HOME, "path-mtu", NULL,
                       LONG ": this host's own firewall drops them, or the replies",
                       .advice = "on this host: nft list ruleset, iptables-save"},
    [IBH_SIZE_SILENT] = {IBH_STAGE_SIZE, ibh_proof_is_size_silent, EITHER, "path-mtu", NULL,
                         LONG ", without an ICMP error: connections open, and hang once they send more",
                         .advice = "look at the MTU of the switch ports on the way, of the peer's NIC (ip link), at "
                                   "firewalls there"},

    [IBH_RDMA_NO_MODULE] = {IBH_STAGE_RDMA, NULL, HOME, "module-missing", NO_PROBLEM,
                            "RDMA was not tested: the module rdma_ucm is not loaded", .fix = "modprobe rdma_ucm"},
    [IBH_RDMA_FILTERED] = {IBH_STAGE_RDMA, NULL, HOME, NO_RDMA, NULL,
                           "RDMA was not tested: this host's own firewall drops UDP 4791, which Soft-RoCE uses",
                           .advice = "let UDP port 4791 out (nft list ruleset, iptables -S OUTPUT)"},
    [IBH_RDMA_BLOCKED] =
        {IBH_STAGE_RDMA, NULL, HOME, NO_RDMA, NULL,
         "RDMA was not tested: the process that sends the request hangs in the kernel",
         .advice =
             "look at dmesg; a process ib-hook in state D (ps -eo pid,stat,wchan:30,comm) ends when its cause is gone"},
    [IBH_RDMA_NO_DEVICE] = {IBH_STAGE_RDMA, NULL, HOME, "rdma-no-device", NULL,
                            "RDMA was not tested: no RDMA device is behind this NIC", .advice = CHECK "; dmesg"},
    [IBH_RDMA_NO_GID] = {IBH_STAGE_RDMA, NULL, HOME, NO_RDMA, NULL,
                         "no RDMA: the NIC's RDMA device has no GID for its address",
                         .advice = CHECK "; take the address away and add it again"},
    [IBH_RDMA_REFUSED] = {IBH_STAGE_RDMA, NULL, HOME, NO_RDMA, NULL,
                          "the kernel does not send RDMA requests: {rdma error}", .advice = CHECK "; dmesg"},
    [IBH_RDMA_NO_WAY] = {IBH_STAGE_RDMA, NULL, HOME, NO_RDMA, NULL,
                         "the RDMA connection manager does not find the way: {rdma error}", .advice = CHECK "; dmesg"},
    [IBH_RDMA_NO_PATH] = {IBH_STAGE_RDMA, NULL, HOME, NO_RDMA, NULL, "the subnet manager tells no path: {rdma error}",
                          .advice = CHECK ": the port, its P_Key, its subnet manager"},
    [IBH_RDMA_SILENT] = {IBH_STAGE_RDMA, NULL, EITHER, NO_RDMA, NULL,
                         "RDMA requests get no answer, though IP works: the RDMA device is gone, has no GID for the "
                         "address, or what it sends or gets is dropped",
                         .advice = "on both sides: rdma link, ib-hook --check; between both: UDP 4791 has to pass "
                                   "(RoCE)"},
};

const IbhCauseRow *ibh_probe_cause(IbhCause cause)
{
    return &rows[cause];
}

gboolean ibh_probe_has(const IbhProbePair *pair, IbhCause cause)
{
    guint i = 0;

    while (i < IBH_PROBE_LISTS && pair->causes[i] != cause)
        i++;
    return i < IBH_PROBE_LISTS;
}

/* ---- what the kernel itself says of packets that this host drops ---- */

static gpointer key_of(int ifindex, IbhCause fact)
{
    return GUINT_TO_POINTER((guint)ifindex * IBH_N_CAUSES + fact);
}

void ibh_probe_note_local(IbhProbe *probe, int ifindex, IbhCause fact, gint64 value)
{
    const gsize before = GPOINTER_TO_SIZE(g_hash_table_lookup(probe->local, key_of(ifindex, fact)));

    g_hash_table_insert(probe->local, key_of(ifindex, fact), GSIZE_TO_POINTER(before + (gsize)value));
}

/* It is of the pair's NIC or host, and could lose what was lost. */
static gboolean could_lose(const IbhProbePair *pair, IbhCause fact, IbhCause loss)
{
    const IbhCauseRow *row = ibh_probe_cause(fact);
    const int ifindex = row->file ? 0 : ibh_probe_link(pair)->ifindex;
    const gssize grown = (gssize)GPOINTER_TO_SIZE(g_hash_table_lookup(pair->probe->local, key_of(ifindex, fact)));

    if (grown <= 0 || !(row->lost & ibh_probe_cause(loss)->lost))
        return FALSE;
    return fact >= IBH_LOCAL_SOURCE || grown >= pair->sent - pair->received;
}

static gboolean explains(const IbhProbePair *pair, IbhCause fact, IbhCause loss)
{
    const IbhCauseRow *row = ibh_probe_cause(fact);

    return row->code && could_lose(pair, fact, loss) && (!row->proof || row->proof(pair));
}

gboolean ibh_probe_is_beside(const IbhProbePair *pair, IbhCause fact)
{
    return !ibh_probe_cause(fact)->code && pair->loss < IBH_LOCAL_IPSEC_IN && could_lose(pair, fact, pair->loss);
}

IbhCause ibh_probe_explain(const IbhProbePair *pair, IbhCause loss)
{
    for (int fact = IBH_LOCAL_IPSEC_IN; fact < IBH_LOCAL_END; fact++) {
        if (explains(pair, (IbhCause)fact, loss))
            return (IbhCause)fact;
    }
    return loss;
}
