/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/port_read.h"

#include <string.h>

/* The largest P_Key tables of adapters have 128 entries. */
#define N_PKEYS 256
/* A port's own GIDs come first, in all versions that it can do (see sysfs.c). */
#define N_GID_TYPES 8
/* rxe has 1,024 GIDs; more than adapters have. */
#define N_GIDS 1024
#define N_EMPTY_GIDS 64
#define LOOK_AGAIN_US ((gulong)200 * 1000)

/* ---- numbers ---- */

int ibh_port_number_of(const char *text)
{
    char *end;
    guint64 value = g_ascii_strtoull(text, &end, 0);

    return g_ascii_isdigit(text[0]) && (!*end || *end == ':') && value <= G_MAXINT ? (int)value : IBH_UNKNOWN;
}

static void port_line(IbhTree *tree, const IbhPort *port, const char *attribute, char *line, gsize size)
{
    ibh_tree_line(tree, line, size, "sys/class/infiniband/%s/ports/%d/%s", port->device, port->number, attribute);
}

static int port_number(IbhTree *tree, const IbhPort *port, const char *attribute)
{
    char line[64];

    port_line(tree, port, attribute, line, sizeof line);
    return ibh_port_number_of(line);
}

/* "16.0 GT/s PCIe", "100 Gb/sec (4X EDR)": in tenths; IBH_UNKNOWN: "Unknown", or not in this unit. */
static int tenths_of(const char *text, const char *unit)
{
    char *end = NULL;
    double value = g_ascii_isdigit(text[0]) ? g_ascii_strtod(text, &end) : 0;

    return value > 0 && value < 100000 && g_str_has_prefix(end, unit) ? (int)(value * 10 + 0.5) : IBH_UNKNOWN;
}

/* ---- devices ---- */

/* A virtual function has no readable values: 0. */
static int pcie_lanes(IbhTree *tree, const char *device, const char *attribute)
{
    char line[64];
    int lanes;

    ibh_tree_line(tree, line, sizeof line, "sys/class/infiniband/%s/device/%s", device, attribute);
    lanes = ibh_port_number_of(line);
    return lanes > 0 && lanes <= 32 ? lanes : IBH_UNKNOWN;
}

static int pcie_speed(IbhTree *tree, const char *device, const char *attribute)
{
    char line[64];

    ibh_tree_line(tree, line, sizeof line, "sys/class/infiniband/%s/device/%s", device, attribute);
    return tenths_of(line, " GT/s");
}

/* "PCI_SLOT_NAME=0000:3b:00.0" of its uevent, without the function. */
static void read_card(IbhTree *tree, IbhRdmaDevice *device)
{
    static const char key[] = "PCI_SLOT_NAME=";
    g_autofree char *text = ibh_tree_text(tree, 4096, "sys/class/infiniband/%s/device/uevent", device->name);
    const char *at = text ? strstr(text, key) : NULL;

    if (!at)
        return;
    at += strlen(key);
    g_strlcpy(device->card, at, MIN(sizeof device->card, strcspn(at, ".\n") + 1));
}

static void read_device(IbhTree *tree, const char *name, IbhFabric *fabric)
{
    IbhRdmaDevice device = {0};

    g_strlcpy(device.name, name, sizeof device.name);
    ibh_tree_line(tree, device.board, sizeof device.board, "sys/class/infiniband/%s/board_id", name);
    if (!device.board[0])
        ibh_tree_line(tree, device.board, sizeof device.board, "sys/class/infiniband/%s/hca_type", name);
    ibh_tree_line(tree, device.firmware, sizeof device.firmware, "sys/class/infiniband/%s/fw_ver", name);
    read_card(tree, &device);
    device.pcie_lanes = pcie_lanes(tree, name, "current_link_width");
    device.pcie_max_lanes = pcie_lanes(tree, name, "max_link_width");
    device.pcie_speed = pcie_speed(tree, name, "current_link_speed");
    device.pcie_max_speed = pcie_speed(tree, name, "max_link_speed");
    g_array_append_val(fabric->devices, device);
}

