/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include "kernel/dump.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/socket.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#ifndef NETLINK_GET_STRICT_CHK /* headers of Linux 4.18 lack it */
#define NETLINK_GET_STRICT_CHK 12
#endif

#define ERRNO_MAX 4095 /* the kernel's MAX_ERRNO */

/* Why an answer could not be read: one of these texts; NULL if the answer could be read. */
typedef const char *Problem;
static const char UNREADABLE[] = "a message from the kernel could not be read";
static const char OVERRUN[] = "cannot read the answer: the kernel dropped a part of it";

/* A request and its answer. */
typedef struct {
    guint32 sequence; /* the request's number: ignore messages with another number (late answers) */
    guint16 type;     /* the type of the objects, RTM_NEWROUTE for RTM_GETROUTE: ignore objects of other types, too */
    IbhMessageFunc each;
    gpointer data;
    gboolean done;
    gboolean changed; /* the kernel's state changed during the dump */
    int error;        /* the errno with which the kernel refused the request; 0 if it did not refuse */
    char words[200];  /* the kernel's text about the error; "" if there is none */
} Exchange;

static gboolean set_nl_error(GError **error, const char *doing, int nl_error)
{
    g_set_error(error, IBH_NETLINK_ERROR, EIO, "netlink: %s: %s", doing, nl_geterror(nl_error));
    return FALSE;
}

/* Opens the socket, or closes it and opens it again. The port stays the same: by the port, --watch recognises our own
 * changes. */
static gboolean connect_socket(IbhNetlink *netlink, GError **error)
{
    const int on = 1;
    const struct timeval timeout = {.tv_sec = 1};
    int result, fd;

    nl_close(netlink->socket);
    result = nl_connect(netlink->socket, NETLINK_ROUTE);
    if (result < 0)
        return set_nl_error(error, "cannot open a socket", result);
    nl_socket_disable_auto_ack(netlink->socket); /* only changes need an acknowledgement: they set NLM_F_ACK */
    fd = nl_socket_get_fd(netlink->socket);
    /* The kernel answers before sendmsg() returns, so do not wait long: an answer that is missing will never come. */
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    /* A kernel before 4.20 lacks strict checking: it filters routes by family only, and read.c filters the rest. */
    netlink->strict = setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on) == 0;
    (void)setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on); /* errors come with a text */
    return TRUE;
}

IbhNetlink *ibh_netlink_open(GError **error)
{
    g_autoptr(IbhNetlink) netlink = g_new0(IbhNetlink, 1);
    struct nl_cb *callbacks = nl_cb_alloc(NL_CB_CUSTOM); /* libnl's default callbacks depend on $NLCB */

    netlink->received = g_malloc(IBH_RECEIVE_SIZE);
    netlink->pool = ibh_pool_new();
    netlink->socket = callbacks ? nl_socket_alloc_cb(callbacks) : NULL;
    if (callbacks)
        nl_cb_put(callbacks);
    if (!netlink->socket) {
        set_nl_error(error, "cannot open a socket", -NLE_NOMEM);
        return NULL;
    }
    return connect_socket(netlink, error) ? g_steal_pointer(&netlink) : NULL;
}

void ibh_netlink_close(IbhNetlink *netlink)
{
    if (!netlink)
        return;
    if (netlink->socket)
        nl_socket_free(netlink->socket);
    g_hash_table_unref(netlink->pool);
    g_free(netlink->received);
    g_free(netlink);
}

guint64 ibh_netlink_namespace_cookie(IbhNetlink *netlink)
{
    return ibh_socket_netns_cookie(nl_socket_get_fd(netlink->socket));
}

/* ---- an exchange ---- */

/* Reads the message that ends an answer. NLMSG_DONE ends a dump; NLMSG_ERROR answers a change, or refuses any request.
 * Each begins with an error number: 0 for success, else a negative errno. An NLMSG_DONE without this number counts as
 * success. In an NLMSG_ERROR, the request follows, or with NLM_F_CAPPED only the request's header. Attributes, such as
 * the error text, come last. Returns FALSE if the message is malformed. */
