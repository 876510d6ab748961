/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/sysfs.h"

#include <string.h>

#define DEVICE "sys/class/infiniband/%.*s"

/* "mlx5_1" of "mlx5_1/1" */
static int device_length(const IbhKnownRail *known)
{
    return (int)strcspn(known->port, "/");
}

gboolean ibh_hardware_find(const char *sysfs, IbhKnownRail *known)
{
    g_auto(IbhTree) tree = {0};
    g_autofree char *device = NULL, *bus = NULL, *address = NULL;

    ibh_tree_open(&tree, sysfs);
    device = ibh_tree_real(&tree, DEVICE, device_length(known), known->port);
    if ((device && g_str_has_prefix(device, "devices/virtual/")) ||
        ibh_tree_has(&tree, DEVICE "/parent", device_length(known), known->port))
        return FALSE;
    bus = ibh_tree_real(&tree, DEVICE "/device", device_length(known), known->port);
    address = bus ? g_path_get_basename(bus) : NULL;
    g_strlcpy(known->slot, known->port, sizeof known->slot);
    if (address && strchr(address, ':'))
        g_snprintf(known->slot, sizeof known->slot, "%s%s", address, known->port + device_length(known));
    return TRUE;
}

gboolean ibh_hardware_is_there(const char *sysfs, const IbhKnownRail *known)
{
    g_auto(IbhTree) tree = {0};

    ibh_tree_open(&tree, sysfs);
    if (!strchr(known->slot, ':'))
        return ibh_tree_has(&tree, DEVICE, device_length(known), known->port);
    return ibh_tree_has(&tree, "sys/bus/pci/devices/%.*s/driver", (int)strcspn(known->slot, "/"), known->slot);
}
