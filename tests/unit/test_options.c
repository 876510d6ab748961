/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/cli.h"

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

static Line parse_iface(const char *name)
{
    Line line = {0};

    line.argv = g_new0(char *, 4);
    line.argv[0] = g_strdup("ib-hook");
    line.argv[1] = g_strdup("--iface");
    line.argv[2] = g_strdup(name);
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

/* ---- what is taken ------------------------------------------------------------------------------------- */

/* "ACTION json prometheus verbose quiet rdma config=… sysfs=… render=… confirm=… count=… ib0 ib1 PEER…", what is set */
static char *describe(const IbhOptions *options)
{
    static const char *const actions[] = {"show",   "check", "plan",  "apply",   "undo", "confirm",
                                          "render", "watch", "probe", "version", "help"};
    GString *text = g_string_new(actions[options->action]);
    char ip[IBH_IP_STRLEN];

    g_string_append(text, options->json ? " json" : "");
    g_string_append(text, options->prometheus ? " prometheus" : "");
    g_string_append(text, options->style.verbose ? " verbose" : "");
    g_string_append(text, options->style.quiet ? " quiet" : "");
    g_string_append(text, options->probe.rdma ? " rdma" : "");
    if (options->config)
        g_string_append_printf(text, " config=%s", options->config);
    if (!g_str_equal(options->sysfs, "/sys"))
        g_string_append_printf(text, " sysfs=%s", options->sysfs);
    if (options->render)
        g_string_append_printf(text, " render=%s", options->render);
    if (options->confirm)
        g_string_append_printf(text, " confirm=%d", options->confirm);
    if (options->probe.count != 3)
        g_string_append_printf(text, " count=%d", options->probe.count);
    for (char **name = options->ifaces; name && *name; name++)
        g_string_append_printf(text, " %s", *name);
    IBH_EACH (const IbhIp, peer, options->probe.peers)
        g_string_append_printf(text, " %s", ibh_ip_format(peer, ip));
    IBH_EACH_POINTER (const char, name, options->names)
        g_string_append_printf(text, " %s?", name);
    return g_string_free(text, FALSE);
}

static void test_taken(void **state)
{
    static const struct {
        const char *words, *meaning;
    } lines[] = {
        {"", "show"},
        {"--check", "check"},
        {"--apply", "apply"},
        {"--undo --undo", "undo"},
        {"--version", "version"},
        {"--help", "help"},
        {"-h", "help"},
        {"-V", "version"},
        {"--check -j -v -i ib1 -i ib0", "check json verbose ib1 ib0"},
        {"-jv --check", "check json verbose"},
        {"-iib0 -ji ib1 -jviib2 -i-", "show json verbose ib0 ib1 ib2 -"},
        {"-q", "show quiet"},
        {"--probe 10.0.0.1 node17 n-1.cluster_a", "probe 10.0.0.1 node17? n-1.cluster_a?"},
        {"--check --", "check"},
        {"--quiet --apply --json", "apply json quiet"},
        {"--apply --confirm 60", "apply confirm=60"},
        {"--confirm", "confirm"},
        {"--confirm --json", "confirm json"},
        {"--iface ib1 --check --iface=ib0.8002 --iface ib1", "check ib1 ib0.8002 ib1"},
        {"--config /a --config=/b --sysfs x --sysfs /tree --verbose", "show verbose config=/b sysfs=/tree"},
        {"--render networkd --iface ib0", "render render=networkd ib0"},
        {"--watch --config /y --sysfs /x", "watch config=/y sysfs=/x"},
        {"--probe 172.16.34.1 --prometheus", "probe prometheus 172.16.34.1"},
        {"--probe 169.254.1.1", "probe 169.254.1.1"},
        {"--probe 172.16.34.1 fd00::34:2 --count 7 --rdma --json", "probe json rdma count=7 172.16.34.1 fd00::34:2"},
        {"--probe 10.0.0.1 --count 7 --rdma -- fd00::2", "probe rdma count=7 10.0.0.1 fd00::2"},
        {"--probe 10.0.0.1 --probe fd00::2", "probe 10.0.0.1 fd00::2"},
    };

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_auto(Line) line = parse(lines[i].words);
        g_autofree char *meaning = NULL;

        if (!line.parsed)
            fail_msg("%s: %s", lines[i].words, line.error->message);
        meaning = describe(&line.options);
        assert_string_equal(meaning, lines[i].meaning);
    }
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

static void check_refused(const Line *line, const char *words, const char *part)
{
    if (line->parsed)
        fail_msg("%s: taken", words);
    assert_true(line->error->domain == G_OPTION_ERROR);
    if (!strstr(line->error->message, part))
        fail_msg("%s: no “%s” in “%s”", words, part, line->error->message);
}

static void test_refused(void **state)
{
    static const struct {
        const char *words, *part; /* of the error */
    } lines[] = {
        {"--bogus", "--bogus"},
        {"-x", "-x"},
        {"--json=yes", "--json"},
        /* Not even what only one option begins with: a later version may have another one. */
        {"--und", "--und"},
        {"--if=ib0", "--if"},
        {"check", "unknown option \"check\"; did you mean --check?"},
        {"chekc", "did you mean --check?"},
        {"--chekc", "unknown option --chekc; did you mean --check?"},
        {"--interface=ib0", "unknown option --interface=ib0; ib-hook --help"},
        {"--iface ib0 ib1", "\"ib1\" is no option; if it is a NIC, write --iface ib1 (--iface once for each NIC)"},
        {"--render networkd ib1",
         "\"ib1\" is no option; if it is a NIC, write --iface ib1 (--iface once for each NIC)"},
        {"--watch ib1", "\"ib1\" is no option; ib-hook --help lists all"},
        {"a/b", "\"a/b\" is no option; ib-hook --help lists all"},
        {"--check 172.16.16.1", "\"172.16.16.1\" is no option; if it is a peer, write --probe 172.16.16.1"},
        {"-x", "unknown option -x; ib-hook --help lists all"},
        {"-jxv", "unknown option -jxv; ib-hook --help lists all"},
        {"-json", "unknown option -json; did you mean --json?"},
        {"-", "unknown option -; ib-hook --help lists all"},
        {"-qv", "--verbose and --quiet"},
        {"-i", "--iface needs a value: --iface NAME"},
        {"-ji", "--iface needs a value: --iface NAME"},
        {"-ia/b", "--iface a/b: no interface can have this name"},
        {"--check -- --json", "--json"},
        {"''", "\"\""},
        {"--iface", "--iface"},
        {"--config ''", "want a path"},
        {"--sysfs=", "want a path"},
        {"--apply --undo", "one action in each call"},
        {"--quiet --verbose", "--verbose and --quiet"},
        {"--check --json --prometheus", "--json and --prometheus"},
        {"--prometheus", "--prometheus does not go with --show"},
        {"--watch --iface ib0", "--iface does not go with --watch"},
        {"--render", "--render needs a format: one of netplan, networkd"},
        {"--render yaml", "--render yaml: unknown format; formats: netplan"},
        {"--render networkd --apply", "one action in each call"},
        {"--render networkd --json", "--json does not go with --render"},
        {"--apply --confirm 0", "--confirm 0: a number from 1 to 86400"},
        {"--apply --confirm", "needs SECONDS"},
        {"--check --confirm 3", "--confirm does not go with --check"},
        {"--probe", "--probe needs the addresses or names of peers"},
        {"--probe 10.0.0.1 -- 10.0.0.2 node/17", "--probe \"node/17\": an address or a host name is wanted"},
        {"--probe 10.0.0.1 ''", "an address or a host name is wanted"},
        {"--probe 172.16.34.999", "an address or a host name is wanted"},
        {"--probe fd00::34::1", "an address or a host name is wanted"},
        {"--probe 10.0.0.1 --count 0", "a number from 1 to 1000"},
        {"--probe 10.0.0.1 --count 1001", "a number from 1 to 1000"},
        {"--probe 10.0.0.1 --count 3x", "a number from 1 to 1000"},
        {"--check --count 3", "--count does not go with --check"},
        {"--probe 127.0.0.1", "a peer needs a unicast address"},
        {"--probe 224.0.0.1", "a peer needs a unicast address"},
        {"--probe fe80::1", "a peer needs a unicast address"},
    };

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_auto(Line) line = parse(lines[i].words);

        check_refused(&line, lines[i].words, lines[i].part);
    }
}

