/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of a pair: a row for each cause. And what of this host could drop a packet: a row for each fact. */
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
#define NO_PROBLEM "" /* of the pairs themselves */
#define FILTERS "nft list ruleset; iptables-save; "
#define LEAVE_OUT "{ip} rule; nft list ruleset; iptables-save -t mangle: exempt the rails from the filter or the rule"
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
    [IBH_LOSS_DOWN] = {IBH_STAGE_WAY, HOME, "carrier-down", LOST,
                       "the link is administratively down: nothing can leave or arrive",
                       .fix = "ip link set up dev {if}"},
    [IBH_LOSS_NO_CARRIER] = {IBH_STAGE_WAY, HOME, "carrier-down", LOST,
                             "the link has no carrier: nothing can leave or arrive by it",
                             .advice = "look at the cable, the transceiver and the switch's port"},
    [IBH_LOSS_OURS] = {IBH_STAGE_WAY, HOME, NOT_SENT, NULL,
                       "a route of type {type} stands for the address, so nothing leaves",
                       .advice = "{ip} route show table all type {type} {peer}; ask an address of one other host"},
    [IBH_LOSS_ARP_OFF] = {IBH_STAGE_QUESTION, HOME_WARNING, "arp-off", LOST,
                          "ARP is switched off on this NIC, so it finds no neighbour",
                          .fix = "ip link set arp on dev {if}"},
    [IBH_LOSS_TABLE] = {IBH_STAGE_QUESTION, HOME, "neighbour-table-small", NOT_SENT,
                        "the kernel's table of neighbours is full, so echoes were not sent, which is no fault of these "
                        "peers",
                        .advice =
                            "raise net.{ipv}.neigh.default.gc_thresh3, gc_thresh2 and gc_thresh1 (sudo sysctl -w)"},
    [IBH_LOSS_UNHEARD] = {IBH_STAGE_ENTRY, HOME, NOT_SENT, NULL,
                          "{arp} is answered, and this host drops the answer, so no echo leaves: its own filter, "
                          "nft (tables arp and netdev, too), arptables or tc",
                          .advice = FILTERS "arptables-save; tc filter show dev {if} ingress", .drops = IBH_DROPS_IN},
    [IBH_LOSS_HELD] = {IBH_STAGE_SENT, HOME, NOT_SENT, NULL,
                       "this host sends echoes, and they do not leave through this NIC{errno}: its own filter (nft, "
                       "iptables, tc, BPF), {encapsulation}queue or IPsec policy drops them",
                       .advice = "{shows encapsulation}" FILTERS
                                 "tc -s qdisc show dev {if}; tc filter show dev {if} egress; ip xfrm policy",
                       .drops = IBH_DROPS_OUT},
    [IBH_LOSS_MARKED] = {IBH_STAGE_WAY, HOME, NOT_SENT, NULL,
                         "a route look-up finds this NIC, but packets are refused ({refused}): a filter of this "
                         "host sets a mark or DSCP that a rule refuses, or a rule depends on the NIC",
                         .advice = LEAVE_OUT},
    [IBH_LOSS_NO_WAY] = {IBH_STAGE_WAY, HOME, NOT_SENT, NULL, "this host has no way there through this NIC: {refused}",
                         .advice = "ask the kernel: ip route get {peer} from {from} oif {if}; ip rule"},
    [IBH_LOSS_DROPPED] =
        {IBH_STAGE_DELIVERED, HOME, DROPPED, NULL,
         "replies come in through {reply if}, and this host drops them: rp_filter, its own firewall, nft's "
         "table netdev, or tc",
         .advice = CHECK "; if that is ok: " FILTERS "tc filter show dev {if} ingress", .drops = IBH_DROPS_IN},
    [IBH_LOSS_MANGLED] = {IBH_STAGE_REPLY, EITHER, DROPPED, NULL,
                          "replies come in through this NIC with a wrong checksum, so this host drops them: " DAMAGED,
                          .advice = COUNTERS},
    [IBH_LOSS_TOLD] = {IBH_STAGE_REPLY, HOME, .problem = LOST},
    [IBH_LOSS_REDIRECT] =
        {IBH_STAGE_WAY, EITHER, LOST, NULL,
         "packets go through {way if} via {way via}, because this host accepted an ICMP redirect, and not as {route} "
         "says; nothing came back",
         .fix = "{ip} route flush table all cache",
         .advice = "sudo sysctl -w net/{ipv}/conf/all/accept_redirects=0 net/{ipv}/conf/{way if}/accept_redirects=0: "
                   "no other redirect is accepted through {way if}"},
    [IBH_LOSS_REFUSED] = {IBH_STAGE_REPLY, EITHER, "icmp-refused", LOST, "{refuser} sends an ICMP error: {icmp}",
                          .advice = "on {refused by}: look for what sends these errors: its firewall (nft list "
                                    "ruleset), its routes"},
    [IBH_LOSS_SOME] = {IBH_STAGE_REPLY, EITHER, LOST, NULL,
                       "some echoes get lost: load, a cable, a full queue, or a limit on the peer's side",
                       .advice = "more echoes tell how many (--count 100); ethtool -S {if} shows what this NIC drops",
                       .drops = IBH_DROPS_UNHEARD},
    [IBH_LOSS_TRANSLATED] = {IBH_STAGE_SENT, HOME, "address-translated", LOST,
                             "this host's own address translation (nft, iptables) changes the echoes: they leave with "
                             "the source {leaves from} and the destination {leaves to}",
                             .advice = NAT},
    [IBH_LOSS_DETOUR] = {IBH_STAGE_WAY, EITHER, LOST, NULL,
                         "packets go via {via}, although the peer is a neighbour: {route} decides; nothing came back",
                         .advice = "delete {route}; or see why {via} does not forward"},
    [IBH_LOSS_GATEWAY] = {IBH_STAGE_ANSWER, EITHER, "gateway-down", LOST,
                          "the gateway {via} does not answer {arp}, so nothing beyond it is reached",
                          .advice = "see whether the gateway is up, and on this wire; or route around it",
                          .drops = IBH_DROPS_UNHEARD},
    [IBH_LOSS_BEYOND] =
        {IBH_STAGE_REPLY, EITHER, LOST, NULL,
         "the gateway {via} answers {arp}, and echoes were seen to leave for it; nothing came back: the "
         "fault is in the wire, in the gateway, beyond it, or in that host",
         .advice = FOLLOW, .peer_code = "peer-down", .drops = IBH_DROPS_UNHEARD},
    [IBH_LOSS_AFTER_ARP] = {IBH_STAGE_REPLY, EITHER, LOST, NULL,
                            "{arp} is answered, echoes are not: they were " FROM_THERE, .advice = FOLLOW,
                            .peer_code = "peer-down", .drops = IBH_DROPS_UNHEARD},
    [IBH_LOSS_NOTHING] = {IBH_STAGE_ANSWER, EITHER, LOST, NULL,
                          "nothing answers, not even {arp}: questions were " FROM_THERE, .advice = FOLLOW,
                          .peer_code = "peer-down", .drops = IBH_DROPS_UNHEARD},
    [IBH_LOSS_UNKNOWN] = {IBH_STAGE_REPLY, EITHER, LOST, NULL,
                          "no reply: the fault is in the wire, in either direction, in a router, or in that host",
                          .advice = FOLLOW, .peer_code = "peer-down", .drops = IBH_DROPS_UNHEARD},

    [IBH_WAY_NONE] = {IBH_STAGE_WAY, HOME, "routed-other-nic", NULL,
                      "this address's own traffic does not leave at all: {no route}",
                      .advice = CHECK " names the rule or route"},
    [IBH_WAY_OTHER_NIC] =
        {IBH_STAGE_WAY, HOME, "routed-other-nic", NULL,
         "the echo was sent through this NIC, but this address's own traffic leaves through {route if}: {route} "
         "decides",
         .advice = "ip route get {peer} from {from}; ip rule shows which rule leads to that table; " CHECK},
    [IBH_WAY_FILTERED] = {IBH_STAGE_WAY, HOME, "routed-other-nic", NULL,
                          "a route look-up finds this NIC, but what programs send leaves through {free if}: a filter "
                          "of this host sets a mark or DSCP, and a rule sends such packets elsewhere",
                          .advice = LEAVE_OUT},

    [IBH_ENTRY_FIXED] = {IBH_STAGE_ENTRY, HOME_WARNING, "neighbour-static", NULL,
                         "a permanent entry of this host's neighbour table{for gateway} has another hardware address "
                         "than the one that answers {arp}, so packets go to another NIC or host, or to none",
                         .fix = "ip neigh del {via} dev {if}"},
    [IBH_ENTRY_WRONG] = {IBH_STAGE_ENTRY, HOME_WARNING, "neighbour-wrong", NULL,
                         "this host's neighbour table had {entry}, before the first packet, but {hosts} answers {arp}, "
                         "so packets went to another NIC or host, or to none",
                         .fix = "ip neigh del {via} dev {if}"},
    [IBH_ENTRY_UNANSWERED] =
        {IBH_STAGE_ENTRY, EITHER_WARNING, "arp-unanswered", NULL,
         "echoes come back, but nothing answers {arp}{for gateway} when --probe asks again: this host "
         "uses an old neighbour entry, and loses the peer when the entry expires",
         .advice = FOLLOW},

    [IBH_PEER_FLUX] = {IBH_STAGE_ANSWER, PEER_WARNING, "peer-flux", NULL,
                       "several NICs of that host answer for each address: it mixes its rails (ARP flux), so peers use "
                       "the wrong NIC",
                       .advice = INSTALL},
    [IBH_PEER_TWO] = {IBH_STAGE_ANSWER, PEER, "duplicate-address", NULL,
                      "{hosts} claim the address, and no other address together: two hosts have it, or one host "
                      "answers through two NICs",
                      .advice = FIND "take the address from one of them"},
    [IBH_PEER_MANY] = {IBH_STAGE_ANSWER, PEER_WARNING, "peer-flux", NULL,
                       "{hosts} claim the address: one host mixes its NICs (ARP flux), or two hosts have it",
                       .advice = INSTALL "; if these are two hosts, take the address from one"},
    [IBH_PEER_TWICE] = {IBH_STAGE_ANSWER, PEER, "duplicate-mac", NULL,
                        "one question gets two answers from {hosts}: two hosts have both this hardware address and "
                        "this IP address, so packets go to one or the other",
                        .advice = FIND "give one of the two its own"},
    [IBH_PEER_DOUBLED] =
        {IBH_STAGE_ANSWER, EITHER_WARNING, "frames-doubled", NULL,
         "each frame comes in twice, answers to {arp} and replies to echoes: a mirror port, an MLAG or "
         "a bond in mode broadcast doubles them",
         .advice = "tcpdump -eni {if} host {peer}: shows both frames; look for mirror ports (SPAN) and "
                   "MLAGs of the switches, and for bonds in mode broadcast"},

    [IBH_BACK_TRANSLATED] = {IBH_STAGE_SENT, HOME_WARNING, "address-translated", NULL,
                             "this host's own address translation changes what leaves through this NIC: the peer sees "
                             "another address",
                             .advice = NAT},
    [IBH_BACK_ENTRY] = {IBH_STAGE_SENDER, HOME, "reply-other-nic", NULL,
                        "replies came in through {reply if}: {neighbour}'s neighbour table has the hardware address of "
                        "{reply if} for this NIC's address",
                        .advice = CHECK "; if that is ok, on {neighbour}: sudo ip neigh flush to {from}"},
    [IBH_BACK_OTHER] = {IBH_STAGE_SENDER, HOME_WARNING, "reply-other-nic", NULL,
                        "replies came in through {reply if}, and not from the hardware address that echoes go to: they "
                        "take another way back, through a router or another wire",
                        .advice = "a strict rp_filter would drop these replies: " CHECK},
    [IBH_BACK_SENDER] = {IBH_STAGE_SENDER, PEER_WARNING, "peer-replies-other-nic", NULL,
                         "replies come from the NIC of another address, not from the NIC that answers ARP for this "
                         "address: that host's routing mixes its rails, or goes through another host",
                         .advice = INSTALL},
    [IBH_BACK_STRANGER] = {IBH_STAGE_SENDER, IBH_AT_PEER, IBH_INFO, "peer-replies-other-nic", NO_PROBLEM,
                           "replies come from {foreign}, which answers for no address that was asked: another NIC of "
                           "that host, or a router",
                           .advice = "probe all addresses of that host: then the report names the sender"},
    [IBH_WAY_NOT_KNOWN] =
        {IBH_STAGE_ANSWER, EITHER_WARNING, "not-known", NULL,
         "echoes come back, but the peer's hardware address was not seen: which of its NICs answers is not known",
         .advice = "run --probe as root; ip neigh show to {peer} dev {if}"},

    [IBH_SIZE_LOWERED] =
        {IBH_STAGE_SIZE, HOME_WARNING, "router-mtu", NO_PROBLEM,
         "IPv6 has the MTU {full} here, and the link {link mtu}: a router's advertisement or a sysctl has "
         "lowered it, and IPv6 sends no larger packets",
         .advice = CHECK},
    [IBH_SIZE_PIECES] =
        {IBH_STAGE_SIZE, EITHER_WARNING, "path-mtu", NULL,
         "packets of {full} bytes, as the rail's MTU allows, arrive, but replies of that size come in "
         "pieces of {piece}: the peer's MTU is smaller",
         .advice = "one MTU on both sides: here {full}; there: ip link, {ip} route show to {from}{mtu there}"},
    [IBH_SIZE_TOLD] = {IBH_STAGE_SIZE, EITHER, "path-mtu", NULL, LONG ": {told by} says that they are too long",
                       .advice = "look at the MTU of the next link of {told by}"},
    [IBH_SIZE_BEYOND] = {IBH_STAGE_SIZE, IBH_AT_EITHER, IBH_INFO, "path-mtu", NO_PROBLEM,
                         LONG ": {told by} says that they are too long",
                         .advice = "look at the MTU of the next link of {told by}"},
    [IBH_SIZE_MANGLED] = {IBH_STAGE_SIZE, EITHER, DROPPED, NULL,
                          LONG ": the replies come in with a wrong checksum: " DAMAGED, .advice = COUNTERS},
    [IBH_SIZE_OURS] = {IBH_STAGE_SIZE, HOME, "path-mtu", NULL,
                       LONG ": this host's own filter or queue drops them, or the replies",
                       .advice = FILTERS "tc -s qdisc show dev {if}", .drops = IBH_DROPS_OUT | IBH_DROPS_IN},
    [IBH_SIZE_SILENT] = {IBH_STAGE_SIZE, EITHER, "path-mtu", NULL,
                         LONG ", without an ICMP error: connections open, and hang once they send more",
                         .advice = "look at the MTU of the switch ports on the way, of the peer's NIC (ip link), at "
                                   "firewalls there"},

    [IBH_RDMA_NO_MODULE] = {IBH_STAGE_RDMA, HOME, "module-missing", NO_PROBLEM,
                            "RDMA was not tested: the module rdma_ucm is not loaded", .fix = "modprobe rdma_ucm"},
    [IBH_RDMA_FILTERED] = {IBH_STAGE_RDMA, HOME, NO_RDMA, NULL,
                           "RDMA was not tested: this host's own firewall drops UDP 4791, which Soft-RoCE uses",
                           .advice = "let UDP port 4791 out (nft list ruleset, iptables -S OUTPUT)"},
    [IBH_RDMA_BLOCKED] =
        {IBH_STAGE_RDMA, HOME, NO_RDMA, NULL,
         "RDMA was not tested: the process that sends the request hangs in the kernel",
         .advice =
             "look at dmesg; a process ib-hook in state D (ps -eo pid,stat,wchan:30,comm) ends when its cause is gone"},
    [IBH_RDMA_NO_DEVICE] = {IBH_STAGE_RDMA, HOME, "rdma-no-device", NULL,
                            "RDMA was not tested: no RDMA device is behind this NIC", .advice = CHECK "; dmesg"},
    [IBH_RDMA_NO_GID] = {IBH_STAGE_RDMA, HOME, NO_RDMA, NULL,
                         "no RDMA: the NIC's RDMA device has no GID for its address",
                         .advice = CHECK "; take the address away and add it again"},
    [IBH_RDMA_REFUSED] = {IBH_STAGE_RDMA, HOME, NO_RDMA, NULL, "the kernel does not send RDMA requests: {rdma error}",
                          .advice = CHECK "; dmesg"},
    [IBH_RDMA_NO_WAY] = {IBH_STAGE_RDMA, HOME, NO_RDMA, NULL,
                         "the RDMA connection manager does not find the way: {rdma error}", .advice = CHECK "; dmesg"},
    [IBH_RDMA_NO_PATH] = {IBH_STAGE_RDMA, HOME, NO_RDMA, NULL, "the subnet manager tells no path: {rdma error}",
                          .advice = CHECK ": the port, its P_Key, its subnet manager"},
    [IBH_RDMA_SILENT] = {IBH_STAGE_RDMA, EITHER, NO_RDMA, NULL,
                         "RDMA requests get no answer, though IP works: the RDMA device is gone, has no GID for the "
                         "address, or what it sends or gets is dropped",
                         .advice = "on both sides: rdma link, ib-hook --check; between both: UDP 4791 has to pass "
                                   "(RoCE)"},
};

