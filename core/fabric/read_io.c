/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fabric/read_io.h"

#include <linux/if_arp.h>
#include <string.h>

#define TEXT_MAX ((gsize)8 * 1024)
/* Twice as many entries as the largest P_Key table of an adapter has. */
#define N_PKEYS 256
/* As many as rxe has, which has more GIDs than any adapter. */
#define N_GIDS 1024
#define LOOK_AGAIN_US ((gulong)200 * 1000)

/* ---- from a text to a value ---- */

/* Parses "4: ACTIVE", "0x8002" or "2044"; sets IBH_UNKNOWN for other texts and for numbers that do not fit. */
static void parse_number(const char *text, gpointer to)
{
    char *end;
    guint64 value = g_ascii_strtoull(text, &end, 0);

    *(int *)to = g_ascii_isdigit(text[0]) && (!*end || *end == ':') && value <= G_MAXINT ? (int)value : IBH_UNKNOWN;
}

static int number_of(const char *text)
{
    int number;

    parse_number(text, &number);
    return number;
}

/* Parses "4: ACTIVE". */
static void parse_state(const char *text, gpointer to)
{
    IbhPortState *state = to;
    const char *name = strstr(text, ": ");

    state->number = number_of(text);
    name = name && state->number != IBH_UNKNOWN ? name + 2 : "unknown";
    g_strlcpy(state->name, name, MIN(sizeof state->name, strcspn(name, "\n") + 1));
}

/* Parses a number that is directly followed by `unit`; ignores the text after `unit`. Returns the number in tenths;
 * IBH_UNKNOWN for any other text, such as "Unknown", and for a number that is 0, or 100,000 or more. */
static int tenths_of(const char *text, const char *unit)
{
    char *end = NULL;
    double value = g_ascii_isdigit(text[0]) ? g_ascii_strtod(text, &end) : 0;

    return value > 0 && value < 100000 && g_str_has_prefix(end, unit) ? (int)(value * 10 + 0.5) : IBH_UNKNOWN;
}

/* Parses "16.0 GT/s PCIe". */
static void parse_speed(const char *text, gpointer to)
{
    *(int *)to = tenths_of(text, " GT/s");
}

/* Parses "100 Gb/sec (4X EDR)". */
static void parse_rate(const char *text, gpointer to)
{
    const char *lanes = strchr(text, '(');
    IbhRate *rate = to;

    rate->tenths = tenths_of(text, " Gb/sec");
    rate->lanes = lanes && strchr(lanes, 'X') ? (int)g_ascii_strtoull(lanes + 1, NULL, 10) : IBH_UNKNOWN;
    if (rate->lanes <= 0 || rate->lanes > 64)
        rate->lanes = IBH_UNKNOWN;
}

static gint64 counter_of(const char *text)
{
    char *end;
    guint64 value = g_ascii_strtoull(text, &end, 10);

    return g_ascii_isdigit(text[0]) && !*end && value <= G_MAXINT64 ? (gint64)value : IBH_UNKNOWN;
}

/* For `board` and `model`, which have the same size. */
static void parse_name(const char *text, gpointer to)
{
    g_strlcpy(to, text, sizeof((IbhRdmaDevice *)NULL)->board);
}

/* Parses "248a:0703:00b0:1cfe". */
static void parse_guid(const char *text, gpointer to)
{
    guint64 guid = 0;

    for (; g_ascii_isxdigit(*text) || *text == ':'; text++)
        guid = *text == ':' ? guid : guid << 4 | (guint64)g_ascii_xdigit_value(*text);
    *(guint64 *)to = guid;
}

/* Finds the line "PCI_SLOT_NAME=0000:3b:00.0". */
static void parse_slot(const char *text, gpointer to)
{
    static const char key[] = "PCI_SLOT_NAME=";
    const char *at = strstr(text, key);

    if (at)
        g_strlcpy(to, at + strlen(key), MIN(sizeof((IbhRdmaDevice *)NULL)->slot, strcspn(at + strlen(key), "\n") + 1));
}

static void parse_layer(const char *text, gpointer to)
{
    *(IbhLayer *)to = g_str_equal(text, "InfiniBand") ? IBH_LAYER_INFINIBAND
                      : g_str_equal(text, "Ethernet") ? IBH_LAYER_ETHERNET
                                                      : IBH_LAYER_UNKNOWN;
}

