/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The quality of ports' links: their rate, that of their PCIe slot, and their errors. Pure.
 */
#include "fabric/case.h"

#include <string.h>

/* A link goes down with each reboot of its switch: so many more than the others' are no coincidence. */
#define STANDS_OUT_MIN 10
#define STANDS_OUT_FACTOR 5

/* ---- rate and lanes ---- */

static void say_rate(IbhCase *c, const char *word, IbhRate rate)
{
    if (rate.lanes == IBH_UNKNOWN)
        ibh_case_say(c, word, "%d.%d Gb/s", rate.tenths / 10, rate.tenths % 10);
    else
        ibh_case_say(c, word, "%d.%d Gb/s, %d lane%s", rate.tenths / 10, rate.tenths % 10, rate.lanes,
                     rate.lanes == 1 ? "" : "s");
}

typedef enum { SAME, PERHAPS_SAME, OTHER } Sameness;

static Sameness compare_boards(const IbhFabric *fabric, const IbhPort *port, const IbhPort *other)
{
    const IbhRdmaDevice *own = ibh_fabric_device(fabric, port), *its = ibh_fabric_device(fabric, other);

    if (g_str_equal(port->device, other->device))
        return SAME;
    if (!own || !its || !own->board[0] || !its->board[0])
        return PERHAPS_SAME;
    return g_str_equal(own->board, its->board) ? SAME : OTHER;
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
static gboolean is_comparable(const IbhFabric *fabric, const IbhPort *port, const IbhPort *other)
{
    Sameness board = compare_boards(fabric, port, other);

    return other != port && !is_bond(port) && !is_bond(other) && other->layer == port->layer && ibh_is_right(other) &&
           (board == SAME || (board == PERHAPS_SAME && port->layer == IBH_LAYER_INFINIBAND)) &&
           share_subnet(fabric, port, other);
}

gboolean ibh_is_slower(IbhCase *c)
{
    const IbhPort *fastest = c->port;

    if (c->port->rate.tenths == IBH_UNKNOWN)
        return FALSE;
    IBH_EACH (const IbhPort, other, c->fabric->ports) {
        if (other->rate.tenths > fastest->rate.tenths && is_comparable(c->fabric, c->port, other))
            fastest = other;
    }
    if (fastest == c->port)
        return FALSE;
    say_rate(c, "own", c->port->rate);
    say_rate(c, "its", fastest->rate);
    ibh_case_say(c, "other", "%s", fastest->name);
    return TRUE;
}

/* InfiniBand and Omni-Path cables have four lanes, or two where they are split: with one, the others have failed. */
gboolean ibh_has_lost_lanes(IbhCase *c)
{
    if (c->port->layer != IBH_LAYER_INFINIBAND || c->port->rate.lanes != 1)
        return FALSE;
    say_rate(c, "own", c->port->rate);
    return TRUE;
}

/* Gb/s that the adapters of a model can do by InfiniBand; 0: not known. Some boards of a model do half of it. */
static int rate_of_model(const char *model)
{
    static const struct {
        const char *model;
        int rate;
    } models[] = {{"MT4099", 56},  {"MT4103", 56},  {"MT4113", 56},  {"MT4115", 100}, {"MT4119", 100},
                  {"MT4121", 100}, {"MT4123", 200}, {"MT4129", 400}, {"MT4131", 800}};

    for (gsize i = 0; i < G_N_ELEMENTS(models); i++) {
        if (g_str_equal(models[i].model, model))
            return models[i].rate;
    }
    return 0;
}

/* An older switch, or a board that can do half, is no fault: only what no switch beside such an adapter does is one. */
gboolean ibh_is_below_board(IbhCase *c)
{
    const IbhRdmaDevice *device = ibh_fabric_device(c->fabric, c->port);
    int best = device && c->port->layer == IBH_LAYER_INFINIBAND ? 10 * rate_of_model(device->model) : 0;

    if (c->port->rate.tenths == IBH_UNKNOWN || c->port->rate.tenths >= best)
        return FALSE;
    c->severity = c->port->rate.tenths < best / 8 ? IBH_WARNING : IBH_INFO;
    say_rate(c, "own", c->port->rate);
    ibh_case_say(c, "best", "%d", best / 10);
    ibh_case_say(c, "model", "%s", device->model);
    return TRUE;
}

/* ---- PCIe ---- */

static gboolean knows_pcie(const IbhRdmaDevice *device)
{
    return device && device->pcie_lanes > 0 && device->pcie_speed > 0;
}

static gint64 bandwidth(const IbhRdmaDevice *device)
{
    return (gint64)device->pcie_lanes * device->pcie_speed;
}

static gboolean has_same_slot(const IbhRdmaDevice *device, const IbhRdmaDevice *other)
{
    return device == other || (device->card[0] && g_str_equal(device->card, other->card) &&
                               device->pcie_lanes == other->pcie_lanes && device->pcie_speed == other->pcie_speed);
}

/* Functions of one card share its slot: only the first one in use is reported. */
static gboolean is_said_already(const IbhCase *c, const IbhRdmaDevice *device)
{
    IBH_EACH (const IbhPort, other, c->fabric->ports) {
        const IbhRdmaDevice *its = ibh_fabric_device(c->fabric, other);

        if (other == c->port)
            return FALSE;
        if (its && has_same_slot(its, device) && ibh_is_sound(c, other) &&
            ibh_is_asked(c, ibh_find_nic_of_port(c, other)))
            return TRUE;
    }
    return FALSE;
}

/* The same board in a better slot, if a rail is on it. */
static const IbhRdmaDevice *find_better_slot(const IbhCase *c, const IbhRdmaDevice *device)
{
    IBH_EACH (const IbhPort, other, c->fabric->ports) {
        const IbhRdmaDevice *its = ibh_fabric_device(c->fabric, other);

        if (knows_pcie(its) && bandwidth(its) > bandwidth(device) &&
            compare_boards(c->fabric, c->port, other) == SAME && ibh_has_rail(c->fabric, other))
            return its;
    }
    return NULL;
}

static void say_slot(IbhCase *c, const char *word, int lanes, int speed)
{
    ibh_case_say(c, word, "%d lanes of %d.%d GT/s", lanes, speed / 10, speed % 10);
}

gboolean ibh_has_slow_slot(IbhCase *c)
{
    const IbhRdmaDevice *device = ibh_fabric_device(c->fabric, c->port), *better;

    if (!knows_pcie(device) ||
        (device->pcie_lanes >= device->pcie_max_lanes && device->pcie_speed >= device->pcie_max_speed) ||
        is_said_already(c, device))
        return FALSE;
    better = find_better_slot(c, device);
    c->severity = better ? IBH_WARNING : IBH_INFO;
    say_slot(c, "own", device->pcie_lanes, device->pcie_speed);
    if (better)
        say_slot(c, "its", better->pcie_lanes, better->pcie_speed);
    else
        say_slot(c, "its", MAX(device->pcie_max_lanes, device->pcie_lanes),
                 MAX(device->pcie_max_speed, device->pcie_speed));
    ibh_case_say(c, "other", "%s", better ? better->name : "the card can do");
    return TRUE;
}

/* ---- errors ---- */

/* Omni-Path counts retransmissions of its links there, which are normal. */
static gboolean is_normal(const IbhPort *port, guint counter)
{
    return ibh_is_omni_path(port) && g_str_equal(ibh_counter_name(counter), "local_link_integrity_errors");
}

static gboolean errors_grow(IbhCase *c, IbhCounterKind kind)
{
    g_autoptr(GString) list = g_string_new(NULL);

    for (guint i = 0; i < IBH_N_COUNTERS; i++) {
        gint64 more = c->port->new_errors[i];

        if (more > 0 && ibh_counters[i].kind == kind && !is_normal(c->port, i))
            g_string_append_printf(list, "%s%s by %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, list->len ? ", " : "",
                                   ibh_counter_name(i), more, c->port->errors[i] + more);
    }
    ibh_case_say(c, "list", "%s", list->str);
    return list->len > 0;
}

gboolean ibh_link_errors_grow(IbhCase *c)
{
    return errors_grow(c, IBH_COUNTS_LINK);
}

gboolean ibh_path_errors_grow(IbhCase *c)
{
    return errors_grow(c, IBH_COUNTS_PATH);
}

static int compare_counts(gconstpointer a, gconstpointer b)
{
    gint64 one = *(const gint64 *)a, other = *(const gint64 *)b;

    return (one > other) - (one < other);
}

/* The median of the other rails' ports; IBH_UNKNOWN: none. */
static gint64 find_median(const IbhFabric *fabric, const IbhPort *port, guint counter)
{
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(gint64));

    IBH_EACH (const IbhPort, other, fabric->ports) {
        if (other != port && other->layer == port->layer && other->errors[counter] != IBH_UNKNOWN &&
            ibh_has_rail(fabric, other))
            g_array_append_val(values, other->errors[counter]);
    }
    g_array_sort(values, compare_counts);
    return values->len ? g_array_index(values, gint64, values->len / 2) : IBH_UNKNOWN;
}

/* Far above the others, though it does not grow now. */
gboolean ibh_errors_stand_out(IbhCase *c)
{
    const IbhPort *port = c->port;

    for (guint i = 0; i < IBH_N_COUNTERS && ibh_has_rail(c->fabric, port); i++) {
        gboolean downed = i == 0;
        gint64 median;

        if (!ibh_counters[i].adds_up || port->errors[i] < STANDS_OUT_MIN || is_normal(port, i))
            continue;
        median = find_median(c->fabric, port, i);
        if (median == IBH_UNKNOWN || port->errors[i] / STANDS_OUT_FACTOR < median + 1)
            continue;
        c->severity = downed ? IBH_WARNING : IBH_INFO;
        ibh_case_say(c, "counter", "%s", ibh_counter_name(i));
        ibh_case_say(c, "own", "%" G_GINT64_FORMAT, port->errors[i]);
        ibh_case_say(c, "its", "%" G_GINT64_FORMAT, median);
        ibh_case_say(c, "why", "%s",
                     downed ? "its link comes and goes, and what is sent meanwhile is lost"
                            : "it has more errors than theirs; the counter does not grow now, so they may be old");
        return TRUE;
    }
    return FALSE;
}
