/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/fabric_read.h"

#include "host/port_read.h"
#include "host/sysfs.h"

#include <linux/if_arp.h>
#include <linux/route.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define ROUTES_MAX ((gsize)1024 * 1024)
#define UEVENT_MAX ((gsize)4 * 1024)
#define LIMITS_MAX ((gsize)8 * 1024)

/* ---- netdevs ---- */

static int net_number(IbhTree *tree, const char *iface, const char *attribute)
{
    char line[64];

    ibh_tree_line(tree, line, sizeof line, "sys/class/net/%s/%s", iface, attribute);
    return ibh_port_number_of(line);
}

/* If this /sys is another network namespace's, a netdev of this name may be another one. */
static gboolean is_link(IbhTree *tree, const IbhLink *link)
{
    int ifindex = net_number(tree, link->name, "ifindex");

    return ifindex == IBH_UNKNOWN || ifindex == link->ifindex;
}

static void read_nic(IbhTree *tree, const IbhLink *link, IbhFabric *fabric)
{
    IbhPortNic nic = {.type = link->type,
                      .up = (link->flags & IFF_UP) != 0,
                      .mtu = IBH_UNKNOWN,
                      .pkey = IBH_UNKNOWN,
                      .subnets = g_array_new(FALSE, TRUE, sizeof(IbhPrefix)),
                      .addresses = g_array_new(FALSE, TRUE, sizeof(IbhIp))};

    nic.usable = nic.up && link->carrier;
    g_strlcpy(nic.iface, link->name, sizeof nic.iface);
    g_strlcpy(nic.rdma, link->rdma, sizeof nic.rdma);
    if (is_link(tree, link))
        nic.mtu = net_number(tree, link->name, "mtu");
    if (nic.mtu == IBH_UNKNOWN && link->mtu) /* netlink knows nothing of a captured host */
        nic.mtu = link->mtu;
    if (link->type == ARPHRD_INFINIBAND && is_link(tree, link)) {
        nic.pkey = net_number(tree, link->name, "pkey");
        ibh_tree_line(tree, nic.mode, sizeof nic.mode, "sys/class/net/%s/mode", link->name);
        if (!g_str_equal(nic.mode, "datagram") && !g_str_equal(nic.mode, "connected"))
            nic.mode[0] = '\0';
    }
    g_array_append_val(fabric->nics, nic);
}

/* ---- modules and memory ---- */

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

/* Asked only without an RDMA core: the classes of InfiniBand, old and new, and of Omni-Path. */
static void read_pci(IbhTree *tree, IbhFabric *fabric)
{
    g_autoptr(GPtrArray) devices = ibh_tree_list(tree, "sys/bus/pci/devices");

    for (guint i = 0; i < devices->len && !fabric->hca[0]; i++) {
        const char *device = g_ptr_array_index(devices, i);
        char line[32];

        ibh_tree_line(tree, line, sizeof line, "sys/bus/pci/devices/%s/class", device);
        if (g_str_has_prefix(line, "0x0c06") || g_str_has_prefix(line, "0x0207") || g_str_has_prefix(line, "0x0208"))
            g_strlcpy(fabric->hca, device, sizeof fabric->hca);
    }
}

/* Drivers of Ethernet whose RDMA part is a module of its own. */
typedef struct {
    const char *base, *rdma;
    gboolean is_certain; /* its adapters are bought for RDMA */
} Driver;

static gboolean lacks_rdma_part(IbhTree *tree, const Driver *driver)
{
    return ibh_tree_has(tree, "sys/module/%s", driver->base) && !ibh_tree_has(tree, "sys/module/%s", driver->rdma);
}

/* An InfiniBand adapter of this driver that is no RDMA device. */
static gboolean is_bare_hca(IbhTree *tree, const char *device, const Driver *driver)
{
    g_autofree char *uevent = NULL, *wanted = g_strdup_printf("DRIVER=%s\n", driver->base);
    char class[32];

    ibh_tree_line(tree, class, sizeof class, "sys/bus/pci/devices/%s/class", device);
    if (!g_str_has_prefix(class, "0x0207"))
        return FALSE;
    uevent = ibh_tree_text(tree, UEVENT_MAX, "sys/bus/pci/devices/%s/uevent", device);
    return uevent && strstr(uevent, wanted) && !ibh_tree_has(tree, "sys/bus/pci/devices/%s/infiniband", device);
}

