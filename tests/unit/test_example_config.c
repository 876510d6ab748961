/* SPDX-License-Identifier: GPL-2.0-or-later */
/* packaging/ib-hook.conf, which everybody copies, says what is true. */
#include "config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#define EXAMPLE IBH_TESTS "/../packaging/ib-hook.conf"

static char *uncomment(const char *pattern)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GRegex) regex = g_regex_new(pattern, G_REGEX_MULTILINE, 0, &error);
    g_autofree char *text = NULL;
    char *uncommented;

    assert_null(error);
    assert_true(g_file_get_contents(EXAMPLE, &text, NULL, &error));
    uncommented = g_regex_replace(regex, text, -1, 0, "\\1", 0, &error);
    assert_string_not_equal(text, uncommented);
    return uncommented;
}

static IbhConfig *parse(const char *text)
{
    g_autoptr(GError) error = NULL;
    IbhConfig *config = ibh_config_new();

    if (!ibh_config_add(config, "x", text, strlen(text), NULL, TRUE, &error))
        fail_msg("%s", error->message);
    return config;
}

static void assert_defaults(const IbhConfig *config)
{
    g_autoptr(IbhConfig) defaults = ibh_config_new();
    const IbhSettings is = ibh_config_settings(config, "ib0"), should = ibh_config_settings(defaults, "ib0");

    assert_int_equal(ibh_config_settings(config, "").main, ibh_config_settings(defaults, "").main);
    assert_int_equal(is.manage, should.manage);
    assert_int_equal(is.table, should.table);
    assert_int_equal(is.gateway, should.gateway);
    assert_int_equal(is.arp, should.arp);
}

static void as_it_is(void **state G_GNUC_UNUSED)
{
    g_autofree char *text = NULL;
    g_autoptr(IbhConfig) config = NULL;

    assert_true(g_file_get_contents(EXAMPLE, &text, NULL, NULL));
    config = parse(text);
    assert_defaults(config);
}

static void shows_the_defaults(void **state G_GNUC_UNUSED)
{
    g_autofree char *text = uncomment("^#(\\[|\\w+=)");
    g_autoptr(IbhConfig) config = parse(text);

    assert_defaults(config);
}

static void examples_are_allowed(void **state G_GNUC_UNUSED)
{
    g_autofree char *text = uncomment("^# (\\[|\\w+=)");
    g_autoptr(IbhConfig) config = parse(text);

    assert_non_null(config);
}

/* The parser lists its keys to whoever uses another one. */
static void shows_every_key(void **state G_GNUC_UNUSED)
{
    g_autofree char *text = uncomment("^# ?(\\w+=)");
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) keys = NULL;

    assert_false(ibh_config_add(config, "x", "[defaults]\nx=y\n", 15, NULL, TRUE, &error));
    assert_non_null(strstr(error->message, "use one of "));
    keys = g_strsplit(strstr(error->message, "use one of ") + strlen("use one of "), ", ", -1);
    assert_true(g_strv_length(keys) >= 6);
    for (char **key = keys; *key; key++) {
        g_autofree char *line = g_strdup_printf("\n%s=", *key);

        if (!strstr(text, line))
            fail_msg("%s= is not in %s", *key, EXAMPLE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_it_is),
        cmocka_unit_test(shows_the_defaults),
        cmocka_unit_test(examples_are_allowed),
        cmocka_unit_test(shows_every_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
