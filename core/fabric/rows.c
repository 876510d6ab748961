/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fabric/rows.h"

#include <string.h>

#define MEMLOCK_ENOUGH ((gint64)1 << 30) /* bytes */

static gboolean has_infiniband(const IbhFabric *fabric)
{
    IBH_EACH (const IbhPort, port, fabric->ports) {
        if (port->layer == IBH_LAYER_INFINIBAND)
            return TRUE;
    }
    return FALSE;
}

/* TRUE if the host has RDMA ports, and modules are missing. Without ib_ipoib, InfiniBand ports have no netdevs: then
 * the severity is error. Only programs need the other modules, so without these the severity is info. ib_ipoib and
 * ib_umad are for InfiniBand only. */
static gboolean lacks_modules(IbhSubject *about)
{
    const gboolean *modules = about->fabric->modules;
    const gboolean infiniband = has_infiniband(about->fabric);
    g_autoptr(GString) names = g_string_new(NULL);

    for (guint i = 0; i < IBH_N_MODULES; i++) {
        if (!modules[i] && (infiniband || (i != IBH_MODULE_IPOIB && i != IBH_MODULE_UMAD)))
            g_string_append_printf(names, "%s%s", names->len ? " " : "", ibh_modules[i]);
    }
    about->severity = infiniband && !modules[IBH_MODULE_IPOIB] ? IBH_ERROR : IBH_INFO;
    ibh_subject_say(about, "names=%s", names->str);
    return about->fabric->ports->len && names->len;
}

/* TRUE if an adapter has a driver, but no RDMA device: the module that adds RDMA to the driver is not loaded, or could
 * not use the adapter. An Ethernet adapter counts only if the host has no RDMA ports, and if ib_uverbs, rdma_ucm or
 * ib_ipoib is loaded, which shows that RDMA is wanted. */
static gboolean lacks_rdma_driver(IbhSubject *about)
{
    const gboolean *modules = about->fabric->modules;
    const IbhBare *bare = &about->fabric->bare;
    gboolean wanted = modules[IBH_MODULE_UVERBS] || modules[IBH_MODULE_UCM] || modules[IBH_MODULE_IPOIB];
    gboolean counts = bare->is_hca || (wanted && !about->fabric->ports->len);

    if (!bare->rdma || !counts)
        return FALSE;
    about->severity = bare->is_hca ? IBH_ERROR : IBH_INFO;
    ibh_subject_say(about, "rdma=%s\ndriver=%s\nadapter=%s\nproblem=%s", bare->rdma, bare->driver, bare->name,
                    bare->is_loaded ? "is loaded, but made none with" : "is not loaded, but expected beside");
    if (bare->is_loaded)
        about->remedy = "see why: dmesg | grep {adapter}";
    return TRUE;
}

/* TRUE if an InfiniBand or Omni-Path adapter has no driver, and the host has no RDMA port at all. (find_bare() skips
 * Ethernet adapters without a driver.) */
static gboolean lacks_driver(IbhSubject *about)
{
    ibh_subject_say(about, "adapter=%s", about->fabric->bare.name);
    return about->fabric->bare.name[0] && !about->fabric->bare.driver && !about->fabric->ports->len;
}

static gboolean has_low_memlock(IbhSubject *about)
{
    gint64 limit = about->fabric->memlock;

    ibh_subject_say(about, "kib=%" G_GINT64_FORMAT, limit >> 10);
    return about->fabric->ports->len && limit != IBH_UNKNOWN && limit < MEMLOCK_ENOUGH;
}

#define LINK_ADVICE                                                                                                    \
    "look at the cable and the transceivers: seat, clean or change them at both ends, then reset the link"
#define FABRIC_EFFECT "so the peers of one rail cannot reach the other"
#define PARTITION_ADVICE                                                                                               \
    "where the subnet manager runs, add \"{partition}, ipoib: {guid}=full;\" to its partitions (opensm: "              \
    "/etc/opensm/partitions.conf, on RHEL /etc/rdma/partitions.conf) and restart it"

