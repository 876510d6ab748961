#include "render/common.h"

#include "plan/emit.h"
#include "cli/report.h"
#include "plan/want.h"

#include <sys/socket.h>

static const struct {
    const char *name;
    IbhFormatFunction *write;
} formats[] = {
    {"iproute2", ibh_render_iproute2},   {"netplan", ibh_render_netplan},
    {"networkd", ibh_render_networkd},   {"nm-keyfile", ibh_render_nm_keyfile},
    {"nmcli", ibh_render_nmcli},         {"ifupdown", ibh_render_ifupdown},
    {"ifcfg", ibh_render_ifcfg},         {"sysctl", ibh_render_sysctl},
    {"rt_tables", ibh_render_rt_tables}, {"udev", ibh_render_udev},
};

static int find(const char *name)
{
    for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
        if (g_str_equal(formats[i].name, name))
            return (int)i;
    }
    return -1;
}

gboolean ibh_render_knows(const char *format)
{
    return find(format) >= 0;
}

char *ibh_render_formats(void)
{
    GString *names = g_string_new(formats[0].name);

    for (guint i = 1; i < G_N_ELEMENTS(formats); i++)
        g_string_append_printf(names, ", %s", formats[i].name);
    return g_string_free(names, FALSE);
}

char *ibh_render(const char *format, const IbhRender *render, GError **error)
{
    return formats[find(format)].write(render, error);
}

char *ibh_render_warning(const char *format, const IbhRender *render)
{
    return formats[find(format)].write == ibh_render_udev ? ibh_render_udev_warning(render) : NULL;
}

/* ---- what the formats share ---- */

/* What goes into files as it is must not play with the terminal that it is shown on. */
gboolean ibh_render_is_printable(const char *name)
{
    g_autofree char *clean = ibh_report_clean(name);

    return g_str_equal(clean, name);
}

gboolean ibh_render_has(const IbhRender *render, const IbhNic *nic)
{
    return nic->status == IBH_NIC_RAIL && ibh_is_selected(nic, render->only) &&
           ibh_render_is_printable(nic->link->name);
}

gboolean ibh_render_has_family(const IbhRender *render, int family)
{
    return !render->rails->family || render->rails->family == family;
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
        g_autofree char *name = ibh_report_clean(nic->link->name), *why = ibh_report_clean(nic->why);

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
        ibh_render_comment(out,
                           "\nWithout what main=spread or main=remove does: only ib-hook itself keeps that right.");
    if (!any)
        g_string_append(out, "#\n# There is no rail.\n");
}

gboolean ibh_render_wants(const IbhRender *render, const IbhNic *nic, IbhSysctl key, int *ret_value)
{
    int own = nic->settings.sysctl[key];

    *ret_value = ibh_want_sysctl(render->rails, nic, key);
    if (own != IBH_SYSCTL_UNSET)
        return own != IBH_SYSCTL_KEEP;
    return nic->settings.arp != IBH_ARP_KEEP && key != IBH_SYSCTL_ACCEPT_LOCAL &&
           (*ret_value || ibh_sysctl_base(render->rails->snapshot, nic->link, key));
}
