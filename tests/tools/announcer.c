/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Floods a wire with announcements: ARP replies to everybody, always with another hardware address; some cut short,
 * some of addresses that are in use. Says "ready", and goes on until it is ended.
 *
 *   announcer INTERFACE ADDRESS-IN-USE…
 */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/if_ether.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESSES 150 /* no more: the kernel's table of neighbours is one for all namespaces, and others test there */
#define BURST 200
#define PAUSE 2000 /* microseconds between bursts: 100,000 announcements in a second */

static void fill(struct ether_arp *arp, unsigned number)
{
    const uint8_t mac[6] = {2, 0x66, 0x66, (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number};
    const unsigned host = 1 + number * 7919u % ADDRESSES;
    const uint8_t address[4] = {172, 16, (uint8_t)(host >> 8), (uint8_t)host};

    *arp = (struct ether_arp){.ea_hdr = {.ar_hrd = htons(ARPHRD_ETHER),
                                         .ar_pro = htons(ETHERTYPE_IP),
                                         .ar_hln = 6,
                                         .ar_pln = 4,
                                         .ar_op = htons(number % 2 ? ARPOP_REPLY : ARPOP_REQUEST)}};
    memcpy(arp->arp_sha, mac, sizeof mac);
    memcpy(arp->arp_spa, address, sizeof address);
    memcpy(arp->arp_tpa, address, sizeof address);
}

int main(int argc, char **argv)
{
    int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_ARP));
    struct sockaddr_ll to = {.sll_family = AF_PACKET,
                             .sll_protocol = htons(ETH_P_ARP),
                             .sll_halen = 6,
                             .sll_addr = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

    if (argc < 3 || fd < 0 || !(to.sll_ifindex = (int)if_nametoindex(argv[1]))) {
        fputs("usage: announcer INTERFACE ADDRESS-IN-USE… (as root)\n", stderr);
        return 2;
    }
    puts("ready");
    fflush(stdout);
    for (unsigned number = 0;; number++) {
        struct ether_arp arp;
        size_t length = sizeof arp;

        fill(&arp, number);
        if (number % 16 == 0)
            (void)inet_pton(AF_INET, argv[2 + number / 16 % (unsigned)(argc - 2)], arp.arp_spa);
        if (number % 16 == 8)
            length = number / 16 % sizeof arp;
        (void)sendto(fd, &arp, length, 0, (struct sockaddr *)&to, sizeof to);
        if (number % BURST == 0)
            usleep(PAUSE);
    }
}
