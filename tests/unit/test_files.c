/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiled together with what it tests: the same files, below another directory than /. Files that are refused:
 * netns/test-hostile-configuration.sh.
 */
#define IBH_ROOT "." /* each test works in a directory of its own */

#include "late.h"

#include "check/in_force.h"
#include "host/files.c"
#include "host/tree.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "temp_tree.h"

#include <glib/gstdio.h>

/* ---- set-up: a tree of files of its own for every test ------------------------------------------------ */

static char *root, *before;

static int set_up(void **state)
{
    (void)state;
    umask(022);
    root = g_dir_make_tmp("ib-hook-files-XXXXXX", NULL);
    n_opened = 0;
    before = g_get_current_dir();
    return root == NULL || chdir(root) != 0 ||
           chmod(root, 0755) != 0; /* lines are quoted from files that everybody may read */
}

static int tear_down(void **state)
{
    int result = chdir(before);

    (void)state;
    remove_tree(root);
    g_clear_pointer(&root, g_free);
    g_clear_pointer(&before, g_free);
    return result;
}

static char *at(const char *path)
{
    return g_strconcat(IBH_ROOT, path, NULL);
}

static void make_parents(const char *path)
{
    g_autofree char *parent = g_path_get_dirname(path);

    assert_int_equal(g_mkdir_with_parents(parent, 0755), 0);
}

static void put(const char *path, const char *text)
{
    g_autofree char *full = at(path);

    make_parents(full);
    assert_true(g_file_set_contents(full, text, -1, NULL));
    assert_int_equal(chmod(full, 0644), 0);
}

static void put_link(const char *path, const char *target)
{
    g_autofree char *full = at(path);

    make_parents(full);
    assert_int_equal(symlink(target, full), 0);
}

static void put_directory(const char *path)
{
    g_autofree char *full = at(path);

    assert_int_equal(g_mkdir_with_parents(full, 0755), 0);
}

static void change_mode(const char *path, mode_t mode)
{
    g_autofree char *full = at(path);

    assert_int_equal(chmod(full, mode), 0);
}

/* ---- one file -------------------------------------------------------------------------------------- */

static void assert_reads(const char *path, const char *expected)
{
    g_autofree char *full = at(path);
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) text = ibh_file_read(full, NULL, &error);

    if (!text)
        fail_msg("%s", error->message);
    assert_string_equal(text->str, expected);
    assert_int_equal(text->len, strlen(expected));
}

#define UNREADABLE(why) "cannot be read: " why "; repair or remove it"

static void test_reads(void **state)
{
    g_autofree char *large = g_strnfill(FILE_MAX, 'x');

    (void)state;
    put("/empty", "");
    put("/file", "a\nb");
    put("/large", large);
    put_link("/link", "file");
    assert_reads("/empty", "");
    assert_reads("/file", "a\nb");
    assert_reads("/link", "a\nb");
    assert_reads("/large", large);
    change_mode("/file", 0400);
    assert_reads("/file", "a\nb");
}

static void swap_file(void)
{
    assert_int_equal(rename("other", "file"), 0);
}

/* What is opened is what was looked at, whatever its name leads to by then. */
static void test_reads_what_was_looked_at(void **state)
{
    (void)state;
    put("/file", "a\nb");
    put("/other", "secret");
    late = swap_file;
    assert_reads("/file", "a\nb");
    assert_null(late);
    assert_reads("/file", "secret");
}

/* ---- the configuration ------------------------------------------------------------------------------- */

static IbhConfig *load(const char *file)
{
    g_autofree char *full = file != NULL ? at(file) : NULL;
    g_autoptr(GError) error = NULL;
    IbhConfig *config = ibh_config_load(full, &error);

    if (config == NULL)
        fail_msg("%s", error->message);
    assert_null(error);
    return config;
}

/* `why` is what follows the root in the message. */
static void assert_no_config(const char *file, const char *why)
{
    g_autofree char *full = file != NULL ? at(file) : NULL;
    g_autofree char *expected = at(why);
    g_auto(GStrv) parts = g_strsplit(expected, "%s", -1);
    g_autofree char *filled = g_strjoinv(IBH_ROOT, parts);
    g_autoptr(GError) error = NULL;

    assert_null(ibh_config_load(full, &error));
    assert_true(g_error_matches(error, IBH_CONFIG_ERROR, 0));
    assert_string_equal(error->message, filled);
}

