/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flow: traffic with proof of the NIC it used. A ping that passes proves nothing about rails, so every packet here
 * comes back with the name of the interface that it reached, and both ends look at the frames that carried it.
 *
 *   flow serve [--detach] [--seconds S]
 *       Echo on UDP and TCP, unbound to a device: policy routing decides where replies leave. A UDP reply has the
 *       address that was asked as its source.
 *   flow send --to ADDR [--from ADDR] [--bind-device IFACE] --expect-server IFACE|any [--expect-iface IFACE|any]
 *             [--rate N] [--count N | --seconds S] [--stop-file FILE]
 *       Numbered packets. One is right if it left by the expected interface, arrived at the server's expected one, and
 *       the reply left and arrived by the same two. Without --expect-iface it is the interface with that address.
 *   flow hold --to ADDR [--from ADDR] [--seconds S] [--stop-file FILE]
 *       One TCP connection, an echo every 20 ms; a stall of 2 s fails.
 *   flow arp --iface IFACE --from ADDR --to ADDR [--seconds S]
 *       Asks who has the address and prints every hardware address that answers within S (0.3) seconds.
 *
 * Exit status: 0 all as expected, 1 not, 2 usage, 3 the system refused. Nothing runs longer than 60 seconds, a server
 * 300: tests last on a busy machine, and end it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PORT 9401
#define MAGIC 0x69626866u
#define MAX_SECONDS 60.0
#define MAX_SERVER_SECONDS 300.0
#define MAX_RATE 10000
#define TAIL 150 /* packets still sent after the stop file appeared */
#define MAX_CONNECTIONS 32
#define MAX_ANSWERS 8
#define MAC_LEN 6

typedef struct {
    uint32_t magic, seq;
    char server_iface[IFNAMSIZ]; /* where it arrived */
    uint8_t server_mac[MAC_LEN]; /* of that interface */
    uint8_t client_mac[MAC_LEN]; /* of the frame that brought it */
} Packet;

typedef struct {
    const char *from, *to, *iface, *bind_device, *expect_iface, *expect_server, *started, *stop_file;
    int rate;
    uint32_t count;
    double seconds;
    bool detach;
} Options;

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

static _Noreturn void die(int status, const char *what)
{
    if (status == 2)
        fprintf(stderr, "flow: %s\n", what);
    else
        fprintf(stderr, "flow: %s: %s\n", what, strerror(errno));
    exit(status);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Waits for input on any of the descriptors, at most until `deadline`. */
static void wait_input(struct pollfd *fds, nfds_t n, double deadline)
{
    double left = deadline - now();
    if (left < 0)
        left = 0;
    struct timespec t = {.tv_sec = (time_t)left, .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};
    if (ppoll(fds, n, &t, NULL) < 0 && errno != EINTR)
        die(3, "poll");
}

static struct sockaddr_in ipv4(const char *text, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (text && inet_pton(AF_INET, text, &address.sin_addr) != 1)
        die(2, "not an IPv4 address");
    return address;
}

static bool mac_of(int fd, const char *iface, uint8_t ret_mac[MAC_LEN])
{
    struct ifreq request = {0};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", iface);
    if (ioctl(fd, SIOCGIFHWADDR, &request) < 0)
        return false;
    memcpy(ret_mac, request.ifr_hwaddr.sa_data, MAC_LEN);
    return true;
}

static bool iface_of(struct in_addr address, char ret_iface[IFNAMSIZ])
{
    struct ifaddrs *all, *one;
    bool found = false;
    if (getifaddrs(&all) < 0)
        return false;
    for (one = all; one && !found; one = one->ifa_next) {
        struct sockaddr_in own;
        if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET)
            continue;
        memcpy(&own, one->ifa_addr, sizeof own);
        found = own.sin_addr.s_addr == address.s_addr;
        if (found)
            snprintf(ret_iface, IFNAMSIZ, "%.15s", one->ifa_name);
    }
    freeifaddrs(all);
    return found;
}

