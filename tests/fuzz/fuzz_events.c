/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel tells without being asked: core/watch/events_io.c gets datagrams of both sockets, each behind a byte
 * that says how it comes and two with its length, and the filter that it gives to the kernel is run over each. Every
 * message is read a second time by libnl, which has to come to the same: who took away what is ours, and whether
 * anything concerns us.
 *
 *   0x01   a uevent       0x02   of another process       0x04   events before it were dropped
 *   0x08   all that came so far is taken, before this      0x30   how many NICs the filter lets pass
 *   0x40   routes that decide go by nexthop objects
 */
#include "broken.h"
#include "kernel/netlink.h"
#include "model/model.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fib_rules.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <sanitizer/asan_interface.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOW 3 /* bytes before each datagram */
#define UEVENT 0x01
#define OF_ANOTHER 0x02
#define DROPPED 0x04
#define TAKEN 0x08
#define NETLINK_FD 1000
#define UEVENTS_FD 1001
#define OWN 77 /* our own port */

typedef struct {
    const uint8_t *at, *end;
} Queue; /* what one socket has not given yet: both go through the same input, each by what is its own */

static Queue queues[2];
static gboolean told[2]; /* that something was dropped before the datagram that is next */
static struct sock_filter attached[BPF_MAXINSNS];
static guint filter_length;

/* ---- in the place of the sockets ---- */

static gsize length_at(const Queue *queue)
{
    return MIN((gsize)queue->at[1] << 8 | queue->at[2], (gsize)(queue->end - queue->at - HOW));
}

/* FALSE: nothing of this socket is left, or it is yet to come. */
static gboolean go_to_next(Queue *queue, gboolean uevents)
{
    while (queue->end - queue->at >= HOW && !(queue->at[0] & UEVENT) != !uevents)
        queue->at += HOW + length_at(queue);
    return queue->end - queue->at >= HOW;
}

static int fake_socket(int domain, int type, int protocol)
{
    if (domain != AF_NETLINK || !(type & SOCK_NONBLOCK) || !(type & SOCK_CLOEXEC))
        broken("a socket that could wait, or be inherited");
    return protocol == NETLINK_ROUTE ? NETLINK_FD : UEVENTS_FD;
}

static int fake_bind(int fd, const struct sockaddr *address, socklen_t size)
{
    return fd >= NETLINK_FD && address && size ? 0 : -1;
}

static int fake_close(int fd)
{
    return fd >= NETLINK_FD ? 0 : -1;
}

static int fake_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    const struct sock_fprog *program = value;

    if (fd < NETLINK_FD || size < (socklen_t)sizeof(int))
        broken("the kernel refuses this option");
    if (level != SOL_SOCKET || (name != SO_ATTACH_FILTER && name != SO_DETACH_FILTER))
        return 0;
    filter_length = name == SO_ATTACH_FILTER ? program->len : 0;
    if (filter_length > G_N_ELEMENTS(attached))
        broken("a filter without end");
    for (guint i = 0; i < filter_length; i++)
        attached[i] = program->filter[i];
    return 0;
}

static ssize_t fake_recvfrom(int fd, void *space, size_t room, int flags, struct sockaddr *address, socklen_t *size)
{
    gboolean uevents = fd == UEVENTS_FD;
    Queue *queue = &queues[uevents];
    struct sockaddr_nl from = {.nl_family = AF_NETLINK};
    gsize length;

    (void)flags;
    ASAN_UNPOISON_MEMORY_REGION(space, room);
    errno = EAGAIN;
    if (!go_to_next(queue, uevents))
        return -1;
    if (queue->at[0] & DROPPED && !told[uevents]) {
        told[uevents] = TRUE;
        errno = ENOBUFS;
        return -1;
    }
    told[uevents] = FALSE;
    length = MIN(length_at(queue), room);
    from.nl_pid = queue->at[0] & OF_ANOTHER ? 4711 : 0;
    memcpy(address, &from, *size = sizeof from);
    memcpy(space, queue->at + HOW, length);
    ASAN_POISON_MEMORY_REGION((char *)space + length, room - length);
    queue->at += HOW + length_at(queue);
    return (ssize_t)length;
}

#define socket fake_socket
#define bind fake_bind
#define close fake_close
#define setsockopt fake_setsockopt
#define recvfrom fake_recvfrom
#include "watch/events_io.c"
#include "watch/filter.c"
#undef recvfrom

