/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One test per file in render/: NAME.case is a host, NAME.FORMAT what is rendered of it, from the first empty line on
 * (what stands before explains the format). IBH_WRITE=1 writes these files anew. The format of cases is in case_text.h.
 */
#include "case_text.h"
#include "render/render.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CASES IBH_TESTS "/unit/render"

static char *read_file(const char *name, const char *suffix)
{
    g_autofree char *file = g_strdup_printf("%s/%s.%s", CASES, name, suffix);
    g_autoptr(GError) error = NULL;
    char *text = NULL;

    if (!g_file_get_contents(file, &text, NULL, &error))
        fail_msg("%s", error->message);
    return text;
}

typedef struct {
    const char *format, *text; /* of the case */
    IbhManager managers[2];    /* those that have a name */
} Request;

static char *render(const Request *request)
{
    g_autoptr(GError) local = NULL;
    g_autoptr(IbhCase) cas = ibh_case_parse("case", request->text, &local);
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(IbhRails) rails = NULL;

    if (!cas || !ibh_config_add(config, "config", cas->config->str, cas->config->len, NULL, TRUE, &local))
        fail_msg("%s", local->message);
    fake_snapshot_add_main(cas->snapshot->routes, cas->snapshot, config);
    for (int i = 0; i < 2; i++) {
        if (rails)
            ibh_render_forget_former(rails, cas->snapshot);
        g_clear_pointer(&rails, ibh_rails_free);
        if (!(rails =
                  ibh_rails_find(config, cas->snapshot, &(IbhRequest){.respects_holds = cas->respect_holds}, &local)))
            fail_msg("%s", local->message);
    }
    for (guint i = 0; i < G_N_ELEMENTS(request->managers); i++) {
        IbhManager manager = request->managers[i];

        manager.connection = g_strdup(manager.connection); /* the facts' */
        if (manager.name)
            g_array_append_val(cas->facts->managers, manager);
    }
    rails->only = ibh_case_only(cas);
    return ibh_render(request->format, rails, cas->facts, NULL);
}

static const char *body(const char *text)
{
    const char *empty = strstr(text, "\n\n");

    assert_non_null(empty);
    for (const char *line = text; line < empty; line = strchr(line, '\n') + 1)
        assert_int_equal(*line, '#');
    return empty + 2;
}

static void test_file(void **state)
{
    const char *file = *state, *dot = strrchr(file, '.');
    g_autofree char *name = g_strndup(file, (gsize)(dot - file));
    g_autofree char *expected = read_file(name, dot + 1);
    g_autofree char *text = read_file(name, "case");
    const Request request = {.format = dot + 1, .text = text};
    g_autofree char *got = render(&request);

    assert_true(ibh_render_knows(dot + 1));
    if (g_getenv("IBH_WRITE")) {
        g_autofree char *path = g_strdup_printf("%s/%s", CASES, file);

        g_file_set_contents(path, body(got), -1, NULL);
    } else if (!g_str_equal(expected, body(got))) {
        g_printerr("%s: expected:\n%s\ngot:\n%s\n", file, expected, body(got));
        fail();
    }
}

/* netplan's files are networkd's, in directories of other names. */
static void test_netplan(void **state)
{
    g_autofree char *text = read_file("everything", "case"), *files = read_file("everything", "networkd");
    g_auto(GStrv) parts = g_strsplit(files, "/network/", -1);
    g_autofree char *expected = g_strjoinv("/network/10-netplan-", parts);
    const Request request = {.format = "netplan", .text = text};
    g_autofree char *got = render(&request);

    (void)state;
    assert_string_equal(body(got), expected);
}

static const char two_rails[] = "# Two rails\n"
                                "nic ib0 infiniband\n"
                                "nic ib1 infiniband\n"
                                "ip address add 172.16.34.1/16 dev ib0\n"
                                "ip address add 172.16.34.2/16 dev ib1\n";

static void expect(const Request *request, const char *part)
{
    g_autofree char *got = render(request);

    if (!strstr(got, part))
        fail_msg("%s: there is no “%s” in\n%s", request->format, part, got);
}