static void iface_with(int fd, const uint8_t mac[MAC_LEN], char ret_iface[IFNAMSIZ])
{
    struct if_nameindex *all = if_nameindex();
    uint8_t own[MAC_LEN];
    snprintf(ret_iface, IFNAMSIZ, "?");
    for (struct if_nameindex *one = all; one && one->if_index; one++)
        if (mac_of(fd, one->if_name, own) && !memcmp(own, mac, MAC_LEN))
            snprintf(ret_iface, IFNAMSIZ, "%.15s", one->if_name);
    if (all)
        if_freenameindex(all);
}

/* A process that has to wait for its turn on a busy machine loses none of what has arrived. */
static void buffer_much(int fd)
{
    int size = 8 << 20;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) < 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
}

static int udp_socket(const struct sockaddr_in *address, const char *device)
{
    int on = 1, fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on) < 0)
        die(3, "UDP socket");
    buffer_much(fd);
    if (device && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device)) < 0)
        die(3, device);
    if (bind(fd, (const struct sockaddr *)address, sizeof *address) < 0)
        die(3, "bind");
    return fd;
}

/* Receives one packet and says at which interface; false when there is none. */
static bool receive(int fd, Packet *ret, struct sockaddr_in *ret_peer, struct in_pktinfo *ret_info)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct in_pktinfo))];
    } control;
    struct iovec part = {.iov_base = ret, .iov_len = sizeof *ret};
    struct msghdr message = {.msg_name = ret_peer,
                             .msg_namelen = sizeof *ret_peer,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    if (recvmsg(fd, &message, 0) != (ssize_t)sizeof *ret || ret->magic != htonl(MAGIC))
        return false;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
        if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
            memcpy(ret_info, CMSG_DATA(c), sizeof *ret_info);
            return true;
        }
    return false;
}

/* ---- the tap: which frame carried a packet ------------------------------------------------------- */

typedef struct {
    uint32_t seq;
    uint16_t port;
    uint8_t mac[MAC_LEN];
} Frame;

/* The last frames whose numbers lead to it: of streams that run side by side, several do at the same time. */
typedef struct {
    Frame last[8];
    unsigned next;
} Bucket;

typedef struct {
    int fd;
    Bucket seen[2048];
} Tap;

static Bucket *tap_bucket(Tap *tap, uint16_t port, uint32_t seq)
{
    return &tap->seen[(seq + 997u * port) % (sizeof tap->seen / sizeof *tap->seen)];
}

/* A packet socket for all protocols gets each frame before IP does, and before rp_filter has its say. */
static void tap_open(Tap *tap, uint16_t port)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PROTOCOL)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETHERTYPE_IP, 0, 6),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9), /* protocol */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 4),
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2), /* destination port */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0xffff),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog filter = {.len = sizeof code / sizeof *code, .filter = code};
    tap->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (tap->fd < 0 || setsockopt(tap->fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) < 0)
        die(3, "packet socket");
    buffer_much(tap->fd);
    struct sockaddr_ll all = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    if (bind(tap->fd, (struct sockaddr *)&all, sizeof all) < 0)
        die(3, "packet socket");
}

static void tap_drain(Tap *tap)
{
    uint8_t bytes[128];
    struct sockaddr_ll from;
    socklen_t length = sizeof from;
    ssize_t n;
    while ((n = recvfrom(tap->fd, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &length)) >= 0) {
        size_t header = (size_t)(bytes[0] & 15) * 4;
        Packet packet;
        if (from.sll_pkttype != PACKET_OUTGOING && (size_t)n >= header + 8 + sizeof packet) {
            uint16_t port;
            memcpy(&port, bytes + header, sizeof port);
            memcpy(&packet, bytes + header + 8, sizeof packet);
            Bucket *bucket = tap_bucket(tap, ntohs(port), ntohl(packet.seq));
            Frame *frame = &bucket->last[bucket->next++ % (sizeof bucket->last / sizeof *bucket->last)];
            frame->seq = ntohl(packet.seq);
            frame->port = ntohs(port);
            memcpy(frame->mac, from.sll_addr, MAC_LEN);
        }
        length = sizeof from;
    }
}