static void parse_mode(const char *text, gpointer to)
{
    if (g_str_equal(text, "datagram") || g_str_equal(text, "connected"))
        g_strlcpy(to, text, sizeof((IbhPortNic *)NULL)->mode);
}

/* Parses "fe80:0000:0000:0000:248a:0703:00b0:1cfe". A GID is written like an IPv6 address, and never like an IPv4
 * address, so the text must have a colon. */
static void parse_gid(const char *text, gpointer to)
{
    IbhPortGid *gid = to;
    guint64 halves[2];
    IbhIp ip;

    *gid = (IbhPortGid){.is_known = strchr(text, ':') && ibh_ip_parse(text, &ip)};
    if (!gid->is_known)
        return;
    memcpy(halves, ip.bytes, sizeof halves);
    gid->prefix = GUINT64_FROM_BE(halves[0]);
    gid->guid = GUINT64_FROM_BE(halves[1]);
}

/* Finds "Max locked memory   65536   65536   bytes". The first number is the soft limit. */
static void parse_memlock(const char *text, gpointer to)
{
    static const char key[] = "Max locked memory";
    const char *at = strstr(text, key);

    at = at ? at + strlen(key) + strspn(at + strlen(key), " ") : "";
    *(gint64 *)to = g_str_has_prefix(at, "unlimited") ? G_MAXINT64
                    : g_ascii_isdigit(*at)            ? (gint64)MIN(g_ascii_strtoull(at, NULL, 10), G_MAXINT64 - 1)
                                                      : IBH_UNKNOWN;
}

/* ---- the facts ---- */

/* What a fact is about. OF_SUBNET: about a port, too, but read twice (ibh_fabric_read_again()). */
typedef enum { OF_DEVICE, OF_PORT, OF_SUBNET, OF_NIC, OF_GPU, OF_PROCESS } Subject;

#define IN_DEVICE(member) G_STRUCT_OFFSET(IbhRdmaDevice, member)
#define IN_PORT(member) G_STRUCT_OFFSET(IbhPort, member)
#define IN_NIC(member) G_STRUCT_OFFSET(IbhPortNic, member)

static const struct {
    Subject of;
    const char *path;                             /* below the directory of the device, of the port and so on */
    void (*parse)(const char *text, gpointer to); /* `text` is "" if the file cannot be read */
    gsize at;                                     /* the offset of the member that `parse` sets */
} facts[] = {
    {OF_DEVICE, "board_id", parse_name, IN_DEVICE(board)},
    {OF_DEVICE, "hca_type", parse_name, IN_DEVICE(model)},
    {OF_DEVICE, "node_guid", parse_guid, IN_DEVICE(node_guid)},
    {OF_DEVICE, "node_type", parse_number, IN_DEVICE(node_type)},
    {OF_DEVICE, "device/numa_node", parse_number, IN_DEVICE(place.node)},
    {OF_DEVICE, "device/uevent", parse_slot, IN_DEVICE(slot)},
    {OF_DEVICE, "device/current_link_width", parse_number, IN_DEVICE(pcie_lanes)},
    {OF_DEVICE, "device/max_link_width", parse_number, IN_DEVICE(pcie_max_lanes)},
    {OF_DEVICE, "device/current_link_speed", parse_speed, IN_DEVICE(pcie_speed)},
    {OF_DEVICE, "device/max_link_speed", parse_speed, IN_DEVICE(pcie_max_speed)},
    {OF_PORT, "link_layer", parse_layer, IN_PORT(layer)},
    {OF_PORT, "state", parse_state, IN_PORT(state)},
    {OF_PORT, "phys_state", parse_state, IN_PORT(phys)},
    {OF_PORT, "rate", parse_rate, IN_PORT(rate)},
    /* When another subnet manager takes over, these two values change on one port after the other. */
    {OF_SUBNET, "sm_lid", parse_number, IN_PORT(sm_lid)},
    {OF_SUBNET, "gids/0", parse_gid, IN_PORT(gid)},
    {OF_NIC, "mtu", parse_number, IN_NIC(mtu)},
    {OF_NIC, "pkey", parse_number, IN_NIC(pkey)},
    {OF_NIC, "mode", parse_mode, IN_NIC(mode)},
    {OF_GPU, "numa_node", parse_number, G_STRUCT_OFFSET(IbhGpu, place.node)},
    {OF_PROCESS, "limits", parse_memlock, G_STRUCT_OFFSET(IbhFabric, memlock)},
};

