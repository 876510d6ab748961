/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is wrong with a port: its state, its GUIDs, its link, its slot, its errors. Pure.
 */
#include "fabric/case.h"

#include <string.h>

#define LINK_ADVICE                                                                                                    \
    "look at the cable and the transceivers: seat, clean or change them at both ends, then reset the link"

/* ---- who uses a port ---- */

gboolean ibh_case_is_asked(const IbhCase *c, const IbhPortNic *nic)
{
    return !c->only || (nic && g_strv_contains(c->only, nic->iface));
}

const IbhPortNic *ibh_case_nic_of_port(const IbhCase *c, const IbhPort *port)
{
    const IbhPortNic *best = NULL;
    int best_score = 0;

    IBH_EACH (const IbhPortNic, nic, c->fabric->nics) {
        int score = 1 + nic->used + 2 * nic->rail + 4 * (c->only && g_strv_contains(c->only, nic->iface));

        if (g_str_equal(nic->rdma, port->name) && score > best_score) {
            best = nic;
            best_score = score;
        }
    }
    return best;
}

typedef enum {
    PORT_USED,      /* it has an address, was asked for by name, or its use is not known */
    PORT_UNUSED,    /* it has a netdev without an address: perhaps because the port is not active */
    PORT_LEFT_ALONE /* such an Ethernet port, or one whose netdev is in another network namespace: a container's */
} Usage;

static Usage usage_of(const IbhCase *c, const IbhPort *port)
{
    const IbhPortNic *nic = ibh_case_nic_of_port(c, port);
    gboolean ethernet = port->layer == IBH_LAYER_ETHERNET;

    if (nic)
        return nic->used || nic->rail || c->only ? PORT_USED : ethernet ? PORT_LEFT_ALONE : PORT_UNUSED;
    if (ethernet && port->phys.number == IBH_PHYS_DISABLED)
        return PORT_LEFT_ALONE; /* its netdev is down on purpose */
    /* Without IPoIB an InfiniBand port has no netdev anywhere. */
    return c->fabric->complete && (port->layer != IBH_LAYER_INFINIBAND || c->fabric->modules[IBH_MODULE_IPOIB])
               ? PORT_LEFT_ALONE
               : PORT_USED;
}

/* ---- state ---- */

static gboolean is_omni_path(const IbhPort *port)
{
    return g_str_has_prefix(port->device, "hfi1") || g_str_has_prefix(port->device, "opa");
}

/* Its physical state says that the link does not work: some iWARP drivers say 0, Omni-Path has numbers of its own. */
static gboolean lacks_link(const IbhPort *port)
{
    return port->phys.number >= IBH_PHYS_SLEEP && port->phys.number <= IBH_PHYS_TEST &&
           port->phys.number != IBH_PHYS_LINK_UP;
}

gboolean ibh_port_is_active(const IbhPort *port)
{
    return port->state.number == IBH_PORT_ACTIVE && !lacks_link(port);
}

/* A port without a link knows no subnet manager: that is no finding of its own. */
static gboolean knows_no_sm(const IbhPort *port)
{
    return port->layer == IBH_LAYER_INFINIBAND && port->sm_lid == 0 && port->state.number >= IBH_PORT_INIT;
}

gboolean ibh_port_is_right(const IbhPort *port)
{
    return ibh_port_is_active(port) && !knows_no_sm(port);
}

gboolean ibh_case_is_sound(const IbhCase *c, const IbhPort *port)
{
    return ibh_port_is_right(port) && usage_of(c, port) == PORT_USED;
}

static void say_state(IbhCase *c)
{
    ibh_case_say(c, "state", "%s", c->port->state.name);
    ibh_case_say(c, "phys", "%s", c->port->phys.name);
}

static gboolean lacks_sm(IbhCase *c)
{
    gboolean opa = is_omni_path(c->port);

    if (!knows_no_sm(c->port) || usage_of(c, c->port) == PORT_LEFT_ALONE)
        return FALSE;
    say_state(c);
    ibh_case_say(c, "manager", "%s manager", opa ? "fabric" : "subnet");
    ibh_case_say(c, "program", "%s", opa ? "opafm" : "opensm");
    return TRUE;
}