/* ---- GIDs ---- */

static gboolean is_zero(const guint8 *bytes, gsize n)
{
    for (gsize i = 0; i < n; i++) {
        if (bytes[i])
            return FALSE;
    }
    return TRUE;
}

/* ::ffff:172.16.34.1 stands for an IPv4 address. */
static void unmap(IbhIp *ip)
{
    static const guint8 lead[12] = {[10] = 0xff, [11] = 0xff};
    IbhIp ipv4 = {.family = AF_INET};

    if (memcmp(ip->bytes, lead, sizeof lead) != 0)
        return;
    memcpy(ipv4.bytes, ip->bytes + sizeof lead, 4);
    *ip = ipv4;
}

typedef enum { GID_NONE, GID_UNREADABLE, GID_EMPTY, GID_FULL } GidEntry;

static GidEntry read_gid_entry(IbhTree *tree, const IbhPort *port, int index, IbhIp *gid)
{
    char name[32], line[64];

    g_snprintf(name, sizeof name, "gids/%d", index);
    port_line(tree, port, name, line, sizeof line);
    if (!line[0])
        return ibh_tree_has(tree, "sys/class/infiniband/%s/ports/%d/%s", port->device, port->number, name)
                   ? GID_UNREADABLE
                   : GID_NONE;
    if (!strchr(line, ':') || !ibh_ip_parse(line, gid))
        return GID_UNREADABLE;
    return is_zero(gid->bytes, sizeof gid->bytes) ? GID_EMPTY : GID_FULL;
}

static int roce_version_of(const char *type)
{
    return g_str_equal(type, "RoCE v2") ? 2 : g_str_equal(type, "IB/RoCE v1") ? 1 : IBH_UNKNOWN;
}

static void read_gid_type(IbhTree *tree, const IbhPort *port, int index, char *line, gsize size)
{
    char name[32];

    g_snprintf(name, sizeof name, "gid_attrs/types/%d", index);
    port_line(tree, port, name, line, size);
}

/* The first GID is the prefix of the subnet and the GUID of the port. */
static void take_first_gid(IbhPort *port, const IbhIp *gid)
{
    guint64 halves[2];

    memcpy(halves, gid->bytes, sizeof halves);
    port->gid_prefix = GUINT64_FROM_BE(halves[0]);
    port->gid_guid = GUINT64_FROM_BE(halves[1]);
    g_snprintf(port->guid, sizeof port->guid, "0x%016" G_GINT64_MODIFIER "x", port->gid_guid);
}

/* Without its first entry only, it is not known. */
static gboolean has_empty_table(IbhTree *tree, const IbhPort *port)
{
    g_autoptr(GPtrArray) entries =
        ibh_tree_list(tree, "sys/class/infiniband/%s/ports/%d/gids", port->device, port->number);

    return !entries->len && ibh_tree_has(tree, "sys/class/infiniband/%s/ports/%d/gids", port->device, port->number);
}

static void read_first_gid(IbhTree *tree, IbhPort *port)
{
    IbhIp gid;
    GidEntry entry = read_gid_entry(tree, port, 0, &gid);

    if (entry == GID_FULL)
        take_first_gid(port, &gid);
    /* A copy has no other entry that tells a missing file from an empty table. */
    port->has_gid_table =
        entry == GID_NONE ? tree->complete && !tree->captured && has_empty_table(tree, port) : entry != GID_UNREADABLE;
}

/* Reads to the end of the table, or of its used part: the kernel fills the first free place. */
static void read_gids(IbhTree *tree, IbhPort *port)
{
    GidEntry entry = GID_EMPTY;
    int empty = 0, i;

    for (i = 0; i < N_GIDS && empty < N_EMPTY_GIDS; i++) {
        IbhGid gid = {.index = i};
        char type[64];

        entry = read_gid_entry(tree, port, i, &gid.ip);
        if (entry == GID_NONE)
            break;
        empty = entry == GID_EMPTY ? empty + 1 : 0;
        if (entry == GID_UNREADABLE)
            return;
        if (entry != GID_FULL)
            continue;
        unmap(&gid.ip);
        read_gid_type(tree, port, i, type, sizeof type);
        gid.roce = roce_version_of(type);
        g_array_append_val(port->gids, gid);
    }
    /* A copy may have only the first. */
    port->has_all_gids = i > 1 && i >= port->n_gid_types;
    port->has_gid_table = i > 0 || has_empty_table(tree, port);
}

