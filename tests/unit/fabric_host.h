/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A host as a tree: beside what core/fabric reads of it, its links and addresses, which netlink would say. Included by
 * tests that are compiled together with what reads.
 */
#pragma once

#include "host/tree.c"

#include "host/sysfs.c"

#include "fabric/modules_io.c"

#include "fabric/read_io.c"

#include <linux/route.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <sys/socket.h>

#define ROUTES_MAX ((gsize)1024 * 1024)

static int read_number(IbhTree *tree, const char *iface, const char *attribute)
{
    char line[64];

    ibh_tree_line(tree, line, sizeof line, "sys/class/net/%s/%s", iface, attribute);
    return number_of(line);
}

static guint read_lladdr(IbhTree *tree, const char *iface, guint8 *lladdr)
{
    char line[128];
    guint length = 0;

    ibh_tree_line(tree, line, sizeof line, "sys/class/net/%s/address", iface);
    for (const char *at = line; length < IBH_LLADDR_MAX && g_ascii_isxdigit(at[0]) && g_ascii_isxdigit(at[1]);
         at += at[2] == ':' ? 3 : 2)
        lladdr[length++] = (guint8)(g_ascii_xdigit_value(at[0]) << 4 | g_ascii_xdigit_value(at[1]));
    return length;
}

static void read_link(IbhTree *tree, const char *iface, GArray *links)
{
    IbhLink link = {.ifindex = read_number(tree, iface, "ifindex")};
    int type = read_number(tree, iface, "type");
    int flags = read_number(tree, iface, "flags"), master;

    if (type < 0 || type > G_MAXUINT16 || link.ifindex <= 0)
        return;
    g_strlcpy(link.name, iface, sizeof link.name);
    link.type = (guint16)type;
    link.flags = flags == IBH_UNKNOWN ? IFF_UP : (guint)flags;
    link.carrier = read_number(tree, iface, "carrier") != 0; /* the file of a link that is down cannot be read */
    link.lladdr_len = read_lladdr(tree, iface, link.lladdr);
    master = read_number(tree, iface, "master/ifindex");
    link.master = MAX(master, 0);
    g_array_append_val(links, link);
}

static GArray *read_links(IbhTree *tree)
{
    g_autoptr(GPtrArray) names = ibh_tree_list(tree, "sys/class/net");
    GArray *links = g_array_new(FALSE, TRUE, sizeof(IbhLink));

    IBH_EACH_POINTER (const char, name, names) {
        if (ibh_iface_name_is_valid(name))
            read_link(tree, name, links);
    }
    return links;
}

static void add_address(IbhFabric *fabric, const char *iface, const IbhIp *ip)
{
    IbhPortNic *nic = ibh_fabric_nic(fabric, iface);

    if (nic && !ibh_ip_is_link_local(ip))
        g_array_append_val(nic->addresses, *ip);
}

static void add_subnet(IbhFabric *fabric, const char *iface, const IbhIp *ip, guint length)
{
    IbhPrefix subnet = ibh_prefix_of(ip, length);

    IBH_EACH (IbhPortNic, nic, fabric->nics) {
        if (g_str_equal(nic->iface, iface) && !ibh_ip_is_link_local(ip))
            g_array_append_val(nic->subnets, subnet);
    }
}

/*
 * "ib0 000010AC 00000000 0001 0 0 0 0000FFFF 0 0 0": connected routes stand for the addresses. The numbers have the
 * byte order of the tree's host. The mask tells which: it begins with ones and does not end with them.
 */
static void read_route(IbhFabric *fabric, const char *line)
{
    char iface[IFNAMSIZ];
    guint dst, flags, mask;
    guint8 bytes[sizeof mask];
    IbhIp ip = {.family = AF_INET};

    if (sscanf(line, "%15s %8x %*s %4x %*s %*s %*s %8x", iface, &dst, &flags, &mask) != 4 || !mask ||
        (flags & (RTF_GATEWAY | RTF_REJECT)) || mask == G_MAXUINT32)
        return;
    memcpy(bytes, &mask, sizeof mask);
    if (bytes[0] < bytes[sizeof bytes - 1])
        dst = GUINT32_SWAP_LE_BE(dst);
    memcpy(ip.bytes, &dst, sizeof dst);
    add_subnet(fabric, iface, &ip, (guint)__builtin_popcount(mask));
}

/* "fd000016000000000000000000340001 02 40 00 80 ib0": address, ifindex, length, scope, flags. */
static void read_address6(IbhFabric *fabric, const char *line)
{
    char hex[33], iface[IFNAMSIZ];
    guint length, scope;
    IbhIp ip = {.family = AF_INET6};

    if (sscanf(line, "%32[0-9a-f] %*x %2x %2x %*x %15s", hex, &length, &scope, iface) != 4 || strlen(hex) != 32 ||
        scope != RT_SCOPE_UNIVERSE || length >= 128)
        return;
    for (gsize i = 0; i < 16; i++)
        ip.bytes[i] = (guint8)(g_ascii_xdigit_value(hex[2 * i]) << 4 | g_ascii_xdigit_value(hex[2 * i + 1]));
    add_subnet(fabric, iface, &ip, length);
    add_address(fabric, iface, &ip);
}

/* "ens5f0np0 172.16.34.1": of a file that no kernel has. */
static void read_address4(IbhFabric *fabric, const char *line)
{
    char iface[IFNAMSIZ], text[IBH_IP_STRLEN];
    IbhIp ip;

    if (sscanf(line, "%15s %45s", iface, text) == 2 && ibh_ip_parse(text, &ip))
        add_address(fabric, iface, &ip);
}

static void for_each_line(const char *text, void (*take)(IbhFabric *fabric, const char *line), IbhFabric *fabric)
{
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        take(fabric, line);
    }
}

/* Rails are netdevs that share a subnet. */
static void use_subnets(IbhFabric *fabric)
{
    IBH_EACH (IbhPortNic, nic, fabric->nics) {
        nic->used = nic->subnets->len > 0;
        IBH_EACH (const IbhPortNic, other, fabric->nics)
            nic->rail |= other != nic && ibh_port_nics_shared_subnet(nic, other) != NULL;
    }
}

/* `tree`: opened here. NULL: it cannot be read. */
static IbhFabric *read_host(IbhTree *tree, const char *directory)
{
    g_autofree char *sys = g_build_filename(directory, "sys", NULL), *routes = NULL, *addresses = NULL, *ipv4 = NULL;
    g_autoptr(GArray) links = NULL;
    IbhFabric *fabric;

    *tree = ibh_tree_of(sys);
    links = read_links(tree);
    if (!ibh_sysfs_find_rdma(tree, links, NULL))
        return NULL;
    fabric = ibh_fabric_read(tree, links, NULL);
    fabric->complete = TRUE; /* but nothing is waited for */
    routes = ibh_fabric_read_text(tree, ROUTES_MAX, "proc/net/route");
    addresses = ibh_fabric_read_text(tree, ROUTES_MAX, "proc/net/if_inet6");
    ipv4 = ibh_fabric_read_text(tree, ROUTES_MAX, "proc/net/addresses");
    for_each_line(routes, read_route, fabric);
    for_each_line(addresses, read_address6, fabric);
    for_each_line(ipv4, read_address4, fabric);
    use_subnets(fabric);
    return fabric;
}
