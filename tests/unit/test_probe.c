/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* "ib0 172.16.34.1>172.16.16.1, …" */
static char *pairs_of(const World *world)
{
    GString *text = g_string_new(NULL);
    char from[IBH_IP_STRLEN], to[IBH_IP_STRLEN];

    for (guint i = 0; i < world->probe->pairs->len; i++) {
        const IbhProbeSource *source = ibh_probe_source(world->probe, pair_at(world, i));

        g_string_append_printf(text, "%s%s %s>%s%s", i ? ", " : "", source->nic->link->name,
                               ibh_ip_format(&source->ip, from),
                               ibh_ip_format(ibh_probe_peer(world->probe, pair_at(world, i)), to),
                               pair_at(world, i)->on_link ? "" : " routed");
    }
    return g_string_free(text, FALSE);
}

static void check_pairs(const char *text, const char *line, const char *expected)
{
    g_auto(World) world = look(text, line);
    g_autofree char *got = pairs_of(&world);

    assert_string_equal(got, expected);
}

/* ---- who is asked, from where -------------------------------------------------------------------------- */

static void test_pairs(void **state)
{
    (void)state;
    check_pairs(HOST, "--probe 172.16.16.1 172.16.16.2",
                "ib0 172.16.34.1>172.16.16.1, ib1 172.16.34.2>172.16.16.1, "
                "ib0 172.16.34.1>172.16.16.2, ib1 172.16.34.2>172.16.16.2");
    check_pairs(HOST, "--probe 172.16.16.1 172.16.16.1 172.16.34.2 172.16.16.1",
                "ib0 172.16.34.1>172.16.16.1, ib1 172.16.34.2>172.16.16.1");
    check_pairs(HOST, "--probe 172.16.16.1 --iface ib1", "ib1 172.16.34.2>172.16.16.1");
    check_pairs(HOST, "--probe 192.168.1.6 --iface eth0", "eth0 192.168.1.5>192.168.1.6");
    check_pairs(HOST6, "--probe fd00:16::16:1", "ib0 fd00:16::34:1>fd00:16::16:1, ib1 fd00:16::34:2>fd00:16::16:1");
    check_pairs(ETH0, "--probe 172.16.16.1", "");
}

/* A peer in some rails' subnet is asked by these; one that is in nobody's, by all, through their gateways. */
static void test_pairs_of_two_subnets(void **state)
{
    static const char TWO[] = HOST "ip address add 10.0.0.2/8 dev ib1\n"
                                   "nic ib2 infiniband rdma mlx5_2/1\nip address add 10.0.0.3/8 dev ib2\n";

    (void)state;
    check_pairs(TWO, "--probe 172.16.16.1", "ib0 172.16.34.1>172.16.16.1, ib1 172.16.34.2>172.16.16.1");
    check_pairs(TWO, "--probe 10.0.0.9", "ib1 10.0.0.2>10.0.0.9, ib2 10.0.0.3>10.0.0.9");
    check_pairs(TWO, "--probe 192.0.2.1",
                "ib0 172.16.34.1>192.0.2.1 routed, ib1 172.16.34.2>192.0.2.1 routed, ib2 10.0.0.3>192.0.2.1 routed");
}

static void test_sources(void **state)
{
    (void)state;
    /* not a VIP, not what is not (yet) ours; of two in the subnet the first */
    check_pairs(HOST "ip address add 172.16.99.1/32 dev ib0\nip address add 172.16.34.11/16 dev ib0\n",
                "--probe 172.16.16.1", "ib0 172.16.34.1>172.16.16.1, ib1 172.16.34.2>172.16.16.1");
    check_pairs(HOST6 "ip address add fd00:17::1/64 dev ib0 tentative\nip address add fd00:17::2/64 dev ib1\n",
                "--probe fd00:17::9", "ib1 fd00:17::2>fd00:17::9");
}

static void test_nobody_to_ask(void **state)
{
    g_auto(World) world = try_look(HOST, "--probe 172.16.34.1 172.16.34.2");

    (void)state;
    assert_null(world.probe);
    assert_non_null(strstr(world.error->message, "this host's own"));
}

static void test_too_much(void **state)
{
    g_autoptr(GString) line = g_string_new("--probe --count 1000");
    g_auto(World) world = {0};

    (void)state;
    for (int i = 0; i < 501; i++)
        g_string_append_printf(line, " 172.16.%d.%d", 40 + i / 200, i % 200 + 1);
    world = try_look(HOST, line->str);
    assert_null(world.probe);
    assert_non_null(strstr(world.error->message, "1002 pairs"));
}

/* ---- echoes -------------------------------------------------------------------------------------------- */

static guint sum_of(const guint8 *bytes, gsize length)
{
    guint sum = 0;

    for (gsize i = 0; i < length; i += 2)
        sum += (guint)(bytes[i] << 8 | bytes[i + 1]);
    return (sum & 0xffff) + (sum >> 16);
}

