/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words that stand in braces in the texts of causes.c, and what each is of a pair. */
#include "probe/probe.h"

#include <errno.h>
#include <linux/icmpv6.h>
#include <linux/rtnetlink.h>
#include <netinet/ip_icmp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

/* Of the pair's field; the caller frees what it returns. */
typedef char *Say(const IbhProbePair *pair, const void *field);

/* ---- fields of any pair ---- */

static char *say_ip(const IbhProbePair *pair G_GNUC_UNUSED, const void *field)
{
    char text[IBH_IP_STRLEN];

    return g_strdup(ibh_ip_format(field, text));
}

static char *say_lladdr(const IbhProbePair *pair G_GNUC_UNUSED, const void *field)
{
    return ibh_lladdr_format(field);
}

static char *say_number(const IbhProbePair *pair G_GNUC_UNUSED, const void *field)
{
    return g_strdup_printf("%u", *(const guint *)field);
}

static char *say_link(const IbhProbePair *pair, const void *field)
{
    const int ifindex = *(const int *)field;
    const IbhLink *link = ibh_snapshot_link(pair->probe->rails->snapshot, ifindex);

    if (ifindex == ibh_probe_link(pair)->ifindex)
        return g_strdup("this NIC");
    return g_strdup(link ? link->name : "another interface");
}

static char *say_error(const IbhProbePair *pair G_GNUC_UNUSED, const void *field)
{
    const int error = *(const int *)field;

    return g_strdup(g_strerror(error ? error : ETIMEDOUT));
}

const char *ibh_probe_route_of_error(int error)
{
    static const struct {
        int error;
        const char *route;
    } routes[] = {{EINVAL, "a blackhole route"},
                  {EHOSTUNREACH, "an unreachable route"},
                  {EACCES, "a prohibit route"},
                  {ENETUNREACH, "no route"}};

    for (guint i = 0; i < G_N_ELEMENTS(routes); i++) {
        if (routes[i].error == error)
            return routes[i].route;
    }
    return NULL;
}

static char *say_refusal(const IbhProbePair *pair, const void *field)
{
    const char *route = ibh_probe_route_of_error(*(const int *)field);

    return route ? g_strdup(route) : say_error(pair, field);
}

static char *say_icmp(const IbhProbePair *pair, const void *field)
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
    const IbhProbeRefusal *refusal = field;

    for (guint i = 0; i < G_N_ELEMENTS(errors); i++) {
        if (errors[i].six == ibh_probe_family(pair) && errors[i].type == refusal->type &&
            errors[i].code == refusal->code)
            return g_strdup(errors[i].meaning);
    }
    return g_strdup_printf("type %u, code %u", refusal->type, refusal->code);
}

/* ---- what is no field ---- */

static char *say_nic(const IbhProbePair *pair, const void *field G_GNUC_UNUSED)
{
    return ibh_text_shell_word(ibh_probe_link(pair)->name);
}

/* The NIC of the kernel's answer: the one that its packets leave through. */
static char *say_way_nic(const IbhProbePair *pair, const void *field G_GNUC_UNUSED)
{
    const IbhLink *link = ibh_snapshot_link(pair->probe->rails->snapshot, pair->route.oif);

    return link ? ibh_text_shell_word(link->name) : g_strdup("another interface");
}

static char *say_via(const IbhProbePair *pair, const void *field G_GNUC_UNUSED)
{
    const IbhIp *via = ibh_probe_via(pair);

    return via ? say_ip(pair, via) : g_strdup("");
}

static char *say_full(const IbhProbePair *pair, const void *field G_GNUC_UNUSED)
{
    return g_strdup_printf("%u", ibh_probe_full_size(pair));
}

static char *say_ipv(const IbhProbePair *pair, const void *field G_GNUC_UNUSED)
{
    return g_strdup(ibh_probe_family(pair) ? "ipv6" : "ipv4");
}

static char *say_type(const IbhProbePair *pair, const void *field G_GNUC_UNUSED)
{
    static const char *const types[] = {
        [RTN_LOCAL] = "local", [RTN_BROADCAST] = "broadcast", [RTN_ANYCAST] = "anycast"};
    const char *name = pair->route.type < G_N_ELEMENTS(types) ? types[pair->route.type] : NULL;

    return g_strdup(name ? name : "multicast");
}

static char *say_whose(const IbhProbePair *pair, const void *field G_GNUC_UNUSED)
{
    const gboolean is_own = pair->route.type == RTN_LOCAL || pair->route.type == RTN_ANYCAST;

    return g_strdup(is_own ? "this host's own" : "that of many hosts");
}

static char *say_ip_command(const IbhProbePair *pair, const void *field G_GNUC_UNUSED)
{
    return g_strdup(ibh_probe_family(pair) ? "ip -6" : "ip");
}

/* What redirects made. Of IPv6, ip(8) takes it for routes, and flushes those of main, if no table is named. */
static char *say_flush(const IbhProbePair *pair, const void *field G_GNUC_UNUSED)
{
    return g_strdup(ibh_probe_family(pair) ? "ip -6 route flush table all cache" : "ip route flush cache");
}

