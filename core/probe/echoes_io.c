/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/echoes_io.h"

#include "probe/window.h"
#include "probe/receive_io.h"
#include "probe/room_io.h"
#include "probe/wait_io.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define COLLECT_EVERY (G_USEC_PER_SEC / 50)
#define FULL_WAIT (G_USEC_PER_SEC / 50) /* before what was refused for want of room is tried again */
#define TRIES 3

/* ---- sending ---- */

typedef union {
    struct cmsghdr header;
    guint8 room[CMSG_SPACE(sizeof(struct in_pktinfo))];
} Control;

/* IPv6 has the device from the socket (IPV6_UNICAST_IF): before 5.18 its ping sockets take no other hint. */
static void name_device(struct msghdr *message, Control *control, const IbhProbeSource *source)
{
    struct in_pktinfo way = {.ipi_ifindex = source->nic->link->ifindex};

    if (source->ip.family != AF_INET)
        return;
    memcpy(&way.ipi_spec_dst, source->ip.bytes, 4);
    control->header =
        (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof way), .cmsg_level = IPPROTO_IP, .cmsg_type = IP_PKTINFO};
    memcpy(CMSG_DATA(&control->header), &way, sizeof way);
    message->msg_control = control->room;
    message->msg_controllen = CMSG_SPACE(sizeof way);
}

/* With IP_RECVERR a send may report an earlier packet's error; then it has to be repeated. Returns 0 or an errno. */
static int try_to_send(IbhProber *prober, const IbhProbeSocket *sock, const struct msghdr *message)
{
    int problem = sock->error;

    for (int try = 0; try < TRIES && !sock->error; try++) {
        if (sendmsg(sock->fd, message, 0) >= 0)
            return 0;
        problem = errno;
        ibh_prober_take_all(prober);
    }
    return problem;
}

int ibh_prober_send_echo(IbhProber *prober, guint i, guint number)
{
    const IbhProbe *probe = prober->probe;
    const IbhProbePair *pair = ibh_probe_pair(probe, i);
    const IbhProbeSocket *sock = &prober->sockets[pair->source];
    guint8 packet[IBH_PROBE_PACKET];
    struct iovec part = {.iov_base = packet, .iov_len = sizeof packet};
    Control control = {.room = {0}};
    socklen_t size;
    IbhSockAddress peer = ibh_sock_address(ibh_probe_peer(probe, pair), &size);
    struct msghdr message = {.msg_name = &peer, .msg_namelen = size, .msg_iov = &part, .msg_iovlen = 1};
    int problem;

    ibh_probe_packet(probe, i, number, sock->id, packet);
    name_device(&message, &control, ibh_probe_source(probe, pair));
    problem = try_to_send(prober, sock, &message);
    ibh_prober_pace(prober);
    return problem;
}

/* Returns 0 or an errno. */
static int send_counted(IbhProber *prober, guint i, guint number)
{
    gint64 before = ibh_prober_now();
    int problem = ibh_prober_send_echo(prober, i, number);

    if (!problem) {
        ibh_probe_sent(prober->probe, i, number, before);
        prober->sent++;
    }
    return problem;
}

/* ---- the window ---- */

typedef struct {
    guint pair;
    gint64 until;
} Kept;

typedef struct {
    IbhProber *prober;
    IbhProbeWindow window;
    GArray *kept;      /* Kept: entries that grow old, since they cannot be deleted */
    guint gone;        /* so many of these are old */
    gint64 collected;  /* when pairs that are over were looked for */
    gint64 full_since; /* there is no room for an echo; 0: there is */
} Asker;

/* The neighbour table, or the NIC's queue, is full. IPv6 reports a full table as EINVAL. */
static gboolean is_full(Asker *asker, guint pair, int problem)
{
    int six = ibh_probe_family(ibh_probe_peer(asker->prober->probe, ibh_probe_pair(asker->prober->probe, pair)));
    guint room[2];

    if (problem != ENOBUFS && !(six && problem == EINVAL))
        return FALSE;
    asker->window.room[0] = asker->window.room[1] = 0;
    (void)ibh_prober_read_room(asker->prober, room, NULL);
    return problem == ENOBUFS || asker->prober->probe->was_full[1];
}

