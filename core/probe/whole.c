/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the findings of --probe that are not about pairs. */
#include "probe/probe.h"

#include "check/row.h"
#include "check/why.h"

#include <string.h>
#include <sys/socket.h>

/* Names the peers that no rail asked, in one finding for each reason. If the rails had different reasons for a peer,
 * the reason that was noted last counts. Without these findings, the peers would seem reachable. */
static void report_unasked(IbhProbe *probe)
{
    const guint n = probe->peers->len;
    g_autofree guint *skipped_by = g_new0(guint, n);
    g_autofree const char **reasons = g_new0(const char *, n);

    IBH_EACH (const IbhProbeUnasked, one, probe->unasked) {
        if (++skipped_by[one->peer] == probe->nics->len)
            reasons[one->peer] = one->why;
    }
    for (guint first = 0; first < n; first++) {
        g_autoptr(GArray) peers = IBH_NEW_ARRAY(IbhIp);
        g_autofree char *names = NULL;
        const char *why = reasons[first];

        for (guint i = first; why && i < n; i++) {
            if (reasons[i] != why)
                continue;
            g_array_append_val(peers, g_array_index(probe->peers, IbhIp, i));
            reasons[i] = NULL;
        }
        names = ibh_probe_name_peers(peers, IBH_PROBE_NAMED);
        if (why)
            ibh_finding_add(
                probe->findings, "", IBH_ERROR, "no-source",
                ibh_remedy_advice("give a rail an address in that subnet, with its right prefix, or a gateway "
                                  "(gateway= or remote= in the configuration); or leave these peers out"),
                "%u of %u peers (%s) were not asked by any rail: %s", peers->len, n, names, why);
    }
}

/* Names NICs that should be rails, but could not be programmed, so they were not probed. Makes no finding with --iface:
 * then the NICs that --iface names are probed, even if they are no rails. */
static void report_blocked(IbhProbe *probe)
{
    IBH_EACH_POINTER (const IbhNic, nic, probe->rails->nics) {
        g_autofree char *why = NULL;

        if (nic->status != IBH_NIC_BLOCKED || probe->rails->only)
            continue;
        why = ibh_nic_why(nic);
        ibh_finding_add(probe->findings, nic->link->name, IBH_ERROR, "local-rule-late",
                        ibh_remedy_advice("ib-hook --check says what to do; then probe again"),
                        "not programmed, so it was not probed: %s", why);
    }
}

/* Makes a finding if each of several rails asked all peers and reaches some, but no two rails reach the same peer: then
 * the rails are on separate wires, or cables are swapped. A rail reaches a peer if a reply came in, even if this host
 * dropped the reply. The finding names what each rail reaches, because only a person knows whether the cables are as
 * intended. */
static void report_separate_wires(IbhProbe *probe)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree guint *reached_by = g_new0(guint, probe->peers->len);

    if (probe->nics->len < 2 || probe->pairs->len != probe->nics->len * probe->peers->len)
        return;
    IBH_EACH_RAIL (nic, probe) {
        g_autoptr(GArray) reached = IBH_NEW_ARRAY(IbhIp);
        g_autofree char *names = NULL;

        IBH_EACH_PAIR (pair, probe) {
            if (pair->nic != nic || !(pair->received || pair->dropped))
                continue;
            if (reached_by[pair->peer]++)
                return;
            g_array_append_val(reached, *ibh_probe_peer(pair));
        }
        if (!reached->len)
            return;
        names = ibh_probe_name_peers(reached, IBH_PROBE_NAMED);
        g_string_append_printf(text, "%s%s reaches %s", text->len ? "; " : "", nic->link->name, names);
    }
    ibh_finding_add(
        probe->findings, "", IBH_WARNING, "separate-wires",
        ibh_remedy_advice("compare the cables with the plan of the fabric"),
        "no two rails reach the same peer, so the rails are on separate wires, or their cables are swapped: %s",
        text->str);
}

/* ---- hosts on the wire that claim addresses of this host, or forge answers ---- */

#define FIND "find %s (the switches' tables of hardware addresses)"

/* What a claimant of our address is. */
typedef enum {
    AS_HOST,    /* another host */
    AS_POD,     /* a macvlan on one of our NICs, in another network namespace */
    AS_ROUTER,  /* the router of a private VLAN: a proxy that rightly answers; see is_private_vlan() */
    AS_PROXY,   /* a proxy, which answers for other hosts */
    AS_OWN_NIC, /* a NIC of this host that is not a rail */
    N_KINDS
} Kind;

/* TRUE under three conditions:
 * - Our address `own` has only one claimant.
 * - The rail has pairs, and all their echoes came back.
 * - The next hop of each of these pairs has the same claimant, and no other.
 * Then the claimant is the router of a private VLAN, which rightly answers for all hosts on the VLAN, and forwards
 * packets between them. */
