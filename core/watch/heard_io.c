/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/heard.h"

#include "kernel/netlink.h"

#include <linux/fib_rules.h>
#include <linux/netconf.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

void ibh_heard_init(IbhHeard *heard)
{
    *heard =
        (IbhHeard){.taken = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL), .moved = IBH_NEW_ARRAY(int)};
}

void ibh_heard_forget(IbhHeard *heard)
{
    heard->first = NULL;
    g_hash_table_remove_all(heard->taken);
    g_array_set_size(heard->moved, 0);
}

void ibh_heard_clear(IbhHeard *heard)
{
    g_hash_table_unref(heard->taken);
    g_array_unref(heard->moved);
}

static guint32 find_u32(struct nlmsghdr *header, gsize fixed, int type)
{
    const struct nlattr *attribute = nlmsg_find_attr(header, (int)fixed, type);

    return attribute && nla_len(attribute) >= (int)sizeof(guint32) ? nla_get_u32(attribute) : 0;
}

/* `ret_ifindex`: of the link, the address or the interface's settings that changed; else 0. */
static const char *name_change(struct nlmsghdr *header, int *ret_ifindex)
{
    const struct ifinfomsg *link = nlmsg_data(header);
    const struct ifaddrmsg *address = nlmsg_data(header);

    *ret_ifindex = 0;
    switch (header->nlmsg_type & ~1) { /* RTM_NEW... and RTM_DEL... differ in the last bit */
    case RTM_NEWLINK:
        *ret_ifindex = nlmsg_valid_hdr(header, sizeof *link) ? link->ifi_index : 0;
        return "a link changed";
    case RTM_NEWADDR:
        *ret_ifindex = nlmsg_valid_hdr(header, sizeof *address) ? (int)address->ifa_index : 0;
        return "an address changed";
    case RTM_NEWNETCONF:
        *ret_ifindex = (int)find_u32(header, sizeof(struct netconfmsg), NETCONFA_IFINDEX);
        return "a sysctl changed";
    case RTM_NEWRULE:
        return "a rule changed";
    case RTM_NEWROUTE:
        return "a route changed";
    default:
        return "a nexthop changed";
    }
}

/* Rules by their source, routes by their table: what of a rail and family is deleted is one thing or a few. */
static char *name_taken(int family, const IbhRule *rule, guint32 table)
{
    char from[IBH_IP_STRLEN];

    return rule ? g_strdup_printf("%d from %s", family, ibh_ip_format(&rule->from.ip, from))
                : g_strdup_printf("%d table %u", family, table);
}

void ibh_heard_add(IbhHeard *heard, struct nlmsghdr *header)
{
    const struct rtmsg *info = nlmsg_data(header); /* of a rule, it begins with the same fields */
    const gboolean is_rule = header->nlmsg_type == RTM_DELRULE && nlmsg_valid_hdr(header, sizeof(struct fib_rule_hdr));
    const IbhRule rule = is_rule ? ibh_rule_of(header) : (IbhRule){.suppress_ifgroup = -1};
    const gboolean takes =
        rule.suppress_ifgroup == IBH_MARK ||
        (header->nlmsg_type == RTM_DELROUTE && find_u32(header, sizeof *info, RTA_PRIORITY) == IBH_MARK);
    int ifindex;
    const char *change = name_change(header, &ifindex);
    const gboolean is_nics = ibh_numbers_have(heard->nics, ifindex);

    if (!heard->first || ((takes || is_nics) && !heard->ours))
        heard->first = change;
    heard->ours |= takes || is_nics;
    if (takes && header->nlmsg_pid)
        g_hash_table_insert(heard->taken,
                            name_taken(info->rtm_family, is_rule ? &rule : NULL,
                                       is_rule ? 0 : find_u32(header, sizeof *info, RTA_TABLE)),
                            GUINT_TO_POINTER(header->nlmsg_pid));
    if (is_nics && (header->nlmsg_type & ~1) != RTM_NEWNETCONF && !ibh_numbers_have(heard->moved, ifindex))
        g_array_append_val(heard->moved, ifindex);
}

guint32 ibh_heard_taker(const IbhHeard *heard, const IbhOp *op)
{
    const gboolean is_rule = op->type == IBH_OP_RULE_ADD;
    g_autofree char *name = name_taken(op->unit.family, is_rule ? &op->rule : NULL, op->route.table);

    if (!is_rule && op->type != IBH_OP_ROUTE_ADD && op->type != IBH_OP_ROUTE_REPLACE)
        return 0;
    return GPOINTER_TO_UINT(g_hash_table_lookup(heard->taken, name));
}
