/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/links.h"

#include <string.h>

/* A link goes down with each reboot of its switch: so many more than the others' are no coincidence. */
#define DOWNED_MIN 10
#define DOWNED_FACTOR 5

#define LINK_ADVICE                                                                                                    \
    "look at the cable and the transceivers: seat, clean or change them at both ends, then reset the link"

/* ---- rate and lanes ---- */

static char *describe_rate(const IbhPort *port)
{
    return port->lanes == IBH_UNKNOWN ? g_strdup_printf("%d.%d Gb/s", port->rate / 10, port->rate % 10)
                                      : g_strdup_printf("%d.%d Gb/s, %d lane%s", port->rate / 10, port->rate % 10,
                                                        port->lanes, port->lanes == 1 ? "" : "s");
}

static gboolean share_subnet(const IbhFabric *fabric, const IbhPort *port, const IbhPort *other)
{
    IBH_EACH (const IbhPortNic, nic, fabric->nics) {
        if (!g_str_equal(nic->rdma, port->name))
            continue;
        IBH_EACH (const IbhPortNic, its, fabric->nics) {
            if (g_str_equal(its->rdma, other->name) && ibh_find_shared_subnet(nic, its))
                return TRUE;
        }
    }
    return FALSE;
}

/* A port may report the rate of one link, or of all. */
static gboolean is_bond(const IbhPort *port)
{
    return strstr(port->device, "bond") != NULL;
}

/* The ports that a slower port is compared with. InfiniBand ports are all hardware, so those of unknown boards count,
 * too. */
static gboolean is_comparable(const IbhFabricJudge *judge, const IbhPort *port, const IbhPort *other)
{
    IbhSameness board = ibh_compare_boards(judge->fabric, port, other);

    return other != port && !is_bond(port) && !is_bond(other) && other->layer == port->layer &&
           other->rate != IBH_UNKNOWN && ibh_port_is_active(other) && !ibh_port_is_wrong(other) &&
           (board == IBH_SAME || (board == IBH_PERHAPS_SAME && port->layer == IBH_LAYER_INFINIBAND)) &&
           share_subnet(judge->fabric, port, other);
}

static const IbhPort *find_fastest(const IbhFabricJudge *judge, const IbhPort *port)
{
    const IbhPort *fastest = NULL;

    IBH_EACH (const IbhPort, other, judge->fabric->ports) {
        if (other->rate > (fastest ? fastest : port)->rate && is_comparable(judge, port, other))
            fastest = other;
    }
    return fastest;
}

static void report_slow(IbhFabricJudge *judge, const IbhPort *port, const char *iface, const IbhPort *fastest)
{
    g_autofree char *own = describe_rate(port), *its = describe_rate(fastest);

    ibh_finding_add(judge->findings, iface, IBH_WARNING, "port-degraded",
                    ibh_advice(LINK_ADVICE "; if they are sound, see which rate the switch's port allows"),
                    "port %s runs at %s, expected %s as %s in the same subnet: what uses both rails goes at the pace "
                    "of the slower one",
                    port->name, own, its, fastest->name);
}

/* InfiniBand and Omni-Path cables have four lanes, or two where they are split: with one, the others have failed. */
static gboolean has_lost_lanes(const IbhPort *port)
{
    return port->layer == IBH_LAYER_INFINIBAND && port->lanes == 1;
}

static void judge_rate(IbhFabricJudge *judge, const IbhPort *port, const char *iface)
{
    const IbhPort *fastest = port->rate == IBH_UNKNOWN ? NULL : find_fastest(judge, port);
    g_autofree char *rate = NULL;

    if (port->rate == IBH_UNKNOWN) {
        ibh_fabric_report_good(judge, "%s: rate not known", port->name);
    } else if (fastest) {
        report_slow(judge, port, iface, fastest);
    } else if (has_lost_lanes(port)) {
        rate = describe_rate(port);
        ibh_finding_add(judge->findings, iface, IBH_WARNING, "port-degraded", ibh_advice(LINK_ADVICE),
                        "port %s runs at %s, expected 4 lanes (2 on a split cable): the others have failed, so most "
                        "of its bandwidth is gone",
                        port->name, rate);
    } else {
        rate = describe_rate(port);
        ibh_fabric_report_good(judge, "%s: %s", port->name, rate);
    }
}