/* Rows leave out members that are NULL. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

const IbhRow ibh_fabric_rows[] = {
    /* ---- the host ---- */
    {IBH_OF_HOST, "module-missing", IBH_ERROR, lacks_modules,
     "modules are not loaded, but expected: {names}: without ib_ipoib InfiniBand ports have no interfaces, without "
     "ib_uverbs no program can use RDMA, without rdma_ucm none can connect by IP address, without ib_umad ibping, "
     "ibstat and a subnet manager cannot work here",
     "$ modprobe -a {names}"},
    {IBH_OF_HOST, "module-missing", IBH_ERROR, lacks_rdma_driver,
     "the adapter {adapter} has no RDMA device: {rdma} {problem} its driver {driver}", "$ modprobe {rdma}"},
    {IBH_OF_HOST, "module-missing", IBH_ERROR, lacks_driver,
     "the InfiniBand adapter {adapter} has no driver, so the host has no RDMA at all",
     "see why: lspci -k -s {adapter}, and what dmesg says of it"},
    {IBH_OF_HOST, "memlock-low", IBH_INFO, has_low_memlock,
     "a process may lock {kib} KiB of memory, expected unlimited: RDMA programs of users other than root fail to "
     "register their buffers (\"Cannot allocate memory\")",
     "\"* - memlock unlimited\" in /etc/security/limits.d/rdma.conf, from the next login on; services: "
     "LimitMEMLOCK=infinity"},

    /* ---- a port: ports.c ---- */
    {IBH_OF_PORT_STATE, "sm-missing", IBH_ERROR, ibh_port_lacks_sm,
     "port {port} is {state} with SM lid 0, expected the lid of a {manager}: nothing gives the port an address in the "
     "fabric, so nothing can be sent through it",
     "start a {manager} on one host of the fabric ({program}), or on its switch"},
    {IBH_OF_PORT_STATE, "port-not-active", IBH_ERROR, ibh_port_is_inactive,
     "port {port} is {state} (physical state {phys}), expected {expected}: {why}{use}",
     "wait ten seconds and look again (ibstat {device} {number}){then}"},
    {IBH_OF_PORT, "gid-missing", IBH_ERROR, ibh_port_lacks_guid,
     "the port {port} has no GID with a GUID, expected one of its own: no host can address it, so RDMA through it "
     "fails",
     "give a virtual function its GUID: sudo ip link set PF vf N port_guid …; of an adapter see what its driver says "
     "(dmesg), then load it again or reboot"},
    {IBH_OF_PORT, "guid-duplicate", IBH_ERROR, ibh_port_shares_guid,
     "{first} and {second} have the same {what}, {guid}, expected one each: the subnet manager takes them for one, so "
     "packets for either arrive at only one of them",
     "write its own GUIDs to one of the adapters (mlxburn, flint -guid, or the vendor's tool), or set that of the "
     "virtual function"},
    {IBH_OF_PORT, "port-degraded", IBH_WARNING, ibh_port_is_slow,
     "port {port} runs at {own}, expected {its}: what uses all rails goes at the pace of the slowest",
     LINK_ADVICE "; if they are sound, see which rate the switch's port allows"},
    {IBH_OF_PORT, "port-degraded", IBH_WARNING, ibh_port_has_slow_slot,
     "the slot of the card {card} has {own}, expected {its}, which the card can do: it carries {carried} Gb/s, less "
     "than a port does",
     "seat the card anew, or put it into a slot that has what it can do; see the BIOS' settings of the slot"},
    {IBH_OF_PORT, "port-errors", IBH_WARNING, ibh_port_has_errors,
     "errors of port {port} grew while it was looked at ({list}), expected none: {why}", LINK_ADVICE},

    /* ---- a netdev: netdevs.c ---- */
    {IBH_OF_NETDEV, "mode-mtu", IBH_WARNING, ibh_netdev_has_other_mtu,
     "{others}, expected {its} as {model} in the same subnet{subnet}: a peer that sends to both loses the packets "
     "that are too large for one of them",
     "make them like most of the rails, but first the links below them, if there are any: {commands}"},
    {IBH_OF_NETDEV, "pkey-unknown", IBH_ERROR, ibh_netdev_lacks_pkey,
     "P_Key {pkey} is not in the table of {port}, where it is expected: the subnet manager has not made the port a "
     "member of that partition, so the interface reaches no host",
     PARTITION_ADVICE},
    {IBH_OF_NETDEV, "pkey-limited", IBH_INFO, ibh_netdev_is_limited,
     "the table of {port} has {found}, a limited member, not {full}: it reaches full members of the partition, but no "
     "other limited one, so two such hosts do not reach each other",
     PARTITION_ADVICE},
    {IBH_OF_NETDEV, "subnet-prefix-differs", IBH_WARNING, ibh_netdev_has_stale_prefix,
     "the hardware address of {iface} has the subnet prefix {own}, expected {its} as its port {port}: peers learn an "
     "address that the fabric no longer has, so what they send is lost",
     "restart the subnet manager, set the switch's port down and up, or load ib_ipoib again: the kernel renews the "
     "address only then"},
    {IBH_OF_NETDEV, "gid-missing", IBH_ERROR, ibh_netdev_has_wrong_gid,
     "the GID table of {port} {fault} for {address}: RDMA connections from and to it fail, though ping works",
     "remove the address from {iface} and add it again; if that does not help, see what the kernel says of it (dmesg), "
     "and load the adapter's driver again or reboot"},
    {IBH_OF_NETDEV, "pkey-differs", IBH_WARNING, ibh_netdev_has_other_pkey,
     "P_Key {own}, expected {its} as {model} has, in the same subnet {subnet}: members of one partition do not hear "
     "those of another, " FABRIC_EFFECT,
     "give both interfaces the P_Key that their peers have, or each partition a subnet of its own"},
    {IBH_OF_NETDEV, "subnet-prefix-differs", IBH_WARNING, ibh_netdev_has_other_prefix,
     "the GIDs of {port} begin with {own}, expected {its} as those of {model}, in the same IP subnet {subnet}: they "
     "are on two fabrics, " FABRIC_EFFECT,
     "if both are cabled to one fabric, give its subnet managers one subnet_prefix; if not, give each fabric an IP "
     "subnet of its own"},
    {IBH_OF_NETDEV, "sm-differs", IBH_WARNING, ibh_netdev_has_other_sm,
     "the subnet manager of {port} has lid {own}, expected {its} as that of {model}, in the same IP subnet {subnet}: "
     "they are on two fabrics, " FABRIC_EFFECT,
     "see which subnet manager each port has (sminfo -C DEVICE -P PORT); if they are on two fabrics, cable them to "
     "one, or give each an IP subnet of its own"},

    /* ---- the number of rails: count.c ---- */
    {IBH_OF_MISSING_RAILS, "rails-missing", IBH_ERROR, NULL,
     "{have} RDMA ports have a rail, expected {wanted} (rails=); without one: {without}",
     "see which card, cable, driver or address is missing; if that is right, set rails= to the number of rails"},
    {IBH_OF_MORE_RAILS, "rails-missing", IBH_INFO, NULL, "{have} RDMA ports have a rail, more than rails={wanted} says",
     "if that is right, set rails={have} in the configuration"},
    {0},
};

