/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What NCCL, RCCL, UCX, NVSHMEM and MPI need to know about this host's rails, as lines that sh, bash and zsh can
 * source. Only settings that are right for every job are active. The others are commented out, below a text that says
 * when to use them.
 */
#include "model/model.h"
#include "render/render.h"

#include <string.h>
#include <sys/socket.h>

typedef struct {
    const char *iface;
    const IbhPort *port;
    const IbhGid *gid; /* for RoCE: the GID of an address of the rail; NULL for InfiniBand */
} Rail;

/* ---- which rails ---- */

gboolean ibh_render_is_plain(const char *name)
{
    return name[0] && !name[strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._-@+")];
}

/* Returns the GID of an address of the rail, or NULL. Prefers RoCE v2 to v1 and, within a version, IPv4 to IPv6. */
static const IbhGid *find_own_gid(const IbhPort *port, const IbhPortNic *nic)
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

/* Returns why jobs cannot use the rail for RDMA. If jobs can use the rail, sets `ret_rail` and returns NULL. */
static const char *look_at_rail(const IbhFabric *fabric, const char *iface, Rail *ret_rail)
{
    const IbhPortNic *own = ibh_fabric_nic(fabric, iface);
    const IbhPort *port = own ? ibh_fabric_port(fabric, own) : NULL;
    const IbhGid *gid = port && port->layer != IBH_LAYER_INFINIBAND ? find_own_gid(port, own) : NULL;

    if (!port)
        return "it has no RDMA device";
    if (!ibh_render_is_plain(iface) || !ibh_render_is_plain(port->device))
        return "its name, or that of its RDMA device, cannot stand in a list";
    if (port->iwarp)
        return "it is iWARP, which these libraries do not use";
    if (port->layer == IBH_LAYER_INFINIBAND ? !port->gid.guid : !gid)
        return "its RDMA port has no GID for it (ib-hook --check)";
    *ret_rail = (Rail){.iface = iface, .port = port, .gid = gid};
    return NULL;
}

static gboolean has_port(const GArray *rails, const IbhPort *port)
{
    IBH_EACH (const Rail, rail, rails) {
        if (rail->port == port)
            return TRUE;
    }
    return FALSE;
}

/* Looks at all rails or, with --iface, at the named rails. Returns those that jobs can use (Rail), and writes why the
 * others are left out. Appends "mlx5_0:1,mlx5_1:1" to `ret_ports`, each port once even if several rails (P_Keys) have
 * it, and "ib0,ib1" to `ret_ifaces`. */
static GArray *list_rails(GString *out, const IbhRails *all, const IbhFabric *fabric, GString *ret_ports,
                          GString *ret_ifaces)
{
    GArray *rails = g_array_new(FALSE, TRUE, sizeof(Rail));

    IBH_EACH_POINTER (const IbhNic, nic, all->nics) {
        g_autofree char *name = ibh_text_printable(nic->link->name);
        const gboolean wanted = nic->status == IBH_NIC_RAIL && ibh_nic_is_selected(nic, all->only);
        Rail rail;
        const char *why = wanted ? look_at_rail(fabric, nic->link->name, &rail) : NULL;

        if (why)
            g_string_append_printf(out, "# Without %s: %s.\n", name, why);
        if (why || !wanted)
            continue;
        if (!has_port(rails, rail.port))
            g_string_append_printf(ret_ports, "%s%s:%d", rails->len ? "," : "", rail.port->device, rail.port->number);
        g_string_append_printf(ret_ifaces, "%s%s", rails->len ? "," : "", rail.iface);
        g_array_append_val(rails, rail);
    }
    return rails;
}

/* ---- further settings of libraries ---- */

/* Writes the GID index of each RoCE rail; nothing if there is no such rail. If all these rails have the same index,
 * also writes the variables for this index, as comments. If not, writes the advice to leave the variables unset. */
static void put_gids(GString *out, const GArray *rails)
{
    static const char *const versions[] = {"RoCE", "RoCE v1 (there is no v2)", "RoCE v2"}; /* [0]: not known */
    const IbhGid *first = NULL;
    gboolean differ = FALSE;
    char text[IBH_IP_STRLEN];

    IBH_EACH (const Rail, rail, rails) {
        if (!rail->gid)
            continue;
        g_string_append_printf(out, "%s# %s, %s:%d: the %s GID of %s has index %d.\n", first ? "" : "#\n", rail->iface,
                               rail->port->device, rail->port->number, versions[MAX(rail->gid->roce, 0)],
                               ibh_ip_format(&rail->gid->ip, text), rail->gid->index);
        first = first ? first : rail->gid;
        differ |= rail->gid->index != first->index;
    }
    if (differ)
        g_string_append(out, "# They differ, so no single value of NCCL_IB_GID_INDEX, UCX_IB_GID_INDEX or\n"
                             "# NVSHMEM_IB_GID_INDEX is right here: leave them unset.\n");
    else if (first)
        g_string_append_printf(
            out,
            "# Only for libraries that do not choose the GID themselves, as NCCL before 2.21: an index is\n"
            "# this host's, and may be wrong on another one. UCX uses it for InfiniBand ports, too.\n"
            "# export NCCL_IB_GID_INDEX='%d'\n"
            "# export UCX_IB_GID_INDEX='%d'\n"
            "# export NVSHMEM_IB_GID_INDEX='%d'\n",
            first->index, first->index, first->index);
}

/* Writes how NCCL 2.30.7 and later can choose a NIC by subnet; other libraries cannot. NCCL compares all subnets at one
 * prefix length, by default 24. So we write the shortest length of the rails' subnets. Writes nothing in three cases:
 * - There are fewer than two RoCE rails.
 * - The GID of a RoCE rail is not that of an IPv4 address in a subnet of the rail.
 * - Two of the rails' subnets are equal at the length that we would write. */
static void put_subnets(GString *out, const IbhFabric *fabric, const GArray *rails)
{
    g_autoptr(GArray) own = IBH_NEW_ARRAY(IbhPrefix);
    gboolean is_shared = FALSE;
    guint length = 32;

    IBH_EACH (const Rail, rail, rails) {
        const GArray *subnets = ibh_fabric_nic(fabric, rail->iface)->subnets; /* those of remote= come last */
        const IbhPrefix *found = NULL;

        IBH_EACH (const IbhPrefix, subnet, subnets) {
            if (!found && rail->gid && rail->gid->ip.family == AF_INET && ibh_prefix_contains(subnet, &rail->gid->ip))
                found = subnet;
        }
        if (!found && rail->gid)
            return;
        if (!found) /* an InfiniBand rail */
            continue;
        g_array_append_vals(own, found, 1);
        length = MIN(length, found->length);
    }
    IBH_EACH (const IbhPrefix, one, own) {
        const IbhPrefix wide = {.ip = one->ip, .length = length}; /* ibh_prefix_contains() ignores the host bits */

        IBH_EACH (const IbhPrefix, other, own)
            is_shared |= other != one && ibh_prefix_contains(&wide, &other->ip);
    }
    if (own->len < 2 || is_shared)
        return;
    g_string_append_printf(
        out,
        "#\n"
        "# Each rail has a subnet of its own. Only if no router joins these subnets, let NCCL (2.30.7\n"
        "# and later) take the NIC that is in the peer's subnet:\n"
        "# export NCCL_IB_SUBNET_AWARE_ROUTING='1'\n"
        "# export NCCL_IB_SUBNET_PREFIX_LEN='%u'\n",
        length);
}

/* Writes which rails are nearest to the GPU. If all rails are IBH_FAR, writes that no rail is near. */
static void put_gpu(GString *out, const IbhFabric *fabric, const GArray *rails, const IbhGpu *gpu)
{
    g_autoptr(GString) nearest = g_string_new(NULL);
    IbhNearness best = IBH_SAME_NODE;

    IBH_EACH (const Rail, rail, rails) {
        IbhNearness near = ibh_place_compare(&gpu->place, &ibh_fabric_device(fabric, rail->port)->place);

        if (near < best)
            continue;
        if (near > best)
            g_string_truncate(nearest, 0);
        best = near;
        g_string_append_printf(nearest, "%s%s (%s:%d)", nearest->len ? ", " : "", rail->iface, rail->port->device,
                               rail->port->number);
    }
    g_string_append_printf(out, "# GPU %s: %s%s%s\n", gpu->name, nearest->len ? nearest->str : "no rail is near",
                           nearest->len ? ", by the same " : "", nearest->len ? ibh_nearness_name(best) : "");
}

/* ---- the whole ---- */

void ibh_render_env(GString *out, const IbhRails *all, const IbhFabric *fabric)
{
    g_autoptr(GString) ports = g_string_new(NULL), ifaces = g_string_new(NULL);
    g_autoptr(GArray) rails = NULL;
    const IbhPort *stranger = NULL; /* the first port that works, but is not in `ports` */

    g_string_append(out, "# The rails of this host, for NCCL, RCCL, UCX, NVSHMEM and MPI; to be sourced by sh, bash or "
                         "zsh.\n");
    rails = list_rails(out, all, fabric, ports, ifaces);
    if (!rails->len) {
        g_string_append(out, "# There is no rail with RDMA.\n");
        return;
    }
    g_string_append_printf(out,
                           "export NCCL_IB_HCA='=%s'\n"
                           "export NCCL_SOCKET_IFNAME='=%s'\n"
                           "#\n",
                           ports->str, ifaces->str);
    IBH_EACH (const IbhPort, port, fabric->ports) {
        if (!stranger && port->state.number == IBH_PORT_ACTIVE && !has_port(rails, port))
            stranger = port;
    }
    if (stranger) {
        g_autofree char *name = ibh_text_printable(stranger->name);

        g_string_append_printf(
            out,
            "# %s works, too, but is not in this list: without the list, UCX uses it, too. UCX uses the "
            "same list for tcp.\n",
            name);
    } else {
        g_string_append(
            out, "# UCX uses every device that works; here, these are the rails. UCX uses the same list for tcp.\n");
    }
    g_string_append_printf(out, "%sexport UCX_NET_DEVICES='%s,%s'\n", stranger ? "" : "# ", ports->str, ifaces->str);
    put_gids(out, rails);
    put_subnets(out, fabric, rails);
    g_string_append_printf(out,
                           "#\n# NVSHMEM chooses the nearest NIC by itself. This list has an effect only with\n"
                           "# NVSHMEM_ENABLE_NIC_PE_MAPPING=1; then NVSHMEM no longer chooses the nearest NIC.\n"
                           "# export NVSHMEM_HCA_LIST='%s'\n"
                           "# Open MPI without UCX, by TCP:\n"
                           "# export OMPI_MCA_btl_tcp_if_include='%s'\n",
                           ports->str, ifaces->str);
    if (fabric->gpus->len)
        g_string_append(out, "#\n# The rail nearest to each GPU, by PCIe:\n");
    IBH_EACH (const IbhGpu, gpu, fabric->gpus)
        put_gpu(out, fabric, rails, gpu);
}
