/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In NetworkManager's dispatcher.d and pre-up.d: NAME INTERFACE ACTION. */
#include "run/run.h"

int main(int argc, char **argv)
{
    const IbhTrigger trigger = ibh_trigger_nm(argc, argv);

    return ibh_hook_run(&trigger);
}
