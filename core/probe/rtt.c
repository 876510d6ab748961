/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/rtt.h"

#include "probe/loss.h"
#include "model/text.h"

#include <string.h>

#define TIMES 20 /* an outlier takes so many times the usual, and at least so much (µs) more */
#define AT_LEAST_MORE 1000
#define ECHOES_MIN 3 /* with fewer echoes, the shortest one proves nothing: a busy host can be late once */
#define PER 1000
#define CHANCE 0.05
#define SMALL 1e-9 /* the inexactness of such numbers */

/* ---- what so few echoes can miss ---- */

/* The probability that all of them come back, if so many of 1,000 packets are lost. */
static double all_come_back(guint lost, guint echoes)
{
    double one = 1 - (double)lost / PER, all = 1;

    for (; echoes; echoes /= 2, one *= one)
        all *= echoes % 2 ? one : 1;
    return all;
}

guint ibh_probe_unseen_loss(guint echoes)
{
    guint low = 0, high = PER; /* with a loss of `high` some would be seen */

    while (high > low + 1) {
        guint middle = (low + high) / 2;

        if (all_come_back(middle, echoes) > CHANCE + SMALL)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* ---- outliers ---- */

static int compare_times(gconstpointer a, gconstpointer b)
{
    const gint64 *one = a, *other = b;

    return *one < *other ? -1 : *one > *other;
}

/* The lowest quartile of the pairs: beyond gateways other times are usual. -1: no pair had an answer. */
static gint64 usual_time(const IbhProbe *probe, gboolean on_link)
{
    g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gint64));

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        if (pair->rtt >= 0 && pair->on_link == on_link)
            g_array_append_val(times, pair->rtt);
    }
    g_array_sort(times, compare_times);
    return times->len ? g_array_index(times, gint64, (times->len - 1) / 4) : -1;
}

static gboolean is_outlier(const IbhProbePair *pair, const gint64 usual[2])
{
    gint64 time = usual[pair->on_link ? 1 : 0];

    return pair->received >= ECHOES_MIN && pair->rtt > time * TIMES && pair->rtt > time + AT_LEAST_MORE;
}

/* Slow to two rails at least, and to each that it answered. */
static gboolean is_slow(const IbhProbe *probe, guint peer, const gint64 usual[2])
{
    guint slow = 0;

    for (guint i = ibh_probe_first_pair(probe, peer); i < probe->pairs->len && ibh_probe_pair(probe, i)->peer == peer;
         i++) {
        const IbhProbePair *pair = ibh_probe_pair(probe, i);

        if (pair->rtt >= 0 && !is_outlier(pair, usual))
            return FALSE;
        slow += pair->rtt >= 0 ? 1 : 0;
    }
    return slow > 1;
}

static double in_ms(gint64 time)
{
    return (double)time / 1000;
}

static void report_slow_peers(IbhProbe *probe, const gint64 usual[2], gboolean *ret_slow)
{
    g_autoptr(GString) names = g_string_new(NULL);
    char ip[IBH_IP_STRLEN];
    guint n = 0;

    for (guint peer = 0; peer < probe->peers->len; peer++) {
        g_autofree char *name = NULL;

        ret_slow[peer] = is_slow(probe, peer, usual);
        if (!ret_slow[peer])
            continue;
        name = g_strdup_printf("%s (%.2f ms)", ibh_ip_format(&g_array_index(probe->peers, IbhIp, peer), ip),
                               in_ms(ibh_probe_pair(probe, ibh_probe_first_pair(probe, peer))->rtt));
        ibh_probe_add_name(names, ++n, name);
    }
    ibh_probe_end_names(names, n);
    if (n)
        ibh_finding_add(probe->findings, "", IBH_INFO, "rtt-outlier", ibh_advice("look at their load, and their link"),
                        "%u of %u peers answer late to all rails: %s; others take %.2f ms", n, probe->peers->len,
                        names->str, in_ms(usual[1] >= 0 ? usual[1] : usual[0]));
}

static void report_rail(IbhProbe *probe, const IbhNic *nic, const gint64 usual[2], const gboolean *slow)
{
    g_autofree char *iface = ibh_shell_word(nic->link->name);
    g_autoptr(GString) names = g_string_new(NULL);
    gint64 least = G_MAXINT64, most = 0;
    guint n = 0, all = 0;
    char ip[IBH_IP_STRLEN];

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        if (ibh_probe_source(probe, pair)->nic != nic)
            continue;
        all++;
        if (!is_outlier(pair, usual) || slow[pair->peer])
            continue;
        least = MIN(least, pair->rtt);
        most = MAX(most, pair->rtt);
        ibh_probe_add_name(names, ++n, ibh_ip_format(ibh_probe_peer(probe, pair), ip));
    }
    ibh_probe_end_names(names, n);
    if (n)
        ibh_finding_add(probe->findings, nic->link->name, IBH_INFO, "rtt-outlier",
                        ibh_advice("look at the switch port, its counters and pauses: ethtool -S %s", iface),
                        "%u of %u peers: %s; round trips take %.2f to %.2f ms, where others take %.2f ms", n, all,
                        names->str, in_ms(least), in_ms(most), in_ms(usual[1] >= 0 ? usual[1] : usual[0]));
}

void ibh_probe_report_outliers(IbhProbe *probe)
{
    g_autofree gboolean *slow = g_new0(gboolean, probe->peers->len);
    const gint64 usual[2] = {usual_time(probe, FALSE), usual_time(probe, TRUE)};

    report_slow_peers(probe, usual, slow);
    IBH_EACH_POINTER (const IbhNic, nic, probe->nics)
        report_rail(probe, nic, usual, slow);
}
