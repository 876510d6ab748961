/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiled together with what it tests, to put its directory elsewhere: every test works in a directory of its own.
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

#include "temp_tree.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#define NOBODY 65533u
#define COOKIE 0x1234abcdu
#define KEY IBH_RUN_DIR "/n1234abcd"
#define STATE KEY ".state"
#define NEW KEY ".state.new"
#define LOCK KEY ".lock"

/* ---- set-up: an empty directory to work in ------------------------------------------------------------- */

static char *root, *before;

static int set_up(void **state)
{
    (void)state;
    umask(022);
    before = g_get_current_dir();
    root = g_dir_make_tmp("ib-hook-store-XXXXXX", NULL);
    return root == NULL || chdir(root) < 0;
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

static void put(const char *path, const char *text)
{
    assert_true(g_file_set_contents(path, text, -1, NULL));
    assert_int_equal(chmod(path, 0644), 0);
}

static void put_directory(void)
{
    assert_int_equal(mkdir(IBH_RUN_DIR, 0755), 0);
}

static guint mode_of(const char *path)
{
    struct stat info;

    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode & 07777u;
}

/* FALSE where only root could. In continuous integration there is no such excuse. */
static gboolean give_away(const char *path)
{
    if (lchown(path, NOBODY, (gid_t)-1) == 0)
        return TRUE;
    if (g_getenv("CI"))
        fail_msg("run these tests as root, or in a user namespace with two users");
    return FALSE;
}

static IbhStore *open_store(gboolean create)
{
    g_autoptr(GError) error = NULL;
    IbhStore *store = ibh_store_open(COOKIE, create, &error);

    if (!store)
        fail_msg("%s", error->message);
    assert_null(error);
    return store;
}

static IbhState *state_of(const char *text)
{
    return ibh_state_parse(text, strlen(text));
}

static void save(const char *text)
{
    g_autoptr(IbhStore) store = open_store(TRUE);
    g_autoptr(IbhState) state = state_of(text);

    assert_true(ibh_store_save(store, state, NULL));
}

static void check_loaded(const char *expected)
{
    g_autoptr(IbhStore) store = open_store(FALSE);
    g_autoptr(IbhState) state = ibh_store_load(store, NULL), wanted = state_of(expected);

    assert_true(ibh_state_equal(state, wanted));
}

#define SOME "sysctl ib0 2 rp_filter 1 2\nhold ib1\n"

/* ---- children ------------------------------------------------------------------------------------------ */

typedef int (*Child)(void);

static pid_t start(Child child)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(child());
    }
    return pid;
}

static void stop(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* Its exit status; a failure where it has not ended after so many seconds. */
static int run_within(Child child, int seconds)
{
    gint64 end = g_get_monotonic_time() + seconds * G_USEC_PER_SEC;
    pid_t pid = start(child);
    int status;

    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (g_get_monotonic_time() > end) {
            stop(pid);
            fail_msg("it did not end");
        }
        g_usleep(5000);
    }
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int ready[2]; /* a pipe: a byte says that the lock is held */

static int hold_lock(void)
{
    g_autoptr(IbhStore) store = ibh_store_open(COOKIE, TRUE, NULL);

    if (!store || !ibh_store_lock(store, 5, NULL) || write(ready[1], "x", 1) != 1)
        return 1;
    pause();
    return 0;
}

static int hold_lock_for_a_moment(void)
{
    g_autoptr(IbhStore) store = ibh_store_open(COOKIE, TRUE, NULL);

    if (!store || !ibh_store_lock(store, 5, NULL) || write(ready[1], "x", 1) != 1)
        return 1;
    g_usleep(300000);
    return 0;
}

/* Returns when it has the lock. */
static pid_t start_holder(Child child)
{
    char byte;
    pid_t pid;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = start(child);
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1)
        fail_msg("the other process did not get the lock");
    close(ready[0]);
    return pid;
}

/* ---- the directory ------------------------------------------------------------------------------------- */

static void test_nothing_there(void **state)
{
    (void)state;
    check_loaded("");
    assert_int_equal(access(IBH_RUN_DIR, F_OK), -1);
}

static void test_made_at_need(void **state)
{
    g_autoptr(IbhStore) store = open_store(TRUE);
    g_autoptr(IbhStore) again = open_store(TRUE);

    (void)state;
    assert_int_equal(mode_of(IBH_RUN_DIR), 0755);
    assert_int_not_equal(store->directory, again->directory);
    check_loaded("");
}

