/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes to the journal which rails are missing. */
#include "watch/watch.h"

#include "check/check.h"
#include "check/missing.h"
#include "run/run.h"

/* How long a rail must be missing before we report it: a link may still be training, or a DHCP server may be slow. */
#define WHILE (10 * G_USEC_PER_SEC)

/* Writes to the journal what has become of a rail. If the rail's NIC is gone, the line has the PCI address, if known,
 * because another NIC may have the rail's name now. */
static void say_missing(int priority, const IbhKnownRail *one)
{
    static const char *const happened[] = {
        [IBH_IS_THERE] = "is back",
        [IBH_ON_PURPOSE] = "is administratively down",
        [IBH_ELSEWHERE] = "has no interface in this network namespace",
        [IBH_LACKS_ADDRESS] = "has a link, but no configured address",
        [IBH_LACKS_SUBNET] = "has an address with the prefix length of a single host",
        [IBH_LACKS_CARRIER] = "lost its link",
        [IBH_LACKS_RDMA] = "lost its RDMA device",
        [IBH_IS_GONE] = "is gone: its hardware is not there, or no driver has it",
        [IBH_NO_SUCH_NIC] = "is not there: the configuration has manage=yes for it, and no NIC has this name",
    };
    g_autoptr(GString) text = g_string_new(one->iface);
    g_autofree char *pci = ibh_known_pci(one);
    char ip[IBH_IP_STRLEN];

    if (one->port[0]) {
        g_string_append_printf(text, " (%s", one->port);
        if (!one->link && pci)
            g_string_append_printf(text, ", PCI %s", pci);
        g_string_append_c(text, ')');
    }
    g_string_append_printf(text, " %s", happened[one->why]);
    if (one->n_addresses && ibh_missing_is_fault(one->why))
        g_string_append_printf(text, "; its address was %s", ibh_ip_format(&one->addresses[0], ip));
    ibh_log_lines(priority, text->str, TRUE);
}

/* If a rail whose fault was reported has no fault or another fault now, reports the change at once. Otherwise, reports
 * a fault when it has lasted for WHILE. Reports nothing about a rail that `missed` no longer has, because then nobody
 * expects a rail there any more (IBH_FORGOTTEN: manage=no, a port of a bond and so on). */
gint64 ibh_missing_log(GArray **last, GArray *missed, gint64 now)
{
    g_autoptr(GArray) before = NULL;
    gint64 next = G_MAXINT64;

    if (!missed)
        return next;
    before = *last;
    *last = g_array_ref(missed);
    IBH_EACH (IbhKnownRail, one, missed) {
        const IbhKnownRail *old = ibh_missing_find_same(before, one);
        const gboolean stays = old && old->why == one->why;

        one->due = stays ? old->due : now + WHILE;
        /* `due` is 0 if the fault has been reported. */
        if (old && !stays && ibh_missing_is_fault(old->why) && !old->due) {
            say_missing(LOG_NOTICE, one);
            one->due = 0;
        }
        if (!ibh_missing_is_fault(one->why) || !one->due)
            continue;
        if (one->due <= now) {
            say_missing(LOG_WARNING, one);
            one->due = 0;
        } else {
            next = MIN(next, one->due);
        }
    }
    return next;
}
