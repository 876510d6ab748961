/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/watch.h"

#include "check/in_force.h"
#include "check/missing.h"
#include "kernel/dump.h"
#include "kernel/netlink.h"
#include "run/run.h"
#include "watch/backoff.h"
#include "watch/events_io.h"
#include "watch/heard.h"

#include <errno.h>
#include <fcntl.h>
#include <netlink/socket.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* Answers the first event of a burst at once; then pauses, longer as the burst goes on. Events about our own NICs and
 * rules are a burst of their own: they do not wait in the pause of others. */
#define FIRST_PAUSE (20 * 1000)
#define LAST_PAUSE (500 * 1000)
#define QUIET G_USEC_PER_SEC
/* Where a look takes long (thousands of addresses that come and go), it rests in between for three times as long:
 * events without end cost a quarter of a core. */
#define REST 3
#define LONGEST_REST (2 * G_USEC_PER_SEC)

#define ADDRESS_MAY_COME_BACK G_USEC_PER_SEC
#define RETRY G_USEC_PER_SEC /* after a failure (also a bad configuration, which may be mended), doubled up to … */
#define LAST_RETRY (60 * G_USEC_PER_SEC)
#define NEVER G_MAXINT64
/* An editor that saves a file may rename the old one before it writes the new one. */
#define FILES_SETTLE_WITHIN G_USEC_PER_SEC
#define FILE_CHANGES (IN_CLOSE_WRITE | IN_MOVE | IN_DELETE | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)

typedef struct {
    gint64 looked; /* when it was answered last */
    gint64 pause;  /* before its next answer */
} Burst;

typedef struct {
    int ifindex;
    gint64 since; /* its addresses have been away */
} Away;

typedef struct {
    IbhEvent how;
    IbhEvents events;
    IbhFocus focus; /* without candidates, the last run did not come so far */
    guint32 port;   /* of its changes */
    GArray *spared; /* int: the NICs that it left alone; NULL: it did not come so far */
    IbhHeard heard;
    int signals;
    int files;       /* tells that the configuration's files change; -1: not available here */
    gboolean reload; /* the next run puts what the files say into force */
    char *waits;     /* the text of these, of which was said that it waits; NULL: none does */
    int held;        /* the lock that says that it runs; -1: not yet */
    gboolean stop;

    gint64 due;     /* when to look again; NEVER: when something happens */
    gint64 looking; /* since when; after it, when it began */
    gint64 rest;    /* after the last look, which was expensive */
    Burst any;      /* one look answers all events */
    Burst ours;     /* events about our NICs, and deletions of what is ours */
    gboolean own;   /* such an event came since the last look, or a change of ours */
    gint64 retry;   /* after the last failure; 0: there was none */
    gint64 alive;   /* when systemd expects our sign of life; NEVER: it does not */
    GArray *away;   /* Away */
    GArray *backoff;
    GArray *missed;      /* IbhKnownRail: what this look missed; NULL: it did not come so far */
    GArray *missing;     /* the same, at the last look */
    GString *complained; /* the last warning, so that it is printed once */
} Watch;

/* ---- looking ---- */

static void note(Watch *watch, const IbhOp *op)
{
    /* While addresses come and go, hooks and --watch delete and add by turns. */
    const guint32 taker = ibh_numbers_have(watch->heard.moved, op->ifindex) ? 0 : ibh_heard_taker(&watch->heard, op);
    int seconds = ibh_backoff_note(watch->backoff, op, taker != 0, watch->looking);
    g_autofree char *command = NULL, *who = NULL, *text = NULL;

    watch->own = TRUE; /* the kernel also reports the sysctls that we set */
    if (!seconds)
        return;
    command = ibh_op_command(op);
    who = taker ? ibh_netlink_port_holder(taker) : NULL;
    text =
        g_strdup_printf("%s: something undoes again and again what ib-hook does (%s)%s%s: %s of %s is left alone for "
                        "%d s; stop that program, or ib-hook (manage=no, sudo ib-hook --undo --iface %s)",
                        op->iface, command, who ? ", perhaps " : "", who ? who : "",
                        op->unit.family == AF_INET6 ? "IPv6" : "IPv4", op->iface, seconds, op->iface);
    ibh_log_lines(LOG_WARNING, text, TRUE);
}

static void say_that_it_waits(const char *path)
{
    g_autofree char *option = path ? g_strdup_printf("--config %s ", path) : g_strdup("");
    g_autofree char *text = g_strdup_printf(
        "the configuration in %s changed: \"sudo ib-hook %s--apply\" puts it into force; until then, or "
        "until a reload or a hook, --watch uses the one before",
        path ? path : IBH_CONFIG_DIR, option);

    ibh_log_lines(LOG_NOTICE, text, TRUE);
}

