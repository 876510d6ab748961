/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include "kernel/dump.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/socket.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>

/* What headers of Linux 4.18 do not have. */
#ifndef NETLINK_GET_STRICT_CHK
#define NETLINK_GET_STRICT_CHK 12
#endif

#define ERRNO_MAX 4095 /* the kernel's MAX_ERRNO */

struct IbhNetlink {
    struct nl_sock *socket;
    char *received;
    gboolean strict;
    guint datagrams; /* in which objects of the last answer came */
    GHashTable *pool;
};

/* What may become of an answer: NULL, or in words. */
typedef const char *Problem;
static const char UNREADABLE[] = "a message of the kernel could not be read";
static const char OVERRUN[] = "cannot read the answer: the kernel dropped a part of it";
static const char NO_ANSWER[] = "cannot read the answer: none came within a second";

/* One request and what came back for it. */
typedef struct {
    guint32 sequence; /* of the request: an answer with another number (a late one) is ignored */
    guint16 type;     /* of what answers it, RTM_NEWROUTE for RTM_GETROUTE: another one is ignored, too */
    IbhMessageFunc each;
    gpointer data;
    gboolean done;
    gboolean changed; /* the kernel's state, while it was dumped */
    int error;        /* errno the kernel answered with */
    char words[200];
} Exchange;

static gboolean set_nl_error(GError **error, const char *doing, int nl_error)
{
    g_set_error(error, IBH_NETLINK_ERROR, EIO, "netlink: %s: %s", doing, nl_geterror(nl_error));
    return FALSE;
}

/* Opens the socket anew; if it was open before, with the same port: by that --watch knows our own changes. */
static gboolean connect_socket(IbhNetlink *netlink, GError **error)
{
    const int on = 1;
    const struct timeval patience = {.tv_sec = 1};
    int result, fd;

    nl_close(netlink->socket);
    result = nl_connect(netlink->socket, NETLINK_ROUTE);
    if (result < 0)
        return set_nl_error(error, "cannot open a socket", result);
    nl_socket_disable_auto_ack(netlink->socket); /* a look-up has one answer; changes ask for their own */
    fd = nl_socket_get_fd(netlink->socket);
    /* The kernel answers before the request returns: an answer that is not there then never comes. */
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    /* Old kernels lack both: then dumps come unfiltered (the readers filter again) and errors without words */
    netlink->strict = setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on) == 0;
    (void)setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on);
    return TRUE;
}

