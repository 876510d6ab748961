/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include "kernel/dump.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

/* Older headers lack FRA_DSCP (6.12), FRA_SPORT_MASK, FRA_DPORT_MASK and FRA_DSCP_MASK (6.15). */
#define RULE_DSCP 25
#define RULE_SPORT_MASK 28
#define RULE_DPORT_MASK 29
#define RULE_DSCP_MASK 30

/* Attributes whose value we copy as it is: the size of the value, the offset of the member in IbhRule, and the bit that
 * the attribute sets in IbhRule.selectors (0 if none). */
#define FIELD(member, selector) sizeof(((IbhRule *)0)->member), G_STRUCT_OFFSET(IbhRule, member), selector

static const struct {
    guint8 size;
    guint16 at;
    guint16 selector;
} FIELDS[] = {
    [FRA_PRIORITY] = {FIELD(priority, 0)},
    [FRA_TABLE] = {FIELD(table, 0)},
    [FRA_GOTO] = {FIELD(target, 0)},
    [FRA_PROTOCOL] = {FIELD(protocol, 0)},
    [FRA_FLOW] = {FIELD(realms, 0)},
    [FRA_FWMARK] = {FIELD(by.mark, IBH_SELECT_FWMARK)},
    [FRA_FWMASK] = {FIELD(by.mask, IBH_SELECT_FWMARK)},
    [FRA_UID_RANGE] = {FIELD(by.uid, IBH_SELECT_UID)},
    [FRA_IP_PROTO] = {FIELD(by.ip_protocol, IBH_SELECT_PORT)},
    [FRA_SPORT_RANGE] = {FIELD(by.sport, IBH_SELECT_PORT)},
    [FRA_DPORT_RANGE] = {FIELD(by.dport, IBH_SELECT_PORT)},
    [RULE_DSCP_MASK] = {FIELD(by.dscp_mask, 0)}, /* only with RULE_DSCP */
};

/* Reads an attribute into the rule. libnl's rule objects would not do: they drop FRA_SUPPRESS_IFGROUP, which has our
 * mark. */
static void get_attribute(struct nlattr *attribute, const struct fib_rule_hdr *info, IbhRule *rule)
{
    const guint type = (guint)nla_type(attribute);

    if (type < G_N_ELEMENTS(FIELDS) && FIELDS[type].size) {
        rule->selectors |= FIELDS[type].selector;
        if (attribute->nla_len >= sizeof *attribute + FIELDS[type].size)
            memcpy((char *)rule + FIELDS[type].at, attribute + 1, FIELDS[type].size);
        return;
    }
    switch (type) {
    case FRA_SRC:
        rule->from = get_prefix(attribute, info->family, info->src_len);
        break;
    case FRA_DST:
        rule->to = get_prefix(attribute, info->family, info->dst_len);
        break;
    case FRA_SUPPRESS_PREFIXLEN: /* a negative length suppresses nothing: read it as absent */
        rule->suppress_prefixlength = MAX((gint32)get_u32(attribute, G_MAXUINT32), -1);
        break;
    case FRA_SUPPRESS_IFGROUP: /* only -1 suppresses nothing; any other number is a group */
        rule->suppress_ifgroup = get_u32(attribute, G_MAXUINT32);
        if (rule->suppress_ifgroup == G_MAXUINT32)
            rule->suppress_ifgroup = -1;
        break;
    case FRA_L3MDEV:
        rule->l3mdev = get_u8(attribute);
        break;
    case FRA_IIFNAME:
        rule->selectors |= IBH_SELECT_IIF;
        get_string(attribute, rule->by.iif, sizeof rule->by.iif);
        break;
    case FRA_OIFNAME:
        rule->selectors |= IBH_SELECT_OIF;
        get_string(attribute, rule->by.oif, sizeof rule->by.oif);
        break;
    case RULE_DSCP:
        rule->selectors |= IBH_SELECT_TOS;
        rule->by.tos = (guint8)(get_u8(attribute) << 2);
        /* All bits, unless the kernel also sends RULE_DSCP_MASK, before or after this attribute. */
        if (!rule->by.dscp_mask)
            rule->by.dscp_mask = IBH_DSCP_ALL;
        break;
    case RULE_SPORT_MASK: /* the kernel sends 0xffff with a single port; we do not model other masks */
    case RULE_DPORT_MASK:
        rule->selectors |=
            nla_len(attribute) >= 2 && nla_get_u16(attribute) == G_MAXUINT16 ? IBH_SELECT_PORT : IBH_SELECT_OTHER;
        break;
    case FRA_PAD:
        break;
    default: /* an attribute that our rules never have */
        rule->selectors |= IBH_SELECT_OTHER;
    }
}

IbhRule ibh_rule_of(struct nlmsghdr *header)
{
    const struct fib_rule_hdr *info = nlmsg_data(header);
    struct nlattr *attribute = nlmsg_attrdata(header, sizeof *info);
    int left = nlmsg_attrlen(header, sizeof *info);
    IbhRule rule = {
        .family = info->family,
        /* ibh_rule_compare() also compares the families of prefixes, so an absent prefix must be the same as in
         * ibh_rule_of_ours(): without FRA_SRC, `from` has this family and the length 0; without FRA_DST, all members of
         * `to` are zero, even the family. */
        .from = get_prefix(NULL, info->family, info->src_len),
        .action = info->action,
        .table = info->table,
        .suppress_prefixlength = -1,
        .suppress_ifgroup = -1,
        .selectors = (info->dst_len ? IBH_SELECT_TO : 0u) | (info->tos ? IBH_SELECT_TOS : 0u) |
                     (info->flags & FIB_RULE_INVERT ? IBH_SELECT_NOT : 0u),
        .by = {.tos = info->tos},
    };

    /* The loop does what nla_ok() and nla_next() do, but without calls: a host may have thousands of rules. */
    while (left >= (int)sizeof *attribute && attribute->nla_len >= sizeof *attribute && attribute->nla_len <= left) {
        get_attribute(attribute, info, &rule);
        left -= NLA_ALIGN(attribute->nla_len);
        attribute = (void *)((char *)attribute + NLA_ALIGN(attribute->nla_len));
    }
    return rule;
}

static gboolean on_rule(struct nlmsghdr *header, gpointer data)
{
    IbhRule rule;

    if (!nlmsg_valid_hdr(header, sizeof(struct fib_rule_hdr)))
        return FALSE;
    rule = ibh_rule_of(header);
    g_array_append_vals(data, &rule, 1);
    return TRUE;
}

/* Asks for the rules of all families at once, because a kernel without IPv6 refuses a dump of the IPv6 rules. The
 * answer may also have the rules of multicast routing: skip these, and put the IPv4 rules before the IPv6 rules. */
gboolean ibh_netlink_read_rules(IbhNetlink *netlink, GArray *rules, GError **error)
{
    static const int families[] = {AF_INET, AF_INET6};
    const struct fib_rule_hdr fixed = {.family = AF_UNSPEC};
    g_autoptr(GArray) found = IBH_NEW_ARRAY(IbhRule);

    if (!ibh_netlink_dump(netlink, ibh_message_new(RTM_GETRULE, NLM_F_DUMP, &fixed, sizeof fixed), on_rule, found,
                          found, (GCompareFunc)ibh_rule_compare, "the routing rules", error))
        return FALSE;
    IBH_EACH_ROW (const int, family, families) {
        IBH_EACH (const IbhRule, rule, found) {
            if (rule->family == *family)
                g_array_append_vals(rules, rule, 1);
        }
    }
    return TRUE;
}