static gboolean read_end(Exchange *exchange, const struct nlmsghdr *header)
{
    const struct nlmsgerr *answer = nlmsg_data(header);
    const gsize size = (gsize)nlmsg_datalen(header);
    const gint32 error = size < sizeof answer->error ? 0 : answer->error;
    gsize attributes_at = sizeof answer->error;

    if (header->nlmsg_type == NLMSG_ERROR) {
        if (size < sizeof *answer)
            return FALSE;
        attributes_at += header->nlmsg_flags & NLM_F_CAPPED ? sizeof answer->msg : NLMSG_ALIGN(answer->msg.nlmsg_len);
    }
    if (error > 0 || error < -ERRNO_MAX)
        return FALSE;
    exchange->done = TRUE;
    exchange->error = -error;
    if (header->nlmsg_flags & NLM_F_ACK_TLVS && attributes_at < size)
        get_string(nla_find((const void *)((const char *)answer + attributes_at), (int)(size - attributes_at),
                            NLMSGERR_ATTR_MSG),
                   exchange->words, sizeof exchange->words);
    return TRUE;
}

/* Reads datagrams until the answer is complete. Returns NULL if the answer could be read, even if the answer is that
 * the kernel refuses the request (exchange->error). */
static Problem receive_answer(IbhNetlink *netlink, Exchange *exchange)
{
    struct nlmsghdr *header;
    struct sockaddr_nl from;
    struct iovec space = {.iov_base = netlink->received, .iov_len = IBH_RECEIVE_SIZE};

    while (!exchange->done) {
        struct msghdr message = {.msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &space, .msg_iovlen = 1};
        int left = (int)recvmsg(nl_socket_get_fd(netlink->socket), &message, 0);

        if (left < 0 && errno == EINTR)
            continue;
        if (left < 0)
            return errno == ENOBUFS ? OVERRUN : "cannot read the answer: none came within a second";
        if (message.msg_flags & MSG_TRUNC)
            return UNREADABLE;
        if (message.msg_namelen != sizeof from || from.nl_pid != 0) /* only the kernel has port 0 */
            continue;
        header = (void *)netlink->received;
        if (nlmsg_ok(header, left) && header->nlmsg_type == exchange->type)
            netlink->datagrams++;
        for (; !exchange->done && nlmsg_ok(header, left); header = nlmsg_next(header, &left)) {
            gboolean is_readable = TRUE;

            if (header->nlmsg_seq != exchange->sequence)
                continue;
            exchange->changed |= (header->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
            if (header->nlmsg_type == NLMSG_OVERRUN)
                return OVERRUN;
            if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR) {
                is_readable = read_end(exchange, header);
            } else if (exchange->each && header->nlmsg_type == exchange->type) {
                exchange->done = !(header->nlmsg_flags & NLM_F_MULTI); /* no NLMSG_DONE follows a single object */
                is_readable = exchange->each(header, exchange->data);
            }
            if (!is_readable)
                return UNREADABLE;
        }
    }
    return NULL;
}

gboolean ibh_netlink_talk(IbhNetlink *netlink, struct nl_msg *message, IbhMessageFunc each, gpointer data,
                          GError **error)
{
    Exchange exchange = {.each = each, .data = data};
    int result = nl_send_auto(netlink->socket, message);
    Problem problem;

    if (result < 0)
        return set_nl_error(error, "cannot send a request", result);
    netlink->datagrams = 0;
    exchange.sequence = nlmsg_hdr(message)->nlmsg_seq;
    /* RTM_GETx asks for objects of the type RTM_NEWx; the distance between the two numbers is the same for all x. For a
     * change, exchange.type has no meaning, because no objects come. */
    exchange.type = (guint16)(nlmsg_hdr(message)->nlmsg_type - RTM_GETLINK + RTM_NEWLINK);
    problem = receive_answer(netlink, &exchange);
    if (problem) {
        /* Until the kernel has sent all of a dump, the same socket cannot begin another dump. So open the socket again.
         * If that fails, all later requests fail; but the error must still say that this answer was not read, because
         * the kernel may have made the change. */
        (void)connect_socket(netlink, NULL);
        g_set_error(error, IBH_ANSWER_LOST, EBADMSG, "netlink: %s", problem);
        return FALSE;
    }
    if (exchange.error) {
        const char *plain = g_strerror(exchange.error);

        if (exchange.words[0])
            g_set_error(error, IBH_NETLINK_ERROR, exchange.error, "%s (%s)", exchange.words, plain);
        else
            g_set_error_literal(error, IBH_NETLINK_ERROR, exchange.error, plain);
        return FALSE;
    }
    if (exchange.changed) {
        g_set_error_literal(error, IBH_NETLINK_ERROR, EINTR, "the kernel's state kept changing while it was read");
        return FALSE;
    }
    return TRUE;
}
