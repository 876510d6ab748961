/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ib-hook command: from the command line to an action. */
#include "check/in_force.h"
#include "check/look_io.h"
#include "check/missing.h"
#include "cli/cli.h"
#include "cli/trial_io.h"
#include "fabric/read_io.h"
#include "kernel/netlink.h"
#include "probe/prober_io.h"
#include "render/render.h"
#include "run/run.h"
#include "watch/watch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    IbhRun run;
    IbhOptions *options;
    GPtrArray *plan; /* IbhOp *; NULL until decide() */
    GString *out;    /* the text for standard output; run.warnings has the text for standard error */
} Command;

/* Appends a report to `out`. The caller has set the members of `report` that differ between actions. Returns the exit
 * status, which for --show does not depend on findings. */
static int write_report(Command *command, IbhReport *report)
{
    const IbhOptions *options = command->options;
    IbhWriter *writer = options->json ? ibh_report_json : options->prometheus ? ibh_report_prometheus : ibh_report_text;
    /* The actions --apply, --undo and --confirm write no text if --quiet is given: their errors are in run.warnings. */
    const gboolean only_status = command->run.writes && options->style.quiet && writer == ibh_report_text;
    g_autofree char *text = NULL;

    report->action = options->action;
    report->rails = command->run.rails;
    if (!only_status) {
        text = ibh_report(report, writer, &options->style);
        g_string_append(command->out, text);
    }
    if (report->errors && report->errors->len)
        return IBH_EXIT_SYSTEM;
    return options->action == IBH_ACTION_SHOW || ibh_report_is_ok(report) ? IBH_EXIT_OK : IBH_EXIT_FINDINGS;
}

/* Reports an error: with --json in `out`, without --json in `warnings`. Returns the exit status. If the command line or
 * the configuration is wrong, the status is IBH_EXIT_USAGE, and nothing was changed. After any other error, the status
 * is IBH_EXIT_SYSTEM. */
static int fail(const IbhOptions *options, const GError *error, GString *out, GString *warnings)
{
    const gboolean is_usage = error->domain == G_OPTION_ERROR || error->domain == IBH_CONFIG_ERROR;
    const IbhReport report = {.status = is_usage ? IBH_EXIT_USAGE : IBH_EXIT_SYSTEM, .message = error->message};
    g_autofree char *text = ibh_report(&report, options->json ? ibh_report_json : ibh_report_text, &(IbhStyle){0});

    g_string_append(options->json ? out : warnings, text);
    return report.status;
}

/* ---- looking ---- */