static void test_packet(void **state)
{
    static const guint8 EXPECTED[] = {8,   0,   0,   0,   0xbe, 0xef, 0,   2,   's', 'i', 'x', 't', 'e', 'e',
                                      'n', ' ', 'l', 'e', 't',  't',  'e', 'r', 's', '.', 0,   0,   0,   3,
                                      0,   0,   0,   2,   0,    0,    0,   0,   0,   0,   0,   0};
    g_auto(World) world = look(HOST6, "--probe 172.16.16.1 172.16.16.2 fd00:16::1");
    guint8 bytes[IBH_PROBE_PACKET];

    (void)state;
    ibh_probe_packet(world.probe, 3, 2, ID, bytes);
    assert_int_equal(sum_of(bytes, sizeof bytes), 0xffff);
    bytes[2] = bytes[3] = 0;
    assert_memory_equal(bytes, EXPECTED, sizeof bytes);
    ibh_probe_packet(world.probe, 4, 0, ID, bytes);
    assert_int_equal(bytes[0], 128);
}

static void test_replies(void **state)
{
    g_auto(World) world = look(HOST, "--probe 172.16.16.1 172.16.16.2");
    guint8 bytes[IBH_PROBE_PACKET];
    IbhProbeReply reply;

    (void)state;
    exchange(&world, 2, 0, 7);
    exchange(&world, 2, 2, 3);
    ibh_probe_sent(world.probe, 2, 1, 1000000);
    reply = reply_to(&world, 2, 2, bytes);
    assert_false(ibh_probe_received(world.probe, &reply, 1000001)); /* once is enough */
    assert_int_equal(pair_at(&world, 2)->sent, 3);
    assert_int_equal(pair_at(&world, 2)->received, 2);
    assert_int_equal(pair_at(&world, 2)->rtt, 3000);
    assert_int_equal(pair_at(&world, 2)->reply_ifindex, 2);
    assert_int_equal(pair_at(&world, 3)->received, 0);
    assert_int_equal(pair_at(&world, 3)->rtt, -1);
    reply = reply_to(&world, 3, 0, bytes); /* never sent */
    assert_false(ibh_probe_received(world.probe, &reply, 1000001));
}

/* Whatever is changed in a reply, it is none; but the checksum, which the kernel has seen. */
static void test_no_replies(void **state)
{
    g_auto(World) world = look(HOST6, "--probe 172.16.16.1 fd00:16::1");

    (void)state;
    for (guint pair = 0; pair < 4; pair++) {
        guint8 good[IBH_PROBE_PACKET], bytes[IBH_PROBE_PACKET + 8] = {0};
        IbhProbeReply right = reply_to(&world, pair, 0, good), reply;

        ibh_probe_sent(world.probe, pair, 0, 0);
        memcpy(bytes, good, sizeof good);
        right.icmp = bytes;
        for (guint bit = 0; bit < 8 * sizeof good; bit++) {
            if (bit / 8 == 2 || bit / 8 == 3)
                continue;
            bytes[bit / 8] ^= (guint8)(1u << bit % 8);
            assert_false(ibh_probe_received(world.probe, &right, 1));
            bytes[bit / 8] ^= (guint8)(1u << bit % 8);
        }
        for (reply = right, reply.length = 0; reply.length < sizeof bytes; reply.length++) {
            if (reply.length != IBH_PROBE_PACKET)
                assert_false(ibh_probe_received(world.probe, &reply, 1));
        }
        for (int end = 0; end < 2; end++) {
            reply = right;
            (end ? &reply.from : &reply.to)->bytes[3] ^= 1;
            assert_false(ibh_probe_received(world.probe, &reply, 1));
        }
        reply = right;
        reply.id = ID + 1;
        assert_false(ibh_probe_received(world.probe, &reply, 1));
        assert_true(ibh_probe_received(world.probe, &right, 1));
    }
}

/* Random bytes in random lengths, some with the right beginning. */
static void test_noise(void **state)
{
    const char *text = g_getenv("IBH_SEED");
    guint32 seed = text ? (guint32)strtoul(text, NULL, 10) : g_random_int();
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    g_auto(World) world = look(HOST, "--probe 172.16.16.1 172.16.16.2");

    (void)state;
    for (int i = 0; i < 20000; i++) {
        gsize length = (gsize)g_rand_int_range(random, 0, IBH_PROBE_PACKET + 9), from;
        g_autofree guint8 *bytes = g_malloc(length + 1); /* as long as that: a sanitizer sees what is read behind */
        guint8 good[IBH_PROBE_PACKET];
        IbhProbeReply reply = reply_to(&world, 0, 0, good);

        from = (gsize)g_rand_int_range(random, 0, IBH_PROBE_PACKET - 8); /* the last bytes are zeros in any reply */
        for (gsize at = 0; at < length; at++)
            bytes[at] = at < from ? good[at] : (guint8)g_rand_int(random);
        bytes = g_realloc(bytes, MAX(length, 1));
        reply.icmp = bytes;
        reply.length = length;
        if (ibh_probe_received(world.probe, &reply, 1))
            fail_msg("IBH_SEED=%u: noise %d was taken for a reply", seed, i);
    }
}