static void find_bare_hca(IbhTree *tree, const Driver *driver, IbhFabric *fabric)
{
    g_autoptr(GPtrArray) devices = ibh_tree_list(tree, "sys/bus/pci/devices");

    IBH_EACH_POINTER (const char, device, devices) {
        if (!is_bare_hca(tree, device, driver))
            continue;
        g_strlcpy(fabric->bare_hca, device, sizeof fabric->bare_hca);
        fabric->driver = driver->base;
        fabric->rdma_driver = driver->rdma;
        fabric->needs_rdma_driver = TRUE;
        return;
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
        if (!lacks_rdma_part(tree, &drivers[i]))
            continue;
        if (!fabric->driver) {
            fabric->driver = drivers[i].base;
            fabric->rdma_driver = drivers[i].rdma;
            fabric->needs_rdma_driver = drivers[i].is_certain;
        }
        if (drivers[i].is_certain)
            find_bare_hca(tree, &drivers[i], fabric);
    }
}

static void read_memlock(IbhTree *tree, IbhFabric *fabric)
{
    static const char key[] = "Max locked memory";
    g_autofree char *text = ibh_tree_text(tree, LIMITS_MAX, "proc/self/limits");
    const char *at = text ? strstr(text, key) : NULL;

    if (!at)
        return;
    at += strlen(key);
    at += strspn(at, " ");
    if (g_str_has_prefix(at, "unlimited"))
        fabric->memlock = G_MAXINT64;
    else if (g_ascii_isdigit(*at))
        fabric->memlock = (gint64)MIN(g_ascii_strtoull(at, NULL, 10), G_MAXINT64 - 1);
}

/* ---- all of it ---- */

IbhFabric *ibh_fabric_read(IbhTree *tree, const GArray *links)
{
    IbhFabric *fabric = ibh_fabric_new();

    fabric->captured = tree->captured;
    fabric->complete = tree->complete;
    ibh_ports_read(tree, fabric);
    IBH_EACH (const IbhLink, link, links) {
        if (link->rdma[0] || link->type == ARPHRD_INFINIBAND)
            read_nic(tree, link, fabric);
    }
    read_modules(tree, fabric);
    if (!fabric->modules[IBH_MODULE_CORE])
        read_pci(tree, fabric);
    else
        read_drivers(tree, fabric);
    read_memlock(tree, fabric);
    ibh_ports_read_again(tree, fabric);
    return fabric;
}

void ibh_fabric_read_rails(IbhTree *tree, const IbhRails *rails, IbhFabric *fabric)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (nic->status == IBH_NIC_RAIL && !ibh_fabric_nic(fabric, nic->link->name))
            read_nic(tree, nic->link, fabric);
    }
}

/* ---- a captured tree ---- */

static guint read_lladdr(IbhTree *tree, const char *iface, guint8 *lladdr)
{
    char line[128];
    guint length = 0;

    ibh_tree_line(tree, line, sizeof line, "sys/class/net/%s/address", iface);
    for (const char *at = line; length < IBH_LLADDR_MAX && g_ascii_isxdigit(at[0]) && g_ascii_isxdigit(at[1]);
         at += at[2] == ':' ? 3 : 2)
        lladdr[length++] = (guint8)(g_ascii_xdigit_value(at[0]) << 4 | g_ascii_xdigit_value(at[1]));
    return length;
}

static void read_link(IbhTree *tree, const char *iface, GArray *links)
{
    IbhLink link = {.ifindex = net_number(tree, iface, "ifindex")};
    int type = net_number(tree, iface, "type");
    int flags = net_number(tree, iface, "flags"), master;

    if (type < 0 || type > G_MAXUINT16 || link.ifindex <= 0)
        return;
    g_strlcpy(link.name, iface, sizeof link.name);
    link.type = (guint16)type;
    link.flags = flags == IBH_UNKNOWN ? IFF_UP : (guint)flags;
    link.carrier = net_number(tree, iface, "carrier") != 0; /* the file of a link that is down cannot be read */
    link.lladdr_len = read_lladdr(tree, iface, link.lladdr);
    master = net_number(tree, iface, "master/ifindex");
    link.master = MAX(master, 0);
    g_array_append_val(links, link);
}

