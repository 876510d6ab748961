/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers echo requests badly, for tests of --probe. The host's own replies must be off (icmp_echo_ignore_all).
 *
 *   replier half      answers every other request of each peer
 *   replier garbage   answers with what is no answer: cut, too long, changed in one byte, from another address, …
 *   replier among     the same, and then with the right answer, twice
 *   replier flood     answers with thousands of wrong ones
 *
 * Says "ready" once it listens.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FLOOD 3000

typedef struct {
    int fd;
    struct sockaddr_in to;
    struct in_addr from;
} Way;

static uint16_t checksum(const uint8_t *bytes, size_t length)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < length; i++)
        sum += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static void send_reply(const Way *way, const uint8_t *bytes, size_t length)
{
    uint8_t reply[1500];
    union {
        struct cmsghdr header;
        uint8_t room[CMSG_SPACE(sizeof(struct in_pktinfo))];
    } control = {.room = {0}};
    struct in_pktinfo from = {.ipi_spec_dst = way->from};
    struct iovec part = {.iov_base = reply, .iov_len = length};
    struct msghdr message = {.msg_name = (void *)(uintptr_t)&way->to,
                             .msg_namelen = sizeof way->to,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.room};

    memcpy(reply, bytes, length);
    if (length >= 4) {
        uint16_t sum;

        reply[2] = reply[3] = 0;
        sum = checksum(reply, length);
        reply[2] = (uint8_t)(sum >> 8);
        reply[3] = (uint8_t)sum;
    }
    control.header =
        (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof from), .cmsg_level = IPPROTO_IP, .cmsg_type = IP_PKTINFO};
    memcpy(CMSG_DATA(&control.header), &from, sizeof from);
    (void)sendmsg(way->fd, &message, 0);
}

static void send_garbage(const Way *way, const uint8_t *reply, size_t length)
{
    uint8_t other[1500] = {0};
    Way elsewhere = *way;

    for (size_t cut = 0; cut < length; cut++)
        send_reply(way, reply, cut);
    memcpy(other, reply, length);
    for (size_t longer = length + 1; longer < sizeof other - 20; longer += 97)
        send_reply(way, other, longer);
    for (size_t i = 0; i < length; i++) { /* the checksum is right again, whatever byte it is */
        if (i == 2 || i == 3)
            continue;
        other[i] ^= 0xff;
        send_reply(way, other, length);
        other[i] ^= 0xfe;
        send_reply(way, other, length);
        other[i] = reply[i];
    }
    elsewhere.from.s_addr ^= htonl(3); /* 172.16.34.1 for 172.16.34.2 */
    send_reply(&elsewhere, reply, length);
}

static void send_flood(const Way *way, const uint8_t *reply, size_t length)
{
    uint8_t wrong[1500];

    memcpy(wrong, reply, length);
    wrong[length - 1] ^= 1;
    for (int i = 0; i < FLOOD; i++)
        send_reply(way, wrong, length);
}

static void answer(const char *how, const Way *way, const uint8_t *reply, size_t length)
{
    if (strcmp(how, "half") == 0) {
        if (reply[7] % 2 == 0) /* its number */
            send_reply(way, reply, length);
        return;
    }
    if (strcmp(how, "flood") == 0) {
        send_flood(way, reply, length);
        return;
    }
    send_garbage(way, reply, length);
    if (strcmp(how, "among") == 0) {
        send_reply(way, reply, length);
        send_reply(way, reply, length);
    }
}

int main(int argc, char **argv)
{
    Way way = {.fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP)};

    if (argc != 2 || way.fd < 0) {
        fputs("usage: replier half|garbage|among|flood (as root)\n", stderr);
        return 2;
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        uint8_t packet[1500];
        ssize_t length = recv(way.fd, packet, sizeof packet, 0);
        size_t header = length > 0 ? (size_t)(packet[0] & 0xf) * 4 : 0;

        if (length < 0)
            return 1;
        if ((size_t)length < header + 8 || packet[header] != ICMP_ECHO)
            continue;
        way.to = (struct sockaddr_in){.sin_family = AF_INET};
        memcpy(&way.to.sin_addr, packet + 12, 4);
        memcpy(&way.from, packet + 16, 4);
        packet[header] = ICMP_ECHOREPLY;
        answer(argv[1], &way, packet + header, (size_t)length - header);
    }
}
