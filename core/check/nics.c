/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings about a single NIC: why it is not a rail; whether packets of a kept NIC leave through another NIC; whether
 * a rail's arp_ignore is wrong; whether a rail's table has moved.
 */
#include "check/rows.h"

#include <sys/socket.h>

/* TRUE if the rail has an IPv4 address, and its own arp_ignore makes it answer no request. The kernel uses the larger
 * of two values, that of the NIC and that of conf/all. FALSE if the value of conf/all is as large or larger: then
 * ibh_rail_has_value_of_all() judges that value. */
gboolean ibh_rail_answers_nothing(IbhSubject *about)
{
    const int own = about->nic->link->sysctl[IBH_SYSCTL_ARP_IGNORE];
    const int all = about->check->rails->snapshot->all[IBH_SYSCTL_ARP_IGNORE];

    ibh_subject_say(about, "value=%d", own);
    return own == IBH_ANSWERS_NOTHING && all < own && ibh_nic_serves_family(about->nic, AF_INET);
}

/* TRUE if the arp_ignore of conf/all makes the rail answer no request, or makes the rail answer for other NICs'
 * addresses. FALSE if the NIC's own value is larger, because the kernel uses the larger of the two. A rail without an
 * IPv4 address has nothing to answer, so 8 does no harm there. */
gboolean ibh_rail_has_value_of_all(IbhSubject *about)
{
    const int all = about->check->rails->snapshot->all[IBH_SYSCTL_ARP_IGNORE];

    /* In conf/all, 0 changes nothing, and 1 and 2 do no harm: with these, a NIC answers only for its own addresses. */
    if (all <= 2 || all < about->nic->link->sysctl[IBH_SYSCTL_ARP_IGNORE])
        return FALSE;
    if (all == IBH_ANSWERS_NOTHING && !ibh_nic_serves_family(about->nic, AF_INET))
        return FALSE;
    ibh_subject_say(about, "value=%d\neffect=%s", all,
                    all == IBH_ANSWERS_NOTHING
                        ? "peers get no answer to ARP requests, and cannot reach it"
                        : "it answers ARP for other NICs' addresses, and peers send to the wrong one");
    about->severity = all == IBH_ANSWERS_NOTHING ? IBH_ERROR : IBH_WARNING;
    return TRUE;
}

/* TRUE if the rail has no table=, and its automatic number (IBH_TABLE_BASE plus its rank) is T or D of a NIC that has
 * table=. */
gboolean ibh_rail_has_other_table(IbhSubject *about)
{
    const IbhNic *nic = about->nic;
    const guint32 number = IBH_TABLE_BASE + nic->rank;
    const IbhNic *other = ibh_rails_nic_by_table(about->check->rails, number);

    if (nic->settings.table != IBH_TABLE_AUTO || nic->table == number || !other ||
        other->settings.table == IBH_TABLE_AUTO)
        return FALSE;
    ibh_subject_say(about, "table=%u\nnumber=%u\norigin=%s", nic->table, other->table, other->settings.table_origin);
    about->other = other;
    return TRUE;
}

/* ---- NICs that are no rails ---- */

/* TRUE if the NIC is kept, or if it is held and would otherwise be a rail or blocked (IBH_NIC_HELD). A NIC is kept
 * since an --apply that nobody confirmed, perhaps because this --apply cut off the person who ran it; so the remedy for
 * a kept NIC is to correct the configuration first. The rules and routes of a kept NIC stand, so the text does not say
 * that the NIC is not a rail.
 *
 * All NICs of this status share one finding, whose command ends all holds, if three things are true: the user asks
 * about all NICs; no NIC is a rail; and either all NICs of this status are kept, or none is. Otherwise each NIC has its
 * own finding. */
gboolean ibh_nic_is_held(IbhSubject *about)
{
    const IbhRails *rails = about->check->rails;
    gboolean is_separate = about->check->only != NULL;

    IBH_EACH_POINTER (const IbhNic, nic, rails->nics)
        is_separate |= nic->status == IBH_NIC_RAIL || (nic->status == IBH_NIC_HELD && nic->kept != about->nic->kept);
    ibh_subject_say(about, "then=%s", about->nic->kept ? "" : ": until then it is not a rail");
    about->owner = is_separate ? NULL : "";
    about->remedy = about->nic->kept ? "correct the configuration, then: sudo ib-hook --apply --confirm 60"
                    : is_separate    ? NULL
                                     : "$ ib-hook --apply";
    return about->nic->status == IBH_NIC_HELD;
}

gboolean ibh_nic_is_blocked(IbhSubject *about)
{
    return about->nic->status == IBH_NIC_BLOCKED;
}

/* FALSE for the NIC of a missing rail, which has a finding of its own (missing.c). */
gboolean ibh_nic_lacks_address(IbhSubject *about)
{
    return about->nic->status == IBH_NIC_NO_ADDRESS && !ibh_link_is_missed(about->check->missed, about->nic->link);
}

/* Returns the T to which a rule of ours leads packets from this address; 0 if there is no such rule. Our rules that
 * lead to main do not count, nor do those that lead to D, which have the priority IBH_PRIORITY_DEFAULTS. */
static guint32 find_ruled_table(const IbhSnapshot *snapshot, const IbhAddress *address)
{
    const IbhPrefix own = ibh_prefix_of_host(&address->local);

    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        if (ibh_rule_is_ours(rule) && ibh_prefix_equal(&rule->from, &own) && rule->table != IBH_TABLE_MAIN &&
            rule->priority < IBH_PRIORITY_DEFAULTS)
            return rule->table;
    }
    return 0;
}

/* TRUE if a kept NIC that is up, with carrier, has a rule of ours for one of its addresses, but the rule's table has no
 * route to the address's subnet, and packets to the subnet leave through another NIC. To find out, looks at one host of
 * the subnet. What the configuration wants does not matter, because the configuration has no effect on a kept NIC. */
gboolean ibh_nic_is_kept_astray(IbhSubject *about)
{
    const IbhCheck *check = about->check;

    if (!about->nic->kept || !ibh_nic_is_usable(about->nic))
        return FALSE;
    IBH_EACH_POINTER (const IbhAddress, address, about->nic->served) {
        const guint32 table = find_ruled_table(check->rails->snapshot, address);
        g_autofree char *way = NULL;
        char subnet[IBH_PREFIX_STRLEN];
        IbhQuestion packet;

        if (!table || !ibh_check_walk_into(check, about->nic, &address->local, &address->subnet, &packet) ||
            ibh_fib_find(check->actual, table, &packet.lookup.to, 0) || !ibh_question_goes_astray(&packet))
            continue;
        way = ibh_question_way_text(check, &packet);
        ibh_subject_say(about, "way=%s\nsubnet=%s\ntable=%u", way, ibh_prefix_format(&address->subnet, subnet), table);
        about->astray = TRUE;
        return TRUE;
    }
    return FALSE;
}

/* TRUE if the user named this NIC with --iface, and the NIC is not kept. With --iface, judge.c asks about named NICs
 * only, so there is no need to look for the NIC in `only`. The rules and routes of a kept NIC stand, so we do not say
 * that the NIC is not a rail. */
gboolean ibh_nic_is_asked_for(IbhSubject *about)
{
    return about->check->only && !about->nic->kept;
}
