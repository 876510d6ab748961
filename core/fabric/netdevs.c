/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings about the netdevs of ports: P_Keys, hardware addresses, GIDs of addresses, and values that rails of one
 * subnet must share. Pure.
 *
 * A predicate is TRUE if its finding applies. Then it also sets the words of the finding's texts (check/row.h), except
 * {port} and {iface}, which the callers set.
 */
#include "fabric/rows.h"

#include <linux/if_arp.h>
#include <sys/socket.h>

#define PKEY_FULL 0x8000

/* ---- P_Keys ---- */

/* Returns the P_Key in the port's table that is equal to `pkey` apart from PKEY_FULL, preferably that of a full member;
 * 0 if there is none. */
static guint16 find_pkey(const IbhPort *port, int pkey)
{
    guint16 found = 0;

    IBH_EACH (const guint16, own, port->pkeys) {
        if ((*own & ~PKEY_FULL) == (pkey & ~PKEY_FULL))
            found = MAX(found, *own); /* a full member's P_Key is greater: it has PKEY_FULL */
    }
    return found;
}

/* Sets {pkey}, and the words for the line that a person has to add to the subnet manager's list of partitions
 * (PARTITION_ADVICE in rows.c). */
static void say_partition(IbhSubject *about)
{
    guint number = (guint)about->netdev->pkey & ~(guint)PKEY_FULL;

    ibh_subject_say(about, "pkey=0x%04x", (guint)about->netdev->pkey);
    /* opensm has a name of its own for the default partition; the names of the others are free. */
    if (number == 0x7fff)
        ibh_subject_say(about, "partition=Default=0x7fff");
    else
        ibh_subject_say(about, "partition=p%x=0x%04x", number, number);
    if (about->port->gid.guid)
        ibh_subject_say(about, "guid=0x%016" G_GINT64_MODIFIER "x", about->port->gid.guid);
    else
        ibh_subject_say(about, "guid=ALL"); /* the GUID is not known, so name all ports of the fabric */
}

/* The subnet manager fills the P_Key table before the port becomes active, so until then the table proves nothing. Nor
 * does a part of the table: the rest may have the P_Key. */
static gboolean can_judge_pkey(const IbhSubject *about)
{
    return about->port && about->netdev->pkey != IBH_UNKNOWN && ibh_port_is_active(about->port) &&
           about->port->has_all_pkeys;
}

gboolean ibh_netdev_lacks_pkey(IbhSubject *about)
{
    if (!can_judge_pkey(about) || find_pkey(about->port, about->netdev->pkey))
        return FALSE;
    say_partition(about);
    return TRUE;
}

gboolean ibh_netdev_is_limited(IbhSubject *about)
{
    guint16 found = can_judge_pkey(about) ? find_pkey(about->port, about->netdev->pkey) : 0;

    if (!found || (found & PKEY_FULL))
        return FALSE;
    say_partition(about);
    ibh_subject_say(about, "found=0x%04x\nfull=0x%04x", (guint)found, (guint)(found | PKEY_FULL));
    return TRUE;
}

/* ---- hardware addresses ---- */

/* TRUE if the hardware address has another subnet prefix than the port's GID. FALSE in four cases:
 * - The port or one of the prefixes is not known.
 * - No address of the netdev counts (IbhPortNic.used).
 * - Another subnet manager is just taking over (IbhPort.is_steady).
 * - The state of the port is not right (ibh_port_is_right()). */
gboolean ibh_netdev_has_stale_prefix(IbhSubject *about)
{
    if (!about->port || !about->netdev->used || !about->port->is_steady || !ibh_port_is_right(about->port))
        return FALSE;
    if (!about->netdev->address_prefix || !about->port->gid.prefix ||
        about->netdev->address_prefix == about->port->gid.prefix)
        return FALSE;
    ibh_subject_say(about, "own=%016" G_GINT64_MODIFIER "x\nits=%016" G_GINT64_MODIFIER "x",
                    about->netdev->address_prefix, about->port->gid.prefix);
    return TRUE;
}

/* ---- GIDs of addresses ---- */

