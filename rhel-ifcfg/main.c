/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RHEL's network-scripts run this program as /sbin/ifup-local INTERFACE and /sbin/ifdown-local INTERFACE. */
#include "run/run.h"

int main(int argc, char **argv)
{
    const IbhTrigger trigger = ibh_trigger_ifcfg(argc, argv);

    return ibh_hook_run(&trigger);
}
