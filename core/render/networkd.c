/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netplan, and systemd-networkd, which netplan writes files for.
 */
#include "render/formats.h"
#include "render/native.h"

#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

/* ---- networkd: a drop-in for the .network file of each NIC ---- */

static const char networkd_why[] =
    "For systemd-networkd: a drop-in for the .network file of each NIC, which keeps its addresses. networkd deletes\n"
    "rules and routes that it did not make, but those of protocol kernel; these are its own, and static.\n"
    "SuppressPrefixLength= is known from version 245 on. After networkctl reload, networkctl reconfigure NIC.";

static void say_route(GString *out, const IbhRoute *route)
{
    char text[IBH_PREFIX_STRLEN];

    g_string_append_printf(out, "\n[Route]\nDestination=%s\nTable=%u\n", ibh_prefix_format(&route->dst, text),
                           route->table);
    if (route->scope == RT_SCOPE_LINK)
        g_string_append(out, "Scope=link\n");
    if (route->gateway.family != AF_UNSPEC)
        g_string_append_printf(out, "Gateway=%s\n", ibh_ip_format(&route->gateway, text));
    if (route->onlink)
        g_string_append(out, "GatewayOnLink=yes\n");
}

static void say_rule(GString *out, const IbhRule *rule)
{
    char from[IBH_IP_STRLEN], to[IBH_PREFIX_STRLEN];

    g_string_append_printf(out, "\n[RoutingPolicyRule]\nPriority=%u\nFrom=%s\n", rule->priority,
                           ibh_ip_format(&rule->from.ip, from));
    if (rule->to.length)
        g_string_append_printf(out, "To=%s\n", ibh_prefix_format(&rule->to, to));
    g_string_append_printf(out, "Table=%u\n", rule->table);
    if (rule->suppress_prefixlength >= 0)
        g_string_append_printf(out, "SuppressPrefixLength=%d\n", (int)rule->suppress_prefixlength);
}

/* The part that netplan can express: all but suppress_prefixlength. */
static gboolean is_plain(const IbhRule *rule)
{
    return rule->suppress_prefixlength < 0;
}

/* `rest`: only what netplan cannot express. */
static void say_drop_in(GString *out, const IbhNative *native, const char *network, gboolean rest)
{
    g_string_append_printf(out, "\n# /etc/systemd/network/%s.d/ib-hook.conf\n", network);
    if (!rest) {
        IBH_EACH (const IbhRoute, route, native->routes)
            say_route(out, route);
    }
    IBH_EACH (const IbhRule, rule, native->rules) {
        if (!rest || !is_plain(rule))
            say_rule(out, rule);
    }
}

static const IbhManager *manager_of(const IbhRender *render, const IbhNic *nic, const char *name)
{
    const IbhManager *manager = ibh_snapshot_manager(render->rails->snapshot, nic->link->ifindex);

    return manager && manager->connection && g_strcmp0(manager->name, name) == 0 ? manager : NULL;
}

/* Netplan's name of it. */
static char *netplan_id(const IbhRender *render, const IbhNic *nic)
{
    const IbhManager *manager = manager_of(render, nic, "netplan");

    return ibh_printable(manager ? manager->connection : nic->link->name);
}

/* A file that matches several NICs would give each of them the routes of all. */
static gboolean is_shared(const IbhRender *render, const char *file)
{
    const GArray *managers = render->rails->snapshot->managers;
    guint n = 0;

    IBH_EACH (const IbhManager, manager, managers)
        n += g_strcmp0(manager->connection, file) == 0;
    return n > 1;
}

static void say_networkd(GString *out, const IbhRender *render, const IbhNative *native)
{
    const IbhManager *manager = manager_of(render, native->nic, "systemd-networkd");
    g_autofree char *id = netplan_id(render, native->nic);
    g_autofree char *file = manager ? ibh_printable(manager->connection)
                            : manager_of(render, native->nic, "netplan")
                                ? g_strdup_printf("10-netplan-%s.network", id)
                                : g_strdup_printf("%s.network", native->nic->link->name);

    if (manager && is_shared(render, manager->connection)) {
        g_free(file);
        file = g_strdup_printf("%s.network", native->nic->link->name);
        g_string_append_printf(out, "\n# It shares its .network file with other NICs: give it one of its own first.\n");
    }
    say_drop_in(out, native, file, FALSE);
}

