/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/sysfs.h"

#include <linux/if_arp.h>
#include <string.h>

/* The default GIDs of the port's own netdev, or of the bond above it, come first; the rest of the table (rxe lists
 * 1,024 entries) holds the same netdevs again, and VLANs, which are found by the link they are stacked on. */
#define N_NDEVS 8

/* One port of an RDMA device. */
typedef struct {
    IbhTree *tree;
    char *device;     /* "mlx5_1" */
    char *number;     /* "1" */
    char *directory;  /* "sys/class/infiniband/mlx5_1/ports/1" */
    IbhIp gid;        /* the first of its table; all zeros: none */
    GPtrArray *ndevs; /* char *: netdevs that its GID table names */
    int n_read;       /* so many entries of it have been read */
} Port;

/* ---- what a port says ---- */

static void add_name(GPtrArray *names, const char *name)
{
    if (name[0] && !g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
        g_ptr_array_add(names, g_strdup(name));
}

gboolean ibh_sysfs_parse_gid(const char *text, IbhIp *ret_gid)
{
    return strchr(text, ':') && ibh_ip_parse(text, ret_gid);
}

gboolean ibh_sysfs_read_gid(IbhTree *tree, const char *port, int index, IbhIp *ret_gid)
{
    char text[64];

    ibh_tree_line(tree, text, sizeof text, "%s/gids/%d", port, index);
    return ibh_sysfs_parse_gid(text, ret_gid);
}

gboolean ibh_sysfs_gid_is_empty(const IbhIp *gid)
{
    static const guint8 none[16] = {0};

    return memcmp(gid->bytes, none, sizeof none) == 0;
}

void ibh_sysfs_read_ndev(IbhTree *tree, const char *port, int index, char name[IBH_NDEV_LEN])
{
    ibh_tree_line(tree, name, IBH_NDEV_LEN, "%s/gid_attrs/ndevs/%d", port, index);
}

/* The last name is that of a link of this host that is no port of a bond. */
static gboolean has_found(const Port *port, const GArray *links)
{
    const char *name = port->ndevs->len ? g_ptr_array_index(port->ndevs, port->ndevs->len - 1) : NULL;

    if (!name)
        return FALSE;
    IBH_EACH (const IbhLink, link, links) {
        if (g_str_equal(link->name, name))
            return !link->master;
    }
    return FALSE;
}

/* As far as is needed: each entry costs an open in vain. */
static void read_ndevs(Port *port, const GArray *links)
{
    char name[IBH_NDEV_LEN];

    for (; port->n_read < N_NDEVS && !has_found(port, links); port->n_read++) {
        ibh_sysfs_read_ndev(port->tree, port->directory, port->n_read, name);
        add_name(port->ndevs, name);
    }
}

static void port_free(gpointer data)
{
    Port *port = data;

    g_ptr_array_unref(port->ndevs);
    g_free(port->directory);
    g_free(port->number);
    g_free(port->device);
    g_free(port);
}

GPtrArray *ibh_sysfs_ports(IbhTree *tree)
{
    GPtrArray *ports = g_ptr_array_new_with_free_func(port_free);
    g_autoptr(GPtrArray) devices = ibh_tree_list(tree, "sys/class/infiniband");

    IBH_EACH_POINTER (const char, device, devices) {
        g_autoptr(GPtrArray) names = ibh_tree_list(tree, "sys/class/infiniband/%s/ports", device);

        IBH_EACH_POINTER (const char, name, names) {
            Port *port = g_new0(Port, 1);

            *port = (Port){.tree = tree,
                           .device = g_strdup(device),
                           .number = g_strdup(name),
                           .directory = g_strdup_printf("sys/class/infiniband/%s/ports/%s", device, name),
                           .ndevs = g_ptr_array_new_with_free_func(g_free)};
            (void)ibh_sysfs_read_gid(tree, port->directory, 0, &port->gid);
            g_ptr_array_add(ports, port);
        }
    }
    return ports;
}

/* ---- does this netdev belong to it? ---- */

static gboolean is_of_device(const Port *port, const char *iface)
{
    return ibh_tree_has(port->tree, "sys/class/infiniband/%s/device/net/%s", port->device, iface);
}

/* Several ports may share one device (mlx4): dev_port counts from 0. */
static gboolean is_of_port(const Port *port, const char *iface)
{
    char dev_port[16];

    if (!is_of_device(port, iface))
        return FALSE;
    ibh_tree_line(port->tree, dev_port, sizeof dev_port, "sys/class/net/%s/dev_port", iface);
    return !dev_port[0] || g_ascii_strtoull(dev_port, NULL, 10) + 1 == g_ascii_strtoull(port->number, NULL, 10);
}

/* RoCE: the interface id is the MAC as EUI-64. iWARP: the GID begins with the MAC. An empty GID has none. */
static gboolean has_mac(const IbhIp *gid, const IbhLink *link)
{
    static const guint8 no_mac[6] = {0};
    const guint8 *mac = link->lladdr;
    const guint8 eui64[8] = {mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};

    return link->lladdr_len == 6 && memcmp(mac, no_mac, 6) != 0 &&
           (memcmp(gid->bytes + 8, eui64, 8) == 0 || memcmp(gid->bytes, mac, 6) == 0);
}

/* A bond that fails over gives its port a new default GID, in another place than the first. */
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

/* The last 8 bytes of an IPoIB address are the port's GUID, as are those of its GID. Children share it. */
static gboolean gid_has_guid(const Port *port, const IbhLink *link)
{
    return !ibh_sysfs_gid_is_empty(&port->gid) && link->lladdr_len == 20 &&
           memcmp(port->gid.bytes + 8, link->lladdr + 12, 8) == 0;
}

static gboolean has_port_of_device(const Port *port, const GArray *links, const IbhLink *master)
{
    IBH_EACH (const IbhLink, link, links) {
        if (link->master == master->ifindex && is_of_device(port, link->name))
            return TRUE;
    }
    return FALSE;
}

/* A name in the GID table may be that of a netdev in another namespace (a pod's VF): it must be proved to be of this
 * one. */
static gboolean belongs(const Port *port, const GArray *links, const IbhLink *link)
{
    if (link->type == ARPHRD_INFINIBAND)
        return gid_has_guid(port, link) || (ibh_sysfs_gid_is_empty(&port->gid) && is_of_port(port, link->name));
    if (g_ptr_array_find_with_equal_func(port->ndevs, link->name, g_str_equal, NULL))
        return is_of_device(port, link->name) || has_mac(&port->gid, link) || has_port_of_device(port, links, link) ||
               later_gid_has_mac(port, link);
    return !port->ndevs->len && (is_of_port(port, link->name) || has_mac(&port->gid, link)); /* iWARP before 6.6 */
}

static void find_links_of_port(Port *port, GArray *links)
{
    read_ndevs(port, links);
    IBH_EACH (IbhLink, link, links) {
        if (!link->rdma[0] && belongs(port, links, link))
            g_snprintf(link->rdma, sizeof link->rdma, "%s/%s", port->device, port->number);
    }
}

/* The GID table names them, too, but too far down to be searched. */
static void find_vlans(GArray *links)
{
    g_autoptr(GHashTable) parents = g_hash_table_new(NULL, NULL);

    IBH_EACH (IbhLink, link, links) {
        if (link->rdma[0])
            g_hash_table_insert(parents, GINT_TO_POINTER(link->ifindex), link);
    }
    IBH_EACH (IbhLink, vlan, links) {
        const IbhLink *parent = g_hash_table_lookup(parents, GINT_TO_POINTER(vlan->parent));

        if (parent && g_str_equal(vlan->kind, "vlan") && !vlan->rdma[0])
            g_strlcpy(vlan->rdma, parent->rdma, sizeof vlan->rdma);
    }
}

static void find_virtual_functions(IbhTree *tree, GArray *links)
{
    IBH_EACH (IbhLink, link, links) {
        if (link->rdma[0] || link->type == ARPHRD_INFINIBAND)
            link->vf = ibh_tree_has(tree, "sys/class/net/%s/device/physfn", link->name);
    }
}

gboolean ibh_sysfs_find_rdma(IbhTree *tree, const GPtrArray *ports, GArray *links, GError **error)
{
    IBH_EACH_POINTER (Port, port, ports)
        find_links_of_port(port, links);
    find_vlans(links);
    find_virtual_functions(tree, links);
    if (!tree->problem)
        return TRUE;
    g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(tree->problem),
                "%s/class/infiniband cannot be read: %s; which NICs have RDMA is not known, so nothing was changed",
                tree->sys, ibh_errno_text(tree->problem));
    return FALSE;
}

