/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/syn.h"
#include "probe_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#define PEERS6 "--probe fd00:16::16:1 fd00:16::16:2"
#define FLAGS_AT 13
#define SYN 0x02
#define RST 0x04
#define ACK 0x10

/* The peer's answer to the pair's SYN, from this hardware address. */
static IbhProbeReply answer_to(const World *world, guint pair, guint8 flags, guint8 segment[IBH_SYN_LENGTH],
                               const guint8 *sender)
{
    const IbhProbeSource *source = ibh_probe_source(world->probe, pair_at(world, pair));
    guint8 request[IBH_SYN_LENGTH];

    ibh_probe_syn(world->probe, pair, request);
    memset(segment, 0, IBH_SYN_LENGTH);
    memcpy(segment, request + 2, 2);
    memcpy(segment + 2, request, 2);
    memcpy(segment + 8, request + 4, 4);
    for (int i = 11; i >= 8 && ++segment[i] == 0;) /* the next number */
        i--;
    segment[FLAGS_AT] = flags;
    return (IbhProbeReply){.from = *ibh_probe_peer(world->probe, pair_at(world, pair)),
                           .to = source->ip,
                           .ifindex = source->nic->link->ifindex,
                           .icmp = segment,
                           .length = IBH_SYN_LENGTH,
                           .sender = sender,
                           .sender_len = sender ? 6 : 0};
}

static void ask_all(const World *world)
{
    for (guint i = 0; i < world->probe->pairs->len; i++)
        pair_at(world, i)->syn.outcome = IBH_SYN_SILENT;
}

static void test_who_is_asked(void **state)
{
    g_auto(World) world = look_well(HOST6, "--probe fd00:16::16:1 172.16.16.1 fd00:99::1");

    (void)state;
    assert_true(ibh_probe_wants_syn(world.probe, pair_at(&world, 0)));
    assert_false(ibh_probe_wants_syn(world.probe, pair_at(&world, 2))); /* IPv4 */
    assert_false(ibh_probe_wants_syn(world.probe, pair_at(&world, 4))); /* through a gateway */
    pair_at(&world, 0)->received = 0;
    assert_false(ibh_probe_wants_syn(world.probe, pair_at(&world, 0)));
}

static void test_segment(void **state)
{
    g_auto(World) world = look(HOST6, PEERS6);
    guint8 segment[IBH_SYN_LENGTH];

    (void)state;
    ibh_probe_syn(world.probe, 2, segment);
    assert_int_equal(segment[0] << 8 | segment[1], ibh_probe_syn_port(world.probe));
    assert_int_equal(segment[2] << 8 | segment[3], IBH_SYN_PORT);
    assert_memory_equal(segment + 4, "een\"", 4); /* of the cookie, "een ", and the pair */
    assert_int_equal(segment[12], 0x50);
    assert_int_equal(segment[FLAGS_AT], SYN);
}

static void test_answers(void **state)
{
    static const guint8 FLAGS[] = {RST | ACK, SYN | ACK};
    static const guint8 WRONG[] = {0, SYN, RST, ACK, SYN | ACK | 0x01};
    static const guint8 right[] = {MAC(16)};
    guint8 segment[IBH_SYN_LENGTH];

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(FLAGS); i++) {
        g_auto(World) world = look_well(HOST6, PEERS6);
        IbhProbeReply reply = answer_to(&world, 0, FLAGS[i], segment, right);

        assert_false(ibh_probe_syn_answered(world.probe, &reply)); /* to nothing that was sent */
        ask_all(&world);
        assert_true(ibh_probe_syn_answered(world.probe, &reply));
        assert_false(ibh_probe_syn_answered(world.probe, &reply));
        assert_null(ibh_probe_syn_why(pair_at(&world, 0)));
        assert_false(ibh_probe_syn_is_wrong(pair_at(&world, 0)));
    }
    for (gsize i = 0; i < G_N_ELEMENTS(WRONG); i++) {
        g_auto(World) world = look_well(HOST6, PEERS6);
        IbhProbeReply reply = answer_to(&world, 0, WRONG[i], segment, right);

        ask_all(&world);
        assert_false(ibh_probe_syn_answered(world.probe, &reply));
    }
}

/* Each byte that matters, and the length. */
static void test_what_is_no_answer(void **state)
{
    static const gsize MATTER[] = {0, 1, 2, 3, 8, 9, 10, 11};
    static const guint8 right[] = {MAC(16)};
    g_auto(World) world = look_well(HOST6, PEERS6);
    guint8 segment[IBH_SYN_LENGTH];
    IbhProbeReply reply;

    (void)state;
    ask_all(&world);
    for (gsize i = 0; i < G_N_ELEMENTS(MATTER); i++) {
        reply = answer_to(&world, 0, RST | ACK, segment, right);
        segment[MATTER[i]] ^= 0x40;
        assert_false(ibh_probe_syn_answered(world.probe, &reply));
    }
    reply = answer_to(&world, 0, RST | ACK, segment, right);
    reply.length--;
    assert_false(ibh_probe_syn_answered(world.probe, &reply));
    reply = answer_to(&world, 0, RST | ACK, segment, right);
    reply.from.bytes[15] ^= 1;
    assert_false(ibh_probe_syn_answered(world.probe, &reply));
    reply = answer_to(&world, 0, RST | ACK, segment, right);
    reply.to.bytes[15] ^= 1;
    assert_false(ibh_probe_syn_answered(world.probe, &reply));
}

/* The RST comes from another NIC of the peer than the one that has the address. */
static void test_other_nic(void **state)
{
    static const guint8 other[] = {MAC(99)};
    g_auto(World) world = look_well(HOST6, PEERS6);
    guint8 segment[IBH_SYN_LENGTH];
    IbhProbeReply reply = answer_to(&world, 3, RST | ACK, segment, other);

    (void)state;
    ask_all(&world);
    assert_true(ibh_probe_syn_answered(world.probe, &reply));
    check_verdict(&world, "warning peer-replies-other-nic", 1);
    check_message(&world, 0, "fd00:16::16:2: the peer replies");
}

/* What cannot be known is said, and nobody is accused. */
static void test_not_known(void **state)
{
    static const struct {
        IbhSynOutcome outcome;
        const char *part;
    } CASES[] = {
        {IBH_SYN_SILENT, "no answer to a TCP SYN"},
        {IBH_SYN_NO_RIGHT, "CAP_NET_RAW"},
        {IBH_SYN_UNSENT, "this host does not send"},
        {IBH_SYN_ANSWERED, "the kernel tells no hardware addresses"}, /* of IPoIB */
    };

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(CASES); i++) {
        g_auto(World) world = look_well(HOST6, PEERS6);
        g_autofree char *text = NULL;

        pair_at(&world, 1)->syn.outcome = CASES[i].outcome;
        check_verdict(&world, "", 0);
        text = report(&world, ibh_write_text, FALSE);
        assert_non_null(strstr(text, "IPv6: by which NIC the peer replies is not known: ib1 to fd00:16::16:1"));
        assert_non_null(strstr(text, CASES[i].part));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_asked),      cmocka_unit_test(test_segment),   cmocka_unit_test(test_answers),
        cmocka_unit_test(test_what_is_no_answer), cmocka_unit_test(test_other_nic), cmocka_unit_test(test_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
