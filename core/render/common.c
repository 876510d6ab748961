/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/common.h"

#include "plan/emit.h"
#include "plan/want.h"

#include <sys/socket.h>

/* Names go into files unquoted: refuse any that could control a terminal. */
gboolean ibh_render_is_printable(const char *name)
{
    g_autofree char *clean = ibh_printable(name);

    return g_str_equal(clean, name);
}

gboolean ibh_render_has(const IbhRender *render, const IbhNic *nic)
{
    return nic->status == IBH_NIC_RAIL && ibh_is_selected(nic, render->only) &&
           ibh_render_is_printable(nic->link->name);
}

void ibh_render_comment(GString *out, const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (char **line = lines; *line; line++)
        g_string_append_printf(out, "#%s%s\n", **line ? " " : "", *line);
}

void ibh_render_left_out(GString *out, const IbhRender *render, gboolean native)
{
    gboolean any = FALSE;

    IBH_EACH_POINTER (const IbhNic, nic, render->rails->nics) {
        g_autofree char *name = ibh_printable(nic->link->name), *why = ibh_printable(nic->why);

        any = any || ibh_render_has(render, nic);
        if (!ibh_is_selected(nic, render->only) || (!nic->rank && !render->only))
            continue;
        if (nic->status != IBH_NIC_RAIL)
            g_string_append_printf(out, "#\n# Without %s, no rail: %s\n", name, why);
        else if (!ibh_render_is_printable(nic->link->name))
            g_string_append_printf(out, "#\n# Without %s: its name is not printable\n", name);
        else if (!(nic->link->flags & IFF_UP))
            g_string_append_printf(out, "#\n# %s is down: its routes are not known now, and are missing here\n", name);
    }
    if (native && render->rails->main != IBH_MAIN_KEEP)
        ibh_render_comment(out, "\nWithout what main=spread does: only ib-hook itself keeps that right.");
    if (!any)
        g_string_append(out, "#\n# There is no rail.\n");
}

gboolean ibh_render_wants(const IbhRender *render, const IbhNic *nic, IbhSysctl key, int *ret_value)
{
    *ret_value = ibh_want_sysctl(render->rails, nic, key);
    return nic->settings.arp != IBH_ARP_KEEP && (*ret_value || nic->base[key]);
}

gboolean ibh_render_silences(const IbhRender *render, const IbhNic *nic)
{
    return ibh_is_selected(nic, render->only) && ibh_render_is_printable(nic->link->name) &&
           ibh_must_be_silent(render->rails, nic);
}
