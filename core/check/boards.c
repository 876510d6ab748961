/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/boards.h"

#include "check/gids.h"

/* With --iface, only the port of that NIC is judged; ports without a NIC are not. */
static gboolean is_asked(const IbhFabricJudge *judge, const IbhPortNic *nic)
{
    return !judge->only || (nic && ibh_fabric_is_asked(judge, nic->iface));
}

/* ---- GUIDs ---- */

static gboolean has_gid(const IbhPort *port)
{
    return port->layer == IBH_LAYER_INFINIBAND && (port->gid_prefix || port->gid_guid);
}

/* Another port with its GUID: the first of them. */
static const IbhPort *find_twin(const IbhFabric *fabric, const IbhPort *port)
{
    IBH_EACH (const IbhPort, other, fabric->ports) {
        if (other != port && has_gid(other) && port->gid_guid && other->gid_guid == port->gid_guid)
            return other;
    }
    return NULL;
}

static void judge_guid(IbhFabricJudge *judge, const IbhPort *port)
{
    const IbhPort *twin = has_gid(port) ? find_twin(judge->fabric, port) : NULL;
    const IbhPortNic *nic = ibh_find_nic_of_port(judge, port);
    const char *iface = nic ? nic->iface : "";

    if (!has_gid(port) || !is_asked(judge, nic))
        return;
    if (!port->gid_guid && ibh_port_is_judged(judge, port))
        ibh_finding_add(judge->findings, iface, IBH_WARNING, "guid-duplicate",
                        ibh_advice("give it a GUID: of a virtual function ip link set PF vf N port_guid …; of an "
                                   "adapter, by its vendor's tool"),
                        "the GUID of port %s is 0, expected one of its own: a subnet manager cannot tell such ports "
                        "apart, so it answers for none of them",
                        port->name);
    else if (twin && port > twin)
        ibh_finding_add(judge->findings, iface, IBH_WARNING, "guid-duplicate",
                        ibh_advice("give one of them a GUID of its own; it is written to the adapter, or set for a "
                                   "virtual function"),
                        "port %s has the GUID %s of port %s, expected one of its own: the subnet manager takes them "
                        "for one, so packets for either arrive at one of them",
                        port->name, port->guid, twin->name);
}

/* ---- IPoIB ---- */

static gboolean lacks_ipoib(const IbhFabricJudge *judge, const IbhPort *port)
{
    return port->layer == IBH_LAYER_INFINIBAND && ibh_port_is_active(port) && !ibh_port_is_wrong(port) &&
           !ibh_find_nic_of_port(judge, port) && !find_twin(judge->fabric, port) && !ibh_port_lacks_gid(port);
}

static void judge_ipoib(IbhFabricJudge *judge)
{
    const IbhFabric *fabric = judge->fabric;
    g_autoptr(GString) names = g_string_new(NULL);

    if (judge->only || (fabric->knows_modules && !fabric->modules[IBH_MODULE_IPOIB]))
        return;
    IBH_EACH (const IbhPort, port, fabric->ports) {
        if (lacks_ipoib(judge, port))
            g_string_append_printf(names, "%s%s", names->len ? ", " : "", port->name);
    }
    if (names->len)
        ibh_finding_add(judge->findings, "", IBH_INFO, "no-ipoib",
                        ibh_advice("nothing, if IP is not meant to be used there; else see dmesg, and which network "
                                   "namespace has the interface: rdma link; ip netns"),
                        "active InfiniBand ports without an interface here: %s; they have no IP address, so programs "
                        "that connect by address do not use them",
                        names->str);
}

/* ---- cards that can be InfiniBand or Ethernet ---- */

/* Counts the ports of the same place on the same kind of board, this one among them: InfiniBand, and Ethernet. Ethernet
 * ports of unknown boards count. */
static void count_siblings(const IbhFabric *fabric, const IbhPort *port, guint *ret_infiniband, guint *ret_ethernet)
{
    *ret_infiniband = *ret_ethernet = 0;
    IBH_EACH (const IbhPort, other, fabric->ports) {
        IbhSameness board = other == port ? IBH_SAME : ibh_compare_boards(fabric, port, other);

        if (other->number != port->number)
            continue;
        *ret_infiniband += other->layer == IBH_LAYER_INFINIBAND && board == IBH_SAME ? 1 : 0;
        *ret_ethernet += other->layer == IBH_LAYER_ETHERNET && board != IBH_OTHER ? 1 : 0;
    }
}

/* Another port of this device. */
static gboolean has_infiniband_beside(const IbhFabric *fabric, const IbhPort *port)
{
    IBH_EACH (const IbhPort, other, fabric->ports) {
        if (other->layer == IBH_LAYER_INFINIBAND && g_str_equal(other->device, port->device))
            return TRUE;
    }
    return FALSE;
}