/* Checks that the interfaces of --iface exist. --undo may also name a known rail that is gone, to forget it. */
static gboolean check_names(const IbhRun *run, GError **error)
{
    for (guint i = 0; run->only && run->only[i]; i++) {
        gboolean is_there = ibh_snapshot_link_by_name(run->snapshot, run->only[i]) != NULL;

        IBH_EACH (const IbhKnownRail, known, run->snapshot->state->known)
            is_there |= run->undo && g_str_equal(known->iface, run->only[i]);
        if (!is_there) {
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
    IbhFabric *fabric = ibh_fabric_read(&tree, command->run.snapshot->links, command->run.rails);

    ibh_fabric_read_gpus(&tree, fabric);
    if (command->options->action != IBH_ACTION_RENDER) /* only findings need to know which values change */
        ibh_fabric_read_again(&tree, fabric);
    if (tree.problem) {
        g_autofree char *problem = g_strdup_printf("%s: some facts about RDMA ports could not be read: %s", tree.sys,
                                                   g_strerror(tree.problem));

        ibh_run_warn(&command->run, problem);
    }
    ibh_fabric_use_rails(fabric, command->run.rails);
    return fabric;
}

/* Adds the findings about sections of the configuration. With `warns`, also adds the message of each of these findings
 * to the text for standard error. `missed` has the missing rails. */
static void judge_sections(Command *command, const GArray *missed, gboolean warns, GPtrArray *findings)
{
    const guint before = findings->len;

    ibh_rails_judge_sections(command->run.rails, command->run.config, missed, findings);
    for (guint i = before; warns && i < findings->len; i++)
        ibh_run_warn(&command->run, ((const IbhFinding *)g_ptr_array_index(findings, i))->message);
}

/* ---- actions: each returns the exit status; but if an action sets `error`, act() reports the error, and the error
 * decides the exit status ---- */

#define NOT_IN_FORCE "the configuration in " IBH_CONFIG_DIR " is not in force"

/* --check and --show */
static int do_check(Command *command, GError **error)
{
    IbhRun *run = &command->run;
    const gboolean shows = command->options->action == IBH_ACTION_SHOW;
    IbhConfig *in_force =
        shows || run->config_path ? NULL : ibh_config_in_force(run->state, run->config, ibh_table_look_up);
    g_autoptr(GArray) missed = NULL;
    g_autoptr(IbhFacts) facts = ibh_facts_new();
    g_autoptr(IbhCheck) check = NULL;
    g_autoptr(IbhFabric) fabric = NULL;
    g_autoptr(GPtrArray) findings = ibh_findings_new();
    g_autofree char *advice = ibh_config_apply_advice(run->state, "");
    guint wanted;

    /* --check without --config judges by the configuration in force, because files that were not applied yet cannot
     * lead a packet astray. `in_force` is set only if it differs from the files. Then look and decide again, because
     * do_action() did both with the configuration in the files. (If the files had an error, do_action() would
     * have reported the error, and not called us.) */
    if (in_force) {
        ibh_config_free(run->config);
        run->config = in_force;
        if (!look_and_decide(command, error)) {
            /* An error about the configuration in force names a line that the files may no longer have. */
            g_prefix_error(error, "%s (%s); an error in the one in force: ", NOT_IN_FORCE, advice);
            return IBH_EXIT_SYSTEM;
        }
    }
    if (!ibh_check_look(run->rails, run->snapshot, facts, run->netlink, error))
        return IBH_EXIT_SYSTEM;
    check = ibh_check_new(run->rails, facts, run->only);
    IBH_EACH (IbhQuestion, question, check->questions) {
        if (question->asked && !ibh_netlink_lookup(run->netlink, &question->lookup, error))
            return IBH_EXIT_SYSTEM;
    }
    fabric = look_at_fabric(command);
    ibh_managers_read(run->sysfs, run->snapshot, facts);
    ibh_fabric_judge(fabric, run->only, findings);
    wanted = ibh_config_settings(run->config, "").rails;
    if (wanted && !run->only && ibh_store_is_home()) /* rails= counts the rails of the host's own network namespace */
        ibh_fabric_judge_count(fabric, run->rails, wanted, findings);
    missed = ibh_missing_find(run->rails, run->config, run->sysfs, FALSE);
    /* ibh_fabric_judge() came first: a missing rail is added to the finding about its port, if there is one. */
    ibh_check_judge(check, command->plan, missed, findings);
    /* Each row of --show is about a NIC, so the text of --show has no row for these findings: with --verbose, warn. */
    judge_sections(command, missed, shows && command->options->style.verbose, findings);
    if (in_force)
        ibh_finding_add(findings, "", IBH_INFO, "not-in-force",
                        ibh_remedy_advice("see what it would change: ib-hook --plan"), "%s; %s", NOT_IN_FORCE, advice);
    return write_report(
        command,
        &(IbhReport){.facts = facts, .check = check, .findings = findings, .missed = missed, .fabric = fabric});
}

static int do_render(Command *command, GError **error)
{
    const char *format = command->options->render;
    g_autoptr(IbhFabric) fabric = NULL;
    g_autoptr(IbhFacts) facts = ibh_facts_new();
    g_autofree char *text = NULL;

    /* The output replaces files rendered earlier, so decide again without the rules and routes of these files. */
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

static int do_probe(Command *command, GError **error)
{
    const gboolean shows_progress = isatty(STDERR_FILENO) && !command->options->style.quiet;
    int status;
    g_autoptr(IbhProbe) probe = ibh_probe_new(command->run.rails, &command->options->probe, error);

    if (!probe || (probe->pairs->len &&
                   !ibh_probe_run(probe, command->run.netlink, command->options->sysfs, shows_progress, error)))
        return IBH_EXIT_SYSTEM;
    ibh_probe_judge(probe);
    status = write_report(command, &(IbhReport){.probe = probe, .findings = probe->findings});
    return probe->interrupted ? IBH_EXIT_INTERRUPTED : status;
}

static int do_plan(Command *command)
{
    const IbhRun *run = &command->run;
    g_autoptr(GArray) missed = ibh_missing_find(run->rails, run->config, run->sysfs, FALSE);
    g_autoptr(GPtrArray) findings = ibh_findings_new();

    judge_sections(command, missed, TRUE, findings); /* warns, because the report of --plan shows no findings */
    return write_report(command, &(IbhReport){.ops = command->plan});
}

/* --apply and --undo */
static int do_change(Command *command, GError **error)
{
    IbhRun *run = &command->run;
    g_autoptr(IbhOutcome) outcome = NULL;
    guint seconds = 0;

    if (!run->undo && !ibh_trial_begin(run, command->plan, command->options->confirm, &seconds, error))
        return IBH_EXIT_SYSTEM;
    outcome = ibh_run_change(run, command->plan);
    ibh_caller_log(outcome, run->snapshot, run->undo ? "--undo" : "--apply");
    if (run->undo && !outcome->errors->len && !run->only) /* all is undone: there is nothing to confirm or take back */
        ibh_trial_forget(run);
    IBH_EACH_POINTER (const char, message, outcome->errors)
        ibh_run_warn(run, message);
    return write_report(command, &(IbhReport){.ops = outcome->done,
                                              .errors = outcome->errors,
                                              .forgets = run->undo && run->is_unsaved,
                                              .holds = run->undo && run->has_holds,
                                              .confirm = (int)seconds});
}

static int do_action(Command *command, GError **error)
{
    IbhRun *run = &command->run;
    const gboolean confirms = command->options->action == IBH_ACTION_CONFIRM;

    /* --confirm works even if the configuration cannot be used: otherwise, the trial's changes would be taken back. */
    if (!confirms && !ibh_run_configure(run, error))
        return IBH_EXIT_SYSTEM;
    /* To resolve names, the C library loads modules, and reads what the network answers. So first give up all of root's
     * capabilities but those for the network. */
    if (command->options->names->len) {
        (void)ibh_caps_keep_net();
        if (!ibh_options_resolve(command->options, run->warnings, error))
            return IBH_EXIT_SYSTEM;
    }
    if (run->writes && !ibh_caps_keep_net()) {
        g_set_error_literal(error, IBH_RUN_ERROR, 0,
                            "this needs CAP_NET_ADMIN in this network namespace, which this process does not have: run "
                            "it as root (--show, --check, --plan and --render need nothing)");
        return IBH_EXIT_SYSTEM;
    }
    if (!ibh_run_open(run, IBH_LOCK_SECONDS, error))
        return IBH_EXIT_SYSTEM;
    if (confirms)
        return ibh_trial_confirm(run, error) ? write_report(command, &(IbhReport){0}) : IBH_EXIT_SYSTEM;
    if (!look_and_decide(command, error) || (!run->undo && !ibh_rails_check_remote(run->rails, error)))
        return IBH_EXIT_SYSTEM;
    switch (command->options->action) {
    case IBH_ACTION_PLAN:
        return do_plan(command);
    case IBH_ACTION_RENDER:
        return do_render(command, error);
    case IBH_ACTION_PROBE:
        return do_probe(command, error);
    case IBH_ACTION_APPLY:
    case IBH_ACTION_UNDO:
        return do_change(command, error);
    default:
        return do_check(command, error);
    }
}

/* Does the action of the command line. Returns the exit status. */
static int act(IbhOptions *options, GString *out, GString *warnings)
{
    const IbhAction action = options->action;
    Command command = {
        .run = {.config_path = options->config,
                .sysfs = options->sysfs,
                .only = (const char *const *)options->ifaces,
                .writes = action == IBH_ACTION_APPLY || action == IBH_ACTION_UNDO || action == IBH_ACTION_CONFIRM,
                .undo = action == IBH_ACTION_UNDO,
                /* --plan, --render and --probe show or use the rails that an --apply would make, and --apply lifts
                 * holds. For --undo, ibh_run_decide() makes the run respect holds. */
                .respects_holds = action == IBH_ACTION_SHOW || action == IBH_ACTION_CHECK,
                .warnings = warnings,
                .packet_socket = -1},
        .options = options,
        .out = out};
    g_autoptr(GError) error = NULL;
    int status = do_action(&command, &error);

    if (error)
        status = fail(options, error, out, warnings);
    g_clear_pointer(&command.plan, g_ptr_array_unref);
    ibh_run_close(&command.run);
    return status;
}

/* ---- the program ---- */

/* How long --check waits before it looks again. When addresses come and go, the kernel's tables follow a moment later,
 * and so do hooks and --watch. */
#define MOMENT ((gulong)100 * 1000) /* microseconds */

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
    /* If ib-hook was called by a path, such as build/ib-hook before it is installed, advice names that path. */
    options.style.program = *argv && strchr(*argv, '/') ? *argv : "ib-hook";
    options.style.color = options.style.width && !g_getenv("NO_COLOR");
    if (parsed && options.action != IBH_ACTION_HELP && options.action != IBH_ACTION_VERSION &&
        !g_str_equal(options.sysfs, "/sys") && !g_file_test(options.sysfs, G_FILE_TEST_IS_DIR))
        g_set_error(&error, IBH_CONFIG_ERROR, 0,
                    "--sysfs %s: there is no such directory; name a copy of another host's /sys, or leave it out",
                    options.sysfs);
    if (error)
        status = fail(&options, error, out, warnings);
    else if (options.action == IBH_ACTION_HELP)
        ibh_options_help(out);
    else if (options.action == IBH_ACTION_VERSION)
        g_string_append(out, "ib-hook " IBH_VERSION "\n");
    else if (options.action == IBH_ACTION_WATCH)
        status = ibh_watch_run(options.config, options.sysfs) ? IBH_EXIT_OK : IBH_EXIT_SYSTEM;
    else {
        const gsize before = warnings->len;

        status = act(&options, out, warnings);
        /* A problem may be gone a moment later. So if --check finds a problem, check once more after a moment, and
         * report only the result of the second check. */
        if (options.action == IBH_ACTION_CHECK && status == IBH_EXIT_FINDINGS) {
            g_usleep(MOMENT);
            g_string_truncate(out, 0);
            g_string_truncate(warnings, before);
            status = act(&options, out, warnings);
        }
    }
    fputs(warnings->str, stderr);
    fputs(out->str, stdout);
    /* If the text is larger than stdio's buffer, fputs() has written a part: ferror() tells if fputs() failed. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("ib-hook: cannot write to standard output\n", stderr);
        status = IBH_EXIT_SYSTEM; /* even if the report has findings, because nobody can read it */
    }
    return status;
}
