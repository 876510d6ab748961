/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/watch.h"

#include "check/in_force.h"
#include "check/missing.h"
#include "kernel/dump.h"
#include "kernel/netlink.h"
#include "run/run.h"
#include "watch/backoff.h"
#include "watch/events_io.h"

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
#include <sys/stat.h>
#include <unistd.h>

/* Times are in microseconds. --watch answers the first report of a burst at once, unless it still rests (see REST), and
 * the next ones after pauses. Each pause is twice as long as the one before, up to LONGEST_PAUSE. A report that comes
 * later than QUIET after the last answer begins a new burst. Reports about our NICs (the candidates), and about
 * deletions of our rules and routes, have a burst of their own (Watch.ours). So they need not wait for the pauses of
 * Watch.any, the burst of all other reports. */
#define FIRST_PAUSE (20 * 1000)
#define LONGEST_PAUSE (500 * 1000)
#define QUIET G_USEC_PER_SEC
/* After a look, --watch rests three times as long as the look took, but at least FIRST_PAUSE and at most LONGEST_REST.
 * So even while thousands of addresses come and go, it takes at most a quarter of a core, unless a look takes longer
 * than a third of LONGEST_REST. */
#define REST 3
#define LONGEST_REST (2 * G_USEC_PER_SEC)

/* How long an address that is away may take to come back. Meanwhile, events leave its NIC alone. */
#define ADDRESS_MAY_COME_BACK G_USEC_PER_SEC
/* How long to wait after a failure, such as an operation that the kernel refused. The wait doubles each time, up to
 * LONGEST_RETRY. */
#define RETRY G_USEC_PER_SEC
#define LONGEST_RETRY (60 * G_USEC_PER_SEC)
#define NEVER G_MAXINT64
/* How long to wait after a file changed: an editor may rename the old file before it writes the new one. */
#define FILES_SETTLE_WITHIN G_USEC_PER_SEC
#define FILE_CHANGES (IN_CLOSE_WRITE | IN_MOVE | IN_DELETE | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)

typedef struct {
    gint64 looked;        /* when the burst was answered last */
    gint64 pause;         /* how long the next answer has to wait after `looked` */
    gboolean is_answered; /* no report has come since the last answer: the next one makes `pause` grow, but those after
                             it do not */
} Burst;

/* A NIC whose addresses are away, so that events spare it. */
typedef struct {
    int ifindex;
    gint64 since; /* when an event first spared the NIC */
} Away;

typedef struct {
    IbhEvent how; /* how an event runs */
    IbhEvents events;
    int signals;     /* a signalfd for SIGTERM, SIGINT and SIGHUP */
    int files;       /* an inotify descriptor for changes of the configuration's files; -1: not available here */
    int lock;        /* the locked file that tells hooks that --watch runs; -1: we do not have the lock */
    gboolean stop;   /* SIGTERM or SIGINT came */
    gboolean reload; /* the next run puts the configuration of the files into force */
    char *unapplied; /* the text of the files if it is good, but not in force (the journal has a line); else NULL */

    gint64 due;            /* when to look again; NEVER: not before something happens */
    gint64 look_began;     /* when the last look began */
    gint64 rest;           /* how long to rest after the last look */
    Burst any;             /* all reports but `ours`; every look answers them */
    Burst ours;            /* reports about our NICs, and about deletions of our rules and routes */
    gboolean answers_ours; /* the look that comes next, or is running, answers `ours`, too: `ours` had a report, or this
                              look has changed something */
    gint64 retry;          /* how long to wait after the last failure; 0: the last look did not fail */
    gint64 alive;          /* when to give systemd a sign of life; NEVER: systemd expects none */
    GArray *backoff;       /* the units whose changes another program undoes (backoff.h) */
    GArray *missing;       /* the last `missed` that was not NULL; empty at first */
    GString *complained;   /* the warnings of the last event, so that lasting problems are printed only once */

    GArray *ports; /* guint32: the netlink ports of the last look's runs: reports of changes from these ports are
                      ignored. A run that ended before the change has no port here */

    /* the results of the last run, which may have ended before it had them */
    IbhFocus focus; /* `candidates` is NULL: no result */
    GArray *away;   /* Away: the NICs that the run spared */
    GArray *missed; /* IbhKnownRail: the rails that could be missing, and whether they are; NULL: no result */
} Watch;

/* ---- functions that a run calls ---- */

/* Makes the run use the configuration in force, unless a reload was asked for and the files are good. An editor may not
 * have finished with the files, so a change waits until --apply, a reload or a hook puts it into force. */
