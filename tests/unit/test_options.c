/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

/* ---- one command line, as it would be typed: words without quotes, '' for an empty one ----------------- */

typedef struct {
    char **argv;
    IbhOptions options;
    GError *error;
    gboolean parsed;
} Line;

static void parse_argv(Line *line)
{
    line->error = NULL;
    line->parsed = ibh_options_parse(line->argv, &line->options, &line->error);
    if (line->parsed == (line->error != NULL))
        fail_msg("success with an error, or failure without");
}

static Line parse(const char *words)
{
    g_autofree char *text = g_strconcat("ib-hook", *words ? " " : "", words, NULL);
    Line line = {.argv = g_strsplit(text, " ", -1)};

    for (char **word = line.argv; *word; word++) {
        if (g_str_equal(*word, "''"))
            (*word)[0] = '\0';
    }
    parse_argv(&line);
    return line;
}

static void clear(Line *line)
{
    ibh_options_clear(&line->options);
    g_clear_error(&line->error);
    g_strfreev(line->argv);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Line, clear)

static void check_parsed(const Line *line, const char *words)
{
    if (!line->parsed)
        fail_msg("%s: %s", words, line->error->message);
}

/* It is refused, and the error has these words. */
static void check_refused(const Line *line, const char *words, const char *const *parts)
{
    if (line->parsed)
        fail_msg("%s: taken", words);
    if (line->error->domain != IBH_OPTIONS_ERROR)
        fail_msg("%s: an error of another domain", words);
    for (; *parts; parts++) {
        if (!strstr(line->error->message, *parts))
            fail_msg("%s: no “%s” in “%s”", words, *parts, line->error->message);
    }
}

#define REFUSED(words, ...)                                                                                            \
    do {                                                                                                               \
        g_auto(Line) refused = parse(words);                                                                           \
        check_refused(&refused, words, (const char *const[]){__VA_ARGS__, NULL});                                      \
    } while (0)

/* ---- what is taken ------------------------------------------------------------------------------------- */

static void test_nothing(void **state)
{
    g_auto(Line) line = parse("");

    (void)state;
    check_parsed(&line, "");
    assert_int_equal(line.options.action, IBH_ACTION_SHOW);
    assert_null(ibh_options_only(&line.options));
    assert_null(line.options.config);
    assert_string_equal(line.options.sysfs, "/sys");
    assert_false(line.options.json);
    assert_false(line.options.verbose);
    assert_false(line.options.quiet);
}

static void test_actions(void **state)
{
    static const struct {
        const char *words;
        IbhAction action;
    } CASES[] = {
        {"--show", IBH_ACTION_SHOW},
        {"--check", IBH_ACTION_CHECK},
        {"--plan", IBH_ACTION_PLAN},
        {"--apply", IBH_ACTION_APPLY},
        {"--undo", IBH_ACTION_UNDO},
        {"--version", IBH_ACTION_VERSION},
        {"--help", IBH_ACTION_HELP},
        {"-h", IBH_ACTION_HELP},
        {"--quiet --apply --json", IBH_ACTION_APPLY},
        {"--undo --undo", IBH_ACTION_UNDO},
        {"--check --", IBH_ACTION_CHECK},
    };

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(CASES); i++) {
        g_auto(Line) line = parse(CASES[i].words);

        check_parsed(&line, CASES[i].words);
        assert_int_equal(line.options.action, CASES[i].action);
    }
}

static void test_ifaces(void **state)
{
    g_auto(Line) line = parse("--iface ib1 --check --iface=ib0.8002 --iface ib1");
    const char *const *only;

    (void)state;
    check_parsed(&line, "--iface");
    only = ibh_options_only(&line.options);
    assert_string_equal(only[0], "ib1");
    assert_string_equal(only[1], "ib0.8002");
    assert_string_equal(only[2], "ib1");
    assert_null(only[3]);
}

static void test_forms(void **state)
{
    g_auto(Line) json = parse("--check --iface ib0 --json"), twice = parse("--json --json"), none = parse("--check");
    g_auto(Line) metrics = parse("--probe 172.16.34.1 --prometheus"), of_check = parse("--prometheus --check");

    (void)state;
    check_parsed(&json, "--json");
    check_parsed(&twice, "--json --json");
    check_parsed(&metrics, "--probe --prometheus");
    check_parsed(&of_check, "--prometheus --check");
    assert_true(json.options.json && !json.options.prometheus && twice.options.json);
    assert_true(metrics.options.prometheus && !metrics.options.json && of_check.options.prometheus);
    assert_false(none.options.json || none.options.prometheus);
    REFUSED("--prometheus", "--prometheus", "--check", "--probe"); /* --show */
    REFUSED("--plan --prometheus", "--prometheus", "--check", "--probe");
    REFUSED("--check --json --prometheus", "--json", "--prometheus");
}