/* Returns the GID for this address, or NULL. The GID must have the RoCE version of new connections, unless one of the
 * two versions is not known. A NIC and its VLAN share a port, and may have the same address. So a GID that names this
 * NIC, or no NIC, takes precedence. */
static const IbhGid *find_gid_of_address(const IbhPort *port, const IbhIp *ip, const char *iface)
{
    const IbhGid *found = NULL;

    IBH_EACH (const IbhGid, gid, port->gids) {
        if ((port->roce != IBH_UNKNOWN && gid->roce != IBH_UNKNOWN && gid->roce != port->roce) ||
            !ibh_ip_equal(&gid->ip, ip))
            continue;
        if (!gid->ndev[0] || g_str_equal(gid->ndev, iface))
            return gid;
        found = found ? found : gid;
    }
    return found;
}

/* TRUE if an address of a RoCE NIC has no GID, or has a GID that names another netdev. The words are about the first
 * such address: wrong GIDs of one NIC have one cause. FALSE if the GID table was not read as a whole, if the NIC is
 * down or has no carrier, or if the port is not sound (ibh_port_is_sound()). */
gboolean ibh_netdev_has_wrong_gid(IbhSubject *about)
{
    const IbhPort *port = about->port;
    char text[IBH_IP_STRLEN];

    if (!port || port->layer != IBH_LAYER_ETHERNET || port->iwarp || !port->has_all_gids)
        return FALSE;
    if (!about->netdev->used || !about->netdev->usable || !ibh_port_is_sound(about))
        return FALSE;
    IBH_EACH (const IbhIp, ip, about->netdev->addresses) {
        const IbhGid *gid = find_gid_of_address(port, ip, about->netdev->iface);

        if (gid && (!gid->ndev[0] || g_str_equal(gid->ndev, about->netdev->iface)))
            continue;
        ibh_subject_say(about, "address=%s", ibh_ip_format(ip, text));
        if (gid)
            ibh_subject_say(about, "fault=names %s, not %s, in its entry", gid->ndev, about->netdev->iface);
        else
            ibh_subject_say(about, "fault=has no entry");
        return TRUE;
    }
    return FALSE;
}

/* ---- values that rails of one subnet must share ---- */

typedef enum { VALUE_PKEY, VALUE_PREFIX, VALUE_SM } Value;

/* Returns a value in words. NULL if the value is not known, or must not be compared, because the port is not
 * InfiniBand, because its state is not right, or because another subnet manager is just taking over. P_Keys of full and
 * limited members of one partition count as equal. */
static char *describe_value(const IbhFabric *fabric, const IbhPortNic *nic, Value value)
{
    const IbhPort *port = ibh_fabric_port(fabric, nic);

    if (!port || port->layer != IBH_LAYER_INFINIBAND || !ibh_port_is_right(port) || !port->is_steady)
        return NULL;
    if (value == VALUE_PKEY && nic->pkey != IBH_UNKNOWN)
        return g_strdup_printf("0x%04x", (guint)nic->pkey | PKEY_FULL);
    if (value == VALUE_PREFIX && port->gid.prefix)
        return g_strdup_printf("%016" G_GINT64_MODIFIER "x", port->gid.prefix);
    return value == VALUE_SM && port->sm_lid > 0 ? g_strdup_printf("%d", port->sm_lid) : NULL;
}

/* Compares a value of the subject, a rail, with the values of the rails beside it (ibh_port_nics_are_beside()). The
 * subject counts as one of these rails; rails whose value is not known do not count. Returns a rail that has the most
 * frequent of the values that differ from the subject's value, and sets the words. Returns NULL if the subject is no
 * rail, if its value is not known or must not be compared (describe_value()), if no rail has another value, or if more
 * than half of the rails compared have the subject's value. */
