/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/program.h"

#include "hook/ask.h"
#include "hook/bounded.h"
#include "hook/start.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* With less, the loader of a program with GLib fails, and its exit status is not 0. */
static bool has_room(void)
{
    struct rlimit limit;

    return (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur >= 16 << 20) &&
           (getrlimit(RLIMIT_DATA, &limit) < 0 || limit.rlim_cur >= 1 << 20);
}

/* Executes ib-hook by its full path, without the caller's environment. Returns only if that fails. */
static void become_ib_hook(IbhTrigger trigger)
{
    char name[] = "ib-hook", event[] = IBH_EVENT, seconds[16], what[16], message[256];
    char *arguments[] = {name, event, seconds, what, trigger.iface[0] ? trigger.iface : NULL, NULL},
         *nothing[] = {NULL};

    (void)snprintf(what, sizeof what, "%s",
                   trigger.down[0] ? IBH_EVENT_DOWN
                   : trigger.early ? IBH_EVENT_EARLY
                                   : IBH_EVENT_CHANGED);
    (void)snprintf(seconds, sizeof seconds, "%u", alarm(0)); /* it would survive the exec, its handler would not */
    (void)execve(IBH_COMMAND, arguments, nothing);
    (void)snprintf(message, sizeof message,
                   "<27>ib-hook: the hook cannot execute " IBH_COMMAND ": %s; install it again, or remove this hook\n",
                   strerror(errno));
    ibh_last_words(message);
}

int ibh_hook_program(const IbhTrigger *trigger)
{
    if (!trigger->wanted)
        return 0;
    ibh_start(0, NULL, environ);
    ibh_bounded(IBH_HOOK_SECONDS);
    if (ibh_ask(trigger))
        return 0;
    if (!has_room())
        ibh_last_words("<27>ib-hook: the hook does nothing: its caller left it too little memory (ulimit -v, -d)\n");
    else
        become_ib_hook(*trigger);
    return 0;
}
