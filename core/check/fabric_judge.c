/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/fabric_judge.h"

#include "check/boards.h"
#include "check/gids.h"
#include "check/links.h"
#include "check/ports.h"
#include "check/subnets.h"
#include "model/text.h"

#define MEMLOCK_ENOUGH ((gint64)1 << 30)

/* ---- modules ---- */

static const char *explain_module(IbhModule module)
{
    static const char *const texts[] = {
        [IBH_MODULE_IPOIB] = "without it InfiniBand ports have no interfaces and no IP addresses",
        [IBH_MODULE_UVERBS] = "without it no program can use RDMA",
        [IBH_MODULE_UCM] = "without it programs cannot connect by IP address (rping, ib_read_bw -R)",
        [IBH_MODULE_UMAD] = "without it ibping, ibstat and a subnet manager cannot work here"};

    return texts[module];
}

static void report_missing_module(IbhFabricJudge *judge, IbhModule module)
{
    ibh_finding_add(judge->findings, "", module == IBH_MODULE_IPOIB ? IBH_ERROR : IBH_INFO, "module-missing",
                    ibh_fix(g_strdup_printf("modprobe %s", ibh_module_name(module))),
                    "the module %s is not loaded, but expected: %s", ibh_module_name(module), explain_module(module));
}

static gboolean has_layer(const IbhFabric *fabric, IbhLayer layer)
{
    IBH_EACH (const IbhPort, port, fabric->ports) {
        if (port->layer == layer)
            return TRUE;
    }
    return FALSE;
}

static gboolean is_needed(const IbhFabric *fabric, IbhModule module)
{
    return module == IBH_MODULE_IPOIB || module == IBH_MODULE_UMAD ? has_layer(fabric, IBH_LAYER_INFINIBAND)
                                                                   : fabric->ports->len > 0;
}

/* On a host without an RDMA device, modules that only RDMA needs show that RDMA is wanted; so does an InfiniBand
 * adapter. */
static gboolean lacks_rdma_driver(const IbhFabric *fabric)
{
    return fabric->bare_hca[0] || (fabric->driver && !fabric->ports->len &&
                                   (fabric->modules[IBH_MODULE_UVERBS] || fabric->modules[IBH_MODULE_UCM] ||
                                    fabric->modules[IBH_MODULE_IPOIB]));
}

static void judge_driver(IbhFabricJudge *judge)
{
    const IbhFabric *fabric = judge->fabric;

    if (lacks_rdma_driver(fabric))
        ibh_finding_add(judge->findings, "", fabric->needs_rdma_driver ? IBH_ERROR : IBH_INFO, "module-missing",
                        ibh_fix(g_strdup_printf("modprobe %s", fabric->rdma_driver)),
                        "the module %s is not loaded, but expected beside %s%s%s: without it these adapters have no "
                        "RDMA and no InfiniBand interfaces",
                        fabric->rdma_driver, fabric->driver, fabric->bare_hca[0] ? ", the driver of " : "",
                        fabric->bare_hca);
}

static void judge_modules(IbhFabricJudge *judge)
{
    const IbhFabric *fabric = judge->fabric;
    g_autoptr(GString) loaded = g_string_new(NULL);

    if (!fabric->knows_modules) {
        ibh_fabric_report_good(judge, "modules: not known (there is no module directory)");
        return;
    }
    if (!fabric->modules[IBH_MODULE_CORE]) {
        if (fabric->hca[0])
            ibh_finding_add(judge->findings, "", IBH_ERROR, "module-missing",
                            ibh_fix(g_strdup("modprobe -a ib_core ib_ipoib")),
                            "the module ib_core is not loaded, but the PCI device %s is an InfiniBand adapter: without "
                            "it the host has no RDMA at all (if its driver does not load either: dmesg)",
                            fabric->hca);
        else
            ibh_fabric_report_good(judge, "modules: ib_core is not loaded, and there is no adapter that needs it");
        return;
    }
    for (int module = IBH_MODULE_IPOIB; module < IBH_N_MODULES; module++) {
        if (fabric->modules[module])
            g_string_append_printf(loaded, " %s", ibh_module_name((IbhModule)module));
        else if (is_needed(fabric, (IbhModule)module))
            report_missing_module(judge, (IbhModule)module);
    }
    judge_driver(judge);
    ibh_fabric_report_good(judge, "modules: loaded: ib_core%s", loaded->str);
}

/* ---- netdevs ---- */

gboolean ibh_fabric_explains(const IbhFabric *fabric, const char *iface)
{
    const IbhPortNic *nic = ibh_fabric_nic(fabric, iface);
    const IbhPort *port = nic ? ibh_fabric_port(fabric, nic) : NULL;

    return port && port->layer == IBH_LAYER_INFINIBAND && ibh_port_is_wrong(port);
}