static bool tap_find(Tap *tap, uint16_t port, uint32_t seq, uint8_t ret_mac[MAC_LEN])
{
    tap_drain(tap);
    const Bucket *bucket = tap_bucket(tap, port, seq);
    const unsigned size = sizeof bucket->last / sizeof *bucket->last;
    for (unsigned back = 1; back <= size; back++) { /* the newest first: a port comes again */
        const Frame *frame = &bucket->last[(bucket->next - back) % size];
        if (frame->port == port && frame->seq == seq) {
            memcpy(ret_mac, frame->mac, MAC_LEN);
            return true;
        }
    }
    return false;
}

/* ---- serve --------------------------------------------------------------------------------------- */

static void answer(int fd, Tap *tap)
{
    Packet packet;
    struct sockaddr_in peer;
    struct in_pktinfo info;
    while (receive(fd, &packet, &peer, &info)) {
        memset(packet.server_iface, 0, sizeof packet.server_iface);
        if (if_indextoname((unsigned)info.ipi_ifindex, packet.server_iface))
            mac_of(fd, packet.server_iface, packet.server_mac);
        tap_find(tap, ntohs(peer.sin_port), ntohl(packet.seq), packet.client_mac);

        /* The destination becomes the source; no interface is named, so the routing policy chooses it. */
        union {
            struct cmsghdr align;
            char bytes[CMSG_SPACE(sizeof info)];
        } control = {0};
        struct in_pktinfo reply = {.ipi_spec_dst = info.ipi_addr};
        struct iovec part = {.iov_base = &packet, .iov_len = sizeof packet};
        struct msghdr message = {.msg_name = &peer,
                                 .msg_namelen = sizeof peer,
                                 .msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof control};
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = IPPROTO_IP;
        c->cmsg_type = IP_PKTINFO;
        c->cmsg_len = CMSG_LEN(sizeof reply);
        memcpy(CMSG_DATA(c), &reply, sizeof reply);
        if (sendmsg(fd, &message, 0) < 0)
            continue; /* the client counts it as lost */
    }
}

/* Both ends of a detached server: the parent prints its number once it can be asked, and goes. */
static void detach(void)
{
    pid_t pid = fork();
    if (pid < 0)
        die(3, "fork");
    if (pid > 0) {
        printf("%d\n", (int)pid);
        exit(fflush(stdout) == 0 ? 0 : 3);
    }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
        exit(3);
}

