/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ib-hook.service runs this program at boot, and after each start of systemd-networkd. No manager waits for it. So,
 * unlike a hook, it returns an exit status, with the meaning that ib-hook(8) gives, and has no time limit of its own:
 * systemd ends it if the kernel does not answer.
 */
#include "run/run.h"

/* The run has no configuration if a file is bad. */
static void note_refused(gpointer refused, IbhRun *run)
{
    *(gboolean *)refused = run->config == NULL;
}

int main(void)
{
    gboolean refused = FALSE, ok;
    IbhEvent event = {.cause = "ib-hook.service", .sysfs = "/sys", .configure = note_refused, .data = &refused};
    g_autoptr(GString) complained = g_string_new(NULL);

    ibh_process_start();
    ok = ibh_event_run(&event, complained);
    if (refused)
        ibh_log_lines(LOG_ERR,
                      "ib-hook.service routed no NIC, because the configuration is refused: correct it, then "
                      "run: sudo systemctl start ib-hook.service",
                      TRUE);
    return refused ? 2 : ok ? 0 : 3;
}
