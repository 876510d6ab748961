/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In ifupdown's if-up.d and if-post-down.d (classic, -ng and 2): no arguments, all in the environment. */
#include "run/run.h"

#include <unistd.h>

int main(void)
{
    const IbhTrigger trigger = ibh_trigger_ifupdown(environ);

    return ibh_hook_run(&trigger);
}