/* An editor may not have finished with the files: they wait until --apply, a reload or a hook puts them into force. */
static void configure(gpointer data, IbhRun *run)
{
    Watch *watch = data;
    IbhConfig *in_force = NULL;
    g_autofree char *told = g_steal_pointer(&watch->waits);

    if (!watch->reload || !run->config)
        in_force = ibh_config_in_force(run->state, run->config, ibh_table_look_up);
    if (!in_force)
        return;
    if (run->config) {
        watch->waits = g_strdup(run->config->text->str);
        if (g_strcmp0(watch->waits, told) != 0)
            say_that_it_waits(run->config_path);
    }
    ibh_config_free(run->config);
    run->config = in_force;
}

static void forget_run(Watch *watch)
{
    ibh_focus_clear(&watch->focus);
    watch->port = 0;
    g_clear_pointer(&watch->spared, g_array_unref);
    g_clear_pointer(&watch->missed, g_array_unref);
}

static void after(gpointer data, IbhRun *run, const IbhOutcome *outcome)
{
    Watch *watch = data;

    forget_run(watch);
    if (!outcome) /* it did not come so far */
        return;
    IBH_EACH_POINTER (const IbhOp, op, outcome->done)
        note(watch, op);
    ibh_focus_find(&watch->focus, run->rails);
    watch->port = nl_socket_get_local_port(run->netlink->socket);
    watch->spared = g_steal_pointer(&run->spared);
    watch->missed = ibh_missing_find(run->rails, run->config, run->sysfs, TRUE);
    watch->reload = FALSE; /* its configuration is in the state */
}

static gboolean leaves(gconstpointer data, const IbhUnit *unit)
{
    const Watch *watch = data;

    return ibh_backoff_leaves(watch->backoff, unit, watch->looking);
}

/* Since when addresses have been away, for NICs that were spared before, and are again. */
static void remember_spared(Watch *watch, gint64 now)
{
    g_autoptr(GArray) before = watch->away;

    watch->away = IBH_NEW_ARRAY(Away);
    for (guint i = 0; watch->spared && i < watch->spared->len; i++) {
        Away away = {.ifindex = g_array_index(watch->spared, int, i), .since = now};

        IBH_EACH (const Away, one, before) {
            if (one->ifindex == away.ifindex)
                away.since = one->since;
        }
        g_array_append_val(watch->away, away);
        watch->due = MIN(watch->due, away.since + ADDRESS_MAY_COME_BACK);
    }
}

static GArray *find_given_up(const Watch *watch, gint64 now)
{
    GArray *given_up = IBH_NEW_ARRAY(int);

    IBH_EACH (const Away, away, watch->away) {
        if (now - away->since >= ADDRESS_MAY_COME_BACK)
            g_array_append_val(given_up, away->ifindex);
    }
    return given_up;
}

static void plan_next_look(Watch *watch, gboolean ok, gint64 now)
{
    watch->due = ibh_backoff_next(watch->backoff, now);
    remember_spared(watch, now);
    watch->retry = ok ? 0 : watch->retry ? MIN(2 * watch->retry, LAST_RETRY) : RETRY;
    if (watch->retry)
        watch->due = MIN(watch->due, now + watch->retry);
}

/* An event of our own that comes with those of others waits for the first pause: one look then covers a manager's whole
 * change. */
static void on_event(Watch *watch, gboolean ours, gint64 now)
{
    Burst *burst = ours ? &watch->ours : &watch->any;

    watch->own |= ours;
    burst->pause = now - burst->looked > QUIET ? 0 : CLAMP(2 * burst->pause, FIRST_PAUSE, LAST_PAUSE);
    watch->due = MIN(watch->due, MAX(now, MAX(burst->looked + burst->pause, watch->any.looked + watch->rest)));
}

/* Before they are read, and again each time: they may be others now, or be there at last. */
static void listen_to_files(const Watch *watch)
{
    const char *path = watch->how.config ? watch->how.config : IBH_CONFIG_DIR;
    g_autofree char *fragments = g_strconcat(path, "/conf.d", NULL);

    (void)inotify_add_watch(watch->files, path, FILE_CHANGES);
    (void)inotify_add_watch(watch->files, fragments, FILE_CHANGES);
}

/* The lock tells hooks that --watch runs. If another --watch has it, try again after the next look. */
static void hold_lock(Watch *watch)
{
    if (watch->held >= 0)
        return;
    watch->held = ibh_watch_open(O_RDWR | O_CREAT);
    if (watch->held >= 0 && flock(watch->held, LOCK_EX | LOCK_NB) < 0) {
        close(watch->held);
        watch->held = -1;
    }
}

/* Everything is read anew from here on. */
static void look(Watch *watch)
{
    gint64 now = g_get_monotonic_time();
    g_autoptr(GArray) given_up = find_given_up(watch, now);
    g_autofree char *cause = NULL;
    gboolean ok;

    listen_to_files(watch);
    watch->looking = now;
    IBH_EACH (const int, ifindex, watch->heard.moved)
        ibh_backoff_forgive(watch->backoff, *ifindex);
    cause = g_strconcat("--watch", watch->heard.first ? ": " : NULL, watch->heard.first, NULL);
    watch->how.cause = cause;
    watch->how.restraint = (IbhRestraint){.given_up = given_up, .leaves = leaves, .data = watch};
    ok = ibh_event_run(&watch->how, watch->complained);
    ibh_heard_forget(&watch->heard);
    watch->any.looked = g_get_monotonic_time();
    watch->rest = CLAMP(REST * (watch->any.looked - watch->looking), FIRST_PAUSE, LONGEST_REST);
    if (watch->own)
        watch->ours.looked = watch->any.looked;
    watch->own = FALSE;
    plan_next_look(watch, ok, watch->any.looked);
    if (watch->focus.candidates && ibh_events_focus(&watch->events, &watch->focus))
        on_event(watch, FALSE, watch->any.looked);
    watch->due = MIN(watch->due, ibh_missing_log(&watch->missing, watch->missed, watch->any.looked));
    hold_lock(watch);
    ibh_notify("READY=1");
}

