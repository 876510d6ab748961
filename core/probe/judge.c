/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds what is wrong with each pair. The causes (stages.h) form several lists, and a pair gets at most one cause of
 * each list: the functions below test the causes of a list in turn, and return the first that is proved. If nothing
 * proves who lost the echoes of a pair, the cause accuses nobody; verdict.c then compares pairs.
 */
#include "check/check.h"
#include "probe/probe.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <string.h>

/* ---- who has an address ---- */

/* Returns how many hardware addresses are in both lists. */
static guint count_shared(const IbhLladdr *ones, guint n, const IbhLladdr *others, guint n_others)
{
    guint shared = 0;

    for (guint i = 0; i < n; i++) {
        for (guint k = 0; k < n_others; k++)
            shared += ibh_lladdr_equal(&ones[i], &others[k]) ? 1 : 0;
    }
    return shared;
}

/* Returns the hops (const IbhProbeHop *) whose claims tell something about the claimants of `hop`: all hops with other
 * addresses; of the hops that IBH_EACH_SAME() visits together, only the first. If `hop` and another hop have link-local
 * addresses on different wires, the other hop does not count unless its address is this host's own: unrelated hosts may
 * have these addresses. The caller frees the array. */
static GPtrArray *find_comparable(const IbhProbe *probe, const IbhProbeHop *hop)
{
    const gboolean is_link_local = ibh_ip_is_link_local(&hop->ip);
    GPtrArray *comparable = g_ptr_array_new();
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, probe->hops);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        IbhProbeHop *other = value;

        if (ibh_ip_equal(&other->ip, &hop->ip))
            continue;
        if (!ibh_ip_is_link_local(&other->ip)) {
            g_ptr_array_add(comparable, other);
            continue;
        }
        for (; other; other = other->next) {
            if (!is_link_local || other->is_own || other->link == hop->link)
                g_ptr_array_add(comparable, other);
        }
    }
    return comparable;
}

/* TRUE if the hardware address claims the hop's IP address, and each of these claims may be that of a proxy. */
static gboolean may_stand_in(const IbhProbe *probe, const IbhProbeHop *of, const IbhLladdr *lladdr)
{
    gboolean claims = FALSE;

    IBH_EACH_SAME (hop, probe, of) {
        const IbhProbeClaim *claim = ibh_hop_claim(hop, lladdr);

        if (claim && !claim->proxy)
            return FALSE;
        claims |= claim != NULL;
    }
    return claims;
}

/* Moves the stand-ins to the end of `mine`, the claimants of the hop's address, marks their claims, and returns how
 * many other claimants there are. A router with proxy ARP answers for every host on the wire, beside the host itself;
 * the hosts are innocent. So a claimant of the hop's address stands in for others if it also claims
 * - an address of this host;
 * - or at least two other addresses that each have other claimants, none of which claims the hop's address. One such
 *   address is not enough: a second host may have both addresses of a peer with two NICs, but hardly three addresses.
 * A stand-in only answers, as a proxy does (may_stand_in()): an address that a claimant also claims unasked does not
 * count, and whoever claims the hop's address unasked is no stand-in. If all claimants would be stand-ins, none is. */