static void expect_not(const Request *request, const char *part)
{
    g_autofree char *got = render(request);

    if (strstr(got, part))
        fail_msg("%s: there is “%s” in\n%s", request->format, part, got);
}

/* The files are those of the manager that is there. */
static void test_managers(void **state)
{
    char storage[] = "storage", network[] = "10-x.network";
    Request request = {.text = two_rails,
                       .managers = {{.ifindex = 2, .name = "netplan", .connection = storage},
                                    {.ifindex = 3, .name = "systemd-networkd", .connection = network}}};

    (void)state;
    request.format = "netplan";
    expect(&request, "\n# /etc/systemd/network/10-netplan-storage.network.d/ib-hook.conf\n");
    expect(&request, "\n# /etc/systemd/network/10-netplan-ib1.network.d/ib-hook.conf\n");
    request.format = "networkd";
    expect(&request, "\n# /etc/systemd/network/10-netplan-storage.network.d/ib-hook.conf\n");
    expect(&request, "\n# /etc/systemd/network/10-x.network.d/ib-hook.conf\n");
    request.managers[0] = request.managers[1];
    request.managers[0].ifindex = 2;
    expect(&request, "\n# /etc/systemd/network/ib0.network.d/ib-hook.conf\n");
    expect_not(&request, "10-x");
    request.format = "nmcli";
    expect(&request, "modify ib0 ");
    request.managers[0].name = request.managers[1].name = "NetworkManager";
    expect(&request, "modify ib0 "); /* the connection is both NICs' */
    request.managers[0].connection = (char[]){"it's"};
    expect(&request, "modify 'it'\\''s' +ipv4.routes");
}

/* What is missing, and why, is said; nothing of a name that would play with a terminal is. */
static void test_left_out(void **state)
{
    static const char *const formats[] = {"netplan", "networkd", "nmcli", "ifupdown", "ifcfg"};
    g_autofree char *down =
        g_strconcat(two_rails, "nic ib2 infiniband down\nip address add 172.16.34.3/16 dev ib2\n", NULL);
    g_autofree char *escape = g_strconcat(two_rails,
                                          "nic x\033[1m infiniband\nip address add 172.16.34.3/16 dev x\033[1m\n"
                                          "config [defaults] main=spread\n",
                                          NULL);
    g_autofree char *only = g_strconcat(two_rails, "do apply only ib1\n", NULL);
    g_autofree char *silent = g_strconcat(two_rails, "nic ib2 infiniband\n", NULL);

    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
        Request request = {.format = formats[i], .text = down};

        expect(&request, "# ib2 is down, so its routes are not known now");
        request.text = escape;
        expect(&request, "# Nothing of x?[1m is in this output: its name cannot stand in such a file\n");
        expect_not(&request, "\033");
        expect_not(&request, "No rail is in this output");
        expect(&request, "# Without main=spread");
        request.text = only;
        expect_not(&request, "ib0 ");
        request.text = silent; /* a NIC without an address has one value */
        expect(&request, "#   net/ipv4/conf/ib2/arp_ignore = 1\n");
        expect_not(&request, "ib2/rp_filter");
        request.text = "# Nobody\n";
        expect(&request, "# No rail is in this output.\n");
    }
}

/* A number that another NIC has, too, would not make ib-hook defer. */
static void test_tables(void **state)
{
    g_autofree char *text = g_strconcat(two_rails, "config [interface ib1] table=1941\n", NULL);
    const Request request = {.format = "rt_tables", .text = text};

    (void)state;
    expect(&request, "\n941 rail-ib0\n2941 default-ib0\n4941 native-ib0\n6941 native-default-ib0\n"
                     "\n1941 rail-ib1\n3941 default-ib1\n5941 native-ib1\n7941 native-default-ib1\n");
}