/* ---- PCIe ---- */

static gboolean has_rail(const IbhFabric *fabric, const IbhPort *port)
{
    IBH_EACH (const IbhPortNic, nic, fabric->nics) {
        if (nic->rail && g_str_equal(nic->rdma, port->name))
            return TRUE;
    }
    return FALSE;
}

static gboolean knows_pcie(const IbhRdmaDevice *device)
{
    return device && device->pcie_lanes > 0 && device->pcie_speed > 0;
}

static gint64 pcie_bandwidth(const IbhRdmaDevice *device)
{
    return (gint64)device->pcie_lanes * device->pcie_speed;
}

static gboolean is_below_max(const IbhRdmaDevice *device)
{
    return (device->pcie_max_lanes > 0 && device->pcie_lanes < device->pcie_max_lanes) ||
           (device->pcie_max_speed > 0 && device->pcie_speed < device->pcie_max_speed);
}

static gboolean has_same_slot(const IbhRdmaDevice *device, const IbhRdmaDevice *other)
{
    return device->card[0] && g_str_equal(device->card, other->card) && device->pcie_lanes == other->pcie_lanes &&
           device->pcie_speed == other->pcie_speed;
}

/* Functions of one card share its slot: only the first one in use is reported. */
static gboolean is_said_already(const IbhFabricJudge *judge, const IbhPort *port, const IbhRdmaDevice *device)
{
    IBH_EACH (const IbhPort, other, judge->fabric->ports) {
        const IbhRdmaDevice *its = ibh_fabric_device(judge->fabric, other);

        if (other == port)
            return FALSE;
        if (its && (its == device || has_same_slot(its, device)) && ibh_port_is_judged(judge, other))
            return TRUE;
    }
    return FALSE;
}

/* The same board in a better slot, if a rail is on it. */
static const IbhRdmaDevice *find_better_slot(const IbhFabricJudge *judge, const IbhPort *port,
                                             const IbhRdmaDevice *device)
{
    IBH_EACH (const IbhPort, other, judge->fabric->ports) {
        const IbhRdmaDevice *its = ibh_fabric_device(judge->fabric, other);

        if (knows_pcie(its) && pcie_bandwidth(its) > pcie_bandwidth(device) &&
            ibh_compare_boards(judge->fabric, port, other) == IBH_SAME && has_rail(judge->fabric, other))
            return its;
    }
    return NULL;
}

static char *describe_pcie(int lanes, int speed)
{
    return g_strdup_printf("%d lanes of %d.%d GT/s", lanes, speed / 10, speed % 10);
}

static void judge_pcie(IbhFabricJudge *judge, const IbhPort *port, const char *iface)
{
    const IbhRdmaDevice *device = ibh_fabric_device(judge->fabric, port), *better;
    g_autofree char *own = NULL, *expected = NULL;

    if (!device || is_said_already(judge, port, device))
        return;
    if (!knows_pcie(device)) {
        ibh_fabric_report_good(judge, "%s: PCIe not known", port->device);
        return;
    }
    own = describe_pcie(device->pcie_lanes, device->pcie_speed);
    better = find_better_slot(judge, port, device);
    if (!is_below_max(device)) {
        ibh_fabric_report_good(judge, "%s: PCIe: %s", port->device, own);
        return;
    }
    expected = better ? describe_pcie(better->pcie_lanes, better->pcie_speed)
                      : describe_pcie(MAX(device->pcie_max_lanes, device->pcie_lanes),
                                      MAX(device->pcie_max_speed, device->pcie_speed));
    ibh_finding_add(judge->findings, iface, better ? IBH_WARNING : IBH_INFO, "port-degraded",
                    ibh_advice("seat the card anew, or put it into a slot that has what it can do; see the BIOS' "
                               "settings of the slot"),
                    "the PCIe link of %s has %s, expected %s as %s: the slot may carry less than the port does",
                    port->device, own, expected, better ? better->name : "the card can do");
}

/* ---- errors ---- */

/* Omni-Path counts retransmissions of its links there, which are normal. */
static gboolean is_normal(const IbhPort *port, int counter)
{
    return counter == IBH_COUNTER_INTEGRITY && ibh_port_is_omni_path(port);
}