/* Reads all facts about one subject. `to` is the struct whose members the facts set. */
static void read_facts(IbhTree *tree, Subject of, const char *directory, gpointer to)
{
    for (gsize i = 0; i < G_N_ELEMENTS(facts); i++) {
        g_autofree char *path = NULL, *text = NULL;

        if (facts[i].of != of)
            continue;
        path = g_strconcat(directory, "/", facts[i].path, NULL);
        text = ibh_fabric_read_text(tree, TEXT_MAX, path);
        facts[i].parse(text ? g_strchomp(text) : "", (char *)to + facts[i].at);
    }
}

/* ---- ports ---- */

static char *directory_of(const IbhPort *port)
{
    return g_strdup_printf("sys/class/infiniband/%s/ports/%d", port->device, port->number);
}

static void read_port_counters(IbhTree *tree, const char *directory, gint64 *errors)
{
    for (guint i = 0; i < IBH_N_COUNTERS; i++) {
        char line[64];

        ibh_tree_line(tree, line, sizeof line, "%s/%s", directory, ibh_counters[i]);
        errors[i] = counter_of(line);
    }
}

static void read_pkeys(IbhTree *tree, const char *directory, IbhPort *port)
{
    for (int i = 0; i < N_PKEYS; i++) {
        char line[64];
        guint16 pkey;
        int value;

        ibh_tree_line(tree, line, sizeof line, "%s/pkeys/%d", directory, i);
        value = number_of(line);
        if (value == IBH_UNKNOWN) {
            /* If there is a next entry, this entry could not be read, or is missing in a copy of /sys, so the table is
             * not complete. Each InfiniBand port has an entry 0, so a table without it is not complete, either. */
            port->has_all_pkeys = i > 0 && !ibh_tree_has(tree, "%s/pkeys/%d", directory, i + 1);
            return;
        }
        pkey = (guint16)value; /* 0 if the entry is free */
        g_array_append_val(port->pkeys, pkey);
    }
}

/* Replaces ::ffff:172.16.34.1 with the IPv4 address. */
static void unmap(IbhIp *ip)
{
    static const guint8 lead[12] = {[10] = 0xff, [11] = 0xff};
    IbhIp ipv4 = {.family = AF_INET};

    if (memcmp(ip->bytes, lead, sizeof lead) != 0)
        return;
    memcpy(ipv4.bytes, ip->bytes + sizeof lead, 4);
    *ip = ipv4;
}

static int roce_version_of(const char *type)
{
    return g_str_equal(type, "RoCE v2") ? 2 : g_str_equal(type, "IB/RoCE v1") ? 1 : IBH_UNKNOWN;
}

/* Reads the GID table, which has holes where addresses were deleted. Sets port->roce to the version that new
 * connections use: the administrator's choice (default_roce_mode) or, without a choice, the highest version in the
 * table. */
static void read_gids(IbhTree *tree, const char *directory, IbhPort *port)
{
    gboolean unread = FALSE;
    char type[64];
    int i;

    for (i = 0; i < N_GIDS; i++) {
        IbhGid gid = {.index = i};

        if (!ibh_sysfs_read_gid(tree, directory, i, &gid.ip)) {
            unread = ibh_tree_has(tree, "%s/gids/%d", directory, i);
            break;
        }
        if (!ibh_ip_is_unicast(&gid.ip)) /* all zeros: an empty entry */
            continue;
        unmap(&gid.ip);
        ibh_sysfs_read_ndev(tree, directory, i, gid.ndev);
        ibh_tree_line(tree, type, sizeof type, "%s/gid_attrs/types/%d", directory, i);
        gid.roce = roce_version_of(type);
        port->roce = MAX(port->roce, gid.roce); /* IBH_UNKNOWN is less than any version */
        g_array_append_val(port->gids, gid);
    }
    /* If the entry at which the loop ended has a file (its GID, or its type), the table was not read to its end. The
     * table of a RoCE port has more than one entry, so if not even two were read, a copy of /sys lacks the others. */
    port->has_all_gids = i > 1 && !unread && !ibh_tree_has(tree, "%s/gid_attrs/types/%d", directory, i);
    ibh_tree_line(tree, type, sizeof type, "sys/kernel/config/rdma_cm/%s/ports/%d/default_roce_mode", port->device,
                  port->number);
    if (roce_version_of(type) != IBH_UNKNOWN)
        port->roce = roce_version_of(type);
}