static void check_refused(gboolean create, const char *word)
{
    g_autoptr(GError) error = NULL;

    assert_null(ibh_store_open(COOKIE, create, &error));
    assert_non_null(error);
    if (!strstr(error->message, IBH_RUN_DIR) || !strstr(error->message, word))
        fail_msg("no “%s” in “%s”", word, error->message);
}

static void test_symlinked_directory(void **state)
{
    (void)state;
    assert_int_equal(mkdir("elsewhere", 0755), 0);
    assert_int_equal(symlink("elsewhere", IBH_RUN_DIR), 0);
    check_refused(TRUE, "");
    check_refused(FALSE, "");
    assert_int_equal(unlink(IBH_RUN_DIR), 0);
    assert_int_equal(symlink("nowhere", IBH_RUN_DIR), 0);
    check_refused(TRUE, "");
    assert_int_equal(access("nowhere", F_OK), -1);
}

static void test_no_directory(void **state)
{
    (void)state;
    put(IBH_RUN_DIR, "");
    check_refused(TRUE, g_strerror(ENOTDIR));
    check_refused(FALSE, g_strerror(ENOTDIR));
}

static void test_writable_directory(void **state)
{
    static const mode_t MODES[] = {0777, 01777, 0775, 0757};

    (void)state;
    put_directory();
    for (gsize i = 0; i < G_N_ELEMENTS(MODES); i++) {
        assert_int_equal(chmod(IBH_RUN_DIR, MODES[i]), 0);
        check_refused(TRUE, "write");
    }
    assert_int_equal(chmod(IBH_RUN_DIR, 0700), 0);
    ibh_store_close(open_store(TRUE));
}

static void test_foreign_directory(void **state)
{
    (void)state;
    put_directory();
    if (!give_away(IBH_RUN_DIR))
        skip();
    check_refused(TRUE, "another user");
}

/* ---- the state ----------------------------------------------------------------------------------------- */

static void test_round_trip(void **state)
{
    (void)state;
    save(SOME);
    check_loaded(SOME);
    assert_int_equal(mode_of(STATE), 0644);
    assert_int_equal(access(NEW, F_OK), -1);
    save("hold ib7\n");
    check_loaded("hold ib7\n");
    save("");
    check_loaded("");
}

/* Each namespace has its own; without a cookie, too. */
static void test_namespaces(void **state)
{
    static const guint64 COOKIES[] = {1, 2, 0, G_MAXUINT64, 0x123456789abcdef0u};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(COOKIES); i++) {
        g_autofree char *text = g_strdup_printf("hold ib%d\n", (int)i);
        g_autoptr(IbhStore) store = ibh_store_open(COOKIES[i], TRUE, NULL);
        g_autoptr(IbhState) held = state_of(text);

        assert_true(ibh_store_lock(store, 1, NULL));
        assert_true(ibh_store_save(store, held, NULL));
    }
    for (gsize i = 0; i < G_N_ELEMENTS(COOKIES); i++) {
        g_autofree char *name = g_strdup_printf("ib%d", (int)i);
        g_autoptr(IbhStore) store = ibh_store_open(COOKIES[i], FALSE, NULL);
        g_autoptr(IbhState) held = ibh_store_load(store, NULL);

        assert_int_equal(held->holds->len, 1);
        assert_string_equal(g_ptr_array_index(held->holds, 0), name);
    }
}

static void test_untrusted_state(void **state)
{
    static const mode_t MODES[] = {0666, 0664, 0646};

    (void)state;
    put_directory();
    put(STATE, SOME);
    check_loaded(SOME);
    for (gsize i = 0; i < G_N_ELEMENTS(MODES); i++) {
        assert_int_equal(chmod(STATE, MODES[i]), 0);
        check_loaded("");
    }
    assert_int_equal(chmod(STATE, 0600), 0);
    check_loaded(SOME);
    if (!give_away(STATE))
        skip();
    check_loaded("");
}

/* It is neither followed nor written through. */
static void test_symlinked_state(void **state)
{
    g_autofree char *text = NULL;

    (void)state;
    put_directory();
    put("victim", SOME);
    assert_int_equal(symlink("../victim", STATE), 0);
    check_loaded("");
    save("hold ib9\n");
    check_loaded("hold ib9\n");
    assert_false(g_file_test(STATE, G_FILE_TEST_IS_SYMLINK));
    assert_true(g_file_get_contents("victim", &text, NULL, NULL));
    assert_string_equal(text, SOME);
}

