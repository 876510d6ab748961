/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Netdevs of ports: P_Keys, GIDs of their addresses, and what rails of one subnet have in common. Pure.
 */
#include "fabric/case.h"

#include <linux/if_arp.h>
#include <sys/socket.h>

#define PKEY_FULL 0x8000

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
static void say_partition(IbhCase *c)
{
    guint number = (guint)c->nic->pkey & ~(guint)PKEY_FULL;

    ibh_case_say(c, "pkey", "0x%04x", (guint)c->nic->pkey);
    if (number == 0x7fff)
        ibh_case_say(c, "partition", "Default=0x7fff");
    else
        ibh_case_say(c, "partition", "p%x=0x%04x", number, number);
    if (c->port->gid.guid)
        ibh_case_say(c, "guid", "0x%016" G_GINT64_MODIFIER "x", c->port->gid.guid);
    else
        ibh_case_say(c, "guid", "ALL");
}

static gboolean has_pkey(const IbhCase *c)
{
    return c->port && c->nic->pkey != IBH_UNKNOWN && ibh_port_is_active(c->port);
}

static gboolean lacks_pkey(IbhCase *c)
{
    if (!has_pkey(c) || !c->port->has_all_pkeys || find_pkey(c->port, c->nic->pkey))
        return FALSE;
    say_partition(c);
    return TRUE;
}

static gboolean is_limited(IbhCase *c)
{
    guint16 found = has_pkey(c) ? find_pkey(c->port, c->nic->pkey) : 0;

    if (!found || (found & PKEY_FULL))
        return FALSE;
    say_partition(c);
    ibh_case_say(c, "found", "0x%04x", (guint)found);
    ibh_case_say(c, "full", "0x%04x", (guint)(found | PKEY_FULL));
    return TRUE;
}

/* ---- hardware addresses ---- */

static gboolean has_stale_prefix(IbhCase *c)
{
    if (!c->port || !c->nic->used || !c->port->is_steady || !ibh_port_is_right(c->port))
        return FALSE;
    if (!c->nic->address_prefix || !c->port->gid.prefix || c->nic->address_prefix == c->port->gid.prefix)
        return FALSE;
    ibh_case_say(c, "own", "%016" G_GINT64_MODIFIER "x", c->nic->address_prefix);
    ibh_case_say(c, "its", "%016" G_GINT64_MODIFIER "x", c->port->gid.prefix);
    return TRUE;
}

/* ---- GIDs of addresses ---- */

/* New connections use one version of RoCE, and its GIDs. NULL: none. */
static const IbhGid *find_gid(const IbhPort *port, const IbhIp *ip)
{
    IBH_EACH (const IbhGid, gid, port->gids) {
        if ((port->roce == IBH_UNKNOWN || gid->roce == IBH_UNKNOWN || gid->roce == port->roce) &&
            ibh_ip_equal(&gid->ip, ip))
            return gid;
    }
    return NULL;
}

static gboolean has_gids_of_addresses(const IbhPort *port)
{
    return port && port->layer == IBH_LAYER_ETHERNET && !port->iwarp && port->has_all_gids;
}

/* One finding a NIC: further wrong GIDs have the same cause. */
static gboolean has_wrong_gid(IbhCase *c)
{
    char text[IBH_IP_STRLEN];

    if (!has_gids_of_addresses(c->port) || !c->nic->used || !c->nic->usable || !ibh_case_is_sound(c, c->port))
        return FALSE;
    IBH_EACH (const IbhIp, ip, c->nic->addresses) {
        const IbhGid *gid = find_gid(c->port, ip);

        if (gid && (!gid->ndev[0] || g_str_equal(gid->ndev, c->nic->iface)))
            continue;
        ibh_case_say(c, "address", "%s", ibh_ip_format(ip, text));
        if (gid)
            ibh_case_say(c, "fault", "names %s, not %s, in its entry", gid->ndev, c->nic->iface);
        else
            ibh_case_say(c, "fault", "has no entry");
        return TRUE;
    }
    return FALSE;
}