/* The last one counts. */
static void test_values(void **state)
{
    g_auto(Line) line = parse("--config /a --config=/b --sysfs x --sysfs /tree --verbose");
    g_auto(Line) quiet = parse("--quiet");

    (void)state;
    check_parsed(&line, "values");
    assert_string_equal(line.options.config, "/b");
    assert_string_equal(line.options.sysfs, "/tree");
    assert_true(line.options.verbose);
    assert_false(line.options.quiet);
    check_parsed(&quiet, "--quiet");
    assert_true(quiet.options.quiet);
}

/* Not even what only one option begins with: a later version may have another one. */
static void test_abbreviations(void **state)
{
    (void)state;
    REFUSED("--und", "--und");
    REFUSED("--appl", "--appl");
    REFUSED("--che --iface ib0", "--che");
    REFUSED("--if ib0", "--if");
    REFUSED("--if=ib0", "--if");
    REFUSED("--check --js", "--js");
    REFUSED("--c", "--c");
    REFUSED("--con /x", "--con");
    REFUSED("--ver", "--ver");
    REFUSED("--wat", "--wat");
    REFUSED("--plan --undo=", "--undo");
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

static void test_unknown(void **state)
{
    (void)state;
    REFUSED("--bogus", "--bogus", "--help");
    REFUSED("--bogus=3", "--bogus");
    REFUSED("--iface ib0 --checks", "--checks");
    REFUSED("-x", "-x");
    REFUSED("-hh", "-hh");
    REFUSED("--json=yes", "--json");
    REFUSED("--check=ib0", "--check");
    REFUSED("--quiet=", "--quiet");
}

static void test_words(void **state)
{
    (void)state;
    REFUSED("ib0", "ib0");
    REFUSED("--check ib0", "ib0");
    REFUSED("check", "check", "ib-hook --check");
    REFUSED("-", "-");
    REFUSED("--check -- --json", "--json");
    REFUSED("''", "\"\"");
}

/* After a cluster of short options that was given up half-way, the next line is read from its beginning. */
static void test_no_memory(void **state)
{
    (void)state;
    REFUSED("-xyz", "-xyz");
    for (int i = 0; i < 2; i++) {
        g_auto(Line) line = parse("--check --json");

        check_parsed(&line, "--check --json");
        assert_int_equal(line.options.action, IBH_ACTION_CHECK);
    }
}

static void test_missing_arguments(void **state)
{
    (void)state;
    REFUSED("--iface", "--iface", "argument");
    REFUSED("--config", "--config", "argument");
    REFUSED("--sysfs", "--sysfs", "argument");
    REFUSED("--config ''", "--config", "path");
    REFUSED("--config=", "--config", "path");
    REFUSED("--sysfs=", "--sysfs", "path");
}

static void test_contradictions(void **state)
{
    (void)state;
    REFUSED("--apply --undo", "two actions");
    REFUSED("--check --show", "two actions");
    REFUSED("--show --plan", "two actions");
    REFUSED("--undo --version", "two actions");
    REFUSED("--quiet --verbose", "--quiet", "--verbose");
    REFUSED("--verbose --check --quiet", "--quiet", "--verbose");
}

static void test_render(void **state)
{
    g_auto(Line) line = parse("--render networkd --iface ib0");

    (void)state;
    check_parsed(&line, "--render networkd");
    assert_int_equal(line.options.action, IBH_ACTION_RENDER);
    assert_string_equal(line.options.render, "networkd");
    REFUSED("--render", "--render", "argument");
    REFUSED("--render yaml", "--render yaml", "one of netplan");
    REFUSED("--render networkd --apply", "two actions");
    REFUSED("--render networkd --render netplan", "two formats");
    REFUSED("--render networkd --json", "--render");
}

static void test_probe(void **state)
{
    static const char *const GOOD[] = {"--probe 172.16.34.1 fd00::34:2 --count 7 --rdma --json",
                                       "--json --count=7 --probe --rdma 172.16.34.1 fd00::34:2",
                                       "--probe 172.16.34.1 --count 7 --rdma --json -- fd00::34:2",
                                       "--probe 172.16.34.1 --json --probe fd00::34:2 --count 7 --rdma"};
    char ip[IBH_IP_STRLEN];

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(GOOD); i++) {
        g_auto(Line) line = parse(GOOD[i]);

        check_parsed(&line, GOOD[i]);
        assert_int_equal(line.options.action, IBH_ACTION_PROBE);
        assert_int_equal(line.options.probe.peers->len, 2);
        assert_string_equal(ibh_ip_format(&g_array_index(line.options.probe.peers, IbhIp, 0), ip), "172.16.34.1");
        assert_string_equal(ibh_ip_format(&g_array_index(line.options.probe.peers, IbhIp, 1), ip), "fd00::34:2");
        assert_int_equal(line.options.probe.count, 7);
        assert_true(line.options.probe.rdma);
        assert_true(line.options.json);
    }
}

