/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/ports.h"

#include "model/text.h"

#include <string.h>

#define PKEY_FULL 0x8000

/* ---- reporting ---- */

gboolean ibh_fabric_is_asked(const IbhFabricJudge *judge, const char *iface)
{
    return !judge->only || !iface[0] || g_strv_contains(judge->only, iface);
}

void ibh_fabric_report_good(IbhFabricJudge *judge, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (judge->good)
        g_ptr_array_add(judge->good, g_strdup_vprintf(format, args));
    va_end(args);
}

char *ibh_command(const char *before, const char *word, const char *after)
{
    g_autofree char *quoted = ibh_shell_word(word);

    return g_strconcat(before, quoted, after, NULL);
}

/* ---- state ---- */

static const char *state_name(int state)
{
    static const char *const names[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};

    return state >= 0 && state < (int)G_N_ELEMENTS(names) ? names[state] : "unknown";
}

static const char *phys_name(int state)
{
    static const char *const names[] = {
        "unknown",           "Sleep",   "Polling", "Disabled", "PortConfigurationTraining", "LinkUp",
        "LinkErrorRecovery", "Phy Test"};

    return state >= 0 && state < (int)G_N_ELEMENTS(names) ? names[state] : "unknown";
}

typedef enum {
    PORT_USED,      /* it has an address, was asked for by name, or its use is not known */
    PORT_UNUSED,    /* it has a netdev without an address: perhaps because the port is not active */
    PORT_LEFT_ALONE /* such an Ethernet port, or one whose netdev is in another network namespace: a container's */
} Usage;

const IbhPortNic *ibh_find_nic_of_port(const IbhFabricJudge *judge, const IbhPort *port)
{
    const IbhPortNic *best = NULL;
    int best_score = 0;

    IBH_EACH (const IbhPortNic, nic, judge->fabric->nics) {
        int score = 1 + nic->used + 2 * nic->rail + 4 * (judge->only && g_strv_contains(judge->only, nic->iface));

        if (g_str_equal(nic->rdma, port->name) && score > best_score) {
            best = nic;
            best_score = score;
        }
    }
    return best;
}

static Usage usage_of(const IbhFabricJudge *judge, const IbhPort *port, const IbhPortNic *nic)
{
    const IbhFabric *fabric = judge->fabric;
    gboolean ethernet = port->layer == IBH_LAYER_ETHERNET;

    if (nic && ethernet && !nic->up && !fabric->knows_usage && !judge->only)
        return PORT_LEFT_ALONE;
    if (nic && (nic->used || nic->rail || !fabric->knows_usage || judge->only))
        return PORT_USED;
    if (nic)
        return ethernet ? PORT_LEFT_ALONE : PORT_UNUSED;
    if (ethernet && port->phys_state == IBH_PHYS_DISABLED)
        return PORT_LEFT_ALONE; /* its netdev is down on purpose */
    /* Without IPoIB an InfiniBand port has no netdev anywhere. */
    return fabric->complete && (port->layer != IBH_LAYER_INFINIBAND || fabric->modules[IBH_MODULE_IPOIB])
               ? PORT_LEFT_ALONE
               : PORT_USED;
}

gboolean ibh_port_is_omni_path(const IbhPort *port)
{
    return g_str_has_prefix(port->device, "hfi1") || g_str_has_prefix(port->device, "opa");
}

/* The advice for a port that is not active. */
static IbhRemedy fix_port(const IbhPort *port, const IbhPortNic *nic)
{
    g_autofree char *device = ibh_shell_word(port->device);

    if (port->layer == IBH_LAYER_ETHERNET && nic && !nic->up)
        return ibh_fix(ibh_command("ip link set ", nic->iface, " up"));
    if (port->phys_state == IBH_PHYS_DISABLED && port->layer == IBH_LAYER_INFINIBAND)
        return ibh_advice("if that is not meant: ibportstate -C %s -D 0 %d enable", device, port->number);
    if (port->phys_state == IBH_PHYS_LINK_UP)
        return ibh_advice("wait ten seconds and look again: ibstat %s %d", device, port->number);
    return ibh_advice("wait ten seconds and look again (ibstat %s %d); then look at the cable, the transceiver and the "
                      "switch's port",
                      device, port->number);
}

static const char *why_not_active(const IbhPort *port)
{
    if (port->state >= IBH_PORT_ACTIVE)
        return "its link is not up, or being repaired, so what is sent by it is delayed or lost";
    if (port->phys_state == IBH_PHYS_POLLING)
        return "it looks for the other end of the cable; wait a few seconds, as nothing can be sent by it yet";
    if (port->phys_state == IBH_PHYS_DISABLED)
        return "it is switched off, so nothing can be sent by it";
    if (port->phys_state == IBH_PHYS_LINK_UP)
        return "the link is there, but the subnet manager has not finished with it: wait; nothing can be sent by it "
               "yet";
    return "nothing can be sent by it";
}

/* An Ethernet port has the state of its netdev, which carrier-down reports. */
static gboolean is_said_of_netdev(const IbhPort *port, const IbhPortNic *nic)
{
    return port->layer == IBH_LAYER_ETHERNET && nic && nic->rail && !nic->usable;
}

