/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by netlink*.c only. */
#pragma once

#include <glib.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

typedef struct IbhNetlink IbhNetlink;

/* Called for each message of an answer; FALSE: it could not be read. */
typedef gboolean (*IbhMessageFunc)(struct nlmsghdr *header, gpointer data);

/* Sends a request and reads all of its answer. A dump that changed under way is not repeated here: EINTR. */
gboolean ibh_netlink_talk(IbhNetlink *netlink, struct nl_msg *message, IbhMessageFunc each, gpointer data,
                          GError **error);