/* ---- what rails of one subnet have in common ---- */

/* A value that has to be the same, in words; NULL: not known, or hidden by another cause. */
typedef char *Value(const IbhFabric *fabric, const IbhPortNic *nic);

/* For the rails that differ from the majority; without a majority, for all: a rail beside it with another value. NULL:
 * it does not differ. */
static const IbhPortNic *find_model(IbhCase *c, Value *value)
{
    g_autoptr(GHashTable) counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autofree char *own = c->nic->rail ? value(c->fabric, c->nic) : NULL, *its = NULL;
    const IbhPortNic *model = NULL;
    char text[IBH_PREFIX_STRLEN];
    gsize all = 0, best = 0;

    if (!own)
        return NULL;
    IBH_EACH (const IbhPortNic, other, c->fabric->nics) {
        char *one = ibh_port_nics_are_beside(c->nic, other) ? value(c->fabric, other) : NULL;
        gsize n = one ? GPOINTER_TO_SIZE(g_hash_table_lookup(counts, one)) + 1 : 0;

        if (!one)
            continue;
        all++;
        if (!g_str_equal(one, own) && n > best) {
            best = n;
            model = other;
        }
        g_hash_table_replace(counts, one, GSIZE_TO_POINTER(n));
    }
    if (!best || 2 * GPOINTER_TO_SIZE(g_hash_table_lookup(counts, own)) > all)
        return NULL;
    its = value(c->fabric, model);
    ibh_case_say(c, "own", "%s", own);
    ibh_case_say(c, "its", "%s", its);
    ibh_case_say(c, "model", "%s", model->iface);
    ibh_case_say(c, "subnet", "%s", ibh_prefix_format(ibh_port_nics_shared_subnet(c->nic, model), text));
    return model;
}

/* Of InfiniBand, in order, and no subnet manager hands it over just now. */
static const IbhPort *find_port(const IbhFabric *fabric, const IbhPortNic *nic)
{
    const IbhPort *port = ibh_fabric_port(fabric, nic);

    return port && port->layer == IBH_LAYER_INFINIBAND && ibh_port_is_right(port) && port->is_steady ? port : NULL;
}

static char *pkey_of(const IbhFabric *fabric, const IbhPortNic *nic)
{
    return nic->pkey != IBH_UNKNOWN && find_port(fabric, nic) ? g_strdup_printf("0x%04x", (guint)nic->pkey | PKEY_FULL)
                                                              : NULL;
}

static char *prefix_of(const IbhFabric *fabric, const IbhPortNic *nic)
{
    const IbhPort *port = find_port(fabric, nic);

    return port && port->gid.prefix ? g_strdup_printf("%016" G_GINT64_MODIFIER "x", port->gid.prefix) : NULL;
}

static char *sm_of(const IbhFabric *fabric, const IbhPortNic *nic)
{
    const IbhPort *port = find_port(fabric, nic);

    return port && port->sm_lid > 0 ? g_strdup_printf("%d", port->sm_lid) : NULL;
}

static gboolean pkey_differs(IbhCase *c)
{
    return find_model(c, pkey_of) != NULL;
}

static gboolean prefix_differs(IbhCase *c)
{
    return find_model(c, prefix_of) != NULL;
}

/* Of two fabrics each has a manager of its own: that they are two is said already. */
static gboolean sm_differs(IbhCase *c)
{
    const IbhPortNic *model = find_model(c, sm_of);
    const IbhPort *its = model ? ibh_fabric_port(c->fabric, model) : NULL;

    return its && (!c->port->gid.prefix || !its->gid.prefix || c->port->gid.prefix == its->gid.prefix);
}

/* ---- one MTU and mode for a subnet ---- */

#define IPV6_LEAST 1280 /* below it the kernel takes IPv6 away */

static gboolean has_mtu(const IbhPortNic *nic)
{
    return nic->mtu != IBH_UNKNOWN && (nic->type != ARPHRD_INFINIBAND || nic->mode[0]);
}

