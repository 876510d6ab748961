/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What packets that pass a NIC say of the pairs. */
#include "model/arp.h"
#include "probe_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/if_ether.h>
#include <errno.h>
#include <string.h>

#define PEERS6 "--probe fd00:16::16:1 fd00:16::16:2"
#define SYN 0x02
#define RST 0x04
#define ACK 0x10

/* Two peers, two rails; pair 1 lost all, and nothing was heard of it yet, but that its peer answers ARP. */
static World look_lost(const char *line)
{
    World world = look_well(HOST6, line);
    IbhProbePair *pair = pair_at(&world, 1);

    world.probe->hears = TRUE;
    pair->received = 0;
    if (pair->hop && !pair->hop->n_claims)
        claim(&world, 1, pair->hop->lladdr, 1);
    pair->left = FALSE;
    for (guint number = 0; number < 3; number++)
        pair_at(&world, 1)->echoes[number] = (IbhProbeEcho){.sent_at = 1};
    return world;
}

static Frame arp_of(const World *world, guint i, Way way)
{
    const IbhProbePair *pair = pair_at(world, i);
    const IbhIp *own = &ibh_probe_source(pair)->ip, *peer = ibh_probe_peer(pair);
    Frame frame = {.protocol = ETH_P_ARP};

    frame.length = ibh_arp_request(ibh_probe_link(pair), own, peer, frame.bytes);
    if (way == IN) {
        frame.bytes[7] = 2;
        memcpy(frame.bytes + 8, (const guint8[]){MAC((guint8)(16 + pair->peer))}, 6);
        memcpy(frame.bytes + 14, peer->bytes, 4);
        memcpy(frame.bytes + 24, own->bytes, 4);
    }
    return frame;
}

static Frame discovery_of(const World *world, guint i, Way way)
{
    Frame frame = {.length = 80, .protocol = ETH_P_IPV6};

    frame.bytes[0] = 0x60;
    frame.bytes[5] = 40;
    frame.bytes[6] = 58;
    frame.bytes[7] = 255;
    frame.bytes[40] = way == OUT ? 135 : 136;
    frame.bytes[44] = way == OUT ? 0 : 0x60; /* it answers, and overrides */
    memcpy(frame.bytes + 48, ibh_probe_peer(pair_at(world, i))->bytes, 16);
    frame.bytes[64] = way == OUT ? 1 : 2; /* an option: the hardware address */
    frame.bytes[65] = 2;
    memcpy(frame.bytes + 68, (const guint8[]){MAC((guint8)(16 + pair_at(world, i)->peer))}, 6);
    return frame;
}

/* ---- echoes -------------------------------------------------------------------------------------------- */

/* Nothing left, not even a question for the hardware address. */
static void test_nothing_leaves(void **state)
{
    g_auto(World) world = look_lost(TWO_PEERS);

    (void)state;
    pair_at(&world, 1)->send_error = 105; /* of a later echo */
    check_verdict(&world, "ib1 error probe-not-sent", 1);
    check_message(&world, 0,
                  "ib1 to 172.16.16.1: this host sends echoes, and they do not leave through this NIC; what can");
    world.probe->hears = FALSE; /* something was missed */
    check_verdict(&world, "ib1 error probe-not-sent", 1);
    check_message(&world, 0, "what can drop packets on the way out: nft, iptables, tc, BPF, a queue, IPsec policies");
}

static void check_lost(World *world, const char *code, const char *message)
{
    check_verdict(world, code, 1);
    check_message(world, 0, message);
}

