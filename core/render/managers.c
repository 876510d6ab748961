/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Managers' formats: the words of each, and its files or commands. What is said before each of them: formats.c.
 */
#include "model/operation.h"
#include "render/native.h"

#include <sys/socket.h>

static const int families[] = {AF_INET, AF_INET6};

/* As `ip route add` and `ip rule add` take it. */
static const IbhWords ip_words = {
    .dst = "%",
    .via = " via %",
    .dev = " dev %",
    .onlink = " onlink",
    .table = " table %",
    .scope = " scope link",
    .priority = "priority %",
    .from = " from %",
    .to = " to %",
    .lookup = " table %",
    .suppress = " suppress_prefixlength %",
};

static char *route_text(const IbhWords *words, const IbhRoute *route, const char *iface)
{
    GString *text = g_string_new(NULL);

    ibh_put_route(text, words, route, iface);
    return g_string_free(text, FALSE);
}

static char *rule_text(const IbhRule *rule)
{
    GString *text = g_string_new(NULL);

    ibh_put_rule(text, &ip_words, rule);
    return g_string_free(text, FALSE);
}

/* ---- networkd: a drop-in for the .network file of each NIC ---- */

static const IbhWords networkd_words = {
    .dst = "\n[Route]\nDestination=%\n",
    .via = "Gateway=%\n",
    .onlink = "GatewayOnLink=yes\n",
    .table = "Table=%\n",
    .scope = "Scope=link\n",
    .priority = "\n[RoutingPolicyRule]\nPriority=%\n",
    .from = "From=%\n",
    .to = "To=%\n",
    .lookup = "Table=%\n",
    .suppress = "SuppressPrefixLength=%\n",
};

/* The part that netplan can express: all but suppress_prefixlength. */
static gboolean is_plain(const IbhRule *rule)
{
    return rule->suppress_prefixlength < 0;
}

/* `rest`: only what netplan cannot express. */
static void put_drop_in(GString *out, const IbhNative *native, const char *network, gboolean rest)
{
    g_string_append_printf(out, "\n# /etc/systemd/network/%s.d/ib-hook.conf\n", network);
    if (!rest) {
        IBH_EACH (const IbhRoute, route, native->routes)
            ibh_put_route(out, &networkd_words, route, NULL);
    }
    IBH_EACH (const IbhRule, rule, native->rules) {
        if (!rest || !is_plain(rule))
            ibh_put_rule(out, &networkd_words, rule);
    }
}

/* A file that matches several NICs would give each of them the routes of all. */
static gboolean is_shared(const IbhRender *render, const char *file)
{
    guint n = 0;

    IBH_EACH (const IbhManager, manager, render->rails->snapshot->managers)
        n += g_strcmp0(manager->connection, file) == 0;
    return n > 1;
}

/* Netplan's name of it. */
static const char *netplan_id(const IbhNative *native)
{
    const char *id = ibh_native_connection(native, "netplan");

    return id && ibh_render_is_plain(id) ? id : native->nic->link->name;
}

void ibh_write_networkd(GString *out, const IbhNative *native, const IbhRender *render)
{
    const char *network = ibh_native_connection(native, "systemd-networkd");
    g_autofree char *file = NULL;

    if (network && is_shared(render, network)) {
        g_string_append(out, "\n# It shares its .network file with other NICs: give it one of its own first.\n");
        network = NULL;
    }
    file = network                                    ? ibh_printable(network)
           : ibh_native_connection(native, "netplan") ? g_strdup_printf("10-netplan-%s.network", netplan_id(native))
                                                      : g_strdup_printf("%s.network", native->nic->link->name);
    put_drop_in(out, native, file, FALSE);
}

/* ---- netplan: a file for all, and what it cannot say ---- */

static const IbhWords yaml_words = {
    .dst = "        - to: \"%\"\n",
    .via = "          via: \"%\"\n",
    .table = "          table: %\n",
    .scope = "          scope: link\n",
    .needs_scope = TRUE,
    .priority = "        - priority: %\n",
    .from = "          from: \"%\"\n",
    .lookup = "          table: %\n",
};

