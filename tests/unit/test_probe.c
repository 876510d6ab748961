/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* "ib0 172.16.34.1>172.16.16.1, …" */
static char *pairs_of(const World *world)
{
    GString *text = g_string_new(NULL);
    char from[IBH_IP_STRLEN], to[IBH_IP_STRLEN];

    for (guint i = 0; i < world->probe->pairs->len; i++) {
        const IbhProbeSource *source = ibh_probe_source(pair_at(world, i));

        g_string_append_printf(text, "%s%s %s>%s%s", i ? ", " : "", source->nic->link->name,
                               ibh_ip_format(&source->ip, from), ibh_ip_format(ibh_probe_peer(pair_at(world, i)), to),
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
    static const char TWO[] = HOST "ip address add 10.0.0.2/8 dev ib1\n"
                                   "nic ib2 infiniband rdma mlx5_2/1\nip address add 10.0.0.3/8 dev ib2\n";

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
    /* a peer in some rails' subnet is asked by these; one that is in nobody's, by all, through their gateways */
    check_pairs(TWO, "--probe 10.0.0.9", "ib1 10.0.0.2>10.0.0.9, ib2 10.0.0.3>10.0.0.9");
    check_pairs(TWO, "--probe 192.0.2.1",
                "ib0 172.16.34.1>192.0.2.1 routed, ib1 172.16.34.2>192.0.2.1 routed, ib2 10.0.0.3>192.0.2.1 routed");
    /* not a VIP, not what is not (yet) ours; of two in the subnet the first */
    check_pairs(HOST "ip address add 172.16.99.1/32 dev ib0\nip address add 172.16.34.11/16 dev ib0\n",
                "--probe 172.16.16.1", "ib0 172.16.34.1>172.16.16.1, ib1 172.16.34.2>172.16.16.1");
    check_pairs(HOST6 "ip address add fd00:17::1/64 dev ib0 tentative\nip address add fd00:17::2/64 dev ib1\n",
                "--probe fd00:17::9", "ib1 fd00:17::2>fd00:17::9");
}

/* Who else has an address on lo is asked only where this host answers for it: with two rails, a third source. */
static void test_addresses_on_lo(void **state)
{
    static const struct {
        const char *more, *line;
        guint sources;
    } cases[] = {
        {"ip address add 172.16.99.9/32 dev lo\n", "--probe 172.16.16.1 172.16.99.9", 3},
        {"ip address add 172.16.99.9/32 dev lo\nsysctl -w net/ipv4/conf/all/arp_ignore=1\n",
         "--probe 172.16.16.1 172.16.99.9", 2},
        {"ip address add fd00:16::99:9/128 dev lo\n", "--probe fd00:16::1 fd00:16::99:9", 2},
        {"ip address add fd00:16::99:9/128 dev ib1\n", "--probe fd00:16::1 fd00:16::99:9", 3},
    };

    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *host = g_strconcat(HOST6, cases[i].more, NULL);
        g_auto(World) world = look(host, cases[i].line);

        assert_int_equal(world.probe->own->len, 1);
        assert_int_equal(world.probe->sources->len, cases[i].sources);
    }
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
    static const guint8 EXPECTED[] = {8,   0,   0,   0,   's', 'i', 'x', 't' + 2, 0xde, 0xad, 0xbe, 0xef, 'e', 'e',
                                      'n', ' ', 'l', 'e', 't', 't', 'e', 'r',     's',  3,    0,    0,    0,   3,
                                      0,   0,   0,   2,   0,   0,   0,   0,       0,    0,    0,    0};
    g_auto(World) world = look(HOST6, "--probe 172.16.16.1 172.16.16.2 fd00:16::1");
    guint8 bytes[IBH_PROBE_PACKET];

    (void)state;
    ibh_probe_write_echo(pair_at(&world, 3), 2, bytes);
    assert_int_equal(sum_of(bytes, sizeof bytes), 0xffff);
    bytes[2] = bytes[3] = 0;
    assert_memory_equal(bytes, EXPECTED, sizeof bytes);
    ibh_probe_write_echo(pair_at(&world, 4), 0, bytes);
    assert_int_equal(bytes[0], 128);
}

static void test_replies(void **state)
{
    g_auto(World) world = look(HOST, "--probe 172.16.16.1 172.16.16.2");
    guint8 bytes[IBH_PROBE_PACKET];
    IbhPacket reply;

    (void)state;
    exchange(&world, 2, 0, 7);
    exchange(&world, 2, 2, 3);
    ibh_probe_note_sent(pair_at(&world, 2), 1, 1000000);
    reply = reply_to(&world, 2, 2, bytes);
    assert_false(ibh_probe_take_reply(world.probe, &reply, 1000001)); /* once is enough */
    assert_int_equal(pair_at(&world, 2)->sent, 3);
    assert_int_equal(pair_at(&world, 2)->received, 2);
    assert_int_equal(pair_at(&world, 2)->rtt, 3000);
    assert_int_equal(pair_at(&world, 3)->received, 0);
    assert_int_equal(pair_at(&world, 3)->rtt, -1);
    reply = reply_to(&world, 3, 0, bytes); /* never sent */
    assert_false(ibh_probe_take_reply(world.probe, &reply, 1000001));
}

/* Whatever is changed in a reply, it is none; but the checksum, which the kernel has seen. */
static void test_no_replies(void **state)
{
    g_auto(World) world = look(HOST6, "--probe 172.16.16.1 fd00:16::1");

    (void)state;
    for (guint pair = 0; pair < 4; pair++) {
        guint8 good[IBH_PROBE_PACKET], bytes[IBH_PROBE_PACKET + 8] = {0};
        IbhPacket right = reply_to(&world, pair, 0, good), reply;

        ibh_probe_note_sent(pair_at(&world, pair), 0, 1);
        memcpy(bytes, good, sizeof good);
        right.icmp = bytes;
        for (guint bit = 0; bit < 8 * sizeof good; bit++) {
            if (bit / 8 == 2 || bit / 8 == 3)
                continue;
            bytes[bit / 8] ^= (guint8)(1u << bit % 8);
            assert_false(ibh_probe_take_reply(world.probe, &right, 1));
            bytes[bit / 8] ^= (guint8)(1u << bit % 8);
        }
        for (reply = right, reply.length = 0; reply.length < sizeof bytes; reply.length++) {
            if (reply.length != IBH_PROBE_PACKET)
                assert_false(ibh_probe_take_reply(world.probe, &reply, 1));
        }
        for (int end = 0; end < 2; end++) {
            reply = right;
            (end ? &reply.from : &reply.to)->bytes[3] ^= 1;
            assert_false(ibh_probe_take_reply(world.probe, &reply, 1));
        }
        assert_true(ibh_probe_take_reply(world.probe, &right, 1));
    }
}

/* ---- the verdict --------------------------------------------------------------------------------------- */

#define THREE_PEERS TWO_PEERS " 172.16.16.3"
#define FOUR_PEERS THREE_PEERS " 172.16.16.4"
#define MIXED_PEERS TWO_PEERS " fd00:16::1"
#define DOWN                                                                                                           \
    IB0 IB1 "nic ib2 infiniband rdma mlx5_2/1 no-carrier\n"                                                            \
            "ip address add 172.16.34.1/16 dev ib0\nip address add 172.16.34.2/16 dev ib1\n"                           \
            "ip address add 172.16.34.3/16 dev ib2\n"
#define LOST_TO "ib1 error probe-lost"
#define NOT_SENT "ib1 error probe-not-sent"
#define NO_RDMA "ib1 error rdma-unreachable"

/* What becomes of some pairs, where else all is well. */
typedef enum {
    SOME = 1,
    LOST = 2,
    UNSENT = 4,
    ARP = 8,    /* is answered */
    FIXED = 16, /* an entry with another hardware address */
    ARP_OFF = 32,
    HEARS = 64,
    FULL = 128, /* the neighbour table */
    OTHER_NIC = 512,
    NO_ROUTE = 1024,
    SAME_MAC = 2048,  /* as the pair's before */
    ENTRY = 4096,     /* one that expires, and was there before, with another hardware address */
    FROM_ENTRY = 8192 /* replies come from that hardware address */
} Change;

static const struct {
    const char *host, *line;
    guint pairs; /* bits */
    guint change;
    int error; /* of sending, or of RDMA */
    IbhCause rdma;
    guint bad;
    const char *expected, *part; /* of the first finding */
} verdicts[] = {
    {HOST6, MIXED_PEERS " fd00:16::2 192.0.2.1", 0, 0, 0, 0, 0, "", NULL},
    {HOST, TWO_PEERS, 2, SOME, 0, 0, 1, LOST_TO, "ib1 to 172.16.16.1: some echoes get lost"},
    /* causes on this host come first; then what ARP, asked anew, tells */
    {HOST, TWO_PEERS, 8, LOST | HEARS | ARP, 0, 0, 1, LOST_TO, "ib1 to 172.16.16.2: ARP is answered, echoes are not"},
    {HOST, TWO_PEERS, 8, LOST | HEARS, 0, 0, 1, LOST_TO, "ib1 to 172.16.16.2: nothing answers, not even ARP"},
    {HOST, TWO_PEERS, 8, LOST | HEARS | ARP | FIXED, 0, 0, 1, "ib1 warning neighbour-static", "a permanent entry"},
    {HOST, TWO_PEERS, 8, LOST | HEARS | FIXED, 0, 0, 1, LOST_TO, "nothing answers"},
    /* an entry is not wrong if replies come from its hardware address, though only a proxy answers ARP */
    {HOST, TWO_PEERS, 8, HEARS | FIXED, 0, 0, 1, "ib1 warning neighbour-static", "a permanent entry"},
    {HOST, TWO_PEERS, 8, HEARS | FIXED | FROM_ENTRY, 0, 0, 0, "", NULL},
    {HOST, TWO_PEERS, 8, HEARS | ENTRY, 0, 0, 1, "ib1 warning neighbour-wrong", "table had 02:00:00:00:00:07"},
    {HOST, TWO_PEERS, 8, HEARS | ENTRY | FROM_ENTRY, 0, 0, 0, "", NULL},
    {HOST, TWO_PEERS, 8, SOME | FIXED | FROM_ENTRY, 0, 0, 1, LOST_TO, "some echoes get lost"},
    {HOST, TWO_PEERS, 4, LOST | HEARS | ARP_OFF, 0, 0, 1, "ib0 warning arp-off",
     "ib0 to 172.16.16.2: ARP is switched off"},
    {HOST, TWO_PEERS, 4, LOST | HEARS | ARP_OFF | FIXED, 0, 0, 1, "ib0 error probe-lost", "nothing answers"},
    /* what no rail reaches is said once, not once of each rail; a rail that is down is no witness */
    {HOST, THREE_PEERS, 12, LOST, 0, 0, 2, "error peer-down", "172.16.16.2 to every rail: no reply"},
    {HOST, THREE_PEERS, 44, LOST, 0, 0, 3, "error peer-down, ib1 error probe-lost",
     "172.16.16.2 to every rail: no reply"},
    {HOST, FOUR_PEERS, 63, LOST, 0, 0, 6, "error peer-down", "172.16.16.1-.3 to every rail: no reply"},
    {DOWN, TWO_PEERS, 63, LOST, 0, 0, 6, "ib2 error carrier-down, error peer-down",
     "ib2 to 172.16.16.1-.2: the link has no"},
    {HOST, TWO_PEERS, 8, UNSENT, ENETUNREACH, 0, 1, NOT_SENT,
     "a route look-up finds this NIC, but packets are refused"},
    {HOST, TWO_PEERS, 8, UNSENT | NO_ROUTE, ENETUNREACH, 0, 1, NOT_SENT ", ib1 error routed-other-nic",
     "no way there through this NIC: no route"},
    {HOST, TWO_PEERS, 8, UNSENT, EPERM, 0, 1, NOT_SENT,
     "(Operation not permitted); what can drop packets on the way out: nft"},
    {HOST, TWO_PEERS, 8, UNSENT, ENOBUFS, 0, 1, NOT_SENT, "what can drop packets on the way out"}, /* not the table */
    {HOST, TWO_PEERS, 8, UNSENT | FULL, ENOBUFS, 0, 1, "ib1 error neighbour-table-small",
     "table of neighbours is full"},
    {HOST6, MIXED_PEERS, 48, UNSENT | FULL, EINVAL, 0, 2, "ib0 error neighbour-table-small", "ib0, ib1 to fd00:16::1"},
    {HOST, TWO_PEERS, 2, OTHER_NIC, 0, 0, 1, "ib1 error routed-other-nic", "own traffic leaves through eth0"},
    {HOST, TWO_PEERS, 4, NO_ROUTE, 0, 0, 1, "ib0 error routed-other-nic", "not leave at all: an unreachable route"},
    /* one hardware address of several addresses: one NIC has both, or a gateway leads there */
    {HOST, TWO_PEERS, 8, SAME_MAC, 0, 0, 0, "", NULL},
    {HOST6, "--probe fd00:16::1 fd00:16::2 192.0.2.1", 52, SAME_MAC, 0, 0, 0, "", NULL},
    {HOST, "--probe 172.16.16.1 fd00:16::1 fd00:16::2", 0, 0, 0, 0, 0, "error no-source",
     "2 of 3 peers (fd00:16::1-:2) were not asked"},
    {IDLE, TWO_PEERS, 0, 0, 0, 0, 0, "", NULL}, /* rails of another subnet are right */
    /* RDMA: the same cause is one line, whatever the errno of a silence */
    {HOST, TWO_PEERS RDMA, 0, 0, 0, 0, 0, "", NULL},
    {HOST, TWO_PEERS RDMA, 12, 0, ETIMEDOUT, IBH_RDMA_SILENT, 2, "error rdma-unreachable",
     "172.16.16.2 to every rail: RDMA"},
    {HOST, TWO_PEERS RDMA, 10, 0, 0, IBH_RDMA_SILENT, 2, NO_RDMA, "ib1 to 172.16.16.1-.2: RDMA requests get no answer"},
    {HOST, TWO_PEERS RDMA, 12, LOST, 0, IBH_RDMA_SILENT, 2, "error peer-down", "172.16.16.2 to every rail: no reply"},
    {HOST, TWO_PEERS RDMA, 2, SOME, 0, IBH_RDMA_SILENT, 1, LOST_TO ", " NO_RDMA, "some echoes get lost"},
    {HOST, TWO_PEERS RDMA, 2, 0, 0, IBH_RDMA_FILTERED, 1, NO_RDMA,
     "ib1 to 172.16.16.1: RDMA was not tested: this host's own"},
    {HOST, TWO_PEERS RDMA, 10, 0, 0, IBH_RDMA_NO_GID, 2, NO_RDMA, "no RDMA: the NIC's RDMA device has no GID"},
    {HOST, TWO_PEERS RDMA, 2, 0, EINVAL, IBH_RDMA_NO_WAY, 1, NO_RDMA, "cannot resolve the address: Invalid argument"},
    {HOST, TWO_PEERS RDMA, 2, 0, EINVAL, IBH_RDMA_NO_PATH, 1, NO_RDMA, "manager finds no path: Invalid argument"},
    {HOST, TWO_PEERS RDMA, 2, 0, EINVAL, IBH_RDMA_REFUSED, 1, NO_RDMA, "does not send RDMA requests: Invalid argument"},
    {HOST, TWO_PEERS RDMA, 2, 0, 0, IBH_RDMA_BLOCKED, 1, NO_RDMA, "hangs in the kernel"},
    {HOST, TWO_PEERS RDMA, 10, 0, 0, IBH_RDMA_NO_DEVICE, 2, "ib1 error rdma-no-device", "this NIC has no RDMA device"},
    {HOST, TWO_PEERS RDMA, 10, 0, 0, IBH_RDMA_NO_ECHO, 0, "", NULL},
    {HOST, TWO_PEERS RDMA, 10, 0, ENOENT, IBH_RDMA_NO_MODULE, 0, "ib1 error module-missing", "module rdma_ucm is not"},
};

static void change(World *world, guint i, guint what, int error, IbhCause rdma)
{
    IbhProbePair *pair = pair_at(world, i);
    IbhLink *link = (IbhLink *)(guintptr)ibh_probe_link(pair);
    const int six = ibh_probe_is_ipv6(pair);

    pair->received = what & SOME ? 2 : what & (LOST | UNSENT) ? 0 : pair->received;
    pair->sent = what & UNSENT ? 0 : pair->sent;
    pair->send_error = what & UNSENT ? error : 0;
    if (what & LOST)
        pair->hop->n_claims = 0;
    if (what & ARP)
        claim(world, i, (IbhLladdr){{MAC((guint8)(16 + pair->peer))}, 6}, 1);
    if (pair->hop)
        pair->hop->fixed = (what & FIXED) != 0;
    if (what & (FIXED | ENTRY))
        pair->hop->lladdr = (IbhLladdr){{MAC(7)}, 6};
    if (what & ENTRY)
        pair->hop->entry = pair->hop->lladdr;
    if (what & FROM_ENTRY)
        pair->sender = pair->hop->lladdr;
    link->flags |= what & ARP_OFF ? IFF_BROADCAST | IFF_NOARP : 0;
    world->probe->hears = (what & HEARS) != 0;
    world->probe->was_full[six] = (what & FULL) != 0;
    pair->route.oif = what & OTHER_NIC ? 9 : pair->route.oif;
    pair->route.error = what & NO_ROUTE ? EHOSTUNREACH : 0;
    if (what & SAME_MAC && pair->hop)
        pair->hop->lladdr = pair_at(world, i - 2)->hop->lladdr;
    if (rdma) {
        pair->rdma = rdma;
        pair->rdma_error = error;
    }
}

static void test_verdicts(void **state)
{
    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(verdicts); i++) {
        g_auto(World) world = look_well(verdicts[i].host, verdicts[i].line);

        for (guint n = 0; n < world.probe->pairs->len; n++) {
            pair_at(&world, n)->rdma = IBH_CAUSE_NONE;
            if (verdicts[i].pairs >> n & 1)
                change(&world, n, verdicts[i].change, verdicts[i].error, verdicts[i].rdma);
        }
        check_verdict(&world, verdicts[i].expected, verdicts[i].bad);
        if (verdicts[i].part)
            check_message(&world, 0, verdicts[i].part);
    }
}

