/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What proves each cause (causes.c): an act that was seen. Of a stage of the way, the first cause that is proved is
 * told; the last ones are what is left where no host was seen to do anything.
 */
#include "check/check.h"
#include "probe/probe.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

static guint flags_of(const IbhProbe *probe, const IbhProbePair *pair)
{
    return ibh_probe_link(probe, pair)->flags;
}

/* ---- this host ---- */

gboolean ibh_has_no_carrier(const IbhProbe *probe, const IbhProbePair *pair)
{
    return !ibh_nic_is_usable(ibh_probe_source(probe, pair)->nic);
}

gboolean ibh_is_down(const IbhProbe *probe, const IbhProbePair *pair)
{
    return ibh_has_no_carrier(probe, pair) && !(flags_of(probe, pair) & IFF_UP);
}

gboolean ibh_is_ours(const IbhProbe *probe G_GNUC_UNUSED, const IbhProbePair *pair)
{
    return !pair->route.error && pair->route.type == RTN_LOCAL;
}

gboolean ibh_is_arp_off(const IbhProbe *probe, const IbhProbePair *pair)
{
    const guint both = IFF_NOARP | IFF_BROADCAST;

    return (flags_of(probe, pair) & both) == both && pair->on_link && !pair->fixed && !pair->received;
}

/* A table without room has another errno in each family. */
gboolean ibh_was_table_full(const IbhProbe *probe, const IbhProbePair *pair)
{
    const int six = ibh_probe_family(probe, pair);

    return probe->was_full[six] && (pair->send_error == ENOBUFS || (six && pair->send_error == EINVAL));
}

/* No echo left, and the kernel has, or does not look for, the hardware address. A gateway is asked for another address
 * than the peer's. */
static gboolean has_none_left(const IbhProbe *probe, const IbhProbePair *pair)
{
    const gboolean is_found = pair->trace.told || !pair->trace.asks;

    return probe->hears && pair->on_link && pair->sent && !pair->received && !pair->trace.left && is_found;
}

gboolean ibh_is_held(const IbhProbe *probe, const IbhProbePair *pair)
{
    return pair->send_error == ENOBUFS || has_none_left(probe, pair);
}

gboolean ibh_is_refused(const IbhProbe *probe G_GNUC_UNUSED, const IbhProbePair *pair)
{
    return pair->send_error == EPERM;
}

gboolean ibh_is_unsent(const IbhProbe *probe G_GNUC_UNUSED, const IbhProbePair *pair)
{
    return pair->send_error || !pair->sent;
}

gboolean ibh_is_dropped(const IbhProbe *probe G_GNUC_UNUSED, const IbhProbePair *pair)
{
    return pair->dropped;
}

gboolean ibh_is_mangled(const IbhProbe *probe G_GNUC_UNUSED, const IbhProbePair *pair)
{
    return pair->mangled;
}

/* ---- the way that the kernel says ---- */

gboolean ibh_has_no_route(const IbhProbe *probe G_GNUC_UNUSED, const IbhProbePair *pair)
{
    return pair->route.error != 0;
}

gboolean ibh_has_other_route(const IbhProbe *probe, const IbhProbePair *pair)
{
    return pair->route.oif != ibh_probe_link(probe, pair)->ifindex;
}

/* Filters mark packets, or change their DSCP; then the kernel routes them once more. */
gboolean ibh_is_led_away(const IbhProbe *probe, const IbhProbePair *pair)
{
    return pair->free_ifindex && pair->free_ifindex != ibh_probe_link(probe, pair)->ifindex;
}

/* ---- the neighbour table: an entry is right if it is an answer of now ---- */

/* A virtual router answers with an address that its NICs do not send from. */
static gboolean has_virtual(const IbhProbePair *pair)
{
    for (guint i = 0; i < pair->answers; i++) {
        if (ibh_lladdr_is_virtual(&pair->answer[i]))
            return TRUE;
    }
    return ibh_lladdr_is_virtual(&pair->lladdr);
}

static gboolean is_wrong(const IbhProbe *probe, const IbhProbePair *pair, const IbhLladdr *entry)
{
    if (!pair->answers || pair->answers == IBH_PROBE_ANSWERS || has_virtual(pair))
        return FALSE;
    return entry->len && ibh_probe_is_direct(probe, pair) && !ibh_probe_has_answer(pair, entry);
}

gboolean ibh_is_entry_fixed(const IbhProbe *probe, const IbhProbePair *pair)
{
    return pair->fixed && is_wrong(probe, pair, &pair->lladdr);
}

gboolean ibh_is_entry_wrong(const IbhProbe *probe, const IbhProbePair *pair)
{
    return is_wrong(probe, pair, &pair->entry);
}