static void test_too_many_peers(void **state)
{
    g_autoptr(GString) words = g_string_new("--probe");

    (void)state;
    for (int i = 0; i < 10000; i++)
        g_string_append(words, " 10.0.0.1");
    g_auto(Line) most = parse(words->str);
    g_auto(Line) more = parse(g_string_append(words, " 10.0.0.1")->str);

    assert_true(most.parsed);
    check_refused(&more, "10001 peers", "10000 at most");
}

static void test_names(void **state)
{
    static const char *const impossible[] = {
        "", ".", "..", "a/b", "../../etc/passwd", "ib0:1", "sixteen-bytes-ab", "a\nb", "a\tb", "a b", "\r", "ib0\v"};
    static const char *const unusual[] = {"a", "fifteen-bytes-a", "-x", "--json", "...", "a\\b", "\xff", "a\"'$(id)"};

    (void)state;
    IBH_EACH_ROW (const char *const, name, impossible) {
        g_auto(Line) line = parse_iface(*name);

        check_refused(&line, *name, "no interface can have this name");
    }
    IBH_EACH_ROW (const char *const, name, unusual) {
        g_auto(Line) line = parse_iface(*name);

        assert_true(line.parsed && !line.options.json);
        assert_string_equal(line.options.ifaces[0], *name);
    }
}

