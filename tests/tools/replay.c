/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel alone costs: tells it again what a program told it, and throws the answers away.
 *
 *   replay FILE    a line per request to rtnetlink: its bytes in hexadecimal. "abandoned" behind it: only the beginning
 *                  of the answer is read. Prints how many bytes the answers had
 */
#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST 32768 /* of a dump at once: the kernel fills no more, however much room there is */

static union {
    struct nlmsghdr header;
    unsigned char bytes[MOST];
} request, answer;

static int failed(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static size_t decode(const char *line)
{
    size_t length = 0;
    unsigned byte;

    while (length < MOST && sscanf(line + 2 * length, "%2x", &byte) == 1)
        request.bytes[length++] = (unsigned char)byte;
    return length;
}

/* Whether the answer to the request ends in what was received; an error is an answer, too. */
static int is_complete(size_t received)
{
    for (size_t at = 0, length = 1; length && at + sizeof(struct nlmsghdr) <= received; at += length) {
        const struct nlmsghdr *header = (const void *)(answer.bytes + at);

        if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR)
            return 1;
        length = NLMSG_ALIGN(header->nlmsg_len);
    }
    return !(request.header.nlmsg_flags & (NLM_F_DUMP | NLM_F_ACK));
}

static int open_socket(void)
{
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), on = 1;

    if (fd < 0 || setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on) < 0)
        failed("replay: socket");
    return fd;
}

static size_t ask(int fd, size_t length, int to_its_end)
{
    size_t all = 0;
    ssize_t received;

    if (send(fd, &request, length, 0) < 0)
        failed("replay: send");
    do {
        received = recv(fd, &answer, sizeof answer, 0);
        if (received < 0)
            failed("replay: recv");
        all += (size_t)received;
    } while (to_its_end && !is_complete((size_t)received));
    return all;
}

int main(int argc, char **argv)
{
    static char line[2 * MOST + sizeof " abandoned\n"];
    int fd = open_socket();
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    size_t all = 0;

    if (!file) {
        fputs("usage: replay FILE\n", stderr);
        return 2;
    }
    while (fgets(line, sizeof line, file)) {
        int abandoned = strstr(line, "abandoned") != NULL;

        all += ask(fd, decode(line), !abandoned);
        if (abandoned) { /* the rest would still come by this one */
            close(fd);
            fd = open_socket();
        }
    }
    printf("%zu\n", all);
    return EXIT_SUCCESS;
}
