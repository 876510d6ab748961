/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/missing.h"

#include "check/check.h"

#include <string.h>
#include <sys/socket.h>

/* ---- which ---- */

static void add_judged(GArray *missed, IbhKnownRail one, const IbhRails *rails, const IbhConfig *config)
{
    ibh_known_look(&one, rails, config);
    if (one.why != IBH_FORGOTTEN)
        g_array_append_val(missed, one);
}

/* Two known rails may have had one name. */
static gboolean is_known(const GArray *missed, const IbhRails *rails, const char *name)
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
            !is_known(missed, rails, setting->pattern))
            add_judged(missed, wanted, rails, config);
    }
    IBH_EACH_BACK (const IbhKnownRail, one, missed) {
        if (!all && one->why == IBH_IS_THERE)
            IBH_REMOVE(IbhKnownRail, one, missed);
    }
    return missed;
}

const IbhKnownRail *ibh_missing_again(const GArray *known, const IbhKnownRail *now)
{
    const IbhKnownRail *named = NULL;

    IBH_EACH (const IbhKnownRail, one, known) {
        const gboolean has_its_name = g_str_equal(one->iface, now->iface), has_slots = one->slot[0] && now->slot[0];

        if (g_str_equal(one->slot, now->slot) && (has_slots || has_its_name))
            return one;
        if (has_its_name && !has_slots)
            named = one;
    }
    return named;
}

gboolean ibh_missing_is_fault(IbhMissing missing)
{
    return missing >= IBH_LACKS_ADDRESS;
}

/* ---- what is said of them ---- */

static const IbhCode rows[] = {
    [IBH_ON_PURPOSE] = {"carrier-down", IBH_INFO,
                        "the NIC was set down on purpose; to use it again: sudo ip link set NAME up"},
    [IBH_ELSEWHERE] =
        {"nic-gone", IBH_INFO,
         "another network namespace or a virtual machine has it; if it stays there: sudo ib-hook --undo --iface NAME"},
    [IBH_LACKS_ADDRESS] = {"no-address", IBH_WARNING, NULL},
    [IBH_LACKS_CARRIER] = {"carrier-down", IBH_ERROR, NULL},
    [IBH_LACKS_RDMA] = {"nic-gone", IBH_ERROR,
                        "is the card's RDMA driver loaded? If `rdma system` prints exclusive, a container may have "
                        "kept the device. If the rail is gone for good: sudo ib-hook --undo --iface NAME"},
    [IBH_IS_GONE] = {"nic-gone", IBH_ERROR,
                     "look at the card, and in dmesg for why it left the bus; if it was removed for good: sudo ib-hook "
                     "--undo --iface NAME"},
    [IBH_NO_SUCH_NIC] =
        {"nic-gone", IBH_ERROR,
         "is the card there, perhaps with another NIC name? If not, delete its section from the configuration"},
};

const char *ibh_missing_text(IbhMissing missing)
{
    static const char *const texts[] = {
        [IBH_ON_PURPOSE] = "it is administratively down",
        [IBH_ELSEWHERE] = "its hardware is there, but has no interface in this network namespace",
        [IBH_LACKS_ADDRESS] = "it has link, but no address",
        [IBH_LACKS_CARRIER] = "its link has no carrier",
        [IBH_LACKS_RDMA] = "its RDMA device is gone",
        [IBH_IS_GONE] = "its hardware is gone, or no driver has it",
        [IBH_NO_SUCH_NIC] = "no NIC has this name",
    };

    return texts[missing];
}

/* ---- which card and cable ---- */

const char *ibh_known_manager(const IbhFacts *facts, const IbhKnownRail *known)
{
    const IbhManager *manager = known->link ? ibh_facts_manager(facts, known->link->ifindex) : NULL;

    return manager ? manager->name : NULL;
}

char *ibh_known_pci(const IbhKnownRail *known)
{
    return g_str_equal(known->slot, "-") ? NULL : g_strndup(known->slot, strcspn(known->slot, "/"));
}

