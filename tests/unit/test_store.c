/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiled together with what it tests, to put its directory elsewhere: every test works in a directory of its own.
 * Files that are not as they should be: netns/test-hostile-run-directory.sh.
 */
#include "host/store.h"

#undef IBH_RUN_DIR
#define IBH_RUN_DIR "run-ib-hook"
#undef IBH_LIB_DIR
#define IBH_LIB_DIR "lib-ib-hook"

#include <unistd.h>

static gboolean fsync_fails;

static int fsync_or_fail(int fd)
{
    return fsync_fails ? -1 : fsync(fd);
}
#define fsync fsync_or_fail

#include "cli/token_io.c"
#include "kernel/namespace.c"
#define ibh_netns_number(of) ((of)[0] ? (guint64)4026531840 : 0) /* at home */
#include "host/store.c"
#include "host/tree.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "temp_tree.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define COOKIE 0x1234abcdu
#define KEY IBH_RUN_DIR "/n1234abcd"
#define STATE KEY ".state"
#define LOCK KEY ".lock"
#define TOKENS KEY ".confirm"
#define SOME "sysctl ib0 2 02:00 rp_filter 1 2\nhold ib1\n"
#define MORE "hold ib0\n"

/* ---- set-up: an empty directory to work in ------------------------------------------------------------- */

static char *root, *before;

static int set_up(void **state G_GNUC_UNUSED)
{
    umask(022);
    before = g_get_current_dir();
    root = g_dir_make_tmp("ib-hook-store-XXXXXX", NULL);
    return root == NULL || chdir(root) < 0;
}

static int tear_down(void **state G_GNUC_UNUSED)
{
    int result = chdir(before);

    remove_tree(root);
    g_clear_pointer(&root, g_free);
    g_clear_pointer(&before, g_free);
    return result;
}

static IbhStore *open_store(gboolean create)
{
    g_autoptr(GError) error = NULL;
    IbhStore *store = ibh_store_open(COOKIE, create, &error);

    if (!store)
        fail_msg("%s", error->message);
    return store;
}

static gboolean save(IbhStore *store, const char *text, GError **error)
{
    g_autoptr(IbhState) state = ibh_state_parse(text, strlen(text));

    return ibh_store_save(store, state, error);
}

/* What the file says, without its header. */
static void assert_loads(guint64 cookie, const char *expected)
{
    g_autoptr(IbhStore) store = ibh_store_open(cookie, FALSE, NULL);
    g_autoptr(IbhState) state = ibh_store_load(store, NULL);
    g_autofree char *text = ibh_state_format(state);

    assert_string_equal(strchr(text, '\n') + 1, expected);
}

/* ---- the state ----------------------------------------------------------------------------------------- */

static void test_round_trip(void **state G_GNUC_UNUSED)
{
    struct stat info, again;
    g_autoptr(IbhStore) store = open_store(TRUE);
    g_autoptr(IbhStore) other = ibh_store_open(COOKIE + 1, TRUE, NULL);

    assert_true(save(store, SOME, NULL) && save(other, MORE, NULL));
    assert_loads(COOKIE, SOME);
    assert_loads(COOKIE + 1, MORE);
    assert_int_equal(stat(STATE, &info), 0);
    assert_int_equal(info.st_mode, S_IFREG | 0644);
    assert_true(save(store, SOME, NULL)); /* nothing new: the file is left as it is */
    assert_int_equal(stat(STATE, &again), 0);
    assert_int_equal(again.st_ino, info.st_ino);
    assert_true(save(store, MORE, NULL));
    assert_loads(COOKIE, MORE);
}

static void test_full_disk(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhStore) store = open_store(TRUE);
    g_autoptr(GError) error = NULL;
    struct rlimit was, little;

    assert_true(save(store, SOME, NULL));
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    little = (struct rlimit){.rlim_cur = 20, .rlim_max = was.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    assert_false(save(store, MORE, &error));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_non_null(strstr(error->message, STATE));
    assert_loads(COOKIE, SOME);
    assert_int_equal(access(STATE ".new", F_OK), -1);
    assert_true(save(store, MORE, NULL)); /* what failed is tried again */
    assert_loads(COOKIE, MORE);
    fsync_fails = TRUE;
    assert_false(save(store, SOME, NULL)); /* what may not be on the disk yet takes no other file's place */
    fsync_fails = FALSE;
    assert_loads(COOKIE, MORE);
}

