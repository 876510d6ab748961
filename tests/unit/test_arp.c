/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <net/if_arp.h>
#include <string.h>
#include <sys/socket.h>

#define GUARD 0xa5

typedef struct {
    guint8 frame[IBH_ARP_MAX];
    guint8 behind[16]; /* nothing may write here */
} Buffer;

static IbhIp ip_of(const char *text)
{
    IbhIp ip;

    assert_true(ibh_ip_parse(text, &ip));
    return ip;
}

static IbhLink link_of(guint16 type, const guint8 *lladdr, guint length)
{
    IbhLink link = {.ifindex = 5, .name = "ib0", .type = type, .lladdr_len = length};

    if (length)
        memcpy(link.lladdr, lladdr, length);
    memset(link.broadcast, 0xff, sizeof link.broadcast);
    return link;
}

/* Its length; nothing is written beyond that. */
static gsize announce(const IbhLink *link, const char *ip, Buffer *buffer)
{
    IbhIp address = ip_of(ip);
    gsize length;

    memset(buffer, GUARD, sizeof *buffer);
    length = ibh_arp_request(link, &address, &address, buffer->frame);
    assert_in_range(length, 0, IBH_ARP_MAX);
    for (gsize i = length; i < sizeof *buffer; i++)
        assert_int_equal(((const guint8 *)buffer)[i], GUARD);
    return length;
}

static void test_ethernet(void **state)
{
    static const guint8 MAC[] = {0x0c, 0x42, 0xa1, 0x5e, 0x9f, 0xff};
    static const guint8 FRAME[] = {0x00, 0x01, 0x08, 0x00, 6,    4,    0x00, 0x01,         /* request */
                                   0x0c, 0x42, 0xa1, 0x5e, 0x9f, 0xff, 172,  16,   34, 2,  /* sender */
                                   0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 172,  16,   34, 2}; /* target */
    IbhLink link = link_of(ARPHRD_ETHER, MAC, sizeof MAC);
    Buffer buffer;

    (void)state;
    assert_int_equal(announce(&link, "172.16.34.2", &buffer), sizeof FRAME);
    assert_memory_equal(buffer.frame, FRAME, sizeof FRAME);
}

static void test_infiniband(void **state)
{
    static const guint8 ADDRESS[] = {0x80, 0x00, 0x02, 0x28, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00,
                                     0x00, 0x00, 0x24, 0x8a, 0x07, 0x03, 0x00, 0xb0, 0x1c, 0xfe};
    static const guint8 FRAME[] = {0x00, 0x20, 0x08, 0x00, 20,   4,    0x00, 0x01,             /* request */
                                   0x80, 0x00, 0x02, 0x28, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, /* sender */
                                   0x00, 0x00, 0x24, 0x8a, 0x07, 0x03, 0x00, 0xb0, 0x1c, 0xfe, /* … */
                                   10,   0,    255,  1,                                        /* … */
                                   0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    /* target */
                                   0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    10, 0, 255, 1};
    IbhLink link = link_of(ARPHRD_INFINIBAND, ADDRESS, sizeof ADDRESS);
    Buffer buffer;

    (void)state;
    assert_int_equal(sizeof FRAME, 56);
    assert_int_equal(announce(&link, "10.0.255.1", &buffer), sizeof FRAME);
    assert_memory_equal(buffer.frame, FRAME, sizeof FRAME);
}

/* ---- neighbour discovery ---------------------------------------------------------------------------- */

typedef struct {
    guint8 packet[IBH_NA_MAX];
    guint8 behind[16]; /* nothing may write here */
} Packet;

/* Its length; nothing is written behind the longest there can be. */
static gsize advertise(const IbhLink *link, const char *ip, gboolean router, Packet *packet)
{
    IbhIp address = ip_of(ip);
    IbhLink own = *link;
    gsize length;

    own.forwarding6 = router;
    memset(packet, GUARD, sizeof *packet);
    length = ibh_na_announcement(&own, &address, packet->packet);
    assert_in_range(length, 0, IBH_NA_MAX);
    for (gsize i = 0; i < sizeof packet->behind; i++)
        assert_int_equal(packet->behind[i], GUARD);
    return length;
}

static void test_na_ethernet(void **state)
{
    static const guint8 MAC[] = {0x0c, 0x42, 0xa1, 0x5e, 0x9f, 0xff};
    guint8 bytes[] = {136,  0,    0,    0,    0x20, 0,    0,    0,    /* advertisement, no checksum yet, override */
                      0x20, 0x01, 0x0d, 0xb8, 0,    0x16, 0,    0,    /* target */
                      0,    0,    0,    0,    0,    0x34, 0,    0x02, /* … */
                      2,    1,    0x0c, 0x42, 0xa1, 0x5e, 0x9f, 0xff};
    IbhLink link = link_of(ARPHRD_ETHER, MAC, sizeof MAC);
    Packet packet;

    (void)state;
    assert_int_equal(sizeof bytes, 32);
    assert_int_equal(advertise(&link, "2001:db8:16::34:2", FALSE, &packet), sizeof bytes);
    assert_memory_equal(packet.packet, bytes, sizeof bytes);
    bytes[4] = 0xa0; /* a router that said otherwise would lose those who use it */
    assert_int_equal(advertise(&link, "2001:db8:16::34:2", TRUE, &packet), sizeof bytes);
    assert_memory_equal(packet.packet, bytes, sizeof bytes);
}