/* ---- the same, as libnl reads it ---- */

static gboolean has_u32(struct nlmsghdr *header, int fixed, int type, guint32 value)
{
    struct nlattr *attribute;
    gboolean has = FALSE;
    int left;

    if (!nlmsg_valid_hdr(header, fixed))
        return FALSE;
    nlmsg_for_each_attr(attribute, header, fixed, left)
    {
        if (nla_type(attribute) != type)
            continue;
        has = nla_len(attribute) >= (int)sizeof value && nla_get_u32(attribute) == value;
        if (header->nlmsg_type != RTM_DELRULE) /* of a route the first counts, of a rule the last */
            break;
    }
    return has;
}

static gboolean is_loss(struct nlmsghdr *header)
{
    if (header->nlmsg_type == RTM_DELRULE)
        return has_u32(header, sizeof(struct fib_rule_hdr), FRA_SUPPRESS_IFGROUP, IBH_MARK);
    return header->nlmsg_type == RTM_DELROUTE && has_u32(header, sizeof(struct rtmsg), RTA_PRIORITY, IBH_MARK);
}

typedef struct {
    gboolean concerns;
    guint32 who; /* took something of ours last; 0: nobody */
} Truth;

static void read_netlink(const uint8_t *from, gsize length, Truth *truth)
{
    g_autofree char *copy = g_memdup(from, (guint)length);
    struct nlmsghdr *header = (void *)copy;
    int left = (int)length;

    for (; header && nlmsg_ok(header, left); header = nlmsg_next(header, &left)) {
        truth->concerns |= header->nlmsg_pid != OWN;
        if (header->nlmsg_pid != OWN && header->nlmsg_pid && is_loss(header))
            truth->who = header->nlmsg_pid;
    }
}

static gboolean is_wanted(const uint8_t *from, gsize length)
{
    static const char wanted[] = "SUBSYSTEM=infiniband";

    return memmem(from, length, wanted, sizeof wanted) != NULL;
}

/* What is between these is taken at once. */
static Truth truth_of(const uint8_t *from, const uint8_t *end)
{
    Truth truth = {.concerns = FALSE};

    for (Queue queue = {.at = from, .end = end}; end - queue.at >= HOW; queue.at += HOW + length_at(&queue)) {
        gsize length = MIN(length_at(&queue), RECEIVE_SIZE);

        truth.concerns |= (queue.at[0] & DROPPED) != 0;
        if (queue.at[0] & OF_ANOTHER)
            continue;
        if (queue.at[0] & UEVENT)
            truth.concerns |= is_wanted(queue.at + HOW, length);
        else
            read_netlink(queue.at + HOW, length, &truth);
    }
    return truth;
}

/* ---- the filter ---- */

/* As the kernel runs it (linux/filter.h), as far as ours goes: a look beyond the end is a drop. FALSE: dropped. */
static gboolean load(const uint8_t *from, gsize length, gsize at, gsize size, guint32 *ret_value)
{
    *ret_value = 0;
    for (gsize i = 0; i < size && at + size <= length; i++)
        *ret_value = *ret_value << 8 | from[at + i];
    return at + size <= length;
}

static gboolean load_attribute(const uint8_t *from, gsize length, guint32 *accumulator, guint32 type)
{
    const struct nlattr *found;

    if (length < sizeof *found || *accumulator > length - sizeof *found)
        return FALSE;
    found = nla_find((const void *)(from + *accumulator), (int)(length - *accumulator), (int)type);
    *accumulator = found ? (guint32)((const uint8_t *)found - from) : 0;
    return TRUE;
}

