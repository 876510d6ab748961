/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which hosts answer ARP: for a peer, and for an address of this host. */
#include "probe/probe.h"

#include <string.h>
#include <sys/socket.h>

#define STRANGERS_MAX 64 /* a host that floods us with more has been noticed already */
#define INFINIBAND_LENGTH 20
#define GUID_LENGTH 8 /* at the end of InfiniBand's hardware address; what is before it may differ */

/* ---- for a peer, or the gateway to it ---- */

static void take_pair(IbhProbePair *pair, const IbhArpReply *reply)
{
    const gboolean is_asked = reply->from.family == AF_INET6 || ibh_ip_equal(&ibh_probe_source(pair)->ip, &reply->to);
    guint at = 0;

    if (!is_asked || reply->lladdr.len != ibh_probe_link(pair)->lladdr_len)
        return;
    while (at < pair->answers && !ibh_lladdr_equal(&pair->answer[at], &reply->lladdr))
        at++;
    if (at == IBH_PROBE_ANSWERS)
        return;
    pair->answer[at] = reply->lladdr;
    pair->answers = MAX(pair->answers, at + 1);
    pair->times[at]++;
}

static void take_neighbour(IbhProbe *probe, int ifindex, const IbhArpReply *reply)
{
    IbhProbePair *direct = ibh_probe_find_pair(probe, ifindex, &reply->from);

    if (direct)
        take_pair(direct, reply);
    IBH_EACH (IbhProbePair, pair, probe->pairs) {
        const IbhIp *via = pair->route.gateway.family ? ibh_probe_via(pair) : NULL;

        if (via && pair != direct && ibh_probe_link(pair)->ifindex == ifindex && ibh_ip_equal(via, &reply->from))
            take_pair(pair, reply);
    }
}

/* ---- for ourselves ---- */

static const IbhLink *find_own_link(const IbhProbe *probe, const IbhArpReply *reply)
{
    guint skip = reply->lladdr.len == INFINIBAND_LENGTH ? INFINIBAND_LENGTH - GUID_LENGTH : 0;
    const IbhLink *found = NULL;

    IBH_EACH (const IbhLink, link, probe->rails->snapshot->links) {
        const IbhNic *nic = ibh_rails_nic(probe->rails, link->ifindex);

        if (link->lladdr_len != reply->lladdr.len ||
            memcmp(link->lladdr + skip, reply->lladdr.bytes + skip, reply->lladdr.len - skip) != 0)
            continue;
        if (!found || (nic && nic->status == IBH_NIC_RAIL))
            found = link; /* a VLAN or macvlan may share the address of a rail */
    }
    return found;
}

/* arp_filter does not drop a request without a sender's address: where it is on, the answer proves nothing. */
static gboolean answers_beside_rails(const IbhProbe *probe, const IbhLink *link)
{
    const IbhNic *nic = ibh_rails_nic(probe->rails, link->ifindex);
    const IbhSysctl key = IBH_SYSCTL_ARP_FILTER;

    return nic && nic->status != IBH_NIC_RAIL &&
           !ibh_sysctl_effective(key, link->sysctl[key], probe->rails->snapshot->all[key]);
}

static IbhProbeStranger *find_stranger(const IbhProbe *probe, const IbhProbeStranger *like)
{
    IBH_EACH (IbhProbeStranger, stranger, probe->strangers) {
        if (stranger->source == like->source && ibh_lladdr_equal(&stranger->lladdr, &like->lladdr))
            return stranger;
    }
    return NULL;
}

/* The NIC by which such an answer has to come in: the NIC that asked. */
static gboolean is_awaited(const IbhProbe *probe, guint source, int ifindex, gboolean proxy)
{
    int asker = proxy ? ibh_probe_witness(probe, source) : (int)source;

    return asker >= 0 && g_array_index(probe->sources, IbhProbeSource, (guint)asker).nic->link->ifindex == ifindex;
}

