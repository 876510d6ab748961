/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of findings: those that stand in braces in the texts of causes.c, and names of peers. */
#include "probe/probe.h"

#include <errno.h>
#include <linux/icmpv6.h>
#include <linux/rtnetlink.h>
#include <netinet/ip_icmp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

/* ---- names of peers ---- */

/* The first `most`, and how many there are beside them: `more`, that have no names, and the other names. */
char *ibh_probe_join_names(const GPtrArray *names, guint most, guint more)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < MIN(names->len, most); i++)
        g_string_append_printf(text, "%s%s", i ? ", " : "", (const char *)names->pdata[i]);
    more += names->len > most ? names->len - most : 0;
    if (more)
        g_string_append_printf(text, " and %u more", more);
    return g_string_free(text, FALSE);
}

/* One follows the other, in the part behind the last dot or colon. */
static gboolean follows(const IbhIp *ip, const IbhIp *before)
{
    const gsize head = ip->family == AF_INET6 ? 14 : 3;
    const guint8 *one = before->bytes + head, *other = ip->bytes + head;

    return ip->family == before->family && memcmp(ip->bytes, before->bytes, head) == 0 &&
           (ip->family == AF_INET6 ? ibh_get16(one) + 1 == ibh_get16(other) : *one + 1 == *other);
}

char *ibh_probe_name_peers(const GArray *peers, guint most)
{
    const IbhIp *ips = (const IbhIp *)(gconstpointer)peers->data;
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    guint more = 0;

    for (guint i = 0, end; i < peers->len; i = end) {
        char from[IBH_IP_STRLEN], to[IBH_IP_STRLEN];

        for (end = i + 1; end < peers->len && follows(&ips[end], &ips[end - 1]);)
            end++;
        if (names->len == most) {
            more += end - i;
            continue;
        }
        ibh_ip_format(&ips[i], from);
        ibh_ip_format(&ips[end - 1], to);
        g_ptr_array_add(names, g_strconcat(from, end - i > 1 ? "-" : NULL,
                                           strrchr(to, ips[i].family == AF_INET6 ? ':' : '.'), NULL));
    }
    return ibh_probe_join_names(names, most, more);
}

static int compare_texts(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In one order, in whichever they came; with the rail, where not all rails hear the same ones. */
static char *name_hosts(const IbhProbe *probe, const IbhIp *ip)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    IbhLladdr hosts[IBH_PROBE_HOSTS];
    const guint n = ibh_probe_hosts(probe, ip, hosts);

    for (guint i = 0; i < n; i++) {
        g_autofree char *lladdr = ibh_lladdr_format(&hosts[i]);
        const IbhLink *only = NULL;
        guint heard = 0, rails = 0;

        for (IbhProbeHop *hop = g_hash_table_lookup(probe->hops, ip); hop; hop = hop->next) {
            rails += hop->n_claims ? 1 : 0;
            if (!ibh_hop_claim(hop, &hosts[i]))
                continue;
            only = hop->link;
            heard++;
        }
        g_ptr_array_add(names,
                        heard == 1 && rails > 1 ? g_strdup_printf("%s (%s)", lladdr, only->name) : g_strdup(lladdr));
    }
    g_ptr_array_sort(names, compare_texts);
    return ibh_probe_join_names(names, IBH_PROBE_NAMED, 0);
}

/* ---- what an error number stands for ---- */

const char *ibh_probe_route_of_error(int error)
{
    return error == EINVAL         ? "a blackhole route"
           : error == EHOSTUNREACH ? "an unreachable route"
           : error == EACCES       ? "a prohibit route"
           : error == ENETUNREACH  ? "no route"
                                   : NULL;
}

static char *name_refusal(int error)
{
    const char *route = ibh_probe_route_of_error(error);

    return g_strdup(route ? route : g_strerror(error ? error : ETIMEDOUT));
}

