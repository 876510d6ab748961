/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fabric/case.h"

#include "model/text.h"

#include <string.h>

#define MEMLOCK_ENOUGH ((gint64)1 << 30)
#define LINK_ADVICE                                                                                                    \
    "look at the cable and the transceivers: seat, clean or change them at both ends, then reset the link"
#define FABRIC_ADVICE "so the peers of one rail cannot reach the other"

/* ---- words ---- */

void ibh_case_take(IbhCase *c, const char *name, char *text)
{
    g_assert(c->n_words < IBH_CASE_WORDS);
    c->words[c->n_words].name = name;
    c->words[c->n_words++].text = text;
}

void ibh_case_say(IbhCase *c, const char *name, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    ibh_case_take(c, name, g_strdup_vprintf(format, args));
    va_end(args);
}

static void forget_words(IbhCase *c)
{
    while (c->n_words)
        g_free(c->words[--c->n_words].text);
    c->model = NULL;
    c->is_model_right = FALSE;
}

static char *find_word(const IbhCase *c, const char *name, gboolean quoted)
{
    const char *own = g_str_equal(name, "iface") && c->nic     ? c->nic->iface
                      : g_str_equal(name, "port") && c->port   ? c->port->name
                      : g_str_equal(name, "device") && c->port ? c->port->device
                                                               : NULL;

    if (own)
        return quoted ? ibh_shell_word(own) : g_strdup(own);
    if (g_str_equal(name, "number") && c->port)
        return g_strdup_printf("%d", c->port->number);
    for (guint i = 0; i < c->n_words; i++) {
        if (g_str_equal(c->words[i].name, name))
            return g_strdup(c->words[i].text);
    }
    return NULL;
}

/* "{port} is {state}": names of devices are quoted where they stand in commands. */
static char *fill_in(const IbhCase *c, const char *text, gboolean quoted)
{
    GString *filled = g_string_new(NULL);

    while (*text) {
        gsize plain = strcspn(text, "{"), length;
        g_autofree char *name = NULL, *word = NULL;

        g_string_append_len(filled, text, (gssize)plain);
        text += plain;
        if (!*text)
            break;
        length = strcspn(text, "}");
        name = g_strndup(text + 1, length - 1);
        word = find_word(c, name, quoted);
        g_string_append(filled, word ? word : "");
        text += length + (text[length] == '}');
    }
    return g_string_free(filled, FALSE);
}

static IbhRemedy make_remedy(const IbhCase *c, const char *text)
{
    g_autofree char *chosen = g_str_equal(text, "{do}") ? find_word(c, "do", FALSE) : g_strdup(text);
    g_autofree char *filled = fill_in(c, chosen, TRUE);

    return g_str_has_prefix(filled, "$ ") ? ibh_fix(g_strdup(filled + 2)) : ibh_advice("%s", filled);
}

/* ---- of the host: modules, memory ---- */

static gboolean has_layer(const IbhFabric *fabric, IbhLayer layer)
{
    IBH_EACH (const IbhPort, port, fabric->ports) {
        if (port->layer == layer)
            return TRUE;
    }
    return FALSE;
}

static gboolean has_core(const IbhFabric *fabric)
{
    return fabric->knows_modules && fabric->modules[IBH_MODULE_CORE];
}

static gboolean lacks_core(IbhCase *c)
{
    ibh_case_say(c, "hca", "%s", c->fabric->hca);
    return c->fabric->knows_modules && !c->fabric->modules[IBH_MODULE_CORE] && c->fabric->hca[0];
}

static gboolean lacks_ipoib(IbhCase *c)
{
    return has_core(c->fabric) && !c->fabric->modules[IBH_MODULE_IPOIB] && has_layer(c->fabric, IBH_LAYER_INFINIBAND);
}

static gboolean lacks_modules(IbhCase *c)
{
    g_autoptr(GString) names = g_string_new(NULL);

    for (int module = IBH_MODULE_UVERBS; module < IBH_N_MODULES && has_core(c->fabric) && c->fabric->ports->len;
         module++) {
        if (!c->fabric->modules[module] && (module != IBH_MODULE_UMAD || has_layer(c->fabric, IBH_LAYER_INFINIBAND)))
            g_string_append_printf(names, "%s%s", names->len ? " " : "", ibh_module_name((IbhModule)module));
    }
    ibh_case_say(c, "names", "%s", names->str);
    return names->len > 0;
}

/* On a host without an RDMA device, modules that only RDMA needs show that RDMA is wanted; so does an InfiniBand
 * adapter. */