static int serve(const Options *options)
{
    static Tap tap;
    struct sockaddr_in any = ipv4(NULL, PORT);
    int on = 1, udp = udp_socket(&any, NULL);
    int tcp = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (tcp < 0 || setsockopt(tcp, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(tcp, (struct sockaddr *)&any, sizeof any) < 0 || listen(tcp, 16) < 0)
        die(3, "TCP socket");
    tap_open(&tap, PORT);
    if (options->detach)
        detach();

    struct pollfd fds[2 + MAX_CONNECTIONS] = {{.fd = udp, .events = POLLIN}, {.fd = tcp, .events = POLLIN}};
    nfds_t n = 2;
    double end = now() + options->seconds;
    while (!stopped && now() < end) {
        wait_input(fds, n, end);
        tap_drain(&tap);
        answer(udp, &tap);
        for (nfds_t i = 2; i < n; i++) {
            char bytes[4096];
            ssize_t got = fds[i].revents ? recv(fds[i].fd, bytes, sizeof bytes, 0) : -1;
            if (got > 0 && send(fds[i].fd, bytes, (size_t)got, MSG_NOSIGNAL) == got)
                continue;
            if (fds[i].revents && (got == 0 || (got < 0 && errno != EAGAIN))) {
                close(fds[i].fd);
                fds[i--] = fds[--n];
            }
        }
        int connection = n < sizeof fds / sizeof *fds ? accept4(tcp, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC) : -1;
        if (connection >= 0) {
            setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            fds[n++] = (struct pollfd){.fd = connection, .events = POLLIN};
        }
    }
    return 0;
}

/* Tells a script that waits for it that the first reply has come. */
static void say_started(const Options *options)
{
    int fd = options->started ? open(options->started, O_WRONLY | O_CREAT | O_CLOEXEC, 0644) : -1;
    if (fd >= 0)
        close(fd);
}

/* ---- send ---------------------------------------------------------------------------------------- */

typedef struct {
    uint32_t sent, received, right, wrong, refused;
    uint32_t settled; /* right ones in a row, at the end */
    uint8_t last_out[MAC_LEN];
    char last_iface[IFNAMSIZ], last_server[IFNAMSIZ], last_source[INET_ADDRSTRLEN];
    char first_wrong[160];
} Tally;

static bool stop_asked(const Options *options)
{
    return stopped || (options->stop_file && access(options->stop_file, F_OK) == 0);
}

static void judge(const Options *options, int fd, const Packet *packet, const struct in_pktinfo *info,
                  const uint8_t *reply_mac, Tally *tally)
{
    char arrived[IFNAMSIZ] = "?", expected[IFNAMSIZ] = "?";
    uint8_t mac[MAC_LEN] = {0};
    const char *problem = NULL;
    if_indextoname((unsigned)info->ipi_ifindex, arrived);
    if (options->expect_iface)
        snprintf(expected, sizeof expected, "%.15s", options->expect_iface);
    else
        iface_of(info->ipi_addr, expected);
    if (strcmp(expected, "any")) {
        if (strcmp(expected, arrived))
            problem = "the reply arrived elsewhere";
        else if (!mac_of(fd, expected, mac) || memcmp(mac, packet->client_mac, MAC_LEN))
            problem = "it left by another interface";
    }
    if (!problem && strcmp(options->expect_server, "any")) {
        if (strcmp(options->expect_server, packet->server_iface))
            problem = "the server got it elsewhere";
        else if (memcmp(reply_mac, packet->server_mac, MAC_LEN))
            problem = "the server's reply left by another interface";
    }
    tally->received++;
    memcpy(tally->last_out, packet->client_mac, MAC_LEN);
    snprintf(tally->last_iface, IFNAMSIZ, "%s", arrived);
    snprintf(tally->last_server, IFNAMSIZ, "%.15s", packet->server_iface);
    inet_ntop(AF_INET, &info->ipi_addr, tally->last_source, sizeof tally->last_source);
    if (!problem) {
        tally->right++;
        tally->settled++;
        return;
    }
    tally->settled = 0;
    if (!tally->wrong++)
        snprintf(tally->first_wrong, sizeof tally->first_wrong,
                 "packet %u: %s (here %s, expected %s; server %.15s, expected %s)", ntohl(packet->seq), problem,
                 arrived, expected, packet->server_iface, options->expect_server);
}

static int send_numbered(const Options *options)
{
    static Tap tap;
    Tally tally = {0};
    struct sockaddr_in from = ipv4(options->from, 0), to = ipv4(options->to, PORT);
    socklen_t length = sizeof from;
    int fd = udp_socket(&from, options->bind_device);
    if (getsockname(fd, (struct sockaddr *)&from, &length) < 0)
        die(3, "getsockname");
    tap_open(&tap, ntohs(from.sin_port));

    double start = now(), end = start + options->seconds, stop_check = start;
    bool draining = false; /* all is sent: `end` is how long replies may still take */
    uint32_t limit = (uint32_t)(options->rate * MAX_SECONDS);
    if (options->count && options->count < limit)
        limit = options->count;
    uint8_t *seen = calloc(limit ? limit : 1, 1);
    if (!seen)
        die(3, "memory");
    while (!draining || (now() < end && tally.received + tally.refused < tally.sent)) {
        double due = draining ? end : start + (double)tally.sent / options->rate;
        struct pollfd input[] = {{.fd = fd, .events = POLLIN}};
        wait_input(input, 1, due);
        tap_drain(&tap);
        Packet packet;
        struct sockaddr_in peer;
        struct in_pktinfo info;
        while (receive(fd, &packet, &peer, &info)) {
            uint8_t mac[MAC_LEN] = {0};
            uint32_t seq = ntohl(packet.seq);
            if (seq >= limit || seen[seq])
                continue;
            seen[seq] = 1;
            if (tally.received == 0)
                say_started(options);
            tap_find(&tap, ntohs(peer.sin_port), seq, mac);
            judge(options, fd, &packet, &info, mac, &tally);
        }
        if (draining)
            continue;
        double t = now();
        bool stop = tally.sent >= limit || t >= end;
        if (!stop && t >= stop_check) {
            stop_check = t + 0.005;
            if (stop_asked(options)) {
                limit = limit - tally.sent < TAIL ? limit : tally.sent + TAIL;
                stop_check = end;
            }
        }
        if (stop) {
            draining = true;
            end = t + 1;
        } else if (t >= due) {
            Packet next = {.magic = htonl(MAGIC), .seq = htonl(tally.sent++)};
            if (sendto(fd, &next, sizeof next, 0, (struct sockaddr *)&to, sizeof to) < 0)
                tally.refused++;
        }
    }
    free(seen);
    char out[IFNAMSIZ];
    iface_with(fd, tally.last_out, out);
    uint32_t lost = tally.sent - tally.received;
    printf("{\"sent\":%u,\"received\":%u,\"right\":%u,\"wrong\":%u,\"lost\":%u,\"refused\":%u,\"settled\":%u,"
           "\"source\":\"%s\",\"out_iface\":\"%s\",\"iface\":\"%s\",\"server_iface\":\"%s\",\"first_wrong\":\"%s\"}\n",
           tally.sent, tally.received, tally.right, tally.wrong, lost, tally.refused, tally.settled, tally.last_source,
           out, tally.last_iface, tally.last_server, tally.first_wrong);
    return tally.sent > 0 && lost == 0 && tally.wrong == 0 ? 0 : 1;
}

/* ---- hold ---------------------------------------------------------------------------------------- */

static int hold(const Options *options)
{
    struct sockaddr_in from = ipv4(options->from, 0), to = ipv4(options->to, PORT);
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&from, sizeof from) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0)
        die(3, "TCP socket");
    if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0 && errno != EINPROGRESS)
        die(3, "connect");

    const double stall = 2, pace = 0.02;
    double start = now(), asked = start, next = start, longest = 0;
    unsigned long echoes = 0;
    const char *problem = NULL;
    bool waiting = false;
    while (!problem && now() < start + options->seconds && !(stop_asked(options) && echoes && !waiting)) {
        char bytes[64];
        double t = now();
        struct pollfd state = {.fd = fd, .events = waiting ? POLLIN : POLLOUT};
        if (!waiting && t < next) {
            wait_input(NULL, 0, next);
            continue;
        }
        wait_input(&state, 1, t + 0.05);
        if (state.revents && !waiting) {
            waiting = send(fd, "echo", 4, MSG_NOSIGNAL) == 4;
            if (waiting && echoes)
                asked = now();
            next = t + pace;
            if (!waiting && errno != EAGAIN)
                problem = strerror(errno);
        } else if (state.revents) {
            ssize_t n = recv(fd, bytes, sizeof bytes, 0);
            if (n == 0)
                problem = "closed by the server";
            else if (n < 0 && errno != EAGAIN)
                problem = strerror(errno);
            else if (n > 0) {
                waiting = false;
                if (!echoes++)
                    say_started(options);
            }
        }
        double took = now() - asked;
        if ((waiting || echoes == 0) && took > stall)
            problem = "stalled";
        if (waiting == false && echoes && took > longest && state.revents)
            longest = took;
        if (!waiting)
            asked = now();
    }
    if (!problem && !echoes)
        problem = "no echo";
    printf("{\"echoes\":%lu,\"longest_ms\":%.1f,\"problem\":\"%s\"}\n", echoes, longest * 1e3, problem ? problem : "");
    return problem ? 1 : 0;
}

