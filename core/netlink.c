#include "netlink_private.h"

#include <errno.h>
#include <linux/netlink.h>
#include <netlink/socket.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

#define RECEIVE_SIZE (64 * 1024)

struct IbhNetlink {
    struct nl_sock *socket;
};

/* One request and what came back for it. */
typedef struct {
    guint32 sequence; /* of the request: what answers another one (a late answer) is passed over */
    IbhMessageFunc each;
    gpointer data;
    gboolean done;
    gboolean unreadable;
    int error; /* errno the kernel answered with */
    char words[200];
} Exchange;

static void set_nl_error(GError **error, const char *doing, int nl_error)
{
    g_set_error(error, IBH_NETLINK_ERROR, EIO, "netlink: %s: %s", doing, nl_geterror(nl_error));
}

IbhNetlink *ibh_netlink_open(GError **error)
{
    IbhNetlink *netlink = g_new0(IbhNetlink, 1);
    const int on = 1;
    const struct timeval patience = {.tv_sec = 1};
    int result = 0;
    struct nl_cb *callbacks =
        nl_cb_alloc(NL_CB_CUSTOM); /* of our own: the default set goes by the environment (NLCB) */

    netlink->socket = callbacks ? nl_socket_alloc_cb(callbacks) : NULL;
    if (callbacks)
        nl_cb_put(callbacks);
    if (!netlink->socket || (result = nl_connect(netlink->socket, NETLINK_ROUTE)) < 0) {
        set_nl_error(error, "cannot open a socket", netlink->socket ? result : -NLE_NOMEM);
        ibh_netlink_close(netlink);
        return NULL;
    }
    nl_socket_disable_auto_ack(netlink->socket); /* a look-up has one answer; changes ask for their own */
    nl_socket_disable_msg_peek(netlink->socket);
    nl_socket_set_msg_buf_size(netlink->socket, RECEIVE_SIZE);
    /* The kernel answers before a request is sent to its end: what is not there then never comes. */
    (void)setsockopt(nl_socket_get_fd(netlink->socket), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    /* Both are missing in old kernels: then dumps come unfiltered (the readers filter again) and errors without words
     */
    (void)setsockopt(nl_socket_get_fd(netlink->socket), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on);
    (void)setsockopt(nl_socket_get_fd(netlink->socket), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on);
    return netlink;
}

void ibh_netlink_close(IbhNetlink *netlink)
{
    if (!netlink)
        return;
    nl_socket_free(netlink->socket);
    g_free(netlink);
}

guint64 ibh_netlink_namespace_cookie(IbhNetlink *netlink)
{
    guint64 cookie = 0;
    socklen_t size = sizeof cookie;

    if (getsockopt(nl_socket_get_fd(netlink->socket), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) < 0)
        return 0;
    return cookie;
}

guint32 ibh_netlink_port(IbhNetlink *netlink)
{
    return nl_socket_get_local_port(netlink->socket);
}

/* ---- an exchange ---- */

static int on_valid(struct nl_msg *message, void *data)
{
    Exchange *exchange = data;
    struct nlmsghdr *header = nlmsg_hdr(message);

    if (header->nlmsg_seq != exchange->sequence)
        return NL_SKIP;
    if (exchange->each && !exchange->each(header, exchange->data))
        exchange->unreadable = TRUE;
    if (!(header->nlmsg_flags & NLM_F_MULTI))
        exchange->done = TRUE;
    return NL_OK;
}

static int on_ack(struct nl_msg *message, void *data)
{
    Exchange *exchange = data;

    if (nlmsg_hdr(message)->nlmsg_seq == exchange->sequence)
        exchange->done = TRUE;
    return NL_OK;
}

/* The kernel's own words are an attribute behind an error (NLMSGERR_ATTR_MSG). */
static void copy_words(Exchange *exchange, const char *attributes, gsize length)
{
    const gsize head = sizeof(struct nlattr);

    while (length > head) {
        struct nlattr attribute;
        gsize step;

        memcpy(&attribute, attributes, head);
        if (attribute.nla_len < head || attribute.nla_len > length)
            return;
        if ((attribute.nla_type & NLA_TYPE_MASK) == NLMSGERR_ATTR_MSG) {
            gsize n = MIN(sizeof exchange->words - 1, attribute.nla_len - head);

            memcpy(exchange->words, attributes + head, n);
            exchange->words[n] = '\0';
            return;
        }
        step = ((gsize)attribute.nla_len + NLA_ALIGNTO - 1) & ~(gsize)(NLA_ALIGNTO - 1);
        attributes += step;
        length -= MIN(step, length);
    }
}

static void copy_words_behind(Exchange *exchange, const struct nlmsghdr *header, gsize offset)
{
    gsize length = header->nlmsg_len - sizeof *header;

    if ((header->nlmsg_flags & NLM_F_ACK_TLVS) && offset < length)
        copy_words(exchange, (const char *)header + sizeof *header + offset, length - offset);
}

/* The end of a dump tells whether it was whole: a negative errno, which libnl does not look at. */
static int on_finish(struct nl_msg *message, void *data)
{
    Exchange *exchange = data;
    const struct nlmsghdr *header = nlmsg_hdr(message);
    gint32 error;

    if (header->nlmsg_seq != exchange->sequence)
        return NL_SKIP;
    exchange->done = TRUE;
    if (header->nlmsg_len >= sizeof *header + sizeof error) {
        memcpy(&error, (const char *)header + sizeof *header, sizeof error);
        if (error < 0) {
            exchange->error = -error;
            copy_words_behind(exchange, header, sizeof error);
        }
    }
    return NL_OK;
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *error, void *data)
{
    Exchange *exchange = data;
    const struct nlmsghdr *header = (const void *)((const char *)error - NLMSG_HDRLEN);
    gsize request = header->nlmsg_flags & NLM_F_CAPPED ? 0 : NLMSG_ALIGN(error->msg.nlmsg_len) - sizeof *header;

    (void)from;
    if (header->nlmsg_seq != exchange->sequence)
        return NL_SKIP;
    exchange->done = TRUE;
    exchange->error = -error->error;
    copy_words_behind(exchange, header, sizeof *error + request);
    return NL_STOP;
}

static int receive(IbhNetlink *netlink, Exchange *exchange)
{
    struct nl_cb *callbacks = nl_cb_alloc(NL_CB_CUSTOM);
    int result = callbacks ? 0 : -NLE_NOMEM;

    if (callbacks) {
        nl_cb_set(callbacks, NL_CB_VALID, NL_CB_CUSTOM, on_valid, exchange);
        nl_cb_set(callbacks, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, exchange);
        nl_cb_set(callbacks, NL_CB_ACK, NL_CB_CUSTOM, on_ack, exchange);
        nl_cb_err(callbacks, NL_CB_CUSTOM, on_error, exchange);
        while (!exchange->done && result >= 0)
            result = nl_recvmsgs(netlink->socket, callbacks);
        nl_cb_put(callbacks);
    }
    return result;
}

gboolean ibh_netlink_talk(IbhNetlink *netlink, struct nl_msg *message, IbhMessageFunc each, gpointer data,
                          GError **error)
{
    Exchange exchange = {.each = each, .data = data};
    int result = nl_send_auto(netlink->socket, message);

    if (result < 0) {
        set_nl_error(error, "cannot send a request", result);
        return FALSE;
    }
    exchange.sequence = nlmsg_hdr(message)->nlmsg_seq;
    result = receive(netlink, &exchange);
    if (exchange.error) {
        const char *plain = g_strerror(exchange.error);

        if (exchange.words[0])
            g_set_error(error, IBH_NETLINK_ERROR, exchange.error, "%s (%s)", exchange.words, plain);
        else
            g_set_error_literal(error, IBH_NETLINK_ERROR, exchange.error, plain);
        return FALSE;
    }
    if (result == -NLE_DUMP_INTR) {
        g_set_error_literal(error, IBH_NETLINK_ERROR, EINTR, "the kernel's state kept changing while it was read");
        return FALSE;
    }
    if (result < 0) {
        g_set_error(error, IBH_ANSWER_LOST, 0, "netlink: cannot read the answer: %s", nl_geterror(result));
        return FALSE;
    }
    if (exchange.unreadable) {
        g_set_error_literal(error, IBH_NETLINK_ERROR, EBADMSG, "netlink: a message of the kernel could not be read");
        return FALSE;
    }
    return TRUE;
}