static gboolean run_filter(const uint8_t *from, gsize length)
{
    guint32 a = 0, x = 0, stored = 0;

    for (guint i = 0; i < filter_length; i++) {
        const struct sock_filter *at = &attached[i];
        gboolean loaded = TRUE;

        switch (at->code) {
        case BPF_LD | BPF_IMM:
            a = at->k;
            break;
        case BPF_ST:
            stored = a;
            break;
        case BPF_LD | BPF_MEM:
            a = stored;
            break;
        case BPF_LDX | BPF_IMM:
            x = at->k;
            break;
        case BPF_MISC | BPF_TAX:
            x = a;
            break;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= at->k;
            break;
        case BPF_LD | BPF_B | BPF_ABS:
            loaded = load(from, length, at->k, 1, &a);
            break;
        case BPF_LD | BPF_H | BPF_ABS:
            loaded = load(from, length, at->k, 2, &a);
            break;
        case BPF_LD | BPF_W | BPF_IND:
            loaded = load(from, length, (gsize)x + at->k, 4, &a);
            break;
        case BPF_LD | BPF_W | BPF_ABS:
            if (at->k != (guint32)(SKF_AD_OFF + SKF_AD_NLATTR))
                broken("a load that the kernel's socket filters are not asked for here");
            loaded = load_attribute(from, length, &a, x);
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
            i += a == at->k ? at->jt : at->jf;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            i += a >= at->k ? at->jt : at->jf;
            break;
        case BPF_JMP | BPF_JA:
            i += at->k;
            break;
        case BPF_RET | BPF_K:
            return at->k != 0;
        default:
            broken("an instruction that is none of ours: %x", at->code);
        }
        if (!loaded)
            return FALSE;
    }
    broken("the filter has no end, or jumps beyond it");
}

static gboolean is_one_of(const GArray *numbers, struct nlattr *attribute)
{
    for (guint i = 0; i < numbers->len; i++) {
        if (nla_get_u32(attribute) == g_array_index(numbers, guint32, i))
            return TRUE;
    }
    return FALSE;
}

/* `ret_exactly`: it is one of these, and not only inside. */
static gboolean is_inside(const GArray *subnets, int family, guint length, struct nlattr *destination,
                          gboolean *ret_exactly)
{
    gboolean inside = FALSE;

    *ret_exactly = FALSE;
    for (guint i = 0; i < subnets->len; i++) {
        const IbhPrefix *subnet = &g_array_index(subnets, IbhPrefix, i);
        IbhIp ip = {.family = family};
        IbhPrefix cut;

        if (subnet->ip.family != family || subnet->length > length)
            continue;
        memcpy(ip.bytes, nla_data(destination), (length + 31) / 32 * 4);
        cut = ibh_prefix_of(&ip, subnet->length);
        inside |= ibh_prefix_equal(&cut, subnet);
        *ret_exactly |= ibh_prefix_equal(&cut, subnet) && length == subnet->length;
    }
    return inside;
}

static int passes_nexthop(struct nlmsghdr *header, const IbhFocus *focus)
{
    struct nlattr *device;

    if (focus->objects)
        return TRUE;
    if (nlmsg_attrlen(header, NEXTHOP_HEADER) < (int)sizeof *device)
        return -1;
    device = nlmsg_find_attr(header, NEXTHOP_HEADER, NEXTHOP_OIF);
    if (nlmsg_find_attr(header, NEXTHOP_HEADER, NEXTHOP_GROUP))
        return TRUE;
    if (device && nla_len(device) < (int)sizeof(guint32))
        return -1;
    return device && is_one_of(focus->candidates, device);
}

/* Of routes only those that decide wake us. -1: it is cut short, or none as the kernel has it. */
static int passes(struct nlmsghdr *header, const IbhFocus *focus)
{
    const struct rtmsg *route = nlmsg_data(header);
    struct nlattr *table, *destination, *device;
    gboolean exactly;

    if (header->nlmsg_type == RTM_NEWNEXTHOP || header->nlmsg_type == RTM_DELNEXTHOP)
        return passes_nexthop(header, focus);
    if (header->nlmsg_type != RTM_NEWROUTE && header->nlmsg_type != RTM_DELROUTE)
        return TRUE;
    if (!nlmsg_valid_hdr(header, sizeof *route))
        return -1;
    if (route->rtm_protocol == RTPROT_KERNEL || route->rtm_type == RTN_LOCAL)
        return TRUE;
    if (nlmsg_attrlen(header, sizeof *route) < (int)sizeof *table)
        return -1; /* the kernel sends none without */
    table = nlmsg_find_attr(header, sizeof *route, RTA_TABLE);
    destination = nlmsg_find_attr(header, sizeof *route, RTA_DST);
    device = nlmsg_find_attr(header, sizeof *route, RTA_OIF);
    if (!table)
        return FALSE;
    if (nla_len(table) < (int)sizeof(guint32) || (device && nla_len(device) < (int)sizeof(guint32)))
        return -1;
    if (route->rtm_dst_len > 128 || (route->rtm_family == AF_INET && route->rtm_dst_len > 32))
        return -1;
    if (route->rtm_dst_len && (!destination || (guint)nla_len(destination) < (route->rtm_dst_len + 31u) / 32 * 4))
        return -1;
    if (is_one_of(focus->tables, table))
        return TRUE;
    if (nla_get_u32(table) != RT_TABLE_MAIN)
        return FALSE;
    if (!route->rtm_dst_len)
        return TRUE;
    if (device && is_one_of(focus->candidates, device) && !nlmsg_find_attr(header, sizeof *route, RTA_GATEWAY) &&
        !nlmsg_find_attr(header, sizeof *route, RTA_VIA))
        return TRUE;
    return is_inside(focus->subnets, route->rtm_family, route->rtm_dst_len, destination, &exactly) &&
           (exactly || !device || header->nlmsg_flags & NLM_F_REPLACE);
}