IbhNetlink *ibh_netlink_open(GError **error)
{
    g_autoptr(IbhNetlink) netlink = g_new0(IbhNetlink, 1);
    struct nl_cb *callbacks =
        nl_cb_alloc(NL_CB_CUSTOM); /* own callbacks: the default set obeys the environment (NLCB) */

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

GHashTable *ibh_netlink_pool(IbhNetlink *netlink)
{
    return netlink->pool;
}

guint64 ibh_netlink_namespace_cookie(IbhNetlink *netlink)
{
    return ibh_socket_netns_cookie(nl_socket_get_fd(netlink->socket));
}

guint32 ibh_netlink_port(IbhNetlink *netlink)
{
    return nl_socket_get_local_port(netlink->socket);
}

gboolean ibh_netlink_name(IbhNetlink *netlink, int ifindex, char ret_name[IFNAMSIZ])
{
    struct ifreq request = {.ifr_ifindex = ifindex};

    if (ioctl(nl_socket_get_fd(netlink->socket), SIOCGIFNAME, &request) < 0)
        return FALSE;
    g_strlcpy(ret_name, request.ifr_name, IFNAMSIZ);
    return TRUE;
}

guint ibh_netlink_datagrams(const IbhNetlink *netlink)
{
    return netlink->datagrams;
}

gboolean ibh_netlink_is_strict(const IbhNetlink *netlink)
{
    return netlink->strict;
}

/* ---- an exchange ---- */

/* The end of a dump tells whether it was whole; an acknowledgement is an error of number 0, behind which comes the
 * request, or only its header. The kernel's own words are an attribute behind that (NLMSGERR_ATTR_MSG). */
static Problem on_end(Exchange *exchange, const struct nlmsghdr *header)
{
    const struct nlmsgerr *answer = nlmsg_data(header);
    const gsize size = (gsize)nlmsg_datalen(header);
    const gint32 error = size < sizeof answer->error ? 0 : answer->error; /* negative; 0: none */
    gsize words = sizeof answer->error;

    if (header->nlmsg_type == NLMSG_ERROR) {
        if (size < sizeof *answer)
            return UNREADABLE;
        words += header->nlmsg_flags & NLM_F_CAPPED ? sizeof answer->msg : NLMSG_ALIGN(answer->msg.nlmsg_len);
    }
    if (error > 0 || error < -ERRNO_MAX)
        return UNREADABLE;
    exchange->done = TRUE;
    exchange->error = -error;
    if (header->nlmsg_flags & NLM_F_ACK_TLVS && words < size)
        get_string(nla_find((const void *)((const char *)answer + words), (int)(size - words), NLMSGERR_ATTR_MSG),
                   exchange->words, sizeof exchange->words);
    return NULL;
}

static Problem on_message(Exchange *exchange, struct nlmsghdr *header)
{
    switch (header->nlmsg_type) {
    case NLMSG_OVERRUN:
        return OVERRUN;
    case NLMSG_DONE:
    case NLMSG_ERROR:
        return on_end(exchange, header);
    default:
        if (!exchange->each || header->nlmsg_type != exchange->type)
            return NULL;
        exchange->done = !(header->nlmsg_flags & NLM_F_MULTI);
        return exchange->each(header, exchange->data) ? NULL : UNREADABLE;
    }
}

static Problem on_datagram(IbhNetlink *netlink, Exchange *exchange, int left)
{
    struct nlmsghdr *header = (void *)netlink->received;
    Problem problem = NULL;

    netlink->datagrams += header->nlmsg_type == exchange->type;
    for (; !problem && !exchange->done && nlmsg_ok(header, left); header = nlmsg_next(header, &left)) {
        if (header->nlmsg_seq != exchange->sequence)
            continue;
        exchange->changed |= (header->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
        problem = on_message(exchange, header);
    }
    return problem;
}

static Problem receive(IbhNetlink *netlink, Exchange *exchange)
{
    struct sockaddr_nl from;
    struct iovec space = {.iov_base = netlink->received, .iov_len = IBH_RECEIVE_SIZE};
    Problem problem = NULL;

    while (!problem && !exchange->done) {
        struct msghdr message = {.msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &space, .msg_iovlen = 1};
        gssize length = recvmsg(nl_socket_get_fd(netlink->socket), &message, 0);

        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0)
            problem = errno == ENOBUFS ? OVERRUN : NO_ANSWER;
        else if (message.msg_flags & MSG_TRUNC)
            problem = UNREADABLE;
        else if (message.msg_namelen == sizeof from && from.nl_pid == 0) /* from the kernel only */
            problem = on_datagram(netlink, exchange, (int)length);
    }
    return problem;
}

static gboolean set_problem(Problem problem, GError **error)
{
    if (problem == UNREADABLE)
        g_set_error(error, IBH_NETLINK_ERROR, EBADMSG, "netlink: %s", problem);
    else
        g_set_error(error, IBH_ANSWER_LOST, 0, "netlink: %s", problem);
    return FALSE;
}

static gboolean set_refusal(const Exchange *exchange, GError **error)
{
    const char *plain = g_strerror(exchange->error);

    if (exchange->words[0])
        g_set_error(error, IBH_NETLINK_ERROR, exchange->error, "%s (%s)", exchange->words, plain);
    else
        g_set_error_literal(error, IBH_NETLINK_ERROR, exchange->error, plain);
    return FALSE;
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
    exchange.type = (guint16)(nlmsg_hdr(message)->nlmsg_type - RTM_GETLINK + RTM_NEWLINK);
    problem = receive(netlink, &exchange);
    if (problem) /* the rest of this answer would be taken for the next one */
        return connect_socket(netlink, error) && set_problem(problem, error);
    if (exchange.error)
        return set_refusal(&exchange, error);
    if (exchange.changed) {
        g_set_error_literal(error, IBH_NETLINK_ERROR, EINTR, "the kernel's state kept changing while it was read");
        return FALSE;
    }
    return TRUE;
}
