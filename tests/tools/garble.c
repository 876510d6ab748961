/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded (LD_PRELOAD): what the kernel answers by netlink is damaged on its way, once.
 *
 *   GARBLE="KIND AT SEED"   at the AT-th answer; KIND:
 *     cut     the message ends early           bytes   some bytes of it are others
 *     length  a length in it is another        intr    the dump changed under way (NLM_F_DUMP_INTR)
 *     sender  it comes from another process    lost    the socket overran (ENOBUFS)
 *     empty   nothing in it
 *
 *   RECORD=FILE   answers are appended to it, for the corpus of tests/fuzz
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static unsigned seed;

static unsigned next(void)
{
    seed = seed * 1103515245u + 12345u;
    return seed >> 16;
}

/* The program takes its environment away from all libraries: what it was called with, the kernel still tells. */
static const char *variable(const char *name)
{
    static char text[1024 * 1024];
    static size_t length;
    FILE *file = length ? NULL : fopen("/proc/self/environ", "re");

    if (file) {
        length = fread(text, 1, sizeof text - 1, file);
        fclose(file);
    }
    for (const char *at = text; at < text + length; at += strlen(at) + 1) {
        if (!strncmp(at, name, strlen(name)) && at[strlen(name)] == '=')
            return at + strlen(name) + 1;
    }
    return NULL;
}

static void record(const struct msghdr *message, ssize_t length, const char *path)
{
    FILE *file = fopen(path, "a");

    if (file && length > 0)
        (void)!fwrite(message->msg_iov[0].iov_base, 1, (size_t)length, file);
    if (file)
        fclose(file);
}

static ssize_t damage(struct msghdr *message, ssize_t length, const char *kind)
{
    unsigned char *bytes = message->msg_iov[0].iov_base;
    struct nlmsghdr *header = (void *)bytes;
    struct sockaddr_nl *from = message->msg_name;

    if (!strcmp(kind, "cut"))
        return (ssize_t)(next() % (unsigned)length);
    if (!strcmp(kind, "empty"))
        return 0;
    if (!strcmp(kind, "intr"))
        header->nlmsg_flags |= NLM_F_DUMP_INTR;
    if (!strcmp(kind, "sender") && from)
        from->nl_pid = 4242;
    if (!strcmp(kind, "bytes"))
        for (int i = 0; i < 8; i++)
            bytes[next() % (unsigned)length] = (unsigned char)next();
    if (!strcmp(kind, "length"))
        memcpy(bytes + next() % ((unsigned)length / 4) * 4, &(unsigned short){(unsigned short)next()}, 2);
    return length;
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    static ssize_t (*real)(int, struct msghdr *, int);
    static int count;
    const char *what = variable("GARBLE");
    char kind[16] = "";
    int at = 0;
    ssize_t length;

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "recvmsg");
    length = real(fd, message, flags);
    if (variable("RECORD"))
        record(message, length, variable("RECORD"));
    if (!what || length <= 0 || flags & MSG_PEEK || sscanf(what, "%15s %d %u", kind, &at, &seed) != 3 || ++count != at)
        return length;
    if (!strcmp(kind, "lost")) {
        errno = ENOBUFS;
        return -1;
    }
    return damage(message, length, kind);
}