/* ---- the verdict --------------------------------------------------------------------------------------- */

static void test_all_well(void **state)
{
    g_auto(World) world = look_well(HOST6, "--probe 172.16.16.1 172.16.16.2 fd00:16::1 fd00:16::2 192.0.2.1");

    (void)state;
    check_verdict(&world, "", 0);
}

static void test_lost(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    ibh_probe_sent(world.probe, 1, 2, 1);
    check_verdict(&world, "ib1 error probe-lost", 1);
    assert_non_null(strstr(((const IbhFinding *)world.probe->findings->pdata[0])->message,
                           "ib1 to 172.16.16.1: some echoes get lost"));
}

/* What no rail reaches is said once, not once of each rail. */
/* Causes on this host come first; then what ARP, asked anew, tells. */
static void test_why_lost(void **state)
{
    static const struct {
        guint pair;
        gboolean fixed, arp_off;
        guint answers;
        const char *expected, *part;
    } cases[] = {
        {3, FALSE, FALSE, 1, "ib1 error probe-lost", "ib1 to 172.16.16.2: ARP is answered, echoes are not"},
        {3, FALSE, FALSE, 0, "ib1 error probe-lost", "ib1 to 172.16.16.2: nothing answers, not even ARP"},
        {3, TRUE, FALSE, 1, "ib1 warning neighbour-static", "ib1 to 172.16.16.2: a permanent entry"},
        {3, TRUE, FALSE, 0, "ib1 error probe-lost", "nothing answers"},
        {2, FALSE, TRUE, 0, "ib0 warning arp-off", "ib0 to 172.16.16.2: ARP is switched off"},
        {2, TRUE, TRUE, 0, "ib0 error probe-lost", "nothing answers"},
    };

    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(World) world = look_well(HOST, TWO_PEERS);
        IbhProbePair *pair = pair_at(&world, cases[i].pair);
        IbhLink *link = (IbhLink *)(guintptr)ibh_probe_link(world.probe, pair);

        world.probe->hears = TRUE;
        pair->received = 0;
        pair->fixed = cases[i].fixed;
        pair->answers = cases[i].answers;
        pair->answer_len = 6;
        memset(pair->answer[0], 7, 6);
        link->flags |= (guint)(IFF_BROADCAST | (cases[i].arp_off ? IFF_NOARP : 0));
        check_verdict(&world, cases[i].expected, 1);
        check_message(&world, 0, cases[i].part);
    }
}

/* Peers that answer ARP, and peers that answer nothing, are two lines; a rail that is down is no witness. */
static void test_down_in_two_ways(void **state)
{
    g_auto(World) world =
        look_well(IB0 IB1 "nic ib2 infiniband rdma mlx5_2/1 no-carrier\n"
                          "ip address add 172.16.34.1/16 dev ib0\nip address add 172.16.34.2/16 dev ib1\n"
                          "ip address add 172.16.34.3/16 dev ib2\n",
                  TWO_PEERS);

    (void)state;
    world.probe->hears = TRUE;
    for (guint i = 0; i < 6; i++)
        pair_at(&world, i)->received = 0;
    pair_at(&world, 4)->answers = 1;
    pair_at(&world, 3)->answers = 1;
    check_verdict(&world, "ib2 error carrier-down, error peer-down, error peer-down", 6);
    check_message(&world, 0, "which explains what 2 pairs lost");
    check_message(&world, 1, "172.16.16.1 to every rail: nothing answers");
    check_message(&world, 2, "172.16.16.2 to every rail: ARP is answered, echoes are not");
}

/* A rail that nobody was asked from is no success. */
static void test_idle_rail(void **state)
{
    g_auto(World) world = look_well(HOST "nic ib2 infiniband rdma mlx5_2/1\nip address add 172.17.0.2/16 dev ib2\n"
                                         "nic ib3 infiniband rdma mlx5_3/1\nip address add 172.17.0.3/16 dev ib3\n",
                                    TWO_PEERS);
    g_autofree char *text = NULL;

    (void)state;
    check_verdict(&world, "ib2 warning no-source, ib3 warning no-source", 0);
    check_message(&world, 0, "so nothing is known of it: no common subnet");
    g_clear_pointer(&world.probe->findings, g_ptr_array_unref);
    text = report(&world, ibh_write_text, FALSE);
    assert_non_null(strstr(text, "\nib2    172.16.16.1  0/0      -     not asked: no common subnet\n"));
}

