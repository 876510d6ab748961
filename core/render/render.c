/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/render.h"

#include "render/formats.h"

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
