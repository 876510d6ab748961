/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RHEL's network-scripts call /sbin/ifup-local and ifdown-local INTERFACE. */
#include "run/run.h"

int main(int argc, char **argv)
{
    const IbhTrigger trigger = ibh_trigger_ifcfg(argc, argv);

    return ibh_hook_run(&trigger);
}