static void test_down(void **state)
{
    g_auto(World) world = look_well(HOST, "--probe 172.16.16.1 172.16.16.2 172.16.16.3");

    (void)state;
    pair_at(&world, 2)->received = pair_at(&world, 3)->received = 0;
    pair_at(&world, 5)->received = 0;
    check_verdict(&world, "error peer-down, ib1 error probe-lost", 3);
    assert_non_null(
        strstr(((const IbhFinding *)world.probe->findings->pdata[0])->message, "172.16.16.2 to every rail: no reply"));
    assert_non_null(
        strstr(((const IbhFinding *)world.probe->findings->pdata[1])->message, "ib1 to 172.16.16.3: no reply"));
}

/* "--probe 172.16.16.1 172.16.16.2 …" */
static char *probe_many(guint peers)
{
    GString *line = g_string_new("--probe");

    for (guint i = 0; i < peers; i++)
        g_string_append_printf(line, " 172.16.%u.%u", 16 + i / 250, 1 + i % 250);
    return g_string_free(line, FALSE);
}

static void test_many_down(void **state)
{
    g_autofree char *line = probe_many(10);
    g_auto(World) world = look_well(HOST, line);

    (void)state;
    for (guint i = 0; i < 18; i++)
        pair_at(&world, i)->received = 0;
    check_verdict(&world, "error peer-down", 18);
    check_message(&world, 0, "172.16.16.1-.9 to every rail: no reply");
}

static void test_unsent(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    pair_at(&world, 3)->send_error = ENETUNREACH;
    check_verdict(&world, "ib1 error probe-not-sent", 1);
}

static void test_dropped(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS " --count 4");

    (void)state;
    ibh_probe_sent(world.probe, 1, 3, 1);
    (void)pass_by(&world, 2, echo_frame(&world, 1, 3, IN), IN);
    check_verdict(&world, "ib1 error reply-dropped", 1);
    assert_int_equal(pair_at(&world, 1)->reply_ifindex, 2);
}

static void test_reply_by_other_nic(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS " --count 5");
    guint8 bytes[IBH_PROBE_PACKET];
    IbhProbeReply reply = reply_to(&world, 1, 3, bytes);

    (void)state;
    ibh_probe_sent(world.probe, 1, 3, 1);
    reply.ifindex = 9;
    assert_true(ibh_probe_received(world.probe, &reply, 2));
    exchange(&world, 1, 4, 1); /* one that went right afterwards does not make up for it */
    check_verdict(&world, "ib1 error reply-other-nic", 1);
    assert_int_equal(pair_at(&world, 1)->reply_ifindex, 9);
}

static void test_route(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    pair_at(&world, 1)->route.oif = 2;
    pair_at(&world, 2)->route.error = EHOSTUNREACH;
    check_verdict(&world, "ib1 error routed-other-nic, ib0 error routed-other-nic", 2);
}

static void test_flux_of_one_lladdr(void **state)
{
    g_auto(World) world = look_well(HOST, "--probe 172.16.16.1 172.16.16.2 172.16.16.3");

    (void)state;
    memcpy(pair_at(&world, 5)->lladdr, pair_at(&world, 1)->lladdr, 6); /* .3 and .1 by ib1; .2 lies in between */
    check_verdict(&world, "warning peer-flux", 2);
    assert_int_equal(pair_at(&world, 3)->faults, 0);
}

/* One hardware address of several IPv6 addresses, or by several rails, or through a gateway: as it should be. */
static void test_no_flux(void **state)
{
    g_auto(World) world = look_well(HOST6, "--probe fd00:16::1 fd00:16::2 192.0.2.1 192.0.2.2");

    (void)state;
    for (guint i = 1; i < world.probe->pairs->len; i++)
        memcpy(pair_at(&world, i)->lladdr, pair_at(&world, 0)->lladdr, 6);
    check_verdict(&world, "", 0);
}

static void answer_arp(World *world, int ifindex, const char *from, const char *to, guint8 last)
{
    IbhArpReply reply = {.lladdr = {MAC(last)}, .lladdr_len = 6};

    assert_true(ibh_ip_parse(from, &reply.from) && ibh_ip_parse(to, &reply.to));
    ibh_probe_answered(world->probe, ifindex, &reply);
}

static void test_flux_of_two_answers(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    answer_arp(&world, 2, "172.16.16.1", "172.16.34.1", 16);
    answer_arp(&world, 2, "172.16.16.1", "172.16.34.1", 16);
    answer_arp(&world, 2, "172.16.16.2", "172.16.34.1", 17);
    answer_arp(&world, 3, "172.16.16.2", "172.16.34.2", 17);
    answer_arp(&world, 3, "172.16.16.2", "172.16.34.1", 99); /* to another address, */
    answer_arp(&world, 9, "172.16.16.2", "172.16.34.2", 99); /* by another NIC, */
    answer_arp(&world, 3, "172.16.16.7", "172.16.34.2", 99); /* from somebody else */
    check_verdict(&world, "", 0);
    g_clear_pointer(&world.probe->findings, g_ptr_array_unref);
    answer_arp(&world, 3, "172.16.16.2", "172.16.34.2", 18);
    answer_arp(&world, 3, "172.16.16.2", "172.16.34.2", 19);
    check_verdict(&world, "warning peer-flux", 1);
}

