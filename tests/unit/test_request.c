/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a hook and --watch say to each other: what is not exactly that is nothing. */
#include "hook/request.h"

#include <glib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const IbhTrigger DOWN = {.wanted = true, .iface = "ib1", .down = "ib1"};

static void test_request(void **state)
{
    const IbhRequest request = ibh_request_make(&DOWN, 7);
    IbhRequest got;

    (void)state;
    assert_true(ibh_request_read(&request, sizeof request, &got));
    assert_string_equal(got.iface, "ib1");
    assert_int_equal(got.ifindex, 7);
    assert_true(got.down);
    assert_false(got.early);
}

static void test_request_without_a_name(void **state)
{
    const IbhRequest request = ibh_request_make(&(IbhTrigger){.wanted = true, .early = true}, 0);
    IbhRequest got;

    (void)state;
    assert_true(ibh_request_read(&request, sizeof request, &got));
    assert_string_equal(got.iface, "");
    assert_true(got.early);
}

/* Each bit of it but those that are values: the NIC's index, and whether it was taken down. */
static void test_every_bit_counts(void **state)
{
    const IbhRequest request = ibh_request_make(&DOWN, 7);
    guint believed = 0;

    (void)state;
    for (gsize i = 0; i < sizeof request * 8; i++) {
        guint8 bytes[sizeof request];
        gsize at = i / 8;
        IbhRequest got;

        memcpy(bytes, &request, sizeof request);
        bytes[at] ^= (guint8)(1u << i % 8);
        if (at < offsetof(IbhRequest, early) || at >= offsetof(IbhRequest, build))
            assert_false(ibh_request_read(bytes, sizeof bytes, &got));
        else if (ibh_request_read(bytes, sizeof bytes, &got))
            believed++;
    }
    assert_true(believed > 0);
}

static void test_lengths(void **state)
{
    const IbhRequest request = ibh_request_make(&DOWN, 7);
    guint8 bytes[IBH_REQUEST_MAX] = {0};
    IbhRequest got;

    (void)state;
    memcpy(bytes, &request, sizeof request);
    for (gsize length = 0; length <= sizeof bytes; length++)
        assert_int_equal(ibh_request_read(bytes, length, &got), length == sizeof request);
}

static void test_hostile_names(void **state)
{
    static const char *const NAMES[] = {"../../etc", "a b", "..", ".", "ib0\n", "ib0:1"};
    IbhRequest request = ibh_request_make(&DOWN, 7), got;

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(NAMES); i++) {
        g_strlcpy(request.iface, NAMES[i], sizeof request.iface);
        assert_false(ibh_request_read(&request, sizeof request, &got));
    }
    memset(request.iface, 'x', sizeof request.iface);
    assert_false(ibh_request_read(&request, sizeof request, &got));
    request.iface[0] = '\0'; /* nothing can be taken down without a name */
    assert_false(ibh_request_read(&request, sizeof request, &got));
}

static void test_reply(void **state)
{
    IbhReply done = ibh_reply_make(IBH_REPLY_DONE, 3);
    guint8 bytes[sizeof done + 1] = {0};

    (void)state;
    assert_true(ibh_reply_is_done(&done, sizeof done));
    assert_int_equal(done.status, 3);
    memcpy(bytes, &done, sizeof done);
    for (gsize length = 0; length <= sizeof bytes; length++)
        assert_int_equal(ibh_reply_is_done(bytes, length), length == sizeof done);
    for (int type = 0; type < 256; type++) {
        done.type = (guint8)type;
        assert_int_equal(ibh_reply_is_done(&done, sizeof done), type == IBH_REPLY_DONE);
    }
}

static void test_key(void **state)
{
    char key[IBH_KEY_MAX];

    (void)state;
    ibh_namespace_key(0x1234abcd, key);
    assert_string_equal(key, "n1234abcd");
    ibh_namespace_key(G_MAXUINT64, key);
    assert_string_equal(key, "nffffffffffffffff");
    ibh_namespace_key(0, key); /* of an inode and of this boot */
    assert_true(key[0] == 'i' && strlen(key) > strlen("i-") && strchr(key, '-') && !strchr(key, '\n'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_request_without_a_name),
        cmocka_unit_test(test_every_bit_counts),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_reply),
        cmocka_unit_test(test_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
