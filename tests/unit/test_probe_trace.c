/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/trace.h"
#include "probe_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/if_ether.h>
#include <string.h>
#include <sys/socket.h>

#define PEERS6 "--probe fd00:16::16:1 fd00:16::16:2"
#define LENGTH_MAX 96

typedef enum { OUT, IN } Way;

typedef struct {
    guint8 bytes[LENGTH_MAX];
    gsize length;
    guint16 protocol;
} Frame;

/* Two peers, two rails; those pairs lost all, and are followed. */
static World look_lost(const char *line, guint first, guint last)
{
    World world = look_well(HOST6, line);

    world.probe->hears_arp = TRUE;
    for (guint i = first; i <= last; i++) {
        pair_at(&world, i)->received = 0;
        pair_at(&world, i)->answers = 1;
        for (guint number = 0; number < 3; number++)
            *ibh_probe_echo(world.probe, i, number) = (IbhProbeEcho){.sent = TRUE};
        pair_at(&world, i)->trace.asked = TRUE;
    }
    return world;
}

static Frame echo_of(const World *world, guint i, Way way)
{
    const IbhProbePair *pair = pair_at(world, i);
    const IbhIp *own = &ibh_probe_source(world->probe, pair)->ip, *peer = ibh_probe_peer(world->probe, pair);
    gboolean six = own->family == AF_INET6;
    gsize header = six ? 40 : 20, size = six ? 16 : 4;
    Frame frame = {.length = header + IBH_PROBE_PACKET, .protocol = six ? ETH_P_IPV6 : ETH_P_IP};

    frame.bytes[0] = six ? 0x60 : 0x45;
    frame.bytes[six ? 6 : 9] = six ? 58 : 1;
    memcpy(frame.bytes + header - 2 * size, (way == OUT ? own : peer)->bytes, size);
    memcpy(frame.bytes + header - size, (way == OUT ? peer : own)->bytes, size);
    ibh_probe_packet(world->probe, i, 0, ID, frame.bytes + header);
    if (way == IN)
        frame.bytes[header] = six ? 129 : 0;
    return frame;
}

static Frame arp_of(const World *world, guint i, Way way)
{
    const IbhProbePair *pair = pair_at(world, i);
    Frame frame = {.protocol = ETH_P_ARP};

    frame.length = ibh_arp_request(ibh_probe_link(world->probe, pair), &ibh_probe_source(world->probe, pair)->ip,
                                   ibh_probe_peer(world->probe, pair), frame.bytes);
    if (way == IN) {
        frame.bytes[7] = 2;
        memcpy(frame.bytes + 14, ibh_probe_peer(world->probe, pair)->bytes, 4);
        memcpy(frame.bytes + 24, ibh_probe_source(world->probe, pair)->ip.bytes, 4);
    }
    return frame;
}

static Frame solicitation_of(const World *world, guint i, Way way)
{
    Frame frame = {.length = 64, .protocol = ETH_P_IPV6};

    frame.bytes[0] = 0x60;
    frame.bytes[6] = 58;
    frame.bytes[40] = way == OUT ? 135 : 136;
    memcpy(frame.bytes + 48, ibh_probe_peer(world->probe, pair_at(world, i))->bytes, 16);
    return frame;
}

static void pass_by(const World *world, int ifindex, const Frame *frame, Way way)
{
    const IbhTraced traced = {.ifindex = ifindex,
                              .protocol = frame->protocol,
                              .outgoing = way == OUT,
                              .bytes = frame->bytes,
                              .length = frame->length};

    ibh_probe_trace_take(world->probe, &traced);
}

static void pass(const World *world, guint pair, Frame frame, Way way)
{
    pass_by(world, ibh_probe_link(world->probe, pair_at(world, pair))->ifindex, &frame, way);
}

static void test_who_is_followed(void **state)
{
    g_auto(World) world = look_lost(TWO_PEERS, 1, 1);

    (void)state;
    assert_false(ibh_probe_trace_is_due(world.probe, 0)); /* it was answered */
    assert_true(ibh_probe_trace_is_due(world.probe, 1));
    ibh_probe_echo(world.probe, 1, 2)->seen = TRUE; /* which says where it was dropped */
    assert_false(ibh_probe_trace_is_due(world.probe, 1));
    ibh_probe_echo(world.probe, 1, 2)->seen = FALSE;
    pair_at(&world, 1)->sent = 0;
    assert_false(ibh_probe_trace_is_due(world.probe, 1));
}