static gboolean has_one_beside(const GPtrArray *rails, const IbhPortNic *nic)
{
    IBH_EACH_POINTER (const IbhPortNic, other, rails) {
        if (ibh_port_nics_are_beside(nic, other))
            return TRUE;
    }
    return FALSE;
}

static int compare_places(gconstpointer a, gconstpointer b)
{
    const IbhPortNic *const *one = a, *const *other = b;

    return *one < *other ? -1 : *one > *other;
}

/* This rail, those beside it, and those beside them, in the order of the host, const IbhPortNic *: one of them cannot
 * be changed without regard for the others. */
static GPtrArray *find_rails_around(const IbhCase *c)
{
    GPtrArray *rails = g_ptr_array_new();

    g_ptr_array_add(rails, (gpointer)(guintptr)c->nic);
    for (guint known = 0; known < rails->len;) {
        known = rails->len;
        IBH_EACH (const IbhPortNic, nic, c->fabric->nics) {
            if (has_mtu(nic) && has_one_beside(rails, nic) && !g_ptr_array_find(rails, nic, NULL))
                g_ptr_array_add(rails, (gpointer)(guintptr)nic);
        }
    }
    g_ptr_array_sort(rails, compare_places);
    return rails;
}

static gboolean are_alike(const IbhPortNic *a, const IbhPortNic *b)
{
    return a->mtu == b->mtu && g_str_equal(a->mode, b->mode);
}

static guint count_alike(const GPtrArray *rails, const IbhPortNic *nic)
{
    guint n = 0;

    IBH_EACH_POINTER (const IbhPortNic, other, rails)
        n += are_alike(nic, other) ? 1 : 0;
    return n;
}

static gboolean have_ipv6(const GPtrArray *rails)
{
    IBH_EACH_POINTER (const IbhPortNic, nic, rails) {
        IBH_EACH (const IbhPrefix, subnet, nic->subnets) {
            if (subnet->ip.family == AF_INET6)
                return TRUE;
        }
    }
    return FALSE;
}

/* The rail that the others are to be like: one of the majority, or else the one with the smallest MTU, because larger
 * packets than that are lost. NULL: there are none. */
static const IbhPortNic *find_goal(const GPtrArray *rails)
{
    const int least = have_ipv6(rails) ? IPV6_LEAST : 0;
    const IbhPortNic *goal = NULL;

    IBH_EACH_POINTER (const IbhPortNic, nic, rails) {
        if (nic->mtu < least)
            continue;
        if (2 * count_alike(rails, nic) > rails->len)
            return nic;
        if (!goal || nic->mtu < goal->mtu)
            goal = nic;
    }
    return goal;
}

static char *describe_mtu(const IbhPortNic *nic)
{
    return g_strdup_printf("MTU %d%s%s", nic->mtu, nic->mode[0] ? ", " : "", nic->mode);
}

/* The commands that make all of them like the goal, and in words which those are. */
static void say_mtus(IbhCase *c, const GPtrArray *rails, const IbhPortNic *goal)
{
    g_autoptr(GString) commands = g_string_new(NULL), others = g_string_new(NULL);
    char text[IBH_PREFIX_STRLEN];

    IBH_EACH_POINTER (const IbhPortNic, nic, rails) {
        g_autofree char *name = ibh_text_shell_word(nic->iface), *own = describe_mtu(nic);

        if (are_alike(nic, goal))
            continue;
        g_string_append_printf(others, "%s%s has %s", others->len ? "; " : "", nic->iface, own);
        if (!g_str_equal(nic->mode, goal->mode))
            g_string_append_printf(commands, "%secho %s >/sys/class/net/%s/mode", commands->len ? "; " : "", goal->mode,
                                   name);
        if (nic->mtu != goal->mtu)
            g_string_append_printf(commands, "%sip link set %s mtu %d", commands->len ? "; " : "", name, goal->mtu);
    }
    ibh_case_say(c, "others", "%s", others->str);
    ibh_case_take(c, "commands", ibh_command_with_sudo(g_strdup(commands->str)));
    ibh_case_take(c, "its", describe_mtu(goal));
    ibh_case_say(c, "model", "%s", goal->iface);
    ibh_case_say(c, "subnet", "%s", ibh_prefix_format(&g_array_index(goal->subnets, IbhPrefix, 0), text));
}

