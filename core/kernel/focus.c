/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filter of --watch in the kernel: of routes and nexthop objects, what cannot matter does not even wake us.
 */
#include "kernel/netlink.h"

#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

/* linux/nexthop.h came with Linux 5.3. */
#define NEXTHOP_HEADER 8u /* bytes */
#define NEXTHOP_GROUP 2
#define NEXTHOP_OIF 5

/* ---- instructions: loads are in network order, numbers in a message are in the host's ---- */

#define MESSAGE(field) G_STRUCT_OFFSET(struct nlmsghdr, field)
#define ROUTE(field) ((guint32)(sizeof(struct nlmsghdr) + G_STRUCT_OFFSET(struct rtmsg, field)))
#define LOAD(size, offset) BPF_STMT(BPF_LD | (size) | BPF_ABS, offset)
#define IF(value, if_true, if_false) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, if_true, if_false)
#define SKIP(instructions) BPF_STMT(BPF_JMP | BPF_JA, instructions)
#define AND(bits) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits)
#define PASS BPF_STMT(BPF_RET | BPF_K, G_MAXUINT32)
#define DROP BPF_STMT(BPF_RET | BPF_K, 0)
#define FIND_LENGTH 3
#define FIND(header, type) /* where this attribute is; 0: it is not there */                                           \
    BPF_STMT(BPF_LD | BPF_IMM, (guint32)sizeof(struct nlmsghdr) + (header)), BPF_STMT(BPF_LDX | BPF_IMM, type),        \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (guint32)(SKF_AD_OFF + SKF_AD_NLATTR))
#define HOLD_ATTRIBUTE BPF_STMT(BPF_MISC | BPF_TAX, 0)
#define LOAD_WORD(number) /* of the attribute that is held */                                                          \
    BPF_STMT(BPF_LD | BPF_W | BPF_IND, (guint32)sizeof(struct nlattr) + 4 * (number))

#define ADD(code, ...)                                                                                                 \
    do {                                                                                                               \
        const struct sock_filter more_[] = {__VA_ARGS__};                                                              \
        g_array_append_vals(code, more_, G_N_ELEMENTS(more_));                                                         \
    } while (0)

/* The number that was loaded is one of these: it passes. */
static void add_any_of(GArray *code, const GArray *numbers)
{
    IBH_EACH (const int, number, numbers)
        ADD(code, IF(g_htonl((guint32)*number), 0, 1), PASS);
}

/* What was loaded is something else: on at `end`. */
static void add_condition(GArray *code, guint32 value, guint end)
{
    ADD(code, IF(value, 0, (guint8)(end - code->len - 1)));
}

/* ---- the parts ---- */

/* Groups do not say their devices; and an object by another NIC may become one by ours. */
static GArray *make_nexthop_part(const IbhFocus *focus)
{
    GArray *code = IBH_NEW_ARRAY(struct sock_filter);

    if (focus->objects) {
        ADD(code, PASS);
        return code;
    }
    ADD(code, FIND(NEXTHOP_HEADER, NEXTHOP_GROUP), IF(0, 1, 0), PASS);
    ADD(code, FIND(NEXTHOP_HEADER, NEXTHOP_OIF), IF(0, 0, 1), DROP, HOLD_ATTRIBUTE, LOAD_WORD(0));
    add_any_of(code, focus->candidates);
    ADD(code, DROP);
    return code;
}

/* The prefix itself: routes inside it do not matter, nor those around it. */
static void add_subnet(GArray *code, const IbhPrefix *subnet)
{
    const guint words = (subnet->length + 31) / 32, end = code->len + 2 + FIND_LENGTH + 1 + 2 * words + 1;

    ADD(code, LOAD(BPF_H, ROUTE(rtm_family))); /* and rtm_dst_len */
    add_condition(code, (guint32)subnet->ip.family << 8 | subnet->length, end);
    ADD(code, FIND(sizeof(struct rtmsg), RTA_DST), HOLD_ATTRIBUTE);
    for (guint i = 0; i < words; i++) {
        guint32 word;

        memcpy(&word, subnet->ip.bytes + 4 * i, sizeof word);
        ADD(code, LOAD_WORD(i));
        add_condition(code, g_ntohl(word), end);
    }
    ADD(code, PASS);
}

/* Of tables that decide, all; of main, all of protocol kernel (connected ones, and ours), defaults, and routes to our
 * subnets, by any NIC: where a route replaces a rail's, the kernel tells of the new one only. */
static void add_route_part(GArray *code, const IbhFocus *focus)
{
    ADD(code, LOAD(BPF_B, ROUTE(rtm_protocol)), IF(RTPROT_KERNEL, 0, 1), PASS);
    ADD(code, FIND(sizeof(struct rtmsg), RTA_TABLE), IF(0, 0, 1), DROP, HOLD_ATTRIBUTE, LOAD_WORD(0));
    add_any_of(code, focus->tables);
    ADD(code, IF(g_htonl(IBH_TABLE_MAIN), 1, 0), DROP);
    ADD(code, LOAD(BPF_B, ROUTE(rtm_dst_len)), IF(0, 0, 1), PASS);
    IBH_EACH (const IbhPrefix, subnet, focus->subnets)
        add_subnet(code, subnet);
    ADD(code, DROP);
}

static GArray *make_filter(const IbhFocus *focus)
{
    GArray *code = IBH_NEW_ARRAY(struct sock_filter);
    g_autoptr(GArray) nexthops = make_nexthop_part(focus);

    /* RTM_NEWROUTE and RTM_DELROUTE differ in the last bit, as all do. */
    ADD(code, LOAD(BPF_H, MESSAGE(nlmsg_type)), AND(g_htons(0xfffe)), IF(g_htons(RTM_NEWNEXTHOP), 1, 0),
        SKIP(nexthops->len));
    g_array_append_vals(code, nexthops->data, nexthops->len);
    ADD(code, IF(g_htons(RTM_NEWROUTE), 1, 0), PASS);
    add_route_part(code, focus);
    return code;
}

/* ---- the whole ---- */

static gboolean attach(const IbhEvents *events)
{
    const struct sock_fprog program = {.len = (guint16)events->filter->len, .filter = (gpointer)events->filter->data};

    return events->filter->len <= BPF_MAXINSNS &&
           setsockopt(events->netlink, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

static void detach(const IbhEvents *events)
{
    const int nothing = 0; /* the kernel looks at no option without a value */

    (void)setsockopt(events->netlink, SOL_SOCKET, SO_DETACH_FILTER, &nothing, sizeof nothing);
}

gboolean ibh_events_focus(IbhEvents *events, const IbhFocus *focus)
{
    g_autoptr(GArray) before = events->filter;

    events->filter = make_filter(focus);
    if (before && before->len == events->filter->len &&
        memcmp(before->data, events->filter->data, before->len * sizeof(struct sock_filter)) == 0)
        return FALSE;
    /* The old program would drop events of new subnets. The kernel counts both against net.core.optmem_max: so the new
     * one is tried again without the old one. With none, all events are heard, which only costs time. */
    if (!attach(events)) {
        detach(events);
        (void)attach(events);
    }
    return before != NULL;
}

void ibh_focus_clear(IbhFocus *focus)
{
    g_clear_pointer(&focus->candidates, g_array_unref);
    g_clear_pointer(&focus->subnets, g_array_unref);
    g_clear_pointer(&focus->tables, g_array_unref);
}
