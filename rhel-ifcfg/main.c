/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ifcfg files are brought up with: RHEL's network-scripts call /sbin/ifup-local and ifdown-local INTERFACE, and
 * SUSE's wicked calls wicked ACTION INTERFACE. */
#include "hook/program.h"

int main(int argc, char **argv)
{
    const IbhTrigger trigger = ibh_trigger_ifcfg(argc, argv);

    return ibh_hook_program(&trigger);
}
