#include "host/fabric_read.h"

#include "host/sysfs.h"

#include <linux/if_arp.h>
#include <linux/route.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The largest P_Key tables of adapters have 128 entries. */
#define N_PKEYS 256
/* A port's own GIDs come first, in all versions that it can do (see sysfs.c). */
#define N_GID_TYPES 8
#define ROUTES_MAX ((gsize)1024 * 1024)
#define LIMITS_MAX ((gsize)8 * 1024)

/* ---- numbers ---- */

/* "4: ACTIVE", "0x8002", "2044" */
static int number_of(const char *text)
{
    char *end;
    guint64 value = g_ascii_strtoull(text, &end, 0);

    return g_ascii_isdigit(text[0]) && (!*end || *end == ':') && value <= G_MAXINT ? (int)value : IBH_UNKNOWN;
}

static int port_number(IbhTree *tree, const IbhPort *port, const char *attribute)
{
    char line[64];

    ibh_tree_line(tree, line, sizeof line, "sys/class/infiniband/%s/ports/%d/%s", port->device, port->number,
                  attribute);
    return number_of(line);
}

static int net_number(IbhTree *tree, const char *iface, const char *attribute)
{
    char line[64];

    ibh_tree_line(tree, line, sizeof line, "sys/class/net/%s/%s", iface, attribute);
    return number_of(line);
}

/* ---- ports ---- */

static void read_layer(IbhTree *tree, IbhPort *port)
{
    char line[64];

    ibh_tree_line(tree, line, sizeof line, "sys/class/infiniband/%s/ports/%d/link_layer", port->device, port->number);
    port->layer = g_str_equal(line, "InfiniBand") ? IBH_LAYER_INFINIBAND
                  : g_str_equal(line, "Ethernet") ? IBH_LAYER_ETHERNET
                                                  : IBH_LAYER_UNKNOWN;
    ibh_tree_line(tree, line, sizeof line, "sys/class/infiniband/%s/node_type", port->device);
    port->iwarp = number_of(line) == 4;
}

/* The GUID is the second half of its first GID. */
static void read_guid(IbhTree *tree, IbhPort *port)
{
    char line[64];
    IbhIp gid;

    ibh_tree_line(tree, line, sizeof line, "sys/class/infiniband/%s/ports/%d/gids/0", port->device, port->number);
    if (!strchr(line, ':') || !ibh_ip_parse(line, &gid))
        return;
    g_strlcpy(port->guid, "0x", sizeof port->guid);
    for (gsize i = 0; i < 8; i++)
        g_snprintf(port->guid + 2 + 2 * i, 3, "%02x", gid.bytes[8 + i]);
}

static void read_pkeys(IbhTree *tree, IbhPort *port)
{
    for (int i = 0; i < N_PKEYS; i++) {
        char line[64];
        guint16 pkey;
        int value;

        ibh_tree_line(tree, line, sizeof line, "sys/class/infiniband/%s/ports/%d/pkeys/%d", port->device, port->number,
                      i);
        value = number_of(line);
        if (value == IBH_UNKNOWN) {
            port->has_all_pkeys = i > 0;
            return;
        }
        pkey = (guint16)value; /* 0: a free place */
        g_array_append_val(port->pkeys, pkey);
    }
}

/* New connections use version 2 where the port can do it, unless the administrator chose otherwise. */
static void read_roce(IbhTree *tree, IbhPort *port)
{
    char line[64];

    for (int i = 0; i < N_GID_TYPES; i++) {
        ibh_tree_line(tree, line, sizeof line, "sys/class/infiniband/%s/ports/%d/gid_attrs/types/%d", port->device,
                      port->number, i);
        port->has_roce_v1 |= g_str_equal(line, "IB/RoCE v1");
        port->has_roce_v2 |= g_str_equal(line, "RoCE v2");
    }
    ibh_tree_line(tree, line, sizeof line, "sys/kernel/config/rdma_cm/%s/ports/%d/default_roce_mode", port->device,
                  port->number);
    port->roce = g_str_equal(line, "IB/RoCE v1") ? 1
                 : g_str_equal(line, "RoCE v2")  ? 2
                 : port->has_roce_v2             ? 2
                 : port->has_roce_v1             ? 1
                                                 : IBH_UNKNOWN;
}

