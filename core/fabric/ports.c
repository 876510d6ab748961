/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings about a port: its state, GID and GUIDs, rate and lanes, PCI slot, and errors. Pure.
 *
 * A predicate is TRUE if its finding applies. Then it also sets the words of the finding's texts (check/row.h), except
 * {port} and {iface}, which the callers set.
 */
#include "fabric/rows.h"

#include <string.h>

/* ---- who uses a port ---- */

gboolean ibh_netdev_is_asked(const IbhSubject *about, const IbhPortNic *netdev)
{
    return !about->only || (netdev && g_strv_contains(about->only, netdev->iface));
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
    PORT_USED,      /* the port has a netdev that has an address, is a rail or was asked for by name. Or the port has no
                       netdev that we see, and may be used nevertheless: a copy of /sys may lack the netdev, and without
                       ib_ipoib no InfiniBand port has a netdev */
    PORT_UNUSED,    /* the port is not Ethernet, and has netdevs, but none that makes it PORT_USED, perhaps because the
                       port is not active */
    PORT_LEFT_ALONE /* the port is Ethernet, and has netdevs, but none that makes it PORT_USED. Or the port has no
                       netdev that we see, and is not PORT_USED: it is a disabled Ethernet port (even in a copy of
                       /sys), or its netdev does not exist or is in another network namespace (a container) */
} Usage;

/* If the user named interfaces (`only`), ibh_fabric_judge() asks only about ports whose netdev was named: then `nic` is
 * such a netdev. */
static Usage usage_of(const IbhSubject *about)
{
    const IbhPort *port = about->port;
    const IbhPortNic *nic = ibh_port_netdev(about);
    gboolean ethernet = port->layer == IBH_LAYER_ETHERNET;

    if (nic && (nic->used || nic->rail || about->only))
        return PORT_USED;
    if (nic)
        return ethernet ? PORT_LEFT_ALONE : PORT_UNUSED;
    if (ethernet && port->phys.number == IBH_PHYS_DISABLED)
        return PORT_LEFT_ALONE; /* the netdev, which is not seen here, is down or has no link */
    if (!about->fabric->complete || (port->layer == IBH_LAYER_INFINIBAND && !about->fabric->modules[IBH_MODULE_IPOIB]))
        return PORT_USED;
    return PORT_LEFT_ALONE;
}

/* ---- state ---- */

static gboolean is_omni_path(const IbhPort *port)
{
    return g_str_has_prefix(port->device, "hfi1") || g_str_has_prefix(port->device, "opa");
}

/* Ignores a physical state whose number InfiniBand does not have: some iWARP drivers say 0, and Omni-Path has further
 * numbers. */
gboolean ibh_port_is_active(const IbhPort *port)
{
    const int phys = port->phys.number;

    return port->state.number == IBH_PORT_ACTIVE &&
           (phys < IBH_PHYS_SLEEP || phys > IBH_PHYS_TEST || phys == IBH_PHYS_LINK_UP);
}

/* TRUE if an InfiniBand port with a link has no subnet manager. FALSE without a link: then no subnet manager could
 * reach the port. */
static gboolean is_without_sm(const IbhPort *port)
{
    return port->layer == IBH_LAYER_INFINIBAND && port->sm_lid == 0 && port->state.number >= IBH_PORT_INIT;
}

gboolean ibh_port_is_right(const IbhPort *port)
{
    return ibh_port_is_active(port) && !is_without_sm(port);
}

gboolean ibh_port_is_sound(const IbhSubject *about)
{
    return ibh_port_is_right(about->port) && usage_of(about) == PORT_USED;
}

gboolean ibh_port_lacks_sm(IbhSubject *about)
{
    if (!is_without_sm(about->port) || usage_of(about) == PORT_LEFT_ALONE)
        return FALSE;
    ibh_subject_say(about, "state=%s", about->port->state.name);
    ibh_subject_say(about, is_omni_path(about->port) ? "manager=fabric manager\nprogram=opafm"
                                                     : "manager=subnet manager\nprogram=opensm");
    return TRUE;
}

/* Returns why ibh_port_is_active() is FALSE for a port, and the consequence. A port in the state ACTIVE counts as
 * inactive only if its physical state is not LinkUp. The state with the next number, ACTIVE_DEFER, means that an active
 * port has just lost its link. So the link is the reason in both states. */