static gboolean lacks_driver(IbhCase *c)
{
    const IbhFabric *fabric = c->fabric;
    gboolean is_wanted =
        fabric->modules[IBH_MODULE_UVERBS] || fabric->modules[IBH_MODULE_UCM] || fabric->modules[IBH_MODULE_IPOIB];

    if (!has_core(fabric) || !(fabric->bare_hca[0] || (fabric->driver && !fabric->ports->len && is_wanted)))
        return FALSE;
    c->severity = fabric->needs_rdma_driver ? IBH_ERROR : IBH_INFO;
    ibh_case_say(c, "rdma", "%s", fabric->rdma_driver);
    ibh_case_say(c, "driver", "%s%s%s", fabric->driver, fabric->bare_hca[0] ? ", the driver of " : "",
                 fabric->bare_hca);
    return TRUE;
}

static gboolean has_little_memory(IbhCase *c)
{
    gint64 limit = c->fabric->memlock;

    ibh_case_say(c, "kib", "%" G_GINT64_FORMAT, limit >> 10);
    return c->fabric->ports->len && limit != IBH_UNKNOWN && limit < MEMLOCK_ENOUGH;
}

/* ---- the table of findings ---- */

typedef enum {
    OF_HOST,
    OF_PORT,  /* said of each rail on it */
    OF_SOUND, /* a port that is used and whose state is right: a wrong state would explain the rest */
    OF_ANY,   /* a port, also one that is not in use */
    OF_NIC
} Scope;

typedef struct {
    Scope scope;
    IbhSeverity severity;
    gboolean (*is_so)(IbhCase *c);
    const char *code, *text;
    const char *remedy;  /* "$ COMMAND", or advice */
    gboolean is_another; /* has another cause than a row before it that has its code: otherwise the first is said */
} Row;

