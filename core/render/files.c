/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sysctl, rt_tables, udev: files that go with any manager.
 */
#include "render/formats.h"
#include "render/native.h"
#include "plan/emit.h"

#include <linux/if_arp.h>
#include <string.h>
#include <sys/socket.h>

/* ---- sysctl ---- */

static const char sysctl_why[] =
    "/etc/sysctl.d/90-ib-hook.conf\n"
    "\n"
    "Who answers ARP, and from which address, per interface: no network manager can say it. systemd-udevd sets these\n"
    "whenever such an interface appears, sysctl --load and systemd-sysctl when they are run. The value of `all` "
    "counts,\n"
    "too, where it is higher. With slashes, because dots in an interface's name (ib0.8002) would end it.\n"
    "\n"
    "ib-hook itself gives the rails these values as well, and old ones back with --undo. Where a NIC is\n"
    "routed by others (deferred), it does not: then this file is needed. rp_filter=1 drops what comes in by another "
    "NIC\n"
    "than the answer would leave by: set it once the rules are there, and peers have learned the right NICs.";

/* A key ends at `=`, may be a pattern, and may begin with a sign that ignores errors. */
static gboolean is_sysctl_name(const char *name)
{
    return !strpbrk(name, "=*?[]\\");
}

static void say_sysctls(GString *out, const IbhRender *render, const IbhNic *nic)
{
    if (ibh_render_silences(render, nic)) {
        g_string_append_printf(out, "net/ipv4/conf/%s/arp_ignore = 1\n", nic->link->name);
        return;
    }
    for (int key = 0; key < IBH_N_SYSCTLS; key++) {
        int value;

        if (ibh_render_wants(render, nic, (IbhSysctl)key, &value))
            g_string_append_printf(out, "net/ipv4/conf/%s/%s = %d\n", nic->link->name, ibh_sysctl_name((IbhSysctl)key),
                                   value);
    }
}

char *ibh_render_sysctl(const IbhRender *render, GError **error G_GNUC_UNUSED)
{
    GString *out = g_string_new(NULL);

    ibh_render_comment(out, sysctl_why);
    ibh_render_left_out(out, render, FALSE);
    g_string_append_c(out, '\n');
    for (guint i = 0; i < render->rails->nics->len && ibh_render_has_family(render, AF_INET); i++) {
        const IbhNic *nic = g_ptr_array_index(render->rails->nics, i);

        if (!ibh_render_has(render, nic) && !ibh_render_silences(render, nic))
            continue;
        if (is_sysctl_name(nic->link->name))
            say_sysctls(out, render, nic);
        else
            g_string_append_printf(out, "# %s: its name cannot be said in this file\n", nic->link->name);
    }
    return g_string_free(out, FALSE);
}

/* ---- rt_tables ---- */

static const char rt_tables_why[] =
    "/etc/iproute2/rt_tables.d/ib-hook.conf\n"
    "\n"
    "Names of the rails' tables: ip route show table rail-ib0. They change nothing but what ip shows and takes, and\n"
    "table= in ib-hook's configuration. rail-…: the tables of ib-hook and of --render iproute2; default-…: where "
    "these\n"
    "have a rail's default route. native-… and native-default-…: those of the other formats, which are different ones: "
    "so ib-hook sees that something else routes a NIC, and leaves it alone.";

/* A decimal number is read as a signed one. */
static void say_table(GString *out, guint32 table, const char *kind, const char *name)
{
    g_string_append_printf(out, table > G_MAXINT32 ? "0x%x %s-%s\n" : "%u %s-%s\n", table, kind, name);
}

char *ibh_render_rt_tables(const IbhRender *render, GError **error G_GNUC_UNUSED)
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

/* ---- udev ---- */

static const char udev_why[] =
    "/etc/udev/rules.d/70-persistent-ipoib.rules\n"
    "\n"
    "IPoIB interfaces keep their names, in any order in which drivers find them: rails and their tables go by\n"
    "names. The last 8 bytes of the hardware address are the port's GUID; those before may change. Child interfaces\n"
    "(ib0.8002) have the GUID of their parent, and are left as they are. In force at the next boot, or when the "
    "driver\n"
    "is loaded again; put it into the initramfs as well if that loads the driver.";

