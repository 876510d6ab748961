/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of formats, and what is said before each of them.
 */
#include "render/render.h"

#include "plan/emit.h"
#include "plan/want.h"
#include "render/native.h"

#include <string.h>

/* ---- what is said before ---- */

/* Names stand in files of many languages, in lists and beside patterns: only those that mean nothing in any are
 * written. */
gboolean ibh_render_is_plain(const char *name)
{
    return name[0] && !name[strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._-@+")];
}

gboolean ibh_render_has(const IbhRender *render, const IbhNic *nic)
{
    return nic->status == IBH_NIC_RAIL && ibh_is_selected(nic, render->only) && ibh_render_is_plain(nic->link->name);
}

void ibh_render_comment(GString *out, const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (char **line = lines; *line; line++)
        g_string_append_printf(out, "#%s%s\n", **line ? " " : "", *line);
}

/* What the formats cannot express of this host: NICs left out, and with `native`, main=spread. */
static void put_left_out(GString *out, const IbhRender *render, gboolean native)
{
    gboolean any = FALSE;

    IBH_EACH_POINTER (const IbhNic, nic, render->rails->nics) {
        g_autofree char *name = ibh_printable(nic->link->name), *why = ibh_printable(nic->why);

        any = any || ibh_render_has(render, nic);
        if (!ibh_is_selected(nic, render->only) || (!nic->rank && !render->only))
            continue;
        if (nic->status != IBH_NIC_RAIL)
            g_string_append_printf(out, "#\n# Without %s, no rail: %s\n", name, why);
        else if (!ibh_render_is_plain(nic->link->name))
            g_string_append_printf(out, "#\n# Without %s: its name cannot stand in such a file\n", name);
        else if (!(nic->link->flags & IFF_UP))
            g_string_append_printf(out, "#\n# %s is down: its routes are not known now, and are missing here\n", name);
    }
    if (native && render->rails->main != IBH_MAIN_KEEP)
        ibh_render_comment(out, "\nWithout what main=spread does: only ib-hook itself keeps that right.");
    if (!any)
        g_string_append(out, "#\n# There is no rail.\n");
}

/* The sysctls that ib-hook sets: not those that it only found, nor those that are kept. A candidate that is no rail,
 * and must not answer ARP for rails, has one. */
static gboolean wants_sysctl(const IbhRender *render, const IbhNic *nic, IbhSysctl key, int *ret_value)
{
    if (!ibh_is_selected(nic, render->only) || !ibh_render_is_plain(nic->link->name))
        return FALSE;
    if (ibh_must_be_silent(render->rails, nic)) {
        *ret_value = 1;
        return key == IBH_SYSCTL_ARP_IGNORE;
    }
    *ret_value = nic->status == IBH_NIC_RAIL ? ibh_want_sysctl(render->rails, nic, key) : 0;
    return nic->status == IBH_NIC_RAIL && nic->settings.arp != IBH_ARP_KEEP && (*ret_value || nic->base[key]);
}

static void put_sysctls(GString *out, const IbhRender *render, const IbhNic *nic)
{
    for (int key = 0; key <= IBH_SYSCTL_ARP_IGNORE; key++) {
        int value;

        if (wants_sysctl(render, nic, (IbhSysctl)key, &value))
            g_string_append_printf(out, "#   net/ipv4/conf/%s/%s = %d\n", nic->link->name,
                                   ibh_sysctl_name((IbhSysctl)key), value);
    }
}

static const char native_why[] =
    "\n"
    "Rules and routes have no mark, and their tables have other numbers: so ib-hook finds that the manager routes a\n"
    "NIC, and takes its own away. Addresses and gateways are those of now.\n"
    "\n"
    "No manager sets ARP values, which ib-hook gives the rails as well: these lines are for\n"
    "/etc/sysctl.d/90-ib-hook.conf. Set rp_filter=1 once the rules are there and peers have learned the right NICs.";

/* ---- rt_tables ---- */

/* A decimal number is read as a signed one. */
static void put_table(GString *out, guint32 table, const char *kind, const char *name)
{
    g_string_append_printf(out, table > G_MAXINT32 ? "0x%x %s-%s\n" : "%u %s-%s\n", table, kind, name);
}

static void write_rt_tables(GString *out, const IbhRender *render)
{
    ibh_render_comment(
        out,
        "/etc/iproute2/rt_tables.d/ib-hook.conf\n"
        "\n"
        "Names of tables, for ip and for table= in ib-hook's configuration. rail-…: the tables of ib-hook; default-…:\n"
        "those of their defaults; native-… and native-default-…: those of the other formats.");
    put_left_out(out, render, FALSE);
    g_string_append_c(out, '\n');
    IBH_EACH_POINTER (const IbhNic, nic, render->rails->nics) {
        guint32 native = ibh_native_table(render->rails, nic);

        if (ibh_render_has(render, nic)) {
            put_table(out, nic->table, "rail", nic->link->name);
            put_table(out, ibh_nic_defaults(nic), "default", nic->link->name);
            put_table(out, native, "native", nic->link->name);
            put_table(out, native + IBH_TABLE_DEFAULTS, "native-default", nic->link->name);
        }
    }
}

/* ---- the table ---- */

/* A manager's format has a text that explains it, and writes one rail after the other; others write all. */
static const struct {
    const char *name, *why;
    IbhRailWriter *rail;
    void (*natives)(GString *out, const GPtrArray *natives); /* before the first one */
    void (*all)(GString *out, const IbhRender *render);
} formats[] = {
    {"netplan",
     "For netplan with systemd-networkd; with NetworkManager as its renderer, it drops rules: take nmcli.\n"
     "netplan merges this with the files that give these NICs their addresses, if its names for them (here as far as\n"
     "known, else those of the interfaces) and the kinds are the same. Files of mode 0600; then netplan apply.\n"
     "\n"
     "netplan cannot say suppress_prefixlength: those rules are in drop-ins for the files that it makes for\n"
     "systemd-networkd, and so is all of a NIC with a default route, which would take everything without them.",
     ibh_write_netplan_rest, ibh_write_netplan, NULL},
    {"networkd",
     "For systemd-networkd 245 and later: a drop-in for the .network file of each NIC, which keeps its addresses.\n"
     "After networkctl reload, networkctl reconfigure NIC.",
     ibh_write_networkd, NULL, NULL},
    {"nmcli",
     "For NetworkManager 1.20 and later: what is added to the connection of each NIC (as far as known; else the name\n"
     "of its interface stands there). In force from its next activation on, or after nmcli device reapply NIC. Said\n"
     "again, nothing is added.",
     ibh_write_nmcli, NULL, NULL},
    {"ifupdown",
     "For ifupdown, ifupdown-ng and ifupdown2: lines for the stanza of each NIC, after its addresses. A link that was\n"
     "set down and up again by hand loses its table: ifdown NIC; ifup NIC.",
     ibh_write_ifupdown, NULL, NULL},
    {"ifcfg",
     "For RHEL's network-scripts (RHEL 8 and before) with NM_CONTROLLED=no in ifcfg-NIC, or without NetworkManager,\n"
     "which passes over these files: take nmcli for it. ifdown deletes the rules.",
     ibh_write_ifcfg, NULL, NULL},
    {"rt_tables", NULL, NULL, NULL, write_rt_tables},
    {"env", NULL, NULL, NULL, ibh_write_env},
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

static void free_native(gpointer native)
{
    ibh_native_free(native);
}

static void write_native(GString *out, const IbhRender *render, int format)
{
    g_autoptr(GPtrArray) natives = g_ptr_array_new_with_free_func(free_native);

    ibh_render_comment(out, formats[format].why);
    ibh_render_comment(out, native_why);
    IBH_EACH_POINTER (const IbhNic, nic, render->rails->nics) {
        put_sysctls(out, render, nic);
        if (ibh_render_has(render, nic))
            g_ptr_array_add(natives, ibh_native_new(render, nic));
    }
    put_left_out(out, render, TRUE);
    if (formats[format].natives)
        formats[format].natives(out, natives);
    IBH_EACH_POINTER (const IbhNative, native, natives)
        formats[format].rail(out, native, render);
}

char *ibh_render(const char *format, const IbhRender *render)
{
    GString *out = g_string_new(NULL);
    int which = find(format);

    if (formats[which].all)
        formats[which].all(out, render);
    else
        write_native(out, render, which);
    return g_string_free(out, FALSE);
}