/* Of this host, check/check.c reports the carrier: netlink knows more. */
static void judge_carrier(IbhFabricJudge *judge, const IbhPortNic *nic)
{
    if (!judge->fabric->captured || !nic->rail || nic->usable || ibh_fabric_explains(judge->fabric, nic->iface))
        return;
    ibh_finding_add(judge->findings, nic->iface, IBH_ERROR, "carrier-down",
                    nic->up ? ibh_advice("look at the cable, the transceiver and the switch's port")
                            : ibh_fix(ibh_command("ip link set ", nic->iface, " up")),
                    "%s, expected up with carrier: nothing can leave or arrive by it",
                    nic->up ? "the link has no carrier (cable, switch port, subnet manager)"
                            : "the link is administratively down");
}

/* 10,236 is the most that a datagram takes, on Omni-Path. */
static gboolean has_impossible_mtu(const IbhPortNic *nic)
{
    return g_str_equal(nic->mode, "datagram") && nic->mtu > 10236;
}

static gboolean has_other_mode(const IbhPortNic *nic, const IbhPortNic *model)
{
    return model->mode[0] && nic->mode[0] && !g_str_equal(model->mode, nic->mode);
}

static gboolean has_other_mtu(const IbhPortNic *nic, const IbhPortNic *model)
{
    return model->mtu != IBH_UNKNOWN && nic->mtu != IBH_UNKNOWN && model->mtu != nic->mtu;
}

static gboolean is_unlike(const IbhPortNic *nic, const IbhPortNic *other)
{
    return has_other_mode(nic, other) || has_other_mtu(nic, other);
}

/* The one candidate for a majority: pairs of different rails cancel each other out (the vote of Boyer and Moore). */
static const IbhPortNic *find_survivor(const IbhFabric *fabric, const IbhPortNic *nic)
{
    const IbhPortNic *survivor = NULL;
    guint more = 0;

    IBH_EACH (const IbhPortNic, other, fabric->nics) {
        if (!ibh_are_beside(nic, other))
            continue;
        survivor = more ? survivor : other;
        more = more && is_unlike(other, survivor) ? more - 1 : more + 1;
    }
    return survivor;
}

/* Of the rails beside this one, itself included, one that more than half of them agree with; NULL: none. */
static const IbhPortNic *find_majority(const IbhFabric *fabric, const IbhPortNic *nic)
{
    const IbhPortNic *model = find_survivor(fabric, nic), *first = NULL;
    guint all = 0, like = 0;

    IBH_EACH (const IbhPortNic, other, fabric->nics) {
        if (!ibh_are_beside(nic, other))
            continue;
        all++;
        if (is_unlike(other, model))
            continue;
        first = first ? first : other;
        like++;
    }
    return 2 * like > all ? first : NULL;
}

/* The rail that this one should agree with: the majority's, or one beside it that has a majority of its own behind it
 * (in another subnet); NULL: none is known to be right. */
static const IbhPortNic *find_model(const IbhFabric *fabric, const IbhPortNic *nic)
{
    const IbhPortNic *majority = find_majority(fabric, nic);

    if (majority)
        return majority;
    IBH_EACH (const IbhPortNic, other, fabric->nics) {
        majority = ibh_are_beside(nic, other) ? find_majority(fabric, other) : NULL;
        if (majority && !is_unlike(other, majority))
            return other;
    }
    return NULL;
}

/* The first rail beside this one that agrees with it or (`unlike`) does not; NULL: none. */
static const IbhPortNic *find_beside(const IbhFabric *fabric, const IbhPortNic *nic, gboolean unlike)
{
    IBH_EACH (const IbhPortNic, other, fabric->nics) {
        if (ibh_are_beside(nic, other) && is_unlike(nic, other) == unlike)
            return other;
    }
    return NULL;
}

static char *fix_mode_mtu(const IbhPortNic *nic, const IbhPortNic *model)
{
    gboolean mode = has_other_mode(nic, model), mtu = has_other_mtu(nic, model);
    g_autofree char *word = ibh_shell_word(nic->iface);
    g_autofree char *first = mode ? g_strdup_printf("echo %s >/sys/class/net/%s/mode", model->mode, word) : NULL;
    g_autofree char *second = mtu ? g_strdup_printf("ip link set %s mtu %d", word, model->mtu) : NULL;

    return g_strdup_printf("%s%s%s", first ? first : "", first && second ? "; " : "", second ? second : "");
}

/* This host cannot know which of them is right. */
static IbhRemedy advise_mode_mtu(const IbhFabric *fabric, const IbhPortNic *nic)
{
    g_autoptr(GString) fix = g_string_new(NULL);
    const IbhPortNic *model = NULL;

    IBH_EACH (const IbhPortNic, other, fabric->nics) {
        g_autofree char *one = NULL;

        if (!ibh_are_beside(nic, other))
            continue;
        model = model ? model : other;
        if (!is_unlike(other, model))
            continue;
        one = fix_mode_mtu(other, model);
        g_string_append_printf(fix, "%s%s", fix->len ? "; " : "", one);
    }
    return ibh_advice("make them alike, as the fabric has it; as %s is: %s", model ? model->iface : nic->iface,
                      fix->str);
}