/* What comes in is heard behind XDP, and before all else. */
static const IbhFactRow facts[IBH_N_FACTS] = {
    [IBH_FACT_QUEUE] = {.drops = IBH_DROPS_OUT,
                        "the drops of its queue (qdisc) grow",
                        "tc -s qdisc show dev {if}",
                        TRUE},
    [IBH_FACT_IPSEC_OUT] =
        {.drops = IBH_DROPS_OUT,
         "an XfrmOut counter of /proc/net/xfrm_stat grows, too: an IPsec policy has no key, or blocks",
         "ip xfrm policy; ip xfrm state",
         TRUE,
         "xfrm_stat",
         "XfrmOut"},
    [IBH_FACT_IPSEC_IN] = {.drops = IBH_DROPS_IN,
                           "an XfrmIn counter of /proc/net/xfrm_stat grows, too: IPsec policies drop packets",
                           "ip xfrm policy; ip xfrm state",
                           TRUE,
                           "xfrm_stat",
                           "XfrmIn"},
    [IBH_FACT_RP_FILTER] = {.drops = IBH_DROPS_IN,
                            "IPReversePathFilter grows, too: rp_filter drops packets",
                            "nstat -az TcpExtIPReversePathFilter",
                            TRUE,
                            "netstat",
                            "IPReversePathFilter"},
    [IBH_FACT_TC] = {.drops = IBH_DROPS_OUT | IBH_DROPS_IN,
                     "tc filters may be attached to {if} (clsact, ingress)",
                     "tc filter show dev {if} ingress; tc filter show dev {if} egress"},
    [IBH_FACT_TCX_OUT] = {.drops = IBH_DROPS_OUT,
                          "a tcx program (BPF) is attached to {if}",
                          "bpftool net show dev {if}"},
    [IBH_FACT_TCX_IN] = {.drops = IBH_DROPS_IN, "a tcx program (BPF) is attached to {if}", "bpftool net show dev {if}"},
    [IBH_FACT_MACVLAN] = {.drops = IBH_DROPS_IN,
                          "a macvlan on {if}, in mode passthru or source, takes what arrives",
                          "ip -details link show type macvlan"},
    [IBH_FACT_XDP] = {.drops = IBH_DROPS_IN | IBH_DROPS_UNHEARD,
                      "an XDP program is attached to {if}, which could drop what arrives",
                      "bpftool net show dev {if}"},
};