static void read_port(IbhTree *tree, const char *device, int number, IbhFabric *fabric)
{
    IbhPort port = {.number = number, .roce = IBH_UNKNOWN, .pkeys = g_array_new(FALSE, TRUE, sizeof(guint16))};

    g_strlcpy(port.device, device, sizeof port.device);
    g_snprintf(port.name, sizeof port.name, "%s/%d", device, number);
    read_layer(tree, &port);
    port.state = port_number(tree, &port, "state");
    port.phys_state = port_number(tree, &port, "phys_state");
    port.sm_lid = port_number(tree, &port, "sm_lid");
    if (port.layer == IBH_LAYER_INFINIBAND) {
        read_guid(tree, &port);
        read_pkeys(tree, &port);
    } else if (port.layer == IBH_LAYER_ETHERNET && !port.iwarp) {
        read_roce(tree, &port);
    }
    g_array_append_val(fabric->ports, port);
}

/* "01" and "1:" would be read as "1". */
static gboolean is_number(const char *name, int number)
{
    char text[16];

    g_snprintf(text, sizeof text, "%d", number);
    return g_str_equal(name, text);
}

static void read_ports(IbhTree *tree, IbhFabric *fabric)
{
    g_autoptr(GPtrArray) devices = ibh_tree_list(tree, "sys/class/infiniband");

    IBH_EACH_POINTER (const char, device, devices) {
        g_autoptr(GPtrArray) ports = ibh_tree_list(tree, "sys/class/infiniband/%s/ports", device);

        for (guint j = 0; j < ports->len && strlen(device) < sizeof(((IbhPort *)NULL)->device); j++) {
            const char *name = g_ptr_array_index(ports, j);
            int number = number_of(name);

            if (number == IBH_UNKNOWN || !is_number(name, number))
                continue;
            /* One of which nothing can be read is there all the same, in a capture, too. */
            if (ibh_tree_has(tree, "sys/class/infiniband/%s/ports/%d", device, number))
                read_port(tree, device, number, fabric);
        }
    }
}

/* ---- netdevs ---- */

/* A netdev of this name may be one of another network namespace, if it is that one's /sys. */
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
                      .subnets = g_array_new(FALSE, TRUE, sizeof(IbhPrefix))};

    nic.usable = nic.up && link->carrier;
    g_strlcpy(nic.iface, link->name, sizeof nic.iface);
    g_strlcpy(nic.rdma, link->rdma, sizeof nic.rdma);
    if (is_link(tree, link))
        nic.mtu = net_number(tree, link->name, "mtu");
    if (link->type == ARPHRD_INFINIBAND && is_link(tree, link)) {
        nic.pkey = net_number(tree, link->name, "pkey");
        ibh_tree_line(tree, nic.mode, sizeof nic.mode, "sys/class/net/%s/mode", link->name);
        if (!g_str_equal(nic.mode, "datagram") && !g_str_equal(nic.mode, "connected"))
            nic.mode[0] = '\0';
    }
    g_array_append_val(fabric->nics, nic);
}

/* ---- modules and memory ---- */

/* A module that is built in has no directory below sys/module, but what it registers is there. */
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

/* Asked only where no RDMA core is there: the classes are InfiniBand's, old and new, and Omni-Path's. */
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
    read_ports(tree, fabric);
    IBH_EACH (const IbhLink, link, links) {
        if (link->rdma[0] || link->type == ARPHRD_INFINIBAND)
            read_nic(tree, link, fabric);
    }
    read_modules(tree, fabric);
    if (!fabric->modules[IBH_MODULE_CORE])
        read_pci(tree, fabric);
    read_memlock(tree, fabric);
    return fabric;
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
    link.flags = flags == IBH_UNKNOWN ? 0 : (guint)flags;
    link.carrier = net_number(tree, iface, "carrier") == 1;
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

static void add_subnet(IbhFabric *fabric, const char *iface, const IbhIp *ip, guint length)
{
    IbhPrefix subnet = ibh_prefix(ip, length);

    IBH_EACH (IbhPortNic, nic, fabric->nics) {
        if (g_str_equal(nic->iface, iface) && !ibh_ip_is_link_local(ip))
            g_array_append_val(nic->subnets, subnet);
    }
}

/*
 * "ib0 000010AC 00000000 0001 0 0 0 0000FFFF 0 0 0": connected routes stand for the addresses. The numbers are in the
 * byte order of the host that they were captured on. The mask tells it: it begins with ones and does not end with them.
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