/* Who answers for our own addresses: to nobody, a host that has it; to another rail, a proxy, too. */
static void test_strangers(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    answer_arp(&world, 2, "172.16.34.1", "0.0.0.0", 3);      /* our own other NIC, */
    answer_arp(&world, 3, "172.16.34.1", "0.0.0.0", 99);     /* where nobody asked, */
    answer_arp(&world, 2, "172.16.34.1", "172.16.34.2", 99); /* the same, */
    answer_arp(&world, 3, "172.16.34.1", "172.16.34.1", 99); /* an announcement, by another NIC */
    check_verdict(&world, "", 0);
    g_clear_pointer(&world.probe->findings, g_ptr_array_unref);
    answer_arp(&world, 3, "172.16.34.1", "172.16.34.2", 99);
    answer_arp(&world, 2, "172.16.34.1", "0.0.0.0", 99);
    answer_arp(&world, 2, "172.16.34.1", "0.0.0.0", 99);
    answer_arp(&world, 2, "172.16.34.2", "172.16.34.1", 98);
    check_verdict(&world, "ib0 error duplicate-address, ib1 warning proxy-arp", 0);
    check_message(&world, 0, "another host has 172.16.34.1, too: 02:00:00:00:00:63 answers ARP for it");
    check_message(&world, 1, "02:00:00:00:00:62 answers ARP for 172.16.34.2, which is this host's: a proxy");
    for (int i = 0; i < 300; i++)
        answer_arp(&world, 2, "172.16.34.1", "0.0.0.0", (guint8)(i % 256));
    assert_int_equal(world.probe->strangers->len, 64);
}

/* Of 20 bytes, and of 6 that begin with the same: two NICs. */
static void test_no_flux_of_two_lengths(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    memcpy(pair_at(&world, 2)->lladdr, pair_at(&world, 0)->lladdr, 6);
    pair_at(&world, 2)->lladdr_len = 20;
    check_verdict(&world, "", 0);
}

static void test_peer_replies_by_another_nic(void **state)
{
    static const guint8 OTHER[] = {MAC(77)}, OWN[] = {MAC(17)};
    g_auto(World) world = look_well(HOST, TWO_PEERS " 192.0.2.1 --count 5");
    guint8 bytes[IBH_PROBE_PACKET];
    IbhProbeReply reply;

    (void)state;
    for (guint pair = 2; pair < 5; pair++) { /* .2 by ib0; .2 by ib1, rightly; and what comes from a gateway */
        Frame frame = echo_frame(&world, pair, 3, IN);

        frame.sender = pair == 3 ? OWN : OTHER;
        ibh_probe_sent(world.probe, pair, 3, 1);
        (void)pass(&world, pair, frame, IN);
        reply = reply_to(&world, pair, 3, bytes);
        assert_true(ibh_probe_received(world.probe, &reply, 2));
    }
    check_verdict(&world, "warning peer-replies-other-nic", 1);
    assert_true(pair_at(&world, 2)->faults);
}

static void test_carrier(void **state)
{
    g_auto(World) world =
        look_well(IB0 "nic ib1 infiniband rdma mlx5_1/1 no-carrier\nip address add 172.16.34.1/16 dev ib0\n"
                      "ip address add 172.16.34.2/16 dev ib1\n",
                  TWO_PEERS);

    (void)state;
    check_verdict(&world, "ib1 error carrier-down", 0);
    g_clear_pointer(&world.probe->findings, g_ptr_array_unref);
    for (guint i = 1; i < 4; i += 2) { /* what follows from it is not told */
        pair_at(&world, i)->sent = pair_at(&world, i)->received = 0;
        pair_at(&world, i)->send_error = ENETUNREACH;
        pair_at(&world, i)->route.oif = 2;
    }
    check_verdict(&world, "ib1 error carrier-down", 2);
}

/* Replies went to the other host. */
static void test_lost_to_a_double(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    answer_arp(&world, 3, "172.16.34.2", "0.0.0.0", 99);
    pair_at(&world, 1)->received = pair_at(&world, 3)->received = 0;
    check_verdict(&world, "ib1 error duplicate-address", 2);
}

static void test_unasked(void **state)
{
    g_auto(World) world = look_well(HOST, "--probe 172.16.16.1 fd00:16::1 fd00:16::2");

    (void)state;
    check_verdict(&world, "error no-source", 0);
    assert_non_null(strstr(((const IbhFinding *)world.probe->findings->pdata[0])->message,
                           "2 of 3 peers were not asked, fd00:16::1 is the first"));
}

