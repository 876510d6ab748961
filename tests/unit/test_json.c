/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

/* ---- structure ----------------------------------------------------------------------------------------- */

static void check_text(IbhJson *json, const char *expected)
{
    g_autofree char *text = ibh_json_finish(json);

    assert_string_equal(text, expected);
}

static void test_empty(void **state)
{
    IbhJson *object = ibh_json_new(), *array = ibh_json_new();

    (void)state;
    ibh_json_open(object, NULL, '{');
    ibh_json_close(object, '}');
    check_text(object, "{}");
    ibh_json_open(array, NULL, '[');
    ibh_json_close(array, ']');
    check_text(array, "[]");
}

static void test_thousandths(void **state)
{
    IbhJson *json = ibh_json_new();

    (void)state;
    ibh_json_open(json, NULL, '[');
    ibh_json_milli(json, NULL, 0);
    ibh_json_milli(json, NULL, 7);
    ibh_json_milli(json, NULL, 1234567);
    ibh_json_milli(json, NULL, -50);
    ibh_json_milli(json, NULL, G_MININT64);
    ibh_json_close(json, ']');
    check_text(json, "[0.000,0.007,1234.567,-0.050,-9223372036854775.808]");
}

static void test_members(void **state)
{
    IbhJson *json = ibh_json_new();

    (void)state;
    ibh_json_open(json, NULL, '{');
    ibh_json_string(json, "a", "x");
    ibh_json_string(json, "b", NULL);
    ibh_json_int(json, "c", -7);
    ibh_json_bool(json, "d", TRUE);
    ibh_json_bool(json, "e", FALSE);
    ibh_json_bool(json, "f", 4); /* any true value is true */
    ibh_json_close(json, '}');
    check_text(json, "{\"a\":\"x\",\"b\":null,\"c\":-7,\"d\":true,\"e\":false,\"f\":true}");
}

static void test_elements(void **state)
{
    IbhJson *json = ibh_json_new();

    (void)state;
    ibh_json_open(json, NULL, '[');
    ibh_json_int(json, NULL, 1);
    ibh_json_string(json, NULL, "");
    ibh_json_bool(json, NULL, TRUE);
    ibh_json_string(json, NULL, NULL);
    ibh_json_close(json, ']');
    check_text(json, "[1,\"\",true,null]");
}

/* A comma between what stands side by side, none at a beginning or an end, on every level. */
static void test_nesting(void **state)
{
    IbhJson *json = ibh_json_new();

    (void)state;
    ibh_json_open(json, NULL, '{');
    ibh_json_open(json, "empty", '[');
    ibh_json_close(json, ']');
    ibh_json_open(json, "list", '[');
    for (int i = 0; i < 2; i++) {
        ibh_json_open(json, NULL, '{');
        ibh_json_int(json, "i", i);
        ibh_json_open(json, "in", '{');
        ibh_json_close(json, '}');
        ibh_json_close(json, '}');
    }
    ibh_json_close(json, ']');
    ibh_json_int(json, "last", 3);
    ibh_json_close(json, '}');
    check_text(json, "{\"empty\":[],\"list\":[{\"i\":0,\"in\":{}},{\"i\":1,\"in\":{}}],\"last\":3}");
}

static void test_numbers(void **state)
{
    IbhJson *json = ibh_json_new();

    (void)state;
    ibh_json_open(json, NULL, '[');
    ibh_json_int(json, NULL, 0);
    ibh_json_int(json, NULL, G_MAXUINT32);
    ibh_json_int(json, NULL, G_MAXINT64);
    ibh_json_int(json, NULL, G_MININT64);
    ibh_json_close(json, ']');
    check_text(json, "[0,4294967295,9223372036854775807,-9223372036854775808]");
}

/* ---- strings ------------------------------------------------------------------------------------------- */

static char *write_string(const char *value)
{
    IbhJson *json = ibh_json_new();

    ibh_json_string(json, NULL, value);
    return ibh_json_finish(json);
}