#define GUID_TEXT_LEN (8 * 3 - 1)

/* It is gone, and another NIC has its name now, whose fault it is not. */
static gboolean has_lost_its_name(const IbhCheck *check, const IbhKnownRail *known)
{
    return !known->link && ibh_snapshot_link_by_name(check->rails->snapshot, known->iface);
}

/* "; PCI 0000:81:00.1, MAC 0c:42:a1:00:00:01, configured by NetworkManager"; "": none of them is known. */
static char *say_hardware(const IbhCheck *check, const IbhKnownRail *known)
{
    g_autofree char *pci = ibh_known_pci(known);
    const struct {
        const char *label, *text;
    } parts[] = {{"formerly", has_lost_its_name(check, known) ? known->iface : NULL},
                 {"PCI", pci},
                 {strlen(known->hardware) == GUID_TEXT_LEN ? "GUID" : "MAC", known->hardware},
                 {"configured by", ibh_known_manager(check->facts, known)}};
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
        if (parts[i].text && parts[i].text[0] && !g_str_equal(parts[i].text, "-"))
            g_string_append_printf(text, "%s%s %s", text->len ? ", " : "; ", parts[i].label, parts[i].text);
    }
    return g_string_free(text, FALSE);
}

/* With the name of the NIC, so that a command can be pasted. */
static IbhRemedy advise_by_row(const IbhCode *row, const char *iface)
{
    g_auto(GStrv) parts = g_strsplit(row->advice, "NAME", 2);
    g_autofree char *word = ibh_text_shell_word(iface), *text = g_strjoinv(word, parts);

    return ibh_remedy_advice("%s", text);
}

/* To forget it by its name undoes the NIC that has this name now. */
static IbhRemedy advise_to_apply_again(IbhRemedy remedy, const char *iface)
{
    g_autofree char *word = ibh_text_shell_word(iface), *advice = remedy.advice;

    return ibh_remedy_advice("%s, and then, for the NIC that has this name now: sudo ib-hook --apply --iface %s",
                             advice, word);
}

static IbhRemedy advise(const IbhCheck *check, const IbhKnownRail *missed, const IbhCode *row, const char *iface)
{
    const IbhManager *manager = missed->link ? ibh_facts_manager(check->facts, missed->link->ifindex) : NULL;

    if (has_lost_its_name(check, missed))
        return advise_to_apply_again(advise_by_row(row, iface), iface);
    if (row->advice || missed->why == IBH_LACKS_CARRIER)
        return advise_by_row(row->advice ? row : ibh_code_find(row->code), iface);
    if (manager && manager->name)
        return ibh_remedy_advice("%s configures this NIC%s%s: look there for why it has no address", manager->name,
                                 manager->connection ? ", as " : "", manager->connection ? manager->connection : "");
    return ibh_remedy_advice(
        "no known network manager configures this NIC: set its address again where it was set before");
}

/* What its port says of it, which is more; NULL: nothing. */
static IbhFinding *find_explanation(const GPtrArray *findings, const IbhKnownRail *missed, const char *iface)
{
    IbhFinding *port = ibh_findings_find(findings, "port-not-active", iface, NULL);

    if (missed->why != IBH_LACKS_CARRIER && missed->why != IBH_LACKS_ADDRESS)
        return NULL;
    return port ? port : ibh_findings_find(findings, "sm-missing", iface, NULL);
}

/* Where it is gone, another NIC may have its address. */
static const IbhIp *find_address(const IbhCheck *check, const IbhKnownRail *missed)
{
    for (guint i = 0; i < missed->n_addresses; i++) {
        if (missed->link || !ibh_rails_holder(check->rails, &missed->addresses[i]))
            return &missed->addresses[i];
    }
    return NULL;
}

/* What follows from it. */
static char *say_consequence(const IbhCheck *check, const IbhKnownRail *missed)
{
    const IbhIp *address = find_address(check, missed);
    char ip[IBH_IP_STRLEN];

    if (address)
        return g_strdup_printf("%s is not reachable", ibh_ip_format(address, ip));
    return g_strdup(missed->hardware[0] ? "a rail is missing" : "it is no rail, although manage=yes is set");
}