static void test_down(void **state)
{
    g_auto(World) world = look_lost(TWO_PEERS, 0, 0);

    (void)state;
    ((IbhLink *)(guintptr)ibh_probe_link(world.probe, pair_at(&world, 0)))->carrier = FALSE;
    assert_false(ibh_probe_trace_is_due(world.probe, 0));
}

/* Nothing left, not even a question for the hardware address. */
static void test_nothing_leaves(void **state)
{
    g_auto(World) world = look_lost(TWO_PEERS, 1, 1);

    (void)state;
    pair_at(&world, 1)->send_error = 105; /* of a later echo */
    assert_false(ibh_probe_trace_has_moved(pair_at(&world, 1)));
    check_verdict(&world, "ib1 error probe-not-sent", 1);
    check_message(&world, 0, "ib1 to 172.16.16.1: no echo leaves by this NIC");
}

static void test_arp(void **state)
{
    g_auto(World) world = look_lost(TWO_PEERS, 1, 1);

    (void)state;
    pass(&world, 1, arp_of(&world, 1, OUT), OUT);
    assert_true(ibh_probe_trace_has_moved(pair_at(&world, 1)));
    assert_int_equal(ibh_probe_trace_verdict(pair_at(&world, 1)), IBH_LOSS_NONE); /* the peer may be down */
    pass(&world, 1, arp_of(&world, 1, IN), IN);
    assert_int_equal(ibh_probe_trace_verdict(pair_at(&world, 1)), IBH_LOSS_HELD);
    pass(&world, 1, echo_of(&world, 1, OUT), OUT);
    assert_int_equal(ibh_probe_trace_verdict(pair_at(&world, 1)), IBH_LOSS_NONE);
    check_verdict(&world, "ib1 error probe-lost", 1);
}

static void test_solicitation(void **state)
{
    g_auto(World) world = look_lost(PEERS6, 1, 1);

    (void)state;
    pass(&world, 1, solicitation_of(&world, 1, OUT), OUT);
    assert_int_equal(ibh_probe_trace_verdict(pair_at(&world, 1)), IBH_LOSS_NONE);
    pass(&world, 1, solicitation_of(&world, 1, IN), IN);
    assert_int_equal(ibh_probe_trace_verdict(pair_at(&world, 1)), IBH_LOSS_HELD);
    pass(&world, 1, echo_of(&world, 1, OUT), OUT);
    assert_int_equal(ibh_probe_trace_verdict(pair_at(&world, 1)), IBH_LOSS_NONE);
}

static void check_reply_comes(const char *line, const char *message)
{
    g_auto(World) world = look_lost(line, 1, 1);

    pass(&world, 1, echo_of(&world, 1, OUT), OUT);
    pass(&world, 1, echo_of(&world, 1, IN), IN);
    check_verdict(&world, "ib1 error reply-dropped", 1);
    check_message(&world, 0, message);
}

static void test_reply_comes(void **state)
{
    (void)state;
    check_reply_comes(TWO_PEERS, "ib1 to 172.16.16.1: replies come in by this NIC, and this host drops them at once");
    check_reply_comes(PEERS6, "ib1 to fd00:16::16:1: replies come in by this NIC");
}

/* The reply to the echo that was followed is delivered: the others were lost by chance. */
static void test_delivered(void **state)
{
    g_auto(World) world = look_lost(TWO_PEERS, 1, 1);
    guint8 bytes[IBH_PROBE_PACKET];
    IbhProbeReply reply = reply_to(&world, 1, 0, bytes);

    (void)state;
    pair_at(&world, 1)->is_over = TRUE;
    ibh_probe_seen(world.probe, &reply);
    assert_false(ibh_probe_received(world.probe, &reply, 5000000));
    assert_false(ibh_probe_echo(world.probe, 1, 0)->seen);
    assert_true(ibh_probe_trace_has_moved(pair_at(&world, 1)));
    check_verdict(&world, "ib1 error probe-lost", 1);
    assert_int_equal(pair_at(&world, 1)->received, 0);
}