static void test_questions(void **state)
{
    g_auto(World) four = look_lost(TWO_PEERS), six = look_lost(PEERS6);

    (void)state;
    pass(&four, 1, arp_of(&four, 1, OUT), OUT);
    check_lost(&four, "ib1 error probe-lost", "no reply"); /* ARP is answered by now, not to the kernel */
    pair_at(&four, 1)->hop->n_claims = 0;
    pass(&four, 1, arp_of(&four, 1, IN), IN);
    check_lost(&four, "ib1 error probe-not-sent", "and this host drops the answer, so no echo leaves");
    pass(&four, 1, echo_frame(&four, 1, 0, OUT), OUT);
    check_lost(&four, "ib1 error probe-lost", "ARP is answered, echoes are not");
    pair_at(&six, 1)->hop->n_claims = 0;
    pass(&six, 1, discovery_of(&six, 1, OUT), OUT);
    pass(&six, 1, discovery_of(&six, 1, IN), IN);
    assert_int_equal(pair_at(&six, 1)->hop->n_claims, 1);
    check_lost(&six, "ib1 error probe-not-sent", "and this host drops the answer, so no echo leaves");
}

static void test_reply_comes(void **state)
{
    g_auto(World) four = look_lost(TWO_PEERS), six = look_lost(PEERS6);

    (void)state;
    pass(&four, 1, echo_frame(&four, 1, 0, OUT), OUT);
    pass(&four, 1, echo_frame(&four, 1, 0, IN), IN);
    check_lost(&four, "ib1 error reply-dropped",
               "ib1 to 172.16.16.1: replies come in through this NIC, and this host drops them");
    pass(&six, 1, echo_frame(&six, 1, 0, OUT), OUT);
    pass(&six, 1, echo_frame(&six, 1, 0, IN), IN);
    check_lost(&six, "ib1 error reply-dropped", "ib1 to fd00:16::16:1: replies come in through this NIC");
}

#define AFTER_ARP                                                                                                      \
    "ARP is answered, echoes are not: they were seen to leave, and nothing came back: the fault is in the "
#define NOBODY_ELSE "wire, in either direction, or in that host; 1 of 4 pairs"
#define DROPPED "and this host drops them; "
#define WAY_IN "what can drop packets on the way in: rp_filter, nft"
#define HELD "they do not leave through this NIC; "
#define WAY_OUT "what can drop packets on the way out: nft"

/* Of pair 1's three echoes. */
enum { LEFT = 1, BACK = 2 /* to the NIC */, ONE = 4 /* came back to us */, ASKED = 8 /* in vain */, REFUSED = 16 };

