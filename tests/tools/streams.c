/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * streams: many numbered streams from one process, and what of them does not come back. One process for all of a host's
 * streams keeps the machine free for the packets; flow.c proves which NIC a packet used, this one only counts.
 *
 *   streams serve --started FILE ADDRESS...
 *       Echo on UDP and TCP at each of the addresses, also at those that the host will only have later.
 *   streams send --rate N --started FILE --count-file FILE --stop-file FILE STREAM...
 *       A stream is udp,FROM,TO or tcp,FROM,TO; FROM is an address or "any". Over all UDP streams in turn it sends N
 *       packets per second, and on each TCP connection an echo at a time, every 20 ms. It makes FILE once every stream
 * has had a reply, counts from when the count file is there, and ends when the stop file is. streams forget --started
 * FILE --stop-file FILE This host forgets what ARP and neighbour discovery found, every 20 ms, and asks again.
 *
 * `send` prints one object: packets sent and lost, TCP connections that are broken (one ended, or an echo took more
 * than a second), and a text for each stream that lost any. Exit status: 0 none was lost, 1 some were, 2 usage, 3 the
 * system refused. Nothing runs longer than 300 seconds.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PORT 9402
#define MAX_SECONDS 300.0
#define MAX_SOCKETS 512
#define MAX_NUMBERS (1u << 20) /* of one stream */
#define MAX_BURST 64           /* packets; longer ones overrun the queues between two hosts */
#define PACKET_SIZE 64
#define ECHO_EVERY 0.02 /* seconds, of a TCP connection */
#define ECHO_WITHIN 1.0
#define REPLIES_WITHIN 1.0 /* after the last packet: a peer that was not answered asks again after a second */
#define ASK_EVERY 0.02
#define BUFFER (8 << 20)

typedef union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} Address;

typedef struct {
    const char *started, *count_file, *stop_file;
    int rate;
    char **words; /* what follows the options */
    unsigned n_words;
} Options;

static _Noreturn void die(int status, const char *what)
{
    fprintf(stderr, "streams: %s%s%s\n", what, status == 2 ? "" : ": ", status == 2 ? "" : strerror(errno));
    exit(status);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void say_started(const Options *options)
{
    int fd = open(options->started, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    if (fd < 0)
        die(3, options->started);
    close(fd);
}

static bool stop_asked(const Options *options)
{
    return access(options->stop_file, F_OK) == 0;
}

/* ---- sockets ------------------------------------------------------------------------------------- */

static socklen_t parse_address(const char *text, uint16_t port, Address *ret_address)
{
    memset(ret_address, 0, sizeof *ret_address);
    if (inet_pton(AF_INET, text, &ret_address->v4.sin_addr) == 1) {
        ret_address->v4.sin_family = AF_INET;
        ret_address->v4.sin_port = htons(port);
        return sizeof ret_address->v4;
    }
    if (inet_pton(AF_INET6, text, &ret_address->v6.sin6_addr) != 1)
        die(2, "not an address");
    ret_address->v6.sin6_family = AF_INET6;
    ret_address->v6.sin6_port = htons(port);
    return sizeof ret_address->v6;
}

static void switch_on(int fd, int level, int option)
{
    const int on = 1;

    if (setsockopt(fd, level, option, &on, sizeof on) < 0)
        die(3, "a socket option");
}

static int new_socket(int family, int type)
{
    const int size = BUFFER;
    int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        die(3, "socket");
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
    return fd;
}

static void poll_for(int epoll, int fd, uint32_t number)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = number}};

    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        die(3, "epoll");
}

/* ---- serve --------------------------------------------------------------------------------------- */

typedef enum { DATAGRAMS, CONNECTIONS, ONE_CONNECTION } Kind;

typedef struct {
    int epoll, n;
    struct {
        int fd;
        Kind kind;
    } sockets[MAX_SOCKETS];
} Server;

static void keep(Server *server, int fd, Kind kind)
{
    if (server->n == MAX_SOCKETS) {
        close(fd);
        return;
    }
    server->sockets[server->n].fd = fd;
    server->sockets[server->n].kind = kind;
    poll_for(server->epoll, fd, (uint32_t)server->n++);
}

static void serve_at(Server *server, const char *text, int type)
{
    Address at;
    socklen_t length = parse_address(text, PORT, &at);
    int fd = new_socket(at.any.sa_family, type);

    switch_on(fd, SOL_SOCKET, SO_REUSEADDR);
    switch_on(fd, SOL_IP, IP_FREEBIND);
    if (bind(fd, &at.any, length) < 0 || (type == SOCK_STREAM && listen(fd, 16) < 0))
        die(3, text);
    keep(server, fd, type == SOCK_STREAM ? CONNECTIONS : DATAGRAMS);
}

