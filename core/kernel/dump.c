/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/dump.h"

#include <errno.h>

#define DUMP_TRIES 8

/* TRUE if the elements of `array` from index `first` on equal the elements of `earlier`, in the same order. `earlier`
 * is the dump before this one; NULL if there was none. */
static gboolean repeats_earlier(const GArray *earlier, const GArray *array, guint first, GCompareFunc compare)
{
    const guint size = g_array_get_element_size((GArray *)(guintptr)array);

    if (!earlier || earlier->len != array->len - first)
        return FALSE;
    for (guint i = 0; i < earlier->len; i++) {
        if (compare(earlier->data + (gsize)i * size, array->data + (gsize)(first + i) * size) != 0)
            return FALSE;
    }
    return TRUE;
}

/* If links or addresses change during their dump, some may be missing or come twice, and the kernel sets
 * NLM_F_DUMP_INTR: then read again from the start. For rules and IPv6 routes, the kernel sets no flag: between
 * two datagrams, the kernel remembers only a position in its list. If another program adds or deletes a rule or route
 * between two datagrams, the dump repeats or skips a rule or route. A run that misses a rule or route may take down a
 * rail. So, with `compare`, read a dump of several datagrams until two dumps in a row are equal. (read.c says why a
 * dump of only IPv4 routes needs no `compare`.) */
gboolean ibh_netlink_dump(IbhNetlink *netlink, struct nl_msg *message, IbhMessageFunc each, gpointer data,
                          GArray *array, GCompareFunc compare, const char *what, GError **error)
{
    const guint before = array->len;
    g_autoptr(GArray) earlier = NULL;
    g_autoptr(GError) local = NULL;

    for (int attempt = 1;; attempt++) {
        if (ibh_netlink_talk(netlink, message, each, data, &local)) {
            if (!compare || netlink->datagrams < 2 || repeats_earlier(earlier, array, before, compare))
                break;
            g_clear_pointer(&earlier, g_array_unref);
            earlier = g_array_new(FALSE, FALSE, g_array_get_element_size(array));
            g_array_append_vals(earlier, array->data + (gsize)before * g_array_get_element_size(array),
                                array->len - before);
            /* Read again, as after an interrupted dump. The caller sees this error only after the last attempt. */
            g_set_error_literal(&local, IBH_NETLINK_ERROR, EINTR, "they kept changing while they were read");
        }
        g_array_set_size(array, before);
        if (local->code != EINTR || attempt == DUMP_TRIES)
            break;
        g_clear_error(&local);
        nlmsg_hdr(message)->nlmsg_seq = NL_AUTO_SEQ; /* libnl gives the repeated request a new number */
        g_usleep((gulong)(attempt - 1) * 1000);
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
        g_error("out of memory"); /* aborts, as GLib does */
    return message;
}