static guint set_stand_ins_apart(const IbhProbe *probe, const IbhProbeHop *hop, const GPtrArray *comparable,
                                 IbhLladdr *mine, guint n)
{
    gboolean stands_in[IBH_PROBE_HOSTS] = {FALSE};
    IbhLladdr theirs[IBH_PROBE_HOSTS];
    guint signs[IBH_PROBE_HOSTS] = {0}, n_stand_ins = 0, stay = 0;

    IBH_EACH_POINTER (const IbhProbeHop, other, comparable) {
        const guint n_theirs = ibh_probe_list_hosts(probe, other, theirs);
        const gboolean differ = n_theirs > 1 && count_shared(mine, n, theirs, n_theirs) == 1;

        if (!other->is_own && !differ)
            continue;
        for (guint i = 0; i < n; i++)
            signs[i] += !may_stand_in(probe, other, &mine[i]) ? 0 : other->is_own ? 2 : 1;
    }
    for (guint i = 0; i < n; i++) {
        stands_in[i] = signs[i] > 1 && may_stand_in(probe, hop, &mine[i]);
        n_stand_ins += stands_in[i] ? 1 : 0;
    }
    for (guint i = 0; i < n; i++) {
        stands_in[i] &= n_stand_ins < n;
        IBH_EACH_SAME (same, probe, hop) {
            IbhProbeClaim *claim = ibh_hop_claim(same, &mine[i]);

            if (claim)
                claim->stands_in = stands_in[i];
        }
        if (!stands_in[i]) {
            const IbhLladdr stand_in = mine[stay];

            mine[stay++] = mine[i];
            mine[i] = stand_in;
        }
    }
    return stay;
}

/* Finds out whether the hardware addresses that claim the hop's address belong to one host or to two. Compares their
 * claims of other addresses: the NICs of one host also claim that host's other addresses together; two hosts claim no
 * other address together. Returns
 * - IBH_CAUSE_NONE if fewer than two hardware addresses claim the hop's address;
 * - IBH_PEER_PROXY if all of them but one are stand-ins; stand-ins do not count below;
 * - IBH_PEER_FLUX (one host) if two of them claim another address together, and none claims another address alone;
 * - IBH_PEER_TWO (two hosts) if somebody claims another address, but no two of them claim another address together;
 * - IBH_PEER_MANY (one host or two) in all other cases. */
static IbhCause compare_claims(const IbhProbe *probe, const IbhProbeHop *hop)
{
    IbhLladdr mine[IBH_PROBE_HOSTS], theirs[IBH_PROBE_HOSTS];
    const guint n_all = ibh_probe_list_hosts(probe, hop, mine);
    g_autoptr(GPtrArray) comparable = NULL;
    guint n;
    gboolean is_compared = FALSE, claim_together = FALSE, claims_alone = FALSE;

    if (n_all < 2)
        return IBH_CAUSE_NONE;
    comparable = find_comparable(probe, hop);
    n = set_stand_ins_apart(probe, hop, comparable, mine, n_all);
    if (n < 2)
        return IBH_PEER_PROXY;
    IBH_EACH_POINTER (const IbhProbeHop, other, comparable) {
        const guint n_claimants = ibh_probe_list_hosts(probe, other, theirs),
                    n_theirs = n_claimants - count_shared(mine + n, n_all - n, theirs, n_claimants),
                    shared = count_shared(mine, n, theirs, n_claimants);

        if (other->is_own || !n_theirs)
            continue;
        is_compared = TRUE;
        claim_together |= shared > 1;
        /* one of `mine` is the only claimant of the other address, as with hosts that share virtual addresses */
        claims_alone |= shared == 1 && n_theirs == 1;
    }
    if (claim_together && !claims_alone)
        return IBH_PEER_FLUX;
    return is_compared && !claim_together ? IBH_PEER_TWO : IBH_PEER_MANY;
}

/* Returns what compare_claims() says of the next hop's address; IBH_CAUSE_NONE if the next hop is unknown. All pairs
 * with the same ibh_probe_first_hop() share one comparison. */
static IbhCause find_rivals(const IbhProbePair *pair)
{
    IbhProbeHop *first = pair->hop ? ibh_probe_first_hop(pair->probe, pair->hop) : NULL;

    if (!first)
        return IBH_CAUSE_NONE;
    if (!first->is_compared)
        first->rivals = compare_claims(pair->probe, first);
    first->is_compared = TRUE;
    return first->rivals;
}

/* If a hardware address answers each question twice, finds out why. If two hosts have this hardware address, both get
 * the question, but a switch delivers an echo to one of them only. A wire that doubles frames also doubles replies to
 * echoes. So two hosts are proved only if replies came in, each only once, and --probe missed no packet that could be a
 * second copy. */