static const struct {
    IbhProbeFact fact;
    int ifindex; /* 3: the pair's NIC; 0: counted of the whole host */
    gint64 value;
    guint seen;
    const char *code, *message;
} facts[] = {
    /* what drops before a packet leaves, where none was seen to leave, or to wait for a hardware address */
    {IBH_FACT_QUEUE, 3, 9, 0, "ib1 error probe-not-sent", HELD "the drop counter of its queue (qdisc) grows; " WAY_OUT},
    {IBH_FACT_QUEUE, 3, 9, LEFT, "ib1 error probe-lost", AFTER_ARP NOBODY_ELSE},
    {IBH_FACT_QUEUE, 3, 9, ONE, "ib1 error probe-not-sent",
     HELD "the drop counter of its queue (qdisc) grows; " WAY_OUT},
    {IBH_FACT_QUEUE, 3, 1, ONE, "ib1 error probe-not-sent", HELD WAY_OUT}, /* not by so many */
    {IBH_FACT_QUEUE, 2, 9, ONE, "ib1 error probe-not-sent", HELD WAY_OUT},
    {IBH_FACT_QUEUE, 3, 9, ONE | LEFT, "ib1 error probe-lost", "some echoes get lost"},
    {IBH_FACT_QUEUE, 3, 9, ASKED, "ib1 error probe-lost", "nothing answers, not even ARP"},
    {IBH_FACT_IPSEC_OUT, 0, 3, REFUSED, "ib1 error probe-not-sent",
     "this NIC (Operation not permitted); an XfrmOut counter of /proc/net/xfrm_stat grows, too: an IPsec policy has no "
     "key, or blocks; " WAY_OUT},
    {IBH_FACT_TCX_OUT, 3, 1, 0, "ib1 error probe-not-sent", HELD "a tcx program (BPF) is attached to ib1; " WAY_OUT},
    {IBH_FACT_TCX_IN, 3, 1, 0, "ib1 error probe-not-sent", HELD WAY_OUT},
    {IBH_FACT_TC, 3, 1, 0, "ib1 error probe-not-sent", HELD "tc filters may be attached to ib1"},
    /* what drops after it was heard */
    {IBH_FACT_RP_FILTER, 0, 3, LEFT | BACK, "ib1 error reply-dropped",
     DROPPED "IPReversePathFilter grows, too: rp_filter drops packets; " WAY_IN},
    {IBH_FACT_RP_FILTER, 0, 2, LEFT | BACK, "ib1 error reply-dropped", DROPPED WAY_IN},
    {IBH_FACT_RP_FILTER, 0, 3, LEFT, "ib1 error probe-lost", AFTER_ARP NOBODY_ELSE},
    {IBH_FACT_IPSEC_IN, 0, 3, LEFT | BACK, "ib1 error reply-dropped", DROPPED "an XfrmIn counter"},
    {IBH_FACT_MACVLAN, 3, 1, LEFT | BACK, "ib1 error reply-dropped", DROPPED "a macvlan on ib1"},
    /* and before */
    {IBH_FACT_XDP, 3, 1, LEFT, "ib1 error probe-lost", "or in that host; an XDP program is attached to ib1"},
    {IBH_FACT_XDP, 2, 1, LEFT, "ib1 error probe-lost", AFTER_ARP NOBODY_ELSE},
    {IBH_FACT_MACVLAN, 3, 1, LEFT, "ib1 error probe-lost", AFTER_ARP NOBODY_ELSE},
};

static void see(const World *world, guint seen)
{
    IbhProbePair *pair = pair_at(world, 1);

    for (guint number = 0; number < 3; number++) {
        if (number == 0 && seen & ONE) {
            exchange(world, 1, number, 1);
            pair->sent--;
            continue;
        }
        if (seen & LEFT)
            pass(world, 1, echo_frame(world, 1, number, OUT), OUT);
        if (seen & BACK)
            pass(world, 1, echo_frame(world, 1, number, IN), IN);
    }
    if (seen & ASKED)
        pass(world, 1, arp_of(world, 1, OUT), OUT);
    pair->hop->n_claims = seen & ASKED ? 0 : pair->hop->n_claims;
    pair->sent = seen & REFUSED ? 0 : pair->sent;
    pair->send_error = seen & REFUSED ? EPERM : 0;
}

static void test_facts(void **state)
{
    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(facts); i++) {
        g_auto(World) world = look_lost(TWO_PEERS);

        see(&world, facts[i].seen);
        *ibh_probe_fact(world.probe, facts[i].ifindex, facts[i].fact) = facts[i].value;
        check_lost(&world, facts[i].code, facts[i].message);
    }
}

/* It is of one rail, and does not part the peer's pairs. */
static void test_fact_of_one_rail(void **state)
{
    g_auto(World) world = look_lost(TWO_PEERS);

    (void)state;
    pair_at(&world, 0)->received = 0;
    for (guint i = 0; i < 2; i++)
        pass(&world, i, echo_frame(&world, i, 0, OUT), OUT);
    *ibh_probe_fact(world.probe, 3, IBH_FACT_XDP) = 1;
    check_verdict(&world, "error peer-down", 2);
    check_message(&world, 0, "172.16.16.1 to every rail: ARP is answered");
    check_message(&world, 0, "an XDP program is attached to ib1, which could drop what arrives; 2 of 4 pairs");
}

/* A NIC below the rail shows it, too: as a bond's. */
static void test_reply_by_two(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    pass_by(&world, 9, echo_frame(&world, 1, 0, IN), IN);
    check_verdict(&world, "", 0);
}

