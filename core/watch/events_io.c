/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/events_io.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFER_SIZE (1024 * 1024) /* bytes of events that may wait while we work; after more, all is read again */
#define RECEIVE_SIZE (32 * 1024)  /* bytes of one datagram: the kernel sends no longer one */

/* ---- sockets ---- */

static int open_socket(int protocol, guint32 groups)
{
    const int size = BUFFER_SIZE;
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

#define GROUP(number) (1u << (number) >> 1)

gboolean ibh_events_open(IbhEvents *events, GError **error)
{
    const guint32 groups = GROUP(RTNLGRP_LINK) | GROUP(RTNLGRP_IPV4_IFADDR) | GROUP(RTNLGRP_IPV6_IFADDR) |
                           GROUP(RTNLGRP_IPV4_ROUTE) | GROUP(RTNLGRP_IPV6_ROUTE) | GROUP(RTNLGRP_IPV4_RULE) |
                           GROUP(RTNLGRP_IPV6_RULE) | GROUP(RTNLGRP_IPV4_NETCONF) | GROUP(RTNLGRP_IPV6_NETCONF);
    const int nexthops = RTNLGRP_NEXTHOP; /* beyond the groups that an address has bits for */

    *events = (IbhEvents){.netlink = open_socket(NETLINK_ROUTE, groups), .uevents = -1};
    if (events->netlink < 0) {
        g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno),
                    "--watch cannot subscribe to the kernel's events: %s", ibh_errno_text(errno));
        return FALSE;
    }
    /* Before Linux 5.3 there are none. */
    (void)setsockopt(events->netlink, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &nexthops, sizeof nexthops);
    events->uevents = open_socket(NETLINK_KOBJECT_UEVENT, 1);
    return TRUE;
}

void ibh_events_close(IbhEvents *events)
{
    if (events->netlink >= 0)
        close(events->netlink);
    if (events->uevents >= 0)
        close(events->uevents);
    events->netlink = events->uevents = -1;
    g_clear_pointer(&events->filter, g_array_unref);
}

/* ---- the filter ---- */

gboolean ibh_events_focus(IbhEvents *events, const IbhFocus *focus)
{
    g_autoptr(GArray) before = events->filter, filter = ibh_focus_filter(focus);
    const struct sock_fprog program = {.len = (guint16)filter->len, .filter = (gpointer)filter->data};
    const gboolean fits = filter->len <= BPF_MAXINSNS;
    const int nothing = 0; /* the kernel looks at no option without a value */

    events->filter = g_array_ref(filter);
    if (before && before->len == filter->len &&
        memcmp(before->data, filter->data, before->len * sizeof(struct sock_filter)) == 0)
        return FALSE;
    /* The old program would drop events of new subnets. The kernel counts both against net.core.optmem_max: so the new
     * one is tried again without the old one. With none, all events are heard, which only costs time. */
    if (!fits || setsockopt(events->netlink, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0) {
        (void)setsockopt(events->netlink, SOL_SOCKET, SO_DETACH_FILTER, &nothing, sizeof nothing);
        if (fits)
            (void)setsockopt(events->netlink, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
    }
    return before != NULL;
}

/* ---- reading ---- */

/* Messages come from the kernel alone: the port of the sender is 0. */
static gssize receive(int fd, char *buffer, gboolean *ret_overrun)
{
    struct sockaddr_nl from = {.nl_pid = 0};
    socklen_t size = sizeof from;
    gssize length;

    do
        length = recvfrom(fd, buffer, RECEIVE_SIZE, 0, (struct sockaddr *)&from, &size);
    while ((length < 0 && errno == EINTR) || (length >= 0 && from.nl_pid != 0));
    *ret_overrun = length < 0 && errno == ENOBUFS;
    return length;
}

gboolean ibh_events_drain(const IbhEvents *events, guint32 own, IbhHeard *heard)
{
    static const char rdma[] = "SUBSYSTEM=infiniband";
    g_autofree char *buffer = g_malloc(RECEIVE_SIZE);
    gboolean concerns = FALSE, overrun = FALSE; /* what was lost may have concerned us */
    gssize length;

    while ((length = receive(events->netlink, buffer, &overrun)) >= 0 || overrun) {
        struct nlmsghdr *header = (void *)buffer;
        int left = (int)length;

        concerns |= overrun;
        for (; nlmsg_ok(header, left); header = nlmsg_next(header, &left)) {
            if (own && header->nlmsg_pid == own)
                continue;
            concerns = TRUE;
            ibh_heard_add(heard, header);
        }
    }
    while (events->uevents >= 0 && ((length = receive(events->uevents, buffer, &overrun)) >= 0 || overrun))
        concerns |= overrun || (length > 0 && memmem(buffer, (gsize)length, rdma, sizeof rdma));
    return concerns;
}
