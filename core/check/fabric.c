#include "check/fabric.h"

#include "model/text.h"

#include <linux/if_arp.h>
#include <string.h>

#define MEMLOCK_ENOUGH ((gint64)1 << 30)
#define PKEY_FULL 0x8000

/* ---- values ---- */

static void port_clear(gpointer data)
{
    g_clear_pointer(&((IbhPort *)data)->pkeys, g_array_unref);
}

static void nic_clear(gpointer data)
{
    g_clear_pointer(&((IbhPortNic *)data)->subnets, g_array_unref);
}

IbhFabric *ibh_fabric_new(void)
{
    IbhFabric *fabric = g_new0(IbhFabric, 1);

    fabric->ports = g_array_new(FALSE, TRUE, sizeof(IbhPort));
    g_array_set_clear_func(fabric->ports, port_clear);
    fabric->nics = g_array_new(FALSE, TRUE, sizeof(IbhPortNic));
    g_array_set_clear_func(fabric->nics, nic_clear);
    fabric->memlock = IBH_UNKNOWN;
    return fabric;
}

void ibh_fabric_free(IbhFabric *fabric)
{
    if (!fabric)
        return;
    g_array_unref(fabric->ports);
    g_array_unref(fabric->nics);
    g_free(fabric);
}

const char *ibh_module_name(IbhModule module)
{
    static const char *const names[] = {[IBH_MODULE_CORE] = "ib_core",
                                        [IBH_MODULE_IPOIB] = "ib_ipoib",
                                        [IBH_MODULE_UVERBS] = "ib_uverbs",
                                        [IBH_MODULE_UCM] = "rdma_ucm",
                                        [IBH_MODULE_UMAD] = "ib_umad"};

    return names[module];
}

static IbhPortNic *nic_at(const IbhFabric *fabric, guint i)
{
    return &g_array_index(fabric->nics, IbhPortNic, i);
}

static const IbhPort *port_at(const IbhFabric *fabric, guint i)
{
    return &g_array_index(fabric->ports, IbhPort, i);
}

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

/* ---- who uses which netdev ---- */

IbhPortNic *ibh_fabric_nic(const IbhFabric *fabric, const char *iface)
{
    for (guint i = 0; i < fabric->nics->len; i++) {
        if (g_str_equal(nic_at(fabric, i)->iface, iface))
            return nic_at(fabric, i);
    }
    return NULL;
}

void ibh_fabric_use_rails(IbhFabric *fabric, const IbhRails *rails)
{
    const GArray *addresses = rails->snapshot->addresses;

    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        IbhPortNic *own = ibh_fabric_nic(fabric, nic->link->name);

        for (guint j = 0; own && j < addresses->len; j++) {
            const IbhAddress *address = &g_array_index(addresses, IbhAddress, j);

            if (address->ifindex == nic->link->ifindex && ibh_address_counts(address))
                g_array_append_val(own->subnets, address->subnet);
        }
        if (own) {
            own->rail = nic->status == IBH_NIC_RAIL;
            own->used = own->subnets->len > 0;
        }
    }
    fabric->knows_usage = TRUE;
}

/* A subnet that both have; NULL: none. */
static const IbhPrefix *shared_subnet(const IbhPortNic *a, const IbhPortNic *b)
{
    for (guint i = 0; i < a->subnets->len; i++) {
        for (guint j = 0; j < b->subnets->len; j++) {
            if (ibh_prefix_equal(&g_array_index(a->subnets, IbhPrefix, i), &g_array_index(b->subnets, IbhPrefix, j)))
                return &g_array_index(a->subnets, IbhPrefix, i);
        }
    }
    return NULL;
}

void ibh_fabric_use_subnets(IbhFabric *fabric)
{
    for (guint i = 0; i < fabric->nics->len; i++) {
        IbhPortNic *nic = nic_at(fabric, i);

        nic->used = nic->subnets->len > 0;
        for (guint j = 0; j < fabric->nics->len; j++)
            nic->rail |= j != i && shared_subnet(nic, nic_at(fabric, j)) != NULL;
    }
    fabric->knows_usage = TRUE;
}

