/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In networkd-dispatcher's STATE.d: no arguments, all in the environment. */
#include "run/run.h"

#include <unistd.h>

int main(void)
{
    const IbhTrigger trigger = ibh_trigger_networkd(environ);

    return ibh_hook_run(&trigger);
}