static GArray *read_links(IbhTree *tree)
{
    g_autoptr(GPtrArray) names = ibh_tree_list(tree, "sys/class/net");
    GArray *links = g_array_new(FALSE, TRUE, sizeof(IbhLink));

    IBH_EACH_POINTER (const char, name, names) {
        if (ibh_is_iface_name(name))
            read_link(tree, name, links);
    }
    return links;
}

static void add_address(IbhFabric *fabric, const char *iface, const IbhIp *ip)
{
    IbhPortNic *nic = ibh_fabric_nic(fabric, iface);

    if (nic && !ibh_ip_is_link_local(ip))
        g_array_append_val(nic->addresses, *ip);
}

static void add_subnet(IbhFabric *fabric, const char *iface, const IbhIp *ip, guint length)
{
    IbhPrefix subnet = ibh_prefix(ip, length);

    IBH_EACH (IbhPortNic, nic, fabric->nics) {
        if (g_str_equal(nic->iface, iface) && !ibh_ip_is_link_local(ip))
            g_array_append_val(nic->subnets, subnet);
    }
}

/*
 * "ib0 000010AC 00000000 0001 0 0 0 0000FFFF 0 0 0": connected routes stand for the addresses. The numbers have the
 * byte order of the captured host. The mask tells which: it begins with ones and does not end with them.
 */
static void read_route(IbhFabric *fabric, const char *line)
{
    char iface[IFNAMSIZ];
    guint dst, flags, mask;
    guint8 bytes[sizeof mask];
    IbhIp ip = {.family = AF_INET};

    if (sscanf(line, "%15s %8x %*s %4x %*s %*s %*s %8x", iface, &dst, &flags, &mask) != 4 || !mask ||
        (flags & (RTF_GATEWAY | RTF_REJECT)) || mask == G_MAXUINT32)
        return;
    memcpy(bytes, &mask, sizeof mask);
    if (bytes[0] < bytes[sizeof bytes - 1])
        dst = GUINT32_SWAP_LE_BE(dst);
    memcpy(ip.bytes, &dst, sizeof dst);
    add_subnet(fabric, iface, &ip, (guint)__builtin_popcount(mask));
}

/* "fd000016000000000000000000340001 02 40 00 80 ib0": address, ifindex, length, scope, flags. */
static void read_address6(IbhFabric *fabric, const char *line)
{
    char hex[33], iface[IFNAMSIZ];
    guint length, scope;
    IbhIp ip = {.family = AF_INET6};

    if (sscanf(line, "%32[0-9a-f] %*x %2x %2x %*x %15s", hex, &length, &scope, iface) != 4 || strlen(hex) != 32 ||
        scope != RT_SCOPE_UNIVERSE || length >= 128)
        return;
    for (gsize i = 0; i < 16; i++)
        ip.bytes[i] = (guint8)(g_ascii_xdigit_value(hex[2 * i]) << 4 | g_ascii_xdigit_value(hex[2 * i + 1]));
    add_subnet(fabric, iface, &ip, length);
    add_address(fabric, iface, &ip);
}

static void for_each_line(const char *text, void (*take)(IbhFabric *fabric, const char *line), IbhFabric *fabric)
{
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        take(fabric, line);
    }
}

IbhFabric *ibh_fabric_read_captured(IbhTree *tree, GError **error)
{
    g_autoptr(GArray) links = read_links(tree);
    g_autofree char *routes = ibh_tree_text(tree, ROUTES_MAX, "proc/net/route");
    g_autofree char *addresses = ibh_tree_text(tree, ROUTES_MAX, "proc/net/if_inet6");
    IbhFabric *fabric;

    if (!ibh_sysfs_find_rdma_in(tree, links, error))
        return NULL;
    fabric = ibh_fabric_read(tree, links);
    for_each_line(routes, read_route, fabric);
    for_each_line(addresses, read_address6, fabric);
    if (routes || addresses)
        ibh_fabric_use_subnets(fabric);
    return fabric;
}