static void assert_table(const char *iface, guint32 table)
{
    g_autoptr(IbhConfig) config = load(NULL);

    assert_int_equal(ibh_config_settings(config, iface).table, table);
}

static void test_no_configuration(void **state)
{
    (void)state;
    assert_table("ib0", IBH_TABLE_AUTO);
    put_directory("/etc/ib-hook");
    assert_table("ib0", IBH_TABLE_AUTO);
    put_directory("/etc/ib-hook/conf.d");
    assert_table("ib0", IBH_TABLE_AUTO);
}

static void test_order(void **state)
{
    g_autoptr(IbhConfig) config = NULL;

    (void)state;
    put("/etc/ib-hook/ib-hook.conf", "[interface ib0]\ntable=100\nmanage=no\n[interface ib3]\ntable=103");
    put("/etc/ib-hook/conf.d/10-a.conf", "[interface ib1]\ntable=111\n[interface ib0]\ntable=110");
    put("/etc/ib-hook/conf.d/9.conf", "[interface ib1]\ntable=109\n");
    put("/etc/ib-hook/conf.d/B.conf", "[interface ib2]\ntable=112\n");
    put("/etc/ib-hook/conf.d/a.conf", "[interface ib2]\ntable=113\n");
    config = load(NULL);
    assert_int_equal(ibh_config_settings(config, "ib0").table, 110);
    assert_int_equal(ibh_config_settings(config, "ib0").manage, IBH_MANAGE_NO);
    assert_int_equal(ibh_config_settings(config, "ib1").table, 109);
    assert_int_equal(ibh_config_settings(config, "ib2").table, 113);
    assert_int_equal(ibh_config_settings(config, "ib3").table, 103);
}

static void test_passed_over(void **state)
{
    static const char *const NAMES[] = {".conf",    ".x.conf", "x.conf~", "x.conf.rpmnew", "x.conf.dpkg-old",
                                        "#x.conf#", "xconf",   "x.CONF",  "README"};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(NAMES); i++) {
        g_autofree char *path = g_strconcat("/etc/ib-hook/conf.d/", NAMES[i], NULL);
        put(path, "nonsense");
        change_mode(path, 0666);
    }
    put_directory("/etc/ib-hook/conf.d/x.d");
    assert_table("ib0", IBH_TABLE_AUTO);
}

static void test_named_file(void **state)
{
    g_autoptr(IbhConfig) config = NULL;

    (void)state;
    put("/etc/ib-hook/ib-hook.conf", "nonsense");
    put("/etc/ib-hook/conf.d/x.conf", "nonsense");
    put("/mine", "[interface ib0]\ntable=100\n");
    config = load("/mine");
    assert_int_equal(ibh_config_settings(config, "ib0").table, 100);
    assert_no_config("/none", "/none: " UNREADABLE("No such file or directory"));
}

/* Who may run us with any file learns nothing of files that only others may read. */
static void test_quotes(void **state)
{
    static const char why[] = "not understood; use KEY=VALUE, [defaults], [interface NAME] or # for a comment";
    g_autofree char *shown = g_strdup_printf("/below/secret:1: root:$6$: %s", why),
                    *hidden = g_strdup_printf("/below/secret:1: " IBH_NOT_PUBLIC ": %s", why),
                    *by_link = g_strdup_printf("/link:1: " IBH_NOT_PUBLIC ": %s", why);

    (void)state;
    put("/below/secret", "root:$6$\n");
    assert_no_config("/below/secret", shown);
    change_mode("/below/secret", 0640);
    assert_no_config("/below/secret", hidden);
    change_mode("/below/secret", 0644);
    change_mode("/below", 0700);
    put_link("/link", "below/secret");
    assert_no_config("/below/secret", hidden);
    assert_no_config("/link", by_link);
}