/* ---- arp ----------------------------------------------------------------------------------------- */

typedef struct __attribute__((packed)) {
    uint16_t hardware, protocol;
    uint8_t hardware_len, protocol_len;
    uint16_t operation;
    uint8_t sender_mac[MAC_LEN];
    uint32_t sender;
    uint8_t target_mac[MAC_LEN];
    uint32_t target;
} Arp;

static int arp(const Options *options)
{
    struct sockaddr_in from = ipv4(options->from, 0), to = ipv4(options->to, 0);
    struct sockaddr_ll link = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ARP), .sll_halen = MAC_LEN};
    unsigned answers = 0;
    uint8_t known[MAX_ANSWERS][MAC_LEN];
    link.sll_ifindex = (int)if_nametoindex(options->iface);
    int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || !link.sll_ifindex || bind(fd, (struct sockaddr *)&link, sizeof link) < 0)
        die(3, options->iface);
    Arp request = {.hardware = htons(1),
                   .protocol = htons(ETHERTYPE_IP),
                   .hardware_len = MAC_LEN,
                   .protocol_len = 4,
                   .operation = htons(1),
                   .sender = from.sin_addr.s_addr,
                   .target = to.sin_addr.s_addr};
    if (!mac_of(fd, options->iface, request.sender_mac))
        die(3, options->iface);
    memset(link.sll_addr, 0xff, MAC_LEN);
    if (sendto(fd, &request, sizeof request, 0, (struct sockaddr *)&link, sizeof link) < 0)
        die(3, "send");
    for (double end = now() + options->seconds; now() < end;) {
        struct pollfd input = {.fd = fd, .events = POLLIN};
        wait_input(&input, 1, end);
        Arp reply;
        while (recv(fd, &reply, sizeof reply, 0) >= (ssize_t)sizeof reply) {
            bool fresh = reply.operation == htons(2) && reply.sender == to.sin_addr.s_addr && answers < MAX_ANSWERS;
            for (unsigned j = 0; fresh && j < answers; j++)
                fresh = memcmp(known[j], reply.sender_mac, MAC_LEN) != 0;
            if (!fresh)
                continue;
            const uint8_t *m = memcpy(known[answers++], reply.sender_mac, MAC_LEN);
            printf("%s %02x:%02x:%02x:%02x:%02x:%02x\n", options->to, m[0], m[1], m[2], m[3], m[4], m[5]);
        }
    }
    return answers ? 0 : 1;
}

