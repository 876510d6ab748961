/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of causes and facts, and what the table of causes says of a pair. */
#include "probe/probe.h"

/* Parts of the rows of both tables. The row of a cause begins with the stage. After the macro that sets the severity,
 * the row goes on with the finding's code, the cause in words, the advice and the fix, in this order; some may be
 * missing. `problem` is the code that the pair gets ("": none); without `problem`, the pair gets the finding's code. A
 * cause without a row has neither a code nor a finding. */
#define HOME .place = IBH_AT_HOME, .severity = IBH_ERROR
#define HOME_WARNING .place = IBH_AT_HOME, .severity = IBH_WARNING
#define EITHER .place = IBH_AT_EITHER, .severity = IBH_ERROR
#define EITHER_WARNING .place = IBH_AT_EITHER, .severity = IBH_WARNING
#define EITHER_INFO .place = IBH_AT_EITHER, .severity = IBH_INFO
#define PEER .place = IBH_AT_PEER, .severity = IBH_ERROR
#define PEER_WARNING .place = IBH_AT_PEER, .severity = IBH_WARNING
#define PEER_INFO .place = IBH_AT_PEER, .severity = IBH_INFO
#define LOST "probe-lost"
#define ALSO_LOST                                                                                                      \
    .problem = LOST /* the code that pairs get, because the cause has no finding, or a finding with another code */
#define ALSO_NOT_SENT .problem = NOT_SENT
#define NO_PROBLEM .problem = ""
#define NOT_SENT "probe-not-sent"
#define DROPPED "reply-dropped"
#define NO_RDMA IBH_STAGE_RDMA, HOME, "rdma-unreachable"
#define OTHER_NIC IBH_STAGE_WAY, HOME, "routed-other-nic"
#define OUT .drops = IBH_DROPS_OUT
#define IN .drops = IBH_DROPS_IN
#define BOTH_WAYS .drops = (IBH_DROPS_OUT | IBH_DROPS_IN)
#define UNHEARD .drops = IBH_DROPS_UNHEARD
#define UNHEARD_TOO .drops = (IBH_DROPS_IN | IBH_DROPS_UNHEARD)
#define EXEMPT "{ip} rule; nft list ruleset; iptables-save -t mangle: exempt the rails from the filter or the rule"
#define NAT "exempt the rails from the translation (nft list ruleset, iptables-save -t nat)"
#define INSTALL "on {host}: install ib-hook there, or sudo ib-hook --apply"
#define LONG "packets of {passed} bytes come through, but not those of {full} bytes, which the rail's MTU allows"
#define SEEN_TO_LEAVE                                                                                                  \
    "seen to leave, and nothing came back: the fault is in the wire, in either direction, or in that host"
#define CHECK "ib-hook --check --iface {if}"
#define CHECK_DMESG CHECK "; dmesg"
#define DAMAGED "that host's NIC, a cable, a switch or this NIC damages them"
#define COUNTERS                                                                                                       \
    "ethtool -S {if}; the error counters of the peer's NIC and of the switch's ports on the way; another cable or "    \
    "transceiver"
#define FIND "find them (the switches' tables of hardware addresses), and "
#define NEXT_MTU "look at the MTU of the next link of {told by}"
#define FOLLOW                                                                                                         \
    "follow one on its way: tcpdump -eni {if} host {peer} here, the counters of the switch's ports, the other end"
#define FORGET "ip neigh del {via} dev {if}"
/* For losses that nothing explains. If a peer is to blame, the finding has the code peer-down. */
#define BETWEEN FOLLOW, UNHEARD, .peer_code = "peer-down"