/* ---- the lock ------------------------------------------------------------------------------------------ */

static int ready[2]; /* a pipe: a byte says that the lock is held */

/* A process that takes the lock, keeps it for so long, and ends. Returns when it has it. */
static pid_t start_holder(gulong microseconds)
{
    char byte;
    pid_t pid;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        g_autoptr(IbhStore) store = ibh_store_open(COOKIE, TRUE, NULL);

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!store || !ibh_store_lock(store, 5, NULL) || write(ready[1], "x", 1) != 1)
            _exit(1);
        g_usleep(microseconds);
        _exit(0);
    }
    close(ready[1]);
    if (pid < 0 || read(ready[0], &byte, 1) != 1)
        fail_msg("the other process did not get the lock");
    close(ready[0]);
    return pid;
}

static gboolean can_lock(guint64 cookie, int seconds, GError **error)
{
    g_autoptr(IbhStore) store = ibh_store_open(cookie, TRUE, NULL);

    return ibh_store_lock(store, seconds, error);
}

static void test_busy(void **state G_GNUC_UNUSED)
{
    pid_t pid = start_holder(60 * G_USEC_PER_SEC);
    g_autoptr(GError) error = NULL;

    assert_false(can_lock(COOKIE, 1, &error));
    assert_true(g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_AGAIN));
    assert_non_null(strstr(error->message, "gave up after 1 s: another ib-hook is at work"));
    assert_true(can_lock(COOKIE + 1, 0, NULL)); /* of another namespace */
    unlink(LOCK);                               /* who comes later locks a new file */
    assert_true(can_lock(COOKIE, 0, NULL));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* ---- namespaces that are gone ---------------------------------------------------------------------------- */

static guint count_files(const char *prefix)
{
    g_autoptr(GDir) directory = g_dir_open(IBH_RUN_DIR, 0, NULL);
    const char *name;
    guint count = 0;

    while ((name = g_dir_read_name(directory)))
        count += g_str_has_prefix(name, prefix) ? 1 : 0;
    return count;
}

#define RAIL(n) "known ib" n " mlx5_" n "/1 0000:81:00." n "/1 02:00:00:00:00:0" n " 0 172.16.34." n "\n"

/* The older of two runs writes the file of known rails last, because its disk was slow. */
static void test_older_run(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhStore) older = NULL, newer = NULL;
    g_autofree char *id = NULL, *text = NULL;

    if (!g_file_get_contents("/etc/machine-id", &id, NULL, NULL))
        skip();
    assert_int_equal(mkdir(IBH_LIB_DIR, 0755), 0);
    older = open_store(TRUE);
    assert_true(ibh_store_lock(older, 0, NULL));
    ibh_state_free(ibh_store_load(older, NULL));
    assert_true(save(older, IBH_STATE_RECALLED "\n" RAIL("1"), NULL));
    close(older->lock);
    older->lock = -1;
    newer = open_store(TRUE);
    assert_true(ibh_store_lock(newer, 0, NULL));
    ibh_state_free(ibh_store_load(newer, NULL));
    assert_true(save(newer, IBH_STATE_RECALLED "\n" RAIL("1") RAIL("2"), NULL));
    g_clear_pointer(&newer, ibh_store_close);
    g_clear_pointer(&older, ibh_store_close);
    assert_true(g_file_get_contents(RAILS_FILE, &text, NULL, NULL));
    assert_non_null(strstr(text, "known ib1 "));
    assert_non_null(strstr(text, "known ib2 "));
}