static IbhCause find_twin(const IbhProbePair *pair)
{
    IbhProbeHop *hop = pair->hop;

    /* In IPv6, `questions` counts some questions twice (flight.c). A gateway, or a virtual router (`is_virtual`), may
     * be two switches that share a hardware address, and both answer. */
    if (!hop || !hop->questions || hop->ip.family != AF_INET || !ibh_probe_is_direct(pair) || hop->is_virtual)
        return IBH_CAUSE_NONE;
    IBH_EACH_CLAIM (claim, hop) {
        if (claim->answers >= 2 * hop->questions && !ibh_lladdr_is_virtual(&claim->lladdr))
            return pair->doubled                          ? IBH_PEER_DOUBLED
                   : pair->probe->hears && pair->received ? IBH_PEER_TWICE
                                                          : IBH_CAUSE_NONE;
    }
    return IBH_CAUSE_NONE;
}

/* ---- the neighbour table: an entry is right if its hardware address claims the IP address now, or replies ---- */

/* TRUE if a virtual router claims the hop's address, or if the kernel's neighbour entry for this address has the
 * hardware address of a virtual router. */
static gboolean has_virtual(IbhProbeHop *hop)
{
    return ibh_hop_has_virtual(hop) || ibh_lladdr_is_virtual(&hop->lladdr);
}

/* TRUE if this hardware address sent a reply to this pair, or to another pair with the same next hop. */
static gboolean has_reply_from(const IbhProbePair *pair, const IbhLladdr *lladdr)
{
    IBH_EACH_PAIR (other, pair->probe) {
        if (other->hop == pair->hop && ibh_lladdr_equal(&other->sender, lladdr))
            return TRUE;
    }
    return FALSE;
}

/* TRUE if the hardware address claims the address of another next hop. */
static gboolean has_another_address(const IbhProbePair *pair, const IbhLladdr *lladdr)
{
    IBH_EACH_PAIR (other, pair->probe) {
        if (other->hop && !ibh_ip_equal(&other->hop->ip, &pair->hop->ip) && ibh_hop_claim(other->hop, lladdr))
            return TRUE;
    }
    return FALSE;
}

/* TRUE if an entry with this hardware address contradicts all that was heard of the next hop: the hardware address did
 * not claim the next hop's IP address, and sent no reply. A reply alone can prove that the entry is right: a peer with
 * ARP off, and with a static entry for us, replies, although only a proxy answers ARP for the peer. But a reply proves
 * nothing if the hardware address claims another IP address: a peer may get packets and reply through its wrong NIC. */
static gboolean is_entry_refuted(const IbhProbePair *pair, const IbhLladdr *lladdr)
{
    return lladdr->len && !ibh_hop_claim(pair->hop, lladdr) &&
           (!has_reply_from(pair, lladdr) || has_another_address(pair, lladdr));
}

static IbhCause find_entry(const IbhProbePair *pair)
{
    IbhProbeHop *hop = pair->hop;
    gboolean has_answer, is_certain;

    if (!hop || hop->forged) /* the finding about the forgery is enough */
        return IBH_CAUSE_NONE;
    has_answer = ibh_hop_has_answer(hop);
    /* an entry that no claim and no reply confirms is certainly wrong only if a host answered, no claim can be missing,
     * and no virtual router can have replied from its own NIC */
    is_certain = has_answer && hop->n_claims < IBH_PROBE_CLAIMS && !(has_virtual(hop) && pair->received);
    if (is_certain && hop->fixed && is_entry_refuted(pair, &hop->lladdr))
        return IBH_ENTRY_FIXED;
    if (is_certain && is_entry_refuted(pair, &hop->entry))
        return IBH_ENTRY_WRONG;
    /* If echoes come back, but nobody answers ARP, this host uses an old entry, and loses the next hop when the entry
     * expires. Fixed entries, and entries on a link without ARP, do not expire. Silence proves nothing if --probe
     * missed packets, or if no question was sent. In IPv6, --probe sends no question after an echo came back. */
    if (has_answer || hop->ip.family != AF_INET || !pair->probe->hears || !hop->questions || !pair->received)
        return IBH_CAUSE_NONE;
    return hop->lladdr.len && !hop->fixed && !(hop->link->flags & IFF_NOARP) ? IBH_ENTRY_UNANSWERED : IBH_CAUSE_NONE;
}