/* Neither is a directory that not all users may list shown by the names in it, if whoever runs us has named it. */
static void test_names(void **state)
{
    static const char bad[] = "not understood; use KEY=VALUE, [defaults], [interface NAME] or # for a comment";
    g_autofree char *shown = g_strdup_printf("/all/conf.d/secret.conf:1: x: %s", bad);

    (void)state;
    put("/all/conf.d/secret.conf", "x\n");
    assert_no_config("/all", shown);
    change_mode("/all/conf.d", 0711);
    assert_no_config("/all", "/all/conf.d: a file in it cannot be used; which one is not shown, as not all users may "
                             "list this directory: try each, --config FILE");
    change_mode("/all/conf.d", 0755);
    change_mode("/all", 0700);
    assert_no_config("/all", "/all/conf.d: a file in it cannot be used; which one is not shown, as not all users may "
                             "list this directory: try each, --config FILE");
    change_mode("/all/conf.d/secret.conf", 0666);
    assert_no_config("/all", "/all/conf.d: a file in it cannot be used; which one is not shown, as not all users may "
                             "list this directory: try each, --config FILE");
}

static void swap_directory(void)
{
    assert_int_equal(rename("users", "users.aside"), 0);
    assert_int_equal(rename("decoy", "users"), 0);
}

/* Who may rename a directory shows us another one in its place. */
static void test_quotes_of_swapped_directories(void **state)
{
    static const char hidden[] = "/users/private/secret:1: " IBH_NOT_PUBLIC
                                 ": not understood; use KEY=VALUE, [defaults], [interface NAME] or # for a comment";

    (void)state;
    put("/users/private/secret", "root:$6$\n");
    put("/decoy/private/secret", "root:$6$\n");
    change_mode("/users/private", 0700);
    late_link = swap_directory;
    assert_no_config("/users/private/secret", hidden);
    assert_null(late_link);
}

/* To open a device or a pipe has an effect. */
static void test_only_files_are_opened(void **state)
{
    static const char refused[] =
        ": refused: it is a device, pipe or socket, not a regular file; put a plain text file there";
    g_autofree char *pipe = g_strconcat("/pipe", refused, NULL), *link = g_strconcat("/link", refused, NULL),
                    *device = g_strconcat("/device", refused, NULL);

    (void)state;
    assert_int_equal(mkfifo("pipe", 0644), 0);
    put_link("/link", "pipe");
    put_link("/device", "/dev/zero");
    assert_no_config("/pipe", pipe);
    assert_no_config("/link", link);
    assert_no_config("/device", device);
    assert_int_equal(n_opened, 0);
    put("/file", "");
    ibh_config_free(load("/file"));
    assert_int_equal(n_opened, 1);
}

/* ---- names of tables ---------------------------------------------------------------------------------- */

#define NO_NAME(line)                                                                                                  \
    "/etc/ib-hook/ib-hook.conf:2: " line ": neither a table's number nor a known name; use auto, a number (1-252, "    \
    "256-4294965295) or a name from rt_tables"

static void put_name(const char *name)
{
    g_autofree char *text = g_strdup_printf("[interface ib0]\ntable=%s\n", name);

    put("/etc/ib-hook/ib-hook.conf", text);
}

static void test_table_names(void **state)
{
    (void)state;
    put_name("rail");
    assert_no_config(NULL, NO_NAME("table=rail"));
    put("/usr/lib/iproute2/rt_tables", "103 rail\n");
    assert_table("ib0", 103);
    put("/usr/share/iproute2/rt_tables", "102 rail\n");
    assert_table("ib0", 102);
    put("/etc/iproute2/rt_tables", "101 rail\n");
    assert_table("ib0", 101);
}

static void test_table_directories(void **state)
{
    (void)state;
    put_name("rail");
    put("/usr/lib/iproute2/rt_tables.d/c.conf", "103 rail\n");
    assert_table("ib0", 103);
    put("/usr/share/iproute2/rt_tables.d/b.conf", "102 rail\n");
    assert_table("ib0", 102);
    put("/etc/iproute2/rt_tables.d/ignored", "104 rail\n");
    put("/etc/iproute2/rt_tables.d/a.conf", "101 rail\n");
    assert_table("ib0", 101);
    put("/etc/iproute2/rt_tables", "100 rail\n");
    assert_table("ib0", 100);
}