/* ---- waiting ---- */

static void on_signal(Watch *watch, gint64 now)
{
    struct signalfd_siginfo info;

    while (read(watch->signals, &info, sizeof info) == (gssize)sizeof info) {
        watch->stop |= info.ssi_signo != SIGHUP;
        if (info.ssi_signo == SIGHUP) {
            watch->reload = TRUE;
            g_string_truncate(watch->complained, 0);
        }
        watch->due = now;
    }
}

static void on_reports(Watch *watch, gint64 now)
{
    watch->heard.nics = watch->focus.candidates;
    watch->heard.ours = FALSE;
    if (ibh_events_drain(&watch->events, watch->port, ibh_heard_add, &watch->heard))
        on_event(watch, watch->heard.ours, now);
}

static void on_files(Watch *watch, gint64 now)
{
    char events[4096];

    while (read(watch->files, events, sizeof events) > 0)
        watch->due = MIN(watch->due, now + FILES_SETTLE_WITHIN);
}

static int time_left(const Watch *watch)
{
    gint64 next = MIN(watch->due, watch->alive), now = g_get_monotonic_time();

    if (next == NEVER)
        return -1;
    return next <= now ? 0 : (int)MIN((next - now) / 1000 + 1, G_MAXINT);
}

static void wait_for_something(Watch *watch)
{
    struct pollfd fds[] = {{.fd = watch->signals, .events = POLLIN},
                           {.fd = watch->events.netlink, .events = POLLIN},
                           {.fd = watch->events.uevents, .events = POLLIN},
                           {.fd = watch->files, .events = POLLIN}};
    gint64 now;

    (void)poll(fds, G_N_ELEMENTS(fds), time_left(watch));
    now = g_get_monotonic_time();
    on_signal(watch, now);
    on_files(watch, now);
    if (fds[1].revents || fds[2].revents)
        on_reports(watch, now);
    if (now >= watch->alive) {
        ibh_notify("WATCHDOG=1");
        watch->alive = now + ibh_notify_interval() / 2;
    }
}

/* ---- beginning and end ---- */

static int open_signals(void)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    sigset_t set;

    sigemptyset(&set);
    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
        sigaddset(&set, numbers[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static gboolean start(Watch *watch, GError **error)
{
    if (!ibh_caps_keep_net()) {
        g_set_error_literal(error, IBH_RUN_ERROR, 0,
                            "--watch needs CAP_NET_ADMIN in this network namespace: run it as root");
        return FALSE;
    }
    watch->signals = open_signals();
    if (watch->signals < 0) {
        g_set_error(error, IBH_RUN_ERROR, 0, "--watch cannot wait for signals: %s", g_strerror(errno));
        return FALSE;
    }
    return ibh_events_open(&watch->events, error);
}

static void run(Watch *watch)
{
    watch->alive = ibh_notify_interval() ? 0 : NEVER;
    ibh_heard_init(&watch->heard);
    watch->away = IBH_NEW_ARRAY(Away);
    watch->backoff = ibh_backoff_new();
    watch->missing = IBH_NEW_ARRAY(IbhKnownRail);
    watch->complained = g_string_new(NULL);
    watch->files = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    watch->how.configure = configure;
    watch->how.after = after;
    watch->how.data = watch;
    while (!watch->stop) {
        if (watch->due <= g_get_monotonic_time())
            look(watch);
        wait_for_something(watch);
    }
    ibh_notify("STOPPING=1");
    forget_run(watch);
    g_array_unref(watch->away);
    g_array_unref(watch->backoff);
    g_array_unref(watch->missing);
    g_string_free(watch->complained, TRUE);
    ibh_heard_clear(&watch->heard);
    ibh_events_close(&watch->events);
    close(watch->signals);
    if (watch->files >= 0)
        close(watch->files);
    g_free(watch->waits);
    if (watch->held >= 0)
        close(watch->held);
}

gboolean ibh_watch_run(const char *config, const char *sysfs)
{
    /* Who names a file wants what it says. */
    Watch watch = {.how = {.config = config, .sysfs = sysfs}, .reload = config != NULL, .held = -1};
    g_autoptr(GError) error = NULL;

    if (!start(&watch, &error)) {
        ibh_log_lines(LOG_ERR, error->message, TRUE);
        return FALSE;
    }
    run(&watch);
    return TRUE;
}
