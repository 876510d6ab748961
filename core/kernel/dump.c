/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/dump.h"

#include <errno.h>

#define DUMP_TRIES 8

/* A dump that changed under way may lack something or have it twice: it is read again, from the start. */
gboolean ibh_dump(IbhNetlink *netlink, struct nl_msg *message, IbhMessageFunc each, gpointer data, GArray *array,
                  const char *what, GError **error)
{
    guint before = array->len;

    for (int attempt = 1; message; attempt++) {
        g_autoptr(GError) local = NULL;

        if (ibh_netlink_talk(netlink, message, each, data, &local)) {
            nlmsg_free(message);
            return TRUE;
        }
        g_array_set_size(array, before);
        if (local->code != EINTR || attempt == DUMP_TRIES) {
            nlmsg_free(message);
            g_propagate_prefixed_error(error, g_steal_pointer(&local), "cannot read %s: ", what);
            return FALSE;
        }
        nlmsg_hdr(message)->nlmsg_seq = NL_AUTO_SEQ;
        g_usleep((gulong)attempt * 1000);
    }
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOMEM, "cannot read %s: out of memory", what);
    return FALSE;
}

struct nl_msg *ibh_request(int type, int flags, gconstpointer fixed, gsize size)
{
    struct nl_msg *message = nlmsg_alloc_simple(type, NLM_F_REQUEST | flags);

    if (message && nlmsg_append(message, (void *)(guintptr)fixed, size, NLMSG_ALIGNTO) < 0)
        g_clear_pointer(&message, nlmsg_free);
    return message;
}