static void test_translation(void **state)
{
    static const struct {
        gsize at;
        const char *message;
    } CASES[] = {
        {15, "address translation (nft, iptables) changes the echoes: they leave with the source 172.16.34.99"},
        {19, "they leave with the source 172.16.34.2 and the destination 172.16.16.99"},
    };

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(CASES); i++) {
        g_auto(World) world = look_lost(TWO_PEERS);
        Frame frame = echo_frame(&world, 1, 0, OUT);

        frame.bytes[CASES[i].at] = 99;
        pass(&world, 1, frame, OUT);
        check_lost(&world, "ib1 error address-translated", CASES[i].message);
        pair_at(&world, 1)->received = 3;
        for (guint number = 0; number < 3; number++)
            pair_at(&world, 1)->echoes[number].received = TRUE;
        check_lost(&world, "ib1 warning address-translated", "the peer sees another address");
    }
}

/* Through a gateway, whose hardware address is asked for instead: beyond the rail's subnets, and inside. */
static void test_gateway(void **state)
{
    static const char *const lines[] = {"--probe 10.9.9.9", "--probe 172.16.16.1"};

    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_auto(World) world = look_well(HOST6, lines[i]);
        IbhProbePair *pair = pair_at(&world, 1);
        g_autofree char *down = g_strdup_printf("ib1 error gateway-down");

        world.probe->hears = TRUE;
        assert_true(ibh_ip_parse("172.16.99.1", &pair->route.gateway));
        ibh_probe_find_hops(world.probe);
        pair->received = 0;
        pair->left = FALSE;
        for (guint number = 0; number < 3; number++)
            pair_at(&world, 1)->echoes[number] = (IbhProbeEcho){.sent_at = 1};
        pair->hop->kernel_asked = TRUE;
        /* as if nothing could be sent that asks for the gateway's hardware address: then silence accuses nobody */
        check_lost(&world, "ib1 error probe-lost", "no reply: the fault is in the wire");
        pair->hop->questions = 1; /* in vain */
        check_lost(&world, down, "the gateway 172.16.99.1 does not answer ARP");
        claim(&world, 1, (IbhLladdr){{MAC(50)}, 6}, 1);
        pair->hop->is_answered = TRUE;
        check_lost(&world, "ib1 error probe-not-sent", "ARP is answered, and this host drops the answer");
        pass(&world, 1, echo_frame(&world, 1, 0, OUT), OUT);
        check_lost(&world, "ib1 error probe-lost",
                   pair->on_link ? "packets go via 172.16.99.1, although the peer is a neighbour"
                                 : "the gateway 172.16.99.1 answers ARP, and echoes were seen to leave for it");
        claim(&world, 1, (IbhLladdr){{MAC(51)}, 6}, 1);
        check_verdict(&world, pair->on_link ? "error duplicate-address" : "warning peer-flux", 1);
        check_message(&world, 0, "172.16.99.1: 02:00:00:00:00:32, 02:00:00:00:00:33 claim the address");
        assert_true(pair->on_link || g_str_has_prefix(((const IbhFinding *)world.probe->findings->pdata[0])->advice,
                                                      "on the gateway 172.16.99.1: install ib-hook there"));
    }
}

/* One of two peers behind a gateway is lost. The gateway brings back replies of the other, or it does not; and the
 * route of the lost one is ib-hook's, or another's. */