/* A pair whose packets this host drops, and whose RDMA request gets no answer either, does not stand for one that
 * works. */
static void test_one_rail_works(void **state)
{
    g_auto(World) world =
        look_well(HOST "nic ib2 infiniband rdma mlx5_2/1\nip address add 172.16.34.3/16 dev ib2\n", TWO_PEERS RDMA);

    (void)state;
    for (guint i = 0; i < 6; i++)
        pair_at(&world, i)->rdma = IBH_CAUSE_NONE;
    change(&world, 3, UNSENT, EPERM, IBH_RDMA_SILENT);
    change(&world, 4, 0, 0, IBH_RDMA_SILENT);
    check_verdict(&world, "ib0 error probe-not-sent, error rdma-unreachable", 2);
    check_message(&world, 1, "ib0 to 172.16.16.2, ib1 to 172.16.16.2: RDMA requests get no answer");
}

/* A peer that gets packets, and replies, through the NIC of its other address has a wrong entry here all the same. */
static void test_reply_of_another_nic(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);
    IbhProbePair *pair = pair_at(&world, 2);

    (void)state;
    check_verdict(&world, "", 0);
    pair->hop->entry = pair->sender = pair_at(&world, 0)->hop->claims[0].lladdr;
    check_verdict(&world, "ib0 warning neighbour-wrong, warning peer-replies-other-nic", 1);
}

