/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Says in words which rule or route is an owner, which command deletes an owner, where packets go, and which metrics
 * their routes have.
 */
#include "check/check.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* ---- owners ---- */

static char *describe_route(const IbhSnapshot *snapshot, const IbhRoute *route, gboolean as_command)
{
    const IbhLink *link = ibh_snapshot_link(snapshot, route->ifindex);
    g_autofree char *iface = link ? ibh_text_shell_word(link->name) : NULL;

    return ibh_route_text(route, iface, NULL, as_command);
}

char *ibh_owner_describe(const IbhSnapshot *snapshot, const IbhOwner *owner)
{
    g_autofree char *text = owner->rule    ? ibh_rule_text(owner->rule, FALSE)
                            : owner->route ? describe_route(snapshot, owner->route, FALSE)
                                           : NULL;

    if (owner->rule)
        return g_strdup_printf("rule %u: %s", owner->rule->priority, text);
    return text ? g_strconcat(owner->route->cached ? "cached route " : "route ", text, NULL) : g_strdup("");
}

char *ibh_owner_text(const IbhSnapshot *snapshot, const IbhOwner *owner)
{
    g_autofree char *text = owner->rule ? ibh_rule_text(owner->rule, FALSE) : NULL;

    return text ? g_strdup_printf("rule %u (%s)", owner->rule->priority, text) : ibh_owner_describe(snapshot, owner);
}

char *ibh_owner_deletion(const IbhSnapshot *snapshot, const IbhOwner *owner)
{
    const IbhRule *rule = owner->rule;
    const IbhRoute *route = owner->route;
    const char version = (rule ? rule->family : route->family) == AF_INET6 ? '6' : '4';
    g_autofree char *text = rule ? ibh_rule_text(rule, TRUE) : describe_route(snapshot, route, TRUE);
    char ip[IBH_IP_STRLEN];

    if (rule)
        return g_strdup_printf("sudo ip -%c rule del priority %u %s", version, rule->priority, text);
    if (route->cached) /* only IPv6 has cached routes */
        return g_strconcat("sudo ip -6 route flush cache ", ibh_ip_format(&route->dst.ip, ip), NULL);
    return g_strdup_printf("sudo ip -%c route del %s", version, text);
}

/* ---- packets ---- */

/* Writes the piece in which the destination lies: "other networks" for /0, an address for a single host, and the prefix
 * for any other piece. For IBH_ASK_ARRIVES, the source lies in the piece, so say_packet() does not use the text. */
static void write_destination(const IbhQuestion *question, char text[IBH_PREFIX_STRLEN])
{
    if (!question->piece.length)
        g_strlcpy(text, "other networks", IBH_PREFIX_STRLEN);
    else if (question->piece.length == ibh_ip_bits(&question->lookup.to))
        ibh_ip_format(&question->lookup.to, text);
    else
        ibh_prefix_format(&question->piece, text);
}

/* Names a packet. A packet without a source address is named by its destination alone. A packet that leaves
 * (IBH_ASK_LEAVES) to a whole subnet of its NIC is named by its source alone. Any other packet is named by both.
 * Packets that only fixes.c walks have no NIC. */
static char *say_packet(const IbhQuestion *question)
{
    const IbhLookup *lookup = &question->lookup;
    const IbhAddress *near = question->nic ? ibh_nic_address_near(question->nic, &lookup->to) : NULL;
    char from[IBH_IP_STRLEN], to[IBH_PREFIX_STRLEN];

    ibh_ip_format(&lookup->from, from);
    write_destination(question, to);
    if (question->kind == IBH_ASK_UNBOUND)
        return g_strdup_printf("traffic without a source address to %s", to);
    if (question->kind == IBH_ASK_ARRIVES)
        return g_strdup_printf("what %s gets from %s", ibh_ip_format(&lookup->to, to), from);
    if (question->kind == IBH_ASK_LEAVES && near && ibh_prefix_equal(&near->subnet, &question->piece))
        return g_strdup(from);
    return g_strdup_printf("%s to %s", from, to);
}

/* Returns where a packet goes. If the packet has a unicast route, and is not refused, the text has no verb: "through
 * ib0 via 172.16.0.1". For any other packet, the text has a verb: "stays on this host". */
static char *describe_way(const IbhCheck *check, const IbhQuestion *question)
{
    const IbhRoute *route = question->got.route;
    char ip[IBH_IP_STRLEN];
    int ifindex;

    if (question->got.refused)
        return g_strdup(question->kind == IBH_ASK_ARRIVES ? "is dropped" : "does not leave");
    if (route->type == RTN_LOCAL)
        return g_strdup("stays on this host");
    if (route->type != RTN_UNICAST)
        return g_strdup("goes to a broadcast, multicast or anycast address");
    /* With several next hops, route->ifindex is the link of the first one, which may be dead. */
    ifindex = route->ifindex;
    IBH_EACH_HOP (hop, route)
        ifindex = hop->dead ? ifindex : hop->ifindex;
    if (!ibh_route_leads_through(route, ifindex))
        return g_strdup("through several NICs");
    if (route->hops || !route->gateway.family)
        return g_strconcat("through ", ibh_check_link_name(check, ifindex), NULL);
    return g_strconcat("through ", ibh_check_link_name(check, ifindex), " via ", ibh_ip_format(&route->gateway, ip),
                       NULL);
}

char *ibh_question_metrics_text(const IbhQuestion *question)
{
    const IbhRoute *route = question->got.route;
    g_autofree char *packet = say_packet(question);
    GString *text = g_string_new(packet);

    g_string_append(text, " has");
    ibh_route_put_metrics(text, route);
    if (!route->metrics_size)
        g_string_append(text, " no mtu or other metrics");
    return g_string_free(text, FALSE);
}

char *ibh_question_way_text(const IbhCheck *check, const IbhQuestion *question)
{
    const IbhTrace *got = &question->got;
    g_autofree char *packet = say_packet(question), *way = describe_way(check, question);
    /* for the ways that describe_way() returns without a verb */
    const char *verb = question->kind == IBH_ASK_ARRIVES ? "is forwarded " : "leaves ";

    if (question->small_mtu) /* the packet leaves through its own NIC, so `way` has no verb */
        return g_strdup_printf("%s %s%s with mtu %u", packet, verb, way, ibh_route_metric(got->route, RTAX_MTU));
    return g_strdup_printf("%s %s%s", packet, got->refused || got->route->type != RTN_UNICAST ? "" : verb, way);
}

gboolean ibh_question_goes_astray(const IbhQuestion *question)
{
    const IbhTrace *got = &question->got;

    return question->kind == IBH_ASK_LEAVES && !got->refused && got->route->type == RTN_UNICAST &&
           !ibh_route_leads_through(got->route, question->nic->link->ifindex);
}

char *ibh_question_exception_text(const IbhCheck *check, const IbhQuestion *question)
{
    g_autofree char *owner = ibh_owner_text(check->rails->snapshot, &question->owner),
                    *way = describe_way(check, question);
    char to[IBH_PREFIX_STRLEN];

    write_destination(question, to);
    return g_strdup_printf("but %s %s: %s", to, way, owner);
}
