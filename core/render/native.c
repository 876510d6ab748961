/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/native.h"

#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <string.h>

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

IbhNative *ibh_native_new(const IbhRender *render, const IbhNic *nic)
{
    const guint32 distance = find_distance(render->rails);
    IbhNative *native = g_new0(IbhNative, 1);

    native->nic = nic;
    native->manager = ibh_snapshot_manager(render->rails->snapshot, nic->link->ifindex);
    native->routes = ibh_want_routes(render->rails, nic);
    native->rules = ibh_want_rules(render->rails, nic, native->routes);
    IBH_EACH (IbhRoute, route, native->routes) {
        route->table += distance;
        route->src = (IbhIp){0}; /* see render/native.h */
    }
    IBH_EACH (IbhRule, rule, native->rules)
        rule->table += ibh_nic_has_table(nic, rule->table) ? distance : 0;
    return native;
}

void ibh_native_free(IbhNative *native)
{
    g_array_unref(native->routes);
    g_array_unref(native->rules);
    g_free(native);
}

gboolean ibh_native_has_default(const IbhNative *native)
{
    IBH_EACH (const IbhRoute, route, native->routes) {
        if (ibh_route_is_default(route))
            return TRUE;
    }
    return FALSE;
}

const char *ibh_native_connection(const IbhNative *native, const char *manager)
{
    return native->manager && g_strcmp0(native->manager->name, manager) == 0 ? native->manager->connection : NULL;
}

/* ---- in words ---- */

static void put(GString *out, const char *words, const char *value)
{
    const char *at = words ? strchr(words, '%') : NULL;

    if (at)
        g_string_append_printf(out, "%.*s%s%s", (int)(at - words), words, value, at + 1);
    else if (words)
        g_string_append(out, words);
}

static void put_number(GString *out, const char *words, gint64 number)
{
    g_autofree char *value = g_strdup_printf("%" G_GINT64_FORMAT, number);

    put(out, words, value);
}

void ibh_put_route(GString *out, const IbhWords *words, const IbhRoute *route, const char *iface)
{
    char text[IBH_PREFIX_STRLEN];
    const gboolean is_direct = route->gateway.family == AF_UNSPEC;

    put(out, words->dst, ibh_prefix_format(&route->dst, text));
    if (!is_direct)
        put(out, words->via, ibh_ip_format(&route->gateway, text));
    if (route->ifindex)
        put(out, words->dev, iface);
    if (route->onlink)
        put(out, words->onlink, "");
    put_number(out, words->table, route->table);
    if (words->needs_scope ? is_direct : route->scope == RT_SCOPE_LINK)
        put(out, words->scope, "");
}

void ibh_put_rule(GString *out, const IbhWords *words, const IbhRule *rule)
{
    char text[IBH_PREFIX_STRLEN];

    put_number(out, words->priority, rule->priority);
    put(out, words->from, ibh_ip_format(&rule->from.ip, text));
    if (rule->to.length)
        put(out, words->to, ibh_prefix_format(&rule->to, text));
    put_number(out, words->lookup, rule->table);
    if (rule->suppress_prefixlength >= 0)
        put_number(out, words->suppress, rule->suppress_prefixlength);
}