/* A peer whose packets this host drops is not accused: none of its pairs could show what the peer does. */
static void test_no_pair_could_show(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS RDMA);

    (void)state;
    for (guint i = 0; i < 4; i++)
        pair_at(&world, i)->rdma = IBH_CAUSE_NONE;
    change(&world, 2, UNSENT, EPERM, IBH_RDMA_SILENT);
    change(&world, 3, UNSENT, EPERM, IBH_RDMA_SILENT);
    check_verdict(&world, "ib0 error probe-not-sent, error rdma-unreachable", 2);
    /* nor is anything said of IP, of which nothing is known */
    check_message(&world, 1,
                  "ib0 to 172.16.16.2, ib1 to 172.16.16.2: RDMA requests get no answer: the RDMA device is gone");
}

/* A fix is for all that have it. */
static void test_fixes(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    for (guint i = 1; i < 4; i += 2)
        change(&world, i, LOST | HEARS | ARP | FIXED, 0, 0);
    check_verdict(&world, "ib1 warning neighbour-static", 2);
    assert_string_equal(((const IbhFinding *)world.probe->findings->pdata[0])->fix,
                        "sudo ip neigh del 172.16.16.1 dev ib1; sudo ip neigh del 172.16.16.2 dev ib1");
    change(&world, 0, LOST, 0, 0);
    ((IbhLink *)(guintptr)ibh_probe_link(pair_at(&world, 0)))->flags &= ~(guint)IFF_UP;
    check_verdict(&world, "ib0 error carrier-down, ib1 warning neighbour-static", 3);
    assert_string_equal(((const IbhFinding *)world.probe->findings->pdata[0])->fix, "sudo ip link set up dev ib0");
}