/* ---- links ---- */

/* "100 Gb/sec (4X EDR)" */
static void read_rate(IbhTree *tree, IbhPort *port)
{
    char line[64];
    const char *lanes;

    port_line(tree, port, "rate", line, sizeof line);
    port->rate = tenths_of(line, " Gb/sec");
    lanes = strchr(line, '(');
    port->lanes = lanes && strchr(lanes, 'X') ? (int)g_ascii_strtoull(lanes + 1, NULL, 10) : IBH_UNKNOWN;
    if (port->lanes <= 0 || port->lanes > 64)
        port->lanes = IBH_UNKNOWN;
}

static gint64 read_counter(IbhTree *tree, const IbhPort *port, IbhCounter counter)
{
    char name[64], line[64], *end;
    guint64 value;

    g_snprintf(name, sizeof name, "%s/%s", counter == IBH_COUNTER_ICRC ? "hw_counters" : "counters",
               ibh_counter_name(counter));
    port_line(tree, port, name, line, sizeof line);
    value = g_ascii_strtoull(line, &end, 10);
    return g_ascii_isdigit(line[0]) && !*end && value <= G_MAXINT64 ? (gint64)value : IBH_UNKNOWN;
}

static void read_counters(IbhTree *tree, IbhPort *port)
{
    for (int i = 0; i < IBH_N_COUNTERS; i++)
        port->errors[i] = read_counter(tree, port, (IbhCounter)i);
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
    port->iwarp = ibh_port_number_of(line) == 4;
}