static const IbhPortNic *find_model(IbhSubject *about, Value value)
{
    g_autoptr(GHashTable) counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autofree char *own = about->netdev->rail ? describe_value(about->fabric, about->netdev, value) : NULL,
                    *its = NULL;
    const IbhPortNic *model = NULL;
    char text[IBH_PREFIX_STRLEN];
    gsize all = 0, best = 0;

    if (!own)
        return NULL;
    /* Count how many rails have each value. */
    IBH_EACH (const IbhPortNic, other, about->fabric->nics) {
        char *other_value =
            ibh_port_nics_are_beside(about->netdev, other) ? describe_value(about->fabric, other, value) : NULL;
        gsize n = other_value ? GPOINTER_TO_SIZE(g_hash_table_lookup(counts, other_value)) + 1 : 0;

        if (!other_value)
            continue;
        all++;
        if (!g_str_equal(other_value, own) && n > best) {
            best = n;
            model = other;
        }
        g_hash_table_replace(counts, other_value, GSIZE_TO_POINTER(n));
    }
    if (!best || 2 * GPOINTER_TO_SIZE(g_hash_table_lookup(counts, own)) > all)
        return NULL;
    its = describe_value(about->fabric, model, value);
    ibh_subject_say(about, "own=%s\nits=%s\nmodel=%s\nsubnet=%s", own, its, model->iface,
                    ibh_prefix_format(ibh_port_nics_shared_subnet(about->netdev, model), text));
    return model;
}

gboolean ibh_netdev_has_other_pkey(IbhSubject *about)
{
    return find_model(about, VALUE_PKEY) != NULL;
}

gboolean ibh_netdev_has_other_prefix(IbhSubject *about)
{
    return find_model(about, VALUE_PREFIX) != NULL;
}

/* TRUE if another rail in the subnet has a subnet manager with another lid, and at most half of the rails compared have
 * the same SM lid as this rail (find_model()). FALSE if the subnet prefixes differ, too, because the finding
 * subnet-prefix-differs reports that. */
gboolean ibh_netdev_has_other_sm(IbhSubject *about)
{
    const IbhPortNic *model = find_model(about, VALUE_SM);
    const IbhPort *its = model ? ibh_fabric_port(about->fabric, model) : NULL;

    return its && (!about->port->gid.prefix || !its->gid.prefix || about->port->gid.prefix == its->gid.prefix);
}

/* ---- one MTU and mode for a subnet ---- */

#define IPV6_LEAST 1280 /* the kernel disables IPv6 on links with a smaller MTU */

/* TRUE if the MTU and, for InfiniBand, the mode are known. FALSE for a NIC that is down or has no carrier: an
 * InfiniBand NIC has no carrier until it has joined its multicast group, and it gets the fabric's MTU only then. */
static gboolean has_mtu(const IbhPortNic *nic)
{
    return nic->usable && nic->mtu != IBH_UNKNOWN && (nic->type != ARPHRD_INFINIBAND || nic->mode[0]);
}

/* Returns this rail, the rails beside it (ibh_port_nics_are_beside()), the rails beside these rails, and so on. Leaves
 * out rails whose MTU is not known (has_mtu()), except this rail itself. All rails of the list need the same MTU. The
 * list has const IbhPortNic *, in the order of IbhFabric.nics. */