static void read_port(IbhTree *tree, const IbhRdmaDevice *device, int number, IbhFabric *fabric)
{
    g_autofree char *directory = NULL;
    IbhPort port = {.number = number,
                    .device_at = fabric->devices->len, /* the device is added after its ports */
                    .iwarp = device->node_type == 4,
                    .roce = IBH_UNKNOWN,
                    .is_steady = TRUE,
                    .pkeys = IBH_NEW_ARRAY(guint16),
                    .gids = IBH_NEW_ARRAY(IbhGid)};

    g_strlcpy(port.device, device->name, sizeof port.device);
    g_snprintf(port.name, sizeof port.name, "%s/%d", device->name, number);
    directory = directory_of(&port);
    read_facts(tree, OF_PORT, directory, &port);
    read_facts(tree, OF_SUBNET, directory, &port);
    if (port.layer == IBH_LAYER_INFINIBAND)
        read_pkeys(tree, directory, &port);
    else if (port.layer == IBH_LAYER_ETHERNET && !port.iwarp)
        read_gids(tree, directory, &port);
    read_port_counters(tree, directory, port.errors);
    g_array_append_val(fabric->ports, port);
}

/* Sets the path of a PCI device's place: the path to which a link leads. `link` is "/device" for the link of this name
 * in `directory`, or "" if `directory` itself is the link. A path that does not fit counts as not known. */
static void read_place(IbhTree *tree, const char *directory, const char *link, IbhPlace *place)
{
    g_autofree char *path = ibh_tree_real(tree, "%s%s", directory, link);

    g_strlcpy(place->path, path && strlen(path) < sizeof place->path ? path : "", sizeof place->path);
}

static void read_device(IbhTree *tree, const char *name, IbhFabric *fabric)
{
    g_autofree char *directory = g_strdup_printf("sys/class/infiniband/%s", name);
    g_autoptr(GPtrArray) ports = ibh_tree_list(tree, "%s/ports", directory);
    IbhRdmaDevice device = {0};
    const guint before = fabric->ports->len;

    if (!ports->len || strlen(name) >= sizeof device.name)
        return;
    g_strlcpy(device.name, name, sizeof device.name);
    read_facts(tree, OF_DEVICE, directory, &device);
    read_place(tree, directory, "/device", &device.place);
    if (!device.board[0])
        g_strlcpy(device.board, device.model, sizeof device.board);
    IBH_EACH_POINTER (const char, port, ports) {
        if (number_of(port) > 0 && port[0] != '0' && !port[strspn(port, G_CSET_DIGITS)]) /* "01" would be read as "1" */
            read_port(tree, &device, number_of(port), fabric);
    }
    if (fabric->ports->len > before)
        g_array_append_val(fabric->devices, device);
}

/* ---- reading again ---- */

/* TRUE if any port has counted errors, or if InfiniBand ports differ in SM lid or subnet prefix: then a later reading
 * may tell more. */
static gboolean is_worth_a_wait(const IbhFabric *fabric)
{
    const IbhPort *first = NULL;

    IBH_EACH (const IbhPort, port, fabric->ports) {
        for (guint i = 0; i < IBH_N_COUNTERS; i++) {
            if (port->errors[i] > 0)
                return TRUE;
        }
        if (port->layer != IBH_LAYER_INFINIBAND)
            continue;
        first = first ? first : port;
        if (port->sm_lid != first->sm_lid || port->gid.prefix != first->gid.prefix)
            return TRUE;
    }
    return FALSE;
}

