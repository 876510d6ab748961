/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/request.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x6962686b /* "ibhk" */
#define VERSION 1

/* What headers of Linux 4.18 do not have. */
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

IbhRequest ibh_request_make(const IbhTrigger *trigger, int ifindex)
{
    IbhRequest request = {.magic = MAGIC,
                          .version = VERSION,
                          .early = trigger->early,
                          .down = trigger->down[0] != '\0',
                          .ifindex = ifindex,
                          .build = IBH_BUILD_ID};

    memcpy(request.iface, trigger->iface, sizeof request.iface);
    return request;
}

bool ibh_request_read(const void *bytes, size_t length, IbhRequest *ret_request)
{
    IbhRequest request;

    if (length != sizeof request)
        return false;
    memcpy(&request, bytes, sizeof request);
    if (request.magic != MAGIC || request.version != VERSION ||
        memcmp(request.build, (const char[sizeof request.build]){IBH_BUILD_ID}, sizeof request.build) != 0 ||
        !memchr(request.iface, '\0', sizeof request.iface) ||
        (request.iface[0] && !ibh_trigger_is_name(request.iface)) || (request.down && !request.iface[0]))
        return false;
    *ret_request = request;
    return true;
}

IbhReply ibh_reply_make(IbhReplyType type, int status)
{
    return (IbhReply){.magic = MAGIC, .version = VERSION, .type = (uint8_t)type, .status = (uint8_t)status};
}

bool ibh_reply_is_done(const void *bytes, size_t length)
{
    IbhReply reply;

    if (length != sizeof reply)
        return false;
    memcpy(&reply, bytes, sizeof reply);
    return reply.magic == MAGIC && reply.version == VERSION && reply.type == IBH_REPLY_DONE;
}

/* Before 5.14 a namespace has no cookie. Its inode may be used again, but not within the life of a process in it,
 * and the boot id keeps what survived a reboot apart. */
static void make_key_of_inode(char ret_key[IBH_KEY_MAX])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    char boot[37] = "";
    struct stat info = {.st_ino = 0};

    if (fd >= 0) {
        (void)!read(fd, boot, sizeof boot - 1);
        close(fd);
    }
    (void)stat("/proc/self/ns/net", &info);
    (void)snprintf(ret_key, IBH_KEY_MAX, "i%lu-%s", (unsigned long)info.st_ino, boot[0] ? boot : "0");
}

void ibh_namespace_key(uint64_t cookie, char ret_key[IBH_KEY_MAX])
{
    if (cookie)
        (void)snprintf(ret_key, IBH_KEY_MAX, "n%llx", (unsigned long long)cookie);
    else
        make_key_of_inode(ret_key);
}

void ibh_request_path(int fd, const char *end, char ret_path[IBH_PATH_MAX])
{
    char key[IBH_KEY_MAX];
    uint64_t cookie = 0;
    socklen_t size = sizeof cookie;

    if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) < 0)
        cookie = 0;
    ibh_namespace_key(cookie, key);
    (void)snprintf(ret_path, IBH_PATH_MAX, IBH_RUN_DIR "/watch-%s%s", key, end);
}

bool ibh_request_trusts(const char *path, mode_t type)
{
    struct stat info;

    return lstat(path, &info) == 0 && (info.st_mode & S_IFMT) == type && info.st_uid == 0 &&
           !(info.st_mode & (S_IWGRP | S_IWOTH));
}