static char *name_icmp(const IbhProbePair *pair)
{
    static const struct {
        int six;
        guint8 type, code;
        const char *meaning;
    } errors[] = {{0, ICMP_DEST_UNREACH, ICMP_NET_UNREACH, "network unreachable"},
                  {0, ICMP_DEST_UNREACH, ICMP_HOST_UNREACH, "host unreachable"},
                  {0, ICMP_DEST_UNREACH, ICMP_PROT_UNREACH, "protocol unreachable"},
                  {0, ICMP_DEST_UNREACH, ICMP_PORT_UNREACH, "port unreachable"},
                  {0, ICMP_DEST_UNREACH, ICMP_NET_ANO, "network prohibited"},
                  {0, ICMP_DEST_UNREACH, ICMP_HOST_ANO, "host prohibited"},
                  {0, ICMP_DEST_UNREACH, ICMP_PKT_FILTERED, "administratively prohibited"},
                  {0, ICMP_TIME_EXCEEDED, 0, "too many hops, as in a loop"},
                  {1, ICMPV6_DEST_UNREACH, ICMPV6_NOROUTE, "no route"},
                  {1, ICMPV6_DEST_UNREACH, ICMPV6_ADM_PROHIBITED, "administratively prohibited"},
                  {1, ICMPV6_DEST_UNREACH, ICMPV6_ADDR_UNREACH, "address unreachable"},
                  {1, ICMPV6_DEST_UNREACH, ICMPV6_PORT_UNREACH, "port unreachable"},
                  {1, ICMPV6_DEST_UNREACH, ICMPV6_POLICY_FAIL, "policy"},
                  {1, ICMPV6_DEST_UNREACH, ICMPV6_REJECT_ROUTE, "rejecting route"},
                  {1, ICMPV6_TIME_EXCEED, 0, "too many hops, as in a loop"}};
    const IbhProbeRefusal *refusal = &pair->refusal;

    for (guint i = 0; i < G_N_ELEMENTS(errors); i++) {
        if (errors[i].six == ibh_probe_family(pair) && errors[i].type == refusal->type &&
            errors[i].code == refusal->code)
            return g_strdup(errors[i].meaning);
    }
    return g_strdup_printf("type %u, code %u", refusal->type, refusal->code);
}

/* ---- words ---- */

/* The route that the kernel found. */
static char *name_route(const IbhProbePair *pair)
{
    const IbhPrefix prefix = ibh_prefix_of(ibh_probe_peer(pair), pair->route.length);
    g_autofree char *table =
        pair->route.table == IBH_TABLE_MAIN ? g_strdup("main") : g_strdup_printf("%u", pair->route.table);
    char text[IBH_PREFIX_STRLEN];

    return pair->route.table ? g_strdup_printf("the route to %s in table %s", ibh_prefix_format(&prefix, text), table)
                             : g_strdup("its routing");
}

static const char *name_type(guint type)
{
    return type == RTN_LOCAL       ? "local"
           : type == RTN_BROADCAST ? "broadcast"
           : type == RTN_ANYCAST   ? "anycast"
                                   : "multicast";
}

/* Words that are one field of the pair. */
#define AT(field) offsetof(IbhProbePair, field)

static const struct {
    const char *word;
    gsize at;
} ips[] = {{"peer", AT(route.to)},        {"from", AT(route.from)},        {"leaves from", AT(trace.from)},
           {"leaves to", AT(trace.to)},   {"told by", AT(mtu.limited_by)}, {"refused by", AT(refusal.from)},
           {"way via", AT(route.gateway)}},
  nics[] = {{"reply if", AT(reply_ifindex)}, {"route if", AT(route.oif)}, {"free if", AT(free_ifindex)}},
  numbers[] = {{"passed", AT(mtu.passed)}, {"piece", AT(mtu.fragment)}};

static char *value_of_field(const IbhProbePair *pair, const char *word)
{
    const IbhSnapshot *snapshot = pair->probe->rails->snapshot;
    char text[IBH_IP_STRLEN];

    for (guint i = 0; i < G_N_ELEMENTS(ips); i++) {
        if (g_str_equal(ips[i].word, word))
            return g_strdup(ibh_ip_format((const IbhIp *)(gconstpointer)((const char *)pair + ips[i].at), text));
    }
    for (guint i = 0; i < G_N_ELEMENTS(nics); i++) {
        const int ifindex = *(const int *)(gconstpointer)((const char *)pair + nics[i].at);
        const IbhLink *link = ibh_snapshot_link(snapshot, ifindex);

        if (g_str_equal(nics[i].word, word))
            return g_strdup(ifindex == ibh_probe_link(pair)->ifindex ? "this NIC"
                            : link                                   ? link->name
                                                                     : "another interface");
    }
    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++) {
        if (g_str_equal(numbers[i].word, word))
            return g_strdup_printf("%u", *(const guint *)(gconstpointer)((const char *)pair + numbers[i].at));
    }
    return NULL;
}