/* ---- saying ---- */

typedef struct {
    const IbhFabric *fabric;
    const char *const *only;
    GPtrArray *findings;
    GPtrArray *good;
} Judge;

static gboolean is_asked(const Judge *judge, const char *iface)
{
    return !judge->only || !iface[0] || g_strv_contains(judge->only, iface);
}

G_GNUC_PRINTF(2, 3) static void say(Judge *judge, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (judge->good)
        g_ptr_array_add(judge->good, g_strdup_vprintf(format, args));
    va_end(args);
}

/* A command with a name in it that may hold anything. */
static char *command(const char *before, const char *word, const char *after)
{
    g_autofree char *quoted = ibh_shell_word(word);

    return g_strconcat(before, quoted, after, NULL);
}

/* ---- modules ---- */

static const char *matters(IbhModule module)
{
    static const char *const texts[] = {
        [IBH_MODULE_IPOIB] = "without it InfiniBand ports have no interfaces and no IP addresses",
        [IBH_MODULE_UVERBS] = "without it no program can use RDMA",
        [IBH_MODULE_UCM] = "without it programs cannot connect by IP address (rping, ib_read_bw -R)",
        [IBH_MODULE_UMAD] = "without it ibping, ibstat and a subnet manager cannot work here"};

    return texts[module];
}

static void miss(Judge *judge, IbhModule module)
{
    ibh_finding_add(judge->findings, "", module == IBH_MODULE_IPOIB ? IBH_ERROR : IBH_INFO, "module-missing",
                    g_strdup_printf("modprobe %s", ibh_module_name(module)),
                    "the module %s is not loaded, but expected: %s", ibh_module_name(module), matters(module));
}

static gboolean has_layer(const IbhFabric *fabric, IbhLayer layer)
{
    for (guint i = 0; i < fabric->ports->len; i++) {
        if (port_at(fabric, i)->layer == layer)
            return TRUE;
    }
    return FALSE;
}

static gboolean is_needed(const IbhFabric *fabric, IbhModule module)
{
    return module == IBH_MODULE_IPOIB || module == IBH_MODULE_UMAD ? has_layer(fabric, IBH_LAYER_INFINIBAND)
                                                                   : fabric->ports->len > 0;
}

static void judge_modules(Judge *judge)
{
    const IbhFabric *fabric = judge->fabric;
    g_autoptr(GString) loaded = g_string_new(NULL);

    if (!fabric->knows_modules) {
        say(judge, "modules: not known (there is no module directory)");
        return;
    }
    if (!fabric->modules[IBH_MODULE_CORE]) {
        if (fabric->hca[0])
            ibh_finding_add(judge->findings, "", IBH_ERROR, "module-missing", g_strdup("modprobe -a ib_core ib_ipoib"),
                            "the module ib_core is not loaded, but the PCI device %s is an InfiniBand adapter: without "
                            "it the host has no RDMA at all (if its driver does not load either: dmesg)",
                            fabric->hca);
        else
            say(judge, "modules: ib_core is not loaded, and there is no adapter that needs it");
        return;
    }
    for (int module = IBH_MODULE_IPOIB; module < IBH_N_MODULES; module++) {
        if (fabric->modules[module])
            g_string_append_printf(loaded, " %s", ibh_module_name((IbhModule)module));
        else if (is_needed(fabric, (IbhModule)module))
            miss(judge, (IbhModule)module);
    }
    say(judge, "modules: loaded: ib_core%s", loaded->str);
}

/* ---- ports ---- */

typedef enum {
    PORT_USED,      /* it matters: it has an address, somebody asked for it, or nothing is known of it */
    PORT_UNUSED,    /* it has a netdev, which has no address: perhaps because the port is not active */
    PORT_LEFT_ALONE /* an Ethernet port like that, or one whose netdev is in another network namespace: a container's */
} Usage;

