/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run.h"

#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The send buffer of the socket: room for hundreds of lines, so that none is lost while the reader is slow. */
#define BUFFER_SIZE (1024 * 1024)

gboolean ibh_datagram_send(int fd, const char *path, const char *text, gsize length)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const gsize size = strlen(path);

    if (size >= sizeof address.sun_path)
        return FALSE;
    memcpy(address.sun_path, path, size);
    if (path[0] == '@') /* the name of an abstract socket begins with a NUL */
        address.sun_path[0] = '\0';
    return sendto(fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size)) == (gssize)length;
}

void ibh_log_lines(int priority, const char *lines, gboolean or_stderr)
{
    g_auto(GStrv) split = g_strsplit(lines, "\n", -1);
    const int size = BUFFER_SIZE, pid = (int)getpid();
    struct pollfd output = {.fd = STDERR_FILENO, .events = POLLOUT};
    int fd = lines[0] ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;

    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
    for (char **line = split; *line; line++) {
        g_autofree char *message = ibh_text_printable(*line);
        g_autofree char *journal = g_strdup_printf(
            "PRIORITY=%d\nSYSLOG_IDENTIFIER=ib-hook\nSYSLOG_PID=%d\nMESSAGE=%s\n", priority, pid, message);
        g_autofree char *syslog = g_strdup_printf("<%d>ib-hook[%d]: %s", LOG_DAEMON | priority, pid, message);

        if (!message[0] || ibh_datagram_send(fd, "/run/systemd/journal/socket", journal, strlen(journal)) ||
            ibh_datagram_send(fd, "/dev/log", syslog, strlen(syslog)))
            continue;
        /* With POLLOUT, a pipe takes PIPE_BUF bytes without blocking; "ib-hook: " and the newline are 10 of these. */
        if (or_stderr && poll(&output, 1, 0) == 1 && output.revents == POLLOUT)
            dprintf(STDERR_FILENO, "ib-hook: %.*s\n", PIPE_BUF - 10, message);
    }
    if (fd >= 0)
        close(fd);
}