static void echo_datagrams(int fd)
{
    char bytes[PACKET_SIZE];

    for (int i = 0; i < MAX_BURST; i++) {
        Address peer;
        socklen_t length = sizeof peer;
        ssize_t got = recvfrom(fd, bytes, sizeof bytes, 0, &peer.any, &length);

        if (got < 0)
            return;
        (void)!sendto(fd, bytes, (size_t)got, 0, &peer.any, length); /* the other end counts what is lost */
    }
}

static void take_connection(Server *server, int fd)
{
    int connection = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (connection < 0)
        return;
    switch_on(connection, IPPROTO_TCP, TCP_NODELAY);
    keep(server, connection, ONE_CONNECTION);
}

static void echo_bytes(int fd)
{
    char bytes[4096];
    ssize_t got = recv(fd, bytes, sizeof bytes, 0);

    if (got > 0)
        (void)!send(fd, bytes, (size_t)got, MSG_NOSIGNAL);
    else if (got == 0 || errno != EAGAIN)
        close(fd);
}

static int serve(const Options *options)
{
    static Server server;

    server.epoll = epoll_create1(EPOLL_CLOEXEC);
    for (unsigned i = 0; i < options->n_words; i++) {
        serve_at(&server, options->words[i], SOCK_DGRAM);
        serve_at(&server, options->words[i], SOCK_STREAM);
    }
    say_started(options);
    for (double end = now() + MAX_SECONDS; now() < end;) {
        struct epoll_event events[64];
        int n = epoll_wait(server.epoll, events, 64, 500);

        for (int i = 0; i < n; i++) {
            int fd = server.sockets[events[i].data.u32].fd;

            switch (server.sockets[events[i].data.u32].kind) {
            case DATAGRAMS:
                echo_datagrams(fd);
                break;
            case CONNECTIONS:
                take_connection(&server, fd);
                break;
            case ONE_CONNECTION:
                echo_bytes(fd);
            }
        }
    }
    return 0;
}

/* ---- send ---------------------------------------------------------------------------------------- */

typedef struct {
    const char *text;
    bool tcp;
    int fd;
    Address to;
    socklen_t to_length;
    uint32_t first, sent, back; /* numbers from the first on count */
    uint8_t *seen;              /* of UDP: which numbers are back */
    bool waiting;               /* of TCP: for an echo, since `asked` */
    bool broken;
    double asked;
} Stream;

typedef struct {
    const Options *options;
    Stream *streams;
    unsigned n, next;
    int epoll;
    double start;
    uint64_t due; /* packets that are sent, or were left out while the machine did something else */
} Sender;

static void open_stream(Sender *sender, unsigned number, char *text)
{
    Stream *stream = &sender->streams[number];
    char *words = strdup(text), *kind = strtok(words, ","), *from = strtok(NULL, ","), *to = strtok(NULL, ",");

    if (!kind || !from || !to)
        die(2, "a stream is udp,FROM,TO or tcp,FROM,TO");
    stream->text = text;
    stream->tcp = !strcmp(kind, "tcp");
    stream->to_length = parse_address(to, PORT, &stream->to);
    stream->fd = new_socket(stream->to.any.sa_family, stream->tcp ? SOCK_STREAM : SOCK_DGRAM);
    if (strcmp(from, "any")) {
        Address own;
        socklen_t length = parse_address(from, 0, &own);

        if (bind(stream->fd, &own.any, length) < 0)
            die(3, text);
    }
    if (stream->tcp) {
        switch_on(stream->fd, IPPROTO_TCP, TCP_NODELAY);
        if (connect(stream->fd, &stream->to.any, stream->to_length) < 0 && errno != EINPROGRESS)
            die(3, text);
    } else if (!(stream->seen = calloc(MAX_NUMBERS / 8, 1))) {
        die(3, text);
    }
    free(words);
    poll_for(sender->epoll, stream->fd, number);
}

/* A number that could not be sent will not come back. */
static void send_next(Sender *sender)
{
    char bytes[PACKET_SIZE] = "";
    Stream *stream;

    do
        stream = &sender->streams[sender->next++ % sender->n];
    while (stream->tcp);
    if (stream->sent == MAX_NUMBERS)
        die(2, "too many packets for one stream");
    memcpy(bytes, &stream->sent, sizeof stream->sent);
    stream->sent++;
    (void)!sendto(stream->fd, bytes, sizeof bytes, 0, &stream->to.any, stream->to_length);
}