void ibh_fabric_judge(const IbhFabric *fabric, const char *const *only, GPtrArray *findings)
{
    g_autoptr(GString) words = g_string_new(NULL);
    IbhSubject about = {
        .rows = ibh_fabric_rows, .findings = findings, .words = words, .iface = "", .fabric = fabric, .only = only};

    ibh_subject_ask(&about, IBH_OF_HOST);
    /* A fault of a port concerns every rail on the port. So a finding names ibh_port_netdev() and those rails on the
     * port that the user asks about. If the port has no netdev, the finding is about the host. */
    IBH_EACH (const IbhPort, port, fabric->ports) {
        g_autoptr(GPtrArray) others = g_ptr_array_new();

        about.port = port;
        about.netdev = ibh_port_netdev(&about);
        about.iface = about.netdev ? about.netdev->iface : "";
        about.others = others;
        if (!ibh_netdev_is_asked(&about, about.netdev))
            continue;
        IBH_EACH (IbhPortNic, other, fabric->nics) {
            if (other->rail && g_str_equal(other->rdma, port->name) && ibh_netdev_is_asked(&about, other))
                g_ptr_array_add(others, other->iface);
        }
        ibh_subject_say(&about, "port=%s", port->name);
        ibh_subject_ask(&about, IBH_OF_PORT_STATE);
        if (ibh_port_is_sound(&about))
            ibh_subject_ask(&about, IBH_OF_PORT);
        g_string_truncate(words, 0);
    }
    about.others = NULL;
    IBH_EACH (const IbhPortNic, netdev, fabric->nics) {
        about.port = ibh_fabric_port(fabric, netdev);
        about.netdev = netdev;
        about.iface = netdev->iface;
        if (!ibh_netdev_is_asked(&about, netdev))
            continue;
        ibh_subject_say(&about, "port=%s", about.port ? about.port->name : "");
        ibh_subject_ask(&about, IBH_OF_NETDEV);
        g_string_truncate(words, 0);
    }
}
