/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tun32: network devices of link type 32 (InfiniBand) without hardware, for as long as this runs.
 *
 *   tun32 NAME...
 *
 * They have no hardware address and carry nothing: the kernel's tun driver knows no 20-byte addresses. It prints its
 * process number once they are there, and stays in the background for at most 60 seconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
        snprintf(request.ifr_name, sizeof request.ifr_name, "%s", argv[i]);
        int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
        if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0 || ioctl(fd, TUNSETLINK, ARPHRD_INFINIBAND) < 0) {
            fprintf(stderr, "tun32: %s: %s\n", argv[i], strerror(errno));
            return 3;
        }
    }
    pid_t pid = fork();
    if (pid < 0)
        return 3;
    if (pid > 0) {
        printf("%d\n", (int)pid);
        return fflush(stdout) == 0 ? 0 : 3;
    }
    if (close(0) < 0 || close(1) < 0 || close(2) < 0)
        return 3;
    alarm(60);
    pause();
    return 0;
}