/* --json, wherever it stands, says how an error is to be told. */
static void test_json_of_errors(void **state)
{
    static const char *const yes[] = {"--json --bogus",        "--bogus --json",     "ib0 --json",
                                      "--apply --undo --json", "--iface a/b --json", "--bogus -vj"};
    static const char *const no[] = {"--bogus", "json", "--bogus --jso", "--bogus --iface --json", "--bogus -ij"};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(yes) + G_N_ELEMENTS(no); i++) {
        g_auto(Line) line = parse(i < G_N_ELEMENTS(yes) ? yes[i] : no[i - G_N_ELEMENTS(yes)]);

        assert_false(line.parsed);
        assert_int_equal(line.options.json, i < G_N_ELEMENTS(yes));
    }
}

static void test_no_words_at_all(void **state)
{
    g_auto(Line) line = {0};

    (void)state;
    line.argv = g_new0(char *, 1);
    parse_argv(&line);
    assert_true(line.parsed);
    assert_int_equal(line.options.action, IBH_ACTION_SHOW);
    clear(&(Line){0}); /* nothing to free */
}

/* The help names every option there is, in lines that fit on a terminal. */
static void test_help(void **state)
{
    static const char *const names[] = {"show",  "check",   "plan",  "apply", "undo", "probe",      "render",
                                        "watch", "version", "help",  "iface", "json", "prometheus", "config",
                                        "sysfs", "verbose", "quiet", "count", "rdma", "confirm"};
    g_autoptr(GString) help = g_string_new(NULL);
    g_auto(GStrv) lines = NULL;

    (void)state;
    ibh_options_help(help);
    lines = g_strsplit(help->str, "\n", -1);
    IBH_EACH_ROW (const char *const, name, names) {
        g_autofree char *option = g_strdup_printf(" --%s", *name);

        if (!strstr(help->str, option))
            fail_msg("the help says nothing of --%s", *name);
    }
    for (char **line = lines; *line; line++)
        assert_in_range(strlen(*line), 0, 80);
    assert_true(g_str_has_suffix(help->str, "\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken), cmocka_unit_test(test_refused),        cmocka_unit_test(test_too_many_peers),
        cmocka_unit_test(test_names), cmocka_unit_test(test_json_of_errors), cmocka_unit_test(test_no_words_at_all),
        cmocka_unit_test(test_help),
    };

    g_log_set_always_fatal((GLogLevelFlags)(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
