/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For code that exchanges messages with the kernel: the socket, a request and its answer, dumps, and the attributes of
 * a message.
 */
#pragma once

#include "model/model.h"

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <string.h>
#include <sys/socket.h>

#define IBH_NETLINK_ERROR (g_quark_from_static_string("ibh-netlink-error")) /* the code is an errno */

typedef struct IbhNetlink {
    struct nl_sock *socket;
    char *received;   /* a buffer of IBH_RECEIVE_SIZE */
    gboolean strict;  /* the kernel filters dumps of routes (since 4.20); older kernels filter them by family only */
    guint datagrams;  /* how many datagrams with objects the last answer had */
    GHashTable *pool; /* the nexthops and metrics of routes */
} IbhNetlink;

typedef struct nl_msg IbhMessage;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhMessage, nlmsg_free)

#define IBH_RECEIVE_SIZE (32 * 1024) /* the kernel's limit for one datagram of a dump */

/* Runs for each object of an answer. Returns FALSE if the message is malformed, or to stop reading; either makes
 * ibh_netlink_talk() fail. */
typedef gboolean (*IbhMessageFunc)(struct nlmsghdr *header, gpointer data);

/* Sends a request and reads the whole answer. `each` is NULL for a change, whose answer has no objects. The caller
 * frees `message`. On failure, the error has one of these codes:
 * - the errno with which the kernel refused the request;
 * - EINTR if the kernel's state changed during the dump;
 * - EIO if the request could not be sent;
 * - EBADMSG, of the domain IBH_ANSWER_LOST, if the whole answer could not be read. */
gboolean ibh_netlink_talk(IbhNetlink *netlink, struct nl_msg *message, IbhMessageFunc each, gpointer data,
                          GError **error);

/* Runs `each` with `data` for each object of a dump; `each` appends to `array`. Repeats a dump that was interrupted.
 * With `compare`, also repeats a dump of several datagrams until two dumps in a row are equal. Fails after DUMP_TRIES
 * attempts (dump.c). On failure, removes what was appended. Frees `message`. The dump of a missing link or table is
 * empty. `what` is for the error: "cannot read WHAT". */
gboolean ibh_netlink_dump(IbhNetlink *netlink, struct nl_msg *message, IbhMessageFunc each, gpointer data,
                          GArray *array, GCompareFunc compare, const char *what, GError **error);
/* Makes a request; adds NLM_F_REQUEST to `flags`. `fixed`, of `size` bytes, is the header that messages of this type
 * have, such as a struct rtmsg. The caller appends the attributes. */
struct nl_msg *ibh_message_new(int type, int flags, gconstpointer fixed, gsize size);

/* Reads a message about a route. The pool keeps the route's nexthops and metrics. Returns FALSE if the message is
 * malformed. */
gboolean ibh_route_read(struct nlmsghdr *header, GHashTable *pool, IbhRoute *ret_route);
/* Gives the route this list of nexthops (IbhHop), which the pool keeps, and the ifindex of the first nexthop. */
void ibh_route_set_hops(IbhRoute *route, const GArray *hops, GHashTable *pool);
/* If a unicast route names a nexthop object and no device, reads the object and fills in the route's nexthops. If the
 * object cannot be read, the route stays without nexthops. `objects` (id of an object → IbhRoute with this object)
 * keeps what was read, so that an object is read only once for many routes; NULL for a single route. */
void ibh_route_resolve_nexthop(IbhNetlink *netlink, GHashTable *objects, IbhRoute *route);

/* ---- attributes ---- */

/* Finds the attributes, which follow a header of `size` bytes, such as a struct rtmsg. Returns FALSE if the message is
 * malformed. */
static inline gboolean parse(struct nlmsghdr *header, gsize size, struct nlattr **attributes, int max)
{
    return nlmsg_valid_hdr(header, (int)size) && nlmsg_parse(header, (int)size, attributes, max, NULL) >= 0;
}

/* `attribute` and `nest` may be NULL in all functions below. If an attribute is absent or too short, find_in() returns
 * NULL, get_u32() `otherwise`, get_u8() 0, get_ip() the family AF_UNSPEC, get_prefix() an address of zeros with the
 * given length, and get_string() "". */

static inline struct nlattr *find_in(struct nlattr *nest, int type)
{
    return nest ? nla_find(nla_data(nest), nla_len(nest), type) : NULL;
}

static inline guint32 get_u32(struct nlattr *attribute, guint32 otherwise)
{
    return attribute && nla_len(attribute) >= 4 ? nla_get_u32(attribute) : otherwise;
}

static inline guint8 get_u8(struct nlattr *attribute)
{
    return attribute && nla_len(attribute) >= 1 ? nla_get_u8(attribute) : 0;
}

static inline IbhIp get_ip(struct nlattr *attribute, int family)
{
    if (!attribute || nla_len(attribute) < (family == AF_INET6 ? 16 : 4))
        return (IbhIp){.family = AF_UNSPEC};
    return ibh_ip_from_bytes(family, nla_data(attribute));
}

static inline IbhPrefix get_prefix(struct nlattr *attribute, int family, guint length)
{
    IbhIp any = {.family = family}, ip = get_ip(attribute, family);

    return ibh_prefix_of(ip.family ? &ip : &any, length);
}

static inline void get_string(struct nlattr *attribute, char *buffer, gsize size)
{
    buffer[0] = '\0';
    if (attribute)
        nla_strlcpy(buffer, attribute, size);
}