static void add_subnet_of(IbhFocus *focus, const char *text)
{
    IbhPrefix subnet;

    if (!ibh_prefix_parse(text, &subnet))
        broken("%s is no prefix", text);
    g_array_append_val(focus->subnets, subnet);
}

static void check_filter(IbhEvents *events, uint8_t how, const uint8_t *from, gsize length)
{
    static const guint counts[] = {2, 0, 256, BPF_MAXINSNS};
    const guint32 table = 100;
    IbhFocus focus = {.candidates = g_array_new(FALSE, FALSE, sizeof(int)),
                      .subnets = g_array_new(FALSE, FALSE, sizeof(IbhPrefix)),
                      .tables = g_array_new(FALSE, FALSE, sizeof table),
                      .objects = (how & 0x40) != 0};
    g_autofree char *copy = g_memdup(from, (guint)length);
    struct nlmsghdr *header = (void *)copy;
    int expected;

    for (int i = 2; i < (int)counts[how >> 4 & 3] + 2; i++)
        g_array_append_val(focus.candidates, i);
    g_array_append_val(focus.tables, table);
    add_subnet_of(&focus, "172.16.0.0/16");
    add_subnet_of(&focus, "10.20.48.0/20");
    add_subnet_of(&focus, "fd00:1:2:3::/64");
    if (length >= sizeof *header && header->nlmsg_len == length && (expected = passes(header, &focus)) >= 0) {
        (void)ibh_events_set_focus(events, &focus);
        if (filter_length ? run_filter(from, length) != expected : focus.candidates->len < BPF_MAXINSNS)
            broken("the filter %s it", expected ? "drops" : "passes");
    }
    ibh_focus_clear(&focus);
}

/* ---- what has to hold ---- */

static gboolean has_taken(const IbhEvents *events, guint32 port)
{
    g_autoptr(GList) ports = g_hash_table_get_values(events->taken);

    return g_list_find(ports, GUINT_TO_POINTER(port)) != NULL;
}

static void check(IbhEvents *events, const uint8_t *from, const uint8_t *end)
{
    const Truth truth = truth_of(from, end);
    const guint32 port = OWN;
    g_autoptr(GArray) own = IBH_NEW_ARRAY(guint32);
    gboolean ours;

    g_array_append_val(own, port);
    queues[0] = queues[1] = (Queue){.at = from, .end = end};
    ibh_events_forget(events);
    if (ibh_events_drain(events, own, NULL, &ours) != truth.concerns)
        broken("what happened %s", truth.concerns ? "concerns us" : "does not concern us");
    if (!truth.who && g_hash_table_size(events->taken))
        broken("nobody took anything, and not: %u of these", g_hash_table_size(events->taken));
    if (truth.who && !has_taken(events, truth.who))
        broken("it was %u", truth.who);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Queue all = {.at = data, .end = data + size};
    const uint8_t *from = data;
    IbhEvents events;

    if (!ibh_events_open(&events, NULL))
        broken("no sockets");
    for (; all.end - all.at >= HOW; all.at += HOW + length_at(&all)) {
        if (all.at[0] & TAKEN) {
            check(&events, from, all.at);
            from = all.at;
        }
        if (!(all.at[0] & UEVENT))
            check_filter(&events, all.at[0], all.at + HOW, length_at(&all));
    }
    check(&events, from, data + size);
    ibh_events_close(&events);
    return 0;
}
