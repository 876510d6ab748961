/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pour ADDRESS COUNT: sends so many UDP datagrams from a socket that is not connected, so the kernel looks up the route
 * of each. Prints how many it sent in a second of processor time.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    long count = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    double start;

    if (count < 1 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) {
        fputs("usage: pour ADDRESS COUNT\n", stderr);
        return 2;
    }
    start = cpu_seconds();
    for (long i = 0; i < count; i++) {
        if (sendto(fd, "", 1, 0, (struct sockaddr *)&to, sizeof to) < 0) {
            perror("pour: sendto");
            return EXIT_FAILURE;
        }
    }
    printf("%.0f\n", (double)count / (cpu_seconds() - start));
    return EXIT_SUCCESS;
}