static void configure(gpointer data, IbhRun *run)
{
    Watch *watch = data;
    const char *path = run->config_path;
    IbhConfig *in_force;
    g_autoptr(IbhConfig) files = NULL;
    g_autofree char *told = g_steal_pointer(&watch->unapplied);
    g_autofree char *word = NULL, *option = NULL, *advice = NULL, *text = NULL;

    if (watch->reload && run->config) /* this run puts the files into force */
        return;
    in_force = ibh_config_in_force(run->state, run->config, ibh_table_look_up);
    if (!in_force) /* the files are in force, or no valid configuration is */
        return;
    files = run->config;
    run->config = in_force;
    if (!files) /* they are bad, and the run warns of them */
        return;
    /* The files are good, but not in force: say so, once for each text of the files. */
    watch->unapplied = g_strdup(files->text->str);
    if (g_strcmp0(watch->unapplied, told) == 0)
        return;
    word = path ? ibh_text_shell_word(path) : NULL;
    option = path ? g_strdup_printf("--config %s ", word) : g_strdup("");
    advice = ibh_config_apply_advice(run->state, option);
    text = g_strdup_printf("the configuration in %s is not in force: %s; until then, or until a reload or a hook, "
                           "--watch uses the previous one",
                           path ? path : IBH_CONFIG_DIR, advice);
    ibh_log_lines(LOG_NOTICE, text, TRUE);
}

static gboolean leaves_alone(gconstpointer data, const IbhUnit *unit)
{
    const Watch *watch = data;

    return ibh_backoff_leaves_alone(watch->backoff, unit, watch->look_began);
}

/* Notes a change of this run. Warns if another program undoes our changes again and again. */
static void on_change(Watch *watch, const IbhOp *op)
{
    /* If `op` puts a rule or route back, somebody had deleted it. If the NIC's link or addresses changed, a hook of
     * ours may have deleted it, rightly at that moment: then the deletion does not count as a fight. */
    const guint32 taker = ibh_numbers_have(watch->events.moved, op->ifindex) ? 0 : ibh_events_taker(&watch->events, op);
    const int seconds = ibh_backoff_note(watch->backoff, op, taker != 0, watch->look_began);
    const gboolean is_spread = op->unit.kind == IBH_UNIT_SPREAD;
    g_autofree char *command = NULL, *who = NULL, *what = NULL, *cure = NULL, *text = NULL;

    /* The kernel's report of a sysctl that we set does not have our netlink port (Watch.ports), so --watch does not
     * ignore the report, and takes it for another program's change to our NICs. So count this look as an answer to
     * `ours`: a report within QUIET after an answer begins no new burst (on_event()). */
    watch->answers_ours = TRUE;
    if (!seconds)
        return;
    command = ibh_op_command(op);
    who = taker ? ibh_netlink_port_holder(taker) : NULL;
    what = is_spread ? g_strdup("main=spread")
                     : g_strdup_printf("%s of %s", op->unit.family == AF_INET6 ? "IPv6" : "IPv4", op->iface);
    cure = is_spread ? g_strdup("set main=keep and run sudo ib-hook --apply")
                     : g_strdup_printf("ib-hook (manage=no, sudo ib-hook --undo --iface %s)", op->iface);
    text = g_strdup_printf("%s: another program keeps undoing what ib-hook does (%s)%s%s: %s is left alone for %d s; "
                           "stop that program, or %s",
                           is_spread ? what : op->iface, command, who ? ", perhaps " : "", who ? who : "", what,
                           seconds, cure);
    ibh_log_lines(LOG_WARNING, text, TRUE);
}

/* Replaces the results of the previous run with those of this run. If `outcome` is NULL, this run ended early, and has
 * no results. If `run` is NULL, too, there was no run: --watch ends, and frees the results of its last run. */
static void after_run(gpointer data, IbhRun *run, const IbhOutcome *outcome)
{
    Watch *watch = data;
    g_autoptr(GArray) before = watch->away;
    guint32 port;

    watch->away = IBH_NEW_ARRAY(Away);
    ibh_focus_clear(&watch->focus);
    g_clear_pointer(&watch->missed, g_array_unref);
    if (!outcome) {
        /* The run took a snapshot, but could not decide, because the table= settings of the files conflict. The run has
         * warned of the conflict, so end the reload: the next runs use the configuration in force. */
        if (run && run->snapshot && !run->rails)
            watch->reload = FALSE;
        return;
    }
    port = nl_socket_get_local_port(run->netlink->socket);
    g_array_append_val(watch->ports, port);
    IBH_EACH_POINTER (const IbhOp, op, outcome->done)
        on_change(watch, op);
    IBH_EACH (const int, ifindex, run->spared) {
        Away away = {.ifindex = *ifindex, .since = g_get_monotonic_time()};

        IBH_EACH (const Away, one, before) {
            if (one->ifindex == *ifindex)
                away.since = one->since;
        }
        g_array_append_val(watch->away, away);
    }
    ibh_focus_find(&watch->focus, run->rails);
    watch->missed = ibh_missing_find(run->rails, run->config, run->sysfs, TRUE);
    /* The reload is done: the files are in force now, or they are bad, and the run has warned of them. But if the state
     * could not be saved, the saved state still has the old configuration, so the next run must reload again. */
    watch->reload &= run->is_unsaved;
}

