/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words for people: why a NIC is a rail or not. */
#include "plan/rails.h"

static const char *const WORDS[] = {
    [IBH_WHY_LOOPBACK] = "loopback",
    [IBH_WHY_REPRESENTOR] = "a switchdev representor: it stands for another function's port",
    [IBH_WHY_NOT_RDMA] = "not RDMA-capable (manage=yes would make it a candidate)",
    [IBH_WHY_KEPT] =
        "left as it was before an --apply that was not confirmed; this ends with --apply, --undo or a reboot",
    [IBH_WHY_UNMANAGED] = "manage=no",
    [IBH_WHY_NO_ADDRESS] = "it has no address",
    [IBH_WHY_NOT_SHARED] = "no other RDMA NIC shares one of its subnets",
    [IBH_WHY_UNDONE] = "left alone since it was undone, until --apply or a reboot",
    [IBH_WHY_NO_LOCAL_RULE] = "there is no rule that leads everything to the local table first",
    [IBH_WHY_MANAGED] = "manage=yes",
    [IBH_WHY_STAYS] = "it stays a rail, though no other RDMA NIC shares its subnet now",
};

static char *describe_reason(const IbhNic *nic)
{
    const IbhReason *reason = &nic->reason;
    char subnet[IBH_PREFIX_STRLEN];

    switch (reason->why) {
    case IBH_WHY_NAME:
        return g_strdup_printf("its name: net.ipv4.conf.%s stands for all NICs; rename it", nic->link->name);
    case IBH_WHY_PORT:
        return g_strdup_printf("a port of %s: what is configured there decides",
                               reason->other ? reason->other->name : "another link");
    case IBH_WHY_LATE_LOCAL_RULE:
        return g_strdup_printf("the rule for the local table has priority %u, which is not before %u", reason->priority,
                               IBH_PRIORITY_BASE - IBH_PRIORITY_SPAN);
    case IBH_WHY_ADVERTISED:
        return g_strdup_printf("the addresses in %s, which %s has too, are advertised: no rails without manage=yes",
                               ibh_prefix_format(reason->subnet, subnet), reason->other->name);
    case IBH_WHY_SHARES:
        return g_strdup_printf("shares %s with %s", ibh_prefix_format(reason->subnet, subnet), reason->other->name);
    default:
        return g_strdup(WORDS[reason->why]);
    }
}

char *ibh_nic_why(const IbhNic *nic)
{
    const IbhRule *rule = nic->served->len ? ibh_nic_foreign_rule(nic, nic->served->pdata[0]) : NULL;
    g_autofree char *why = describe_reason(nic);
    char from[IBH_PREFIX_STRLEN];

    if (!rule)
        return g_steal_pointer(&why);
    return g_strdup_printf("%s; routed by the rule %u: from %s lookup %u, which is not ours", why, rule->priority,
                           ibh_prefix_format(&rule->from, from), rule->table);
}