static void tell(const IbhCheck *check, const IbhKnownRail *missed)
{
    const char *iface = missed->link ? missed->link->name : missed->iface,
               *hit = has_lost_its_name(check, missed) ? "" : iface;
    const IbhCode *row = &rows[missed->why];
    IbhFinding *finding = find_explanation(check->findings, missed, iface);
    g_autofree char *hardware = say_hardware(check, missed), *consequence = say_consequence(check, missed);
    g_autofree char *text = NULL;

    if (check->only && !g_strv_contains(check->only, iface))
        return;
    text =
        g_strdup_printf("%s: %s%s", consequence, finding ? finding->message : ibh_missing_text(missed->why), hardware);
    if (!finding)
        finding = ibh_finding_add(check->findings, hit, row->severity, row->code, advise(check, missed, row, iface),
                                  "%s", text);
    if (hit[0])
        ibh_finding_says(finding, hit, g_steal_pointer(&text));
}

/* Its manager leaves it its address: it is as far away as one without. */
static void tell_of_rail(const IbhCheck *check, const IbhNic *nic)
{
    IbhKnownRail missed;

    (void)ibh_known_of(check->rails, nic, check->missed, FALSE, &missed);
    missed.link = nic->link;
    missed.why = nic->link->flags & IFF_UP ? IBH_LACKS_CARRIER : IBH_ON_PURPOSE;
    tell(check, &missed);
}

/* ---- a rail stands, but one family of it has gone ---- */

const IbhIp *ibh_check_find_lost_address(const IbhCheck *check, const IbhNic *nic, int family)
{
    const IbhSnapshot *snapshot = check->rails->snapshot;

    if (nic->status != IBH_NIC_RAIL || !ibh_nic_is_usable(nic) || ibh_nic_serves_family(nic, family) ||
        (family == AF_INET6 && ibh_numbers_have(check->facts->no_ipv6, nic->link->ifindex)))
        return NULL;
    IBH_EACH (const IbhKnownRail, known, snapshot->state->known) {
        for (guint i = 0; i < known->n_addresses && ibh_known_link(snapshot, known) == nic->link; i++) {
            if (known->addresses[i].family == family)
                return &known->addresses[i];
        }
    }
    return NULL;
}

static void judge_families(const IbhCheck *check, const IbhNic *nic)
{
    static const int families[] = {AF_INET, AF_INET6};
    const IbhManager *manager = ibh_facts_manager(check->facts, nic->link->ifindex);

    IBH_EACH_ROW (const int, family, families) {
        const IbhIp *lost = ibh_check_find_lost_address(check, nic, *family);
        const char version = *family == AF_INET6 ? '6' : '4';
        char ip[IBH_IP_STRLEN];

        if (lost && ibh_nic_is_selected(nic, check->only))
            ibh_check_tell(
                check, nic, "no-address", NULL,
                ibh_remedy_advice("see whether its router or DHCP server still offers the prefix, and whether %s still "
                                  "configures IPv%c on it; if it shall have none: ib-hook --apply --iface %s",
                                  manager && manager->name ? manager->name : "its network manager", version,
                                  nic->link->name),
                "nothing leaves or arrives over IPv%c: it had %s, and has no IPv%c address now", version,
                ibh_ip_format(lost, ip), version);
    }
}

/* ---- all ---- */

void ibh_check_judge_missing(const IbhCheck *check)
{
    IBH_EACH (const IbhKnownRail, one, check->missed) {
        const IbhNic *nic = one->link ? ibh_rails_nic(check->rails, one->link->ifindex) : NULL;

        if (!nic || nic->status != IBH_NIC_RAIL)
            tell(check, one);
    }
    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        judge_families(check, nic);
        if (nic->status == IBH_NIC_RAIL && !ibh_nic_is_usable(nic))
            tell_of_rail(check, nic);
    }
}