/* ---- lost echoes ---- */

/* TRUE if another finding explains the loss:
 * - the neighbour table has a wrong hardware address for the next hop;
 * - a host forges answers for the next hop's address;
 * - a second NIC or host claims the next hop's address;
 * - another host claims the rail's address, so replies may have gone there;
 * - two hosts have the next hop's hardware address. */
static gboolean is_told_elsewhere(const IbhProbePair *pair)
{
    const IbhProbeHop *hop = pair->hop;
    IbhProbeHop *own = ibh_probe_hop(pair->probe, ibh_probe_link(pair)->ifindex, &pair->route.from);
    const IbhCause entry = find_entry(pair);

    if (entry == IBH_ENTRY_FIXED || entry == IBH_ENTRY_WRONG || (hop && hop->forged) || find_rivals(pair))
        return TRUE;
    /* `own` is never NULL (ibh_probe_find_hops()). A proxy does not count as another host that has the rail's address,
     * and neither does a NIC of this host. */
    IBH_EACH_CLAIM (claim, own) {
        if (!claim->proxy && !ibh_probe_own_link(pair->probe, &claim->lladdr))
            return TRUE;
    }
    /* Only a pair that sends directly, and got replies, can show that two hosts have one hardware address. So look at
     * each pair whose next hop has a claim of the hardware address to which this pair sends (hop->lladdr). */
    IBH_EACH_PAIR (other, pair->probe) {
        if (hop && hop->lladdr.len && other->hop && ibh_hop_claim(other->hop, &hop->lladdr) &&
            find_twin(other) == IBH_PEER_TWICE)
            return TRUE;
    }
    return FALSE;
}

/* Returns why this host did not send echoes of this pair, or why it dropped replies to them; IBH_CAUSE_NONE if nothing
 * shows that this host lost them. The result counts only if echoes are lost (find_loss()). */
static IbhCause find_own_loss(const IbhProbePair *pair)
{
    const IbhLookup *route = &pair->route;
    const IbhProbeHop *hop = pair->hop;
    const IbhLink *link = ibh_probe_link(pair);
    const int six = ibh_probe_is_ipv6(pair), error = pair->send_error;
    const guint arp_off = IFF_NOARP | IFF_BROADCAST; /* ARP is off on a link that has broadcasts, and so needs ARP */
    /* some echoes have no reply, and --probe, which missed no packet, saw none of these leave through the NIC */
    const gboolean is_stuck = hop && pair->probe->hears && pair->sent > pair->received && !pair->is_lost;
    /* the kernel asked for the hardware address, and no reply shows that it has it: echoes wait for an answer */
    const gboolean needs_answer = hop && hop->kernel_asked && !pair->received;

    if (!ibh_nic_is_usable(pair->nic))
        return link->flags & IFF_UP ? IBH_LOSS_NO_CARRIER : IBH_LOSS_DOWN;
    if (!route->error && route->type > RTN_UNICAST)
        return IBH_LOSS_NOT_UNICAST;
    if ((link->flags & arp_off) == arp_off && hop && !hop->fixed && !pair->received)
        return IBH_LOSS_ARP_OFF;
    /* IPv6 reports a full table as EINVAL */
    if (pair->probe->was_full[six] && (error == ENOBUFS || (six && error == EINVAL)))
        return IBH_LOSS_TABLE;
    if (is_stuck && needs_answer && hop->is_answered)
        return IBH_LOSS_UNHEARD;
    if ((is_stuck && !needs_answer) || error == ENOBUFS || error == EPERM)
        return IBH_LOSS_HELD;
    if (ibh_probe_route_of_error(error) && !route->error && route->oif == link->ifindex)
        return IBH_LOSS_MARKED;
    if (error || !pair->sent)
        return IBH_LOSS_NO_WAY;
    if (pair->dropped)
        return IBH_LOSS_DROPPED;
    return pair->mangled ? IBH_LOSS_MANGLED : IBH_CAUSE_NONE;
}

