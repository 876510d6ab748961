/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/gids.h"

#include "model/text.h"

#include <string.h>

/* ---- addresses in GID tables ---- */

/* New connections use one version of RoCE, and its GIDs. */
static gboolean is_usable(const IbhPort *port, const IbhGid *gid)
{
    return port->roce == IBH_UNKNOWN || gid->roce == IBH_UNKNOWN || gid->roce == port->roce;
}

static gboolean has_gid_of(const IbhPort *port, const IbhIp *ip)
{
    IBH_EACH (const IbhGid, gid, port->gids) {
        if (is_usable(port, gid) && ibh_ip_equal(&gid->ip, ip))
            return TRUE;
    }
    return FALSE;
}

static gboolean is_inside(const IbhIp *ip, const IbhPrefix *subnet)
{
    return ip->family == subnet->ip.family && ibh_prefix_contains(subnet, ip);
}

/* Whether addresses of IPv4 are known, or only their subnets. */
static gboolean knows_addresses(const IbhPortNic *nic)
{
    IBH_EACH (const IbhIp, ip, nic->addresses) {
        if (ip->family == AF_INET)
            return TRUE;
    }
    return FALSE;
}

static gboolean is_own(const IbhPortNic *nic, const IbhIp *ip)
{
    if (knows_addresses(nic)) {
        IBH_EACH (const IbhIp, own, nic->addresses) {
            if (ibh_ip_equal(own, ip))
                return TRUE;
        }
        return FALSE;
    }
    IBH_EACH (const IbhPrefix, subnet, nic->subnets) {
        if (is_inside(ip, subnet))
            return TRUE;
    }
    return FALSE;
}

const IbhGid *ibh_find_gid(const IbhPort *port, const IbhPortNic *nic)
{
    IBH_EACH (const IbhGid, gid, port->gids) {
        if (gid->ip.family == AF_INET && gid->roce == 2 && is_own(nic, &gid->ip))
            return gid;
    }
    return NULL;
}

/* ---- RoCE ---- */

static void report_missing(IbhFabricJudge *judge, const IbhPort *port, const IbhPortNic *nic, const char *what)
{
    ibh_finding_add(judge->findings, nic->iface, IBH_ERROR, "gid-missing",
                    ibh_advice("take the interface down and up again, or remove the address and add it again; if the "
                               "entry does not come back, see what the kernel says of it: dmesg"),
                    "the GID table of %s has no entry for %s, where it is expected: RDMA connections from and to it "
                    "fail, though ping works",
                    port->name, what);
}

/* One finding a NIC: further missing GIDs have the same cause. */
static gboolean report_missing_address(IbhFabricJudge *judge, const IbhPort *port, const IbhPortNic *nic)
{
    char text[IBH_IP_STRLEN];

    IBH_EACH (const IbhIp, ip, nic->addresses) {
        if (!has_gid_of(port, ip)) {
            report_missing(judge, port, nic, ibh_ip_format(ip, text));
            return TRUE;
        }
    }
    return FALSE;
}

static const IbhPrefix *find_ipv4_subnet(const IbhPortNic *nic)
{
    IBH_EACH (const IbhPrefix, subnet, nic->subnets) {
        if (subnet->ip.family == AF_INET)
            return subnet;
    }
    return NULL;
}

static gboolean has_gid_in_subnets(const IbhPort *port, const IbhPortNic *nic)
{
    IBH_EACH (const IbhPrefix, subnet, nic->subnets) {
        IBH_EACH (const IbhGid, gid, port->gids) {
            if (subnet->ip.family == AF_INET && is_usable(port, gid) && is_inside(&gid->ip, subnet))
                return TRUE;
        }
    }
    return FALSE;
}

/* In a captured tree routes stand for the addresses: one route may exist without an address, but not all of them. */
static gboolean report_missing_subnet(IbhFabricJudge *judge, const IbhPort *port, const IbhPortNic *nic)
{
    const IbhPrefix *subnet = knows_addresses(nic) ? NULL : find_ipv4_subnet(nic);
    g_autofree char *what = NULL;
    char text[IBH_PREFIX_STRLEN];

    if (!subnet || has_gid_in_subnets(port, nic))
        return FALSE;
    what = g_strdup_printf("an address in %s", ibh_prefix_format(subnet, text));
    report_missing(judge, port, nic, what);
    return TRUE;
}

static void judge_roce_nic(IbhFabricJudge *judge, const IbhPort *port, const IbhPortNic *nic)
{
    if (!nic->used || !nic->usable || !ibh_fabric_is_asked(judge, nic->iface))
        return;
    if (!port->has_gid_table || (!port->has_all_gids && port->gids->len))
        ibh_fabric_report_good(judge, "%s: GIDs of its addresses: the table of %s is not known", nic->iface,
                               port->name);
    else if (!report_missing_address(judge, port, nic) && !report_missing_subnet(judge, port, nic))
        ibh_fabric_report_good(judge, "%s: its addresses have GIDs of %s", nic->iface, port->name);
}

/* ---- InfiniBand ---- */

gboolean ibh_port_lacks_gid(const IbhPort *port)
{
    return port->layer == IBH_LAYER_INFINIBAND && port->has_gid_table && !port->gid_prefix && !port->gid_guid &&
           ibh_port_is_active(port) && !ibh_port_is_wrong(port);
}

static void judge_first_gid(IbhFabricJudge *judge, const IbhPort *port)
{
    const IbhPortNic *nic = ibh_find_nic_of_port(judge, port);

    if (!port->has_gid_table)
        ibh_fabric_report_good(judge, "%s: GID not known", port->name);
    else if (ibh_port_lacks_gid(port))
        ibh_finding_add(
            judge->findings, nic ? nic->iface : "", IBH_ERROR, "gid-missing",
            ibh_advice("see what the adapter's driver says (dmesg), then load it again or reboot"),
            "the port %s has no GID, expected the subnet's prefix and its own GUID: no host can address it, "
            "so RDMA connections by it fail",
            port->name);
    else
        ibh_fabric_report_good(judge, "%s: GID fabric %016" G_GINT64_MODIFIER "x, port %s", port->name,
                               port->gid_prefix, port->guid);
}

void ibh_judge_gids(IbhFabricJudge *judge, const IbhPort *port)
{
    /* A port without a GID: perhaps its interface is not known. */
    if (port->layer == IBH_LAYER_INFINIBAND &&
        (ibh_port_is_judged(judge, port) || (!judge->only && ibh_port_lacks_gid(port))))
        judge_first_gid(judge, port);
    if (port->layer != IBH_LAYER_ETHERNET || port->iwarp || !ibh_port_is_judged(judge, port))
        return;
    IBH_EACH (const IbhPortNic, nic, judge->fabric->nics) {
        if (g_str_equal(nic->rdma, port->name))
            judge_roce_nic(judge, port, nic);
    }
}
