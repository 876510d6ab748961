/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/focus.h"

#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>

/* From linux/nexthop.h: the size of struct nhmsg; then the numbers NHA_GROUP and NHA_OIF. */
#define NEXTHOP_HEADER 8u /* bytes */
#define NEXTHOP_GROUP 2
#define NEXTHOP_OIF 5

/* ---- instructions ---- */

/* A load converts from network order, but numbers of two or four bytes in a message are in host order: so after loading
 * such a number, compare with g_htons() or g_htonl() of the number that is meant. IF and IF_AT_LEAST compare the number
 * that was loaded last; `if_true` and `if_false` say how many instructions they skip in each case. STORE stores the
 * number that was loaded last. */

#define MESSAGE(field) G_STRUCT_OFFSET(struct nlmsghdr, field)
#define ROUTE(field) ((guint32)(sizeof(struct nlmsghdr) + G_STRUCT_OFFSET(struct rtmsg, field)))
#define LOAD(size, offset) BPF_STMT(BPF_LD | (size) | BPF_ABS, offset)
#define IF(value, if_true, if_false) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, if_true, if_false)
#define IF_AT_LEAST(value, if_true, if_false) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, value, if_true, if_false)
#define TO(end, code) (guint8)((end) - (code)->len - 1) /* the jump to `end` from the first instruction of an ADD() */
#define SKIP(instructions) BPF_STMT(BPF_JMP | BPF_JA, instructions)
#define AND(bits) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits)
#define PASS BPF_STMT(BPF_RET | BPF_K, G_MAXUINT32)
#define DROP BPF_STMT(BPF_RET | BPF_K, 0)
#define SET(number) BPF_STMT(BPF_LD | BPF_IMM, number)
#define STORE_AT(place) BPF_STMT(BPF_ST, place) /* place 0 is for STORE */
#define STORE STORE_AT(0)
#define LOAD_STORED BPF_STMT(BPF_LD | BPF_MEM, 0)
#define FIND(header, type) /* loads the offset of this attribute; 0 if it is not there */                              \
    SET((guint32)sizeof(struct nlmsghdr) + (header)), BPF_STMT(BPF_LDX | BPF_IMM, type),                               \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (guint32)(SKF_AD_OFF + SKF_AD_NLATTR))
#define HOLD_ATTRIBUTE /* keeps the offset that FIND() loaded, until the next FIND() */ BPF_STMT(BPF_MISC | BPF_TAX, 0)
#define LOAD_WORD(number) /* loads a word of the attribute that is held */                                             \
    BPF_STMT(BPF_LD | BPF_W | BPF_IND, (guint32)sizeof(struct nlattr) + 4 * (number))

#define ADD(code, ...)                                                                                                 \
    do {                                                                                                               \
        const struct sock_filter more_[] = {__VA_ARGS__};                                                              \
        g_array_append_vals(code, more_, G_N_ELEMENTS(more_));                                                         \
    } while (0)

/* Passes the message if the number that was loaded is one of these. */
static void add_any_of(GArray *code, const GArray *numbers)
{
    IBH_EACH (const int, number, numbers)
        ADD(code, IF(g_htonl((guint32)*number), 0, 1), PASS);
}

/* ---- the parts of the program; their comments say what they make the kernel pass or drop ---- */

/* If routes that matter use nexthop objects (IbhFocus.objects), passes all objects, because an object through another
 * NIC may change, and lead through one of our NICs then. Otherwise, passes only groups, which do not name their NICs,
 * and objects through candidates. */
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

#define GUARD 5 /* instructions of add_guard() */

/* With `has`, the next `length` instructions run only for routes that have this attribute, and begin with the
 * attribute's offset loaded. Without `has`, they run only for routes that lack the attribute. */
static void add_guard(GArray *code, guint32 type, gboolean has, guint length)
{
    ADD(code, FIND(sizeof(struct rtmsg), type), IF(0, has ? 0 : 1, has ? 1 : 0), SKIP(length));
}

/* Passes routes to exactly this subnet, through any NIC and gateway. Passes routes to a part of the subnet if
 * add_route_part() has stored a number other than 0: then the route replaces another route, or may lead through several
 * NICs. RTA_DST, the route's prefix, must be held (HOLD_ATTRIBUTE). */
