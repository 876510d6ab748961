/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ifupdown, ifupdown-ng and ifupdown2 run this program from if-up.d and if-post-down.d. The environment says what
 * happened. */
#include "run/run.h"

#include <unistd.h>

int main(void)
{
    const IbhTrigger trigger = ibh_trigger_ifupdown(environ);

    return ibh_hook_run(&trigger);
}