/* What a port that is not active waits for, and what to do. */
static void say_what_it_lacks(IbhCase *c)
{
    const IbhPort *port = c->port;
    const char *why = "nothing can be sent by it",
               *then = "; then look at the cable, the transceiver and the switch's port";

    if (port->state.number >= IBH_PORT_ACTIVE)
        why = "its link is not up, or being repaired, so what is sent by it is delayed or lost";
    else if (port->phys.number == IBH_PHYS_POLLING)
        why = "it looks for the other end of the cable, and nothing can be sent by it until it has found it";
    else if (port->phys.number == IBH_PHYS_DISABLED)
        why = "it is switched off, or has no link, so nothing can be sent by it";
    else if (port->phys.number == IBH_PHYS_LINK_UP && port->layer == IBH_LAYER_INFINIBAND)
        why = "the link is there, but the subnet manager has not finished with it, so nothing can be sent by it yet";
    if (port->phys.number == IBH_PHYS_LINK_UP)
        then = "";
    ibh_case_say(c, "why", "%s", why);
    if (port->phys.number == IBH_PHYS_DISABLED && port->layer == IBH_LAYER_INFINIBAND)
        ibh_case_say(c, "do", "if that is not meant: ibportstate -C {device} -D 0 {number} enable");
    else
        ibh_case_say(c, "do", "wait ten seconds and look again (ibstat {device} {number})%s", then);
}

static gboolean is_inactive(IbhCase *c)
{
    const IbhPort *port = c->port;
    Usage usage = usage_of(c, port);

    if (port->state.number == IBH_UNKNOWN || ibh_port_is_active(port) || knows_no_sm(port) ||
        usage == PORT_LEFT_ALONE || (c->nic && !c->nic->up)) /* carrier-down says so */
        return FALSE;
    c->severity = usage == PORT_USED ? IBH_ERROR : IBH_INFO;
    say_state(c);
    say_what_it_lacks(c);
    ibh_case_say(c, "expected", "ACTIVE%s", port->state.number == IBH_PORT_ACTIVE ? " and LinkUp" : "");
    ibh_case_say(c, "use", "%s", usage == PORT_USED ? "" : " (it has no address)");
    return TRUE;
}

const IbhRow ibh_rows_of_state[] = {
    {"sm-missing", lacks_sm,
     "port {port} is {state} with SM lid 0, expected the lid of a {manager}: nothing gives the port an address in the "
     "fabric, so nothing can be sent by it",
     "start a {manager} on one host of the fabric ({program}), or on its switch"},
    {"port-not-active", is_inactive, "port {port} is {state} (physical state {phys}), expected {expected}: {why}{use}",
     "{do}"},
    {0},
};

/* ---- GID, GUIDs ---- */

static gboolean knows_gid(const IbhPort *port)
{
    return port->layer == IBH_LAYER_INFINIBAND && port->gid.is_known;
}

static gboolean lacks_guid(IbhCase *c)
{
    return knows_gid(c->port) && !c->port->gid.guid;
}

/* Functions of one card may share that of its node, and so may devices of software, which are on no card. */
static gboolean share_node_guid(const IbhRdmaDevice *own, const IbhRdmaDevice *its)
{
    return own->node_guid && own->node_guid == its->node_guid && own->slot[0] && its->slot[0] &&
           strncmp(own->slot, its->slot, strcspn(own->slot, ".") + 1) != 0;
}

/* The planes of a port are ports of a device beside its own, on one PCI function (Linux 6.11). */
static gboolean are_planes(const IbhRdmaDevice *own, const IbhRdmaDevice *its)
{
    return own != its && own->slot[0] && g_str_equal(own->slot, its->slot);
}

static gboolean shares_guid(IbhCase *c)
{
    const IbhPort *own = c->port;
    const IbhRdmaDevice *device = ibh_fabric_device(c->fabric, own);

    IBH_EACH (const IbhPort, other, c->fabric->ports) {
        const IbhRdmaDevice *its = ibh_fabric_device(c->fabric, other);
        gboolean same = other != own && own->gid.guid && knows_gid(own) && knows_gid(other) &&
                        own->gid.guid == other->gid.guid && !are_planes(device, its);

        if (!same && !share_node_guid(device, its))
            continue;
        ibh_case_say(c, "what", "%s", same ? "GUID" : "node GUID");
        ibh_case_say(c, "guid", "0x%016" G_GINT64_MODIFIER "x", same ? own->gid.guid : device->node_guid);
        ibh_case_say(c, "first", "%s", (own < other ? own : other)->name);
        ibh_case_say(c, "second", "%s", (own < other ? other : own)->name);
        return TRUE;
    }
    return FALSE;
}