static int load_nothing(void)
{
    g_autoptr(IbhStore) store = ibh_store_open(COOKIE, FALSE, NULL);
    g_autoptr(IbhState) state = ibh_store_load(store, NULL);

    return state->holds->len || state->sysctls->len;
}

static void test_no_file(void **state)
{
    (void)state;
    put_directory();
    assert_int_equal(mkfifo(STATE, 0644), 0);
    assert_int_equal(run_within(load_nothing, 5), 0);
    save(SOME);
    check_loaded(SOME);
    assert_int_equal(unlink(STATE), 0);
    assert_int_equal(mkdir(STATE, 0755), 0);
    check_loaded("");
}

static void test_huge_state(void **state)
{
    g_autofree char *text = g_strnfill(STATE_MAX + 1, '#');
    struct stat info;

    (void)state;
    put_directory();
    memcpy(text, SOME, strlen(SOME));
    put(STATE, text);
    check_loaded("");
    text[STATE_MAX] = '\0';
    put(STATE, text);
    check_loaded(SOME);
    assert_int_equal(truncate(STATE, (off_t)1 << 40), 0); /* a terabyte of nothing */
    check_loaded("");
    save(SOME);
    check_loaded(SOME);
    assert_int_equal(stat(STATE, &info), 0);
    assert_in_range(info.st_size, 1, 4096);
}

static void test_rubbish(void **state)
{
    (void)state;
    put_directory();
    put(STATE, "");
    check_loaded("");
    put(STATE, "\xff\xfe\n\x01\nhold\nhold ib1\nsysctl\n\n\nhold ../x\nsysctl ib0 2 rp_filter 1 2");
    check_loaded(SOME);
}

/* ---- written at once, or not at all -------------------------------------------------------------------- */

/* Of a run that was killed, or put there: it is not written through. */
static void test_left_over(void **state)
{
    g_autofree char *text = NULL;

    (void)state;
    put_directory();
    put(STATE, SOME);
    put(NEW, "hold ib4\n");
    check_loaded(SOME);
    save("hold ib5\n");
    check_loaded("hold ib5\n");
    assert_int_equal(access(NEW, F_OK), -1);
    put("victim", SOME);
    assert_int_equal(symlink("../victim", NEW), 0);
    save("hold ib6\n");
    check_loaded("hold ib6\n");
    assert_int_equal(mkfifo(NEW, 0644), 0);
    save("hold ib7\n");
    check_loaded("hold ib7\n");
    assert_true(g_file_get_contents("victim", &text, NULL, NULL));
    assert_string_equal(text, SOME);
}

static void check_not_saved(const char *word)
{
    g_autoptr(IbhStore) store = open_store(TRUE);
    g_autoptr(IbhState) other = state_of("hold ib5\n");
    g_autoptr(GError) error = NULL;

    assert_false(ibh_store_save(store, other, &error));
    assert_non_null(strstr(error->message, word));
    assert_non_null(strstr(error->message, IBH_RUN_DIR));
}

static void test_cannot_be_written(void **state)
{
    (void)state;
    save(SOME);
    assert_int_equal(mkdir(NEW, 0755), 0);
    check_not_saved(g_strerror(EEXIST));
    check_loaded(SOME);
    assert_int_equal(rmdir(NEW), 0);
    assert_int_equal(unlink(STATE), 0);
    assert_int_equal(mkdir(STATE, 0755), 0);
    check_not_saved(g_strerror(EISDIR));
    assert_int_equal(access(NEW, F_OK), -1);
}

static void test_directory_is_gone(void **state)
{
    g_autoptr(IbhStore) nowhere = open_store(FALSE);
    g_autoptr(IbhStore) gone = open_store(TRUE);
    g_autoptr(IbhState) some = state_of(SOME);
    g_autoptr(GError) error = NULL;

    (void)state;
    remove_tree(IBH_RUN_DIR);
    assert_false(ibh_store_save(gone, some, &error));
    assert_non_null(error);
    assert_false(ibh_store_save(nowhere, some, NULL));
    assert_false(ibh_store_lock(nowhere, 1, NULL));
}

/* As on a full disk: the write fails half-way. */
static int save_too_much(void)
{
    const struct rlimit limit = {16, 16};
    g_autoptr(IbhStore) store = ibh_store_open(COOKIE, TRUE, NULL);
    g_autoptr(IbhState) state = state_of("hold ib5\nhold ib6\n");

    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
        return 2;
    return ibh_store_save(store, state, NULL);
}

