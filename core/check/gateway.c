/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gateway= and remote= that cannot be used, and rails that reach no other host without a gateway.
 */
#include "check/check.h"

#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* remote= needs the gateway of a default route: prefixes that main has by a gateway are not enough. */
static gboolean have_gateway(const GArray *routes, int family, gboolean of_default)
{
    IBH_EACH (const IbhRoute, route, routes) {
        if (of_default ? route->family == family && ibh_route_is_default(route) : route->gateway.family == family)
            return TRUE;
    }
    return FALSE;
}

static gboolean wants_remote(const IbhNic *nic, int family)
{
    for (guint i = 0; nic->settings.remote && i < nic->settings.remote->len; i++) {
        if (g_array_index(nic->settings.remote, IbhPrefix, i).ip.family == family)
            return TRUE;
    }
    return FALSE;
}

/* A cable's two ends, or single addresses: without a route by this NIC it reaches one other host, or none. */
static gboolean has_no_room(const IbhCheck *check, const IbhNic *nic, int family)
{
    gboolean may_have_gateway = nic->settings.manage == IBH_MANAGE_YES && nic->settings.gateway == IBH_GATEWAY_AUTO;

    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (address->local.family == family && !ibh_address_is_host(address))
            return may_have_gateway && ibh_has_one_peer(&address->subnet);
    }
    IBH_EACH_ROUTE (route, check->rails->snapshot) {
        if (route->family == family && route->ifindex == nic->link->ifindex && route->type == RTN_UNICAST &&
            !ibh_ip_is_link_local(&route->dst.ip) && !ibh_rails_holder(check->rails, &route->dst.ip))
            return FALSE;
    }
    return TRUE;
}

/* What is wrong with the gateway that gateway= asks for in this family; NULL: nothing. */
static char *why_unusable(const IbhCheck *check, const IbhNic *nic, int family)
{
    const IbhSettings *settings = &nic->settings;
    char text[IBH_IP_STRLEN];
    IbhIp gateway;

    if (ibh_find_gateway(nic, family, &gateway)) {
        const IbhNic *holder = ibh_rails_holder(check->rails, &gateway);

        return holder ? g_strdup_printf("the gateway %s is an address of %s itself", ibh_ip_format(&gateway, text),
                                        holder->link->name)
                      : NULL;
    }
    if (settings->gateway == IBH_GATEWAY_ADDRESS
            ? settings->gateway_ip.family != family
            : settings->gateway != IBH_GATEWAY_PEER && (settings->gateway < IBH_GATEWAY_PEER || family != AF_INET))
        return NULL;
    return g_strdup("no subnet of this NIC has the gateway that gateway= asks for");
}

static void judge_family(const IbhCheck *check, const IbhNic *nic, const GArray *wanted, int family)
{
    g_autofree char *why = why_unusable(check, nic, family);
    gboolean remote = wants_remote(nic, family);

    if (!why && remote && !have_gateway(wanted, family, TRUE))
        why = g_strdup(nic->settings.gateway == IBH_GATEWAY_NONE ? "gateway=none"
                                                                 : "main has no default route by this NIC");
    if (!why && has_no_room(check, nic, family) && !have_gateway(wanted, family, FALSE) &&
        !ibh_findings_have(check->findings, nic->link->name, "address-unusable"))
        why = g_strdup("its subnets have room for one peer at most, and no route leads further by this NIC");
    if (why)
        ibh_tell(check, nic, "gateway-missing", NULL, (IbhRemedy){0},
                 "%s: what it sends beyond its subnet%s goes as main says", why, remote ? ", remote= too," : "");
}

void ibh_judge_gateway(const IbhCheck *check, const IbhNic *nic)
{
    g_autoptr(GArray) wanted = ibh_want_routes(check->rails, nic, NULL);

    if ((nic->link->flags & IFF_UP) && ibh_serves_family(nic, AF_INET))
        judge_family(check, nic, wanted, AF_INET);
    if ((nic->link->flags & IFF_UP) && ibh_serves_family(nic, AF_INET6))
        judge_family(check, nic, wanted, AF_INET6);
}
