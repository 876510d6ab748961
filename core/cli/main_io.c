/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ib-hook command: from the command line to an action. */
#include "check/look_io.h"
#include "cli/cli.h"
#include "fabric/read_io.h"
#include "kernel/netlink.h"
#include "probe/prober_io.h"
#include "render/render.h"
#include "run/run.h"

#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOCK_SECONDS 10

typedef struct {
    IbhRun run;
    const IbhOptions *options;
    GString *out;
} Command;

/* What the user reads: `out` on standard output, `warnings` on standard error. Returns the exit status. */
static int act(const IbhOptions *options, GString *out, GString *warnings);

/* A report, whose parts the caller has set. Returns the exit status. */
static int say(Command *command, IbhReport *report)
{
    const IbhOptions *options = command->options;
    IbhWriter *writer = options->json ? ibh_write_json : options->prometheus ? ibh_write_prometheus : ibh_write_text;
    g_autofree char *text = NULL;

    report->action = options->action;
    report->rails = command->run.rails;
    if (!command->run.writes || !options->style.quiet || writer != ibh_write_text) { /* else the exit status says it */
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
    g_autofree char *text = ibh_report(&report, options->json ? ibh_write_json : ibh_write_text, &(IbhStyle){0});

    g_string_append(options->json ? out : warnings, text);
    return report.status;
}

/* TRUE while a process waits for --confirm; with a token in the options, only if it is that token's process. */
static gboolean has_token(const Command *command)
{
    g_autofree char *token = command->run.store ? ibh_store_get_token(command->run.store) : NULL;

    return token && (!command->options->token || g_str_equal(token, command->options->token));
}

/* ---- looking: where `error` is set, it is told instead of a report, and decides the exit status ---- */

static IbhFabric *look_at_fabric(Command *command)
{
    g_auto(IbhTree) tree = {0};
    g_autofree char *problem = NULL;
    IbhFabric *fabric;

    ibh_tree_open(&tree, command->options->sysfs);
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

static int do_check(Command *command, GError **error)
{
    g_autoptr(GArray) missed = NULL;
    g_autoptr(GPtrArray) plan = ibh_run_plan(&command->run);
    g_autoptr(IbhCheck) check = NULL;
    g_autoptr(IbhFabric) fabric = NULL;
    g_autoptr(GPtrArray) findings = ibh_findings_new();

    if (!ibh_check_look(command->run.rails, command->run.snapshot, command->run.netlink, error))
        return IBH_EXIT_SYSTEM;
    check = ibh_check_new(command->run.rails, command->run.only);
    IBH_EACH (IbhQuestion, question, check->questions) {
        if (question->asked && !ibh_netlink_lookup(command->run.netlink, &question->lookup, error))
            return IBH_EXIT_SYSTEM;
    }
    fabric = look_at_fabric(command);
    ibh_managers_read(command->options->sysfs, command->run.snapshot);
    ibh_fabric_judge(fabric, command->run.only, findings);
    missed = ibh_run_missed(&command->run);
    ibh_check_judge(check, plan, missed, findings);
    return say(command, &(IbhReport){.findings = findings, .missed = missed, .fabric = fabric});
}

static int do_render(Command *command, GError **error G_GNUC_UNUSED)
{
    const char *format = command->options->render;
    g_autoptr(IbhFabric) fabric = g_str_equal(format, "env") ? look_at_fabric(command) : NULL;
    g_autofree char *text = NULL;

    ibh_managers_read(command->options->sysfs, command->run.snapshot);
    text = ibh_render(format, command->run.rails, fabric);
    g_string_append(command->out, text);
    return IBH_EXIT_OK;
}

/* ---- probing ---- */

static int do_probe(Command *command, GError **error)
{
    g_autoptr(IbhProbe) probe = ibh_probe_new(command->run.rails, &command->options->probe, error);

    if (!probe || (probe->pairs->len && !ibh_probe_run(probe, command->run.netlink, command->options->sysfs, error)))
        return IBH_EXIT_SYSTEM;
    ibh_probe_judge(probe);
    return say(command, &(IbhReport){.probe = probe, .findings = probe->findings});
}

/* ---- the process that waits for --confirm ---- */

#define TRIES 720 /* a host that may be cut off is worth an hour */
#define PAUSE 5   /* seconds */

/* Ended early by a signal (a service that stops, a machine that shuts down), it undoes the half-tried change. */
static void wait_for(guint seconds)
{
    sigset_t signals;
    int number;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGALRM);
    alarm(seconds);
    (void)sigwait(&signals, &number);
}

/* Repeats until it succeeds, or finds that the change was confirmed. */
G_GNUC_NORETURN static void live(IbhOptions options)
{
    g_autoptr(GString) out = g_string_new(NULL), warnings = g_string_new(NULL);
    int status = IBH_EXIT_SYSTEM;

    options.action = IBH_ACTION_UNDO;
    options.json = FALSE;
    options.style = (IbhStyle){0};
    for (int i = 0; i < TRIES && status == IBH_EXIT_SYSTEM; i++) {
        wait_for(i ? PAUSE : (guint)options.confirm);
        g_string_truncate(out, 0);
        g_string_truncate(warnings, 0);
        status = act(&options, out, warnings);
    }
    if (out->len)
        ibh_log_lines(LOG_WARNING, g_string_prepend(out, "not confirmed in time: ")->str);
    ibh_log_lines(LOG_ERR, warnings->str);
    _exit(status);
}

/* Starts the process that undoes an --apply unless it is confirmed, just before the change. When this returns, that one
 * has left our session, and holds no file, lock, pipe or terminal of ours or of our caller's; no signal ends it. */
static gboolean start_process(const IbhOptions *options)
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
        if (daemon(TRUE, FALSE) == 0)
            live(*options);
        _exit(IBH_EXIT_SYSTEM);
    }
    return child > 0 && waitpid(child, &status, 0) == child && !status;
}