static void test_full_disk(void **state)
{
    (void)state;
    save(SOME);
    assert_int_equal(run_within(save_too_much, 10), 0);
    check_loaded(SOME);
    assert_int_equal(access(NEW, F_OK), -1);
}

/* Two states that differ in every line, both longer than what one write might take at once. */
static IbhState *long_state(int which)
{
    IbhState *state = ibh_state_new();

    for (int i = 1; i <= 400; i++) {
        IbhSavedSysctl saved = {.ifindex = i, .key = IBH_SYSCTL_RP_FILTER, .old = which, .set = 2};

        g_snprintf(saved.iface, sizeof saved.iface, "ib%d", i);
        g_array_append_val(state->sysctls, saved);
    }
    return state;
}

static int save_for_ever(void)
{
    g_autoptr(IbhStore) store = ibh_store_open(COOKIE, TRUE, NULL);
    g_autoptr(IbhState) even = long_state(0), odd = long_state(1);

    for (guint i = 0;; i++) {
        if (!ibh_store_save(store, i % 2 ? odd : even, NULL))
            return 1;
        if (i == 0 && write(ready[1], "x", 1) != 1)
            return 1;
    }
}

static void check_whole(void)
{
    g_autoptr(IbhStore) store = open_store(FALSE);
    g_autoptr(IbhState) loaded = ibh_store_load(store, NULL);

    assert_int_equal(loaded->sysctls->len, 400);
    for (guint i = 0; i < 400; i++)
        assert_int_equal(g_array_index(loaded->sysctls, IbhSavedSysctl, i).old,
                         g_array_index(loaded->sysctls, IbhSavedSysctl, 0).old);
}

/* Whoever reads meanwhile, or after the writer was killed, sees one of them. */
static void test_atomic(void **state)
{
    (void)state;
    for (int round = 0; round < 10; round++) {
        pid_t writer = start_holder(save_for_ever);

        for (int i = 0; i < 20; i++)
            check_whole();
        stop(writer);
        check_whole();
    }
}

/* ---- the lock ------------------------------------------------------------------------------------------ */

static void test_lock(void **state)
{
    g_autoptr(IbhStore) store = open_store(TRUE);
    g_autofree char *text = NULL;

    (void)state;
    assert_true(ibh_store_lock(store, 1, NULL));
    assert_int_equal(mode_of(LOCK), 0600);
    assert_true(g_file_get_contents(LOCK, &text, NULL, NULL));
    assert_int_equal(atoi(text), getpid());
    assert_int_equal(fcntl(store->lock, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(store->directory, F_GETFD), FD_CLOEXEC);
}

static void test_given_back(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        g_autoptr(IbhStore) store = open_store(TRUE);

        assert_true(ibh_store_lock(store, 1, NULL));
    }
    ibh_store_close(NULL);
}

/* Gives up after its time, and says who is at work. */
static void test_busy(void **state)
{
    pid_t holder = start_holder(hold_lock);
    g_autoptr(IbhStore) store = open_store(TRUE);
    g_autoptr(GError) error = NULL;
    g_autofree char *pid = g_strdup_printf("%d", (int)holder);
    gint64 begin = g_get_monotonic_time(), took;

    (void)state;
    assert_false(ibh_store_lock(store, 1, &error));
    took = g_get_monotonic_time() - begin;
    stop(holder);
    assert_in_range(took, 900000, 5000000);
    assert_true(g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_AGAIN));
    assert_non_null(strstr(error->message, pid));
    assert_null(strstr(error->message, "  "));
}

/* Whoever held it was killed: nothing is left to be cleaned up. */
static void test_killed(void **state)
{
    pid_t holder = start_holder(hold_lock);
    g_autoptr(IbhStore) store = open_store(TRUE);

    (void)state;
    stop(holder);
    assert_true(ibh_store_lock(store, 1, NULL));
}

static void test_waits(void **state)
{
    pid_t holder = start_holder(hold_lock_for_a_moment);
    g_autoptr(IbhStore) store = open_store(TRUE);
    gint64 begin = g_get_monotonic_time();
    gboolean locked = ibh_store_lock(store, 10, NULL);
    gint64 took = g_get_monotonic_time() - begin;

    (void)state;
    stop(holder);
    assert_true(locked);
    assert_in_range(took, 0, 5000000);
}