static const char *why_inactive(const IbhPort *port)
{
    if (port->state.number >= IBH_PORT_ACTIVE)
        return "its link is down or being repaired, so what the port sends is delayed or lost";
    if (port->phys.number == IBH_PHYS_POLLING)
        return "it looks for the other end of the cable, and nothing can be sent through it until it has found it";
    if (port->phys.number == IBH_PHYS_DISABLED)
        return "it is switched off, or has no link, so nothing can be sent through it";
    if (port->phys.number == IBH_PHYS_LINK_UP && port->layer == IBH_LAYER_INFINIBAND)
        return "the link is there, but the subnet manager has not finished with it, so nothing can be sent through it "
               "yet";
    return "nothing can be sent through it";
}

/* TRUE if the port is not active (ibh_port_is_active()). FALSE in four cases:
 * - The state of the port is not known.
 * - The port has a link, but no subnet manager: the finding sm-missing reports that.
 * - The port is left alone (Usage).
 * - The netdev of the port was set down.
 * If the port is not used, the severity is only info. */
gboolean ibh_port_is_inactive(IbhSubject *about)
{
    const IbhPort *port = about->port;
    const gboolean is_used = usage_of(about) == PORT_USED;
    g_autofree char *device = ibh_text_shell_word(port->device);

    if (port->state.number == IBH_UNKNOWN || ibh_port_is_active(port) || is_without_sm(port) ||
        usage_of(about) == PORT_LEFT_ALONE ||
        (about->netdev && !about->netdev->up)) /* on purpose; carrier-down reports a known rail that is down */
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

/* TRUE if two cards have the same node GUID. FALSE for functions of one PCI device, and for software devices, which
 * have no PCI address: such devices may share a node GUID. */
static gboolean share_node_guid(const IbhRdmaDevice *own, const IbhRdmaDevice *its)
{
    return own->node_guid && own->node_guid == its->node_guid && own->slot[0] && its->slot[0] &&
           strncmp(own->slot, its->slot, strcspn(own->slot, ".") + 1) != 0;
}

/* TRUE if two RDMA devices are on the same PCI function. Then they are planes of one port (since Linux 6.11), and may
 * have the same GUID. */
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
        gboolean same_port_guid = other != own && own->gid.guid && knows_gid(own) && knows_gid(other) &&
                                  own->gid.guid == other->gid.guid && !are_planes(device, its);

        if (!same_port_guid && !share_node_guid(device, its))
            continue;
        /* If the ports share a GUID, name the ports; if only the devices share a node GUID, name the devices. `first`
         * is the port or device that comes first in its array, so the words are the same from either side, and both
         * sides share a finding. */
        ibh_subject_say(about, "what=%s\nguid=0x%016" G_GINT64_MODIFIER "x\nfirst=%s\nsecond=%s",
                        same_port_guid ? "GUID" : "node GUID", same_port_guid ? own->gid.guid : device->node_guid,
                        same_port_guid ? MIN(own, other)->name : MIN(device, its)->name,
                        same_port_guid ? MAX(own, other)->name : MAX(device, its)->name);
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

/* TRUE for a bond of ports ("mlx5_bond_0"). Some bonds report the rate of one link, others the rate of all links
 * together, so the rates of bonds are not compared. */
static gboolean is_bond(const IbhPort *port)
{
    return strstr(port->device, "bond") != NULL;
}

/* TRUE if `port` can be compared with `other`: both have the same link layer, the state of `other` is right
 * (ibh_port_is_right()), neither port is a bond, and both are on one device or on devices with the same `board`. An
 * Ethernet port whose board is not known may be software, so it is not compared with ports of other devices. InfiniBand
 * ports are always hardware, so they are compared even if a board is not known. */
static gboolean can_compare(const IbhFabric *fabric, const IbhPort *port, const IbhPort *other)
{
    const IbhRdmaDevice *own = ibh_fabric_device(fabric, port), *its = ibh_fabric_device(fabric, other);
    gboolean known = own->board[0] && its->board[0];

    if (other->layer != port->layer || !ibh_port_is_right(other) || is_bond(port) || is_bond(other))
        return FALSE;
    if (own == its)
        return TRUE;
    return known ? g_str_equal(own->board, its->board) : port->layer == IBH_LAYER_INFINIBAND;
}

/* Returns the fastest port that can be compared (can_compare()) and belongs to a rail beside the port's netdev
 * (ibh_port_nics_are_beside()). Returns NULL if no such port is faster than the port itself. */
static const IbhPort *find_faster(const IbhSubject *about)
{
    const IbhPort *fastest = NULL;

    IBH_EACH (const IbhPortNic, nic, about->fabric->nics) {
        const IbhPort *its = ibh_fabric_port(about->fabric, nic);

        if (its && about->netdev && ibh_port_nics_are_beside(about->netdev, nic) &&
            its->rate.tenths > (fastest ? fastest : about->port)->rate.tenths &&
            can_compare(about->fabric, about->port, its))
            fastest = its;
    }
    return fastest;
}

/* Returns the InfiniBand rate of an adapter model in Gb/s; 0 if not known. Some boards of a model reach only half of
 * this rate. */
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

/* TRUE if the port is slower than a comparable port of a rail in the same subnet (find_faster()). With InfiniBand or
 * Omni-Path, also TRUE in two cases:
 * - The port has only one lane. Cables have four lanes, or two if they are split, so other lanes have failed.
 * - The port is slower than its model can be. The cause may be an older switch or a slower board, which is no fault. So
 *   the severity is only info, unless the rate is below an eighth of the model's rate.
 * FALSE if the port's rate is not known. */
gboolean ibh_port_is_slow(IbhSubject *about)
{
    const IbhRdmaDevice *device = ibh_fabric_device(about->fabric, about->port);
    const IbhPort *faster = find_faster(about);
    const IbhRate rate = about->port->rate;
    const gboolean infiniband = about->port->layer == IBH_LAYER_INFINIBAND;
    const int best = infiniband ? rate_of_model(device->model) : 0;
    g_autofree char *own = describe_rate(rate), *its = faster ? describe_rate(faster->rate) : NULL;

    if (rate.tenths == IBH_UNKNOWN)
        return FALSE;
    ibh_subject_say(about, "own=%s", own);
    if (faster) {
        ibh_subject_say(about, "its=%s as %s, in the same subnet", its, faster->name);
    } else if (infiniband && rate.lanes == 1) {
        ibh_subject_say(about, "its=4 lanes (2 on a split cable)");
    } else if (rate.tenths < 10 * best) {
        ibh_subject_say(about, "its=up to %d Gb/s, as adapters of its model (%s) can", best, device->model);
        /* Below an eighth, the row's severity applies (about->severity is not set). */
        about->severity = rate.tenths < 10 * best / 8 ? about->severity : IBH_INFO;
    } else {
        return FALSE;
    }
    return TRUE;
}

/* ---- PCIe ---- */

/* Returns the rate of a PCI slot in 0.1 Gb/s; 0 if the rate is not known, as for virtual functions. `speed` is in 0.1
 * GT/s. Up to 5 GT/s, PCIe sends ten bits for eight bits of data. */
static int rate_of_slot(int lanes, int speed)
{
    int all = lanes > 0 && lanes <= 32 && speed > 0 ? lanes * speed : 0;

    return speed <= 50 ? all * 8 / 10 : all;
}

static char *describe_slot(int lanes, int speed)
{
    return g_strdup_printf("%d lane%s of %d.%d GT/s", lanes, lanes == 1 ? "" : "s", speed / 10, speed % 10);
}

/* TRUE if the slot is slower than the port, and slower than the card allows. FALSE if one of the three rates is not
 * known: `carried` is then 0, or is not below the unknown rate, which is 0 or IBH_UNKNOWN (-1). The words name the card
 * without its PCI function, so the ports of a card share a finding. */
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

/* TRUE if error counters have grown. Errors of the link also explain lost packets, so if the link has errors, the words
 * blame only the link. */
gboolean ibh_port_has_errors(IbhSubject *about)
{
    g_autoptr(GString) list = g_string_new(NULL);
    gboolean link = FALSE;

    for (guint i = 0; i < IBH_N_COUNTERS; i++) {
        const char *name = strchr(ibh_counters[i], '/') + 1;
        gint64 more = about->port->new_errors[i];

        /* On Omni-Path, this counter counts retransmissions of the link, which are normal. */
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