/* RFC 4391: 20 bytes, with two of padding before them, in an option of 3 × 8. */
static void test_na_infiniband(void **state)
{
    static const guint8 ADDRESS[] = {0x80, 0x00, 0x02, 0x28, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00,
                                     0x00, 0x00, 0x24, 0x8a, 0x07, 0x03, 0x00, 0xb0, 0x1c, 0xfe};
    static const guint8 BYTES[] = {136,  0,    0,    0,    0x20, 0,    0,    0,    /* as on Ethernet */
                                   0xfd, 0,    0,    0x16, 0,    0,    0,    0,    /* target */
                                   0,    0,    0,    0,    0,    0x34, 0,    0x01, /* … */
                                   2,    3,    0,    0,    0x80, 0x00, 0x02, 0x28, /* option */
                                   0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* … */
                                   0x24, 0x8a, 0x07, 0x03, 0x00, 0xb0, 0x1c, 0xfe};
    IbhLink link = link_of(ARPHRD_INFINIBAND, ADDRESS, sizeof ADDRESS);
    Packet packet;

    (void)state;
    assert_int_equal(sizeof BYTES, 48);
    assert_int_equal(advertise(&link, "fd00:16::34:1", FALSE, &packet), sizeof BYTES);
    assert_memory_equal(packet.packet, BYTES, sizeof BYTES);
}

/* ---- who has, and who answers -------------------------------------------------------------------------- */

static void test_request(void **state)
{
    static const guint8 MAC[] = {0x0c, 0x42, 0xa1, 0x5e, 0x9f, 0xff};
    static const guint8 FRAME[] = {0x00, 0x01, 0x08, 0x00, 6,    4,    0x00, 0x01,         /* request */
                                   0x0c, 0x42, 0xa1, 0x5e, 0x9f, 0xff, 172,  16,   34, 2,  /* sender */
                                   0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 172,  16,   16, 1}; /* whom */
    IbhLink link = link_of(ARPHRD_ETHER, MAC, sizeof MAC);
    IbhIp from = ip_of("172.16.34.2"), whom = ip_of("172.16.16.1"), six = ip_of("fd00::1");
    guint8 frame[IBH_ARP_MAX];

    (void)state;
    assert_int_equal(ibh_arp_request(&link, &from, &whom, frame), sizeof FRAME);
    assert_memory_equal(frame, FRAME, sizeof FRAME);
    assert_int_equal(ibh_arp_request(&link, &from, &six, frame), 0);
    assert_int_equal(ibh_arp_request(&link, &six, &whom, frame), 0);
}

/* A reply with hardware addresses of this size, alone on the heap: a sanitizer sees what is read behind its end. */
static guint8 *make_reply(guint size, gsize length)
{
    g_autofree guint8 *whole = g_malloc0(8 + 2 * (size + 4));
    guint8 *frame = g_malloc(MAX(length, 1));

    memcpy(whole, (const guint8[]){0, 1, 8, 0, (guint8)size, 4, 0, 2}, 8);
    memset(whole + 8, 0x42, size);
    memcpy(whole + 8 + size, (const guint8[]){172, 16, 16, 1}, 4);
    memcpy(whole + 8 + size + 4 + size, (const guint8[]){172, 16, 34, 2}, 4);
    memcpy(frame, whole, MIN(length, 8 + 2 * (size + 4)));
    return frame;
}

static void test_reply(void **state)
{
    static const guint SIZES[] = {6, 20, IBH_LLADDR_MAX};
    IbhIp from = ip_of("172.16.16.1"), to = ip_of("172.16.34.2");

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(SIZES); i++) {
        gsize whole = 8 + 2 * (SIZES[i] + 4);
        IbhArpClaim reply = {0};

        for (gsize length = 0; length <= whole; length++) {
            g_autofree guint8 *frame = make_reply(SIZES[i], length);

            assert_int_equal(ibh_arp_parse(frame, length, &reply), length == whole ? ARPOP_REPLY : 0);
        }
        assert_true(ibh_ip_equal(&reply.from, &from) && ibh_ip_equal(&reply.to, &to));
        assert_int_equal(reply.lladdr.len, SIZES[i]);
        assert_int_equal(reply.lladdr.bytes[0], 0x42);
        assert_int_equal(reply.lladdr.bytes[SIZES[i] - 1], 0x42);
    }
}

static void test_no_reply(void **state)
{
    static const struct {
        guint at;
        guint8 value;
    } CASES[] = {{2, 0x86}, {3, 0xdd}, {4, 0}, {5, 16}, {6, 1}, {7, 1}, {7, 3}};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(CASES); i++) {
        g_autofree guint8 *frame = make_reply(6, 28);
        IbhArpClaim reply;

        frame[CASES[i].at] = CASES[i].value;
        assert_int_not_equal(ibh_arp_parse(frame, 28, &reply), ARPOP_REPLY);
    }
    for (guint size = IBH_LLADDR_MAX + 1; size < 256; size++) {
        g_autofree guint8 *frame = make_reply(size, 8 + 2 * (size + 4));
        IbhArpClaim reply;

        assert_int_equal(ibh_arp_parse(frame, 8 + 2 * (size + 4), &reply), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ethernet),      cmocka_unit_test(test_infiniband), cmocka_unit_test(test_na_ethernet),
        cmocka_unit_test(test_na_infiniband), cmocka_unit_test(test_request),    cmocka_unit_test(test_reply),
        cmocka_unit_test(test_no_reply),
    };

    g_log_set_always_fatal((GLogLevelFlags)(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