/* Another process sends them: whatever it is, no more than one fits each pair. */
static void test_results_of_rdma(void **state)
{
    g_auto(World) without = look_well(HOST, TWO_PEERS), world = look_well(HOST, TWO_PEERS RDMA);

    (void)state;
    assert_false(ibh_probe_take_rdma(without.probe, 0, IBH_CAUSE_NONE, 0));
    assert_false(ibh_probe_take_rdma(world.probe, 0, IBH_RDMA_UNASKED, 0));
    assert_false(ibh_probe_take_rdma(world.probe, 0, IBH_N_CAUSES, 0));
    assert_false(ibh_probe_take_rdma(world.probe, 4, IBH_CAUSE_NONE, 0));
    assert_true(ibh_probe_take_rdma(world.probe, 3, IBH_RDMA_SILENT, 0));
    assert_true(ibh_probe_take_rdma(world.probe, 3, IBH_RDMA_NO_WAY, 0)); /* another request begins */
    assert_int_equal(pair_at(&world, 3)->rdma, IBH_RDMA_SILENT);
    assert_true(ibh_probe_take_rdma(world.probe, 3, IBH_CAUSE_NONE, 0));
    assert_false(ibh_probe_take_rdma(world.probe, 3, IBH_RDMA_SILENT, 0));
}

static void test_reply_by_other_nic(void **state)
{
    static const guint8 OF_PEER[] = {MAC(16)}, OF_ROUTER[] = {MAC(99)};
    g_auto(World) world = look_well(HOST, TWO_PEERS " --count 5");
    Frame frame = echo_frame(&world, 1, 3, IN);
    guint8 bytes[IBH_PROBE_PACKET];
    IbhPacket reply = reply_to(&world, 1, 3, bytes);

    (void)state;
    ibh_probe_note_sent(pair_at(&world, 1), 3, 1);
    frame.sender = OF_PEER;
    pass_by(&world, 9, frame, IN);
    assert_true(ibh_probe_take_reply(world.probe, &reply, 2));
    exchange(&world, 1, 4, 1); /* one that went right afterwards does not make up for it */
    check_verdict(&world, "ib1 error reply-other-nic", 1);
    assert_int_equal(pair_at(&world, 1)->reply_ifindex, 9);
    check_message(&world, 0, "the peer's neighbour table has the hardware address of");
    frame.sender = OF_ROUTER; /* the peer did not do it */
    pass_by(&world, 9, frame, IN);
    check_verdict(&world, "ib1 warning reply-other-nic", 1);
}

/* ARP comes in: `from` is at the hardware address that ends in `last`; so says the frame of the one that ends in
 * `sender`. */
static void hear_arp(World *world, int ifindex, guint8 operation, const char *from, const char *to,
                     const guint8 last[2])
{
    const guint8 head[] = {0, 1, 8, 0, 6, 4, 0, operation, MAC(last[0])}, sender[] = {MAC(last[1])};
    Frame frame = {.length = 28, .protocol = 0x0806, .sender = sender};
    IbhIp one, other;

    assert_true(ibh_ip_parse(from, &one) && ibh_ip_parse(to, &other));
    memcpy(frame.bytes, head, sizeof head);
    memcpy(frame.bytes + 14, one.bytes, 4);
    memcpy(frame.bytes + 24, other.bytes, 4);
    pass_by(world, ifindex, frame, IN);
}

static void answer_arp(World *world, int ifindex, const char *from, const char *to, guint8 last)
{
    hear_arp(world, ifindex, 2, from, to, (const guint8[]){last, last});
}

/* Nobody asked, but the kernel believes it. */
static void announce(World *world, int ifindex, const char *from, guint8 last)
{
    hear_arp(world, ifindex, 1, from, from, (const guint8[]){last, last});
}

static void test_flux_of_two_answers(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    answer_arp(&world, 2, "172.16.16.1", "172.16.34.1", 16);
    answer_arp(&world, 2, "172.16.16.1", "172.16.34.1", 16);
    answer_arp(&world, 2, "172.16.16.2", "172.16.34.1", 17);
    answer_arp(&world, 3, "172.16.16.2", "172.16.34.2", 17);
    answer_arp(&world, 9, "172.16.16.2", "172.16.34.2", 99); /* by another NIC, */
    answer_arp(&world, 3, "172.16.16.7", "172.16.34.2", 99); /* from somebody else */
    for (guint i = 0; i < 4; i++)
        pair_at(&world, i)->hop->questions = 4;
    check_verdict(&world, "", 0);
    answer_arp(&world, 3, "172.16.16.2", "172.16.34.2", 18);
    answer_arp(&world, 3, "172.16.16.2", "172.16.34.2", 19);
    check_verdict(&world, "error duplicate-address", 2); /* nobody answers for two addresses */
    check_message(
        &world, 0,
        "02:00:00:00:00:11, 02:00:00:00:00:12 (ib1), 02:00:00:00:00:13 (ib1) claim the address, and no other");
    answer_arp(&world, 3, "172.16.16.1", "172.16.34.2", 18);
    answer_arp(&world, 3, "172.16.16.1", "172.16.34.2", 19);
    check_verdict(&world, "warning peer-flux", 4);
}