/* The netdev that speaks for the port: one that was asked for, else a rail, else one with an address, else any. */
static const IbhPortNic *nic_of_port(const Judge *judge, const IbhPort *port)
{
    const IbhPortNic *best = NULL;
    int best_score = 0;

    for (guint i = 0; i < judge->fabric->nics->len; i++) {
        const IbhPortNic *nic = nic_at(judge->fabric, i);
        int score = 1 + nic->used + 2 * nic->rail + 4 * (judge->only && g_strv_contains(judge->only, nic->iface));

        if (g_str_equal(nic->rdma, port->name) && score > best_score) {
            best = nic;
            best_score = score;
        }
    }
    return best;
}

static Usage usage_of(const Judge *judge, const IbhPort *port, const IbhPortNic *nic)
{
    const IbhFabric *fabric = judge->fabric;
    gboolean ethernet = port->layer == IBH_LAYER_ETHERNET;

    if (nic && (nic->used || nic->rail || !fabric->knows_usage || judge->only))
        return PORT_USED;
    if (nic)
        return ethernet ? PORT_LEFT_ALONE : PORT_UNUSED;
    if (ethernet && port->phys_state == IBH_PHYS_DISABLED)
        return PORT_LEFT_ALONE; /* it says what its netdev is: down; and there is nobody who wants it up */
    /* Without IPoIB an InfiniBand port has no netdev anywhere. */
    return fabric->complete && (ethernet || fabric->modules[IBH_MODULE_IPOIB]) ? PORT_LEFT_ALONE : PORT_USED;
}

static gboolean is_omni_path(const IbhPort *port)
{
    return g_str_has_prefix(port->device, "hfi1") || g_str_has_prefix(port->device, "opa");
}

static char *look_again(const IbhPort *port)
{
    g_autofree char *after = g_strdup_printf(" %d", port->number);

    return command("ibstat ", port->device, after);
}

/* What to do about a port that is not active. */
static char *fix_port(const IbhPort *port, const IbhPortNic *nic)
{
    g_autofree char *again = look_again(port), *number = NULL;

    if (port->layer == IBH_LAYER_ETHERNET && nic && !nic->up)
        return command("ip link set ", nic->iface, " up");
    if (port->phys_state == IBH_PHYS_DISABLED && port->layer == IBH_LAYER_INFINIBAND) {
        number = g_strdup_printf(" -D 0 %d enable", port->number);
        return command("ibportstate -C ", port->device, number);
    }
    if (port->phys_state == IBH_PHYS_LINK_UP)
        return g_strdup_printf("sleep 10; %s", again);
    return g_strdup_printf("sleep 10; %s # if it is still not active: cable, transceiver, switch port", again);
}

static const char *why_not_active(const IbhPort *port)
{
    if (port->phys_state == IBH_PHYS_POLLING)
        return "it looks for the other end of the cable; wait a few seconds, as nothing can be sent by it yet";
    if (port->phys_state == IBH_PHYS_DISABLED)
        return "it is switched off, so nothing can be sent by it";
    if (port->phys_state == IBH_PHYS_LINK_UP)
        return "the link is there, but the subnet manager has not finished with it: wait; nothing can be sent by it "
               "yet";
    return "nothing can be sent by it";
}

/* The state of an Ethernet port is that of its netdev, of which carrier-down speaks. */
static gboolean is_said_of_netdev(const IbhPort *port, const IbhPortNic *nic)
{
    return port->layer == IBH_LAYER_ETHERNET && nic && nic->rail && !nic->usable;
}

static void find_not_active(Judge *judge, const IbhPort *port, const IbhPortNic *nic, Usage usage)
{
    if (is_said_of_netdev(port, nic))
        return;
    ibh_finding_add(judge->findings, nic ? nic->iface : "", usage == PORT_USED ? IBH_ERROR : IBH_INFO,
                    "port-not-active", fix_port(port, nic), "port %s is %s (physical state %s), expected ACTIVE: %s%s",
                    port->name, state_name(port->state), phys_name(port->phys_state), why_not_active(port),
                    usage == PORT_USED ? "" : " (it has no address)");
}