/* TRUE if the source has pairs with other next hops, too, and neither an answer nor a reply came from any of these next
 * hops: then the fault may be elsewhere, so this next hop is not accused. */
static gboolean are_other_hops_silent(const IbhProbePair *pair)
{
    gboolean has_others = FALSE;

    IBH_EACH_PAIR (other, pair->probe) {
        if (other->source != pair->source || !other->hop || other->hop == pair->hop)
            continue;
        if (ibh_hop_has_answer(other->hop) || other->received)
            return FALSE;
        has_others = TRUE;
    }
    return has_others;
}

/* TRUE if the next hop is a gateway, and another pair with the same next hop got replies. The gateway then is up, and
 * probably forwards packets. */
static gboolean does_gateway_forward(const IbhProbePair *pair)
{
    if (!pair->hop || ibh_probe_is_direct(pair))
        return FALSE;
    IBH_EACH_PAIR (other, pair->probe) {
        if (other->hop == pair->hop && !ibh_probe_is_direct(other) && other->received)
            return TRUE;
    }
    return FALSE;
}

static IbhCause find_loss(const IbhProbePair *pair)
{
    const gboolean has_loss = !pair->sent || pair->received < pair->sent || pair->send_error,
                   is_answered = pair->hop && ibh_hop_has_answer(pair->hop), is_direct = ibh_probe_is_direct(pair);
    const IbhCause own = find_own_loss(pair);
    gboolean forwards; /* the gateway forwards packets, so it is not to blame */

    if (!has_loss)
        return IBH_CAUSE_NONE;
    if (own)
        return own;
    if (is_told_elsewhere(pair))
        return IBH_LOSS_TOLD;
    if (pair->redirected && !pair->received)
        return IBH_LOSS_REDIRECT;
    if (pair->refused_by.family)
        return IBH_LOSS_REFUSED;
    if (pair->received)
        return IBH_LOSS_SOME;
    if (pair->is_translated)
        return IBH_LOSS_TRANSLATED;
    forwards = does_gateway_forward(pair);
    if (is_answered && !is_direct && pair->on_link && !forwards)
        return IBH_LOSS_DETOUR;
    if (is_answered && pair->left)
        return is_direct ? IBH_LOSS_AFTER_ARP : IBH_LOSS_BEYOND;
    /* the next hop answers, but no echo was seen to leave; or the next hop is unknown; or --probe missed packets; or no
     * question about the next hop's hardware address was sent; or the gateway forwards, but does not answer now */
    if (is_answered || forwards || !pair->hop || !pair->probe->hears || !pair->hop->questions)
        return IBH_LOSS_UNKNOWN;
    /* IBH_LOSS_NOTHING accuses nobody; IBH_LOSS_GATEWAY accuses the gateway */
    return is_direct || are_other_hops_silent(pair) ? IBH_LOSS_NOTHING : IBH_LOSS_GATEWAY;
}

/* ---- which NIC the rail's own traffic leaves through, and which way replies come ---- */

/* TRUE if the echo that is tied to no NIC left through another NIC than the pair's. The kernel routes a packet again if
 * a filter marks it or changes its DSCP. */
static gboolean is_led_away(const IbhProbePair *pair)
{
    return pair->free_ifindex && pair->free_ifindex != ibh_probe_link(pair)->ifindex;
}

static IbhCause find_way(const IbhProbePair *pair, IbhCause loss)
{
    const IbhLookup *route = &pair->route;

    if (loss == IBH_LOSS_NOT_UNICAST || !ibh_nic_is_usable(pair->nic)) /* the finding about the loss is enough */
        return IBH_CAUSE_NONE;
    if (route->error)
        return IBH_WAY_NONE;
    if (route->oif != ibh_probe_link(pair)->ifindex)
        return IBH_WAY_OTHER_NIC;
    return is_led_away(pair) ? IBH_WAY_FILTERED : IBH_CAUSE_NONE;
}