static void add_subnet(GArray *code, const IbhPrefix *subnet)
{
    const guint words = (subnet->length + 31) / 32, rest = subnet->length % 32;
    const guint32 exactly = (guint32)subnet->ip.family << 8 | subnet->length; /* rtm_family and rtm_dst_len */
    const guint end = code->len + 3 + 2 * words + (rest ? 1 : 0) + 5;         /* after what this function adds */

    /* Only routes of this family whose prefixes are at least as long can be to the subnet or to a part of it. */
    ADD(code, LOAD(BPF_H, ROUTE(rtm_family)));
    ADD(code, IF_AT_LEAST(exactly, 0, TO(end, code)));
    ADD(code, IF_AT_LEAST((guint32)(subnet->ip.family + 1) << 8, TO(end, code), 0));
    /* The route's prefix must begin with the bits of the subnet. An address in a message is in network order, which
     * the load converts to host order. */
    for (guint i = 0; i < words; i++) {
        guint32 word;

        memcpy(&word, subnet->ip.bytes + 4 * i, sizeof word);
        ADD(code, LOAD_WORD(i));
        if (rest && i + 1 == words)
            ADD(code, AND(G_MAXUINT32 << (32 - rest)));
        ADD(code, IF(g_ntohl(word), 0, TO(end, code)));
    }
    /* Pass a route to the subnet itself; pass a route to a part of the subnet only if the stored number is not 0. */
    ADD(code, LOAD(BPF_H, ROUTE(rtm_family)), IF(exactly, 2, 0), LOAD_STORED, IF(0, 1, 0), PASS);
}

/* If add_route_part() has stored a number other than 0, passes routes whose prefix contains one of the single hosts
 * (/32 or /128) of this family in focus->subnets. The caller has passed default routes already. The kernel limits the
 * size of a program (net.core.optmem_max). So compute the mask once, and store the words of the route's prefix once,
 * for all hosts. */
static void add_hosts(GArray *code, const IbhFocus *focus, int family)
{
    const guint words = family == AF_INET ? 1 : 4;
    const guint masks = 1, prefix = masks + words; /* where they are stored */
    g_autoptr(GArray) part = IBH_NEW_ARRAY(struct sock_filter);
    guint before;

    /* Make the mask of the route's prefix. A word of the mask has only ones if the prefix covers the whole word, only
     * zeros if the prefix ends before the word, and leading ones if the prefix ends inside the word. */
    for (guint i = 0; i < words; i++) {
        const guint whole = part->len + 9, none = whole + 2, end = none + 1; /* where the cases begin; where they end */

        ADD(part, LOAD(BPF_B, ROUTE(rtm_dst_len)));
        ADD(part, IF_AT_LEAST(32 * (i + 1), TO(whole, part), 0));
        ADD(part, IF_AT_LEAST(32 * i + 1, 0, TO(none, part)));
        /* The prefix ends inside the word: make one zero for each bit from there to the end of the word. */
        ADD(part, BPF_STMT(BPF_ALU | BPF_NEG, 0), BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 32 * (i + 1)));
        ADD(part, BPF_STMT(BPF_MISC | BPF_TAX, 0), SET(G_MAXUINT32), BPF_STMT(BPF_ALU | BPF_LSH | BPF_X, 0));
        ADD(part, SKIP(TO(end, part)));
        /* `whole` */
        ADD(part, SET(G_MAXUINT32));
        ADD(part, SKIP(TO(end, part)));
        /* `none` */
        ADD(part, SET(0));
        /* `end` */
        ADD(part, STORE_AT(masks + i));
    }
    ADD(part, FIND(sizeof(struct rtmsg), RTA_DST), HOLD_ATTRIBUTE);
    for (guint i = 0; i < words; i++)
        ADD(part, LOAD_WORD(i), STORE_AT(prefix + i));
    before = part->len;
    IBH_EACH (const IbhPrefix, host, focus->subnets) {
        const guint end = part->len + 5 * words + 1; /* after what this turn adds */

        if (host->ip.family != family || host->length != ibh_ip_bits(&host->ip))
            continue;
        for (guint i = 0; i < words; i++) {
            guint32 word;

            memcpy(&word, host->ip.bytes + 4 * i, sizeof word);
            ADD(part, SET(g_ntohl(word)), BPF_STMT(BPF_LDX | BPF_MEM, masks + i),
                BPF_STMT(BPF_ALU | BPF_AND | BPF_X, 0), BPF_STMT(BPF_LDX | BPF_MEM, prefix + i));
            ADD(part, BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, TO(end, part)));
        }
        ADD(part, PASS);
    }
    if (part->len == before)
        return;
    ADD(code, LOAD_STORED, IF(0, 2, 0), LOAD(BPF_B, ROUTE(rtm_family)), IF((guint32)family, 1, 0), SKIP(part->len));
    g_array_append_vals(code, part->data, part->len);
}

