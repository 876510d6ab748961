/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel alone costs: tells it again what a program told it, and throws the answers away.
 *
 *   replay FILE    a line per request to rtnetlink: its bytes in hexadecimal. "abandoned" behind it: only the beginning
 *                  of the answer is read. Or a line per file: "read", "list" or "stat" and its path, which may lead
 *                  nowhere; "lock": for a moment. Prints how many bytes the answers had
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* By hand: what is compared with this shall not profit by what sscanf() takes. */
static size_t decode(const char *line)
{
    size_t length = 0;

    while (length < MOST && digit(line[0]) >= 0 && digit(line[1]) >= 0) {
        request.bytes[length++] = (unsigned char)(digit(line[0]) << 4 | digit(line[1]));
        line += 2;
    }
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

static const char *after(const char *word, const char *line)
{
    size_t length = strlen(word);

    return strncmp(line, word, length) == 0 ? line + length : NULL;
}

static size_t read_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    size_t all = 0;

    for (ssize_t got = fd < 0 ? 0 : 1; got > 0; all += got > 0 ? (size_t)got : 0)
        got = read(fd, &answer, sizeof answer);
    if (fd >= 0)
        close(fd);
    return all;
}

static size_t list(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t all = 0;

    for (long got = fd < 0 ? 0 : 1; got > 0; all += got > 0 ? (size_t)got : 0)
        got = syscall(SYS_getdents64, fd, &answer, sizeof answer);
    if (fd >= 0)
        close(fd);
    return all;
}

static size_t lock(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        failed("replay: lock");
    close(fd);
    return 0;
}

/* A line about a file; 0: it is about something else. */
static int touch(char *line, size_t *all)
{
    struct stat info;
    const char *path;

    line[strcspn(line, "\n")] = '\0';
    if ((path = after("read ", line)))
        *all += read_file(path);
    else if ((path = after("list ", line)))
        *all += list(path);
    else if ((path = after("lock ", line)))
        *all += lock(path);
    else if ((path = after("stat ", line)))
        *all += stat(path, &info) == 0;
    return path != NULL;
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

        if (touch(line, &all))
            continue;
        all += ask(fd, decode(line), !abandoned);
        if (abandoned) { /* the rest would still come by this one */
            close(fd);
            fd = open_socket();
        }
    }
    printf("%zu\n", all);
    return EXIT_SUCCESS;
}
