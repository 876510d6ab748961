/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks the rows of the tables, and those of the host: modules, memory. Pure.
 */
#include "fabric/case.h"

#include "model/model.h"

#include <string.h>

#define MEMLOCK_ENOUGH ((gint64)1 << 30)

/* ---- of the host: modules, memory ---- */

static gboolean has_infiniband(const IbhFabric *fabric)
{
    IBH_EACH (const IbhPort, port, fabric->ports) {
        if (port->layer == IBH_LAYER_INFINIBAND)
            return TRUE;
    }
    return FALSE;
}

/* Programs need all but the first, which makes interfaces; the first and the last are InfiniBand's. */
static gboolean lacks_modules(IbhCase *c)
{
    const gboolean *modules = c->fabric->modules, infiniband = has_infiniband(c->fabric);
    g_autoptr(GString) names = g_string_new(NULL);

    for (guint i = 0; i < IBH_N_MODULES && c->fabric->ports->len; i++) {
        if (!modules[i] && (infiniband || (i != IBH_MODULE_IPOIB && i != IBH_MODULE_UMAD)))
            g_string_append_printf(names, "%s%s", names->len ? " " : "", ibh_modules[i]);
    }
    c->severity = infiniband && !modules[IBH_MODULE_IPOIB] ? IBH_ERROR : IBH_INFO;
    ibh_case_say(c, "names", "%s", names->str);
    return names->len > 0;
}

/* An Ethernet adapter may be there for Ethernet only; on a host without RDMA, modules that nothing else needs show that
 * RDMA is wanted. */
static gboolean lacks_rdma_driver(IbhCase *c)
{
    const gboolean *modules = c->fabric->modules;
    const IbhBare *bare = &c->fabric->bare;
    gboolean wanted = modules[IBH_MODULE_UVERBS] || modules[IBH_MODULE_UCM] || modules[IBH_MODULE_IPOIB];

    if (!bare->rdma || !(bare->is_hca || (!c->fabric->ports->len && wanted)))
        return FALSE;
    c->severity = bare->is_hca ? IBH_ERROR : IBH_INFO;
    ibh_case_say(c, "rdma", "%s", bare->rdma);
    ibh_case_say(c, "driver", "%s", bare->driver);
    ibh_case_say(c, "adapter", "%s", bare->name);
    return TRUE;
}

/* Of no interest on a host with other RDMA devices. */
static gboolean lacks_driver(IbhCase *c)
{
    ibh_case_say(c, "adapter", "%s", c->fabric->bare.name);
    return c->fabric->bare.name[0] && !c->fabric->bare.driver && !c->fabric->ports->len;
}

static gboolean has_little_memory(IbhCase *c)
{
    gint64 limit = c->fabric->memlock;

    ibh_case_say(c, "kib", "%" G_GINT64_FORMAT, limit >> 10);
    return c->fabric->ports->len && limit != IBH_UNKNOWN && limit < MEMLOCK_ENOUGH;
}

static const IbhRow rows_of_host[] = {
    {"module-missing", lacks_modules,
     "modules are not loaded, but expected: {names}: without ib_ipoib InfiniBand ports have no interfaces, without "
     "ib_uverbs no program can use RDMA, without rdma_ucm none can connect by IP address, without ib_umad ibping, "
     "ibstat and a subnet manager cannot work here",
     "$ modprobe -a {names}"},
    {"module-missing", lacks_rdma_driver,
     "the adapter {adapter} has no RDMA device: {rdma} is not loaded, but expected beside its driver {driver}",
     "$ modprobe {rdma}"},
    {"module-missing", lacks_driver, "the InfiniBand adapter {adapter} has no driver, so the host has no RDMA at all",
     "see why: lspci -k -s {adapter}, and what dmesg says of it"},
    {"memlock-low", has_little_memory,
     "a process may lock {kib} KiB of memory, expected unlimited: RDMA programs of users other than root fail to "
     "register their buffers (\"Cannot allocate memory\")",
     "\"* - memlock unlimited\" in /etc/security/limits.d/rdma.conf, from the next login on; services: "
     "LimitMEMLOCK=infinity"},
    {0},
};

