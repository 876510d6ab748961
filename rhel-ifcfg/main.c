/* /sbin/ifup-local and /sbin/ifdown-local of RHEL's network-scripts: NAME INTERFACE. */
#include "run/hook.h"

int main(int argc, char **argv)
{
    const IbhTrigger trigger = ibh_trigger_rhel(argc, argv);

    return ibh_hook(&trigger, NULL, NULL);
}