static void find_no_sm(Judge *judge, const IbhPort *port, const IbhPortNic *nic)
{
    gboolean opa = is_omni_path(port);

    ibh_finding_add(
        judge->findings, nic ? nic->iface : "", IBH_ERROR, "sm-missing",
        g_strdup_printf("systemctl start %s # on one host of the fabric, or on its switch", opa ? "opafm" : "opensm"),
        "port %s is %s with SM lid 0, expected the lid of a %s manager: nobody gives the port an address in "
        "the fabric, so nothing can be sent by it",
        port->name, state_name(port->state), opa ? "fabric" : "subnet");
}

static gboolean is_active(const IbhPort *port)
{
    return port->state >= IBH_PORT_ACTIVE;
}

/* A port that is not linked knows of no subnet manager either: that is no finding of its own. */
static gboolean lacks_sm(const IbhPort *port)
{
    return port->layer == IBH_LAYER_INFINIBAND && port->sm_lid == 0 && port->state >= IBH_PORT_INIT;
}

static gboolean is_wrong(const IbhPort *port)
{
    return port->state != IBH_UNKNOWN && (!is_active(port) || lacks_sm(port));
}

static void say_port(Judge *judge, const IbhPort *port, const IbhPortNic *nic, Usage usage)
{
    static const char *const layers[] = {"unknown link layer", "InfiniBand", "Ethernet"};
    const char *more = "";

    if (usage == PORT_LEFT_ALONE)
        more = nic ? ", left alone: it has no address" : ", left to who has its interface";
    else if (port->layer == IBH_LAYER_INFINIBAND)
        more = port->sm_lid == IBH_UNKNOWN ? ", SM lid not known" : ", with a subnet manager";
    say(judge, "%s: %s, %s: %s, %s%s", port->name, nic ? nic->iface : "no interface here", layers[port->layer],
        state_name(port->state), phys_name(port->phys_state), more);
}

static void find_port(Judge *judge, const IbhPort *port, const IbhPortNic *nic, Usage usage)
{
    if (lacks_sm(port))
        find_no_sm(judge, port, nic);
    else
        find_not_active(judge, port, nic, usage);
}

/* Every rail on it is wrong, and one interface speaks for it where there is no rail. */
static void judge_port(Judge *judge, const IbhPort *port)
{
    const IbhPortNic *nic = nic_of_port(judge, port);
    Usage usage = usage_of(judge, port, nic);

    if (judge->only && (!nic || !is_asked(judge, nic->iface)))
        return;
    if (port->state == IBH_UNKNOWN) {
        say(judge, "%s: state not known", port->name);
    } else if (usage == PORT_LEFT_ALONE || !is_wrong(port)) {
        say_port(judge, port, nic, usage);
    } else {
        find_port(judge, port, nic, usage);
        for (guint i = 0; i < judge->fabric->nics->len; i++) {
            const IbhPortNic *other = nic_at(judge->fabric, i);

            if (other != nic && other->rail && g_str_equal(other->rdma, port->name) && is_asked(judge, other->iface))
                find_port(judge, port, other, usage);
        }
    }
}

/* ---- P_Keys ---- */

/* The P_Key of the table with the same number, as a full member if there is one; 0: none. */
static guint16 find_pkey(const IbhPort *port, int pkey)
{
    guint16 found = 0;

    for (guint i = 0; i < port->pkeys->len; i++) {
        guint16 own = g_array_index(port->pkeys, guint16, i);

        if ((own & ~PKEY_FULL) == (pkey & ~PKEY_FULL) && own > found)
            found = own;
    }
    return found;
}

