/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names peers, and fills in the words in braces in the texts of causes.c. */
#include "probe/probe.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/socket.h>

/* ---- names of peers ---- */

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

/* TRUE if `ip` is the next address after `before`, and they differ only after the last dot or colon. */
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
        g_ptr_array_add(names, end - i > 1
                                   ? g_strconcat(from, "-", strrchr(to, ips[i].family == AF_INET6 ? ':' : '.'), NULL)
                                   : g_strdup(from));
    }
    return ibh_probe_join_names(names, most, more);
}

static int compare_texts(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns a text with the sorted hardware addresses that ibh_probe_list_hosts() lists for a hop: with `stand_ins`, only
 * the stand-ins (IbhProbeClaim.stands_in), else only the others; "" if there are none. If several rails heard claims of
 * the hop's IP address, the name of a rail follows each of the others that only this rail heard. */
static char *name_hosts(const IbhProbe *probe, const IbhProbeHop *of, gboolean stand_ins)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    IbhLladdr hosts[IBH_PROBE_HOSTS];
    const guint n = ibh_probe_list_hosts(probe, of, hosts);

    for (guint i = 0; i < n; i++) {
        g_autofree char *name = ibh_lladdr_format(&hosts[i]);
        const IbhLink *only = NULL;
        guint heard = 0, rails = 0;

        IBH_EACH_SAME (hop, probe, of) {
            const IbhProbeClaim *claim = ibh_hop_claim(hop, &hosts[i]);

            rails += hop->n_claims ? 1 : 0;
            if (!claim || claim->stands_in != stand_ins)
                continue;
            only = hop->link;
            heard++;
        }
        if (heard)
            g_ptr_array_add(names, heard == 1 && rails > 1 && !stand_ins ? g_strdup_printf("%s (%s)", name, only->name)
                                                                         : g_steal_pointer(&name));
    }
    g_ptr_array_sort(names, compare_texts);
    return ibh_probe_join_names(names, IBH_PROBE_NAMED, 0);
}

/* ---- what numbers stand for ---- */

const char *ibh_probe_route_of_error(int error)
{
    return error == EINVAL         ? "a blackhole route"
           : error == EHOSTUNREACH ? "an unreachable route"
           : error == EACCES       ? "a prohibit route"
           : error == ENETUNREACH  ? "no route"
                                   : NULL;
}

/* Returns in words why the kernel refused to route or send a packet; NULL if `error` is 0. */
static char *name_refusal(int error)
{
    const char *route = ibh_probe_route_of_error(error);

    return error ? g_strdup(route ? route : g_strerror(error)) : NULL;
}

/* Returns what the ICMP error about the pair's echo means. evidence.c stores two types: destination unreachable, and
 * time exceeded. If there was no ICMP error, the result means nothing; only the text of IBH_LOSS_REFUSED uses it. */
static char *name_icmp(const IbhProbePair *pair)
{
    static const char *const meanings[2][14] = {
        {"network unreachable", "host unreachable", "protocol unreachable",
         "port unreachable", [ICMP_NET_ANO] = "network prohibited", [ICMP_HOST_ANO] = "host prohibited",
         [ICMP_PKT_FILTERED] = "administratively prohibited"},
        {"no route", "administratively prohibited", [3] = "address unreachable", "port unreachable", "policy",
         "rejecting route"}};
    const int six = ibh_probe_is_ipv6(pair);
    const guint code = pair->icmp_code;
    const char *meaning = NULL;

    if (pair->icmp_type != (six ? ICMP6_DST_UNREACH : ICMP_DEST_UNREACH))
        meaning = code ? NULL : "too many hops, as in a loop";
    else if (code < G_N_ELEMENTS(meanings[six]))
        meaning = meanings[six][code];
    return meaning ? g_strdup(meaning) : g_strdup_printf("type %u, code %u", pair->icmp_type, code);
}

/* ---- words ---- */

static char *name_ip(const IbhIp *ip)
{
    char text[IBH_IP_STRLEN];

    return g_strdup(ibh_ip_format(ip, text));
}

static char *name_nic(const IbhProbePair *pair, int ifindex)
{
    const IbhLink *link = ibh_snapshot_link(pair->probe->rails->snapshot, ifindex);

    return g_strdup(link == ibh_probe_link(pair) ? "this NIC" : link ? link->name : "another interface");
}

/* Returns a text that names the route that the kernel found; "its routing" if the kernel told no table. */
static char *name_route(const IbhLookup *route)
{
    const IbhPrefix prefix = ibh_prefix_of(&route->to, route->length);
    char text[IBH_PREFIX_STRLEN];

    ibh_prefix_format(&prefix, text);
    if (!route->table)
        return g_strdup("its routing");
    return route->table == IBH_TABLE_MAIN ? g_strdup_printf("the route to %s in table main", text)
                                          : g_strdup_printf("the route to %s in table %u", text, route->table);
}

/* TRUE if the route that decides is ib-hook's. ib-hook adds such a route again, so nobody is told to delete it. */
static gboolean is_by_our_route(const IbhProbePair *pair)
{
    const IbhPrefix dst = ibh_prefix_of(&pair->route.to, pair->route.length);

    IBH_EACH (const IbhRoute, route, pair->probe->rails->snapshot->routes) {
        if (route->table == pair->route.table && ibh_prefix_equal(&route->dst, &dst) && ibh_route_is_ours(route))
            return TRUE;
    }
    return FALSE;
}

