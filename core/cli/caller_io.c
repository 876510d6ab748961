/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who ran a command, for the journal. */
#include "cli/cli.h"

#include <string.h>
#include <unistd.h>

static void add(GString *text, const char *name, const char *value)
{
    if (value && *value)
        g_string_append_printf(text, ", %s=%s", name, value);
}

/* The kernel keeps who logged in, also after su and sudo; 4294967295: it was no login. */
static char *read_login(void)
{
    char *login = NULL;

    if (g_file_get_contents("/proc/self/loginuid", &login, NULL, NULL) && strcmp(login, "4294967295") != 0)
        return login;
    g_free(login);
    return NULL;
}

char *ibh_caller(const char *action)
{
    GString *text = g_string_new(action);
    g_autofree char *login = read_login();
    const char *terminal = NULL;

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && !terminal; fd++)
        terminal = ttyname(fd);
    add(text, "SUDO_USER", g_getenv("SUDO_USER"));
    add(text, "loginuid", login);
    add(text, "tty", terminal);
    return g_string_free(text, FALSE);
}