/* IPv4 tells it by the question: an answer to another rail's, that names its sender. */
static gboolean is_of_proxy(const IbhArpReply *reply)
{
    const IbhIp none = {.family = AF_INET};

    return reply->proxy || (reply->from.family == AF_INET && !ibh_ip_equal(&reply->to, &none) &&
                            !ibh_ip_equal(&reply->to, &reply->from));
}

static void take_own(IbhProbe *probe, int ifindex, const IbhArpReply *reply)
{
    const gboolean proxy = is_of_proxy(reply), six = reply->from.family == AF_INET6;
    const IbhLink *own = find_own_link(probe, reply);
    const gboolean is_stranger = !own || (!six && !proxy && answers_beside_rails(probe, own));

    for (guint i = 0; i < probe->sources->len; i++) {
        IbhProbeStranger *known, stranger = {i, reply->lladdr, proxy, own ? own->ifindex : 0};

        if (!is_stranger || !ibh_ip_equal(&g_array_index(probe->sources, IbhProbeSource, i).ip, &reply->from) ||
            !is_awaited(probe, i, ifindex, proxy && !six))
            continue;
        if ((known = find_stranger(probe, &stranger)))
            known->proxy &= proxy;
        else if (probe->strangers->len < STRANGERS_MAX)
            g_array_append_val(probe->strangers, stranger);
    }
}

void ibh_probe_answered(IbhProbe *probe, int ifindex, const IbhArpReply *reply)
{
    if (ibh_rails_holder(probe->rails, &reply->from))
        take_own(probe, ifindex, reply);
    else
        take_neighbour(probe, ifindex, reply);
}

static gboolean has_subnet_of(const IbhProbe *probe, const IbhProbeSource *source, const IbhProbeSource *other)
{
    const IbhAddress *address = ibh_rails_address(probe->rails, source->nic, &source->ip);

    return address && ibh_prefix_contains(&address->subnet, &other->ip);
}

int ibh_probe_witness(const IbhProbe *probe, guint source)
{
    const IbhProbeSource *of = &g_array_index(probe->sources, IbhProbeSource, source);

    for (guint i = 0; i < probe->sources->len; i++) {
        const IbhProbeSource *other = &g_array_index(probe->sources, IbhProbeSource, i);

        if (other->nic != of->nic && other->ip.family == AF_INET && of->ip.family == AF_INET &&
            other->nic->link->carrier && has_subnet_of(probe, of, other) && has_subnet_of(probe, other, of))
            return (int)i;
    }
    return -1;
}

/* ---- the verdict ---- */

/* In the same part: as another host, as a proxy, or as this host by a NIC. */
static int compare_hosts(const IbhProbeStranger *one, const IbhProbeStranger *other)
{
    if (one->own != other->own || one->proxy != other->proxy)
        return one->own != other->own ? one->own - other->own : one->proxy - other->proxy;
    return memcmp(&one->lladdr, &other->lladdr, sizeof one->lladdr);
}

static int compare_strangers(gconstpointer a, gconstpointer b)
{
    const IbhProbeStranger *one = a, *other = b;
    const int host = compare_hosts(one, other);

    return host ? host : (int)one->source - (int)other->source;
}

static IbhFinding *report_one(IbhProbe *probe, const IbhProbeStranger *stranger, const char *ips)
{
    const IbhProbeSource *source = &g_array_index(probe->sources, IbhProbeSource, stranger->source);
    const IbhLink *own = stranger->own ? ibh_snapshot_link(probe->rails->snapshot, stranger->own) : NULL;
    g_autofree char *lladdr = ibh_lladdr_format(&stranger->lladdr);
    const gboolean six = source->ip.family == AF_INET6;
    const char *rail = source->nic->link->name, *question = six ? "neighbour solicitations" : "ARP";

    if (own)
        return ibh_finding_add(
            probe->findings, own->name, IBH_WARNING, "foreign-nic-answers",
            ibh_remedy_advice("%s", ibh_code_find("foreign-nic-answers")->advice),
            "it is no rail, but on the wire of %s, and answered ARP for %s: peers may send to the wrong NIC", rail,
            ips);
    if (stranger->proxy)
        return ibh_finding_add(
            probe->findings, rail, IBH_WARNING, "proxy-arp",
            ibh_remedy_advice("find %s (the switches' tables of hardware addresses); %s off there", lladdr,
                              six ? "proxy_ndp" : "proxy_arp"),
            "%s answers %s for %s, of this host: a proxy on the wire, so what peers send here may go there", lladdr,
            question, ips);
    return ibh_finding_add(
        probe->findings, rail, IBH_ERROR, "duplicate-address",
        ibh_remedy_advice(
            "find %s (the switches' tables of hardware addresses), and take the address away there or here", lladdr),
        "another host has %s, too: %s answers %s for it, so peers send to the one or the other", ips, lladdr, question);
}