/* ---- --confirm ---- */

/* The token identifies this --apply to the process that waits. */
static gboolean start_waiting(Command *command, GError **error)
{
    g_autofree char *token = g_strdup_printf("%d %" G_GINT64_FORMAT "\n", (int)getpid(), g_get_real_time());
    IbhOptions options = *command->options;

    options.token = token;
    if (command->run.store && !ibh_store_set_token(command->run.store, token, error))
        return FALSE;
    if (command->run.store && start_process(&options))
        return TRUE;
    g_set_error(error, IBH_RUN_ERROR, 0, "--confirm needs %s; nothing was changed",
                command->run.store ? "one more process, which cannot be started" : IBH_RUN_DIR);
    return FALSE;
}

static int do_confirm(Command *command, GError **error)
{
    if (!has_token(command)) {
        g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                            "nothing waits for a confirmation: --apply --confirm changed nothing, or has been undone");
        return IBH_EXIT_USAGE;
    }
    if (!ibh_store_set_token(command->run.store, NULL, error))
        return IBH_EXIT_SYSTEM;
    return say(command, &(IbhReport){0});
}

/* ---- changing ---- */

/* --plan, too */
static int do_change(Command *command, GError **error)
{
    const IbhOptions *options = command->options;
    const gboolean undo = options->action == IBH_ACTION_UNDO;
    g_autoptr(GPtrArray) plan = ibh_run_plan(&command->run);
    g_autoptr(IbhOutcome) outcome = NULL;
    g_autofree char *line = NULL;

    if (options->action == IBH_ACTION_PLAN)
        return say(command, &(IbhReport){.ops = plan});
    if (!undo && options->confirm && (plan->len || has_token(command)) && !start_waiting(command, error))
        return IBH_EXIT_SYSTEM;
    outcome = ibh_run_change(&command->run, plan);
    /* The journal tells why rails came or went: a person did it, or a package's script. */
    line = g_strdup_printf("%s: %u change%s%s", undo ? "--undo" : "--apply", outcome->done->len,
                           outcome->done->len == 1 ? "" : "s", outcome->errors->len ? "; not all could be made" : "");
    if (outcome->done->len || outcome->errors->len)
        ibh_log_command(line);
    if (undo && command->run.store && !outcome->errors->len && (!command->run.only || options->token))
        (void)ibh_store_set_token(command->run.store, NULL, NULL); /* there is nothing left to confirm */
    IBH_EACH_POINTER (const char, message, outcome->errors)
        ibh_run_warn(&command->run, message);
    return say(command, &(IbhReport){.ops = outcome->done,
                                     .errors = outcome->errors,
                                     .confirm = has_token(command) ? options->confirm : 0});
}