static void test_other_namespace_is_free(void **state)
{
    pid_t holder = start_holder(hold_lock);
    g_autoptr(IbhStore) store = ibh_store_open(COOKIE + 1, TRUE, NULL);
    gboolean locked = ibh_store_lock(store, 1, NULL);

    (void)state;
    stop(holder);
    assert_true(locked);
}

static int try_lock(int seconds)
{
    g_autoptr(IbhStore) store = ibh_store_open(COOKIE, TRUE, NULL);

    return ibh_store_lock(store, seconds, NULL);
}

static int lock_without_waiting(void)
{
    return try_lock(0);
}

/* Some callers start their children with signals blocked. */
static int lock_with_blocked_signals(void)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    return try_lock(1);
}

static int lock_with_ignored_signals(void)
{
    signal(SIGALRM, SIG_IGN);
    return try_lock(1);
}

static void test_bounded(void **state)
{
    static const Child CHILDREN[] = {lock_without_waiting, lock_with_blocked_signals, lock_with_ignored_signals};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(CHILDREN); i++) {
        pid_t holder = start_holder(hold_lock);
        int locked = run_within(CHILDREN[i], 5);

        stop(holder);
        assert_int_equal(locked, FALSE);
    }
}

/* The wait leaves no timer and no handler of its own behind. */
static void test_alarm_is_as_before(void **state)
{
    pid_t holder = start_holder(hold_lock);
    g_autoptr(IbhStore) store = open_store(TRUE);
    struct sigaction action;
    struct itimerval timer;
    sigset_t blocked;

    (void)state;
    assert_false(ibh_store_lock(store, 1, NULL));
    stop(holder);
    assert_int_equal(sigaction(SIGALRM, NULL, &action), 0);
    assert_true(action.sa_handler == SIG_DFL);
    assert_int_equal(getitimer(ITIMER_REAL, &timer), 0);
    assert_int_equal(timer.it_value.tv_sec + timer.it_value.tv_usec, 0);
    assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &blocked), 0);
    assert_false(sigismember(&blocked, SIGALRM));
}

static void test_symlinked_lock(void **state)
{
    g_autoptr(IbhStore) store = open_store(TRUE);
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;

    (void)state;
    put("victim", SOME);
    assert_int_equal(symlink("../victim", LOCK), 0);
    assert_false(ibh_store_lock(store, 1, &error));
    assert_non_null(strstr(error->message, ".lock"));
    assert_true(g_file_get_contents("victim", &text, NULL, NULL));
    assert_string_equal(text, SOME);
}

/* ---- nothing stays open -------------------------------------------------------------------------------- */

static int count_open(void)
{
    GDir *dir = g_dir_open("/proc/self/fd", 0, NULL);
    int count = 0;

    while (g_dir_read_name(dir))
        count++;
    g_dir_close(dir);
    return count;
}

static void test_closes(void **state)
{
    int open_before = count_open();

    (void)state;
    save(SOME);
    check_loaded(SOME);
    {
        g_autoptr(IbhStore) store = open_store(TRUE);

        assert_true(ibh_store_lock(store, 1, NULL));
    }
    assert_int_equal(chmod(STATE, 0666), 0);
    check_loaded("");
    assert_int_equal(mkdir(NEW, 0755), 0);
    check_not_saved("");
    assert_int_equal(chmod(IBH_RUN_DIR, 0777), 0);
    check_refused(TRUE, "");
    assert_int_equal(count_open(), open_before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_there),
        TEST(test_made_at_need),
        TEST(test_symlinked_directory),
        TEST(test_no_directory),
        TEST(test_writable_directory),
        TEST(test_foreign_directory),
        TEST(test_round_trip),
        TEST(test_namespaces),
        TEST(test_untrusted_state),
        TEST(test_symlinked_state),
        TEST(test_no_file),
        TEST(test_huge_state),
        TEST(test_rubbish),
        TEST(test_left_over),
        TEST(test_cannot_be_written),
        TEST(test_directory_is_gone),
        TEST(test_full_disk),
        TEST(test_atomic),
        TEST(test_lock),
        TEST(test_given_back),
        TEST(test_busy),
        TEST(test_killed),
        TEST(test_waits),
        TEST(test_other_namespace_is_free),
        TEST(test_bounded),
        TEST(test_alarm_is_as_before),
        TEST(test_symlinked_lock),
        TEST(test_closes),
    };

    g_log_set_always_fatal((GLogLevelFlags)(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