/* The words are the same for each of these rails: so they are one finding, which hits the rails that differ from the
 * majority, and without a majority all. */
static gboolean mtu_differs(IbhCase *c)
{
    g_autoptr(GPtrArray) rails = find_rails_around(c);
    const IbhPortNic *goal = has_mtu(c->nic) && c->nic->rail ? find_goal(rails) : NULL;
    const guint alike = goal ? count_alike(rails, goal) : rails->len;
    const gboolean is_majority = 2 * alike > rails->len;

    if (alike == rails->len || (is_majority && are_alike(c->nic, goal)))
        return FALSE;
    say_mtus(c, rails, goal);
    /* Without a majority this host cannot know which of them the fabric has. */
    ibh_case_say(c, "do",
                 is_majority ? "$ {commands}"
                             : "make them alike, as the fabric has it; the smaller one fits all: {commands}");
    return TRUE;
}

#define FABRIC_ADVICE "so the peers of one rail cannot reach the other"
#define PARTITION_ADVICE                                                                                               \
    "where the subnet manager runs, add \"{partition}, ipoib: {guid}=full;\" to its partitions (opensm: "              \
    "/etc/rdma/partitions.conf) and restart it"

const IbhRow ibh_rows_of_nic[] = {
    {"mode-mtu", mtu_differs,
     "{others}, expected {its} as {model} in the same subnet {subnet}: a peer that sends to both loses the packets "
     "that "
     "are too large for one of them",
     "{do}"},
    {"pkey-unknown", lacks_pkey,
     "P_Key {pkey} is not in the table of {port}, where it is expected: the subnet manager has not made the port a "
     "member of that partition, so the interface reaches no host",
     PARTITION_ADVICE},
    {"pkey-limited", is_limited,
     "the table of {port} has {found}, a limited member, not {full}: it reaches full members of the partition, but no "
     "other limited one, so two such hosts do not reach each other",
     PARTITION_ADVICE},
    {"subnet-prefix-differs", has_stale_prefix,
     "the hardware address of {iface} has the subnet prefix {own}, expected {its} as its port {port}: peers learn an "
     "address that the fabric no longer has, so what they send is lost",
     "$ ip link set {iface} down; ip link set {iface} up"},
    {"gid-missing", has_wrong_gid,
     "the GID table of {port} {fault} for {address}: RDMA connections from and to it fail, though ping works",
     "remove the address from {iface} and add it again; if that does not help, see what the kernel says of it (dmesg), "
     "and load the adapter's driver again or reboot"},
    {"pkey-differs", pkey_differs,
     "P_Key {own}, expected {its} as {model} has, in the same subnet {subnet}: members of one partition do not hear "
     "those of another, " FABRIC_ADVICE,
     "give both interfaces the P_Key that their peers have, or each partition a subnet of its own"},
    {"subnet-prefix-differs", prefix_differs,
     "the GIDs of {port} begin with {own}, expected {its} as those of {model}, in the same IP subnet {subnet}: they "
     "are on two fabrics, " FABRIC_ADVICE,
     "if both are cabled to one fabric, give its subnet managers one subnet_prefix; if not, give each fabric an IP "
     "subnet of its own"},
    {"sm-differs", sm_differs,
     "the subnet manager of {port} has lid {own}, expected {its} as that of {model}, in the same IP subnet {subnet}: "
     "they are on two fabrics, " FABRIC_ADVICE,
     "see which subnet manager each port has (sminfo -C DEVICE -P PORT); if they are on two fabrics, cable them to "
     "one, or give each an IP subnet of its own"},
    {0},
};
