/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The token of --apply --confirm: it is kept per namespace, is taken away once, and a file that somebody else could
 * have written is none. Compiled together with what it tests, to put its directory elsewhere.
 */
#include "host/store.h"

#undef IBH_RUN_DIR
#define IBH_RUN_DIR "run-ib-hook"

#include "host/store.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <glib/gstdio.h>

#define COOKIE 0x1234abcdu
#define OTHER 0x1234abceu
#define TOKEN IBH_RUN_DIR "/n1234abcd.confirm"

static char *root, *before;

static int set_up(void **state G_GNUC_UNUSED)
{
    umask(022);
    before = g_get_current_dir();
    root = g_dir_make_tmp("ib-hook-token-XXXXXX", NULL);
    return root == NULL || chdir(root) < 0;
}

static int tear_down(void **state G_GNUC_UNUSED)
{
    GDir *directory = g_dir_open(IBH_RUN_DIR, 0, NULL);
    const char *name;
    int result;

    while (directory && (name = g_dir_read_name(directory))) {
        g_autofree char *path = g_build_filename(IBH_RUN_DIR, name, NULL);

        g_remove(path);
    }
    if (directory)
        g_dir_close(directory);
    g_rmdir(IBH_RUN_DIR);
    result = chdir(before);
    g_rmdir(root);
    g_clear_pointer(&root, g_free);
    g_clear_pointer(&before, g_free);
    return result;
}

static IbhStore *open_store(guint64 cookie)
{
    g_autoptr(GError) error = NULL;
    IbhStore *store = ibh_store_open(cookie, TRUE, &error);

    if (!store)
        fail_msg("%s", error->message);
    return store;
}

static void set_token(IbhStore *store, const char *token)
{
    g_autoptr(GError) error = NULL;

    if (!ibh_store_set_token(store, token, &error))
        fail_msg("%s", error->message);
}

static void expect_token(IbhStore *store, const char *expected)
{
    g_autofree char *token = ibh_store_get_token(store);

    if (expected)
        assert_string_equal(token, expected);
    else
        assert_null(token);
}

static void test_there_and_gone(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhStore) store = open_store(COOKIE);

    expect_token(store, NULL);
    set_token(store, NULL); /* of none */
    set_token(store, "1 2\n");
    expect_token(store, "1 2\n");
    set_token(store, "3 4\n"); /* in its place */
    expect_token(store, "3 4\n");
    set_token(store, NULL);
    expect_token(store, NULL);
    assert_false(g_file_test(TOKEN, G_FILE_TEST_EXISTS));
}

/* Another process finds it; another namespace does not. */
static void test_whose(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhStore) store = open_store(COOKIE);
    g_autoptr(IbhStore) again = open_store(COOKIE);
    g_autoptr(IbhStore) other = open_store(OTHER);

    set_token(store, "1 2\n");
    expect_token(again, "1 2\n");
    expect_token(other, NULL);
    set_token(other, NULL);
    expect_token(store, "1 2\n");
    set_token(again, NULL);
    expect_token(store, NULL);
}

/* The state and the token do not get in each other's way. */
static void test_beside_the_state(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhStore) store = open_store(COOKIE);
    g_autoptr(IbhState) saved = ibh_state_new();
    g_autoptr(IbhState) loaded = NULL;

    ibh_state_hold(saved, "ib0");
    set_token(store, "1 2\n");
    assert_true(ibh_store_save(store, saved, NULL));
    expect_token(store, "1 2\n");
    set_token(store, NULL);
    loaded = ibh_store_load(store, NULL);
    assert_true(ibh_state_equal(saved, loaded));
}

static void test_not_to_be_trusted(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhStore) store = open_store(COOKIE);

    set_token(store, "1 2\n");
    assert_int_equal(chmod(TOKEN, 0666), 0);
    expect_token(store, NULL);
    assert_int_equal(chmod(TOKEN, 0644), 0);
    expect_token(store, "1 2\n");
    assert_int_equal(rename(TOKEN, IBH_RUN_DIR "/elsewhere"), 0);
    assert_int_equal(symlink("elsewhere", TOKEN), 0);
    expect_token(store, NULL);
    set_token(store, "3 4\n"); /* replaces the link, not what it leads to */
    expect_token(store, "3 4\n");
    assert_int_equal(unlink(TOKEN), 0);
    assert_int_equal(mkfifo(TOKEN, 0600), 0); /* nor does reading wait for a writer */
    expect_token(store, NULL);
    set_token(store, NULL);
    assert_int_equal(mkdir(TOKEN, 0755), 0);
    expect_token(store, NULL);
    assert_int_equal(rmdir(TOKEN), 0);
}

static void test_cannot(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhStore) store = open_store(COOKIE);
    g_autoptr(GError) write_error = NULL, remove_error = NULL;

    assert_int_equal(mkdir(TOKEN, 0755), 0);
    assert_false(ibh_store_set_token(store, "1 2\n", &write_error));
    assert_non_null(strstr(write_error->message, TOKEN));
    assert_false(g_file_test(IBH_RUN_DIR "/n1234abcd.state.new", G_FILE_TEST_EXISTS));
    assert_false(ibh_store_set_token(store, NULL, &remove_error));
    assert_non_null(strstr(remove_error->message, "cannot remove " TOKEN));
    assert_int_equal(rmdir(TOKEN), 0);
}

/* Whoever only looks, before anything was ever applied. */
static void test_no_directory(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhStore) store = ibh_store_open(COOKIE, FALSE, NULL);

    assert_non_null(store);
    expect_token(store, NULL);
    assert_false(g_file_test(IBH_RUN_DIR, G_FILE_TEST_EXISTS));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_there_and_gone),    TEST(test_whose),  TEST(test_beside_the_state),
                                       TEST(test_not_to_be_trusted), TEST(test_cannot), TEST(test_no_directory)};

    return cmocka_run_group_tests_name("store-token", tests, NULL, NULL);
}