/* Looks for a reply, or an answer to the SYN, from a wrong hardware address: one that neither is in the kernel's
 * neighbour entry for the peer nor claims the peer's address. Without a hardware address in this entry, no sender can
 * be judged. Returns
 * - IBH_BACK_NOT_KNOWN if the entry has no hardware address, and replies came, but tell no hardware address either;
 * - IBH_BACK_SENDER if the peer of another pair has the wrong hardware address;
 * - IBH_BACK_STRANGER if no peer has it;
 * - IBH_CAUSE_NONE in all other cases. */
static IbhCause find_sender(const IbhProbePair *pair)
{
    IbhProbeHop *hop = pair->hop;
    const IbhLladdr *senders[] = {&pair->sender, &pair->syn_sender};

    if (!hop->lladdr.len)
        return pair->received && !pair->sender.len ? IBH_BACK_NOT_KNOWN : IBH_CAUSE_NONE;
    if (has_virtual(hop)) /* a virtual router may send from its own NIC */
        return IBH_CAUSE_NONE;
    for (guint i = 0; i < G_N_ELEMENTS(senders); i++) {
        if (!senders[i]->len || ibh_hop_has(hop, senders[i]))
            continue;
        IBH_EACH_PAIR (other, pair->probe) {
            if (ibh_probe_is_direct(other) && ibh_hop_has(other->hop, senders[i]))
                return IBH_BACK_SENDER;
        }
        return IBH_BACK_STRANGER;
    }
    return IBH_CAUSE_NONE;
}

static IbhCause find_back(const IbhProbePair *pair)
{
    IbhProbeHop *hop = pair->hop;

    if (is_led_away(pair)) /* packets leave through another NIC, so the peer rightly replies to that NIC */
        return IBH_CAUSE_NONE;
    if (pair->is_translated) /* without replies, the finding about the loss is enough */
        return pair->received ? IBH_BACK_TRANSLATED : IBH_CAUSE_NONE;
    /* Replies came in through another NIC. If this host dropped them there, the finding about the loss tells that. */
    if (pair->reply_ifindex && pair->reply_ifindex != ibh_probe_link(pair)->ifindex && !pair->dropped) {
        /* IPoIB does not tell the sender: then assume that a peer in our subnet replied itself, and that the replies of
         * a distant peer came through another router than the next hop. */
        const gboolean is_from_neighbour = pair->strayed.len ? hop && ibh_hop_has(hop, &pair->strayed) : pair->on_link;

        return is_from_neighbour ? IBH_BACK_ENTRY : IBH_BACK_OTHER;
    }
    return ibh_probe_is_direct(pair) ? find_sender(pair) : IBH_CAUSE_NONE;
}

/* ---- full size ---- */

static IbhCause find_size(const IbhProbePair *pair)
{
    const IbhProbeSize *mtu = &pair->mtu;

    if (!mtu->failed && mtu->fragment)
        return IBH_SIZE_PIECES;
    if (!mtu->failed)
        return ibh_probe_is_ipv6(pair) && ibh_link_has_lowered_mtu6(ibh_probe_link(pair)) ? IBH_SIZE_LOWERED
                                                                                          : IBH_CAUSE_NONE;
    if (mtu->limited_by.family) /* a smaller MTU on the way to a distant peer is normal, but fragments are not */
        return pair->on_link || mtu->fragment ? IBH_SIZE_TOLD : IBH_SIZE_BEYOND;
    if (mtu->mangled)
        return IBH_SIZE_MANGLED;
    /* a filter refused a large echo, a larger reply came in than was delivered, or no echo of full size went out */
    if (mtu->held || mtu->seen > mtu->passed || (pair->probe->hears && mtu->left < ibh_probe_full_size(pair)))
        return IBH_SIZE_OURS;
    return IBH_SIZE_SILENT;
}

/* ---- RDMA ---- */

