/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/sysfs.h"

#include <linux/if_arp.h>
#include <string.h>

/* How many entries of a GID table we read. The table starts with the default GIDs of the port's netdev, or of the bond
 * above that netdev. Later entries (rxe has 1,024) repeat these netdevs and list VLANs, which we find through their
 * parents. */
#define N_NDEVS 8

typedef struct {
    IbhTree *tree;
    const char *device;    /* "mlx5_1" */
    const char *number;    /* "1" */
    const char *directory; /* "sys/class/infiniband/mlx5_1/ports/1" */
    IbhIp gid;             /* the first GID of the table; all zeros if there is none */
    GPtrArray *ndevs;      /* char *: the netdevs in the GID table, as far as we have read it */
} Port;

/* ---- the GID table ---- */

gboolean ibh_sysfs_read_gid(IbhTree *tree, const char *directory, int index, IbhIp *ret_gid)
{
    char text[64];

    ibh_tree_line(tree, text, sizeof text, "%s/gids/%d", directory, index);
    return strchr(text, ':') && ibh_ip_parse(text, ret_gid); /* a GID is written like an IPv6 address */
}

void ibh_sysfs_read_ndev(IbhTree *tree, const char *directory, int index, char name[IBH_NDEV_LEN])
{
    ibh_tree_line(tree, name, IBH_NDEV_LEN, "%s/gid_attrs/ndevs/%d", directory, index);
}

/* ---- does this netdev belong to this port? ---- */

static gboolean is_of_device(const Port *port, const char *iface)
{
    return ibh_tree_has(port->tree, "sys/class/infiniband/%s/device/net/%s", port->device, iface);
}

/* Several ports may share one device (mlx4). Then dev_port, which counts from 0, tells the port of a netdev. If
 * dev_port cannot be read, a netdev of the device counts as a netdev of each port. */
static gboolean is_of_port(const Port *port, const char *iface)
{
    char dev_port[16];

    if (!is_of_device(port, iface))
        return FALSE;
    ibh_tree_line(port->tree, dev_port, sizeof dev_port, "sys/class/net/%s/dev_port", iface);
    return !dev_port[0] || g_ascii_strtoull(dev_port, NULL, 10) + 1 == g_ascii_strtoull(port->number, NULL, 10);
}

/* A default GID of RoCE ends with the MAC as EUI-64; an iWARP GID starts with the MAC. */
static gboolean has_mac(const IbhIp *gid, const IbhLink *link)
{
    static const guint8 no_mac[6] = {0};
    const guint8 *mac = link->lladdr;
    const guint8 eui64[8] = {mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};

    return link->lladdr_len == 6 && memcmp(mac, no_mac, 6) != 0 &&
           (memcmp(gid->bytes + 8, eui64, 8) == 0 || memcmp(gid->bytes, mac, 6) == 0);
}

/* Looks at the GIDs after the first, because after a failover of a bond, the port's default GID has another index. */
static gboolean later_gid_has_mac(const Port *port, const IbhLink *link)
{
    for (int i = 1; i < N_NDEVS; i++) {
        char name[IBH_NDEV_LEN];
        IbhIp gid;

        ibh_sysfs_read_ndev(port->tree, port->directory, i, name);
        if (g_str_equal(name, link->name) && ibh_sysfs_read_gid(port->tree, port->directory, i, &gid) &&
            has_mac(&gid, link))
            return TRUE;
    }
    return FALSE;
}

/* TRUE if a netdev of the device has this link, a bond, as its master. */
static gboolean is_above_device(const Port *port, const GArray *links, const IbhLink *master)
{
    IBH_EACH (const IbhLink, link, links) {
        if (link->master == master->ifindex && is_of_device(port, link->name))
            return TRUE;
    }
    return FALSE;
}

/* TRUE if the link is a netdev of this port, or an IPoIB child or a bond above such a netdev. */
static gboolean is_of_port_or_above(const Port *port, const GArray *links, const IbhLink *link)
{
    /* The hardware address of IPoIB ends with the port GUID, and so does the port's GID; IPoIB children have the same
     * GUID. */
    if (link->type == ARPHRD_INFINIBAND) {
        if (!ibh_ip_is_unicast(&port->gid)) /* all zeros: the table is empty */
            return is_of_port(port, link->name);
        return link->lladdr_len == 20 && memcmp(port->gid.bytes + 8, link->lladdr + 12, 8) == 0;
    }
    /* The GID table of iWARP names no netdev before Linux 6.6: then the device or the MAC decides. */
    if (!port->ndevs->len)
        return is_of_port(port, link->name) || has_mac(&port->gid, link);
    /* For Ethernet, the GID table names the netdev. But the named netdev may be in another namespace (the VF of a pod),
     * so check whether our netdev of this name is the port's. */
    return ibh_names_have(port->ndevs, link->name) &&
           (is_of_device(port, link->name) || has_mac(&port->gid, link) || is_above_device(port, links, link) ||
            later_gid_has_mac(port, link));
}

