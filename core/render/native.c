/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/native.h"

#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

/* ---- the table ---- */

static gboolean is_taken(const IbhRails *rails, guint32 table)
{
    return table <= IBH_TABLE_LOCAL || table == IBH_TABLE_SPREAD || ibh_rails_nic_by_table(rails, table);
}

/* The same distance for all, so that no two NICs get the same table: T' = T + distance, D' = T' + 2000. */
static guint32 find_distance(const IbhRails *rails)
{
    guint32 distance = 1000;

    for (guint i = 0; i < rails->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(rails->nics, i);

        if (nic->rank &&
            (is_taken(rails, nic->table + distance) || is_taken(rails, ibh_nic_defaults(nic) + distance))) {
            distance += 1000;
            i = G_MAXUINT; /* from the first one again */
        }
    }
    return distance;
}

guint32 ibh_native_table(const IbhRails *rails, const IbhNic *nic)
{
    return nic->table + find_distance(rails);
}

/* ---- a rail ---- */

static GArray *find_addresses(const IbhNic *nic)
{
    GArray *addresses = g_array_new(FALSE, TRUE, sizeof(IbhAddress));

    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        g_array_append_val(addresses, *address);
    }
    return addresses;
}

IbhNative *ibh_native_new(const IbhRender *render, const IbhNic *nic)
{
    g_autoptr(GArray) routes = ibh_want_routes(render->rails, nic);
    g_autoptr(GArray) rules = ibh_want_rules(render->rails, nic, routes);
    const IbhManager *manager = ibh_snapshot_manager(render->rails->snapshot, nic->link->ifindex);
    IbhNative *native = g_new0(IbhNative, 1);

    native->nic = nic;
    native->connection = manager && g_strcmp0(manager->name, "NetworkManager") == 0 ? manager->connection : NULL;
    native->table = ibh_native_table(render->rails, nic);
    native->addresses = find_addresses(nic);
    native->routes = g_array_new(FALSE, TRUE, sizeof(IbhRoute));
    native->rules = g_array_new(FALSE, TRUE, sizeof(IbhRule));
    for (guint i = 0; i < routes->len; i++) {
        IbhRoute route = g_array_index(routes, IbhRoute, i);

        route.table += native->table - nic->table;
        route.src = (IbhIp){0}; /* see render/native.h */
        g_array_append_val(native->routes, route);
    }
    for (guint i = 0; i < rules->len; i++) {
        IbhRule rule = g_array_index(rules, IbhRule, i);

        if (ibh_nic_has_table(nic, rule.table))
            rule.table += native->table - nic->table;
        g_array_append_val(native->rules, rule);
    }
    return native;
}

void ibh_native_free(IbhNative *native)
{
    g_array_unref(native->addresses);
    g_array_unref(native->routes);
    g_array_unref(native->rules);
    g_free(native);
}

static void free_native(gpointer native)
{
    ibh_native_free(native);
}

GPtrArray *ibh_natives(const IbhRender *render)
{
    GPtrArray *natives = g_ptr_array_new_with_free_func(free_native);

    IBH_EACH_POINTER (const IbhNic, nic, render->rails->nics) {
        if (ibh_render_has(render, nic))
            g_ptr_array_add(natives, ibh_native_new(render, nic));
    }
    return natives;
}

gboolean ibh_native_has_default(const IbhNative *native)
{
    IBH_EACH (const IbhRoute, route, native->routes) {
        if (ibh_route_is_default(route))
            return TRUE;
    }
    return FALSE;
}

gboolean ibh_native_has_family(const IbhNative *native, int family)
{
    IBH_EACH (const IbhAddress, address, native->addresses) {
        if (address->local.family == family)
            return TRUE;
    }
    return FALSE;
}

static const char native_why[] =
    "\n"
    "Rules and routes are the manager's own, without ib-hook's mark. They have its priorities, but tables of other\n"
    "numbers: so ib-hook finds that the manager routes a NIC, and takes its own rules and routes away. Addresses and\n"
    "gateways are those of now: what they become later is not followed.\n"
    "\n"
    "Who answers ARP, and from which address, no manager can say: these lines belong into\n"
    "/etc/sysctl.d/90-ib-hook.conf, with slashes, because dots in a name (ib0.8002) would end it. ib-hook itself "
    "gives\n"
    "the rails these values as well. rp_filter=1 drops what comes in by another NIC than the answer would leave by: "
    "set\n"
    "it once the rules are there, and peers have learned the right NICs.";

/* In a file of sysctl.d a key ends at `=`, may be a pattern, and may begin with a sign that ignores errors. */
static gboolean is_sysctl_name(const char *name)
{
    return !strpbrk(name, "=*?[]\\");
}

static void say_sysctls(GString *out, const IbhRender *render, const IbhNic *nic)
{
    gboolean silenced = ibh_render_silences(render, nic);

    if (!silenced && !ibh_render_has(render, nic))
        return;
    if (!is_sysctl_name(nic->link->name)) {
        g_string_append_printf(out, "#   %s: its name cannot be said in such a file\n", nic->link->name);
        return;
    }
    for (int key = 0; key <= IBH_SYSCTL_ARP_IGNORE; key++) {
        int value = 1;

        if (silenced ? key == IBH_SYSCTL_ARP_IGNORE : ibh_render_wants(render, nic, (IbhSysctl)key, &value))
            g_string_append_printf(out, "#   net/ipv4/conf/%s/%s = %d\n", nic->link->name,
                                   ibh_sysctl_name((IbhSysctl)key), value);
    }
}

void ibh_native_header(GString *out, const IbhRender *render, const char *why)
{
    ibh_render_comment(out, why);
    ibh_render_comment(out, native_why);
    IBH_EACH_POINTER (const IbhNic, nic, render->rails->nics)
        say_sysctls(out, render, nic);
    ibh_render_left_out(out, render, TRUE);
}

/* ---- as ip says it ---- */

char *ibh_native_route(const IbhRoute *route, const char *iface)
{
    char dst[IBH_PREFIX_STRLEN], ip[IBH_IP_STRLEN];
    GString *text = g_string_new(ibh_prefix_format(&route->dst, dst));

    if (route->gateway.family != AF_UNSPEC)
        g_string_append_printf(text, " via %s", ibh_ip_format(&route->gateway, ip));
    if (route->ifindex)
        g_string_append_printf(text, " dev %s%s", iface, route->onlink ? " onlink" : "");
    g_string_append_printf(text, " table %u", route->table);
    if (route->scope == RT_SCOPE_LINK)
        g_string_append(text, " scope link");
    return g_string_free(text, FALSE);
}

char *ibh_native_rule(const IbhRule *rule)
{
    char from[IBH_IP_STRLEN], to[IBH_PREFIX_STRLEN];
    GString *text = g_string_new(NULL);

    g_string_append_printf(text, "priority %u from %s", rule->priority, ibh_ip_format(&rule->from.ip, from));
    if (rule->to.length)
        g_string_append_printf(text, " to %s", ibh_prefix_format(&rule->to, to));
    g_string_append_printf(text, " table %u", rule->table);
    if (rule->suppress_prefixlength >= 0)
        g_string_append_printf(text, " suppress_prefixlength %d", (int)rule->suppress_prefixlength);
    return g_string_free(text, FALSE);
}