/* ---- the lock, which tells hooks that --watch runs ---- */

/* If the lock's file is open, takes the lock unless we have it already. Returns TRUE if we have the lock now, and the
 * file is still in its directory: a lock on a removed file tells hooks nothing. */
static gboolean try_lock(const Watch *watch)
{
    struct stat file;

    return watch->lock >= 0 && flock(watch->lock, LOCK_EX | LOCK_NB) == 0 && fstat(watch->lock, &file) == 0 &&
           file.st_nlink;
}

/* Takes the lock; takes it again if somebody has removed the lock's file. The next look tries again in two cases:
 * another --watch has the lock, or another --watch ended and removed the file between our open() and flock(). */
static void take_lock(Watch *watch)
{
    if (try_lock(watch))
        return;
    if (watch->lock >= 0)
        close(watch->lock);
    watch->lock = ibh_watch_open(O_RDWR | O_CREAT);
    if (watch->lock >= 0 && !try_lock(watch)) {
        close(watch->lock);
        watch->lock = -1;
    }
}

/* Users who may not open the lock's file cannot test the lock. Their commands assume that --watch runs if the file
 * exists. So remove the file at the end. Read the path from the descriptor, because ibh_watch_open() does not return
 * the path. */
static void remove_lock(const Watch *watch)
{
    g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", watch->lock);
    g_autofree char *path = watch->lock >= 0 ? g_file_read_link(link, NULL) : NULL;

    if (path)
        (void)unlink(path);
}

/* ---- looking ---- */

/* Sets when to look because of a report. A report that comes just after a look waits until --watch has rested, even if
 * the report is about our own NICs: so one look covers the whole change of a network manager. */
static void on_event(Watch *watch, gboolean ours, gint64 now)
{
    Burst *burst = ours ? &watch->ours : &watch->any;

    watch->answers_ours |= ours;
    if (now - burst->looked > QUIET)
        burst->pause = 0;
    else if (burst->is_answered)
        burst->pause = CLAMP(2 * burst->pause, FIRST_PAUSE, LONGEST_PAUSE);
    burst->is_answered = FALSE;
    watch->due = MIN(watch->due, MAX(now, MAX(burst->looked + burst->pause, watch->any.looked + watch->rest)));
}

/* Runs an event, which reads everything again, and sets when to look next. */
static void look(Watch *watch)
{
    const char *path = watch->how.config ? watch->how.config : IBH_CONFIG_DIR;
    g_autofree char *fragments = g_strconcat(path, "/conf.d", NULL);
    g_autofree char *cause = g_strconcat("--watch", watch->events.first ? ": " : NULL, watch->events.first, NULL);
    g_autoptr(GArray) given_up = IBH_NEW_ARRAY(int);
    gint64 now = g_get_monotonic_time();
    gboolean ok;

    /* Watch the files before the run reads them, and do so at each look: a file may be new, or its name may belong to
     * another file now. */
    (void)inotify_add_watch(watch->files, path, FILE_CHANGES);
    (void)inotify_add_watch(watch->files, fragments, FILE_CHANGES);
    watch->look_began = now;
    IBH_EACH (const int, ifindex, watch->events.moved)
        ibh_backoff_forgive(watch->backoff, *ifindex);
    IBH_EACH (const Away, away, watch->away) {
        if (now - away->since >= ADDRESS_MAY_COME_BACK)
            g_array_append_val(given_up, away->ifindex);
    }
    g_array_set_size(watch->ports, 0);
    watch->how.cause = cause;
    watch->how.restraint.given_up = given_up;
    ok = ibh_event_run(&watch->how, watch->complained);
    ibh_events_forget(&watch->events);
    now = watch->any.looked = g_get_monotonic_time();
    watch->rest = CLAMP(REST * (now - watch->look_began), FIRST_PAUSE, LONGEST_REST);
    watch->any.is_answered = TRUE;
    if (watch->answers_ours) {
        watch->ours.looked = now;
        watch->ours.is_answered = TRUE;
    }
    watch->answers_ours = FALSE;

    /* When to look again if nothing happens. */
    watch->due = ibh_backoff_next(watch->backoff, now);
    IBH_EACH (const Away, away, watch->away)
        watch->due = MIN(watch->due, away->since + ADDRESS_MAY_COME_BACK);
    watch->retry = ok ? 0 : watch->retry ? MIN(2 * watch->retry, LONGEST_RETRY) : RETRY;
    if (watch->retry)
        watch->due = MIN(watch->due, now + watch->retry);
    /* If the focus has changed, the old filter may have dropped reports that matter now: look again. */
    if (watch->focus.candidates && ibh_events_set_focus(&watch->events, &watch->focus))
        on_event(watch, FALSE, now);
    watch->due = MIN(watch->due, ibh_missing_log(&watch->missing, watch->missed, now));
    take_lock(watch);
    ibh_notify("READY=1");
}

