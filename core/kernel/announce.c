/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include "model/arp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* sockaddr_ll has room for a hardware address of 8 bytes, but the kernel accepts a longer one: InfiniBand has 20. */
typedef union {
    struct sockaddr generic;
    struct sockaddr_ll link;
    guint8 room[offsetof(struct sockaddr_ll, sll_addr) + IBH_LLADDR_MAX];
} LinkAddress;

static gboolean set_error_from_errno(const char *what, GError **error)
{
    g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno), "%s: %s", what, ibh_errno_text(errno));
    return FALSE;
}

/* Sends an unsolicited advertisement of `ip` to all nodes of the link, with `ip` as its source. */
static gboolean announce_icmp6(const IbhLink *link, const IbhIp *ip, GError **error)
{
    const int hops = 255; /* receivers drop an advertisement with fewer hops: a router may have forwarded it */
    struct sockaddr_in6 from = {.sin6_family = AF_INET6, .sin6_scope_id = (guint32)link->ifindex}, all_nodes = from;
    guint8 packet[IBH_NA_MAX];
    const gsize length = ibh_na_announcement(link, ip, packet);
    gboolean sent;
    int fd;

    if (!length)
        return TRUE;
    memcpy(&from.sin6_addr, ip->bytes, sizeof from.sin6_addr);
    inet_pton(AF_INET6, "ff02::1", &all_nodes.sin6_addr);
    fd = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6);
    if (fd < 0)
        return set_error_from_errno("cannot open an ICMPv6 socket", error);
    sent = setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof hops) == 0 &&
           bind(fd, (struct sockaddr *)&from, sizeof from) == 0 &&
           sendto(fd, packet, length, 0, (struct sockaddr *)&all_nodes, sizeof all_nodes) >= 0;
    if (!sent)
        set_error_from_errno("cannot send an advertisement", error);
    close(fd);
    return sent;
}

gboolean ibh_announce(int *packet_socket, const IbhLink *link, const IbhIp *ip, GError **error)
{
    guint8 frame[IBH_ARP_MAX];
    const gsize length = ibh_arp_request(link, ip, ip, frame);
    LinkAddress to = {.link = {.sll_family = AF_PACKET,
                               .sll_protocol = htons(ETH_P_ARP),
                               .sll_ifindex = link->ifindex,
                               .sll_halen = (guint8)link->lladdr_len}};

    if (ip->family == AF_INET6)
        return announce_icmp6(link, ip, error);
    if (!length)
        return TRUE; /* without a hardware address, there is nothing to announce */
    if (*packet_socket < 0)
        *packet_socket = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); /* 0: receives nothing */
    if (*packet_socket < 0)
        return set_error_from_errno("cannot open a packet socket", error);
    memcpy(to.room + offsetof(struct sockaddr_ll, sll_addr), link->broadcast, link->lladdr_len);
    return sendto(*packet_socket, frame, length, 0, &to.generic, sizeof to) >= 0 ||
           set_error_from_errno("cannot send an announcement", error);
}