static void send_due(Sender *sender)
{
    const uint64_t due = (uint64_t)((now() - sender->start) * sender->options->rate);

    if (due > sender->due + MAX_BURST)
        sender->due = due - MAX_BURST;
    for (; sender->due < due; sender->due++)
        send_next(sender);
}

static void send_echoes(Sender *sender, bool ends)
{
    const double t = now();

    for (unsigned i = 0; i < sender->n; i++) {
        Stream *stream = &sender->streams[i];

        if (!stream->tcp)
            continue;
        if (stream->waiting)
            stream->broken |= t > stream->asked + ECHO_WITHIN;
        else if (!ends && t > stream->asked + ECHO_EVERY && send(stream->fd, "echo", 4, MSG_NOSIGNAL) == 4) {
            stream->waiting = true;
            stream->asked = t;
        }
    }
}

static void receive_numbers(Stream *stream)
{
    uint32_t number;
    ssize_t got;

    while ((got = recv(stream->fd, &number, sizeof number, MSG_TRUNC)) >= 0) {
        uint8_t *seen = &stream->seen[number / 8], bit = (uint8_t)(1 << number % 8);

        if (got != PACKET_SIZE || number < stream->first || number >= stream->sent || *seen & bit)
            continue;
        *seen |= bit;
        stream->back++;
    }
}

static void receive_echo(const Sender *sender, Stream *stream)
{
    char bytes[64];
    ssize_t got = recv(stream->fd, bytes, sizeof bytes, 0);

    if (got > 0) {
        stream->waiting = false;
        stream->back++;
    } else if (got == 0 || errno != EAGAIN) {
        stream->broken = true;
        epoll_ctl(sender->epoll, EPOLL_CTL_DEL, stream->fd, NULL);
    }
}

static void receive(const Sender *sender)
{
    struct epoll_event events[64];
    int n = epoll_wait(sender->epoll, events, 64, 1);

    for (int i = 0; i < n; i++) {
        Stream *stream = &sender->streams[events[i].data.u32];

        if (stream->tcp)
            receive_echo(sender, stream);
        else
            receive_numbers(stream);
    }
}

static bool all_have_a_reply(const Sender *sender)
{
    for (unsigned i = 0; i < sender->n; i++)
        if (!sender->streams[i].back)
            return false;
    return true;
}

static uint32_t missing_of(const Stream *stream)
{
    return stream->sent - stream->first - stream->back;
}

/* What was lost while streams began on other hosts is not counted. */
static void count_from_now(const Sender *sender)
{
    for (unsigned i = 0; i < sender->n; i++) {
        sender->streams[i].first = sender->streams[i].sent;
        sender->streams[i].back = 0;
    }
}

static bool all_is_back(const Sender *sender)
{
    for (unsigned i = 0; i < sender->n; i++)
        if (sender->streams[i].waiting || (!sender->streams[i].tcp && missing_of(&sender->streams[i])))
            return false;
    return true;
}

static int report(const Sender *sender)
{
    uint32_t sent = 0, lost = 0, broken = 0;
    const char *comma = "";

    printf("{\"streams\":[");
    for (unsigned i = 0; i < sender->n; i++) {
        const Stream *stream = &sender->streams[i];
        const uint32_t missing = stream->tcp ? stream->broken || !stream->back : missing_of(stream);

        sent += stream->tcp ? 0 : stream->sent - stream->first;
        lost += stream->tcp ? 0 : missing;
        broken += stream->tcp && missing;
        if (missing) {
            printf("%s\"%s: %u of %u\"", comma, stream->text, missing, stream->tcp ? 1 : stream->sent);
            comma = ",";
        }
    }
    printf("],\"sent\":%u,\"lost\":%u,\"broken\":%u}\n", sent, lost, broken);
    return lost || broken ? 1 : 0;
}