static gboolean is_private_vlan(const IbhProbe *probe, const IbhProbeHop *own)
{
    gboolean has_pairs = FALSE;

    if (own->n_claims != 1)
        return FALSE;
    IBH_EACH_PAIR (pair, probe) {
        if (ibh_probe_link(pair) != own->link)
            continue;
        if (!pair->received || pair->received < pair->sent || !pair->hop || pair->hop->n_claims != 1 ||
            !ibh_lladdr_equal(&pair->hop->claims[0].lladdr, &own->claims[0].lladdr))
            return FALSE;
        has_pairs = TRUE;
    }
    return has_pairs;
}

/* Names the claimants of one address that are of one kind: NICs of this host by their names, others by their hardware
 * addresses. Returns NULL if there are none. Equal texts are the same pointer. */
static const char *name_strangers(const IbhProbe *probe, IbhProbeHop *hop, Kind kind)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *text = NULL;

    IBH_EACH_CLAIM (claim, hop) {
        const IbhLink *own = ibh_probe_own_link(probe, &claim->lladdr);
        gboolean is_child = FALSE;
        Kind found;

        IBH_EACH (const IbhLladdr, child, probe->children)
            is_child |= ibh_lladdr_equal(child, &claim->lladdr);
        found = own                           ? AS_OWN_NIC
                : is_child                    ? AS_POD
                : !claim->proxy               ? AS_HOST
                : is_private_vlan(probe, hop) ? AS_ROUTER
                                              : AS_PROXY;
        if (found == kind)
            g_ptr_array_add(names, own ? g_strdup(own->name) : ibh_lladdr_format(&claim->lladdr));
    }
    text = names->len ? ibh_probe_join_names(names, IBH_PROBE_NAMED, 0) : NULL;
    return ibh_probe_keep_text(probe, text);
}

/* Makes a finding that `who` claims the addresses `ips` of this host. `hop` is the hop of the first address. The caller
 * adds the interfaces of the other addresses or, with AS_OWN_NIC, the NICs that claim the addresses. */
static IbhFinding *report_stranger(IbhProbe *probe, const IbhProbeHop *hop, Kind kind, const char *who, const char *ips)
{
    const gboolean six = hop->ip.family == AF_INET6;
    const char *rail = hop->link->name, *arp = six ? "neighbour discovery" : "ARP";

    if (kind == AS_OWN_NIC)
        return ibh_finding_add(
            probe->findings, "", IBH_WARNING, "foreign-nic-answers",
            ibh_remedy_advice("%s", ibh_code_find("foreign-nic-answers")->remedy),
            "it is not a rail, but on the wire of %s, and answered %s for %s: peers may send to the wrong NIC", rail,
            arp, ips);
    if (kind == AS_POD)
        return ibh_finding_add(
            probe->findings, rail, IBH_ERROR, "duplicate-address",
            ibh_remedy_advice("take the address from that pod, or from this host"),
            "a macvlan of this host, in another network namespace (a pod), has %s, too: %s claims it, "
            "by %s, so peers send to one or the other",
            ips, who, arp);
    if (kind == AS_ROUTER)
        return ibh_finding_add(probe->findings, rail, IBH_INFO, "proxy-arp", ibh_remedy_advice("no action is needed"),
                               "%s answers %s for %s, of this host, and for all peers, and every peer is reached: it "
                               "is the router of a private VLAN",
                               who, arp, ips);
    if (kind == AS_PROXY)
        return ibh_finding_add(probe->findings, rail, IBH_WARNING, "proxy-arp",
                               ibh_remedy_advice(FIND "; %s off there", who, six ? "proxy_ndp" : "proxy_arp"),
                               "%s answers %s for %s, of this host: a proxy on the wire, so what peers send here may "
                               "go there",
                               who, arp, ips);
    return ibh_finding_add(probe->findings, rail, IBH_ERROR, "duplicate-address",
                           ibh_remedy_advice(FIND ", and take the address away there or here", who),
                           "another host has %s, too: %s claims it, by %s, so peers send to one or the other", ips, who,
                           arp);
}

/* An address of this host, and who claims it. */
typedef struct {
    IbhProbeHop *hop;
    const char *who;     /* the claimants of the kind that is being reported, in words; NULL: none */
    gboolean is_covered; /* a finding about the claimants of this kind has the address */
} OwnAddress;

