#include "run/hook.h"

#include "kernel/events.h"
#include "run/journal.h"
#include "run/run.h"
#include "run/start.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SECONDS 10
#define LATE G_USEC_PER_SEC /* what comes later than this after an early call, only --watch repairs */
#define PAUSE (20 * 1000)   /* between two runs, of microseconds: one answers several events */

/* In a signal handler: no memory, no locks. */
static void write_last_words(const char *words)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0 ||
        sendto(fd, words, strlen(words), MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address, sizeof address) < 0)
        ibh_log_last(words);
}

/* What is half done then, the next run completes. */
static void on_signal(int number)
{
    write_last_words(number == SIGALRM ? "<27>ib-hook: the hook gave up after 10 s: the kernel did not answer in time; "
                                         "ib-hook --check says what is missing\n"
                                       : "<27>ib-hook: the hook ended early: out of memory, or a fault of its own; "
                                         "ib-hook --check says what is missing\n");
    _exit(0);
}

/* ifupdown marks an interface as failed, and leaves out what comes after, if a hook does not exit with 0. */
static void never_fail(void)
{
    static const int numbers[] = {SIGALRM, SIGABRT, SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGXCPU};
    static char room[32 * 1024]; /* where the stack itself is at its end */
    const stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigset_t set;

    (void)sigaltstack(&stack, NULL);
    sigemptyset(&set);
    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++) {
        sigaction(numbers[i], &action, NULL);
        sigaddset(&set, numbers[i]);
    }
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    alarm(SECONDS);
}

static void run(IbhReconcile *how, GString *complained)
{
    g_autoptr(GString) out = g_string_new(NULL), warnings = g_string_new(NULL);

    (void)ibh_reconcile(how, out, warnings);
    ibh_log_lines(LOG_INFO, out->str);
    ibh_log_complaint(warnings, complained);
}

static gboolean has_no_candidates(const IbhReconcile *how)
{
    return how->candidates && !how->candidates->len;
}

/* Does for a moment what --watch does for ever: what came while it looked for the last time counts, too. */
static void answer_events(IbhReconcile *how, IbhEvents *events, gint64 end, GString *complained)
{
    for (gint64 left = G_MAXINT64; left > 0;) {
        struct pollfd fds[] = {{.fd = events->netlink, .events = POLLIN}, {.fd = events->uevents, .events = POLLIN}};

        if (how->candidates)
            ibh_events_focus(events, how->candidates);
        left = end - g_get_monotonic_time();
        if (poll(fds, G_N_ELEMENTS(fds), left > 0 ? (int)(left / 1000) + 1 : 0) <= 0)
            continue;
        g_usleep(PAUSE);
        if (ibh_events_drain(events, how->port))
            run(how, complained);
    }
}

static void run_for_a_moment(IbhReconcile *how, GString *complained)
{
    gint64 end = g_get_monotonic_time() + LATE;
    IbhEvents events;
    gboolean listening = ibh_events_open(&events, NULL); /* before the first look: nothing comes unheard in between */

    run(how, complained);
    if (!listening)
        return;
    if (!has_no_candidates(how))
        answer_events(how, &events, end, complained);
    ibh_events_close(&events);
}

int ibh_hook(const IbhTrigger *trigger, const char *config, const char *sysfs)
{
    IbhReconcile how = {.config = config,
                        .sysfs = sysfs,
                        .one_of_many = !config && !sysfs, /* only this hook uses those */
                        .restraint = {.down = trigger->down}};
    g_autoptr(GString) complained = NULL;

    if (!trigger->wanted)
        return 0;
    ibh_start(0, NULL, environ);
    never_fail();
    complained = g_string_new(NULL);
    (trigger->early ? run_for_a_moment : run)(&how, complained);
    ibh_reconcile_clear(&how);
    return 0;
}
