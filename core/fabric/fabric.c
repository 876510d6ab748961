/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fabric/fabric.h"

#include "check/missing.h"

#include <linux/if_arp.h>
#include <string.h>

const char *const ibh_counters[IBH_N_COUNTERS] = {
    "counters/link_downed",
    "counters/symbol_error",
    "counters/link_error_recovery",
    "counters/port_rcv_errors",
    "counters/local_link_integrity_errors",
    "counters/excessive_buffer_overrun_errors",
    "hw_counters/rx_icrc_encapsulated",
    "counters/VL15_dropped",
    "counters/port_xmit_discards",
    "hw_counters/packet_seq_err",
    "hw_counters/local_ack_timeout_err",
};

const char *const ibh_modules[IBH_N_MODULES] = {"ib_ipoib", "ib_uverbs", "rdma_ucm", "ib_umad"};

static void port_clear(gpointer data)
{
    g_clear_pointer(&((IbhPort *)data)->pkeys, g_array_unref);
    g_clear_pointer(&((IbhPort *)data)->gids, g_array_unref);
}

static void nic_clear(gpointer data)
{
    g_clear_pointer(&((IbhPortNic *)data)->subnets, g_array_unref);
    g_clear_pointer(&((IbhPortNic *)data)->addresses, g_array_unref);
}

IbhFabric *ibh_fabric_new(void)
{
    IbhFabric *fabric = g_new0(IbhFabric, 1);

    fabric->devices = IBH_NEW_ARRAY(IbhRdmaDevice);
    fabric->ports = IBH_NEW_ARRAY(IbhPort);
    g_array_set_clear_func(fabric->ports, port_clear);
    fabric->nics = IBH_NEW_ARRAY(IbhPortNic);
    g_array_set_clear_func(fabric->nics, nic_clear);
    fabric->gpus = IBH_NEW_ARRAY(IbhGpu);
    fabric->memlock = IBH_UNKNOWN;
    return fabric;
}

void ibh_fabric_free(IbhFabric *fabric)
{
    if (!fabric)
        return;
    g_array_unref(fabric->devices);
    g_array_unref(fabric->ports);
    g_array_unref(fabric->nics);
    g_array_unref(fabric->gpus);
    g_free(fabric);
}

const IbhRdmaDevice *ibh_fabric_device(const IbhFabric *fabric, const IbhPort *port)
{
    return &g_array_index(fabric->devices, IbhRdmaDevice, port->device_at);
}

const IbhPort *ibh_fabric_port(const IbhFabric *fabric, const IbhPortNic *nic)
{
    IBH_EACH (const IbhPort, port, fabric->ports) {
        if (g_str_equal(port->name, nic->rdma))
            return port;
    }
    return NULL;
}

IbhPortNic *ibh_fabric_nic(const IbhFabric *fabric, const char *iface)
{
    IBH_EACH (IbhPortNic, nic, fabric->nics) {
        if (g_str_equal(nic->iface, iface))
            return nic;
    }
    return NULL;
}

/* TRUE if the NIC is a known rail, and ibh_nic_lack() finds a fault: no RDMA device, no carrier or no address. */
static gboolean is_broken_rail(const IbhRails *rails, const IbhNic *nic)
{
    IBH_EACH (const IbhKnownRail, known, rails->snapshot->state->known) {
        if (ibh_known_link(rails->snapshot, known) == nic->link)
            return ibh_missing_is_fault(ibh_nic_lack(nic));
    }
    return FALSE;
}

void ibh_fabric_use_rails(IbhFabric *fabric, const IbhRails *rails)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        IbhPortNic *port_nic = ibh_fabric_nic(fabric, nic->link->name);

        if (!port_nic)
            continue;
        IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
            if (!ibh_address_counts(address))
                continue;
            g_array_append_val(port_nic->subnets, address->subnet);
            g_array_append_val(port_nic->addresses, address->local);
        }
        port_nic->rail = nic->status == IBH_NIC_RAIL || is_broken_rail(rails, nic);
        port_nic->used = port_nic->subnets->len > 0;
        /* Ethernet rails that reach the same remote= through their gateways are compared like rails of one subnet.
         * InfiniBand rails are not, because they may be on two fabrics, each with its own subnet manager. Add the
         * prefixes of remote= only after `used` is set: a NIC without an address must not count as used. */
        IBH_EACH (const IbhRemote, remote, nic->settings.remote) {
            if (port_nic->type != ARPHRD_INFINIBAND)
                g_array_append_val(port_nic->subnets, remote->prefix);
        }
    }
}

const IbhPrefix *ibh_port_nics_shared_subnet(const IbhPortNic *a, const IbhPortNic *b)
{
    IBH_EACH (const IbhPrefix, one, a->subnets) {
        IBH_EACH (const IbhPrefix, other, b->subnets) {
            if (ibh_prefix_equal(one, other))
                return one;
        }
    }
    return NULL;
}

gboolean ibh_port_nics_are_beside(const IbhPortNic *nic, const IbhPortNic *other)
{
    return nic->rail && other->rail && other->type == nic->type && ibh_port_nics_shared_subnet(nic, other);
}

/* ---- places ---- */

/* Returns the part of the path that begins with the first host bridge, "pci0000:3a/0000:3a:00.0/…"; "" if there is
 * none. The path may begin with devices of ACPI (Hyper-V) or of the devicetree. These say nothing about PCIe, so they
 * are left out. */
static const char *find_host_bridge(const char *path)
{
    static const char lead[] = "/pci";

    for (const char *at = strstr(path, lead); at; at = strstr(at + 1, lead)) {
        const char *domain = at + strlen(lead);
        const gsize digits = strspn(domain, "0123456789abcdef");

        if (digits >= strlen("0000") && domain[digits] == ':')
            return at + 1;
    }
    return "";
}

/* Counts the path components that both places share, from the host bridge on: the bridge, the root port, then
 * switches. If the places share no component, compares their NUMA nodes. */
IbhNearness ibh_place_compare(const IbhPlace *a, const IbhPlace *b)
{
    g_auto(GStrv) own = g_strsplit(find_host_bridge(a->path), "/", -1),
                  its = g_strsplit(find_host_bridge(b->path), "/", -1);
    guint common = 0;

    while (own[common] && its[common] && g_str_equal(own[common], its[common]))
        common++;
    if (common)
        return common > 2 ? IBH_SAME_SWITCH : common > 1 ? IBH_SAME_ROOT_PORT : IBH_SAME_BRIDGE;
    return a->node >= 0 && a->node == b->node ? IBH_SAME_NODE : IBH_FAR;
}

const char *ibh_nearness_name(IbhNearness nearness)
{
    static const char *const names[] = {"host", "NUMA node", "PCIe host bridge", "PCIe root port", "PCIe switch"};

    return names[nearness];
}