/* What these files do when they are in force, as lines of a case. */
static void put_in_force(GString *text, const char *files)
{
    g_auto(GStrv) lines = g_strsplit(files, "\n", -1);
    const char *version = "";

    for (char **line = lines; *line; line++) {
        if (g_str_has_prefix(*line, "# /"))
            version = strstr(*line, "6-") ? "-6 " : "";
        if (g_str_has_prefix(*line, "priority")) {
            g_auto(GStrv) words = g_strsplit(*line, " table ", -1);
            g_autofree char *rule = g_strjoinv(" lookup ", words);

            g_string_append_printf(text, "ip %srule add %s\n", version, rule);
        } else if (**line && **line != '#') {
            g_string_append_printf(text, "ip %sroute add %s\n", version, *line);
        }
    }
}

/* Once what is rendered of a host is in force, the same is rendered, also after a change, as if nothing were in force.
 */
static void test_again(void **state)
{
    static const struct {
        const char *before, *change;
    } rows[] = {
        {"", ""},
        {"", "ip address add 172.16.35.1/16 dev ib0\n"},
        {"", "ip address del 172.16.34.1/16 dev ib0\nip address add 172.16.35.1/16 dev ib0\n"},
        {"ip address add 10.1.0.1/24 dev ib0\nip route add default via 172.16.0.254 dev ib1 protocol static\n",
         "ip address add 172.17.0.1/20 dev ib1\n"},
        {"ip route add default via 172.16.0.254 dev ib0 protocol static\n", /* they are swapped */
         "ip address del 172.16.34.1/16 dev ib0\nip address del 172.16.34.2/16 dev ib1\n"
         "ip address add 172.16.34.2/16 dev ib0\nip address add 172.16.34.1/16 dev ib1\n"
         "ip route replace default via 172.16.0.254 dev ib0 protocol static\n"},
        {"ip rule add priority 500 from 10.0.0.34 lookup 1941\n", ""},
        {"", "ip rule add priority 500 fwmark 7 lookup 1941\n"}, /* another program comes */
        {"nic ib2 infiniband\nip address add 172.16.34.3/16 dev ib2\n", "ip link del ib0\n"},
        {"ip route add default via 172.16.0.254 dev ib1 protocol static\n", /* one that is sorted first comes */
         "nic ia0 infiniband\nip address add 172.16.34.9/16 dev ia0\n"},
        {NULL, ""},
    };
    g_autofree char *names = ibh_render_formats(), *everything = read_file("everything", "case");
    g_auto(GStrv) formats = g_strsplit(names, ", ", -1);

    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *before = rows[i].before ? g_strconcat(two_rails, rows[i].before, NULL) : g_strdup(everything);
        g_autofree char *after = g_strconcat(before, rows[i].change, NULL);
        g_autofree char *files = render(&(Request){.format = "ifcfg", .text = before});
        g_autoptr(GString) again = g_string_new(before);

        put_in_force(again, body(files));
        g_string_append(again, rows[i].change);
        for (char **format = formats; *format; format++) {
            g_autofree char *wanted = NULL, *got = NULL;

            if (g_str_equal(*format, "env"))
                continue;
            wanted = render(&(Request){.format = *format, .text = after});
            got = render(&(Request){.format = *format, .text = again->str});
            if (!g_str_equal(wanted, got))
                fail_msg("row %u, %s: expected:\n%s\ngot:\n%s", i, *format, wanted, got);
        }
    }
}

