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

static guint flags_of(const IbhProbePair *pair)
{
    return ibh_probe_link(pair)->flags;
}

/* ---- this host ---- */

gboolean ibh_proof_has_no_carrier(const IbhProbePair *pair)
{
    return !ibh_nic_is_usable(ibh_probe_source(pair)->nic);
}

gboolean ibh_proof_is_down(const IbhProbePair *pair)
{
    return ibh_proof_has_no_carrier(pair) && !(flags_of(pair) & IFF_UP);
}

gboolean ibh_proof_is_ours(const IbhProbePair *pair)
{
    return !pair->route.error && pair->route.type > RTN_UNICAST;
}

gboolean ibh_proof_is_arp_off(const IbhProbePair *pair)
{
    const guint both = IFF_NOARP | IFF_BROADCAST;

    return (flags_of(pair) & both) == both && pair->on_link && !pair->fixed && !pair->received;
}

/* A table without room has another errno in each family. */
gboolean ibh_proof_was_table_full(const IbhProbePair *pair)
{
    const int six = ibh_probe_family(pair);

    return pair->probe->was_full[six] && (pair->send_error == ENOBUFS || (six && pair->send_error == EINVAL));
}

/* No echo left, and the kernel has, or does not look for, the hardware address. A gateway is asked for another address
 * than the peer's. */
static gboolean has_none_left(const IbhProbePair *pair)
{
    const gboolean is_found = pair->trace.is_answered || !pair->trace.asks;

    return pair->probe->hears && pair->on_link && pair->sent && !pair->received && !pair->trace.left && is_found;
}

gboolean ibh_proof_is_unheard(const IbhProbePair *pair)
{
    return has_none_left(pair) && pair->trace.asks;
}

gboolean ibh_proof_is_held(const IbhProbePair *pair)
{
    return pair->send_error == ENOBUFS || has_none_left(pair);
}

gboolean ibh_proof_is_refused(const IbhProbePair *pair)
{
    return pair->send_error == EPERM;
}

gboolean ibh_proof_is_unsent(const IbhProbePair *pair)
{
    return pair->send_error || !pair->sent;
}

gboolean ibh_proof_is_dropped(const IbhProbePair *pair)
{
    return pair->dropped;
}

gboolean ibh_proof_is_mangled(const IbhProbePair *pair)
{
    return pair->mangled;
}

/* The rail hears of no peer, and the peer is heard by another rail, or there is none. */
gboolean ibh_proof_is_deaf(const IbhProbePair *of)
{
    gboolean others = FALSE, reached = FALSE;

    IBH_EACH (const IbhProbePair, pair, of->probe->pairs) {
        if (pair->source == of->source && pair->received)
            return FALSE;
        if (pair->source == of->source || pair->peer != of->peer)
            continue;
        others = TRUE;
        reached |= pair->received > 0;
    }
    return reached || !others;
}

/* No lost echo was seen to leave, nor did it wait for a hardware address. */
gboolean ibh_proof_is_unseen(const IbhProbePair *pair)
{
    const gboolean has_way = ibh_proof_is_held(pair) || (pair->probe->hears && (pair->answers || pair->received));

    return has_way && !pair->gone;
}

/* ---- the way that the kernel says ---- */

gboolean ibh_proof_has_no_route(const IbhProbePair *pair)
{
    return pair->route.error != 0;
}

gboolean ibh_proof_has_other_route(const IbhProbePair *pair)
{
    return pair->route.oif != ibh_probe_link(pair)->ifindex;
}

/* The question has neither mark nor DSCP nor NIC. */
gboolean ibh_proof_is_marked(const IbhProbePair *pair)
{
    return ibh_probe_route_of_error(pair->send_error) && !ibh_proof_has_no_route(pair) &&
           !ibh_proof_has_other_route(pair);
}

