/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/ask.h"

#include "hook/request.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* Milliseconds. networkd-dispatcher calls one hook after the other: if a daemon did not answer one, the next hooks do
 * not wait as long. */
#define PATIENCE 2000
#define LITTLE_PATIENCE 100

#define DAEMON_MAX 64

/* The process that listens, as written to the file about slow daemons: a process id may be used again, but not with the
 * same start time. "": not known. */
static void describe_daemon(pid_t pid, char ret_text[DAEMON_MAX])
{
    char path[32], stat[1024] = "", *field;
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    ret_text[0] = '\0';
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!read(fd, stat, sizeof stat - 1);
    close(fd);
    field = strrchr(stat, ')'); /* a process name may have blanks and parentheses */
    for (int i = 2; field && i < 22; i++)
        field = strchr(field + 1, ' ');
    if (field)
        (void)snprintf(ret_text, DAEMON_MAX, "%d %llu\n", (int)pid, strtoull(field, NULL, 10));
}

/* The process that the file names; "": none. */
static void read_slow(const char *path, char ret_text[DAEMON_MAX])
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    memset(ret_text, 0, DAEMON_MAX);
    if (fd < 0)
        return;
    (void)!read(fd, ret_text, DAEMON_MAX - 1);
    close(fd);
}

static void write_slow(const char *path, const char *text)
{
    int fd;

    (void)unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    (void)!write(fd, text, strlen(text));
    close(fd);
}

static long now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The answer within that time; 0: the other end is closed; -1: none. */
static ssize_t receive(int fd, void *bytes, size_t size, long patience)
{
    const long deadline = now_ms() + patience;

    for (long left = patience; left > 0; left = deadline - now_ms()) {
        struct pollfd reply = {.fd = fd, .events = POLLIN};

        if (poll(&reply, 1, (int)left) == 1) {
            ssize_t length = recv(fd, bytes, size, MSG_DONTWAIT | MSG_TRUNC);

            if (length >= 0 || errno != EINTR)
                return length < 0 ? 0 : length;
        }
    }
    return -1;
}

static bool wait_for_reply(int fd, pid_t daemon)
{
    char slow[IBH_PATH_MAX], known[DAEMON_MAX], text[DAEMON_MAX] = "", bytes[IBH_REQUEST_MAX];
    bool was_slow = false;
    ssize_t length;

    ibh_request_path(fd, IBH_REQUEST_SLOW, slow);
    read_slow(slow, known);
    if (known[0]) {
        describe_daemon(daemon, text);
        was_slow = strcmp(known, text) == 0;
    }
    length = receive(fd, bytes, sizeof bytes, was_slow ? LITTLE_PATIENCE : PATIENCE);
    if (length < 0 && !was_slow) {
        describe_daemon(daemon, text);
        if (text[0])
            write_slow(slow, text);
    } else if (length >= 0 && known[0]) {
        (void)unlink(slow); /* that daemon answers again, or it is another one */
    }
    return length > 0 && ibh_reply_is_done(bytes, (size_t)length);
}

/* Any socket can tell the namespace's key. */
static int find_ifindex(int fd, const char iface[IFNAMSIZ])
{
    struct ifreq name = {.ifr_ifindex = 0};

    memcpy(name.ifr_name, iface, IFNAMSIZ);
    return iface[0] && ioctl(fd, SIOCGIFINDEX, &name) == 0 ? name.ifr_ifindex : 0;
}

/* Only root could have made this socket, and a process of root's listens. */
static bool connect_to_root(int fd, pid_t *ret_pid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred daemon;
    socklen_t size = sizeof daemon;
    char path[IBH_PATH_MAX] = "";

    ibh_request_path(fd, IBH_REQUEST_SOCKET, path);
    memcpy(address.sun_path, path, sizeof path);
    if (!ibh_request_trusts(path, S_IFSOCK) || !ibh_request_trusts(IBH_RUN_DIR, S_IFDIR) ||
        connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &daemon, &size) < 0 || daemon.uid != 0)
        return false;
    *ret_pid = daemon.pid;
    return true;
}

bool ibh_ask(const IbhTrigger *trigger)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_done = false;
    pid_t daemon;

    if (fd < 0)
        return false;
    if (connect_to_root(fd, &daemon)) {
        const IbhRequest request = ibh_request_make(trigger, find_ifindex(fd, trigger->iface));

        is_done =
            send(fd, &request, sizeof request, MSG_NOSIGNAL) == (ssize_t)sizeof request && wait_for_reply(fd, daemon);
    }
    close(fd);
    return is_done;
}
