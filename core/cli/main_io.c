/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ib-hook command: from the command line to an action. */
#include "check/in_force.h"
#include "check/look_io.h"
#include "check/missing.h"
#include "cli/back.h"
#include "cli/cli.h"
#include "cli/token_io.h"
#include "fabric/read_io.h"
#include "kernel/netlink.h"
#include "probe/prober_io.h"
#include "render/render.h"
#include "run/run.h"
#include "watch/watch.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOCK_SECONDS 10

/* Of the process that waits for --confirm. */
typedef struct {
    IbhTrial trial;
    int process;   /* of the --apply, which names the trial */
    int token;     /* the file that has it, open: it may be removed */
    guint seconds; /* until its next try */
    gboolean ends; /* a service stops, or the machine */
} Waiter;

typedef struct {
    IbhRun run;
    const IbhOptions *options;
    Waiter *waiter;  /* NULL: it is another one */
    gboolean edited; /* what the files say now is not in force, and does not count */
    GPtrArray *plan;
    GString *out;
} Command;

/* What the user reads: `out` on standard output, `warnings` on standard error. Returns the exit status. */
static int act(const IbhOptions *options, Waiter *waiter, GString *out, GString *warnings);

/* A report, whose parts the caller has set. Returns the exit status. */
static int say(Command *command, IbhReport *report)
{
    const IbhOptions *options = command->options;
    IbhWriter *writer = options->json ? ibh_report_json : options->prometheus ? ibh_report_prometheus : ibh_report_text;
    g_autofree char *text = NULL;

    report->action = options->action;
    report->rails = command->run.rails;
    if (!command->run.writes || !options->style.quiet || writer != ibh_report_text) { /* else the exit status says it */
        text = ibh_report(report, writer, &options->style);
        g_string_append(command->out, text);
    }
    if (report->errors && report->errors->len)
        return IBH_EXIT_SYSTEM;
    return options->action == IBH_ACTION_SHOW || ibh_report_is_ok(report) ? IBH_EXIT_OK : IBH_EXIT_FINDINGS;
}

/* What is wrong with the command line or the configuration changed nothing. */
static int fail(const IbhOptions *options, const GError *error, GString *out, GString *warnings)
{
    const gboolean usage = error->domain == G_OPTION_ERROR || error->domain == IBH_CONFIG_ERROR;
    const IbhReport report = {.status = usage ? IBH_EXIT_USAGE : IBH_EXIT_SYSTEM, .message = error->message};
    g_autofree char *text = ibh_report(&report, options->json ? ibh_report_json : ibh_report_text, &(IbhStyle){0});

    g_string_append(options->json ? out : warnings, text);
    return report.status;
}

/* ---- looking: where `error` is set, it is told instead of a report, and decides the exit status ---- */

static gboolean is_known_rail(const IbhState *state, const char *iface)
{
    IBH_EACH (const IbhKnownRail, known, state->known) {
        if (g_str_equal(known->iface, iface))
            return TRUE;
    }
    return FALSE;
}