/* Measured: `ip link set ib0 name ib1` while there is an ib1 ends in EEXIST, for every caller. */
static const char kernel_names_why[] = "\nThe kernel gives names like ib0 and eth0 itself, in the order in which it "
                                       "finds the ports. If that order changes,\n"
                                       "the name below is another interface's at that moment: renaming fails ('File "
                                       "exists'), and both keep the wrong one,\n"
                                       "with each other's addresses. These rules hold only for names of your own: "
                                       "replace ib0 by a name such as mlx5_ib0,\n"
                                       "here and wherever else the old name is configured.";

/* ib0, eth12: register_netdev() chooses a free name. */
static gboolean is_kernel_name(const char *name)
{
    gsize letters = g_str_has_prefix(name, "ib") ? strlen("ib") : g_str_has_prefix(name, "eth") ? strlen("eth") : 0;

    return letters && name[letters] && !name[letters + strspn(name + letters, G_CSET_DIGITS)];
}

/* Quoted; `$` begins a substitution. NULL: udev would replace a part of the name. */
static char *udev_value(const char *name)
{
    GString *out;

    if (strpbrk(name, "\"\\%") || !g_str_is_ascii(name))
        return NULL;
    out = g_string_new(NULL);
    for (; *name; name++) {
        if (*name == '$')
            g_string_append_c(out, '$');
        g_string_append_c(out, *name);
    }
    return g_string_free(out, FALSE);
}

#define GUID_LENGTH 8

static void say_udev(GString *out, const IbhLink *link)
{
    g_autofree char *name = udev_value(link->name);

    if (!name) {
        g_string_append_printf(out, "# %s: its name cannot be said in a rule\n", link->name);
        return;
    }
    g_string_append(out, "ACTION==\"add\", SUBSYSTEM==\"net\", DRIVERS==\"?*\", KERNEL!=\"*.*\", ATTR{type}==\"32\", "
                         "ATTR{address}==\"?*");
    for (guint i = link->lladdr_len - GUID_LENGTH; i < link->lladdr_len; i++)
        g_string_append_printf(out, "%s%02x", i > link->lladdr_len - GUID_LENGTH ? ":" : "", link->lladdr[i]);
    g_string_append_printf(out, "\", NAME=\"%s\"\n", name);
}

static gboolean udev_has(const IbhRender *render, const IbhNic *nic)
{
    return nic->link->type == ARPHRD_INFINIBAND && !nic->link->parent && nic->link->lladdr_len > GUID_LENGTH &&
           ibh_is_selected(nic, render->only) && ibh_render_is_printable(nic->link->name);
}

/* Of the kernel's names, those that the rules are to give: " ib0 ib1". */
static char *list_kernel_names(const IbhRender *render)
{
    GString *names = g_string_new(NULL);

    IBH_EACH_POINTER (const IbhNic, nic, render->rails->nics) {
        if (udev_has(render, nic) && is_kernel_name(nic->link->name))
            g_string_append_printf(names, " %s", nic->link->name);
    }
    return g_string_free(names, FALSE);
}

char *ibh_render_udev_warning(const IbhRender *render)
{
    g_autofree char *names = list_kernel_names(render);

    return *names ? g_strdup_printf("names that the kernel gives itself:%s: where it finds the ports in another order, "
                                    "they cannot be given ('File exists') and stay swapped; names of your own, such as "
                                    "mlx5_ib0, can",
                                    names)
                  : NULL;
}

char *ibh_render_udev(const IbhRender *render, GError **error G_GNUC_UNUSED)
{
    g_autofree char *kernel_names = list_kernel_names(render);
    GString *out = g_string_new(NULL);

    ibh_render_comment(out, udev_why);
    if (*kernel_names)
        ibh_render_comment(out, kernel_names_why);
    g_string_append_c(out, '\n');
    IBH_EACH_POINTER (const IbhNic, nic, render->rails->nics) {
        if (!udev_has(render, nic))
            continue;
        if (is_kernel_name(nic->link->name))
            g_string_append_printf(out, "# %s: the kernel's name, see above\n", nic->link->name);
        say_udev(out, nic->link);
    }
    return g_string_free(out, FALSE);
}