static void test_table_files_are_read_at_need(void **state)
{
    (void)state;
    put("/etc/iproute2/rt_tables", "100 rail\n");
    put("/etc/iproute2/rt_tables.d/a.conf", "101 other\n");
    change_mode("/etc/iproute2/rt_tables", 0666);
    put_name("77");
    assert_table("ib0", 77);
    put_name("rail");
    assert_no_config(NULL, "/etc/ib-hook/ib-hook.conf:2: table=rail: %s/etc/iproute2/rt_tables: refused: it can be "
                           "written by others (mode 0666); chmod go-w %s/etc/iproute2/rt_tables; use auto, a number "
                           "(1-252, 256-4294965295) or a name from rt_tables");
    change_mode("/etc/iproute2/rt_tables", 0644);
    change_mode("/etc/iproute2/rt_tables.d", 0777);
    assert_table("ib0", 100);
    put_name("other");
    assert_no_config(NULL, "/etc/ib-hook/ib-hook.conf:2: table=other: %s/etc/iproute2/rt_tables.d: refused: it can be "
                           "written by others (mode 0777); chmod go-w %s/etc/iproute2/rt_tables.d; use auto, a number "
                           "(1-252, 256-4294965295) or a name from rt_tables");
}

/* A directory is read like /etc/ib-hook, and suspected like it. */
static void test_load_directory(void **state)
{
    g_autofree char *full = at("/all");
    g_autoptr(IbhConfig) config = NULL;

    (void)state;
    put("/all/ib-hook.conf", "[interface ib0]\ntable=100\n[interface ib1]\ntable=101\n");
    put("/all/conf.d/later.conf", "[interface ib1]\ntable=202\n");
    config = ibh_config_load(full, NULL);
    assert_non_null(config);
    assert_int_equal(ibh_config_settings(config, "ib0").table, 100);
    assert_int_equal(ibh_config_settings(config, "ib1").table, 202);
    assert_int_equal(chmod(full, 0777), 0);
    assert_null(ibh_config_load(full, NULL));
}

/* ---- the configuration in force ----------------------------------------------------------------------- */

/* In force is what the last run that programmed read; NULL: it left no text. `table`: of ib0 then, 0: that of the
 * files. */
static void assert_in_force(const char *text, const IbhConfig *files, guint32 table)
{
    g_autoptr(IbhState) memory = ibh_state_new();
    g_autoptr(IbhConfig) in_force = NULL;

    ibh_state_set_config(memory, text, FALSE);
    in_force = ibh_config_in_force(memory, files, ibh_table_look_up);
    assert_int_equal(in_force ? ibh_config_settings(in_force, "ib0").table : 0, table);
}

static void test_in_force(void **state)
{
    g_autoptr(IbhConfig) older = NULL, files = NULL;

    (void)state;
    put("/etc/iproute2/rt_tables", "100 rail\n");
    put("/etc/ib-hook/ib-hook.conf", "# theirs\n[interface ib0]\ntable=101\n");
    put("/etc/ib-hook/conf.d/ \n.conf", "[interface ib0]\ntable=rail\n");
    older = load(NULL);
    put("/etc/ib-hook/ib-hook.conf", "# ours\n\n# now\n[interface ib0]\ntable=101\n");
    files = load(NULL);
    assert_in_force(older->text->str, files, 0); /* other comments */
    put("/etc/ib-hook/conf.d/ \n.conf", "[interface ib0]\ntable=102\n");
    g_clear_pointer(&files, ibh_config_free);
    files = load(NULL);
    assert_in_force(NULL, files, 0);
    assert_in_force(NULL, NULL, 0);
    assert_in_force(files->text->str, files, 0);
    assert_in_force(older->text->str, files, 100);
    assert_in_force(older->text->str, NULL, 100);
    put("/etc/iproute2/rt_tables", "");
    assert_in_force(older->text->str, files, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reads),
        TEST(test_reads_what_was_looked_at),
        TEST(test_names),
        TEST(test_quotes_of_swapped_directories),
        TEST(test_only_files_are_opened),
        TEST(test_no_configuration),
        TEST(test_order),
        TEST(test_passed_over),
        TEST(test_named_file),
        TEST(test_quotes),
        TEST(test_table_names),
        TEST(test_table_directories),
        TEST(test_table_files_are_read_at_need),
        TEST(test_load_directory),
        TEST(test_in_force),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