/* A later namespace has the number of an earlier one, as two in this process have. */
static void test_gone_namespace(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhStore) gone = open_store(TRUE), later = ibh_store_open(COOKIE + 1, TRUE, NULL);
    const IbhToken token = {.process = 1, .end = 2};
    g_autofree char *number = g_strdup_printf(IBH_RUN_DIR "/number-%" G_GUINT64_FORMAT, ibh_netns_number("self"));

    assert_true(ibh_store_lock(gone, 0, NULL) && save(gone, SOME, NULL) && ibh_token_write(gone, &token, NULL));
    assert_true(g_file_set_contents(IBH_RUN_DIR "/n99.state", "of one that lives", -1, NULL));
    g_clear_pointer(&gone, ibh_store_close);
    assert_int_equal(unlink(LOCK), 0);
    assert_true(can_lock(COOKIE, 0, NULL)); /* its own files stay */
    assert_int_equal(count_files("n1234abcd."), 3);

    assert_true(ibh_store_lock(later, 0, NULL) && save(later, MORE, NULL));
    assert_int_equal(count_files("n1234abcd."), 0);
    assert_int_equal(count_files("n1234abce."), 2);
    assert_int_equal(count_files("n99."), 1);
    assert_int_equal(count_files("number-"), 1);

    /* Nothing but a name of ours is removed. */
    assert_int_equal(unlink(number), 0);
    assert_int_equal(symlink("../outside", number), 0);
    assert_true(g_file_set_contents("outside.state", "", -1, NULL));
    assert_true(can_lock(COOKIE, 0, NULL));
    assert_int_equal(access("outside.state", F_OK), 0);
}

/* ---- what --confirm leaves ----------------------------------------------------------------------------- */

static void put_token(const IbhStore *store, int process, gint64 end, const char *ifaces)
{
    g_auto(IbhToken) token = {.process = process, .end = end, .ifaces = ifaces ? g_strsplit(ifaces, " ", -1) : NULL};

    assert_true(ibh_token_write(store, &token, NULL));
}

static void assert_token(const IbhToken *token, int process, gint64 end, const char *ifaces)
{
    g_autofree char *names = token->ifaces ? g_strjoinv(" ", token->ifaces) : NULL;

    assert_int_equal(token->process, process);
    if (process)
        assert_int_equal(token->end, end);
    assert_true(g_strcmp0(names, ifaces) == 0);
}

static void assert_file(const IbhStore *store, int process, gint64 end, const char *ifaces)
{
    g_auto(IbhToken) token = ibh_token_read(store);

    assert_token(&token, process, end, ifaces);
}

static void assert_open_file(int file, int process, gint64 end, const char *ifaces)
{
    g_auto(IbhToken) token = {.process = 0};

    assert_true(ibh_token_read_open(file, &token));
    assert_token(&token, process, end, ifaces);
}

/* The process that waits sees that the token was taken out, and not that the file is gone. */
static void test_open_token(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhStore) store = open_store(TRUE);
    g_auto(IbhToken) token = {.process = 0};
    int file;

    put_token(store, 1, 2, "ib0 ib1");
    file = ibh_token_open(store);
    assert_open_file(file, 1, 2, "ib0 ib1");
    put_token(store, 1, 200, NULL);
    assert_open_file(file, 1, 200, NULL);
    assert_int_equal(unlink(TOKENS), 0);
    assert_open_file(file, 1, 200, NULL);
    close(file);
    assert_false(ibh_token_read_open(-1, &token));
    put_token(store, 5, 6, NULL);
    file = ibh_token_open(store);
    assert_true(ibh_token_remove(store, NULL));
    assert_open_file(file, 0, 0, NULL);
    close(file);
}

static void test_token(void **state G_GNUC_UNUSED)
{
    g_autoptr(IbhStore) store = open_store(TRUE);
    const IbhToken token = {.process = 1, .end = 2};

    assert_file(store, 0, 0, NULL);
    assert_true(ibh_token_remove(store, NULL)); /* none to remove is no error */
    put_token(store, 1, 2, NULL);
    assert_file(store, 1, 2, NULL);
    put_token(store, 12, 345, "ib0");
    assert_file(store, 12, 345, "ib0");
    assert_true(ibh_token_remove(store, NULL));
    assert_file(store, 0, 0, NULL);
    assert_int_equal(mkdir(TOKENS, 0755), 0);
    assert_false(ibh_token_write(store, &token, NULL));
    assert_false(ibh_token_remove(store, NULL));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip), TEST(test_full_disk),  TEST(test_busy),      TEST(test_gone_namespace),
        TEST(test_token),      TEST(test_open_token), TEST(test_older_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
