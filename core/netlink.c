#include "netlink_private.h"

#include <errno.h>
#include <linux/netlink.h>
#include <netlink/socket.h>
#include <string.h>
#include <sys/socket.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

#define RECEIVE_SIZE (64 * 1024)

struct IbhNetlink {
    struct nl_sock *socket;
};

/* One request and what came back for it. */
typedef struct {
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
    int result;

    netlink->socket = nl_socket_alloc();
    if (!netlink->socket || (result = nl_connect(netlink->socket, NETLINK_ROUTE)) < 0) {
        set_nl_error(error, "cannot open a socket", netlink->socket ? result : -NLE_NOMEM);
        ibh_netlink_close(netlink);
        return NULL;
    }
    nl_socket_disable_auto_ack(netlink->socket); /* a look-up has one answer; changes ask for their own */
    nl_socket_disable_msg_peek(netlink->socket);
    nl_socket_set_msg_buf_size(netlink->socket, RECEIVE_SIZE);
    /* Both are missing in old kernels: then dumps come unfiltered (the readers filter again) and errors without words */
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

/* ---- an exchange ---- */

static int on_valid(struct nl_msg *message, void *data)
{
    Exchange *exchange = data;
    struct nlmsghdr *header = nlmsg_hdr(message);

    if (exchange->each && !exchange->each(header, exchange->data))
        exchange->unreadable = TRUE;
    if (!(header->nlmsg_flags & NLM_F_MULTI))
        exchange->done = TRUE;
    return NL_OK;
}

static int on_end(struct nl_msg *message, void *data)
{
    Exchange *exchange = data;

    (void)message;
    exchange->done = TRUE;
    return NL_OK;
}

/* The kernel's own words follow the error message as attributes (NLMSGERR_ATTR_MSG). */
static void copy_words(const struct nlmsghdr *header, const struct nlmsgerr *error, char *words, gsize size)
{
    const gsize head = sizeof(struct nlattr);
    gsize offset = sizeof *error, length = header->nlmsg_len - sizeof *header;
    const char *payload = (const char *)error;

    if (!(header->nlmsg_flags & NLM_F_ACK_TLVS))
        return;
    if (!(header->nlmsg_flags & NLM_F_CAPPED))
        offset += NLMSG_ALIGN(error->msg.nlmsg_len) - sizeof *header;
    while (offset + head < length) {
        struct nlattr attribute;

        memcpy(&attribute, payload + offset, head);
        if (attribute.nla_len < head || attribute.nla_len > length - offset)
            return;
        if ((attribute.nla_type & NLA_TYPE_MASK) == NLMSGERR_ATTR_MSG) {
            gsize n = MIN(size - 1, attribute.nla_len - head);

            memcpy(words, payload + offset + head, n);
            words[n] = '\0';
            return;
        }
        offset += ((gsize)attribute.nla_len + NLA_ALIGNTO - 1) & ~(gsize)(NLA_ALIGNTO - 1);
    }
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *error, void *data)
{
    Exchange *exchange = data;
    const struct nlmsghdr *header = (const void *)((const char *)error - NLMSG_HDRLEN);

    (void)from;
    exchange->done = TRUE;
    exchange->error = -error->error;
    copy_words(header, error, exchange->words, sizeof exchange->words);
    return NL_STOP;
}

static int receive(IbhNetlink *netlink, Exchange *exchange)
{
    struct nl_cb *callbacks = nl_cb_alloc(NL_CB_CUSTOM);
    int result = callbacks ? 0 : -NLE_NOMEM;

    if (callbacks) {
        nl_cb_set(callbacks, NL_CB_VALID, NL_CB_CUSTOM, on_valid, exchange);
        nl_cb_set(callbacks, NL_CB_FINISH, NL_CB_CUSTOM, on_end, exchange);
        nl_cb_set(callbacks, NL_CB_ACK, NL_CB_CUSTOM, on_end, exchange);
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
        set_nl_error(error, "cannot read the answer", result);
        return FALSE;
    }
    if (exchange.unreadable) {
        g_set_error_literal(error, IBH_NETLINK_ERROR, EBADMSG, "netlink: a message of the kernel could not be read");
        return FALSE;
    }
    return TRUE;
}