const IbhCauseRow ibh_probe_causes[IBH_N_CAUSES] = {
    [IBH_CAUSE_NONE] = {.code = NULL},
    [IBH_LOSS_DOWN] = {IBH_STAGE_WAY, ALSO_LOST, HOME, "carrier-down",
                       "the link is administratively down: nothing can leave or arrive",
                       .fix = "ip link set up dev {if}"},
    [IBH_LOSS_NO_CARRIER] = {IBH_STAGE_WAY, ALSO_LOST, HOME, "carrier-down",
                             "the link has no carrier: nothing can leave or arrive by it",
                             "look at the cable, the transceiver and the switch's port"},
    [IBH_LOSS_NOT_UNICAST] = {IBH_STAGE_WAY, HOME, NOT_SENT,
                              "the address has a route of type {type}, so nothing leaves",
                              "{ip} route show table all type {type} {peer}; probe an address of a single other host"},
    [IBH_LOSS_ARP_OFF] = {IBH_STAGE_QUESTION, ALSO_LOST, HOME_WARNING, "arp-off",
                          "ARP is switched off on this NIC, so it finds no neighbour",
                          .fix = "ip link set arp on dev {if}"},
    [IBH_LOSS_TABLE] = {IBH_STAGE_QUESTION, ALSO_NOT_SENT, HOME, "neighbour-table-small",
                        "the kernel's table of neighbours is full, so echoes were not sent; the peers are not at fault",
                        "raise net.{ipv}.neigh.default.gc_thresh3, gc_thresh2 and gc_thresh1 (sudo sysctl -w)"},
    [IBH_LOSS_UNHEARD] = {IBH_STAGE_ENTRY, HOME, NOT_SENT,
                          "{arp} is answered, and this host drops the answer, so no echo leaves", IN},
    [IBH_LOSS_HELD] = {IBH_STAGE_SENT, HOME, NOT_SENT,
                       "this host sends echoes, and they do not leave through this NIC{errno}", OUT},
    [IBH_LOSS_MARKED] = {IBH_STAGE_WAY, HOME, NOT_SENT,
                         "a route look-up finds this NIC, but packets are refused ({refused}): a filter of this "
                         "host sets a mark or DSCP that a rule refuses, or a rule depends on the NIC",
                         EXEMPT},
    [IBH_LOSS_NO_WAY] = {IBH_STAGE_WAY, HOME, NOT_SENT, "this host has no way there through this NIC: {refused}",
                         "ask the kernel: ip route get {peer} from {from} oif {if}; ip rule"},
    [IBH_LOSS_DROPPED] = {IBH_STAGE_DELIVERED, HOME, DROPPED,
                          "replies come in through {reply if}, and this host drops them", CHECK, IN},
    [IBH_LOSS_MANGLED] = {IBH_STAGE_REPLY, EITHER, DROPPED,
                          "replies come in through this NIC with a wrong checksum, so this host drops them: " DAMAGED,
                          COUNTERS},
    /* HOME, so that could_have() (verdict.c) returns FALSE for the pair */
    [IBH_LOSS_TOLD] = {IBH_STAGE_REPLY, ALSO_LOST, HOME},
    [IBH_LOSS_REDIRECT] =
        {IBH_STAGE_WAY, EITHER, LOST,
         "packets go through {way if} via {way via}, because this host accepted an ICMP redirect, and not as {route} "
         "says; nothing came back",
         "sudo sysctl -w net/{ipv}/conf/all/accept_redirects=0 net/{ipv}/conf/{way if}/accept_redirects=0: "
         "no other redirect is accepted through {way if}",
         "{ip} route flush table all cache"},
    [IBH_LOSS_REFUSED] = {IBH_STAGE_REPLY, ALSO_LOST, EITHER, "icmp-refused", "{refuser} sends an ICMP error: {icmp}",
                          "on {refused by}: look for what sends these errors: its firewall (nft list ruleset), its "
                          "routes"},
    [IBH_LOSS_SOME] = {IBH_STAGE_REPLY, EITHER, LOST,
                       "some echoes get lost: load, a cable, a full queue, or a limit on the peer's side",
                       "more echoes tell how many (--count 100); ethtool -S {if} shows what this NIC drops", UNHEARD},
    [IBH_LOSS_TRANSLATED] = {IBH_STAGE_SENT, ALSO_LOST, HOME, "address-translated",
                             "this host's own address translation (nft, iptables) changes the echoes: they leave with "
                             "the source {leaves from} and the destination {leaves to}",
                             NAT},
    [IBH_LOSS_DETOUR] = {IBH_STAGE_WAY, EITHER, LOST,
                         "packets go via {via}, although the peer is a neighbour: {route} decides; nothing came back",
                         "{delete route}see why {via} does not forward"},
    [IBH_LOSS_GATEWAY] = {IBH_STAGE_ANSWER, ALSO_LOST, EITHER, "gateway-down",
                          "the gateway {via} does not answer {arp}, so nothing beyond it is reached",
                          "see whether the gateway is up, and on this wire; or route around it", UNHEARD},
    [IBH_LOSS_BEYOND] =
        {IBH_STAGE_REPLY, EITHER, LOST,
         "the gateway {via} answers {arp}, and echoes were seen to leave for it; nothing came back: the "
         "fault is in the wire, in the gateway, beyond it, or in that host",
         BETWEEN},
    [IBH_LOSS_AFTER_ARP] = {IBH_STAGE_REPLY, EITHER, LOST,
                            "{arp} is answered, echoes are not: they were " SEEN_TO_LEAVE, BETWEEN},
    [IBH_LOSS_NOTHING] = {IBH_STAGE_ANSWER, EITHER, LOST,
                          "nothing answers, not even {arp}: questions were " SEEN_TO_LEAVE, BETWEEN},
    [IBH_LOSS_UNKNOWN] = {IBH_STAGE_REPLY, EITHER, LOST,
                          "no reply: the fault is in the wire, in either direction, in a router, or in that host",
                          BETWEEN},

    [IBH_WAY_NONE] = {OTHER_NIC, "this address's own traffic does not leave at all: {no route}",
                      CHECK " names the rule or route"},
    [IBH_WAY_OTHER_NIC] =
        {OTHER_NIC,
         "the echo was sent through this NIC, but this address's own traffic leaves through {route if}: {route} "
         "decides",
         "ip route get {peer} from {from}; ip rule shows which rule leads to that table; " CHECK},
    [IBH_WAY_FILTERED] = {OTHER_NIC,
                          "a route look-up finds this NIC, but what programs send leaves through {free if}: a filter "
                          "of this host sets a mark or DSCP, and a rule sends such packets elsewhere",
                          EXEMPT},

    [IBH_ENTRY_FIXED] = {IBH_STAGE_ENTRY, HOME_WARNING, "neighbour-static",
                         "a permanent entry of this host's neighbour table{for gateway} has another hardware address "
                         "than the one that answers {arp}, so packets go to another NIC or host, or to none",
                         .fix = FORGET},
    [IBH_ENTRY_WRONG] = {IBH_STAGE_ENTRY, HOME_WARNING, "neighbour-wrong",
                         "this host's neighbour table had {entry}, before the first packet, but {hosts} answers {arp}, "
                         "so packets went to another NIC or host, or to none",
                         .fix = FORGET},
    [IBH_ENTRY_UNANSWERED] =
        {IBH_STAGE_ENTRY, EITHER_WARNING, "arp-unanswered",
         "echoes come back, but nothing answers {arp}{for gateway} when --probe asks again: this host "
         "uses an old neighbour entry, and loses the peer when the entry expires",
         FOLLOW},

    [IBH_PEER_PROXY] =
        {IBH_STAGE_ANSWER, PEER_WARNING, "proxy-arp",
         "ARP answers come from {stand ins}, too, as for other hosts: a proxy, so packets may go there; or a second "
         "host with all of these addresses, or a NIC that answers for others of its host",
         "find {stand ins} (the switches' tables of hardware addresses): proxy_arp off there, or take the addresses "
         "away",
         .owner = "{stand ins}"},
    [IBH_PEER_FLUX] = {IBH_STAGE_ANSWER, PEER_WARNING, "peer-flux",
                       "several NICs of that host answer for each address: it mixes its rails (ARP flux), so peers use "
                       "the wrong NIC",
                       INSTALL},
    [IBH_PEER_TWO] = {IBH_STAGE_ANSWER, PEER, "duplicate-address",
                      "{hosts} claim the address, and no other address together: two hosts have it, or one host "
                      "answers through two NICs",
                      FIND "take the address from one of them"},
    [IBH_PEER_MANY] = {IBH_STAGE_ANSWER, PEER_WARNING, "peer-flux",
                       "{hosts} claim the address: one host mixes its NICs (ARP flux), or two hosts have it",
                       INSTALL "; if these are two hosts, take the address from one"},
    [IBH_PEER_TWICE] = {IBH_STAGE_ANSWER, PEER, "duplicate-mac",
                        "one question gets two answers from {hosts}: two hosts have both this hardware address and "
                        "this IP address, so packets go to one or the other",
                        FIND "give one of the two its own"},
    [IBH_PEER_DOUBLED] =
        {IBH_STAGE_ANSWER, EITHER_WARNING, "frames-doubled",
         "each frame comes in twice, answers to {arp} and replies to echoes: a mirror port, an MLAG or "
         "a bond in mode broadcast doubles them",
         "tcpdump -eni {if} host {peer}: shows both frames; look for mirror ports (SPAN) and "
         "MLAGs of the switches, and for bonds in mode broadcast"},

    [IBH_BACK_TRANSLATED] = {IBH_STAGE_SENT, HOME_WARNING, "address-translated",
                             "this host's own address translation changes what leaves through this NIC: the peer sees "
                             "another address",
                             NAT},
    [IBH_BACK_ENTRY] = {IBH_STAGE_SENDER, HOME, "reply-other-nic",
                        "replies came in through {reply if}: {neighbour}'s neighbour table has the hardware address of "
                        "{reply if} for this NIC's address",
                        CHECK "; if that is ok, on {neighbour}: sudo ip neigh flush to {from}"},
    [IBH_BACK_OTHER] = {IBH_STAGE_SENDER, HOME_WARNING, "reply-other-nic",
                        "replies came in through {reply if}, and not from the hardware address that echoes go to: they "
                        "take another way back, through a router or another wire",
                        "a strict rp_filter would drop these replies: " CHECK},
    [IBH_BACK_SENDER] = {IBH_STAGE_SENDER, PEER_WARNING, "peer-replies-other-nic",
                         "replies come from the NIC of another address, not from the NIC that answers {arp} for this "
                         "address: that host's routing mixes its rails, or goes through another host",
                         INSTALL},
    [IBH_BACK_STRANGER] = {IBH_STAGE_SENDER, NO_PROBLEM, PEER_INFO, "peer-replies-other-nic",
                           "replies come from {foreign}, which answers for no address that was asked: another NIC of "
                           "that host, or a router",
                           "probe all addresses of that host: then the report names the sender"},
    [IBH_BACK_NOT_KNOWN] =
        {IBH_STAGE_ANSWER, EITHER_WARNING, "not-known",
         "echoes come back, but the peer's hardware address was not seen: which of its NICs answers is not known",
         "ip neigh show to {peer} dev {if}"},

    [IBH_SIZE_LOWERED] =
        {IBH_STAGE_SIZE, NO_PROBLEM, HOME_WARNING, "router-mtu",
         "IPv6 uses the MTU {full} here, but the link has {link mtu}: a router's advertisement or a sysctl has "
         "lowered it, and IPv6 sends no larger packets",
         CHECK},
    [IBH_SIZE_PIECES] = {IBH_STAGE_SIZE, EITHER_WARNING, "path-mtu",
                         "packets of {full} bytes, as the rail's MTU allows, arrive, but replies of that size come in "
                         "pieces of {piece}: the peer's MTU is smaller",
                         "one MTU on both sides: here {full}; there: ip link, {ip} route show to {from}{mtu there}"},
    [IBH_SIZE_TOLD] = {IBH_STAGE_SIZE, EITHER, "path-mtu", LONG ": {told by} says that they are too long", NEXT_MTU},
    [IBH_SIZE_BEYOND] = {IBH_STAGE_SIZE, NO_PROBLEM, EITHER_INFO, "path-mtu",
                         LONG ": {told by} says that they are too long", NEXT_MTU},
    [IBH_SIZE_MANGLED] = {IBH_STAGE_SIZE, EITHER, DROPPED, LONG ": the replies come in with a wrong checksum: " DAMAGED,
                          COUNTERS},
    [IBH_SIZE_OURS] = {IBH_STAGE_SIZE, HOME, "path-mtu",
                       LONG ": this host's own filter or queue drops them, or the replies", BOTH_WAYS},
    [IBH_SIZE_SILENT] = {IBH_STAGE_SIZE, EITHER, "path-mtu",
                         LONG ", without an ICMP error: connections open, and hang once they send more",
                         "look at the MTU of the switch ports on the way, of the peer's NIC (ip link), at "
                         "firewalls there"},

    [IBH_RDMA_NO_MODULE] = {IBH_STAGE_RDMA, NO_PROBLEM, HOME, "module-missing",
                            "RDMA was not tested: the module rdma_ucm is not loaded", .fix = "modprobe rdma_ucm"},
    [IBH_RDMA_FILTERED] =
        {NO_RDMA, "RDMA was not tested: this host's own firewall or queue drops UDP 4791, which Soft-RoCE uses",
         "let UDP port 4791 out (nft list ruleset, iptables -S OUTPUT)"},
    [IBH_RDMA_BLOCKED] =
        {NO_RDMA, "RDMA was not tested: the process that sends the request hangs in the kernel",
         "look at dmesg; a process ib-hook in state D (ps -eo pid,stat,wchan:30,comm) ends when its cause is gone"},
    [IBH_RDMA_NO_DEVICE] = {IBH_STAGE_RDMA, HOME, "rdma-no-device", "RDMA was not tested: this NIC has no RDMA device",
                            CHECK_DMESG},
    [IBH_RDMA_NO_GID] = {NO_RDMA, "no RDMA: the NIC's RDMA device has no GID for its address",
                         CHECK "; delete the address and add it again"},
    [IBH_RDMA_REFUSED] = {NO_RDMA, "the kernel does not send RDMA requests: {rdma error}", CHECK_DMESG},
    [IBH_RDMA_NO_WAY] = {NO_RDMA, "the RDMA connection manager cannot resolve the address: {rdma error}", CHECK_DMESG},
    [IBH_RDMA_NO_PATH] = {NO_RDMA, "the RDMA connection manager finds no path: {rdma error}",
                          CHECK ": the port, its P_Key, its subnet manager"},
    [IBH_RDMA_SILENT] = {IBH_STAGE_RDMA, EITHER, "rdma-unreachable",
                         "RDMA requests get no answer: the RDMA device is gone, has no GID for the address, or what it "
                         "sends or gets is dropped",
                         "on both sides: rdma link, ib-hook --check; between both: UDP 4791 has to pass (RoCE)"},
};