/* Each rail reaches a peer that no other one reaches. */
static void test_separate_wires(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    for (guint i = 0; i < 4; i += 3) {
        pair_at(&world, i)->received = 0;
        pair_at(&world, i)->lladdr_len = 0;
    }
    check_verdict(&world, "error probe-lost, warning separate-wires", 2);
    assert_non_null(strstr(((const IbhFinding *)world.probe->findings->pdata[1])->message,
                           "ib0 reaches 172.16.16.2; ib1 reaches 172.16.16.1"));
    g_clear_pointer(&world.probe->findings, g_ptr_array_unref);
    pair_at(&world, 1)->received = 0; /* a rail that reaches nobody is dead, not apart */
    pair_at(&world, 1)->faults = pair_at(&world, 0)->faults = pair_at(&world, 3)->faults = 0;
    check_verdict(&world, "error peer-down, ib1 error probe-lost", 3);
}

static void test_separate_wires_of_many(void **state)
{
    g_autofree char *line = probe_many(20);
    g_auto(World) world = look_well(HOST, line);

    (void)state;
    for (guint i = 0; i < 40; i++) { /* ib0 reaches the first two peers, ib1 the others */
        if ((i % 2 == 0) == (i / 2 < 2))
            continue;
        pair_at(&world, i)->received = 0;
        pair_at(&world, i)->lladdr_len = 0;
    }
    check_verdict(&world, "error probe-lost, warning separate-wires", 20);
    check_message(&world, 1, "ib0 reaches 172.16.16.1-.2; ib1 reaches 172.16.16.3-.20");
}

static void test_small_table_of_many(void **state)
{
    g_autofree char *line = probe_many(257);
    g_auto(World) world = look_well(HOST, line);

    (void)state;
    world.probe->table_size[0] = 513;
    check_verdict(&world, "warning neighbour-table-small", 0);
    assert_non_null(
        strstr(((const IbhFinding *)world.probe->findings->pdata[0])->fix, "net.ipv4.neigh.default.gc_thresh3=2048"));
}

static void test_small_table(void **state)
{
    g_auto(World) world = look_well(HOST6, "--probe 172.16.16.1 172.16.16.2 fd00:16::1 192.0.2.1");

    (void)state;
    world.probe->table_size[0] = 4; /* just enough: what is behind a gateway does not count */
    world.probe->table_size[1] = 1;
    check_verdict(&world, "warning neighbour-table-small", 0);
    assert_non_null(
        strstr(((const IbhFinding *)world.probe->findings->pdata[0])->fix, "net.ipv6.neigh.default.gc_thresh3=1024"));
}

/* Full: that is this host's cause, and no pair's. */
static void test_full_table(void **state)
{
    g_auto(World) world = look_well(HOST6, "--probe 172.16.16.1 172.16.16.2 fd00:16::1");

    (void)state;
    world.probe->table_size[0] = world.probe->table_size[1] = 1024;
    for (guint i = 2; i < 6; i++) {
        pair_at(&world, i)->sent = pair_at(&world, i)->received = 0;
        pair_at(&world, i)->send_error = i < 4 ? ENOBUFS : EINVAL;
    }
    world.probe->was_full[0] = world.probe->was_full[1] = TRUE;
    check_verdict(&world, "error neighbour-table-small, error neighbour-table-small", 4);
    check_message(&world, 0, "echoes of 2 pairs were not sent, which is no fault of these peers");
}

/* A queue that is full is not the table. */
static void test_full_queue(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    pair_at(&world, 0)->sent = pair_at(&world, 0)->received = 0;
    pair_at(&world, 0)->send_error = ENOBUFS;
    check_verdict(&world, "ib0 error probe-not-sent", 1);
}

/* ---- reports ------------------------------------------------------------------------------------------- */

static void test_text(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);
    g_autofree char *text = NULL;

    (void)state;
    pair_at(&world, 3)->route.oif = 2;
    text = report(&world, ibh_write_text, FALSE);
    assert_true(g_str_has_prefix(text, "IFACE  PEER         REPLIES  MS    STATE\n"
                                       "ib0    172.16.16.1  3/3      1.00  ok\n"));
    assert_non_null(strstr(text, "\nib1    172.16.16.2  3/3      1.00  routed-other-nic\n"));
    assert_non_null(
        strstr(text, "\nib1: error routed-other-nic: ib1 to 172.16.16.2: the echo was sent by this NIC, but"));
}

static void test_text_of_nothing(void **state)
{
    g_auto(World) world = look(ETH0, "--probe 192.168.1.6");
    g_autofree char *text = report(&world, ibh_write_text, FALSE);

    (void)state;
    assert_non_null(strstr(text, "no rails: no two RDMA NICs share a subnet here"));
}