static void test_escapes(void **state)
{
    static const struct {
        const char *value, *json;
    } CASES[] = {
        {"plain", "\"plain\""},
        {"a\"b", "\"a\\\"b\""},
        {"a\\b", "\"a\\\\b\""},
        {"\\\"", "\"\\\\\\\"\""},
        {"a/b", "\"a/b\""},
        {"a\nb", "\"a\\nb\""},
        {"\t", "\"\\u0009\""},
        {"\033[31m", "\"\\u001b[31m\""},
        {"\001\037", "\"\\u0001\\u001f\""},
        {"\177", "\"\\u007f\""},
        {"K\xc3\xb6ln \xf0\x9f\x9a\x84", "\"K\xc3\xb6ln \xf0\x9f\x9a\x84\""},
        {"a\xff", "\"a\xef\xbf\xbd\""},
        {"\xc3(", "\"\xef\xbf\xbd(\""},
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* half of a surrogate pair */
        {"\xf0\x9f", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
    };

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(CASES); i++) {
        g_autofree char *text = write_string(CASES[i].value);

        assert_string_equal(text, CASES[i].json);
    }
}

static void test_keys_are_escaped(void **state)
{
    IbhJson *json = ibh_json_new();

    (void)state;
    ibh_json_open(json, NULL, '{');
    ibh_json_int(json, "a\"\n", 1);
    ibh_json_close(json, '}');
    check_text(json, "{\"a\\\"\\n\":1}");
}

/* What a reader makes of it; NULL where it is no string in JSON. */
static char *read_string(const char *text)
{
    g_autoptr(GString) value = g_string_new(NULL);
    const char *at = text;

    if (*at++ != '"')
        return NULL;
    for (; *at && *at != '"'; at++) {
        guint code;

        if ((guchar)*at < 0x20)
            return NULL;
        if (*at != '\\')
            g_string_append_c(value, *at);
        else if (*++at == 'u' && sscanf(at + 1, "%4x", &code) == 1)
            g_string_append_unichar(value, code), at += 4;
        else if (*at == 'n')
            g_string_append_c(value, '\n');
        else if (*at == '"' || *at == '\\')
            g_string_append_c(value, *at);
        else
            return NULL;
    }
    return at[0] == '"' && !at[1] && g_utf8_validate(text, -1, NULL) ? g_strdup(value->str) : NULL;
}

static void check_random_string(GRand *random)
{
    int length = g_rand_int_range(random, 0, 40), limit = g_rand_boolean(random) ? 256 : 128;
    char value[40] = "";

    for (int i = 0; i < length; i++)
        value[i] = (char)g_rand_int_range(random, 1, limit);
    value[MIN(length, 39)] = '\0';
    g_autofree char *text = write_string(value);
    g_autofree char *back = read_string(text);
    g_autofree char *valid = g_utf8_make_valid(value, -1);

    assert_non_null(back);
    assert_string_equal(back, valid);
}

/* Any bytes are read back as they were, but for what was no UTF-8. */
static void test_random_bytes(void **state)
{
    const char *wanted = g_getenv("IBH_SEED");
    guint32 seed = wanted ? (guint32)g_ascii_strtoull(wanted, NULL, 10) : g_random_int();
    const char *cases = g_getenv("IBH_CASES");
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);

    (void)state;
    print_message("IBH_SEED=%u\n", seed);
    for (guint64 i = cases ? g_ascii_strtoull(cases, NULL, 10) : 5000; i > 0; i--)
        check_random_string(random);
}

static void test_long_string(void **state)
{
    g_autofree char *value = g_strnfill(100000, '"');
    g_autofree char *text = write_string(value);

    (void)state;
    assert_int_equal(strlen(text), 200002);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_thousandths),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_keys_are_escaped),
        cmocka_unit_test(test_long_string),
    };

    g_log_set_always_fatal((GLogLevelFlags)(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