/* On the way in, --probe hears a packet after the NIC's XDP program, and before everything else in this table.
 * But if NICs are stacked, such as a macvlan on its parent, a packet is heard on the lower NIC before the XDP program
 * of the upper NIC runs. So XDP may drop packets that were heard, and packets that were not. */
const IbhFactRow ibh_probe_facts[IBH_N_FACTS] = {
    [IBH_FACT_QUEUE] = {OUT, "the drop counter of its queue (qdisc) grows", "tc -s qdisc show dev {if}"},
    [IBH_FACT_IPSEC_OUT] =
        {OUT, "an XfrmOut counter of /proc/net/xfrm_stat grows, too: an IPsec policy has no key, or blocks",
         "ip xfrm policy; ip xfrm state", "xfrm_stat", "XfrmOut"},
    [IBH_FACT_IPSEC_IN] = {IN, "an XfrmIn counter of /proc/net/xfrm_stat grows, too: IPsec policies drop packets",
                           "ip xfrm policy; ip xfrm state", "xfrm_stat", "XfrmIn"},
    [IBH_FACT_RP_FILTER] = {IN, "IPReversePathFilter grows, too: rp_filter drops packets",
                            "nstat -az TcpExtIPReversePathFilter", "netstat", "IPReversePathFilter"},
    [IBH_FACT_TC] = {BOTH_WAYS, "tc filters may be attached to {if} (clsact, ingress)",
                     "tc filter show dev {if} ingress; tc filter show dev {if} egress"},
    [IBH_FACT_TCX_OUT] = {OUT, "a tcx program (BPF) is attached to {if}", "bpftool net show dev {if}"},
    [IBH_FACT_TCX_IN] = {IN, "a tcx program (BPF) is attached to {if}", "bpftool net show dev {if}"},
    [IBH_FACT_MACVLAN] = {IN, "a macvlan on {if}, in mode passthru or source, takes what arrives",
                          "ip -details link show type macvlan"},
    [IBH_FACT_XDP] = {UNHEARD_TOO, "an XDP program is attached to {if}, which could drop what arrives",
                      "bpftool net show dev {if}"},
    [IBH_FACT_ENCAP] = {OUT, "the BPF program or tunnel of its route (encap) can drop them, too",
                        "{ip} route show table all | grep encap"},
    [IBH_FACT_FILTER_OUT] = {OUT,
                             "what can drop packets on the way out: nft, iptables, tc, BPF, a queue, IPsec policies",
                             "nft list ruleset; iptables-save; tc -s qdisc show dev {if}; tc filter show dev {if} "
                             "egress; ip xfrm policy"},
    [IBH_FACT_FILTER_IN] = {IN,
                            "what can drop packets on the way in: rp_filter, nft (tables arp and netdev, too), "
                            "iptables, arptables, tc, IPsec policies",
                            "nft list ruleset; iptables-save; arptables-save; tc filter show dev {if} ingress"},
};