static void put_yaml(GString *out, const IbhNative *native)
{
    g_string_append_printf(out, "    %s:\n%s", netplan_id(native), native->routes->len ? "      routes:\n" : "");
    IBH_EACH (const IbhRoute, route, native->routes)
        ibh_put_route(out, &yaml_words, route, NULL);
    g_string_append(out, native->rules->len ? "      routing-policy:\n" : "");
    IBH_EACH (const IbhRule, rule, native->rules) {
        if (is_plain(rule))
            ibh_put_rule(out, &yaml_words, rule);
    }
}

static const char *yaml_kind(const IbhNative *native)
{
    const char *kind = native->nic->link->kind;

    return g_str_equal(kind, "vlan") ? "vlans" : g_str_equal(kind, "bond") ? "bonds" : "ethernets";
}

void ibh_write_netplan(GString *out, const GPtrArray *natives)
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
            put_yaml(out, native);
        }
    }
}

void ibh_write_netplan_rest(GString *out, const IbhNative *native, const IbhRender *render G_GNUC_UNUSED)
{
    g_autofree char *file = g_strdup_printf("10-netplan-%s.network", netplan_id(native));

    put_drop_in(out, native, file, !ibh_native_has_default(native));
}

/* ---- lines for each route and rule ---- */

/* In them: $n the NIC, $c its connection, $4 the family, $6 nothing for IPv4, $t the route or rule. */
typedef struct {
    const IbhWords *words;
    const char *routes, *route, *rules, *rule; /* what stands before all, and each */
} Lines;

static void put_line(GString *out, const char *line, const IbhNative *native, int family, const char *text)
{
    const char *connection = ibh_native_connection(native, "NetworkManager");
    g_autofree char *name = ibh_printable(connection ? connection : native->nic->link->name);
    g_autofree char *word = ibh_shell_word(name);

    for (const char *at = line; *at; at++) {
        if (*at != '$')
            g_string_append_c(out, *at);
        else if (*++at == '4')
            g_string_append(out, family == AF_INET6 ? "6" : "4");
        else if (*at == '6')
            g_string_append(out, family == AF_INET6 ? "6" : "");
        else
            g_string_append(out, *at == 'n' ? native->nic->link->name : *at == 'c' ? word : text);
    }
}

static void put_lines(GString *out, const Lines *lines, const IbhNative *native)
{
    for (guint i = 0; i < G_N_ELEMENTS(families); i++) {
        const int family = families[i];

        if (!ibh_serves_family(native->nic, family))
            continue;
        put_line(out, lines->routes, native, family, "");
        IBH_EACH (const IbhRoute, route, native->routes) {
            g_autofree char *text = route_text(lines->words, route, native->nic->link->name);

            if (route->family == family)
                put_line(out, lines->route, native, family, text);
        }
        put_line(out, lines->rules, native, family, "");
        IBH_EACH (const IbhRule, rule, native->rules) {
            g_autofree char *text = rule_text(rule);

            if (rule->family == family)
                put_line(out, lines->rule, native, family, text);
        }
    }
}

void ibh_write_nmcli(GString *out, const IbhNative *native, const IbhRender *render G_GNUC_UNUSED)
{
    static const IbhWords words = {.dst = "%", .via = " %", .onlink = " onlink=true", .table = " table=%"};
    static const Lines lines = {&words, "\n# $n, IPv$4\n", "nmcli connection modify $c +ipv$4.routes '$t'\n", "",
                                "nmcli connection modify $c +ipv$4.routing-rules '$t'\n"};

    put_lines(out, &lines, native);
}

void ibh_write_ifupdown(GString *out, const IbhNative *native, const IbhRender *render G_GNUC_UNUSED)
{
    static const Lines lines = {&ip_words, "\n# /etc/network/interfaces: iface $n inet$6\n",
                                "    up ip -$4 route replace $t\n", "",
                                "    up ip -$4 rule add $t || true\n    down ip -$4 rule del $t || true\n"};

    put_lines(out, &lines, native);
}

/* RHEL's network-scripts */
void ibh_write_ifcfg(GString *out, const IbhNative *native, const IbhRender *render G_GNUC_UNUSED)
{
    static const Lines lines = {&ip_words, "\n# /etc/sysconfig/network-scripts/route$6-$n\n", "$t\n",
                                "\n# /etc/sysconfig/network-scripts/rule$6-$n\n", "$t\n"};

    put_lines(out, &lines, native);
}
