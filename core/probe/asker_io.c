/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/asker_io.h"

#include "probe/rdma_cm_io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The kernel repeats a request after six seconds only, so a lost packet costs a request: fresh ones are sent instead.
 */
#define TRIES 3
#define PAUSE G_USEC_PER_SEC            /* from one to the next */
#define PATIENCE (3 * G_USEC_PER_SEC)   /* with all of them */
#define WINDOW 256                      /* pairs at a time */
#define SPACING (IBH_PROBE_SPACING / 2) /* µs between two requests */
#define TAG(place, n) ((guint64)(place) << 8 | (n))
#define TAG_PLACE(tag) ((guint)((tag) >> 8))

typedef struct {
    guint pair;
    gint64 since; /* µs; 0: not begun */
    guint tries;
    gboolean over;
    IbhRdmaAnswer answer; /* the last request's */
} Question;

typedef struct {
    const IbhProbe *probe;
    GArray *questions; /* Question */
    guint begun, over;
    int channel;
    int out;
    gint64 last_sent;
} Asker;

static gint64 now(void)
{
    return g_get_monotonic_time();
}

/* ---- answers ---- */

static void finish(Asker *asker, Question *question, IbhRdmaOutcome outcome)
{
    IbhRdmaResult result = {.pair = question->pair, .answer = question->answer};

    if (question->over)
        return;
    question->over = TRUE;
    asker->over++;
    result.answer.outcome = outcome;
    if (write(asker->out, &result, sizeof result) != (gssize)sizeof result) /* the reader has gone */
        _exit(1);
}

/* What the kernel refuses at once, it refuses each time. */
static void refuse(Asker *asker, Question *question, IbhRdmaStep step, int error)
{
    question->answer.step = step;
    question->answer.error = error;
    finish(asker, question, IBH_RDMA_REFUSED);
}

static void fail(Question *question, IbhRdmaStep step, int error)
{
    question->answer.step = step;
    question->answer.error = error;
}

/* ---- requests ---- */

static void begin(Asker *asker, guint place)
{
    Question *question = &g_array_index(asker->questions, Question, place);
    const IbhProbePair *pair = ibh_probe_pair(asker->probe, question->pair);
    const IbhProbeSource *source = ibh_probe_source(asker->probe, pair);
    guint32 id;
    int error = ibh_rdma_cm_create(asker->channel, TAG(place, question->tries), &id);

    question->since = question->since ? question->since : now();
    question->tries++;
    asker->last_sent = now();
    if (error) {
        refuse(asker, question, IBH_RDMA_AT_ADDRESS, error);
        return;
    }
    error = ibh_rdma_cm_bind(asker->channel, id, &source->ip);
    if (error == ENODEV)
        finish(asker, question, source->nic->link->rdma[0] ? IBH_RDMA_NO_GID : IBH_RDMA_NO_DEVICE);
    else if (error || (error = ibh_rdma_cm_resolve_address(asker->channel, id, ibh_probe_peer(asker->probe, pair))))
        refuse(asker, question, IBH_RDMA_AT_ADDRESS, error);
}

/* Requests that are over are left to the end of this process: ending one takes time, or for ever. */
static void take(Asker *asker, const IbhRdmaCmEvent *event)
{
    Question *question;
    int error = 0;

    if (TAG_PLACE(event->tag) >= asker->questions->len)
        return;
    question = &g_array_index(asker->questions, Question, TAG_PLACE(event->tag));
    switch (event->type) {
    case IBH_RDMA_CM_HAS_ADDRESS:
        if ((error = ibh_rdma_cm_resolve_route(asker->channel, event->id)))
            refuse(asker, question, IBH_RDMA_AT_ROUTE, error);
        return;
    case IBH_RDMA_CM_HAS_ROUTE:
        if ((error = ibh_rdma_cm_ask(asker->channel, event->id)))
            refuse(asker, question, IBH_RDMA_AT_PEER, error);
        else
            fail(question, IBH_RDMA_AT_PEER, 0);
        return;
    case IBH_RDMA_CM_NO_ADDRESS:
        fail(question, IBH_RDMA_AT_ADDRESS, event->error);
        return;
    case IBH_RDMA_CM_NO_ROUTE:
        fail(question, IBH_RDMA_AT_ROUTE, event->error);
        return;
    case IBH_RDMA_CM_ANSWER:
        finish(asker, question, IBH_RDMA_ANSWERED);
        return;
    default:
        fail(question, IBH_RDMA_AT_PEER, event->error);
    }
}

