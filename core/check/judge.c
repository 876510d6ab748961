/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes the findings of --check in the order in which a report lists them: missing rails, and rails that have lost an
 * address family; each NIC, and whether its manager deletes our routes; packets; our rules and routes; managers that do
 * not call our hook; scripts that route rails. Most findings come from the rows of rows.c. The findings about RDMA and
 * about sections of the configuration, and the finding not-in-force, are made elsewhere (cli/main_io.c).
 */
#include "check/rows.h"

#include <sys/socket.h>

static const int families[] = {AF_INET, AF_INET6};

/* These three functions ask the rows of a scope (IbhRowScope) once for each address, neighbour or family. */
static void ask_addresses(IbhSubject *about, const GPtrArray *addresses, int scope)
{
    IBH_EACH_POINTER (const IbhAddress, address, addresses) {
        about->address = address;
        about->ip = &address->local;
        ibh_subject_ask(about, scope);
    }
}

static void ask_neighbours(IbhSubject *about, int scope)
{
    IBH_EACH (const IbhNeighbour, neighbour, about->check->rails->snapshot->neighbours) {
        about->neighbour = neighbour;
        about->ip = &neighbour->ip;
        ibh_subject_ask(about, scope);
    }
}

static void ask_families(IbhSubject *about, int scope)
{
    IBH_EACH_ROW (const int, family, families) {
        about->family = *family;
        ibh_subject_ask(about, scope);
    }
}

/* The first loop judges the missing rails whose NIC is gone, or no longer has the status IBH_NIC_RAIL. The second loop
 * judges, for each NIC, whether the NIC has lost an address family, and whether the NIC is a rail that is down or has
 * no carrier. Such a rail keeps the status IBH_NIC_RAIL while its manager leaves the address in place. check->missed
 * may have this rail, too, so the first loop leaves it to the second. */
static void judge_missing(IbhSubject *about)
{
    const IbhCheck *check = about->check;

    IBH_EACH (const IbhKnownRail, known, check->missed) {
        const IbhNic *nic = known->link ? ibh_rails_nic(check->rails, known->link->ifindex) : NULL;

        if (!nic || nic->status != IBH_NIC_RAIL)
            ibh_known_judge(about, known);
    }
    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        IbhKnownRail down;

        about->nic = nic;
        about->iface = nic->link->name;
        ask_families(about, IBH_OF_LOST_FAMILY);
        if (nic->status != IBH_NIC_RAIL || ibh_nic_is_usable(nic))
            continue;
        /* ibh_known_describe() sets `down` for any NIC, and adds what check->missed remembers of the same hardware. The
         * returned value, which says whether to remember the NIC, does not matter here. */
        (void)ibh_known_describe(check->rails, nic, check->missed, FALSE, &down);
        down.link = nic->link;
        down.why = nic->link->flags & IFF_UP ? IBH_LACKS_CARRIER : IBH_ON_PURPOSE;
        ibh_known_judge(about, &down);
    }
}

/* Asks the rows about the NIC's wire: its link, its addresses and neighbours, and the hosts for which it may answer
 * ARP. */
static void judge_wire(IbhSubject *about)
{
    ibh_subject_ask(about, IBH_OF_NIC);
    ask_addresses(about, about->nic->addresses, IBH_OF_ADDRESS_ASKED_FOR);
    IBH_EACH (const IbhQuestion, question, about->check->questions) {
        about->question = question;
        if (!ibh_subject_find_proxied(about)) /* sets `ip` and `route` of the subject */
            continue;
        ibh_subject_ask(about, IBH_OF_PROXY);
        ask_neighbours(about, IBH_OF_PROXY_ENTRY);
    }
    ask_addresses(about, about->nic->addresses, IBH_OF_ADDRESS);
    if (about->nic->status != IBH_NIC_RAIL)
        return;
    ibh_subject_ask(about, IBH_OF_RAIL);
    ask_families(about, IBH_OF_ASKING);
    ask_neighbours(about, IBH_OF_NEIGHBOUR);
    ibh_subject_ask(about, IBH_OF_WRITTEN_NEIGHBOURS);
}

/* Asks the rows about a rail, beginning with those that compare the rail with every other NIC. */
static void judge_rail(IbhSubject *about)
{
    IBH_EACH_POINTER (const IbhNic, other, about->check->rails->nics) {
        if (other == about->nic)
            continue;
        about->other = other;
        ibh_subject_ask(about, IBH_OF_PAIR);
        ask_addresses(about, about->nic->served, IBH_OF_PAIR_ADDRESS);
    }
    ibh_subject_ask(about, IBH_OF_VALUES);
    IBH_EACH_ROW (const int, family, families) {
        about->family = *family;
        ibh_subject_ask(about, IBH_OF_GATEWAY);
        IBH_EACH_POINTER (const IbhAddress, address, about->nic->programmed) {
            if (address->local.family != *family || !ibh_nic_is_usable(about->nic))
                continue;
            about->ip = &address->local;
            about->named = 0;
            IBH_EACH_ROUTE (route, about->check) {
                about->route = route;
                if (route->table == IBH_TABLE_MAIN && route->family == *family && route->gateway.family)
                    ibh_subject_ask(about, IBH_OF_GATEWAY_ELSEWHERE);
            }
        }
    }
    ibh_subject_ask(about, IBH_OF_SETUP);
}

void ibh_check_judge(IbhCheck *check, const GPtrArray *plan, const GArray *missed, GPtrArray *findings)
{
    g_autoptr(GString) words = g_string_new(NULL);
    IbhSubject about = {.rows = ibh_rows, .findings = findings, .words = words, .check = check};

    check->plan = plan;
    check->findings = findings;
    check->missed = missed;
    judge_missing(&about);
    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        g_autofree char *why = NULL;

        if (!ibh_nic_is_selected(nic, check->only))
            continue;
        about.nic = nic;
        about.iface = nic->link->name;
        judge_wire(&about);
        if (nic->status == IBH_NIC_RAIL) {
            judge_rail(&about);
            continue;
        }
        why = ibh_nic_why(nic);
        ibh_subject_say(&about, "why=%s", why);
        ibh_subject_ask(&about, IBH_OF_NO_RAIL);
        g_string_truncate(words, 0);
    }
    ibh_check_judge_packets(check);
    ibh_check_judge_ours(&about);
    about.iface = ""; /* a hook that is not called makes a finding about the host */
    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        about.nic = nic;
        ibh_subject_ask(&about, IBH_OF_CALL);
    }
    IBH_EACH (const IbhScript, script, check->facts->scripts)
        ibh_script_judge(&about, script);
}
