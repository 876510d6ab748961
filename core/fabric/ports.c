/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fabric/case.h"

/* ---- who uses a port ---- */

gboolean ibh_is_asked(const IbhCase *c, const IbhPortNic *nic)
{
    return !c->only || (nic && g_strv_contains(c->only, nic->iface));
}

const IbhPortNic *ibh_find_nic_of_port(const IbhCase *c, const IbhPort *port)
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

gboolean ibh_has_rail(const IbhFabric *fabric, const IbhPort *port)
{
    IBH_EACH (const IbhPortNic, nic, fabric->nics) {
        if (nic->rail && g_str_equal(nic->rdma, port->name))
            return TRUE;
    }
    return FALSE;
}

typedef enum {
    PORT_USED,      /* it has an address, was asked for by name, or its use is not known */
    PORT_UNUSED,    /* it has a netdev without an address: perhaps because the port is not active */
    PORT_LEFT_ALONE /* such an Ethernet port, or one whose netdev is in another network namespace: a container's */
} Usage;

static Usage usage_of(const IbhCase *c, const IbhPort *port)
{
    const IbhPortNic *nic = ibh_find_nic_of_port(c, port);
    gboolean ethernet = port->layer == IBH_LAYER_ETHERNET;

    if (nic)
        return nic->used || nic->rail || c->only ? PORT_USED : ethernet ? PORT_LEFT_ALONE : PORT_UNUSED;
    if (ethernet && port->phys_state == IBH_PHYS_DISABLED)
        return PORT_LEFT_ALONE; /* its netdev is down on purpose */
    /* Without IPoIB an InfiniBand port has no netdev anywhere. */
    return c->fabric->complete && (port->layer != IBH_LAYER_INFINIBAND || c->fabric->modules[IBH_MODULE_IPOIB])
               ? PORT_LEFT_ALONE
               : PORT_USED;
}

/* ---- state ---- */

gboolean ibh_is_omni_path(const IbhPort *port)
{
    return g_str_has_prefix(port->device, "hfi1") || g_str_has_prefix(port->device, "opa");
}

/* Its physical state says that the link does not work: some iWARP drivers say 0, Omni-Path has numbers of its own. */
static gboolean lacks_link(const IbhPort *port)
{
    return port->phys_state >= IBH_PHYS_SLEEP && port->phys_state <= IBH_PHYS_TEST &&
           port->phys_state != IBH_PHYS_LINK_UP;
}

gboolean ibh_is_active(const IbhPort *port)
{
    return port->state == IBH_PORT_ACTIVE && !lacks_link(port);
}

/* A port without a link knows no subnet manager: that is no finding of its own. */
static gboolean knows_no_sm(const IbhPort *port)
{
    return port->layer == IBH_LAYER_INFINIBAND && port->sm_lid == 0 && port->state >= IBH_PORT_INIT;
}

gboolean ibh_is_right(const IbhPort *port)
{
    return ibh_is_active(port) && !knows_no_sm(port);
}

gboolean ibh_is_sound(const IbhCase *c, const IbhPort *port)
{
    return ibh_is_right(port) && usage_of(c, port) == PORT_USED;
}

static const char *name_of(const char *const *names, gsize n, int state)
{
    return state >= 0 && state < (int)n ? names[state] : "unknown";
}