static void test_translation(void **state)
{
    static const struct {
        gsize at;
        const char *message;
    } CASES[] = {
        {15, "address translation (nft, iptables) sends echoes from 172.16.34.99"},
        {19, "address translation (nft, iptables) sends echoes to 172.16.16.99"},
    };

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(CASES); i++) {
        g_auto(World) world = look_lost(TWO_PEERS, 1, 1);
        Frame frame = echo_of(&world, 1, OUT);

        frame.bytes[CASES[i].at] = 99;
        pass(&world, 1, frame, OUT);
        check_verdict(&world, "ib1 error address-translated", 1);
        check_message(&world, 0, CASES[i].message);
    }
}

/* Through a gateway, whose hardware address is asked for instead. */
static void test_gateway(void **state)
{
    g_auto(World) world = look_lost("--probe 10.9.9.9", 1, 1);

    (void)state;
    assert_false(pair_at(&world, 1)->on_link);
    assert_int_equal(ibh_probe_trace_verdict(pair_at(&world, 1)), IBH_LOSS_NONE);
    pass(&world, 1, echo_of(&world, 1, IN), IN);
    assert_int_equal(ibh_probe_trace_verdict(pair_at(&world, 1)), IBH_LOSS_DROPPED);
}

/* Packets that are none of ours say nothing. */
static void test_what_is_no_echo(void **state)
{
    static const gsize CHANGED[] = {9, 20, 28, 43, 44}; /* protocol, type, cookie, pair */

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(CHANGED); i++) {
        g_auto(World) world = look_lost(TWO_PEERS, 1, 1);
        Frame out = echo_of(&world, 1, OUT), in = echo_of(&world, 1, IN);

        out.bytes[CHANGED[i]] ^= 0x40;
        in.bytes[CHANGED[i]] ^= 0x40;
        pass(&world, 1, out, OUT);
        pass(&world, 1, in, IN);
        assert_false(ibh_probe_trace_has_moved(pair_at(&world, 1)));
        assert_false(pair_at(&world, 1)->trace.came);
    }
}

static void test_other_ways(void **state)
{
    g_auto(World) world = look_lost(TWO_PEERS, 1, 1);
    Frame out = echo_of(&world, 1, OUT), in = echo_of(&world, 1, IN), wrong = in;

    (void)state;
    pass(&world, 0, out, OUT); /* by another NIC */
    pass(&world, 1, out, IN);  /* an echo of the peer */
    pass(&world, 1, in, OUT);
    wrong.bytes[15] ^= 1; /* from another host */
    pass(&world, 1, wrong, IN);
    wrong = in;
    wrong.bytes[19] ^= 1; /* to another one */
    pass(&world, 1, wrong, IN);
    pass(&world, 0, arp_of(&world, 1, OUT), OUT);
    pass(&world, 1, arp_of(&world, 2, OUT), OUT); /* for another peer */
    pass(&world, 1, arp_of(&world, 1, OUT), IN);
    pass(&world, 1, arp_of(&world, 1, IN), OUT);
    assert_false(ibh_probe_trace_has_moved(pair_at(&world, 1)));
    assert_false(pair_at(&world, 1)->trace.came || pair_at(&world, 1)->trace.told);
    for (gsize length = 0; length < out.length; length++) {
        out.length = length;
        pass(&world, 1, out, OUT);
        assert_false(ibh_probe_trace_has_moved(pair_at(&world, 1)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_followed), cmocka_unit_test(test_down),
        cmocka_unit_test(test_nothing_leaves),  cmocka_unit_test(test_arp),
        cmocka_unit_test(test_solicitation),    cmocka_unit_test(test_reply_comes),
        cmocka_unit_test(test_delivered),       cmocka_unit_test(test_translation),
        cmocka_unit_test(test_gateway),         cmocka_unit_test(test_what_is_no_echo),
        cmocka_unit_test(test_other_ways),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
