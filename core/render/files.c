/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rt_tables: a file that goes with any manager.
 */
#include "render/formats.h"
#include "render/native.h"

static const char rt_tables_why[] =
    "/etc/iproute2/rt_tables.d/ib-hook.conf\n"
    "\n"
    "Names of the rails' tables: ip route show table rail-ib0. They change nothing but what ip shows and takes, and\n"
    "table= in ib-hook's configuration. rail-…: the tables of ib-hook; default-…: where "
    "these\n"
    "have a rail's default route. native-… and native-default-…: those of the other formats, which are different ones: "
    "so ib-hook sees that something else routes a NIC, and leaves it alone.";

/* A decimal number is read as a signed one. */
static void say_table(GString *out, guint32 table, const char *kind, const char *name)
{
    g_string_append_printf(out, table > G_MAXINT32 ? "0x%x %s-%s\n" : "%u %s-%s\n", table, kind, name);
}

char *ibh_render_rt_tables(const IbhRender *render)
{
    GString *out = g_string_new(NULL);

    ibh_render_comment(out, rt_tables_why);
    ibh_render_left_out(out, render, FALSE);
    g_string_append_c(out, '\n');
    IBH_EACH_POINTER (const IbhNic, nic, render->rails->nics) {
        guint32 native = ibh_native_table(render->rails, nic);

        if (ibh_render_has(render, nic)) {
            say_table(out, nic->table, "rail", nic->link->name);
            say_table(out, ibh_nic_defaults(nic), "default", nic->link->name);
            say_table(out, native, "native", nic->link->name);
            say_table(out, native + IBH_TABLE_DEFAULTS, "native-default", nic->link->name);
        }
    }
    return g_string_free(out, FALSE);
}