/* ---- the command line ---------------------------------------------------------------------------- */

static double number(const char *text, double low, double high)
{
    char *end;
    double value = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || !(value >= low && value <= high))
        die(2, "a number is out of range");
    return value;
}

int main(int argc, char **argv)
{
    Options options = {.rate = 500, .seconds = -1};
    const char *mode = argc > 1 ? argv[1] : "";
    for (int i = 2; i < argc; i++) {
        const char *key = argv[i];
        if (!strcmp(key, "--detach")) {
            options.detach = true;
            continue;
        }
        const char *value = ++i < argc ? argv[i] : NULL;
        if (!value)
            die(2, "an option without a value");
        if (!strcmp(key, "--from"))
            options.from = value;
        else if (!strcmp(key, "--to"))
            options.to = value;
        else if (!strcmp(key, "--iface"))
            options.iface = value;
        else if (!strcmp(key, "--bind-device"))
            options.bind_device = value;
        else if (!strcmp(key, "--expect-iface"))
            options.expect_iface = value;
        else if (!strcmp(key, "--expect-server"))
            options.expect_server = value;
        else if (!strcmp(key, "--started"))
            options.started = value;
        else if (!strcmp(key, "--stop-file"))
            options.stop_file = value;
        else if (!strcmp(key, "--rate"))
            options.rate = (int)number(value, 1, MAX_RATE);
        else if (!strcmp(key, "--count"))
            options.count = (uint32_t)number(value, 1, MAX_RATE * MAX_SECONDS);
        else if (!strcmp(key, "--seconds"))
            options.seconds = number(value, 0.01, MAX_SECONDS);
        else
            die(2, "unknown option");
    }
    if (options.seconds < 0)
        options.seconds = !strcmp(mode, "arp") ? 0.3 : !strcmp(mode, "serve") ? MAX_SERVER_SECONDS : MAX_SECONDS;
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);

    if (!strcmp(mode, "serve"))
        return serve(&options);
    if (!strcmp(mode, "send") && options.to && options.expect_server)
        return send_numbered(&options);
    if (!strcmp(mode, "hold") && options.to)
        return hold(&options);
    if (!strcmp(mode, "arp") && options.to && options.iface && options.from)
        return arp(&options);
    die(2, "usage: flow serve|send|hold|arp OPTION...; the head of flow.c explains them");
}
