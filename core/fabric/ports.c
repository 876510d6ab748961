/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is wrong with a port: its state, its GUIDs, its link, its slot, its errors. Pure.
 */
#include "fabric/rows.h"

#include <string.h>

/* ---- who uses a port ---- */

gboolean ibh_netdev_is_asked(const IbhSubject *about, const IbhPortNic *nic)
{
    return !about->only || (nic && g_strv_contains(about->only, nic->iface));
}

const IbhPortNic *ibh_port_netdev(const IbhSubject *about)
{
    const IbhPortNic *best = NULL;
    int best_score = 0;

    IBH_EACH (const IbhPortNic, nic, about->fabric->nics) {
        int score = 1 + nic->used + 2 * nic->rail + 4 * (about->only && g_strv_contains(about->only, nic->iface));

        if (g_str_equal(nic->rdma, about->port->name) && score > best_score) {
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

static Usage usage_of(const IbhSubject *about)
{
    const IbhPort *port = about->port;
    const IbhPortNic *nic = ibh_port_netdev(about);
    gboolean ethernet = port->layer == IBH_LAYER_ETHERNET;

    if (nic)
        return nic->used || nic->rail || about->only ? PORT_USED : ethernet ? PORT_LEFT_ALONE : PORT_UNUSED;
    if (ethernet && port->phys.number == IBH_PHYS_DISABLED)
        return PORT_LEFT_ALONE; /* its netdev is down on purpose */
    /* Without IPoIB an InfiniBand port has no netdev anywhere. */
    return about->fabric->complete && (port->layer != IBH_LAYER_INFINIBAND || about->fabric->modules[IBH_MODULE_IPOIB])
               ? PORT_LEFT_ALONE
               : PORT_USED;
}

/* ---- state ---- */

static gboolean is_omni_path(const IbhPort *port)
{
    return g_str_has_prefix(port->device, "hfi1") || g_str_has_prefix(port->device, "opa");
}

/* A physical state may say that the link does not work: some iWARP drivers say 0, Omni-Path has numbers of its own. */
gboolean ibh_port_is_active(const IbhPort *port)
{
    const int phys = port->phys.number;

    return port->state.number == IBH_PORT_ACTIVE &&
           (phys < IBH_PHYS_SLEEP || phys > IBH_PHYS_TEST || phys == IBH_PHYS_LINK_UP);
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

gboolean ibh_port_is_sound(const IbhSubject *about)
{
    return ibh_port_is_right(about->port) && usage_of(about) == PORT_USED;
}

gboolean ibh_port_lacks_sm(IbhSubject *about)
{
    if (!knows_no_sm(about->port) || usage_of(about) == PORT_LEFT_ALONE)
        return FALSE;
    ibh_subject_say(about, "state=%s", about->port->state.name);
    ibh_subject_say(about, is_omni_path(about->port) ? "manager=fabric manager\nprogram=opafm"
                                                     : "manager=subnet manager\nprogram=opensm");
    return TRUE;
}

/* What a port that is not active waits for. */
static const char *why_inactive(const IbhPort *port)
{
    if (port->state.number >= IBH_PORT_ACTIVE)
        return "its link is not up, or being repaired, so what is sent by it is delayed or lost";
    if (port->phys.number == IBH_PHYS_POLLING)
        return "it looks for the other end of the cable, and nothing can be sent by it until it has found it";
    if (port->phys.number == IBH_PHYS_DISABLED)
        return "it is switched off, or has no link, so nothing can be sent by it";
    if (port->phys.number == IBH_PHYS_LINK_UP && port->layer == IBH_LAYER_INFINIBAND)
        return "the link is there, but the subnet manager has not finished with it, so nothing can be sent by it yet";
    return "nothing can be sent by it";
}

gboolean ibh_port_is_inactive(IbhSubject *about)
{
    const IbhPort *port = about->port;
    const gboolean is_used = usage_of(about) == PORT_USED;
    g_autofree char *device = ibh_text_shell_word(port->device);

    if (port->state.number == IBH_UNKNOWN || ibh_port_is_active(port) || knows_no_sm(port) ||
        usage_of(about) == PORT_LEFT_ALONE || (about->netdev && !about->netdev->up)) /* carrier-down says so */
        return FALSE;
    about->severity = is_used ? IBH_ERROR : IBH_INFO;
    ibh_subject_say(
        about, "state=%s\nphys=%s\nexpected=ACTIVE%s\nwhy=%s\nuse=%s\ndevice=%s\nnumber=%d\nthen=%s", port->state.name,
        port->phys.name, port->state.number == IBH_PORT_ACTIVE ? " and LinkUp" : "", why_inactive(port),
        is_used ? "" : " (it has no address)", device, port->number,
        port->phys.number == IBH_PHYS_LINK_UP ? "" : "; then look at the cable, the transceiver and the switch's port");
    if (port->phys.number == IBH_PHYS_DISABLED && port->layer == IBH_LAYER_INFINIBAND)
        about->remedy = "if that is not meant: ibportstate -C {device} -D 0 {number} enable";
    return TRUE;
}

/* ---- GID, GUIDs ---- */

static gboolean knows_gid(const IbhPort *port)
{
    return port->layer == IBH_LAYER_INFINIBAND && port->gid.is_known;
}

gboolean ibh_port_lacks_guid(IbhSubject *about)
{
    return knows_gid(about->port) && !about->port->gid.guid;
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

gboolean ibh_port_shares_guid(IbhSubject *about)
{
    const IbhPort *own = about->port;
    const IbhRdmaDevice *device = ibh_fabric_device(about->fabric, own);

    IBH_EACH (const IbhPort, other, about->fabric->ports) {
        const IbhRdmaDevice *its = ibh_fabric_device(about->fabric, other);
        gboolean same = other != own && own->gid.guid && knows_gid(own) && knows_gid(other) &&
                        own->gid.guid == other->gid.guid && !are_planes(device, its);

        if (!same && !share_node_guid(device, its))
            continue;
        ibh_subject_say(about, "what=%s\nguid=0x%016" G_GINT64_MODIFIER "x\nfirst=%s\nsecond=%s",
                        same ? "GUID" : "node GUID", same ? own->gid.guid : device->node_guid, MIN(own, other)->name,
                        MAX(own, other)->name);
        return TRUE;
    }
    return FALSE;
}

/* ---- rate and lanes ---- */

static char *describe_rate(IbhRate rate)
{
    GString *text = g_string_new(NULL);

    g_string_append_printf(text, "%d.%d Gb/s", rate.tenths / 10, rate.tenths % 10);
    if (rate.lanes != IBH_UNKNOWN)
        g_string_append_printf(text, ", %d lane%s", rate.lanes, rate.lanes == 1 ? "" : "s");
    return g_string_free(text, FALSE);
}

/* A port may report the rate of one link, or of all. */
static gboolean is_bond(const IbhPort *port)
{
    return strstr(port->device, "bond") != NULL;
}

/* Of one board. InfiniBand ports are all hardware, so those of unknown boards are compared, too. */
static gboolean is_same_board(const IbhFabric *fabric, const IbhPort *port, const IbhPort *other)
{
    const IbhRdmaDevice *own = ibh_fabric_device(fabric, port), *its = ibh_fabric_device(fabric, other);
    gboolean known = own->board[0] && its->board[0];

    if (other->layer != port->layer || !ibh_port_is_right(other) || is_bond(port) || is_bond(other))
        return FALSE;
    return own == its || (known ? g_str_equal(own->board, its->board) : port->layer == IBH_LAYER_INFINIBAND);
}

static const IbhPort *find_faster(const IbhSubject *about)
{
    const IbhPort *fastest = NULL;

    IBH_EACH (const IbhPortNic, nic, about->fabric->nics) {
        const IbhPort *its = ibh_fabric_port(about->fabric, nic);

        if (its && about->netdev && ibh_port_nics_are_beside(about->netdev, nic) &&
            its->rate.tenths > (fastest ? fastest : about->port)->rate.tenths &&
            is_same_board(about->fabric, about->port, its))
            fastest = its;
    }
    return fastest;
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
gboolean ibh_port_is_slow(IbhSubject *about)
{
    const IbhRdmaDevice *device = ibh_fabric_device(about->fabric, about->port);
    const IbhPort *faster = find_faster(about);
    const IbhRate rate = about->port->rate;
    const gboolean infiniband = about->port->layer == IBH_LAYER_INFINIBAND, single = infiniband && rate.lanes == 1;
    const int best = infiniband ? rate_of_model(device->model) : 0;
    g_autofree char *own = describe_rate(rate), *its = faster ? describe_rate(faster->rate) : NULL;

    if (rate.tenths == IBH_UNKNOWN || !(faster || single || rate.tenths < 10 * best))
        return FALSE;
    ibh_subject_say(about, "own=%s", own);
    if (faster)
        ibh_subject_say(about, "its=%s as %s, in the same subnet", its, faster->name);
    else if (single)
        ibh_subject_say(about, "its=4 lanes (2 on a split cable)");
    else
        ibh_subject_say(about, "its=up to %d Gb/s, as adapters of its model (%s) can", best, device->model);
    if (!faster && rate.lanes != 1 && rate.tenths >= 10 * best / 8)
        about->severity = IBH_INFO;
    return TRUE;
}

/* ---- PCIe ---- */

/* 0.1 Gb/s of a slot; 0: not known (a virtual function's). Up to 5 GT/s, of ten bits two are none of data. */
static int rate_of_slot(int lanes, int speed)
{
    int all = lanes > 0 && lanes <= 32 && speed > 0 ? lanes * speed : 0;

    return speed <= 50 ? all / 10 * 8 : all;
}

static char *describe_slot(int lanes, int speed)
{
    return g_strdup_printf("%d lanes of %d.%d GT/s", lanes, speed / 10, speed % 10);
}

/* The slot carries less than the port, and the card can do more. Ports of one card share it. */
gboolean ibh_port_has_slow_slot(IbhSubject *about)
{
    const IbhRdmaDevice *device = ibh_fabric_device(about->fabric, about->port);
    const char *card = device->slot[0] ? device->slot : device->name;
    int carried = rate_of_slot(device->pcie_lanes, device->pcie_speed);
    g_autofree char *own = describe_slot(device->pcie_lanes, device->pcie_speed),
                    *its = describe_slot(device->pcie_max_lanes, device->pcie_max_speed);

    if (!carried || carried >= about->port->rate.tenths ||
        carried >= rate_of_slot(device->pcie_max_lanes, device->pcie_max_speed))
        return FALSE;
    ibh_subject_say(about, "card=%.*s\ncarried=%d\nown=%s\nits=%s", (int)strcspn(card, "."), card, carried / 10, own,
                    its);
    return TRUE;
}

/* ---- errors ---- */

/* A bad link explains what gets lost on its way. */
gboolean ibh_port_has_errors(IbhSubject *about)
{
    g_autoptr(GString) list = g_string_new(NULL);
    gboolean link = FALSE;

    for (guint i = 0; i < IBH_N_COUNTERS; i++) {
        const char *name = strchr(ibh_counters[i], '/') + 1;
        gint64 more = about->port->new_errors[i];

        /* Omni-Path counts retransmissions of its links there, which are normal. */
        if (more <= 0 || (is_omni_path(about->port) && g_str_equal(name, "local_link_integrity_errors")))
            continue;
        link |= i < IBH_N_LINK_COUNTERS;
        g_string_append_printf(list, "%s%s by %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, list->len ? ", " : "", name,
                               more, about->port->errors[i] + more);
    }
    ibh_subject_say(about, "list=%s\nwhy=%s", list->str,
                    link ? "its link is bad, so packets are lost or sent again"
                         : "packets get lost on their way, and RDMA sends them again, so its transfers stall");
    if (!link)
        about->remedy = "see the flow control of the port and of the switches (PFC, ECN; mlnx_qos, ethtool -S), then "
                        "cables and other ports on the way";
    return list->len > 0;
}