static void report_inactive(IbhFabricJudge *judge, const IbhPort *port, const IbhPortNic *nic, Usage usage)
{
    if (is_said_of_netdev(port, nic))
        return;
    ibh_finding_add(judge->findings, nic ? nic->iface : "", usage == PORT_USED ? IBH_ERROR : IBH_INFO,
                    "port-not-active", fix_port(port, nic),
                    "port %s is %s (physical state %s), expected ACTIVE%s: %s%s", port->name, state_name(port->state),
                    phys_name(port->phys_state), port->state == IBH_PORT_ACTIVE ? " and LinkUp" : "",
                    why_not_active(port), usage == PORT_USED ? "" : " (it has no address)");
}

static void report_missing_sm(IbhFabricJudge *judge, const IbhPort *port, const IbhPortNic *nic)
{
    gboolean opa = ibh_port_is_omni_path(port);

    ibh_finding_add(
        judge->findings, nic ? nic->iface : "", IBH_ERROR, "sm-missing",
        ibh_advice("start a %s manager on one host of the fabric (%s), or on its switch", opa ? "fabric" : "subnet",
                   opa ? "opafm" : "opensm"),
        "port %s is %s with SM lid 0, expected the lid of a %s manager: nothing gives the port an address in "
        "the fabric, so nothing can be sent by it",
        port->name, state_name(port->state), opa ? "fabric" : "subnet");
}

/* TRUE if its physical state says that the link does not work: some iWARP drivers say 0, Omni-Path has numbers of its
 * own. */
static gboolean lacks_link(const IbhPort *port)
{
    return port->phys_state >= IBH_PHYS_SLEEP && port->phys_state <= IBH_PHYS_TEST &&
           port->phys_state != IBH_PHYS_LINK_UP;
}

gboolean ibh_port_is_active(const IbhPort *port)
{
    return port->state == IBH_PORT_ACTIVE && !lacks_link(port);
}

/* A port without a link knows no subnet manager: that is no finding of its own. */
static gboolean lacks_sm(const IbhPort *port)
{
    return port->layer == IBH_LAYER_INFINIBAND && port->sm_lid == 0 && port->state >= IBH_PORT_INIT;
}

gboolean ibh_port_is_wrong(const IbhPort *port)
{
    return port->state != IBH_UNKNOWN && (!ibh_port_is_active(port) || lacks_sm(port));
}

static void report_good_port(IbhFabricJudge *judge, const IbhPort *port, const IbhPortNic *nic, Usage usage)
{
    static const char *const layers[] = {"unknown link layer", "InfiniBand", "Ethernet"};
    const char *more = "";

    if (usage == PORT_LEFT_ALONE)
        more = nic ? ", left alone: it has no address" : ", left to who has its interface";
    else if (port->layer == IBH_LAYER_INFINIBAND)
        more = port->sm_lid == IBH_UNKNOWN ? ", SM lid not known" : ", with a subnet manager";
    ibh_fabric_report_good(judge, "%s: %s, %s: %s, %s%s", port->name, nic ? nic->iface : "no interface here",
                           layers[port->layer], state_name(port->state), phys_name(port->phys_state), more);
}

static void report_port(IbhFabricJudge *judge, const IbhPort *port, const IbhPortNic *nic, Usage usage)
{
    if (lacks_sm(port))
        report_missing_sm(judge, port, nic);
    else
        report_inactive(judge, port, nic, usage);
}

gboolean ibh_port_is_free(const IbhFabricJudge *judge, const IbhPort *port)
{
    const IbhPortNic *nic = ibh_find_nic_of_port(judge, port);

    return judge->fabric->knows_usage && (!nic || (!nic->used && !nic->rail));
}

gboolean ibh_port_is_judged(const IbhFabricJudge *judge, const IbhPort *port)
{
    const IbhPortNic *nic = ibh_find_nic_of_port(judge, port);

    return port->state != IBH_UNKNOWN && !ibh_port_is_wrong(port) && usage_of(judge, port, nic) == PORT_USED &&
           (!judge->only || (nic && ibh_fabric_is_asked(judge, nic->iface)));
}

/* It makes every rail on the port wrong; without a rail, one interface is named. */
void ibh_judge_port(IbhFabricJudge *judge, const IbhPort *port)
{
    const IbhPortNic *nic = ibh_find_nic_of_port(judge, port);
    Usage usage = usage_of(judge, port, nic);

    if (judge->only && (!nic || !ibh_fabric_is_asked(judge, nic->iface)))
        return;
    if (port->state == IBH_UNKNOWN) {
        ibh_fabric_report_good(judge, "%s: state not known", port->name);
    } else if (usage == PORT_LEFT_ALONE || !ibh_port_is_wrong(port)) {
        report_good_port(judge, port, nic, usage);
    } else {
        report_port(judge, port, nic, usage);
        IBH_EACH (const IbhPortNic, other, judge->fabric->nics) {
            if (other != nic && other->rail && g_str_equal(other->rdma, port->name) &&
                ibh_fabric_is_asked(judge, other->iface))
                report_port(judge, port, other, usage);
        }
    }
}

