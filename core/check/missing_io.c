/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/missing.h"

#include "host/store.h"
#include "host/sysfs.h"

#include <string.h>

/* If the rail's slot is unknown or not on PCI, TRUE if the rail's RDMA device exists. Otherwise, TRUE if a driver uses
 * the PCI device in the slot, perhaps for a pod or a virtual machine. */
static gboolean is_elsewhere(const char *sysfs, const IbhKnownRail *known)
{
    g_auto(IbhTree) tree = ibh_tree_of(sysfs);

    if (!strchr(known->slot, ':'))
        return ibh_tree_has(&tree, "sys/class/infiniband/%.*s", (int)strcspn(known->port, "/"), known->port);
    return ibh_tree_has(&tree, "sys/bus/pci/devices/%.*s/driver", (int)strcspn(known->slot, "/"), known->slot);
}

GArray *ibh_missing_find(const IbhRails *rails, const IbhConfig *config, const char *sysfs, gboolean all)
{
    GArray *missed = ibh_missing_list(rails, config, all);

    IBH_EACH_BACK (IbhKnownRail, one, missed) {
        if (one->why == IBH_IS_GONE && is_elsewhere(sysfs, one))
            one->why = IBH_ELSEWHERE;
        if (one->why == IBH_NO_SUCH_NIC && !ibh_store_is_home())
            IBH_REMOVE(IbhKnownRail, one, missed);
    }
    return missed;
}
