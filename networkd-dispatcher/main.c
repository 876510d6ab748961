/* SPDX-License-Identifier: GPL-2.0-or-later */
/* networkd-dispatcher runs this program from STATE.d (routable.d, off.d, …). The environment says what happened. */
#include "run/run.h"

#include <unistd.h>

int main(void)
{
    const IbhTrigger trigger = ibh_trigger_networkd(environ);

    return ibh_hook_run(&trigger);
}
