/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/size.h"
#include "probe_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* All is well with small echoes; the rails' MTU is this. */
static World look_at(const char *line, int mtu)
{
    World world = look_well(HOST6, line);

    for (guint i = 0; i < world.probe->pairs->len; i++)
        ((IbhLink *)(guintptr)ibh_probe_link(world.probe, pair_at(&world, i)))->mtu = mtu;
    return world;
}

/* The right reply to an echo of this size, in `bytes`, which has room for it. */
static IbhProbeReply reply_of(const World *world, guint pair, guint size, guint8 *bytes)
{
    IbhProbeReply reply = reply_to(world, pair, size, bytes);

    reply.length = size - (reply.from.family == AF_INET6 ? 40 : 20);
    memset(bytes + IBH_PROBE_PACKET, 0, reply.length - IBH_PROBE_PACKET);
    return reply;
}

/* Asks as probe/size_io.c does, on a wire that carries so many bytes. Returns how many packets that took. */
static guint ask(World *world, guint pair, guint wire)
{
    g_autofree guint8 *bytes = g_malloc0(IBH_PROBE_SIZE_MAX);
    guint sizes[IBH_PROBE_SIZES_MAX], n, all = 0;

    for (guint round = 0; (n = ibh_probe_sizes(world->probe, pair_at(world, pair), round, sizes)) > 0; round++) {
        assert_in_range(round, 0, 1);
        for (guint i = 0; i < n; i++) {
            IbhProbeReply reply;

            if (sizes[i] > wire)
                continue;
            reply = reply_of(world, pair, sizes[i], bytes);
            assert_true(ibh_probe_size_received(world->probe, &reply));
        }
        for (guint i = 0; i < n; i++)
            ibh_probe_size_is_lost(pair_at(world, pair), sizes[i]);
        all += n;
    }
    return all;
}

/* ---- sizes --------------------------------------------------------------------------------------------- */

static void test_full_size_at_once(void **state)
{
    g_auto(World) world = look_at(TWO_PEERS, 9000);

    (void)state;
    assert_int_equal(ask(&world, 0, 9000), 1);
    assert_int_equal(pair_at(&world, 0)->mtu.passed, 9000);
    assert_int_equal(pair_at(&world, 0)->mtu.failed, 0);
}

/* The largest of the usual sizes that the wire carries, and one more time-out for it. */
static void test_usual_wires(void **state)
{
    static const guint wires[][2] = {{1500, 1500}, {2044, 2044}, {4092, 4092}, {1723, 1500}, {8999, 8192}, {600, 576}};
    guint sizes[IBH_PROBE_SIZES_MAX];

    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(wires); i++) {
        g_auto(World) world = look_at(TWO_PEERS, 9000);

        (void)ask(&world, 0, wires[i][0]);
        assert_int_equal(pair_at(&world, 0)->mtu.passed, wires[i][1]);
        assert_int_equal(ibh_probe_sizes(world.probe, pair_at(&world, 0), 2, sizes), 0);
    }
}

/* One lost packet of full size is no smaller MTU. */
static void test_one_is_lost(void **state)
{
    g_auto(World) world = look_at(TWO_PEERS, 9000);

    (void)state;
    ibh_probe_size_is_lost(pair_at(&world, 0), 9000);
    (void)ask(&world, 0, 9000);
    ibh_probe_size_is_lost(pair_at(&world, 0), 1500);
    check_verdict(&world, "", 0);
}

static void test_nothing_to_ask(void **state)
{
    guint sizes[IBH_PROBE_SIZES_MAX];
    g_auto(World) world = look_at(TWO_PEERS, 1280);
    g_auto(World) silent = look(HOST, TWO_PEERS);

    (void)state;
    assert_int_equal(ibh_probe_sizes(world.probe, pair_at(&world, 0), 0, sizes), 0);
    assert_int_equal(ibh_probe_sizes(silent.probe, pair_at(&silent, 0), 0, sizes), 0);
}

/* ---- replies ------------------------------------------------------------------------------------------- */

static void test_no_replies(void **state)
{
    g_autofree guint8 *bytes = g_malloc0(IBH_PROBE_SIZE_MAX);
    g_auto(World) world = look_at(TWO_PEERS, 9000);
    IbhProbeReply reply = reply_of(&world, 0, 9000, bytes);

    (void)state;
    for (guint at = 0; at < reply.length; at++) {
        if (at == 2 || at == 3) /* the checksum, which the kernel has seen */
            continue;
        bytes[at] ^= 1;
        assert_false(ibh_probe_size_received(world.probe, &reply));
        bytes[at] ^= 1;
    }
    reply.length--;
    assert_false(ibh_probe_size_received(world.probe, &reply));
    for (reply.length = 0; reply.length < IBH_PROBE_PACKET; reply.length++)
        assert_false(ibh_probe_size_received(world.probe, &reply));
    reply = reply_of(&world, 0, 9001, bytes); /* longer than any that we sent */
    assert_false(ibh_probe_size_received(world.probe, &reply));
    reply = reply_of(&world, 0, 9000, bytes);
    reply.from.bytes[3] ^= 1;
    assert_false(ibh_probe_size_received(world.probe, &reply));
    assert_int_equal(pair_at(&world, 0)->mtu.passed, 0);
}