/* What else a cell can say, and who is not asked. */
static void test_text_of_faults(void **state)
{
    static const guint8 OTHER[] = {MAC(77)};
    g_auto(World) world = look_well(HOST6, "--probe 172.16.16.1 172.16.16.2 172.16.34.2 fd00:16::16:1 --count 4");
    guint8 bytes[IBH_PROBE_PACKET];
    IbhProbeReply reply = reply_to(&world, 1, 3, bytes);
    g_autofree char *text = NULL;
    Frame frame;

    (void)state;
    pair_at(&world, 0)->send_error = ENETUNREACH;
    ibh_probe_sent(world.probe, 1, 3, 1);
    reply.ifindex = 9;
    assert_true(ibh_probe_received(world.probe, &reply, 2));
    ibh_probe_sent(world.probe, 2, 3, 1);
    frame = echo_frame(&world, 2, 3, IN);
    frame.sender = OTHER;
    (void)pass(&world, 2, frame, IN);
    reply = reply_to(&world, 2, 3, bytes);
    assert_true(ibh_probe_received(world.probe, &reply, 2));
    text = report(&world, ibh_write_text, FALSE);
    assert_non_null(strstr(text, "\nib1    172.16.16.1    4/4      0.00  reply-other-nic\n"));
    assert_non_null(strstr(text, "\nleft out, as addresses of this host: 172.16.34.2\n"));
}

static guint count_lines(const char *text)
{
    guint n = 0;

    for (; *text; text++)
        n += *text == '\n' ? 1 : 0;
    return n;
}

/* 8 rails, 8 peers, one fault of any side: a report of one screen, with one finding. */
static void test_one_fault_fits_a_screen(void **state)
{
    static const char *const expected[] = {"warning peer-flux: 172.16.16.1-.8: ",
                                           "ib3: error probe-lost: ib3 to 172.16.16.1-.8: ",
                                           "error peer-down: 172.16.16.6 to every rail: ",
                                           "ib2: error probe-lost: ib2 to 172.16.16.5: ",
                                           "ib4: error routed-other-nic: ib4 to 172.16.16.1-.8: ",
                                           "error carrier-down: the link has no carrier",
                                           "warning proxy-arp: "};

    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
        g_autoptr(GString) host = g_string_new(NULL), line = g_string_new("--probe");
        g_autofree char *text = NULL;
        g_auto(World) world = {0};

        for (int n = 0; n < 8; n++) {
            g_string_append_printf(host, "nic ib%d infiniband rdma mlx5_%d/1\n", n, n);
            g_string_append_printf(host, "ip address add 172.16.34.%d/16 dev ib%d\n", n + 1, n);
            g_string_append_printf(line, " 172.16.16.%d", n + 1);
        }
        world = look_well(host->str, line->str);
        for (guint n = 0; n < world.probe->pairs->len; n++) {
            IbhProbePair *pair = pair_at(&world, n);

            if (i == 0)
                memcpy(pair->lladdr, pair_at(&world, pair->source)->lladdr, 6);
            if ((i == 1 && pair->source == 3) || (i == 2 && pair->peer == 5) || (i == 3 && n == 34))
                pair->received = 0;
            if (i == 4 && pair->source == 4)
                pair->route.oif = pair_at(&world, 0)->route.oif;
        }
        for (guint n = 0; i >= 5 && n < world.probe->nics->len; n++) {
            const IbhNic *nic = g_ptr_array_index(world.probe->nics, n);
            const IbhProbeStranger proxy = {.source = n, .lladdr = {MAC(99)}, .lladdr_len = 6, .proxy = TRUE};

            if (i == 5)
                ((IbhLink *)(guintptr)nic->link)->carrier = FALSE;
            else
                g_array_append_val(world.probe->strangers, proxy);
        }
        for (guint n = 0; i == 5 && n < world.probe->pairs->len; n++)
            pair_at(&world, n)->received = 0;
        text = report(&world, ibh_write_text, FALSE);
        if (!strstr(text, expected[i]))
            fail_msg("“%s” is not in: %s", expected[i], text);
        assert_int_equal(world.probe->findings->len, 1);
        assert_in_range(count_lines(text), 10, 24);
    }
}

/* Of hundreds, a line for each rail. */
static void test_text_of_hundreds(void **state)
{
    g_autoptr(GString) line = g_string_new("--probe");
    g_autofree char *text = NULL, *quiet = NULL;
    g_auto(World) world = {0};

    (void)state;
    for (int i = 0; i < 200; i++)
        g_string_append_printf(line, " 172.16.16.%d", i + 1);
    world = look_well(HOST, line->str);
    pair_at(&world, 21)->received = 2;
    text = report(&world, ibh_write_text, FALSE);
    assert_true(g_str_has_prefix(text, "ib0: 200 of 200 peers ok, 600 of 600 replies\n"
                                       "ib1: 199 of 200 peers ok, 599 of 600 replies\n\n"
                                       "ib1: error probe-lost"));
    g_clear_pointer(&world.probe->findings, g_ptr_array_unref);
    quiet = report(&world, ibh_write_text, TRUE);
    assert_true(g_str_has_prefix(quiet, "ib1: error probe-lost"));
}

