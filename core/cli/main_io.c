/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ib-hook command. */
#include "cli/command_io.h"
#include "run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void look_at_terminal(IbhStyle *style)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    const gboolean terminal = isatty(STDOUT_FILENO);

    style->width = terminal ? 80 : 0;
    style->color = terminal && !(no_color && no_color[0]) && term && !g_str_equal(term, "dumb");
}

int main(int argc G_GNUC_UNUSED, char **argv)
{
    g_auto(IbhOptions) options = {0};
    g_autoptr(GString) out = g_string_new(NULL), warnings = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    gboolean parsed;
    int status = IBH_EXIT_OK;

    ibh_start();
    parsed = ibh_options_parse(argv, &options, &error);
    look_at_terminal(&options.style);
    if (!parsed)
        status = ibh_action_failed(&options, error, out, warnings);
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