const IbhCauseRow *ibh_probe_cause(IbhCause cause)
{
    return &rows[cause];
}

const IbhFactRow *ibh_probe_fact(IbhProbeFact fact)
{
    return &facts[fact];
}

/* ---- of a pair ---- */

gboolean ibh_probe_has(const IbhProbePair *pair, IbhCause cause)
{
    guint i = 0;

    while (i < IBH_PROBE_LISTS && pair->causes[i] != cause)
        i++;
    return i < IBH_PROBE_LISTS;
}

/* NULL: none. */
static const char *problem_of(const IbhProbePair *pair, IbhCause cause)
{
    const IbhCauseRow *row = ibh_probe_cause(cause);
    const char *problem = row->problem ? row->problem : row->code;

    return ibh_probe_has(pair, cause) && problem && problem[0] ? problem : NULL;
}

GPtrArray *ibh_probe_problems(const IbhProbePair *pair)
{
    GPtrArray *problems = g_ptr_array_new();

    for (int cause = IBH_CAUSE_NONE; cause < IBH_N_CAUSES; cause++) {
        const char *problem = problem_of(pair, (IbhCause)cause);

        if (problem && !g_ptr_array_find_with_equal_func(problems, problem, g_str_equal, NULL))
            g_ptr_array_add(problems, (gpointer)(guintptr)problem);
    }
    return problems;
}

const char *ibh_probe_stage(const IbhProbePair *pair)
{
    static const char *const names[] = {"way",   "question",  "answer", "entry", "sent",
                                        "reply", "delivered", "sender", "size",  "rdma"};
    guint stage = IBH_N_STAGES;

    G_STATIC_ASSERT(G_N_ELEMENTS(names) == IBH_N_STAGES);
    for (int cause = IBH_CAUSE_NONE; cause < IBH_N_CAUSES; cause++) {
        if (problem_of(pair, (IbhCause)cause))
            stage = MIN(stage, ibh_probe_cause((IbhCause)cause)->stage);
    }
    return stage < IBH_N_STAGES ? names[stage] : NULL;
}