/* What to write into the subnet manager's list of partitions. */
static char *fix_pkey(const IbhPort *port, int pkey)
{
    const char *guid = port->guid[0] ? port->guid : "ALL";
    g_autofree char *line = (pkey & ~PKEY_FULL) == 0x7fff ? g_strdup_printf("Default=0x7fff, ipoib: %s=full;", guid)
                                                          : g_strdup_printf("p%x=0x%04x, ipoib: %s=full;",
                                                                            pkey & ~PKEY_FULL, pkey & ~PKEY_FULL, guid);

    return g_strdup_printf("echo '%s' >>/etc/rdma/partitions.conf; systemctl restart opensm # where the subnet manager "
                           "runs",
                           line);
}

static void judge_pkey(Judge *judge, const IbhPort *port, const IbhPortNic *nic)
{
    guint16 found = find_pkey(port, nic->pkey);

    if (!port->pkeys->len || (!found && !port->has_all_pkeys))
        say(judge, "%s: P_Key 0x%04x: the table of %s is not known", nic->iface, (guint)nic->pkey, port->name);
    else if (!found)
        ibh_finding_add(judge->findings, nic->iface, IBH_WARNING, "pkey-unknown", fix_pkey(port, nic->pkey),
                        "P_Key 0x%04x is not in the table of %s, where it is expected: the subnet manager has not made "
                        "the port a member of that partition, so the interface reaches nobody",
                        (guint)nic->pkey, port->name);
    else if (!(found & PKEY_FULL))
        ibh_finding_add(judge->findings, nic->iface, IBH_INFO, "pkey-limited", fix_pkey(port, nic->pkey),
                        "the table of %s has 0x%04x, a limited member, not 0x%04x: it reaches full members of the "
                        "partition, but no other limited one",
                        port->name, (guint)found, (guint)(found | PKEY_FULL));
    else
        say(judge, "%s: P_Key 0x%04x: a full member by the table of %s", nic->iface, (guint)nic->pkey, port->name);
}

static const IbhPort *port_of_nic(const IbhFabric *fabric, const IbhPortNic *nic)
{
    for (guint i = 0; i < fabric->ports->len; i++) {
        if (g_str_equal(port_at(fabric, i)->name, nic->rdma))
            return port_at(fabric, i);
    }
    return NULL;
}

gboolean ibh_fabric_explains(const IbhFabric *fabric, const char *iface)
{
    const IbhPortNic *nic = ibh_fabric_nic(fabric, iface);
    const IbhPort *port = nic ? port_of_nic(fabric, nic) : NULL;

    return port && port->layer == IBH_LAYER_INFINIBAND && is_wrong(port);
}

/* ---- netdevs ---- */