static void test_peer_behind_gateway(void **state)
{
    static const char OURS[] = HOST "ip route add 172.16.0.0/16 via 172.16.99.1 dev ib1 table 941 protocol kernel "
                                    "metric 1768056939\n",
                      OTHERS[] = HOST "ip route add 172.16.0.0/16 via 172.16.99.1 dev ib1 table 941\n";
    static const struct {
        const char *host, *line;
        gboolean other_works, is_answered, left;
        const char *code, *message, *advice;
    } cases[] = {
        {OTHERS, "--probe 10.9.9.8 10.9.9.9", FALSE, FALSE, FALSE, "gateway-down", "does not answer ARP", NULL},
        {OTHERS, "--probe 10.9.9.8 10.9.9.9", TRUE, FALSE, FALSE, "probe-lost", "no reply: the fault is in", NULL},
        {OTHERS, "--probe 10.9.9.8 10.9.9.9", TRUE, TRUE, TRUE, "probe-lost", "answers ARP, and echoes were", NULL},
        {OTHERS, TWO_PEERS, FALSE, TRUE, TRUE, "probe-lost", "although the peer is a neighbour",
         "delete the route to 172.16.0.0/16 in table 941; or see why 172.16.99.1 does not forward"},
        {OURS, TWO_PEERS, FALSE, TRUE, TRUE, "probe-lost", "although the peer is a neighbour",
         "see why 172.16.99.1 does not forward"},
        {OURS, TWO_PEERS, TRUE, TRUE, TRUE, "probe-lost", "answers ARP, and echoes were seen to leave for it", NULL},
        {OURS, TWO_PEERS, TRUE, FALSE, TRUE, "probe-lost", "no reply: the fault is in", NULL},
        /* the gateway's own replies do not show that it forwards */
        {OURS, "--probe 172.16.99.1 172.16.16.2", TRUE, FALSE, TRUE, "probe-lost", "although the peer is a neighbour",
         NULL},
    };

    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(World) world = look_well(cases[i].host, cases[i].line);
        IbhProbePair *lost = pair_at(&world, 3), *other = pair_at(&world, 1);
        g_autofree char *verdict_text = NULL, *code = g_strdup_printf("ib1 error %s", cases[i].code);
        const IbhFinding *finding;

        world.probe->hears = TRUE;
        for (guint n = 1; n < 4; n += 2)
            assert_true(ibh_ip_parse("172.16.99.1", &pair_at(&world, n)->route.gateway));
        lost->route.table = 941;
        lost->route.length = 16;
        ibh_probe_find_hops(world.probe);
        assert_ptr_equal(lost->hop, other->hop);
        lost->received = 0;
        lost->left = cases[i].left;
        for (guint number = 0; number < 3; number++)
            lost->echoes[number] = (IbhProbeEcho){.sent_at = 1, .left = cases[i].left};
        if (!cases[i].other_works) {
            other->received = 0;
            other->send_error = EPERM;
        }
        lost->hop->kernel_asked = TRUE;
        lost->hop->questions = 1;
        if (cases[i].is_answered)
            claim(&world, 3, (IbhLladdr){{MAC(50)}, 6}, 1);
        verdict_text = verdict(&world);
        finding = g_ptr_array_index(world.probe->findings, world.probe->findings->len - 1);
        if (!strstr(verdict_text, code) || !strstr(finding->message, cases[i].message) ||
            (cases[i].advice && g_strcmp0(finding->advice, cases[i].advice)))
            fail_msg("%u: %s: %s; %s", i, verdict_text, finding->message, finding->advice);
    }
}

/* Packets that are none of ours, or by other ways, say nothing. */
static void test_what_is_no_echo(void **state)
{
    static const gsize CHANGED[] = {9, 20, 24, 27, 32, 43, 44}; /* protocol, type, id, sequence, cookie, pair */
    g_auto(World) world = look_lost(TWO_PEERS);
    const Frame out = echo_frame(&world, 1, 0, OUT), in = echo_frame(&world, 1, 0, IN);
    Frame wrong;

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(CHANGED); i++) {
        wrong = out;
        wrong.bytes[CHANGED[i]] ^= 0x40;
        if (CHANGED[i] != 24 && CHANGED[i] != 27) /* which translation may change */
            pass(&world, 1, wrong, OUT);
        wrong = in;
        wrong.bytes[CHANGED[i]] ^= 0x40;
        pass(&world, 1, wrong, IN);
    }
    for (gsize at = 15; at <= 19; at += 4) { /* from another host, to another one */
        wrong = in;
        wrong.bytes[at] ^= 1;
        pass(&world, 1, wrong, IN);
    }
    pass(&world, 0, out, OUT); /* by another NIC */
    pass(&world, 1, out, IN);  /* an echo of the peer */
    pass(&world, 1, in, OUT);
    pass(&world, 0, arp_of(&world, 1, OUT), OUT);
    pass(&world, 1, arp_of(&world, 2, OUT), OUT); /* for another address */
    pass(&world, 1, arp_of(&world, 1, OUT), IN);
    pass(&world, 1, arp_of(&world, 1, IN), OUT);
    for (wrong = in; wrong.length > 0; wrong.length--) {
        if (wrong.length < in.length)
            pass(&world, 1, wrong, IN);
    }
    assert_false(pair_at(&world, 1)->left || pair_at(&world, 1)->hop->is_answered);
    assert_false(pair_at(&world, 1)->echoes[0].seen);
}