static const Row rows[] = {
    {OF_HOST, IBH_ERROR, lacks_core, "module-missing",
     "the module ib_core is not loaded, but the PCI device {hca} is an InfiniBand adapter: without it the host has no "
     "RDMA at all (if its driver does not load either: dmesg)",
     "$ modprobe -a ib_core ib_ipoib", TRUE},
    {OF_HOST, IBH_ERROR, lacks_ipoib, "module-missing",
     "the module ib_ipoib is not loaded, but expected: without it InfiniBand ports have no interfaces and no IP "
     "addresses",
     "$ modprobe ib_ipoib", TRUE},
    {OF_HOST, IBH_INFO, lacks_modules, "module-missing",
     "modules are not loaded, but expected: {names}: without ib_uverbs no program can use RDMA, without rdma_ucm none "
     "can connect by IP address, without ib_umad ibping, ibstat and a subnet manager cannot work here",
     "$ modprobe -a {names}", TRUE},
    {OF_HOST, IBH_ERROR, lacks_driver, "module-missing",
     "the module {rdma} is not loaded, but expected beside {driver}: without it these adapters have no RDMA and no "
     "InfiniBand interfaces",
     "$ modprobe {rdma}", TRUE},
    {OF_HOST, IBH_INFO, has_little_memory, "memlock-low",
     "a process may lock {kib} KiB of memory, expected unlimited: RDMA programs of users other than root fail to "
     "register their buffers (\"Cannot allocate memory\")",
     "\"* - memlock unlimited\" in /etc/security/limits.d/rdma.conf, from the next login on; services: "
     "LimitMEMLOCK=infinity",
     FALSE},

    {OF_PORT, IBH_ERROR, ibh_lacks_sm, "sm-missing",
     "port {port} is {state} with SM lid 0, expected the lid of a {manager}: nothing gives the port an address in the "
     "fabric, so nothing can be sent by it",
     "start a {manager} on one host of the fabric ({program}), or on its switch", FALSE},
    {OF_PORT, IBH_ERROR, ibh_is_inactive, "port-not-active",
     "port {port} is {state} (physical state {phys}), expected {expected}: {why}", "{do}", FALSE},
    {OF_SOUND, IBH_ERROR, ibh_lacks_lid, "sm-missing",
     "port {port} is ACTIVE with lid 0, expected a lid of its own: the subnet manager has given it no address in the "
     "fabric, so no host can send to it",
     "see what the subnet manager says of the port's GUID (its log, ibstat {device} {number}), then restart it or the "
     "link",
     FALSE},
    {OF_ANY, IBH_ERROR, ibh_lacks_gid, "gid-missing",
     "the port {port} has no GID, expected the subnet's prefix and its own GUID: no host can address it, so RDMA "
     "connections by it fail",
     "see what the adapter's driver says (dmesg), then load it again or reboot", FALSE},
    {OF_SOUND, IBH_WARNING, ibh_lacks_guid, "guid-duplicate",
     "the GUID of port {port} is 0, expected one of its own: a subnet manager cannot tell such ports apart, so it "
     "answers for none of them",
     "give it a GUID: of a virtual function ip link set PF vf N port_guid …; of an adapter, by its vendor's tool",
     FALSE},
    {OF_ANY, IBH_WARNING, ibh_shares_guid, "guid-duplicate",
     "port {port} has the GUID {guid} of port {other}, expected one of its own: the subnet manager takes them for one, "
     "so packets for either arrive at one of them",
     "give one of them a GUID of its own; it is written to the adapter, or set for a virtual function", FALSE},
    {OF_ANY, IBH_WARNING, ibh_shares_node_guid, "guid-duplicate",
     "{device} has the node GUID {guid} of {other}, another card, expected one of its own: the subnet manager takes "
     "both for one host's adapter, so it gives routes to one of them",
     "write its own GUIDs to one of the adapters (mlxburn, flint -guid, or the vendor's tool)", FALSE},

    {OF_SOUND, IBH_WARNING, ibh_is_slower, "port-degraded",
     "port {port} runs at {own}, expected {its} as {other} in the same subnet: what uses both rails goes at the pace "
     "of "
     "the slower one",
     LINK_ADVICE "; if they are sound, see which rate the switch's port allows", FALSE},
    {OF_SOUND, IBH_WARNING, ibh_has_lost_lanes, "port-degraded",
     "port {port} runs at {own}, expected 4 lanes (2 on a split cable): the others have failed, so most of its "
     "bandwidth is gone",
     LINK_ADVICE, FALSE},
    {OF_SOUND, IBH_INFO, ibh_is_below_board, "port-degraded",
     "port {port} runs at {own}, expected up to {best} Gb/s, as adapters of its model ({model}) can: a cable or a "
     "switch's port that does less takes the rest",
     "nothing, if the switch or this board does no more; else " LINK_ADVICE, FALSE},
    {OF_SOUND, IBH_INFO, ibh_has_slow_slot, "port-degraded",
     "the PCIe link of {device} has {own}, expected {its} as {other}: the slot may carry less than the port does",
     "seat the card anew, or put it into a slot that has what it can do; see the BIOS' settings of the slot", TRUE},
    {OF_SOUND, IBH_WARNING, ibh_link_errors_grow, "port-errors",
     "errors of port {port} grew while it was looked at ({list}), expected none: its link is bad, so packets are lost "
     "or sent again",
     LINK_ADVICE, TRUE},
    {OF_SOUND, IBH_WARNING, ibh_path_errors_grow, "port-errors",
     "port {port} loses packets on their way, and did while it was looked at ({list}), expected none: RDMA sends them "
     "again, so its transfers stall",
     "see the flow control of the port and of the switches (PFC, ECN; mlnx_qos, ethtool -S), then cables and other "
     "ports on the way",
     TRUE},
    {OF_SOUND, IBH_INFO, ibh_errors_stand_out, "port-errors",
     "{counter} of port {port} is {own}, expected about {its} as of the other rails: {why}",
     "look again later whether it grows (/sys/class/infiniband); if it does: " LINK_ADVICE, FALSE},

    {OF_NIC, IBH_WARNING, ibh_has_impossible_mtu, "mode-mtu",
     "MTU {mtu} in datagram mode, expected 4092 at most: only connected mode sends packets that large, so they are "
     "lost",
     "set the MTU that the fabric has for datagrams (2044 or 4092), or connected mode", FALSE},
    {OF_NIC, IBH_WARNING, ibh_mtu_differs, "mode-mtu",
     "{own}, expected {its} as {model}, in the same subnet {subnet}: a peer that sends to both loses the packets that "
     "are too large for one of them",
     "{do}", FALSE},
    {OF_NIC, IBH_WARNING, ibh_lacks_pkey, "pkey-unknown",
     "P_Key {pkey} is not in the table of {port}, where it is expected: the subnet manager has not made the port a "
     "member of that partition, so the interface reaches no host",
     "where the subnet manager runs, add \"{partition}, ipoib: {guid}=full;\" to its partitions (opensm: "
     "/etc/rdma/partitions.conf) and restart it",
     FALSE},
    {OF_NIC, IBH_INFO, ibh_is_limited, "pkey-limited",
     "the table of {port} has {found}, a limited member, not {full}: it reaches full members of the partition, but no "
     "other limited one, so two such hosts do not reach each other",
     "where the subnet manager runs, add \"{partition}, ipoib: {guid}=full;\" to its partitions (opensm: "
     "/etc/rdma/partitions.conf) and restart it",
     FALSE},
    {OF_NIC, IBH_WARNING, ibh_has_stale_prefix, "subnet-prefix-differs",
     "the hardware address of {iface} has the subnet prefix {own}, expected {its} as its port {port}: peers learn an "
     "address that the fabric no longer has, so what they send is lost",
     "$ ip link set {iface} down; ip link set {iface} up", FALSE},
    {OF_NIC, IBH_ERROR, ibh_lacks_address_gid, "gid-missing",
     "the GID table of {port} has no entry for {address}, where it is expected: RDMA connections from and to it fail, "
     "though ping works",
     "take the interface down and up again, or remove the address and add it again; if the entry does not come back, "
     "see what the kernel says of it: dmesg",
     FALSE},
    {OF_NIC, IBH_ERROR, ibh_has_foreign_gid, "gid-missing",
     "the entry of the GID table of {port} for {address} names {ndev}, expected {iface}: RDMA connections from and to "
     "it use another NIC, so they fail, though ping works",
     "remove the address from {iface} and add it again; if the entry stays, load the adapter's driver again or reboot",
     FALSE},
    {OF_NIC, IBH_WARNING, ibh_pkey_differs, "pkey-differs",
     "P_Key {own}, expected {its} as {model} has, in the same subnet {subnet}: members of one partition do not hear "
     "those of another, " FABRIC_ADVICE,
     "give both interfaces the P_Key that their peers have, or each partition a subnet of its own", FALSE},
    {OF_NIC, IBH_WARNING, ibh_prefix_differs, "subnet-prefix-differs",
     "the GIDs of {port} begin with {own}, expected {its} as those of {model}, in the same IP subnet {subnet}: they "
     "are on two fabrics, " FABRIC_ADVICE,
     "if both are cabled to one fabric, give its subnet managers one subnet_prefix; if not, give each fabric an IP "
     "subnet of its own",
     TRUE},
    {OF_NIC, IBH_WARNING, ibh_sm_differs, "sm-differs",
     "the subnet manager of {port} has lid {own}, expected {its} as that of {model}, in the same IP subnet {subnet}: "
     "they are on two fabrics, " FABRIC_ADVICE,
     "see which subnet manager each port has (sminfo -C DEVICE -P PORT); if they are on two fabrics, cable them to "
     "one, or give each an IP subnet of its own",
     FALSE},
};

