/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads which kernel modules for RDMA are loaded, and finds an adapter that has no RDMA device.
 */
#include "fabric/read_io.h"

#include <linux/if_arp.h>
#include <string.h>

#define UEVENT_MAX ((gsize)4 * 1024)

char *ibh_fabric_read_text(IbhTree *tree, gsize limit, const char *path)
{
    g_autofree char *text = g_malloc0(limit + 1);

    return ibh_tree_read(tree, path, text, limit, FALSE) < 0 ? NULL : g_steal_pointer(&text);
}

/* Looks for the driver of a device in the table below. If the table has the driver, sets `driver` and `rdma` of `bare`,
 * and returns TRUE. Also returns TRUE if the device has no driver. Returns FALSE if the device has a driver that is not
 * in the table (for example vfio-pci), or if its driver cannot be read. */
static gboolean find_driver(IbhTree *tree, const char *device, IbhBare *bare)
{
    /* The drivers whose RDMA part is a separate module. */
    static const char *const drivers[][2] = {
        {"mlx5_core", "mlx5_ib"}, {"mlx4_core", "mlx4_ib"}, {"bnxt_en", "bnxt_re"}, {"ice", "irdma"},
        {"qede", "qedr"},         {"cxgb4", "iw_cxgb4"},    {"mana", "mana_ib"},    {"hns3", "hns_roce_hw_v2"}};
    g_autofree char *path = g_strdup_printf("sys/bus/pci/devices/%s/uevent", device);
    g_autofree char *uevent = ibh_fabric_read_text(tree, UEVENT_MAX, path);

    for (gsize i = 0; uevent && i < G_N_ELEMENTS(drivers); i++) {
        g_autofree char *line = g_strdup_printf("DRIVER=%s\n", drivers[i][0]);

        if (!strstr(uevent, line))
            continue;
        bare->driver = drivers[i][0];
        bare->rdma = drivers[i][1];
        return TRUE;
    }
    return uevent && !strstr(uevent, "DRIVER=");
}

/* The class is "0x", four digits that we compare ("0207"), and two digits for the programming interface. */
gboolean ibh_pci_has_class(IbhTree *tree, const char *device, const char *classes)
{
    char class[32];

    ibh_tree_line(tree, class, sizeof class, "sys/bus/pci/devices/%s/class", device);
    class[strlen("0x0207")] = '\0';
    return strlen(class) == strlen("0x0207") && strstr(classes, class + strlen("0x"));
}

/* Finds an adapter without an RDMA device. InfiniBand and Omni-Path adapters take precedence over Ethernet adapters
 * that could do RDMA. */
static void find_bare(IbhTree *tree, IbhBare *ret_bare)
{
    g_autoptr(GPtrArray) devices = ibh_tree_list(tree, "sys/bus/pci/devices");

    IBH_EACH_POINTER (const char, device, devices) {
        IbhBare bare = {.is_hca = ibh_pci_has_class(tree, device, "0c06 0207 0208")}; /* InfiniBand, Omni-Path */

        /* Keep the adapter that was found before, unless this one takes precedence. Skip a device whose driver is not
         * in find_driver()'s table, or cannot be read. */
        if (ret_bare->is_hca || (ret_bare->name[0] && !bare.is_hca) || !find_driver(tree, device, &bare))
            continue;
        /* Skip a device without a driver, unless the device is InfiniBand or Omni-Path. Also skip an adapter that has
         * an RDMA device. */
        if (!(bare.is_hca || bare.rdma) || ibh_tree_has(tree, "sys/bus/pci/devices/%s/infiniband", device))
            continue;
        g_strlcpy(bare.name, device, sizeof bare.name);
        bare.is_loaded = bare.rdma && ibh_tree_has(tree, "sys/module/%s", bare.rdma);
        *ret_bare = bare;
    }
}

/* A built-in module may have no directory below sys/module, but then the class or device that the module registers
 * exists. ib_ipoib registers neither, so an InfiniBand netdev shows that ib_ipoib is there. A copy without sys/module
 * tells nothing about modules, so then all modules count as loaded. */
void ibh_fabric_read_modules(IbhTree *tree, IbhFabric *fabric)
{
    static const char *const classes[] = {[IBH_MODULE_UVERBS] = "infiniband_verbs",
                                          [IBH_MODULE_UCM] = "misc/rdma_cm",
                                          [IBH_MODULE_UMAD] = "infiniband_mad"};
    gboolean known = ibh_tree_has(tree, "sys/module");

    for (guint i = 0; i < IBH_N_MODULES; i++)
        fabric->modules[i] = !known || ibh_tree_has(tree, "sys/module/%s", ibh_modules[i]) ||
                             (classes[i] && ibh_tree_has(tree, "sys/class/%s", classes[i]));
    IBH_EACH (const IbhPortNic, nic, fabric->nics)
        fabric->modules[IBH_MODULE_IPOIB] |= nic->type == ARPHRD_INFINIBAND;
    find_bare(tree, &fabric->bare);
}