void ibh_fabric_read_again(IbhTree *tree, IbhFabric *fabric)
{
    if (tree->complete && is_worth_a_wait(fabric))
        g_usleep(LOOK_AGAIN_US);
    IBH_EACH (IbhPort, port, fabric->ports) {
        g_autofree char *directory = directory_of(port);
        IbhPort now = *port; /* a copy, whose counters, SM lid and GID are then read again */

        read_port_counters(tree, directory, now.errors);
        /* MAX: a counter that was reset, or that now reads as IBH_UNKNOWN (-1), counts as not grown. */
        for (guint i = 0; i < IBH_N_COUNTERS; i++)
            port->new_errors[i] = port->errors[i] != IBH_UNKNOWN ? MAX(now.errors[i] - port->errors[i], 0) : 0;
        read_facts(tree, OF_SUBNET, directory, &now);
        port->is_steady = now.sm_lid == port->sm_lid && now.gid.prefix == port->gid.prefix;
    }
}

/* ---- netdevs ---- */

static void read_nic(IbhTree *tree, const IbhLink *link, IbhFabric *fabric)
{
    g_autofree char *directory = g_strdup_printf("sys/class/net/%s", link->name);
    IbhPortNic nic = {.type = link->type,
                      .up = (link->flags & IFF_UP) != 0,
                      .mtu = IBH_UNKNOWN,
                      .pkey = IBH_UNKNOWN,
                      .subnets = IBH_NEW_ARRAY(IbhPrefix),
                      .addresses = IBH_NEW_ARRAY(IbhIp)};
    char line[64];

    nic.usable = nic.up && link->carrier;
    g_strlcpy(nic.iface, link->name, sizeof nic.iface);
    g_strlcpy(nic.rdma, link->rdma, sizeof nic.rdma);
    /* If this /sys belongs to another network namespace, its netdev of this name may be a different netdev, with
     * another index: then do not read that netdev. If the index cannot be read, the name is enough. */
    ibh_tree_line(tree, line, sizeof line, "%s/ifindex", directory);
    if (number_of(line) == IBH_UNKNOWN || number_of(line) == link->ifindex)
        read_facts(tree, OF_NIC, directory, &nic);
    if (nic.mtu == IBH_UNKNOWN && link->mtu)
        nic.mtu = link->mtu;
    if (link->lladdr_len == 20) { /* IPoIB: 4 bytes with the QP number, the subnet prefix, the port GUID */
        memcpy(&nic.address_prefix, link->lladdr + 4, sizeof nic.address_prefix);
        nic.address_prefix = GUINT64_FROM_BE(nic.address_prefix);
    }
    g_array_append_val(fabric->nics, nic);
}

/* ---- all facts ---- */

IbhFabric *ibh_fabric_read(IbhTree *tree, const GArray *links, const IbhRails *rails)
{
    g_autoptr(GPtrArray) devices = ibh_tree_list(tree, "sys/class/infiniband");
    IbhFabric *fabric = ibh_fabric_new();

    fabric->complete = tree->complete;
    IBH_EACH_POINTER (const char, device, devices)
        read_device(tree, device, fabric);
    IBH_EACH (const IbhLink, link, links) {
        const IbhNic *nic = rails ? ibh_rails_nic(rails, link->ifindex) : NULL;

        if (link->rdma[0] || link->type == ARPHRD_INFINIBAND || (nic && nic->status == IBH_NIC_RAIL))
            read_nic(tree, link, fabric);
    }
    ibh_fabric_read_modules(tree, fabric);
    read_facts(tree, OF_PROCESS, "proc/self", fabric);
    return fabric;
}

void ibh_fabric_read_gpus(IbhTree *tree, IbhFabric *fabric)
{
    g_autoptr(GPtrArray) devices = ibh_tree_list(tree, "sys/bus/pci/devices");

    IBH_EACH_POINTER (const char, device, devices) {
        g_autofree char *directory = g_strdup_printf("sys/bus/pci/devices/%s", device);
        IbhGpu gpu = {0};

        if (!ibh_pci_has_class(tree, device, "0300 0302 0380 1200")) /* display and 3D controllers, accelerators */
            continue;
        g_strlcpy(gpu.name, device, sizeof gpu.name);
        read_facts(tree, OF_GPU, directory, &gpu);
        read_place(tree, directory, "", &gpu.place);
        g_array_append_val(fabric->gpus, gpu);
    }
}
