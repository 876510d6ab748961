/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ifupdown, and RHEL's network-scripts: they run arguments of iproute2.
 */
#include "render/formats.h"
#include "render/native.h"
#include "model/operation.h"

#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

/* ---- ifupdown ---- */

static const char ifupdown_why[] =
    "For ifupdown, ifupdown-ng and ifupdown2: lines for the stanza of each NIC, which gives it its addresses, after\n"
    "those. A rule that is there already is no error; routes go with their link. A link that was set down and up again "
    "by\n"
    "hand loses its table, and nothing puts it back: ifdown NIC; ifup NIC.";

static void say_stanza(GString *out, const IbhNative *native, int family)
{
    g_autofree char *iface = ibh_shell_word(native->nic->link->name);
    char flag = family == AF_INET6 ? '6' : '4';

    if (!ibh_native_has_family(native, family))
        return;
    g_string_append_printf(out, "\n# /etc/network/interfaces: iface %s %s\n", native->nic->link->name,
                           family == AF_INET6 ? "inet6" : "inet");
    IBH_EACH (const IbhRoute, route, native->routes) {
        g_autofree char *text = ibh_native_route(route, iface);

        if (route->family == family)
            g_string_append_printf(out, "    up ip -%c route replace %s\n", flag, text);
    }
    IBH_EACH (const IbhRule, rule, native->rules) {
        g_autofree char *text = ibh_native_rule(rule);

        if (rule->family == family)
            g_string_append_printf(out, "    up ip -%c rule add %s || true\n    down ip -%c rule del %s || true\n",
                                   flag, text, flag, text);
    }
}

char *ibh_render_ifupdown(const IbhRender *render)
{
    g_autoptr(GPtrArray) natives = ibh_natives(render);
    GString *out = g_string_new(NULL);

    ibh_native_header(out, render, ifupdown_why);
    IBH_EACH_POINTER (const IbhNative, native, natives) {
        say_stanza(out, native, AF_INET);
        say_stanza(out, native, AF_INET6);
    }
    return g_string_free(out, FALSE);
}

/* ---- ifcfg ---- */

static const char ifcfg_why[] =
    "For RHEL's network-scripts (RHEL 8 and before): each line is what follows ip route add and ip rule add. They are "
    "used\n"
    "with NM_CONTROLLED=no in ifcfg-NIC, or where there is no NetworkManager; that passes over all of them as soon as\n"
    "there is a rule-NIC, unless the package NetworkManager-dispatcher-routing-rules is there: take nmcli "
    "for it.\n"
    " ifdown deletes the rules.";

/* A shell splits the line into words and knows no quotes there: only a backslash helps. */
static char *script_word(const char *name)
{
    g_auto(GStrv) parts = g_strsplit(name, "\\", -1);

    return g_strjoinv("\\\\", parts);
}

static void say_route_file(GString *out, const IbhNative *native, int family)
{
    g_autofree char *iface = script_word(native->nic->link->name);

    g_string_append_printf(out, "\n# /etc/sysconfig/network-scripts/route%s-%s\n", family == AF_INET6 ? "6" : "",
                           native->nic->link->name);
    IBH_EACH (const IbhRoute, route, native->routes) {
        g_autofree char *text = ibh_native_route(route, iface);

        if (route->family == family)
            g_string_append_printf(out, "%s\n", text);
    }
}

static void say_rule_file(GString *out, const IbhNative *native, int family)
{
    g_string_append_printf(out, "\n# /etc/sysconfig/network-scripts/rule%s-%s\n", family == AF_INET6 ? "6" : "",
                           native->nic->link->name);
    IBH_EACH (const IbhRule, rule, native->rules) {
        g_autofree char *text = ibh_native_rule(rule);

        if (rule->family == family)
            g_string_append_printf(out, "%s\n", text);
    }
}

static void say_ifcfg(GString *out, const IbhNative *native)
{
    static const int families[] = {AF_INET, AF_INET6};

    if (strpbrk(native->nic->link->name, "*?["))
        g_string_append_printf(out, "\n# The shell may take the name %s for a pattern of files.\n",
                               native->nic->link->name);
    for (guint i = 0; i < G_N_ELEMENTS(families); i++) {
        if (!ibh_native_has_family(native, families[i]))
            continue;
        say_route_file(out, native, families[i]);
        say_rule_file(out, native, families[i]);
    }
}

char *ibh_render_ifcfg(const IbhRender *render)
{
    g_autoptr(GPtrArray) natives = ibh_natives(render);
    GString *out = g_string_new(NULL);

    ibh_native_header(out, render, ifcfg_why);
    IBH_EACH_POINTER (const IbhNative, native, natives)
        say_ifcfg(out, native);
    return g_string_free(out, FALSE);
}