/* ---- rate and lanes ---- */

static char *describe_rate(IbhRate rate)
{
    return rate.lanes == IBH_UNKNOWN ? g_strdup_printf("%d.%d Gb/s", rate.tenths / 10, rate.tenths % 10)
                                     : g_strdup_printf("%d.%d Gb/s, %d lane%s", rate.tenths / 10, rate.tenths % 10,
                                                       rate.lanes, rate.lanes == 1 ? "" : "s");
}

/* A port may report the rate of one link, or of all. */
static gboolean is_bond(const IbhPort *port)
{
    return strstr(port->device, "bond") != NULL;
}

/* Of one board. InfiniBand ports are all hardware, so those of unknown boards are compared, too. */
static gboolean are_alike(const IbhFabric *fabric, const IbhPort *port, const IbhPort *other)
{
    const IbhRdmaDevice *own = ibh_fabric_device(fabric, port), *its = ibh_fabric_device(fabric, other);
    gboolean known = own->board[0] && its->board[0];

    if (other->layer != port->layer || !ibh_port_is_right(other) || is_bond(port) || is_bond(other))
        return FALSE;
    return own == its || (known ? g_str_equal(own->board, its->board) : port->layer == IBH_LAYER_INFINIBAND);
}

static const IbhPort *find_faster(const IbhCase *c)
{
    const IbhPort *fastest = c->port;

    IBH_EACH (const IbhPortNic, nic, c->fabric->nics) {
        const IbhPort *its = c->nic && ibh_port_nics_are_beside(c->nic, nic) ? ibh_fabric_port(c->fabric, nic) : NULL;

        if (its && its->rate.tenths > fastest->rate.tenths && are_alike(c->fabric, c->port, its))
            fastest = its;
    }
    return fastest == c->port ? NULL : fastest;
}

/* Gb/s that the adapters of a model can do by InfiniBand; 0: not known. Some boards of a model do half of it. */
static int rate_of_model(const char *model)
{
    static const struct {
        const char *model;
        int rate;
    } models[] = {{"MT4099", 56},  {"MT4103", 56},  {"MT4113", 56},  {"MT4115", 100}, {"MT4119", 100},
                  {"MT4121", 100}, {"MT4123", 200}, {"MT4129", 400}, {"MT4131", 800}};

    for (gsize i = 0; i < G_N_ELEMENTS(models); i++) {
        if (g_str_equal(models[i].model, model))
            return models[i].rate;
    }
    return 0;
}

/* InfiniBand and Omni-Path cables have four lanes, or two where they are split: with one, the others have failed. An
 * older switch, or a board that can do half, is no fault: only what no switch beside such an adapter does is one. */
static gboolean is_slow(IbhCase *c)
{
    const IbhRdmaDevice *device = ibh_fabric_device(c->fabric, c->port);
    const IbhPort *faster = find_faster(c);
    gboolean infiniband = c->port->layer == IBH_LAYER_INFINIBAND;
    int best = infiniband ? rate_of_model(device->model) : 0;
    g_autofree char *own = describe_rate(c->port->rate), *its = faster ? describe_rate(faster->rate) : NULL;

    if (c->port->rate.tenths == IBH_UNKNOWN)
        return FALSE;
    ibh_case_say(c, "own", "%s", own);
    if (faster)
        ibh_case_say(c, "its", "%s as %s, in the same subnet", its, faster->name);
    else if (infiniband && c->port->rate.lanes == 1)
        ibh_case_say(c, "its", "4 lanes (2 on a split cable)");
    else
        ibh_case_say(c, "its", "up to %d Gb/s, as adapters of its model (%s) can", best, device->model);
    if (!faster && c->port->rate.lanes != 1 && c->port->rate.tenths >= 10 * best / 8)
        c->severity = IBH_INFO;
    return faster || (infiniband && c->port->rate.lanes == 1) || c->port->rate.tenths < 10 * best;
}

