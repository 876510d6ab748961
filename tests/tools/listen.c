/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stands for the journal, or for systemd's notify socket: listen PATH
 *
 * Prints each datagram as one line; fields that are told by length (the journal's protocol) as NAME=value, too. Runs
 * until it is killed.
 */
#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void print_value(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        putchar(text[i] == '\n' ? '|' : text[i]);
}

static void print(const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t line = end ? (size_t)(end - text) - at : length - at;
        uint64_t size;

        if (at)
            putchar('\t');
        print_value(text + at, line);
        at += line + 1;
        if (memchr(text + at - line - 1, '=', line) || at + sizeof size > length)
            continue;
        memcpy(&size, text + at, sizeof size); /* little-endian */
        size = le64toh(size);
        at += sizeof size;
        putchar('=');
        line = size <= length - at ? (size_t)size : length - at;
        print_value(text + at, line);
        at += line + 1;
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    static char buffer[65536];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    ssize_t length;

    if (argc != 2 || strlen(argv[1]) >= sizeof address.sun_path) {
        fputs("usage: listen PATH\n", stderr);
        return 2;
    }
    strcpy(address.sun_path, argv[1]);
    (void)unlink(argv[1]);
    if (address.sun_path[0] == '@')
        address.sun_path[0] = '\0'; /* an abstract name */
    if (fd < 0 || bind(fd, (struct sockaddr *)&address,
                       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(argv[1]))) < 0) {
        perror(argv[1]);
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    while ((length = recv(fd, buffer, sizeof buffer, 0)) >= 0)
        print(buffer, (size_t)length);
    return 1;
}
