/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What comes from a netlink socket, for core/kernel/netlink.c itself: a dump is asked for, answered, and asked for
 * again, as long as there is anything. The socket is the input, datagram by datagram, each behind a byte that says how
 * it comes and two with its length:
 *
 *   0x03   0 or 1: of the kernel; 2: of another process; 3: of nobody, its address is too short
 *   0x0c   4: cut short; 8: a signal came instead; 12: it was dropped, for want of room
 *
 * Requests are numbered from 1, the sequence of what answers them. What is behind the end of a datagram must not be
 * looked at: it is poisoned.
 */
#include "broken.h"
#include "kernel/dump.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/socket.h>
#include <sanitizer/asan_interface.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#define HOW 3 /* bytes before each datagram */
#define TALKS_MAX 16
#define OF_ANOTHER 2
#define OF_NOBODY 3
#define CUT_SHORT 4
#define INTERRUPTED 8
#define DROPPED 12

static const uint8_t *input, *input_end;
static guint32 sequence;
static const char *given; /* the datagram that was received last, as it may be read */
static gsize given_size;
static gboolean trusted; /* it is the kernel's, and whole */

/* ---- in the place of the socket ---- */

static int fake_connect(struct nl_sock *socket, int protocol)
{
    (void)socket;
    return protocol == NETLINK_ROUTE ? 0 : -NLE_PROTO_MISMATCH;
}

static int fake_send(struct nl_sock *socket, struct nl_msg *message)
{
    (void)socket;
    nlmsg_hdr(message)->nlmsg_seq = ++sequence;
    return 0;
}

static int fail(int number)
{
    errno = number;
    return -1;
}

static ssize_t fake_recvmsg(int fd, struct msghdr *message, int flags)
{
    struct sockaddr_nl *from = message->msg_name;
    char *space = message->msg_iov[0].iov_base;
    gsize room = message->msg_iov[0].iov_len, length;
    uint8_t how;

    (void)fd;
    (void)flags;
    ASAN_UNPOISON_MEMORY_REGION(space, room);
    trusted = FALSE;
    if (input_end - input < HOW)
        return fail(EAGAIN);
    how = input[0];
    length = MIN((gsize)input[1] << 8 | input[2], (gsize)(input_end - input - HOW));
    if ((how & 12) == INTERRUPTED || (how & 12) == DROPPED) {
        input += HOW;
        return fail((how & 12) == DROPPED ? ENOBUFS : EINTR);
    }
    length = MIN(length, room);
    memcpy(space, input + HOW, length);
    ASAN_POISON_MEMORY_REGION(space + length, room - length);
    input += HOW + length;
    *from = (struct sockaddr_nl){.nl_family = AF_NETLINK, .nl_pid = (how & 3) == OF_ANOTHER ? 4711 : 0};
    message->msg_namelen = (how & 3) == OF_NOBODY ? 0 : sizeof *from;
    message->msg_flags = (how & 12) == CUT_SHORT ? MSG_TRUNC : 0;
    trusted = (how & 3) < OF_ANOTHER && !message->msg_flags;
    given = space;
    given_size = length;
    return (ssize_t)length;
}

static int fake_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    (void)fd;
    (void)level;
    (void)name;
    return value && size ? 0 : fail(EINVAL);
}

#define nl_connect fake_connect
#define nl_send_auto fake_send
#define recvmsg fake_recvmsg
#define setsockopt fake_setsockopt
#include "kernel/netlink.c"
#undef recvmsg
#undef nl_send_auto

/* ---- what has to hold ---- */

/* Who reads messages relies on it. The first byte of a body says when it cannot be read. */
static gboolean on_each(struct nlmsghdr *header, gpointer data)
{
    const char *at = (const char *)header;
    guint *ret_count = data;

    ++*ret_count;
    if (!trusted || at < given || at + sizeof *header > given + given_size ||
        header->nlmsg_len > (gsize)(given + given_size - at) || header->nlmsg_len < sizeof *header)
        broken("a message that is not the kernel's, or not whole");
    if (header->nlmsg_seq != sequence)
        broken("a message of another exchange");
    if (header->nlmsg_type != RTM_NEWLINK)
        broken("a message that was not asked for");
    return header->nlmsg_len == sizeof *header || at[sizeof *header] != '!';
}

/* What the kernel said in words of its own is in its last datagram; it is cut to what there is room for. */
static void check_words(const GError *error)
{
    g_autofree char *plain = g_strdup_printf(" (%s)", g_strerror(error->code));

    if (strlen(error->message) > 300)
        broken("too many words: %s", error->message);
    if (!g_str_has_prefix(error->message, "netlink: ") && g_str_has_suffix(error->message, plain) &&
        !memmem(given, given_size, error->message, strlen(error->message) - strlen(plain)))
        broken("words that are nowhere in the answer: %s", error->message);
}

/* FALSE: the exchange failed. */
static gboolean talk(IbhNetlink *netlink)
{
    struct nl_msg *message = nlmsg_alloc_simple(RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP);
    g_autoptr(GError) error = NULL;
    guint count = 0;
    gboolean done = ibh_netlink_talk(netlink, message, on_each, &count, &error);

    nlmsg_free(message);
    if (done == (error != NULL))
        broken("failed without a word, or done with one");
    if (done && !trusted)
        broken("done, by nobody's word");
    if (error && error->code < 0)
        broken("%d is no errno", error->code);
    if (error)
        check_words(error);
    return done;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(IbhNetlink) netlink = ibh_netlink_open(NULL);

    input = data;
    input_end = data + size;
    sequence = 0;
    for (int i = 0; i < TALKS_MAX && input < input_end; i++) {
        const uint8_t *before = input;

        if (!talk(netlink) && input == before)
            break; /* less than a datagram is left */
    }
    ASAN_UNPOISON_MEMORY_REGION(netlink->received, IBH_RECEIVE_SIZE);
    return 0;
}
