/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Netdevs of ports: P_Keys, GIDs of their addresses, and what rails of one subnet have in common. Pure.
 */
#include "fabric/case.h"

#include "model/text.h"

#include <string.h>

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
    return c->port && c->nic->pkey != IBH_UNKNOWN && ibh_is_active(c->port);
}

gboolean ibh_lacks_pkey(IbhCase *c)
{
    if (!has_pkey(c) || !c->port->has_all_pkeys || find_pkey(c->port, c->nic->pkey))
        return FALSE;
    say_partition(c);
    return TRUE;
}

gboolean ibh_is_limited(IbhCase *c)
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

gboolean ibh_has_stale_prefix(IbhCase *c)
{
    if (!c->port || !c->nic->used || !c->nic->address_prefix || !c->port->gid.prefix || !c->port->is_steady ||
        !ibh_is_right(c->port) || c->nic->address_prefix == c->port->gid.prefix)
        return FALSE;
    ibh_case_say(c, "own", "%016" G_GINT64_MODIFIER "x", c->nic->address_prefix);
    ibh_case_say(c, "its", "%016" G_GINT64_MODIFIER "x", c->port->gid.prefix);
    return TRUE;
}

/* 10,236 is the most that a datagram takes, on Omni-Path. */
gboolean ibh_has_impossible_mtu(IbhCase *c)
{
    ibh_case_say(c, "mtu", "%d", c->nic->mtu);
    return g_str_equal(c->nic->mode, "datagram") && c->nic->mtu > 10236;
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

/* One finding a NIC: further missing GIDs have the same cause. */
static gboolean says_gid(IbhCase *c, gboolean missing)
{
    char text[IBH_IP_STRLEN];

    if (!c->port || c->port->layer != IBH_LAYER_ETHERNET || c->port->iwarp || !c->port->has_all_gids || !c->nic->used ||
        !c->nic->usable || !ibh_is_sound(c, c->port))
        return FALSE;
    IBH_EACH (const IbhIp, ip, c->nic->addresses) {
        const IbhGid *gid = find_gid(c->port, ip);

        if (missing ? gid != NULL : !gid || !gid->ndev[0] || g_str_equal(gid->ndev, c->nic->iface))
            continue;
        ibh_case_say(c, "address", "%s", ibh_ip_format(ip, text));
        ibh_case_say(c, "ndev", "%s", missing ? "" : gid->ndev);
        return TRUE;
    }
    return FALSE;
}

gboolean ibh_lacks_address_gid(IbhCase *c)
{
    return says_gid(c, TRUE);
}

gboolean ibh_has_foreign_gid(IbhCase *c)
{
    return says_gid(c, FALSE);
}

/* ---- what rails of one subnet have in common ---- */

/* A value that has to be the same, as a text; NULL: not known, or hidden by another cause. */
typedef char *Value(const IbhFabric *fabric, const IbhPortNic *nic);

/* Names the rails that differ from the majority; without a majority, all. `describe`: what is said of both. */
static gboolean differs(IbhCase *c, Value *value, Value *describe)
{
    g_autoptr(GHashTable) counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autofree char *own = c->nic->rail ? value(c->fabric, c->nic) : NULL;
    char text[IBH_PREFIX_STRLEN];
    gsize all = 0, best = 0;

    if (!own)
        return FALSE;
    IBH_EACH (const IbhPortNic, other, c->fabric->nics) {
        char *its = ibh_are_beside(c->nic, other) ? value(c->fabric, other) : NULL;
        gsize n = its ? GPOINTER_TO_SIZE(g_hash_table_lookup(counts, its)) + 1 : 0;

        if (!its)
            continue;
        all++;
        if (!g_str_equal(its, own) && n > best) {
            best = n;
            c->model = other;
        }
        g_hash_table_replace(counts, its, GSIZE_TO_POINTER(n));
    }
    if (!best || 2 * GPOINTER_TO_SIZE(g_hash_table_lookup(counts, own)) > all)
        return FALSE;
    c->is_model_right = 2 * best > all;
    ibh_case_take(c, "own", describe(c->fabric, c->nic));
    ibh_case_take(c, "its", describe(c->fabric, c->model));
    ibh_case_say(c, "model", "%s", c->model->iface);
    ibh_case_say(c, "subnet", "%s", ibh_prefix_format(ibh_find_shared_subnet(c->nic, c->model), text));
    return TRUE;
}

static char *mtu_of(const IbhFabric *fabric, const IbhPortNic *nic)
{
    (void)fabric;
    return nic->mtu == IBH_UNKNOWN ? NULL : g_strdup_printf("MTU %d", nic->mtu);
}

static char *mode_of(const IbhFabric *fabric, const IbhPortNic *nic)
{
    (void)fabric;
    return nic->mode[0] ? g_strdup(nic->mode) : NULL;
}

static char *mtu_and_mode_of(const IbhFabric *fabric, const IbhPortNic *nic)
{
    g_autofree char *mtu = mtu_of(fabric, nic);

    return g_strdup_printf("%s%s%s", mtu ? mtu : "", mtu && nic->mode[0] ? ", " : "", nic->mode);
}

static const IbhPort *right_port_of(const IbhFabric *fabric, const IbhPortNic *nic)
{
    const IbhPort *port = ibh_fabric_port(fabric, nic);

    return port && ibh_is_right(port) ? port : NULL;
}

static char *pkey_of(const IbhFabric *fabric, const IbhPortNic *nic)
{
    return nic->pkey != IBH_UNKNOWN && right_port_of(fabric, nic)
               ? g_strdup_printf("0x%04x", (guint)nic->pkey | PKEY_FULL)
               : NULL;
}

static char *prefix_of(const IbhFabric *fabric, const IbhPortNic *nic)
{
    const IbhPort *port = right_port_of(fabric, nic);

    return port && port->layer == IBH_LAYER_INFINIBAND && port->gid.prefix && port->is_steady
               ? g_strdup_printf("%016" G_GINT64_MODIFIER "x", port->gid.prefix)
               : NULL;
}

static char *sm_of(const IbhFabric *fabric, const IbhPortNic *nic)
{
    const IbhPort *port = right_port_of(fabric, nic);

    return port && port->layer == IBH_LAYER_INFINIBAND && port->sm_lid > 0 && port->is_steady
               ? g_strdup_printf("%d", port->sm_lid)
               : NULL;
}

gboolean ibh_mtu_differs(IbhCase *c)
{
    g_autofree char *mode = NULL, *mtu = NULL, *word = ibh_shell_word(c->nic->iface);

    if (!differs(c, mtu_of, mtu_and_mode_of) && !differs(c, mode_of, mtu_and_mode_of))
        return FALSE;
    if (c->model->mode[0] && c->nic->mode[0] && !g_str_equal(c->nic->mode, c->model->mode))
        mode = g_strdup_printf("echo %s >/sys/class/net/%s/mode", c->model->mode, word);
    if (c->nic->mtu != c->model->mtu && c->model->mtu != IBH_UNKNOWN)
        mtu = g_strdup_printf("%sip link set %s mtu %d", mode ? "; " : "", word, c->model->mtu);
    /* Without a majority this host cannot know which of them is right. */
    ibh_case_say(c, "do", "%s%s%s",
                 c->is_model_right ? "$ " : "make them alike, as the fabric has it; as {model} is: ", mode ? mode : "",
                 mtu ? mtu : "");
    return TRUE;
}

gboolean ibh_pkey_differs(IbhCase *c)
{
    return differs(c, pkey_of, pkey_of);
}

gboolean ibh_prefix_differs(IbhCase *c)
{
    return differs(c, prefix_of, prefix_of);
}

/* Of two fabrics each has a manager of its own: that they are two is said already. */
gboolean ibh_sm_differs(IbhCase *c)
{
    const IbhPort *own = c->port, *its;

    if (!differs(c, sm_of, sm_of))
        return FALSE;
    its = ibh_fabric_port(c->fabric, c->model);
    return !own->gid.prefix || !its->gid.prefix || own->gid.prefix == its->gid.prefix;
}