/* ---- full size ----------------------------------------------------------------------------------------- */

static void test_pieces(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);
    Frame frame;

    (void)state;
    ((IbhLink *)(guintptr)ibh_probe_link(pair_at(&world, 3)))->mtu = 9000;
    pair_at(&world, 3)->mtu.passed = 9000;
    frame = echo_frame(&world, 3, IBH_PROBE_SIZED | 9000, IN);
    frame.length = FRAME_MAX;
    pass(&world, 3, frame, IN);
    assert_int_equal(pair_at(&world, 3)->mtu.seen, 9000);
    ibh_put16(frame.bytes + 2, 1500);
    ibh_put16(frame.bytes + 6, 0x2000);
    pass(&world, 3, frame, IN);
    check_lost(&world, "ib1 warning path-mtu",
               "replies of that size come in pieces of 1500: the peer's MTU is smaller");
}

/* This host's own firewall: it refuses to send, or drops replies that came in. Its own queue: no long one leaves. */
static void test_own_firewall(void **state)
{
    g_auto(World) world = look_well(HOST, "--probe 172.16.16.1 172.16.16.2 172.16.16.3");
    Frame frame;

    (void)state;
    world.probe->hears = TRUE;
    *ibh_probe_fact(world.probe, 3, IBH_FACT_QUEUE) = 70;
    for (guint i = 0; i < 4; i++) {
        ((IbhLink *)(guintptr)ibh_probe_link(pair_at(&world, i)))->mtu = 9000;
        pair_at(&world, i)->mtu = (IbhProbeSize){.passed = 1500, .failed = TRUE, .held = i == 0};
        frame = echo_frame(&world, i, IBH_PROBE_SIZED | (i == 1 ? 2044 : 1500), IN);
        frame.length = FRAME_MAX;
        pass(&world, i, frame, IN);
        frame = echo_frame(&world, i, IBH_PROBE_SIZED | (i == 3 ? 1500 : 9000), OUT);
        frame.length = FRAME_MAX;
        pass(&world, i, frame, OUT);
    }
    check_verdict(&world, "ib0 error path-mtu, ib0 error path-mtu", 4);
    check_message(&world, 0,
                  "ib0, ib1 to 172.16.16.1-.2: packets of 1500 bytes come through, but not those of 9000 "
                  "bytes, which the rail's MTU allows: this host's own filter or queue drops them, or the replies; "
                  "what can drop packets on the way out");
    check_message(&world, 0, "the drop counter of its queue (qdisc) grows");
    check_message(&world, 0, "what can drop packets on the way in");
    check_message(&world, 0, "3 of 6 pairs");
    check_message(&world, 1, "without an ICMP error");
    world.probe->hears = FALSE; /* what was not heard may have left */
    check_verdict(&world, "ib0 error path-mtu, error path-mtu", 4);
}

/* ---- TCP ----------------------------------------------------------------------------------------------- */

