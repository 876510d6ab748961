/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who claims the address of a peer, of a gateway, or of this host. */
#include "probe/probe.h"

#include <string.h>
#include <sys/socket.h>

#define FORGERIES_MAX 256 /* more are not kept */
#define INFINIBAND_LENGTH 20
#define GUID_LENGTH 8 /* the last bytes of an InfiniBand hardware address: the port's GUID */

/* ---- hardware addresses ---- */

IbhLladdr ibh_lladdr_from_bytes(const guint8 *bytes, guint length)
{
    IbhLladdr lladdr = {.len = MIN(length, IBH_LLADDR_MAX)};

    memcpy(lladdr.bytes, bytes, lladdr.len);
    return lladdr;
}

gboolean ibh_lladdr_equal(const IbhLladdr *one, const IbhLladdr *other)
{
    return one->len == other->len && memcmp(one->bytes, other->bytes, one->len) == 0;
}

gboolean ibh_lladdr_is_virtual(const IbhLladdr *lladdr)
{
    static const struct {
        guint64 first, mask;                         /* a range of addresses */
    } ranges[] = {{0x00005e000100, 0xffffffffff00},  /* VRRP (RFC 5798) for IPv4 */
                  {0x00005e000200, 0xffffffffff00},  /* VRRP for IPv6 */
                  {0x00000c07ac00, 0xffffffffff00},  /* HSRP */
                  {0x00000c9ff000, 0xfffffffff000},  /* HSRP version 2 for IPv4 */
                  {0x000573a00000, 0xfffffffff000},  /* HSRP version 2 for IPv6 */
                  {0x0007b4000000, 0xfffffffc0000}}; /* GLBP: 10 bits for the group, 8 for the forwarder */
    const guint64 number = (guint64)ibh_get16(lladdr->bytes) << 32 | ibh_get32(lladdr->bytes + 2);

    for (guint i = 0; i < G_N_ELEMENTS(ranges); i++) {
        if (lladdr->len == 6 && (number & ranges[i].mask) == ranges[i].first)
            return TRUE;
    }
    return FALSE;
}

char *ibh_lladdr_format(const IbhLladdr *lladdr)
{
    GString *text;

    if (!lladdr->len)
        return NULL;
    text = g_string_new(NULL);
    for (guint i = 0; i < lladdr->len; i++)
        g_string_append_printf(text, "%s%02x", i ? ":" : "", lladdr->bytes[i]);
    return g_string_free(text, FALSE);
}

/* ---- an address, and who claims it ---- */

IbhProbeHop *ibh_probe_hop(const IbhProbe *probe, int ifindex, const IbhIp *ip)
{
    IBH_EACH_WIRE (hop, probe, ip) {
        if (hop->link->ifindex == ifindex)
            return hop;
    }
    return NULL;
}

IbhProbeClaim *ibh_hop_claim(IbhProbeHop *hop, const IbhLladdr *lladdr)
{
    IBH_EACH_CLAIM (claim, hop) {
        if (ibh_lladdr_equal(&claim->lladdr, lladdr))
            return claim;
    }
    return NULL;
}

gboolean ibh_hop_has(IbhProbeHop *hop, const IbhLladdr *lladdr)
{
    return lladdr->len && (ibh_hop_claim(hop, lladdr) || ibh_lladdr_equal(lladdr, &hop->lladdr));
}

gboolean ibh_hop_has_answer(IbhProbeHop *hop)
{
    IBH_EACH_CLAIM (claim, hop) {
        if (claim->answers)
            return TRUE;
    }
    return FALSE;
}

gboolean ibh_hop_has_virtual(IbhProbeHop *hop)
{
    if (hop->is_virtual)
        return TRUE;
    IBH_EACH_CLAIM (claim, hop) {
        if (ibh_lladdr_is_virtual(&claim->lladdr))
            return TRUE;
    }
    return FALSE;
}

const IbhLink *ibh_probe_own_link(const IbhProbe *probe, const IbhLladdr *lladdr)
{
    /* all of an InfiniBand hardware address but the GUID can change, so compare only the GUID */
    const guint skip = lladdr->len == INFINIBAND_LENGTH ? INFINIBAND_LENGTH - GUID_LENGTH : 0;
    const IbhLink *found = NULL;

    IBH_EACH (const IbhLink, link, probe->rails->snapshot->links) {
        const IbhNic *nic = ibh_rails_nic(probe->rails, link->ifindex);

        if (link->lladdr_len != lladdr->len ||
            memcmp(link->lladdr + skip, lladdr->bytes + skip, lladdr->len - skip) != 0)
            continue;
        if (!found || (nic && nic->status == IBH_NIC_RAIL))
            found = link; /* a VLAN or macvlan may have the rail's hardware address: prefer the rail */
    }
    return found;
}