#define LINK_LOCAL IB0 IB1 "ip address add 169.254.1.1/16 dev ib0\nip address add 169.254.1.2/16 dev ib1\n"

/* Two cables to a host that mixes its NICs, with link-local addresses: each NIC of that host answers for the addresses
 * of both NICs on its cable. What is heard on one cable proves nothing about the addresses on the other. */
static void test_flux_on_each_of_two_wires(void **state)
{
    g_auto(World) world = look_well(LINK_LOCAL, "--probe 169.254.2.1 169.254.2.2 169.254.3.1 169.254.3.2");

    (void)state;
    for (guint i = 0; i < 8; i++)
        pair_at(&world, i)->hop->n_claims = 0;
    for (guint8 last = 16; last < 18; last++) {
        answer_arp(&world, 2, "169.254.2.1", "169.254.1.1", last);
        answer_arp(&world, 2, "169.254.2.2", "169.254.1.1", last);
        answer_arp(&world, 3, "169.254.3.1", "169.254.1.2", last + 2);
        answer_arp(&world, 3, "169.254.3.2", "169.254.1.2", last + 2);
    }
    check_verdict(&world, "warning peer-flux", 4);
    check_message(&world, 0, "several NICs of that host answer for each address");
}

/* A router with proxy ARP has both wires, and answers on the other wire, too, for the link-local address that two hosts
 * have here: only the two hosts are named. */
static void test_proxy_on_each_of_two_wires(void **state)
{
    g_auto(World) world = look_well(LINK_LOCAL, "--probe 169.254.2.1 169.254.2.2");

    (void)state;
    for (guint i = 0; i < 4; i++)
        pair_at(&world, i)->hop->n_claims = 0;
    answer_arp(&world, 2, "169.254.2.1", "169.254.1.1", 16);
    answer_arp(&world, 2, "169.254.2.1", "169.254.1.1", 17);
    answer_arp(&world, 2, "169.254.2.2", "169.254.1.1", 18);
    for (int ifindex = 2; ifindex < 4; ifindex++)
        answer_arp(&world, ifindex, "169.254.2.1", ifindex == 2 ? "169.254.1.1" : "169.254.1.2", 99);
    answer_arp(&world, 2, "169.254.1.2", "169.254.1.1", 99);
    check_verdict(&world, "ib1 warning proxy-arp, error duplicate-address", 1);
    check_message(&world, 1, "169.254.2.1: 02:00:00:00:00:10, 02:00:00:00:00:11 claim the address");
}

/* A router with proxy ARP answers for all peers: it is told by its hardware address, and no peer is accused. Who has a
 * peer's address beside it is told as ever, and so is who claims addresses unasked, as no proxy does. */
static void test_proxy_for_peers(void **state)
{
    g_auto(World) world = look_well(HOST, THREE_PEERS);

    (void)state;
    answer_arp(&world, 2, "172.16.16.1", "172.16.34.1", 99);
    check_verdict(&world, "error duplicate-address", 2); /* of one address, it is a host */
    answer_arp(&world, 3, "172.16.16.2", "172.16.34.2", 99);
    check_verdict(&world, "error duplicate-address, error duplicate-address", 4); /* nor of two */
    answer_arp(&world, 3, "172.16.16.3", "172.16.34.2", 99);
    check_verdict(&world, "warning proxy-arp", 6);
    check_message(&world, 0, "172.16.16.1-.3: ARP answers come from 02:00:00:00:00:63");
    assert_string_equal(((const IbhFinding *)world.probe->findings->pdata[0])->owner, "02:00:00:00:00:63");
    answer_arp(&world, 2, "172.16.16.1", "172.16.34.1", 98);
    check_verdict(&world, "warning proxy-arp, error duplicate-address", 6);
    check_message(&world, 1, "172.16.16.1: 02:00:00:00:00:10, 02:00:00:00:00:62 (ib0) claim the address");
    announce(&world, 2, "172.16.16.1", 99);
    check_verdict(&world, "error duplicate-address, error duplicate-address, error duplicate-address", 6);
}

/* Two hosts (.1 and .2) share virtual addresses (.3 and .4). Beside a proxy, too, nobody says that one host has both.
 */
static void test_two_hosts_beside_a_proxy(void **state)
{
    (void)state;
    for (guint with_proxy = 0; with_proxy < 2; with_proxy++) {
        static const struct {
            const char *ip;
            guint8 last;
        } claims[] = {{"172.16.16.1", 16}, {"172.16.16.2", 17}, {"172.16.16.3", 16},
                      {"172.16.16.3", 17}, {"172.16.16.4", 16}, {"172.16.16.4", 17}};
        g_auto(World) world = look_well(HOST, FOUR_PEERS);

        for (guint i = 0; i < world.probe->pairs->len; i++)
            pair_at(&world, i)->hop->n_claims = 0;
        for (guint i = 0; i < G_N_ELEMENTS(claims); i++) {
            answer_arp(&world, 2, claims[i].ip, "172.16.34.1", claims[i].last);
            if (with_proxy)
                answer_arp(&world, 2, claims[i].ip, "172.16.34.1", 99);
        }
        if (with_proxy)
            answer_arp(&world, 2, "172.16.34.2", "172.16.34.1", 99);
        check_verdict(&world,
                      with_proxy ? "ib1 warning proxy-arp, warning proxy-arp, warning peer-flux" : "warning peer-flux",
                      with_proxy ? 8 : 4);
        check_message(&world, with_proxy ? 2 : 0,
                      "172.16.16.3-.4: 02:00:00:00:00:10, 02:00:00:00:00:11 claim the address: one host mixes");
    }
}

/* One peer is enough if the proxy also answers for this host. */
static void test_proxy_for_all(void **state)
{
    g_auto(World) world = look_well(HOST, "--probe 172.16.16.1");

    (void)state;
    answer_arp(&world, 2, "172.16.16.1", "172.16.34.1", 99);
    check_verdict(&world, "warning peer-flux", 2);
    answer_arp(&world, 2, "172.16.34.2", "172.16.34.1", 99);
    check_verdict(&world, "ib1 warning proxy-arp, warning proxy-arp", 2);
    answer_arp(&world, 2, "172.16.34.2", "0.0.0.0", 99); /* not as a proxy */
    check_verdict(&world, "ib1 error duplicate-address, warning peer-flux", 2);
}

/* Each rail hears one host for each address; but the rails are in networks of two tenants. */
static void test_another_host_on_each_rail(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    for (guint i = 1; i < 4; i += 2)
        pair_at(&world, i)->hop->claims[0].lladdr = pair_at(&world, i)->hop->lladdr =
            (IbhLladdr){{MAC((guint8)(90 + i))}, 6};
    check_verdict(&world, "error duplicate-address, error duplicate-address", 4);
    check_message(&world, 0, "172.16.16.1: 02:00:00:00:00:10 (ib0), 02:00:00:00:00:5b (ib1) claim the address");
}