/* In any table, passes routes of protocol kernel (for example connected routes and ours), and local routes (this host
 * answers ARP for their addresses). Passes all routes of focus->tables. In main, passes:
 * - default routes;
 * - on-link routes whose RTA_OIF is a candidate;
 * - routes to the candidates' subnets through any NIC;
 * - some routes to parts of these subnets, and some whose prefix contains one of the single hosts (/32, /128) in
 *   focus->subnets (add_hosts()). */
static void add_route_part(GArray *code, const IbhFocus *focus)
{
    g_autoptr(GArray) by_nic = IBH_NEW_ARRAY(struct sock_filter);

    ADD(code, LOAD(BPF_B, ROUTE(rtm_protocol)), IF(RTPROT_KERNEL, 0, 1), PASS);
    ADD(code, LOAD(BPF_B, ROUTE(rtm_type)), IF(RTN_LOCAL, 0, 1), PASS);
    ADD(code, FIND(sizeof(struct rtmsg), RTA_TABLE), IF(0, 0, 1), DROP, HOLD_ATTRIBUTE, LOAD_WORD(0));
    add_any_of(code, focus->tables);
    ADD(code, IF(g_htonl(IBH_TABLE_MAIN), 1, 0), DROP);
    ADD(code, LOAD(BPF_B, ROUTE(rtm_dst_len)), IF(0, 0, 1), PASS);
    /* On-link routes through candidates: without RTA_GATEWAY, without RTA_VIA, and with RTA_OIF. A guard that fails
     * skips the guards after it, too. */
    ADD(by_nic, HOLD_ATTRIBUTE, LOAD_WORD(0));
    add_any_of(by_nic, focus->candidates);
    add_guard(code, RTA_GATEWAY, FALSE, GUARD + GUARD + by_nic->len);
    add_guard(code, RTA_VIA, FALSE, GUARD + by_nic->len);
    add_guard(code, RTA_OIF, TRUE, by_nic->len);
    g_array_append_vals(code, by_nic->data, by_nic->len);
    /* Two kinds of routes pass if they lead to a part of a subnet in focus->subnets, or if their prefix contains one of
     * the single hosts there. So store whether this route is of one of these kinds:
     * - The route replaces another route. The kernel reports only the new route, and the old route may have gone
     *   through our NIC.
     * - The route has no RTA_OIF, so it may be a multipath route or have a nexthop object, and go through our NIC. */
    ADD(code, LOAD(BPF_H, MESSAGE(nlmsg_flags)), AND(g_htons(NLM_F_REPLACE)), STORE);
    add_guard(code, RTA_OIF, FALSE, 2);
    ADD(code, SET(1), STORE);
    add_hosts(code, focus, AF_INET);
    add_hosts(code, focus, AF_INET6);
    ADD(code, FIND(sizeof(struct rtmsg), RTA_DST), HOLD_ATTRIBUTE);
    IBH_EACH (const IbhPrefix, subnet, focus->subnets)
        add_subnet(code, subnet);
    ADD(code, DROP);
}

GArray *ibh_focus_filter(const IbhFocus *focus)
{
    GArray *code = IBH_NEW_ARRAY(struct sock_filter);
    g_autoptr(GArray) nexthops = make_nexthop_part(focus);

    /* RTM_NEW… and RTM_DEL… differ in the last bit. */
    ADD(code, LOAD(BPF_H, MESSAGE(nlmsg_type)), AND(g_htons(0xfffe)), IF(g_htons(RTM_NEWNEXTHOP), 1, 0),
        SKIP(nexthops->len));
    g_array_append_vals(code, nexthops->data, nexthops->len);
    /* Reports that are neither about nexthop objects nor about routes pass. */
    ADD(code, IF(g_htons(RTM_NEWROUTE), 1, 0), PASS);
    add_route_part(code, focus);
    return code;
}