static void read_pkeys(IbhTree *tree, IbhPort *port)
{
    for (int i = 0; i < N_PKEYS; i++) {
        char line[64];
        guint16 pkey;
        int value;

        ibh_tree_line(tree, line, sizeof line, "sys/class/infiniband/%s/ports/%d/pkeys/%d", port->device, port->number,
                      i);
        value = ibh_port_number_of(line);
        if (value == IBH_UNKNOWN) {
            port->has_all_pkeys = i > 0 && !ibh_tree_has(tree, "sys/class/infiniband/%s/ports/%d/pkeys/%d",
                                                         port->device, port->number, i + 1);
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

    int chosen;

    for (int i = 0; i < N_GID_TYPES; i++) {
        ibh_tree_line(tree, line, sizeof line, "sys/class/infiniband/%s/ports/%d/gid_attrs/types/%d", port->device,
                      port->number, i);
        port->n_gid_types += line[0] != '\0';
        port->has_roce_v1 |= roce_version_of(line) == 1;
        port->has_roce_v2 |= roce_version_of(line) == 2;
    }
    ibh_tree_line(tree, line, sizeof line, "sys/kernel/config/rdma_cm/%s/ports/%d/default_roce_mode", port->device,
                  port->number);
    chosen = roce_version_of(line);
    port->roce = chosen != IBH_UNKNOWN ? chosen : port->has_roce_v2 ? 2 : port->has_roce_v1 ? 1 : IBH_UNKNOWN;
}

static void read_port(IbhTree *tree, const char *device, int number, IbhFabric *fabric)
{
    IbhPort port = {.number = number,
                    .device_at = fabric->devices->len, /* it is added after its ports */
                    .roce = IBH_UNKNOWN,
                    .pkeys = g_array_new(FALSE, TRUE, sizeof(guint16)),
                    .gids = g_array_new(FALSE, TRUE, sizeof(IbhGid))};

    g_strlcpy(port.device, device, sizeof port.device);
    g_snprintf(port.name, sizeof port.name, "%s/%d", device, number);
    read_layer(tree, &port);
    port.state = port_number(tree, &port, "state");
    port.phys_state = port_number(tree, &port, "phys_state");
    port.sm_lid = port_number(tree, &port, "sm_lid");
    if (port.layer == IBH_LAYER_INFINIBAND) {
        read_first_gid(tree, &port);
        read_pkeys(tree, &port);
    } else if (port.layer == IBH_LAYER_ETHERNET && !port.iwarp) {
        read_roce(tree, &port);
        read_gids(tree, &port);
    }
    read_rate(tree, &port);
    read_counters(tree, &port);
    port.is_steady = TRUE;
    g_array_append_val(fabric->ports, port);
}

/* "01" and "1:" would be read as "1". */
static gboolean is_number(const char *name, int number)
{
    char text[16];

    g_snprintf(text, sizeof text, "%d", number);
    return g_str_equal(name, text);
}

static void read_ports_of_device(IbhTree *tree, const char *device, IbhFabric *fabric)
{
    g_autoptr(GPtrArray) ports = ibh_tree_list(tree, "sys/class/infiniband/%s/ports", device);

    IBH_EACH_POINTER (const char, name, ports) {
        int number = ibh_port_number_of(name);

        if (number == IBH_UNKNOWN || !is_number(name, number))
            continue;
        /* A port without a readable file still exists, in a capture, too. */
        if (ibh_tree_has(tree, "sys/class/infiniband/%s/ports/%d", device, number))
            read_port(tree, device, number, fabric);
    }
}

void ibh_ports_read(IbhTree *tree, IbhFabric *fabric)
{
    g_autoptr(GPtrArray) devices = ibh_tree_list(tree, "sys/class/infiniband");

    IBH_EACH_POINTER (const char, device, devices) {
        guint n;

        if (strlen(device) >= sizeof(((IbhPort *)NULL)->device))
            continue;
        n = fabric->ports->len;
        read_ports_of_device(tree, device, fabric);
        if (fabric->ports->len > n)
            read_device(tree, device, fabric);
    }
}

/* ---- again ---- */

static gboolean has_errors(const IbhPort *port)
{
    for (int i = 0; i < IBH_N_COUNTERS; i++) {
        if (port->errors[i] > 0)
            return TRUE;
    }
    return FALSE;
}

/* Subnet managers that change places tell one port after the other. */
static gboolean is_worth_a_wait(const IbhFabric *fabric)
{
    const IbhPort *first = NULL;

    IBH_EACH (const IbhPort, port, fabric->ports) {
        if (has_errors(port))
            return TRUE;
        if (port->layer != IBH_LAYER_INFINIBAND)
            continue;
        first = first ? first : port;
        if (port->sm_lid != first->sm_lid || port->gid_prefix != first->gid_prefix)
            return TRUE;
    }
    return FALSE;
}

static void read_port_again(IbhTree *tree, IbhPort *port)
{
    for (int i = 0; i < IBH_N_COUNTERS; i++) {
        gint64 now = port->errors[i] == IBH_UNKNOWN ? IBH_UNKNOWN : read_counter(tree, port, (IbhCounter)i);

        port->new_errors[i] = now > port->errors[i] ? now - port->errors[i] : 0;
    }
    if (port->layer == IBH_LAYER_INFINIBAND) {
        IbhPort now = *port;

        now.sm_lid = port_number(tree, port, "sm_lid");
        read_first_gid(tree, &now);
        port->is_steady = now.sm_lid == port->sm_lid && now.gid_prefix == port->gid_prefix;
    }
}

void ibh_ports_read_again(IbhTree *tree, IbhFabric *fabric)
{
    gboolean running = tree->complete && !tree->captured;

    if (tree->record)
        return; /* one file cannot have two texts */
    if (running && is_worth_a_wait(fabric))
        g_usleep(LOOK_AGAIN_US);
    IBH_EACH (IbhPort, port, fabric->ports)
        read_port_again(tree, port);
}
