/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/missing.h"

#include "check/rows.h"

#include <string.h>
#include <sys/socket.h>

/* ---- which rails are missing ---- */

/* Finds out what has become of the rail `one`, and adds the rail to the list unless nobody expects it any more. */
static void add_judged(GArray *missed, IbhKnownRail one, const IbhRails *rails, const IbhConfig *config)
{
    ibh_known_look(&one, rails, config);
    if (one.why != IBH_FORGOTTEN)
        g_array_append_val(missed, one);
}

/* TRUE if the list has the NIC that has this name now or, if no NIC has the name, a rail that had the name. */
static gboolean has_name(const GArray *missed, const IbhRails *rails, const char *name)
{
    const IbhLink *link = ibh_snapshot_link_by_name(rails->snapshot, name);

    IBH_EACH (const IbhKnownRail, one, missed) {
        if (link ? one->link == link : g_str_equal(one->iface, name))
            return TRUE;
    }
    return FALSE;
}

GArray *ibh_missing_list(const IbhRails *rails, const IbhConfig *config, gboolean all)
{
    GArray *missed = IBH_NEW_ARRAY(IbhKnownRail);

    IBH_EACH (const IbhKnownRail, known, rails->snapshot->state->known)
        add_judged(missed, *known, rails, config);
    IBH_EACH_POINTER (const IbhSetting, setting, config->settings) {
        IbhKnownRail wanted = {.since = 0};

        g_strlcpy(wanted.iface, setting->pattern, sizeof wanted.iface);
        if (setting->key == IBH_KEY_MANAGE && setting->value == IBH_MANAGE_YES && setting->rank == IBH_RANK_EXACT &&
            !has_name(missed, rails, setting->pattern))
            add_judged(missed, wanted, rails, config);
    }
    /* Only now remove the rails that are there: has_name() needs them in the list. */
    IBH_EACH_BACK (const IbhKnownRail, one, missed) {
        if (!all && one->why == IBH_IS_THERE)
            IBH_REMOVE(IbhKnownRail, one, missed);
    }
    return missed;
}

const IbhKnownRail *ibh_missing_find_same(const GArray *known, const IbhKnownRail *now)
{
    const IbhKnownRail *named = NULL;

    IBH_EACH (const IbhKnownRail, one, known) {
        const gboolean has_its_name = g_str_equal(one->iface, now->iface),
                       both_have_slots = one->slot[0] && now->slot[0];

        if (both_have_slots && g_str_equal(one->slot, now->slot))
            return one;
        if (has_its_name && !one->slot[0] && !now->slot[0])
            return one;
        if (has_its_name && !both_have_slots)
            named = one;
    }
    return named;
}

gboolean ibh_missing_is_fault(IbhMissing missing)
{
    return missing >= IBH_LACKS_ADDRESS; /* in IbhMissing, the faults come last */
}

/* ---- why, in words ---- */

const char *ibh_missing_text(IbhMissing missing)
{
    static const char *const texts[] = {
        [IBH_ON_PURPOSE] = "it is administratively down",
        [IBH_ELSEWHERE] = "its hardware is there, but has no interface in this network namespace",
        [IBH_LACKS_ADDRESS] = "it has a link, but no configured address",
        [IBH_LACKS_SUBNET] = "its address has the prefix length of a single host",
        [IBH_LACKS_CARRIER] = "its link has no carrier",
        [IBH_LACKS_RDMA] = "its RDMA device is gone",
        [IBH_IS_GONE] = "its hardware is gone, or no driver has it",
        [IBH_NO_SUCH_NIC] = "no NIC has this name",
    };

    return texts[missing];
}

/* ---- the finding about a missing rail ---- */

const char *ibh_known_manager(const IbhFacts *facts, const IbhKnownRail *known)
{
    const IbhManager *manager = known->link ? ibh_facts_manager(facts, known->link->ifindex) : NULL;

    return manager ? manager->name : NULL;
}

/* A slot on PCI is like "0000:81:00.0/1". Any other slot has no colon: it is the RDMA port, like "mlx5_1/1", or "" if
 * unknown. */
char *ibh_known_pci(const IbhKnownRail *known)
{
    return strchr(known->slot, ':') ? g_strndup(known->slot, strcspn(known->slot, "/")) : NULL;
}

#define GUID_TEXT_LEN (8 * 3 - 1) /* eight bytes in hexadecimal, with colons between them */

/* Returns "; PCI 0000:81:00.1, MAC 0c:42:a1:00:00:01, configured by NetworkManager"; "" if nothing is known. If another
 * NIC has the rail's name now, begins with the name: "; formerly ib0". */
static char *say_hardware(const IbhCheck *check, const IbhKnownRail *known, gboolean has_lost_its_name)
{
    g_autofree char *pci = ibh_known_pci(known);
    const struct {
        const char *label, *text;
    } parts[] = {{"formerly", has_lost_its_name ? known->iface : NULL},
                 {"PCI", pci},
                 {strlen(known->hardware) == GUID_TEXT_LEN ? "GUID" : "MAC", known->hardware},
                 {"configured by", ibh_known_manager(check->facts, known)}};
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < G_N_ELEMENTS(parts); i++) { /* "-" stands for a NIC without a hardware address */
        if (parts[i].text && parts[i].text[0] && !g_str_equal(parts[i].text, "-"))
            g_string_append_printf(text, "%s%s %s", text->len ? ", " : "; ", parts[i].label, parts[i].text);
    }
    return g_string_free(text, FALSE);
}

