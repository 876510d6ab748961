/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ib-hook command: from the command line to an action. */
#include "cli/command_io.h"

#include "kernel/netlink.h"

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LOCK_SECONDS 10

int ibh_command_say(IbhCommand *command, IbhReport *report)
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

gboolean ibh_command_has_token(const IbhCommand *command)
{
    g_autofree char *token = command->run.store ? ibh_store_get_token(command->run.store) : NULL;

    return token && (!command->options->token || g_str_equal(token, command->options->token));
}

static gboolean check_privileges(const IbhCommand *command, GError **error)
{
    if (!command->run.writes || ibh_caps_have(CAP_NET_ADMIN))
        return TRUE;
    g_set_error_literal(error, IBH_RUN_ERROR, 0,
                        "this needs CAP_NET_ADMIN in this network namespace, which this process does not have: run it "
                        "as root (--show, --check, --plan and --render need nothing)");
    return FALSE;
}

/* --undo forgets it. */
static gboolean was_rail(const IbhRun *run, const char *iface)
{
    IBH_EACH (const IbhKnownRail, known, run->snapshot->state->known) {
        if (g_str_equal(known->iface, iface))
            return TRUE;
    }
    return FALSE;
}

static gboolean check_names(const IbhRun *run, GError **error)
{
    for (guint i = 0; run->only && run->only[i]; i++) {
        if (ibh_snapshot_link_by_name(run->snapshot, run->only[i]) || (run->undo && was_rail(run, run->only[i])))
            continue;
        g_set_error(error, IBH_CONFIG_ERROR, 0,
                    "--iface %s: there is no such interface here; ib-hook --show lists them", run->only[i]);
        return FALSE;
    }
    return TRUE;
}

typedef int Act(IbhCommand *command, GError **error);

static Act *const acts[] = {[IBH_ACTION_SHOW] = ibh_command_check,  [IBH_ACTION_CHECK] = ibh_command_check,
                            [IBH_ACTION_PLAN] = ibh_command_plan,   [IBH_ACTION_APPLY] = ibh_command_change,
                            [IBH_ACTION_UNDO] = ibh_command_change, [IBH_ACTION_RENDER] = ibh_command_render,
                            [IBH_ACTION_PROBE] = ibh_command_probe};

static int run_live(IbhCommand *command, GError **error)
{
    IbhRun *run = &command->run;

    if (!ibh_run_configure(run, error) || !check_privileges(command, error) || !ibh_run_open(run, LOCK_SECONDS, error))
        return IBH_EXIT_SYSTEM;
    if (command->options->action == IBH_ACTION_CONFIRM)
        return ibh_command_confirm(command, error);
    if (run->undo && command->options->token && !ibh_command_has_token(command))
        return IBH_EXIT_OK; /* it was confirmed */
    /* The process that waits for --confirm reports to no terminal. */
    if (!ibh_run_read(run, error) || (!command->options->token && !check_names(run, error)) ||
        !ibh_run_find_rails(run, error))
        return IBH_EXIT_SYSTEM;
    run->snapshot->hash_policy = MAX(ibh_sysctl_read("ipv4/fib_multipath_hash_policy"), 0); /* reported */
    return acts[command->options->action](command, error);
}

int ibh_action(const IbhOptions *options, GString *out, GString *warnings)
{
    const IbhAction action = options->action;
    IbhCommand command = {
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
        status = ibh_action(&options, out, warnings);
    fputs(warnings->str, stderr);
    fputs(out->str, stdout);
    if (fflush(stdout) != 0) {
        fputs("ib-hook: cannot write to standard output\n", stderr);
        status = status ? status : IBH_EXIT_SYSTEM;
    }
    return status;
}
