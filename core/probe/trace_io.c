/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/trace_io.h"

#include "probe/trace.h"
#include "probe/echoes_io.h"
#include "probe/receive_io.h"
#include "probe/room_io.h"
#include "probe/wait_io.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TRACED_MAX 64
#define READ_MAX 64
#define HEAD 128 /* bytes of a packet: longer than the parts of ours that count */
#define MOVES_WITHIN                                                                                                   \
    (G_USEC_PER_SEC * 11 / 10) /* the kernel repeats a question for a hardware address after a second */
#define COMES_WITHIN (G_USEC_PER_SEC / 4)
#define LOOK_EVERY (G_USEC_PER_SEC / 50)

typedef struct {
    IbhProber *prober;
    GArray *pairs;       /* guint: those that are followed */
    struct pollfd *taps; /* one for each NIC of the probe; closed where none of its pairs is followed */
} Tracer;

/* ---- ears ---- */

static guint find_nic(const IbhProbe *probe, guint pair)
{
    guint at = 0;

    g_ptr_array_find(probe->nics, ibh_probe_source(probe, ibh_probe_pair(probe, pair))->nic, &at);
    return at;
}

static void open_taps(Tracer *tracer)
{
    const IbhProbe *probe = tracer->prober->probe;

    IBH_EACH (const guint, pair, tracer->pairs) {
        struct pollfd *tap = &tracer->taps[find_nic(probe, *pair)];

        if (tap->fd < 0)
            tap->fd = ibh_probe_tap_open(ibh_probe_link(probe, ibh_probe_pair(probe, *pair))->ifindex);
    }
}

static gboolean take_one(IbhProbe *probe, int fd)
{
    guint8 bytes[HEAD];
    IbhSockAddress address = {.room = {0}};
    socklen_t size = sizeof address;
    gssize length = recvfrom(fd, bytes, sizeof bytes, 0, &address.generic, &size);
    IbhTraced packet = {.ifindex = address.link.sll_ifindex,
                        .protocol = g_ntohs(address.link.sll_protocol),
                        .outgoing = address.link.sll_pkttype == PACKET_OUTGOING,
                        .bytes = bytes,
                        .length = length < 0 ? 0 : (gsize)length};

    if (length > 0 && (packet.outgoing || address.link.sll_pkttype == PACKET_HOST))
        ibh_probe_trace_take(probe, &packet);
    return length >= 0;
}

static void listen_until(Tracer *tracer, gint64 until)
{
    IbhProber *prober = tracer->prober;

    ibh_prober_poll(tracer->taps, prober->probe->nics->len, MIN(until, ibh_prober_now() + LOOK_EVERY));
    for (guint i = 0; i < prober->probe->nics->len; i++) {
        int n = 0;

        while (tracer->taps[i].fd >= 0 && n < READ_MAX && take_one(prober->probe, tracer->taps[i].fd))
            n++;
    }
    ibh_prober_take_all(prober);
    ibh_prober_tell(prober, ", following echoes without a reply");
}

/* ---- echoes ---- */

static void find_due(Tracer *tracer)
{
    for (guint i = 0; i < tracer->prober->probe->pairs->len && tracer->pairs->len < TRACED_MAX; i++) {
        if (ibh_probe_trace_is_due(tracer->prober->probe, i))
            g_array_append_val(tracer->pairs, i);
    }
}

/* ENOBUFS: it was dropped on its way to the NIC, if the neighbour table had room. */
static gboolean was_taken(IbhProber *prober, guint pair, int problem)
{
    guint room[2];

    if (problem == ENOBUFS)
        (void)ibh_prober_read_room(prober, room, NULL); /* which notes that there was none */
    return !problem || (problem == ENOBUFS && !prober->probe->was_full[ibh_probe_family(
                                                  ibh_probe_peer(prober->probe, ibh_probe_pair(prober->probe, pair)))]);
}

/* To all that have not moved. A new entry in the neighbour table: so the question for the hardware address leaves now.
 */
static void send_all(Tracer *tracer)
{
    IbhProber *prober = tracer->prober;

    IBH_EACH (const guint, i, tracer->pairs) {
        IbhProbePair *pair = ibh_probe_pair(prober->probe, *i);

        if (tracer->taps[find_nic(prober->probe, *i)].fd < 0 || (pair->trace.asked && ibh_probe_trace_has_moved(pair)))
            continue;
        (void)ibh_prober_forget(prober, *i);
        pair->trace.asked = TRUE;
        pair->trace.asked = was_taken(prober, *i, ibh_prober_send_echo(prober, *i, 0));
        listen_until(tracer, prober->next);
    }
}

static gboolean have_all_moved(const Tracer *tracer)
{
    IBH_EACH (const guint, i, tracer->pairs) {
        if (!ibh_probe_trace_has_moved(ibh_probe_pair(tracer->prober->probe, *i)))
            return FALSE;
    }
    return TRUE;
}

static void listen_for(Tracer *tracer, gint64 time, gboolean to_the_end)
{
    gint64 until = ibh_prober_now() + time;

    while (ibh_prober_now() < until && (to_the_end || !have_all_moved(tracer)) && !ibh_prober_is_stopped())
        listen_until(tracer, until);
}

/* An entry that others wait for may be given up just now, with all that wait: so two echoes have to be silent. */
static void follow(Tracer *tracer)
{
    for (int n = 0; n < 2 && !ibh_prober_is_stopped(); n++) {
        send_all(tracer);
        listen_for(tracer, MOVES_WITHIN, FALSE);
    }
    listen_for(tracer, COMES_WITHIN, TRUE);
}

void ibh_prober_trace(IbhProber *prober)
{
    const guint nics = prober->probe->nics->len;
    g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autofree struct pollfd *taps = g_new0(struct pollfd, nics + 1);
    Tracer tracer = {.prober = prober, .pairs = pairs, .taps = taps};

    for (guint i = 0; i < nics; i++)
        taps[i] = (struct pollfd){.fd = -1, .events = POLLIN};
    find_due(&tracer);
    open_taps(&tracer);
    if (pairs->len)
        follow(&tracer);
    IBH_EACH (const guint, i, pairs) {
        (void)(!prober->keeps && ibh_prober_forget(prober, *i));
        ibh_probe_pair(prober->probe, *i)->trace.asked &= !ibh_prober_is_stopped();
    }
    for (guint i = 0; i < nics; i++) {
        if (taps[i].fd >= 0)
            close(taps[i].fd);
    }
}