/* Who takes a peer's address by an announcement, or by a question, is named, and explains what was lost. */
static void test_unasked_claims(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    announce(&world, 2, "172.16.16.1", 71);
    pair_at(&world, 0)->received = 1;
    check_verdict(&world, "error duplicate-address", 2);
    hear_arp(&world, 2, 1, "172.16.16.1", "172.16.99.9", (const guint8[]){72, 72});
    hear_arp(&world, 2, 2, "172.16.16.1", "172.16.16.1", (const guint8[]){73, 73});
    check_verdict(&world, "error duplicate-address", 2);
    check_message(&world, 0, "02:00:00:00:00:47 (ib0), 02:00:00:00:00:48 (ib0), 02:00:00:00:00:49 (ib0) claim");
    assert_string_equal(ibh_probe_stage(pair_at(&world, 0)), "answer");
    for (guint i = 1; i < 4; i++)
        assert_int_equal(pair_at(&world, 0)->hop->claims[i].answers, 0);
}

/* What contradicts its frame is said of the sender of the frame alone: which is one finding. */
static void test_forgeries(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    for (guint8 name = 100; name < 200; name++) {
        hear_arp(&world, 2, 2, "172.16.16.1", "172.16.34.1", (const guint8[]){name, 77});
        hear_arp(&world, 3, 1, "172.16.16.2", "172.16.16.2", (const guint8[]){name, 77});
        hear_arp(&world, 3, 2, "172.16.34.2", "0.0.0.0", (const guint8[]){name, 77});
        hear_arp(&world, 3, 2, "172.16.16.99", "172.16.34.2", (const guint8[]){name, 78}); /* of no interest */
    }
    check_verdict(&world, "ib0 error duplicate-address", 0);
    check_message(&world, 0,
                  "02:00:00:00:00:4d sends ARP answers for 172.16.16.1-.2, 172.16.34.2 in the name of "
                  "02:00:00:00:00:64 and others: a forgery, or a proxy");
    pair_at(&world, 0)->received = 0;
    pair_at(&world, 0)->hop->entry = (IbhLladdr){{MAC(100)}, 6};
    check_verdict(&world, "ib0 error duplicate-address", 1); /* which may be why */
}

/* Two switches answer for one virtual address of any form from their own: the one that replies to echoes is no forger,
 * nor is the other. */
static void test_routers_with_a_free_name(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    for (guint i = 0; i < 2; i++) { /* on both wires */
        IbhProbeHop *hop = pair_at(&world, i)->hop;

        hop->n_claims = 0;
        hop->entry = hop->lladdr = (IbhLladdr){{MAC(100)}, 6};
        for (guint8 sender = 77; sender < 79; sender++)
            hear_arp(&world, 2 + (int)i, 2, "172.16.16.1", i ? "172.16.34.2" : "172.16.34.1",
                     (const guint8[]){100, sender});
    }
    check_verdict(&world, "ib0 error duplicate-address, ib0 error duplicate-address", 0);
    for (guint i = 0; i < 2; i++)
        pair_at(&world, i)->sender = (IbhLladdr){{MAC(77)}, 6};
    check_verdict(&world, "", 0);
    /* Whoever names another one is a forger all the same. */
    hear_arp(&world, 2, 2, "172.16.16.1", "172.16.34.1", (const guint8[]){101, 79});
    check_verdict(&world, "ib0 error duplicate-address", 0);
    check_message(&world, 0, "02:00:00:00:00:4f sends ARP answers for 172.16.16.1 in the name of 02:00:00:00:00:65");
}

/* Who takes a peer's replies, and names its true hardware address, is no router. */
static void test_taker_of_replies(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    hear_arp(&world, 2, 2, "172.16.16.1", "172.16.34.1", (const guint8[]){16, 77});
    pair_at(&world, 0)->sender = (IbhLladdr){{MAC(77)}, 6};
    check_verdict(&world, "ib0 error duplicate-address, info peer-replies-other-nic", 0);
    check_message(&world, 0, "02:00:00:00:00:4d sends ARP answers for 172.16.16.1 in the name of 02:00:00:00:00:10");
}

/* Two switches answer as one gateway, with one hardware address; and each wire has a router of its own, which has the
 * same link-local address as the others. */
static void test_routers_that_share(void **state)
{
    static const char *const link_local[] = {"fe80::1", "169.254.0.1"};
    g_auto(World) world = look_well(HOST, TWO_PEERS);
    IbhProbeHop *hop = pair_at(&world, 0)->hop;

    (void)state;
    world.probe->hears = TRUE;
    for (guint i = 0; i < 2; i++) {
        IbhProbePair *pair = pair_at(&world, i);

        pair->hop->claims[0].lladdr = pair->hop->lladdr = pair->sender = (IbhLladdr){{0, 0, 0x5e, 0, 1, 7}, 6};
        pair->hop->claims[0].answers = 2;
    }
    check_verdict(&world, "", 0);
    hop->claims[0].lladdr = hop->lladdr = pair_at(&world, 0)->sender = (IbhLladdr){{MAC(90)}, 6};
    hop->claims[0].answers = 1;
    check_verdict(&world, "error duplicate-address", 2);
    for (guint i = 0; i < G_N_ELEMENTS(link_local); i++) {
        hop = g_hash_table_lookup(world.probe->hops, &hop->ip); /* the first of that address */
        g_hash_table_steal(world.probe->hops, &hop->ip);
        for (IbhProbeHop *one = hop; one; one = one->next)
            assert_true(ibh_ip_parse(link_local[i], &one->ip));
        g_hash_table_insert(world.probe->hops, &hop->ip, hop);
        check_verdict(&world, "", 0);
    }
}

/* Two hosts with two virtual addresses are no host that mixes its NICs, if one of them is seen to have its own address.
 */
static void test_shared_virtual_addresses(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS " 172.16.16.3");

    (void)state;
    for (guint i = 0; i < 2; i++)
        claim(&world, i, (IbhLladdr){{MAC(17)}, 6}, 1);
    for (guint i = 2; i < 4; i++)
        claim(&world, i, (IbhLladdr){{MAC(16)}, 6}, 1);
    check_verdict(&world, "warning peer-flux", 4);
    check_message(&world, 0, "several NICs of that host answer for each address");
    assert_true(g_str_has_prefix(((const IbhFinding *)world.probe->findings->pdata[0])->advice,
                                 "on the peer (172.16.16.1): install ib-hook there"));
    for (guint i = 4; i < 6; i++)
        pair_at(&world, i)->hop->claims[0].lladdr = pair_at(&world, i)->hop->lladdr = (IbhLladdr){{MAC(17)}, 6};
    check_verdict(&world, "warning peer-flux", 4);
    check_message(&world, 0, "one host mixes its NICs (ARP flux), or two hosts have it");
}

