/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the journal says of rails that are missing. */
#include "watch/watch.h"

#include "check/missing.h"
#include "run/run.h"

#include <string.h>

/* A link that trains again, a DHCP server that takes its time: no fault yet. */
#define WHILE (10 * G_USEC_PER_SEC)

/* Another NIC may have the name of one that is gone: the PCI address tells. */
static void say(int priority, const IbhKnownRail *one)
{
    static const char *const happened[] = {
        [IBH_IS_THERE] = "is back",
        [IBH_ON_PURPOSE] = "is administratively down",
        [IBH_ELSEWHERE] = "has no interface in this network namespace",
        [IBH_LACKS_ADDRESS] = "has link, but no address",
        [IBH_LACKS_CARRIER] = "lost its link",
        [IBH_LACKS_RDMA] = "lost its RDMA device",
        [IBH_IS_GONE] = "is gone: its hardware is not there, or no driver has it",
        [IBH_NO_SUCH_NIC] = "is not there: the configuration has manage=yes for it, and no NIC has this name",
    };
    const int pci_length = one->link || !strchr(one->slot, ':') ? 0 : (int)strcspn(one->slot, "/");
    g_autofree char *pci = g_strdup_printf("%s%.*s", pci_length ? ", PCI " : "", pci_length, one->slot);
    g_autofree char *port = one->port[0] ? g_strdup_printf(" (%s%s)", one->port, pci) : g_strdup("");
    g_autofree char *what = NULL, *text = NULL;
    char ip[IBH_IP_STRLEN];

    if (one->n_addresses && ibh_missing_is_fault(one->why))
        what = g_strdup_printf(": %s is not reachable", ibh_ip_format(&one->addresses[0], ip));
    text = g_strdup_printf("%s%s %s%s", one->iface, port, happened[one->why], what ? what : "");
    ibh_log_lines(priority, text, TRUE);
}

/* A fault that was said has its end when it is another one, or none. Of a NIC that is not missed any more on purpose
 * (manage=no, a port of a bond) nothing is said. */
gint64 ibh_missing_log(GArray **last, GArray *missed, gint64 now)
{
    g_autoptr(GArray) before = NULL;
    gint64 next = G_MAXINT64;

    if (!missed)
        return next;
    before = *last;
    *last = g_array_ref(missed);
    IBH_EACH (IbhKnownRail, one, missed) {
        const IbhKnownRail *old = ibh_missing_again(before, one);
        const gboolean stays = old && old->why == one->why;

        one->due = stays ? old->due : now + WHILE;
        if (old && !stays && ibh_missing_is_fault(old->why) && !old->due) {
            say(LOG_NOTICE, one);
            one->due = 0;
        }
        if (!ibh_missing_is_fault(one->why) || !one->due)
            continue;
        if (one->due <= now) {
            say(LOG_WARNING, one);
            one->due = 0;
        } else {
            next = MIN(next, one->due);
        }
    }
    return next;
}