static void send_next(Asker *asker, const IbhProbeSlot *slot)
{
    IbhProbePair *pair = ibh_probe_pair(asker->prober->probe, slot->pair);
    int problem = send_counted(asker->prober, slot->pair, slot->number);
    gint64 now = ibh_prober_now();

    if (problem && is_full(asker, slot->pair, problem)) {
        asker->full_since = asker->full_since ? asker->full_since : now;
        if (now < asker->full_since + asker->prober->probe->timeout) {
            asker->prober->next = now + FULL_WAIT;
            return;
        }
    }
    asker->full_since = problem ? asker->full_since : 0; /* after one wait in vain, later echoes do not wait */
    pair->send_error = problem ? problem : pair->send_error;
    ibh_probe_window_take(&asker->window, slot, now);
}

/* Finished pairs make room for others: at once if their entry was deleted, else when it has grown old. */
static gboolean make_room(Asker *asker, const GArray *over, GError **error)
{
    IbhProber *prober = asker->prober;
    gint64 now = ibh_prober_now();

    IBH_EACH (const guint, pair, over) {
        const Kept kept = {.pair = *pair, .until = now + IBH_PROBE_PAUSE};

        prober->cannot |= !prober->cannot && !ibh_prober_forget(prober, *pair);
        if (prober->cannot)
            g_array_append_val(asker->kept, kept);
        else
            ibh_probe_window_release(&asker->window, *pair);
    }
    while (asker->gone < asker->kept->len && g_array_index(asker->kept, Kept, asker->gone).until <= now) {
        guint pair = g_array_index(asker->kept, Kept, asker->gone++).pair;

        ibh_probe_window_release(&asker->window, pair);
        asker->window.room[ibh_probe_family(ibh_probe_peer(prober->probe, ibh_probe_pair(prober->probe, pair)))]++;
    }
    return prober->cannot || ibh_prober_read_room(prober, asker->window.room, error);
}

/* Takes the results of finished pairs from the neighbour table, and deletes their entries. */
static gboolean collect(Asker *asker, GError **error)
{
    IbhProber *prober = asker->prober;
    g_autoptr(GArray) over = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autoptr(GArray) neighbours = g_array_new(FALSE, TRUE, sizeof(IbhNeighbour));

    asker->collected = ibh_prober_now();
    ibh_probe_window_collect(&asker->window, asker->collected, over);
    if (over->len && !ibh_prober_read_neighbours(prober, neighbours, error))
        return FALSE;
    ibh_probe_learn(prober->probe, over, neighbours);
    if (prober->keeps || (!over->len && asker->gone == asker->kept->len))
        return TRUE;
    return make_room(asker, over, error);
}

static void go_on(Asker *asker)
{
    IbhProber *prober = asker->prober;
    gint64 now = ibh_prober_now(), due = now + COLLECT_EVERY;
    gboolean any;
    IbhProbeSlot slot;

    any = ibh_probe_window_next(&asker->window, now, &slot);
    if (any)
        due = MAX(slot.due, prober->next);
    if (any && now >= due)
        send_next(asker, &slot);
    else
        ibh_prober_wait(prober, MIN(due, now + COLLECT_EVERY));
    ibh_prober_take_all(prober);
    ibh_prober_tell(prober, any ? "" : ", waiting for replies");
}

/* After a signal: learns about unfinished pairs, and deletes their entries. */
static gboolean leave(Asker *asker, GError **error)
{
    IbhProber *prober = asker->prober;
    g_autoptr(GArray) open = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autoptr(GArray) neighbours = g_array_new(FALSE, TRUE, sizeof(IbhNeighbour));

    ibh_prober_take_all(prober); /* both copies of a reply: as it came in, and as it was delivered */
    for (guint i = asker->window.oldest; i < asker->window.asked[0]; i++) {
        if (!ibh_probe_pair(prober->probe, i)->is_over)
            g_array_append_val(open, i);
    }
    if (open->len && !ibh_prober_read_neighbours(prober, neighbours, error))
        return FALSE;
    ibh_probe_learn(prober->probe, open, neighbours);
    IBH_EACH (const guint, pair, open)
        (void)(!prober->keeps && ibh_prober_forget(prober, *pair));
    return TRUE;
}

gboolean ibh_prober_ask_echoes(IbhProber *prober, const guint room[2], GError **error)
{
    g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(Kept));
    g_auto(IbhProbeWindow) window = {0};
    Asker asker = {.prober = prober, .kept = kept};
    gboolean good = TRUE;

    ibh_probe_window_init(&window, prober->probe);
    memcpy(window.room, room, sizeof window.room);
    asker.window = window;
    while (good && !ibh_probe_window_is_done(&asker.window) && !ibh_prober_is_stopped()) {
        go_on(&asker);
        if (ibh_prober_now() >= asker.collected + COLLECT_EVERY)
            good = collect(&asker, error);
    }
    return good && leave(&asker, error);
}