/* If all echoes that were sent are lost, the finding about the loss also explains a silent RDMA request. */
static IbhCause find_rdma(const IbhProbePair *pair)
{
    return pair->rdma == IBH_RDMA_SILENT && pair->sent && !pair->received ? IBH_RDMA_NO_ECHO : pair->rdma;
}

/* ---- all causes of a pair ---- */

/* Sums up what was heard of the pair's echoes. */
static void sum_up(IbhProbePair *pair)
{
    IbhProbeSize *mtu = &pair->mtu;
    IbhProbeClaim *claim = pair->hop ? ibh_hop_claim(pair->hop, &pair->sender) : NULL;

    if (claim)
        claim->replied = TRUE;
    /* the extra echo of flight.c is not among `echoes`, but sets `left` */
    pair->is_lost = !pair->received && pair->left;
    for (guint i = 0; i < pair->probe->count; i++) {
        const IbhProbeEcho *echo = &pair->echoes[i];

        pair->is_lost |= echo->left && !echo->received;
        pair->dropped |= echo->seen && !echo->received;
        if (echo->seen && (!pair->reply_ifindex || echo->seen != ibh_probe_link(pair)->ifindex))
            pair->reply_ifindex = echo->seen;
    }
    if (pair->received < pair->sent) /* if small echoes are lost, a lost large one says nothing about sizes */
        *mtu = (IbhProbeSize){.passed = mtu->passed};
    mtu->failed &= mtu->passed < ibh_probe_full_size(pair);
    if (mtu->failed || mtu->fragment) /* a large packet had trouble, but all small echoes passed */
        mtu->passed = MAX(mtu->passed, (ibh_probe_is_ipv6(pair) ? 40 : 20) + IBH_PROBE_PACKET);
}

void ibh_probe_judge(IbhProbe *probe)
{
    g_clear_pointer(&probe->findings, g_ptr_array_unref);
    probe->findings = ibh_findings_new();
    IBH_EACH_PAIR (pair, probe) {
        sum_up(pair);
        if (pair->hop)
            ibh_probe_first_hop(probe, pair->hop)->is_compared = FALSE; /* forget the result of an earlier call */
    }
    ibh_probe_believe_routers(probe); /* may add claims, which the functions below compare */
    IBH_EACH_PAIR (pair, probe) {
        const IbhCause loss = find_loss(pair), rivals = find_rivals(pair);
        const IbhCause causes[IBH_PROBE_LISTS] = {loss,
                                                  find_way(pair, loss),
                                                  find_entry(pair),
                                                  rivals ? rivals : find_twin(pair),
                                                  find_back(pair),
                                                  find_size(pair),
                                                  find_rdma(pair)};

        memcpy(pair->causes, causes, sizeof causes);
    }
    ibh_probe_report_strangers(probe);
    ibh_probe_report_forgeries(probe);
    ibh_probe_report_causes(probe);
    ibh_probe_report_whole(probe);
}

/* ---- RDMA requests, which another process sends ---- */

gboolean ibh_probe_awaits_rdma(const IbhProbePair *pair)
{
    return pair->probe->rdma && (pair->rdma == IBH_RDMA_UNASKED || pair->rdma >= IBH_RDMA_NO_WAY);
}

/* Each new request begins with the first step again. A report of a step that an earlier request has passed says nothing
 * new, so it is ignored, unless the step failed this time. */
gboolean ibh_probe_take_rdma(IbhProbe *probe, guint i, IbhCause cause, int error)
{
    IbhProbePair *pair = ibh_probe_pair(probe, i);

    if (!pair || !ibh_probe_awaits_rdma(pair) ||
        (cause != IBH_CAUSE_NONE && (cause <= IBH_RDMA_UNASKED || cause >= IBH_N_CAUSES)))
        return FALSE;
    if (cause >= IBH_RDMA_NO_WAY && cause < pair->rdma && !error)
        return TRUE;
    pair->rdma = cause;
    pair->rdma_error = error;
    return TRUE;
}
