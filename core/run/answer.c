/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/answer.h"

#include "model/each.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define CALLERS_MAX 256 /* more callers wait in the kernel's queue, or find it full and do the work themselves */
#define QUEUE 128
#define SILENCE (2 * G_USEC_PER_SEC) /* a caller without a request by then is no hook */

typedef struct {
    int fd;
    gint64 since;
    gboolean asked; /* its request has been read, and it waits */
    IbhRequest request;
} Caller;

struct IbhAnswers {
    int lock; /* -1: not listening; another --watch may */
    int socket;
    char path[IBH_PATH_MAX];
    GArray *callers; /* Caller */
};

IbhAnswers *ibh_answers_new(void)
{
    IbhAnswers *answers = g_new0(IbhAnswers, 1);

    answers->lock = answers->socket = -1;
    answers->callers = g_array_new(FALSE, FALSE, sizeof(Caller));
    return answers;
}

static void stop_listening(IbhAnswers *answers)
{
    if (answers->path[0])
        (void)unlink(answers->path);
    answers->path[0] = '\0';
    if (answers->socket >= 0)
        close(answers->socket);
    if (answers->lock >= 0)
        close(answers->lock);
    answers->lock = answers->socket = -1;
}

void ibh_answers_free(IbhAnswers *answers)
{
    stop_listening(answers);
    IBH_EACH (const Caller, caller, answers->callers)
        close(caller->fd);
    g_array_unref(answers->callers);
    g_free(answers);
}

/* ---- listening ---- */

/* Only one process of a namespace listens: it may remove the sockets of an earlier one. */
static gboolean take_lock(IbhAnswers *answers)
{
    char path[IBH_PATH_MAX];

    ibh_request_path(answers->socket, IBH_REQUEST_LOCK, path);
    answers->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    return answers->lock >= 0 && flock(answers->lock, LOCK_EX | LOCK_NB) == 0;
}

static gboolean bind_socket(IbhAnswers *answers)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char path[IBH_PATH_MAX], slow[IBH_PATH_MAX];
    mode_t mask = umask(0177);
    gboolean bound;

    ibh_request_path(answers->socket, IBH_REQUEST_SOCKET, path);
    ibh_request_path(answers->socket, IBH_REQUEST_SLOW, slow);
    g_strlcpy(address.sun_path, path, sizeof address.sun_path);
    (void)unlink(path);
    (void)unlink(slow);
    bound = bind(answers->socket, (const struct sockaddr *)&address, sizeof address) == 0;
    umask(mask);
    if (bound)
        g_strlcpy(answers->path, path, sizeof answers->path);
    return bound;
}

void ibh_answers_listen(IbhAnswers *answers)
{
    if (answers->socket >= 0 || !ibh_request_trusts(IBH_RUN_DIR, S_IFDIR))
        return;
    answers->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (answers->socket < 0 || !take_lock(answers) || !bind_socket(answers) || listen(answers->socket, QUEUE) < 0)
        stop_listening(answers); /* hooks do the work themselves, as without --watch */
}

/* ---- requests ---- */

void ibh_answers_poll(const IbhAnswers *answers, GArray *fds)
{
    if (answers->socket >= 0 && answers->callers->len < CALLERS_MAX) {
        const struct pollfd fd = {.fd = answers->socket, .events = POLLIN};

        g_array_append_val(fds, fd);
    }
    IBH_EACH (const Caller, caller, answers->callers) {
        const struct pollfd fd = {.fd = caller->fd, .events = POLLIN};

        if (!caller->asked)
            g_array_append_val(fds, fd);
    }
}

static gboolean is_root(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == 0;
}

static void accept_callers(IbhAnswers *answers)
{
    while (answers->socket >= 0 && answers->callers->len < CALLERS_MAX) {
        Caller caller = {.fd = accept4(answers->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK),
                         .since = g_get_monotonic_time()};

        if (caller.fd >= 0 && is_root(caller.fd))
            g_array_append_val(answers->callers, caller);
        else if (caller.fd >= 0)
            close(caller.fd);
        else if (errno == EAGAIN)
            return;
        else if (errno != EINTR && errno != ECONNABORTED)
            stop_listening(answers); /* no descriptors, no memory: it would wake us up again and again */
    }
}

static void send_reply(const Caller *caller, IbhReplyType type, int status)
{
    const IbhReply reply = ibh_reply_make(type, status);

    (void)!send(caller->fd, &reply, sizeof reply, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* FALSE: this caller is gone, or needs no more waiting for. */
static gboolean read_request(Caller *caller)
{
    char bytes[IBH_REQUEST_MAX];
    gssize length = recv(caller->fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC);

    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return g_get_monotonic_time() - caller->since < SILENCE;
    if (length <= 0)
        return FALSE;
    caller->asked = ibh_request_read(bytes, (gsize)length, &caller->request);
    if (!caller->asked)
        send_reply(caller, IBH_REPLY_OTHER, 0);
    return caller->asked;
}

gboolean ibh_answers_receive(IbhAnswers *answers)
{
    gboolean asked = FALSE;

    accept_callers(answers);
    IBH_EACH_BACK (Caller, caller, answers->callers) {
        if (caller->asked || read_request(caller)) {
            asked |= caller->asked;
            continue;
        }
        close(caller->fd);
        IBH_REMOVE(Caller, caller, answers->callers);
    }
    return asked;
}

/* ---- waiting callers ---- */

GPtrArray *ibh_answers_down(const IbhAnswers *answers)
{
    GPtrArray *down = g_ptr_array_new();

    IBH_EACH (const Caller, caller, answers->callers) {
        if (caller->asked && caller->request.down)
            g_ptr_array_add(down, (gpointer)(guintptr)caller->request.iface);
    }
    g_ptr_array_add(down, NULL);
    return down;
}

gboolean ibh_answers_concern(const IbhAnswers *answers, int ifindex)
{
    IBH_EACH (const Caller, caller, answers->callers) {
        if (caller->asked && (caller->request.ifindex == ifindex || !caller->request.ifindex))
            return TRUE;
    }
    return FALSE;
}

void ibh_answers_reply(IbhAnswers *answers, IbhReplyType type, int status)
{
    IBH_EACH_BACK (Caller, caller, answers->callers) {
        if (!caller->asked)
            continue;
        send_reply(caller, type, status);
        close(caller->fd);
        IBH_REMOVE(Caller, caller, answers->callers);
    }
}