/* ---- the verdict --------------------------------------------------------------------------------------- */

static void test_black_hole(void **state)
{
    g_auto(World) world = look_at(TWO_PEERS, 9000);

    (void)state;
    for (guint i = 0; i < 4; i++)
        (void)ask(&world, i, i < 2 ? 9000 : 1500);
    check_verdict(&world, "error path-mtu", 2);
    check_message(&world, 0, "172.16.16.2 to every rail: packets of 1500 bytes come");
}

/* Small echoes are lost as well: that is no matter of size. */
static void test_lost_at_any_size(void **state)
{
    g_auto(World) world = look_at(TWO_PEERS, 9000);

    (void)state;
    (void)ask(&world, 0, 1500);
    pair_at(&world, 0)->received = 1;
    check_verdict(&world, "ib0 error probe-lost", 1);
}

static void test_different_causes(void **state)
{
    g_auto(World) world = look_at(TWO_PEERS, 9000);

    (void)state;
    for (guint i = 0; i < 4; i++)
        (void)ask(&world, i, i == 0 ? 1500 : i == 1 ? 4092 : 9000);
    check_verdict(&world, "ib0 error path-mtu, ib1 error path-mtu", 2);
}

static void test_pieces(void **state)
{
    g_autofree guint8 *bytes = g_malloc0(IBH_PROBE_SIZE_MAX);
    g_auto(World) world = look_at(TWO_PEERS, 9000);
    IbhProbeReply reply = reply_of(&world, 3, 9000, bytes);
    g_autofree char *text = NULL;

    (void)state;
    for (guint i = 0; i < 4; i++)
        (void)ask(&world, i, 9000);
    ibh_probe_size_fragment(world.probe, &reply, 1500);
    check_verdict(&world, "ib1 warning path-mtu", 1);
    check_message(&world, 0, "replies of that size come in pieces of 1500: the peer's MTU is smaller");
    g_clear_pointer(&world.probe->findings, g_ptr_array_unref);
    text = report(&world, ibh_write_text, FALSE);
    assert_non_null(strstr(text, "1.00 MTU 1500\n"));
}

/* On the same wire nobody may say so; beyond a router it is as it is. */
static void test_refused(void **state)
{
    g_auto(World) world = look_at("--probe 172.16.16.1 192.0.2.1", 9000);
    IbhIp by;

    (void)state;
    assert_true(ibh_ip_parse("172.16.16.9", &by));
    for (guint i = 0; i < 4; i++) {
        ibh_probe_size_refused(world.probe, pair_at(&world, i)->source, ibh_probe_peer(world.probe, pair_at(&world, i)),
                               &by, 1400);
        (void)ask(&world, i, 1400);
    }
    check_verdict(&world, "error path-mtu, info path-mtu", 2);
    check_message(&world, 1, "packets of 1400 bytes come through, but not 9000, as the rail's MTU allows: 172.16.16.9");
}

/* This host's own firewall: it refuses to send, or drops replies that came in. */
static void test_own_firewall(void **state)
{
    g_auto(World) world = look_at("--probe 172.16.16.1 172.16.16.2 172.16.16.3", 9000);
    g_autofree guint8 *bytes = g_malloc0(IBH_PROBE_SIZE_MAX);
    IbhProbeReply reply;

    (void)state;
    for (guint i = 0; i < 3; i++)
        (void)ask(&world, i, 1500);
    pair_at(&world, 0)->mtu.held = TRUE;
    reply = reply_of(&world, 1, 2044, bytes);
    ibh_probe_size_seen(world.probe, &reply);
    reply = reply_of(&world, 2, 1500, bytes); /* one that was delivered, too */
    ibh_probe_size_seen(world.probe, &reply);
    check_verdict(&world, "ib0 error path-mtu, ib1 error path-mtu, ib0 error path-mtu", 3);
    check_message(&world, 0, "as the rail's MTU allows: this host's own firewall drops them");
    check_message(&world, 1, "this host's own firewall drops the replies, which come in whole");
    check_message(&world, 2, "without an ICMP error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_size_at_once),
        cmocka_unit_test(test_usual_wires),
        cmocka_unit_test(test_one_is_lost),
        cmocka_unit_test(test_nothing_to_ask),
        cmocka_unit_test(test_no_replies),
        cmocka_unit_test(test_black_hole),
        cmocka_unit_test(test_lost_at_any_size),
        cmocka_unit_test(test_different_causes),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_own_firewall),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