/* One host in one part is one finding, also where it answers for several addresses. */
void ibh_probe_report_strangers(IbhProbe *probe)
{
    const IbhProbeStranger *all = (const IbhProbeStranger *)(gconstpointer)probe->strangers->data;

    g_array_sort(probe->strangers, compare_strangers);
    for (guint at = 0, end; at < probe->strangers->len; at = end) {
        g_autoptr(GArray) ips = g_array_new(FALSE, FALSE, sizeof(IbhIp));
        g_autofree char *names = NULL;
        IbhFinding *finding;

        for (end = at; end < probe->strangers->len && compare_hosts(&all[at], &all[end]) == 0; end++)
            g_array_append_val(ips, g_array_index(probe->sources, IbhProbeSource, all[end].source).ip);
        names = ibh_probe_name_peers(ips, IBH_PROBE_NAMED);
        finding = report_one(probe, &all[at], names);
        for (guint i = at; i < end && !all[i].own; i++)
            ibh_finding_hits(finding, g_array_index(probe->sources, IbhProbeSource, all[i].source).nic->link->name);
    }
}

static int compare_forgeries(gconstpointer a, gconstpointer b)
{
    const IbhProbeForgery *one = a, *other = b;
    const int sender = memcmp(&one->sender, &other->sender, sizeof one->sender),
              ip = memcmp(&one->ip, &other->ip, sizeof one->ip);

    return sender ? sender : ip ? ip : one->ifindex - other->ifindex;
}

/* One finding for each forger: it accuses the sender of the frames, and none of the hosts that they name. */
void ibh_probe_report_forgeries(IbhProbe *probe)
{
    const IbhProbeForgery *all = (const IbhProbeForgery *)(gconstpointer)probe->forgeries->data;

    g_array_sort(probe->forgeries, compare_forgeries);
    for (guint at = 0, end; at < probe->forgeries->len; at = end) {
        g_autoptr(GArray) ips = g_array_new(FALSE, FALSE, sizeof(IbhIp));
        g_autofree char *sender = ibh_lladdr_format(&all[at].sender), *name = ibh_lladdr_format(&all[at].name),
                        *addresses = NULL;
        gboolean has_more = FALSE;
        IbhFinding *finding;

        for (end = at; end < probe->forgeries->len && ibh_lladdr_equal(&all[at].sender, &all[end].sender); end++) {
            if (end == at || !ibh_ip_equal(&all[end].ip, &all[end - 1].ip))
                g_array_append_val(ips, all[end].ip);
            has_more |= all[end].has_more || !ibh_lladdr_equal(&all[at].name, &all[end].name);
        }
        addresses = ibh_probe_name_peers(ips, IBH_PROBE_NAMED);
        finding =
            ibh_finding_add(probe->findings, "", IBH_ERROR, "duplicate-address",
                            ibh_remedy_advice("find %s (the switches' tables of hardware addresses)", sender),
                            "%s sends %s answers for %s in the name of %s%s: a forgery, or a proxy, so packets for "
                            "%s may go elsewhere",
                            sender, all[at].ip.family == AF_INET6 ? "neighbour" : "ARP", addresses, name,
                            has_more ? " and others" : "", ips->len > 1 ? "these addresses" : "this address");
        finding->owner = g_steal_pointer(&sender);
        for (guint i = at; i < end; i++)
            ibh_finding_hits(finding, ibh_snapshot_link(probe->rails->snapshot, all[i].ifindex)->name);
    }
}