/* ---- words ---- */

static void say_names(IbhCase *c, char *(*in)(const char *name))
{
    ibh_case_take(c, "iface", in(c->nic ? c->nic->iface : ""));
    if (!c->port)
        return;
    ibh_case_take(c, "port", in(c->port->name));
    ibh_case_take(c, "device", in(c->port->device));
    ibh_case_say(c, "number", "%d", c->port->number);
}

static char *value_of(gconstpointer c, const char *word)
{
    return g_strdup(g_hash_table_lookup(((const IbhCase *)c)->words, word));
}

/* Names of devices are quoted in commands. */
static IbhRemedy make_remedy(IbhCase *c, const IbhRow *row)
{
    const char *chosen = g_str_equal(row->remedy, "{do}") ? g_hash_table_lookup(c->words, "do") : row->remedy;
    g_autofree char *filled = NULL;

    say_names(c, ibh_text_shell_word);
    filled = ibh_text_fill_in(chosen, value_of, c);
    if (g_str_has_prefix(filled, "$ "))
        return (IbhRemedy){.fix = g_strdup(filled + 2)};
    return ibh_remedy_advice("%s", filled);
}

/* ---- asking ---- */

/* The same text is said already: of another port of one card, or of the other one of two. */
static IbhFinding *find_same(const GPtrArray *findings, const char *text)
{
    IBH_EACH_POINTER (IbhFinding, finding, findings) {
        if (g_strcmp0(finding->message, text) == 0)
            return finding;
    }
    return NULL;
}

static IbhFinding *report(IbhCase *c, const IbhRow *row, GPtrArray *findings)
{
    const char *iface = c->nic ? c->nic->iface : "";
    g_autofree char *text = NULL;
    IbhFinding *finding;

    say_names(c, g_strdup);
    text = ibh_text_fill_in(row->text, value_of, c);
    finding = find_same(findings, text);
    if (finding)
        ibh_finding_hits(finding, iface);
    else
        finding = ibh_finding_add(findings, iface, c->severity, row->code, make_remedy(c, row), "%s", text);
    return finding;
}

/* A port makes every rail on it wrong; without a rail, one interface is named. */
static void ask(IbhCase *c, const IbhRow *rows, const IbhPort *of_port, GPtrArray *findings)
{
    for (const IbhRow *row = rows; row->code; row++) {
        IbhFinding *finding;

        c->severity = ibh_code_find(row->code)->severity;
        finding = row->is_so(c) ? report(c, row, findings) : NULL;
        g_hash_table_remove_all(c->words);
        IBH_EACH (const IbhPortNic, other, c->fabric->nics) {
            if (finding && of_port && other->rail && g_str_equal(other->rdma, of_port->name) &&
                ibh_case_is_asked(c, other))
                ibh_finding_hits(finding, other->iface);
        }
    }
}

void ibh_fabric_judge(const IbhFabric *fabric, const char *const *only, GPtrArray *findings)
{
    g_autoptr(GHashTable) words = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    IbhCase c = {.fabric = fabric, .only = only, .words = words};

    ask(&c, rows_of_host, NULL, findings);
    IBH_EACH (const IbhPort, port, fabric->ports) {
        c.port = port;
        c.nic = ibh_case_nic_of_port(&c, port);
        if (ibh_case_is_asked(&c, c.nic))
            ask(&c, ibh_rows_of_state, port, findings);
        if (ibh_case_is_asked(&c, c.nic) && ibh_case_is_sound(&c, port))
            ask(&c, ibh_rows_of_port, port, findings);
    }
    IBH_EACH (const IbhPortNic, nic, fabric->nics) {
        c.port = ibh_fabric_port(fabric, nic);
        c.nic = nic;
        if (ibh_case_is_asked(&c, nic))
            ask(&c, ibh_rows_of_nic, NULL, findings);
    }
}