static char *list_growing(const IbhPort *port)
{
    GString *text = g_string_new(NULL);

    for (int i = 0; i < IBH_N_COUNTERS; i++) {
        if (port->new_errors[i] > 0 && !is_normal(port, i))
            g_string_append_printf(text, "%s%s by %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, text->len ? ", " : "",
                                   ibh_counter_name((IbhCounter)i), port->new_errors[i],
                                   port->errors[i] + port->new_errors[i]);
    }
    return g_string_free(text, FALSE);
}

static int compare_counts(gconstpointer a, gconstpointer b)
{
    gint64 one = *(const gint64 *)a, other = *(const gint64 *)b;

    return (one > other) - (one < other);
}

/* The median of the other rails' ports; IBH_UNKNOWN: none. */
static gint64 find_median(const IbhFabric *fabric, const IbhPort *port, int counter)
{
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(gint64));

    IBH_EACH (const IbhPort, other, fabric->ports) {
        if (other != port && other->layer == port->layer && other->errors[counter] != IBH_UNKNOWN &&
            has_rail(fabric, other))
            g_array_append_val(values, other->errors[counter]);
    }
    g_array_sort(values, compare_counts);
    return values->len ? g_array_index(values, gint64, values->len / 2) : IBH_UNKNOWN;
}

/* Far above the others, though it does not grow now. */
static gboolean stands_out(const IbhFabric *fabric, const IbhPort *port, int counter, gint64 *ret_median)
{
    if (port->errors[counter] < DOWNED_MIN || is_normal(port, counter) || !has_rail(fabric, port))
        return FALSE;
    *ret_median = find_median(fabric, port, counter);
    return *ret_median != IBH_UNKNOWN && port->errors[counter] / DOWNED_FACTOR >= *ret_median + 1;
}

static void report_outlier(IbhFabricJudge *judge, const IbhPort *port, const char *iface, int counter, gint64 median)
{
    gboolean downed = counter == IBH_COUNTER_DOWNED;

    ibh_finding_add(judge->findings, iface, downed ? IBH_WARNING : IBH_INFO, "port-errors",
                    ibh_advice("look again later whether it grows (/sys/class/infiniband); if it does: " LINK_ADVICE),
                    "%s of port %s is %" G_GINT64_FORMAT ", expected about %" G_GINT64_FORMAT
                    " as of the other rails: %s",
                    ibh_counter_name((IbhCounter)counter), port->name, port->errors[counter], median,
                    downed ? "its link comes and goes, and what is sent meanwhile is lost"
                           : "it has more errors than theirs; the counter does not grow now, so the errors may be old");
}

static void judge_errors(IbhFabricJudge *judge, const IbhPort *port, const char *iface)
{
    g_autofree char *growing = list_growing(port);
    gboolean known = FALSE, outlier = FALSE;
    gint64 median = 0;

    for (int i = 0; i < IBH_N_COUNTERS; i++)
        known |= port->errors[i] != IBH_UNKNOWN;
    if (growing[0]) {
        ibh_finding_add(judge->findings, iface, IBH_WARNING, "port-errors", ibh_advice(LINK_ADVICE),
                        "errors of port %s grew while it was looked at (%s), expected none: its link is bad, so "
                        "packets are lost or sent again",
                        port->name, growing);
        return;
    }
    for (int i = 0; i < IBH_N_COUNTERS; i++) {
        if (stands_out(judge->fabric, port, i, &median)) {
            report_outlier(judge, port, iface, i, median);
            outlier = TRUE;
        }
    }
    if (!outlier)
        ibh_fabric_report_good(judge, known ? "%s: no errors that grow or stand out" : "%s: no counters of errors",
                               port->name);
}

/* ---- all of it ---- */

void ibh_judge_links(IbhFabricJudge *judge)
{
    IBH_EACH (const IbhPort, port, judge->fabric->ports) {
        const IbhPortNic *nic = ibh_find_nic_of_port(judge, port);
        const char *iface = nic ? nic->iface : "";

        if (!ibh_port_is_judged(judge, port))
            continue;
        judge_rate(judge, port, iface);
        judge_pcie(judge, port, iface);
        judge_errors(judge, port, iface);
    }
}