/* ---- from the options to an action ---- */

static gboolean check_privileges(const Command *command, GError **error)
{
    if (!command->run.writes || ibh_caps_have(CAP_NET_ADMIN))
        return TRUE;
    g_set_error_literal(error, IBH_RUN_ERROR, 0,
                        "this needs CAP_NET_ADMIN in this network namespace, which this process does not have: run it "
                        "as root (--show, --check, --plan and --render need nothing)");
    return FALSE;
}

static gboolean check_names(const IbhRun *run, GError **error)
{
    for (guint i = 0; run->only && run->only[i]; i++) {
        gboolean known = ibh_snapshot_link_by_name(run->snapshot, run->only[i]) != NULL;

        IBH_EACH (const IbhKnownRail, rail, run->snapshot->state->known)
            known |= run->undo && g_str_equal(rail->iface, run->only[i]); /* which is forgotten */
        if (!known) {
            g_set_error(error, IBH_CONFIG_ERROR, 0,
                        "--iface %s: there is no such interface here; ib-hook --show lists them", run->only[i]);
            return FALSE;
        }
    }
    return TRUE;
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
    if (run->undo && command->options->token && !has_token(command))
        return IBH_EXIT_OK; /* it was confirmed */
    /* The process that waits for --confirm reports to no terminal. */
    if (!ibh_run_read(run, error) || (!command->options->token && !check_names(run, error)) ||
        !ibh_run_find_rails(run, error) || (!run->undo && !ibh_rails_check_remote(run->rails, error)))
        return IBH_EXIT_SYSTEM;
    run->snapshot->hash_policy = MAX(ibh_sysctl_read("ipv4/fib_multipath_hash_policy"), 0); /* reported */
    return acts[command->options->action](command, error);
}

static int act(const IbhOptions *options, GString *out, GString *warnings)
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
                .speaker = "ib-hook: ",
                .warnings = warnings,
                .announcer = IBH_ANNOUNCER_INIT},
        .options = options,
        .out = out};
    g_autoptr(GError) error = NULL;
    int status = run_live(&command, &error);

    if (error)
        status = fail(options, error, out, warnings);
    ibh_run_close(&command.run);
    return status;
}

/* ---- the program ---- */

int main(int argc G_GNUC_UNUSED, char **argv)
{
    g_auto(IbhOptions) options = {0};
    g_autoptr(GString) out = g_string_new(NULL), warnings = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    gboolean parsed;
    int status = IBH_EXIT_OK;

    ibh_start();
    parsed = ibh_options_parse(argv, &options, &error);
    options.style.width = isatty(STDOUT_FILENO) ? 80 : 0;
    options.style.color = options.style.width && !g_getenv("NO_COLOR");
    if (!parsed)
        status = fail(&options, error, out, warnings);
    else if (options.action == IBH_ACTION_HELP)
        ibh_options_help(out);
    else if (options.action == IBH_ACTION_VERSION)
        g_string_append(out, "ib-hook " IBH_VERSION "\n");
    else if (options.action == IBH_ACTION_WATCH)
        status = ibh_watch(options.config, options.sysfs) ? IBH_EXIT_OK : IBH_EXIT_SYSTEM;
    else
        status = act(&options, out, warnings);
    fputs(warnings->str, stderr);
    fputs(out->str, stdout);
    if (fflush(stdout) != 0) {
        fputs("ib-hook: cannot write to standard output\n", stderr);
        status = status ? status : IBH_EXIT_SYSTEM;
    }
    return status;
}