IbhProbeHop *ibh_probe_first_hop(const IbhProbe *probe, const IbhProbeHop *of)
{
    return ibh_ip_is_link_local(&of->ip) ? ibh_probe_hop(probe, of->link->ifindex, &of->ip)
                                         : g_hash_table_lookup(probe->hops, &of->ip);
}

guint ibh_probe_list_hosts(const IbhProbe *probe, const IbhProbeHop *of, IbhLladdr hosts[IBH_PROBE_HOSTS])
{
    guint n = 0;

    IBH_EACH_SAME (hop, probe, of) {
        IBH_EACH_CLAIM (claim, hop) {
            guint at = 0;

            /* A router may answer with its virtual hardware address, and also with that of its NIC. This is one host,
             * so the virtual address is not listed. But if replies to our echoes came from the virtual address, a NIC
             * really has this address, and it is listed. */
            if (ibh_lladdr_is_virtual(&claim->lladdr) && !claim->replied)
                continue;
            /* In IPv6, a proxy, or one of several hosts with an anycast address, clears the Override flag: its claim
             * proves no second host. */
            if (of->ip.family == AF_INET6 && claim->proxy)
                continue;
            while (at < n && !ibh_lladdr_equal(&hosts[at], &claim->lladdr))
                at++;
            if (at == n && n < IBH_PROBE_HOSTS)
                hosts[n++] = claim->lladdr;
        }
    }
    return n;
}

static gboolean is_about(const IbhProbeForgery *forgery, const IbhProbeHop *hop)
{
    return ibh_ip_equal(&forgery->ip, &hop->ip) && forgery->ifindex == hop->link->ifindex;
}

/* Notes that a host claims a hop's address in the name of another host, once for each sender, address and NIC. */
static void note_forgery(IbhProbe *probe, int ifindex, const IbhArpClaim *claim)
{
    const IbhProbeForgery forgery = {
        .sender = claim->sender, .name = claim->lladdr, .ip = claim->from, .ifindex = ifindex};
    IbhProbeHop *hop = g_hash_table_lookup(probe->hops, &claim->from);

    /* claims of an address of this host count on any wire, claims of another address only on the wire of its hop */
    while (hop && !hop->is_own && hop->link->ifindex != ifindex)
        hop = hop->next;
    if (!hop)
        return;
    hop->forged = TRUE;
    IBH_EACH (IbhProbeForgery, known, probe->forgeries) {
        if (ibh_lladdr_equal(&known->sender, &claim->sender) && ibh_ip_equal(&known->ip, &claim->from) &&
            known->ifindex == ifindex) {
            known->has_more |= !ibh_lladdr_equal(&known->name, &claim->lladdr);
            return;
        }
    }
    if (probe->forgeries->len < FORGERIES_MAX)
        g_array_append_val(probe->forgeries, forgery);
}

static int get_effective_of(const IbhProbe *probe, const IbhLink *link, IbhSysctl key)
{
    return ibh_sysctl_effective(probe->rails->snapshot, key, link->sysctl[key]);
}

/* In IPv4, a NIC of this host may answer for the address of another NIC of this host. `own` has answered a question of
 * --probe without a sender in this way. TRUE if `own` is not a rail, and would answer a peer's question, too. */
static gboolean answers_beside_rails(const IbhProbe *probe, const IbhLink *own)
{
    const IbhNic *nic = ibh_rails_nic(probe->rails, own->ifindex);

    if (!nic || nic->status == IBH_NIC_RAIL)
        return FALSE;
    /* the kernel applies arp_filter to a peer's question, but not to a question without a sender */
    if (get_effective_of(probe, own, IBH_SYSCTL_ARP_FILTER))
        return FALSE;
    /* With 1, the kernel drops a peer's question if the way to the peer leads through another NIC, but it answers a
     * question without a sender. */
    return get_effective_of(probe, own, IBH_SYSCTL_RP_FILTER) != 1;
}