/* What others route is said; a table of theirs is not written. */
static void test_others(void **state)
{
    static const struct {
        const char *others, *part;
    } rows[] = {
        {"ip rule add priority 100 from 172.16.34.1 lookup 200\nip route add 172.16.0.0/16 dev ib0 table 200\n",
         "\n# Without 172.16.34.1: rule 100 (from 172.16.34.1/32 lookup 200) routes it.\n"},
        /* of a script that gives no priority: the kernel counts down from main's */
        {"ip rule add priority 32765 from 172.16.34.1 lookup 200\nip route add 172.16.0.0/16 dev ib0 table 200\n",
         "\n# Without 172.16.34.1: rule 32765 (from 172.16.34.1/32 lookup 200) routes it.\n"},
        {"ip rule add priority 32764 from 172.16.34.1 lookup 200\nip route add 172.16.0.0/16 dev ib0 table 200\n",
         "\n# Without 172.16.34.1: rule 32764 (from 172.16.34.1/32 lookup 200) routes it.\n"},
        {"", "priority 1941 from 172.16.34.1 to 172.16.0.0/16 table 1941\n"},
        {"ip rule add priority 500 from 10.0.0.34 lookup 1941\n",
         "priority 1941 from 172.16.34.1 to 172.16.0.0/16 table 3941\n"},
        {"ip rule add priority 500 fwmark 7 lookup 3942\n",
         "priority 1941 from 172.16.34.1 to 172.16.0.0/16 table 4941\n"},
        {"ip rule add priority 500 from 172.16.34.1 to 10.0.0.0/8 lookup 1941\n",
         "priority 1941 from 172.16.34.1 to 172.16.0.0/16 table 3941\n"},
        {"ip rule add priority 1941 from 172.16.34.1 lookup 1941\n",
         "priority 1941 from 172.16.34.1 to 172.16.0.0/16 table 1941\n"},
        {"ip rule add priority 1941 from 172.16.34.9 lookup 1941\n",
         "priority 1941 from 172.16.34.1 to 172.16.0.0/16 table 1941\n"},
        {"ip rule add priority 1000 from 172.16.34.9 lookup 1941\n",
         "priority 1941 from 172.16.34.1 to 172.16.0.0/16 table 3941\n"},
        {"ip route add 10.0.0.0/8 dev ib0 table 1941\n",
         "priority 1941 from 172.16.34.1 to 172.16.0.0/16 table 1941\n"},
        {"ip route add 10.0.0.0/8 dev ib1 table 1941\n",
         "priority 1941 from 172.16.34.1 to 172.16.0.0/16 table 3941\n"},
        {"ip route add throw 10.0.0.0/8 table 3941\n", "priority 1941 from 172.16.34.1 to 172.16.0.0/16 table 4941\n"},
    };

    (void)state;
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = g_strconcat(two_rails, rows[i].others, NULL);

        expect(&(Request){.format = "ifcfg", .text = text}, rows[i].part);
    }
}

static void test_formats(void **state)
{
    g_autofree char *text = ibh_render_formats();
    g_auto(GStrv) formats = g_strsplit(text, ", ", -1);

    (void)state;
    for (char **format = formats; *format; format++) {
        g_autofree char *file = g_strdup_printf("%s/everything.%s", CASES, *format);

        /* test_netplan(); netns/test-render-env.sh */
        if (!g_str_equal(*format, "netplan") && !g_str_equal(*format, "env") && !g_file_test(file, G_FILE_TEST_EXISTS))
            fail_msg("there is no %s", file);
    }
    assert_false(ibh_render_knows("netpla"));
    assert_false(ibh_render_knows(""));
}

static int by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static GPtrArray *find_files(void)
{
    GPtrArray *files = g_ptr_array_new_with_free_func(g_free);
    const char *only = g_getenv("IBH_CASE");
    g_autoptr(GDir) directory = g_dir_open(CASES, 0, NULL);
    const char *file;

    while (directory && (file = g_dir_read_name(directory))) {
        if (!g_str_has_suffix(file, ".case") && (!only || g_str_equal(file, only)))
            g_ptr_array_add(files, g_strdup(file));
    }
    g_ptr_array_sort(files, by_name);
    return files;
}

int main(void)
{
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(test_formats),  cmocka_unit_test(test_netplan), cmocka_unit_test(test_managers),
        cmocka_unit_test(test_left_out), cmocka_unit_test(test_tables),  cmocka_unit_test(test_again),
        cmocka_unit_test(test_others),
    };
    g_autoptr(GPtrArray) files = find_files();
    g_autofree struct CMUnitTest *tests = g_new0(struct CMUnitTest, files->len + G_N_ELEMENTS(others));

    if (!files->len) {
        g_printerr("nothing in %s\n", CASES);
        return EXIT_FAILURE;
    }
    for (guint i = 0; i < files->len; i++) {
        char *file = g_ptr_array_index(files, i);

        tests[i] = (struct CMUnitTest){file, test_file, NULL, NULL, file};
    }
    memcpy(tests + files->len, others, sizeof others);
    return _cmocka_run_group_tests("render", tests, files->len + G_N_ELEMENTS(others), NULL, NULL);
}