/* ---- P_Keys ---- */

/* The P_Key of the table with the same number, as a full member if there is one; 0: none. */
static guint16 find_pkey(const IbhPort *port, int pkey)
{
    guint16 found = 0;

    IBH_EACH (const guint16, own, port->pkeys) {
        if ((*own & ~PKEY_FULL) == (pkey & ~PKEY_FULL) && *own > found)
            found = *own;
    }
    return found;
}

/* The entry for the subnet manager's list of partitions. */
static IbhRemedy fix_pkey(const IbhPort *port, int pkey)
{
    const char *guid = port->guid[0] ? port->guid : "ALL";
    g_autofree char *line = (pkey & ~PKEY_FULL) == 0x7fff ? g_strdup_printf("Default=0x7fff, ipoib: %s=full;", guid)
                                                          : g_strdup_printf("p%x=0x%04x, ipoib: %s=full;",
                                                                            pkey & ~PKEY_FULL, pkey & ~PKEY_FULL, guid);

    return ibh_advice("where the subnet manager runs, add \"%s\" to its partitions (opensm: "
                      "/etc/rdma/partitions.conf) and restart it",
                      line);
}

void ibh_judge_pkey(IbhFabricJudge *judge, const IbhPort *port, const IbhPortNic *nic)
{
    guint16 found = find_pkey(port, nic->pkey);

    if (!port->pkeys->len || (!found && !port->has_all_pkeys))
        ibh_fabric_report_good(judge, "%s: P_Key 0x%04x: the table of %s is not known", nic->iface, (guint)nic->pkey,
                               port->name);
    else if (!found)
        ibh_finding_add(judge->findings, nic->iface, IBH_WARNING, "pkey-unknown", fix_pkey(port, nic->pkey),
                        "P_Key 0x%04x is not in the table of %s, where it is expected: the subnet manager has not made "
                        "the port a member of that partition, so the interface reaches no host",
                        (guint)nic->pkey, port->name);
    else if (!(found & PKEY_FULL))
        ibh_finding_add(judge->findings, nic->iface, IBH_INFO, "pkey-limited", fix_pkey(port, nic->pkey),
                        "the table of %s has 0x%04x, a limited member, not 0x%04x: it reaches full members of the "
                        "partition, but no other limited one",
                        port->name, (guint)found, (guint)(found | PKEY_FULL));
    else
        ibh_fabric_report_good(judge, "%s: P_Key 0x%04x: a full member by the table of %s", nic->iface,
                               (guint)nic->pkey, port->name);
}

/* ---- RoCE ---- */

static IbhRemedy fix_roce(const IbhPort *port, int version)
{
    g_autofree char *device = ibh_shell_word(port->device);
    g_autofree char *directory = g_strdup_printf("/sys/kernel/config/rdma_cm/%s", device);

    return ibh_fix(g_strdup_printf("mkdir -p %s; echo '%s' >%s/ports/%d/default_roce_mode", directory,
                                   version == 1 ? "IB/RoCE v1" : "RoCE v2", directory, port->number));
}

static gboolean is_roce_in_use(const IbhFabricJudge *judge, const IbhPort *port)
{
    const IbhPortNic *nic = port->roce != IBH_UNKNOWN ? ibh_find_nic_of_port(judge, port) : NULL;

    return nic && (nic->used || !judge->fabric->knows_usage);
}

/* Version 2 if every port can do it: version 1 is not routed, and older. */
static int find_wanted_roce(const IbhFabricJudge *judge)
{
    IBH_EACH (const IbhPort, port, judge->fabric->ports) {
        if (is_roce_in_use(judge, port) && !port->has_roce_v2)
            return 1;
    }
    return 2;
}

static gboolean has_mixed_roce(const IbhFabricJudge *judge)
{
    const IbhPort *first = NULL;

    IBH_EACH (const IbhPort, port, judge->fabric->ports) {
        if (!is_roce_in_use(judge, port))
            continue;
        first = first ? first : port;
        if (port->roce != first->roce)
            return TRUE;
    }
    return FALSE;
}

void ibh_judge_roce(IbhFabricJudge *judge)
{
    int wanted = find_wanted_roce(judge);
    gboolean mixed = has_mixed_roce(judge);

    IBH_EACH (const IbhPort, port, judge->fabric->ports) {
        const IbhPortNic *nic = is_roce_in_use(judge, port) ? ibh_find_nic_of_port(judge, port) : NULL;

        if (!nic || !ibh_fabric_is_asked(judge, nic->iface))
            continue;
        if (mixed && port->roce != wanted)
            ibh_finding_add(judge->findings, nic->iface, IBH_INFO, "roce-version-mixed", fix_roce(port, wanted),
                            "port %s connects with RoCE v%d, expected v%d as another port here: v1 and v2 do not "
                            "understand each other, so of two rails one cannot connect to a peer",
                            port->name, port->roce, wanted);
        else
            ibh_fabric_report_good(judge, "%s: RoCE v%d", port->name, port->roce);
    }
}
