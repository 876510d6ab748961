/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NetworkManager runs this program from dispatcher.d and dispatcher.d/pre-up.d, with the arguments INTERFACE ACTION. */
#include "run/run.h"

int main(int argc, char **argv)
{
    const IbhTrigger trigger = ibh_trigger_nm(argc, argv);

    return ibh_hook_run(&trigger);
}