void ibh_probe_take_claim(IbhProbe *probe, int ifindex, const IbhArpClaim *claim)
{
    const IbhIp none = {.family = AF_INET};
    const IbhLink *own = ibh_probe_own_link(probe, &claim->lladdr);
    const gboolean is_answer = claim->is_answer;
    /* an answer goes to the sender that its question names; in IPv4, a question may name none */
    const gboolean is_to_nobody = is_answer && ibh_ip_equal(&claim->to, &none);
    /* In IPv4, an answer does not say whether it comes from a proxy. But a proxy answers only questions that name their
     * sender, and another host with the same address answers all questions. So whoever answers a question without a
     * sender is no proxy. Nor is a host that claims an address unasked, because a proxy only answers. */
    const gboolean may_be_proxy = claim->proxy || (is_answer && claim->from.family == AF_INET && !is_to_nobody);

    /* A claim is no forgery if it names a virtual router, which may send from its own NIC (RFC 5798, 8.1.2), or if the
     * sender is unknown, as with IPoIB. */
    if (claim->sender.len && !ibh_lladdr_equal(&claim->sender, &claim->lladdr) &&
        !ibh_lladdr_is_virtual(&claim->lladdr)) {
        note_forgery(probe, ifindex, claim);
        return;
    }
    /* A claim of this host's own NIC matters only if it is an answer that peers get, too. An answer to a question that
     * names a sender does not show that: --probe names an address of this host, which no peer's question does. */
    if (own && (!is_to_nobody || !answers_beside_rails(probe, own)))
        return;
    IBH_EACH_WIRE (hop, probe, &claim->from) {
        IbhProbeClaim *known = ibh_hop_claim(hop, &claim->lladdr);
        /* the address of a peer or gateway can be claimed only by other hosts, and only on the wire of its hop */
        const gboolean matters = hop->is_own || (!own && hop->link->ifindex == ifindex);

        /* a hardware address of another length cannot be on the wire of the hop's link */
        if (!matters || claim->lladdr.len != hop->link->lladdr_len)
            continue;
        hop->is_answered |= is_answer && !hop->asker;
        if (!known && hop->n_claims < IBH_PROBE_CLAIMS) {
            known = &hop->claims[hop->n_claims++];
            *known = (IbhProbeClaim){.lladdr = claim->lladdr, .proxy = TRUE};
        }
        if (known) {
            known->answers += is_answer ? 1 : 0;
            known->proxy &= may_be_proxy;
        }
    }
}

/* Some switches answer ARP from their own hardware address, but in the name of a virtual hardware address that the
 * administrator chose (VARP), so its bytes do not show that it is virtual. These claims look forged. Believe them if
 * three things are true: no claim of the IP address has been believed yet, the kernel sends to the virtual hardware
 * address, and replies to our echoes come from a sender that claims the IP address only in this name. Then all senders
 * that claim the IP address only in this name are believed, for example a second switch.
 *
 * A host that forges such claims, and diverts the peer's replies through itself, gains nothing, for two reasons. If the
 * true owner claims the IP address in its own name, that claim has been believed already, so the forged claims are not.
 * And we believe only the name to which the kernel sends: if the kernel sends to the true owner, we believe the true
 * owner's name. */
void ibh_probe_believe_routers(IbhProbe *probe)
{
    IBH_EACH_PAIR (pair, probe) {
        IbhProbeHop *hop = pair->hop;
        IbhLladdr name = {.len = 0};

        if (!hop || hop->n_claims || !pair->received)
            continue;
        IBH_EACH (const IbhProbeForgery, one, probe->forgeries) {
            if (is_about(one, hop) && !one->has_more && ibh_lladdr_equal(&one->sender, &pair->sender) &&
                ibh_lladdr_equal(&one->name, &hop->lladdr))
                name = one->name;
        }
        if (!name.len)
            continue;
        hop->forged = FALSE;
        hop->is_virtual = TRUE;
        /* `n_claims` is 0, so there is room */
        hop->claims[hop->n_claims++] = (IbhProbeClaim){.lladdr = name, .answers = 1};
        /* a sender that used only this name forges nothing; a sender that used another name does */
        IBH_EACH_BACK (IbhProbeForgery, one, probe->forgeries) {
            if (!is_about(one, hop))
                continue;
            hop->forged |= one->has_more || !ibh_lladdr_equal(&one->name, &name);
            if (!one->has_more && ibh_lladdr_equal(&one->name, &name))
                IBH_REMOVE(IbhProbeForgery, one, probe->forgeries);
        }
    }
}

/* ---- which rail asks for the address of another rail ---- */

/* TRUE if the address of `other` is in the subnet of `source`. */
static gboolean has_subnet_of(const IbhProbe *probe, const IbhProbeSource *source, const IbhProbeSource *other)
{
    const IbhAddress *address = ibh_rails_address(probe->rails, source->nic, &source->ip);

    return address && ibh_prefix_contains(&address->subnet, &other->ip);
}

const IbhProbeSource *ibh_probe_witness(const IbhProbe *probe, const IbhProbeSource *source)
{
    IBH_EACH_SOURCE (other, probe) {
        if (other->nic != source->nic && other->ip.family == AF_INET && other->nic->link->carrier &&
            has_subnet_of(probe, source, other) && has_subnet_of(probe, other, source))
            return other;
    }
    return NULL;
}
