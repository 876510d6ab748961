/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What NCCL, RCCL, UCX, NVSHMEM and MPI want to know of this host's rails, as lines that sh, bash and zsh can source.
 * Only what is right for every job is active; the rest are comments that say when.
 */
#include "fabric/fabric.h"
#include "render/formats.h"

#include <string.h>
#include <sys/socket.h>

/* ---- which rails ---- */

/* The entry of the table for an address of the rail: of RoCE v2 if there is one, of IPv4 before IPv6. */
static const IbhGid *find_gid(const IbhPort *port, const IbhPortNic *nic)
{
    const IbhGid *best = NULL;
    int best_score = 0;

    IBH_EACH (const IbhGid, gid, port->gids) {
        IBH_EACH (const IbhIp, ip, nic->addresses) {
            int score = 1 + (ip->family == AF_INET) + 2 * (gid->roce == 2);

            if (ibh_ip_equal(&gid->ip, ip) && score > best_score) {
                best = gid;
                best_score = score;
            }
        }
    }
    return best;
}

/* Names stand in lists. */
static gboolean fits(const char *name)
{
    return name[0] && !strpbrk(name, ",: \t^=") && ibh_render_is_printable(name);
}

/* Why jobs cannot use the rail by RDMA; NULL: they can. */
static const char *why_left_out(const IbhRender *render, const IbhNic *nic)
{
    const IbhPortNic *own = ibh_fabric_nic(render->fabric, nic->link->name);
    const IbhPort *port = own ? ibh_fabric_port(render->fabric, own) : NULL;

    if (!port)
        return "it has no RDMA device";
    if (!fits(nic->link->name) || !fits(port->device))
        return "its name, or that of its RDMA device, cannot stand in a list";
    if (port->iwarp)
        return "it is iWARP, which these libraries do not use";
    if (port->layer == IBH_LAYER_INFINIBAND ? !port->gid.guid : !find_gid(port, own))
        return "its RDMA port has no GID for it (ib-hook --check)";
    return NULL;
}

static const IbhPort *port_of(const IbhRender *render, const IbhNic *nic)
{
    return ibh_fabric_port(render->fabric, ibh_fabric_nic(render->fabric, nic->link->name));
}

static GPtrArray *list_rails(const IbhRender *render, GString *out)
{
    GPtrArray *rails = g_ptr_array_new();

    IBH_EACH_POINTER (IbhNic, nic, render->rails->nics) {
        const char *why = ibh_render_has(render, nic) ? why_left_out(render, nic) : NULL;

        if (why)
            g_string_append_printf(out, "# Without %s: %s.\n", nic->link->name, why);
        else if (ibh_render_has(render, nic))
            g_ptr_array_add(rails, nic);
    }
    return rails;
}

/* ---- lists of names ---- */

static void add(GString *list, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void add(GString *list, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_string_append(list, list->len ? "," : "");
    g_string_append_vprintf(list, format, args);
    va_end(args);
}

/* "mlx5_0:1,mlx5_1:1": each port once, however many P_Keys are on it. */
static char *list_ports(const IbhRender *render, const GPtrArray *rails)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    GString *list = g_string_new(NULL);

    IBH_EACH_POINTER (const IbhNic, nic, rails) {
        const IbhPort *port = port_of(render, nic);

        if (g_hash_table_add(seen, (gpointer)(guintptr)port))
            add(list, "%s:%d", port->device, port->number);
    }
    return g_string_free(list, FALSE);
}

static char *list_ifaces(const GPtrArray *rails)
{
    GString *list = g_string_new(NULL);

    IBH_EACH_POINTER (const IbhNic, nic, rails)
        add(list, "%s", nic->link->name);
    return g_string_free(list, FALSE);
}

static void put(GString *out, gboolean is_active, const char *name, const char *before, const char *value)
{
    g_autofree char *text = g_strconcat(before, value, NULL), *quoted = g_shell_quote(text);

    g_string_append_printf(out, "%sexport %s=%s\n", is_active ? "" : "# ", name, quoted);
}

/* ---- what libraries may be told besides ---- */

/* A port that works and is no rail's: UCX would take it, too. */
static const IbhPort *find_stranger(const IbhRender *render, const GPtrArray *rails)
{
    IBH_EACH (const IbhPort, port, render->fabric->ports) {
        gboolean own = port->state.number != IBH_PORT_ACTIVE;

        IBH_EACH_POINTER (const IbhNic, nic, rails)
            own |= port_of(render, nic) == port;
        if (!own)
            return port;
    }
    return NULL;
}

static void put_ucx(GString *out, const IbhRender *render, const GPtrArray *rails, const char *ports,
                    const char *ifaces)
{
    g_autofree char *list = g_strdup_printf("%s,%s", ports, ifaces);
    const IbhPort *stranger = find_stranger(render, rails);
    g_autofree char *name = stranger ? ibh_printable(stranger->name) : NULL;

    if (stranger)
        g_string_append_printf(out,
                               "# %s works, too, but is no rail: without this list UCX uses it. It is the list "
                               "for tcp as well.\n",
                               name);
    else
        g_string_append(out, "# UCX uses all that works, and here that is the rails. The list is the one for tcp, "
                             "too.\n");
    put(out, stranger != NULL, "UCX_NET_DEVICES", "", list);
}

static gboolean is_roce(const IbhRender *render, const IbhNic *nic)
{
    return port_of(render, nic)->layer != IBH_LAYER_INFINIBAND;
}