static gboolean check_names(const IbhRun *run, GError **error)
{
    for (guint i = 0; run->only && run->only[i]; i++) {
        if (!ibh_snapshot_link_by_name(run->snapshot, run->only[i]) &&
            !(run->undo && is_known_rail(run->snapshot->state, run->only[i]))) { /* which is forgotten */
            g_set_error(error, IBH_CONFIG_ERROR, 0,
                        "--iface %s: there is no such interface here; ip -br link lists them", run->only[i]);
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean decide(Command *command, GError **error)
{
    g_clear_pointer(&command->plan, g_ptr_array_unref);
    command->plan = ibh_run_decide(&command->run, error);
    return command->plan != NULL;
}

static gboolean look_and_decide(Command *command, GError **error)
{
    IbhRun *run = &command->run;

    return ibh_run_look(run, error) && check_names(run, error) && decide(command, error);
}

static IbhFabric *look_at_fabric(Command *command)
{
    g_auto(IbhTree) tree = ibh_tree_of(command->options->sysfs);
    g_autofree char *problem = NULL;
    IbhFabric *fabric;

    fabric = ibh_fabric_read(&tree, command->run.snapshot->links, command->run.rails);
    ibh_fabric_read_gpus(&tree, fabric);
    if (command->options->action != IBH_ACTION_RENDER) /* findings need to know what grows and changes */
        ibh_fabric_read_again(&tree, fabric);
    problem =
        g_strdup_printf("%s: not everything that RDMA ports say could be read: %s", tree.sys, g_strerror(tree.problem));
    if (tree.problem)
        ibh_run_warn(&command->run, problem);
    ibh_fabric_use_rails(fabric, command->run.rails);
    return fabric;
}

/* `warns`: of those findings, where a report does not show them. */
static void judge_sections(Command *command, const GArray *missed, gboolean warns, GPtrArray *findings)
{
    const guint before = findings->len;

    ibh_rails_judge_sections(command->run.rails, command->run.config, missed, findings);
    for (guint i = before; warns && i < findings->len; i++)
        ibh_run_warn(&command->run, ((const IbhFinding *)g_ptr_array_index(findings, i))->message);
}

static GArray *find_missing(const Command *command)
{
    return ibh_missing_find(command->run.rails, command->run.config, command->run.sysfs, FALSE);
}

#define NOT_IN_FORCE "the configuration in " IBH_CONFIG_DIR " changed and is not in force"

/* What was not applied yet cannot be why a packet goes astray. What the files say now was found to be usable. */
static gboolean use_config_in_force(Command *command, GError **error)
{
    IbhRun *run = &command->run;
    IbhConfig *in_force = NULL;

    if (command->options->action == IBH_ACTION_CHECK && !run->config_path)
        in_force = ibh_config_in_force(run->state, run->config, ibh_table_look_up);
    if (!in_force)
        return TRUE;
    ibh_config_free(run->config);
    run->config = in_force;
    command->edited = TRUE;
    if (look_and_decide(command, error))
        return TRUE;
    g_prefix_error(error, "%s (sudo ib-hook --apply); the one in force: ", NOT_IN_FORCE); /* its line may be gone */
    return FALSE;
}

static int do_check(Command *command, GError **error)
{
    g_autoptr(GArray) missed = NULL;
    g_autoptr(IbhFacts) facts = ibh_facts_new();
    g_autoptr(IbhCheck) check = NULL;
    g_autoptr(IbhFabric) fabric = NULL;
    g_autoptr(GPtrArray) findings = ibh_findings_new();
    const guint wanted = ibh_config_settings(command->run.config, "").rails;

    if (!ibh_check_look(command->run.rails, command->run.snapshot, facts, command->run.netlink, error))
        return IBH_EXIT_SYSTEM;
    check = ibh_check_new(command->run.rails, facts, command->run.only);
    IBH_EACH (IbhQuestion, question, check->questions) {
        if (question->asked && !ibh_netlink_lookup(command->run.netlink, &question->lookup, error))
            return IBH_EXIT_SYSTEM;
    }
    fabric = look_at_fabric(command);
    ibh_managers_read(command->options->sysfs, command->run.snapshot, facts);
    ibh_fabric_judge(fabric, command->run.only, findings);
    if (wanted && !command->run.only && ibh_store_is_home()) /* the configuration is that of the host */
        ibh_fabric_judge_count(fabric, command->run.rails, wanted, findings);
    missed = find_missing(command);
    ibh_check_judge(check, command->plan, missed, findings);
    judge_sections(command, missed, command->options->action == IBH_ACTION_SHOW && command->options->style.verbose,
                   findings);
    if (command->edited)
        ibh_finding_add(findings, "", IBH_INFO, "not-in-force",
                        ibh_remedy_advice("see what it would change: ib-hook --plan"), "%s; sudo ib-hook --apply",
                        NOT_IN_FORCE);
    return say(command,
               &(IbhReport){.facts = facts, .check = check, .findings = findings, .missed = missed, .fabric = fabric});
}

static int do_render(Command *command, GError **error)
{
    const char *format = command->options->render;
    g_autoptr(IbhFabric) fabric = NULL;
    g_autoptr(IbhFacts) facts = ibh_facts_new();
    g_autofree char *text = NULL;

    ibh_render_forget_former(command->run.rails, command->run.snapshot);
    if (!decide(command, error))
        return IBH_EXIT_SYSTEM;
    if (g_str_equal(format, "env"))
        fabric = look_at_fabric(command);
    ibh_managers_read(command->options->sysfs, command->run.snapshot, facts);
    text = ibh_render(format, command->run.rails, facts, fabric);
    g_string_append(command->out, text);
    return IBH_EXIT_OK;
}

/* ---- probing ---- */

static int do_probe(Command *command, GError **error)
{
    const gboolean shows_progress = isatty(STDERR_FILENO) && !command->options->style.quiet;
    int status;
    g_autoptr(IbhProbe) probe = ibh_probe_new(command->run.rails, &command->options->probe, error);

    if (!probe || (probe->pairs->len &&
                   !ibh_probe_run(probe, command->run.netlink, command->options->sysfs, shows_progress, error)))
        return IBH_EXIT_SYSTEM;
    ibh_probe_judge(probe);
    status = say(command, &(IbhReport){.probe = probe, .findings = probe->findings});
    return probe->interrupted ? IBH_EXIT_INTERRUPTED : status;
}

/* ---- a trial: an --apply that waits for --confirm ---- */

/* A process whose time has been over for so long does not answer any more: it was killed, or tries in vain. */
#define PAUSE 5 /* seconds */

static gint64 seconds_left(const IbhToken *token)
{
    const gint64 left = token->end - g_get_monotonic_time();

    return left > 0 ? left / G_USEC_PER_SEC + 1 : 0;
}

static gboolean is_on_trial(const IbhToken *token)
{
    return token->process && token->end + PAUSE * G_USEC_PER_SEC > g_get_monotonic_time();
}

static IbhToken read_token(const Command *command)
{
    return command->run.store ? ibh_token_read(command->run.store) : (IbhToken){.process = 0};
}

/* ---- the process that waits for --confirm ---- */

#define TRIES 720 /* a host that may be cut off is worth an hour */
#define LONG_PAUSE 60

/* Ended early by a signal (a service that stops, a machine that shuts down), it gives the state before back at once. */
static gboolean wait_for(guint seconds)
{
    sigset_t signals;
    int number;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGALRM);
    alarm(seconds);
    return sigwait(&signals, &number) == 0 && number == SIGTERM;
}

static GPtrArray *plan_back(const IbhRun *run)
{
    return ibh_trial_plan_back(run->rails, run->data);
}

static void remember_trial(const IbhRun *run, IbhState *state)
{
    ibh_trial_remember(run->data, run->rails, state);
}

/* The journal tells why rails came or went: a person did it, or a package's script. */
static void log_change(const Command *command, const IbhOutcome *outcome, const char *action)
{
    g_autofree char *caller = ibh_caller(action);
    g_autofree char *text = ibh_ops_log_text(outcome->done, command->run.snapshot, caller);

    ibh_log_lines(LOG_INFO, text, FALSE);
    IBH_EACH_POINTER (const char, message, outcome->errors)
        ibh_log_lines(LOG_WARNING, message, FALSE);
}

static int give_back(Command *command, GError **error)
{
    Waiter *waiter = command->waiter;
    g_autoptr(IbhOutcome) outcome = NULL;

    /* The NICs may have other names by now. */
    if (!ibh_run_look(&command->run, error) || !decide(command, error))
        return IBH_EXIT_SYSTEM;
    outcome = ibh_run_change(&command->run, command->plan);
    if (outcome->done->len || !command->run.is_unsaved)
        log_change(command, outcome, "--apply was not confirmed");
    IBH_EACH_POINTER (const char, message, outcome->errors)
        ibh_run_warn(&command->run, message);
    if (command->run.is_unsaved) /* the next event would do it all again: so will this */
        return IBH_EXIT_SYSTEM;
    waiter->trial.tried = TRUE;
    g_string_append_printf(
        command->out, "%s (%u change%s); hooks and --watch leave it so until --apply, --undo or a reboot\n",
        outcome->errors->len ? "not all of the state before --apply is back" : "the state before --apply is back",
        outcome->done->len, outcome->done->len == 1 ? "" : "s");
    if (outcome->errors->len)
        return IBH_EXIT_SYSTEM;
    if (command->run.store)
        (void)ibh_token_remove(command->run.store, NULL);
    return IBH_EXIT_OK;
}

static int do_wait(Command *command, GError **error)
{
    Waiter *waiter = command->waiter;
    g_auto(IbhToken) token = {.process = 0};

    if (ibh_token_read_open(waiter->token, &token) && token.process != waiter->process)
        return IBH_EXIT_OK; /* it was confirmed, or another trial has taken its place */
    waiter->seconds = seconds_left(&token) ? (guint)MIN(seconds_left(&token), LONG_PAUSE) : PAUSE;
    if (!waiter->ends && seconds_left(&token))
        return IBH_EXIT_FINDINGS;
    waiter->trial.only = (const char *const *)token.ifaces;
    return give_back(command, error);
}

/* While the reason is the same, once: there may be an hour of tries. */
static void tell_once(const GString *warnings, char **said)
{
    if (g_strcmp0(warnings->str, *said) == 0)
        return;
    ibh_log_lines(LOG_ERR, warnings->str, TRUE);
    g_free(*said);
    *said = g_strdup(warnings->str);
}

/* Repeats until it succeeds, or finds that the change was confirmed; its turn may not have come yet. */
G_GNUC_NORETURN static void live(IbhOptions options, Waiter waiter)
{
    g_autoptr(GString) out = g_string_new(NULL), warnings = g_string_new(NULL);
    g_autofree char *said = NULL;
    int status = IBH_EXIT_SYSTEM;

    options.action = IBH_ACTION_UNDO;
    options.json = FALSE;
    for (int tries = 0; tries < TRIES && status != IBH_EXIT_OK; tries += status == IBH_EXIT_FINDINGS ? 0 : 1) {
        waiter.ends = wait_for(waiter.seconds);
        g_string_truncate(out, 0);
        g_string_truncate(warnings, 0);
        status = act(&options, &waiter, out, warnings);
        tell_once(warnings, &said);
    }
    if (out->len)
        ibh_log_lines(LOG_WARNING, g_string_prepend(out, "not confirmed in time: ")->str, TRUE);
    _exit(status);
}

/* Starts the process that gives the state before --apply back unless it is confirmed, just before the change. When this
 * returns, that process has left our session, and holds no lock, pipe or terminal of ours or of our caller's, and no
 * file but that of the token; no signal ends it. */
static gboolean start_process(const Command *command, Waiter waiter)
{
    sigset_t all;
    int status = 0;
    pid_t child;

    signal(SIGCHLD, SIG_DFL); /* who ignores it never hears how a child ended */
    child = fork();
    if (child == 0) {
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        (void)setsid();
        for (int fd = (int)CLAMP(sysconf(_SC_OPEN_MAX), 256, 65536); fd > STDERR_FILENO; fd--)
            close(fd);
        waiter.token = ibh_token_open(command->run.store);
        if (waiter.token >= 0 && daemon(TRUE, FALSE) == 0)
            live(*command->options, waiter);
        _exit(IBH_EXIT_SYSTEM);
    }
    return child > 0 && waitpid(child, &status, 0) == child && !status;
}

/* ---- --confirm ---- */

/* An --apply within a trial is part of it: what comes back is the state before the first one. */
static void join_trial(IbhToken *token, gint64 end, const char *const *only)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    token->end = MAX(token->end, end);
    for (guint i = 0; token->ifaces && only && token->ifaces[i]; i++)
        g_ptr_array_add(names, g_strdup(token->ifaces[i]));
    for (guint i = 0; token->ifaces && only && only[i]; i++) {
        if (!ibh_names_have(names, only[i]))
            g_ptr_array_add(names, g_strdup(only[i]));
    }
    g_clear_pointer(&token->ifaces, g_strfreev);
    if (names->len) {
        g_ptr_array_add(names, NULL);
        token->ifaces = (GStrv)g_ptr_array_free(g_steal_pointer(&names), FALSE);
    }
}

/* Begins a trial where one was asked for, or takes part in the one that waits. `ret_seconds`: it waits for so long, 0:
 * none does. */
static gboolean begin_trial(const Command *command, const GPtrArray *plan, guint *ret_seconds, GError **error)
{
    const gint64 end =
        command->options->confirm ? g_get_monotonic_time() + command->options->confirm * G_USEC_PER_SEC : 0;
    g_auto(IbhToken) token = read_token(command);
    Waiter waiter = {.trial = {.made = plan, .then = command->run.snapshot}, .process = (int)getpid()};

    *ret_seconds = 0;
    if (is_on_trial(&token) && (plan->len || end)) {
        join_trial(&token, end, command->run.only);
        *ret_seconds = (guint)seconds_left(&token);
        return ibh_token_write(command->run.store, &token, error);
    }
    if (!end || !plan->len)
        return TRUE;
    ibh_token_clear(&token);
    token = (IbhToken){.process = waiter.process, .end = end, .ifaces = g_strdupv((GStrv)(guintptr)command->run.only)};
    waiter.seconds = *ret_seconds = (guint)command->options->confirm;
    if (command->run.store && !ibh_token_write(command->run.store, &token, error))
        return FALSE;
    if (command->run.store && start_process(command, waiter))
        return TRUE;
    if (command->run.store)
        (void)ibh_token_remove(command->run.store, NULL);
    g_set_error(error, IBH_RUN_ERROR, 0, "--confirm needs %s; nothing was changed",
                command->run.store ? "one more process, which cannot be started" : IBH_RUN_DIR);
    return FALSE;
}

static int do_confirm(Command *command, GError **error)
{
    g_auto(IbhToken) token = read_token(command);
    g_autofree char *caller = NULL;

    if (!token.process) {
        g_set_error_literal(
            error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
            "nothing waits for a confirmation: there was no --apply --confirm that changed anything, or it was "
            "confirmed or undone, or its time is over");
        return IBH_EXIT_USAGE;
    }
    if (!ibh_token_remove(command->run.store, error))
        return IBH_EXIT_SYSTEM;
    caller = ibh_caller("the change stays: --confirm");
    ibh_log_lines(LOG_INFO, caller, FALSE);
    return say(command, &(IbhReport){0});
}

/* ---- changing ---- */

/* --plan, too */
static int do_change(Command *command, GError **error)
{
    const IbhOptions *options = command->options;
    const gboolean undo = options->action == IBH_ACTION_UNDO;
    const GPtrArray *plan = command->plan;
    g_autoptr(IbhOutcome) outcome = NULL;
    guint seconds = 0;

    if (options->action == IBH_ACTION_PLAN) {
        g_autoptr(GArray) missed = find_missing(command);
        g_autoptr(GPtrArray) findings = ibh_findings_new();

        judge_sections(command, missed, TRUE, findings);
        return say(command, &(IbhReport){.ops = plan});
    }
    if (!undo && !begin_trial(command, plan, &seconds, error))
        return IBH_EXIT_SYSTEM;
    outcome = ibh_run_change(&command->run, plan);
    log_change(command, outcome, undo ? "--undo" : "--apply");
    if (undo && command->run.store && !outcome->errors->len && !command->run.only)
        (void)ibh_token_remove(command->run.store, NULL); /* there is nothing left to confirm */
    IBH_EACH_POINTER (const char, message, outcome->errors)
        ibh_run_warn(&command->run, message);
    return say(command, &(IbhReport){.ops = outcome->done,
                                     .errors = outcome->errors,
                                     .forgets = undo && command->run.is_unsaved,
                                     .holds = undo && command->run.has_holds,
                                     .confirm = (int)seconds});
}

/* ---- from the options to an action ---- */

static gboolean check_privileges(const Command *command, GError **error)
{
    if (!command->run.writes || ibh_caps_keep_net())
        return TRUE;
    g_set_error_literal(error, IBH_RUN_ERROR, 0,
                        "this needs CAP_NET_ADMIN in this network namespace, which this process does not have: run it "
                        "as root (--show, --check, --plan and --render need nothing)");
    return FALSE;
}

typedef int Act(Command *command, GError **error);

static Act *const acts[] = {
    [IBH_ACTION_SHOW] = do_check,   [IBH_ACTION_CHECK] = do_check, [IBH_ACTION_PLAN] = do_change,
    [IBH_ACTION_APPLY] = do_change, [IBH_ACTION_UNDO] = do_change, [IBH_ACTION_RENDER] = do_render,
    [IBH_ACTION_PROBE] = do_probe};

static int run_live(Command *command, GError **error)
{
    IbhRun *run = &command->run;

    if (!ibh_run_configure(run, error) || !check_privileges(command, error) || !ibh_run_open(run, LOCK_SECONDS, error))
        return IBH_EXIT_SYSTEM;
    if (command->options->action == IBH_ACTION_CONFIRM)
        return do_confirm(command, error);
    if (command->waiter)
        return do_wait(command, error);
    if (!look_and_decide(command, error) || (!run->undo && !ibh_rails_check_remote(run->rails, error)) ||
        !use_config_in_force(command, error))
        return IBH_EXIT_SYSTEM;
    return acts[command->options->action](command, error);
}

static int act_once(const IbhOptions *options, Waiter *waiter, GString *out, GString *warnings)
{
    const IbhAction action = options->action;
    Command command = {
        .run = {.config_path = options->config,
                .sysfs = options->sysfs,
                .only = (const char *const *)options->ifaces,
                .writes = action == IBH_ACTION_APPLY || action == IBH_ACTION_UNDO || action == IBH_ACTION_CONFIRM,
                .undo = action == IBH_ACTION_UNDO,
                /* --plan shows what --apply would do, and --apply lifts holds */
                .respects_holds = action == IBH_ACTION_SHOW || action == IBH_ACTION_CHECK,
                .warnings = warnings,
                .packet_socket = -1},
        .options = options,
        .waiter = waiter,
        .out = out};
    g_autoptr(GError) error = NULL;
    int status;

    if (waiter) {
        command.run.plan = plan_back;
        command.run.remember = remember_trial;
        command.run.data = &waiter->trial;
    }
    status = run_live(&command, &error);

    if (error)
        status = fail(options, error, out, warnings);
    g_clear_pointer(&command.plan, g_ptr_array_unref);
    ibh_run_close(&command.run);
    return status;
}

/* While addresses come and go, the kernel's tables follow a moment later, and so do hooks and --watch. */
#define MOMENT ((gulong)100 * 1000) /* microseconds */

/* --check accuses nothing of what is right at the next look: that one counts. */
static int act(const IbhOptions *options, Waiter *waiter, GString *out, GString *warnings)
{
    const gsize warned = warnings->len;
    const int status = act_once(options, waiter, out, warnings);

    if (options->action != IBH_ACTION_CHECK || status != IBH_EXIT_FINDINGS)
        return status;
    g_usleep(MOMENT);
    g_string_truncate(out, 0);
    g_string_truncate(warnings, warned);
    return act_once(options, waiter, out, warnings);
}

/* ---- the program ---- */

static gboolean check_sysfs(const IbhOptions *options, GError **error)
{
    if (g_str_equal(options->sysfs, "/sys") || g_file_test(options->sysfs, G_FILE_TEST_IS_DIR))
        return TRUE;
    g_set_error(error, IBH_CONFIG_ERROR, 0,
                "--sysfs %s: there is no such directory; name a copy of another host's /sys, or leave it out",
                options->sysfs);
    return FALSE;
}

int main(int argc G_GNUC_UNUSED, char **argv)
{
    g_auto(IbhOptions) options = {0};
    g_autoptr(GString) out = g_string_new(NULL), warnings = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    gboolean parsed;
    int status = IBH_EXIT_OK;

    ibh_process_start();
    parsed = ibh_options_parse(argv, &options, &error);
    options.style.width = isatty(STDOUT_FILENO) ? 80 : 0;
    /* Before an installation it is build/ib-hook, and no other. */
    options.style.program = *argv && strchr(*argv, '/') ? *argv : "ib-hook";
    options.style.color = options.style.width && !g_getenv("NO_COLOR");
    if (!parsed || !ibh_options_resolve(&options, warnings, &error))
        status = fail(&options, error, out, warnings);
    else if (options.action == IBH_ACTION_HELP)
        ibh_options_help(out);
    else if (options.action == IBH_ACTION_VERSION)
        g_string_append(out, "ib-hook " IBH_VERSION "\n");
    else if (!check_sysfs(&options, &error))
        status = fail(&options, error, out, warnings);
    else if (options.action == IBH_ACTION_WATCH)
        status = ibh_watch_run(options.config, options.sysfs) ? IBH_EXIT_OK : IBH_EXIT_SYSTEM;
    else
        status = act(&options, NULL, out, warnings);
    fputs(warnings->str, stderr);
    fputs(out->str, stdout);
    if (fflush(stdout) != 0) {
        fputs("ib-hook: cannot write to standard output\n", stderr);
        status = IBH_EXIT_SYSTEM; /* also where the report has findings: no reader has it */
    }
    return status;
}
