/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/dump.h"

#include <errno.h>

#define DUMP_TRIES 8

/* If links or addresses change during their dump, some may be missing or come twice, and the kernel sets
 * NLM_F_DUMP_INTR. Then read the dump again from the start. */
gboolean ibh_netlink_dump(IbhNetlink *netlink, struct nl_msg *message, IbhMessageFunc each, gpointer data,
                          GArray *array, const char *what, GError **error)
{
    const guint before = array->len;
    g_autoptr(GError) local = NULL;

    for (int attempt = 1; !ibh_netlink_talk(netlink, message, each, data, &local); attempt++) {
        g_array_set_size(array, before);
        if (local->code != EINTR || attempt == DUMP_TRIES)
            break;
        g_clear_error(&local);
        nlmsg_hdr(message)->nlmsg_seq = NL_AUTO_SEQ;
        g_usleep((gulong)attempt * 1000);
    }
    nlmsg_free(message);
    /* Without the device or the table, there is nothing to read. (A new namespace has no main table for IPv4.) */
    if (!local || local->code == ENODEV || local->code == ENOENT)
        return TRUE;
    g_propagate_prefixed_error(error, g_steal_pointer(&local), "cannot read %s: ", what);
    return FALSE;
}

struct nl_msg *ibh_message_new(int type, int flags, gconstpointer fixed, gsize size)
{
    struct nl_msg *message = nlmsg_alloc_simple(type, NLM_F_REQUEST | flags);

    if (!message || nlmsg_append(message, (void *)(guintptr)fixed, size, NLMSG_ALIGNTO) < 0)
        g_error("out of memory"); /* GLib aborts as well */
    return message;
}