char *ibh_render_networkd(const IbhRender *render)
{
    g_autoptr(GPtrArray) natives = ibh_natives(render);
    GString *out = g_string_new(NULL);

    ibh_native_header(out, render, networkd_why);
    IBH_EACH_POINTER (const IbhNative, native, natives)
        say_networkd(out, render, native);
    return g_string_free(out, FALSE);
}

/* ---- netplan ---- */

static const char netplan_why[] =
    "For netplan with systemd-networkd; with NetworkManager as its renderer, netplan drops rules silently: take "
    "nmcli.\n"
    "netplan merges this with the files that give these NICs their addresses, if its names for them (here "
    "as\n"
    "far as known, else those of the interfaces) and the kinds are the same. Files of mode 0600; then netplan apply.\n"
    "\n"
    "netplan cannot say suppress_prefixlength, by which bridges, containers and other routes of main keep what is "
    "theirs:\n"
    "those rules are in drop-ins for the files that netplan makes for systemd-networkd. A NIC with a default route is "
    "left\n"
    "to such a drop-in altogether: without them, it would take everything.";

static char *yaml_string(const char *text)
{
    GString *out = g_string_new("\"");

    for (; *text; text++) {
        if (strchr("\"\\", *text))
            g_string_append_c(out, '\\');
        g_string_append_c(out, *text);
    }
    g_string_append_c(out, '"');
    return g_string_free(out, FALSE);
}

static void say_yaml_routes(GString *out, const IbhNative *native)
{
    char text[IBH_PREFIX_STRLEN];

    g_string_append(out, native->routes->len ? "      routes:\n" : "");
    IBH_EACH (const IbhRoute, route, native->routes) {
        g_string_append_printf(out, "        - to: \"%s\"\n          table: %u\n", ibh_prefix_format(&route->dst, text),
                               route->table);
        if (route->gateway.family != AF_UNSPEC)
            g_string_append_printf(out, "          via: \"%s\"\n", ibh_ip_format(&route->gateway, text));
        else
            g_string_append(out, "          scope: link\n");
    }
}

static void say_yaml(GString *out, const IbhRender *render, const IbhNative *native)
{
    g_autofree char *id = netplan_id(render, native->nic), *name = yaml_string(id);
    char from[IBH_IP_STRLEN];

    g_string_append_printf(out, "    %s:\n", name);
    say_yaml_routes(out, native);
    g_string_append(out, native->rules->len ? "      routing-policy:\n" : "");
    IBH_EACH (const IbhRule, rule, native->rules) {
        if (is_plain(rule))
            g_string_append_printf(out, "        - from: \"%s\"\n          table: %u\n          priority: %u\n",
                                   ibh_ip_format(&rule->from.ip, from), rule->table, rule->priority);
    }
}

static const char *yaml_kind(const IbhNative *native)
{
    const char *kind = native->nic->link->kind;

    return g_str_equal(kind, "vlan") ? "vlans" : g_str_equal(kind, "bond") ? "bonds" : "ethernets";
}

static void say_yaml_file(GString *out, const IbhRender *render, const GPtrArray *natives)
{
    static const char *const kinds[] = {"ethernets", "vlans", "bonds"};

    g_string_append(out, "\n# /etc/netplan/90-ib-hook.yaml\nnetwork:\n  version: 2\n");
    for (guint kind = 0; kind < G_N_ELEMENTS(kinds); kind++) {
        gboolean any = FALSE;

        IBH_EACH_POINTER (const IbhNative, native, natives) {
            if (ibh_native_has_default(native) || !g_str_equal(yaml_kind(native), kinds[kind]))
                continue;
            if (!any)
                g_string_append_printf(out, "  %s:\n", kinds[kind]);
            any = TRUE;
            say_yaml(out, render, native);
        }
    }
}

char *ibh_render_netplan(const IbhRender *render)
{
    g_autoptr(GPtrArray) natives = ibh_natives(render);
    GString *out = g_string_new(NULL);

    ibh_native_header(out, render, netplan_why);
    say_yaml_file(out, render, natives);
    IBH_EACH_POINTER (const IbhNative, native, natives) {
        g_autofree char *id = netplan_id(render, native->nic);
        g_autofree char *file = g_strdup_printf("10-netplan-%s.network", id);

        say_drop_in(out, native, file, !ibh_native_has_default(native));
    }
    return g_string_free(out, FALSE);
}