/* Of this host, check.c speaks of the carrier: netlink knows more. */
static void judge_carrier(Judge *judge, const IbhPortNic *nic)
{
    if (!judge->fabric->captured || !nic->rail || nic->usable || ibh_fabric_explains(judge->fabric, nic->iface))
        return;
    ibh_finding_add(judge->findings, nic->iface, IBH_ERROR, "carrier-down",
                    nic->up ? command("ip link show ", nic->iface, "") : command("ip link set ", nic->iface, " up"),
                    "%s, expected up with carrier: nothing can leave or arrive by it",
                    nic->up ? "the link has no carrier (cable, switch port, subnet manager)"
                            : "the link is administratively down");
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

static gboolean is_beside(const IbhPortNic *nic, const IbhPortNic *other)
{
    return nic->rail && other->rail && other->type == nic->type && shared_subnet(nic, other);
}

/* Of the rails beside this one, itself among them, the first that more than half of them are like; NULL: none is. */
static const IbhPortNic *find_majority(const IbhFabric *fabric, const IbhPortNic *nic)
{
    IBH_EACH (const IbhPortNic, model, fabric->nics) {
        guint all = 0, like = 0;

        IBH_EACH (const IbhPortNic, other, fabric->nics) {
            all += is_beside(nic, other) ? 1 : 0;
            like += is_beside(nic, other) && !is_unlike(other, model) ? 1 : 0;
        }
        if (is_beside(nic, model) && 2 * like > all)
            return model;
    }
    return NULL;
}

/* What this rail should be like: the majority, or one beside it that has a majority of its own behind it (in another
 * subnet); NULL: nothing is known to be right. */
static const IbhPortNic *find_model(const IbhFabric *fabric, const IbhPortNic *nic)
{
    const IbhPortNic *majority = find_majority(fabric, nic);

    if (majority)
        return majority;
    IBH_EACH (const IbhPortNic, other, fabric->nics) {
        majority = is_beside(nic, other) ? find_majority(fabric, other) : NULL;
        if (majority && !is_unlike(other, majority))
            return other;
    }
    return NULL;
}

/* The first rail beside this one that is, or (`unlike`) is not, like it; NULL: there is none. */
static const IbhPortNic *find_beside(const IbhFabric *fabric, const IbhPortNic *nic, gboolean unlike)
{
    IBH_EACH (const IbhPortNic, other, fabric->nics) {
        if (is_beside(nic, other) && is_unlike(nic, other) == unlike)
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

/* All rails beside this one become like the first of them. */
static char *fix_all_modes_and_mtus(const IbhFabric *fabric, const IbhPortNic *nic)
{
    GString *fix = g_string_new(NULL);
    const IbhPortNic *model = NULL;

    IBH_EACH (const IbhPortNic, other, fabric->nics) {
        g_autofree char *one = NULL;

        if (!is_beside(nic, other))
            continue;
        model = model ? model : other;
        if (!is_unlike(other, model))
            continue;
        one = fix_mode_mtu(other, model);
        g_string_append_printf(fix, "%s%s", fix->len ? "; " : "", one);
    }
    return g_string_free(fix, FALSE);
}

static char *describe(const IbhPortNic *nic)
{
    if (nic->mtu == IBH_UNKNOWN)
        return g_strdup_printf("%s", nic->mode);
    return g_strdup_printf("MTU %d%s%s", nic->mtu, nic->mode[0] ? ", " : "", nic->mode);
}

/* Who differs from the majority is named; where there is none, all are. */
static void judge_mode_mtu(Judge *judge, const IbhPortNic *nic)
{
    const IbhPortNic *right = find_model(judge->fabric, nic);
    const IbhPortNic *model = right ? right : find_beside(judge->fabric, nic, TRUE);
    g_autofree char *own = describe(nic), *other = model ? describe(model) : NULL;
    char text[IBH_PREFIX_STRLEN];

    if (model && is_unlike(nic, model)) {
        ibh_finding_add(
            judge->findings, nic->iface, IBH_WARNING, "mode-mtu",
            right ? fix_mode_mtu(nic, model) : fix_all_modes_and_mtus(judge->fabric, nic),
            "%s, expected %s as %s, in the same subnet %s: a peer that sends to both loses the packets that "
            "are too large for one of them",
            own, other, model->iface, ibh_prefix_format(shared_subnet(nic, model), text));
        return;
    }
    model = find_beside(judge->fabric, nic, FALSE);
    if (!own[0] || !model || model == nic)
        say(judge, "%s: %s", nic->iface, own[0] ? own : "MTU not known");
    else
        say(judge, "%s: %s, as %s", nic->iface, own, model->iface);
}

static void judge_nic(Judge *judge, const IbhPortNic *nic)
{
    const IbhPort *port = port_of_nic(judge->fabric, nic);

    if (!is_asked(judge, nic->iface))
        return;
    judge_carrier(judge, nic);
    judge_mode_mtu(judge, nic);
    if (port && nic->pkey != IBH_UNKNOWN && is_active(port))
        judge_pkey(judge, port, nic);
}

/* ---- RoCE ---- */

static char *fix_roce(const IbhPort *port, int version)
{
    g_autofree char *device = ibh_shell_word(port->device);
    g_autofree char *directory = g_strdup_printf("/sys/kernel/config/rdma_cm/%s", device);

    return g_strdup_printf("mkdir -p %s; echo '%s' >%s/ports/%d/default_roce_mode", directory,
                           version == 1 ? "IB/RoCE v1" : "RoCE v2", directory, port->number);
}

static gboolean is_roce_in_use(const Judge *judge, const IbhPort *port)
{
    const IbhPortNic *nic = port->roce != IBH_UNKNOWN ? nic_of_port(judge, port) : NULL;

    return nic && (nic->used || !judge->fabric->knows_usage);
}

/* Version 2 if every port can do it: version 1 is not routed, and older. */
static int wanted_roce(const Judge *judge)
{
    for (guint i = 0; i < judge->fabric->ports->len; i++) {
        const IbhPort *port = port_at(judge->fabric, i);

        if (is_roce_in_use(judge, port) && !port->has_roce_v2)
            return 1;
    }
    return 2;
}

static void judge_roce(Judge *judge)
{
    int wanted = wanted_roce(judge);
    gboolean mixed = FALSE;

    for (guint i = 0; i < judge->fabric->ports->len; i++) {
        const IbhPort *port = port_at(judge->fabric, i);

        for (guint j = 0; is_roce_in_use(judge, port) && j < i; j++)
            mixed |= is_roce_in_use(judge, port_at(judge->fabric, j)) && port_at(judge->fabric, j)->roce != port->roce;
    }
    for (guint i = 0; i < judge->fabric->ports->len; i++) {
        const IbhPort *port = port_at(judge->fabric, i);
        const IbhPortNic *nic = is_roce_in_use(judge, port) ? nic_of_port(judge, port) : NULL;

        if (!nic || !is_asked(judge, nic->iface))
            continue;
        if (mixed && port->roce != wanted)
            ibh_finding_add(judge->findings, nic->iface, IBH_INFO, "roce-version-mixed", fix_roce(port, wanted),
                            "port %s connects with RoCE v%d, expected v%d as another port here: v1 and v2 do not "
                            "understand each other, so of two rails one cannot connect to a peer",
                            port->name, port->roce, wanted);
        else
            say(judge, "%s: RoCE v%d", port->name, port->roce);
    }
}

/* ---- memory ---- */

static void judge_memlock(Judge *judge)
{
    gint64 limit = judge->fabric->memlock;

    if (!judge->fabric->ports->len)
        return;
    if (limit == IBH_UNKNOWN)
        say(judge, "memlock: not known (there is no proc/self/limits)");
    else if (limit == G_MAXINT64)
        say(judge, "memlock: unlimited");
    else if (limit >= MEMLOCK_ENOUGH)
        say(judge, "memlock: %" G_GINT64_FORMAT " MiB", limit >> 20);
    else
        ibh_finding_add(judge->findings, "", IBH_INFO, "memlock-low",
                        g_strdup("printf '%s - memlock unlimited\\n' '*' root >/etc/security/limits.d/rdma.conf "
                                 "# from the next login on; services: LimitMEMLOCK=infinity"),
                        "a process may lock %" G_GINT64_FORMAT " KiB of memory, expected unlimited: RDMA programs of "
                        "users other than root fail to register their buffers (\"Cannot allocate memory\")",
                        limit >> 10);
}

/* ---- all of it ---- */

void ibh_fabric_judge(const IbhFabric *fabric, const char *const *only, GPtrArray *findings, GPtrArray *good)
{
    Judge judge = {.fabric = fabric, .only = only, .findings = findings, .good = good};

    if (!fabric->ports->len)
        say(&judge, "RDMA ports: none");
    judge_modules(&judge);
    for (guint i = 0; i < fabric->ports->len; i++)
        judge_port(&judge, port_at(fabric, i));
    for (guint i = 0; i < fabric->nics->len; i++)
        judge_nic(&judge, nic_at(fabric, i));
    judge_roce(&judge);
    judge_memlock(&judge);
}
