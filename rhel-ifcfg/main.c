/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /sbin/ifup-local and /sbin/ifdown-local of RHEL's network-scripts: NAME INTERFACE. */
#include "hook/program.h"

int main(int argc, char **argv)
{
    const IbhTrigger trigger = ibh_trigger_rhel(argc, argv);

    return ibh_hook_program(&trigger);
}