/* ---- what a pair's causes say ---- */

gboolean ibh_probe_has(const IbhProbePair *pair, IbhCause cause)
{
    for (guint i = 0; i < IBH_PROBE_LISTS; i++) {
        if (pair->causes[i] == cause)
            return TRUE;
    }
    return FALSE;
}

/* Returns the code that is reported for a pair that has this cause; NULL if none is. */
static const char *find_problem(const IbhCauseRow *row)
{
    const char *problem = row->problem ? row->problem : row->code;

    return problem && problem[0] ? problem : NULL;
}

GPtrArray *ibh_probe_problems(const IbhProbePair *pair)
{
    GPtrArray *problems = g_ptr_array_new();

    /* in the order of IbhCause; IBH_CAUSE_NONE has no code */
    for (int cause = IBH_CAUSE_NONE; cause < IBH_N_CAUSES; cause++) {
        const char *problem = ibh_probe_has(pair, (IbhCause)cause) ? find_problem(&ibh_probe_causes[cause]) : NULL;

        if (problem && !g_ptr_array_find_with_equal_func(problems, problem, g_str_equal, NULL))
            g_ptr_array_add(problems, (gpointer)(guintptr)problem);
    }
    return problems;
}

const char *ibh_probe_stage(const IbhProbePair *pair)
{
    static const char *const names[] = {"way",       "question", "answer", "entry", "sent", "reply",
                                        "delivered", "sender",   "size",   "rdma",  NULL}; /* NULL: no problem */
    guint stage = IBH_N_STAGES;

    G_STATIC_ASSERT(G_N_ELEMENTS(names) == IBH_N_STAGES + 1);
    for (guint i = 0; i < IBH_PROBE_LISTS; i++) {
        const IbhCauseRow *row = &ibh_probe_causes[pair->causes[i]];

        stage = find_problem(row) ? MIN(stage, row->stage) : stage;
    }
    return names[stage];
}
