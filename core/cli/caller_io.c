/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who ran a command. The journal says this, because a command can be the reason why rails came or went. */
#include "cli/cli.h"

#include "run/run.h"

#include <unistd.h>

static void append_detail(GString *text, const char *name, const char *value)
{
    if (value && *value)
        g_string_append_printf(text, ", %s=%s", name, value);
}

char *ibh_caller(const char *action)
{
    GString *text = g_string_new(action);
    g_autofree char *login = NULL;
    const char *terminal = NULL;

    append_detail(text, "SUDO_USER", g_getenv("SUDO_USER"));
    /* The kernel remembers who logged in, even after su and sudo; 4294967295 means that nobody did. */
    if (g_file_get_contents("/proc/self/loginuid", &login, NULL, NULL) && !g_str_equal(login, "4294967295"))
        append_detail(text, "loginuid", login);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && !terminal; fd++)
        terminal = ttyname(fd);
    append_detail(text, "tty", terminal);
    return g_string_free(text, FALSE);
}

void ibh_caller_log(const IbhOutcome *outcome, const IbhSnapshot *snapshot, const char *action)
{
    g_autofree char *caller = ibh_caller(action);
    g_autofree char *text = ibh_ops_log_text(outcome->done, snapshot, caller);

    ibh_log_lines(LOG_INFO, text, FALSE);
    IBH_EACH_POINTER (const char, message, outcome->errors)
        ibh_log_lines(LOG_WARNING, message, FALSE);
}