/* ---- where the hardware is ---- */

#define DEVICE "sys/class/infiniband/%.*s"

/* "mlx5_1" of "mlx5_1/1"; of a slot its PCI address */
static int device_length(const char *port)
{
    return (int)strcspn(port, "/");
}

static gboolean find_slot(IbhTree *tree, const char *port, char slot[IBH_SLOT_LEN])
{
    const int length = device_length(port);
    g_autofree char *bus = ibh_tree_real(tree, DEVICE "/device", length, port), *address = NULL;

    if (!bus || g_str_has_prefix(bus, "devices/virtual/") || ibh_tree_has(tree, DEVICE "/parent", length, port))
        return FALSE;
    address = g_path_get_basename(bus);
    g_strlcpy(slot, port, IBH_SLOT_LEN);
    if (strchr(address, ':'))
        g_snprintf(slot, IBH_SLOT_LEN, "%s%s", address, port + length);
    return TRUE;
}

gboolean ibh_hardware_find(const char *sysfs, IbhKnownRail *known)
{
    g_auto(IbhTree) tree = ibh_tree_of(sysfs);

    return find_slot(&tree, known->port, known->slot);
}

void ibh_sysfs_find_slots(IbhTree *tree, const GArray *known, GArray *links)
{
    IBH_EACH (IbhLink, link, links) {
        if (!link->rdma[0])
            continue;
        IBH_EACH (const IbhKnownRail, one, known) {
            if (g_str_equal(link->name, one->iface) && g_str_equal(link->rdma, one->port) &&
                !ibh_link_has_hardware(link, one->hardware))
                (void)find_slot(tree, link->rdma, link->slot);
        }
    }
}