static void say_state(IbhCase *c)
{
    static const char *const states[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
    static const char *const phys[] = {
        "unknown",           "Sleep",   "Polling", "Disabled", "PortConfigurationTraining", "LinkUp",
        "LinkErrorRecovery", "Phy Test"};

    ibh_case_say(c, "state", "%s", name_of(states, G_N_ELEMENTS(states), c->port->state));
    ibh_case_say(c, "phys", "%s", name_of(phys, G_N_ELEMENTS(phys), c->port->phys_state));
}

gboolean ibh_lacks_sm(IbhCase *c)
{
    gboolean opa = ibh_is_omni_path(c->port);

    if (!knows_no_sm(c->port) || usage_of(c, c->port) == PORT_LEFT_ALONE)
        return FALSE;
    say_state(c);
    ibh_case_say(c, "manager", "%s manager", opa ? "fabric" : "subnet");
    ibh_case_say(c, "program", "%s", opa ? "opafm" : "opensm");
    return TRUE;
}

static const char *why_not_active(const IbhPort *port)
{
    if (port->state >= IBH_PORT_ACTIVE)
        return "its link is not up, or being repaired, so what is sent by it is delayed or lost";
    if (port->phys_state == IBH_PHYS_POLLING)
        return "it looks for the other end of the cable; wait a few seconds, as nothing can be sent by it yet";
    if (port->phys_state == IBH_PHYS_DISABLED)
        return "it is switched off, or has no link, so nothing can be sent by it";
    if (port->phys_state == IBH_PHYS_LINK_UP)
        return "the link is there, but the subnet manager has not finished with it: wait; nothing can be sent by it "
               "yet";
    return "nothing can be sent by it";
}

static void say_repair(IbhCase *c)
{
    if (c->port->phys_state == IBH_PHYS_DISABLED && c->port->layer == IBH_LAYER_INFINIBAND)
        ibh_case_say(c, "do", "if that is not meant: ibportstate -C {device} -D 0 {number} enable");
    else if (c->port->phys_state == IBH_PHYS_LINK_UP)
        ibh_case_say(c, "do", "wait ten seconds and look again: ibstat {device} {number}");
    else
        ibh_case_say(c, "do",
                     "wait ten seconds and look again (ibstat {device} {number}); then look at the cable, the "
                     "transceiver and the switch's port");
}

gboolean ibh_is_inactive(IbhCase *c)
{
    const IbhPort *port = c->port;
    Usage usage = usage_of(c, port);

    if (port->state == IBH_UNKNOWN || ibh_is_active(port) || knows_no_sm(port) || usage == PORT_LEFT_ALONE ||
        (port->layer == IBH_LAYER_ETHERNET && c->nic && !c->nic->up)) /* carrier-down says so, and brings it up */
        return FALSE;
    c->severity = usage == PORT_USED ? IBH_ERROR : IBH_INFO;
    say_state(c);
    say_repair(c);
    ibh_case_say(c, "expected", "ACTIVE%s", port->state == IBH_PORT_ACTIVE ? " and LinkUp" : "");
    ibh_case_say(c, "why", "%s%s", why_not_active(port), usage == PORT_USED ? "" : " (it has no address)");
    return TRUE;
}

/* Omni-Path's may be larger than what is shown, and that of a virtual function is its port's. */
gboolean ibh_lacks_lid(IbhCase *c)
{
    return c->port->layer == IBH_LAYER_INFINIBAND && c->port->lid == 0 && !ibh_is_omni_path(c->port) && c->nic &&
           !c->nic->vf;
}

/* ---- GUIDs ---- */

static gboolean knows_gid(const IbhPort *port)
{
    return port->layer == IBH_LAYER_INFINIBAND && port->gid.is_known;
}

gboolean ibh_lacks_gid(IbhCase *c)
{
    return knows_gid(c->port) && !c->port->gid.prefix && !c->port->gid.guid && ibh_is_right(c->port);
}

gboolean ibh_lacks_guid(IbhCase *c)
{
    return knows_gid(c->port) && c->port->gid.prefix && !c->port->gid.guid;
}

/* Said of the later one. */
gboolean ibh_shares_guid(IbhCase *c)
{
    IBH_EACH (const IbhPort, other, c->fabric->ports) {
        if (other == c->port)
            return FALSE;
        if (!knows_gid(c->port) || !knows_gid(other) || !c->port->gid.guid || other->gid.guid != c->port->gid.guid)
            continue;
        ibh_case_say(c, "guid", "0x%016" G_GINT64_MODIFIER "x", c->port->gid.guid);
        ibh_case_say(c, "other", "%s", other->name);
        return TRUE;
    }
    return FALSE;
}

/* Functions of one card may share it, and so may devices of software. */
gboolean ibh_shares_node_guid(IbhCase *c)
{
    const IbhRdmaDevice *own = ibh_fabric_device(c->fabric, c->port);

    IBH_EACH (const IbhRdmaDevice, other, c->fabric->devices) {
        if (!own || other == own)
            return FALSE;
        if (!own->node_guid || other->node_guid != own->node_guid || !own->card[0] || !other->card[0] ||
            g_str_equal(own->card, other->card))
            continue;
        ibh_case_say(c, "guid", "0x%016" G_GINT64_MODIFIER "x", own->node_guid);
        ibh_case_say(c, "other", "%s", other->name);
        return TRUE;
    }
    return FALSE;
}