/* Filters mark packets, or change their DSCP; then the kernel routes them once more. */
gboolean ibh_proof_is_led_away(const IbhProbePair *pair)
{
    return pair->free_ifindex && pair->free_ifindex != ibh_probe_link(pair)->ifindex;
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

static gboolean is_wrong(const IbhProbePair *pair, const IbhLladdr *entry)
{
    if (!pair->answers || pair->answers == IBH_PROBE_ANSWERS || (has_virtual(pair) && pair->received))
        return FALSE;
    return entry->len && ibh_probe_is_direct(pair) && !ibh_probe_has_answer(pair, entry);
}

gboolean ibh_proof_is_entry_fixed(const IbhProbePair *pair)
{
    return pair->fixed && is_wrong(pair, &pair->lladdr);
}

gboolean ibh_proof_is_entry_wrong(const IbhProbePair *pair)
{
    return is_wrong(pair, &pair->entry);
}

/* Echoes go to what the kernel knows from before. What is asked for now was not answered. */
gboolean ibh_proof_is_entry_unanswered(const IbhProbePair *pair)
{
    const gboolean is_asked =
        ibh_probe_peer(pair)->family == AF_INET && ibh_probe_is_direct(pair) && !(flags_of(pair) & IFF_NOARP);

    return is_asked && pair->probe->hears && pair->received && pair->lladdr.len && !pair->fixed && !pair->answers;
}

/* ---- who answers for the peer's address ---- */

/* A virtual router answers with an address that no NIC has, and its NIC may answer as well: that is one host. But the
 * host that took our packets at a virtual address, and sent its replies from there, has it on a NIC. */
static guint count_hosts(const IbhProbePair *pair)
{
    guint n = 0;

    for (guint i = 0; i < pair->answers; i++)
        n += ibh_lladdr_is_virtual(&pair->answer[i]) && !ibh_lladdr_equal(&pair->answer[i], &pair->sender) ? 0 : 1;
    return pair->on_link ? n : 0;
}

static guint count_shared(const IbhProbePair *pair, const IbhProbePair *other)
{
    guint n = 0;

    for (guint i = 0; i < pair->answers; i++)
        n += ibh_probe_has_answer(other, &pair->answer[i]) ? 1 : 0;
    return n;
}

/* Of those that answer for the pair's address, this is the only one that answers for the other's. */
static gboolean has_one_of(const IbhProbePair *pair, const IbhProbePair *other)
{
    return count_hosts(other) == 1 && count_shared(pair, other) == 1;
}

/* Several that answer for one address, and for another one, too: these are NICs of one host; unless one of them has an
 * address for itself, as two hosts would that share virtual addresses. */
gboolean ibh_proof_is_flux(const IbhProbePair *pair)
{
    gboolean is_mixed = FALSE;

    if (count_hosts(pair) < 2)
        return FALSE;
    IBH_EACH (const IbhProbePair, other, pair->probe->pairs) {
        if (other->source != pair->source || other == pair)
            continue;
        if (has_one_of(pair, other))
            return FALSE;
        is_mixed |= count_shared(pair, other) > 1;
    }
    return is_mixed;
}

/* Several for this address, and one for each other: hosts there do not mix their NICs. */
gboolean ibh_proof_two_hosts_answer(const IbhProbePair *pair)
{
    gboolean is_compared = FALSE;

    if (count_hosts(pair) < 2)
        return FALSE;
    IBH_EACH (const IbhProbePair, other, pair->probe->pairs) {
        if (other->source != pair->source || other == pair)
            continue;
        if (count_hosts(other) > 1)
            return FALSE;
        is_compared |= other->answers > 0;
    }
    return is_compared;
}

gboolean ibh_proof_many_addresses_answer(const IbhProbePair *pair)
{
    return count_hosts(pair) > 1;
}

/* Each question has two answers from one hardware address. */
static gboolean has_double_answers(const IbhProbePair *pair)
{
    if (!ibh_probe_is_direct(pair) || !pair->questions || ibh_probe_family(pair))
        return FALSE;
    for (guint i = 0; i < pair->answers; i++) {
        if (pair->times[i] >= 2 * pair->questions)
            return TRUE;
    }
    return FALSE;
}

/* Two hosts: all get a question, but a switch delivers an echo to one of them only. */
gboolean ibh_proof_one_answers_twice(const IbhProbePair *pair)
{
    return has_double_answers(pair) && pair->probe->hears && pair->received && !pair->doubled;
}

gboolean ibh_proof_is_doubled(const IbhProbePair *pair)
{
    return has_double_answers(pair) && pair->doubled;
}

/* ---- losses that something else explains ---- */

/* Another host has the rail's address, too: replies go to either host. */
static gboolean has_double(const IbhProbePair *pair)
{
    IBH_EACH (const IbhProbeStranger, stranger, pair->probe->strangers) {
        if (stranger->source == pair->source && !stranger->proxy && !stranger->own)
            return TRUE;
    }
    return FALSE;
}

/* Packets to an address of that hardware address go to either of two hosts, as another address has shown. */
static gboolean has_twin(const IbhProbePair *pair)
{
    IBH_EACH (const IbhProbePair, other, pair->probe->pairs) {
        if (pair->lladdr.len && ibh_probe_has_answer(other, &pair->lladdr) && ibh_proof_one_answers_twice(other))
            return TRUE;
    }
    return FALSE;
}

gboolean ibh_proof_answer_was_wrong(const IbhProbePair *pair)
{
    const gboolean is_shared = pair->forged || has_double(pair) || ibh_proof_many_addresses_answer(pair) ||
                               ibh_proof_one_answers_twice(pair) || has_twin(pair);

    return is_shared || ibh_proof_is_entry_fixed(pair) || ibh_proof_is_entry_wrong(pair);
}

/* ---- echoes left, and did not come back ---- */

gboolean ibh_proof_way_refuses(const IbhProbePair *pair)
{
    return pair->refusal.from.family != AF_UNSPEC;
}

gboolean ibh_proof_peer_refuses(const IbhProbePair *pair)
{
    return ibh_proof_way_refuses(pair) && ibh_ip_equal(&pair->refusal.from, ibh_probe_peer(pair));
}

gboolean ibh_proof_has_reply(const IbhProbePair *pair)
{
    return pair->received > 0;
}

gboolean ibh_proof_is_translated(const IbhProbePair *pair)
{
    return pair->trace.is_translated;
}

gboolean ibh_proof_is_redirected(const IbhProbePair *pair)
{
    return pair->redirected && !pair->received;
}

gboolean ibh_proof_is_detour(const IbhProbePair *pair)
{
    return pair->on_link && pair->answers && !ibh_probe_is_direct(pair);
}

/* The rail asked other hosts than this next hop, too, and none of them answers: it is not the next hop. */
static gboolean hears_no_other(const IbhProbePair *pair)
{
    const IbhIp *via = ibh_probe_via(pair);
    gboolean has_others = FALSE;

    IBH_EACH (const IbhProbePair, other, pair->probe->pairs) {
        const IbhIp *hop = ibh_probe_via(other);

        if (other->source != pair->source || !hop || ibh_ip_equal(hop, via))
            continue;
        if (other->answers || other->received)
            return FALSE;
        has_others = TRUE;
    }
    return has_others;
}

gboolean ibh_proof_is_silent(const IbhProbePair *pair)
{
    return pair->probe->hears && !pair->answers && ibh_probe_via(pair);
}

gboolean ibh_proof_is_gateway_silent(const IbhProbePair *pair)
{
    return ibh_proof_is_silent(pair) && !ibh_probe_is_direct(pair) && !hears_no_other(pair);
}

gboolean ibh_proof_has_answered(const IbhProbePair *pair)
{
    return pair->answers && ibh_probe_is_direct(pair);
}

gboolean ibh_proof_is_unknown(const IbhProbePair *pair G_GNUC_UNUSED)
{
    return TRUE;
}

/* ---- the way of replies ---- */

gboolean ibh_proof_is_reply_translated(const IbhProbePair *pair)
{
    return pair->received && ibh_proof_is_translated(pair);
}

gboolean ibh_proof_is_back_by_other(const IbhProbePair *pair)
{
    return pair->reply_ifindex && pair->reply_ifindex != ibh_probe_link(pair)->ifindex && !pair->dropped &&
           !pair->trace.is_translated;
}

/* The peer itself sent it to another NIC of this host: no router is between. Of IPoIB the kernel tells no sender. */
gboolean ibh_proof_is_back_by_peer(const IbhProbePair *pair)
{
    const IbhLladdr *from = &pair->strayed;
    const gboolean is_peer =
        ibh_probe_has_answer(pair, from) || ibh_lladdr_equal(from, &pair->lladdr) || (!from->len && pair->on_link);

    return is_peer && ibh_proof_is_back_by_other(pair);
}

/* From none of those that answer for the peer's address, nor from where echoes go. */
static gboolean is_foreign(const IbhProbePair *pair, const IbhLladdr *sender)
{
    return sender->len && pair->lladdr.len && pair->on_link && !has_virtual(pair) &&
           !ibh_lladdr_equal(sender, &pair->lladdr) && !ibh_probe_has_answer(pair, sender);
}

gboolean ibh_proof_is_sender_unknown(const IbhProbePair *pair)
{
    return is_foreign(pair, &pair->sender) || is_foreign(pair, &pair->syn_sender);
}

static gboolean is_from(const IbhProbePair *pair, const IbhProbePair *other, const IbhLladdr *sender)
{
    return is_foreign(pair, sender) &&
           (ibh_lladdr_equal(&other->lladdr, sender) || ibh_probe_has_answer(other, sender));
}

/* From the NIC that has another address. */
gboolean ibh_proof_is_sender_of_peer(const IbhProbePair *pair)
{
    if (!ibh_proof_is_sender_unknown(pair))
        return FALSE;
    IBH_EACH (const IbhProbePair, other, pair->probe->pairs) {
        if (other->on_link && (is_from(pair, other, &pair->sender) || is_from(pair, other, &pair->syn_sender)))
            return TRUE;
    }
    return FALSE;
}

gboolean ibh_proof_is_lladdr_unknown(const IbhProbePair *pair)
{
    return pair->received && ibh_probe_is_direct(pair) && !pair->lladdr.len && !pair->sender.len;
}

/* ---- full size ---- */

gboolean ibh_proof_reply_is_in_pieces(const IbhProbePair *pair)
{
    return !pair->mtu.failed && pair->mtu.fragment;
}

gboolean ibh_proof_router_says_too_long(const IbhProbePair *pair)
{
    return pair->mtu.failed && pair->mtu.limited_by.family;
}

gboolean ibh_proof_link_is_smaller(const IbhProbePair *pair)
{
    return ibh_proof_router_says_too_long(pair) && (pair->on_link || pair->mtu.fragment);
}

gboolean ibh_proof_is_size_mangled(const IbhProbePair *pair)
{
    return pair->mtu.failed && pair->mtu.mangled;
}

gboolean ibh_proof_is_size_ours(const IbhProbePair *pair)
{
    return pair->mtu.failed && (pair->mtu.held || pair->mtu.seen > pair->mtu.passed);
}

gboolean ibh_proof_is_size_silent(const IbhProbePair *pair)
{
    return pair->mtu.failed;
}
