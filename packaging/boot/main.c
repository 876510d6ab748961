/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of ib-hook.service: at boot, and after each start of systemd-networkd. */
#include "run/run.h"

int main(void)
{
    return ibh_hook_run(&IBH_TRIGGER_BOOT);
}