static int send_numbered(const Options *options)
{
    Sender sender = {.options = options, .n = options->n_words, .epoll = epoll_create1(EPOLL_CLOEXEC)};
    bool started = false, counts = false, ends = false, has_udp = false;
    double end;

    sender.streams = calloc(sender.n, sizeof *sender.streams);
    for (unsigned i = 0; i < sender.n; i++) {
        open_stream(&sender, i, options->words[i]);
        has_udp |= !sender.streams[i].tcp;
    }
    if (!has_udp)
        die(2, "no stream of UDP");
    sender.start = now();
    end = sender.start + MAX_SECONDS;
    while (now() < end && !(ends && all_is_back(&sender))) {
        if (!counts && access(options->count_file, F_OK) == 0) {
            counts = true;
            count_from_now(&sender);
        }
        if (!ends && stop_asked(options)) {
            ends = true;
            end = now() + REPLIES_WITHIN;
        }
        if (!ends)
            send_due(&sender);
        send_echoes(&sender, ends);
        receive(&sender);
        if (!started && all_have_a_reply(&sender)) {
            started = true;
            say_started(options);
        }
    }
    return report(&sender);
}

/* ---- forget, doubt ------------------------------------------------------------------------------- */

/* What becomes of entries in these states. */
typedef struct {
    uint16_t from, to;
} Change;

/* The kernel asks again for an entry that has failed as for one that is not there. While it deletes one, it drops a
 * packet that is just being sent to it; it never does for one that fails. One that has no hardware address yet is being
 * asked for. */
static const Change FORGET = {NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE, NUD_FAILED};
static const Change DOUBT = {NUD_REACHABLE | NUD_DELAY, NUD_PROBE};

static void change_one(int fd, struct nlmsghdr *entry, uint16_t state)
{
    struct ndmsg *body = NLMSG_DATA(entry);

    entry->nlmsg_type = RTM_NEWNEIGH;
    entry->nlmsg_flags = NLM_F_REQUEST | NLM_F_REPLACE;
    entry->nlmsg_pid = 0;
    body->ndm_state = state;
    if (send(fd, entry, entry->nlmsg_len, 0) < 0)
        die(3, "netlink");
}

static void change_all(int reading, int writing, const Change *change)
{
    static struct nlmsghdr answer[1 << 14];
    const struct {
        struct nlmsghdr header;
        struct ndmsg body;
    } request = {{sizeof request, RTM_GETNEIGH, NLM_F_REQUEST | NLM_F_DUMP, 0, 0}, {0}};

    if (send(reading, &request, sizeof request, 0) < 0)
        die(3, "netlink");
    for (;;) {
        ssize_t got = recv(reading, answer, sizeof answer, 0);

        if (got <= 0)
            die(3, "netlink");
        for (struct nlmsghdr *entry = answer; NLMSG_OK(entry, (size_t)got);) {
            struct nlmsghdr *following = (struct nlmsghdr *)((char *)entry + NLMSG_ALIGN(entry->nlmsg_len));

            got -= (ssize_t)NLMSG_ALIGN(entry->nlmsg_len);
            if (entry->nlmsg_type == NLMSG_DONE)
                return;
            if (entry->nlmsg_type == RTM_NEWNEIGH && ((struct ndmsg *)NLMSG_DATA(entry))->ndm_state & change->from)
                change_one(writing, entry, change->to);
            entry = following;
        }
    }
}

static int change_neighbours(const Options *options, const Change *change)
{
    const struct timespec pause = {.tv_nsec = (long)(ASK_EVERY * 1e9)};
    int reading = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    int writing = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    if (reading < 0 || writing < 0)
        die(3, "netlink");
    say_started(options);
    for (double end = now() + MAX_SECONDS; now() < end && !stop_asked(options);) {
        change_all(reading, writing, change);
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* ---- the command line ---------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    Options options = {.started = "/dev/null", .count_file = "/dev/null/none", .stop_file = "/dev/null/none"};
    int i = 2;

    for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
        if (!strcmp(argv[i], "--started"))
            options.started = argv[i + 1];
        else if (!strcmp(argv[i], "--stop-file"))
            options.stop_file = argv[i + 1];
        else if (!strcmp(argv[i], "--count-file"))
            options.count_file = argv[i + 1];
        else if (!strcmp(argv[i], "--rate"))
            options.rate = atoi(argv[i + 1]);
        else
            die(2, "unknown option");
    }
    options.words = argv + i;
    options.n_words = (unsigned)(argc - i);
    if (!strcmp(mode, "serve") && options.n_words)
        return serve(&options);
    if (!strcmp(mode, "send") && options.n_words && options.rate > 0)
        return send_numbered(&options);
    if (!strcmp(mode, "forget") && !options.n_words)
        return change_neighbours(&options, &FORGET);
    if (!strcmp(mode, "doubt") && !options.n_words)
        return change_neighbours(&options, &DOUBT);
    die(2, "usage: streams serve|send|forget|doubt OPTION... WORD...; the head of streams.c explains them");
}