/* Echoes go to what the kernel knows from before. What is asked for now was not answered. */
gboolean ibh_is_entry_unanswered(const IbhProbe *probe, const IbhProbePair *pair)
{
    const gboolean is_asked = ibh_probe_peer(probe, pair)->family == AF_INET && ibh_probe_is_direct(probe, pair) &&
                              !(flags_of(probe, pair) & IFF_NOARP);

    return is_asked && probe->hears && pair->received && pair->lladdr.len && !pair->fixed && !pair->answers;
}

/* ---- who answers for the peer's address ---- */

/* A virtual one is of no NIC: it and the NIC's own are one host. */
static guint count_hosts(const IbhProbePair *pair)
{
    guint n = 0;

    for (guint i = 0; i < pair->answers; i++)
        n += ibh_lladdr_is_virtual(&pair->answer[i]) ? 0 : 1;
    return pair->on_link ? n : 0;
}

static guint count_shared(const IbhProbePair *pair, const IbhProbePair *other)
{
    guint n = 0;

    for (guint i = 0; i < pair->answers; i++)
        n += ibh_probe_has_answer(other, &pair->answer[i]) ? 1 : 0;
    return n;
}

/* Several that answer for one address, and for another one, too: these are NICs of one host. */
gboolean ibh_is_flux(const IbhProbe *probe, const IbhProbePair *pair)
{
    if (count_hosts(pair) < 2)
        return FALSE;
    IBH_EACH (const IbhProbePair, other, probe->pairs) {
        if (other->source == pair->source && other != pair && count_shared(pair, other) > 1)
            return TRUE;
    }
    return FALSE;
}

/* Several for this address, and one for each other: hosts there do not mix their NICs. */
gboolean ibh_are_two(const IbhProbe *probe, const IbhProbePair *pair)
{
    gboolean is_compared = FALSE;

    if (count_hosts(pair) < 2)
        return FALSE;
    IBH_EACH (const IbhProbePair, other, probe->pairs)
        is_compared |= other->source == pair->source && other != pair && other->answers;
    return is_compared;
}

gboolean ibh_are_many(const IbhProbe *probe G_GNUC_UNUSED, const IbhProbePair *pair)
{
    return count_hosts(pair) > 1;
}

/* Each question has two answers from one hardware address. */
gboolean ibh_is_twice(const IbhProbe *probe, const IbhProbePair *pair)
{
    if (!ibh_probe_is_direct(probe, pair) || !pair->questions || ibh_probe_family(probe, pair))
        return FALSE;
    for (guint i = 0; i < pair->answers; i++) {
        if (pair->times[i] >= 2 * pair->questions)
            return TRUE;
    }
    return FALSE;
}

/* ---- losses that something else explains ---- */

/* Another host has the rail's address, too: replies go to either host. */
static gboolean has_double(const IbhProbe *probe, const IbhProbePair *pair)
{
    IBH_EACH (const IbhProbeStranger, stranger, probe->strangers) {
        if (stranger->source == pair->source && !stranger->proxy && !stranger->own)
            return TRUE;
    }
    return FALSE;
}

gboolean ibh_is_told_elsewhere(const IbhProbe *probe, const IbhProbePair *pair)
{
    return has_double(probe, pair) || ibh_is_entry_fixed(probe, pair) || ibh_is_entry_wrong(probe, pair) ||
           ibh_are_many(probe, pair) || ibh_is_twice(probe, pair);
}

/* ---- echoes left, and did not come back ---- */

gboolean ibh_way_refuses(const IbhProbe *probe G_GNUC_UNUSED, const IbhProbePair *pair)
{
    return pair->refusal.from.family != AF_UNSPEC;
}

gboolean ibh_peer_refuses(const IbhProbe *probe, const IbhProbePair *pair)
{
    return ibh_way_refuses(probe, pair) && ibh_ip_equal(&pair->refusal.from, ibh_probe_peer(probe, pair));
}

gboolean ibh_has_reply(const IbhProbe *probe G_GNUC_UNUSED, const IbhProbePair *pair)
{
    return pair->received > 0;
}

gboolean ibh_is_translated(const IbhProbe *probe G_GNUC_UNUSED, const IbhProbePair *pair)
{
    return pair->trace.is_translated;
}

gboolean ibh_is_detour(const IbhProbe *probe, const IbhProbePair *pair)
{
    return pair->on_link && pair->answers && !ibh_probe_is_direct(probe, pair);
}

/* The rail asked other hosts than this next hop, too, and none of them answers: it is not the next hop. */
static gboolean hears_no_other(const IbhProbe *probe, const IbhProbePair *pair)
{
    const IbhIp *via = ibh_probe_via(probe, pair);
    gboolean has_others = FALSE;

    IBH_EACH (const IbhProbePair, other, probe->pairs) {
        const IbhIp *hop = ibh_probe_via(probe, other);

        if (other->source != pair->source || !hop || ibh_ip_equal(hop, via))
            continue;
        if (other->answers || other->received)
            return FALSE;
        has_others = TRUE;
    }
    return has_others;
}

