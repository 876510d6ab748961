/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/heard.h"

#include "kernel/netlink.h"

#include <linux/fib_rules.h>
#include <linux/netconf.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

/* ---- one report ---- */

static guint32 find_u32(struct nlmsghdr *header, gsize fixed, int type)
{
    const struct nlattr *attribute = nlmsg_find_attr(header, (int)fixed, type);

    return attribute && nla_len(attribute) >= (int)sizeof(guint32) ? nla_get_u32(attribute) : 0;
}

static gboolean takes_ours(struct nlmsghdr *header)
{
    if (header->nlmsg_type == RTM_DELRULE)
        return nlmsg_valid_hdr(header, sizeof(struct fib_rule_hdr)) && ibh_rule_of(header).suppress_ifgroup == IBH_MARK;
    return header->nlmsg_type == RTM_DELROUTE && find_u32(header, sizeof(struct rtmsg), RTA_PRIORITY) == IBH_MARK;
}

/* Of what a message about a link, an address or an interface's settings is; 0: of something else. */
static int link_of(struct nlmsghdr *header)
{
    const struct ifinfomsg *link = nlmsg_data(header);
    const struct ifaddrmsg *address = nlmsg_data(header);

    switch (header->nlmsg_type) {
    case RTM_NEWLINK:
    case RTM_DELLINK:
        return nlmsg_valid_hdr(header, sizeof *link) ? link->ifi_index : 0;
    case RTM_NEWADDR:
    case RTM_DELADDR:
        return nlmsg_valid_hdr(header, sizeof *address) ? (int)address->ifa_index : 0;
    case RTM_NEWNETCONF:
        return (int)find_u32(header, sizeof(struct netconfmsg), NETCONFA_IFINDEX);
    default:
        return 0;
    }
}

static const char *name_change(guint16 type)
{
    switch (type) {
    case RTM_NEWLINK:
    case RTM_DELLINK:
        return "a link changed";
    case RTM_NEWADDR:
    case RTM_DELADDR:
        return "an address changed";
    case RTM_NEWRULE:
    case RTM_DELRULE:
        return "a rule changed";
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
        return "a route changed";
    case RTM_NEWNETCONF:
    case RTM_DELNETCONF:
        return "a sysctl changed";
    default:
        return "a nexthop changed";
    }
}

/* ---- what another process deletes ---- */

/* Rules by their source, routes by their table: what of a rail and family is deleted is one thing or a few. */
static IbhTaken *find_taken(const IbhHeard *heard, const IbhTaken *like)
{
    IBH_EACH (IbhTaken, taken, heard->taken) {
        if (taken->family == like->family && taken->table == like->table && ibh_ip_equal(&taken->from, &like->from))
            return taken;
    }
    return NULL;
}

static void remember_taken(IbhHeard *heard, struct nlmsghdr *header)
{
    const struct rtmsg *info = nlmsg_data(header); /* of a rule, it begins with the same fields */
    IbhTaken taken = {.family = info->rtm_family, .port = header->nlmsg_pid}, *before;

    if (header->nlmsg_type == RTM_DELRULE)
        taken.from = ibh_rule_of(header).from.ip;
    else
        taken.table = find_u32(header, sizeof *info, RTA_TABLE);
    before = find_taken(heard, &taken);
    if (before)
        *before = taken;
    else
        g_array_append_val(heard->taken, taken);
}

static void remember_moved(IbhHeard *heard, struct nlmsghdr *header)
{
    const int ifindex = header->nlmsg_type == RTM_NEWNETCONF ? 0 : link_of(header);

    if (ibh_numbers_have(heard->nics, ifindex) && !ibh_numbers_have(heard->moved, ifindex))
        g_array_append_val(heard->moved, ifindex);
}

/* ---- all of them ---- */

void ibh_heard_add(gpointer data, struct nlmsghdr *header)
{
    IbhHeard *heard = data;
    const gboolean takes = takes_ours(header);
    const gboolean ours = takes || ibh_numbers_have(heard->nics, link_of(header));

    if (!heard->first || (ours && !heard->ours))
        heard->first = name_change(header->nlmsg_type);
    heard->ours |= ours;
    if (header->nlmsg_pid && takes)
        remember_taken(heard, header);
    remember_moved(heard, header);
}

guint32 ibh_heard_taker(const IbhHeard *heard, const IbhOp *op)
{
    const gboolean is_rule = op->type == IBH_OP_RULE_ADD;
    const IbhTaken made = {.family = op->unit.family,
                           .from = is_rule ? op->rule.from.ip : (IbhIp){.family = AF_UNSPEC},
                           .table = is_rule ? 0 : op->route.table};
    const IbhTaken *taken = find_taken(heard, &made);

    if (!is_rule && op->type != IBH_OP_ROUTE_ADD && op->type != IBH_OP_ROUTE_REPLACE)
        return 0;
    return taken ? taken->port : 0;
}

void ibh_heard_init(IbhHeard *heard)
{
    *heard = (IbhHeard){.taken = IBH_NEW_ARRAY(IbhTaken), .moved = IBH_NEW_ARRAY(int)};
}

void ibh_heard_forget(IbhHeard *heard)
{
    heard->first = NULL;
    g_array_set_size(heard->taken, 0);
    g_array_set_size(heard->moved, 0);
}

void ibh_heard_clear(IbhHeard *heard)
{
    g_array_unref(heard->taken);
    g_array_unref(heard->moved);
}
