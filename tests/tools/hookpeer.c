/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The other end of a hook, or of --watch, with messages in hexadecimal digits:
 *
 * hookpeer serve PATH REPLY…   prints each request; answers the next one with the next reply, the last one again and
 * again
 *                              ("eof": none; "silence": for ever)
 * hookpeer ask PATH REQUEST    prints the reply, or "eof"; REQUEST "-" is none
 * hookpeer fill PATH           connects until there is no more room, prints how often, and stays
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void print(const unsigned char *bytes, ssize_t length)
{
    for (ssize_t i = 0; i < length; i++)
        printf("%02x", bytes[i]);
    puts(length > 0 ? "" : "eof");
    fflush(stdout);
}

static size_t parse(const char *digits, unsigned char bytes[1024])
{
    size_t n = 0;
    unsigned value;

    for (; n < 1024 && sscanf(digits + 2 * n, "%2x", &value) == 1; n++)
        bytes[n] = (unsigned char)value;
    return n;
}

static int serve(int fd, char **replies)
{
    unsigned char bytes[1024];

    if (listen(fd, 16) < 0)
        return 1;
    for (;;) {
        int peer = accept(fd, NULL, NULL);
        ssize_t length = peer < 0 ? 0 : recv(peer, bytes, sizeof bytes, 0);

        print(bytes, length);
        if (strcmp(*replies, "silence") == 0)
            pause();
        if (strcmp(*replies, "eof") != 0)
            (void)!send(peer, bytes, parse(*replies, bytes), MSG_NOSIGNAL);
        close(peer);
        if (replies[1])
            replies++;
    }
}

static int ask(int fd, const char *request)
{
    unsigned char bytes[1024];
    size_t length = parse(request, bytes);

    if (length && send(fd, bytes, length, MSG_NOSIGNAL) < 0)
        return 1;
    print(bytes, recv(fd, bytes, sizeof bytes, 0));
    return 0;
}

static int fill(const struct sockaddr_un *address)
{
    int n = 0;

    for (;;) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

        if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof *address) < 0)
            break;
        n++;
    }
    printf("%d %s\n", n, strerror(errno));
    fflush(stdout);
    return pause();
}

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

    if (argc < 3 || strlen(argv[2]) >= sizeof address.sun_path) {
        fputs("usage: hookpeer serve|ask|fill PATH [MESSAGE]...\n", stderr);
        return 2;
    }
    strcpy(address.sun_path, argv[2]);
    if (strcmp(argv[1], "fill") == 0)
        return fill(&address);
    if (strcmp(argv[1], "serve") == 0 && argc > 3) {
        (void)unlink(argv[2]);
        umask(0177);
        if (bind(fd, (const struct sockaddr *)&address, sizeof address) == 0)
            return serve(fd, argv + 3);
    } else if (argc > 3 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0) {
        return ask(fd, argv[3]);
    }
    perror(argv[2]);
    return 1;
}
