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

/* sockaddr_ll has room for 8 bytes of hardware address. The kernel accepts a longer one: InfiniBand has 20. */
typedef union {
    struct sockaddr generic;
    struct sockaddr_ll link;
    guint8 room[offsetof(struct sockaddr_ll, sll_addr) + IBH_LLADDR_MAX];
} LinkAddress;

static gboolean set_errno(const char *what, GError **error)
{
    g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno), "%s: %s", what, ibh_errno_text(errno));
    return FALSE;
}

static gboolean announce_arp(IbhAnnouncer *announcer, const IbhLink *link, const IbhIp *ip, GError **error)
{
    guint8 frame[IBH_ARP_MAX];
    gsize length = ibh_arp_request(link, ip, ip, frame);
    LinkAddress to = {.link = {.sll_family = AF_PACKET,
                               .sll_protocol = htons(ETH_P_ARP),
                               .sll_ifindex = link->ifindex,
                               .sll_halen = (guint8)link->lladdr_len}};

    if (!length)
        return TRUE; /* without a hardware address, there is nothing to announce */
    if (announcer->packet < 0)
        announcer->packet = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (announcer->packet < 0)
        return set_errno("cannot open a packet socket", error);
    memcpy(to.room + offsetof(struct sockaddr_ll, sll_addr), link->broadcast, link->lladdr_len);
    return sendto(announcer->packet, frame, length, 0, &to.generic, sizeof to) >= 0 ||
           set_errno("cannot send an announcement", error);
}

static gboolean announce_icmp6(IbhAnnouncer *announcer, const IbhLink *link, const IbhIp *ip, GError **error)
{
    const int hops = 255; /* receivers drop advertisements that a router may have forwarded */
    guint8 packet[IBH_NA_MAX];
    const gsize length = ibh_na_announcement(link, ip, packet);
    struct sockaddr_in6 all_nodes = {.sin6_family = AF_INET6, .sin6_scope_id = (guint32)link->ifindex};
    union {
        struct cmsghdr header;
        guint8 room[CMSG_SPACE(sizeof(struct in6_pktinfo))];
    } control = {.room = {0}};
    struct in6_pktinfo from = {.ipi6_ifindex = (unsigned)link->ifindex};
    struct iovec part = {.iov_base = packet, .iov_len = length};
    struct msghdr message = {.msg_name = &all_nodes,
                             .msg_namelen = sizeof all_nodes,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.room};

    if (!length)
        return TRUE;
    if (announcer->icmp6 < 0)
        announcer->icmp6 = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6);
    if (announcer->icmp6 < 0 || setsockopt(announcer->icmp6, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof hops) < 0)
        return set_errno("cannot open an ICMPv6 socket", error);
    inet_pton(AF_INET6, "ff02::1", &all_nodes.sin6_addr);
    memcpy(&from.ipi6_addr, ip->bytes, sizeof from.ipi6_addr);
    control.header =
        (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof from), .cmsg_level = IPPROTO_IPV6, .cmsg_type = IPV6_PKTINFO};
    memcpy(CMSG_DATA(&control.header), &from, sizeof from);
    return sendmsg(announcer->icmp6, &message, 0) >= 0 || set_errno("cannot send an advertisement", error);
}

gboolean ibh_announcer_send(IbhAnnouncer *announcer, const IbhLink *link, const IbhIp *ip, GError **error)
{
    return (ip->family == AF_INET6 ? announce_icmp6 : announce_arp)(announcer, link, ip, error);
}

void ibh_announcer_clear(IbhAnnouncer *announcer)
{
    if (announcer->packet >= 0)
        close(announcer->packet);
    if (announcer->icmp6 >= 0)
        close(announcer->icmp6);
    *announcer = IBH_ANNOUNCER_INIT;
}