/* IBH_UNKNOWN: none of them needs one; -2: not the same for all. */
static int put_indexes(GString *out, const IbhRender *render, const GPtrArray *rails)
{
    int common = IBH_UNKNOWN;

    IBH_EACH_POINTER (const IbhNic, nic, rails) {
        const IbhPort *port = port_of(render, nic);
        const IbhGid *gid =
            is_roce(render, nic) ? find_gid(port, ibh_fabric_nic(render->fabric, nic->link->name)) : NULL;
        char text[IBH_IP_STRLEN];

        if (!gid)
            continue;
        g_string_append_printf(out, "# %s, %s:%d: the %s GID of %s has index %d.\n", nic->link->name, port->device,
                               port->number, gid->roce == 1 ? "RoCE v1 (there is no v2)" : "RoCE v2",
                               ibh_ip_format(&gid->ip, text), gid->index);
        common = common == IBH_UNKNOWN || common == gid->index ? gid->index : -2;
    }
    return common;
}

static void put_gids(GString *out, const IbhRender *render, const GPtrArray *rails)
{
    static const char *const names[] = {"NCCL_IB_GID_INDEX", "UCX_IB_GID_INDEX", "NVSHMEM_IB_GID_INDEX"};
    g_autoptr(GString) lines = g_string_new(NULL);
    int index = put_indexes(lines, render, rails);

    if (index == IBH_UNKNOWN)
        return;
    g_string_append_printf(out, "#\n%s", lines->str);
    if (index < 0) {
        g_string_append(out, "# They differ, so no one value of NCCL_IB_GID_INDEX, UCX_IB_GID_INDEX or\n"
                             "# NVSHMEM_IB_GID_INDEX is right here: leave them unset.\n");
        return;
    }
    g_string_append(out,
                    "# Only for libraries that do not choose the GID themselves, as NCCL before 2.21: an index is\n"
                    "# this host's, and may be wrong on another one. InfiniBand ignores it.\n");
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *value = g_strdup_printf("%d", index);

        put(out, FALSE, names[i], "", value);
    }
}

static void put_children(GString *out, const IbhRender *render, const GPtrArray *rails)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails) {
        const IbhPort *port = port_of(render, nic);
        guint number = (guint)ibh_fabric_nic(render->fabric, nic->link->name)->pkey & 0x7fff;

        for (guint i = 1; !is_roce(render, nic) && number != 0x7fff && i < port->pkeys->len; i++) {
            if ((g_array_index(port->pkeys, guint16, i) & 0x7fff) == number)
                g_string_append_printf(out,
                                       "#\n# %s is of P_Key 0x%04x. For jobs in that partition:\n"
                                       "# export NCCL_IB_PKEY='%u'\n# export UCX_IB_PKEY='0x%04x'\n",
                                       nic->link->name, number | 0x8000, i, number);
        }
    }
}

/* ---- GPUs ---- */

static void put_gpu(GString *out, const IbhRender *render, const GPtrArray *rails, const IbhGpu *gpu)
{
    g_autoptr(GString) nearest = g_string_new(NULL);
    IbhNearness best = IBH_FAR;

    IBH_EACH_POINTER (const IbhNic, nic, rails)
        best =
            MAX(best, ibh_compare_places(&gpu->place, &ibh_fabric_device(render->fabric, port_of(render, nic))->place));
    IBH_EACH_POINTER (const IbhNic, nic, rails) {
        const IbhPort *port = port_of(render, nic);

        if (best > IBH_FAR && ibh_compare_places(&gpu->place, &ibh_fabric_device(render->fabric, port)->place) == best)
            g_string_append_printf(nearest, "%s%s (%s:%d)", nearest->len ? ", " : "", nic->link->name, port->device,
                                   port->number);
    }
    g_string_append_printf(out, "# GPU %s: %s%s%s\n", gpu->name, nearest->len ? nearest->str : "no rail is near",
                           nearest->len ? ", by the same " : "", nearest->len ? ibh_nearness_name(best) : "");
}

static void put_gpus(GString *out, const IbhRender *render, const GPtrArray *rails)
{
    if (!render->fabric->gpus->len)
        return;
    g_string_append(out, "#\n# The rail nearest to each GPU, by PCIe:\n");
    IBH_EACH (const IbhGpu, gpu, render->fabric->gpus)
        put_gpu(out, render, rails, gpu);
}

/* ---- the whole ---- */

char *ibh_render_env(const IbhRender *render)
{
    GString *out = g_string_new("# The rails of this host, for NCCL, RCCL, UCX, NVSHMEM and MPI; to be sourced by sh, "
                                "bash or zsh.\n");
    g_autoptr(GPtrArray) rails = list_rails(render, out);
    g_autofree char *ports = list_ports(render, rails), *ifaces = list_ifaces(rails);

    if (!rails->len) {
        g_string_append(out, "# There is no rail with RDMA.\n");
        return g_string_free(out, FALSE);
    }
    put(out, TRUE, "NCCL_IB_HCA", "=", ports);
    put(out, TRUE, "NCCL_SOCKET_IFNAME", "=", ifaces);
    g_string_append(out, "#\n");
    put_ucx(out, render, rails, ports, ifaces);
    put_gids(out, render, rails);
    put_children(out, render, rails);
    g_string_append(out, "#\n# NVSHMEM takes the nearest NIC by itself. This list does nothing without\n"
                         "# NVSHMEM_ENABLE_NIC_PE_MAPPING=1, and with it the nearest NIC is lost.\n");
    put(out, FALSE, "NVSHMEM_HCA_LIST", "", ports);
    g_string_append(out, "# Open MPI without UCX, by TCP:\n");
    put(out, FALSE, "OMPI_MCA_btl_tcp_if_include", "", ifaces);
    put_gpus(out, render, rails);
    return g_string_free(out, FALSE);
}
