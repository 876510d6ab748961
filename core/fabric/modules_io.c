/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fabric/modules_io.h"

#include <linux/if_arp.h>
#include <string.h>

#define TEXT_MAX ((gsize)4 * 1024)

/* A built-in module has no directory below sys/module, but the files that it registers exist. */
static void read_modules(IbhTree *tree, IbhFabric *fabric)
{
    static const char *const classes[] = {[IBH_MODULE_CORE] = "infiniband",
                                          [IBH_MODULE_IPOIB] = NULL, /* interfaces */
                                          [IBH_MODULE_UVERBS] = "infiniband_verbs",
                                          [IBH_MODULE_UCM] = "misc/rdma_cm",
                                          [IBH_MODULE_UMAD] = "infiniband_mad"};

    fabric->knows_modules = ibh_tree_has(tree, "sys/module");
    for (int i = 0; i < IBH_N_MODULES; i++)
        fabric->modules[i] = ibh_tree_has(tree, "sys/module/%s", ibh_module_name((IbhModule)i)) ||
                             (classes[i] && ibh_tree_has(tree, "sys/class/%s", classes[i]));
    IBH_EACH (const IbhPortNic, nic, fabric->nics)
        fabric->modules[IBH_MODULE_IPOIB] |= nic->type == ARPHRD_INFINIBAND;
}

/* A PCI device of the classes of InfiniBand, old and new, and of Omni-Path. */
static gboolean is_hca(IbhTree *tree, const char *device)
{
    char line[32];

    ibh_tree_line(tree, line, sizeof line, "sys/bus/pci/devices/%s/class", device);
    return g_str_has_prefix(line, "0x0c06") || g_str_has_prefix(line, "0x0207") || g_str_has_prefix(line, "0x0208");
}

/* Drivers of Ethernet whose RDMA part is a module of its own. */
typedef struct {
    const char *base, *rdma;
    gboolean is_certain; /* its adapters are bought for RDMA */
} Driver;

static gboolean is_bare(IbhTree *tree, const char *device, const Driver *driver)
{
    g_autofree char *wanted = g_strdup_printf("DRIVER=%s\n", driver->base);
    g_autofree char *uevent = ibh_tree_text(tree, TEXT_MAX, "sys/bus/pci/devices/%s/uevent", device);

    return uevent && strstr(uevent, wanted) && !ibh_tree_has(tree, "sys/bus/pci/devices/%s/infiniband", device);
}

/* The first adapter; with a driver, the first that it serves without RDMA. */
static void find_hca(IbhTree *tree, const Driver *driver, char *name, gsize size)
{
    g_autoptr(GPtrArray) devices = ibh_tree_list(tree, "sys/bus/pci/devices");

    IBH_EACH_POINTER (const char, device, devices) {
        if (!name[0] && is_hca(tree, device) && (!driver || is_bare(tree, device, driver)))
            g_strlcpy(name, device, size);
    }
}

/* A built-in driver has no directory; so on a host with RDMA devices, only an adapter without one is evidence. */
static void read_drivers(IbhTree *tree, IbhFabric *fabric)
{
    static const Driver drivers[] = {{"mlx5_core", "mlx5_ib", TRUE}, {"mlx4_core", "mlx4_ib", TRUE},
                                     {"bnxt_en", "bnxt_re", FALSE},  {"ice", "irdma", FALSE},
                                     {"qede", "qedr", FALSE},        {"cxgb4", "iw_cxgb4", FALSE},
                                     {"mana", "mana_ib", FALSE},     {"hns3", "hns_roce_hw_v2", FALSE}};

    for (gsize i = 0; i < G_N_ELEMENTS(drivers) && !fabric->bare_hca[0]; i++) {
        const Driver *driver = &drivers[i];

        if (!ibh_tree_has(tree, "sys/module/%s", driver->base) || ibh_tree_has(tree, "sys/module/%s", driver->rdma))
            continue;
        if (driver->is_certain)
            find_hca(tree, driver, fabric->bare_hca, sizeof fabric->bare_hca);
        if (fabric->driver && !fabric->bare_hca[0])
            continue;
        fabric->driver = driver->base;
        fabric->rdma_driver = driver->rdma;
        fabric->needs_rdma_driver = driver->is_certain;
    }
}

void ibh_modules_read(IbhTree *tree, IbhFabric *fabric)
{
    read_modules(tree, fabric);
    if (!fabric->modules[IBH_MODULE_CORE])
        find_hca(tree, NULL, fabric->hca, sizeof fabric->hca);
    else
        read_drivers(tree, fabric);
}
