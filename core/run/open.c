/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first steps of a run, open and configure; ibh_run_close(), which ends the run; warnings; and what main() does
 * first. */
#include "run/run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

void ibh_run_warn(IbhRun *run, const char *message)
{
    g_autofree char *text = ibh_text_printable(message);

    /* An event's warnings go to the journal, whose lines name ib-hook already. */
    g_string_append_printf(run->warnings, "%s%s\n", run->is_event ? "" : "ib-hook: ", text);
}

/* ---- getting ready ---- */

void ibh_process_start(void)
{
    int fd;

    /* Looks at process 1 while we have the capability for it, and remembers the answer. */
    (void)ibh_store_is_home();
    /* Our memory holds the caller's environment: other processes must not read it, and no core dump may contain it.
     * RLIMIT_CORE=0 would not prevent core dumps that the kernel pipes to a program. */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    /* Runs give up CAP_DAC_OVERRIDE. So if the caller's umask were 0777, for example, the next run could not read our
     * files in /run. */
    umask(022);
    signal(SIGXFSZ, SIG_IGN); /* beyond the caller's limit for file sizes, write() then fails with EFBIG */
    /* If the caller closed descriptor 0, 1 or 2, a file that we open later must not take its place. */
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

/* Opens the store and, if the run writes, takes the store's lock. Returns FALSE if another run keeps the lock
 * (G_FILE_ERROR_AGAIN). After any other error, warns and returns TRUE: even without a store or a lock, the run can make
 * its changes. */
static gboolean open_store(IbhRun *run, int lock_seconds, GError **error)
{
    g_autoptr(GError) problem = NULL;

    run->store = ibh_store_open(ibh_netlink_namespace_cookie(run->netlink), run->writes, &problem);
    if (run->store && run->writes)
        (void)ibh_store_lock(run->store, lock_seconds, &problem);
    if (g_error_matches(problem, G_FILE_ERROR, G_FILE_ERROR_AGAIN)) {
        g_propagate_error(error, g_steal_pointer(&problem));
        return FALSE;
    }
    if (problem) {
        g_autofree char *text = g_strdup_printf("%s; going on without a lock%s", problem->message,
                                                run->store ? "" : "; old sysctl values are not remembered for --undo");

        ibh_run_warn(run, text);
    }
    return TRUE;
}

gboolean ibh_run_open(IbhRun *run, int lock_seconds, GError **error)
{
    (void)ibh_caps_keep_net();
    run->netlink = ibh_netlink_open(error);
    if (!run->netlink || !open_store(run, lock_seconds, error))
        return FALSE;
    run->state = run->store ? ibh_store_load(run->store, error) : ibh_state_new();
    return run->state != NULL;
}

void ibh_run_close(IbhRun *run)
{
    if (run->packet_socket >= 0)
        close(run->packet_socket);
    g_clear_pointer(&run->spared, g_array_unref);
    ibh_rails_free(run->rails);
    ibh_snapshot_free(run->snapshot);
    ibh_state_free(run->state);
    ibh_store_close(run->store);
    ibh_netlink_close(run->netlink);
    ibh_config_free(run->config);
}

/* --undo also works with a bad configuration: the mark tells what is ours. */
void ibh_run_forget_config(IbhRun *run, const GError *problem)
{
    ibh_run_warn(run, problem->message);
    ibh_config_free(run->config);
    run->config = ibh_config_new();
    run->bad_config = TRUE;
}

gboolean ibh_run_configure(IbhRun *run, GError **error)
{
    g_autoptr(GError) problem = NULL;

    run->config = ibh_config_load(run->config_path, run->undo ? &problem : error);
    if (problem)
        ibh_run_forget_config(run, problem);
    return run->config != NULL;
}