static void find_links_of_port(Port *port, GArray *links)
{
    gboolean found = FALSE;

    /* Each entry costs an open(): stop at the first netdev of this namespace that has no master. If an entry names a
     * netdev with a master, read on, because a later entry may name the master, a bond. */
    for (int i = 0; i < N_NDEVS && !found; i++) {
        char name[IBH_NDEV_LEN];

        ibh_sysfs_read_ndev(port->tree, port->directory, i, name);
        if (!name[0] || ibh_names_have(port->ndevs, name))
            continue;
        g_ptr_array_add(port->ndevs, g_strdup(name));
        IBH_EACH (const IbhLink, link, links) {
            if (g_str_equal(link->name, name))
                found = !link->master;
        }
    }
    IBH_EACH (IbhLink, link, links) {
        if (!link->rdma[0] && is_of_port_or_above(port, links, link))
            g_snprintf(link->rdma, sizeof link->rdma, "%s/%s", port->device, port->number);
    }
}

gboolean ibh_sysfs_find_rdma(IbhTree *tree, GArray *links, GError **error)
{
    g_autoptr(GPtrArray) devices = ibh_tree_list(tree, "sys/class/infiniband");
    g_autoptr(GHashTable) parents = g_hash_table_new(NULL, NULL);

    IBH_EACH_POINTER (const char, device, devices) {
        g_autoptr(GPtrArray) numbers = ibh_tree_list(tree, "sys/class/infiniband/%s/ports", device);

        IBH_EACH_POINTER (const char, number, numbers) {
            g_autofree char *directory = g_strdup_printf("sys/class/infiniband/%s/ports/%s", device, number);
            g_autoptr(GPtrArray) ndevs = g_ptr_array_new_with_free_func(g_free);
            Port port = {.tree = tree, .device = device, .number = number, .directory = directory, .ndevs = ndevs};

            (void)ibh_sysfs_read_gid(tree, directory, 0, &port.gid);
            find_links_of_port(&port, links);
        }
    }
    /* VLANs come late in the GID table, which we do not read to its end: they get the port of their parent. */
    IBH_EACH (IbhLink, link, links) {
        if (link->rdma[0])
            g_hash_table_insert(parents, GINT_TO_POINTER(link->ifindex), link);
    }
    IBH_EACH (IbhLink, vlan, links) {
        const IbhLink *parent = g_hash_table_lookup(parents, GINT_TO_POINTER(vlan->parent));

        if (parent && g_str_equal(vlan->kind, "vlan") && !vlan->rdma[0])
            g_strlcpy(vlan->rdma, parent->rdma, sizeof vlan->rdma);
    }
    IBH_EACH (IbhLink, link, links) {
        if (link->rdma[0] || link->type == ARPHRD_INFINIBAND)
            link->vf = ibh_tree_has(tree, "sys/class/net/%s/device/physfn", link->name);
    }
    if (!tree->problem)
        return TRUE;
    g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(tree->problem),
                "%s/class/infiniband cannot be read: %s; which NICs have RDMA is not known, so nothing was changed",
                tree->sys, ibh_errno_text(tree->problem));
    return FALSE;
}

/* ---- the slot of a port ---- */

#define DEVICE "sys/class/infiniband/%.*s"

gboolean ibh_sysfs_find_slot(IbhTree *tree, const char *port, char slot[IBH_SLOT_LEN])
{
    const int length = (int)strcspn(port, "/"); /* of "mlx5_1" in "mlx5_1/1" */
    g_autofree char *path = ibh_tree_real(tree, DEVICE "/device", length, port), *address = NULL;

    /* Software devices have no link "device" since Linux 5.11. Before Linux 5.11, this link leads to the hardware of
     * their netdev or to a virtual device; the file "parent" shows that the device is rxe. */
    if (!path || g_str_has_prefix(path, "devices/virtual/") || ibh_tree_has(tree, DEVICE "/parent", length, port))
        return FALSE;
    address = g_path_get_basename(path);
    g_strlcpy(slot, port, IBH_SLOT_LEN);
    if (strchr(address, ':')) /* on PCI */
        g_snprintf(slot, IBH_SLOT_LEN, "%s%s", address, port + length);
    return TRUE;
}

void ibh_sysfs_find_slots(IbhTree *tree, const GArray *known, GArray *links)
{
    IBH_EACH (IbhLink, link, links) {
        if (!link->rdma[0])
            continue;
        IBH_EACH (const IbhKnownRail, rail, known) {
            if (g_str_equal(link->name, rail->iface) && g_str_equal(link->rdma, rail->port) &&
                !ibh_link_has_hardware(link, rail->hardware))
                (void)ibh_sysfs_find_slot(tree, link->rdma, link->slot);
        }
    }
}