/* One question has one answer from each; virtual routers are no NICs, unless they take what we send. */
static void test_answers(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);
    IbhProbePair *pair = pair_at(&world, 1);

    (void)state;
    pair->hop->claims[0].lladdr = pair->hop->lladdr = (IbhLladdr){{0, 0, 0x5e, 0, 1, 7}, 6};
    pair->sender = pair->hop->lladdr;
    answer_arp(&world, 3, "172.16.16.1", "172.16.34.2", 16);
    check_verdict(&world, "error duplicate-address", 2);
    pair->sender = (IbhLladdr){{MAC(16)}, 6};
    pair->hop->claims[0].replied = FALSE;
    check_verdict(&world, "", 0);
    pair->hop->claims[1].answers = 2;
    check_verdict(&world, "", 0); /* whether one echo has two replies is not known */
    world.probe->hears = TRUE;
    check_verdict(&world, "error duplicate-mac", 1);
    pair_at(&world, 0)->hop->entry = (IbhLladdr){{MAC(77)}, 6}; /* before the first packet */
    check_verdict(&world, "ib0 warning neighbour-wrong, error duplicate-mac", 2);
    check_message(&world, 0, "had 02:00:00:00:00:4d, before the first packet, but 02:00:00:00:00:10 answers ARP");
    assert_string_equal(ibh_probe_stage(pair_at(&world, 0)), "entry");
    pair_at(&world, 2)->hop->n_claims = 0;
    check_verdict(&world, "ib0 warning neighbour-wrong, ib0 warning arp-unanswered, error duplicate-mac", 3);
    pair_at(&world, 2)->hop->questions = 0; /* none could be sent */
    check_verdict(&world, "ib0 warning neighbour-wrong, error duplicate-mac", 2);
}

/* All that comes in through ib1 comes twice: the wire does that, and no loss beside it is explained. */
static void test_doubled(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    world.probe->hears = TRUE;
    for (guint i = 1; i < 4; i += 2) {
        pair_at(&world, i)->hop->claims[0].answers = 2;
        pass(&world, i, echo_frame(&world, i, 0, IN), IN);
    }
    check_verdict(&world, "ib1 warning frames-doubled", 2);
    check_message(&world, 0, "ib1 to 172.16.16.1-.2: each frame comes in twice");
    pair_at(&world, 1)->received = 0;
    pair_at(&world, 1)->doubled = FALSE;
    for (guint number = 0; number < 3; number++)
        pair_at(&world, 1)->echoes[number].seen = 0;
    check_verdict(&world, "ib1 error probe-lost, ib1 warning frames-doubled", 2); /* nor are two hosts named */
}

/* Hardware addresses of virtual routers, and their neighbours, which a NIC may have. */
static void test_virtual_routers(void **state)
{
    static const struct {
        guint8 bytes[6];
        gboolean is_virtual;
    } cases[] = {
        {{0, 0, 0x5e, 0, 1, 7}, TRUE},
        {{0, 0, 0x5e, 0, 2, 7}, TRUE},
        {{0, 0, 0x5e, 0, 0, 7}, FALSE},
        {{0, 0, 0x5e, 0, 3, 7}, FALSE},
        {{0, 0, 0x0c, 0x07, 0xac, 1}, TRUE},
        {{0, 0, 0x0c, 0x07, 0xad, 1}, FALSE},
        {{0, 0, 0x0c, 0x9f, 0xf0, 1}, TRUE},
        {{0, 0, 0x0c, 0x9f, 0xff, 0xff}, TRUE},
        {{0, 0, 0x0c, 0x9f, 0xe0, 1}, FALSE},
        {{0, 0x05, 0x73, 0xa0, 0x0f, 1}, TRUE},
        {{0, 0x05, 0x73, 0xa0, 0x10, 1}, FALSE},
        {{0, 0x07, 0xb4, 0, 1, 1}, TRUE},
        {{0, 0x07, 0xb4, 3, 0xff, 4}, TRUE},
        {{0, 0x07, 0xb4, 4, 0, 1}, FALSE},
        {{MAC(16)}, FALSE},
    };

    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const IbhLladdr lladdr = ibh_lladdr_from_bytes(cases[i].bytes, 6);
        g_autofree char *text = ibh_lladdr_format(&lladdr);

        if (ibh_lladdr_is_virtual(&lladdr) != cases[i].is_virtual)
            fail_msg("%s", text);
    }
}

/* Who answers for our own addresses: to nobody, a host that has it; to another rail, a proxy, too. */
static void test_strangers(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    answer_arp(&world, 2, "172.16.34.1", "0.0.0.0", 3);  /* our own other NIC, */
    announce(&world, 2, "172.16.34.2", 3);               /* and what it says there; */
    answer_arp(&world, 9, "172.16.34.1", "0.0.0.0", 99); /* on the wire of no rail */
    check_verdict(&world, "", 0);
    answer_arp(&world, 3, "172.16.34.1", "172.16.34.2", 99);
    answer_arp(&world, 2, "172.16.34.1", "0.0.0.0", 99);
    answer_arp(&world, 2, "172.16.34.1", "0.0.0.0", 99);
    answer_arp(&world, 2, "172.16.34.2", "172.16.34.1", 98);
    check_verdict(&world, "ib0 error duplicate-address, ib1 warning proxy-arp", 0);
    check_message(&world, 0, "another host has 172.16.34.1, too: 02:00:00:00:00:63 claims it, by ARP");
    check_message(&world, 1, "02:00:00:00:00:62 answers ARP for 172.16.34.2, of this host: a proxy");
    announce(&world, 3, "172.16.34.2", 98); /* a proxy does not */
    check_verdict(&world, "ib0 error duplicate-address, ib1 error duplicate-address", 0);
    for (int i = 0; i < 300; i++)
        answer_arp(&world, 2, "172.16.34.1", "0.0.0.0", (guint8)(i % 256));
    check_verdict(&world, "ib0 error duplicate-address, ib1 error duplicate-address", 0);
    check_message(&world, 0, "02:00:00:00:00:04 and 4 more claim");
}