static void test_probe_defaults(void **state)
{
    g_auto(Line) line = parse("--probe 10.0.0.1");

    (void)state;
    check_parsed(&line, "--probe");
    assert_int_equal(line.options.probe.count, 3);
    assert_false(line.options.probe.rdma);
}

static void test_probe_refused(void **state)
{
    static const char *const NO_PEERS[] = {"0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255", "169.254.1.1",
                                           "::",      "::1",       "ff02::1",   "fe80::1"};

    (void)state;
    REFUSED("--probe", "--probe", "peers");
    REFUSED("--probe --json", "--probe", "peers");
    REFUSED("10.0.0.1 --probe 10.0.0.2", "10.0.0.1", "no option");
    REFUSED("--check 10.0.0.1", "10.0.0.1", "no option");
    REFUSED("--probe node17", "node17", "address", "getent");
    REFUSED("--probe 10.0.0.1/24", "10.0.0.1/24", "address");
    REFUSED("--probe 10.0.0.1 -- 10.0.0.2 node17", "node17", "address");
    REFUSED("--probe 10.0.0.1 --check", "two actions");
    REFUSED("--probe 10.0.0.1 ''", "address");
    REFUSED("--probe 10.0.0.1 --count 0", "--count");
    REFUSED("--probe 10.0.0.1 --count 1001", "--count", "1000");
    REFUSED("--probe 10.0.0.1 --count 3x", "--count");
    REFUSED("--probe 10.0.0.1 --count", "--count", "argument");
    REFUSED("--check --count 3", "--count", "--probe");
    REFUSED("--check --rdma", "--rdma", "--probe");
    for (gsize i = 0; i < G_N_ELEMENTS(NO_PEERS); i++) {
        g_autofree char *words = g_strdup_printf("--probe 10.0.0.1 %s", NO_PEERS[i]);

        REFUSED(words, NO_PEERS[i], "peer");
    }
}

static void test_too_many_peers(void **state)
{
    g_autoptr(GString) words = g_string_new("--probe");

    (void)state;
    for (int i = 0; i < 10000; i++)
        g_string_append(words, " 10.0.0.1");
    {
        g_auto(Line) line = parse(words->str);

        assert_true(line.parsed);
    }
    g_string_append(words, " 10.0.0.1");
    REFUSED(words->str, "more than 10000 peers");
}

static void test_watch(void **state)
{
    g_auto(Line) line = parse("--watch --config /y --sysfs /x");

    (void)state;
    check_parsed(&line, "--watch");
    assert_int_equal(line.options.action, IBH_ACTION_WATCH);
    REFUSED("--watch --iface ib0", "--watch", "all interfaces");
    REFUSED("--watch=5", "--watch=5");
    REFUSED("--watch --apply", "two actions");
}

static void test_gone(void **state)
{
    static const char *const GONE[] = {"--family", "--interval", "--timeout", "--color",
                                       "--format", "--capture",  "--install"};

    (void)state;
    IBH_EACH_ROW (const char *const, name, GONE)
        REFUSED(*name, *name, "no such option");
}

static void test_impossible_names(void **state)
{
    static const char *const NAMES[] = {
        "", ".", "..", "a/b", "../../etc/passwd", "ib0:1", "sixteen-bytes-ab", "a\nb", "a\tb", "a b", "\r", "ib0\v"};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(NAMES); i++) {
        g_auto(Line) line = {0};

        line.argv = g_new0(char *, 4);
        line.argv[0] = g_strdup("ib-hook");
        line.argv[1] = g_strdup("--iface");
        line.argv[2] = g_strdup(NAMES[i]);
        parse_argv(&line);
        check_refused(&line, NAMES[i], (const char *const[]){"--iface", "name", NULL});
    }
}

