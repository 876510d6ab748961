#include "confirm.h"

#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

/* Whatever ends the caller - its terminal, its session, its pipe - does not end this. */
static void detach(void)
{
    int fd = open("/dev/null", O_RDWR);

    (void)setsid();
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    for (int standard = STDIN_FILENO; fd >= 0 && standard <= STDERR_FILENO; standard++)
        (void)dup2(fd, standard);
    if (fd > STDERR_FILENO)
        close(fd);
    if (chdir("/") < 0)
        return;
}

/* Seconds that count while the machine sleeps, too. */
static void wait_for(int seconds)
{
    struct timespec until;

    clock_gettime(CLOCK_BOOTTIME, &until);
    until.tv_sec += seconds;
    while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

G_GNUC_NORETURN static void wait_and_undo(IbhOptions *options)
{
    g_autoptr(GString) out = g_string_new(NULL), warnings = g_string_new(NULL);
    int status;

    detach();
    wait_for(options->confirm);
    options->action = IBH_ACTION_UNDO;
    options->json = options->verbose = FALSE;
    status = ibh_run(options, FALSE, out, warnings);
    openlog("ib-hook", LOG_PID, LOG_DAEMON);
    if (out->len)
        syslog(LOG_WARNING, "nobody confirmed within %d s: %s", options->confirm, out->str);
    if (warnings->len)
        syslog(LOG_ERR, "%s", warnings->str);
    _exit(status);
}

gboolean ibh_confirm_start(IbhOptions *options, GError **error)
{
    pid_t child;

    options->token = g_strdup_printf("%d %" G_GINT64_FORMAT "\n", (int)getpid(), g_get_real_time());
    child = fork();
    if (child == 0)
        wait_and_undo(options);
    if (child > 0)
        return TRUE;
    g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno),
                "cannot start the process that waits for --confirm: %s; nothing was changed", g_strerror(errno));
    return FALSE;
}
