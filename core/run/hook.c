/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECONDS 10          /* the time limit of a hook */
#define STAY G_USEC_PER_SEC /* how long a hook stays after an early call; only --watch sees later changes */
#define PAUSE (20 * 1000)   /* microseconds to wait after an address has changed: more addresses and routes follow */

/* ---- an early call ---- */

/* IbhEvent.after(). If the run failed before it found the rails, the host may have candidates. */
static void note_candidates(gpointer data, IbhRun *run, const IbhOutcome *outcome G_GNUC_UNUSED)
{
    gboolean *may_have_rails = data;

    *may_have_rails = !run->rails || run->rails->candidates;
}

/* In an early call (IbhTrigger.early), NetworkManager has not set the new addresses and routes yet. So run now; for a
 * second, run again each time addresses change; and run once more when the second is over. But if a run finds no
 * candidate, stop, because the host has no rails. */
static void run_for_a_second(const IbhEvent *first, GString *complained)
{
    const struct sockaddr_nl groups = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
    IbhEvent event = *first;
    const gint64 end = g_get_monotonic_time() + STAY;
    struct pollfd reports = {.fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE),
                             .events = POLLIN};
    gboolean may_have_rails = TRUE, again;
    char report[1024];

    (void)bind(reports.fd, (const struct sockaddr *)&groups, sizeof groups); /* if this fails, poll() just waits */
    event.after = note_candidates;
    event.data = &may_have_rails;
    do {
        again = g_get_monotonic_time() < end;
        (void)ibh_event_run(&event, complained);
        again = again && may_have_rails;
        if (again && poll(&reports, 1, (int)(MAX(end - g_get_monotonic_time(), 0) / 1000) + 1) > 0) {
            g_usleep(PAUSE);
            /* Discard the reports, because each run reads everything. ENOBUFS: the kernel had no room for some. */
            while (recv(reports.fd, report, sizeof report, 0) >= 0 || errno == ENOBUFS)
                ;
        }
    } while (again);
    close(reports.fd);
}

/* ---- the limit ---- */

/* A signal handler, so it must not allocate memory or take locks. The next run completes what this run leaves half
 * done. "<27>" is LOG_DAEMON | LOG_ERR. */
static void give_up(int number G_GNUC_UNUSED)
{
    static const char words[] = "<27>ib-hook: the hook gave up after 10 s: the kernel, a disk or another "
                                "ib-hook did not answer in time; "
                                "ib-hook --check says what is missing\n";
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd >= 0)
        (void)ibh_datagram_send(fd, "/dev/log", words, sizeof words - 1);
    _exit(0); /* with another status, ifupdown would mark the interface as failed and skip the hooks that follow */
}

static void limit_time(void)
{
    const struct sigaction action = {.sa_handler = give_up};
    sigset_t set;

    sigaction(SIGALRM, &action, NULL);
    /* execve() keeps the signal mask: if our caller blocked SIGALRM, it is still blocked here. */
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN); /* standard error may be a pipe that nobody reads any more */
    alarm(SECONDS);
}

int ibh_hook_run(const IbhTrigger *trigger)
{
    const char *const down[] = {trigger->down[0] ? trigger->down : NULL, NULL};
    const IbhEvent event = {.cause = trigger->cause, .sysfs = "/sys", .restraint = {.down = down}};
    g_autoptr(GString) complained = NULL;

    if (!trigger->wanted)
        return 0;
    ibh_process_start();
    limit_time();
    complained = g_string_new(NULL);
    if (trigger->early && !ibh_watch_is_running()) /* --watch itself sees the addresses that come later */
        run_for_a_second(&event, complained);
    else
        (void)ibh_event_run(&event, complained);
    return 0;
}