static void test_unusual_names(void **state)
{
    static const char *const NAMES[] = {"a", "fifteen-bytes-a", "-x", "--json", "...", "a\\b", "\xff", "a\"'$(id)"};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(NAMES); i++) {
        g_auto(Line) line = {0};

        line.argv = g_new0(char *, 4);
        line.argv[0] = g_strdup("ib-hook");
        line.argv[1] = g_strdup("--iface");
        line.argv[2] = g_strdup(NAMES[i]);
        parse_argv(&line);
        check_parsed(&line, NAMES[i]);
        assert_string_equal(ibh_options_only(&line.options)[0], NAMES[i]);
        assert_false(line.options.json);
    }
}

/* ---- errors -------------------------------------------------------------------------------------------- */

/* Whatever was typed, an error is one short line of ASCII. */
static void check_clean(const char *words)
{
    g_auto(Line) line = parse(words);

    assert_false(line.parsed);
    assert_in_range(strlen(line.error->message), 10, 200);
    for (const char *at = line.error->message; *at; at++) {
        if (*at < 0x20 || *at == 0x7f)
            fail_msg("a control character in the error of a hostile word");
    }
}

static void test_hostile_words(void **state)
{
    static const char HOSTILE[] = "\033[31m\n\a\xff\xc2\x9b\"\\%s%n";
    static const char *const BEFORE[] = {"", "--", "-", "--iface ", "--check=", "--render="};
    g_autofree char *filler = g_strnfill(100000, 'x');

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(BEFORE); i++) {
        g_autofree char *words = g_strconcat(BEFORE[i], HOSTILE, NULL);
        g_autofree char *huge = g_strconcat(BEFORE[i], filler, NULL);

        check_clean(words);
        check_clean(huge);
    }
}

/* --json, wherever it stands, says how an error is to be told. */
static void test_json_of_errors(void **state)
{
    static const char *const YES[] = {"--json --bogus",           "--bogus --json",    "ib0 --json",
                                      "--apply --undo --json",    "--json --watch",    "--watch --json",
                                      "--quiet --verbose --json", "--iface a/b --json"};
    static const char *const NO[] = {"--bogus", "json", "--bogus --jso"};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(YES); i++) {
        g_auto(Line) line = parse(YES[i]);

        assert_false(line.parsed);
        if (!line.options.json)
            fail_msg("%s: the error is told as text", YES[i]);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(NO); i++) {
        g_auto(Line) line = parse(NO[i]);

        assert_false(line.parsed);
        assert_false(line.options.json);
    }
}

/* ---- the rest ------------------------------------------------------------------------------------------ */

static void test_no_words_at_all(void **state)
{
    Line line = {0};

    (void)state;
    line.argv = g_new0(char *, 1);
    parse_argv(&line);
    assert_true(line.parsed);
    assert_int_equal(line.options.action, IBH_ACTION_SHOW);
    clear(&line);
    clear(&(Line){0}); /* nothing to free */
}

/* The help names every option there is, in lines that fit on a terminal. */
static void test_help(void **state)
{
    static const char *const NAMES[] = {"--show",    "--check", "--plan",  "--apply",      "--undo",   "--version",
                                        "--help",    "--iface", "--json",  "--prometheus", "--config", "--sysfs",
                                        "--verbose", "--quiet", "--count", "--rdma"};
    g_autofree char *help = ibh_options_help();
    g_auto(GStrv) lines = g_strsplit(help, "\n", -1);

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(NAMES); i++) {
        if (!strstr(help, NAMES[i]))
            fail_msg("the help says nothing of %s", NAMES[i]);
    }
    for (char **line = lines; *line; line++)
        assert_in_range(strlen(*line), 0, 80);
    assert_true(g_str_has_suffix(help, "\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_actions),
        cmocka_unit_test(test_ifaces),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_abbreviations),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_missing_arguments),
        cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_probe_defaults),
        cmocka_unit_test(test_probe_refused),
        cmocka_unit_test(test_too_many_peers),
        cmocka_unit_test(test_watch),
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_render),
        cmocka_unit_test(test_impossible_names),
        cmocka_unit_test(test_unusual_names),
        cmocka_unit_test(test_hostile_words),
        cmocka_unit_test(test_json_of_errors),
        cmocka_unit_test(test_no_words_at_all),
        cmocka_unit_test(test_help),
    };

    g_log_set_always_fatal((GLogLevelFlags)(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
