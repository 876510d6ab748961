/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run.h"

#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Room for hundreds of lines: a slow reader must not lose any. */
#define BUFFER_SIZE (1024 * 1024)

gboolean ibh_datagram_send(int fd, const char *path, const char *text, gsize length)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const gsize size = strlen(path);

    if (size >= sizeof address.sun_path)
        return FALSE;
    memcpy(address.sun_path, path, size);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    return sendto(fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size)) == (gssize)length;
}

/* The journal's native protocol: a field with an explicit length may hold any bytes. */
static gboolean to_journal(int fd, int priority, const char *message)
{
    g_autoptr(GString) text = g_string_new(NULL);
    guint64 length = GUINT64_TO_LE((guint64)strlen(message));

    g_string_printf(text, "PRIORITY=%d\nSYSLOG_IDENTIFIER=ib-hook\nSYSLOG_PID=%d\nMESSAGE\n", priority, (int)getpid());
    g_string_append_len(text, (const char *)&length, sizeof length);
    g_string_append_printf(text, "%s\n", message);
    return ibh_datagram_send(fd, "/run/systemd/journal/socket", text->str, text->len);
}

static gboolean to_syslog(int fd, int priority, const char *message)
{
    g_autofree char *text = g_strdup_printf("<%d>ib-hook[%d]: %s", LOG_DAEMON | priority, (int)getpid(), message);

    return ibh_datagram_send(fd, "/dev/log", text, strlen(text));
}

/* Writes the line to standard error if that does not block. */
static void to_stderr(const char *line)
{
    g_autofree char *text = g_strdup_printf("ib-hook: %s\n", line);
    struct pollfd output = {.fd = STDERR_FILENO, .events = POLLOUT};

    if (poll(&output, 1, 0) == 1 && output.revents == POLLOUT)
        (void)!write(STDERR_FILENO, text, MIN(strlen(text), PIPE_BUF)); /* poll() promises that much room */
}

static void send_lines(int priority, const char *lines, gboolean is_command)
{
    g_auto(GStrv) each = g_strsplit(lines, "\n", -1);
    const int size = BUFFER_SIZE;
    int fd = lines[0] ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;

    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
    for (char **line = each; *line; line++) {
        g_autofree char *clean = **line ? ibh_text_printable(*line) : NULL;

        if (clean && !to_journal(fd, priority, clean) && !to_syslog(fd, priority, clean) && !is_command)
            to_stderr(clean);
    }
    if (fd >= 0)
        close(fd);
}

void ibh_log_lines(int priority, const char *lines)
{
    send_lines(priority, lines, FALSE);
}

void ibh_log_command(int priority, const char *lines)
{
    send_lines(priority, lines, TRUE);
}