/* ---- waiting ---- */

/* Waits for a signal, a report, a changed file, or the time of the next look or sign of life. */
static void wait_for_something(Watch *watch)
{
    struct pollfd fds[] = {{.fd = watch->signals, .events = POLLIN},
                           {.fd = watch->events.netlink, .events = POLLIN},
                           {.fd = watch->events.uevents, .events = POLLIN},
                           {.fd = watch->files, .events = POLLIN}};
    const gint64 left = MIN(watch->due, watch->alive) - g_get_monotonic_time();
    struct signalfd_siginfo info;
    char changes[4096];
    gint64 now;

    (void)poll(fds, G_N_ELEMENTS(fds), left <= 0 ? 0 : (int)MIN(left / 1000 + 1, G_MAXINT));
    now = g_get_monotonic_time();
    while (read(watch->signals, &info, sizeof info) == (gssize)sizeof info) {
        watch->stop |= info.ssi_signo != SIGHUP;
        if (info.ssi_signo == SIGHUP) {
            watch->reload = TRUE;
            g_string_truncate(watch->complained, 0); /* so a reload also prints warnings that were printed before */
        }
        watch->due = now;
    }
    while (read(watch->files, changes, sizeof changes) > 0)
        watch->due = MIN(watch->due, now + FILES_SETTLE_WITHIN);
    if (fds[1].revents || fds[2].revents) {
        gboolean ours;

        if (ibh_events_drain(&watch->events, watch->ports, watch->focus.candidates, &ours))
            on_event(watch, ours, now);
    }
    if (now >= watch->alive) {
        ibh_notify("WATCHDOG=1");
        watch->alive = now + ibh_notify_interval() / 2;
    }
}

/* ---- beginning and end ---- */

static gboolean start_watch(Watch *watch, GError **error)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    sigset_t set;

    if (!ibh_caps_keep_net()) {
        g_set_error_literal(error, IBH_RUN_ERROR, 0,
                            "--watch needs CAP_NET_ADMIN in this network namespace: run it as root");
        return FALSE;
    }
    sigemptyset(&set);
    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
        sigaddset(&set, numbers[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    watch->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (watch->signals < 0) {
        g_set_error(error, IBH_RUN_ERROR, 0, "--watch cannot wait for signals: %s", g_strerror(errno));
        return FALSE;
    }
    return ibh_events_open(&watch->events, error);
}

gboolean ibh_watch_run(const char *config, const char *sysfs)
{
    Watch watch = {.how = {.config = config,
                           .sysfs = sysfs,
                           .configure = configure,
                           .restraint = {.leaves = leaves_alone},
                           .after = after_run},
                   .reload = config != NULL, /* whoever names a file wants it in force */
                   .lock = -1};
    const int *const opened[] = {&watch.signals, &watch.files, &watch.lock};
    g_autoptr(GError) error = NULL;

    if (!start_watch(&watch, &error)) {
        ibh_log_lines(LOG_ERR, error->message, TRUE);
        return FALSE;
    }
    watch.how.data = &watch;
    watch.how.restraint.data = &watch;
    watch.files = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    watch.alive = ibh_notify_interval() ? 0 : NEVER;
    watch.away = IBH_NEW_ARRAY(Away);
    watch.ports = IBH_NEW_ARRAY(guint32);
    watch.backoff = ibh_backoff_new();
    watch.missing = IBH_NEW_ARRAY(IbhKnownRail);
    watch.complained = g_string_new(NULL);
    while (!watch.stop) {
        if (watch.due <= g_get_monotonic_time())
            look(&watch);
        wait_for_something(&watch);
    }
    ibh_notify("STOPPING=1");
    remove_lock(&watch);
    after_run(&watch, NULL, NULL); /* frees the results of the last run */
    ibh_events_close(&watch.events);
    for (guint i = 0; i < G_N_ELEMENTS(opened); i++) {
        if (*opened[i] >= 0)
            close(*opened[i]);
    }
    g_array_unref(watch.away);
    g_array_unref(watch.ports);
    g_array_unref(watch.backoff);
    g_array_unref(watch.missing);
    g_string_free(watch.complained, TRUE);
    g_free(watch.unapplied);
    return TRUE;
}