typedef struct {
    const char *word;
    char *value; /* NULL for an empty text */
} Word;

static char *value_of_word(gconstpointer of, const char *word)
{
    const Word *words = of;

    while (words->word && !g_str_equal(words->word, word))
        words++;
    return g_strdup(words->value);
}

/* Makes the values of all words, also of words that the text lacks: each pair has few texts, so this costs little. */
const char *ibh_probe_fill_in(const IbhProbePair *pair, const char *text)
{
    static const char *const types[] = {
        [RTN_LOCAL] = "local", [RTN_BROADCAST] = "broadcast", [RTN_ANYCAST] = "anycast", [RTN_MULTICAST] = "multicast"};
    const int six = ibh_probe_is_ipv6(pair);
    const IbhLookup *route = &pair->route;
    IbhProbeHop *hop = pair->hop;
    const IbhLink *link = ibh_probe_link(pair), *way = ibh_snapshot_link(pair->probe->rails->snapshot, route->oif);
    g_autofree char *route_name = name_route(route), *peer = name_ip(&route->to),
                    *via = hop ? name_ip(&hop->ip) : g_strdup(""), *refuser = name_ip(&pair->refused_by);
    const gboolean is_sender_foreign = pair->sender.len && hop && !ibh_hop_has(hop, &pair->sender);
    const gboolean is_direct = !hop || ibh_probe_is_direct(pair), /* an unknown next hop counts as the peer */
        is_detour = !is_direct && pair->on_link, is_refused_by_peer = ibh_ip_equal(&pair->refused_by, &route->to);
    const Word words[] = {
        {"if", ibh_text_shell_word(link->name)},
        {"rail", g_strdup(link->name)},
        {"peer", g_strdup(peer)},
        {"from", name_ip(&route->from)},
        {"ip", g_strdup(six ? "ip -6" : "ip")},
        {"ipv", g_strdup(six ? "ipv6" : "ipv4")},
        {"arp", g_strdup(six ? "neighbour discovery" : "ARP")},
        {"route", g_strdup(route_name)},
        {"route if", name_nic(pair, route->oif)},
        {"type", g_strdup(route->type < G_N_ELEMENTS(types) ? types[route->type] : NULL)},
        {"no route", name_refusal(route->error)},
        {"way if", way ? ibh_text_shell_word(way->name) : g_strdup("another interface")},
        {"way via", name_ip(&route->gateway)},
        {"free if", name_nic(pair, pair->free_ifindex)},
        {"via", g_strdup(via)},
        /* these values may be empty, so they have their own separators; likewise "errno" and "mtu there" */
        {"for gateway", is_direct ? NULL : g_strdup_printf(" for the gateway %s", via)},
        {"delete route", !is_detour || is_by_our_route(pair) ? NULL : g_strdup_printf("delete %s; or ", route_name)},
        {"neighbour", is_direct ? g_strdup("the peer") : g_strdup_printf("the gateway %s", via)},
        {"host", is_direct ? g_strdup_printf("the peer (%s)", peer) : g_strdup_printf("the gateway %s", via)},
        {"hosts", hop ? name_hosts(pair->probe, hop, FALSE) : NULL},
        {"stand ins", hop ? name_hosts(pair->probe, hop, TRUE) : NULL},
        {"entry", hop ? ibh_lladdr_format(&hop->entry) : NULL},
        {"errno", pair->send_error == EPERM ? g_strdup_printf(" (%s)", g_strerror(EPERM)) : NULL},
        {"refused", name_refusal(pair->send_error)},
        {"leaves from", name_ip(&pair->leaves_from)},
        {"leaves to", name_ip(&pair->leaves_to)},
        {"refused by", g_strdup(refuser)},
        {"refuser", is_refused_by_peer ? g_strdup("the peer itself") : g_strdup_printf("%s, on the way,", refuser)},
        {"icmp", name_icmp(pair)},
        {"reply if", name_nic(pair, pair->reply_ifindex)},
        {"foreign", ibh_lladdr_format(is_sender_foreign ? &pair->sender : &pair->syn_sender)},
        {"full", g_strdup_printf("%u", ibh_probe_full_size(pair))},
        {"link mtu", g_strdup_printf("%d", link->mtu)},
        {"mtu there", g_strdup(six ? ", grep . /proc/sys/net/ipv6/conf/*/mtu" : NULL)},
        {"passed", g_strdup_printf("%u", pair->mtu.passed)},
        {"piece", g_strdup_printf("%u", pair->mtu.fragment)},
        {"told by", name_ip(&pair->mtu.limited_by)},
        /* without an errno, an event of the connection manager did not come in time */
        {"rdma error", g_strdup(g_strerror(pair->rdma_error ? pair->rdma_error : ETIMEDOUT))},
        {NULL, NULL}};
    g_autofree char *filled = ibh_text_fill_in(text, value_of_word, words);

    for (guint i = 0; i < G_N_ELEMENTS(words); i++)
        g_free(words[i].value);
    return ibh_probe_keep_text(pair->probe, filled);
}