/* Makes one finding about all addresses with the same family and the same claimants as `first`. */
static void report_same_claimants(IbhProbe *probe, Kind kind, GArray *addresses, const OwnAddress *first)
{
    g_autoptr(GArray) ips = IBH_NEW_ARRAY(IbhIp);
    g_autoptr(GPtrArray) hops = g_ptr_array_new();
    g_autofree char *names = NULL;
    IbhFinding *finding;

    IBH_EACH (OwnAddress, address, addresses) {
        if (address->who != first->who || address->hop->ip.family != first->hop->ip.family)
            continue;
        address->is_covered = TRUE;
        g_array_append_val(ips, address->hop->ip);
        g_ptr_array_add(hops, address->hop);
    }
    names = ibh_probe_name_peers(ips, IBH_PROBE_NAMED);
    finding = report_stranger(probe, first->hop, kind, first->who, names);
    IBH_EACH_POINTER (IbhProbeHop, hop, hops) {
        if (kind != AS_OWN_NIC) {
            ibh_finding_add_iface(finding, hop->link->name);
            continue;
        }
        /* the finding is about the NICs of this host that claim the address; the text names the rail */
        IBH_EACH_CLAIM (claim, hop) {
            const IbhLink *own = ibh_probe_own_link(probe, &claim->lladdr);

            if (own)
                ibh_finding_add_iface(finding, own->name);
        }
    }
}

/* Groups the addresses of this host by family, by who claims them, and by the kind of claimant, and makes one finding
 * for each group. The same claimant may be the router of a private VLAN on one rail and a mere proxy on another; then
 * the kind puts the addresses of the two rails into separate findings. */
void ibh_probe_report_strangers(IbhProbe *probe)
{
    g_autoptr(GArray) addresses = IBH_NEW_ARRAY(OwnAddress);

    IBH_EACH_SOURCE (source, probe) {
        const OwnAddress address = {.hop = ibh_probe_hop(probe, source->nic->link->ifindex, &source->ip)};

        g_array_append_val(addresses, address);
    }
    for (Kind kind = AS_HOST; kind < N_KINDS; kind++) {
        IBH_EACH (OwnAddress, address, addresses) {
            address->who = name_strangers(probe, address->hop, kind);
            address->is_covered = FALSE;
        }
        IBH_EACH (const OwnAddress, address, addresses) {
            if (address->who && !address->is_covered)
                report_same_claimants(probe, kind, addresses, address);
        }
    }
}

/* Orders forgeries by sender, then by IP address, then by NIC. */
static int compare_forgeries(gconstpointer a, gconstpointer b)
{
    const IbhProbeForgery *one = a, *other = b;
    const int by_sender = memcmp(&one->sender, &other->sender, sizeof one->sender);
    const int by_ip = ibh_ip_compare(&one->ip, &other->ip);

    return by_sender ? by_sender : by_ip ? by_ip : one->ifindex - other->ifindex;
}

/* Makes one finding for each sender of forged frames. The finding accuses the sender, and not the hosts that the frames
 * name. */
void ibh_probe_report_forgeries(IbhProbe *probe)
{
    const IbhProbeForgery *all = (const IbhProbeForgery *)(gconstpointer)probe->forgeries->data;

    g_array_sort(probe->forgeries, compare_forgeries);
    for (guint at = 0, end; at < probe->forgeries->len; at = end) {
        const IbhProbeForgery *first = &all[at];
        g_autoptr(GArray) ips = IBH_NEW_ARRAY(IbhIp);
        g_autofree char *sender = ibh_lladdr_format(&first->sender), *name = ibh_lladdr_format(&first->name),
                        *addresses = NULL;
        gboolean has_more = FALSE, is_mixed;
        IbhFinding *finding;

        for (end = at; end < probe->forgeries->len && ibh_lladdr_equal(&first->sender, &all[end].sender); end++) {
            if (end == at || !ibh_ip_equal(&all[end].ip, &all[end - 1].ip))
                g_array_append_val(ips, all[end].ip);
            has_more |= all[end].has_more || !ibh_lladdr_equal(&first->name, &all[end].name);
        }
        /* the forgeries of a sender are sorted: those of IPv4 addresses come first */
        is_mixed = first->ip.family != all[end - 1].ip.family;
        addresses = ibh_probe_name_peers(ips, IBH_PROBE_NAMED);
        finding = ibh_finding_add(
            probe->findings, "", IBH_ERROR, "duplicate-address", ibh_remedy_advice(FIND, sender),
            "%s sends %s answers for %s in the name of %s%s: a forgery, or a proxy, so packets for "
            "%s may go elsewhere",
            sender,
            first->ip.family == AF_INET6 ? "neighbour"
            : is_mixed                   ? "ARP and neighbour"
                                         : "ARP",
            addresses, name, has_more ? " and others" : "", ips->len > 1 ? "these addresses" : "this address");
        finding->owner = g_steal_pointer(&sender);
        for (guint i = at; i < end; i++)
            ibh_finding_add_iface(finding, ibh_snapshot_link(probe->rails->snapshot, all[i].ifindex)->name);
    }
}

void ibh_probe_report_whole(IbhProbe *probe)
{
    report_blocked(probe);
    report_unasked(probe);
    report_separate_wires(probe);
}
