#include "journal.h"

#include "report.h"

#include <glib.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A datagram to a socket of whoever listens there; FALSE: nobody does, or not now. */
static gboolean send_to(const char *path, const char *text, gsize length)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    gboolean sent;

    g_strlcpy(address.sun_path, path, sizeof address.sun_path);
    sent = fd >= 0 && sendto(fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address,
                             sizeof address) == (gssize)length;
    if (fd >= 0)
        close(fd);
    return sent;
}

/* The journal's own protocol: a field whose length is given may hold anything. */
static gboolean to_journal(int priority, const char *message)
{
    g_autoptr(GString) text = g_string_new(NULL);
    guint64 length = GUINT64_TO_LE((guint64)strlen(message));

    g_string_printf(text, "PRIORITY=%d\nSYSLOG_IDENTIFIER=ib-hook\nSYSLOG_PID=%d\nMESSAGE\n", priority, (int)getpid());
    g_string_append_len(text, (const char *)&length, sizeof length);
    g_string_append(text, message);
    g_string_append_c(text, '\n');
    return send_to("/run/systemd/journal/socket", text->str, text->len);
}

static gboolean to_syslog(int priority, const char *message)
{
    g_autofree char *text = g_strdup_printf("<%d>ib-hook[%d]: %s", LOG_DAEMON | priority, (int)getpid(), message);

    return send_to("/dev/log", text, strlen(text));
}

void ibh_log_last(const char *text)
{
    struct pollfd output = {.fd = STDERR_FILENO, .events = POLLOUT};

    if (poll(&output, 1, 0) == 1 && output.revents == POLLOUT)
        (void)!write(STDERR_FILENO, text, MIN(strlen(text), PIPE_BUF)); /* there is room for so much */
}

void ibh_log(int priority, const char *message)
{
    g_autofree char *clean = ibh_report_clean(message), *line = NULL;

    if (to_journal(priority, clean) || to_syslog(priority, clean))
        return;
    line = g_strdup_printf("ib-hook: %s\n", clean);
    ibh_log_last(line);
}

void ibh_log_lines(int priority, const char *lines)
{
    g_auto(GStrv) each = g_strsplit(lines, "\n", -1);

    for (char **line = each; *line; line++) {
        if (**line)
            ibh_log(priority, *line);
    }
}
