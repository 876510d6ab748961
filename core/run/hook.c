/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECONDS 10          /* at most */
#define LATE G_USEC_PER_SEC /* only --watch repairs changes that come later than this after an early call */
#define PAUSE (20 * 1000)   /* microseconds between two runs: one run answers several events */

/* Does for a moment what --watch does all the time. Events during the last look count, too. */
static void answer_events(IbhEvent *event, IbhEvents *events, gint64 end, GString *complained)
{
    for (gint64 left = G_MAXINT64; left > 0;) {
        struct pollfd fds[] = {{.fd = events->netlink, .events = POLLIN}, {.fd = events->uevents, .events = POLLIN}};

        if (event->focus.candidates)
            (void)ibh_events_focus(events, &event->focus); /* it listens for addresses */
        left = end - g_get_monotonic_time();
        if (poll(fds, G_N_ELEMENTS(fds), left > 0 ? (int)(left / 1000) + 1 : 0) <= 0)
            continue;
        g_usleep(PAUSE);
        if (ibh_events_drain(events, event->port, NULL, NULL))
            (void)ibh_event_run(event, complained);
    }
}

static void run_for_a_moment(IbhEvent *event, GString *complained)
{
    gint64 end = g_get_monotonic_time() + LATE;
    IbhEvents events;
    gboolean listening = ibh_events_open(&events, NULL); /* before the first look: no event between them is missed */

    (void)ibh_event_run(event, complained);
    if (!listening)
        return;
    if (!event->focus.candidates || event->focus.candidates->len)
        answer_events(event, &events, end, complained);
    ibh_events_close(&events);
}

/* ---- the limit ---- */

/* In a signal handler: no memory, no locks. The next run completes work that is half done then. */
static void give_up(int number G_GNUC_UNUSED)
{
    static const char words[] = "<27>ib-hook: the hook gave up after 10 s: the kernel did not answer in time; "
                                "ib-hook --check says what is missing\n";
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd >= 0)
        (void)ibh_datagram_send(fd, "/dev/log", words, sizeof words - 1);
    _exit(0);
}

/* ifupdown marks an interface as failed, and leaves out what comes after, if a hook does not exit with 0. */
static void limit_time(void)
{
    const struct sigaction action = {.sa_handler = give_up};
    sigset_t set;

    sigaction(SIGALRM, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    alarm(SECONDS);
}

int ibh_hook_run(const IbhTrigger *trigger)
{
    const char *const down[] = {trigger->down[0] ? trigger->down : NULL, NULL};
    IbhEvent event = {.cause = trigger->cause, .sysfs = "/sys", .restraint = {.down = down}};
    g_autoptr(GString) complained = NULL;

    if (!trigger->wanted)
        return 0;
    ibh_process_start();
    limit_time();
    complained = g_string_new(NULL);
    if (trigger->early && !ibh_watch_is_running())
        run_for_a_moment(&event, complained);
    else
        (void)ibh_event_run(&event, complained);
    ibh_event_clear(&event);
    return 0;
}