/* A disabled port whose interface is down: perhaps it is not wanted. */
static IbhSeverity weigh_ethernet(const IbhPort *port, guint infiniband, guint ethernet)
{
    gboolean no_link = port->state != IBH_UNKNOWN && !ibh_port_is_active(port);

    return no_link && infiniband && (port->phys_state != IBH_PHYS_DISABLED || infiniband > ethernet) ? IBH_WARNING
                                                                                                     : IBH_INFO;
}

/* An Ethernet port with an address is meant to be one; so are ports that are Ethernet on every such card. */
static void judge_vpi(IbhFabricJudge *judge, const IbhPort *port)
{
    const IbhPortNic *nic = ibh_find_nic_of_port(judge, port);
    guint infiniband, ethernet;

    if (port->layer != IBH_LAYER_ETHERNET || port->iwarp || !ibh_port_is_free(judge, port) || !is_asked(judge, nic))
        return;
    count_siblings(judge->fabric, port, &infiniband, &ethernet);
    if (!infiniband && (ethernet > 1 || !has_infiniband_beside(judge->fabric, port)))
        return;
    ibh_finding_add(judge->findings, nic ? nic->iface : "", weigh_ethernet(port, infiniband, ethernet), "vpi-ethernet",
                    ibh_advice("nothing, if it is meant; else set the port's link type to InfiniBand (mlxconfig: "
                               "LINK_TYPE_P%d=1, then restart the firmware; mlx4: mlx4_portN below its PCI device)",
                               port->number),
                    "port %s is set to Ethernet, expected InfiniBand as ports of the same board are: cabled to an "
                    "InfiniBand switch it gets no link",
                    port->name);
}

/* ---- firmware ---- */

static gboolean is_in_use(const IbhFabricJudge *judge, const IbhRdmaDevice *device)
{
    IBH_EACH (const IbhPort, port, judge->fabric->ports) {
        if (g_str_equal(port->device, device->name) && !ibh_port_is_free(judge, port))
            return TRUE;
    }
    return FALSE;
}

/* Of the devices with this board, in use, the first with the most frequent firmware. Names of boards are keys. */
static GHashTable *find_usual(const IbhFabricJudge *judge)
{
    GHashTable *usual = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) most = g_hash_table_new(g_str_hash, g_str_equal);

    IBH_EACH (IbhRdmaDevice, device, judge->fabric->devices) {
        char *key = g_strdup_printf("%s\n%s", device->board, device->firmware);
        gsize n = GPOINTER_TO_SIZE(g_hash_table_lookup(counts, key)) + 1;

        if (!device->board[0] || !device->firmware[0] || !is_in_use(judge, device)) {
            g_free(key);
            continue;
        }
        g_hash_table_insert(counts, key, GSIZE_TO_POINTER(n));
        if (n > GPOINTER_TO_SIZE(g_hash_table_lookup(most, device->board))) {
            g_hash_table_insert(most, device->board, GSIZE_TO_POINTER(n));
            g_hash_table_insert(usual, device->board, device);
        }
    }
    return usual;
}

static const IbhPortNic *find_nic_of_device(const IbhFabricJudge *judge, const IbhRdmaDevice *device)
{
    const IbhPortNic *nic = NULL;

    IBH_EACH (const IbhPort, port, judge->fabric->ports) {
        if (!nic && g_str_equal(port->device, device->name))
            nic = ibh_find_nic_of_port(judge, port);
    }
    return nic;
}

static void judge_firmware(IbhFabricJudge *judge, const IbhRdmaDevice *device, const IbhRdmaDevice *usual)
{
    const IbhPortNic *nic = find_nic_of_device(judge, device);

    if (!is_asked(judge, nic))
        return;
    if (!device->firmware[0] || !device->board[0])
        ibh_fabric_report_good(judge, "%s: %s not known", device->name, device->board[0] ? "firmware" : "board");
    else if (usual && is_in_use(judge, device) && !g_str_equal(usual->firmware, device->firmware))
        ibh_finding_add(judge->findings, nic ? nic->iface : "", IBH_INFO, "firmware-differs",
                        ibh_advice("bring all adapters of a board to one version (mlxfwmanager, or the vendor's tool)"),
                        "%s has firmware %s, expected %s as %s, the same board: one may have faults and features that "
                        "the other has not",
                        device->name, device->firmware, usual->firmware, usual->name);
    else
        ibh_fabric_report_good(judge, "%s: firmware %s, board %s", device->name, device->firmware, device->board);
}

/* ---- all of it ---- */

void ibh_judge_boards(IbhFabricJudge *judge)
{
    g_autoptr(GHashTable) usual = find_usual(judge);

    IBH_EACH (const IbhPort, port, judge->fabric->ports) {
        judge_guid(judge, port);
        judge_vpi(judge, port);
    }
    judge_ipoib(judge);
    IBH_EACH (const IbhRdmaDevice, device, judge->fabric->devices)
        judge_firmware(judge, device, g_hash_table_lookup(usual, device->board));
}