static GPtrArray *find_rails_around(const IbhSubject *about)
{
    g_autoptr(GHashTable) around = g_hash_table_new(NULL, NULL);
    g_autoptr(GPtrArray) found = g_ptr_array_new(); /* the rails of `around`, in the order in which they were found */
    GPtrArray *rails = g_ptr_array_new();

    g_hash_table_add(around, (gpointer)(guintptr)about->netdev);
    g_ptr_array_add(found, (gpointer)(guintptr)about->netdev);
    for (guint i = 0; i < found->len; i++) { /* the loop adds to `found` */
        const IbhPortNic *rail = g_ptr_array_index(found, i);

        IBH_EACH (IbhPortNic, nic, about->fabric->nics) {
            if (has_mtu(nic) && ibh_port_nics_are_beside(rail, nic) && g_hash_table_add(around, nic))
                g_ptr_array_add(found, nic);
        }
    }
    IBH_EACH (IbhPortNic, nic, about->fabric->nics) {
        if (g_hash_table_contains(around, nic))
            g_ptr_array_add(rails, nic);
    }
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

/* Returns the rail whose MTU and mode the others should get. If more than half of the rails have the same MTU and mode,
 * returns the first of these rails; otherwise returns the rail with the smallest MTU, which all rails can use. If a
 * rail has an IPv6 subnet, leaves out rails whose MTU is too small for IPv6; returns NULL if no rail is left. */
static const IbhPortNic *find_goal(const GPtrArray *rails)
{
    const IbhPortNic *goal = NULL;
    int least = 0;

    IBH_EACH_POINTER (const IbhPortNic, nic, rails) {
        IBH_EACH (const IbhPrefix, subnet, nic->subnets)
            least = subnet->ip.family == AF_INET6 ? IPV6_LEAST : least;
    }
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

/* Returns the first subnet of the goal that all rails with another MTU or mode have, too; NULL if there is none. */
static const IbhPrefix *find_common_subnet(const GPtrArray *rails, const IbhPortNic *goal)
{
    IBH_EACH (const IbhPrefix, subnet, goal->subnets) {
        gboolean is_common = TRUE;

        IBH_EACH_POINTER (const IbhPortNic, nic, rails) {
            gboolean has_subnet = are_alike(nic, goal);

            IBH_EACH (const IbhPrefix, own, nic->subnets)
                has_subnet |= ibh_prefix_equal(own, subnet);
            is_common &= has_subnet;
        }
        if (is_common)
            return subnet;
    }
    return NULL;
}

/* TRUE if the rails around this rail (find_rails_around()) differ in MTU or mode. FALSE in four cases:
 * - The MTU of this netdev is not known (has_mtu()).
 * - The netdev is no rail.
 * - There is no goal (find_goal()).
 * - More than half of the rails, among them this rail, have the MTU and mode of the goal: then this majority is right.
 * The words are the same for each rail with this problem, so these rails share a finding. For each rail that
 * differs from the goal, the commands set the goal's MTU and mode. */
gboolean ibh_netdev_has_other_mtu(IbhSubject *about)
{
    g_autoptr(GPtrArray) rails = find_rails_around(about);
    g_autoptr(GString) list = g_string_new(NULL), others = g_string_new(NULL);
    const IbhPortNic *goal = has_mtu(about->netdev) && about->netdev->rail ? find_goal(rails) : NULL;
    const guint alike = goal ? count_alike(rails, goal) : 0;
    g_autofree char *commands = NULL, *its = NULL;
    const gboolean is_majority = 2 * alike > rails->len;
    const IbhPrefix *subnet;
    gboolean is_raised = FALSE;
    char text[IBH_PREFIX_STRLEN];

    if (!goal || alike == rails->len || (is_majority && are_alike(about->netdev, goal)))
        return FALSE;
    IBH_EACH_POINTER (const IbhPortNic, nic, rails) {
        g_autofree char *name = ibh_text_shell_word(nic->iface), *own = describe_mtu(nic);

        if (are_alike(nic, goal))
            continue;
        /* Without a majority, an MTU can be below the goal's only if it is too small for IPv6 (find_goal()). */
        is_raised |= nic->mtu < goal->mtu;
        g_string_append_printf(others, "%s%s has %s", others->len ? "; " : "", nic->iface, own);
        if (!g_str_equal(nic->mode, goal->mode))
            g_string_append_printf(list, "%secho %s >/sys/class/net/%s/mode", list->len ? "; " : "", goal->mode, name);
        if (nic->mtu != goal->mtu)
            g_string_append_printf(list, "%sip link set %s mtu %d", list->len ? "; " : "", name, goal->mtu);
    }
    commands = ibh_command_with_sudo(g_strdup(list->str));
    its = describe_mtu(goal);
    subnet = find_common_subnet(rails, goal);
    ibh_subject_say(about, "others=%s\ncommands=%s\nits=%s\nmodel=%s\nsubnet=%s%s", others->str, commands, its,
                    goal->iface, subnet ? " " : "", subnet ? ibh_prefix_format(subnet, text) : "");
    if (!is_majority) /* this host cannot know which MTU the fabric has */
        about->remedy = is_raised ? "make them alike, as the fabric has it; IPv6 needs 1280 or more: {commands}"
                                  : "make them alike, as the fabric has it; the smallest one fits all: {commands}";
    return TRUE;
}