/* Sets the word {consequence}, which names the first address of the missing rail that no other NIC has now: peers
 * cannot reach this address. (If only the RDMA device is gone, peers still reach the addresses that the rail's own NIC
 * has, so these do not count.) If there is no such address, the word says only that a rail is missing or, for an entry
 * that is only a name with manage=yes, that the NIC is not a rail. */
static void say_consequence(IbhSubject *about)
{
    const IbhKnownRail *missed = about->missed;
    const gboolean was_rail = missed->hardware[0] != '\0'; /* else the entry stands for a name with manage=yes */
    char ip[IBH_IP_STRLEN];

    for (guint i = 0; i < missed->n_addresses; i++) {
        const GPtrArray *holders = ibh_rails_holders(about->check->rails, &missed->addresses[i]);
        gboolean is_reachable = FALSE;

        IBH_EACH_POINTER (const IbhAddress, holder, holders)
            is_reachable |= missed->why == IBH_LACKS_RDMA || !missed->link || holder->ifindex != missed->link->ifindex;
        if (!is_reachable) {
            ibh_subject_say(about, "consequence=%s is not reachable", ibh_ip_format(&missed->addresses[i], ip));
            return;
        }
    }
    ibh_subject_say(about, "consequence=%s",
                    was_rail ? "a rail is missing" : "it is not a rail, although manage=yes is set");
}

/* Always TRUE: the row's scope, IBH_OF_MISSED + IBH_LACKS_ADDRESS, is for missing rails whose NIC has no address. If
 * the manager of the NIC is known, the remedy is to look for the reason in the manager's configuration. */
gboolean ibh_missed_lacks_address(IbhSubject *about)
{
    const IbhManager *manager =
        about->missed->link ? ibh_facts_manager(about->check->facts, about->missed->link->ifindex) : NULL;

    if (manager) {
        ibh_subject_say(about, "manager=%s\nas=%s%s", manager->name, manager->connection ? ", as " : "",
                        manager->connection ? manager->connection : "");
        about->remedy = "{manager} configures this NIC{as}: look there for why it has no address";
    }
    return TRUE;
}

/* If the rail is gone, another NIC may have the rail's name now. Then the finding is about the host, because the name
 * would blame the other NIC. The remedy is --undo with the name: this makes ib-hook forget the rail, but also holds the
 * other NIC. So the remedy goes on with --apply for the other NIC (the word {then}). */
void ibh_known_judge(IbhSubject *about, const IbhKnownRail *missed)
{
    const IbhCheck *check = about->check;
    const char *iface = ibh_known_name(missed);
    const gboolean has_lost_its_name =
        !missed->link && ibh_snapshot_link_by_name(check->rails->snapshot, missed->iface);
    g_autofree char *hardware = say_hardware(check, missed, has_lost_its_name), *quoted = ibh_text_shell_word(iface);

    if (check->only && !g_strv_contains(check->only, iface))
        return;
    about->missed = missed;
    about->iface = has_lost_its_name ? "" : iface;
    /* If a finding about the rail's port says why, add the rail to that finding instead of making another. */
    if (missed->why == IBH_LACKS_CARRIER || missed->why == IBH_LACKS_ADDRESS) {
        about->finding = ibh_findings_find(about->findings, "port-not-active", iface, NULL);
        if (!about->finding)
            about->finding = ibh_findings_find(about->findings, "sm-missing", iface, NULL);
    }
    say_consequence(about);
    ibh_subject_say(about, "nic=%s\nhardware=%s\nstate=%s", quoted, hardware,
                    about->finding ? about->finding->message : ibh_missing_text(missed->why));
    ibh_subject_say(about, "then=%s%s",
                    has_lost_its_name ? ", and then, for the NIC that has this name now: sudo ib-hook --apply --iface "
                                      : "",
                    has_lost_its_name ? quoted : "");
    ibh_subject_ask(about, IBH_OF_MISSED + (int)missed->why);
    about->finding = NULL;
    g_string_truncate(about->words, 0);
}

/* ---- rails that have lost one address family ---- */

const IbhIp *ibh_check_find_lost_address(const IbhCheck *check, const IbhNic *nic, int family)
{
    const IbhSnapshot *snapshot = check->rails->snapshot;

    if (nic->status != IBH_NIC_RAIL || !ibh_nic_is_usable(nic) || ibh_nic_serves_family(nic, family) ||
        (family == AF_INET6 && ibh_numbers_have(check->facts->no_ipv6, nic->link->ifindex)))
        return NULL;
    IBH_EACH (const IbhKnownRail, known, snapshot->state->known) {
        if (ibh_known_link(snapshot, known) != nic->link)
            continue;
        for (guint i = 0; i < known->n_addresses; i++) {
            if (known->addresses[i].family == family)
                return &known->addresses[i];
        }
    }
    return NULL;
}

/* judge.c asks about all NICs, so look whether the user asks about this NIC. */
gboolean ibh_rail_has_lost_family(IbhSubject *about)
{
    const IbhCheck *check = about->check;
    const IbhManager *manager = ibh_facts_manager(check->facts, about->nic->link->ifindex);

    about->ip = ibh_check_find_lost_address(check, about->nic, about->family);
    ibh_subject_say(about, "manager=%s", manager ? manager->name : "its network manager");
    return about->ip && ibh_nic_is_selected(about->nic, check->only);
}

/* TRUE if the list has a missing rail whose NIC is this link. */
gboolean ibh_link_is_missed(const GArray *missed, const IbhLink *link)
{
    IBH_EACH (const IbhKnownRail, one, missed) {
        if (one->link == link)
            return TRUE;
    }
    return FALSE;
}