/* ---- PCIe ---- */

/* 0.1 Gb/s of a slot; 0: not known (a virtual function's). Up to 5 GT/s, of ten bits two are none of data. */
static int rate_of_slot(int lanes, int speed)
{
    int all = lanes > 0 && lanes <= 32 && speed > 0 ? lanes * speed : 0;

    return speed <= 50 ? all / 10 * 8 : all;
}

static void say_slot(IbhCase *c, const char *word, int lanes, int speed)
{
    ibh_case_say(c, word, "%d lanes of %d.%d GT/s", lanes, speed / 10, speed % 10);
}

/* The slot carries less than the port, and the card can do more. Ports of one card share it. */
static gboolean has_slow_slot(IbhCase *c)
{
    const IbhRdmaDevice *device = ibh_fabric_device(c->fabric, c->port);
    const char *card = device->slot[0] ? device->slot : device->name;
    int carried = rate_of_slot(device->pcie_lanes, device->pcie_speed);

    if (!carried || carried >= c->port->rate.tenths ||
        carried >= rate_of_slot(device->pcie_max_lanes, device->pcie_max_speed))
        return FALSE;
    ibh_case_say(c, "card", "%.*s", (int)strcspn(card, "."), card);
    ibh_case_say(c, "carried", "%d", carried / 10);
    say_slot(c, "own", device->pcie_lanes, device->pcie_speed);
    say_slot(c, "its", device->pcie_max_lanes, device->pcie_max_speed);
    return TRUE;
}

/* ---- errors ---- */

/* A bad link explains what gets lost on its way. */
static gboolean errors_grow(IbhCase *c)
{
    g_autoptr(GString) list = g_string_new(NULL);
    gboolean link = FALSE;

    for (guint i = 0; i < IBH_N_COUNTERS; i++) {
        const char *name = strchr(ibh_counters[i], '/') + 1;
        gint64 more = c->port->new_errors[i];

        /* Omni-Path counts retransmissions of its links there, which are normal. */
        if (more <= 0 || (is_omni_path(c->port) && g_str_equal(name, "local_link_integrity_errors")))
            continue;
        link |= i < IBH_N_LINK_COUNTERS;
        g_string_append_printf(list, "%s%s by %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, list->len ? ", " : "", name,
                               more, c->port->errors[i] + more);
    }
    ibh_case_say(c, "list", "%s", list->str);
    ibh_case_say(c, "why",
                 link ? "its link is bad, so packets are lost or sent again"
                      : "packets get lost on their way, and RDMA sends them again, so its transfers stall");
    ibh_case_say(c, "do",
                 link ? LINK_ADVICE
                      : "see the flow control of the port and of the switches (PFC, ECN; mlnx_qos, ethtool "
                        "-S), then cables and other ports on the way");
    return list->len > 0;
}

const IbhRow ibh_rows_of_port[] = {
    {"gid-missing", lacks_guid,
     "the port {port} has no GID with a GUID of its own, as expected: no host can address it, so RDMA by it fails",
     "give a virtual function its GUID: sudo ip link set PF vf N port_guid …; of an adapter see what its driver says "
     "(dmesg), then load it again or reboot"},
    {"guid-duplicate", shares_guid,
     "ports {first} and {second} have one {what}, {guid}, expected one each: the subnet manager takes them for one, so "
     "packets for either arrive at one of them",
     "write its own GUIDs to one of the adapters (mlxburn, flint -guid, or the vendor's tool), or set that of the "
     "virtual function"},
    {"port-degraded", is_slow,
     "port {port} runs at {own}, expected {its}: what uses all rails goes at the pace of the slowest",
     LINK_ADVICE "; if they are sound, see which rate the switch's port allows"},
    {"port-degraded", has_slow_slot,
     "the slot of the card {card} has {own}, expected {its}, which the card can do: it carries {carried} Gb/s, less "
     "than a port does",
     "seat the card anew, or put it into a slot that has what it can do; see the BIOS' settings of the slot"},
    {"port-errors", errors_grow, "errors of port {port} grew while it was looked at ({list}), expected none: {why}",
     "{do}"},
    {0},
};