/* IPv4 accepts what the NIC or `all` accepts, where it does not forward; IPv6 asks the NIC alone. */
static char *say_refuse(const IbhProbePair *pair, const void *field)
{
    g_autofree char *nic = say_way_nic(pair, field);
    const char *all = ibh_probe_family(pair) ? "" : "net/ipv4/conf/all/accept_redirects=0 ",
               *ipv = ibh_probe_family(pair) ? "ipv6" : "ipv4";

    return g_strdup_printf("%snet/%s/conf/%s/accept_redirects=0", all, ipv, nic);
}

static char *say_arp(const IbhProbePair *pair, const void *field G_GNUC_UNUSED)
{
    return g_strdup(ibh_probe_family(pair) ? "neighbour solicitations" : "ARP");
}

static char *say_arp_is(const IbhProbePair *pair, const void *field G_GNUC_UNUSED)
{
    return g_strdup(ibh_probe_family(pair) ? "neighbour solicitations are" : "ARP is");
}

/* The route that the kernel found. */
static char *say_route(const IbhProbePair *pair, const void *field G_GNUC_UNUSED)
{
    const IbhPrefix prefix = ibh_prefix_of(ibh_probe_peer(pair), pair->route.length);
    g_autofree char *table =
        pair->route.table == IBH_TABLE_MAIN ? g_strdup("main") : g_strdup_printf("%u", pair->route.table);
    char text[IBH_PREFIX_STRLEN];

    return pair->route.table ? g_strdup_printf("the route to %s in table %s", ibh_prefix_format(&prefix, text), table)
                             : g_strdup("its routing");
}

static int compare_texts(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In one order, in whichever they came. */
static char *say_answers(const IbhProbePair *pair, const void *field G_GNUC_UNUSED)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < pair->answers; i++)
        g_ptr_array_add(all, ibh_lladdr_format(&pair->answer[i]));
    g_ptr_array_sort(all, compare_texts);
    return ibh_probe_join_names(all, IBH_PROBE_NAMED, 0);
}

static char *say_foreign(const IbhProbePair *pair, const void *field G_GNUC_UNUSED)
{
    const gboolean is_right = !pair->sender.len || ibh_lladdr_equal(&pair->sender, &pair->lladdr) ||
                              ibh_probe_has_answer(pair, &pair->sender);

    return ibh_lladdr_format(is_right ? &pair->syn_sender : &pair->sender);
}

/* ---- all words ---- */

#define AT(field) offsetof(IbhProbePair, field)

static const struct {
    const char *word;
    Say *say;
    gsize at;
} words[] = {
    {"if", say_nic, 0},
    {"peer", say_ip, AT(route.to)},
    {"from", say_ip, AT(route.from)},
    {"via", say_via, 0},
    {"leaves from", say_ip, AT(trace.from)},
    {"leaves to", say_ip, AT(trace.to)},
    {"told by", say_ip, AT(mtu.limited_by)},
    {"refused by", say_ip, AT(refusal.from)},
    {"icmp", say_icmp, AT(refusal)},
    {"way if", say_way_nic, 0},
    {"way via", say_ip, AT(route.gateway)},
    {"flush redirects", say_flush, 0},
    {"refuse redirects", say_refuse, 0},
    {"ip", say_ip_command, 0},
    {"ipv", say_ipv, 0},
    {"type", say_type, 0},
    {"whose", say_whose, 0},
    {"arp", say_arp, 0},
    {"arp answered", say_arp_is, 0},
    {"entry", say_lladdr, AT(entry)},
    {"answers", say_answers, 0},
    {"foreign", say_foreign, 0},
    {"reply if", say_link, AT(reply_ifindex)},
    {"route if", say_link, AT(route.oif)},
    {"free if", say_link, AT(free_ifindex)},
    {"route", say_route, 0},
    {"refused", say_refusal, AT(send_error)},
    {"no route", say_refusal, AT(route.error)},
    {"rdma error", say_error, AT(rdma_error)},
    {"passed", say_number, AT(mtu.passed)},
    {"piece", say_number, AT(mtu.fragment)},
    {"full", say_full, 0},
};

static char *value_of(const IbhProbePair *pair, const char *word)
{
    for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
        if (g_str_equal(words[i].word, word))
            return words[i].say(pair, (const char *)pair + words[i].at);
    }
    g_return_val_if_reached(g_strdup(word));
}

char *ibh_probe_fill_in(const IbhProbePair *pair, const char *text)
{
    g_auto(GStrv) parts = g_strsplit_set(text ? text : "", "{}", -1);

    for (guint i = 1; parts[0] && parts[i]; i += 2) {
        char *value = value_of(pair, parts[i]);

        g_free(parts[i]);
        parts[i] = value;
    }
    return text ? g_strjoinv("", parts) : NULL;
}