/* Of its route, and of how long packets may be. */
static char *value_of_way(const IbhProbePair *pair, const char *word)
{
    const int six = ibh_probe_family(pair);

    if (g_str_equal(word, "route"))
        return name_route(pair);
    if (g_str_equal(word, "type"))
        return g_strdup(name_type(pair->route.type));
    if (g_str_equal(word, "encapsulation"))
        return g_strdup(pair->route.encapsulated ? "the BPF program or tunnel of its route (encap), " : "");
    if (g_str_equal(word, "shows encapsulation"))
        return g_strdup(!pair->route.encapsulated ? ""
                        : six                     ? "ip -6 route show table all | grep encap; "
                                                  : "ip route show table all | grep encap; ");
    if (g_str_equal(word, "full"))
        return g_strdup_printf("%u", ibh_probe_full_size(pair));
    if (g_str_equal(word, "link mtu"))
        return g_strdup_printf("%d", ibh_probe_link(pair)->mtu);
    if (g_str_equal(word, "mtu there"))
        return g_strdup(six ? ", grep . /proc/sys/net/ipv6/conf/*/mtu" : "");
    return value_of_field(pair, word);
}

static char *value_of(gconstpointer of, const char *word)
{
    const IbhProbePair *pair = of;
    const int six = ibh_probe_family(pair);
    const IbhProbeHop *hop = pair->hop;
    const IbhLink *way = ibh_snapshot_link(pair->probe->rails->snapshot, pair->route.oif);
    const IbhLladdr *sender = &pair->sender;
    char text[IBH_IP_STRLEN];

    if (g_str_equal(word, "if"))
        return ibh_text_shell_word(ibh_probe_link(pair)->name);
    if (g_str_equal(word, "way if"))
        return way ? ibh_text_shell_word(way->name) : g_strdup("another interface");
    if (g_str_equal(word, "ip") || g_str_equal(word, "ipv"))
        return g_strdup(word[2] ? six ? "ipv6" : "ipv4" : six ? "ip -6" : "ip");
    if (g_str_equal(word, "arp"))
        return g_strdup(six ? "neighbour discovery" : "ARP");
    if (g_str_equal(word, "via"))
        return g_strdup(hop ? ibh_ip_format(&hop->ip, text) : "");
    if (g_str_equal(word, "for gateway"))
        return ibh_probe_is_direct(pair) || !hop
                   ? g_strdup("")
                   : g_strdup_printf(" for the gateway %s", ibh_ip_format(&hop->ip, text));
    if (g_str_equal(word, "neighbour"))
        return ibh_probe_is_direct(pair) || !hop ? g_strdup("the peer")
                                                 : g_strdup_printf("the gateway %s", ibh_ip_format(&hop->ip, text));
    if (g_str_equal(word, "hosts"))
        return hop ? name_hosts(pair->probe, &hop->ip) : g_strdup("");
    if (g_str_equal(word, "entry"))
        return hop ? ibh_lladdr_format(&hop->entry) : g_strdup("");
    if (g_str_equal(word, "foreign"))
        return ibh_lladdr_format(!sender->len || ibh_hop_has(pair->hop, sender) ? &pair->syn_sender : sender);
    if (g_str_equal(word, "refuser"))
        return ibh_ip_equal(&pair->refusal.from, ibh_probe_peer(pair))
                   ? g_strdup("the peer itself")
                   : g_strdup_printf("%s, on the way,", ibh_ip_format(&pair->refusal.from, text));
    if (g_str_equal(word, "icmp"))
        return name_icmp(pair);
    if (g_str_equal(word, "errno"))
        return pair->send_error == EPERM ? g_strdup_printf(" (%s)", g_strerror(EPERM)) : g_strdup("");
    if (g_str_equal(word, "refused") || g_str_equal(word, "no route"))
        return name_refusal(word[0] == 'r' ? pair->send_error : pair->route.error);
    if (g_str_equal(word, "rdma error"))
        return g_strdup(g_strerror(pair->rdma_error ? pair->rdma_error : ETIMEDOUT));
    return value_of_way(pair, word);
}

char *ibh_probe_fill_in(const IbhProbePair *pair, const char *text)
{
    return ibh_text_fill_in(text, value_of, pair);
}
