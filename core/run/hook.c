/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/hook.h"

#include "hook/bounded.h"
#include "hook/program.h"
#include "kernel/events.h"
#include "run/journal.h"
#include "run/run.h"

#include <poll.h>

#define LATE G_USEC_PER_SEC /* only --watch repairs changes that come later than this after an early call */
#define PAUSE (20 * 1000)   /* microseconds between two runs: one run answers several events */

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

/* Does for a moment what --watch does all the time. Events during the last look count, too. */
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
        if (ibh_events_drain(events, how->port, how->candidates))
            run(how, complained);
    }
}

static void run_for_a_moment(IbhReconcile *how, GString *complained)
{
    gint64 end = g_get_monotonic_time() + LATE;
    IbhEvents events;
    gboolean listening = ibh_events_open(&events, NULL); /* before the first look: no event between them is missed */

    run(how, complained);
    if (!listening)
        return;
    if (!has_no_candidates(how))
        answer_events(how, &events, end, complained);
    ibh_events_close(&events);
}

static int hook(IbhReconcile *how, gboolean early, unsigned seconds)
{
    g_autoptr(GString) complained = NULL;

    ibh_bounded(seconds);
    complained = g_string_new(NULL);
    (early ? run_for_a_moment : run)(how, complained);
    ibh_reconcile_clear(how);
    return 0;
}

int ibh_hook(const char *config, const char *sysfs)
{
    IbhReconcile how = {
        .config = config, .sysfs = sysfs, .one_of_many = !config && !sysfs}; /* only this hook uses these */

    return hook(&how, FALSE, IBH_HOOK_SECONDS);
}

typedef struct {
    unsigned seconds;
    gboolean early;
    const char *down[2]; /* the interface, if it was taken down on purpose; NULL: none */
} Event;

/* "--event SECONDS WHAT [INTERFACE]". An unknown word, of a hook of another version, counts as a change. */
static Event parse_event(char **argv)
{
    guint n = g_strv_length(argv);
    guint64 seconds = n > 2 ? g_ascii_strtoull(argv[2], NULL, 10) : 0;
    Event event = {.seconds = IBH_HOOK_SECONDS};

    if (seconds >= 1 && seconds < IBH_HOOK_SECONDS)
        event.seconds = (unsigned)seconds;
    event.early = n > 3 && g_str_equal(argv[3], IBH_EVENT_EARLY);
    if (n > 4 && g_str_equal(argv[3], IBH_EVENT_DOWN) && ibh_is_iface_name(argv[4]))
        event.down[0] = argv[4];
    return event;
}

int ibh_hook_event(char **argv)
{
    const Event event = parse_event(argv);
    IbhReconcile how = {.one_of_many = TRUE, .restraint = {.down = event.down}};

    return hook(&how, event.early, event.seconds);
}
