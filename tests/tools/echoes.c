/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints the echo requests that leave this host, a line each: seconds NIC source peer. Says "ready" first; runs until
 * it is killed. (tcpdump cannot give up its privileges in a user namespace, and ends.)
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

/* `packet` begins with an IP header. Returns the family; 0: it is something else. */
static int family_of_request(const uint8_t *packet, ssize_t length)
{
    if (length >= 28 && packet[0] == 0x45 && packet[9] == IPPROTO_ICMP && packet[20] == ICMP_ECHO)
        return AF_INET;
    if (length >= 48 && packet[0] >> 4 == 6 && packet[6] == IPPROTO_ICMPV6 && packet[40] == ICMP6_ECHO_REQUEST)
        return AF_INET6;
    return 0;
}

static void print(int fd, int family, const uint8_t *packet, const struct sockaddr_ll *way)
{
    char nic[IF_NAMESIZE] = "?", from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN];
    struct timespec at = {0};

    (void)ioctl(fd, SIOCGSTAMPNS, &at);
    if_indextoname((unsigned)way->sll_ifindex, nic);
    inet_ntop(family, packet + (family == AF_INET ? 12 : 8), from, sizeof from);
    inet_ntop(family, packet + (family == AF_INET ? 16 : 24), to, sizeof to);
    printf("%lld.%06ld %s %s %s\n", (long long)at.tv_sec, at.tv_nsec / 1000, nic, from, to);
}

int main(void)
{
    const int size = 4 << 20;
    int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_ALL));

    if (fd < 0) {
        perror("echoes: packet socket");
        return 1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    for (;;) {
        struct sockaddr_ll way = {0};
        socklen_t way_size = sizeof way;
        uint8_t packet[128];
        ssize_t length = recvfrom(fd, packet, sizeof packet, 0, (struct sockaddr *)&way, &way_size);
        int family = way.sll_pkttype == PACKET_OUTGOING ? family_of_request(packet, length) : 0;

        if (length < 0)
            return 1;
        if (family)
            print(fd, family, packet, &way);
    }
}
