/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/render.h"

#include "render/formats.h"

static const struct {
    const char *name;
    IbhFormatFunction *write;
} formats[] = {
    {"netplan", ibh_render_netplan},   {"networkd", ibh_render_networkd}, {"nmcli", ibh_render_nmcli},
    {"ifupdown", ibh_render_ifupdown}, {"ifcfg", ibh_render_ifcfg},       {"rt_tables", ibh_render_rt_tables},
    {"env", ibh_render_env},
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

char *ibh_render(const char *format, const IbhRender *render)
{
    return formats[find(format)].write(render);
}