static void test_prometheus(void **state)
{
    g_auto(World) world = look_well(HOST, "--probe 172.16.16.1 172.16.16.2 --rdma");
    g_autofree char *text = NULL;

    (void)state;
    pair_at(&world, 1)->received = 0;
    pair_at(&world, 1)->rtt = -1;
    pair_at(&world, 2)->mtu.passed = 9000;
    for (guint i = 0; i < 4; i++)
        pair_at(&world, i)->rdma.outcome = i ? IBH_RDMA_ANSWERED : IBH_RDMA_NO_ECHO;
    text = report(&world, ibh_write_prometheus, FALSE);
    assert_true(
        g_str_has_prefix(text, "# HELP ib_hook_probe_all_ok Whether nothing is wrong between this host and the peers.\n"
                               "# TYPE ib_hook_probe_all_ok gauge\nib_hook_probe_all_ok 0\n"));
    assert_non_null(strstr(text, "\nib_hook_probe_ok{device=\"ib1\",peer=\"172.16.16.1\",source=\"172.16.34.2\"} 0\n"
                                 "ib_hook_probe_ok{device=\"ib0\",peer=\"172.16.16.2\",source=\"172.16.34.1\"} 1\n"));
    assert_non_null(
        strstr(text, "ib_hook_probe_rtt_seconds{device=\"ib0\",peer=\"172.16.16.1\",source=\"172.16.34.1\"} 0.001\n"
                     "ib_hook_probe_rtt_seconds{device=\"ib0\",peer=\"172.16.16.2\""));
    assert_non_null(strstr(
        text, "\nib_hook_probe_path_mtu_bytes{device=\"ib0\",peer=\"172.16.16.2\",source=\"172.16.34.1\"} 9000\n#"));
    assert_non_null(
        strstr(text, "\nib_hook_probe_rdma_answered{device=\"ib0\",peer=\"172.16.16.1\",source=\"172.16.34.1\"} 0\n"));
    assert_non_null(
        strstr(text, "\nib_hook_probe_findings{code=\"probe-lost\",device=\"ib1\",severity=\"error\"} 1\n"));
}

static void test_json(void **state)
{
    g_auto(World) world = look_well(HOST, "--probe 172.16.16.1 172.16.34.2 --iface ib0");
    g_autofree char *text = NULL;

    (void)state;
    text = report(&world, ibh_write_json, FALSE);
    assert_string_equal(
        text, "{\"ok\":true,\"pairs\":[{\"iface\":\"ib0\",\"source\":\"172.16.34.1\",\"peer\":\"172.16.16.1\","
              "\"sent\":3,\"received\":3,\"rtt_ms\":1.000,\"route_iface\":\"ib0\",\"reply_iface\":\"ib0\","
              "\"peer_lladdr\":\"02:00:00:00:00:10\",\"reply_lladdr\":null,\"arp\":[],\"path_mtu\":null,\"tcp\":null,"
              "\"tcp_why\":null,"
              "\"tcp_lladdr\":null,\"rdma\":null,"
              "\"rdma_why\":null,"
              "\"problems\":[],\"ok\":true}],"
              "\"own\":[\"172.16.34.2\"],\"findings\":[]}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_pairs_of_two_subnets),
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_nobody_to_ask),
        cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_packet),
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_no_replies),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_all_well),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_why_lost),
        cmocka_unit_test(test_down_in_two_ways),
        cmocka_unit_test(test_idle_rail),
        cmocka_unit_test(test_down),
        cmocka_unit_test(test_many_down),
        cmocka_unit_test(test_unsent),
        cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_reply_by_other_nic),
        cmocka_unit_test(test_route),
        cmocka_unit_test(test_flux_of_one_lladdr),
        cmocka_unit_test(test_no_flux),
        cmocka_unit_test(test_flux_of_two_answers),
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_lost_to_a_double),
        cmocka_unit_test(test_no_flux_of_two_lengths),
        cmocka_unit_test(test_peer_replies_by_another_nic),
        cmocka_unit_test(test_carrier),
        cmocka_unit_test(test_unasked),
        cmocka_unit_test(test_separate_wires),
        cmocka_unit_test(test_separate_wires_of_many),
        cmocka_unit_test(test_small_table),
        cmocka_unit_test(test_full_table),
        cmocka_unit_test(test_full_queue),
        cmocka_unit_test(test_small_table_of_many),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_of_faults),
        cmocka_unit_test(test_text_of_nothing),

        cmocka_unit_test(test_one_fault_fits_a_screen),
        cmocka_unit_test(test_text_of_hundreds),
        cmocka_unit_test(test_prometheus),
        cmocka_unit_test(test_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