/* The peer's answer to the pair's SYN, from this hardware address. */
static Frame answer_to(const World *world, guint pair, guint8 flags, const guint8 *sender)
{
    Frame frame = echo_frame(world, pair, 0, IN);
    guint8 request[IBH_SYN_LENGTH], *segment = frame.bytes + 40;

    ibh_probe_write_syn(pair_at(world, pair), request);
    frame.bytes[6] = 6;
    frame.length = 60;
    frame.sender = sender;
    memset(segment, 0, IBH_SYN_LENGTH);
    memcpy(segment, request + 2, 2);
    memcpy(segment + 2, request, 2);
    ibh_put32(segment + 8, ibh_get32(request + 4) + 1);
    segment[13] = flags;
    return frame;
}

static World look_asked(void)
{
    World world = look_well(HOST6, PEERS6);

    for (guint i = 0; i < world.probe->pairs->len; i++)
        pair_at(&world, i)->syn = IBH_SYN_SILENT;
    return world;
}

static void test_answers(void **state)
{
    static const guint8 FLAGS[] = {RST | ACK, SYN | ACK}, WRONG[] = {0, SYN, RST, ACK, SYN | ACK | 0x01};
    static const gsize MATTER[] = {8, 24, 40, 41, 42, 43, 48, 49, 50, 51};
    static const guint8 right[] = {MAC(16)};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(FLAGS); i++) {
        g_auto(World) world = look_asked();
        const Frame good = answer_to(&world, 0, FLAGS[i], right);

        for (gsize k = 0; k < G_N_ELEMENTS(WRONG); k++)
            pass(&world, 0, answer_to(&world, 0, WRONG[k], right), IN);
        for (gsize k = 0; k < G_N_ELEMENTS(MATTER); k++) {
            Frame frame = good;

            frame.bytes[MATTER[k]] ^= 0x40;
            pass(&world, 0, frame, IN);
        }
        pass(&world, 0, good, OUT);
        assert_int_equal(pair_at(&world, 0)->syn, IBH_SYN_SILENT);
        pass(&world, 0, good, IN);
        assert_null(ibh_probe_syn_why(pair_at(&world, 0)));
        check_verdict(&world, "", 0);
    }
}

/* The RST comes from another NIC of the peer than the one that has the address. */
static void test_other_nic(void **state)
{
    static const guint8 other[] = {MAC(16)};
    g_auto(World) world = look_asked();

    (void)state;
    pass(&world, 3, answer_to(&world, 3, RST | ACK, other), IN);
    check_lost(&world, "warning peer-replies-other-nic", "fd00:16::16:2: replies come from the NIC of another address");
}

/* What cannot be known is said, and nobody is accused. */
static void test_not_known(void **state)
{
    static const struct {
        IbhSynOutcome outcome;
        const char *part;
    } CASES[] = {
        {IBH_SYN_SILENT, "no answer to a TCP SYN"},
        {IBH_SYN_ANSWERED, "the kernel tells no hardware addresses"}, /* of IPoIB */
    };

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(CASES); i++) {
        g_auto(World) world = look_well(HOST6, PEERS6);
        g_autofree char *text = NULL;

        pair_at(&world, 1)->syn = CASES[i].outcome;
        check_verdict(&world, "", 0);
        text = report(&world, ibh_report_text, FALSE);
        assert_non_null(strstr(text, "ok; the NIC of its replies is not known: "));
        assert_non_null(strstr(text, CASES[i].part));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_leaves),   cmocka_unit_test(test_questions),
        cmocka_unit_test(test_reply_comes),      cmocka_unit_test(test_facts),
        cmocka_unit_test(test_fact_of_one_rail), cmocka_unit_test(test_reply_by_two),
        cmocka_unit_test(test_translation),      cmocka_unit_test(test_gateway),
        cmocka_unit_test(test_what_is_no_echo),  cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_own_firewall),     cmocka_unit_test(test_answers),
        cmocka_unit_test(test_other_nic),        cmocka_unit_test(test_peer_behind_gateway),
        cmocka_unit_test(test_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