/* ---- the schedule ---- */

/* Sends what is due, gives up what is late. Returns when to look again. */
static gint64 advance(Asker *asker)
{
    gint64 next = now() + PAUSE;

    for (guint i = 0; i < asker->begun; i++) {
        Question *question = &g_array_index(asker->questions, Question, i);
        gint64 due = question->since + question->tries * PAUSE;

        if (question->over)
            continue;
        if (now() >= question->since + PATIENCE) {
            finish(asker, question, IBH_RDMA_SILENT);
            continue;
        }
        if (question->tries < TRIES && now() >= MAX(due, asker->last_sent + SPACING)) {
            begin(asker, i);
            due = question->since + question->tries * PAUSE;
        }
        next = MIN(next, question->tries < TRIES ? MAX(due, asker->last_sent + SPACING) : question->since + PATIENCE);
    }
    if (asker->begun < asker->questions->len && asker->begun - asker->over < WINDOW) {
        if (now() >= asker->last_sent + SPACING)
            begin(asker, asker->begun++);
        next = MIN(next, asker->last_sent + SPACING);
    }
    return next;
}

static void wait_until(const Asker *asker, gint64 until)
{
    struct pollfd channel = {.fd = asker->channel, .events = POLLIN};
    gint64 left = MAX(until - now(), 0);
    struct timespec limit = {.tv_sec = (time_t)(left / G_USEC_PER_SEC),
                             .tv_nsec = (long)(left % G_USEC_PER_SEC) * 1000};

    (void)ppoll(&channel, 1, &limit, NULL);
}

static void ask(Asker *asker)
{
    IbhRdmaCmEvent event;
    int error = ibh_rdma_cm_open(&asker->channel);

    if (error) {
        IBH_EACH (Question, question, asker->questions) {
            question->answer.error = error;
            finish(asker, question, error == ENOENT ? IBH_RDMA_NO_MODULE : IBH_RDMA_REFUSED);
        }
        return;
    }
    while (asker->over < asker->questions->len) {
        wait_until(asker, advance(asker));
        while (!ibh_rdma_cm_take_event(asker->channel, &event))
            take(asker, &event);
    }
}

/* ---- the process ---- */

/* Nothing that the parent has open, its output above all, is kept open by a process that may never end. */
static void detach(int *out)
{
    long max = sysconf(_SC_OPEN_MAX);
    int null;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    *out = fcntl(*out, F_DUPFD_CLOEXEC, 3);
    for (int fd = 0; fd < (int)CLAMP(max, 256, 65536); fd++) {
        if (fd != *out)
            close(fd);
    }
    null = open("/dev/null", O_RDWR); /* 0 */
    (void)dup2(null, STDOUT_FILENO);
    (void)dup2(null, STDERR_FILENO);
}

G_GNUC_NORETURN static void live(const IbhProbe *probe, const GArray *pairs, int out)
{
    Asker asker = {.probe = probe, .questions = g_array_new(FALSE, TRUE, sizeof(Question)), .out = out};

    detach(&asker.out);
    IBH_EACH (const guint, pair, pairs) {
        const Question question = {.pair = *pair};

        g_array_append_val(asker.questions, question);
    }
    ask(&asker);
    close(asker.out);
    _exit(0);
}

gboolean ibh_rdma_asker_start(IbhRdmaAsker *asker, const IbhProbe *probe, const GArray *pairs)
{
    int ends[2];

    *asker = (IbhRdmaAsker){.fd = -1};
    if (pipe2(ends, O_CLOEXEC) < 0)
        return FALSE;
    asker->pid = fork();
    if (asker->pid == 0)
        live(probe, pairs, ends[1]);
    close(ends[1]);
    asker->fd = ends[0];
    if (asker->pid > 0 && fcntl(asker->fd, F_SETFL, O_NONBLOCK) == 0)
        return TRUE;
    ibh_rdma_asker_stop(asker);
    return FALSE;
}

/* A zombie ends with its parent; one that the kernel keeps is init's then. */
void ibh_rdma_asker_stop(IbhRdmaAsker *asker)
{
    if (asker->fd >= 0)
        close(asker->fd);
    if (asker->pid > 0) {
        (void)kill(asker->pid, SIGKILL);
        (void)waitpid(asker->pid, NULL, WNOHANG);
    }
    *asker = (IbhRdmaAsker){.fd = -1};
}