gboolean ibh_is_silent(const IbhProbe *probe, const IbhProbePair *pair)
{
    return probe->hears && !pair->answers && ibh_probe_via(probe, pair);
}

gboolean ibh_is_gateway_silent(const IbhProbe *probe, const IbhProbePair *pair)
{
    return ibh_is_silent(probe, pair) && !ibh_probe_is_direct(probe, pair) && !hears_no_other(probe, pair);
}

gboolean ibh_has_answered(const IbhProbe *probe, const IbhProbePair *pair)
{
    return pair->answers && ibh_probe_is_direct(probe, pair);
}

gboolean ibh_is_unknown(const IbhProbe *probe G_GNUC_UNUSED, const IbhProbePair *pair G_GNUC_UNUSED)
{
    return TRUE;
}

/* ---- the way of replies ---- */

gboolean ibh_is_reply_translated(const IbhProbe *probe, const IbhProbePair *pair)
{
    return pair->received && ibh_is_translated(probe, pair);
}

gboolean ibh_is_back_by_other(const IbhProbe *probe, const IbhProbePair *pair)
{
    return pair->reply_ifindex && pair->reply_ifindex != ibh_probe_link(probe, pair)->ifindex && !pair->dropped &&
           !pair->trace.is_translated;
}

/* The peer itself sent it to another NIC of this host: no router is between. Of IPoIB the kernel tells no sender. */
gboolean ibh_is_back_by_peer(const IbhProbe *probe, const IbhProbePair *pair)
{
    const IbhLladdr *from = &pair->strayed;
    const gboolean is_peer =
        ibh_probe_has_answer(pair, from) || ibh_lladdr_equal(from, &pair->lladdr) || (!from->len && pair->on_link);

    return is_peer && ibh_is_back_by_other(probe, pair);
}

/* From none of those that answer for the peer's address, nor from where echoes go. */
static gboolean is_foreign(const IbhProbePair *pair, const IbhLladdr *sender)
{
    return sender->len && pair->lladdr.len && pair->on_link && !has_virtual(pair) &&
           !ibh_lladdr_equal(sender, &pair->lladdr) && !ibh_probe_has_answer(pair, sender);
}

gboolean ibh_is_sender_unknown(const IbhProbe *probe G_GNUC_UNUSED, const IbhProbePair *pair)
{
    return is_foreign(pair, &pair->sender) || is_foreign(pair, &pair->syn_sender);
}

static gboolean is_from(const IbhProbePair *pair, const IbhProbePair *other, const IbhLladdr *sender)
{
    return is_foreign(pair, sender) &&
           (ibh_lladdr_equal(&other->lladdr, sender) || ibh_probe_has_answer(other, sender));
}

/* From the NIC that has another address. */
gboolean ibh_is_sender_of_peer(const IbhProbe *probe, const IbhProbePair *pair)
{
    if (!ibh_is_sender_unknown(probe, pair))
        return FALSE;
    IBH_EACH (const IbhProbePair, other, probe->pairs) {
        if (other->on_link && (is_from(pair, other, &pair->sender) || is_from(pair, other, &pair->syn_sender)))
            return TRUE;
    }
    return FALSE;
}

gboolean ibh_is_lladdr_unknown(const IbhProbe *probe, const IbhProbePair *pair)
{
    return pair->received && ibh_probe_is_direct(probe, pair) && !pair->lladdr.len && !pair->sender.len;
}

/* ---- full size ---- */

gboolean ibh_is_in_pieces(const IbhProbe *probe G_GNUC_UNUSED, const IbhProbePair *pair)
{
    return !pair->mtu.failed && pair->mtu.fragment;
}

gboolean ibh_is_told_beyond(const IbhProbe *probe G_GNUC_UNUSED, const IbhProbePair *pair)
{
    return pair->mtu.failed && pair->mtu.told_by.family;
}

gboolean ibh_is_told_too_long(const IbhProbe *probe, const IbhProbePair *pair)
{
    return ibh_is_told_beyond(probe, pair) && (pair->on_link || pair->mtu.fragment);
}

gboolean ibh_is_size_mangled(const IbhProbe *probe G_GNUC_UNUSED, const IbhProbePair *pair)
{
    return pair->mtu.failed && pair->mtu.mangled;
}

gboolean ibh_is_size_ours(const IbhProbe *probe G_GNUC_UNUSED, const IbhProbePair *pair)
{
    return pair->mtu.failed && (pair->mtu.held || pair->mtu.seen > pair->mtu.passed);
}

gboolean ibh_is_size_silent(const IbhProbe *probe G_GNUC_UNUSED, const IbhProbePair *pair)
{
    return pair->mtu.failed;
}
