/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/dump.h"

#include <errno.h>

#define DUMP_TRIES 8

/* A dump that changed under way may lack something or have it twice: it is read again, from the start. */
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
    /* No such device; or no such table, as main before the first IPv4 address of a namespace: nothing is in it. */
    if (!local || local->code == ENODEV || local->code == ENOENT)
        return TRUE;
    g_propagate_prefixed_error(error, g_steal_pointer(&local), "cannot read %s: ", what);
    return FALSE;
}

struct nl_msg *ibh_message_new(int type, int flags, gconstpointer fixed, gsize size)
{
    struct nl_msg *message = nlmsg_alloc_simple(type, NLM_F_REQUEST | flags);

    if (!message || nlmsg_append(message, (void *)(guintptr)fixed, size, NLMSG_ALIGNTO) < 0)
        g_error("out of memory"); /* as GLib does */
    return message;
}