/* A NIC of this host that is no rail answers for a rail, unless the NIC would not answer a peer. */
static void test_own_nic_beside_rails(void **state)
{
    static const struct {
        const char *sysctls; /* of eth0 */
        const char *to, *expected;
    } cases[] = {
        {"", "0.0.0.0", "eth0 warning foreign-nic-answers"},
        {"", "172.16.34.2", ""},
        {"sysctl -w net/ipv4/conf/eth0/rp_filter=2\n", "0.0.0.0", "eth0 warning foreign-nic-answers"},
        {"sysctl -w net/ipv4/conf/eth0/rp_filter=1\n", "0.0.0.0", ""},
        {"sysctl -w net/ipv4/conf/all/rp_filter=1\n", "0.0.0.0", ""},
        {"sysctl -w net/ipv4/conf/all/rp_filter=2\nsysctl -w net/ipv4/conf/eth0/rp_filter=1\n", "0.0.0.0",
         "eth0 warning foreign-nic-answers"},
        {"sysctl -w net/ipv4/conf/eth0/arp_filter=1\n", "0.0.0.0", ""},
    };

    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *host = g_strconcat(IB0 IB1, "nic eth0 index 9 address 02:00:00:00:00:09\n",
                                            "ip address add 172.16.34.1/16 dev ib0\n"
                                            "ip address add 172.16.34.2/16 dev ib1\n",
                                            cases[i].sysctls, NULL);
        g_auto(World) world = look_well(host, TWO_PEERS);

        answer_arp(&world, 2, "172.16.34.1", cases[i].to, 9);
        check_verdict(&world, cases[i].expected, 0);
    }
}

/* A host claims all addresses of the wire, as the router of a private VLAN does; but the proxy is another host. */
static void test_proxy_beside_private_vlan(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    for (guint i = 0; i < world.probe->pairs->len; i++)
        pair_at(&world, i)->hop->claims[0].lladdr = (IbhLladdr){{MAC(99)}, 6};
    IBH_EACH_PAIR (pair, world.probe)
        pair->sender = pair->hop->lladdr = pair->hop->claims[0].lladdr;
    answer_arp(&world, 3, "172.16.34.2", "0.0.0.0", 99);
    answer_arp(&world, 2, "172.16.34.2", "172.16.34.1", 98);
    check_verdict(&world, "ib1 error duplicate-address, ib1 warning proxy-arp", 0);
    check_message(&world, 1, "02:00:00:00:00:62 answers ARP for 172.16.34.2, of this host: a proxy");
}

/* Where an echo is lost, the router of a private VLAN is a proxy. On the other rail it stays the router. */
static void test_router_of_one_private_vlan(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    IBH_EACH_PAIR (pair, world.probe) {
        pair->hop->claims[0].lladdr = (IbhLladdr){{MAC(99)}, 6};
        pair->sender = pair->hop->lladdr = pair->hop->claims[0].lladdr;
        if (ibh_probe_link(pair)->ifindex == 3)
            pair->sent++;
    }
    answer_arp(&world, 2, "172.16.34.1", "172.16.34.2", 99);
    answer_arp(&world, 3, "172.16.34.2", "172.16.34.1", 99);
    check_verdict(&world, "ib0 info proxy-arp, ib1 warning proxy-arp, ib1 error probe-lost", 2);
}

static void test_peer_replies_by_another_nic(void **state)
{
    static const guint8 OTHER[] = {MAC(16)}, OWN[] = {MAC(17)}, UNKNOWN[] = {MAC(77)};
    g_auto(World) world = look_well(HOST, TWO_PEERS " 192.0.2.1 --count 5");
    guint8 bytes[IBH_PROBE_PACKET];
    IbhPacket reply;

    (void)state;
    for (guint pair = 2; pair < 5; pair++) { /* .2 by ib0; .2 by ib1, rightly; and what comes from a gateway */
        Frame frame = echo_frame(&world, pair, 3, IN);

        frame.sender = pair == 3 ? OWN : OTHER;
        ibh_probe_note_sent(pair_at(&world, pair), 3, 1);
        pass(&world, pair, frame, IN);
        reply = reply_to(&world, pair, 3, bytes);
        assert_true(ibh_probe_take_reply(world.probe, &reply, 2));
    }
    check_verdict(&world, "warning peer-replies-other-nic", 1);
    assert_true(is_bad(pair_at(&world, 2)));
    pair_at(&world, 2)->sender = ibh_lladdr_from_bytes(UNKNOWN, 6); /* a router, perhaps */
    check_verdict(&world, "info peer-replies-other-nic", 0);
    check_message(&world, 0, "come from 02:00:00:00:00:4d, which answers for no address that was asked");
}

/* Each rail reaches a peer that no other one reaches. */
static void test_separate_wires(void **state)
{
    g_auto(World) world = look_well(HOST, TWO_PEERS);

    (void)state;
    for (guint i = 0; i < 4; i += 3)
        pair_at(&world, i)->received = 0;
    check_verdict(&world, "error probe-lost, warning separate-wires", 2);
    assert_non_null(strstr(((const IbhFinding *)world.probe->findings->pdata[1])->message,
                           "ib0 reaches 172.16.16.2; ib1 reaches 172.16.16.1"));
    g_clear_pointer(&world.probe->findings, g_ptr_array_unref);
    pair_at(&world, 1)->received = 0; /* a rail that reaches nobody is dead, not apart */
    check_verdict(&world, "error peer-down, ib1 error probe-lost", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_addresses_on_lo),
        cmocka_unit_test(test_nobody_to_ask),
        cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_packet),
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_no_replies),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_one_rail_works),
        cmocka_unit_test(test_no_pair_could_show),
        cmocka_unit_test(test_reply_of_another_nic),
        cmocka_unit_test(test_fixes),
        cmocka_unit_test(test_results_of_rdma),
        cmocka_unit_test(test_reply_by_other_nic),
        cmocka_unit_test(test_flux_of_two_answers),
        cmocka_unit_test(test_flux_on_each_of_two_wires),
        cmocka_unit_test(test_proxy_on_each_of_two_wires),
        cmocka_unit_test(test_proxy_for_peers),
        cmocka_unit_test(test_two_hosts_beside_a_proxy),
        cmocka_unit_test(test_proxy_for_all),
        cmocka_unit_test(test_another_host_on_each_rail),
        cmocka_unit_test(test_unasked_claims),
        cmocka_unit_test(test_forgeries),
        cmocka_unit_test(test_routers_with_a_free_name),
        cmocka_unit_test(test_routers_that_share),
        cmocka_unit_test(test_taker_of_replies),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_shared_virtual_addresses),
        cmocka_unit_test(test_doubled),
        cmocka_unit_test(test_virtual_routers),
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_own_nic_beside_rails),
        cmocka_unit_test(test_proxy_beside_private_vlan),
        cmocka_unit_test(test_router_of_one_private_vlan),
        cmocka_unit_test(test_peer_replies_by_another_nic),
        cmocka_unit_test(test_separate_wires),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