/* ---- asking ---- */

/* A port makes every rail on it wrong; without a rail, one interface is named. */
static void report(const IbhCase *c, const Row *row, GPtrArray *findings)
{
    g_autofree char *text = fill_in(c, row->text, FALSE);
    IbhFinding *finding = ibh_finding_add(findings, c->nic ? c->nic->iface : "", c->severity, row->code,
                                          make_remedy(c, row->remedy), "%s", text);

    IBH_EACH (const IbhPortNic, other, c->fabric->nics) {
        if (row->scope == OF_PORT && other->rail && g_strcmp0(other->rdma, c->port->name) == 0 &&
            ibh_is_asked(c, other))
            ibh_finding_hits(finding, other->iface);
    }
}

static gboolean is_in_scope(const IbhCase *c, Scope scope)
{
    return scope != OF_SOUND || ibh_is_sound(c, c->port);
}

static void ask(IbhCase *c, Scope first, Scope last, GPtrArray *findings)
{
    const char *said = "";

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const Row *row = &rows[i];

        if (row->scope < first || row->scope > last || (!row->is_another && g_str_equal(row->code, said)) ||
            !is_in_scope(c, row->scope))
            continue;
        c->severity = row->severity;
        if (row->is_so(c)) {
            report(c, row, findings);
            said = row->code;
        }
        forget_words(c);
    }
}

void ibh_fabric_judge(const IbhFabric *fabric, const char *const *only, GPtrArray *findings)
{
    IbhCase c = {.fabric = fabric, .only = only};

    ask(&c, OF_HOST, OF_HOST, findings);
    IBH_EACH (const IbhPort, port, fabric->ports) {
        c.port = port;
        c.nic = ibh_find_nic_of_port(&c, port);
        if (ibh_is_asked(&c, c.nic))
            ask(&c, OF_PORT, OF_ANY, findings);
    }
    IBH_EACH (const IbhPortNic, nic, fabric->nics) {
        c.port = ibh_fabric_port(fabric, nic);
        c.nic = nic;
        if (ibh_is_asked(&c, nic))
            ask(&c, OF_NIC, OF_NIC, findings);
    }
}