static char *describe(const IbhPortNic *nic)
{
    if (nic->mtu == IBH_UNKNOWN)
        return g_strdup_printf("%s", nic->mode);
    return g_strdup_printf("MTU %d%s%s", nic->mtu, nic->mode[0] ? ", " : "", nic->mode);
}

/* Names the rails that differ from the majority; without a majority, all. */
static void judge_mode_mtu(IbhFabricJudge *judge, const IbhPortNic *nic)
{
    const IbhPortNic *right = find_model(judge->fabric, nic);
    const IbhPortNic *model = right ? right : find_beside(judge->fabric, nic, TRUE);
    g_autofree char *own = describe(nic), *other = model ? describe(model) : NULL;
    char text[IBH_PREFIX_STRLEN];

    if (has_impossible_mtu(nic)) {
        ibh_finding_add(judge->findings, nic->iface, IBH_WARNING, "mode-mtu",
                        ibh_advice("set the MTU that the fabric has for datagrams (2044 or 4092), or connected mode"),
                        "MTU %d in datagram mode, expected 4092 at most: only connected mode sends packets that large, "
                        "so they are lost",
                        nic->mtu);
        return;
    }
    if (model && is_unlike(nic, model)) {
        ibh_finding_add(
            judge->findings, nic->iface, IBH_WARNING, "mode-mtu",
            right ? ibh_fix(fix_mode_mtu(nic, model)) : advise_mode_mtu(judge->fabric, nic),
            "%s, expected %s as %s, in the same subnet %s: a peer that sends to both loses the packets that "
            "are too large for one of them",
            own, other, model->iface, ibh_prefix_format(ibh_find_shared_subnet(nic, model), text));
        return;
    }
    model = find_beside(judge->fabric, nic, FALSE);
    if (!own[0] || !model || model == nic)
        ibh_fabric_report_good(judge, "%s: %s", nic->iface, own[0] ? own : "MTU not known");
    else
        ibh_fabric_report_good(judge, "%s: %s, as %s", nic->iface, own, model->iface);
}

static void judge_nic(IbhFabricJudge *judge, const IbhPortNic *nic)
{
    const IbhPort *port = ibh_fabric_port(judge->fabric, nic);

    if (!ibh_fabric_is_asked(judge, nic->iface))
        return;
    judge_carrier(judge, nic);
    judge_mode_mtu(judge, nic);
    if (port && nic->pkey != IBH_UNKNOWN && ibh_port_is_active(port))
        ibh_judge_pkey(judge, port, nic);
}

/* ---- memory, and all of it ---- */

static void judge_memlock(IbhFabricJudge *judge)
{
    gint64 limit = judge->fabric->memlock;

    if (!judge->fabric->ports->len)
        return;
    if (limit == IBH_UNKNOWN)
        ibh_fabric_report_good(judge, "memlock: not known (there is no proc/self/limits)");
    else if (limit == G_MAXINT64)
        ibh_fabric_report_good(judge, "memlock: unlimited");
    else if (limit >= MEMLOCK_ENOUGH)
        ibh_fabric_report_good(judge, "memlock: %" G_GINT64_FORMAT " MiB", limit >> 20);
    else
        ibh_finding_add(
            judge->findings, "", IBH_INFO, "memlock-low",
            ibh_advice("\"* - memlock unlimited\" in /etc/security/limits.d/rdma.conf, from the next login on; "
                       "services: LimitMEMLOCK=infinity"),
            "a process may lock %" G_GINT64_FORMAT " KiB of memory, expected unlimited: RDMA programs of "
            "users other than root fail to register their buffers (\"Cannot allocate memory\")",
            limit >> 10);
}

void ibh_fabric_judge(const IbhFabric *fabric, const char *const *only, GPtrArray *findings, GPtrArray *good)
{
    IbhFabricJudge judge = {.fabric = fabric, .only = only, .findings = findings, .good = good};

    if (!fabric->ports->len)
        ibh_fabric_report_good(&judge, "RDMA ports: none");
    judge_modules(&judge);
    IBH_EACH (const IbhPort, port, fabric->ports) {
        ibh_judge_port(&judge, port);
        ibh_judge_gids(&judge, port);
    }
    IBH_EACH (const IbhPortNic, nic, fabric->nics)
        judge_nic(&judge, nic);
    ibh_judge_subnets(&judge);
    ibh_judge_links(&judge);
    ibh_judge_boards(&judge);
    ibh_judge_roce(&judge);
    judge_memlock(&judge);
}
