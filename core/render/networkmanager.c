/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NetworkManager: nmcli.
 */
#include "render/formats.h"
#include "render/native.h"
#include "model/operation.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

static const char nmcli_why[] =
    "For NetworkManager: what is added to the connection of each NIC (as far as known; else the name of its interface\n"
    "stands there). In force from its next activation on, or after nmcli device reapply NIC. Said again, nothing is\n"
    "added. NetworkManager finds foreign rules none of its business, and deletes these when the connection goes down.\n"
    "suppress_prefixlength is known from version 1.20 on.";

static char *nmcli_route(const IbhRoute *route)
{
    char text[IBH_PREFIX_STRLEN];
    GString *out = g_string_new(ibh_prefix_format(&route->dst, text));

    if (route->gateway.family != AF_UNSPEC)
        g_string_append_printf(out, " %s", ibh_ip_format(&route->gateway, text));
    if (route->onlink)
        g_string_append(out, " onlink=true");
    g_string_append_printf(out, " table=%u", route->table);
    return g_string_free(out, FALSE);
}

static void say_nmcli(GString *out, const IbhNative *native)
{
    g_autofree char *name = ibh_printable(native->connection ? native->connection : native->nic->link->name);
    g_autofree char *word = ibh_shell_word(name);

    g_string_append_printf(out, "\n# %s\n", native->nic->link->name);
    IBH_EACH (const IbhRoute, route, native->routes) {
        g_autofree char *text = nmcli_route(route);

        g_string_append_printf(out, "nmcli connection modify %s +ipv%c.routes '%s'\n", word,
                               route->family == AF_INET6 ? '6' : '4', text);
    }
    IBH_EACH (const IbhRule, rule, native->rules) {
        g_autofree char *text = ibh_native_rule(rule);

        g_string_append_printf(out, "nmcli connection modify %s +ipv%c.routing-rules '%s'\n", word,
                               rule->family == AF_INET6 ? '6' : '4', text);
    }
}

char *ibh_render_nmcli(const IbhRender *render)
{
    g_autoptr(GPtrArray) natives = ibh_natives(render);
    GString *out = g_string_new(NULL);

    ibh_native_header(out, render, nmcli_why);
    IBH_EACH_POINTER (const IbhNative, native, natives)
        say_nmcli(out, native);
    return g_string_free(out, FALSE);
}
