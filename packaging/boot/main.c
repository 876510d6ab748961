/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program of ib-hook.service: at boot, and after each start of systemd-networkd. No manager waits for this program,
 * so unlike a hook it says how it ended, with the exit status of ib-hook, and systemd ends it if the kernel does not
 * answer.
 */
#include "run/run.h"

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
