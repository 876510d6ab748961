/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Managers' formats: the words of each, and its files or commands. What is said before each of them: formats.c.
 */
#include "model/operation.h"
#include "render/native.h"

#include <string.h>
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
static char *netplan_id(const IbhNative *native)
{
    const char *id = ibh_native_connection(native, "netplan");

    return ibh_printable(id ? id : native->nic->link->name);
}

void ibh_write_networkd(GString *out, const IbhNative *native, const IbhRender *render)
{
    const char *network = ibh_native_connection(native, "systemd-networkd");
    g_autofree char *id = netplan_id(native), *file = NULL;

    if (network && is_shared(render, network)) {
        g_string_append(out, "\n# It shares its .network file with other NICs: give it one of its own first.\n");
        network = NULL;
    }
    file = network                                    ? ibh_printable(network)
           : ibh_native_connection(native, "netplan") ? g_strdup_printf("10-netplan-%s.network", id)
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

static char *yaml_string(const char *text)
{
    g_auto(GStrv) slashes = g_strsplit(text, "\\", -1);
    g_autofree char *escaped = g_strjoinv("\\\\", slashes);
    g_auto(GStrv) quotes = g_strsplit(escaped, "\"", -1);
    g_autofree char *quoted = g_strjoinv("\\\"", quotes);

    return g_strdup_printf("\"%s\"", quoted);
}

static void put_yaml(GString *out, const IbhNative *native)
{
    g_autofree char *id = netplan_id(native), *name = yaml_string(id);

    g_string_append_printf(out, "    %s:\n%s", name, native->routes->len ? "      routes:\n" : "");
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
    g_autofree char *id = netplan_id(native), *file = g_strdup_printf("10-netplan-%s.network", id);

    put_drop_in(out, native, file, !ibh_native_has_default(native));
}

/* ---- NetworkManager: nmcli ---- */

static const IbhWords nmcli_words = {.dst = "%", .via = " %", .onlink = " onlink=true", .table = " table=%"};

void ibh_write_nmcli(GString *out, const IbhNative *native, const IbhRender *render G_GNUC_UNUSED)
{
    const char *connection = ibh_native_connection(native, "NetworkManager");
    g_autofree char *name = ibh_printable(connection ? connection : native->nic->link->name);
    g_autofree char *word = ibh_shell_word(name);

    g_string_append_printf(out, "\n# %s\n", native->nic->link->name);
    IBH_EACH (const IbhRoute, route, native->routes) {
        g_autofree char *text = route_text(&nmcli_words, route, NULL);

        g_string_append_printf(out, "nmcli connection modify %s +ipv%c.routes '%s'\n", word,
                               route->family == AF_INET6 ? '6' : '4', text);
    }
    IBH_EACH (const IbhRule, rule, native->rules) {
        g_autofree char *text = rule_text(rule);

        g_string_append_printf(out, "nmcli connection modify %s +ipv%c.routing-rules '%s'\n", word,
                               rule->family == AF_INET6 ? '6' : '4', text);
    }
}

/* ---- ifupdown ---- */

static void put_stanza(GString *out, const IbhNative *native, int family)
{
    g_autofree char *iface = ibh_shell_word(native->nic->link->name);
    const char flag = family == AF_INET6 ? '6' : '4';

    g_string_append_printf(out, "\n# /etc/network/interfaces: iface %s %s\n", native->nic->link->name,
                           family == AF_INET6 ? "inet6" : "inet");
    IBH_EACH (const IbhRoute, route, native->routes) {
        g_autofree char *text = route_text(&ip_words, route, iface);

        if (route->family == family)
            g_string_append_printf(out, "    up ip -%c route replace %s\n", flag, text);
    }
    IBH_EACH (const IbhRule, rule, native->rules) {
        g_autofree char *text = rule_text(rule);

        if (rule->family == family)
            g_string_append_printf(out, "    up ip -%c rule add %s || true\n    down ip -%c rule del %s || true\n",
                                   flag, text, flag, text);
    }
}

void ibh_write_ifupdown(GString *out, const IbhNative *native, const IbhRender *render G_GNUC_UNUSED)
{
    for (guint i = 0; i < G_N_ELEMENTS(families); i++) {
        if (ibh_serves_family(native->nic, families[i]))
            put_stanza(out, native, families[i]);
    }
}

/* ---- RHEL's network-scripts ---- */

/* A shell splits the line into words and knows no quotes there: only a backslash helps. */
static char *script_word(const char *name)
{
    g_auto(GStrv) parts = g_strsplit(name, "\\", -1);

    return g_strjoinv("\\\\", parts);
}

static void put_scripts(GString *out, const IbhNative *native, int family)
{
    g_autofree char *iface = script_word(native->nic->link->name);
    const char *six = family == AF_INET6 ? "6" : "", *name = native->nic->link->name;

    g_string_append_printf(out, "\n# /etc/sysconfig/network-scripts/route%s-%s\n", six, name);
    IBH_EACH (const IbhRoute, route, native->routes) {
        if (route->family != family)
            continue;
        ibh_put_route(out, &ip_words, route, iface);
        g_string_append_c(out, '\n');
    }
    g_string_append_printf(out, "\n# /etc/sysconfig/network-scripts/rule%s-%s\n", six, name);
    IBH_EACH (const IbhRule, rule, native->rules) {
        if (rule->family != family)
            continue;
        ibh_put_rule(out, &ip_words, rule);
        g_string_append_c(out, '\n');
    }
}

void ibh_write_ifcfg(GString *out, const IbhNative *native, const IbhRender *render G_GNUC_UNUSED)
{
    if (strpbrk(native->nic->link->name, "*?["))
        g_string_append_printf(out, "\n# The shell may take the name %s for a pattern of files.\n",
                               native->nic->link->name);
    for (guint i = 0; i < G_N_ELEMENTS(families); i++) {
        if (ibh_serves_family(native->nic, families[i]))
            put_scripts(out, native, families[i]);
    }
}
