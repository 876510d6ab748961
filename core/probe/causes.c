/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/probe.h"

#define HOME IBH_AT_HOME, IBH_ERROR
#define HOME_WARNING IBH_AT_HOME, IBH_WARNING
#define EITHER IBH_AT_EITHER, IBH_ERROR
#define PEER_WARNING IBH_AT_PEER, IBH_WARNING
#define LOST "probe-lost"
#define NOT_SENT "probe-not-sent"
#define DROPPED "reply-dropped"
#define NO_RDMA "rdma-unreachable"
#define NO_PROBLEM "" /* of the pairs themselves */
#define FILTERS "nft list ruleset; iptables-save; "
#define IPSEC "ip xfrm policy; leave the rails out of it"
#define NAT "leave the rails out of it (nft list ruleset, iptables-save -t nat)"
#define INSTALL "on the peer ({peer}): install ib-hook there, or ib-hook --apply"
#define LONG "packets of {passed} bytes come through, but not {full}, as the rail's MTU allows"
#define CHECK "ib-hook --check --iface {if}"
#define IS_IT_UP "see whether the peer is up, on this wire, and answers pings at all"

static const IbhCauseRow rows[IBH_N_CAUSES] = {
    [IBH_CAUSE_NONE] = {.code = NULL},
    [IBH_LOSS_DOWN] = {HOME, "carrier-down", LOST, "the link is administratively down: nothing can leave or arrive",
                       .fix = "ip link set up dev {if}"},
    [IBH_LOSS_NO_CARRIER] = {HOME, "carrier-down", LOST, "the link has no carrier: nothing can leave or arrive by it",
                             .advice = "look at the cable, the transceiver and the switch's port"},
    [IBH_LOSS_OURS] = {HOME, NOT_SENT, NULL,
                       "a route of type local says that the address is this host's own, so nothing leaves",
                       .advice = "ip route show table all type local {peer}"},
    [IBH_LOSS_ARP_OFF] = {HOME_WARNING, "arp-off", LOST, "ARP is switched off on this NIC, so it finds no neighbour",
                          .fix = "ip link set arp on dev {if}"},
    [IBH_LOSS_HELD] = {HOME, NOT_SENT, NULL,
                       "no echo leaves by this NIC, or answers to ARP are dropped: this host's own filter or queue: "
                       "nft (tables arp and netdev, too), arptables or tc",
                       .advice = FILTERS "tc -s qdisc show dev {if}; tc filter show dev {if} egress",
                       .lost = IBH_LOST_OUT | IBH_LOST_ALL},
    [IBH_LOSS_TABLE] = {HOME, "neighbour-table-small", NOT_SENT,
                        "the kernel's table of neighbours is full, so echoes were not sent, which is no fault of these "
                        "peers",
                        .advice = "raise net.{ipv}.neigh.default.gc_thresh3, gc_thresh2 and gc_thresh1 (sysctl -w)"},
    [IBH_LOSS_FIREWALL] = {HOME, NOT_SENT, NULL, "this host's own firewall drops the echoes",
                           .advice = FILTERS "ip xfrm policy", .lost = IBH_LOST_OUT},
    [IBH_LOSS_NO_WAY] = {HOME, NOT_SENT, NULL, "this host has no way there by this NIC: {refused}",
                         .advice = "ask the kernel: ip route get {peer} from {from} oif {if}; ip rule",
                         .lost = IBH_LOST_OUT},
    [IBH_LOSS_DROPPED] = {HOME, DROPPED, NULL,
                          "replies come in by {reply if}, and this host drops them: rp_filter, its own firewall, nft's "
                          "table netdev, or tc",
                          .advice = CHECK "; if that is ok: " FILTERS "tc filter show dev {if} ingress",
                          .lost = IBH_LOST_IN},
    [IBH_LOSS_SOME] = {EITHER, LOST, NULL,
                       "some echoes get lost: load, a cable, a full queue, or a limit on the peer's side",
                       .advice = "more echoes tell how many (--count 100); ethtool -S {if}, the peer's load",
                       .lost = IBH_LOST_SOME},
    [IBH_LOSS_DUPLICATE] = {HOME, .problem = LOST},
    [IBH_LOSS_STATIC] = {HOME_WARNING, "neighbour-static", LOST,
                         "a permanent entry of this host's neighbour table has another hardware address than the one "
                         "that answers ARP, so packets do not arrive",
                         .fix = "ip neigh del {peer} dev {if}"},
    [IBH_LOSS_TRANSLATED] = {HOME, "address-translated", LOST,
                             "this host's own address translation (nft, iptables) sends echoes from {leaves from} to "
                             "{leaves to}",
                             .advice = NAT},
    [IBH_LOSS_GATEWAY] = {EITHER, "gateway-down", LOST,
                          "the gateway {via} does not answer {arp}, so nothing beyond it is reached",
                          .advice = "see whether the gateway is up, and on this wire; or route around it"},
    [IBH_LOSS_AFTER_ARP] = {EITHER, LOST, NULL,
                            "{arp answered} answered, echoes are not: a firewall there, another prefix there, or no "
                            "way back",
                            .advice =
                                "on the peer ({peer}): its firewall (nft list ruleset), its prefix, ib-hook --check",
                            .peer_code = "peer-down", .lost = IBH_LOST_ALL},
    [IBH_LOSS_NOTHING] = {EITHER, LOST, NULL,
                          "nothing answers, not even {arp}: the NIC there, the wire or the host is down, or it is "
                          "another wire",
                          .advice = IS_IT_UP, .peer_code = "peer-down", .lost = IBH_LOST_ALL},
    [IBH_LOSS_UNKNOWN] = {EITHER, LOST, NULL, "no reply: the peer is down, on another wire, or drops it",
                          .advice = IS_IT_UP, .peer_code = "peer-down", .lost = IBH_LOST_ALL},

    [IBH_LOCAL_IPSEC_IN] = {HOME, DROPPED, NULL,
                            "this host's IPsec policies drop replies: an XfrmIn counter of /proc/net/xfrm_stat grows",
                            .advice = IPSEC, .lost = IBH_LOST_IN, .file = "xfrm_stat", .key = "XfrmIn"},
    [IBH_LOCAL_IPSEC_OUT] =
        {HOME, NOT_SENT, NULL,
         "this host's IPsec policies drop what leaves, or have no key for it: an XfrmOut counter of "
         "/proc/net/xfrm_stat grows",
         .advice = "ip xfrm state; " IPSEC, .lost = IBH_LOST_OUT, .file = "xfrm_stat", .key = "XfrmOut"},
    [IBH_LOCAL_RP_FILTER] = {HOME, DROPPED, NULL, "this host's rp_filter drops the replies: IPReversePathFilter grows",
                             .advice = CHECK, .lost = IBH_LOST_IN, .file = "netstat", .key = "IPReversePathFilter"},
    [IBH_LOCAL_QDISC] = {HOME, NOT_SENT, NULL,
                         "this host's own queue of this NIC drops what leaves: the drops of its qdisc grow",
                         .advice = "tc -s qdisc show dev {if}", .lost = IBH_LOST_OUT | IBH_LOST_ALL | IBH_LOST_SOME},
    [IBH_LOCAL_XDP] = {HOME, DROPPED, NULL,
                       "nothing comes in by this NIC, to which an XDP program is attached: it drops what arrives, "
                       "before this host sees it",
                       .advice = "ip -details link show dev {if}; bpftool net show dev {if}", .lost = IBH_LOST_ALL},
    [IBH_LOCAL_PASSTHRU] = {HOME, DROPPED, NULL,
                            "nothing comes in by this NIC: a macvlan in mode passthru on it takes all that arrives",
                            .advice = "ip -details link show type macvlan", .lost = IBH_LOST_IN | IBH_LOST_ALL},

    [IBH_WAY_NONE] = {HOME, "routed-other-nic", NULL, "this address's own traffic does not leave at all: {no route}",
                      .advice = CHECK " names the rule or route"},
    [IBH_WAY_OTHER_NIC] = {HOME, "routed-other-nic", NULL,
                           "the echo was sent by this NIC, but this address's own traffic leaves by {route if}",
                           .advice = CHECK " names the rule or route"},
    [IBH_WAY_REPLY] = {HOME, "reply-other-nic", NULL,
                       "replies came in by {reply if}: the peer holds its hardware address for this one's",
                       .advice = CHECK "; if that is ok, on the peer: ip neigh flush to {from}"},
    [IBH_WAY_TRANSLATED] = {HOME_WARNING, "address-translated", NULL,
                            "this host's own address translation changes what leaves by this NIC: the peer sees "
                            "another address",
                            .advice = NAT},
    [IBH_WAY_NOT_KNOWN] = {IBH_AT_EITHER, IBH_WARNING, "not-known", NULL,
                           "echoes come back, but no hardware address of the peer was seen: by which NIC is not known",
                           .advice = "as root; ip neigh show to {peer} dev {if}"},
    [IBH_PEER_FLUX] = {PEER_WARNING, "peer-flux", NULL,
                       "not one NIC answers for each address: that host mixes its rails (ARP flux), so peers use the "
                       "wrong NIC, unless these addresses are all of one NIC",
                       .advice = INSTALL},
    [IBH_PEER_TWO] = {PEER_WARNING, "peer-flux", NULL,
                      "several hardware addresses answer for the address, and for no other: two hosts have it, or a "
                      "host mixes its NICs",
                      .advice = INSTALL},
    [IBH_PEER_SENDER] = {PEER_WARNING, "peer-replies-other-nic", NULL,
                         "the peer replies by another NIC than the one that has the address: its own routing mixes its "
                         "rails",
                         .advice = INSTALL},

    [IBH_SIZE_PIECES] = {IBH_AT_EITHER, IBH_WARNING, "path-mtu", NULL,
                         "packets of {full} bytes, as the rail's MTU allows, arrive, but replies of that size come in "
                         "pieces of {piece}: the peer's MTU is smaller",
                         .advice = "one MTU on both sides: here {full}; there: ip link, ip route show to {from}"},
    [IBH_SIZE_TOLD] = {EITHER, "path-mtu", NULL, LONG ": {told by} says that they are too long",
                       .advice = "look at the MTU of the next link of {told by}"},
    [IBH_SIZE_BEYOND] = {IBH_AT_EITHER, IBH_INFO, "path-mtu", NO_PROBLEM,
                         LONG ": {told by} says that they are too long",
                         .advice = "look at the MTU of the next link of {told by}"},
    [IBH_SIZE_OURS] = {HOME, "path-mtu", NULL, LONG ": this host's own firewall drops them, or the replies",
                       .advice = "on this host: nft list ruleset, iptables-save"},
    [IBH_SIZE_SILENT] = {EITHER, "path-mtu", NULL,
                         LONG ", without an ICMP error: connections open, and hang once they send more",
                         .advice = "look at the MTU of the switch ports on the way, of the peer's NIC (ip link), at "
                                   "firewalls there"},

    [IBH_RDMA_NO_MODULE] = {HOME, "module-missing", NO_PROBLEM, "not asked by RDMA: the module rdma_ucm is not loaded",
                            .fix = "modprobe rdma_ucm"},
    [IBH_RDMA_FILTERED] = {HOME, NO_RDMA, NULL,
                           "RDMA not asked: this host's own firewall drops UDP 4791, by which Soft-RoCE sends",
                           .advice = "let UDP port 4791 out (nft list ruleset, iptables -S OUTPUT)"},
    [IBH_RDMA_BLOCKED] = {HOME, NO_RDMA, NULL,
                          "RDMA not asked: the kernel did not let go of the process that should ask",
                          .advice = "dmesg; a process ib-hook in state D (ps -eo pid,stat,wchan:30,comm) ends with its "
                                    "cause"},
    [IBH_RDMA_NO_DEVICE] = {HOME, "rdma-no-device", NULL,
                            "no RDMA device is behind this NIC, so it cannot be asked by RDMA",
                            .advice = CHECK "; dmesg"},
    [IBH_RDMA_NO_GID] = {HOME, NO_RDMA, NULL, "no RDMA: the NIC's RDMA device has no GID for its address",
                         .advice = CHECK "; take the address away and add it again"},
    [IBH_RDMA_REFUSED] = {HOME, NO_RDMA, NULL, "the kernel does not send RDMA requests: {rdma error}",
                          .advice = CHECK "; dmesg"},
    [IBH_RDMA_NO_WAY] = {HOME, NO_RDMA, NULL, "the RDMA connection manager does not find the way: {rdma error}",
                         .advice = CHECK "; dmesg"},
    [IBH_RDMA_NO_PATH] = {HOME, NO_RDMA, NULL, "the subnet manager tells no path: {rdma error}",
                          .advice = CHECK ": the port, its P_Key, its subnet manager"},
    [IBH_RDMA_SILENT] = {EITHER, NO_RDMA, NULL,
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
    return (pair->causes >> cause & 1) != 0;
}
